// SPDX-License-Identifier: LGPL-2.1-only
/*
 * node.c - nodes and their names
 *
 * Copyright (C) 2026 The dd authors
 *
 * Names are those of /etc/dd/cluster.conf at the first call of the library, which makes them before
 * any handler can run. They never change then: the program has the arrays and the texts.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "vmmc_int.h"

#define CLUSTER_CONF	"/etc/dd/cluster.conf"
#define BLANKS		" \t\r\n\v\f"
#define NODES_MAX	4096
#define NO_NODE		((vmmc_node_t){ -1 })

struct hosts {
	uint32_t count;
	vmmc_node_t node[NODES_MAX];
	vmmc_result_t code;
};

static struct hosts cluster, session;
static char *names[NODES_MAX];		/* of the cluster's */
static char own_name[256];

static void host_add(struct hosts *hosts, int number)
{
	hosts->node[hosts->count++] = (vmmc_node_t){ number };
}

static int host_index(int number)
{
	for (uint32_t i = 0; i < cluster.count; i++)
		if (cluster.node[i].number == number)
			return i;
	return -1;
}

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

/* Lines that "ddctl apply" refuses are left out. */
static void line_read(char *line)
{
	char *save, *number, *host, *end;
	long n;

	line[strcspn(line, "#")] = 0;
	number = strtok_r(line, BLANKS, &save);
	host = number ? strtok_r(NULL, BLANKS, &save) : NULL;
	if (!host || !isdigit((unsigned char)*number))
		return;
	n = strtol(number, &end, 10);
	if (*end || n >= NODES_MAX || host_index(n) >= 0)
		return;
	host = strdup(host);
	if (!host)
		return;
	host_cut(host);
	names[cluster.count] = host;
	host_add(&cluster, n);
}

static void file_read(void)
{
	FILE *file = fopen(CLUSTER_CONF, "re");
	char line[512];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		line_read(line);
	fclose(file);
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

static int name_number(const char *name, int own)
{
	for (uint32_t i = 0; i < cluster.count; i++)
		if (name_is(names[i], name))
			return cluster.node[i].number;
	return name_is(own_name, name) || !strcasecmp(name, "localhost") ? own : -1;
}

static void session_read(char *text, int own)
{
	char *save, *name = strtok_r(text, BLANKS, &save);
	int number;

	for (; name && session.count < NODES_MAX; name = strtok_r(NULL, BLANKS, &save)) {
		number = name_number(name, own);
		if (number < 0)
			session.code = vmmcErr_NoSuchNode;
		else
			host_add(&session, number);
	}
}

/* Called once, by the first call of the library. */
void vmmc_hosts_read(int own)
{
	const char *env = getenv("VMMCHOSTS");
	char *text = env ? strdup(env) : NULL;

	if (gethostname(own_name, sizeof(own_name) - 1))
		own_name[0] = 0;
	file_read();
	if (host_index(own) < 0 && cluster.count < NODES_MAX) {
		names[cluster.count] = own_name;
		host_add(&cluster, own);
	}
	if (text)
		session_read(text, own);
	else if (env)
		session.code = vmmcErr_NoMem;
	else
		host_add(&session, own);
	free(text);
}

static vmmc_result_t hosts_return(struct hosts *hosts, uint32 *count, vmmc_node_t **nodes)
{
	struct dd *h;
	vmmc_result_t code = count && nodes ? vmmc_handle(&h) : vmmcErr_BadArg;

	if (!code)
		code = hosts->code;
	if (!code) {
		*count = hosts->count;
		*nodes = hosts->node;
	}
	return code;
}

VMMC_API vmmc_result_t vmmc_AllHosts(uint32 *count, vmmc_node_t **nodes)
{
	return vmmc_result("vmmc_AllHosts", hosts_return(&cluster, count, nodes));
}

VMMC_API vmmc_result_t vmmc_SessionHosts(uint32 *count, vmmc_node_t **nodes)
{
	return vmmc_result("vmmc_SessionHosts", hosts_return(&session, count, nodes));
}

VMMC_API int vmmc_EqualNodes(vmmc_node_t a, vmmc_node_t b)
{
	return a.number == b.number;
}

VMMC_API vmmc_node_t vmmc_MyNode(void)
{
	struct dd *h;

	return vmmc_handle(&h) ? NO_NODE : (vmmc_node_t){ dd_node(h) };
}

VMMC_API char *vmmc_NodeToName(vmmc_node_t node)
{
	struct dd *h;
	int i = vmmc_handle(&h) ? -1 : host_index(node.number);

	return i < 0 ? NULL : names[i];
}

/* Without the device, the name of the machine. */
VMMC_API char *vmmc_MyHostName(void)
{
	char *name = vmmc_NodeToName(vmmc_MyNode());

	if (!name && !own_name[0] && gethostname(own_name, sizeof(own_name) - 1))
		own_name[0] = 0;
	return name ? name : own_name;
}

VMMC_API vmmc_node_t vmmc_NameToNode(const char *name)
{
	struct dd *h;

	if (!name || vmmc_handle(&h))
		return NO_NODE;
	return (vmmc_node_t){ name_number(name, dd_node(h)) };
}
