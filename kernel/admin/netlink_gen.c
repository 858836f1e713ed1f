// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/dd.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/linux/dd_netlink.h>
#include <linux/dd.h>
#include <linux/dd_mem.h>
#include <linux/dd_mem.h>
#include <linux/dd_mem.h>
#include <linux/dd_mem.h>

/* Integer value ranges */
static const struct netlink_range_validation dd_a_node_port_range = {
	.min	= 1ULL,
	.max	= 65535ULL,
};

static const struct netlink_range_validation dd_a_peer_dead_time_range = {
	.min	= 100ULL,
	.max	= 3600000ULL,
};

/* DD_CMD_NODE_SET - do */
static const struct nla_policy dd_node_set_nl_policy[DD_A_NODE_PORT + 1] = {
	[DD_A_NODE_ID] = NLA_POLICY_MAX(NLA_U32, 4095),
	[DD_A_NODE_MAXNODES] = NLA_POLICY_RANGE(NLA_U32, 1, 4096),
	[DD_A_NODE_UP] = NLA_POLICY_MAX(NLA_U8, 1),
	[DD_A_NODE_PORT] = NLA_POLICY_FULL_RANGE(NLA_U32, &dd_a_node_port_range),
};

/* DD_CMD_PEER_GET - do */
static const struct nla_policy dd_peer_get_do_nl_policy[DD_A_PEER_NUMBER + 1] = {
	[DD_A_PEER_NUMBER] = NLA_POLICY_MAX(NLA_U32, 4095),
};

/* DD_CMD_PEER_GET - dump */
static const struct nla_policy dd_peer_get_dump_nl_policy[DD_A_PEER_NUMBER + 1] = {
	[DD_A_PEER_NUMBER] = NLA_POLICY_MAX(NLA_U32, 4095),
};

/* DD_CMD_PEER_ADD - do */
static const struct nla_policy dd_peer_add_nl_policy[DD_A_PEER_PAYLOAD_CRC + 1] = {
	[DD_A_PEER_NUMBER] = NLA_POLICY_MAX(NLA_U32, 4095),
	[DD_A_PEER_ADDRESS] = { .type = NLA_BINARY, },
	[DD_A_PEER_DEAD_TIME] = NLA_POLICY_FULL_RANGE(NLA_U32, &dd_a_peer_dead_time_range),
	[DD_A_PEER_PAYLOAD_CRC] = NLA_POLICY_MAX(NLA_U8, 1),
};

/* DD_CMD_PEER_SET - do */
static const struct nla_policy dd_peer_set_nl_policy[DD_A_PEER_PAYLOAD_CRC + 1] = {
	[DD_A_PEER_NUMBER] = NLA_POLICY_MAX(NLA_U32, 4095),
	[DD_A_PEER_ADDRESS] = { .type = NLA_BINARY, },
	[DD_A_PEER_DEAD_TIME] = NLA_POLICY_FULL_RANGE(NLA_U32, &dd_a_peer_dead_time_range),
	[DD_A_PEER_PAYLOAD_CRC] = NLA_POLICY_MAX(NLA_U8, 1),
};

/* DD_CMD_PEER_DEL - do */
static const struct nla_policy dd_peer_del_nl_policy[DD_A_PEER_NUMBER + 1] = {
	[DD_A_PEER_NUMBER] = NLA_POLICY_MAX(NLA_U32, 4095),
};

/* Ops table for dd */
const struct genl_split_ops dd_nl_ops[13] = {
	{
		.cmd	= DD_CMD_NODE_GET,
		.doit	= dd_nl_node_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= DD_CMD_NODE_SET,
		.doit		= dd_nl_node_set_doit,
		.policy		= dd_node_set_nl_policy,
		.maxattr	= DD_A_NODE_PORT,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= DD_CMD_SERVICE_GET,
		.start	= dd_nl_obj_start,
		.dumpit	= dd_nl_service_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= DD_CMD_CONN_GET,
		.start	= dd_nl_obj_start,
		.dumpit	= dd_nl_conn_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= DD_CMD_REGION_GET,
		.start	= dd_nl_obj_start,
		.dumpit	= dd_nl_region_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= DD_CMD_STAT_GET,
		.doit	= dd_nl_stat_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= DD_CMD_PEER_GET,
		.doit		= dd_nl_peer_get_doit,
		.policy		= dd_peer_get_do_nl_policy,
		.maxattr	= DD_A_PEER_NUMBER,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= DD_CMD_PEER_GET,
		.start		= dd_nl_peer_get_start,
		.dumpit		= dd_nl_peer_get_dumpit,
		.policy		= dd_peer_get_dump_nl_policy,
		.maxattr	= DD_A_PEER_NUMBER,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= DD_CMD_PEER_ADD,
		.doit		= dd_nl_peer_add_doit,
		.policy		= dd_peer_add_nl_policy,
		.maxattr	= DD_A_PEER_PAYLOAD_CRC,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= DD_CMD_PEER_SET,
		.doit		= dd_nl_peer_set_doit,
		.policy		= dd_peer_set_nl_policy,
		.maxattr	= DD_A_PEER_PAYLOAD_CRC,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= DD_CMD_PEER_DEL,
		.doit		= dd_nl_peer_del_doit,
		.policy		= dd_peer_del_nl_policy,
		.maxattr	= DD_A_PEER_NUMBER,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= DD_CMD_SEGMENT_GET,
		.start	= dd_nl_obj_start,
		.dumpit	= dd_nl_segment_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= DD_CMD_IMPORT_GET,
		.start	= dd_nl_obj_start,
		.dumpit	= dd_nl_import_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
};

static const struct genl_multicast_group dd_nl_mcgrps[] = {
	[DD_NLGRP_EVENTS] = { "events", },
};
