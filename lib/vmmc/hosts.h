/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * hosts.h - names of nodes
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _VMMC_HOSTS_H
#define _VMMC_HOSTS_H

#include <stdint.h>

#include "vmmc.h"

struct dd;

#define NODES_MAX	4096

struct vmmc_hosts {
	uint32_t count;
	vmmc_node_t node[NODES_MAX];
	vmmc_result_t code;	/* why they could not be read */
};

extern struct vmmc_hosts vmmc_cluster, vmmc_session;

void vmmc_hosts_read(struct dd *h);
int vmmc_host_number(struct dd *h, const char *name);	/* -1: unknown */
char *vmmc_host_name(int number);

#endif /* _VMMC_HOSTS_H */
