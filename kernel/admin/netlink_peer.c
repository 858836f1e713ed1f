// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests about peers.
 */
#include <net/sock.h>

#include "admin/netlink_event.h"
#include "admin/netlink_fill.h"
#include "admin/netlink_gen.h"
#include "cluster/peer.h"
#include "compat/compat.h"

/* Size of a message about a peer with DD_UDP_COUNTERS_MAX counters. */
#define DD_PEER_MSG_SIZE	(8u << 10)

static int dd_fill_peer_all(struct sk_buff *skb, struct dd_peer *peer)
{
	struct nlattr *nest;
	const char *name;
	unsigned int i;
	u64 value = 0;

	if (dd_fill_peer(skb, peer))
		return -EMSGSIZE;
	for (i = 0; i < DD_UDP_COUNTERS_MAX; i++) {
		name = dd_udp_counter(peer->link, i, &value);
		if (!name)
			return 0;
		nest = nla_nest_start(skb, DD_A_PEER_COUNTERS);
		if (!nest || nla_put_string(skb, DD_A_COUNTER_NAME, name) ||
		    dd_fill_u64(skb, DD_A_COUNTER_VALUE, value, DD_A_COUNTER_PAD))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	WARN_ON_ONCE(dd_udp_counter(peer->link, i, &value));
	return 0;
}

int dd_nl_peer_get_start(struct netlink_callback *cb)
{
	cb->min_dump_alloc = DD_PEER_MSG_SIZE;
	return 0;
}

/* Dump the peers by ascending number; cb->args[0] is the number to continue from. */
int dd_nl_peer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(cb->skb->sk);
	struct dd_node *node = dd_node_of(net);
	struct dd_peer *peer;
	unsigned long index;
	int err = 0;
	void *hdr;

	if (dd_dump_attrs(cb)[DD_A_PEER_NUMBER]) {
		NL_SET_ERR_MSG(cb->extack,
			       "a dump lists all peers; request one without NLM_F_DUMP");
		return -EINVAL;
	}
	cb->seq = dd_event_seq(net);
	mutex_lock(&node->peer_lock);
	xa_for_each_start(&node->peers, index, peer, cb->args[0]) {
		err = -EMSGSIZE;
		hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				  &dd_family, NLM_F_MULTI, DD_CMD_PEER_GET);
		if (!hdr)
			break;
		genl_dump_check_consistent(cb, hdr);
		err = dd_fill_peer_all(skb, peer);
		if (err) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
		cb->args[0] = index + 1;
	}
	mutex_unlock(&node->peer_lock);
	/* If a message is full, netlink sends it and calls again. */
	return skb->len ? skb->len : err;
}

/* Read the number of the peer, a mandatory attribute. */
static int dd_peer_asked(struct genl_info *info, u32 *number)
{
	if (!info->attrs[DD_A_PEER_NUMBER]) {
		NL_SET_ERR_MSG(info->extack, "the number of the peer is missing");
		return -EINVAL;
	}
	*number = nla_get_u32(info->attrs[DD_A_PEER_NUMBER]);
	return 0;
}

int dd_nl_peer_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dd_node *node = dd_node_asked(info);
	struct sk_buff *reply;
	struct dd_peer *peer;
	u32 number;
	void *hdr;
	int err;

	err = dd_peer_asked(info, &number);
	if (err)
		return err;
	reply = nlmsg_new(DD_PEER_MSG_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	hdr = genlmsg_put_reply(reply, info, &dd_family, 0, DD_CMD_PEER_GET);
	mutex_lock(&node->peer_lock);
	peer = xa_load(&node->peers, number);
	if (!peer) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DD_A_PEER_NUMBER],
				    "no such peer");
		err = -ENOENT;
	} else {
		err = hdr ? dd_fill_peer_all(reply, peer) : -EMSGSIZE;
	}
	mutex_unlock(&node->peer_lock);
	if (err) {
		nlmsg_free(reply);
		return err;
	}
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);
}

static int dd_peer_change(struct genl_info *info,
			  int (*apply)(struct dd_node *node, u32 number,
				       const struct dd_peer_change *change,
				       struct dd_refusal *why))
{
	struct nlattr *addr = info->attrs[DD_A_PEER_ADDRESS];
	struct nlattr *dead = info->attrs[DD_A_PEER_DEAD_TIME];
	struct nlattr *crc = info->attrs[DD_A_PEER_PAYLOAD_CRC];
	u32 dead_ms = dead ? nla_get_u32(dead) : 0;
	bool payload_crc = crc && nla_get_u8(crc);
	union dd_peer_addr new_addr;
	struct dd_peer_change change = {
		.addr = addr ? &new_addr : NULL,
		.addr_len = addr ? nla_len(addr) : 0,
		.dead_ms = dead ? &dead_ms : NULL,
		.payload_crc = crc ? &payload_crc : NULL,
	};
	struct dd_refusal why = {};
	u32 number;
	int err;

	err = dd_peer_asked(info, &number);
	if (err)
		return err;
	if (addr)
		nla_memcpy(&new_addr, addr, sizeof(new_addr));
	err = apply(dd_node_asked(info), number, &change, &why);
	return err ? dd_nl_refuse(info, err, &why) : 0;
}

int dd_nl_peer_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	if (info->attrs[DD_A_PEER_NUMBER] && !info->attrs[DD_A_PEER_ADDRESS]) {
		NL_SET_ERR_MSG(info->extack, "the address of the peer is missing");
		return -EINVAL;
	}
	return dd_peer_change(info, dd_peer_add);
}

int dd_nl_peer_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	if (info->attrs[DD_A_PEER_NUMBER] && !info->attrs[DD_A_PEER_ADDRESS] &&
	    !info->attrs[DD_A_PEER_DEAD_TIME] && !info->attrs[DD_A_PEER_PAYLOAD_CRC]) {
		NL_SET_ERR_MSG(info->extack,
			       "nothing to change; give address, dead-time or payload-crc");
		return -EINVAL;
	}
	return dd_peer_change(info, dd_peer_set);
}

int dd_nl_peer_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct dd_refusal why = {};
	u32 number;
	int err;

	err = dd_peer_asked(info, &number);
	if (err)
		return err;
	err = dd_peer_del(dd_node_asked(info), number, &why);
	return err ? dd_nl_refuse(info, err, &why) : 0;
}
