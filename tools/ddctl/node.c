// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl node - this node.
 */
#include <linux/dd_netlink.h>

#include "ddctl.h"
#include "nodes.h"

static int change(const struct setting *list)
{
	struct ddnl nl;
	int status = ddnl_open(&nl);

	if (status)
		return status;
	status = nodes_set(&nl, list);
	ddnl_close(&nl);
	return status;
}

static int change_up(bool up)
{
	struct setting list[] = { SETTING_UP, { } };

	setting_give(&list[0], true, up);
	return change(list);
}

static int up(int argc, char **argv)
{
	return change_up(true);
}

static int down(int argc, char **argv)
{
	return change_up(false);
}

static int set(int argc, char **argv)
{
	struct setting list[] = { SETTING_ID, SETTING_MAX, SETTING_PORT, { } };
	int status;

	if (!argc)
		return fail(EXIT_USAGE,
			    "node set needs 'id NUMBER', 'max NUMBER' or 'port NUMBER'");
	status = parse_settings("node set", list, argc, argv);
	return status ? status : change(list);
}

static const struct command node = {
	.name = "node",
	.brief = "this node: its number, whether it serves",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "show it", .show = &object_node },
		{ "set", "[id NUMBER] [max NUMBER] [port NUMBER]",
		  "change its number, the number of nodes (while it is down), its UDP port",
		  .run = set },
		{ "up", NULL, "serve", .run = up },
		{ "down", NULL, "stop serving; connections stay", .run = down },
		{ }
	},
};

COMMAND(node);
