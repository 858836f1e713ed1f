// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections. Each end owns its segment and its import. Two ends on one node keep only
 * each other's memory alive. An end whose other end is on another node has a struct
 * dd_remote (remote.c).
 *
 * Closing an end revokes both segments: first that of the other end, whose owner reads
 * the delivered messages and is then notified of the close, then its own. Afterwards
 * neither end touches the other's block, list or state. The resources of an end are
 * released when its last user, the id table or a call, is gone.
 */
#include <linux/pid_namespace.h>
#include <linux/slab.h>

#include "cluster/remote.h"
#include "core/area.h"
#include "core/charge.h"
#include "core/ctx.h"
#include "core/import.h"
#include "core/local.h"
#include "core/node.h"
#include "core/notelist.h"
#include "core/region.h"
#include "core/segment.h"
#include "core/submit.h"
#include "ddp/conn.h"
#include "ddp/conn_net.h"
#include "ddp/service.h"
#include "ddp/trace.h"
#include "direct/direct.h"

static struct kmem_cache *dd_server_cache, *dd_client_cache;

int dd_conn_init(void)
{
	dd_server_cache = KMEM_CACHE(dd_server, SLAB_ACCOUNT);
	dd_client_cache = KMEM_CACHE(dd_client, SLAB_ACCOUNT);
	if (dd_server_cache && dd_client_cache)
		return 0;
	kmem_cache_destroy(dd_server_cache);
	kmem_cache_destroy(dd_client_cache);
	return -ENOMEM;
}

void dd_conn_exit(void)
{
	/* Connections are freed by RCU. */
	rcu_barrier();
	kmem_cache_destroy(dd_server_cache);
	kmem_cache_destroy(dd_client_cache);
}

static void dd_conn_mem_free(struct rcu_head *rcu)
{
	struct dd_conn *conn = container_of(rcu, struct dd_conn, imp.rcu);

	/* struct dd_conn is the first member of either. */
	kmem_cache_free(conn->server ? dd_server_cache : dd_client_cache, conn);
}

static size_t dd_conn_size(bool server)
{
	return server ? sizeof(struct dd_server) : sizeof(struct dd_client);
}

/**
 * dd_conn_alloc() - allocate one end of a connection, not paired yet
 * @ctx: its owner
 * @type: enum dd_conn_type
 * @server: it is the serving end
 *
 * Return: the end, with one reference; or %-EDQUOT or %-ENOMEM as an error pointer.
 */
struct dd_conn *dd_conn_alloc(struct dd_ctx *ctx, u8 type, bool server)
{
	struct dd_conn *conn;
	int err;

	err = dd_charge(ctx, dd_conn_size(server));
	if (err)
		return ERR_PTR(err);
	conn = kmem_cache_zalloc(server ? dd_server_cache : dd_client_cache, dd_gfp(ctx));
	if (!conn) {
		dd_uncharge(ctx, dd_conn_size(server));
		return ERR_PTR(-ENOMEM);
	}
	dd_obj_init(&conn->imp.obj, ctx, &dd_conn_ops);
	refcount_set(&conn->mem, 1);
	conn->type = type;
	conn->server = server;
	/* Dead until the ends are paired: dd_conn_release() checks this. */
	dd_channel_init(&conn->chan, &conn->seg);
	return conn;
}

static void dd_conn_mem_put(struct dd_conn *conn)
{
	if (!refcount_dec_and_test(&conn->mem))
		return;
	dd_uncharge(conn->imp.obj.ctx, dd_conn_size(conn->server));
	dd_ctx_put(conn->imp.obj.ctx);
	call_rcu(&conn->imp.rcu, dd_conn_mem_free);
}

