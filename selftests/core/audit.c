// SPDX-License-Identifier: GPL-2.0-only
/*
 * Count the objects that are left after a test.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit.h"

int audit_count(void)
{
	FILE *f = popen("for o in service conn region segment import; do ddctl -j $o || "
			"echo '\"failed\"'; done | jq -s 'map(length) | add'",
			"r");
	int n = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &n) != 1)
		n = -1;
	if (pclose(f))
		n = -1;
	return n;
}

int audit_settled(void)
{
	int left = access("/proc/self/fail-nth", F_OK) ? 100 : 400, n;

	while ((n = audit_count()) > 0 && left--)
		usleep(100000);
	return n;
}
