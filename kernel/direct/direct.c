// SPDX-License-Identifier: GPL-2.0-only
/*
 * The direct path: a process deposits messages in the block of another process,
 * and posts their notes, by its own stores. This file grants the mappings for
 * that and revokes them. No message passes through it; the kernel is entered
 * only to wake a receiver that sleeps. The rings of notes are in ring.c.
 */
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "core/channel.h"
#include "core/ctx.h"
#include "core/hooks.h"
#include "core/import.h"
#include "core/local.h"
#include "core/local_import.h"
#include "core/node.h"
#include "core/notelist.h"
#include "core/submit.h"
#include "core/window.h"
#include "direct/direct.h"
#include "direct/trace.h"

static bool direct_on = true;

module_param_named(direct, direct_on, bool, 0644);
MODULE_PARM_DESC(direct, "let processes of this node begin to send directly");

/* ---- granting ----------------------------------------------------------- */

/* Whether the import is of a connection within this node. */
static bool direct_local(const struct dd_import *imp)
{
	return imp->chan->link == &dd_link_local_put;
}

static int direct_allowed(const struct dd_import *imp)
{
	const struct dd_segment *seg = imp->chan->seg;

	/* Messages are at most INT_MAX bytes long, so larger blocks are refused. */
	if (!READ_ONCE(direct_on) || !direct_local(imp) ||
	    !seg->mem.length || seg->mem.length > INT_MAX ||
	    !PAGE_ALIGNED(seg->mem.offset) || !PAGE_ALIGNED(seg->mem.length))
		return -EOPNOTSUPP;
	if (imp->path == DD_PATH_KERNEL_ONLY || seg->flags & DD_SEGMENT_NODIRECT ||
	    seg->policy == DD_POLICY_ALWAYS)
		return -EACCES;
	return uid_eq(imp->uid, seg->uid) || seg->flags & DD_SEGMENT_DIRECT_ANY ? 0 : -EACCES;
}

/*
 * Whether the segment may hold data that the sender must not read: data of the
 * receiver, if that is another user, or of earlier importers.
 */
static bool direct_must_zero(const struct dd_import *imp)
{
	const struct dd_segment *seg = imp->chan->seg;

	return seg->data == DD_DATA_MIXED ||
	       (seg->data == DD_DATA_OWN && !uid_eq(imp->uid, seg->uid));
}

/*
 * 0 if every message that was sent through the kernel has been read, so that
 * direct messages come after them. The channel is locked.
 */
static int direct_drained(const struct dd_import *imp)
{
	const struct dd_channel *ch = imp->chan;

	if (imp->busy || ch->withheld)
		return -EBUSY;
	if (!imp->submitted)
		return 0;
	return dd_credit_last(ch->credit) <= dd_list_head_pos(ch->seg->list) ?
	       0 : -EBUSY;
}

/*
 * Zero the receiver's block in pieces, each under the lock of the channel, as
 * deposits are made: while the channel is not dead, the block belongs to this
 * connection. No mutex of the receiver is held.
 */
static int direct_zero(struct dd_import *imp)
{
	struct dd_channel *ch = imp->chan;
	struct dd_bytes *mem = &ch->seg->mem;
	u64 done = 0, end;
	int err;

	do {
		spin_lock(&ch->lock);
		err = ch->dead ? -ECONNRESET : direct_drained(imp);
		end = err ? done : min(done + DD_COPY_CHUNK, mem->length);
		for (; done < end; done += PAGE_SIZE)
			memset(mem->region->pages[(mem->offset + done) >>
						  PAGE_SHIFT], 0, PAGE_SIZE);
		spin_unlock(&ch->lock);
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		if (err)
			return err;
		cond_resched();
	} while (done < mem->length);
	return 0;
}

/*
 * Name the ring in the connection state of the receiver's own import. It is written under the
 * lock of the channel that its requests go to.
 */
static void direct_name_ring(const struct dd_channel *ch, u32 unit)
{
	struct dd_import *back = ch->back;

	spin_lock(&back->chan->lock);
	if (!back->chan->dead)
		/* Release: orders earlier counter updates before `ring = 0`. */
		smp_store_release(&back->cs->ring, unit);
	spin_unlock(&back->chan->lock);
}