static void dd_conn_release(struct dd_obj *obj)
{
	struct dd_conn *conn = container_of(obj, struct dd_conn, imp.obj);

	struct dd_client *client;

	WARN_ON_ONCE(!conn->chan.dead);
	dd_direct_release(&conn->chan);
	if (conn->server) {
		dd_service_drop_conn(conn);
	} else {
		client = dd_client_of(conn);
		if (conn->seg.list)
			dd_list_detach(conn->seg.list,
				       dd_credit_slots(client->credit.window) + 1,
				       dd_credit_last(&client->credit));
		dd_area_free(&obj->ctx->area, conn->imp.unit, DD_CONN_UNITS);
		dd_credit_drop(obj->ctx, &client->credit);
		dd_slice_put(&client->send);
		dd_slice_put(&client->recv);
	}
	if (conn->other) {
		dd_conn_mem_put(conn->other);
	} else if (conn->imp.chan) {
		dd_uncharge(obj->ctx, dd_remote_ops_size(dd_remote_of(conn)->nops));
		dd_remote_put(dd_remote_of(conn));
	}
	dd_conn_mem_put(conn);
}

/* Set the user of an end, and whether it and others may send directly. */
void dd_conn_owner(struct dd_conn *conn, kuid_t uid, bool nodirect, bool any)
{
	conn->imp.uid = uid;
	conn->imp.path = nodirect ? DD_PATH_KERNEL_ONLY : DD_PATH_KERNEL;
	conn->seg.uid = uid;
	conn->seg.flags = (nodirect ? DD_SEGMENT_NODIRECT : 0) | (any ? DD_SEGMENT_DIRECT_ANY : 0);
}

/**
 * dd_conn_open() - let an end send and receive, apart from the dead mark of its channel
 * @conn: the end, whose id is reserved and whose import is complete
 * @node: node of the other end
 */
void dd_conn_open(struct dd_conn *conn, u16 node)
{
	struct dd_conn_state *cs = conn->imp.cs;

	conn->seg.owner = dd_obj_serial(&conn->imp.obj);
	/* For the notes. The segment has this channel only, so there is none to tell apart. */
	conn->seg.generation = 0;
	dd_channel_open(&conn->chan, DD_RIGHT_PUT, node);
	conn->chan.back = &conn->imp;
	memset(cs, 0, sizeof(*cs));
	cs->type = conn->type;
	cs->node = node;
	cs->peer_size = conn->imp.size;
	cs->window = conn->imp.window;
	/* Pairs with the owner's acquire: the connection state is initialised before. */
	smp_store_release(&cs->conn, conn->seg.owner);
}

/**
 * dd_conn_pair() - connect two ends
 * @a: an end, with its list, block and state
 * @b: the other end
 *
 * No other context sees either end yet.
 */
void dd_conn_pair(struct dd_conn *a, struct dd_conn *b)
{
	struct dd_conn *end[2] = { a, b };
	int i;

	for (i = 0; i < 2; i++) {
		struct dd_conn *x = end[i], *y = end[!i];
		u32 node = y->imp.obj.ctx->node->id;

		refcount_inc(&y->mem);
		x->other = y;
		x->chan.link = &dd_link_local_put;
		x->chan.importer = &y->imp;
		x->imp.chan = &y->chan;
		x->imp.size = y->seg.mem.length;
		x->imp.window = y->chan.credit->window;
		dd_conn_open(x, node);
		x->chan.dead = false;
	}
}

/* Take the memory, list and state of a connecting end. */
static int dd_conn_setup(struct dd_conn *conn, const struct dd_connect *arg)
{
	struct dd_client *client = dd_client_of(conn);
	struct dd_ctx *ctx = conn->imp.obj.ctx;
	u32 window = dd_conn_window(arg->window, arg->type);
	struct dd_list *list;
	int err;

	conn->seg.cookie = arg->cookie;
	dd_conn_owner(conn, current_euid(), arg->flags & DD_CONNECT_NODIRECT,
		      arg->flags & DD_CONNECT_DIRECT_ANY);
	err = dd_credit_make(ctx, &client->credit, window);
	if (!err)
		err = dd_slice_get(ctx, &arg->send, true, &client->send,
				   &conn->imp.send);
	if (!err)
		err = dd_slice_get(ctx, &arg->recv, false, &client->recv,
				   &conn->seg.mem);
	if (!err)
		err = dd_area_alloc(&ctx->area, DD_CONN_UNITS, &conn->imp.unit);
	if (err)
		return err;
	conn->imp.cs = dd_area_unit(&ctx->area, conn->imp.unit);
	dd_segment_init(&conn->seg, ctx->node, DD_RIGHT_PUT);
	conn->chan.credit = &client->credit;
	/* One more slot for the close note. */
	list = dd_list_attach(ctx, arg->flags & DD_CONNECT_ANON ? 0 : arg->list,
			      arg->flags & DD_CONNECT_LIST,
			      dd_credit_slots(window) + 1, 0);
	if (IS_ERR(list))
		return PTR_ERR(list);
	conn->seg.list = list;
	return 0;
}

