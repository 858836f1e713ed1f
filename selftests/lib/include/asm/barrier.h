/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's barriers in user space, as its memory model defines them.
 */
#ifndef _ASM_BARRIER_H
#define _ASM_BARRIER_H

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

#endif /* _ASM_BARRIER_H */
