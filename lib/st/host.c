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
	struct addrinfo *all, *one;
	int ret = -ENONET;

	*node = dd_node(h);
	if (!host)
		return 0;
	if (getaddrinfo(host, NULL, NULL, &all))
		return EHOSTUNREACH;
	for (one = all; one && ret < 0; one = one->ai_next)
		ret = dd_node_of(h, one->ai_addr, one->ai_addrlen);
	freeaddrinfo(all);
	*node = ret < 0 ? -1 : ret;
	return 0;
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
