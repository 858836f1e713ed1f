// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl conn - connections of this node.
 */
#include "ddctl.h"
#include "nl.h"

static int show(int argc, char **argv)
{
	int status = no_arguments(argc, argv);

	return status ? status : ddnl_show(&object_conn);
}

static const struct command conn = {
	.name = "conn",
	.brief = "connections of this node",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "list both ends of each: owner, peer, messages", show },
		{ }
	},
};

COMMAND(conn);
