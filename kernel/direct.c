// SPDX-License-Identifier: GPL-2.0-only
/*
 * The direct path: a process deposits in another one's block, and tells it, by
 * its own stores. Here it gets the means, and here they are taken away; on
 * the way of a message there is no kernel, unless somebody sleeps. What the
 * notes come by is in ring.c.
 */
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "direct.h"
#include "dd.h"
#include "trace.h"

static bool dd_direct_on = true;

/* Turned off, what was granted is revoked in all network namespaces. */
static int dd_direct_on_set(const char *val, const struct kernel_param *kp)
{
	int err = param_set_bool(val, kp);
	struct net *net;

	/* At load there is nothing yet, nor are there namespaces to look at. */
	if (err || READ_ONCE(dd_direct_on) ||
	    THIS_MODULE->state != MODULE_STATE_LIVE)
		return err;
	down_read(&net_rwsem);
	for_each_net(net)
		dd_direct_stop(dd_node_of(net));
	up_read(&net_rwsem);
	return 0;
}

static const struct kernel_param_ops dd_direct_on_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = dd_direct_on_set,
	.get = param_get_bool,
};

module_param_cb(direct, &dd_direct_on_ops, &dd_direct_on, 0644);
__MODULE_PARM_TYPE(direct, "bool");
MODULE_PARM_DESC(direct, "allow processes of this node to send directly");

/* ---- granting ----------------------------------------------------------- */

static int dd_direct_allowed(const struct dd_conn *conn)
{
	const struct dd_conn *peer = conn->peer;

	/* No message is longer than INT_MAX: a note that says so lies. */
	if (!READ_ONCE(dd_direct_on) || !peer || !peer->seg.mem.length ||
	    peer->seg.mem.length > INT_MAX ||
	    !PAGE_ALIGNED(peer->seg.mem.offset) ||
	    !PAGE_ALIGNED(peer->seg.mem.length))
		return -EOPNOTSUPP;
	if (conn->nodirect || peer->nodirect)
		return -EACCES;
	return uid_eq(conn->uid, peer->uid) || peer->direct_any ? 0 : -EACCES;
}

/*
 * Whether an end's block may hold what its sender is not to read: of the other
 * user that the end belongs to, or of earlier clients.
 */
static bool dd_direct_must_zero(const struct dd_conn *conn)
{
	const struct dd_conn *peer = conn->peer;

	return !peer->shown && (peer->mixed || !uid_eq(conn->uid, peer->uid));
}

/*
 * Whether all that an end has sent by the kernel has been read, so that what
 * comes another way from now on comes after it. The peer's segment is locked.
 */
static int dd_direct_drained(const struct dd_conn *conn)
{
	const struct dd_segment *seg = &conn->peer->seg;

	if (conn->imp.busy || seg->withheld)
		return -EBUSY;
	if (!conn->imp.submitted)
		return 0;
	return dd_credit_last(seg->credit) <= dd_list_head_pos(seg->list) ?
	       0 : -EBUSY;
}

/*
 * What the block held is not for another user to read. In pieces, each under the
 * lock of the segment, as deposits are: while that is not dead, the block belongs to
 * this connection. No mutex of the receiver's is held.
 */
static int dd_direct_zero(struct dd_conn *conn)
{
	struct dd_segment *seg = &conn->peer->seg;
	struct dd_bytes *mem = &seg->mem;
	u64 done = 0, end;
	int err;

	do {
		spin_lock(&seg->lock);
		err = seg->dead ? -ECONNRESET : dd_direct_drained(conn);
		end = err ? done : min(done + DD_COPY_CHUNK, mem->length);
		for (; done < end; done += PAGE_SIZE)
			memset(mem->region->pages[(mem->offset + done) >>
						  PAGE_SHIFT], 0, PAGE_SIZE);
		spin_unlock(&seg->lock);
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		if (err)
			return err;
		cond_resched();
	} while (done < mem->length);
	return 0;
}

/*
 * Whether it makes sense to go on. A block that a message lies in cannot be zeroed;
 * but if that was done once, the block has been the sender's since.
 */
