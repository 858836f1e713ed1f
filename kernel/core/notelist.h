/* SPDX-License-Identifier: GPL-2.0-only */
/* Note lists: notelist.c. */
#ifndef _DD_NOTELIST_H
#define _DD_NOTELIST_H

#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/tracepoint-defs.h>
#include <linux/wait.h>
#include <uapi/linux/dd_mem.h>

#include "core/bounds.h"
#include "core/ctx.h"
#include "core/deferred.h"
#include "core/node.h"

struct dd_rings;

/*
 * Withheld notes posted by one kick. The reader does this work for its senders, so it
 * is bounded.
 */
#define DD_KICK_MAX	64

/**
 * struct dd_pending - a note that waits for a slot
 * @node: in dd_list.pending, or empty
 * @need: the note may be posted once the reader has reached this position
 * @retry: posts the note if there is a slot, in any context and with no lock held
 */
struct dd_pending {
	struct rb_node node;
	u64 need;
	void (*retry)(struct dd_pending *p);
};

/**
 * enum dd_list_state - the life of a list; it only goes on
 * @DD_LIST_NEW: its id is reserved
 * @DD_LIST_LIVE: the id is in the table, which holds a reference
 * @DD_LIST_HUP: as before; it belongs to a single connection of a service with
 *	DD_SERVE_CLOSE, whose client is gone
 * @DD_LIST_ENDED: its last user has gone
 */
enum dd_list_state {
	DD_LIST_NEW,
	DD_LIST_LIVE,
	DD_LIST_HUP,
	DD_LIST_ENDED,
};

/**
 * struct dd_list - a note list
 * @obj: its id
 * @head: first unit in the area
 * @unit: number of that unit
 * @geometry: location of the slots; changed under @lock while they are moved, when no
 *	position is handed out whose note is not posted
 * @tail: number of positions handed out, and %DD_LIST_MOVING while the slots are moved
 * @lock: protects @users, @reserved and @deferred; taken after the locks of
 *	its users
 * @users: services and connections attached; the list ends with the last one
 * @reserved: slots reserved by them
 * @deferred: slots of detached channels whose notes may be unread
 * @state: changes under @pend_lock
 * @wait: sleeping readers
 * @pend_lock: protects @pending, @state and the flags in @head; innermost. Taken with
 *	interrupts disabled: channels of this node are locked with softirqs enabled, and
 *	spin_unlock_bh() would run pending softirqs with the channel locked
 * @pending: withheld notes, by the position they wait for
 * @rings: direct rings, or NULL; set and changed under @lock
 * @rcu: see struct dd_obj
 */
struct dd_list {
	struct dd_obj obj;
	struct dd_list_head *head;
	u32 unit;
	u64 geometry;
	atomic64_t tail;
	struct mutex lock;	/* protects users and reservations */
	u32 users;
	u32 reserved;
	struct dd_deferred_slots deferred;
	enum dd_list_state state;
	wait_queue_head_t wait;
	spinlock_t pend_lock;	/* protects pending and state */
	struct rb_root_cached pending;
	struct dd_rings *rings;
	struct rcu_head rcu;
};

struct dd_list *dd_list_create(struct dd_ctx *ctx, u32 slots, u32 space);
struct dd_list *dd_list_attach(struct dd_ctx *ctx, u32 id, bool must,
			       u32 slots, u32 space);
int dd_list_reserve(struct dd_list *list, u32 slots, u32 users);
void dd_list_unreserve(struct dd_list *list, u32 slots);
void dd_list_publish(struct dd_list *list);
void dd_list_hang_up(struct dd_list *list);
void dd_list_detach(struct dd_list *list, u32 slots, u64 last);
bool dd_list_pend(struct dd_list *list, struct dd_pending *p);
void dd_list_unpend(struct dd_list *list, struct dd_pending *p);

extern const struct dd_obj_ops dd_list_ops;

static inline void dd_list_put(struct dd_list *list)
{
	dd_obj_put(&list->obj);
}