/**
 * struct direct_prealloc - memory for a grant, allocated before the list is locked
 * @rx: with its window, after the block has been zeroed if it must be; or NULL
 * @ring: memory for dd_ring_get()
 */
struct direct_prealloc {
	struct dd_direct_rx *rx;
	struct dd_ring_prealloc ring;
};

/* The caller's context is locked; no lock of the receiver is held. */
static int direct_prepare(struct dd_import *imp, struct dd_list *list,
			  struct direct_prealloc *pre)
{
	struct dd_ctx *ctx = imp->obj.ctx;
	struct dd_window *win;
	int err = 0;

	if (!pre->rx) {
		pre->rx = kzalloc(sizeof(*pre->rx), GFP_KERNEL_ACCOUNT);
		if (!pre->rx)
			return -ENOMEM;
		win = dd_ctx_window(ctx, imp->size >> PAGE_SHIFT, 0);
		if (IS_ERR(win))
			return PTR_ERR(win);
		pre->rx->block = win;
		INIT_LIST_HEAD(&pre->rx->on_ring);
		if (direct_must_zero(imp))
			err = direct_zero(imp);
		if (err)
			return err;
	}
	err = dd_ring_prealloc_fill(&pre->ring, list, ctx);
	/* The limit that was reached is the receiver's. */
	return err == -EDQUOT ? -ENOSPC : err;
}

/* -EAGAIN: @pre lacks something; see direct_prepare(). */
static int direct_make(struct dd_import *imp, struct dd_list *list,
		       struct direct_prealloc *pre)
{
	struct dd_channel *ch = imp->chan;
	struct dd_segment *seg = ch->seg;
	struct dd_direct_rx *rx = pre->rx;
	int err;

	if (!READ_ONCE(imp->obj.ctx->node->up))
		return -ENETDOWN;
	/*
	 * The check below decides; a refusal here saves the work before it. A block with
	 * an unread message cannot be zeroed. Once it has been zeroed, it holds messages
	 * of this sender only.
	 */
	if (READ_ONCE(imp->submitted) && direct_must_zero(imp))
		return -EACCES;
	spin_lock(&ch->lock);
	err = direct_drained(imp);
	spin_unlock(&ch->lock);
	if (err)
		return err;
	if (!rx)
		return -EAGAIN;
	/* Even if no ring is free: after a message it cannot be zeroed. */
	if (direct_must_zero(imp) && seg->ops)
		seg->ops->zeroed(seg);
	seg->data = DD_DATA_SHOWN;
	rx->cs = ch->back->cs;
	rx->slots = dd_credit_slots(imp->window);
	rx->ring = dd_ring_get(list, imp->obj.ctx, rx->slots, &pre->ring);
	err = PTR_ERR_OR_ZERO(rx->ring);
	if (err)
		return err;
	dd_ring_join(rx->ring, rx->slots);
	rx->from = dd_ring_head(rx->ring);
	dd_window_show(rx->block, seg->mem.region->pages +
		       (seg->mem.offset >> PAGE_SHIFT));
	/* From here on the notes come by the ring. */
	spin_lock(&ch->lock);
	err = ch->closing ? -ECONNRESET : direct_drained(imp);
	if (!err) {
		rx->base = imp->submitted;
		ch->direct_rx = rx;
		WRITE_ONCE(imp->path, DD_PATH_DIRECT);
	}
	spin_unlock(&ch->lock);
	if (err) {
		/* The receiver's close waits for the list, and then releases the pages. */
		dd_window_hide(rx->block);
		dd_ring_leave(rx->ring, rx->slots, 0);
		return err;
	}
	direct_name_ring(ch, rx->ring->unit);
	pre->rx = NULL;
	list_add(&rx->on_ring, &rx->ring->rxs);
	trace_dd_direct_grant(imp, rx->ring->unit, rx->base);
	return 0;
}