static int dd_direct_ready(const struct dd_conn *conn)
{
	int err;

	if (READ_ONCE(conn->imp.submitted) && dd_direct_must_zero(conn))
		return -EACCES;
	spin_lock(&conn->peer->seg.lock);
	err = dd_direct_drained(conn);
	spin_unlock(&conn->peer->seg.lock);
	return err;
}

/* From here on the notes come by the ring. */
static int dd_direct_switch(struct dd_conn *conn, struct dd_feed *feed)
{
	struct dd_conn *peer = conn->peer;
	int err;

	spin_lock(&peer->seg.lock);
	err = peer->seg.cut ? -ECONNRESET : dd_direct_drained(conn);
	if (!err) {
		feed->base = conn->imp.submitted;
		peer->feed = feed;
		WRITE_ONCE(conn->imp.direct, true);
	}
	spin_unlock(&peer->seg.lock);
	if (err)
		return err;
	/* Cells are written under the lock of where their requests go. */
	spin_lock(&conn->seg.lock);
	if (!conn->seg.dead)
		WRITE_ONCE(peer->imp.cell->ring, feed->ring->unit);
	spin_unlock(&conn->seg.lock);
	return 0;
}

/**
 * struct dd_direct_kit - what a grant needs, made before the list is locked
 * @feed: with its window, or NULL
 * @zeroed: the block is, if it must be
 * @ring: see there
 */
struct dd_direct_kit {
	struct dd_feed *feed;
	bool zeroed;
	struct dd_ring_kit ring;
};

/* The caller's context is locked, and nothing of the receiver's. */
static int dd_direct_prepare(struct dd_conn *conn, struct dd_list *list,
			     struct dd_direct_kit *kit)
{
	struct dd_ctx *ctx = conn->obj.ctx;
	struct dd_feed *feed = kit->feed;
	int err;

	if (!feed) {
		feed = kzalloc(sizeof(*feed), GFP_KERNEL_ACCOUNT);
		if (!feed)
			return -ENOMEM;
		INIT_LIST_HEAD(&feed->on_ring);
		kit->feed = feed;
	}
	if (!feed->block) {
		struct dd_window *win;

		win = dd_window_create(ctx, conn->imp.peer_size >> PAGE_SHIFT,
				       false, false);
		if (IS_ERR(win))
			return PTR_ERR(win);
		feed->block = win;
	}
	if (!kit->zeroed && dd_direct_must_zero(conn)) {
		err = dd_direct_zero(conn);
		if (err)
			return err;
	}
	kit->zeroed = true;
	err = dd_ring_kit_fill(&kit->ring, list->obj.ctx, ctx);
	/* The receiver's limit, not the caller's. */
	return err == -EDQUOT ? -ENOSPC : err;
}

static void dd_direct_kit_drop(struct dd_direct_kit *kit, struct dd_list *list)
{
	dd_ring_kit_drop(&kit->ring, list->obj.ctx);
	if (!kit->feed)
		return;
	if (kit->feed->block)
		dd_window_revoke(kit->feed->block);
	kfree(kit->feed);
}

/* -EAGAIN: the kit lacks something; see dd_direct_prepare(). */
static int dd_direct_make(struct dd_conn *conn, struct dd_list *list,
			  struct dd_direct_kit *kit)
{
	struct dd_bytes *mem = &conn->peer->seg.mem;
	struct dd_feed *feed = kit->feed;
	int err;

	/* Under the list's lock: dd_rings_stop() finds what comes before it. */
	if (!READ_ONCE(dd_direct_on))
		return -EOPNOTSUPP;
	if (!READ_ONCE(conn->obj.ctx->node->up))
		return -ENETDOWN;
	/* Asked for once more below; here it spares the rest, and others. */
	err = dd_direct_ready(conn);
	if (err)
		return err;
	if (!feed || !kit->zeroed)
		return -EAGAIN;
	/* Also if there is no ring now: after a message it is too late. */
	if (dd_direct_must_zero(conn) && conn->peer->server)
		dd_service_zeroed(conn->peer);
	conn->peer->shown = true;
	feed->conn = conn->peer;
	feed->cell = conn->peer->imp.cell;
	feed->slots = dd_credit_slots(conn->imp.peer_window);
	feed->ring = dd_ring_get(list, conn, feed->slots, &kit->ring);
	err = PTR_ERR_OR_ZERO(feed->ring);
	if (err)
		return err;
	dd_ring_join(feed->ring, feed->slots);
	feed->from = dd_ring_head(feed->ring);
	dd_window_show(feed->block, mem->region->pages +
		       (mem->offset >> PAGE_SHIFT), false);
	err = dd_direct_switch(conn, feed);
	if (err) {
		dd_ring_leave(feed->ring, feed->slots, 0);
		return err;
	}
	kit->feed = NULL;
	list_add(&feed->on_ring, &feed->ring->feeds);
	trace_dd_direct_grant(conn, feed->ring->unit, feed->base);
	return 0;
}

