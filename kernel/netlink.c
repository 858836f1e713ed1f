// SPDX-License-Identifier: GPL-2.0-only
/*
 * Administration by generic netlink: Documentation/netlink/specs/dd.yaml.
 *
 * Requests refer to the network namespace of their socket.
 */
#include <linux/module.h>
#include <net/netns/generic.h>

#include "netlink.h"
#include "netlink_msg.h"
#include "nic.h"
#include "peer.h"

static unsigned int dd_netlink_net_id;

struct dd_netlink_net *dd_netlink_net(const struct net *net)
{
	return net_generic(net, dd_netlink_net_id);
}

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
	    nla_put_u32(skb, DD_A_NODE_PORT, port))
		return -EMSGSIZE;
	return nla_put_string(skb, DD_A_NODE_VERSION,
			      THIS_MODULE->version ? : "unknown");
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
	[DD_STAT_UNKNOWN_PEER] = DD_A_STAT_STRANGERS,
	[DD_STAT_BAD_SUMS] = DD_A_STAT_BAD_SUMS,
	[DD_STAT_DIRECT] = DD_A_STAT_DIRECT,
	[DD_STAT_NO_ROOM] = DD_A_STAT_NO_ROOM,
};

/* Every counter has an attribute. */
static_assert(DD_STAT_MAX + 1 == DD_A_STAT_MAX);

/*
 * Direct messages are added to DD_STAT_DIRECT when their connection ends; before, only
 * the sender counts them. If a connection ends during the sum, repeat it.
 */
static void dd_stat_sum(struct dd_node *node, struct dd_stats *sum)
{
	u64 *direct = &sum->v[DD_STAT_DIRECT], before, alive;
	int tries = 8;

	dd_node_stats(node, sum);
	do {
		before = *direct;
		alive = dd_direct_alive(node);
		dd_node_stats(node, sum);
	} while (*direct != before && --tries);
	*direct = before + alive;
}

static int dd_fill_stat(struct sk_buff *skb, struct dd_node *node)
{
	struct dd_stats sum;
	int i, err = 0;

	dd_stat_sum(node, &sum);
	for (i = 0; i < DD_STAT_MAX && !err; i++)
		err = dd_fill_u64(skb, dd_stat_attrs[i], sum.v[i],
				  DD_A_STAT_PAD);
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

static int dd_nl_node_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return dd_reply(info, dd_fill_node);
}

static int dd_nl_stat_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return dd_reply(info, dd_fill_stat);
}

static int dd_node_apply(struct dd_node *node, struct genl_info *info)
{
	struct nlattr *id = info->attrs[DD_A_NODE_ID];
	struct nlattr *max = info->attrs[DD_A_NODE_MAXNODES];
	struct nlattr *port = info->attrs[DD_A_NODE_PORT];
	struct nlattr *up = info->attrs[DD_A_NODE_UP];
	bool new_up = up && nla_get_u8(up), was_up = READ_ONCE(node->up);
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

	err = dd_node_set(node, &change, &why);
	if (err)
		return dd_nl_refuse(info, err, &why);
	if (id || max || port)
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
	    !info->attrs[DD_A_NODE_UP] && !info->attrs[DD_A_NODE_PORT]) {
		NL_SET_ERR_MSG(info->extack,
			       "nothing to change; give id, maxnodes, port or up");
		return -EINVAL;
	}
	mutex_lock(&nn->set_lock);
	err = dd_node_apply(dd_node_asked(info), info);
	mutex_unlock(&nn->set_lock);
	return err;
}

/* ---- the family --------------------------------------------------------- */

/* Limits in a policy itself have 16 bits; 6.1 wants these not to be const. */
static struct netlink_range_validation dd_port_range = {
	.min = 1,
	.max = 65535,
};

static struct netlink_range_validation dd_dead_time_range = {
	.min = 100,
	.max = 3600000,
};

static const struct nla_policy dd_node_set_nl_policy[DD_A_NODE_PORT + 1] = {
	[DD_A_NODE_ID] = NLA_POLICY_MAX(NLA_U32, 4095),
	[DD_A_NODE_MAXNODES] = NLA_POLICY_RANGE(NLA_U32, 1, 4096),
	[DD_A_NODE_UP] = NLA_POLICY_MAX(NLA_U8, 1),
	[DD_A_NODE_PORT] = NLA_POLICY_FULL_RANGE(NLA_U32, &dd_port_range),
};

