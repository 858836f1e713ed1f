/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * lock.h - a lock of one word, for the paths where instructions count
 *
 * Copyright (C) 2026 The dd authors
 *
 * Taking and leaving it uncontended is one atomic instruction each, inline;
 * a pthread_mutex_t is some forty more. Bit 0 says that it is held, bit 1 that
 * somebody may be waiting; all zeros is a free lock. What "Futexes Are Tricky"
 * (Drepper) does with the values 0, 1 and 2, in bits, so that x86 has an
 * instruction for each end that leaves its answer in a flag.
 */
#ifndef _DD_LOCK_H
#define _DD_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#define DDI_LOCK_HELD	1u
#define DDI_LOCK_WAITED	2u

struct ddi_lock {
	uint32_t state;
};

/*
 * Whether this process has no thread but this one, as the C library knows. Then
 * nobody else can take a lock before this thread has left the library, since who
 * should begin another thread? So the shortest paths need not take any, as
 * malloc() does not either; on the way to a longer one they do, for which there
 * is ddi_lock_alone().
 */
static inline bool ddi_alone(void)
{
#if __has_include(<sys/single_threaded.h>)
	return __libc_single_threaded;
#else
	return false;
#endif
}

/* Where the C library says so, a bool; or NULL. */
static inline const char *ddi_alone_at(void)
{
#if __has_include(<sys/single_threaded.h>)
	return &__libc_single_threaded;
#else
	return NULL;
#endif
}

void ddi_lock_wait(struct ddi_lock *lock);
void ddi_lock_wake(struct ddi_lock *lock);

static inline bool ddi_trylock(struct ddi_lock *lock)
{
	return !(__atomic_fetch_or(&lock->state, DDI_LOCK_HELD,
				   __ATOMIC_ACQUIRE) & DDI_LOCK_HELD);
}

/* Take a lock that is free, where ddi_alone() and not in a longer path. */
static inline void ddi_lock_alone(struct ddi_lock *lock)
{
	lock->state |= DDI_LOCK_HELD;
}

static inline void ddi_lock(struct ddi_lock *lock)
{
	if (__builtin_expect(!ddi_trylock(lock), 0))
		ddi_lock_wait(lock);
}

/*
 * Leaves the lock, and is a full barrier: what was stored before can be seen
 * by all before anything is loaded after it. Returns whether ddi_lock_wake()
 * is due.
 */
static inline bool ddi_unlock_mb(struct ddi_lock *lock)
{
	bool waited = __atomic_sub_fetch(&lock->state, DDI_LOCK_HELD,
					 __ATOMIC_SEQ_CST);

	/* There the instruction is that barrier. */
#if !defined(__x86_64__) && !defined(__i386__)
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	return waited;
}

static inline void ddi_unlock(struct ddi_lock *lock)
{
	if (__builtin_expect(__atomic_sub_fetch(&lock->state, DDI_LOCK_HELD,
						__ATOMIC_RELEASE) != 0, 0))
		ddi_lock_wake(lock);
}

#endif /* _DD_LOCK_H */