/* Messages sent by an import, as stated by its owner. */
static u64 direct_count(const struct dd_import *imp)
{
	return READ_ONCE(*(const u64 *)imp->cs->sq[0].meta);
}

/* The part of @n that was sent directly. */
static u64 direct_new(u64 n, const struct dd_direct_rx *rx)
{
	return n - min(n, rx->base);
}

/* The sender no longer sees the receiver's block. */
static void direct_hide(struct dd_direct_rx *rx)
{
	dd_window_revoke(rx->block);
	rx->block = NULL;
}

/* Give back what direct_make() granted; nothing was sent. List locked. */
static int direct_drop(struct dd_import *imp)
{
	struct dd_channel *ch = imp->chan;
	struct dd_direct_rx *rx = ch->direct_rx;

	if (!rx)
		return 0;
	if (READ_ONCE(imp->submitted) != rx->base || direct_count(imp) != rx->base)
		return -EBUSY;
	trace_dd_direct_revoke(imp, rx->ring->unit, rx->base);
	spin_lock(&ch->lock);
	ch->direct_rx = NULL;
	WRITE_ONCE(imp->path, DD_PATH_KERNEL);
	spin_unlock(&ch->lock);
	direct_name_ring(ch, 0);
	list_del_init(&rx->on_ring);
	dd_ring_leave(rx->ring, rx->slots, 0);
	direct_hide(rx);
	/* A thread that waits for this ring gets -EINVAL. */
	wake_up_interruptible_all(&rx->ring->wait);
	kfree(rx);
	return 0;
}

/*
 * The connection is over and its grant revoked. Tell the sender how far its notes
 * were delivered; that position is less than a ring away from its last note.
 */
static int direct_over(const struct dd_import *imp, struct dd_direct *arg)
{
	if (!(arg->flags & DD_DIRECT_DROP))
		return -ECONNRESET;
	arg->start += (s32)(imp->arrived - (u32)arg->start);
	return 0;
}

/* With the list of the channel locked. */
static int direct_locked(struct dd_import *imp, struct dd_list *list,
			 struct direct_prealloc *pre, struct dd_direct *arg)
{
	struct dd_channel *ch = imp->chan;
	const struct dd_direct_rx *rx;
	int err = 0;

	/*
	 * The channel is revoked under this lock. A sender that has seen the dead
	 * word asks which notes were delivered: finish that now if the closing end
	 * has not come to it yet.
	 */
	if (READ_ONCE(ch->closing))
		dd_direct_revoke(ch);
	if (ch->dead || ch->closing)
		return direct_over(imp, arg);
	if (arg->flags & DD_DIRECT_DROP)
		return direct_drop(imp);
	if (!ch->direct_rx)
		err = direct_make(imp, list, pre);
	if (err)
		return err;
	rx = ch->direct_rx;
	arg->peer_conn = lower_32_bits(ch->seg->owner);
	arg->block = (u64)rx->block->pgoff << PAGE_SHIFT;
	arg->block_size = (u64)rx->block->npages << PAGE_SHIFT;
	arg->notes = (u64)rx->ring->notes->pgoff << PAGE_SHIFT;
	arg->state = (u64)rx->ring->view->pgoff << PAGE_SHIFT;
	arg->start = rx->ring->start;
	arg->slots = rx->ring->slots;
	arg->peer_block = ch->seg->index;
	return 0;
}

/* The caller's context is locked, so its import stays. */
static int direct_import(struct dd_import *imp, struct dd_direct *arg)
{
	struct direct_prealloc pre = {};
	struct dd_list *list;
	int err, tries = 8;

	err = direct_allowed(imp);
	if (err && !(arg->flags & DD_DIRECT_DROP && direct_local(imp)))
		return err;
	list = dd_channel_hold_list(imp->chan);
	if (!list)
		return direct_over(imp, arg);
	do {
		err = mutex_lock_killable(&list->lock);
		if (err)
			break;
		err = direct_locked(imp, list, &pre, arg);
		mutex_unlock(&list->lock);
		if (err != -EAGAIN)
			break;
		/* Other senders may take the rings that memory was allocated for. */
		err = --tries ? direct_prepare(imp, list, &pre) : -EBUSY;
	} while (!err);
	dd_ring_prealloc_free(&pre.ring, list->obj.ctx);
	if (pre.rx)
		dd_window_revoke(pre.rx->block);
	kfree(pre.rx);
	dd_list_put(list);
	return err;
}

