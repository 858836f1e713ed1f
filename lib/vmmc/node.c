// SPDX-License-Identifier: LGPL-2.1-only
/*
 * node.c - nodes
 *
 * Copyright (C) 2026 The dd authors
 */
#include <unistd.h>

#include "hosts.h"
#include "common.h"

#define NO_NODE	((vmmc_node_t){ -1 })

static vmmc_result_t hosts_return(struct vmmc_hosts *hosts, uint32 *count, vmmc_node_t **nodes)
{
	struct dd *h;
	vmmc_result_t code = count && nodes ? vmmc_handle(&h) : vmmcErr_BadArg;

	if (!code)
		code = hosts->code;
	if (!code) {
		*count = hosts->count;
		*nodes = hosts->node;
	}
	return code;
}

VMMC_API vmmc_result_t vmmc_AllHosts(uint32 *count, vmmc_node_t **nodes)
{
	return vmmc_result("vmmc_AllHosts", hosts_return(&vmmc_cluster, count, nodes));
}

VMMC_API vmmc_result_t vmmc_SessionHosts(uint32 *count, vmmc_node_t **nodes)
{
	return vmmc_result("vmmc_SessionHosts", hosts_return(&vmmc_session, count, nodes));
}

VMMC_API int vmmc_EqualNodes(vmmc_node_t a, vmmc_node_t b)
{
	return a.number == b.number;
}

VMMC_API vmmc_node_t vmmc_MyNode(void)
{
	struct dd *h;

	return vmmc_handle(&h) ? NO_NODE : (vmmc_node_t){ dd_node(h) };
}

VMMC_API char *vmmc_NodeToName(vmmc_node_t node)
{
	struct dd *h;

	return vmmc_handle(&h) ? NULL : vmmc_host_name(node.number);
}

VMMC_API char *vmmc_MyHostName(void)
{
	static char machine[256];
	char *name = vmmc_NodeToName(vmmc_MyNode());

	/* Without the device. */
	if (!name && gethostname(machine, sizeof(machine) - 1))
		machine[0] = 0;
	return name ? name : machine;
}

VMMC_API vmmc_node_t vmmc_NameToNode(const char *name)
{
	struct dd *h;

	if (!name || vmmc_handle(&h))
		return NO_NODE;
	return (vmmc_node_t){ vmmc_host_number(h, name) };
}
