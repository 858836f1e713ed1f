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

#include "conn.h"
#include "ctx.h"
#include "direct.h"
#include "import.h"
#include "nic.h"
#include "node.h"
#include "notelist.h"
#include "region.h"
#include "segment.h"
#include "service.h"
#include "trace.h"

static bool dd_direct_on = true;

module_param_named(direct, dd_direct_on, bool, 0644);
MODULE_PARM_DESC(direct, "let processes of this node begin to send directly");

/* ---- granting ----------------------------------------------------------- */

static int dd_direct_allowed(const struct dd_conn *conn)
{
	const struct dd_conn *other = conn->other;

	/* Messages are at most INT_MAX bytes long, so larger blocks are refused. */
	if (!READ_ONCE(dd_direct_on) || !other || !other->seg.mem.length ||
	    other->seg.mem.length > INT_MAX ||
	    !PAGE_ALIGNED(other->seg.mem.offset) ||
	    !PAGE_ALIGNED(other->seg.mem.length))
		return -EOPNOTSUPP;
	if (conn->nodirect || other->nodirect)
		return -EACCES;
	return uid_eq(conn->uid, other->uid) || other->direct_any ? 0 : -EACCES;
}

/*
 * Whether the receiver's block may hold data that the sender must not read: data of
 * the receiver, if that is another user, or of earlier clients.
 */
static bool dd_direct_must_zero(const struct dd_conn *conn)
{
	const struct dd_conn *other = conn->other;

	return !other->shown && (other->mixed || !uid_eq(conn->uid, other->uid));
}

/*
 * 0 if every message that was sent through the kernel has been read, so that
 * direct messages come after them. The receiver's channel is locked.
 */
static int dd_direct_drained(const struct dd_conn *conn)
{
	const struct dd_channel *ch = &conn->other->chan;

	if (conn->imp.busy || ch->withheld)
		return -EBUSY;
	if (!conn->imp.submitted)
		return 0;
	return dd_credit_last(ch->credit) <= dd_list_head_pos(ch->seg->list) ?
	       0 : -EBUSY;
}

/*
 * Zero the receiver's block in pieces, each under the lock of the channel, as
 * deposits are made: while the channel is not dead, the block belongs to this
 * connection. No mutex of the receiver is held.
 */
