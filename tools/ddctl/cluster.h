/* SPDX-License-Identifier: GPL-2.0-only */
/* The cluster file: see dd-cluster.conf(5). */
#ifndef DDCTL_CLUSTER_H
#define DDCTL_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "addr.h"
#include "words.h"

/**
 * struct cluster_node - a line with a node
 * @number: its number
 * @host: name or address
 * @port: UDP port
 * @line: number of the line
 * @addr: address and port; set by cluster_resolve(), not for this node itself
 * @skipped: its name has no address that can be used now
 */
struct cluster_node {
	uint32_t number;
	char host[ADDR_HOST_MAX];
	uint16_t port;
	unsigned int line;
	union addr addr;
	bool skipped;
};

/**
 * struct cluster - contents of a file
 * @file: its name
 * @errors: number of errors
 * @skipped: number of nodes that are left out
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
	unsigned int skipped;
	struct cluster_node *nodes;
	size_t count;
	const struct cluster_node *self;
	uint32_t max;
	uint32_t dead_time;
	uint32_t payload_crc;
	struct values set;
	unsigned int set_line[SETTINGS];
};

/* Read a file named @file in errors; false if it has any. cluster_free() it. */
bool cluster_read(struct cluster *c, FILE *in, const char *file);

/*
 * Look up all names of a file without errors, and find this node: by its number
 * @self, or by its addresses if that is NULL. False if there were errors. A node whose
 * name has no usable address is reported and skipped, which is no error.
 */
bool cluster_resolve(struct cluster *c, const uint32_t *self);

void cluster_free(struct cluster *c);

#endif /* DDCTL_CLUSTER_H */
