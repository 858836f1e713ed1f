// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl region - wired memory on this node.
 */
#include "ddctl.h"
#include "nl.h"

static int show(int argc, char **argv)
{
	int status = no_arguments(argc, argv);

	return status ? status : ddnl_show(&object_region);
}

static const struct command region = {
	.name = "region",
	.brief = "wired memory on this node",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "list it: owner, bytes, whether it is in use", show },
		{ }
	},
};

COMMAND(region);
