// SPDX-License-Identifier: GPL-2.0-only
/*
 * Senders that wait until their reader has consumed what is in a direct ring.
 *
 * They may be many, of many rings, and share a processor with each other: so one
 * is woken when the position is reached that it waits for, and not before, and
 * the reader is told which one that is, so that it calls for no other. Who is
 * woken is no longer asked for, though he may not run for a while.
 *
 * What ends a wait otherwise wakes the whole of dd_list.room.
 */
#include <linux/sched.h>

#include "direct.h"
#include "dd.h"

static struct dd_waiter *dd_room_first(const struct dd_ring *ring)
{
	return rb_entry_safe(rb_first_cached(&ring->room), struct dd_waiter,
			     node);
}

/* Say what the reader is to call for; under dd_list.pend_lock. */
static void dd_room_ask(const struct dd_ring *ring)
{
	const struct dd_waiter *first = dd_room_first(ring);

	WRITE_ONCE(ring->state->want, first ? first->pos : U64_MAX);
}

static bool dd_room_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct dd_waiter, node)->pos <
	       rb_entry(b, struct dd_waiter, node)->pos;
}

static void dd_room_erase(struct dd_waiter *w)
{
	struct dd_list *list = w->list;

	rb_erase_cached(&w->node, &w->ring->room);
	RB_CLEAR_NODE(&w->node);
	WRITE_ONCE(list->watchers, list->watchers - 1);
	dd_room_ask(w->ring);
	dd_list_settle(list);
}

/**
 * dd_room_enter() - ask to be woken when the reader is there
 * @w: who asks, perhaps not for the first time, and has set his state
 *
 * A full barrier: then the caller looks at the reader's position.
 */
void dd_room_enter(struct dd_waiter *w)
{
	struct dd_list *list = w->list;
	unsigned long flags;

	spin_lock_irqsave(&list->pend_lock, flags);
	if (RB_EMPTY_NODE(&w->node)) {
		rb_add_cached(&w->node, &w->ring->room, dd_room_less);
		WRITE_ONCE(list->watchers, list->watchers + 1);
		dd_room_ask(w->ring);
		dd_list_flag(list, DD_LIST_NEED_KICK, 0);
	}
	spin_unlock_irqrestore(&list->pend_lock, flags);
	/* The reader stores its head, then looks at both; here reversed. */
	smp_mb();
}

/**
 * dd_room_leave() - end a wait
 * @w: the waiter; no other CPU uses it after this
 *
 * A kick wakes DD_KICK_MAX waiters at most: each of them wakes as many of the
 * rest, of the same sending process, when it leaves.
 */
void dd_room_leave(struct dd_waiter *w)
{
	struct dd_list *list = w->list;
	const struct dd_waiter *next = NULL;
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&list->pend_lock, flags);
	if (!RB_EMPTY_NODE(&w->node))
		dd_room_erase(w);
	if (w->ring)
		next = dd_room_first(w->ring);
	more = next && next->pos <= dd_ring_head(w->ring);
	spin_unlock_irqrestore(&list->pend_lock, flags);
	if (more)
		dd_room_kick(list);
}

/* Wake one who waits for a ring from @i on: which, or @n if there is none. */
static u32 dd_room_wake(struct dd_list *list, const struct dd_rings *rings,
			u32 i, u32 n)
{
	struct dd_waiter *w;
	unsigned long flags;

	spin_lock_irqsave(&list->pend_lock, flags);
	for (; i < n; i++) {
		w = dd_room_first(rings->ring[i]);
		if (!w || w->pos > dd_ring_head(rings->ring[i]))
			continue;
		dd_room_erase(w);
		wake_up_process(w->task);
		break;
	}
	spin_unlock_irqrestore(&list->pend_lock, flags);
	return i;
}

/**
 * dd_room_kick() - wake those whose position the reader has reached
 * @list: the list
 *
 * After a full barrier that follows the reader's store: who enters after it was
 * looked for here sees that store. The lock is not held for more than one, and
 * no more than %DD_KICK_MAX are woken: dd_room_leave() goes on.
 */
void dd_room_kick(struct dd_list *list)
{
	const struct dd_rings *rings;
	u32 i = 0, n, woken = 0;

	if (!READ_ONCE(list->watchers))
		return;
	rings = dd_rings_of(list);
	n = dd_rings_count(rings);
	while (i < n && woken++ < DD_KICK_MAX)
		i = dd_room_wake(list, rings, i, n);
}
