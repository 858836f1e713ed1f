/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Direct rings: reading what is in them, and arming them for a wake-up.
 *
 * No kernel services are used here, so that selftests/lib can run this code
 * against the library in user space.
 */
#ifndef _DD_RINGS_H
#define _DD_RINGS_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <asm/barrier.h>
#include <uapi/linux/dd.h>

#include "core/deferred.h"

#define DD_PAGE_NOTES		(PAGE_SIZE / sizeof(struct dd_ring_note))

struct dd_ctx;
struct dd_window;

/**
 * struct dd_ring - a direct ring of a note list
 * @from: the sending context, of which a reference is held; NULL if the ring
 *	has no sender
 * @users: connections of @from that use the ring; the windows are revoked with
 *	the last one
 * @reserved: slots reserved by @users and @deferred
 * @deferred: slots of closed connections whose notes may be unread
 * @start: position of the first note of @from
 * @slots: number of slots
 * @unit: unit of @state in the area of the list's owner
 * @state: the page that the receiver writes
 * @notes: the window in which @from sees the slots
 * @view: the window in which @from sees @state
 * @rxs: struct dd_direct_rx whose states name this ring
 * @wait: sending threads that wait until the ring has been read up to a
 *	position
 * @page: addresses of the pages of slots
 *
 * A ring is freed with its list. @slots, @unit, @state and @page never change,
 * @wait has its own lock, and dd_list.lock protects the rest.
 */
struct dd_ring {
	struct dd_ctx *from;
	u32 users;
	u32 reserved;
	struct dd_deferred_slots deferred;
	u64 start;
	u32 slots;
	u32 unit;
	struct dd_ring_state *state;
	struct dd_window *notes;
	struct dd_window *view;
	struct list_head rxs;
	wait_queue_head_t wait;
	void *page[];
};

/**
 * struct dd_rings - the direct rings of a note list
 * @n: number of rings; published with release, only grows
 * @unit: unit of @table
 * @table: the unit of each ring, for the receiver
 * @ring: the rings
 */
struct dd_rings {
	u32 n;
	u32 unit;
	u32 *table;
	struct dd_ring *ring[DD_RINGS_MAX];
};

/* Position of the first unread note, as stated by the receiver. */
static inline u64 dd_ring_head(const struct dd_ring *ring)
{
	/* Pairs with the reader's release: it no longer reads consumed slots. */
	return smp_load_acquire(&ring->state->head);
}

static inline struct dd_ring_note *dd_ring_slot(const struct dd_ring *ring,
						u64 pos)
{
	u32 i = pos & (ring->slots - 1);

	return (struct dd_ring_note *)ring->page[i / DD_PAGE_NOTES] +
	       i % DD_PAGE_NOTES;
}

/* Whether the note at a position has been posted. */
static inline bool dd_ring_has(const struct dd_ring *ring, u64 pos)
{
	/* Pairs with the sender's exchange: the note is complete. */
	return smp_load_acquire(&dd_ring_slot(ring, pos)->seq) == pos + 1;
}

static inline u32 dd_rings_count(const struct dd_rings *rings)
{
	/* Pairs with dd_rings_add(). */
	return rings ? smp_load_acquire(&rings->n) : 0;
}

/* Whether any ring has an unread note. */
static inline bool dd_rings_have(const struct dd_rings *rings)
{
	u32 i, n = dd_rings_count(rings);

	for (i = 0; i < n; i++)
		if (dd_ring_has(rings->ring[i], dd_ring_head(rings->ring[i])))
			return true;
	return false;
}

/* Tell senders whether to wake the receiver after a note; a full barrier. */
static inline void dd_rings_need_wake(const struct dd_rings *rings, u32 need)
{
	u32 i, n = dd_rings_count(rings);

	for (i = 0; i < n; i++)
		WRITE_ONCE(rings->ring[i]->state->need_wake, need);
	/*
	 * Orders the stores above before the caller's look for notes. Pairs with
	 * the exchange in the sender, which stores a note and then loads the word.
	 */
	smp_mb();
}

#endif /* _DD_RINGS_H */