/* What the sending end says it has sent. */
static u64 dd_direct_count(const struct dd_conn *conn)
{
	return READ_ONCE(*(const u64 *)conn->imp.cell->sq[0].meta);
}

/* Likewise since it was allowed to, for the sum of all. */
static u64 dd_direct_new(u64 n, const struct dd_feed *feed)
{
	return n - min(n, feed->base);
}

/* Nothing that an end has posted is unread, or will be read. */
static void dd_direct_unfeed(struct dd_conn *conn)
{
	struct dd_conn *peer = conn->peer;
	struct dd_feed *feed = peer->feed;

	spin_lock(&peer->seg.lock);
	peer->feed = NULL;
	WRITE_ONCE(conn->imp.direct, false);
	spin_unlock(&peer->seg.lock);
	spin_lock(&conn->seg.lock);
	if (!conn->seg.dead)
		/* Who finds it 0 finds what has been counted before. */
		smp_store_release(&peer->imp.cell->ring, 0);
	spin_unlock(&conn->seg.lock);
	list_del_init(&feed->on_ring);
	if (!feed->left)
		dd_ring_leave(feed->ring, feed->slots, 0);
	dd_feed_hide(feed);
	kfree(feed);
	/* Who waits for that ring waits for nothing. */
	wake_up_interruptible_all(&peer->seg.list->room);
}

/* As dd_direct_make() never was; the peer's list is locked. */
static int dd_direct_unmake(struct dd_conn *conn)
{
	const struct dd_feed *feed = conn->peer->feed;

	if (READ_ONCE(conn->imp.submitted) != feed->base ||
	    dd_direct_count(conn) != feed->base)
		return -EBUSY;
	trace_dd_direct_revoke(conn, feed->ring->unit, feed->base);
	dd_direct_unfeed(conn);
	return 0;
}

/* The ring was taken back: the kernel goes on where the sender has stopped. */
static int dd_direct_depart(struct dd_conn *conn, struct dd_direct *arg)
{
	u64 asked = arg->start;
	struct dd_conn *peer = conn->peer;
	struct dd_import *imp = &conn->imp;
	struct dd_feed *feed = peer->feed;
	u64 n = dd_direct_count(conn), end = feed->end;
	bool read = dd_feed_read(feed);

	arg->start = end;
	if (feed->gone)
		return 0;
	/* The last one did not get there in time. */
	if (n && asked > end)
		n--;
	spin_lock(&peer->seg.lock);
	if (imp->busy) {
		spin_unlock(&peer->seg.lock);
		return -EBUSY;
	}
	dd_stat_add(conn->obj.ctx->node, DD_STAT_DIRECT, dd_direct_new(n, feed));
	WRITE_ONCE(imp->submitted, n);
	WRITE_ONCE(imp->sent, n);
	WRITE_ONCE(imp->done, n);
	WRITE_ONCE(imp->cell->submitted, n);
	WRITE_ONCE(imp->cell->sent, n);
	WRITE_ONCE(imp->cell->done, n);
	WRITE_ONCE(imp->cell->left, 0);
	WRITE_ONCE(peer->seg.received, n);
	WRITE_ONCE(peer->imp.cell->received, n);
	if (!read) {
		/* The reader needs its cell to name the ring; and order. */
		feed->gone = true;
		peer->seg.behind = true;
		WRITE_ONCE(imp->direct, false);
	}
	spin_unlock(&peer->seg.lock);
	if (read)
		dd_direct_unfeed(conn);
	return 0;
}

