// SPDX-License-Identifier: GPL-2.0-only
/*
 * Administration by generic netlink: Documentation/netlink/specs/dd.yaml.
 *
 * Requests are about the network namespace of the asking socket. A dump visits
 * contexts by ascending address, which no context changes, and the objects of
 * each by index: whatever lives all the time while a dump goes on is reported
 * exactly once, whatever else comes and goes.
 */
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/user_namespace.h>
#include <net/genetlink.h>
#include <net/netns/generic.h>
#include <net/sock.h>
#include <uapi/linux/dd_netlink.h>

#include "dd.h"
#include "netlink.h"

/**
 * struct dd_netlink_net - of each network namespace
 * @set_lock: one change of the node at a time, so that events tell them in
 *	their order
 * @events: number of the last event, whether anybody was told or not
 */
struct dd_netlink_net {
	struct mutex set_lock; /* dd_node.lock is taken inside */
	atomic64_t events;
};

/**
 * struct dd_reader - whose ids those in a message are to be
 * @pids: pid namespace, or NULL to have no process ids
 * @users: user namespace
 */
struct dd_reader {
	struct pid_namespace *pids;
	struct user_namespace *users;
};

static struct genl_family dd_family;
static unsigned int dd_netlink_net_id;
static siphash_key_t dd_ctx_key;

static struct dd_netlink_net *dd_netlink_net(const struct net *net)
{
	return net_generic(net, dd_netlink_net_id);
}

/* Replies and dumps are made while their reader calls. */
static struct dd_reader dd_reader_current(void)
{
	return (struct dd_reader) {
		.pids = task_active_pid_ns(current),
		.users = current_user_ns(),
	};
}

/* Events are made once for readers who may be in any pid namespace. */
static struct dd_reader dd_reader_event(const struct dd_node *node)
{
	return (struct dd_reader) { .users = node->net->user_ns };
}

/* ---- what messages say ------------------------------------------------- */

/* A number that tells contexts apart and does not tell where they are. */
static u32 dd_ctx_number(const struct dd_ctx *ctx)
{
	return siphash_1u64((unsigned long)ctx, &dd_ctx_key) >> 33;
}

/* These four come first, in this order, wherever an object has an owner. */
static_assert(DD_A_SERVICE_CTX == 1 && DD_A_CONN_CTX == 1 && DD_A_REGION_CTX == 1);
static_assert(DD_A_SERVICE_ID == 2 && DD_A_CONN_ID == 2 && DD_A_REGION_ID == 2);
static_assert(DD_A_SERVICE_PID == 3 && DD_A_CONN_PID == 3 && DD_A_REGION_PID == 3);
static_assert(DD_A_SERVICE_UID == 4 && DD_A_CONN_UID == 4 && DD_A_REGION_UID == 4);

static int dd_fill_owner(struct sk_buff *skb, const struct dd_obj *obj,
			 kuid_t uid, const struct dd_reader *reader)
{
	const struct dd_ctx *ctx = obj->ctx;

	if (nla_put_u32(skb, DD_A_CONN_CTX, dd_ctx_number(ctx)) ||
	    nla_put_u32(skb, DD_A_CONN_ID, obj->id) ||
	    nla_put_u32(skb, DD_A_CONN_UID,
			from_kuid_munged(reader->users, uid)))
		return -EMSGSIZE;
	if (!reader->pids)
		return 0;
	return nla_put_u32(skb, DD_A_CONN_PID, pid_nr_ns(ctx->pid, reader->pids));
}

static int dd_fill_node(struct sk_buff *skb, struct dd_node *node)
{
	u32 id, max;
	bool up;

	mutex_lock(&node->lock);
	id = node->id;
	max = node->max;
	up = node->up;
	mutex_unlock(&node->lock);
	if (nla_put_u32(skb, DD_A_NODE_ID, id) ||
	    nla_put_u32(skb, DD_A_NODE_MAXNODES, max) ||
	    nla_put_u8(skb, DD_A_NODE_UP, up) ||
	    nla_put_u32(skb, DD_A_NODE_PACKET_SIZE, DD_COPY_CHUNK) ||
	    nla_put_u32(skb, DD_A_NODE_ABI, DD_ABI_VERSION))
		return -EMSGSIZE;
	return nla_put_string(skb, DD_A_NODE_VERSION,
			      THIS_MODULE->version ? : "unknown");
}

