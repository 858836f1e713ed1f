// SPDX-License-Identifier: GPL-2.0-only
/*
 * What netlink messages consist of: nodes, peers and the objects of contexts.
 */
#include <linux/module.h>
#include <net/sock.h>

#include "admin/netlink_fill.h"
#include "admin/netlink_gen.h"
#include "cluster/remote_import.h"
#include "cluster/peer.h"
#include "core/export.h"
#include "core/exported.h"
#include "core/local_import.h"
#include "core/registrar.h"
#include "core/submit.h"
#include "ddp/conn_net.h"
#include "ddp/service.h"
#include "direct/direct.h"

/* Events describe objects of all users, so listeners need CAP_NET_ADMIN. */
static const struct genl_multicast_group dd_groups[] = {
	[DD_NLGRP_EVENTS] = {
		.name = DD_MCGRP_EVENTS,
		.flags = GENL_MCAST_CAP_NET_ADMIN,
	},
};

/* dd_netlink_init() adds the operations. */
struct genl_family dd_family __ro_after_init = {
	.name		= DD_FAMILY_NAME,
	.version	= DD_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.resv_start_op	= DD_CMD_NODE_GET,
	.mcgrps		= dd_groups,
	.n_mcgrps	= ARRAY_SIZE(dd_groups),
};

int dd_fill_node(struct sk_buff *skb, struct dd_node *node)
{
	u32 id, max, port;
	bool up;

	mutex_lock(&node->lock);
	id = node->id;
	max = node->max;
	port = node->port;
	up = node->up;
	mutex_unlock(&node->lock);
	if (nla_put_u32(skb, DD_A_NODE_ID, id) ||
	    nla_put_u32(skb, DD_A_NODE_MAXNODES, max) ||
	    nla_put_u8(skb, DD_A_NODE_UP, up) ||
	    nla_put_u32(skb, DD_A_NODE_PACKET_SIZE, DD_COPY_CHUNK) ||
	    nla_put_u32(skb, DD_A_NODE_ABI, DD_ABI_VERSION) ||
	    nla_put_u32(skb, DD_A_NODE_PORT, port) ||
	    nla_put_u8(skb, DD_A_NODE_REGISTRAR, !!READ_ONCE(node->registrar)))
		return -EMSGSIZE;
	return nla_put_string(skb, DD_A_NODE_VERSION,
			      THIS_MODULE->version ? : "unknown");
}

/*
 * Put a peer without its counters, which are too many for an event. The caller holds
 * dd_node.peer_lock.
 */
int dd_fill_peer(struct sk_buff *skb, struct dd_peer *peer)
{
	const union dd_peer_addr *addr = &peer->config.addr;
	size_t len = addr->sa.sa_family == AF_INET ? sizeof(addr->in) : sizeof(addr->in6);
	struct dd_peer_info info;
	int pad = DD_A_PEER_PAD;
	u32 reason, state;
	u64 sessions;

	spin_lock_bh(&peer->lock);
	state = peer->state;
	reason = peer->reason;
	sessions = peer->sessions;
	spin_unlock_bh(&peer->lock);
	if (nla_put_u32(skb, DD_A_PEER_NUMBER, peer->number) ||
	    nla_put(skb, DD_A_PEER_ADDRESS, len, addr) ||
	    nla_put_u32(skb, DD_A_PEER_DEAD_TIME, peer->config.dead_ms) ||
	    nla_put_u8(skb, DD_A_PEER_PAYLOAD_CRC, peer->config.payload_crc) ||
	    nla_put_u32(skb, DD_A_PEER_STATE, state) ||
	    (reason && nla_put_u32(skb, DD_A_PEER_REASON, reason)) ||
	    dd_fill_u64(skb, DD_A_PEER_SESSIONS, sessions, pad))
		return -EMSGSIZE;
	if (!dd_peer_describe(peer, &info))
		return 0;
	if (nla_put_u32(skb, DD_A_PEER_PACKET_SIZE, info.packet_size) ||
	    nla_put_u32(skb, DD_A_PEER_RTT, info.rtt_us) ||
	    nla_put_u32(skb, DD_A_PEER_RTT_VAR, info.rttvar_us) ||
	    dd_fill_u64(skb, DD_A_PEER_CWND, info.cwnd, pad) ||
	    dd_fill_u64(skb, DD_A_PEER_IN_FLIGHT, info.in_flight, pad) ||
	    dd_fill_u64(skb, DD_A_PEER_PACKETS_SENT, info.packets_sent, pad) ||
	    dd_fill_u64(skb, DD_A_PEER_PACKETS_RECEIVED, info.packets_received, pad) ||
	    dd_fill_u64(skb, DD_A_PEER_PACKETS_LOST, info.packets_lost, pad) ||
	    dd_fill_u64(skb, DD_A_PEER_BYTES_SENT, info.bytes_sent, pad) ||
	    dd_fill_u64(skb, DD_A_PEER_BYTES_RECEIVED, info.bytes_received, pad) ||
	    dd_fill_u64(skb, DD_A_PEER_DROPPED, info.dropped, pad))
		return -EMSGSIZE;
	return 0;
}

