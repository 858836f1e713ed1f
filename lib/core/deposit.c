// SPDX-License-Identifier: LGPL-2.1-only
/*
 * deposit.c - put the bytes of a message in place, as kernel/core/copy.h does
 *
 * Copyright (C) 2026 The dd authors
 */
#include <string.h>

#include "deposit.h"

/*
 * Bytes, from which memcpy() is faster. It may store a word twice, and undo a swap by another
 * process in between: dd_put() forbids such swaps. The kernel cannot, and stores each word once.
 */
#define COPY_BULK	512

typedef uint32_t any_u32 __attribute__((aligned(1), may_alias));
typedef uint16_t any_u16 __attribute__((aligned(1), may_alias));

/* Bytes that do not fill an aligned word. */
static void deposit_tail(char *dst, const char *src, size_t len)
{
	size_t n;

	for (; len; dst += n, src += n, len -= n) {
		if (len >= 4 && !((uintptr_t)dst & 3)) {
			ddi_store((uint32_t *)dst, *(const any_u32 *)src);
			n = 4;
		} else if (len >= 2 && !((uintptr_t)dst & 1)) {
			ddi_store((uint16_t *)dst, *(const any_u16 *)src);
			n = 2;
		} else {
			ddi_store(dst, *src);
			n = 1;
		}
	}
}

static void deposit_words(char *dst, const char *src, size_t len)
{
	size_t lead = -(uintptr_t)dst & 7, bulk, i = 0;

	if (lead > len)
		lead = len;
	deposit_tail(dst, src, lead);
	dst += lead;
	src += lead;
	len -= lead;
	bulk = len & ~7ul;
	if (bulk >= COPY_BULK) {
		memcpy(dst, src, bulk);
	} else {
		for (; i + 32 <= bulk; i += 32) {
			ddi_move_pair(dst + i, src + i);
			ddi_move_pair(dst + i + 16, src + i + 16);
		}
		for (; i < bulk; i += 8)
			ddi_store((ddi_word *)(dst + i), *(const ddi_any_word *)(src + i));
	}
	deposit_tail(dst + bulk, src + bulk, len - bulk);
}

/* The length of a message's last aligned word, or of its unaligned tail. */
static size_t last_len(const char *dst, size_t len)
{
	size_t tail = (((uintptr_t)dst + len - 1) & 7) + 1;

	return tail < len ? tail : len;
}

/*
 * Deposit a message: aligned words as a whole, and the last word last, because
 * the receiver may poll it. Returns the last aligned word, or the tail after it.
 */
uint64_t ddi_deposit_any(char *dst, const char *src, size_t len)
{
	size_t tail = last_len(dst, len);
	uint64_t word = 0;

	if (!len)
		return 0;
	deposit_words(dst, src, len - tail);
	dst += len - tail;
	src += len - tail;
	if (tail == 8) {
		word = *(const ddi_any_word *)src;
		ddi_store_release((ddi_word *)dst, word);
		return word;
	}
	deposit_tail((char *)&word, src, tail);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	deposit_tail(dst, (const char *)&word, tail);
	return word;
}

/* The word that ddi_deposit_any() returns, of a message that is in place. */
uint64_t ddi_last_word(const char *dst, size_t len)
{
	size_t tail = last_len(dst, len);
	uint64_t word = 0;

	if (len)
		memcpy(&word, dst + len - tail, tail);
	return word;
}
