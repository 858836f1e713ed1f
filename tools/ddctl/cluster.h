/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cluster file: dd-cluster.conf(5). Reading it changes nothing.
 */
#ifndef DDCTL_CLUSTER_H
#define DDCTL_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "addr.h"

#define CLUSTER_MAX		4096	/* nodes */
#define CLUSTER_DEAD_TIME	5000	/* ms, where nothing else is said */
#define CLUSTER_ADDRESSES	16	/* of a name that are looked at */

/**
 * struct cluster_env - the world as a cluster file sees it
 * @complain: told of each error; @line is 0 for those of the whole file
 * @resolve: addr_resolve()
 * @is_own: addr_is_own()
 */
struct cluster_env {
	void (*complain)(const char *file, unsigned int line, const char *text);
	const char *(*resolve)(const char *host, union addr *list, size_t max,
			       size_t *n);
	bool (*is_own)(const union addr *addr);
};

/**
 * struct cluster_node - a line with a node
 * @number: its number
 * @host: name or address
 * @port: UDP port
 * @line: number of the line
 * @addr: address and port; set by cluster_resolve(), not for this node itself
 */
struct cluster_node {
	uint32_t number;
	char host[ADDR_HOST_MAX];
	uint16_t port;
	unsigned int line;
	union addr addr;
};

/**
 * struct cluster - what a file says
 * @env: the world
 * @file: its name
 * @errors: how many it has
 * @nodes: in the order of the file
 * @count: how many
 * @self: this node, one of @nodes; set by cluster_resolve()
 * @max: number of nodes
 * @max_line: line that said so, or 0
 * @dead_time: of all peers, in milliseconds
 * @dead_time_line: line that said so, or 0
 * @payload_crc: of all peers, 0 or 1
 * @payload_crc_line: line that said so, or 0
 */
struct cluster {
	const struct cluster_env *env;
	const char *file;
	unsigned int errors;
	struct cluster_node *nodes;
	size_t count;
	const struct cluster_node *self;
	uint32_t max;
	unsigned int max_line;
	uint32_t dead_time;
	unsigned int dead_time_line;
	uint32_t payload_crc;
	unsigned int payload_crc_line;
};

/**
 * cluster_read() - read a file
 * @c: filled in; cluster_free() it
 * @env: the world
 * @in: the file
 * @file: its name, for complaints
 *
 * Return: whether it has no errors.
 */
bool cluster_read(struct cluster *c, const struct cluster_env *env, FILE *in,
		  const char *file);

/**
 * cluster_resolve() - look up all names, and which node this is
 * @c: as read, without errors
 * @self: number of this node, or NULL to find it by its addresses
 *
 * Return: whether there were no errors.
 */
bool cluster_resolve(struct cluster *c, const uint32_t *self);

void cluster_free(struct cluster *c);

#endif /* DDCTL_CLUSTER_H */