/**
 * dd_direct_grant() - serve DD_IOC_DIRECT
 * @ctx: the caller's context
 * @arg: as passed by user space; the results are filled in
 *
 * Return: 0 or an error as documented in the uapi header; on an error nothing has
 * changed.
 */
int dd_direct_grant(struct dd_ctx *ctx, struct dd_direct *arg)
{
	struct dd_import *imp;
	int err;

	if (arg->flags & ~DD_DIRECT_DROP || arg->peer_block || arg->__reserved)
		return -EINVAL;
	imp = dd_import_get(ctx, arg->conn);
	if (!imp)
		return -ENOENT;
	mutex_lock(&ctx->lock);
	if (ctx->dead)
		err = -ESTALE;
	else if (!dd_local_import_is(imp))
		err = direct_import(imp, arg);
	/* The import of an export, whose notes the kernel posts. */
	else if (!READ_ONCE(direct_on))
		err = -EOPNOTSUPP;
	else if (!READ_ONCE(ctx->node->up))
		err = -ENETDOWN;
	else
		err = dd_local_import_direct(imp, arg);
	mutex_unlock(&ctx->lock);
	dd_obj_put(&imp->obj);
	return err;
}

/* ---- revoking ----------------------------------------------------------- */

/* Take over the sender's count: later stores are not delivered. */
static void direct_set_counts(struct dd_channel *ch, u64 arrived)
{
	struct dd_direct_rx *rx = ch->direct_rx;
	struct dd_import *imp = ch->importer;
	u64 n = direct_count(imp), most;
	struct dd_segment *seg = ch->seg;

	spin_lock(&ch->lock);
	WRITE_ONCE(ch->received, n);
	WRITE_ONCE(imp->submitted, n);
	WRITE_ONCE(imp->sent, n);
	WRITE_ONCE(imp->done, n);
	imp->arrived = arrived;
	/*
	 * The count that an importer of another user states is not relied on. As many as
	 * notes were consumed may have arrived, although some of those notes may be of
	 * other imports of its process.
	 */
	if (seg->ops && !uid_eq(seg->uid, imp->uid)) {
		if (check_add_overflow(rx->base, max3(rx->end, arrived, rx->from) - rx->from,
				       &most))
			most = U64_MAX;
		if (most > n)
			seg->ops->unsure(seg, most - n);
	}
	/* Together with the counter: dd_direct_open() reads both. */
	WRITE_ONCE(imp->path, DD_PATH_COUNTED);
	dd_stat_add(imp->obj.ctx->node, DD_STAT_DIRECT, direct_new(n, rx));
	spin_unlock(&ch->lock);
	trace_dd_direct_revoke(imp, rx->ring->unit, n);
}

/*
 * Find the last notes of a sender that posts no more. Notes may be behind positions
 * that other threads of its process have taken and not filled yet. A connection
 * posts its notes in order, so all before its last one have arrived.
 *
 * Sets @rx->end to the position after the last unread note of any connection.
 * Returns the position after the last note of this connection, or the reader's
 * position if none of its notes is unread.
 */
static u64 direct_arrived(const struct dd_channel *ch)
{
	struct dd_direct_rx *rx = ch->direct_rx;
	const struct dd_ring *ring = rx->ring;
	u64 head = dd_ring_head(ring), arrived = head, pos;

	for (pos = head; pos != head + ring->slots; pos++) {
		if (!dd_ring_has(ring, pos))
			continue;
		rx->end = pos + 1;
		if (READ_ONCE(dd_ring_slot(ring, pos)->conn) ==
		    lower_32_bits(ch->seg->owner))
			arrived = pos + 1;
	}
	return arrived;
}

