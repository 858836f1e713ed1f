/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The direct path: windows, by which a process sees memory that another one's
 * objects use, and rings of notes that it writes itself.
 */
#ifndef _DD_DIRECT_H
#define _DD_DIRECT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <uapi/linux/dd.h>

#include "rings.h"

struct dd_conn;
struct dd_ctx;
struct dd_list;
struct dd_node;
struct task_struct;

/* ---- window.c ----------------------------------------------------------- */

/**
 * struct dd_window - pages that a context may map
 * @ref: held by whoever made it, and by mappings
 * @ctx: the context, whose memory is held
 * @pgoff: where they are mapped in the device
 * @npages: how many
 * @readonly: not to be written
 * @dead: revoked: a page of the context's own is mapped instead; under
 *	dd_ctx.window_lock
 * @pages: their addresses, valid until it is dead
 * @rcu: look-ups go on
 * @own: room for them, if nobody else keeps an array
 */
struct dd_window {
	struct kref ref;
	struct dd_ctx *ctx;
	unsigned long pgoff;
	unsigned long npages;
	bool readonly;
	bool dead;
	void **pages;
	struct rcu_head rcu;
	void *own[];
};

int dd_window_init(void);
void dd_window_exit(void);
int dd_window_ctx_init(struct dd_ctx *ctx);
void dd_window_ctx_exit(struct dd_ctx *ctx);
struct dd_window *dd_window_create(struct dd_ctx *ctx, unsigned long npages,
				   bool own, bool readonly);
void dd_window_show(struct dd_window *win, void **pages, bool own);
void dd_window_revoke(struct dd_window *win);
void dd_window_hold(struct dd_window *win);
void dd_window_release(struct dd_window *win, bool dead);
int dd_window_mmap(struct dd_ctx *ctx, struct vm_area_struct *vma);

/* ---- ring.c ------------------------------------------------------------- */

/**
 * struct dd_ring_kit - memory for dd_ring_get(), allocated before the list is locked
 * @rings: for a list that has had no ring, or NULL
 * @ring: one that no list has, or NULL
 * @notes: window on @pages pages of slots, or NULL
 * @view: window on a ring's state, or NULL
 * @full: no @ring can be had, as the owner has too many or may not have more memory
 * @want_rings: dd_ring_get() has returned %-EAGAIN and needs @rings
 * @want_slots: or, unless 0, a @ring of so many slots
 * @want_pages: or, unless 0, @view, and @notes of so many pages
 */
struct dd_ring_kit {
	struct dd_rings *rings;
	struct dd_ring *ring;
	struct dd_window *notes;
	struct dd_window *view;
	bool full;
	bool want_rings;
	u32 want_slots;
	u32 want_pages;
};

int dd_ring_kit_fill(struct dd_ring_kit *kit, struct dd_ctx *owner,
		     struct dd_ctx *ctx);
void dd_ring_kit_drop(struct dd_ring_kit *kit, struct dd_ctx *owner);
struct dd_ring *dd_ring_get(struct dd_list *list, const struct dd_conn *conn,
			    u32 slots, struct dd_ring_kit *kit);
void dd_ring_join(struct dd_ring *ring, u32 slots);
void dd_ring_leave(struct dd_ring *ring, u32 slots, u64 end);
struct dd_rings *dd_rings_of(const struct dd_list *list);
bool dd_rings_ready(const struct dd_list *list);
void dd_rings_arm(const struct dd_list *list);
void dd_rings_disarm(const struct dd_list *list);
void dd_rings_free(struct dd_list *list);
void dd_rings_stop(struct dd_list *list);

/* ---- room.c ------------------------------------------------------------- */

/**
 * struct dd_waiter - a sender that waits for its direct ring to be read
 * @node: in dd_ring.room while it is to be woken; under dd_list.pend_lock
 * @pos: until its reader has come to that position
 * @list: the list that it belongs to, of which he is a user
 * @ring: the ring; NULL if there is none any more
 * @task: who waits
 */
struct dd_waiter {
	struct rb_node node;
	u64 pos;
	struct dd_list *list;
	struct dd_ring *ring;
	struct task_struct *task;
};

void dd_room_enter(struct dd_waiter *w);
void dd_room_leave(struct dd_waiter *w);
void dd_room_kick(struct dd_list *list);

/* ---- direct.c ----------------------------------------------------------- */

/**
 * struct dd_feed - the direct way to one end of a connection
 * @ring: what its notes come by
 * @slots: reserved there
 * @left: the ring was taken back, and is not the end's any more; under
 *	dd_list.lock and that of the segment
 * @gone: the sender knows that, and sends by the doorbell; not all of its notes
 *	in the ring have been read. Under the same locks
 * @over: the connection is, and what has come is settled; under dd_list.lock
 * @block: what shows the sender the end's block; NULL once that is revoked
 * @end: then, or when it was left, the position after its last note
 * @base: messages that the sender had sent before
 * @from: position in the ring before which none of its notes is
 * @conn: the end
 * @cell: its cell, which names the ring
 * @on_ring: while that is so; under dd_list.lock
 */
struct dd_feed {
	struct dd_ring *ring;
	u32 slots;
	bool left;
	bool gone;
	bool over;
	struct dd_window *block;
	u64 end;
	u64 base;
	u64 from;
	struct dd_conn *conn;
	struct dd_cell *cell;
	struct list_head on_ring;
};

int dd_direct_grant(struct dd_ctx *ctx, struct dd_direct *arg);
u64 dd_direct_revoke(struct dd_conn *conn);
void dd_direct_forget(struct dd_conn *conn);
void dd_direct_release(struct dd_conn *conn);
int dd_direct_wake(struct dd_ctx *ctx, u64 serial);
struct dd_ring *dd_direct_ring(const struct dd_conn *conn);
int dd_direct_reached(const struct dd_conn *conn, const struct dd_waiter *w);
u64 dd_direct_sent(const struct dd_conn *conn);
u64 dd_direct_last(const struct dd_conn *conn);
u64 dd_direct_open(const struct dd_conn *conn);
u64 dd_direct_received(const struct dd_conn *conn);
u64 dd_direct_done(struct dd_conn *conn);
bool dd_direct_is(const struct dd_conn *conn);
void dd_feed_leave(struct dd_feed *feed, u64 end);
void dd_feed_hide(struct dd_feed *feed);
u64 dd_feed_arrived(const struct dd_feed *feed, u64 *end);
bool dd_feed_read(const struct dd_feed *feed);
void dd_direct_stop(struct dd_node *node);

#endif /* _DD_DIRECT_H */
