// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections whose other end is on another node: DDP's use of look-ups and
 * channels. What travels on them: remote_msg.c.
 *
 * An end and its channel know each other while the channel is registered with
 * the peer. That ends, under the peer's lock, in dd_remote_break() and nowhere
 * else, before the end is released; so what the link calls under that lock
 * finds the end's segment, cell and list in place.
 *
 * Locks: the proxy's, the peer's, the own segment's, in this order.
 */
#include <linux/pid.h>
#include <linux/slab.h>

#include "ctl.h"
#include "link_udp.h"
#include "peer.h"
#include "remote.h"

/* What a class DD_CTL_SERVICE adds to queries and answers. */
struct dd_remote_end {
	__le64 size;		/* bytes in the block at this end */
	__le32 pid;
	__le32 uid;
	__le16 window;		/* notes that may be unconsumed here */
	u8 type;		/* enum dd_conn_type; 0 in an answer */
	u8 __reserved;
	__le16 taken;		/* of the window, by an earlier connection */
	u8 __reserved2[2];
} __packed;

static_assert(sizeof(struct dd_remote_end) <= DD_CTL_BODY);

/* The far ends are locked in softirq, the near ones are not. */
static struct lock_class_key dd_remote_proxy_key, dd_remote_seg_key;

/* ---- life --------------------------------------------------------------- */

/*
 * A connection in the making, to or from @peer. Its end, whose segment must
 * have its window, is not looked at before it is opened.
 */
static struct dd_remote *dd_remote_alloc(struct dd_peer *peer)
{
	struct dd_remote *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	refcount_set(&r->ref, 1);
	refcount_inc(&peer->ref);
	r->peer = peer;
	INIT_LIST_HEAD(&r->entry);
	mutex_init(&r->op_lock);
	dd_segment_init(&r->proxy);
	lockdep_set_class(&r->proxy.lock, &dd_remote_proxy_key);
	r->proxy.dead = true;
	dd_grant_init(&r->grant, &r->proxy, peer->number, DD_RIGHT_PUT);
	return r;
}

static void dd_remote_free(struct rcu_head *rcu)
{
	struct dd_remote *r = container_of(rcu, struct dd_remote, rcu);

	mutex_destroy(&r->op_lock);
	kfree(r->op);
	kfree(r);
}

void dd_remote_put(struct dd_remote *r)
{
	if (!refcount_dec_and_test(&r->ref))
		return;
	dd_peer_put(r->peer);
	call_rcu(&r->rcu, dd_remote_free);
}

/* The connection is not used any more, and was broken before. */
void dd_remote_release(struct dd_remote *r)
{
	WARN_ON_ONCE(r->registered);
	dd_remote_put(r);
}

/* ---- the channel -------------------------------------------------------- */

/* Choose the name that the peer will know the channel by: 64 random bits. */
static int dd_remote_register(struct dd_remote *r)
{
	struct dd_ctl *ctl = dd_ctl_of(r->peer);
	int err;

	do {
		/* 0 stands for none. */
		do {
			r->id = get_random_u64();
		} while (!r->id);
		err = rhashtable_lookup_insert_fast(&ctl->chans, &r->id_node,
						    dd_remote_ids);
	} while (err == -EEXIST);
	if (err)
		return err == -E2BIG ? -ENOSPC : err;
	r->registered = true;
	return 0;
}

/* Take the channel from the transport and the table; the peer is locked. */
static void dd_remote_unregister(struct dd_remote *r)
{
	if (!r->registered)
		return;
	r->registered = false;
	r->open = false;
	dd_tp_chan_drop(dd_ctl_tp(r->peer), &r->chan);
	rhashtable_remove_fast(&dd_ctl_of(r->peer)->chans, &r->id_node,
			       dd_remote_ids);
	if (!list_empty(&r->entry)) {
		list_del_init(&r->entry);
		/* Of the list; the caller has another. */
		dd_remote_put(r);
	}
}

