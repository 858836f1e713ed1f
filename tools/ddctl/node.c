// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl node - this node.
 */
#include <linux/dd_netlink.h>

#include "ddctl.h"
#include "nl.h"
#include "words.h"

static int show(int argc, char **argv)
{
	int status = no_arguments(argc, argv);

	return status ? status : ddnl_show(&object_node);
}

static int set_up(bool value)
{
	struct nl_msg *msg;
	struct ddnl nl;
	int status;

	status = ddnl_open(&nl);
	if (status)
		return status;
	msg = ddnl_request(&nl, DD_CMD_NODE_SET, NLM_F_ACK);
	status = ddnl_submit(&nl, &object_node, msg,
			     msg ? nla_put_u8(msg, DD_A_NODE_UP, value) : -1);
	ddnl_close(&nl);
	return status;
}

static int up(int argc, char **argv)
{
	int status = no_arguments(argc, argv);

	return status ? status : set_up(true);
}

static int down(int argc, char **argv)
{
	int status = no_arguments(argc, argv);

	return status ? status : set_up(false);
}

static int set(int argc, char **argv)
{
	struct setting list[] = {
		{ .word = "id", .attr = DD_A_NODE_ID, .max = NODES_TOTAL - 1 },
		{ .word = "max", .attr = DD_A_NODE_MAXNODES,
		  .min = 1, .max = NODES_TOTAL },
		{ .word = "port", .attr = DD_A_NODE_PORT,
		  .min = 1, .max = UINT16_MAX },
		{ }
	};
	struct nl_msg *msg;
	struct ddnl nl;
	int status;

	if (!argc) {
		say("node set wants 'id NUMBER', 'max NUMBER' or 'port NUMBER'");
		return EXIT_USAGE;
	}
	status = parse_settings("node set", list, argc, argv);
	if (!status)
		status = ddnl_open(&nl);
	if (status)
		return status;
	msg = ddnl_request(&nl, DD_CMD_NODE_SET, NLM_F_ACK);
	status = ddnl_submit(&nl, &object_node, msg,
			     msg ? put_settings(msg, list) : -1);
	ddnl_close(&nl);
	return status;
}

static const struct command node = {
	.name = "node",
	.brief = "this node: its number, whether it serves",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "show it", show },
		{ "set", "[id NUMBER] [max NUMBER] [port NUMBER]",
		  "change its number, the number of nodes (while it is down), its UDP port",
		  set },
		{ "up", NULL, "serve", up },
		{ "down", NULL, "stop serving; what is connected stays so", down },
		{ }
	},
};

COMMAND(node);
