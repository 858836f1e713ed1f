// SPDX-License-Identifier: LGPL-2.1-only
/*
 * direct_rx.c - finding direct rings, and messages in them
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>

#include "direct_rx.h"

/* Look for new rings of a locked list. Returns whether it has any rings. */
bool ddi_direct_refresh(struct dd *h, struct ddi_list *l, struct dd_list_head *lh)
{
	uint32_t n = ddi_load_acquire(&lh->rings);
	const __u32 *table;

	if (n > DD_RINGS_MAX)
		n = DD_RINGS_MAX;
	if (n <= l->nr_rx)
		return l->nr_rx;
	if (!l->rx)
		l->rx = calloc(DD_RINGS_MAX, sizeof(*l->rx));
	if (!l->rx)
		return false;
	table = (void *)(h->area + (size_t)ddi_load(&lh->rings_unit) * DD_UNIT);
	while (l->nr_rx < n) {
		struct ddi_direct_rx *rx = &l->rx[l->nr_rx];

		rx->unit = ddi_load(&table[l->nr_rx]);
		rx->state = (void *)(h->area + (size_t)rx->unit * DD_UNIT);
		rx->mask = rx->state->slots - 1;
		/* Pairs with list_over(), which looks without the lock. */
		ddi_store_release(&l->nr_rx, l->nr_rx + 1);
	}
	return true;
}

/* The ring that cells refer to by @unit, or NULL. */
struct ddi_direct_rx *ddi_direct_find(const struct ddi_list *l, uint32_t unit)
{
	uint32_t n = ddi_load_acquire(&l->nr_rx);

	for (uint32_t i = 0; unit && i < n; i++)
		if (l->rx[i].unit == unit)
			return &l->rx[i];
	return NULL;
}

/**
 * ddi_direct_first() - the first unread message of a connection in a ring
 * @rx: the ring, whose list is locked
 * @id: of the connection
 * @start: no position before this
 * @end: position after its last one
 * @pos: (out) position of the first one
 *
 * Return: whether there is one.
 */
bool ddi_direct_first(const struct ddi_direct_rx *rx, uint32_t id,
		      uint64_t start, uint64_t end, uint64_t *pos)
{
	uint64_t head = ddi_load(&rx->state->head);

	for (*pos = head > start ? head : start;
	     *pos < end && *pos - head <= rx->mask; ++*pos) {
		const struct dd_ring_note *slot = ddi_direct_slot(rx, *pos);

		if (ddi_load_acquire(&slot->seq) == *pos + 1 &&
		    ddi_load(&slot->conn) == id)
			return true;
	}
	return false;
}
