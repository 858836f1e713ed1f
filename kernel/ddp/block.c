// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of a service: which client gets one, and when it is free again.
 *
 * Slots of the list and a credit are allocated for a block when it is first given to a
 * client that needs them, and stay with the block; a stream with a window of its own frees
 * these at its end. The connecting process makes these allocations, with no lock held that
 * ending the service takes; they are charged to the server. A block refers to its current
 * or last connection: after a client is gone, its serving end stays valid until the server
 * closes it or the block is given to another client.
 */
#include <linux/slab.h>

#include "cluster/remote.h"
#include "core/charge.h"
#include "core/credit.h"
#include "core/ctx.h"
#include "core/node.h"
#include "core/notelist.h"
#include "core/segment.h"
#include "ddp/conn.h"
#include "ddp/conn_net.h"
#include "ddp/service.h"
#include "direct/direct.h"

/*
 * Whether all notes of a block's previous connections have been read: an accepted
 * message must not be lost because its sender has closed.
 */
static bool dd_block_clean(const struct dd_service *svc, const struct dd_block *block)
{
	const struct dd_conn *conn = block->conn;
	struct dd_ring *ring = block->ring;
	bool read;

	/* A list per connection is freed with its connection. */
	if (svc->flags & DD_SERVE_ACCEPT && conn &&
	    (dd_credit_last(conn->chan.credit) > dd_list_head_pos(conn->seg.list) ||
	     dd_rings_ready(conn->seg.list)))
		return false;
	if (max(block->conn_note, dd_credit_last(&block->credit)) >
	    dd_list_head_pos(svc->list))
		return false;
	if (!ring || dd_ring_head(ring) >= block->ring_end)
		return true;
	/*
	 * Once the context of the last client does not own its ring any more, the notes
	 * in it are final; and the ring gets another sender only after all of them have
	 * been read.
	 */
	mutex_lock(&svc->list->lock);
	read = ring->from ? ring->from->serial + 1ull != block->client.ctx :
			    !dd_ring_has(ring, dd_ring_head(ring));
	mutex_unlock(&svc->list->lock);
	return read;
}

/*
 * Number of messages of a block's last client that the server may still be working on:
 * messages received less replies, where a reply refused because the client was gone
 * counts. 0 if the server has closed.
 */
static u64 dd_block_unanswered(const struct dd_block *block)
{
	struct dd_conn *conn = block->conn;
	u64 got, sent;

	if (!conn || READ_ONCE(conn->closing))
		return 0;
	/* Either number may have been written by a process. */
	if (check_add_overflow(READ_ONCE(conn->chan.received), dd_server_of(conn)->unanswered,
			       &got))
		got = U64_MAX;
	if (check_add_overflow(dd_direct_last(&conn->imp),
			       (u64)READ_ONCE(conn->imp.refused), &sent))
		sent = U64_MAX;
	return got - min(got, sent);
}

static bool dd_client_same_user(const struct dd_client_id *a, const struct dd_client_id *b)
{
	return uid_eq(a->uid, b->uid) && a->node == b->node;
}

/* Whether a client may connect; one on this node is the current process. */
static bool dd_service_admits(const struct dd_service *svc,
			      const struct dd_client_id *cid)
{
	const u32 some = DD_SERVE_SAME_USER | DD_SERVE_UID | DD_SERVE_GID;

	return !(svc->flags & some) ||
	       (svc->flags & DD_SERVE_SAME_USER && uid_eq(cid->uid, svc->uid)) ||
	       (svc->flags & DD_SERVE_UID && uid_eq(cid->uid, svc->only_uid)) ||
	       (svc->flags & DD_SERVE_GID && cid->ctx && in_egroup_p(svc->only_gid));
}

/*
 * Choose a block for a client. A block whose messages the server may be working on is
 * given only to the same user, and only if there is no other block or the user may have
 * no more blocks. With @ready only a block that has had a connection is chosen.
 */
static struct dd_block *dd_service_choose(struct dd_service *svc,
					  const struct dd_client_id *cid, bool ready)
{
	struct dd_block *block, *own = NULL;
	u32 i, used = 0;

	for (i = 0; svc->peruser && i < svc->maxconn; i++) {
		block = &svc->blocks[i];
		/* A block that was never given away has no user. */
		if (block->bytes && dd_client_same_user(&block->client, cid) &&
		    (list_empty(&block->free) || !dd_block_clean(svc, block) ||
		     dd_block_unanswered(block)))
			used++;
	}
	list_for_each_entry(block, &svc->free, free) {
		if ((ready && !block->ready) || !dd_block_clean(svc, block))
			continue;
		if (!dd_block_unanswered(block)) {
			if (!svc->peruser || used < svc->peruser)
				return block;
			continue;
		}
		if (!own && dd_client_same_user(&block->client, cid))
			own = block;
	}
	return own;
}