/* Messages on connections of the past and of the present. */
static void dd_service_sum(struct dd_service *svc, u64 *received, u64 *sent)
{
	u32 i;

	mutex_lock(&svc->lock);
	*received = svc->past.received;
	*sent = svc->past.sent;
	for (i = 0; svc->nconn && i < svc->maxconn; i++) {
		/* There while the block names it, under this lock. */
		const struct dd_conn *conn = svc->blocks[i].conn;

		if (!conn || conn->released)
			continue;
		*received += READ_ONCE(conn->seg.received);
		*sent += READ_ONCE(conn->imp.submitted);
	}
	mutex_unlock(&svc->lock);
}

static int dd_fill_u64(struct sk_buff *skb, int attr, u64 value, int pad)
{
	return nla_put_u64_64bit(skb, attr, value, pad);
}

static int dd_fill_service(struct sk_buff *skb, struct dd_obj *obj,
			   const struct dd_reader *reader)
{
	struct dd_service *svc = container_of(obj, struct dd_service, obj);
	u64 received, sent;

	dd_service_sum(svc, &received, &sent);
	if (dd_fill_owner(skb, obj, svc->uid, reader) ||
	    nla_put_string(skb, DD_A_SERVICE_NAME, svc->name) ||
	    nla_put_u32(skb, DD_A_SERVICE_MAXCONN, svc->maxconn) ||
	    nla_put_u32(skb, DD_A_SERVICE_CONNS, READ_ONCE(svc->nconn)) ||
	    nla_put_u32(skb, DD_A_SERVICE_WINDOW, svc->window) ||
	    nla_put_u8(skb, DD_A_SERVICE_ACCEPT,
		       !!(svc->flags & DD_SERVE_ACCEPT)) ||
	    nla_put_u32(skb, DD_A_SERVICE_LIST, svc->list->obj.id) ||
	    dd_fill_u64(skb, DD_A_SERVICE_RECV_BLOCK, svc->recv_block,
			DD_A_SERVICE_PAD) ||
	    dd_fill_u64(skb, DD_A_SERVICE_SEND_BLOCK, svc->send_block,
			DD_A_SERVICE_PAD) ||
	    dd_fill_u64(skb, DD_A_SERVICE_TOTAL, READ_ONCE(svc->past.conns),
			DD_A_SERVICE_PAD) ||
	    dd_fill_u64(skb, DD_A_SERVICE_RECEIVED, received,
			DD_A_SERVICE_PAD) ||
	    dd_fill_u64(skb, DD_A_SERVICE_SENT, sent, DD_A_SERVICE_PAD))
		return -EMSGSIZE;
	return 0;
}

/*
 * What is known of the service as long as the serving end is in use: that
 * counts the service, whose memory outlives this read section. False after.
 */
static bool dd_conn_service(const struct dd_conn *server, u8 *name, u32 *window)
{
	bool alive;

	rcu_read_lock();
	alive = refcount_read(&server->obj.users);
	if (alive) {
		memcpy(name, server->svc->name, DD_NAME_MAX + 1);
		*window = server->svc->window;
	}
	rcu_read_unlock();
	return alive;
}

static int dd_fill_conn_service(struct sk_buff *skb, const struct dd_conn *conn)
{
	u8 name[DD_NAME_MAX + 1];
	u32 window;

	if (!dd_conn_service(conn->server ? conn : conn->peer, name, &window))
		return 0;
	if (nla_put_string(skb, DD_A_CONN_SERVICE, name))
		return -EMSGSIZE;
	if (conn->server)
		return nla_put_u32(skb, DD_A_CONN_BLOCK, conn->block) ||
		       nla_put_u32(skb, DD_A_CONN_SEND_WINDOW,
				   dd_client_of(conn->peer)->credit.window) ?
		       -EMSGSIZE : 0;
	return nla_put_u32(skb, DD_A_CONN_SEND_WINDOW, window);
}

