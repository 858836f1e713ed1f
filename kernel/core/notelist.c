// SPDX-License-Identifier: GPL-2.0-only
/*
 * Note lists: rings in their owner's area.
 *
 * Posting takes no lock that two channels share: an atomic increment hands out a
 * position, and the slot at that position is free, since every channel has reserved
 * the slots it may fill (credit.h). The ring may grow when a channel is attached: then
 * no positions are handed out, the notes at positions that were handed out are waited
 * for, and unread notes move. Notes that got no position are withheld and posted
 * afterwards.
 */
#include <linux/log2.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "core/area.h"
#include "core/charge.h"
#include "core/ctx.h"
#include "core/node.h"
#include "core/notelist.h"
#include "core/ring.h"
#include "core/trace.h"

#define DD_LIST_MIN_SLOTS	4u
#define DD_LIST_MAX_SLOTS	262144u
/* Polls for a note that is being posted, before the wait for a grace period. */
#define DD_LIST_LOOKS		20000u

static struct dd_area *list_area(const struct dd_list *list)
{
	return &list->obj.ctx->area;
}

static struct dd_note *list_slot(const struct dd_list *list, u64 geometry,
				 u64 pos)
{
	return dd_area_unit(list_area(list), dd_slot_unit(geometry, pos));
}

/* @space: slots that the ring should be able to grow to in place. */
static int list_alloc_ring(struct dd_list *list, u32 slots, u32 space,
			   u64 *geometry)
{
	u32 order = order_base_2(max(slots, DD_LIST_MIN_SLOTS));
	u32 unit;
	int err;

	if (slots > DD_LIST_MAX_SLOTS)
		return -ENOSPC;
	/* A ring grows by doubling. */
	space = 1u << order_base_2(clamp(space, 1u, DD_LIST_MAX_SLOTS));
	err = dd_area_alloc_span(list_area(list), 1u << order,
				 clamp(space, 1u << order, DD_LIST_MAX_SLOTS), 0, &unit);
	if (!err)
		*geometry = dd_geometry(unit, order);
	return err;
}

static void list_free_ring(struct dd_list *list, u64 geometry)
{
	dd_area_free(list_area(list), geometry >> 32,
		     dd_geometry_slots(geometry));
}

/**
 * dd_list_create() - create a list with one user, not yet visible
 * @ctx: its owner
 * @slots: slots to reserve for that user
 * @space: slots that may be reserved later without moving the ring
 *
 * Return: the list, with its id reserved, or an error pointer. dd_list_publish()
 * makes it visible; dd_list_detach() ends it in either state.
 */
struct dd_list *dd_list_create(struct dd_ctx *ctx, u32 slots, u32 space)
{
	struct dd_list *list = dd_zalloc(ctx, sizeof(*list));
	int err;

	if (IS_ERR(list))
		return list;
	dd_obj_init(&list->obj, ctx, &dd_list_ops);
	mutex_init(&list->lock);
	init_waitqueue_head(&list->wait);
	spin_lock_init(&list->pend_lock);
	list->pending = RB_ROOT_CACHED;
	list->users = 1;
	list->reserved = slots;

	err = dd_area_alloc(&ctx->area, 1, &list->unit);
	if (!err)
		err = list_alloc_ring(list, slots, space, &list->geometry);
	if (!err)
		err = dd_obj_reserve(&list->obj);
	if (err) {
		dd_list_put(list);
		return ERR_PTR(err);
	}
	list->head = dd_area_unit(&ctx->area, list->unit);
	list->head->geometry = list->geometry;
	list->head->id = list->obj.id;
	return list;
}

static void list_release(struct dd_obj *obj)
{
	struct dd_list *list = container_of(obj, struct dd_list, obj);
	struct dd_ctx *ctx = obj->ctx;

	dd_rings_free(ctx, list->rings);
	/* No channel is attached: no note is pending and no thread waits. */
	WARN_ON_ONCE(!RB_EMPTY_ROOT(&list->pending.rb_root));
	list_free_ring(list, list->geometry);
	dd_area_free(&ctx->area, list->unit, 1);
	dd_uncharge(ctx, sizeof(*list));
	kfree_rcu(list, rcu);
	dd_ctx_put(ctx);
}

