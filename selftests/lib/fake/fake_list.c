// SPDX-License-Identifier: LGPL-2.1-only
/*
 * fake_list.c - note lists of the kernel made of user code
 *
 * Copyright (C) 2026 The dd authors
 */
#include <string.h>
#include <errno.h>
#include <linux/dd_ddp.h>

#include "fake_int.h"

#define RING_ORDER	5

/* Heads of lists that are gone, for others, as in the kernel. */
static uint32_t spare[64];
static unsigned int nr_spare;

void lists_reset(void)
{
	nr_spare = 0;
}

static struct object *list_new(void)
{
	struct object *l = object_new(LIST);
	struct dd_list_head *lh;

	l->unit = nr_spare ? spare[--nr_spare] : units(1);
	lh = list_head(l);
	memset(lh, 0, sizeof(*lh));
	lh->geometry = (uint64_t)units(1 << RING_ORDER) << 32 | RING_ORDER;
	lh->id = l->id;
	return l;
}

struct object *list_attach(uint32_t id, bool must)
{
	struct object *l = object_get(id, LIST);

	if (!l && !must)
		l = list_new();
	if (l)
		l->users++;
	return l;
}

void list_detach(struct object *l)
{
	if (--l->users)
		return;
	list_head(l)->id = 0;
	list_head(l)->flags |= DD_LIST_GONE;
	l->kind = FREE;
	if (nr_spare < sizeof(spare) / sizeof(*spare))
		spare[nr_spare++] = l->unit;
}

static struct dd_note *list_slot(struct object *l, uint64_t pos)
{
	uint64_t geometry = list_head(l)->geometry;

	return (struct dd_note *)unit_addr(geometry >> 32) +
	       (pos & ((1u << (geometry & 31)) - 1));
}

uint64_t list_post(struct object *l, const struct dd_note *note)
{
	struct dd_note *slot = list_slot(l, l->tail);

	memcpy((char *)slot + 8, (const char *)note + 8, sizeof(*note) - 8);
	__atomic_store_n(&slot->seq, l->tail + 1, __ATOMIC_RELEASE);
	return ++l->tail;
}

int list_kick(struct object *l)
{
	__atomic_and_fetch(&list_head(l)->flags, ~DD_LIST_NEED_KICK,
			   __ATOMIC_SEQ_CST);
	for (int i = 1; i < OBJECTS; i++)
		if (objects[i].kind == CONN && objects[i].list == l &&
		    objects[i].withheld)
			deliver(&objects[i], objects[i].peer);
	return 0;
}

static bool list_ready(struct object *l)
{
	return list_head(l)->head != l->tail || ring_ready(l->ring);
}

int lists_ready(struct dd_list_wait *w)
{
	uint32_t *ids = (uint32_t *)w->lists;
	int ready = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		struct object *l = object_get(ids[i], LIST);

		if (!l)
			return -ENOENT;
		ready += list_ready(l);
	}
	return ready;
}
