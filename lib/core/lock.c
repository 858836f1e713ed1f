// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lock.c - waiting for a lock of one word
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lock.h"

/*
 * Whoever has waited leaves bit 1 set, since others may wait still: one
 * needless wake-up at worst. The caller's errno is its own business.
 */
void ddi_lock_wait(struct ddi_lock *lock)
{
	const uint32_t both = DDI_LOCK_HELD | DDI_LOCK_WAITED;
	int saved = errno;

	while (__atomic_exchange_n(&lock->state, both, __ATOMIC_ACQUIRE) &
	       DDI_LOCK_HELD)
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, both, NULL);
	errno = saved;
}

/*
 * After leaving a lock in which bit 1 is set. If somebody holds it again, then
 * with bit 1, and the waiters are theirs; if the bit is gone, whoever cleared
 * it has woken one.
 */
void ddi_lock_wake(struct ddi_lock *lock)
{
	uint32_t expected = DDI_LOCK_WAITED;
	int saved = errno;

	if (__atomic_compare_exchange_n(&lock->state, &expected, 0, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1);
	errno = saved;
}