static int dd_fill_conn_peer(struct sk_buff *skb, const struct dd_conn *peer,
			     const struct dd_reader *reader)
{
	const struct dd_ctx *ctx = peer->obj.ctx;

	if (nla_put_u32(skb, DD_A_CONN_PEER_NODE, READ_ONCE(ctx->node->id)) ||
	    nla_put_u32(skb, DD_A_CONN_PEER_CTX, dd_ctx_number(ctx)) ||
	    nla_put_u32(skb, DD_A_CONN_PEER_ID, peer->obj.id))
		return -EMSGSIZE;
	if (!reader->pids)
		return 0;
	return nla_put_u32(skb, DD_A_CONN_PEER_PID,
			   pid_nr_ns(ctx->pid, reader->pids)) ||
	       nla_put_u32(skb, DD_A_CONN_PEER_UID,
			   from_kuid_munged(reader->users, peer->uid)) ?
	       -EMSGSIZE : 0;
}

static int dd_fill_conn_counters(struct sk_buff *skb, const struct dd_conn *conn)
{
	const struct dd_import *imp = &conn->imp;
	int pad = DD_A_CONN_PAD;

	if (dd_fill_u64(skb, DD_A_CONN_RECV_SIZE, conn->seg.mem.length, pad) ||
	    dd_fill_u64(skb, DD_A_CONN_SEND_SIZE, conn->send.length, pad) ||
	    dd_fill_u64(skb, DD_A_CONN_PEER_SIZE, conn->imp.peer_size, pad) ||
	    dd_fill_u64(skb, DD_A_CONN_SUBMITTED, READ_ONCE(imp->submitted), pad) ||
	    dd_fill_u64(skb, DD_A_CONN_SENT, READ_ONCE(imp->sent), pad) ||
	    dd_fill_u64(skb, DD_A_CONN_DONE, READ_ONCE(imp->done), pad) ||
	    dd_fill_u64(skb, DD_A_CONN_RECEIVED, READ_ONCE(conn->seg.received), pad))
		return -EMSGSIZE;
	return 0;
}

/* The caller is a user of this end; of the other one only memory is sure. */
static int dd_fill_conn(struct sk_buff *skb, struct dd_obj *obj,
			const struct dd_reader *reader)
{
	struct dd_conn *conn = container_of(obj, struct dd_conn, obj);

	if (dd_fill_owner(skb, obj, conn->uid, reader) ||
	    dd_fill_conn_service(skb, conn) ||
	    nla_put_u32(skb, DD_A_CONN_ROLE, conn->server ?
			DD_CONN_ROLE_SERVER : DD_CONN_ROLE_CLIENT) ||
	    nla_put_u32(skb, DD_A_CONN_TYPE, conn->type) ||
	    nla_put_u32(skb, DD_A_CONN_LIST, conn->seg.list->obj.id) ||
	    nla_put_u32(skb, DD_A_CONN_ERROR, READ_ONCE(conn->closed)) ||
	    nla_put_u32(skb, DD_A_CONN_WINDOW, conn->seg.credit->window) ||
	    dd_fill_conn_peer(skb, conn->peer, reader) ||
	    dd_fill_conn_counters(skb, conn))
		return -EMSGSIZE;
	return 0;
}

static int dd_fill_region(struct sk_buff *skb, struct dd_obj *obj,
			  const struct dd_reader *reader)
{
	struct dd_region *region = container_of(obj, struct dd_region, obj);

	if (dd_fill_owner(skb, obj, region->obj.ctx->cred->euid, reader) ||
	    dd_fill_u64(skb, DD_A_REGION_LENGTH,
			(u64)region->npages << PAGE_SHIFT, DD_A_REGION_PAD) ||
	    nla_put_u8(skb, DD_A_REGION_BUSY, !RB_EMPTY_ROOT(&region->uses)))
		return -EMSGSIZE;
	return 0;
}