/* Put the channel into the session, if it is still that one. */
static int dd_remote_join(struct dd_remote *r, struct dd_conn *conn,
			  u64 session, u64 peer_id, u32 tx_window, u32 tx_taken,
			  u32 rx_taken)
{
	struct dd_tp_chan_cfg cfg = {
		.id = r->id,
		.peer_id = peer_id,
		.rx_size = conn->seg.mem.length,
		.rx_window = conn->seg.credit->window,
		.rx_taken = rx_taken,
		.tx_window = tx_window,
		.tx_taken = tx_taken,
		.prompt = conn->type != DD_CONN_SPLIT,
	};
	struct dd_ctl *ctl = dd_ctl_of(r->peer);
	int err = -ENOTCONN;

	dd_ctl_lock(r->peer);
	r->conn = conn;
	if (ctl->downs == session)
		err = dd_tp_chan_init(dd_ctl_tp(r->peer), &r->chan, &cfg);
	if (!err) {
		/* Its owner does not have it yet: dd_remote_go(). */
		r->chan.hold = true;
		refcount_inc(&r->ref);
		list_add_tail(&r->entry, &ctl->open);
	}
	dd_ctl_unlock(r->peer);
	return err == -ENOTCONN ? -EHOSTUNREACH : err;
}

/*
 * Complete the end for its owner, alive: he may use it, and close it, as soon as
 * he finds it, whatever dd_remote_go() waits for. Nothing comes and goes yet.
 */
static void dd_remote_attach(struct dd_remote *r, struct dd_conn *conn)
{
	lockdep_set_class(&conn->seg.lock, &dd_remote_seg_key);
	dd_grant_init(&conn->grant, &conn->seg, r->peer->number, DD_RIGHT_PUT);
	conn->grant.id = r->id;
	conn->imp.link = &dd_link_remote;
	conn->imp.grant = &r->grant;
	dd_conn_open_cell(conn, r->peer->number);
	spin_lock_bh(&conn->seg.lock);
	conn->seg.dead = false;
	spin_unlock_bh(&conn->seg.lock);
	spin_lock(&r->proxy.lock);
	r->proxy.dead = false;
	spin_unlock(&r->proxy.lock);
}

/**
 * dd_remote_go() - an end can be found by its owner: it may send and receive
 * @r: the connection's
 *
 * What the peer has sent before comes again, and if it has ended the
 * connection before, the owner learns it now.
 */
void dd_remote_go(struct dd_remote *r)
{
	dd_ctl_lock(r->peer);
	/* Its owner may have closed it already. */
	if (r->registered) {
		r->open = true;
		r->chan.hold = false;
		if (r->gone)
			dd_ctl_lose(r->peer, r);
	}
	dd_ctl_unlock(r->peer);
}

/**
 * dd_remote_break() - neither end reaches the other any more
 * @r: the connection's
 * @error: 0 if this end closes, or the errno that it is to see
 */
void dd_remote_break(struct dd_remote *r, int error)
{
	struct dd_peer *peer = r->peer;
	u32 i;

	spin_lock(&r->proxy.lock);
	if (!r->proxy.dead && error)
		WRITE_ONCE(r->conn->imp.cell->error, error);
	r->proxy.dead = true;
	spin_unlock(&r->proxy.lock);

	dd_ctl_lock(peer);
	if (r->registered) {
		bool tell = !error && r->chan.up && r->chan.cfg.peer_id;

		dd_remote_unregister(r);
		if (tell)
			dd_ctl_close(peer, r);
	}
	dd_ctl_unlock(peer);
	/*
	 * Not the transport and no new request look at them, but whoever breaks
	 * it from the other side: when this returns, no source is in use.
	 */
	mutex_lock(&r->op_lock);
	for (i = 0; i < r->nops; i++)
		dd_remote_op_end(&r->op[i]);
	mutex_unlock(&r->op_lock);
}