/* No note is posted any more. Acquire: the caller sees the last ones. */
static inline bool dd_list_ended(const struct dd_list *list)
{
	/* Pairs with list_advance(). */
	return smp_load_acquire(&list->state) == DD_LIST_ENDED;
}

/* Flag in dd_list.tail: positions handed out now are not valid. */
#define DD_LIST_MOVING	BIT_ULL(63)

/* Positions handed out; may be too high while the slots are moved. */
static inline u64 dd_list_tail(const struct dd_list *list)
{
	return atomic64_read(&list->tail) & ~DD_LIST_MOVING;
}

static inline bool dd_list_moving(const struct dd_list *list)
{
	return atomic64_read(&list->tail) & DD_LIST_MOVING;
}

/**
 * dd_list_head_pos() - the reader's position
 * @list: the list
 *
 * The reader can write any value. An invalid one counts as 0, as if nothing had been
 * read, which stops only the senders to this reader.
 */
static inline u64 dd_list_head_pos(const struct dd_list *list)
{
	/* Pairs with the reader's release: it does not read the consumed slots any more. */
	u64 head = smp_load_acquire(&list->head->head);

	return head <= dd_list_tail(list) ? head : 0;
}

/**
 * dd_list_claim() - take the next position of a list
 * @list: the list
 * @pos: (out) the position
 *
 * The caller has a credit. Until dd_list_commit() it holds a spinlock, for which moving
 * the slots waits, or dd_list.lock.
 *
 * Return: the slot, to be filled in by the caller; or NULL if the slots are being moved,
 * and nothing can be posted.
 */
static inline struct dd_note *dd_list_claim(struct dd_list *list, u64 *pos)
{
	*pos = atomic64_fetch_inc(&list->tail);
	if (unlikely(*pos & DD_LIST_MOVING))
		return NULL;
	/* Does not change before the note at this position is posted. */
	return dd_area_unit(&list->obj.ctx->area,
			    dd_slot_unit(READ_ONCE(list->geometry), *pos));
}

void dd_list_trace(const struct dd_list *list, const struct dd_note *note,
		   u64 pos);

DECLARE_TRACEPOINT(dd_note);

/* Post a note: make it visible to the reader. */
static inline void dd_list_commit(struct dd_list *list, struct dd_note *note,
				  u64 pos)
{
	/* Release: a reader that sees the number sees the note and the message. */
	smp_store_release(&note->seq, pos + 1);
	dd_stat_inc(list->obj.ctx->node, DD_STAT_NOTES);
	if (tracepoint_enabled(dd_note))
		dd_list_trace(list, note, pos);
}

bool dd_list_post(struct dd_list *list, const struct dd_note *from, u64 *pos);
void dd_list_wake_all(struct dd_list *list);

/**
 * dd_list_wake() - wake readers
 * @list: the list; called after dd_list_post(), outside of spinlocks where possible
 */
static inline void dd_list_wake(struct dd_list *list)
{
	const struct dd_ctx *ctx = list->obj.ctx;

	/* Orders the note before the checks of both queues; pairs with prepare_to_wait(). */
	smp_mb();
	/* Ordered by the barrier above. */
	if (unlikely(waitqueue_active(&list->wait)) ||
	    /* As above. */
	    unlikely(waitqueue_active((wait_queue_head_t *)&ctx->wait)) ||
	    unlikely(READ_ONCE(ctx->fasync)))
		dd_list_wake_all(list);
}

bool dd_list_has_note(const struct dd_list *list);
bool dd_list_ready(const struct dd_list *list);
void dd_list_kick(struct dd_list *list);
int dd_list_wait(struct dd_ctx *ctx, struct dd_list_wait *arg);
int dd_list_make(struct dd_ctx *ctx, struct dd_list_make *arg);
int dd_list_fd(struct dd_ctx *ctx, u32 id);
int dd_list_info(struct dd_ctx *ctx, struct dd_list_info *arg);

#endif /* _DD_NOTELIST_H */