/* Connect an end to a service of this node. */
static int dd_conn_local(struct dd_conn *conn, const struct dd_client_id *cid, const u8 *name)
{
	struct mem_cgroup *before;
	struct dd_service *svc;
	int err;

	do {
		svc = dd_service_find(conn->imp.obj.ctx->node, name);
		if (!svc)
			return -ECONNREFUSED;
		before = dd_owner_enter(svc->obj.ctx);
		err = dd_service_accept(svc, conn->type, cid, conn, NULL);
		dd_owner_leave(before);
		dd_service_put(svc);
	} while (err == -EAGAIN);
	/* The limit that was reached is the server's. */
	return err == -EDQUOT ? -ENOBUFS : err;
}

/* Equip an end, connect it to a service and publish it; its context is locked. */
static int dd_conn_make(struct dd_conn *conn, struct dd_connect *arg)
{
	struct dd_ctx *ctx = conn->imp.obj.ctx;
	struct dd_client_id cid = {
		.node = READ_ONCE(ctx->node->id),
		.ctx = ctx->serial + 1ull,
	};
	int err;

	err = dd_conn_setup(conn, arg);
	if (!err)
		err = dd_obj_reserve(&conn->imp.obj);
	if (err)
		return err;
	cid.uid = conn->imp.uid;
	if (!READ_ONCE(ctx->node->up)) {
		err = -ENETDOWN;
	} else if (arg->node != cid.node) {
		/* This may take long: neither other threads nor the exit wait for it. */
		mutex_unlock(&ctx->lock);
		err = dd_conn_net_connect(conn, arg);
		mutex_lock(&ctx->lock);
		if (!err && ctx->dead) {
			dd_conn_disconnect(conn);
			err = -ESTALE;
		}
	} else {
		err = dd_conn_local(conn, &cid, arg->name);
	}
	if (err) {
		dd_obj_unreserve(&conn->imp.obj);
		return err;
	}
	dd_list_publish(conn->seg.list);
	refcount_inc(&conn->imp.obj.users);
	dd_obj_publish(&conn->imp.obj);
	if (!conn->other)
		dd_remote_go(dd_remote_of(conn));
	return 0;
}

/* Count and report a connection that has been made. */
void dd_conn_report(struct dd_conn *conn)
{
	dd_stat_inc(conn->imp.obj.ctx->node, DD_STAT_CONNECTS);
	if (trace_dd_connect_enabled())
		trace_dd_connect(&conn->imp, conn->type, conn->server,
				 dd_conn_peer_pid(conn), dd_conn_peer_id(conn));
	dd_event(&conn->imp.obj, true);
}

/**
 * dd_conn_connect() - connect to a service
 * @ctx: the caller
 * @arg: argument of user space; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header; on error nothing has changed.
 */