static const u8 dd_stat_attrs[DD_STAT_MAX] = {
	[DD_STAT_OPS] = DD_A_STAT_OPS,
	[DD_STAT_BYTES] = DD_A_STAT_BYTES,
	[DD_STAT_NOTES] = DD_A_STAT_NOTES,
	[DD_STAT_WITHHELD] = DD_A_STAT_WITHHELD,
	[DD_STAT_WAKEUPS] = DD_A_STAT_WAKEUPS,
	[DD_STAT_REFUSED] = DD_A_STAT_REFUSED,
	[DD_STAT_CONNECTS] = DD_A_STAT_CONNECTS,
	[DD_STAT_CLOSES] = DD_A_STAT_CLOSES,
};

/* A counter that is not told here has no attribute either. */
static_assert(DD_STAT_MAX + 1 == DD_A_STAT_MAX);

static int dd_fill_stat(struct sk_buff *skb, struct dd_node *node)
{
	struct dd_stats sum;
	int i, err = 0;

	dd_node_stats(node, &sum);
	for (i = 0; i < DD_STAT_MAX && !err; i++)
		err = dd_fill_u64(skb, dd_stat_attrs[i], sum.v[i],
				  DD_A_STAT_PAD);
	return err;
}

/* ---- events ------------------------------------------------------------ */

enum {
	DD_GROUP_EVENTS,
};

static const struct genl_multicast_group dd_groups[] = {
	[DD_GROUP_EVENTS] = { .name = DD_MCGRP_EVENTS },
};

/**
 * struct dd_event - an event in the making
 * @node: where it happened
 * @skb: the message
 * @hdr: its header
 * @nest: the attribute of the object
 * @seq: its number
 */
struct dd_event {
	struct dd_node *node;
	struct sk_buff *skb;
	void *hdr;
	struct nlattr *nest;
	u64 seq;
};

/* False, and nothing to end, if nobody listens or memory is out. */
static bool dd_event_start(struct dd_event *ev, struct dd_node *node, u8 cmd,
			   int attr)
{
	/* Counted in any case: a dump shall notice, and a listener a loss. */
	ev->seq = atomic64_inc_return(&dd_netlink_net(node->net)->events);
	if (!genl_has_listeners(&dd_family, node->net, DD_GROUP_EVENTS))
		return false;
	ev->skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!ev->skb)
		return false;
	ev->node = node;
	ev->hdr = genlmsg_put(ev->skb, 0, 0, &dd_family, 0, cmd);
	if (ev->hdr && !dd_fill_u64(ev->skb, DD_A_EVENT_SEQ, ev->seq,
				    DD_A_EVENT_PAD)) {
		ev->nest = nla_nest_start(ev->skb, attr);
		if (ev->nest)
			return true;
	}
	nlmsg_free(ev->skb);
	return false;
}

static void dd_event_end(struct dd_event *ev, int err)
{
	if (WARN_ON_ONCE(err)) {
		nlmsg_free(ev->skb);
		return;
	}
	nla_nest_end(ev->skb, ev->nest);
	genlmsg_end(ev->skb, ev->hdr);
	/* A listener that cannot keep up is told so by its own socket. */
	genlmsg_multicast_netns(&dd_family, ev->node->net, ev->skb, 0,
				DD_GROUP_EVENTS, GFP_KERNEL);
}

static void dd_event_node(struct dd_node *node, u8 cmd)
{
	struct dd_event ev;

	if (dd_event_start(&ev, node, cmd, DD_A_EVENT_NODE))
		dd_event_end(&ev, dd_fill_node(ev.skb, node));
}

