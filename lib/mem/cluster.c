// SPDX-License-Identifier: LGPL-2.1-only
/*
 * cluster.c - hosts of the cluster
 *
 * Copyright (C) 2026 The dd authors
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "cluster.h"

#define CLUSTER_CONF	"/etc/dd/cluster.conf"
#define BLANKS		" \t\r\n\v\f"

/* A host without its port: "host:port", "[address]:port", or an address of IPv6. */
static void host_cut(char *host)
{
	char *colon = strchr(host, ':'), *bracket = strchr(host, ']');

	if (*host == '[' && bracket) {
		*bracket = 0;
		memmove(host, host + 1, strlen(host));
	} else if (colon && !strchr(colon + 1, ':')) {
		*colon = 0;
	}
}

static void line_read(char *line, void (*found)(int number, const char *name))
{
	char *save, *number, *host, *end;
	long n;

	line[strcspn(line, "#")] = 0;
	number = strtok_r(line, BLANKS, &save);
	host = number ? strtok_r(NULL, BLANKS, &save) : NULL;
	if (!host || !isdigit((unsigned char)*number))
		return;
	n = strtol(number, &end, 10);
	if (*end || n >= DDI_NODES_MAX)
		return;
	host_cut(host);
	found(n, host);
}

DD_API void ddi_cluster_read(void (*host)(int number, const char *name))
{
	FILE *file = fopen(CLUSTER_CONF, "re");
	char line[512];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		line_read(line, host);
	fclose(file);
}
