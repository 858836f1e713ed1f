/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * lock.h - a lock of one word, for the paths of every message
 *
 * Copyright (C) 2026 The dd authors
 *
 * A pthread_mutex_t costs some forty instructions more. Bit 0 is set while the lock
 * is held, bit 1 while threads may wait for it: the algorithm of "Futexes Are Tricky"
 * (Drepper), with bits instead of the values 0, 1 and 2.
 */
#ifndef _DD_LOCK_H
#define _DD_LOCK_H

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "atomic.h"

#define DDI_LOCK_HELD	1u
#define DDI_LOCK_WAITED	2u

struct ddi_lock {
	uint32_t state;
};

/*
 * Whether the C library knows that this is the only thread of the process. Then no
 * other thread can contend for a lock before this one has left the library, and locks
 * are left alone.
 */
static inline bool ddi_alone(void)
{
#if __has_include(<sys/single_threaded.h>)
	return ddi_likely(__libc_single_threaded);
#else
	return false;
#endif
}

int ddi_lock_wait(struct ddi_lock *lock, int64_t deadline);
int ddi_lock_wake(struct ddi_lock *lock);

static inline bool ddi_trylock(struct ddi_lock *lock)
{
	return ddi_alone() || !(__atomic_fetch_or(&lock->state, DDI_LOCK_HELD,
						  __ATOMIC_ACQUIRE) & DDI_LOCK_HELD);
}

/* Returns 0, or -ETIMEDOUT if @deadline has passed. */
static inline int ddi_lock_until(struct ddi_lock *lock, int64_t deadline)
{
	return ddi_likely(ddi_trylock(lock)) ? 0 : ddi_lock_wait(lock, deadline);
}

static inline void ddi_lock(struct ddi_lock *lock)
{
	ddi_lock_until(lock, -1);
}

/* Returns 0, so that it can be the last call of a function. */
static inline int ddi_unlock(struct ddi_lock *lock)
{
	if (!ddi_alone() &&
	    ddi_unlikely(__atomic_sub_fetch(&lock->state, DDI_LOCK_HELD, __ATOMIC_RELEASE)))
		return ddi_lock_wake(lock);
	return 0;
}

#endif /* _DD_LOCK_H */