int dd_conn_connect(struct dd_ctx *ctx, struct dd_connect *arg)
{
	const u32 list = DD_CONNECT_LIST | DD_CONNECT_ANON;
	struct dd_conn *conn;
	int err;

	if (arg->flags & ~DD_CONNECT_FLAGS ||
	    (arg->flags & list) == list ||
	    (arg->timeout && !(arg->flags & DD_CONNECT_TIMEOUT)) ||
	    !dd_name_ok(arg->name, sizeof(arg->name)) ||
	    arg->type < DD_CONN_RPC || arg->type > DD_CONN_STREAM ||
	    arg->window > DD_WINDOW_MAX)
		return -EINVAL;
	conn = dd_conn_alloc(ctx, arg->type, false);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	mutex_lock(&ctx->lock);
	err = ctx->dead ? -ESTALE : dd_conn_make(conn, arg);
	mutex_unlock(&ctx->lock);
	if (!err) {
		arg->list = conn->seg.list->obj.id;
		arg->conn = dd_obj_serial(&conn->imp.obj);
		arg->list_unit = conn->seg.list->unit;
		arg->state_unit = conn->imp.unit;
		arg->peer_size = conn->imp.size;
		dd_conn_report(conn);
	}
	dd_conn_put(conn);
	return err;
}

/* Serve %DD_IOC_CONN_WAIT. */
int dd_conn_wait(struct dd_ctx *ctx, const struct dd_conn_wait *arg)
{
	struct dd_conn *conn = NULL;
	int err;

	if (arg->what > DD_WAIT_UP || (arg->what >= DD_WAIT_CLOSE && arg->value))
		return -EINVAL;
	if (arg->what == DD_WAIT_RING || arg->what == DD_WAIT_CLOSE)
		conn = dd_obj_get_serial(ctx, arg->conn, &dd_conn_ops);
	if (!conn)
		return dd_import_wait(ctx, arg);
	err = arg->what == DD_WAIT_RING ?
	      dd_direct_await(&conn->imp, arg->value, arg->timeout) :
	      dd_conn_drain(conn, arg->timeout);
	dd_conn_put(conn);
	return err;
}

/*
 * Set the dead word in the connection state of the end that sends to @conn, and stop granting it a
 * direct path. This is done for both ends before either owner is notified of the close:
 * after its notification an owner sends nothing more.
 */
static void dd_conn_mark_closing(struct dd_conn *conn)
{
	struct dd_channel *ch = &conn->chan;

	spin_lock_bh(&ch->lock);
	if (!ch->dead) {
		ch->closing = true;
		WRITE_ONCE(conn->other->imp.cs->error, ECONNRESET);
	}
	spin_unlock_bh(&ch->lock);
}

/*
 * Revoke the channel to one end. With @tell its owner gets a close note, a server only
 * if its service requests close notes.
 */
static void dd_conn_revoke(struct dd_conn *conn, bool tell)
{
	struct dd_note note = {
		.type = DD_NOTE_CLOSE,
		.conn = conn->seg.owner,
		.cookie = conn->seg.cookie,
	};
	struct dd_channel *ch = &conn->chan;
	struct dd_list *list = dd_channel_hold_list(ch);
	struct dd_ring *ring;

	if (!list)
		return;
	mutex_lock(&list->lock);
	/* It becomes dead only with this lock held. */
	if (!ch->dead)
		note.word = dd_direct_revoke(ch);
	/* Valid as long as the list. */
	ring = ch->direct_rx ? ch->direct_rx->ring : NULL;
	spin_lock_bh(&ch->lock);
	if (!ch->dead) {
		/* The service may be gone before its end is revoked without @tell. */
		if (tell && conn->server)
			tell = conn->svc->flags & DD_SERVE_CLOSE;
		dd_channel_revoke(ch, tell ? &note : NULL);
		/* A list of this connection alone gets no more notes. */
		if (tell && conn->server && conn->svc->flags & DD_SERVE_ACCEPT)
			dd_list_hang_up(list);
	}
	spin_unlock_bh(&ch->lock);
	mutex_unlock(&list->lock);
	dd_list_wake(list);
	if (ring)
		wake_up_interruptible_all(&ring->wait);
	dd_list_put(list);
}

/* A connection with another node has ended. May be called more than once. */
static void dd_conn_over(struct dd_conn *conn)
{
	if (conn->server)
		dd_service_released(conn);
	else if (!xchg(&conn->released, true))
		dd_stat_inc(conn->imp.obj.ctx->node, DD_STAT_CLOSES);
}