/**
 * dd_direct_revoke() - end the direct path to a segment
 * @ch: the channel, closing; its list is locked, so the work is done once, and is complete
 *	before the channel is dead
 *
 * The dead word was set before. A sender that finds it zero after its stores made
 * them before the barrier below, so they are found here, and the receiver is
 * notified of the close later. A sender that finds it set asks which notes were
 * delivered: direct_over().
 *
 * Return: the position after the last unread note, 0 if all were read.
 */
u64 dd_direct_revoke(struct dd_channel *ch)
{
	struct dd_direct_rx *rx = ch->direct_rx;
	u64 arrived;

	lockdep_assert_held(&ch->seg->list->lock);
	if (!rx)
		return 0;
	if (rx->block) {
		/*
		 * Orders the dead word before the look at the ring. Pairs with the
		 * exchange by which the sender stores a note.
		 */
		smp_mb();
		arrived = direct_arrived(ch);
		dd_ring_leave(rx->ring, rx->slots, rx->end);
		direct_hide(rx);
		direct_set_counts(ch, arrived);
	}
	return rx->end;
}

/**
 * dd_direct_release() - forget the direct path to a segment
 * @ch: the channel, dead; its list, if it has got one, is valid
 *
 * Called before the receiver's state is reused, and before the channel is freed.
 */
void dd_direct_release(struct dd_channel *ch)
{
	struct dd_list *list = ch->seg->list;
	struct dd_direct_rx *rx;

	if (!list)
		return;
	/* The importer may ask direct_locked() even now: it must not find @rx. */
	mutex_lock(&list->lock);
	rx = ch->direct_rx;
	ch->direct_rx = NULL;
	if (rx)
		list_del_init(&rx->on_ring);
	mutex_unlock(&list->lock);
	kfree(rx);
}

/* ---- waking and waiting ------------------------------------------------- */

/**
 * dd_direct_wake() - wake the receiver of a direct message
 * @ctx: the sender's context
 * @serial: the import or connection that the message was sent on
 *
 * Return: 0; %-ENOENT; %-ECONNRESET, then the close has woken the receiver;
 * %-EINVAL if it does not send directly.
 */
int dd_direct_wake(struct dd_ctx *ctx, u64 serial)
{
	struct dd_import *imp;
	struct dd_channel *ch;
	int err = -ENOENT;

	rcu_read_lock();
	imp = dd_import_find(ctx, serial);
	if (!imp || !direct_local(imp))
		goto out;
	ch = imp->chan;
	spin_lock(&ch->lock);
	err = ch->dead ? -ECONNRESET : ch->direct_rx ? 0 : -EINVAL;
	if (!err) {
		/* A receiver that arms again is on the queue, and looks again. */
		dd_rings_disarm(ch->seg->list);
		dd_list_wake(ch->seg->list);
	}
	spin_unlock(&ch->lock);
out:
	rcu_read_unlock();
	return err;
}

/* 0 if the receiver has read up to the position, -EAGAIN, or an error. */
static int direct_reached(const struct dd_import *imp, const struct dd_ring_waiter *w)
{
	struct dd_channel *ch = imp->chan;
	int err = -EINVAL;

	if (READ_ONCE(imp->obj.ctx->dead))
		return -ESTALE;
	spin_lock(&ch->lock);
	if (ch->dead)
		err = -ECONNRESET;
	else if (ch->direct_rx && ch->direct_rx->ring == w->ring)
		err = dd_ring_head(w->ring) >= w->pos ? 0 : -EAGAIN;
	spin_unlock(&ch->lock);
	return err;
}

/**
 * dd_direct_await() - wait until the receiver has read up to a position
 * @imp: the import, of which the caller holds a reference
 * @pos: the position, in the ring that the import sends by
 * @timeout: as of dd_import_await()
 *
 * Return: 0; %-ECONNRESET; %-EINVAL if the import does not send directly, or not by that ring
 * any more; %-ESTALE, %-EAGAIN, %-ETIMEDOUT, %-EINTR.
 */