/* dd_fill_owner() uses the numbers of DD_A_CONN_* for all objects with an owner. */
#define DD_SAME_OWNER(kind)						  \
	static_assert(DD_A_##kind##_CTX == 1 && DD_A_##kind##_PID == 3 && \
		      DD_A_##kind##_UID == 4)
DD_SAME_OWNER(CONN);
DD_SAME_OWNER(SERVICE);
DD_SAME_OWNER(REGION);
DD_SAME_OWNER(SEGMENT);
DD_SAME_OWNER(IMPORT);

static int dd_fill_owner(struct sk_buff *skb, const struct dd_obj *obj, int pad,
			 kuid_t uid, const struct dd_reader *reader)
{
	const struct dd_ctx *ctx = obj->ctx;

	if (dd_fill_u64(skb, DD_A_CONN_CTX, ctx->serial, pad) ||
	    nla_put_u32(skb, DD_A_CONN_UID, from_kuid_munged(reader->users, uid)))
		return -EMSGSIZE;
	if (!reader->pids)
		return 0;
	return nla_put_u32(skb, DD_A_CONN_PID, dd_ctx_pid(ctx, reader->pids));
}

static int dd_fill_service(struct sk_buff *skb, struct dd_obj *obj,
			   const struct dd_reader *reader)
{
	struct dd_service *svc = container_of(obj, struct dd_service, obj);
	u64 received, sent;
	u32 i;

	/* Messages on current and past connections. */
	mutex_lock(&svc->lock);
	received = svc->past.received;
	sent = svc->past.sent;
	for (i = 0; svc->nconn && i < svc->maxconn; i++) {
		/* The connection is valid while its block refers to it, under this lock. */
		const struct dd_conn *conn = svc->blocks[i].conn;

		if (!conn || conn->released)
			continue;
		received += dd_direct_received(&conn->chan);
		sent += dd_direct_sent(&conn->imp);
	}
	mutex_unlock(&svc->lock);
	if (dd_fill_owner(skb, obj, DD_A_SERVICE_PAD, svc->uid, reader) ||
	    nla_put_u32(skb, DD_A_SERVICE_ID, obj->id) ||
	    nla_put_string(skb, DD_A_SERVICE_NAME, svc->name.key) ||
	    nla_put_u32(skb, DD_A_SERVICE_MAXCONN, svc->maxconn) ||
	    nla_put_u32(skb, DD_A_SERVICE_CONNS, READ_ONCE(svc->nconn)) ||
	    nla_put_u32(skb, DD_A_SERVICE_WINDOW, svc->window) ||
	    nla_put_u8(skb, DD_A_SERVICE_ACCEPT, !!(svc->flags & DD_SERVE_ACCEPT)) ||
	    nla_put_u32(skb, DD_A_SERVICE_LIST, svc->list->obj.id) ||
	    dd_fill_u64(skb, DD_A_SERVICE_RECV_BLOCK, svc->recv_block,
			DD_A_SERVICE_PAD) ||
	    dd_fill_u64(skb, DD_A_SERVICE_SEND_BLOCK, svc->send_block,
			DD_A_SERVICE_PAD) ||
	    dd_fill_u64(skb, DD_A_SERVICE_TOTAL, READ_ONCE(svc->past.conns),
			DD_A_SERVICE_PAD) ||
	    dd_fill_u64(skb, DD_A_SERVICE_RECEIVED, received, DD_A_SERVICE_PAD) ||
	    dd_fill_u64(skb, DD_A_SERVICE_SENT, sent, DD_A_SERVICE_PAD))
		return -EMSGSIZE;
	return 0;
}

/*
 * Put the name of the service. A serving end that is in use holds a reference to the service.
 * The RCU read-side section keeps the memory of both valid.
 */
static int dd_fill_conn_service(struct sk_buff *skb, const struct dd_conn *conn)
{
	const struct dd_conn *server = conn->server ? conn : conn->other;
	u8 name[DD_NAME_MAX + 1];
	bool alive = true;

	rcu_read_lock();
	if (!server)
		memcpy(name, dd_remote_of(conn)->key, sizeof(name));
	else if (refcount_read(&server->imp.obj.users))
		memcpy(name, server->svc->name.key, sizeof(name));
	else
		alive = false;
	rcu_read_unlock();
	if (!alive)
		return 0;
	if (nla_put_string(skb, DD_A_CONN_SERVICE, name) ||
	    (conn->server && nla_put_u32(skb, DD_A_CONN_BLOCK, conn->seg.index)))
		return -EMSGSIZE;
	return nla_put_u32(skb, DD_A_CONN_SEND_WINDOW, conn->imp.window);
}

/* Put process and user of the other end, unless the message has no process ids. */
static int dd_fill_user(struct sk_buff *skb, int pid_attr, int uid_attr,
			const struct dd_ctx *ctx, kuid_t uid,
			const struct dd_reader *reader)
{
	if (!reader->pids)
		return 0;
	return nla_put_u32(skb, pid_attr, dd_ctx_pid(ctx, reader->pids)) ||
	       nla_put_u32(skb, uid_attr, from_kuid_munged(reader->users, uid)) ?
	       -EMSGSIZE : 0;
}

static int dd_fill_conn_peer(struct sk_buff *skb, const struct dd_conn *conn,
			     const struct dd_reader *reader)
{
	const struct dd_conn *other = conn->other;
	const struct dd_remote *r;
	const struct dd_ctx *ctx;

	if (!other) {
		/* Process and user on another node, in the numbering of that node. */
		r = dd_remote_of(conn);
		return nla_put_u32(skb, DD_A_CONN_PEER_NODE, r->peer->number) ||
		       nla_put_u32(skb, DD_A_CONN_PEER_PID, r->pid) ||
		       nla_put_u32(skb, DD_A_CONN_PEER_UID,
				   from_kuid_munged(reader->users,
						    make_kuid(&init_user_ns, r->uid))) ?
		       -EMSGSIZE : 0;
	}
	ctx = other->imp.obj.ctx;
	if (nla_put_u32(skb, DD_A_CONN_PEER_NODE, READ_ONCE(ctx->node->id)) ||
	    dd_fill_u64(skb, DD_A_CONN_PEER_CTX, ctx->serial, DD_A_CONN_PAD) ||
	    dd_fill_u64(skb, DD_A_CONN_PEER_ID, dd_obj_serial(&other->imp.obj),
			DD_A_CONN_PAD))
		return -EMSGSIZE;
	return dd_fill_user(skb, DD_A_CONN_PEER_PID, DD_A_CONN_PEER_UID, ctx,
			    other->imp.uid, reader);
}

/* The caller holds a reference to this end. The other end may be released, but is not freed. */
static int dd_fill_conn(struct sk_buff *skb, struct dd_obj *obj,
			const struct dd_reader *reader)
{
	struct dd_conn *conn = container_of(obj, struct dd_conn, imp.obj);
	const struct dd_import *imp = &conn->imp;
	bool direct = READ_ONCE(imp->path) == DD_PATH_DIRECT;
	u64 n = dd_direct_sent(imp);
	int pad = DD_A_CONN_PAD;

	if (dd_fill_owner(skb, obj, pad, imp->uid, reader) ||
	    dd_fill_u64(skb, DD_A_CONN_ID, dd_obj_serial(obj), pad) ||
	    dd_fill_conn_service(skb, conn) ||
	    nla_put_u32(skb, DD_A_CONN_ROLE, conn->server ?
			DD_CONN_ROLE_SERVER : DD_CONN_ROLE_CLIENT) ||
	    nla_put_u32(skb, DD_A_CONN_TYPE, conn->type) ||
	    nla_put_u32(skb, DD_A_CONN_LIST, conn->seg.list->obj.id) ||
	    nla_put_u32(skb, DD_A_CONN_ERROR, READ_ONCE(conn->closed)) ||
	    nla_put_u32(skb, DD_A_CONN_WINDOW, conn->chan.credit->window) ||
	    nla_put_u8(skb, DD_A_CONN_DIRECT, direct) ||
	    dd_fill_conn_peer(skb, conn, reader) ||
	    dd_fill_u64(skb, DD_A_CONN_RECV_SIZE, conn->seg.mem.length, pad) ||
	    dd_fill_u64(skb, DD_A_CONN_SEND_SIZE, imp->send.length, pad) ||
	    dd_fill_u64(skb, DD_A_CONN_PEER_SIZE, imp->size, pad) ||
	    dd_fill_u64(skb, DD_A_CONN_SUBMITTED, n, pad) ||
	    dd_fill_u64(skb, DD_A_CONN_SENT, direct ? n : READ_ONCE(imp->sent), pad) ||
	    dd_fill_u64(skb, DD_A_CONN_DONE, dd_direct_done(imp), pad) ||
	    dd_fill_u64(skb, DD_A_CONN_RECEIVED, dd_direct_received(&conn->chan), pad))
		return -EMSGSIZE;
	return 0;
}

static int dd_fill_region(struct sk_buff *skb, struct dd_obj *obj,
			  const struct dd_reader *reader)
{
	struct dd_region *region = container_of(obj, struct dd_region, obj);

	if (dd_fill_owner(skb, obj, DD_A_REGION_PAD, obj->ctx->cred->euid, reader) ||
	    nla_put_u32(skb, DD_A_REGION_ID, obj->id) ||
	    dd_fill_u64(skb, DD_A_REGION_LENGTH,
			(u64)region->npages << PAGE_SHIFT, DD_A_REGION_PAD) ||
	    nla_put_u8(skb, DD_A_REGION_BUSY, !RB_EMPTY_ROOT(&region->uses)))
		return -EMSGSIZE;
	return 0;
}

static int dd_fill_segment(struct sk_buff *skb, struct dd_obj *obj,
			   const struct dd_reader *reader)
{
	static const u8 reasons[DD_REFUSED_MAX] = {
		[DD_REFUSED_RIGHTS] = DD_A_SEGMENT_REFUSED_RIGHTS,
		[DD_REFUSED_INHIBIT] = DD_A_SEGMENT_REFUSED_INHIBIT,
		[DD_REFUSED_BOUNDS] = DD_A_SEGMENT_REFUSED_BOUNDS,
	};
	struct dd_export *exp = container_of(obj, struct dd_export, obj);
	const struct dd_segment *seg = &exp->seg;
	int pad = DD_A_SEGMENT_PAD, i, err = 0;
	u32 class = exp->name.class;
	const u8 *key = exp->name.key;

	if (exp->registered) {
		class = DD_SEGMENT_REGISTERED;
		key = dd_registered_key(exp->registered);
	}
	if (dd_fill_owner(skb, obj, pad, seg->uid, reader) ||
	    dd_fill_u64(skb, DD_A_SEGMENT_ID, seg->owner, pad) ||
	    nla_put_u32(skb, DD_A_SEGMENT_CLASS, class) ||
	    nla_put(skb, DD_A_SEGMENT_KEY, DD_SEGMENT_KEY, key) ||
	    dd_fill_u64(skb, DD_A_SEGMENT_GENERATION, seg->generation, pad) ||
	    dd_fill_u64(skb, DD_A_SEGMENT_LENGTH, seg->mem.length, pad) ||
	    nla_put_u32(skb, DD_A_SEGMENT_RIGHTS, seg->rights) ||
	    nla_put_u32(skb, DD_A_SEGMENT_POLICY, READ_ONCE(seg->policy)) ||
	    nla_put_u32(skb, DD_A_SEGMENT_PERMISSION, exp->permission) ||
	    nla_put_u8(skb, DD_A_SEGMENT_INHIBIT,
		       !!(READ_ONCE(seg->flags) & DD_SEGMENT_INHIBITED)) ||
	    nla_put_u32(skb, DD_A_SEGMENT_LIST, seg->list ? seg->list->obj.id : 0) ||
	    nla_put_u32(skb, DD_A_SEGMENT_WINDOW, exp->window) ||
	    nla_put_u32(skb, DD_A_SEGMENT_IMPORTERS,
			READ_ONCE(exp->places.count) - READ_ONCE(exp->nleft)) ||
	    nla_put_u32(skb, DD_A_SEGMENT_MAX_IMPORTERS, exp->max))
		return -EMSGSIZE;
	for (i = 0; i < DD_REFUSED_MAX && !err; i++)
		err = dd_fill_u64(skb, reasons[i], atomic64_read(&exp->refused[i]), pad);
	return err;
}

/* Describe the segment. The import keeps the memory of @exp, and @exp that of the context. */
static int dd_fill_import_peer(struct sk_buff *skb, const struct dd_export *exp,
			       const struct dd_reader *reader)
{
	const struct dd_ctx *ctx = exp->obj.ctx;

	if (dd_fill_u64(skb, DD_A_IMPORT_PEER_CTX, ctx->serial, DD_A_IMPORT_PAD) ||
	    dd_fill_u64(skb, DD_A_IMPORT_PEER_ID, exp->seg.owner, DD_A_IMPORT_PAD))
		return -EMSGSIZE;
	return dd_fill_user(skb, DD_A_IMPORT_PEER_PID, DD_A_IMPORT_PEER_UID, ctx,
			    exp->seg.uid, reader);
}

/* Put the attributes that all imports have, of segments on this node and on other nodes. */
static int dd_fill_any_import(struct sk_buff *skb, struct dd_obj *obj,
			      const struct dd_reader *reader, u32 node, u8 rights)
{
	const struct dd_import *imp = container_of(obj, struct dd_import, obj);
	int error = -dd_import_status(imp);
	bool up = dd_import_up(imp);
	int pad = DD_A_IMPORT_PAD;

	if (dd_fill_owner(skb, obj, pad, imp->uid, reader) ||
	    dd_fill_u64(skb, DD_A_IMPORT_ID, dd_obj_serial(obj), pad) ||
	    nla_put_u32(skb, DD_A_IMPORT_PEER_NODE, node) ||
	    dd_fill_u64(skb, DD_A_IMPORT_GENERATION, up ? imp->chan->generation : 0, pad) ||
	    dd_fill_u64(skb, DD_A_IMPORT_LENGTH, up ? imp->size : 0, pad) ||
	    nla_put_u32(skb, DD_A_IMPORT_RIGHTS, rights) ||
	    nla_put_u32(skb, DD_A_IMPORT_ERROR, error) ||
	    dd_fill_u64(skb, DD_A_IMPORT_SUBMITTED, READ_ONCE(imp->submitted), pad) ||
	    dd_fill_u64(skb, DD_A_IMPORT_DONE, READ_ONCE(imp->done), pad))
		return -EMSGSIZE;
	return 0;
}

static int dd_fill_import(struct sk_buff *skb, struct dd_obj *obj,
			  const struct dd_reader *reader)
{
	const struct dd_local_import *l = container_of(obj, struct dd_local_import,
						       imp.obj);

	/* The access of an import that was made stays. */
	if (dd_import_up(&l->imp) && dd_fill_import_peer(skb, l->a.exp, reader))
		return -EMSGSIZE;
	return dd_fill_any_import(skb, obj, reader, READ_ONCE(obj->ctx->node->id),
				  l->setup.rights);
}

/* Of the other node's segment, the user of its exporter is known, as that node states it. */
static int dd_fill_remote_import(struct sk_buff *skb, struct dd_obj *obj,
				 const struct dd_reader *reader)
{
	const struct dd_remote_import *f = container_of(obj, struct dd_remote_import, imp.obj);

	/* Without process ids no user of the exporter is shown. */
	if (reader->pids && dd_import_up(&f->imp) &&
	    nla_put_u32(skb, DD_A_IMPORT_PEER_UID,
			from_kuid_munged(reader->users, make_kuid(&init_user_ns, f->r->uid))))
		return -EMSGSIZE;
	return dd_fill_any_import(skb, obj, reader, f->r->peer->number, f->setup.rights);
}

static kuid_t dd_service_uid(const struct dd_obj *obj)
{
	return container_of(obj, struct dd_service, obj)->uid;
}

/* Of a connection or an import of a segment. */
static kuid_t dd_import_uid(const struct dd_obj *obj)
{
	return container_of(obj, struct dd_import, obj)->uid;
}

static kuid_t dd_region_uid(const struct dd_obj *obj)
{
	return obj->ctx->cred->euid;
}

static kuid_t dd_segment_uid(const struct dd_obj *obj)
{
	return container_of(obj, struct dd_export, obj)->seg.uid;
}

static const struct dd_kind dd_kinds[] = {
	{
		.get = DD_CMD_SERVICE_GET,
		.add = DD_CMD_SERVICE_ADD,
		.del = DD_CMD_SERVICE_DEL,
		.attr = DD_A_EVENT_SERVICE,
		.ops = &dd_service_ops,
		.uid = dd_service_uid,
		.fill = dd_fill_service,
	}, {
		.get = DD_CMD_CONN_GET,
		.add = DD_CMD_CONN_ADD,
		.del = DD_CMD_CONN_DEL,
		.attr = DD_A_EVENT_CONN,
		.ops = &dd_conn_ops,
		.uid = dd_import_uid,
		.fill = dd_fill_conn,
	}, {
		.get = DD_CMD_REGION_GET,
		.ops = &dd_region_ops,
		.uid = dd_region_uid,
		.fill = dd_fill_region,
	}, {
		.get = DD_CMD_SEGMENT_GET,
		.add = DD_CMD_SEGMENT_ADD,
		.del = DD_CMD_SEGMENT_DEL,
		.attr = DD_A_EVENT_SEGMENT,
		.ops = &dd_export_ops,
		.uid = dd_segment_uid,
		.fill = dd_fill_segment,
	}, {
		.get = DD_CMD_IMPORT_GET,
		.add = DD_CMD_IMPORT_ADD,
		.del = DD_CMD_IMPORT_DEL,
		.attr = DD_A_EVENT_IMPORT,
		.ops = &dd_local_import_ops,
		.uid = dd_import_uid,
		.fill = dd_fill_import,
	}, {
		.get = DD_CMD_IMPORT_GET,
		.add = DD_CMD_IMPORT_ADD,
		.del = DD_CMD_IMPORT_DEL,
		.attr = DD_A_EVENT_IMPORT,
		.ops = &dd_remote_import_ops,
		.uid = dd_import_uid,
		.fill = dd_fill_remote_import,
	},
};

/* Return the kind of an object, or NULL if objects of its type are not reported. */
const struct dd_kind *dd_kind_of(const struct dd_obj *obj)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(dd_kinds); i++)
		if (dd_kinds[i].ops == obj->ops)
			return &dd_kinds[i];
	return NULL;
}
