/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * atomic.h - accesses to memory that other threads, processes or the kernel share
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_ATOMIC_H
#define _DD_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define ddi_likely(x)		__builtin_expect(!!(x), 1)
#define ddi_unlikely(x)		__builtin_expect(!!(x), 0)

#define ddi_load(p)		__atomic_load_n((p), __ATOMIC_RELAXED)
#define ddi_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ddi_store(p, v)		__atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ddi_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* A store followed by a full barrier: it is visible before any later load is done. */
#if defined(__x86_64__) || defined(__i386__)
#define ddi_store_mb(p, v)	((void)__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST))
#else
#define ddi_store_mb(p, v)						\
	({								\
		ddi_store_release(p, v);				\
		__atomic_thread_fence(__ATOMIC_SEQ_CST);		\
	})
#endif

#endif /* _DD_ATOMIC_H */
