// SPDX-License-Identifier: LGPL-2.1-only
/*
 * spawn.c - processes that start processes
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>

#include "common.h"
#include "session.h"

static vmmc_result_t spawn_code(int ret)
{
	switch (-ret) {
	case 0:
		return vmmc_Success;
	case ENOMEM:
		return vmmcErr_NoMem;
	case EHOSTUNREACH:
		return vmmcErr_NoSuchNode;
	case EPERM:
		return vmmcErr_Permission;
	}
	return vmmcErr_BadArg;
}

VMMC_API vmmc_result_t vmmc_Spawn(const char *execfile, char **argv, vmmc_node_t node,
				  vmmc_pid_t *pid)
{
	vmmc_result_t code;
	struct dd *h;

	if (vmmc_in_handler())
		code = vmmcErr_NotInHandler;
	else if (!execfile || !argv || !pid)
		code = vmmcErr_BadArg;
	else if (node.number < 0)
		code = vmmcErr_NoSuchNode;
	else if (!(code = vmmc_handle(&h)))
		code = spawn_code(ddi_session_spawn(execfile, argv, node.number, pid));
	return vmmc_result("vmmc_Spawn", code);
}

VMMC_API vmmc_result_t vmmc_Parent(vmmc_node_t *node, vmmc_pid_t *pid)
{
	vmmc_result_t code = vmmcErr_NoParent;

	if (!node || !pid)
		code = vmmcErr_BadArg;
	else if (!ddi_session_parent(&node->number, pid))
		code = vmmc_Success;
	return vmmc_result("vmmc_Parent", code);
}