/**
 * dd_conn_disconnect() - end a connection
 * @conn: the end that closes
 *
 * May be called for both ends concurrently. When it returns, neither end reaches the
 * other one.
 */
void dd_conn_disconnect(struct dd_conn *conn)
{
	struct dd_conn *other = conn->other;
	struct dd_conn *server = conn->server ? conn : other;

	if (!other) {
		dd_conn_revoke(conn, false);
		/* Revoking may have posted a withheld note. */
		dd_remote_report(&conn->chan);
		dd_remote_break(dd_remote_of(conn), 0, true);
		/* Another thread may wait for a message to be sent. */
		dd_ctx_wake(conn->imp.obj.ctx);
		dd_conn_over(conn);
		return;
	}
	xchg(&other->closed, ECONNRESET);
	dd_conn_mark_closing(other);
	dd_conn_mark_closing(conn);
	dd_conn_revoke(other, true);
	dd_conn_revoke(conn, false);
	dd_ctx_wake(other->imp.obj.ctx);
	/*
	 * The service may give the block away, whichever end closed. A serving end
	 * without references has been released by its own dd_conn_disconnect().
	 */
	if (refcount_inc_not_zero(&server->imp.obj.users)) {
		dd_service_released(server);
		dd_conn_put(server);
	}
}

/* The other end, on another node, has ended the connection. */
static void dd_conn_lost(struct dd_obj *obj)
{
	struct dd_conn *conn = container_of(obj, struct dd_conn, imp.obj);

	xchg(&conn->closed, ECONNRESET);
	dd_remote_break(dd_remote_of(conn), ECONNRESET, false);
	dd_conn_revoke(conn, true);
	dd_ctx_wake(obj->ctx);
	dd_conn_over(conn);
}

/**
 * dd_conn_end() - close one end and remove its id
 * @obj: the end, of which the caller holds a reference; its context is locked
 */
void dd_conn_end(struct dd_obj *obj)
{
	struct dd_conn *conn = container_of(obj, struct dd_conn, imp.obj);

	if (xchg(&conn->closing, 1))
		return;
	if (trace_dd_close_enabled())
		trace_dd_close(&conn->imp, conn->type, conn->server,
			       dd_conn_peer_pid(conn), dd_conn_peer_id(conn));
	dd_conn_disconnect(conn);
	if (!conn->other)
		dd_reap(obj->ctx);
	dd_event(obj, false);
	if (!WARN_ON_ONCE(!dd_obj_remove(obj)))
		dd_obj_put(obj);
}

const struct dd_obj_ops dd_conn_ops = {
	.stage = DD_STAGE_ACCESS,
	.import = true,
	.lost = dd_conn_lost,
	.end = dd_conn_end,
	.release = dd_conn_release,
};

/*
 * Nanoseconds that a close still waits for one more message to be sent: twice the peer's
 * dead time since the last message was sent or the drain began, so that a dead peer is
 * detected before. While the peer has credit for unsent messages, the time restarts:
 * these are on their way, however long that takes.
 */
static u64 dd_conn_close_timeout(struct dd_conn *conn)
{
	struct dd_remote *r = dd_remote_of(conn);
	u64 now = ktime_get_ns(), n, end;

	dd_ctl_lock(r->peer);
	n = conn->imp.submitted;
	if (r->drain.count != n || conn->imp.sent < min(n, r->chan.limit)) {
		r->drain.count = n;
		r->drain.since = now;
	}
	end = max(r->drain.since, r->drain.sent_at) +
	      2ull * READ_ONCE(r->peer->config.dead_ms) * NSEC_PER_MSEC;
	dd_ctl_unlock(r->peer);
	return end - min(end, now);
}

/**
 * dd_conn_drain() - wait until all messages accepted for another node are sent
 * @conn: the connection, of which the caller holds a reference
 * @timeout: nanoseconds, or %U64_MAX for the limit of a close
 *
 * More messages may have been accepted than the receiver has slots for. The receiving
 * process may not read again, and may itself be draining before a close.
 *
 * Return: 0, also if the messages will never be sent; %-EINTR, %-EAGAIN, %-ETIMEDOUT.
 */