static int dd_direct_drop(struct dd_conn *conn, struct dd_direct *arg)
{
	const struct dd_feed *feed = conn->peer->feed;

	if (!feed)
		return 0;
	return feed->left ? dd_direct_depart(conn, arg) : dd_direct_unmake(conn);
}

static void dd_direct_tell(const struct dd_conn *peer, struct dd_direct *arg)
{
	const struct dd_feed *feed = peer->feed;
	const struct dd_ring *ring = feed->ring;

	arg->peer_conn = peer->obj.id;
	arg->block = (u64)feed->block->pgoff << PAGE_SHIFT;
	arg->block_size = (u64)feed->block->npages << PAGE_SHIFT;
	arg->notes = (u64)ring->notes->pgoff << PAGE_SHIFT;
	arg->state = (u64)ring->view->pgoff << PAGE_SHIFT;
	arg->start = ring->start;
	arg->slots = ring->slots;
	arg->peer_block = peer->block;
}

/*
 * It is dropped already; what is left is to say what has come, which is less than
 * a ring away from what the sender has posted last.
 */
static int dd_direct_over(const struct dd_conn *conn, struct dd_direct *arg)
{
	if (!(arg->flags & DD_DIRECT_DROP))
		return -ECONNRESET;
	arg->start += (s32)(conn->arrived - (u32)arg->start);
	return 0;
}

/* A way to send directly, unless there is one. */
static int dd_direct_again(struct dd_conn *conn, struct dd_list *list,
			   struct dd_direct_kit *kit)
{
	const struct dd_feed *feed = conn->peer->feed;

	if (feed && !feed->left)
		return 0;
	if (feed) {
		if (!feed->gone || !dd_feed_read(feed))
			return -EBUSY;
		dd_direct_unfeed(conn);
	}
	return dd_direct_make(conn, list, kit);
}

/* With the list of the peer locked. */
static int dd_direct_locked(struct dd_conn *conn, struct dd_list *list,
			    struct dd_direct_kit *kit, struct dd_direct *arg)
{
	int err;

	/*
	 * Not revoked while the list is locked; before, perhaps. A sender that finds
	 * the dead word before that asks what has come: that is settled first.
	 */
	if (READ_ONCE(conn->peer->seg.cut))
		dd_direct_revoke(conn->peer);
	if (conn->peer->seg.dead || conn->peer->seg.cut)
		return dd_direct_over(conn, arg);
	if (arg->flags & DD_DIRECT_DROP)
		return dd_direct_drop(conn, arg);
	err = dd_direct_again(conn, list, kit);
	if (!err)
		dd_direct_tell(conn->peer, arg);
	return err;
}

/* The caller's context is locked, so its end of the connection stays. */
static int dd_direct_conn(struct dd_conn *conn, struct dd_direct *arg)
{
	struct dd_direct_kit kit = {};
	struct dd_list *list;
	int err, tries = 8;

	err = dd_direct_allowed(conn);
	if (err && !(arg->flags & DD_DIRECT_DROP && conn->peer))
		return err;
	list = dd_conn_hold_list(conn->peer);
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
		/* Rings that others take meanwhile may be of another size. */
		err = --tries ? dd_direct_prepare(conn, list, &kit) : -EBUSY;
	} while (!err);
	dd_direct_kit_drop(&kit, list);
	dd_list_put(list);
	return err;
}

/**
 * dd_direct_grant() - give an end the means to send directly
 * @ctx: the caller
 * @arg: as user space passed it; the results are filled in
 *
 * Return: 0 or an error as the uapi header says; then nothing has changed.
 */
int dd_direct_grant(struct dd_ctx *ctx, struct dd_direct *arg)
{
	struct dd_conn *conn;
	int err;

	if (arg->flags & ~DD_DIRECT_DROP || arg->peer_block || arg->__reserved)
		return -EINVAL;
	conn = dd_obj_get_serial(ctx, arg->conn, DD_OBJ_CONN);
	if (!conn)
		return -ENOENT;
	mutex_lock(&ctx->lock);
	err = ctx->dead ? -ESTALE : dd_direct_conn(conn, arg);
	mutex_unlock(&ctx->lock);
	dd_conn_put(conn);
	return err;
}