/**
 * struct block_prealloc - resources for a block that has had no connection
 * @slots: slots reserved in the service's list; 0 if there are none
 * @credit: for the block
 */
struct block_prealloc {
	u32 slots;
	struct dd_credit credit;
};

/* Called with the service unlocked, as it allocates. */
static int block_prealloc_fill(struct dd_service *svc, struct block_prealloc *pre)
{
	bool accept = svc->flags & DD_SERVE_ACCEPT;
	struct dd_ctx *ctx = svc->obj.ctx;
	u32 slots = dd_block_slots(svc);
	int err;

	err = dd_credit_make(ctx, &pre->credit, accept ? 1 : svc->window);
	if (err)
		return err;
	err = dd_list_reserve(svc->list, slots, 0);
	if (err)
		dd_credit_drop(ctx, &pre->credit);
	else
		pre->slots = slots;
	return err;
}

static void block_prealloc_free(struct dd_service *svc, struct block_prealloc *pre)
{
	if (!pre->slots)
		return;
	dd_list_unreserve(svc->list, pre->slots);
	dd_credit_drop(svc->obj.ctx, &pre->credit);
}

/*
 * Choose a block for an end, which has its own credit or uses that of the block. The
 * service is locked; it is unlocked meanwhile if @pre has to be filled.
 */
static int dd_service_pick(struct dd_service *svc, const struct dd_conn *conn,
			   const struct dd_client_id *cid, struct block_prealloc *pre,
			   struct dd_block **block)
{
	bool need = !conn->chan.credit || svc->flags & DD_SERVE_ACCEPT;
	int err = 0;

	lockdep_assert_held(&svc->lock);
	for (;;) {
		/* It has no name any more: the next look-up does not find it. */
		if (svc->dead || svc->taken)
			return -EAGAIN;
		/* Without the memory, use a block that has had a connection. */
		*block = dd_service_choose(svc, cid, err);
		if (!*block)
			return err ? err : -EUSERS;
		if ((*block)->ready || !need)
			return 0;
		if (pre->slots) {
			(*block)->ready = true;
			svc->slots += pre->slots;
			pre->slots = 0;
			if (pre->credit.window > 1)
				(*block)->credit = pre->credit;
			return 0;
		}
		mutex_unlock(&svc->lock);
		err = block_prealloc_fill(svc, pre);
		mutex_lock(&svc->lock);
	}
}

/*
 * Allocate a credit for this connection alone: with DD_SERVE_ACCEPT, together with a
 * list; or if its window is larger than that of the blocks, with slots reserved in the
 * service's list.
 */
static int dd_service_own_credit(struct dd_conn *conn, u32 window)
{
	struct dd_service *svc = conn->svc;
	struct dd_ctx *ctx = svc->obj.ctx;
	struct dd_credit *credit;
	struct dd_list *list = svc->list;
	int err;

	credit = kzalloc(sizeof(*credit), dd_gfp(ctx));
	if (!credit)
		return -ENOMEM;
	conn->chan.credit = credit;
	err = dd_credit_make(ctx, credit, window);
	if (err)
		return err;
	if (svc->flags & DD_SERVE_ACCEPT) {
		list = dd_list_create(ctx, dd_service_slots(svc, window), 0);
		if (IS_ERR(list))
			return PTR_ERR(list);
	} else {
		err = dd_list_reserve(list, dd_service_slots(svc, window), 1);
		if (err)
			return err;
		refcount_inc(&list->obj.users);
	}
	conn->seg.list = list;
	return 0;
}

/* Implements dd_segment_ops.zeroed(). */
static void dd_service_zeroed(struct dd_segment *seg)
{
	struct dd_conn *conn = container_of(seg, struct dd_conn, seg);
	struct dd_block *block = &conn->svc->blocks[seg->index];

	seg->data = DD_DATA_OWN;
	block->bytes = block->client.ctx;
}

/* Implements dd_segment_ops.unsure(). */
static void dd_service_unsure(struct dd_segment *seg, u64 n)
{
	struct dd_server *server = container_of(seg, struct dd_server, conn.seg);

	if (check_add_overflow(server->unanswered, n, &server->unanswered))
		server->unanswered = U64_MAX;
}

static const struct dd_segment_ops dd_service_segment_ops = {
	.zeroed = dd_service_zeroed,
	.unsure = dd_service_unsure,
};

/*
 * Make a serving end, before its block is chosen. The service must not be locked: this
 * allocates, and releasing the end takes the lock.
 */