/**
 * dd_remote_end_lost() - end the connections that a peer, or its death, ended
 * @peer: the peer
 */
void dd_remote_end_lost(struct dd_peer *peer)
{
	struct dd_ctl *ctl = dd_ctl_of(peer);
	struct dd_remote *r;

	do {
		struct dd_conn *conn = NULL;

		dd_ctl_lock(peer);
		r = list_first_entry_or_null(&ctl->lost, struct dd_remote,
					     entry);
		if (r) {
			list_del_init(&r->entry);
			r->gone = true;
			/* Registered, or it were on no list: so it is there. */
			if (r->open &&
			    refcount_inc_not_zero(&r->conn->obj.users))
				conn = r->conn;
		}
		dd_ctl_unlock(peer);
		if (conn) {
			dd_conn_lost(conn);
			dd_conn_put(conn);
		}
		if (r)
			dd_remote_put(r);
		cond_resched();
	} while (r);
}

/* ---- connecting --------------------------------------------------------- */

static void dd_remote_describe(const struct dd_conn *conn, u8 type, u32 taken,
			       struct dd_remote_end *end)
{
	*end = (struct dd_remote_end) {
		.size = cpu_to_le64(conn->seg.mem.length),
		.pid = cpu_to_le32(pid_nr(conn->obj.ctx->pid)),
		.uid = cpu_to_le32(from_kuid_munged(&init_user_ns, conn->uid)),
		.window = cpu_to_le16(conn->seg.credit->window),
		.type = type,
		.taken = cpu_to_le16(taken),
	};
}

static bool dd_remote_end_ok(const struct dd_remote_end *end, u32 len)
{
	u32 window = le16_to_cpu(end->window);

	return len >= sizeof(*end) && end->size && window &&
	       window <= DD_WINDOW_MAX && le16_to_cpu(end->taken) <= window;
}

/* What an end must know of the other one. */
static int dd_remote_learn(struct dd_remote *r, struct dd_conn *conn,
			   const struct dd_remote_end *end)
{
	u32 window = le16_to_cpu(end->window);
	struct dd_ctx *ctx = conn->obj.ctx;

	conn->imp.peer_size = le64_to_cpu(end->size);
	conn->imp.peer_window = window;
	r->pid = le32_to_cpu(end->pid);
	r->uid = le32_to_cpu(end->uid);
	if (dd_charge(ctx, (window + 1) * sizeof(*r->op)))
		return -EDQUOT;
	r->op = kcalloc(window + 1, sizeof(*r->op), dd_gfp(ctx));
	if (!r->op) {
		dd_uncharge(ctx, (window + 1) * sizeof(*r->op));
		return -ENOMEM;
	}
	r->nops = window + 1;
	conn->remote_ops = r->nops;
	return 0;
}

/**
 * dd_remote_uncharge() - the memory of a connection's requests is not charged more
 * @conn: this end, which is being released
 */
void dd_remote_uncharge(struct dd_conn *conn)
{
	dd_uncharge(conn->obj.ctx, conn->remote_ops * sizeof(struct dd_remote_op));
}

static int dd_remote_error(u32 status)
{
	switch (status) {
	case DD_CTL_FULL:
		return -EUSERS;
	case DD_CTL_DENIED:
		return -EACCES;
	case DD_CTL_NOMEM:
	case DD_CTL_BUSY:
		return -ENOMEM;
	default:
		return -ECONNREFUSED;
	}
}

