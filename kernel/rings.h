/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Direct rings: what is in them, and how those are woken who wait for that.
 *
 * Pure, so that selftests/lib can let it race with the library in user space.
 */
#ifndef _DD_RINGS_H
#define _DD_RINGS_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/rbtree.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <uapi/linux/dd.h>

#include "linger.h"

#define DD_PAGE_NOTES		(PAGE_SIZE / sizeof(struct dd_ring_note))

struct dd_ctx;
struct dd_window;

/**
 * struct dd_ring - a direct ring of a note list; it stays as long as that
 * @from: who may write to it now, whose memory is held; NULL if nobody
 * @users: connections of those two; with the last the windows are revoked
 * @reserved: slots promised to them, and those of @linger
 * @linger: slots of connections that are over, whose notes may still be unread
 * @start: position of the first note of @from
 * @seen: position of the reader when it was looked at last
 * @since: when that was, in jiffies
 * @rate: notes in a second before that, U64_MAX if it was not long enough
 * @slots: number of slots
 * @unit: of @state, in the area of the list's owner
 * @state: the page the receiver writes
 * @notes: what shows @from the slots
 * @view: what shows it @state
 * @feeds: of what came by it: ends whose cells still name it
 * @room: senders to be woken, by the position they wait for; under
 *	dd_list.pend_lock
 * @page: addresses of the pages of slots
 *
 * All others protected by dd_list.lock, except that @slots, @unit, @state and
 * @page never change.
 */
struct dd_ring {
	struct dd_ctx *from;
	u32 users;
	u32 reserved;
	struct dd_linger linger;
	u64 start;
	u64 seen;
	unsigned long since;
	u64 rate;
	u32 slots;
	u32 unit;
	struct dd_ring_state *state;
	struct dd_window *notes;
	struct dd_window *view;
	struct list_head feeds;
	struct rb_root_cached room;
	void *page[];
};

/**
 * struct dd_asker - who was refused a ring
 * @conn: the connection; an address and no more, there may be another by now
 * @sent: messages it had sent by the kernel
 * @since: when that was, in jiffies
 * @rate: messages in a second before that, 0 if that is not known
 */
struct dd_asker {
	const void *conn;
	u64 sent;
	unsigned long since;
	u64 rate;
};

/**
 * struct dd_rings - the direct rings of a note list
 * @n: how many; published with release, grows only
 * @unit: of @table
 * @table: numbers of their units, for the receiver
 * @pause: jiffies before which none is taken back; under dd_list.lock
 * @ring: the rings
 * @refused: who would have had one, by a hash; under dd_list.lock
 */
struct dd_rings {
	u32 n;
	u32 unit;
	u32 *table;
	unsigned long pause;
	struct dd_ring *ring[DD_RINGS_MAX];
	struct dd_asker refused[DD_RINGS_MAX];
};

/* Position of the first note that its receiver has not consumed, as it says. */
static inline u64 dd_ring_head(const struct dd_ring *ring)
{
	/* Pairs with the reader's release: it has done with what it consumed. */
	return smp_load_acquire(&ring->state->head);
}

static inline struct dd_ring_note *dd_ring_slot(const struct dd_ring *ring,
						u64 pos)
{
	u32 i = pos & (ring->slots - 1);

	return (struct dd_ring_note *)ring->page[i / DD_PAGE_NOTES] +
	       i % DD_PAGE_NOTES;
}

/* Whether the note at a position is there. */
static inline bool dd_ring_has(const struct dd_ring *ring, u64 pos)
{
	/* Pairs with the sender's exchange: then the rest is the note's. */
	return smp_load_acquire(&dd_ring_slot(ring, pos)->seq) == pos + 1;
}

static inline u32 dd_rings_count(const struct dd_rings *rings)
{
	/* Pairs with dd_rings_add(). */
	return rings ? smp_load_acquire(&rings->n) : 0;
}

/* Whether the receiver would find a note, or what looks like one. */
static inline bool dd_rings_have(const struct dd_rings *rings)
{
	u32 i, n = dd_rings_count(rings);

	for (i = 0; i < n; i++)
		if (dd_ring_has(rings->ring[i], dd_ring_head(rings->ring[i])))
			return true;
	return false;
}

/* Whether senders are to say when they have posted; then a full barrier. */
static inline void dd_rings_need_wake(const struct dd_rings *rings, u32 need)
{
	u32 i, n = dd_rings_count(rings);

	for (i = 0; i < n; i++)
		WRITE_ONCE(rings->ring[i]->state->need_wake, need);
	/* The sender stores its note, then looks at the word; here reversed. */
	smp_mb();
}

#endif /* _DD_RINGS_H */