/**
 * dd_list_make() - make a list that exists until DD_IOC_END
 * @ctx: the caller
 * @arg: argument of user space; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header; on error nothing has changed.
 */
int dd_list_make(struct dd_ctx *ctx, struct dd_list_make *arg)
{
	struct dd_list *list;
	int err;

	if (arg->flags || arg->list || arg->list_unit || arg->serial)
		return -EINVAL;
	mutex_lock(&ctx->lock);
	list = ctx->dead ? ERR_PTR(-ESTALE) : dd_list_create(ctx, 0, 0);
	err = PTR_ERR_OR_ZERO(list);
	if (!err) {
		list->obj.endable = true;
		arg->list = list->obj.id;
		arg->list_unit = list->unit;
		arg->serial = dd_obj_serial(&list->obj);
		dd_list_publish(list);
	}
	mutex_unlock(&ctx->lock);
	return err;
}

/*
 * A list ends with its last user. One made by DD_IOC_LIST_MAKE is its own user as long as
 * it may be ended. The context is locked.
 */
static void list_unlink(struct dd_obj *obj)
{
	lockdep_assert_held(&obj->ctx->lock);
	if (!obj->endable)
		return;
	obj->endable = false;
	dd_list_detach(container_of(obj, struct dd_list, obj), 0, 0);
}

const struct dd_obj_ops dd_list_ops = {
	.stage = DD_STAGE_MEMORY,
	.end = list_unlink,
	.release = list_release,
};

/* ---- reservation and growth -------------------------------------------- */

/* Position of the first unread note that can be in a ring. */
static u64 list_first(const struct dd_list *list, u64 geometry, u64 tail)
{
	u64 head = dd_list_head_pos(list);

	return max(head, tail - min_t(u64, tail, dd_geometry_slots(geometry)));
}

/*
 * Stop handing out positions, and wait until the notes at earlier positions have
 * been posted. Their senders hold spinlocks, so the wait is short. The reader may
 * overwrite the sequence numbers; in that case wait for a grace period instead.
 *
 * Returns the first position that was not handed out.
 */
static u64 list_hold(struct dd_list *list)
{
	u64 tail = atomic64_fetch_or(DD_LIST_MOVING, &list->tail), pos;
	u32 looks = DD_LIST_LOOKS;

	for (pos = list_first(list, list->geometry, tail); pos < tail; pos++) {
		const struct dd_note *note = list_slot(list, list->geometry,
						       pos);

		/* Pairs with dd_list_commit(): the note is complete. */
		while (smp_load_acquire(&note->seq) != pos + 1) {
			if (!--looks) {
				synchronize_rcu();
				return tail;
			}
			cpu_relax();
		}
	}
	return tail;
}

/* Copy unread notes to the slots of their positions in the new ring. */
static void slots_move(struct dd_list *list, u64 from, u64 to, u64 tail)
{
	u64 pos = list_first(list, from, tail);

	for (; pos < tail; pos++)
		if (dd_slot_unit(to, pos) != dd_slot_unit(from, pos))
			memcpy(list_slot(list, to, pos),
			       list_slot(list, from, pos),
			       sizeof(struct dd_note));
}

/* Get a larger ring: extend the old one in place if the units behind it are free. */
static int list_enlarge(struct dd_list *list, u64 old, u32 slots,
			u64 *geometry)
{
	u32 had = dd_geometry_slots(old);
	u32 order = order_base_2(max(slots, 2 * had));

	if (slots <= DD_LIST_MAX_SLOTS &&
	    !dd_area_extend(list_area(list), old >> 32, had,
			    (1u << order) - had)) {
		*geometry = dd_geometry(old >> 32, order);
		return 0;
	}
	return list_alloc_ring(list, 1u << order, 8u << order, geometry);
}

/* Switch to another ring; the list is locked. */
static void list_use(struct dd_list *list, u64 new)
{
	u64 old = list->geometry, tail = list_hold(list);

	slots_move(list, old, new, tail);
	/* Release: a reader that sees the new geometry sees the moved notes. */
	smp_store_release(&list->head->geometry, new);
	/* Release: as above, for dd_list_ready(). */
	smp_store_release(&list->geometry, new);
	/* Release: a sender that gets a position sees the new geometry. */
	atomic64_set_release(&list->tail, tail);
	dd_list_kick(list);
}