int dd_conn_drain(struct dd_conn *conn, u64 timeout)
{
	u64 n = READ_ONCE(conn->imp.submitted), begun = ktime_get_ns();
	u64 left, spent = 0;
	int err;

	if (conn->other)
		return 0;
	do {
		left = timeout - min(timeout, spent);
		if (timeout == U64_MAX)
			left = U64_MAX;
		err = dd_import_await(&conn->imp, DD_WAIT_SENT, n,
				      min(left, dd_conn_close_timeout(conn)));
		if (err != -EAGAIN && err != -ETIMEDOUT)
			return err == -EINTR ? err : 0;
		if (!dd_conn_close_timeout(conn))
			return 0;
		spent = ktime_get_ns() - begun;
	} while (spent < timeout);
	return timeout ? -ETIMEDOUT : -EAGAIN;
}

int dd_conn_close(struct dd_ctx *ctx, u64 serial)
{
	struct dd_conn *conn = dd_obj_get_serial(ctx, serial, &dd_conn_ops);
	int err;

	if (!conn)
		return -ENOENT;
	err = dd_conn_drain(conn, U64_MAX);
	if (!err) {
		mutex_lock(&ctx->lock);
		dd_conn_end(&conn->imp.obj);
		mutex_unlock(&ctx->lock);
	}
	dd_conn_put(conn);
	return err;
}

/* Ids of the other end are translated into the namespaces of the current process. */
int dd_conn_info(struct dd_ctx *ctx, struct dd_conn_info *arg)
{
	const struct dd_bytes *send, *recv;
	const struct dd_remote *r;
	const struct dd_conn *other;
	struct dd_service *svc;
	struct dd_conn *conn;
	kuid_t uid;

	if (arg->__reserved)
		return -EINVAL;
	/* Only this call accepts an id instead of a serial. */
	if (arg->conn <= U32_MAX)
		conn = dd_obj_get(ctx, arg->conn, &dd_conn_ops);
	else
		conn = dd_obj_get_serial(ctx, arg->conn, &dd_conn_ops);
	if (!conn)
		return -ENOENT;
	svc = conn->svc;
	other = conn->other;
	send = &conn->imp.send;
	recv = &conn->seg.mem;
	arg->conn = dd_obj_serial(&conn->imp.obj);
	arg->list = conn->seg.list->obj.id;
	arg->service = svc ? svc->obj.id : 0;
	arg->block = conn->seg.index;
	arg->type = conn->type;
	arg->closed = READ_ONCE(conn->closed);
	if (other) {
		arg->node = READ_ONCE(other->imp.obj.ctx->node->id);
		arg->pid = dd_ctx_pid(other->imp.obj.ctx, task_active_pid_ns(current));
		uid = other->imp.uid;
	} else {
		/* Numbers of the process's own node. */
		r = dd_remote_of(conn);
		arg->node = r->peer->number;
		arg->pid = r->pid;
		uid = make_kuid(&init_user_ns, r->uid);
	}
	arg->uid = from_kuid_munged(current_user_ns(), uid);
	if (svc) {
		/* The service's regions are gone once it has ended. */
		mutex_lock(&svc->lock);
		send = &svc->send;
		recv = &svc->recv;
	}
	dd_bytes_describe(send, conn->imp.send.offset, conn->imp.send.length, &arg->send);
	dd_bytes_describe(recv, conn->seg.mem.offset, conn->seg.mem.length, &arg->recv);
	if (svc)
		mutex_unlock(&svc->lock);
	arg->peer_size = conn->imp.size;
	arg->submitted = dd_direct_sent(&conn->imp);
	arg->received = dd_direct_received(&conn->chan);
	arg->cookie = conn->seg.cookie;
	arg->list_unit = conn->seg.list->unit;
	arg->state_unit = conn->imp.unit;
	arg->window = conn->chan.credit->window;
	arg->send_window = conn->imp.window;
	dd_conn_put(conn);
	return 0;
}
