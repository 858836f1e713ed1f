// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections with other nodes: look-ups of class SERVICE, by name of the service.
 */
#include "cluster/ctl.h"
#include "cluster/peer.h"
#include "cluster/remote.h"
#include "core/charge.h"
#include "ddp/conn_net.h"
#include "ddp/service.h"

/* Body of queries and answers of class DD_CLASS_SERVICE. */
struct dd_conn_net_end {
	__le64 size;		/* bytes in the block of this end */
	__le32 pid;
	__le32 uid;
	__le16 window;		/* unread notes permitted at this end */
	u8 type;		/* enum dd_conn_type; 0 in an answer */
	u8 __reserved;
	__le16 taken;		/* of the window, used by an earlier connection */
	u8 __reserved2[2];
} __packed;

static_assert(sizeof(struct dd_conn_net_end) <= DD_CTL_BODY);

static void dd_conn_net_describe(const struct dd_conn *conn, u8 type, u32 taken, u8 *body)
{
	const struct dd_ctx *ctx = conn->imp.obj.ctx;

	*(struct dd_conn_net_end *)body = (struct dd_conn_net_end) {
		.size = cpu_to_le64(conn->seg.mem.length),
		.pid = cpu_to_le32(dd_ctx_pid(ctx, ctx->node->pid_ns)),
		.uid = cpu_to_le32(from_kuid_munged(&init_user_ns, conn->imp.uid)),
		.window = cpu_to_le16(conn->chan.credit->window),
		.type = type,
		.taken = cpu_to_le16(taken),
	};
}

static bool dd_conn_net_end_ok(const struct dd_conn_net_end *end, const struct dd_ctl_head *head)
{
	u32 window = le16_to_cpu(end->window);

	return le16_to_cpu(head->len) >= sizeof(*end) && end->size && window &&
	       window <= DD_WINDOW_MAX && le16_to_cpu(end->taken) <= window;
}

/**
 * struct dd_conn_net_call - a connection being made with another node
 * @r: state of the connection; owned by the local end once that is connected
 * @session: number of the session, see dd_ctl_lookup_fn
 * @chan: id of the other end's channel
 * @remote: properties of the other end
 * @answer: (out) the answer to a query, with the properties of this end
 */
struct dd_conn_net_call {
	struct dd_remote *r;
	u64 session;
	u64 chan;
	struct dd_conn_net_end remote;
	struct dd_ctl_answer *answer;
};

/* Store the properties of the other end, and allocate ops for its window. */
int dd_conn_net_fill(const struct dd_conn_net_call *call, struct dd_conn *conn)
{
	const struct dd_conn_net_end *end = &call->remote;
	struct dd_remote *r = call->r;

	conn->imp.size = le64_to_cpu(end->size);
	conn->imp.window = le16_to_cpu(end->window);
	r->pid = le32_to_cpu(end->pid);
	r->uid = le32_to_cpu(end->uid);
	return dd_remote_ops_make(r, conn->imp.obj.ctx, conn->imp.window);
}

/* Complete the connection before its id is published. */
static void dd_conn_net_open(struct dd_remote *r, struct dd_conn *conn)
{
	dd_conn_open(conn, r->peer->number);
	dd_remote_link(r);
	dd_channel_live(&conn->chan);
	dd_channel_live(conn->imp.chan);
}

/* Look up the service and set the other end of the registered channel. */
static int dd_conn_net_ask(struct dd_remote *r, struct dd_conn *conn,
			   const struct dd_connect *arg, ktime_t expires)
{
	struct dd_ctl_query query = {
		.head.class = DD_CLASS_SERVICE,
		.head.len = cpu_to_le16(sizeof(struct dd_conn_net_end)),
		.chan = cpu_to_le64(r->id),
	};
	struct dd_conn_net_call call = { .r = r };
	/* The answer tells more of the other end. */
	struct dd_tp_chan_cfg cfg = {
		.tx_window = 1,
		.rx_size = conn->seg.mem.length,
		.rx_window = conn->chan.credit->window,
		.prompt = conn->type != DD_CONN_SPLIT,
	};
	struct dd_ctl_answer answer = {};
	u64 session;
	int err;

	err = dd_ctl_session(r->peer, &session, expires);
	if (!err)
		err = dd_remote_join(r, &conn->imp, &conn->chan, &cfg, session);
	if (err)
		return err;
	memcpy(r->key, arg->name, sizeof(r->key));
	memcpy(query.key, arg->name, sizeof(query.key));
	dd_conn_net_describe(conn, conn->type, 0, query.body);
	err = dd_ctl_lookup(r->peer, session, &query, r, &answer, expires);
	if (err)
		return err;
	if (answer.status != cpu_to_le32(DD_CTL_OK))
		return dd_ctl_error(le32_to_cpu(answer.status));
	memcpy(&call.remote, answer.body, sizeof(call.remote));
	if (!dd_conn_net_end_ok(&call.remote, &answer.head) || !answer.chan)
		return -EPROTO;
	err = dd_remote_found(r, le64_to_cpu(answer.chan), le16_to_cpu(call.remote.window),
			      le16_to_cpu(call.remote.taken), 0);
	return err ? err : dd_conn_net_fill(&call, conn);
}