void dd_netlink_event_service(struct dd_service *svc, bool add)
{
	struct dd_node *node = svc->obj.ctx->node;
	struct dd_reader reader = dd_reader_event(node);
	struct dd_event ev;

	if (dd_event_start(&ev, node, add ? DD_CMD_SERVICE_ADD :
			   DD_CMD_SERVICE_DEL, DD_A_EVENT_SERVICE))
		dd_event_end(&ev, dd_fill_service(ev.skb, &svc->obj, &reader));
}

static void dd_event_conn(struct dd_conn *conn, u8 cmd)
{
	struct dd_node *node = conn->obj.ctx->node;
	struct dd_reader reader = dd_reader_event(node);
	struct dd_event ev;

	if (dd_event_start(&ev, node, cmd, DD_A_EVENT_CONN))
		dd_event_end(&ev, dd_fill_conn(ev.skb, &conn->obj, &reader));
}

void dd_netlink_event_conn(struct dd_conn *conn, bool add)
{
	struct dd_conn *peer = conn->peer;

	/* The serving end may have been closed since. */
	if (add && refcount_inc_not_zero(&peer->obj.users)) {
		dd_event_conn(peer, DD_CMD_CONN_ADD);
		dd_conn_put(peer);
	}
	dd_event_conn(conn, add ? DD_CMD_CONN_ADD : DD_CMD_CONN_DEL);
}

/* ---- requests about the node ------------------------------------------- */

static struct dd_node *dd_node_asked(struct genl_info *info)
{
	return dd_node_of(genl_info_net(info));
}

static int dd_reply(struct genl_info *info,
		    int (*fill)(struct sk_buff *skb, struct dd_node *node))
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *hdr;

	if (!skb)
		goto err;
	hdr = genlmsg_put_reply(skb, info, &dd_family, 0, info->genlhdr->cmd);
	if (!hdr || fill(skb, dd_node_asked(info)))
		goto err_free;
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);

err_free:
	nlmsg_free(skb);
err:
	NL_SET_ERR_MSG(info->extack, "out of memory; try again");
	return -ENOMEM;
}

static int dd_nl_node_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return dd_reply(info, dd_fill_node);
}

static int dd_nl_stat_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return dd_reply(info, dd_fill_stat);
}

/* The attribute that dd_node_set() complains about. */
static const struct nlattr *dd_node_culprit(struct nlattr **attrs, int err)
{
	if (err != -EBUSY && attrs[DD_A_NODE_ID])
		return attrs[DD_A_NODE_ID];
	return attrs[DD_A_NODE_MAXNODES];
}

static int dd_node_change(struct dd_node *node, struct genl_info *info)
{
	struct nlattr *id = info->attrs[DD_A_NODE_ID];
	struct nlattr *max = info->attrs[DD_A_NODE_MAXNODES];
	struct nlattr *up = info->attrs[DD_A_NODE_UP];
	const char *reason = NULL;
	bool was_up, new_up;
	u32 new_id, new_max;
	int err;

	if (id)
		new_id = nla_get_u32(id);
	if (max)
		new_max = nla_get_u32(max);
	if (up)
		new_up = nla_get_u8(up);
	was_up = READ_ONCE(node->up);
	err = dd_node_set(node, id ? &new_id : NULL, max ? &new_max : NULL,
			  up ? &new_up : NULL, &reason);
	if (err) {
		/* A constant, like what NL_SET_ERR_MSG() makes. */
		info->extack->_msg = reason;
		NL_SET_BAD_ATTR(info->extack, dd_node_culprit(info->attrs, err));
		return err;
	}
	if (id || max)
		dd_event_node(node, DD_CMD_NODE_SET_NTF);
	if (up && new_up != was_up)
		dd_event_node(node, new_up ? DD_CMD_NODE_UP : DD_CMD_NODE_DOWN);
	return 0;
}

