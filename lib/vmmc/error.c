// SPDX-License-Identifier: LGPL-2.1-only
/*
 * error.c - codes and their texts
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "atomic.h"
#include "error.h"

#ifndef VMMC_DEBUG_LEVEL
#define VMMC_DEBUG_LEVEL	0
#endif

static int debug_level = VMMC_DEBUG_LEVEL;

static const char *const texts[] = {
	[-vmmc_Success] = "success",
	[-vmmcErr_BadAlignment] = "an address is not a multiple of 4",
	[-vmmcErr_BufAlreadyExists] = "this process exports a buffer with that number already",
	[-vmmcErr_BadIbufState] = "the import has ended, or does not permit this direction",
	[-vmmcErr_BadRbufState] = "the buffer is not exported, or not in the state for this call",
	[-vmmcErr_BadProxyExtension] = "a proxy cannot be extended",
	[-vmmcErr_BadProxyAddr] = "not all words are at proxy addresses of one import",
	[-vmmcErr_BadSize] = "the number of words is 0, or above 2147483647",
	[-vmmcErr_BadArg] = "an argument is not valid",
	[-vmmcErr_NotImplemented] = "not implemented",
	[-vmmcErr_UnblockedNotifications] = "notifications are not blocked",
	[-vmmcErr_BlockedNotifications] = "notifications that are blocked would cause a deadlock",
	[-vmmcErr_NoPhysDestSpace] = "the buffer has as many importers as its process permits",
	[-vmmcErr_NoVirtDestSpace] = "no addresses are left for another proxy",
	[-vmmcErr_NoMem] = "out of memory, or RLIMIT_MEMLOCK is used up",
	[-vmmcErr_NoSuchNode] = "no such node, or it does not answer",
	[-vmmcErr_NoSuchProcess] = "no such process uses VMMC on that node",
	[-vmmcErr_NotInHandler] = "not permitted in a notification handler",
	[-vmmcErr_OverlappedBufs] = "the buffer overlaps another one that is exported",
	[-vmmcErr_InProgress] = "the request is under way",
	[-vmmcErr_NoSuchError] = "no data",
	[-vmmcErr_BadAsyncHandle] = "the handle names no request",
	[-vmmcErr_StateHandle] = "the completion of the request was reported before",
	[-vmmcErr_NoParent] = "this process was not started by vmmc_Spawn()",
	[-vmmcErr_Permission] = "this user may not import the buffer, or open /dev/dd",
};

VMMC_API char *vmmc_ErrorStr(int code)
{
	size_t i = -(size_t)code;

	return (char *)(code <= 0 && i < sizeof(texts) / sizeof(texts[0]) ? texts[i] :
			"unknown code");
}

/* By one system call, without memory or a lock: handlers call it, too. */
static void print(const char *what, int code)
{
	const char *const parts[] = { what, ": ", vmmc_ErrorStr(code), "\n" };
	struct iovec line[4];

	for (int i = 0; i < 4; i++)
		line[i] = (struct iovec){ (char *)parts[i], strlen(parts[i]) };
	/* There is nowhere to report an error to. */
	if (writev(2, line, 4) < 0)
		return;
}

VMMC_API void vmmc_Error(int code, const char *text)
{
	print(text ? text : "vmmc", code);
}

VMMC_API void vmmc_SetDebugLevel(int level)
{
	ddi_store(&debug_level, level);
}

vmmc_result_t vmmc_result(const char *call, vmmc_result_t code)
{
	if (code < 0 && ddi_load(&debug_level) > 0)
		print(call, code);
	return code;
}

vmmc_result_t vmmc_code(int ret, vmmc_result_t other)
{
	switch (ret) {
	case 0:
		return vmmc_Success;
	case -EINVAL:
	case -EFAULT:
		return vmmcErr_BadArg;
	case -EOPNOTSUPP:
		return vmmcErr_NotImplemented;
	case -EDQUOT:
	case -ENOMEM:
	case -ENOSPC:
	case -ENOBUFS:
		return vmmcErr_NoMem;
	}
	return other;
}

vmmc_result_t vmmc_import_code(int ret)
{
	switch (ret) {
	case -EACCES:
		return vmmcErr_Permission;
	case -EUSERS:
	case -ENOBUFS:
		return vmmcErr_NoPhysDestSpace;
	case -EADDRNOTAVAIL:
		return vmmcErr_NoVirtDestSpace;
	case -ECONNREFUSED:
	case -ESRCH:
		return vmmcErr_NoSuchProcess;
	case -EINVAL:
		return vmmcErr_NoSuchNode;
	}
	return vmmc_code(ret, vmmcErr_NoSuchNode);
}
