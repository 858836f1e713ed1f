// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests about the node.
 */
#include "admin/netlink_fill.h"
#include "admin/netlink_gen.h"
#include "admin/netlink_obj.h"
#include "cluster/peer.h"

static const u8 dd_stat_attrs[DD_STAT_MAX] = {
	[DD_STAT_OPS] = DD_A_STAT_OPS,
	[DD_STAT_BYTES] = DD_A_STAT_BYTES,
	[DD_STAT_NOTES] = DD_A_STAT_NOTES,
	[DD_STAT_WITHHELD] = DD_A_STAT_WITHHELD,
	[DD_STAT_WAKEUPS] = DD_A_STAT_WAKEUPS,
	[DD_STAT_REFUSED] = DD_A_STAT_REFUSED,
	[DD_STAT_CONNECTS] = DD_A_STAT_CONNECTS,
	[DD_STAT_CLOSES] = DD_A_STAT_CLOSES,
	[DD_STAT_UNKNOWN_PEER] = DD_A_STAT_STRANGERS,
	[DD_STAT_BAD_SUMS] = DD_A_STAT_BAD_SUMS,
	[DD_STAT_DIRECT] = DD_A_STAT_DIRECT,
	[DD_STAT_NO_ROOM] = DD_A_STAT_NO_ROOM,
};

/* Every counter has an attribute. */
static_assert(DD_STAT_MAX + 1 == DD_A_STAT_MAX);

/*
 * When a connection ends, its direct messages are added to DD_STAT_DIRECT. Until then only the
 * sender counts them. If a connection ends while they are summed up, sum them up again.
 */
static int dd_fill_stat(struct sk_buff *skb, struct dd_node *node)
{
	int tries = 8, i, err = 0;
	struct dd_stats sum;
	u64 *direct = &sum.v[DD_STAT_DIRECT], before, alive;

	dd_node_stats(node, &sum);
	do {
		before = *direct;
		alive = dd_direct_alive(node);
		dd_node_stats(node, &sum);
	} while (*direct != before && --tries);
	*direct = before + alive;
	for (i = 0; i < DD_STAT_MAX && !err; i++)
		err = dd_fill_u64(skb, dd_stat_attrs[i], sum.v[i], DD_A_STAT_PAD);
	return err;
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

int dd_nl_node_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return dd_reply(info, dd_fill_node);
}

int dd_nl_stat_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return dd_reply(info, dd_fill_stat);
}

int dd_nl_node_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *id = info->attrs[DD_A_NODE_ID];
	struct nlattr *max = info->attrs[DD_A_NODE_MAXNODES];
	struct nlattr *port = info->attrs[DD_A_NODE_PORT];
	struct nlattr *up = info->attrs[DD_A_NODE_UP];
	bool new_up = up && nla_get_u8(up);
	u16 new_port = port ? nla_get_u32(port) : 0;
	u32 new_id = id ? nla_get_u32(id) : 0;
	u32 new_max = max ? nla_get_u32(max) : 0;
	struct dd_node_change change = {
		.id = id ? &new_id : NULL,
		.max = max ? &new_max : NULL,
		.port = port ? &new_port : NULL,
		.up = up ? &new_up : NULL,
	};
	struct dd_refusal why = {};
	int err;

	if (!id && !max && !up && !port) {
		NL_SET_ERR_MSG(info->extack,
			       "nothing to change; give id, maxnodes, port or up");
		return -EINVAL;
	}
	err = dd_peers_set_node(dd_node_asked(info), &change, &why);
	return err ? dd_nl_refuse(info, err, &why) : 0;
}
