// SPDX-License-Identifier: LGPL-2.1-only
/*
 * hosts.c - addresses of nodes
 *
 * Copyright (C) 2026 The dd authors
 *
 * Addresses are those of /etc/dd/cluster.conf at the first call of the library, which makes them
 * before any handler can run. They never change then: the program has the array. libdd knows the
 * addresses of peers, and those of this node. A node without an IPv4 address of its own is named by
 * its number: no host has an address in 0.0.0.0/8.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "cluster.h"
#include "hosts.h"

static int count;
static int numbers[DDI_NODES_MAX];
static NodeID ids[DDI_NODES_MAX];

/* The index of a node, or -1. */
static int host_index(int number)
{
	for (int i = 0; i < count; i++)
		if (numbers[i] == number)
			return i;
	return -1;
}

/* That of a name, or 0 if it has none, several, or that of each machine. */
static NodeID address_of(const char *name)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *all;
	NodeID id = 0;

	if (getaddrinfo(name, NULL, &hints, &all))
		return 0;
	if (!all->ai_next)
		id = ((const struct sockaddr_in *)all->ai_addr)->sin_addr.s_addr;
	freeaddrinfo(all);
	return ntohl(id) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET ? 0 : id;
}

static void host_add(int number, const char *name)
{
	if (count == DDI_NODES_MAX || host_index(number) >= 0)
		return;
	ids[count] = address_of(name);
	numbers[count++] = number;
}

/* Nodes with one address have different ports. */
static bool address_shared(int of)
{
	for (int i = 0; i < count; i++)
		if (i != of && ids[i] == ids[of])
			return true;
	return false;
}

void sbl_hosts_read(int own)
{
	static bool shared[DDI_NODES_MAX];

	ddi_cluster_read(host_add);
	if (count < DDI_NODES_MAX && host_index(own) < 0)
		numbers[count++] = own;
	for (int i = 0; i < count; i++)
		shared[i] = !ids[i] || address_shared(i);
	for (int i = 0; i < count; i++)
		if (shared[i])
			ids[i] = htonl(numbers[i]);
}

int sbl_hosts(NodeID **hosts)
{
	*hosts = ids;
	return count;
}

NodeID sbl_node_id(int number)
{
	int i = host_index(number);

	return i < 0 ? htonl(number) : ids[i];
}

int sbl_node_number(struct dd *h, NodeID node)
{
	const struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = node };

	if (ntohl(node) < DDI_NODES_MAX)
		return ntohl(node);
	return dd_node_of(h, (const struct sockaddr *)&in, sizeof(in));
}
