// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl service - services of this node.
 */
#include "ddctl.h"
#include "nl.h"

static int show(int argc, char **argv)
{
	int status = no_arguments(argc, argv);

	return status ? status : ddnl_show(&object_service);
}

static const struct command service = {
	.name = "service",
	.brief = "services of this node",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "list them: name, owner, connections, memory, messages", show },
		{ }
	},
};

COMMAND(service);
