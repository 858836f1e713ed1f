// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections whose other end is on another node: how DDP uses look-ups and channels.
 * Messages on these channels are in remote_msg.c.
 *
 * A connection and its channel refer to each other while the channel is registered
 * with the peer. dd_remote_break() ends that under the peer's lock, before the
 * connection is released. So callbacks of the link, which run under that lock, find
 * the connection's segment, cell and list valid.
 *
 * Lock order: the proxy's lock, the peer's lock, the lock of the own channel.
 */
#include <linux/pid.h>
#include <linux/slab.h>

#include "charge.h"
#include "ctl.h"
#include "link_udp.h"
#include "peer.h"
#include "remote.h"

/* Body of queries and answers of class DD_CTL_SERVICE. */
struct dd_remote_end {
	__le64 size;		/* bytes in the block of this end */
	__le32 pid;
	__le32 uid;
	__le16 window;		/* unread notes permitted at this end */
	u8 type;		/* enum dd_conn_type; 0 in an answer */
	u8 __reserved;
	__le16 taken;		/* of the window, used by an earlier connection */
	u8 __reserved2[2];
} __packed;

static_assert(sizeof(struct dd_remote_end) <= DD_CTL_BODY);

/* Own classes: these locks are taken in softirq, those of local channels are not. */
static struct lock_class_key dd_remote_proxy_key, dd_remote_chan_key;

/*
 * Allocate the state of a connection with @peer. The connection itself must have its
 * segment with a window before the channel joins the session.
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
	dd_channel_init(&r->proxy, NULL);
	lockdep_set_class(&r->proxy.lock, &dd_remote_proxy_key);
	r->proxy.link = &dd_link_remote;
	r->proxy.rights = DD_RIGHT_PUT;
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

/* The connection has no user any more; dd_remote_break() was called before. */
void dd_remote_release(struct dd_remote *r)
{
	WARN_ON_ONCE(r->registered);
	dd_remote_put(r);
}

/* Choose the channel's id and add it to the peer's table. */
static int dd_remote_register(struct dd_remote *r)
{
	struct dd_ctl *ctl = dd_ctl_of(r->peer);
	int err;

	do {
		/* 0 is reserved for "none". */
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

/* Remove the channel from the transport and the table; the peer is locked. */
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
		/* The reference of the list; the caller holds another one. */
		dd_remote_put(r);
	}
}

/* Add the channel to session number @session, if that is still up. */
static int dd_remote_join(struct dd_remote *r, struct dd_conn *conn,
			  u64 session, u64 peer_id, u32 tx_window, u32 tx_taken,
			  u32 rx_taken)
{
	struct dd_tp_chan_cfg cfg = {
		.id = r->id,
		.peer_id = peer_id,
		.rx_size = conn->seg.mem.length,
		.rx_window = conn->chan.credit->window,
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
		/* No messages before dd_remote_go(): the id is not published yet. */
		r->chan.hold = true;
		refcount_inc(&r->ref);
		list_add_tail(&r->entry, &ctl->open);
	}
	dd_ctl_unlock(r->peer);
	return err == -ENOTCONN ? -EHOSTUNREACH : err;
}

/*
 * Complete the connection before its id is published: from then on its owner may use
 * and close it at any time. No message is sent or received before dd_remote_go().
 */
static void dd_remote_attach(struct dd_remote *r, struct dd_conn *conn)
{
	lockdep_set_class(&conn->chan.lock, &dd_remote_chan_key);
	conn->chan.link = &dd_link_remote;
	conn->chan.importer = r;
	conn->imp.chan = &r->proxy;
	dd_conn_open(conn, r->peer->number);
	conn->chan.id = r->id;
	spin_lock_bh(&conn->chan.lock);
	conn->chan.dead = false;
	spin_unlock_bh(&conn->chan.lock);
	spin_lock(&r->proxy.lock);
	r->proxy.dead = false;
	spin_unlock(&r->proxy.lock);
}

/**
 * dd_remote_go() - start sending and receiving, after the id was published
 * @r: the connection
 *
 * The peer retransmits messages that it sent before. If it has already ended the
 * connection, the owner is notified now.
 */
void dd_remote_go(struct dd_remote *r)
{
	dd_ctl_lock(r->peer);
	/* Not registered: the owner has already closed it. */
	if (r->registered) {
		r->open = true;
		r->chan.hold = false;
		if (r->gone)
			dd_ctl_lose(r->peer, r);
	}
	dd_ctl_unlock(r->peer);
}

/**
 * dd_remote_break() - end the channel: neither end reaches the other any more
 * @r: the connection
 * @error: 0 if this end closes, else the errno to be stored in its cell
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
	 * The transport and new requests do not use the ops any more; only another
	 * dd_remote_break() may. Under op_lock either call frees all sources before
	 * it returns.
	 */
	mutex_lock(&r->op_lock);
	for (i = 0; i < r->nops; i++)
		dd_remote_op_end(&r->op[i]);
	mutex_unlock(&r->op_lock);
}

/**
 * dd_remote_end_lost() - end the connections that the peer has ended or lost
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
			/* On a list, so registered, so @conn is valid. */
			if (r->open &&
			    refcount_inc_not_zero(&r->conn->imp.obj.users))
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