static int dd_direct_zero(struct dd_conn *conn)
{
	struct dd_channel *ch = &conn->other->chan;
	struct dd_bytes *mem = &ch->seg->mem;
	u64 done = 0, end;
	int err;

	do {
		spin_lock(&ch->lock);
		err = ch->dead ? -ECONNRESET : dd_direct_drained(conn);
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
 * Whether a grant is possible now. A block with an unread message cannot be zeroed.
 * Once it has been zeroed, it holds messages of this sender only.
 */
static int dd_direct_ready(const struct dd_conn *conn)
{
	int err;

	if (READ_ONCE(conn->imp.submitted) && dd_direct_must_zero(conn))
		return -EACCES;
	spin_lock(&conn->other->chan.lock);
	err = dd_direct_drained(conn);
	spin_unlock(&conn->other->chan.lock);
	return err;
}

/* From here on the notes come by the ring. */
static int dd_direct_switch(struct dd_conn *conn, struct dd_direct_rx *rx)
{
	struct dd_conn *other = conn->other;
	int err;

	spin_lock(&other->chan.lock);
	err = other->chan.cut ? -ECONNRESET : dd_direct_drained(conn);
	if (!err) {
		rx->base = conn->imp.submitted;
		other->chan.direct_rx = rx;
		WRITE_ONCE(conn->imp.direct, true);
	}
	spin_unlock(&other->chan.lock);
	if (err)
		return err;
	/* A cell is written under the lock of the channel its requests go to. */
	spin_lock(&conn->chan.lock);
	if (!conn->chan.dead)
		WRITE_ONCE(other->imp.cell->ring, rx->ring->unit);
	spin_unlock(&conn->chan.lock);
	return 0;
}

/**
 * struct dd_direct_kit - memory for a grant, allocated before the list is locked
 * @rx: with its window, or NULL
 * @zeroed: the block has been zeroed, or need not be
 * @ring: memory for dd_ring_get()
 */
struct dd_direct_kit {
	struct dd_direct_rx *rx;
	bool zeroed;
	struct dd_ring_kit ring;
};

/* The caller's context is locked; no lock of the receiver is held. */
static int dd_direct_prepare(struct dd_conn *conn, struct dd_list *list,
			     struct dd_direct_kit *kit)
{
	struct dd_ctx *ctx = conn->imp.obj.ctx;
	struct dd_direct_rx *rx = kit->rx;
	int err;

	if (!rx) {
		rx = kzalloc(sizeof(*rx), GFP_KERNEL_ACCOUNT);
		if (!rx)
			return -ENOMEM;
		INIT_LIST_HEAD(&rx->on_ring);
		kit->rx = rx;
	}
	if (!rx->block) {
		struct dd_window *win;

		win = dd_window_create(ctx, conn->imp.size >> PAGE_SHIFT,
				       false, false);
		if (IS_ERR(win))
			return PTR_ERR(win);
		rx->block = win;
	}
	if (!kit->zeroed && dd_direct_must_zero(conn)) {
		err = dd_direct_zero(conn);
		if (err)
			return err;
	}
	kit->zeroed = true;
	err = dd_ring_kit_fill(&kit->ring, list->obj.ctx, ctx);
	/* The limit that was reached is the receiver's. */
	return err == -EDQUOT ? -ENOSPC : err;
}

static void dd_direct_kit_drop(struct dd_direct_kit *kit, struct dd_list *list)
{
	dd_ring_kit_drop(&kit->ring, list->obj.ctx);
	if (!kit->rx)
		return;
	if (kit->rx->block)
		dd_window_revoke(kit->rx->block);
	kfree(kit->rx);
}

/* -EAGAIN: the kit lacks something; see dd_direct_prepare(). */
static int dd_direct_make(struct dd_conn *conn, struct dd_list *list,
			  struct dd_direct_kit *kit)
{
	struct dd_bytes *mem = &conn->other->seg.mem;
	struct dd_direct_rx *rx = kit->rx;
	int err;

	if (!READ_ONCE(conn->imp.obj.ctx->node->up))
		return -ENETDOWN;
	/* dd_direct_switch() decides; a refusal here saves the work before it. */
	err = dd_direct_ready(conn);
	if (err)
		return err;
	if (!rx || !kit->zeroed)
		return -EAGAIN;
	/* Even if no ring is free: after a message it cannot be zeroed. */
	if (dd_direct_must_zero(conn) && conn->other->server)
		dd_service_zeroed(conn->other);
	conn->other->shown = true;
	rx->conn = conn->other;
	rx->cell = conn->other->imp.cell;
	rx->slots = dd_credit_slots(conn->imp.window);
	rx->ring = dd_ring_get(list, conn->imp.obj.ctx, rx->slots, &kit->ring);
	err = PTR_ERR_OR_ZERO(rx->ring);
	if (err)
		return err;
	dd_ring_join(rx->ring, rx->slots);
	rx->from = dd_ring_head(rx->ring);
	dd_window_show(rx->block, mem->region->pages +
		       (mem->offset >> PAGE_SHIFT), false);
	err = dd_direct_switch(conn, rx);
	if (err) {
		dd_ring_leave(rx->ring, rx->slots, 0);
		return err;
	}
	kit->rx = NULL;
	list_add(&rx->on_ring, &rx->ring->rxs);
	trace_dd_direct_grant(conn, rx->ring->unit, rx->base);
	return 0;
}

/* Messages that an end has sent, as stated by its owner. */
static u64 dd_direct_count(const struct dd_conn *conn)
{
	return READ_ONCE(*(const u64 *)conn->imp.cell->sq[0].meta);
}

/* The part of @n that was sent directly. */
static u64 dd_direct_new(u64 n, const struct dd_direct_rx *rx)
{
	return n - min(n, rx->base);
}

/* The sender no longer sees the receiver's block. */
static void dd_direct_hide(struct dd_direct_rx *rx)
{
	dd_window_revoke(rx->block);
	rx->block = NULL;
}

/* Give back what dd_direct_make() granted; nothing was sent. List locked. */
static int dd_direct_drop(struct dd_conn *conn)
{
	struct dd_conn *other = conn->other;
	struct dd_direct_rx *rx = other->chan.direct_rx;

	if (!rx)
		return 0;
	if (READ_ONCE(conn->imp.submitted) != rx->base ||
	    dd_direct_count(conn) != rx->base)
		return -EBUSY;
	trace_dd_direct_revoke(conn, rx->ring->unit, rx->base);
	spin_lock(&other->chan.lock);
	other->chan.direct_rx = NULL;
	WRITE_ONCE(conn->imp.direct, false);
	spin_unlock(&other->chan.lock);
	spin_lock(&conn->chan.lock);
	if (!conn->chan.dead)
		/* Release: orders earlier counter updates before `ring = 0`. */
		smp_store_release(&other->imp.cell->ring, 0);
	spin_unlock(&conn->chan.lock);
	list_del_init(&rx->on_ring);
	dd_ring_leave(rx->ring, rx->slots, 0);
	dd_direct_hide(rx);
	/* A thread that waits for this ring gets -EINVAL. */
	wake_up_interruptible_all(&rx->ring->wait);
	kfree(rx);
	return 0;
}

static void dd_direct_describe(const struct dd_conn *other, struct dd_direct *arg)
{
	const struct dd_direct_rx *rx = other->chan.direct_rx;
	const struct dd_ring *ring = rx->ring;

	arg->peer_conn = other->imp.obj.id;
	arg->block = (u64)rx->block->pgoff << PAGE_SHIFT;
	arg->block_size = (u64)rx->block->npages << PAGE_SHIFT;
	arg->notes = (u64)ring->notes->pgoff << PAGE_SHIFT;
	arg->state = (u64)ring->view->pgoff << PAGE_SHIFT;
	arg->start = ring->start;
	arg->slots = ring->slots;
	arg->peer_block = other->block;
}

/*
 * The connection is over and its grant revoked. Tell the sender how far its notes
 * were delivered; that position is less than a ring away from its last note.
 */
static int dd_direct_over(const struct dd_conn *conn, struct dd_direct *arg)
{
	if (!(arg->flags & DD_DIRECT_DROP))
		return -ECONNRESET;
	arg->start += (s32)(conn->arrived - (u32)arg->start);
	return 0;
}

/* With the list of the other locked. */
static int dd_direct_locked(struct dd_conn *conn, struct dd_list *list,
			    struct dd_direct_kit *kit, struct dd_direct *arg)
{
	struct dd_conn *other = conn->other;
	int err = 0;

	/*
	 * The channel is revoked under this lock. A sender that has seen the dead
	 * word asks which notes were delivered: settle that now if the closing end
	 * has not come to it yet.
	 */
	if (READ_ONCE(other->chan.cut))
		dd_direct_revoke(other);
	if (other->chan.dead || other->chan.cut)
		return dd_direct_over(conn, arg);
	if (arg->flags & DD_DIRECT_DROP)
		return dd_direct_drop(conn);
	if (!other->chan.direct_rx)
		err = dd_direct_make(conn, list, kit);
	if (!err)
		dd_direct_describe(other, arg);
	return err;
}

/* The caller's context is locked, so its end of the connection stays. */
static int dd_direct_conn(struct dd_conn *conn, struct dd_direct *arg)
{
	struct dd_direct_kit kit = {};
	struct dd_list *list;
	int err, tries = 8;

	err = dd_direct_allowed(conn);
	if (err && !(arg->flags & DD_DIRECT_DROP && conn->other))
		return err;
	list = dd_channel_hold_list(&conn->other->chan);
	if (!list)
		return dd_direct_over(conn, arg);
	do {
		err = mutex_lock_killable(&list->lock);
		if (err)
			break;
		err = dd_direct_locked(conn, list, &kit, arg);
		mutex_unlock(&list->lock);
		if (err != -EAGAIN)
			break;
		/* Other senders may take the rings that the kit was made for. */
		err = --tries ? dd_direct_prepare(conn, list, &kit) : -EBUSY;
	} while (!err);
	dd_direct_kit_drop(&kit, list);
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
	struct dd_conn *conn;
	int err;

	if (arg->flags & ~DD_DIRECT_DROP || arg->peer_block || arg->__reserved)
		return -EINVAL;
	conn = dd_obj_get_serial(ctx, arg->conn, &dd_conn_ops);
	if (!conn)
		return -ENOENT;
	mutex_lock(&ctx->lock);
	err = ctx->dead ? -ESTALE : dd_direct_conn(conn, arg);
	mutex_unlock(&ctx->lock);
	dd_conn_put(conn);
	return err;
}

/* ---- revoking ----------------------------------------------------------- */

/*
 * The count of messages that a client of another user states is not relied on. As
 * many as notes were consumed may have arrived, although some of those notes may
 * be of other connections of the client.
 */
static void dd_direct_doubt(const struct dd_direct_rx *rx, u64 end, u64 n)
{
	struct dd_conn *conn = rx->conn;
	u64 most;

	if (!conn->server || uid_eq(conn->uid, conn->other->uid))
		return;
	if (check_add_overflow(rx->base, max(end, rx->from) - rx->from, &most))
		most = U64_MAX;
	if (most > n && check_add_overflow(conn->owed, most - n, &conn->owed))
		conn->owed = U64_MAX;
}

/* Take over the sender's count: later stores are not delivered. */
static void dd_direct_settle(struct dd_conn *conn, u64 arrived)
{
	struct dd_direct_rx *rx = conn->chan.direct_rx;
	struct dd_import *imp = &conn->other->imp;
	u64 n = dd_direct_count(conn->other);

	spin_lock(&conn->chan.lock);
	WRITE_ONCE(conn->chan.received, n);
	WRITE_ONCE(imp->submitted, n);
	WRITE_ONCE(imp->sent, n);
	WRITE_ONCE(imp->done, n);
	conn->other->arrived = arrived;
	conn->other->counted = true;
	dd_direct_doubt(rx, max(rx->end, arrived), n);
	/* Together with the counter: dd_direct_open() reads both. */
	WRITE_ONCE(imp->direct, false);
	dd_stat_add(conn->imp.obj.ctx->node, DD_STAT_DIRECT, dd_direct_new(n, rx));
	spin_unlock(&conn->chan.lock);
	trace_dd_direct_revoke(conn->other, rx->ring->unit, n);
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
static u64 dd_direct_arrived(struct dd_direct_rx *rx)
{
	const struct dd_ring *ring = rx->ring;
	u64 head = dd_ring_head(ring), arrived = head, pos;

	for (pos = head; pos != head + ring->slots; pos++) {
		if (!dd_ring_has(ring, pos))
			continue;
		rx->end = pos + 1;
		if (READ_ONCE(dd_ring_slot(ring, pos)->conn) ==
		    rx->conn->imp.obj.id)
			arrived = pos + 1;
	}
	return arrived;
}

/**
 * dd_direct_revoke() - end the direct path to a connection's end
 * @conn: the receiving end, whose channel is cut; its list is locked, so the work is
 *	done once, and is complete before the channel is dead
 *
 * The dead word was set before. A sender that finds it zero after its stores made
 * them before the barrier below, so they are found here, and the receiver is
 * notified of the close later. A sender that finds it set asks which notes were
 * delivered: dd_direct_over().
 *
 * Return: the position after the last unread note, 0 if all were read.
 */
u64 dd_direct_revoke(struct dd_conn *conn)
{
	struct dd_direct_rx *rx = conn->chan.direct_rx;
	u64 arrived;

	lockdep_assert_held(&conn->seg.list->lock);
	if (!rx)
		return 0;
	if (!rx->over) {
		/*
		 * Orders the dead word before the look at the ring. Pairs with the
		 * exchange by which the sender stores a note.
		 */
		smp_mb();
		arrived = dd_direct_arrived(rx);
		dd_ring_leave(rx->ring, rx->slots, rx->end);
		dd_direct_hide(rx);
		dd_direct_settle(conn, arrived);
		rx->over = true;
	}
	return rx->end;
}

/**
 * dd_direct_forget() - unlink an end from its ring before its cell is reused
 * @conn: the end, whose channel is dead, and whose list exists
 */
void dd_direct_forget(struct dd_conn *conn)
{
	struct dd_list *list = conn->seg.list;

	if (!list)
		return;
	mutex_lock(&list->lock);
	if (conn->chan.direct_rx)
		list_del_init(&conn->chan.direct_rx->on_ring);
	mutex_unlock(&list->lock);
}

/* The end has no users any more, and still holds a reference to its list. */
void dd_direct_release(struct dd_conn *conn)
{
	struct dd_list *list = conn->seg.list;
	struct dd_direct_rx *rx;

	if (!list)
		return;
	mutex_lock(&list->lock);
	rx = conn->chan.direct_rx;
	conn->chan.direct_rx = NULL;
	if (rx)
		list_del_init(&rx->on_ring);
	mutex_unlock(&list->lock);
	kfree(rx);
}

/* ---- waking and waiting ------------------------------------------------- */

/**
 * dd_direct_wake() - wake the receiver of a direct message
 * @ctx: the sender's context
 * @serial: the connection that the message was sent on
 *
 * Return: 0; %-ENOENT; %-ECONNRESET, then the close has woken the receiver;
 * %-EINVAL if the connection does not send directly.
 */
int dd_direct_wake(struct dd_ctx *ctx, u64 serial)
{
	struct dd_conn *conn;
	struct dd_channel *ch;
	int err = -ENOENT;

	rcu_read_lock();
	conn = dd_obj_find_serial(ctx, serial, &dd_conn_ops);
	if (!conn || !conn->other)
		goto out;
	ch = &conn->other->chan;
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

/**
 * dd_direct_ring() - the ring that an end sends by
 * @conn: the end, of which the caller holds a reference
 *
 * Return: the ring, which exists as long as its list; or NULL.
 */
struct dd_ring *dd_direct_ring(const struct dd_conn *conn)
{
	struct dd_conn *other = conn->other;
	struct dd_ring *ring = NULL;

	spin_lock(&other->chan.lock);
	if (!other->chan.dead && other->chan.direct_rx)
		ring = other->chan.direct_rx->ring;
	spin_unlock(&other->chan.lock);
	return ring;
}

/**
 * dd_direct_reached() - whether the receiver has read up to a position
 * @conn: the sending end, of which the caller holds a reference
 * @w: the position, and the ring that the end sends by
 *
 * Return: 0 if so; %-EAGAIN; %-ECONNRESET; %-EINVAL if the end does not send by
 * that ring.
 */
int dd_direct_reached(const struct dd_conn *conn,
		      const struct dd_ring_waiter *w)
{
	struct dd_conn *other = conn->other;
	int err = -EINVAL;

	spin_lock(&other->chan.lock);
	if (other->chan.dead)
		err = -ECONNRESET;
	else if (other->chan.direct_rx && other->chan.direct_rx->ring == w->ring)
		err = dd_ring_head(w->ring) >= w->pos ? 0 : -EAGAIN;
	spin_unlock(&other->chan.lock);
	return err;
}

/* ---- reports ------------------------------------------------------------ */

/**
 * dd_direct_sent() - messages that an end has sent
 * @conn: the end, whose memory is valid
 *
 * Return: the count that its owner states if it sends directly, else that of the
 * kernel.
 */
u64 dd_direct_sent(const struct dd_conn *conn)
{
	if (READ_ONCE(conn->imp.direct))
		return dd_direct_count(conn);
	return READ_ONCE(conn->imp.submitted);
}

/*
 * Messages that an end sent before its connection was over, including those that
 * were refused for that.
 */
u64 dd_direct_last(const struct dd_conn *conn)
{
	return conn->counted ? dd_direct_count(conn) :
			       READ_ONCE(conn->imp.submitted);
}

/* Messages that an end has sent directly, if its connection is open; else 0. */
u64 dd_direct_open(const struct dd_conn *conn)
{
	u64 n = 0;

	if (!conn->other)
		return 0;
	spin_lock(&conn->other->chan.lock);
	if (conn->imp.direct)
		n = dd_direct_new(dd_direct_count(conn), conn->other->chan.direct_rx);
	spin_unlock(&conn->other->chan.lock);
	return n;
}

/* Messages that an end has received, counted as in dd_direct_sent(). */
u64 dd_direct_received(const struct dd_conn *conn)
{
	if (conn->other && READ_ONCE(conn->other->imp.direct))
		return dd_direct_sent(conn->other);
	return READ_ONCE(conn->chan.received);
}

/* Messages that an end has sent whose notes are within the window. */
u64 dd_direct_done(struct dd_conn *conn)
{
	u64 n = dd_direct_sent(conn), pos, end;
	struct dd_conn *other = conn->other;
	u32 unread = 0;

	if (!READ_ONCE(conn->imp.direct))
		return READ_ONCE(conn->imp.done);
	spin_lock(&other->chan.lock);
	if (!other->chan.dead && other->chan.direct_rx) {
		const struct dd_ring *ring = other->chan.direct_rx->ring;

		/* Once around: notes may be stored as fast as they are read. */
		pos = dd_ring_head(ring);
		end = pos + ring->slots;
		for (; pos != end && dd_ring_has(ring, pos); pos++)
			if (READ_ONCE(dd_ring_slot(ring, pos)->conn) ==
			    other->imp.obj.id)
				unread++;
	}
	spin_unlock(&other->chan.lock);
	return n - min_t(u64, n, unread > conn->imp.window);
}

/* Whether an end sends directly. */
bool dd_direct_is(const struct dd_conn *conn)
{
	return READ_ONCE(conn->imp.direct);
}
