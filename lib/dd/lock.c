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
 * Whoever has waited leaves the state at 2, since others may wait still: one
 * needless wake-up at worst. The caller's errno is its own business.
 */
void ddi_lock_wait(struct ddi_lock *lock)
{
	int saved = errno;

	while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL);
	errno = saved;
}

void ddi_lock_wake(struct ddi_lock *lock)
{
	int saved = errno;

	syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1);
	errno = saved;
}
