/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two nodes of across.sh and the network between them, for a test at node 1.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_TEST_NODES_H
#define DD_TEST_NODES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "dd_harness.h"

/* Run a command at a node, by bash: the shell of the guest has a builtin ip without namespaces. */
static inline int at_node(int node, const char *command)
{
	char line[256];

	snprintf(line, sizeof(line), "bash -c 'ip netns exec dd%d %s' >/dev/null", node, command);
	return system(line);
}

/* A number that ddctl reports at a node; -1 if there is none. */
static inline long long reported(int node, const char *object, const char *filter)
{
	return printed_number("bash -c 'ip netns exec dd%d ddctl -j %s' | jq '%s'", node, object,
			      filter);
}

/* Whether node 1 reports that its peer is in this state. */
static inline bool peer_is(const char *state)
{
	char filter[64];

	snprintf(filter, sizeof(filter), "if .state == \"%s\" then 1 else 0 end", state);
	return reported(1, "peer show 2", filter) == 1;
}

/* Remove the peer of node 1, which ends the session, and add it again. */
static inline int peer_del(void)
{
	return at_node(1, "ddctl peer del 2");
}

static inline int peer_add(void)
{
	return at_node(1, "ddctl peer add 2 10.9.0.2");
}

/* Change what a node sends, by options of netem; NULL: no more. */
static inline int impair(int node, const char *netem)
{
	char command[160];

	if (!netem)
		snprintf(command, sizeof(command), "tc qdisc del dev eth0 root");
	else
		snprintf(command, sizeof(command), "tc qdisc replace dev eth0 root netem %s", netem);
	return at_node(node, command);
}

static inline int impair_both(const char *netem)
{
	return impair(1, netem) ?: impair(2, netem);
}

static inline int cut(void)
{
	return impair_both("loss 100%");
}

static inline int heal(void)
{
	return impair_both(NULL);
}

#define USUAL	5000	/* ms; the dead time of a session unless it is changed */

/* Change the dead time of both nodes, in ms. */
static inline int dead_time(int ms)
{
	char command[64];
	int node;

	for (node = 1; node <= 2; node++) {
		snprintf(command, sizeof(command), "ddctl peer set %d dead-time %d", 3 - node, ms);
		if (at_node(node, command))
			return -1;
	}
	return 0;
}

#endif /* DD_TEST_NODES_H */
