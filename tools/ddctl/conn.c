// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl conn - connections of this node.
 */
#include "ddctl.h"
#include "object.h"

static const struct command conn = {
	.name = "conn",
	.brief = "connections of this node",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "list both ends of each: owner, peer, messages", .show = &object_conn },
		{ }
	},
};

COMMAND(conn);