int dd_direct_await(struct dd_import *imp, u64 pos, u64 timeout)
{
	ktime_t expires = ktime_add_safe(ktime_get(), min_t(u64, timeout, KTIME_MAX));
	struct dd_channel *ch = imp->chan;
	struct dd_ring_waiter w;
	struct dd_list *list;
	bool over = !timeout;
	int err;

	if (READ_ONCE(imp->path) != DD_PATH_DIRECT)
		return READ_ONCE(ch->dead) || READ_ONCE(ch->closing) ? -ECONNRESET : -EINVAL;
	list = dd_channel_hold_list(ch);
	if (!list)
		return -ECONNRESET;
	spin_lock(&ch->lock);
	/* The ring is valid as long as the list; @direct_rx, while the channel is alive. */
	dd_ring_wait_init(&w, !ch->dead && ch->direct_rx ? ch->direct_rx->ring : NULL, pos);
	spin_unlock(&ch->lock);
	err = direct_reached(imp, &w);
	/* -EAGAIN implies that there is a ring. */
	if (err != -EAGAIN || over)
		goto out;
	for (;;) {
		prepare_to_wait(&w.ring->wait, &w.entry, TASK_INTERRUPTIBLE);
		dd_ring_wait_arm(&w);
		err = direct_reached(imp, &w);
		if (err == -EAGAIN && over)
			err = -ETIMEDOUT;
		else if (err == -EAGAIN && signal_pending(current))
			err = -EINTR;
		if (err != -EAGAIN)
			break;
		over = !schedule_hrtimeout(timeout == U64_MAX ? NULL : &expires,
					   HRTIMER_MODE_ABS);
	}
	dd_ring_wait_end(&w);
out:
	dd_list_put(list);
	return err;
}

/* ---- reports ------------------------------------------------------------ */

/**
 * dd_direct_sent() - messages that an import has sent
 * @imp: the import, whose memory is valid
 *
 * Return: the count that its owner states if it sends directly, else that of the
 * kernel.
 */
u64 dd_direct_sent(const struct dd_import *imp)
{
	if (READ_ONCE(imp->path) == DD_PATH_DIRECT)
		return direct_count(imp);
	return READ_ONCE(imp->submitted);
}

/*
 * Messages that an import has sent before its channel was dead, including those that
 * were refused for that.
 */
u64 dd_direct_last(const struct dd_import *imp)
{
	return imp->path == DD_PATH_COUNTED ? direct_count(imp) : READ_ONCE(imp->submitted);
}

/* Messages that an open import has sent directly; else 0. */
u64 dd_direct_open(const struct dd_import *imp)
{
	u64 n = 0;

	if (!direct_local(imp))
		return 0;
	spin_lock(&imp->chan->lock);
	if (imp->path == DD_PATH_DIRECT)
		n = direct_new(direct_count(imp), imp->chan->direct_rx);
	spin_unlock(&imp->chan->lock);
	return n;
}

/* Messages that have come by a channel, counted as in dd_direct_sent(). */
u64 dd_direct_received(const struct dd_channel *ch)
{
	const struct dd_import *imp = ch->importer;

	if (ch->link == &dd_link_local_put && READ_ONCE(imp->path) == DD_PATH_DIRECT)
		return dd_direct_sent(imp);
	return READ_ONCE(ch->received);
}

/* Messages that an import has sent whose notes are within the window. */
u64 dd_direct_done(const struct dd_import *imp)
{
	u64 n = dd_direct_sent(imp), pos, end;
	struct dd_channel *ch = imp->chan;
	u32 unread = 0;

	if (READ_ONCE(imp->path) != DD_PATH_DIRECT)
		return READ_ONCE(imp->done);
	spin_lock(&ch->lock);
	if (!ch->dead && ch->direct_rx) {
		const struct dd_ring *ring = ch->direct_rx->ring;

		/* Once around: notes may be stored as fast as they are read. */
		pos = dd_ring_head(ring);
		end = pos + ring->slots;
		for (; pos != end && dd_ring_has(ring, pos); pos++)
			if (READ_ONCE(dd_ring_slot(ring, pos)->conn) ==
			    lower_32_bits(ch->seg->owner))
				unread++;
	}
	spin_unlock(&ch->lock);
	return n - min_t(u64, n, unread > imp->window);
}