/* With the channel registered: ask, and learn what the other end is. */
static int dd_remote_ask(struct dd_remote *r, struct dd_conn *conn,
			 const struct dd_connect *arg, ktime_t expires)
{
	struct dd_ctl_query query = { .class = DD_CTL_SERVICE, .chan = r->id };
	struct dd_remote_end *end = (struct dd_remote_end *)query.body;
	struct dd_ctl_answer answer = {};
	u64 session;
	int err;

	err = dd_ctl_session(r->peer, &session, expires);
	if (!err)
		err = dd_remote_join(r, conn, session, 0, 1, 0, 0);
	if (err)
		return err;
	memcpy(r->name, arg->name, sizeof(r->name));
	memcpy(query.key, arg->name, sizeof(query.key));
	query.len = sizeof(*end);
	dd_remote_describe(conn, conn->type, 0, end);
	err = dd_ctl_lookup(r->peer, session, &query, r, &answer, expires);
	if (err)
		return err;
	if (answer.status != DD_CTL_OK)
		return dd_remote_error(answer.status);
	end = (struct dd_remote_end *)answer.body;
	if (!dd_remote_end_ok(end, answer.len) || !answer.chan)
		return -EPROTO;
	dd_ctl_lock(r->peer);
	/* From here on a failure tells the peer to close its end. */
	err = dd_tp_chan_peer(dd_ctl_tp(r->peer), &r->chan, answer.chan,
			      le16_to_cpu(end->window), le16_to_cpu(end->taken));
	dd_ctl_unlock(r->peer);
	return err ? -EHOSTUNREACH : dd_remote_learn(r, conn, end);
}

/**
 * dd_remote_connect() - connect to a service of another node
 * @conn: the connecting end, equipped, its id reserved; its context is not
 *	locked
 * @arg: what user space asked for
 *
 * When its id can be found, dd_remote_go() follows.
 *
 * Return: 0; %-ENONET if there is no such peer; %-ECONNREFUSED if it has no such
 * service;
 * %-EHOSTUNREACH if the node does not answer for its dead time;
 * %-EPROTONOSUPPORT if it speaks no version of the protocol that this one does;
 * %-EPROTO if it is of another cluster; %-EAGAIN if it is not to be waited for;
 * %-ETIMEDOUT, %-EUSERS, %-ENOMEM, %-EINTR.
 */
int dd_remote_connect(struct dd_conn *conn, const struct dd_connect *arg)
{
	ktime_t expires = KTIME_MAX;
	struct dd_peer *peer;
	struct dd_remote *r;
	int err;

	peer = dd_peer_get(conn->obj.ctx->node, arg->node);
	if (!peer)
		return -ENONET;
	if (arg->flags & DD_CONNECT_TIMEOUT) {
		expires = ktime_add_safe(ktime_get(),
					 min_t(u64, arg->timeout, KTIME_MAX));
		if (!arg->timeout) {
			dd_peer_put(peer);
			return -EAGAIN;
		}
	}
	r = dd_remote_alloc(peer);
	dd_peer_put(peer);
	if (!r)
		return -ENOMEM;
	err = dd_remote_register(r);
	if (!err)
		err = dd_remote_ask(r, conn, arg, expires);
	if (err) {
		dd_remote_break(r, 0);
		dd_remote_put(r);
		return err;
	}
	dd_remote_attach(r, conn);
	return 0;
}

/**
 * struct dd_remote_call - a client of another node at the door
 * @r: its connection in the making; the serving end's, once it is accepted
 * @session: see struct dd_ctl_class_ops
 * @chan: its channel
 * @type: enum dd_conn_type
 * @far: what it says of its end
 * @near: (out) what it is to be told of the serving end
 */
struct dd_remote_call {
	struct dd_remote *r;
	u64 session;
	u64 chan;
	u8 type;
	struct dd_remote_end far;
	struct dd_remote_end near;
};

/* What a serving end that is being made must know of the client: 0 or an error. */
int dd_remote_learn_client(struct dd_remote_call *call, struct dd_conn *conn)
{
	return dd_remote_learn(call->r, conn, &call->far);
}

/* Who the client is, as its node says. */
void dd_remote_caller(const struct dd_remote_call *call, struct dd_who *who)
{
	*who = (struct dd_who) {
		.uid = make_kuid(&init_user_ns, le32_to_cpu(call->far.uid)),
		.node = call->r->peer->number,
	};
}

