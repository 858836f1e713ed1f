// SPDX-License-Identifier: LGPL-2.1-only
/*
 * ring_test.c - the reader's side of a note list, against a ring in memory
 *
 * Copyright (C) 2026 The dd authors
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../dd/internal.h"
#include "../dd/ring.h"
#include "tap.h"

#define ID	0x40001

static char *area;
static struct dd_list_head *lh;

static struct dd_note *slot(uint32_t unit, uint32_t order, uint64_t pos)
{
	return (struct dd_note *)(area + (size_t)unit * DD_UNIT) +
	       (pos & ((1u << order) - 1));
}

static void post(uint32_t unit, uint32_t order, uint64_t pos)
{
	struct dd_note *n = slot(unit, order, pos);

	n->conn = pos + 100;
	n->msgid = pos;
	n->meta[3] = pos * 7;
	__atomic_store_n(&n->seq, pos + 1, __ATOMIC_RELEASE);
}

static void setup(uint32_t unit, uint32_t order, uint64_t head)
{
	memset(area, 0, 4096 * DD_UNIT);
	lh = (struct dd_list_head *)(area + DD_UNIT);
	lh->geometry = (uint64_t)unit << 32 | order;
	lh->id = ID;
	lh->head = head;
}

static void empty_ring(void)
{
	struct dd_note note;

	setup(8, 2, 0);
	check_eq(ddi_ring_look(area, lh, &note), 0);
	check(!ddi_ring_stirred(area, lh, ID));
}

static void note_is_copied(void)
{
	struct dd_note note = { 0 };

	setup(8, 2, 0);
	post(8, 2, 0);
	check(ddi_ring_stirred(area, lh, ID));
	check_eq(ddi_ring_look(area, lh, &note), 1);
	check_eq(note.conn, 100);
	/* Looking does not consume. */
	check_eq(lh->head, 0);
	check_eq(ddi_ring_look(area, lh, &note), 1);
	check(!ddi_ring_pop(lh));
	check_eq(lh->head, 1);
	check_eq(ddi_ring_look(area, lh, &note), 0);
}

static void positions_wrap(void)
{
	struct dd_note note;

	setup(8, 2, 0);
	for (uint64_t pos = 0; pos < 41; pos++) {
		post(8, 2, pos);
		check_eq(ddi_ring_look(area, lh, &note), 1);
		check_eq(note.msgid, pos);
		check_eq(note.meta[3], pos * 7);
		ddi_ring_pop(lh);
		/* The slot still holds a note of the round before. */
		check_eq(ddi_ring_look(area, lh, &note), 0);
	}
}

static void position_64_bits(void)
{
	struct dd_note note;

	setup(8, 2, (1ull << 32) - 1);
	post(8, 2, (1ull << 32) - 1);
	post(8, 2, 1ull << 32);
	check_eq(ddi_ring_look(area, lh, &note), 1);
	ddi_ring_pop(lh);
	check_eq(ddi_ring_look(area, lh, &note), 1);
	check_eq(note.conn, 100);
	ddi_ring_pop(lh);
	check_eq(lh->head, (1ull << 32) + 1);
}

static void kick_asked_for(void)
{
	setup(8, 2, 0);
	post(8, 2, 0);
	lh->flags = DD_LIST_NEED_KICK;
	check(ddi_ring_pop(lh));
	lh->flags = DD_LIST_GONE;
	check(!ddi_ring_pop(lh));
}

static void list_gone_stirs(void)
{
	setup(8, 2, 0);
	lh->id = 0;
	check(ddi_ring_stirred(area, lh, ID));
}

/* The owner of the area may write anything: nothing outside is touched. */
static void scribbled_geometry(void)
{
	static const uint64_t bad[] = {
		0xffffffff00000002, 2ull << 52 | 2, 8ull << 32 | 31,
		8ull << 32 | 0xffffffff, ~0ull,
		(uint64_t)(DD_AREA_SIZE / DD_UNIT) << 32,
	};
	struct dd_note note;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		setup(8, 2, 3);
		lh->geometry = bad[i];
		check_eq(ddi_ring_look(area, lh, &note), 0);
		/* Stirred, so that the kernel gets to judge it. */
		check(ddi_ring_stirred(area, lh, ID));
	}
}

#define GROW_NOTES	200000
#define GROW_UNITS	2048

/* Grows the ring again and again while notes come, spoiling the old ring. */
static void *grower(void *arg)
{
	uint32_t order = 2, unit[2] = { 64, 64 + GROW_UNITS };
	int which = 0;

	(void)arg;
	for (uint64_t pos = 0; pos < GROW_NOTES; pos++) {
		/* Like a channel with a credit of 3 notes. */
		while (pos - ddi_load_acquire(&lh->head) > 3)
			;
		post(unit[which], order, pos);
		if (pos % 64 == 63) {
			uint32_t to = order < 8 ? order + 1 : 2;
			uint64_t p = ddi_load_acquire(&lh->head);

			for (; p <= pos; p++)
				*slot(unit[!which], to, p) =
					*slot(unit[which], order, p);
			__atomic_store_n(&lh->geometry,
					 (uint64_t)unit[!which] << 32 | to,
					 __ATOMIC_RELEASE);
			for (uint32_t i = 0; i < 1u << order; i++) {
				struct dd_note *n = slot(unit[which], order, i);

				ddi_store(&n->seq, 0);
				ddi_store(&n->msgid, 0xdead);
			}
			order = to;
			which = !which;
		}
	}
	return NULL;
}

static void growth_while_reading(void)
{
	uint64_t wrong = 0;
	pthread_t thread;

	setup(64, 2, 0);
	pthread_create(&thread, NULL, grower, NULL);
	for (uint64_t pos = 0; pos < GROW_NOTES; pos++) {
		struct dd_note note;

		while (!ddi_ring_look(area, lh, &note))
			;
		wrong += note.msgid != (uint32_t)pos ||
			 note.meta[3] != (uint32_t)(pos * 7);
		ddi_ring_pop(lh);
	}
	pthread_join(thread, NULL);
	check_eq(wrong, 0);
}

static void table_finds_by_index(void)
{
	static struct ddi_table table;
	static const uint32_t ids[] = { 1, 0x1ff, 0x200, 0x3ffff, 0x7ffc0001 };
	int a, b;

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		check(!ddi_table_get(&table, ids[i]));
	check_eq(ddi_table_put(&table, 0x3ffff, &a), 0);
	check_eq(ddi_table_put(&table, 1, &b), 0);
	check(ddi_table_get(&table, 0x3ffff) == &a);
	/* The tag is for the record to tell. */
	check(ddi_table_get(&table, 0x7ffc0001) == &b);
	check(!ddi_table_get(&table, 0x200));
	ddi_table_release(&table);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(empty_ring),
		TEST(note_is_copied),
		TEST(positions_wrap),
		TEST(position_64_bits),
		TEST(kick_asked_for),
		TEST(list_gone_stirs),
		TEST(scribbled_geometry),
		TEST(growth_while_reading),
		TEST(table_finds_by_index),
	};

	area = mmap(NULL, DD_AREA_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
