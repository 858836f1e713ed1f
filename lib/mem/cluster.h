/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * cluster.h - hosts of the cluster
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_CLUSTER_H
#define _DD_CLUSTER_H

#define DDI_NODES_MAX	4096

/*
 * Call a function for each line of /etc/dd/cluster.conf that has a node, with its number and its
 * host without the port. Lines that "ddctl apply" refuses are left out, but for repeated numbers.
 */
void ddi_cluster_read(void (*host)(int number, const char *name));

#endif /* _DD_CLUSTER_H */