/**
 * dd_remote_accept() - give a serving end its other end, on another node
 * @call: the client
 * @conn: the serving end, equipped, which has learnt of the client
 *
 * When its id can be found, dd_remote_go() follows.
 *
 * Return: 0; %-EHOSTUNREACH if the client's session is over; %-ENOMEM.
 */
int dd_remote_accept(struct dd_remote_call *call, struct dd_conn *conn)
{
	/* Notes of who had the block before, which are unread. */
	u32 taken = conn->seg.credit->window - dd_remote_free_slots(&conn->seg);
	struct dd_remote *r = call->r;
	int err;

	err = dd_remote_join(r, conn, call->session, call->chan,
			     conn->imp.peer_window,
			     le16_to_cpu(call->far.taken), taken);
	if (err)
		return err;
	dd_remote_describe(conn, 0, taken, &call->near);
	dd_remote_attach(r, conn);
	return 0;
}

static enum dd_ctl_status dd_remote_status(int err)
{
	switch (err) {
	case -EUSERS:
		return DD_CTL_FULL;
	case -EACCES:
		return DD_CTL_DENIED;
	case -ENOBUFS:
	case -ENOMEM:
	case -ENOSPC:
		return DD_CTL_NOMEM;
	default:
		return DD_CTL_NONE;
	}
}

/* Unless 0, there is nothing. */
static int dd_remote_admit(struct dd_peer *peer, struct dd_service *svc,
			   struct dd_remote_call *call)
{
	int err;

	call->r = dd_remote_alloc(peer);
	if (!call->r)
		return -ENOMEM;
	/* Accepted, it is the connection's, which may be over at once. */
	refcount_inc(&call->r->ref);
	err = dd_remote_register(call->r);
	if (!err)
		err = dd_service_accept(svc, call->type, NULL, call);
	if (!err)
		return 0;
	dd_remote_break(call->r, ECONNRESET);
	dd_remote_put(call->r);
	dd_remote_put(call->r);
	call->r = NULL;
	return err;
}

/* A service is looked for, by a client that is @call. */
static int dd_remote_serve(struct dd_peer *peer, const u8 *name,
			   struct dd_remote_call *call)
{
	struct dd_node *node = peer->node;
	struct mem_cgroup *before;
	struct dd_service *svc;
	int err;

	svc = READ_ONCE(node->up) ? dd_node_service_get(node, name) : NULL;
	if (!svc)
		return -ECONNREFUSED;
	/* The client cannot pay for the serving end, so its server does. */
	before = dd_owner_enter(svc->obj.ctx);
	err = dd_remote_admit(peer, svc, call);
	dd_owner_leave(before);
	dd_service_put(svc);
	return err;
}

static enum dd_ctl_status dd_remote_lookup(struct dd_peer *peer, u64 session,
					   const struct dd_ctl_query *query,
					   struct dd_ctl_answer *answer)
{
	struct dd_remote_call call = { .session = session };
	int err;

	memcpy(&call.far, query->body, sizeof(call.far));
	call.chan = query->chan;
	call.type = call.far.type;
	if (!dd_remote_end_ok(&call.far, query->len) || !call.chan ||
	    call.type < DD_CONN_RPC || call.type > DD_CONN_STREAM ||
	    !dd_name_ok(query->key, sizeof(query->key)))
		return DD_CTL_BAD;
	err = dd_remote_serve(peer, query->key, &call);
	if (err)
		return dd_remote_status(err);
	answer->chan = call.r->id;
	answer->len = sizeof(call.near);
	memcpy(answer->body, &call.near, sizeof(call.near));
	dd_remote_put(call.r);
	return DD_CTL_OK;
}

const struct dd_ctl_class_ops dd_remote_class = {
	.lookup = dd_remote_lookup,
};
