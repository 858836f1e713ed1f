// SPDX-License-Identifier: LGPL-2.1-only
/*
 * node.c - nodes and their names
 *
 * Copyright (C) 2026 The dd authors
 *
 * Names are those of /etc/dd/cluster.conf at the first call. Nothing is freed: the program has
 * the arrays and the texts.
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
	vmmc_node_t *node;
	char **name;		/* of the cluster's only; an entry may be NULL */
	vmmc_result_t code;
};

static struct hosts cluster, session;
static bool cluster_read, session_read;		/* vmmc_lock */

static void host_add(struct hosts *hosts, int number, char *name)
{
	if (hosts->count == NODES_MAX)
		return;
	hosts->node[hosts->count] = (vmmc_node_t){ number };
	if (hosts->name)
		hosts->name[hosts->count] = name;
	hosts->count++;
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
static void line_read(struct hosts *hosts, char *line)
{
	char *save, *number, *host, *end;
	long n;

	line[strcspn(line, "#")] = 0;
	number = strtok_r(line, BLANKS, &save);
	host = number ? strtok_r(NULL, BLANKS, &save) : NULL;
	if (!host || !isdigit((unsigned char)*number))
		return;
	n = strtol(number, &end, 10);
	if (*end || n >= NODES_MAX)
		return;
	host = strdup(host);
	if (!host)
		return;
	host_cut(host);
	host_add(hosts, n, host);
}

static void file_read(struct hosts *hosts)
{
	FILE *file = fopen(CLUSTER_CONF, "re");
	char line[512];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		line_read(hosts, line);
	fclose(file);
}

static int node_index(const struct hosts *hosts, int number)
{
	for (uint32_t i = 0; i < hosts->count; i++)
		if (hosts->node[i].number == number)
			return i;
	return -1;
}

static char *own_name(void)
{
	static char name[256];

	if (gethostname(name, sizeof(name) - 1))
		name[0] = 0;
	return name;
}

/* Read the names once. The first line of a node counts. */
static const struct hosts *cluster_hosts(void)
{
	struct dd *h;
	vmmc_result_t code = vmmc_handle(&h);
	int own = code ? -1 : dd_node(h);

	vmmc_enter();
	if (!cluster_read) {
		cluster.node = calloc(NODES_MAX, sizeof(*cluster.node));
		cluster.name = calloc(NODES_MAX, sizeof(*cluster.name));
		cluster_read = cluster.node && cluster.name;
		if (cluster_read)
			file_read(&cluster);
		if (cluster_read && own >= 0 && node_index(&cluster, own) < 0)
			host_add(&cluster, own, own_name());
	}
	cluster.code = !cluster_read ? vmmcErr_NoMem : code;
	vmmc_leave();
	return &cluster;
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

static int name_number(const struct hosts *hosts, const char *name)
{
	struct dd *h;

	for (uint32_t i = 0; i < hosts->count; i++)
		if (hosts->name[i] && name_is(hosts->name[i], name))
			return hosts->node[i].number;
	if ((name_is(own_name(), name) || !strcasecmp(name, "localhost")) && !vmmc_handle(&h))
		return dd_node(h);
	return -1;
}

static void names_read(struct hosts *hosts, const struct hosts *of, char *names)
{
	char *save, *name = strtok_r(names, BLANKS, &save);
	int number;

	for (; name; name = strtok_r(NULL, BLANKS, &save)) {
		number = name_number(of, name);
		if (number < 0)
			hosts->code = vmmcErr_NoSuchNode;
		else
			host_add(hosts, number, NULL);
	}
}

static const struct hosts *session_hosts(void)
{
	const struct hosts *of = cluster_hosts();
	const char *env = getenv("VMMCHOSTS");
	char *names = strdup(env ? env : "localhost");

	vmmc_enter();
	if (!session_read && names && !of->code) {
		session.node = calloc(NODES_MAX, sizeof(*session.node));
		session_read = session.node;
		if (session_read)
			names_read(&session, of, names);
	}
	if (!session_read)
		session.code = of->code ? of->code : vmmcErr_NoMem;
	vmmc_leave();
	free(names);
	return &session;
}

static vmmc_result_t hosts_return(const struct hosts *(*hosts)(void), uint32 *count,
				  vmmc_node_t **nodes)
{
	const struct hosts *found;

	if (!count || !nodes)
		return vmmcErr_BadArg;
	found = hosts();
	if (found->code)
		return found->code;
	*count = found->count;
	*nodes = found->node;
	return vmmc_Success;
}

VMMC_API vmmc_result_t vmmc_AllHosts(uint32 *count, vmmc_node_t **nodes)
{
	return vmmc_result("vmmc_AllHosts", hosts_return(cluster_hosts, count, nodes));
}

VMMC_API vmmc_result_t vmmc_SessionHosts(uint32 *count, vmmc_node_t **nodes)
{
	return vmmc_result("vmmc_SessionHosts", hosts_return(session_hosts, count, nodes));
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
	const struct hosts *hosts = cluster_hosts();
	int i = node_index(hosts, node.number);

	return i < 0 ? NULL : hosts->name[i];
}

VMMC_API char *vmmc_MyHostName(void)
{
	char *name = vmmc_NodeToName(vmmc_MyNode());

	return name ? name : own_name();
}

VMMC_API vmmc_node_t vmmc_NameToNode(const char *name)
{
	return name ? (vmmc_node_t){ name_number(cluster_hosts(), name) } : NO_NODE;
}