/* Reserve @slots in the ring as it is; -EAGAIN if they do not fit. List locked. */
static int list_fit(struct dd_list *list, u32 slots, u32 users)
{
	lockdep_assert_held(&list->lock);
	list->reserved -= dd_deferred_reap(&list->deferred, dd_list_head_pos(list));
	if (!list->users)
		return -ENOENT;
	if (list->reserved + slots > dd_geometry_slots(list->geometry))
		return -EAGAIN;
	list->reserved += slots;
	WRITE_ONCE(list->users, list->users + users);
	return 0;
}

/* Switch to a larger ring, or free it if another thread has switched before. */
static void slots_replace(struct dd_list *list, u64 old, u64 new)
{
	u32 had = dd_geometry_slots(old);
	bool moved;

	mutex_lock(&list->lock);
	/* Rings only grow, so a geometry never recurs. */
	moved = list->geometry == old;
	if (moved)
		list_use(list, new);
	mutex_unlock(&list->lock);
	if (old >> 32 != new >> 32)
		list_free_ring(list, moved ? old : new);
	else if (!moved)
		dd_area_free(list_area(list), (old >> 32) + had,
			     dd_geometry_slots(new) - had);
}

/**
 * dd_list_reserve() - reserve slots of a list
 * @list: the list, of which the caller holds a reference
 * @slots: number of slots
 * @users: 1 to become a user of the list as well, to be undone by
 *	dd_list_detach(); 0 for slots only, to be undone by dd_list_unreserve()
 *
 * Allocates memory with the list unlocked. The caller holds no lock that ending an
 * object of another process needs.
 *
 * Return: 0; %-ENOENT if the list has ended; %-EINTR if the caller is killed;
 * %-ENOMEM, %-EDQUOT, %-ENOSPC.
 */
int dd_list_reserve(struct dd_list *list, u32 slots, u32 users)
{
	u64 old, new;
	u32 want;
	int err;

	for (;;) {
		if (mutex_lock_killable(&list->lock))
			return -EINTR;
		err = list_fit(list, slots, users);
		want = list->reserved + slots;
		old = list->geometry;
		mutex_unlock(&list->lock);
		if (err != -EAGAIN)
			return err;
		err = list_enlarge(list, old, want, &new);
		if (err)
			return err;
		slots_replace(list, old, new);
	}
}

void dd_list_unreserve(struct dd_list *list, u32 slots)
{
	mutex_lock(&list->lock);
	list->reserved -= slots;
	mutex_unlock(&list->lock);
}

/**
 * dd_list_attach() - attach a service or connection to a list
 * @ctx: context of both, locked
 * @id: the list that user space asked for
 * @must: fail if there is no such list, rather than create one
 * @slots: slots to reserve
 * @space: as for dd_list_create()
 *
 * Return: a list that the caller is a user of, or an error pointer. A list that was
 * created is not yet visible.
 */
struct dd_list *dd_list_attach(struct dd_ctx *ctx, u32 id, bool must,
			       u32 slots, u32 space)
{
	struct dd_list *list = dd_obj_get(ctx, id, &dd_list_ops);
	int err;

	lockdep_assert_held(&ctx->lock);
	if (!list)
		return must ? ERR_PTR(-ENOENT) : dd_list_create(ctx, slots, space);
	err = dd_list_reserve(list, slots, 1);
	if (!err)
		return list;
	dd_list_put(list);
	if (err == -ENOENT && !must)
		return dd_list_create(ctx, slots, space);
	return ERR_PTR(err);
}

/* Under @pend_lock; the reader may read the word at any time, and write it. */
static void list_flag(struct dd_list *list, u32 set, u32 clear)
{
	u32 flags = READ_ONCE(list->head->flags);

	lockdep_assert_held(&list->pend_lock);
	WRITE_ONCE(list->head->flags, (flags | set) & ~clear);
}

/* Returns the state before. */
static enum dd_list_state list_advance(struct dd_list *list, enum dd_list_state to)
{
	enum dd_list_state from;
	unsigned long flags;

