/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slot.h - slots of a hash table in shared memory: one writer, readers without a lock
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_SLOT_H
#define DD_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <xxhash.h>

/**
 * struct slot - what a slot begins with; its value follows
 * @state: kind of the value, or a state without a value; stored last
 * @sum: of @state and the value
 *
 * A reader fetches ascending words, so it has the state first. If the sum is right, the value
 * is whole: it was not changed meanwhile.
 */
struct slot {
	uint32_t state;
	uint32_t sum;
};

static inline uint32_t slot_sum(const struct slot *s, uint32_t state, size_t len)
{
	return XXH3_64bits(s + 1, len) + state;
}

/* Whether the @len bytes of the value belong together. The slot is a copy of the caller's. */
static inline bool slot_whole(const struct slot *s, size_t len)
{
	return s->sum == slot_sum(s, s->state, len);
}

/* Leave a slot without a value: before the value is changed. */
static inline void slot_clear(struct slot *s, uint32_t state)
{
	__atomic_store_n(&s->state, state, __ATOMIC_RELAXED);
	/* Orders the state before the stores to the value. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Publish the value of a slot, @len bytes that the caller has stored. */
static inline void slot_publish(struct slot *s, uint32_t state, size_t len)
{
	s->sum = slot_sum(s, state, len);
	/* Orders the value before the state. */
	__atomic_store_n(&s->state, state, __ATOMIC_RELEASE);
}

/**
 * copy_once() - copy memory that another process may be changing
 * @to: memory of the caller
 * @from: shared memory
 * @len: bytes
 *
 * What the caller checks in the copy does not change: the compiler does not load from @from
 * again.
 */
static inline void copy_once(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	__asm__ __volatile__("" : : "r" (to) : "memory");
}

#endif /* DD_SLOT_H */