static int dd_nl_node_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dd_netlink_net *nn = dd_netlink_net(genl_info_net(info));
	int err;

	if (!info->attrs[DD_A_NODE_ID] && !info->attrs[DD_A_NODE_MAXNODES] &&
	    !info->attrs[DD_A_NODE_UP]) {
		NL_SET_ERR_MSG(info->extack,
			       "nothing to change; give id, maxnodes or up");
		return -EINVAL;
	}
	mutex_lock(&nn->set_lock);
	err = dd_node_change(dd_node_asked(info), info);
	mutex_unlock(&nn->set_lock);
	return err;
}

/* ---- dumps -------------------------------------------------------------- */

/**
 * struct dd_dump - how objects of a kind are reported
 * @cmd: DD_CMD_*
 * @type: enum dd_obj_type
 * @fill: puts one into a message
 * @put: ends its use
 */
struct dd_dump {
	u8 cmd;
	u8 type;
	int (*fill)(struct sk_buff *skb, struct dd_obj *obj,
		    const struct dd_reader *reader);
	void (*put)(struct dd_obj *obj);
};

/**
 * struct dd_cursor - where a dump goes on; lives in the callback's memory
 * @ctx: address of the context, or one above that of the last
 * @index: index of the object in it
 */
struct dd_cursor {
	unsigned long ctx;
	unsigned long index;
};

static struct dd_cursor *dd_cursor(struct netlink_callback *cb)
{
	static_assert(sizeof(struct dd_cursor) <= sizeof(cb->ctx));
	return (struct dd_cursor *)cb->ctx;
}

/* The context with the least address from @from on, counted; or NULL. */
static struct dd_ctx *dd_ctx_from(struct dd_node *node, unsigned long from)
{
	struct dd_ctx *ctx, *best = NULL;

	mutex_lock(&node->lock);
	list_for_each_entry(ctx, &node->ctxs, node_entry) {
		if ((unsigned long)ctx >= from && (!best || ctx < best))
			best = ctx;
	}
	/* In the list, it has not been let go of by its file. */
	if (best)
		dd_ctx_get(best);
	mutex_unlock(&node->lock);
	return best;
}

static int dd_dump_obj(struct sk_buff *skb, struct netlink_callback *cb,
		       struct dd_obj *obj, const struct dd_dump *dump)
{
	struct dd_reader reader = dd_reader_current();
	void *hdr;

	hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			  &dd_family, NLM_F_MULTI, dump->cmd);
	if (!hdr)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, hdr);
	if (dump->fill(skb, obj, &reader)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int dd_dump_ctx(struct sk_buff *skb, struct netlink_callback *cb,
		       struct dd_ctx *ctx, const struct dd_dump *dump)
{
	struct dd_cursor *cur = dd_cursor(cb);
	unsigned long index = cur->index;
	struct dd_obj *obj;
	int err = 0;

	while (!err && (obj = dd_obj_next(ctx, &index, dump->type))) {
		err = dd_dump_obj(skb, cb, obj, dump);
		dump->put(obj);
		if (!err)
			cur->index = index;
	}
	return err;
}

static int dd_dump(struct sk_buff *skb, struct netlink_callback *cb,
		   const struct dd_dump *dump)
{
	struct net *net = sock_net(cb->skb->sk);
	struct dd_cursor *cur = dd_cursor(cb);
	struct dd_ctx *ctx;
	int err = 0;

	/* Zero would mean that nothing is known. */
	cb->seq = atomic64_read(&dd_netlink_net(net)->events) << 1 | 1;
	while (!err && (ctx = dd_ctx_from(dd_node_of(net), cur->ctx))) {
		if (cur->ctx != (unsigned long)ctx) {
			cur->ctx = (unsigned long)ctx;
			cur->index = 0;
		}
		err = dd_dump_ctx(skb, cb, ctx, dump);
		dd_ctx_put(ctx);
		if (!err) {
			cur->ctx++;
			cur->index = 0;
		}
	}
	/* A message that is full goes out, and this is called again. */
	return skb->len ? skb->len : err;
}

static void dd_dump_service_put(struct dd_obj *obj)
{
	dd_service_put(container_of(obj, struct dd_service, obj));
}

static void dd_dump_conn_put(struct dd_obj *obj)
{
	dd_conn_put(container_of(obj, struct dd_conn, obj));
}

static void dd_dump_region_put(struct dd_obj *obj)
{
	dd_region_put(container_of(obj, struct dd_region, obj));
}

static int dd_nl_service_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb)
{
	static const struct dd_dump dump = {
		.cmd = DD_CMD_SERVICE_GET,
		.type = DD_OBJ_SERVICE,
		.fill = dd_fill_service,
		.put = dd_dump_service_put,
	};

	return dd_dump(skb, cb, &dump);
}