static const struct nla_policy dd_peer_get_nl_policy[DD_A_PEER_NUMBER + 1] = {
	[DD_A_PEER_NUMBER] = NLA_POLICY_MAX(NLA_U32, 4095),
};

static const struct nla_policy dd_peer_add_nl_policy[DD_A_PEER_PAYLOAD_CRC + 1] = {
	[DD_A_PEER_NUMBER] = NLA_POLICY_MAX(NLA_U32, 4095),
	[DD_A_PEER_ADDRESS] = NLA_POLICY_RANGE(NLA_BINARY, 16, 28),
	[DD_A_PEER_DEAD_TIME] = NLA_POLICY_FULL_RANGE(NLA_U32, &dd_dead_time_range),
	[DD_A_PEER_PAYLOAD_CRC] = NLA_POLICY_MAX(NLA_U8, 1),
};

static const struct nla_policy dd_peer_set_nl_policy[DD_A_PEER_PAYLOAD_CRC + 1] = {
	[DD_A_PEER_NUMBER] = NLA_POLICY_MAX(NLA_U32, 4095),
	[DD_A_PEER_ADDRESS] = NLA_POLICY_RANGE(NLA_BINARY, 16, 28),
	[DD_A_PEER_DEAD_TIME] = NLA_POLICY_FULL_RANGE(NLA_U32, &dd_dead_time_range),
	[DD_A_PEER_PAYLOAD_CRC] = NLA_POLICY_MAX(NLA_U8, 1),
};

static const struct nla_policy dd_peer_del_nl_policy[DD_A_PEER_NUMBER + 1] = {
	[DD_A_PEER_NUMBER] = NLA_POLICY_MAX(NLA_U32, 4095),
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
		.maxattr	= DD_A_NODE_PORT,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= DD_CMD_SERVICE_GET,
		.start		= dd_nl_obj_start,
		.dumpit		= dd_nl_service_get_dumpit,
	},
	{
		.cmd		= DD_CMD_CONN_GET,
		.start		= dd_nl_obj_start,
		.dumpit		= dd_nl_conn_get_dumpit,
	},
	{
		.cmd		= DD_CMD_REGION_GET,
		.start		= dd_nl_obj_start,
		.dumpit		= dd_nl_region_get_dumpit,
	},
	{
		.cmd		= DD_CMD_STAT_GET,
		.doit		= dd_nl_stat_get_doit,
	},
	{
		.cmd		= DD_CMD_PEER_GET,
		.doit		= dd_nl_peer_get_doit,
		.start		= dd_nl_peer_get_start,
		.dumpit		= dd_nl_peer_get_dumpit,
		.policy		= dd_peer_get_nl_policy,
		.maxattr	= DD_A_PEER_NUMBER,
	},
	{
		.cmd		= DD_CMD_PEER_ADD,
		.doit		= dd_nl_peer_add_doit,
		.policy		= dd_peer_add_nl_policy,
		.maxattr	= DD_A_PEER_PAYLOAD_CRC,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= DD_CMD_PEER_SET,
		.doit		= dd_nl_peer_set_doit,
		.policy		= dd_peer_set_nl_policy,
		.maxattr	= DD_A_PEER_PAYLOAD_CRC,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= DD_CMD_PEER_DEL,
		.doit		= dd_nl_peer_del_doit,
		.policy		= dd_peer_del_nl_policy,
		.maxattr	= DD_A_PEER_NUMBER,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
};

struct genl_family dd_family __ro_after_init = {
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

	err = register_pernet_subsys(&dd_netlink_net_ops);
	if (err)
		return err;
	err = genl_register_family(&dd_family);
	if (err)
		unregister_pernet_subsys(&dd_netlink_net_ops);
	return err;
}

/* Called without contexts and peers, so no event can be sent any more. */
void dd_netlink_exit(void)
{
	genl_unregister_family(&dd_family);
	unregister_pernet_subsys(&dd_netlink_net_ops);
}
