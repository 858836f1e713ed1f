// SPDX-License-Identifier: GPL-2.0-only
/*
 * ipc.c - shared memory with a futex, and pipes
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "method.h"
#include "../common/tool.h"

static void failed(const char *what)
{
	perf_fail(TOOL_FAILED, "%s: %s", what, strerror(errno));
}

/* --- futex ---------------------------------------------------------------- */

/* The half of the counter that changes with each message. */
static uint32_t *futex_word(struct counter *c)
{
	return (uint32_t *)&c->value + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/*
 * Either the sleeper sees the new value, or whoever stores it sees that there is
 * a sleeper: each of them writes before it reads, in one order for both.
 */
static void wait_change(struct counter *c, uint64_t old)
{
	while (__atomic_load_n(&c->value, __ATOMIC_ACQUIRE) == old) {
		__atomic_store_n(&c->asleep, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&c->value, __ATOMIC_SEQ_CST) == old)
			syscall(SYS_futex, futex_word(c), FUTEX_WAIT,
				(uint32_t)old, NULL, NULL, 0);
		__atomic_store_n(&c->asleep, 0, __ATOMIC_RELAXED);
	}
}

static void change(struct counter *c, uint64_t value)
{
	__atomic_store_n(&c->value, value, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&c->asleep, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, futex_word(c), FUTEX_WAKE, INT_MAX, NULL,
			NULL, 0);
}

void futex_put(struct side *s, size_t size)
{
	struct counter *taken = &s->shared->taken[s->me];
	uint64_t seen;

	while (s->posted - (seen = __atomic_load_n(&taken->value,
						   __ATOMIC_ACQUIRE)) >=
	       s->hello.window)
		wait_change(taken, seen);
	memcpy(s->shared->payload + s->me * s->hello.size, s->buffer, size);
	change(&s->shared->posted[s->me], ++s->posted);
}

char *futex_get(struct side *s, size_t size)
{
	wait_change(&s->shared->posted[!s->me], s->seen);
	change(&s->shared->taken[!s->me], ++s->seen);
	return s->shared->payload + !s->me * s->hello.size;
}

/* --- pipes ---------------------------------------------------------------- */

void pipe_put(struct side *s, size_t size)
{
	const char *p = s->buffer;
	ssize_t n;

	for (; size; p += n, size -= n) {
		n = write(s->pipe_out, p, size);
		if (n < 0)
			failed("pipe");
	}
}

char *pipe_get(struct side *s, size_t size)
{
	char *p = s->buffer;
	ssize_t n;

	for (; size; p += n, size -= n) {
		n = read(s->pipe_in, p, size);
		if (n <= 0)
			failed("pipe");
	}
	return s->buffer;
}
