// SPDX-License-Identifier: LGPL-2.1-only
/*
 * node.c - nodes and processes
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <unistd.h>

#include "common.h"
#include "hosts.h"
#include "peer.h"
#include "session.h"

#define NO_NODE	0xffffffffu

SBL_API int SBL_Hosts(int *nhosts, NodeID **hosts)
{
	struct dd *h;
	int code = nhosts && hosts ? sbl_handle(&h) : SBL_EBadArg;

	if (!code)
		*nhosts = sbl_hosts(hosts);
	return code;
}

SBL_API NodeID SBL_MyNode(void)
{
	struct dd *h;

	return sbl_handle(&h) ? NO_NODE : sbl_node_id(dd_node(h));
}

SBL_API SBL_Squid SBL_MySquid(void)
{
	struct dd *h;
	int pid;

	return ddi_present(&h, &pid) ? getpid() : pid;
}

static int spawn_code(int ret)
{
	switch (-ret) {
	case 0:
		return SBL_Success;
	case ENOMEM:
		return SBL_ENoMem;
	case EHOSTUNREACH:
		return SBL_ENoSuchNode;
	case EPERM:
		return SBL_EPermission;
	}
	return SBL_EBadArg;
}

SBL_API int SBL_Spawn(char *execfile, char **argv, NodeID node, SBL_Squid *squid)
{
	struct dd *h;
	int code, to;

	if (sbl_in_handler())
		return SBL_ENotInHandler;
	if (!execfile || !argv || !squid)
		return SBL_EBadArg;
	code = sbl_handle(&h);
	if (code)
		return code;
	to = sbl_node_number(h, node);
	if (to < 0)
		return SBL_ENoSuchNode;
	return spawn_code(ddi_session_spawn(execfile, argv, to, squid));
}

/* A page of automatic update is a whole one of the machine. */
SBL_API int SBL_PageSize(void)
{
	long size = sysconf(_SC_PAGESIZE);

	return size > 4096 ? size : 4096;
}

SBL_API int SBL_WordSize(void)
{
	return SBL_WORD;
}
