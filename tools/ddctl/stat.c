// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl stat - counters of this node.
 */
#include "ddctl.h"
#include "object.h"

static const struct command stat = {
	.name = "stat",
	.brief = "counters of this node",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "show them", .show = &object_stat },
		{ }
	},
};

COMMAND(stat);
