// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl service, conn, region and stat - what exists on this node.
 */
#include "ddctl.h"
#include "object.h"

/* A command that only prints objects of one kind. */
#define SHOW(cmd, text, verb_text)					\
	static const struct command cmd = {				\
		.name = #cmd,						\
		.brief = text,						\
		.verbs = (const struct verb[]) {			\
			{ "show", NULL, verb_text, .show = &object_##cmd }, \
			{ }						\
		},							\
	};								\
	COMMAND(cmd)

SHOW(service, "services of this node",
     "list them: name, owner, connections, memory, messages");
SHOW(conn, "connections of this node",
     "list both ends of each: owner, peer, messages");
SHOW(region, "wired memory on this node",
     "list it: owner, bytes, whether it is in use");
SHOW(stat, "counters of this node", "show them");
