// SPDX-License-Identifier: LGPL-2.1-only
/*
 * host.c - names of hosts and services
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

int st_host_node(struct dd *h, const char *host, int *node)
{
	*node = dd_node(h);
	if (!host)
		return 0;
	/* XXX numbers of nodes, until dd_node_of() */
	*node = atoi(host);
	return *node < dd_max_nodes(h) ? 0 : EHOSTUNREACH;
}

static int service_named(const char *service, unsigned int *port)
{
	struct servent entry, *found = NULL;
	char text[1024];

	if (getservbyname_r(service, NULL, &entry, text, sizeof(text), &found) || !found)
		return EINVAL;
	*port = ntohs(found->s_port);
	return *port ? 0 : EINVAL;
}

int st_service_port(const char *service, unsigned int *port)
{
	unsigned long n = 0;
	char *end;

	*port = 0;
	if (!service)
		return 0;
	if (!isdigit((unsigned char)*service))
		return service_named(service, port);
	n = strtoul(service, &end, 10);
	if (*end || n > UINT16_MAX)
		return EINVAL;
	*port = n;
	return 0;
}
