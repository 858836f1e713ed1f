// SPDX-License-Identifier: LGPL-2.1-only
/*
 * hosts.c - names of nodes
 *
 * Copyright (C) 2026 The dd authors
 *
 * Names are those of /etc/dd/cluster.conf at the first call of the library, which makes them before
 * any handler can run. They never change then: the program has the arrays and the texts. Other
 * names are resolved.
 */
#include <ctype.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cluster.h"
#include "dd.h"
#include "hosts.h"
#include "job.h"
#include "upcall.h"

#define BLANKS		" \t\r\n\v\f"

struct vmmc_hosts vmmc_cluster, vmmc_session;
static char *names[NODES_MAX];		/* of the cluster's */
static char own_name[256];

static void host_add(struct vmmc_hosts *hosts, int number)
{
	hosts->node[hosts->count++] = (vmmc_node_t){ number };
}

static int host_index(int number)
{
	for (uint32_t i = 0; i < vmmc_cluster.count; i++)
		if (vmmc_cluster.node[i].number == number)
			return i;
	return -1;
}

/* The first line of a number counts. */
static void line_read(int number, const char *host)
{
	char *name = host_index(number) < 0 ? strdup(host) : NULL;

	if (!name)
		return;
	names[vmmc_cluster.count] = name;
	host_add(&vmmc_cluster, number);
}

/* Whether a name is that of a host, or its part before the domain. */
static bool name_is(const char *host, const char *name)
{
	size_t len = strlen(name);

	if (!strcasecmp(host, name))
		return true;
	return len && !strchr(name, '.') && !strchr(name, ':') && !strncasecmp(host, name, len) &&
	       host[len] == '.' && !isdigit((unsigned char)*host);
}

/* Not in a handler: getaddrinfo() allocates memory. */
static int name_resolve(struct dd *h, const char *name)
{
	struct addrinfo *all, *one;
	int number = -1;

	if (ddi_load(&ddi_upcall_inside) || getaddrinfo(name, NULL, NULL, &all))
		return -1;
	for (one = all; one && number < 0; one = one->ai_next)
		number = dd_node_of(h, one->ai_addr, one->ai_addrlen);
	freeaddrinfo(all);
	return number < 0 ? -1 : number;
}

int vmmc_host_number(struct dd *h, const char *name)
{
	for (uint32_t i = 0; i < vmmc_cluster.count; i++)
		if (name_is(names[i], name))
			return vmmc_cluster.node[i].number;
	if (name_is(own_name, name) || !strcasecmp(name, "localhost"))
		return dd_node(h);
	return name_resolve(h, name);
}

static void session_read(struct dd *h, char *text)
{
	char *save, *name = strtok_r(text, BLANKS, &save);
	int number;

	for (; name && vmmc_session.count < NODES_MAX; name = strtok_r(NULL, BLANKS, &save)) {
		number = vmmc_host_number(h, name);
		if (number < 0)
			vmmc_session.code = vmmcErr_NoSuchNode;
		else
			host_add(&vmmc_session, number);
	}
}

/* Called once, by the first call of the library. */
void vmmc_hosts_read(struct dd *h)
{
	const char *env = getenv("VMMCHOSTS");
	int own = dd_node(h);
	char *text = env ? strdup(env) : vmmc_job_hosts();

	if (gethostname(own_name, sizeof(own_name) - 1))
		own_name[0] = 0;
	ddi_cluster_read(line_read);
	if (host_index(own) < 0 && vmmc_cluster.count < NODES_MAX) {
		names[vmmc_cluster.count] = own_name;
		host_add(&vmmc_cluster, own);
	}
	if (text)
		session_read(h, text);
	else if (env)
		vmmc_session.code = vmmcErr_NoMem;
	else
		host_add(&vmmc_session, own);
	free(text);
}

/* NULL if the node is unknown. */
char *vmmc_host_name(int number)
{
	int i = host_index(number);

	return i < 0 ? NULL : names[i];
}
