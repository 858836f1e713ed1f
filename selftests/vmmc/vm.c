// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm.c - what the tests of VMMC share
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>

#include "vm.h"

int worker_known(void)
{
	return vmmc_MyPid() < 0 ? -1 : 0;
}

vmmc_node_t node_there(void)
{
	vmmc_node_t node = vmmc_MyNode();

	if (far)
		node.number = atoi(getenv("DDP_PEER_NODE"));
	return node;
}