static struct dd_conn *dd_service_new(struct dd_service *svc, u8 type)
{
	u32 window = type == DD_CONN_STREAM ? svc->stream_window : svc->window;
	struct dd_conn *conn = dd_conn_alloc(svc->obj.ctx, type, true);
	int err = 0;

	if (IS_ERR(conn))
		return conn;
	conn->released = true;
	conn->svc = svc;
	refcount_inc(&svc->obj.users);
	dd_conn_owner(conn, svc->uid, svc->flags & DD_SERVE_NODIRECT,
		      svc->flags & DD_SERVE_DIRECT_ANY);
	dd_segment_init(&conn->seg, svc->obj.ctx->node, DD_RIGHT_PUT);
	conn->seg.ops = &dd_service_segment_ops;
	if (svc->flags & DD_SERVE_ACCEPT || window != svc->window)
		err = dd_service_own_credit(conn, window);
	if (!err)
		err = dd_obj_reserve(&conn->imp.obj);
	if (!err)
		return conn;
	dd_conn_put(conn);
	return ERR_PTR(err);
}

/* Assign a block to a serving end. */
static void dd_service_assign(struct dd_service *svc, struct dd_block *block,
			      struct dd_conn *conn)
{
	u32 nr = block - svc->blocks;

	/* A server still working on messages of the last client replies on this end. */
	dd_server_of(conn)->unanswered = dd_block_unanswered(block);
	conn->seg.index = nr;
	conn->seg.cookie = svc->obj.id | (u64)nr << 32;
	conn->imp.unit = svc->states_unit + nr * DD_CONN_UNITS;
	conn->imp.cs = dd_area_unit(&svc->obj.ctx->area, conn->imp.unit);
	conn->seg.mem.region = svc->recv.region;
	conn->seg.mem.offset = svc->recv.offset + nr * svc->recv_block;
	conn->seg.mem.length = svc->recv_block;
	if (svc->send.region) {
		conn->imp.send.region = svc->send.region;
		conn->imp.send.offset = svc->send.offset + nr * svc->send_block;
		conn->imp.send.length = svc->send_block;
	}
	if (!conn->chan.credit) {
		conn->chan.credit = &block->credit;
		block->credit.seen = 0;
		conn->seg.list = svc->list;
	}
}

/* Post a connection note, in the slot reserved for it. */
static void dd_service_announce(struct dd_service *svc, struct dd_block *block,
				const struct dd_conn *conn)
{
	struct dd_note note = {
		.type = DD_NOTE_CONN,
		.conn = dd_obj_serial(&conn->imp.obj),
		.cookie = conn->seg.cookie,
	};
	u64 pos;

	/* The ring is moved only under this lock. */
	mutex_lock(&svc->list->lock);
	if (!WARN_ON_ONCE(!dd_list_post(svc->list, &note, &pos)))
		block->conn_note = pos + 1;
	mutex_unlock(&svc->list->lock);
	dd_list_wake(svc->list);
}

/*
 * Remove the id of the block's previous end and return it, with a reference. If @ended is
 * set, the caller reports its end after unlocking: reports allocate memory.
 */
static struct dd_conn *dd_service_evict(struct dd_block *block, bool *ended)
{
	struct dd_conn *old = block->conn;

	block->conn = NULL;
	if (!old)
		return NULL;
	/* Its release has not run, as that clears block->conn under the same lock. */
	dd_direct_release(&old->chan);
	if (!refcount_inc_not_zero(&old->imp.obj.users))
		return NULL;
	if (xchg(&old->closing, 1))
		return old;
	*ended = true;
	if (dd_obj_remove(&old->imp.obj))
		/* The reference of the table; the caller's one remains. */
		dd_conn_put(old);
	return old;
}

static void dd_service_give(struct dd_service *svc, struct dd_block *block,
			    struct dd_conn *conn, struct dd_conn *client,
			    const struct dd_client_id *cid)
{
	bool mixed;

	lockdep_assert_held(&svc->lock);
	list_del_init(&block->free);
	if (svc->flags & DD_SERVE_SHARED) {
		svc->taken = true;
		dd_name_del(svc->obj.ctx->node, &svc->name);
	}
	block->conn = conn;
	block->client = *cid;
	mixed = block->bytes && block->bytes != cid->ctx;
	conn->seg.data = mixed ? DD_DATA_MIXED : DD_DATA_OWN;
	block->bytes = mixed || !cid->ctx ? ~0ull : cid->ctx;
	conn->released = false;
	/* WRITE_ONCE(): reports read these without the lock. */
	WRITE_ONCE(svc->nconn, svc->nconn + 1);
	WRITE_ONCE(svc->past.conns, svc->past.conns + 1);
	if (client)
		dd_conn_pair(conn, client);
	if (svc->flags & DD_SERVE_ACCEPT)
		dd_list_publish(conn->seg.list);
	dd_obj_publish(&conn->imp.obj);
	if (svc->flags & DD_SERVE_ACCEPT)
		dd_service_announce(svc, block, conn);
	if (!client)
		dd_remote_go(dd_remote_of(conn));
}

