// SPDX-License-Identifier: LGPL-2.1-only
/*
 * probe.c - find out whether memory can be accessed, without accessing it
 *
 * Copyright (C) 2026 The dd authors
 *
 * The protocol requires EINVAL for a bad pointer of ddconninfo() and ddpoll(). Other
 * calls check for NULL only.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

#define PAGE_MIN	4096ul

/*
 * The kernel copies the signal set before it finds that the first argument is
 * invalid: the result is EFAULT or EINVAL, and nothing else happens.
 */
static bool word_readable(uintptr_t addr)
{
	long ret = syscall(SYS_rt_sigprocmask, ~0, addr & ~7ul, NULL, 8);

	return !(ret < 0 && errno == EFAULT);
}

/*
 * The kernel adds 0 to the word atomically, so a concurrent store of another thread
 * is not lost. No thread waits on @here, and the comparison is never true, so that
 * no waiter on the word is woken.
 */
static bool word_writable(uintptr_t addr)
{
	uint32_t here = 0, op = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, -2048);
	long ret = syscall(SYS_futex, &here, FUTEX_WAKE_OP_PRIVATE, 0, NULL,
			   addr & ~3ul, op);

	return !(ret < 0 && errno == EFAULT);
}

/* Checks one word of each page. */
static bool range_good(uintptr_t addr, size_t len, bool (*good)(uintptr_t addr))
{
	uintptr_t last = addr + len - 1;
	int saved = errno;
	bool ret = last >= addr;

	while (ret && addr <= last) {
		ret = good(addr);
		addr = (addr | (PAGE_MIN - 1)) + 1;
		if (!addr)
			break;
	}
	errno = saved;
	return ret;
}

bool ddi_readable(const void *addr, size_t len)
{
	return range_good((uintptr_t)addr, len, word_readable);
}

bool ddi_writable(void *addr, size_t len)
{
	return range_good((uintptr_t)addr, len, word_writable);
}