/**
 * dd_conn_net_connect() - connect to a service of another node
 * @conn: the connecting end, set up, its id reserved; its context is not
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
int dd_conn_net_connect(struct dd_conn *conn, const struct dd_connect *arg)
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
	r = dd_remote_alloc(peer, &dd_link_remote_put);
	dd_peer_put(peer);
	if (!r)
		return -ENOMEM;
	err = dd_remote_register(r);
	if (!err)
		err = dd_conn_net_ask(r, conn, arg, expires);
	if (err) {
		dd_remote_break(r, 0, true);
		dd_remote_put(r);
		return err;
	}
	dd_conn_net_open(r, conn);
	return 0;
}

/**
 * dd_conn_net_accept() - connect a serving end to its client on another node
 * @call: the request
 * @conn: the serving end, set up, after dd_conn_net_fill()
 *
 * After the id is published the caller calls dd_remote_go().
 *
 * Return: 0; %-EHOSTUNREACH if the client's session has ended; %-ENOMEM.
 */
int dd_conn_net_accept(struct dd_conn_net_call *call, struct dd_conn *conn)
{
	/* Places still used by unread notes of the block's previous client. */
	u32 taken = conn->chan.credit->window - dd_remote_free_slots(&conn->chan);
	struct dd_tp_chan_cfg cfg = {
		.peer_id = call->chan,
		.rx_size = conn->seg.mem.length,
		.rx_window = conn->chan.credit->window,
		.rx_taken = taken,
		.tx_window = conn->imp.window,
		.tx_taken = le16_to_cpu(call->remote.taken),
		.prompt = conn->type != DD_CONN_SPLIT,
	};
	int err;

	err = dd_remote_join(call->r, &conn->imp, &conn->chan, &cfg, call->session);
	if (err)
		return err;
	call->answer->chan = cpu_to_le64(call->r->id);
	call->answer->head.len = cpu_to_le16(sizeof(struct dd_conn_net_end));
	dd_conn_net_describe(conn, 0, taken, call->answer->body);
	dd_conn_net_open(call->r, conn);
	return 0;
}

/* Connect a client of another node, whose request is @call but for @call->r. */
static int dd_conn_net_serve(struct dd_peer *peer, struct dd_service *svc, u8 type,
			     const struct dd_client_id *cid, struct dd_conn_net_call *call)
{
	struct mem_cgroup *before;
	int err;

	/* Charge the server's user and memcg. */
	before = dd_owner_enter(svc->obj.ctx);
	call->r = dd_remote_alloc(peer, &dd_link_remote_put);
	err = call->r ? dd_remote_register(call->r) : -ENOMEM;
	if (!err)
		err = dd_service_accept(svc, type, cid, NULL, call);
	if (err && call->r) {
		dd_remote_break(call->r, ECONNRESET, false);
		dd_uncharge(svc->obj.ctx, dd_remote_ops_size(call->r->nops));
		dd_remote_put(call->r);
	}
	dd_owner_leave(before);
	return err;
}

static int dd_conn_net_lookup(struct dd_peer *peer, u64 session,
			      const struct dd_ctl_query *query, struct dd_ctl_answer *answer)
{
	struct dd_conn_net_call call = {
		.session = session,
		.chan = le64_to_cpu(query->chan),
		.answer = answer,
	};
	struct dd_conn_net_end *end = &call.remote;
	struct dd_client_id cid = { .node = peer->number };
	struct dd_service *svc;
	int err;

	memcpy(end, query->body, sizeof(*end));
	if (!dd_conn_net_end_ok(end, &query->head) || !call.chan ||
	    end->type < DD_CONN_RPC || end->type > DD_CONN_STREAM ||
	    !dd_name_ok(query->key, sizeof(query->key)))
		return -EBADMSG;
	cid.uid = make_kuid(&init_user_ns, le32_to_cpu(end->uid));
	do {
		svc = READ_ONCE(peer->node->up) ? dd_service_find(peer->node, query->key) : NULL;
		if (!svc)
			return -ECONNREFUSED;
		err = dd_conn_net_serve(peer, svc, end->type, &cid, &call);
		dd_service_put(svc);
	} while (err == -EAGAIN);
	return err;
}

void dd_conn_net_init(void)
{
	dd_ctl_register(DD_CLASS_SERVICE, dd_conn_net_lookup);
}