/**
 * dd_service_accept() - connect a client to a service
 * @svc: the service
 * @type: enum dd_conn_type
 * @cid: identity of the client
 * @client: the connecting end, set up, its id reserved; NULL if it is remote
 * @call: the request of a client on another node, else NULL
 *
 * The resources of the serving end are charged to the server's user; the caller has
 * entered the server's memory cgroup by dd_owner_enter().
 *
 * Return: 0; %-EACCES if the user may not connect; %-EAGAIN if the service has ended, or, with
 * DD_SERVE_SHARED, another client has taken it: another service may have its name; %-EUSERS if
 * there is no block for this client; %-EDQUOT if the server's RLIMIT_MEMLOCK would be exceeded;
 * %-ENOMEM or %-ENOSPC; %-EHOSTUNREACH; %-EINTR if the caller was killed. On error nothing has
 * changed.
 */
int dd_service_accept(struct dd_service *svc, u8 type, const struct dd_client_id *cid,
		      struct dd_conn *client, struct dd_conn_net_call *call)
{
	struct dd_conn *conn, *old = NULL;
	struct block_prealloc pre = {};
	struct dd_block *block;
	bool ended = false;
	int err;

	if (!dd_service_admits(svc, cid))
		return -EACCES;
	conn = dd_service_new(svc, type);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	err = call ? dd_conn_net_fill(call, conn) : 0;
	if (!err)
		err = mutex_lock_killable(&svc->lock);
	if (err)
		goto out;
	err = dd_service_pick(svc, conn, cid, &pre, &block);
	if (!err) {
		dd_service_assign(svc, block, conn);
		err = call ? dd_conn_net_accept(call, conn) : 0;
	}
	if (!err) {
		old = dd_service_evict(block, &ended);
		refcount_inc(&conn->imp.obj.users);
		dd_service_give(svc, block, conn, client, cid);
	}
	mutex_unlock(&svc->lock);
	block_prealloc_free(svc, &pre);
	if (ended)
		dd_event(&old->imp.obj, false);
	if (old)
		dd_conn_put(old);
	/* For two ends on this node, dd_conn_connect() reports the connection. */
	if (!err && call)
		dd_conn_report(conn);
out:
	if (err)
		dd_obj_unreserve(&conn->imp.obj);
	dd_conn_put(conn);
	return err;
}

/**
 * dd_service_released() - a connection has ended: its block may be given away
 * @conn: the serving end, of which the caller holds a reference
 */
void dd_service_released(struct dd_conn *conn)
{
	struct dd_service *svc = conn->svc;
	struct dd_block *block;

	mutex_lock(&svc->lock);
	if (!conn->released) {
		conn->released = true;
		dd_stat_inc(conn->imp.obj.ctx->node, DD_STAT_CLOSES);
		WRITE_ONCE(svc->nconn, svc->nconn - 1);
		svc->past.received += conn->chan.received;
		svc->past.sent += conn->imp.submitted;
		block = &svc->blocks[conn->seg.index];
		list_add_tail(&block->free, &svc->free);
		/* Its credit is freed with it, but its notes stay in the list. */
		if (conn->seg.list == svc->list && conn->chan.credit != &block->credit)
			block->conn_note = dd_credit_last(conn->chan.credit);
		/* With a list per connection, the ring is freed with that list. */
		block->ring = NULL;
		if (conn->chan.direct_rx && !(svc->flags & DD_SERVE_ACCEPT)) {
			block->ring = conn->chan.direct_rx->ring;
			block->ring_end = conn->chan.direct_rx->end;
		}
	}
	mutex_unlock(&svc->lock);
}

/* The last reference to a serving end was dropped. */
void dd_service_drop_conn(struct dd_conn *conn)
{
	struct dd_credit *credit = conn->chan.credit;
	struct dd_service *svc = conn->svc;
	struct dd_block *block = &svc->blocks[conn->seg.index];

	mutex_lock(&svc->lock);
	if (block->conn == conn)
		block->conn = NULL;
	mutex_unlock(&svc->lock);
	/* A credit of its own, as made by dd_service_own_credit() as far as it got. */
	if (credit && credit != &block->credit) {
		if (conn->seg.list)
			dd_list_detach(conn->seg.list,
				       dd_service_slots(svc, credit->window),
				       dd_credit_last(credit));
		dd_credit_drop(conn->imp.obj.ctx, credit);
		kfree(credit);
	}
	dd_service_put(svc);
}
