/* SPDX-License-Identifier: GPL-2.0-only */
/* What netlink messages consist of: netlink_fill.c. */
#ifndef _DD_NETLINK_FILL_H
#define _DD_NETLINK_FILL_H

#include <linux/pid_namespace.h>
#include <linux/user_namespace.h>

#include "compat/genetlink.h"
#include "core/ctx.h"
#include "core/node.h"
#include "core/node_conf.h"

struct dd_peer;

/**
 * struct dd_reader - namespaces into which ids in a message are translated
 * @pids: pid namespace, or NULL to leave out process ids
 * @users: user namespace
 */
struct dd_reader {
	struct pid_namespace *pids;
	struct user_namespace *users;
};

/**
 * struct dd_kind - how to report objects of a type
 * @get: DD_CMD_*_GET of its dump
 * @add: DD_CMD_*_ADD of its events, if it has any
 * @del: DD_CMD_*_DEL
 * @attr: DD_A_EVENT_* that contains the object
 * @ops: the type
 * @uid: return the user of an object
 * @fill: put an object into a message; the caller holds a reference to it
 */
struct dd_kind {
	u8 get;
	u8 add;
	u8 del;
	u8 attr;
	const struct dd_obj_ops *ops;
	kuid_t (*uid)(const struct dd_obj *obj);
	int (*fill)(struct sk_buff *skb, struct dd_obj *obj,
		    const struct dd_reader *reader);
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

int dd_fill_node(struct sk_buff *skb, struct dd_node *node);
int dd_fill_peer(struct sk_buff *skb, struct dd_peer *peer);
const struct dd_kind *dd_kind_of(const struct dd_obj *obj);

#endif /* _DD_NETLINK_FILL_H */
