// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl service - services of this node.
 */
#include "ddctl.h"
#include "object.h"

static const struct command service = {
	.name = "service",
	.brief = "services of this node",
	.verbs = (const struct verb[]) {
		{ "show", NULL, "list them: name, owner, connections, memory, messages", .show = &object_service },
		{ }
	},
};

COMMAND(service);
