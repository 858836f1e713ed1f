/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * deposit.h - put the bytes of a message in place
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_DEPOSIT_H
#define _DD_DEPOSIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "atomic.h"

#define DDI_COPY_SHORT	64	/* bytes, up to which there is no loop */

/* Words of memory of any type; pairs for processors that move two at once. */
typedef uint64_t ddi_word __attribute__((may_alias));
typedef uint64_t ddi_any_word __attribute__((aligned(1), may_alias));
typedef uint64_t ddi_pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint64_t ddi_any_pair __attribute__((vector_size(16), aligned(1), may_alias));

static inline void ddi_move_pair(char *dst, const char *src)
{
	*(ddi_pair *)dst = *(const ddi_any_pair *)src;
}

/* Whether a message is a few words. */
static inline bool ddi_is_short(size_t len)
{
	/* This keeps bits of 0, of lengths above the limit and of odd ones. */
	return !((len - 8) & ~(DDI_COPY_SHORT - 8ul));
}

/* As ddi_deposit(), if ddi_is_short() and @dst is aligned; stores some words twice. */
static inline uint64_t ddi_deposit_short(char *dst, const char *src, size_t len)
{
	uint64_t word;

	if (ddi_likely(len >= 8 + 32)) {
		ddi_move_pair(dst, src);
		ddi_move_pair(dst + 16, src + 16);
		ddi_move_pair(dst + len - 40, src + len - 40);
		ddi_move_pair(dst + len - 24, src + len - 24);
	} else if (len >= 8 + 16) {
		ddi_move_pair(dst, src);
		ddi_move_pair(dst + len - 24, src + len - 24);
	} else if (len > 8) {
		ddi_store((ddi_word *)dst, *(const ddi_any_word *)src);
	}
	word = *(const ddi_any_word *)(src + len - 8);
	ddi_store_release((ddi_word *)(dst + len - 8), word);
	return word;
}

uint64_t ddi_deposit(char *dst, const char *src, size_t len);
uint64_t ddi_last_word(const char *dst, size_t len);

#endif /* _DD_DEPOSIT_H */