/* ---- taking away -------------------------------------------------------- */

/*
 * A client of another user than the server's says how many messages it has sent,
 * and that is not relied on: as many may have come as notes were consumed, though
 * some were of its other connections.
 */
static void dd_direct_doubt(const struct dd_feed *feed, u64 end, u64 n)
{
	struct dd_conn *conn = feed->conn;
	u64 most;

	if (!conn->server || uid_eq(conn->uid, conn->peer->uid))
		return;
	if (check_add_overflow(feed->base, max(end, feed->from) - feed->from,
			       &most))
		most = U64_MAX;
	if (most > n && check_add_overflow(conn->owed, most - n, &conn->owed))
		conn->owed = U64_MAX;
}

/**
 * dd_feed_leave() - the ring that an end's messages came by is taken back
 * @feed: the way to the end; its list is locked
 * @end: position in the ring after which nothing has come
 *
 * All that was posted has been read, nobody can post, and when somebody can see
 * that, this has been done.
 */
void dd_feed_leave(struct dd_feed *feed, u64 end)
{
	struct dd_conn *conn = feed->conn;
	u64 n;

	lockdep_assert_held(&conn->seg.list->lock);
	/* Its end may be over, and known to the receiver still. */
	if (!feed->block || feed->left)
		return;
	spin_lock(&conn->seg.lock);
	n = dd_direct_count(conn->peer);
	dd_direct_doubt(feed, end, n);
	feed->left = true;
	feed->end = end;
	WRITE_ONCE(conn->seg.received, n);
	WRITE_ONCE(conn->imp.cell->received, n);
	WRITE_ONCE(conn->peer->imp.cell->left, 1);
	spin_unlock(&conn->seg.lock);
	trace_dd_direct_revoke(conn->peer, feed->ring->unit, n);
}

/* Its last word: what it has stored since reaches nobody. */
static void dd_direct_settle(struct dd_conn *conn, u64 arrived)
{
	struct dd_import *imp = &conn->peer->imp;
	u64 n = dd_direct_count(conn->peer);

	spin_lock(&conn->seg.lock);
	WRITE_ONCE(conn->seg.received, n);
	WRITE_ONCE(imp->submitted, n);
	WRITE_ONCE(imp->sent, n);
	WRITE_ONCE(imp->done, n);
	conn->peer->arrived = arrived;
	conn->peer->counted = true;
	if (!conn->feed->left)
		dd_direct_doubt(conn->feed, max(conn->feed->end, arrived), n);
	/* At once, to who looks at both: dd_direct_open(). */
	WRITE_ONCE(imp->direct, false);
	dd_stat_add(conn->obj.ctx->node, DD_STAT_DIRECT,
		    dd_direct_new(n, conn->feed));
	spin_unlock(&conn->seg.lock);
	if (!conn->feed->left)
		trace_dd_direct_revoke(conn->peer, conn->feed->ring->unit, n);
}

/**
 * dd_feed_arrived() - what has come of an end that posts nothing any more
 * @feed: its way
 * @end: (out) position after the last note of all, if one is unread
 *
 * Notes may be behind positions that other threads of its process have taken and
 * not filled yet.
 *
 * Return: the position after the last note of this connection that is there, or
 * the reader's: one posts after the other, so all before that are.
 */
u64 dd_feed_arrived(const struct dd_feed *feed, u64 *end)
{
	const struct dd_ring *ring = feed->ring;
	u64 head = dd_ring_head(ring), arrived = head, pos;

	for (pos = head; pos != head + ring->slots; pos++) {
		if (!dd_ring_has(ring, pos))
			continue;
		*end = pos + 1;
		if (READ_ONCE(dd_ring_slot(ring, pos)->conn) ==
		    feed->conn->obj.id)
			arrived = pos + 1;
	}
	return arrived;
}

/* Whether all has been read that came by a ring that was taken back. */
bool dd_feed_read(const struct dd_feed *feed)
{
	return dd_ring_head(feed->ring) >= feed->end;
}

/* The sender no longer sees the end's block. */
void dd_feed_hide(struct dd_feed *feed)
{
	if (feed->block)
		dd_window_revoke(feed->block);
	feed->block = NULL;
}

