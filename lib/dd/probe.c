// SPDX-License-Identifier: LGPL-2.1-only
/*
 * probe.c - can memory be touched? Asked without touching it
 *
 * Copyright (C) 2026 The dd authors
 *
 * The protocol answers a bad result pointer with EINVAL, and the library
 * writes results itself, so it asks the kernel first. The last pages found
 * good are remembered per thread: a program that always receives into the
 * same variable asks once. The price is that memory which was good for an
 * earlier call and has been unmapped since is not noticed.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

#define REMEMBERED	4

static DDI_TLS uintptr_t good_read[REMEMBERED];
static DDI_TLS uintptr_t good_write[REMEMBERED];

/* An address that is good, and that nobody asks about. */
static char good_at_first;
DDI_TLS void *ddi_probe_last = &good_at_first;
void *ddi_probe_last_alone = &good_at_first;

/*
 * The signal set is copied in before the nonsense in the first argument is
 * noticed, so nothing happens but EFAULT or EINVAL.
 */
static bool ask_readable(uintptr_t addr)
{
	long ret = syscall(SYS_rt_sigprocmask, ~0, addr & ~7ul, NULL, 8);

	return !(ret < 0 && errno == EFAULT);
}

/*
 * Adds 0 to the word, atomically, so that what other threads do to it
 * meanwhile is kept. Nobody waits on the first word; a comparison that is
 * never true keeps waiters on the second asleep.
 */
static bool ask_writable(uintptr_t addr)
{
	uint32_t here = 0;
	uint32_t op = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, -2048);
	long ret = syscall(SYS_futex, &here, FUTEX_WAKE_OP_PRIVATE, 0, NULL,
			   addr & ~3ul, op);

	return !(ret < 0 && errno == EFAULT);
}

static bool page_good(uintptr_t addr, uintptr_t page,
		      uintptr_t *good, bool (*ask)(uintptr_t addr))
{
	uintptr_t *slot = &good[page % REMEMBERED];

	/* Page 0 is never mapped, and never remembered. */
	if (page && *slot == page)
		return true;
	if (!page || !ask(addr))
		return false;
	*slot = page;
	return true;
}

static bool range_good(uintptr_t addr, size_t len, uintptr_t *good,
		       bool (*ask)(uintptr_t addr))
{
	static const unsigned int shift = 12;	/* at most a page anywhere */
	uintptr_t last = addr + (len ? len - 1 : 0);
	int saved = errno;
	bool ret = last >= addr;

	for (uintptr_t p = addr >> shift; ret && p <= last >> shift; p++)
		ret = page_good(p == addr >> shift ? addr : p << shift, p,
				good, ask);
	errno = saved;
	return ret;
}

/* Is every page of [@addr, @addr + @len) readable? */
bool ddi_probe_readable(const void *addr, size_t len)
{
	return range_good((uintptr_t)addr, len, good_read, ask_readable);
}

/* Is every page of [@addr, @addr + @len) writable? */
bool ddi_probe_writable(void *addr, size_t len)
{
	return range_good((uintptr_t)addr, len, good_write, ask_writable);
}