static void dd_remote_describe(const struct dd_conn *conn, u8 type, u32 taken,
			       struct dd_remote_end *end)
{
	*end = (struct dd_remote_end) {
		.size = cpu_to_le64(conn->seg.mem.length),
		.pid = cpu_to_le32(pid_nr(conn->imp.obj.ctx->pid)),
		.uid = cpu_to_le32(from_kuid_munged(&init_user_ns, conn->uid)),
		.window = cpu_to_le16(conn->chan.credit->window),
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

/* Store the properties of the other end, and allocate ops for its window. */
static int dd_remote_learn(struct dd_remote *r, struct dd_conn *conn,
			   const struct dd_remote_end *end)
{
	u32 window = le16_to_cpu(end->window);
	struct dd_ctx *ctx = conn->imp.obj.ctx;

	conn->imp.size = le64_to_cpu(end->size);
	conn->imp.window = window;
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
 * dd_remote_uncharge() - uncharge the ops of a connection
 * @conn: the connection, which is being released
 */
void dd_remote_uncharge(struct dd_conn *conn)
{
	dd_uncharge(conn->imp.obj.ctx, conn->remote_ops * sizeof(struct dd_remote_op));
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
		return -ENOBUFS;
	default:
		return -ECONNREFUSED;
	}
}

/* Look up the service and set the other end of the registered channel. */
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
	/* If this or a later step fails, dd_remote_break() sends a CLOSE. */
	err = dd_tp_chan_peer(dd_ctl_tp(r->peer), &r->chan, answer.chan,
			      le16_to_cpu(end->window), le16_to_cpu(end->taken));
	dd_ctl_unlock(r->peer);
	return err ? -EHOSTUNREACH : dd_remote_learn(r, conn, end);
}

/**
 * dd_remote_connect() - connect to a service of another node
 * @conn: the connecting end, equipped, its id reserved; its context is not
 *	locked
 * @arg: request of user space
 *
 * After the id is published the caller calls dd_remote_go().
 *
 * Return: 0; %-ENONET if there is no such peer; %-ECONNREFUSED if it has no such
 * service; %-EHOSTUNREACH if the node does not answer for its dead time;
 * %-EPROTONOSUPPORT if there is no protocol version in common; %-EPROTO if it belongs
 * to another cluster; %-EAGAIN with a timeout of 0; %-ENOBUFS if the server or its node
 * lacks memory; %-ETIMEDOUT, %-EUSERS, %-EACCES, %-ENOMEM, %-EDQUOT, %-EINTR.
 */
int dd_remote_connect(struct dd_conn *conn, const struct dd_connect *arg)
{
	ktime_t expires = KTIME_MAX;
	struct dd_peer *peer;
	struct dd_remote *r;
	int err;

	peer = dd_peer_get(conn->imp.obj.ctx->node, arg->node);
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
 * struct dd_remote_call - a connect request of a client on another node
 * @r: state of the connection; owned by the serving end once that is accepted
 * @session: number of the session, see struct dd_ctl_class_ops
 * @chan: id of the client's channel
 * @type: enum dd_conn_type
 * @remote: properties of the client's end
 * @local: (out) properties of the serving end
 */
struct dd_remote_call {
	struct dd_remote *r;
	u64 session;
	u64 chan;
	u8 type;
	struct dd_remote_end remote;
	struct dd_remote_end local;
};

/* Store the properties of the client in a serving end; 0 or an error. */
int dd_remote_learn_client(struct dd_remote_call *call, struct dd_conn *conn)
{
	return dd_remote_learn(call->r, conn, &call->remote);
}

/* Identity of the client, as reported by its node. */
void dd_remote_caller(const struct dd_remote_call *call, struct dd_client_id *cid)
{
	*cid = (struct dd_client_id) {
		.uid = make_kuid(&init_user_ns, le32_to_cpu(call->remote.uid)),
		.node = call->r->peer->number,
	};
}

/**
 * dd_remote_accept() - connect a serving end to its client on another node
 * @call: the request
 * @conn: the serving end, equipped, after dd_remote_learn_client()
 *
 * After the id is published the caller calls dd_remote_go().
 *
 * Return: 0; %-EHOSTUNREACH if the client's session has ended; %-ENOMEM.
 */
int dd_remote_accept(struct dd_remote_call *call, struct dd_conn *conn)
{
	/* Places still used by unread notes of the block's previous client. */
	u32 taken = conn->chan.credit->window - dd_remote_free_slots(&conn->chan);
	struct dd_remote *r = call->r;
	int err;

	err = dd_remote_join(r, conn, call->session, call->chan,
			     conn->imp.window,
			     le16_to_cpu(call->remote.taken), taken);
	if (err)
		return err;
	dd_remote_describe(conn, 0, taken, &call->local);
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

/* Make the serving end; on error nothing is left behind. */
static int dd_remote_admit(struct dd_peer *peer, struct dd_service *svc,
			   struct dd_remote_call *call)
{
	int err;

	call->r = dd_remote_alloc(peer);
	if (!call->r)
		return -ENOMEM;
	/* Once accepted, the connection owns one reference and may drop it at once. */
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

/* Find the service and connect the client to it. */
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
	/* The client is on another node: charge the server's user and memcg. */
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

	memcpy(&call.remote, query->body, sizeof(call.remote));
	call.chan = query->chan;
	call.type = call.remote.type;
	if (!dd_remote_end_ok(&call.remote, query->len) || !call.chan ||
	    call.type < DD_CONN_RPC || call.type > DD_CONN_STREAM ||
	    !dd_name_ok(query->key, sizeof(query->key)))
		return DD_CTL_BAD;
	err = dd_remote_serve(peer, query->key, &call);
	if (err)
		return dd_remote_status(err);
	answer->chan = call.r->id;
	answer->len = sizeof(call.local);
	memcpy(answer->body, &call.local, sizeof(call.local));
	dd_remote_put(call.r);
	return DD_CTL_OK;
}

const struct dd_ctl_class_ops dd_remote_class = {
	.lookup = dd_remote_lookup,
};
