// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl region - wired memory on this node.
 */
#include "ddctl.h"
#include "object.h"

static const struct command region = {
	.name = "region",
	.brief = "wired memory on this node",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "list it: owner, bytes, whether it is in use", .show = &object_region },
		{ }
	},
};

COMMAND(region);
