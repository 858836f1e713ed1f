// SPDX-License-Identifier: GPL-2.0-only
/*
 * Senders that sleep until the receiver has read a direct ring up to a position.
 *
 * Each waits for its own position. The reader's kick wakes the waiters whose
 * position has been reached and removes them from the queue; @need_kick stays
 * set as long as the queue is not empty.
 */
#include <linux/sched.h>

#include "core/notelist.h"
#include "core/ring.h"

/* @key: the reader's position, or NULL to wake every waiter. */
static int ring_wait_wake(struct wait_queue_entry *entry, unsigned int mode,
			  int sync, void *key)
{
	const struct dd_ring_waiter *w = container_of(entry,
						      struct dd_ring_waiter,
						      entry);

	if (key && w->pos > *(u64 *)key)
		return 0;
	return autoremove_wake_function(entry, mode, sync, key);
}

/**
 * dd_ring_wait_init() - prepare to wait for a direct ring
 * @w: the waiter
 * @ring: the ring, of whose list the caller holds a reference
 * @pos: wait until the reader has come to this position
 */
void dd_ring_wait_init(struct dd_ring_waiter *w, struct dd_ring *ring, u64 pos)
{
	init_wait(&w->entry);
	w->entry.func = ring_wait_wake;
	w->ring = ring;
	w->pos = pos;
}

/**
 * dd_ring_wait_arm() - have the reader kick
 * @w: the waiter, which is on the ring's queue
 *
 * A full barrier: the caller then looks at the reader's position.
 */
void dd_ring_wait_arm(const struct dd_ring_waiter *w)
{
	WRITE_ONCE(w->ring->state->need_kick, 1);
	/*
	 * Pairs with the barrier in the reader, which stores its position and
	 * then loads @need_kick.
	 */
	smp_mb();
}

/* Under the lock of the queue, which a waiter joins before it arms. */
static void ring_wait_update(struct dd_ring *ring)
{
	lockdep_assert_held(&ring->wait.lock);
	WRITE_ONCE(ring->state->need_kick, !list_empty(&ring->wait.head));
}

/**
 * dd_ring_wait_end() - end a wait
 * @w: the waiter; no other CPU uses it after this
 */
void dd_ring_wait_end(struct dd_ring_waiter *w)
{
	struct dd_ring *ring = w->ring;
	unsigned long flags;

	finish_wait(&ring->wait, &w->entry);
	spin_lock_irqsave(&ring->wait.lock, flags);
	ring_wait_update(ring);
	spin_unlock_irqrestore(&ring->wait.lock, flags);
}

/**
 * dd_rings_kick() - wake the senders whose position the reader has reached
 * @list: the list whose direct rings have been read
 *
 * The caller has executed a full barrier after the reader's store.
 */
void dd_rings_kick(struct dd_list *list)
{
	const struct dd_rings *rings = dd_rings_of(list);
	u32 i, n = dd_rings_count(rings);
	struct dd_ring *ring;
	unsigned long flags;
	u64 head;

	for (i = 0; i < n; i++) {
		ring = rings->ring[i];
		/*
		 * Ordered by the caller's barrier: a waiter that is not seen
		 * here joins the queue later and then finds the position.
		 */
		if (!waitqueue_active(&ring->wait))
			continue;
		spin_lock_irqsave(&ring->wait.lock, flags);
		head = dd_ring_head(ring);
		__wake_up_locked_key(&ring->wait, TASK_INTERRUPTIBLE, &head);
		ring_wait_update(ring);
		spin_unlock_irqrestore(&ring->wait.lock, flags);
	}
}
