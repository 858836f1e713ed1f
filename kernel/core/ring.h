/* SPDX-License-Identifier: GPL-2.0-only */
/* Direct rings of a note list, which senders write: ring.c, ring_wait.c. */
#ifndef _DD_RING_H
#define _DD_RING_H

#include <linux/list.h>

#include "core/rings.h"

struct dd_conn_state;
struct dd_list;

/**
 * struct dd_direct_rx - the direct path of one channel
 * @ring: the ring that the notes come by
 * @slots: slots reserved there
 * @block: the window in which the sender sees the block; NULL once the channel is closing and its
 *	notes are counted; under dd_list.lock
 * @end: without @block, the position after the last unread note, or 0
 * @base: messages that were sent through the kernel before
 * @from: position in the ring of the first possible note
 * @cs: of the receiver, which names the ring
 * @on_ring: in dd_ring.rxs while @cs names the ring; under dd_list.lock
 */
struct dd_direct_rx {
	struct dd_ring *ring;
	u32 slots;
	struct dd_window *block;
	u64 end;
	u64 base;
	u64 from;
	struct dd_conn_state *cs;
	struct list_head on_ring;
};

/**
 * struct dd_ring_prealloc - memory for dd_ring_get(), allocated before the list is locked
 * @rings: for a list that has no rings yet, or NULL
 * @ring: a ring that belongs to no list, or NULL
 * @notes: window for the slots of a ring, or NULL
 * @view: window for the state of a ring, or NULL
 * @want_slots: dd_ring_get() needs a @ring with this number of slots, unless 0. It stays set if
 *	the owner is at a limit
 * @want_pages: it needs @view, and @notes of this number of pages, unless 0
 */
struct dd_ring_prealloc {
	struct dd_rings *rings;
	struct dd_ring *ring;
	struct dd_window *notes;
	struct dd_window *view;
	u32 want_slots;
	u32 want_pages;
};

int dd_ring_prealloc_fill(struct dd_ring_prealloc *pre, struct dd_list *list, struct dd_ctx *ctx);
void dd_ring_prealloc_free(struct dd_ring_prealloc *pre, struct dd_ctx *owner);
struct dd_ring *dd_ring_get(struct dd_list *list, struct dd_ctx *ctx, u32 slots,
			    struct dd_ring_prealloc *pre);
void dd_ring_join(struct dd_ring *ring, u32 slots);
void dd_ring_leave(struct dd_ring *ring, u32 slots, u64 end);
struct dd_rings *dd_rings_of(const struct dd_list *list);
bool dd_rings_ready(const struct dd_list *list);
void dd_rings_arm(const struct dd_list *list);
void dd_rings_disarm(const struct dd_list *list);
void dd_rings_free(struct dd_ctx *owner, struct dd_rings *rings);

/**
 * struct dd_ring_waiter - a thread that waits until a direct ring has been read
 *	up to a position
 * @entry: in dd_ring.wait
 * @ring: the ring
 * @pos: the position
 */
struct dd_ring_waiter {
	struct wait_queue_entry entry;
	struct dd_ring *ring;
	u64 pos;
};

void dd_ring_wait_init(struct dd_ring_waiter *w, struct dd_ring *ring, u64 pos);
void dd_ring_wait_arm(const struct dd_ring_waiter *w);
void dd_ring_wait_end(struct dd_ring_waiter *w);
void dd_rings_kick(struct dd_list *list);

#endif /* _DD_RING_H */
