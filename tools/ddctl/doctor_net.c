// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl doctor: peers and the UDP port.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "addr.h"
#include "ddctl.h"
#include "doctor.h"

#define CLUSTER_FILE	"/etc/dd/cluster.conf"

/* The address without the port, or all of it if it cannot be split. */
static const char *bare_host(json_object *row, char host[ADDR_HOST_MAX])
{
	uint16_t port;

	return addr_split(json_text(row, "address"), host, &port) ?
		json_text(row, "address") : host;
}

/* ---- peers -------------------------------------------------------------- */

static void no_peers(json_object *node)
{
	if (access(CLUSTER_FILE, R_OK))
		found(NOTE, "peers",
		      "To reach other nodes, as root: ddctl apply FILE, see dd-cluster.conf(5), or ddctl peer add",
		      "node %u of %u has no peers: it reaches itself only",
		      (uint32_t)json_number(node, "id"), (uint32_t)json_number(node, "maxnodes"));
	else
		found(BAD, "peers",
		      "As root: ddctl apply " CLUSTER_FILE "; 'systemctl enable dd-cluster' does this at each boot.",
		      "node %u of %u has no peers, but there is a "
		      CLUSTER_FILE, (uint32_t)json_number(node, "id"),
		      (uint32_t)json_number(node, "maxnodes"));
}

static const char *advice_refused(const char *reason)
{
	if (!strcmp(reason, "version"))
		return "Install one version of dd on both.";
	if (!strcmp(reason, "maxnodes"))
		return "Both need the same number of nodes: as root on both, ddctl apply with one file, or ddctl node set max";
	return "Numbers or addresses differ: as root on both, ddctl apply with one file, or ddctl peer set";
}

/* Report a peer that is not up; false if it is. */
static bool judge_peer(json_object *row, uint32_t port)
{
	const char *state = json_text(row, "state");
	const char *reason = json_text(row, "reason");
	char advice[ADDR_HOST_MAX + 128], host[ADDR_HOST_MAX];
	uint64_t lost;

	if (!strcmp(state, "up"))
		return false;
	if (!strcmp(state, "refused")) {
		found(BAD, "peers", advice_refused(reason),
		      "node %u at %s refuses this node (%s)",
		      (uint32_t)json_number(row, "number"), json_text(row, "address"), reason);
		return true;
	}
	lost = json_number(json_object_object_get(row, "counters"), "tx_noroute");
	if (lost) {
		snprintf(advice, sizeof(advice),
			 "ip route get %s shows whether there is a route now; if not, add one.",
			 bare_host(row, host));
		found(NOTE, "peers", advice,
		      "node %u at %s is %s: no route to it for %" PRIu64 " packet%s",
		      (uint32_t)json_number(row, "number"), json_text(row, "address"), state,
		      lost, lost == 1 ? "" : "s");
		return true;
	}
	snprintf(advice, sizeof(advice),
		 "Check that it is up, that it has the right address of this node, and that UDP passes to its port and to port %u here.",
		 port);
	found(NOTE, "peers", advice, "node %u at %s is %s",
	      (uint32_t)json_number(row, "number"), json_text(row, "address"), state);
	return true;
}

static void judge_peers(json_object *node, json_object *rows)
{
	size_t i, n = json_object_array_length(rows), odd = 0;

	for (i = 0; i < n; i++)
		odd += judge_peer(json_object_array_get_idx(rows, i),
				  (uint32_t)json_number(node, "port"));
	if (!n)
		no_peers(node);
	else if (!odd)
		found(GOOD, "peers", NULL, "%zu of %zu peer%s up", n, n,
		      n == 1 ? " is" : "s are");
}

/* ---- the port ----------------------------------------------------------- */

/* Whether @port is in a list like "1,5-7,9". */
static bool is_listed(const char *list, uint32_t port)
{
	unsigned int low, high;
	int skip;

	while (*list) {
		if (sscanf(list, "%u-%u%n", &low, &high, &skip) != 2) {
			if (sscanf(list, "%u%n", &low, &skip) != 1)
				return false;
			high = low;
		}
		if (port >= low && port <= high)
			return true;
		list += skip;
		list += *list == ',';
	}
	return false;
}

/* The list may be long: each port once is 340 KiB. */
static bool is_reserved(uint32_t port)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_local_reserved_ports", "re");
	char *list = NULL;
	bool reserved;
	size_t size = 0;

	if (!f)
		return false;
	reserved = getline(&list, &size, f) > 0 && is_listed(list, port);
	free(list);
	fclose(f);
	return reserved;
}

static bool is_given_away(uint32_t port)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
	unsigned int low = 0, high = 0;

	if (!f)
		return false;
	if (fscanf(f, "%u %u", &low, &high) != 2)
		high = 0;
	fclose(f);
	return port >= low && port <= high;
}

/* Whether a socket of @family cannot have the port because another has it. */
static bool is_taken(int family, uint32_t port)
{
	union addr addr = { .sa.sa_family = family };
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;
	bool taken;

	if (fd < 0)
		return false;
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	addr_set_port(&addr, port);
	taken = bind(fd, &addr.sa, addr_len(&addr)) && errno == EADDRINUSE;
	close(fd);
	return taken;
}

/* With peers the node itself has the port. */
static void judge_port(uint32_t port, bool peers)
{
	char advice[256];

	if (!peers && (is_taken(AF_INET, port) || is_taken(AF_INET6, port))) {
		snprintf(advice, sizeof(advice),
			 "As root: ss -lunp sport = :%u shows which program has it; end it, or use another port: ddctl node set port",
			 port);
		found(BAD, "port", advice, "UDP port %u is in use", port);
	} else if (is_given_away(port) && !is_reserved(port)) {
		snprintf(advice, sizeof(advice),
			 "As root: sysctl -w net.ipv4.ip_local_reserved_ports=%u; a file in /etc/sysctl.d makes this permanent.",
			 port);
		found(NOTE, "port", advice,
		      "UDP port %u may be given to any program before dd takes it",
		      port);
	} else {
		found(GOOD, "port", NULL, "UDP port %u is kept for dd", port);
	}
}

void check_network(struct ddnl *nl, json_object *node)
{
	json_object *rows;

	if (ddnl_get(nl, &object_peers, &rows)) {
		found(BAD, "peers", SEE_LOG,
		      "the module does not report its peers");
		return;
	}
	judge_peers(node, rows);
	judge_port((uint32_t)json_number(node, "port"), json_object_array_length(rows));
	json_object_put(rows);
}
