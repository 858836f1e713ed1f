// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events, multicast to listeners.
 */
#include "admin/netlink_event.h"
#include "admin/netlink_fill.h"
#include "admin/netlink_gen.h"
#include "cluster/peer.h"
#include "core/hooks.h"
#include "ddp/conn.h"

/* Sequence number of a dump: changes with every event, never 0. */
unsigned int dd_event_seq(struct net *net)
{
	return atomic64_read(&dd_node_of(net)->events) << 1 | 1;
}

/**
 * struct dd_event - an event being built
 * @node: the node
 * @skb: the message
 * @hdr: header of the message
 * @nest: attribute of the object
 */
struct dd_event {
	struct dd_node *node;
	struct sk_buff *skb;
	void *hdr;
	struct nlattr *nest;
};

/* Start an event; false if there are no listeners or an allocation failed. */
static bool dd_event_start(struct dd_event *ev, struct dd_node *node, u8 cmd, int attr)
{
	/* Count every event: dumps detect changes, and listeners detect lost events by it. */
	u64 seq = atomic64_inc_return(&node->events);

	if (!genl_has_listeners(&dd_family, node->net, DD_NLGRP_EVENTS))
		return false;
	ev->skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!ev->skb)
		return false;
	ev->node = node;
	ev->hdr = genlmsg_put(ev->skb, 0, 0, &dd_family, 0, cmd);
	if (ev->hdr && !dd_fill_u64(ev->skb, DD_A_EVENT_SEQ, seq, DD_A_EVENT_PAD)) {
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
	/* If a listener is too slow, its socket reports ENOBUFS. */
	genlmsg_multicast_netns(&dd_family, ev->node->net, ev->skb, 0,
				DD_NLGRP_EVENTS, GFP_KERNEL);
}

static void dd_event_node(struct dd_node *node, u8 cmd)
{
	struct dd_event ev;

	if (dd_event_start(&ev, node, cmd, DD_A_EVENT_NODE))
		dd_event_end(&ev, dd_fill_node(ev.skb, node));
}

static void dd_event_one(struct dd_obj *obj, bool begin)
{
	const struct dd_kind *kind = dd_kind_of(obj);
	struct dd_node *node = obj->ctx->node;
	/* One message goes to readers in any pid namespace, so it has no process ids. */
	struct dd_reader reader = { .users = node->net->user_ns };
	struct dd_event ev;

	if (dd_event_start(&ev, node, begin ? kind->add : kind->del, kind->attr))
		dd_event_end(&ev, kind->fill(ev.skb, obj, &reader));
}

static void dd_event_object(struct dd_obj *obj, bool begin)
{
	struct dd_conn *other = obj->ops == &dd_conn_ops ?
				container_of(obj, struct dd_conn, imp.obj)->other : NULL;

	/* Report the serving end first. It may have been closed meanwhile. */
	if (begin && other && refcount_inc_not_zero(&other->imp.obj.users)) {
		dd_event_one(&other->imp.obj, true);
		dd_conn_put(other);
	}
	dd_event_one(obj, begin);
}

static void dd_event_peer(struct dd_peer *peer, u8 cmd)
{
	struct dd_event ev;

	if (dd_event_start(&ev, peer->node, cmd, DD_A_EVENT_PEER))
		dd_event_end(&ev, dd_fill_peer(ev.skb, peer));
}

const struct dd_event_ops dd_netlink_events = {
	.object = dd_event_object,
	.peer = dd_event_peer,
	.node = dd_event_node,
};
