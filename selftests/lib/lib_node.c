// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_node.c - dd_node_of(): addresses of this node and of its peers
 *
 * Copyright (C) 2026 The dd authors
 *
 * With DDP_PEER_NODE, between nodes; see selftests/net/across.sh.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dd.h"
#include "tap.h"

/* dd_node_of() of an address in text, with %INTERFACE where it is link-local. */
static int node_of(struct dd *h, const char *text)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(7) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(7) };
	char address[64], *scope;

	snprintf(address, sizeof(address), "%s", text);
	scope = strchr(address, '%');
	if (scope) {
		*scope++ = 0;
		in6.sin6_scope_id = if_nametoindex(scope);
	}
	if (inet_pton(AF_INET, address, &in.sin_addr) == 1)
		return dd_node_of(h, (struct sockaddr *)&in, sizeof(in));
	check(inet_pton(AF_INET6, address, &in6.sin6_addr) == 1);
	return dd_node_of(h, (struct sockaddr *)&in6, sizeof(in6));
}

static bool does(const char *command)
{
	bool done = !system(command);

	if (!done)
		fprintf(stderr, "# failed: %s\n", command);
	return done;
}

/* A node in a network namespace of its own, number 7 of 8; NULL if not. */
static struct dd *own_node(void)
{
	struct dd *h = NULL;

	check_eq(unshare(CLONE_NEWNET), 0);
	check(does("ddctl node down && ddctl node set id 7 max 8 && ddctl node up"));
	check_eq(dd_open(&h), 0);
	return h;
}

TEST(nodes_of_a_cluster)
{
	const char *node = getenv("DDP_PEER_NODE"), *family = getenv("DDP_FAMILY");
	bool six = family && *family == '6';
	struct dd *h = NULL;

	if (!node)
		return;
	check_eq(dd_open(&h), 0);
	check_eq(node_of(h, "10.9.0.1"), dd_node(h));
	check_eq(node_of(h, "fd09::1"), dd_node(h));
	check_eq(node_of(h, six ? "fd09::2" : "10.9.0.2"), atoi(node));
	/* Not configured, although it is there. */
	check_eq(node_of(h, six ? "10.9.0.2" : "fd09::2"), -ENONET);
	check_eq(dd_shutdown(h), 0);
}

static int loopback_in_a_child(const void *h)
{
	return node_of((struct dd *)h, "127.0.0.1") != -EBADID;
}

TEST(bad_addresses)
{
	struct sockaddr_storage any = { .ss_family = AF_UNIX };
	const struct sockaddr *sa = (struct sockaddr *)&any;
	struct dd *h = NULL;

	check_eq(dd_open(&h), 0);
	check_eq(dd_node_of(h, NULL, sizeof(any)), -EINVAL);
	check_eq(dd_node_of(h, sa, 1), -EINVAL);
	check_eq(dd_node_of(h, sa, sizeof(any)), -EAFNOSUPPORT);
	any.ss_family = AF_INET;
	check_eq(dd_node_of(h, sa, sizeof(struct sockaddr_in) - 1), -EINVAL);
	any.ss_family = AF_INET6;
	check_eq(dd_node_of(h, sa, sizeof(struct sockaddr_in)), -EINVAL);
	check_eq(dd_node_of(h, sa, sizeof(struct sockaddr_in6) - 1), -EINVAL);
	/* The unspecified address is no node's. */
	check_eq(dd_node_of(h, sa, sizeof(any)), -ENONET);
	check_eq(dd_node_of(NULL, sa, sizeof(any)), -EBADID);
	check_eq(in_child(loopback_in_a_child, h), 0);
	check_eq(dd_shutdown(h), 0);
}

TEST(addresses_of_this_node)
{
	struct dd *h = own_node();

	/* Also before the interface is up. */
	check_eq(node_of(h, "127.0.0.1"), 7);
	check_eq(node_of(h, "127.9.9.9"), 7);
	check_eq(node_of(h, "::1"), 7);
	check_eq(node_of(h, "::ffff:127.0.0.1"), 7);
	check_eq(node_of(h, "192.0.2.1"), -ENONET);
	check(does("ip link set lo up && ip addr add 192.0.2.1/32 dev lo && "
		   "ip addr add 2001:db8::1/128 dev lo"));
	check_eq(node_of(h, "192.0.2.1"), 7);
	check_eq(node_of(h, "::ffff:192.0.2.1"), 7);
	check_eq(node_of(h, "2001:db8::1"), 7);
	check_eq(node_of(h, "2001:db8::2"), -ENONET);
	check(does("ip addr del 192.0.2.1/32 dev lo"));
	check_eq(node_of(h, "192.0.2.1"), -ENONET);
	check_eq(dd_shutdown(h), 0);
}

TEST(addresses_of_peers)
{
	struct dd *h = own_node();

	check(does("ip link add eth0 type veth peer name eth1 && ip link set eth0 up"));
	check(does("ddctl peer add 2 192.0.2.2 && ddctl peer add 3 2001:db8::3 && "
		   "ddctl peer add 4 fe80::4%eth0 && ddctl peer add 5 192.0.2.5:5000"));
	check_eq(node_of(h, "192.0.2.2"), 2);
	check_eq(node_of(h, "::ffff:192.0.2.2"), 2);
	check_eq(node_of(h, "2001:db8::3"), 3);
	check_eq(node_of(h, "fe80::4%eth0"), 4);
	/* Another interface, or none, is another network. */
	check_eq(node_of(h, "fe80::4%eth1"), -ENONET);
	check_eq(node_of(h, "fe80::4"), -ENONET);
	check_eq(node_of(h, "192.0.2.5"), 5);
	check(does("ddctl peer add 6 192.0.2.5:5001"));
	check_eq(node_of(h, "192.0.2.5"), -ENOTUNIQ);
	check(does("ddctl peer del 5"));
	check_eq(node_of(h, "192.0.2.5"), 6);
	check(does("ddctl peer set 6 192.0.2.6"));
	check_eq(node_of(h, "192.0.2.5"), -ENONET);
	check_eq(node_of(h, "192.0.2.6"), 6);
	check_eq(dd_shutdown(h), 0);
}
