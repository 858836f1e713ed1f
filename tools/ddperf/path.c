// SPDX-License-Identifier: GPL-2.0-only
/*
 * path.c - what is between this node and another one, as ddctl, the kernel and
 * ethtool have it
 *
 * Copyright (C) 2026 The dd authors
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "net.h"
#include "../common/tool.h"

#define TEXT_MAX	65536

/* Administrators' tools are not on everybody's path. */
#define ADMIN_PATH	"PATH=\"$PATH:/usr/sbin:/sbin\" "

/* Output of a command, less what it complains about; to be freed. */
static char *output_of(const char *command)
{
	char *text = calloc(1, TEXT_MAX);
	FILE *f = popen(command, "r");

	if (!text || !f) {
		tool_warn("%s: %s", command, strerror(errno));
		exit(TOOL_FAILED);
	}
	text[fread(text, 1, TEXT_MAX - 1, f)] = '\0';
	pclose(f);
	return text;
}

/* --- the other node ------------------------------------------------------- */

static uint64_t number(struct json_object *row, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(row, key, &value) ?
	       json_object_get_uint64(value) : 0;
}

/* Without brackets and port: "10.9.0.2:56797", "[fe80::2%eth0]:56797". */
static void bare_address(char *buf, size_t size, const char *text)
{
	int len = *text == '[' ? strcspn(++text, "]") : strcspn(text, ":");

	snprintf(buf, size, "%.*s", len, text);
}

bool peer_look(struct peer *p, int node)
{
	struct json_object *row, *address;
	char command[96], *text;
	bool known;

	*p = (struct peer) {};
	snprintf(command, sizeof(command),
		 ADMIN_PATH "ddctl -j peer show %d 2>/dev/null", node);
	text = output_of(command);
	row = json_tokener_parse(text);
	free(text);
	known = json_object_object_get_ex(row, "address", &address);
	if (known) {
		bare_address(p->address, sizeof(p->address),
			     json_object_get_string(address));
		p->packet = number(row, "packet_size");
		p->sent = number(row, "packets_sent");
		p->received = number(row, "packets_received");
		p->lost = number(row, "packets_lost");
	}
	json_object_put(row);
	return known;
}

/* --- the way to it -------------------------------------------------------- */

/**
 * struct path - how packets leave
 * @device: interface
 * @mtu: of it
 * @mss: payload bytes in a TCP segment
 * @control: TCP's congestion control
 * @offloads: of the interface, in words
 * @peer: the other end
 */
struct path {
	char device[IF_NAMESIZE];
	int mtu;
	int mss;
	char control[16];
	char offloads[128];
	struct peer peer;
};

static bool same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (!a || a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((struct sockaddr_in *)b)->sin_addr.s_addr;
	return a->sa_family == AF_INET6 &&
	       IN6_ARE_ADDR_EQUAL(&((struct sockaddr_in6 *)a)->sin6_addr,
				  &((struct sockaddr_in6 *)b)->sin6_addr);
}

/* The interface with the address which @fd is bound to. */
static void look_device(struct path *p, int fd)
{
	struct sockaddr_in6 own;
	socklen_t len = sizeof(own);
	struct ifaddrs *list, *i;
	struct ifreq ifr = {};

	if (getsockname(fd, (struct sockaddr *)&own, &len) || getifaddrs(&list))
		return;
	for (i = list; i; i = i->ifa_next)
		if (same_host(i->ifa_addr, (struct sockaddr *)&own))
			snprintf(p->device, sizeof(p->device), "%s", i->ifa_name);
	freeifaddrs(list);
	memcpy(ifr.ifr_name, p->device, sizeof(p->device));
	if (!ioctl(fd, SIOCGIFMTU, &ifr))
		p->mtu = ifr.ifr_mtu;
}

/* "on", "off", or "?" where ethtool does not say. */
static void add_offload(struct path *p, const char *features, const char *name,
			const char *shown)
{
	const char *at = strstr(features, name);
	size_t n = strlen(p->offloads);
	int len = 1;

	if (at) {
		at += strlen(name) + strlen(": ");
		len = strcspn(at, " \n");
	}
	snprintf(p->offloads + n, sizeof(p->offloads) - n, "%s%s %.*s",
		 n ? ", " : "", shown, len, at ? at : "?");
}

static void look_offloads(struct path *p)
{
	char command[96], *features;

	snprintf(command, sizeof(command),
		 ADMIN_PATH "ethtool -k '%s' 2>/dev/null", p->device);
	features = output_of(command);
	add_offload(p, features, "tcp-segmentation-offload", "tso");
	add_offload(p, features, "generic-segmentation-offload", "gso");
	add_offload(p, features, "tx-udp-segmentation", "tx-udp-segmentation");
	add_offload(p, features, "generic-receive-offload", "gro");
	free(features);
}

static void path_look(struct path *p, const struct side *s)
{
	socklen_t len = sizeof(p->mss), control = sizeof(p->control) - 1;

	*p = (struct path) {};
	look_device(p, s->tcp);
	look_offloads(p);
	getsockopt(s->tcp, IPPROTO_TCP, TCP_MAXSEG, &p->mss, &len);
	getsockopt(s->tcp, IPPROTO_TCP, TCP_CONGESTION, p->control, &control);
	peer_look(&p->peer, s->node);
}

static struct json_object *path_json(const struct path *p)
{
	struct json_object *j = json_object_new_object();

	json_object_object_add(j, "device", json_object_new_string(p->device));
	json_object_object_add(j, "address", json_object_new_string(p->peer.address));
	json_object_object_add(j, "mtu", json_object_new_int(p->mtu));
	json_object_object_add(j, "offloads", json_object_new_string(p->offloads));
	json_object_object_add(j, "tcp_mss", json_object_new_int(p->mss));
	json_object_object_add(j, "tcp_congestion_control",
			       json_object_new_string(p->control));
	json_object_object_add(j, "dd_packet_size",
			       json_object_new_int(p->peer.packet));
	return j;
}

void path_report(const struct side *s, struct json_object *j)
{
	struct path p;

	path_look(&p, s);
	if (j) {
		json_object_object_add(j, "path", path_json(&p));
		return;
	}
	printf("  path     %s to %s, MTU %d; %s\n", p.device, p.peer.address,
	       p.mtu, p.offloads);
	printf("  packets  TCP: %d bytes of payload, %s; dd: %u bytes in all\n",
	       p.mss, p.control, p.peer.packet);
	fflush(stdout);
}

/* --- time ----------------------------------------------------------------- */

uint64_t idle_now(void)
{
	FILE *f = fopen("/proc/timer_list", "r");
	unsigned long long ns;
	uint64_t sum = 0;
	char line[256];

	if (!f) {
		tool_warn("/proc/timer_list: %s", strerror(errno));
		exit(TOOL_FAILED);
	}
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " .idle_sleeptime : %llu", &ns) == 1)
			sum += ns;
	fclose(f);
	return sum;
}
