// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dumps of the objects of contexts.
 *
 * A dump visits contexts by ascending serial, which never changes, and the objects of
 * each by index. An object that exists during the whole dump is reported exactly once.
 */
#include <linux/sched/signal.h>
#include <net/sock.h>

#include "admin/netlink_event.h"
#include "admin/netlink_fill.h"
#include "admin/netlink_gen.h"
#include "admin/netlink_obj.h"
#include "core/ctx.h"
#include "core/node.h"
#include "ddp/conn.h"
#include "direct/direct.h"

/* Whether the reader was killed: ends a loop over all contexts. */
static bool dd_dump_killed(void)
{
	cond_resched();
	return fatal_signal_pending(current);
}

/**
 * struct dd_cursor - position of a dump, in the memory of the callback
 * @ctx: serial of the context, or the serial after the last one
 * @index: index of the next object in it
 * @all: report all objects, not only those of the requesting user; decided at the
 *	start of the dump
 */
struct dd_cursor {
	unsigned long ctx;
	unsigned long index;
	bool all;
};

static struct dd_cursor *dd_cursor(struct netlink_callback *cb)
{
	static_assert(sizeof(struct dd_cursor) <= sizeof(cb->ctx));
	return (struct dd_cursor *)cb->ctx;
}

/**
 * dd_direct_alive() - count messages sent directly on open connections
 * @node: the node
 *
 * Return: their number, as counted by the senders; incomplete if the caller was killed.
 */
u64 dd_direct_alive(struct dd_node *node)
{
	unsigned long from = 0, index;
	struct dd_ctx *ctx;
	struct dd_obj *obj;
	u64 sum = 0;

	while (!dd_dump_killed() && (ctx = dd_node_ctx(node, from))) {
		index = 0;
		while ((obj = dd_obj_next(ctx, &index, &dd_conn_ops))) {
			struct dd_conn *conn = container_of(obj, struct dd_conn, imp.obj);

			sum += dd_direct_open(&conn->imp);
			dd_conn_put(conn);
			cond_resched();
		}
		from = ctx->serial + 1;
		dd_ctx_put(ctx);
	}
	return sum;
}

static int dd_dump_obj(struct sk_buff *skb, struct netlink_callback *cb,
		       struct dd_obj *obj, const struct dd_kind *kind)
{
	/* A dump runs in the context of its reader. */
	struct dd_reader reader = {
		.pids = task_active_pid_ns(current),
		.users = current_user_ns(),
	};
	void *hdr;

	hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			  &dd_family, NLM_F_MULTI, kind->get);
	if (!hdr)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, hdr);
	if (kind->fill(skb, obj, &reader)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int dd_dump_ctx(struct sk_buff *skb, struct netlink_callback *cb,
		       struct dd_ctx *ctx, u8 get)
{
	struct dd_cursor *cur = dd_cursor(cb);
	unsigned long index = cur->index;
	const struct dd_kind *kind;
	struct dd_obj *obj;
	int err = 0;

	while (!err && (obj = dd_obj_next(ctx, &index, NULL))) {
		kind = dd_kind_of(obj);
		/* A user sees its own objects. */
		if (kind && kind->get == get &&
		    (cur->all || uid_eq(kind->uid(obj), NETLINK_CB(cb->skb).creds.uid)))
			err = dd_dump_obj(skb, cb, obj, kind);
		dd_obj_put(obj);
		if (!err)
			cur->index = index;
		cond_resched();
	}
	return err;
}

static int dd_dump(struct sk_buff *skb, struct netlink_callback *cb, u8 get)
{
	struct net *net = sock_net(cb->skb->sk);
	struct dd_cursor *cur = dd_cursor(cb);
	struct dd_ctx *ctx;
	int err = 0;

	cb->seq = dd_event_seq(net);
	while (!err && (ctx = dd_node_ctx(dd_node_of(net), cur->ctx))) {
		if (cur->ctx != ctx->serial) {
			cur->ctx = ctx->serial;
			cur->index = 0;
		}
		err = dd_dump_ctx(skb, cb, ctx, get);
		dd_ctx_put(ctx);
		if (!err) {
			cur->ctx++;
			cur->index = 0;
			if (dd_dump_killed())
				err = -EINTR;
		}
	}
	/* If a message is full, netlink sends it and calls again. */
	return skb->len ? skb->len : err;
}

/* Start of a dump of objects. */
int dd_nl_obj_start(struct netlink_callback *cb)
{
	const struct net *net = sock_net(cb->skb->sk);

	dd_cursor(cb)->all = netlink_ns_capable(cb->skb, net->user_ns, CAP_NET_ADMIN);
	return 0;
}

#define DD_DUMPIT(kind, cmd)						      \
int dd_nl_##kind##_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb) \
{									      \
	return dd_dump(skb, cb, cmd);					      \
}

DD_DUMPIT(service, DD_CMD_SERVICE_GET)
DD_DUMPIT(conn, DD_CMD_CONN_GET)
DD_DUMPIT(region, DD_CMD_REGION_GET)
DD_DUMPIT(segment, DD_CMD_SEGMENT_GET)
DD_DUMPIT(import, DD_CMD_IMPORT_GET)