static int dd_nl_conn_get_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb)
{
	static const struct dd_dump dump = {
		.cmd = DD_CMD_CONN_GET,
		.type = DD_OBJ_CONN,
		.fill = dd_fill_conn,
		.put = dd_dump_conn_put,
	};

	return dd_dump(skb, cb, &dump);
}

static int dd_nl_region_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb)
{
	static const struct dd_dump dump = {
		.cmd = DD_CMD_REGION_GET,
		.type = DD_OBJ_REGION,
		.fill = dd_fill_region,
		.put = dd_dump_region_put,
	};

	return dd_dump(skb, cb, &dump);
}

/* ---- the family --------------------------------------------------------- */

static const struct nla_policy dd_node_set_nl_policy[DD_A_NODE_UP + 1] = {
	[DD_A_NODE_ID] = NLA_POLICY_MAX(NLA_U32, 4095),
	[DD_A_NODE_MAXNODES] = NLA_POLICY_RANGE(NLA_U32, 1, 4096),
	[DD_A_NODE_UP] = NLA_POLICY_MAX(NLA_U8, 1),
};

/* Requests without a policy take no attributes: the core refuses any. */
static const struct genl_ops dd_nl_ops[] = {
	{
		.cmd		= DD_CMD_NODE_GET,
		.doit		= dd_nl_node_get_doit,
	},
	{
		.cmd		= DD_CMD_NODE_SET,
		.doit		= dd_nl_node_set_doit,
		.policy		= dd_node_set_nl_policy,
		.maxattr	= DD_A_NODE_UP,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= DD_CMD_SERVICE_GET,
		.dumpit		= dd_nl_service_get_dumpit,
	},
	{
		.cmd		= DD_CMD_CONN_GET,
		.dumpit		= dd_nl_conn_get_dumpit,
	},
	{
		.cmd		= DD_CMD_REGION_GET,
		.dumpit		= dd_nl_region_get_dumpit,
	},
	{
		.cmd		= DD_CMD_STAT_GET,
		.doit		= dd_nl_stat_get_doit,
	},
};

static struct genl_family dd_family __ro_after_init = {
	.name		= DD_FAMILY_NAME,
	.version	= DD_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.ops		= dd_nl_ops,
	.n_ops		= ARRAY_SIZE(dd_nl_ops),
	.resv_start_op	= DD_CMD_NODE_GET,
	.mcgrps		= dd_groups,
	.n_mcgrps	= ARRAY_SIZE(dd_groups),
};

static int __net_init dd_netlink_net_init(struct net *net)
{
	mutex_init(&dd_netlink_net(net)->set_lock);
	return 0;
}

static struct pernet_operations dd_netlink_net_ops = {
	.init = dd_netlink_net_init,
	.id = &dd_netlink_net_id,
	.size = sizeof(struct dd_netlink_net),
};

int __init dd_netlink_init(void)
{
	int err;

	get_random_bytes(&dd_ctx_key, sizeof(dd_ctx_key));
	err = register_pernet_subsys(&dd_netlink_net_ops);
	if (err)
		return err;
	err = genl_register_family(&dd_family);
	if (err)
		unregister_pernet_subsys(&dd_netlink_net_ops);
	return err;
}

/* No context is left, and so nothing that could make an event. */
void dd_netlink_exit(void)
{
	genl_unregister_family(&dd_family);
	unregister_pernet_subsys(&dd_netlink_net_ops);
}
