// SPDX-License-Identifier: LGPL-2.1-only
/*
 * error.c - codes and their texts
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "common.h"

static const char *const texts[] = {
	[-SBL_Success] = "success",
	[-SBL_EBadAlignment] = "an address is not at the beginning of a word, or of a page",
	[-SBL_EBufAlreadyExists] = "this process exports a buffer with that number already",
	[-SBL_EBadIbufState] = "the import has ended",
	[-SBL_EBadRbufState] = "no buffer with that number is exported",
	[-SBL_EBadProxyAddr] = "not all words are at addresses of one import",
	[-SBL_EBadSize] = "the number of words is not positive",
	[-SBL_EBadArg] = "an argument is not valid",
	[-SBL_ENotImplemented] = "not implemented",
	[-SBL_EBlockedNotifications] = "notifications that are blocked would cause a deadlock",
	[-SBL_ENoPhysDestSpace] = "the buffer has as many importers as its process permits",
	[-SBL_ENoVirtDestSpace] = "no addresses are left in DestSpace",
	[-SBL_ENoMem] = "out of memory, or RLIMIT_MEMLOCK is used up",
	[-SBL_ENoSuchNode] = "no such node, or it does not answer",
	[-SBL_ENoSuchProcess] = "no such process uses SBL on that node",
	[-SBL_ENotInHandler] = "not permitted in a notification handler",
	[-SBL_EOverlappedBufs] = "the memory overlaps a buffer or a mapping",
	[-SBL_EPermission] = "this user may not use /dev/dd",
};

static const char *text_of(int status)
{
	size_t i = -(size_t)status;

	return status <= 0 && i < sizeof(texts) / sizeof(texts[0]) && texts[i] ? texts[i] :
	       "unknown code";
}

/* By one system call, since handlers call it, too. */
SBL_API void SBL_Error(int status, const char *string)
{
	const char *parts[] = { string ? string : "sbl", ": ", text_of(status), "\n" };
	struct iovec iov[4];

	for (int i = 0; i < 4; i++)
		iov[i] = (struct iovec){ (char *)parts[i], strlen(parts[i]) };
	if (writev(2, iov, 4) < 0)
		return;
}

int sbl_code(int ret, int other)
{
	switch (ret) {
	case 0:
		return SBL_Success;
	case -EINVAL:
	case -EFAULT:
		return SBL_EBadArg;
	case -EOPNOTSUPP:
		return SBL_ENotImplemented;
	case -EDQUOT:
	case -ENOMEM:
	case -ENOSPC:
	case -ENOBUFS:
		return SBL_ENoMem;
	}
	return other;
}

int sbl_import_code(int ret)
{
	switch (ret) {
	case -EACCES:
		return SBL_EPermission;
	case -EUSERS:
	case -ENOBUFS:
		return SBL_ENoPhysDestSpace;
	case -EADDRNOTAVAIL:
		return SBL_ENoVirtDestSpace;
	case -ECONNREFUSED:
	case -ESRCH:
		return SBL_ENoSuchProcess;
	case -EINVAL:
		return SBL_ENoSuchNode;
	}
	return sbl_code(ret, SBL_ENoSuchNode);
}

int sbl_send_code(int64_t ret)
{
	if (ret == -EDEADLK)
		return SBL_EBlockedNotifications;
	return ret > 0 ? SBL_Success : sbl_code(ret, SBL_EBadIbufState);
}
