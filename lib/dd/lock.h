/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * lock.h - a lock of one word, for the paths where instructions count
 *
 * Copyright (C) 2026 The dd authors
 *
 * Taking and leaving it uncontended is one atomic instruction each, inline;
 * a pthread_mutex_t is some forty more. The states are those of "Futexes Are
 * Tricky" (Drepper): 0 free, 1 held, 2 held and perhaps waited for. All zeros
 * is a free lock.
 */
#ifndef _DD_LOCK_H
#define _DD_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct ddi_lock {
	uint32_t state;
};

void ddi_lock_wait(struct ddi_lock *lock);
void ddi_lock_wake(struct ddi_lock *lock);

static inline bool ddi_trylock(struct ddi_lock *lock)
{
	uint32_t expected = 0;

	return __atomic_compare_exchange_n(&lock->state, &expected, 1, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void ddi_lock(struct ddi_lock *lock)
{
	if (__builtin_expect(!ddi_trylock(lock), 0))
		ddi_lock_wait(lock);
}

static inline void ddi_unlock(struct ddi_lock *lock)
{
	if (__builtin_expect(__atomic_exchange_n(&lock->state, 0,
						 __ATOMIC_RELEASE) == 2, 0))
		ddi_lock_wake(lock);
}

/*
 * Leaves the lock, and is a full barrier: what was stored before can be seen
 * by all before anything is loaded after it. Returns whether ddi_lock_wake()
 * is due.
 */
static inline bool ddi_unlock_mb(struct ddi_lock *lock)
{
	uint32_t old = __atomic_exchange_n(&lock->state, 0, __ATOMIC_SEQ_CST);

	/* There the instruction is that barrier. */
#if !defined(__x86_64__) && !defined(__i386__)
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	return old == 2;
}

#endif /* _DD_LOCK_H */
