// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm.c - what the tests of VMMC share
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <stdlib.h>

#include "vm.h"

vmmc_node_t node_there(void)
{
	vmmc_node_t node = vmmc_MyNode();

	if (far)
		node.number = atoi(getenv("DDP_PEER_NODE"));
	return node;
}

void link_shape(const char *netem)
{
	const char *loss = getenv("DDP_LOSS");
	char tc[256];

	if (!far)
		return;
	if (netem || loss)
		snprintf(tc, sizeof(tc), "tc -n dd2 qdisc replace dev eth0 root netem %s %s %s",
			 netem ? netem : "", loss ? "loss" : "", loss ? loss : "");
	else
		snprintf(tc, sizeof(tc), "tc -n dd2 qdisc del dev eth0 root");
	check_eq(root_run(tc), 0);
}
