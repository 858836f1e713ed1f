/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/dd.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_DD_GEN_H
#define _LINUX_DD_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/dd_netlink.h>
#include <linux/dd.h>
#include <linux/dd_mem.h>
#include <linux/dd_mem.h>
#include <linux/dd_mem.h>
#include <linux/dd_mem.h>

/* Ops table for dd */
extern const struct genl_split_ops dd_nl_ops[13];

int dd_nl_obj_start(struct netlink_callback *cb);
int dd_nl_peer_get_start(struct netlink_callback *cb);

int dd_nl_node_get_doit(struct sk_buff *skb, struct genl_info *info);
int dd_nl_node_set_doit(struct sk_buff *skb, struct genl_info *info);
int dd_nl_service_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int dd_nl_conn_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int dd_nl_region_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int dd_nl_stat_get_doit(struct sk_buff *skb, struct genl_info *info);
int dd_nl_peer_get_doit(struct sk_buff *skb, struct genl_info *info);
int dd_nl_peer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int dd_nl_peer_add_doit(struct sk_buff *skb, struct genl_info *info);
int dd_nl_peer_set_doit(struct sk_buff *skb, struct genl_info *info);
int dd_nl_peer_del_doit(struct sk_buff *skb, struct genl_info *info);
int dd_nl_segment_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int dd_nl_import_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

enum {
	DD_NLGRP_EVENTS,
};

#endif /* _LINUX_DD_GEN_H */