	spin_lock_irqsave(&list->pend_lock, flags);
	from = list->state;
	if (to == DD_LIST_ENDED)
		list_flag(list, DD_LIST_GONE, 0);
	if (from < to)
		/* Release: a reader that sees this end of the list sees its last notes. */
		smp_store_release(&list->state, to);
	spin_unlock_irqrestore(&list->pend_lock, flags);
	return from;
}

/* Make a list visible that dd_list_attach() made; under its context's lock. */
void dd_list_publish(struct dd_list *list)
{
	if (list_advance(list, DD_LIST_LIVE) != DD_LIST_NEW)
		return;
	refcount_inc(&list->obj.users);
	dd_obj_publish(&list->obj);
}

/* The client of the only connection of a list, which is visible, is gone. */
void dd_list_hang_up(struct dd_list *list)
{
	list_advance(list, DD_LIST_HUP);
}

/* The last user has gone: void the id and wake sleepers. */
static void list_end(struct dd_list *list)
{
	enum dd_list_state from;

	WRITE_ONCE(list->head->id, 0);
	from = list_advance(list, DD_LIST_ENDED);
	wake_up_all(&list->wait);
	dd_ctx_wake(list->obj.ctx);
	if (from == DD_LIST_NEW)
		dd_obj_unreserve(&list->obj);
	else if (dd_obj_remove(&list->obj))
		dd_list_put(list);
}

/**
 * dd_list_detach() - undo dd_list_attach() or dd_list_create()
 * @list: the list
 * @slots: as reserved then
 * @last: position after the last note in those slots, or 0
 */
void dd_list_detach(struct dd_list *list, u32 slots, u64 last)
{
	bool end;

	mutex_lock(&list->lock);
	if (last > dd_list_head_pos(list))
		dd_deferred_add(&list->deferred, slots, last);
	else
		list->reserved -= slots;
	WRITE_ONCE(list->users, list->users - 1);
	end = !list->users;
	mutex_unlock(&list->lock);
	if (end)
		list_end(list);
	dd_list_put(list);
}

/* ---- posting ------------------------------------------------------------ */

void dd_list_trace(const struct dd_list *list, const struct dd_note *note,
		   u64 pos)
{
	trace_dd_note(list, note, pos);
}

/**
 * dd_list_post() - post a note
 * @list: the list
 * @from: contents of the note; its @seq is 0, as no reader expects it
 * @pos: (out) its position
 *
 * The caller has a credit and holds a spinlock, as for dd_list_claim().
 *
 * Return: true, or false if the ring is being moved and nothing was posted.
 */
bool dd_list_post(struct dd_list *list, const struct dd_note *from, u64 *pos)
{
	struct dd_note *note = dd_list_claim(list, pos);

	if (!note)
		return false;
	*note = *from;
	dd_list_commit(list, note, *pos);
	return true;
}

/* Called after the barrier in dd_list_wake(). */
void dd_list_wake_all(struct dd_list *list)
{
	struct dd_ctx *ctx = list->obj.ctx;

	/* Ordered by the barrier in dd_list_wake(). */
	if (waitqueue_active(&list->wait)) {
		dd_stat_inc(ctx->node, DD_STAT_WAKEUPS);
		wake_up_interruptible_poll(&list->wait, EPOLLIN | EPOLLRDNORM);
	}
	/* Ordered by the barrier in dd_list_wake(). */
	if (waitqueue_active(&ctx->wait))
		wake_up_interruptible_poll(&ctx->wait, EPOLLIN | EPOLLRDNORM);
	if (READ_ONCE(ctx->fasync))
		kill_fasync(&ctx->fasync, SIGIO, POLL_IN);
}

/* Whether the reader would find a note in the list itself. */
bool dd_list_has_note(const struct dd_list *list)
{
	u64 head = dd_list_head_pos(list), geometry;

	if (head == (u64)atomic64_read(&list->tail))
		return false;
	geometry = READ_ONCE(list->geometry);
	/* Pairs with dd_list_commit(). */
	if (smp_load_acquire(&list_slot(list, geometry, head)->seq) == head + 1)
		return true;
	/* While the ring moves, have the owner look by itself. */
	return dd_list_moving(list) || READ_ONCE(list->geometry) != geometry;
}

/* Whether the reader would find a note in the list or in a direct ring. */
bool dd_list_ready(const struct dd_list *list)
{
	return dd_list_has_note(list) || dd_rings_ready(list);
}