/**
 * dd_direct_revoke() - nobody writes to an end directly any more
 * @conn: the end, whose segment is cut; its list is locked, so that this is done
 *	once, and whoever finds the segment dead finds it done
 *
 * First came the dead word, then a barrier: a sender that finds it zero after its
 * stores has made them before anything that follows here, and what follows is
 * that the receiver is told of the close. Whoever finds it set asks what has come,
 * dd_direct_over().
 *
 * Return: position in its ring after all that was posted; 0 if all was read.
 */
u64 dd_direct_revoke(struct dd_conn *conn)
{
	struct dd_feed *feed = conn->feed;
	u64 arrived;

	lockdep_assert_held(&conn->seg.list->lock);
	if (!feed)
		return 0;
	if (feed->over)
		goto out;
	/* As said above. */
	smp_mb();
	if (feed->left) {
		arrived = feed->end;
	} else {
		arrived = dd_feed_arrived(feed, &feed->end);
		dd_ring_leave(feed->ring, feed->slots, feed->end);
	}
	dd_feed_hide(feed);
	/* Else the kernel counts already. */
	if (!feed->gone)
		dd_direct_settle(conn, arrived);
	feed->over = true;
out:
	return feed->left && dd_feed_read(feed) ? 0 : feed->end;
}

/**
 * dd_direct_forget() - an end's cell is to be another one's
 * @conn: the end, whose segment is dead, and whose list is there
 */
void dd_direct_forget(struct dd_conn *conn)
{
	struct dd_list *list = conn->seg.list;

	if (!list)
		return;
	mutex_lock(&list->lock);
	if (conn->feed)
		list_del_init(&conn->feed->on_ring);
	mutex_unlock(&list->lock);
}

/* The last user of an end is gone, but not yet what it holds. */
void dd_direct_release(struct dd_conn *conn)
{
	struct dd_list *list = conn->seg.list;
	struct dd_feed *feed;

	if (!list)
		return;
	mutex_lock(&list->lock);
	feed = conn->feed;
	conn->feed = NULL;
	if (feed)
		list_del_init(&feed->on_ring);
	mutex_unlock(&list->lock);
	kfree(feed);
}

/* ---- waking ------------------------------------------------------------- */

/**
 * dd_direct_wake() - a sender has found its receiver asleep
 * @ctx: the sender
 * @serial: the connection it has sent on
 *
 * Return: 0; %-ENOENT; %-ECONNRESET, then the receiver is awake; %-EINVAL if
 * the connection does not send directly.
 */
int dd_direct_wake(struct dd_ctx *ctx, u64 serial)
{
	struct dd_conn *conn;
	struct dd_segment *seg;
	int err = -ENOENT;

	rcu_read_lock();
	conn = dd_obj_find_serial(ctx, serial, DD_OBJ_CONN);
	if (!conn || !conn->peer)
		goto out;
	seg = &conn->peer->seg;
	spin_lock(&seg->lock);
	err = seg->dead ? -ECONNRESET : conn->peer->feed ? 0 : -EINVAL;
	if (!err) {
		/* Whoever arms again is on the queue already, and looks again. */
		dd_rings_disarm(seg->list);
		dd_list_wake(seg->list);
	}
	spin_unlock(&seg->lock);
out:
	rcu_read_unlock();
	return err;
}

/**
 * dd_direct_ring() - what an end sends by
 * @conn: the end, of which the caller is a user
 *
 * Return: a ring, which stays as long as the list it belongs to; or NULL.
 */
struct dd_ring *dd_direct_ring(const struct dd_conn *conn)
{
	struct dd_conn *peer = conn->peer;
	struct dd_ring *ring = NULL;

	spin_lock(&peer->seg.lock);
	if (!peer->seg.dead && peer->feed)
		ring = peer->feed->ring;
	spin_unlock(&peer->seg.lock);
	return ring;
}

/**
 * dd_direct_reached() - whether a receiver has consumed up to a position
 * @conn: the sending end, of which the caller is a user
 * @w: who waits for that; of another ring than it sends by now, all was read
 *
 * Return: 0 if so; %-EAGAIN; %-ECONNRESET; %-EINVAL if it does not send
 * directly.
 */
