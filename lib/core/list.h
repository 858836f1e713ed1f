/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * list.h - note lists of a handle
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_LIST_H
#define _DD_LIST_H

#include "handle.h"
#include "lock.h"
#include "wait.h"

/* A direct ring: a note ring written by the sending process. */
struct ddi_direct_rx {
	struct dd_ring_state *state;	/* in the area; the slots are behind it */
	uint32_t mask;			/* number of slots minus 1 */
	uint32_t unit;			/* unit number of @state; connection states refer to it */
};

/* The record of a list head, which later lists with that head use as well. */
struct ddi_list {
	struct ddi_lock lock;		/* one consumer at a time */
	uint32_t id;			/* 0 while unbound */
	uint64_t serial;		/* of dd_list(); else 0 */
	struct dd_list_head *head;	/* in the area; never changes */
	struct ddi_direct_rx *cur;	/* ring of the last message; NULL: the list's own */
	struct dd_note *ring;		/* slot 0 of the list's own ring, */
	uint64_t geometry;		/* for this geometry: at worst out of date */
	uint32_t mask;			/* number of slots minus 1 */
	uint32_t nr_rx;			/* direct rings known */
	struct ddi_direct_rx *rx;	/* array of them; NULL until there is one */
	uint32_t turn;			/* ring that a scan begins at: 0 its own, else of @rx */
	int32_t streak;			/* messages until all rings are looked at again */
	uint64_t rest_of;		/* number of the close note that @rest belongs to */
	uint64_t rest;			/* position in the closed connection's ring; all
					 * before it has been taken
					 */
	struct ddi_spin spin;
	char *area;			/* that has @head */
	struct ddi_list *same;		/* next record of the bucket in ddi_board.heads */
	struct ddi_list *next;		/* in dd.all_lists */
} __attribute__((aligned(DDI_LINE)));

#define DDI_AREA_UNITS	(DD_AREA_SIZE / DD_UNIT)
#define DDI_STATE_SIZE	4096	/* struct dd_ring_state has a page */

/* A slot. The sending process writes it at any time: load each word once. */
static inline const struct dd_ring_note *
ddi_direct_slot(const struct ddi_direct_rx *rx, uint64_t pos)
{
	const void *notes = (const char *)rx->state + DDI_STATE_SIZE;

	return (const struct dd_ring_note *)notes + (pos & rx->mask);
}

/* A program may scribble on the head: a slot outside the area is no slot. */
static inline struct dd_note *ddi_list_slot(const struct ddi_list *l, uint64_t geometry,
					    uint64_t pos)
{
	uint64_t unit = geometry >> 32;
	uint32_t shift = geometry & 0xffffffff;

	if (shift > 30)
		return NULL;
	unit += pos & ((1ull << shift) - 1);
	if (unit >= DDI_AREA_UNITS)
		return NULL;
	return (struct dd_note *)(l->area + unit * DD_UNIT);
}

struct ddi_list *ddi_list_find_slow(struct dd *h, uint32_t id);
struct ddi_list *ddi_list_bind(struct dd *h, uint32_t id, uint32_t unit);
int ddi_list_wait(struct dd *h, struct ddi_list *l, uint32_t id,
		  unsigned int options, struct ddi_limit *limit);
int ddi_list_sleep(struct dd *h, uint32_t *ids, uint32_t count, int64_t deadline);
void ddi_list_release(struct dd *h);

/*
 * For libraries that sleep by a descriptor: look at a list for a while. True: look for a message;
 * false: sleep, and then pass *@since to ddi_list_slept(), which learns whether looking pays.
 */
bool ddi_list_spin(struct dd *h, int list, int64_t deadline, int64_t *since);
void ddi_list_slept(struct dd *h, int list, int64_t since);

/* A list that exists, or NULL. */
static inline struct ddi_list *ddi_list_find(struct dd *h, uint32_t id)
{
	struct ddi_list *l = ddi_table_get(h->board.lists, id);

	if (ddi_likely(l) && ddi_likely(ddi_load_acquire(&l->id) == id))
		return l;
	return ddi_list_find_slow(h, id);
}

#endif /* _DD_LIST_H */