/* ---- withheld notes ----------------------------------------------------- */

static bool pending_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct dd_pending, node)->need <
	       rb_entry(b, struct dd_pending, node)->need;
}

static void pending_remove(struct dd_list *list, struct dd_pending *p)
{
	lockdep_assert_held(&list->pend_lock);
	rb_erase_cached(&p->node, &list->pending);
	RB_CLEAR_NODE(&p->node);
}

/**
 * dd_list_pend() - queue a note that must wait for a slot
 * @list: the list
 * @p: the note, with @need; the owner's lock is held, which serialises this with
 *	dd_list_unpend()
 *
 * Return: true if the slot has become free meanwhile: the note is not queued, and the
 * caller posts it.
 */
bool dd_list_pend(struct dd_list *list, struct dd_pending *p)
{
	unsigned long flags;
	bool now;

	spin_lock_irqsave(&list->pend_lock, flags);
	if (WARN_ON_ONCE(!RB_EMPTY_NODE(&p->node))) {
		/* A second note would replace the first one only. */
		spin_unlock_irqrestore(&list->pend_lock, flags);
		return false;
	}
	rb_add_cached(&p->node, &list->pending, pending_less);
	list_flag(list, DD_LIST_NEED_KICK, 0);
	/*
	 * Orders the flag before the look at the head. Pairs with the barrier in
	 * the reader, which stores its head and then loads the flag.
	 */
	smp_mb();
	now = !dd_list_moving(list) && p->need <= dd_list_head_pos(list);
	if (now)
		pending_remove(list, p);
	spin_unlock_irqrestore(&list->pend_lock, flags);
	return now;
}

/* Remove a note from the queue if it is queued; its owner's lock is held. */
void dd_list_unpend(struct dd_list *list, struct dd_pending *p)
{
	unsigned long flags;

	spin_lock_irqsave(&list->pend_lock, flags);
	if (!RB_EMPTY_NODE(&p->node))
		pending_remove(list, p);
	spin_unlock_irqrestore(&list->pend_lock, flags);
}

static struct dd_pending *pending_pop(struct dd_list *list, u64 head)
{
	struct dd_pending *p;
	struct rb_node *first;
	unsigned long flags;

	spin_lock_irqsave(&list->pend_lock, flags);
	first = rb_first_cached(&list->pending);
	p = first ? rb_entry(first, struct dd_pending, node) : NULL;
	if (p && p->need > head)
		p = NULL;
	if (p)
		pending_remove(list, p);
	if (RB_EMPTY_ROOT(&list->pending.rb_root))
		list_flag(list, 0, DD_LIST_NEED_KICK);
	spin_unlock_irqrestore(&list->pend_lock, flags);
	return p;
}

/**
 * dd_list_kick() - let senders proceed that wait for the reader
 * @list: the list
 *
 * Wakes senders whose direct ring has been read up to their position, and posts
 * up to %DD_KICK_MAX withheld notes whose slots have become free. Called by the
 * reader after it has consumed notes, and before it sleeps.
 */
void dd_list_kick(struct dd_list *list)
{
	struct dd_pending *p;
	u32 n = 0;

	/*
	 * Orders the reader's store of its head before the looks below. Pairs with
	 * dd_list_pend() and dd_ring_wait_arm().
	 */
	smp_mb();
	dd_rings_kick(list);
	if (!(READ_ONCE(list->head->flags) & DD_LIST_NEED_KICK) &&
	    RB_EMPTY_ROOT(&list->pending.rb_root))
		return;
	/*
	 * The owner of a note that was removed from the tree may end before @retry takes
	 * its lock. Its memory outlives the read section.
	 */
	rcu_read_lock();
	/*
	 * Nothing can be posted while the ring moves; growth ends with a kick. If
	 * more than DD_KICK_MAX notes are withheld, the flag stays set: a note
	 * leaves the tree only when it is posted, so the reader has notes to
	 * consume and kicks again after that.
	 */
	while (n++ < DD_KICK_MAX && !dd_list_moving(list) &&
	       (p = pending_pop(list, dd_list_head_pos(list))))
		p->retry(p);
	rcu_read_unlock();
}

/* ---- waiting ------------------------------------------------------------ */

