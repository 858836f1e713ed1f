// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl stat - counters of this node.
 */
#include "ddctl.h"
#include "nl.h"

static int show(int argc, char **argv)
{
	int status = no_arguments(argc, argv);

	return status ? status : ddnl_show(&object_stat);
}

static const struct command stat = {
	.name = "stat",
	.brief = "counters of this node",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "show what has happened since the module was loaded", show },
		{ }
	},
};

COMMAND(stat);
