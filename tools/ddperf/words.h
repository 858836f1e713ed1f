/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words in memory of another process, by VMMC.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_WORDS_H
#define DDPERF_WORDS_H

#include <stddef.h>
#include <vmmc.h>

#include "pair.h"

/* Exits with a complaint if a call has failed. */
void words_must(vmmc_result_t code, const char *what);

/* Export memory for @size bytes, whole pages, with flags BUF_*. */
int32 *words_export(size_t size, uint32 flags, vmmc_exphandle_t *handle);

/* The same, and have the other side find it by words_find(), which returns the proxy. */
int32 *words_serve(const struct side *s, size_t size);
int32 *words_find(const struct side *s);

/* The proxy of an own buffer, the first, second ... one that was exported: @number 1, 2 ... */
int32 *words_own(uint32 number);

/* Words in a message. */
static inline uint32 words_in(size_t size)
{
	return (size + sizeof(int32) - 1) / sizeof(int32);
}

/* Methods: the last word of a message is its number, for which the receiver spins. */
void words_put(struct side *s, size_t size);
char *words_get(struct side *s, size_t size);

#endif /* DDPERF_WORDS_H */
