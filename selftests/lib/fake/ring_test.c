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

#include "list.c"
#include "recv.c"
#include "tap.h"

#define ID	0x40001

static char *area;
static struct dd_list_head *lh;
static struct ddi_list record;

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
	n->meta_count = DD_META_WORDS;
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
	record = (struct ddi_list){ .ring = (struct dd_note *)area };
}

static bool look(struct dd_note *note)
{
	return own_look(area, &record, lh, note);
}

static bool pop(const struct dd_note *note)
{
	ddi_store_mb(&lh->head, note->seq);
	return lh->flags & DD_LIST_NEED_KICK;
}

static bool over(void)
{
	const struct ddi_look look = {
		.area = area, .place = lh, .list = &record, .id = ID,
	};

	return list_over(&look);
}

static void empty_ring(void)
{
	struct dd_note note;

	setup(8, 2, 0);
	check_eq(look(&note), 0);
	check(!over());
}

static void note_is_copied(void)
{
	struct dd_note note = { 0 };

	setup(8, 2, 0);
	post(8, 2, 0);
	check(over());
	check_eq(look(&note), 1);
	check_eq(note.conn, 100);
	/* Looking does not consume. */
	check_eq(lh->head, 0);
	check_eq(look(&note), 1);
	check(!pop(&note));
	check_eq(lh->head, 1);
	check_eq(look(&note), 0);
}

static void positions_wrap(void)
{
	struct dd_note note;

	setup(8, 2, 0);
	for (uint64_t pos = 0; pos < 41; pos++) {
		post(8, 2, pos);
		check_eq(look(&note), 1);
		check_eq(note.msgid, pos);
		check_eq(note.meta[3], pos * 7);
		pop(&note);
		/* The slot still holds a note of the round before. */
		check_eq(look(&note), 0);
	}
}

static void position_64_bits(void)
{
	struct dd_note note;

	setup(8, 2, (1ull << 32) - 1);
	post(8, 2, (1ull << 32) - 1);
	post(8, 2, 1ull << 32);
	check_eq(look(&note), 1);
	pop(&note);
	check_eq(look(&note), 1);
	check(note.conn == 100 + (1ull << 32));
	pop(&note);
	check_eq(lh->head, (1ull << 32) + 1);
}

static void kick_asked_for(void)
{
	struct dd_note note;

	setup(8, 2, 0);
	post(8, 2, 0);
	check(look(&note));
	lh->flags = DD_LIST_NEED_KICK;
	check(pop(&note));
	lh->flags = DD_LIST_GONE;
	check(!pop(&note));
}

static void list_gone_stirs(void)
{
	setup(8, 2, 0);
	lh->id = 0;
	check(over());
}

/* The owner of the area may write anything: nothing outside is touched. */
static void scribbled_geometry(void)
{
	static const uint64_t bad[] = {
		0xffffffff00000002, 2ull << 52 | 2, 8ull << 32 | 31,
		8ull << 32 | 0xffffffff, ~0ull,
		(uint64_t)(DD_AREA_SIZE / DD_UNIT) << 32,
		/* The last slot is one too far. */
		(uint64_t)(DD_AREA_SIZE / DD_UNIT - 3) << 32 | 2,
	};
	struct dd_note note;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		setup(8, 2, 3);
		check(!look(&note));
		lh->geometry = bad[i];
		check_eq(look(&note), 0);
		/* Stirred, so that the kernel gets to judge it. */
		check(over());
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

		while (!look(&note))
			;
		wrong += note.msgid != (uint32_t)pos ||
			 note.meta[3] != (uint32_t)(pos * 7);
		pop(&note);
	}
	pthread_join(thread, NULL);
	check_eq(wrong, 0);
}

/* What was worked out for one ring is not used for another. */
static void geometry_is_remembered(void)
{
	struct dd_note note;

	setup(8, 2, 5);
	post(8, 2, 5);
	check(look(&note));
	check_eq(record.geometry, lh->geometry);
	lh->geometry = 16ull << 32 | 3;
	check(!look(&note));
	post(16, 3, 5);
	check(look(&note));
	check_eq(note.msgid, 5);
	lh->geometry = 0;
	check(!look(&note));
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
		TEST(geometry_is_remembered),
	};

	area = mmap(NULL, DD_AREA_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
