/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cluster file: dd-cluster.conf(5).
 */
#ifndef DDCTL_CLUSTER_H
#define DDCTL_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "addr.h"
#include "words.h"

#define CLUSTER_DEAD_TIME	5000	/* ms, by default */
#define CLUSTER_ADDRESSES	16	/* of a name, at most */

/* Settings of all nodes. */
enum {
	CLUSTER_SET_MAX,
	CLUSTER_SET_DEAD_TIME,
	CLUSTER_SET_PAYLOAD_CRC,
	CLUSTER_SETS
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
 * struct cluster - contents of a file
 * @file: its name
 * @errors: number of errors
 * @nodes: in the order of the file
 * @count: number of nodes in the file
 * @self: this node, one of @nodes; set by cluster_resolve()
 * @max: number of nodes
 * @dead_time: of all peers, in milliseconds
 * @payload_crc: of all peers, 0 or 1
 * @set: settings in the file
 * @set_line: their lines, or 0
 */
struct cluster {
	const char *file;
	unsigned int errors;
	struct cluster_node *nodes;
	size_t count;
	const struct cluster_node *self;
	uint32_t max;
	uint32_t dead_time;
	uint32_t payload_crc;
	struct setting set[CLUSTER_SETS + 1];
	unsigned int set_line[CLUSTER_SETS];
};

/**
 * cluster_read() - read a file
 * @c: filled in; cluster_free() it
 * @in: the file
 * @file: its name, for errors
 *
 * Return: whether it has no errors.
 */
bool cluster_read(struct cluster *c, FILE *in, const char *file);

/**
 * cluster_resolve() - look up all names, and find this node
 * @c: as read, without errors
 * @self: number of this node, or NULL to find it by its addresses
 *
 * Return: whether there were no errors.
 */
bool cluster_resolve(struct cluster *c, const uint32_t *self);

void cluster_free(struct cluster *c);

#endif /* DDCTL_CLUSTER_H */
