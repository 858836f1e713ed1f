// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lock.c - waiting for a lock of one word
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lock.h"
#include "wait.h"

/*
 * Not a pthread_mutex_t: ThreadSanitizer does not know pthread_mutex_clocklock(), and musl does
 * not have it.
 *
 * A thread that has waited leaves bit 1 set, because others may still wait: at worst
 * this causes one needless wake-up. errno of the caller is kept.
 */
DD_API int ddi_lock_wait(struct ddi_lock *lock, int64_t deadline)
{
	const uint32_t both = DDI_LOCK_HELD | DDI_LOCK_WAITED;
	int saved = errno, ret = 0;
	struct timespec left;

	while (__atomic_exchange_n(&lock->state, both, __ATOMIC_ACQUIRE) &
	       DDI_LOCK_HELD) {
		if (ddi_passed(deadline)) {
			ret = -ETIMEDOUT;
			break;
		}
		left = ddi_timespec(ddi_remaining(deadline));
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, both, &left);
	}
	errno = saved;
	return ret;
}

/*
 * Called after the lock was left with bit 1 set. If another thread holds it by now,
 * bit 1 is still set and that thread wakes the waiters; if the bit is clear, the
 * thread that cleared it has woken one.
 */
DD_API int ddi_lock_wake(struct ddi_lock *lock)
{
	uint32_t expected = DDI_LOCK_WAITED;
	int saved = errno;

	if (__atomic_compare_exchange_n(&lock->state, &expected, 0, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1);
	errno = saved;
	return 0;
}
