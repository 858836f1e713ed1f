/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dead time of the session between the two nodes of across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DEAD_TIME_H
#define DEAD_TIME_H

#include <stdio.h>
#include <stdlib.h>
#include "peer.h"

#define USUAL	5000	/* ms */

static inline int dead_time(int ms)
{
	char command[80];

	snprintf(command, sizeof(command), "ddctl peer set %d dead-time %d",
		 far_node(), ms);
	return system(command);
}

/* Run a command at the other node, by bash: the shell of the guest has a builtin ip. */
static inline int dead_time_there(int ms)
{
	char command[120];

	snprintf(command, sizeof(command),
		 "bash -c 'ip netns exec dd2 ddctl peer set %d dead-time %d'",
		 near_node(), ms);
	return system(command);
}

#endif /* DEAD_TIME_H */