int dd_direct_reached(const struct dd_conn *conn, const struct dd_waiter *w)
{
	struct dd_conn *peer = conn->peer;
	int err = -EINVAL;

	spin_lock(&peer->seg.lock);
	if (peer->seg.dead)
		err = -ECONNRESET;
	else if (peer->feed)
		err = peer->feed->left || peer->feed->ring != w->ring ||
		      dd_ring_head(w->ring) >= w->pos ? 0 : -EAGAIN;
	spin_unlock(&peer->seg.lock);
	return err;
}

/* ---- turned off ---------------------------------------------------------- */

/**
 * dd_direct_stop() - revoke every way to send directly on a node
 * @node: the node, which is down; or direct sending is turned off
 *
 * Senders find that their ring was taken back, and go on by the doorbell. What
 * was posted before is read. Waits for no process.
 */
void dd_direct_stop(struct dd_node *node)
{
	unsigned long from = 0, index;
	struct dd_list *list;
	struct dd_ctx *ctx;

	while ((ctx = dd_node_ctx(node, from))) {
		index = 0;
		while ((list = dd_obj_next(ctx, &index, DD_OBJ_LIST))) {
			dd_rings_stop(list);
			dd_list_put(list);
			cond_resched();
		}
		from = ctx->serial + 1;
		dd_ctx_put(ctx);
	}
}

/* ---- reports ------------------------------------------------------------ */

/**
 * dd_direct_sent() - messages that an end has sent, by its own account
 * @conn: the end, of whose memory the caller is sure
 *
 * Return: that, or what the kernel has counted if it does not send directly.
 */
u64 dd_direct_sent(const struct dd_conn *conn)
{
	if (READ_ONCE(conn->imp.direct))
		return dd_direct_count(conn);
	return READ_ONCE(conn->imp.submitted);
}

/*
 * Messages that an end has sent, or has tried to until the connection was over,
 * which it is.
 */
u64 dd_direct_last(const struct dd_conn *conn)
{
	return conn->counted ? dd_direct_count(conn) :
			       READ_ONCE(conn->imp.submitted);
}

/* That of dd_direct_sent(), if it sends directly and is not over; else 0. */
u64 dd_direct_open(const struct dd_conn *conn)
{
	u64 n = 0;

	if (!conn->peer)
		return 0;
	spin_lock(&conn->peer->seg.lock);
	if (conn->imp.direct)
		n = dd_direct_new(dd_direct_count(conn), conn->peer->feed);
	spin_unlock(&conn->peer->seg.lock);
	return n;
}

/* Likewise of messages that have come to it. */
u64 dd_direct_received(const struct dd_conn *conn)
{
	if (conn->peer && READ_ONCE(conn->peer->imp.direct))
		return dd_direct_sent(conn->peer);
	return READ_ONCE(conn->seg.received);
}

/* Likewise of messages whose notes are within the window. */
u64 dd_direct_done(struct dd_conn *conn)
{
	u64 n = dd_direct_sent(conn), pos, end;
	struct dd_conn *peer = conn->peer;
	u32 unread = 0;

	if (!READ_ONCE(conn->imp.direct))
		return READ_ONCE(conn->imp.done);
	spin_lock(&peer->seg.lock);
	if (!peer->seg.dead && peer->feed && !peer->feed->left) {
		const struct dd_ring *ring = peer->feed->ring;

		/* Once around: notes may be stored as fast as they are read. */
		pos = dd_ring_head(ring);
		end = pos + ring->slots;
		for (; pos != end && dd_ring_has(ring, pos); pos++)
			if (READ_ONCE(dd_ring_slot(ring, pos)->conn) ==
			    peer->obj.id)
				unread++;
	}
	spin_unlock(&peer->seg.lock);
	return n - min_t(u64, n, unread > conn->imp.peer_window);
}

/* Whether what an end sends now goes directly. */
bool dd_direct_is(const struct dd_conn *conn)
{
	bool is = false;

	if (!conn->peer)
		return false;
	spin_lock(&conn->peer->seg.lock);
	if (conn->imp.direct)
		is = !conn->peer->feed->left;
	spin_unlock(&conn->peer->seg.lock);
	return is;
}
