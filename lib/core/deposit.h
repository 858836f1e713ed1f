/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * deposit.h - put the bytes of a message in place
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_DEPOSIT_H
#define _DD_DEPOSIT_H

#include <stddef.h>

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

uint64_t ddi_deposit_any(char *dst, const char *src, size_t len);
uint64_t ddi_last_word(const char *dst, size_t len);

/* Whether a message is a few words, to an aligned place. */
static inline bool ddi_is_short(size_t len, size_t roffset)
{
	/* These bits are those of 0, of lengths above the limit, of odd ones and places. */
	return !(((len - 8) & ~(DDI_COPY_SHORT - 8ul)) | (roffset & 7));
}

/* ddi_deposit_any() of a few words, without a loop; stores some of them twice. */
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

#endif /* _DD_DEPOSIT_H */