/*
 * Move ready lists to the front: their number, -ENOENT if one has gone, or -ESTALE if the
 * context has ended.
 */
static int list_scan(const struct dd_ctx *ctx, u32 *ids, u32 count,
		     struct dd_list **lists)
{
	u32 i, ready = 0;

	if (READ_ONCE(ctx->dead))
		return -ESTALE;
	for (i = 0; i < count; i++)
		if (dd_list_ended(lists[i]))
			return -ENOENT;
	for (i = 0; i < count; i++)
		dd_rings_arm(lists[i]);
	for (i = 0; i < count; i++)
		if (dd_list_ready(lists[i])) {
			/* @ready <= @i: ready lists keep their order. */
			swap(ids[ready], ids[i]);
			swap(lists[ready], lists[i]);
			ready++;
		}
	return ready;
}

static int list_sleep(struct dd_ctx *ctx, u32 *ids, u32 count,
		      struct dd_list **lists, u64 timeout)
{
	wait_queue_head_t *wq = count == 1 ? &lists[0]->wait : &ctx->wait;
	bool forever = timeout == U64_MAX, over = false;
	ktime_t expires = 0;
	DEFINE_WAIT(wait);
	u32 i;
	int n;

	if (!forever)
		expires = ktime_add_safe(ktime_get(),
					 min_t(u64, timeout, KTIME_MAX));
	for (i = 0; i < count; i++)
		dd_list_kick(lists[i]);
	do {
		prepare_to_wait(wq, &wait, TASK_INTERRUPTIBLE);
		n = list_scan(ctx, ids, count, lists);
		if (n)
			break;
		n = -EAGAIN;
		if (!timeout)
			break;
		n = -EINTR;
		if (signal_pending(current))
			break;
		if (forever)
			schedule();
		else
			over = !schedule_hrtimeout(&expires, HRTIMER_MODE_ABS);
		/* Usually the list is ready now. */
		n = list_scan(ctx, ids, count, lists);
		if (!n && over)
			n = -ETIMEDOUT;
	} while (!n);
	finish_wait(wq, &wait);
	return n;
}

/* @ids and @lists have room for @arg->count entries. */
static int list_wait(struct dd_ctx *ctx, struct dd_list_wait *arg, u32 *ids,
		     struct dd_list **lists)
{
	u32 __user *uids = u64_to_user_ptr(arg->lists);
	u32 count = arg->count, i = 0;
	int n = -ENOENT;

	if (copy_from_user(ids, uids, count * sizeof(*ids)))
		return -EFAULT;
	while (i < count && (lists[i] = dd_obj_get(ctx, ids[i], &dd_list_ops)))
		i++;
	if (i == count)
		n = list_sleep(ctx, ids, count, lists, arg->timeout);
	while (i)
		dd_list_put(lists[--i]);
	if (n < 0)
		return n;
	arg->ready = n;
	if (count > 1 && copy_to_user(uids, ids, count * sizeof(*ids)))
		return -EFAULT;
	return 0;
}

/**
 * dd_list_wait() - wait until lists have notes
 * @ctx: their owner
 * @arg: as passed by user space; @ready is filled in
 *
 * Return: 0 or an error as documented in the uapi header.
 */
int dd_list_wait(struct dd_ctx *ctx, struct dd_list_wait *arg)
{
	struct dd_list **lists, *list;
	int err = -ENOMEM;
	u32 *ids, id;

	if (arg->flags || !arg->count || arg->count > DD_WAIT_MAX)
		return -EINVAL;
	if (arg->count == 1)
		return list_wait(ctx, arg, &id, &list);
	ids = kcalloc(arg->count, sizeof(*ids), GFP_KERNEL);
	lists = kcalloc(arg->count, sizeof(*lists), GFP_KERNEL);
	if (ids && lists)
		err = list_wait(ctx, arg, ids, lists);
	kfree(lists);
	kfree(ids);
	return err;
}

int dd_list_info(struct dd_ctx *ctx, struct dd_list_info *arg)
{
	struct dd_list *list = dd_obj_get(ctx, arg->list, &dd_list_ops);

	if (!list)
		return -ENOENT;
	arg->list_unit = list->unit;
	arg->users = READ_ONCE(list->users);
	dd_list_put(list);
	return 0;
}
