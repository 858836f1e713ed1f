/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Definitions shared by the files that build netlink messages.
 */
#ifndef _DD_NETLINK_MSG_H
#define _DD_NETLINK_MSG_H

#include <linux/pid_namespace.h>
#include <linux/user_namespace.h>
#include <net/genetlink.h>
#include <uapi/linux/dd_netlink.h>

#include "ctx.h"
#include "node.h"

/* Before these flags, a group had the flag of a request. */
#ifndef GENL_MCAST_CAP_NET_ADMIN
#define GENL_MCAST_CAP_NET_ADMIN	GENL_UNS_ADMIN_PERM
#endif

struct dd_peer;

/**
 * struct dd_netlink_net - netlink state of a network namespace
 * @set_lock: serialises changes of the node, so that events are sent in their order
 * @events: number of the last event, sent or not
 */
struct dd_netlink_net {
	struct mutex set_lock; /* dd_node.peer_lock is taken inside */
	atomic64_t events;
};

/**
 * struct dd_reader - namespaces into which ids in a message are translated
 * @pids: pid namespace, or NULL to leave out process ids
 * @users: user namespace
 */
struct dd_reader {
	struct pid_namespace *pids;
	struct user_namespace *users;
};

extern struct genl_family dd_family;

static inline int dd_fill_u64(struct sk_buff *skb, int attr, u64 value, int pad)
{
	return nla_put_u64_64bit(skb, attr, value, pad);
}

/* Node that a request refers to. */
static inline struct dd_node *dd_node_asked(struct genl_info *info)
{
	return dd_node_of(genl_info_net(info));
}

/* Report @why in the extack of a request, and return @err. */
static inline int dd_nl_refuse(struct genl_info *info, int err,
			       const struct dd_refusal *why)
{
	/* Constant text, as NL_SET_ERR_MSG() requires. */
	info->extack->_msg = why->text;
	if (why->attr)
		NL_SET_BAD_ATTR(info->extack, info->attrs[why->attr]);
	return err;
}

/* netlink.c */
struct dd_netlink_net *dd_netlink_net(const struct net *net);
int dd_fill_node(struct sk_buff *skb, struct dd_node *node);

/* netlink_obj.c: the caller holds a reference to the object */
int dd_fill_service(struct sk_buff *skb, struct dd_obj *obj,
		    const struct dd_reader *reader);
u64 dd_direct_alive(struct dd_node *node);
int dd_fill_conn(struct sk_buff *skb, struct dd_obj *obj,
		 const struct dd_reader *reader);
int dd_nl_obj_start(struct netlink_callback *cb);
int dd_nl_service_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int dd_nl_conn_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int dd_nl_region_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

/* netlink_peer.c; struct dd_peer with dd_node.peer_lock held */
int dd_fill_peer(struct sk_buff *skb, struct dd_peer *peer);
int dd_nl_peer_get_start(struct netlink_callback *cb);
int dd_nl_peer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int dd_nl_peer_get_doit(struct sk_buff *skb, struct genl_info *info);
int dd_nl_peer_add_doit(struct sk_buff *skb, struct genl_info *info);
int dd_nl_peer_set_doit(struct sk_buff *skb, struct genl_info *info);
int dd_nl_peer_del_doit(struct sk_buff *skb, struct genl_info *info);

/* netlink_event.c */
enum {
	DD_GROUP_EVENTS,
	DD_GROUPS
};

extern const struct genl_multicast_group dd_groups[DD_GROUPS];

void dd_event_node(struct dd_node *node, u8 cmd);
unsigned int dd_event_seq(struct net *net);

#endif /* _DD_NETLINK_MSG_H */
