/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copying to memory that another process polls.
 *
 * Aligned 8-byte words are written by single stores, except in the bulk of long pieces,
 * and the end of a message is written last. If the source is written during the copy,
 * the message may be a mix of old and new bytes.
 */
#ifndef _DD_COPY_H
#define _DD_COPY_H

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/kasan-checks.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "compat/compat.h"

#define DD_COPY_BULK	512	/* from this size on dd_copy_bulk() is faster */

/* The source may be written concurrently: the copy gets the old or the new value. */
#define dd_copy_from(src)	data_race(get_unaligned(src))

/* Store @len < 8 bytes to @dst with the largest naturally aligned stores. */
static inline void dd_copy_tail(u8 *dst, const u8 *src, size_t len)
{
	while (len) {
		size_t n = 1;

		if (len >= 4 && IS_ALIGNED((unsigned long)dst, 4)) {
			WRITE_ONCE(*(u32 *)dst, dd_copy_from((u32 *)src));
			n = 4;
		} else if (len >= 2 && IS_ALIGNED((unsigned long)dst, 2)) {
			WRITE_ONCE(*(u16 *)dst, dd_copy_from((u16 *)src));
			n = 2;
		} else {
			WRITE_ONCE(*dst, dd_copy_from(src));
		}
		dst += n;
		src += n;
		len -= n;
	}
}

/* Bytes from @p to the next 8-byte boundary, at most @len. */
static inline size_t dd_copy_lead(const void *p, size_t len)
{
	return min_t(size_t, -(unsigned long)p & 7, len);
}

static inline void dd_copy_word(u64 *dst, const u64 *src)
{
	WRITE_ONCE(*dst, dd_copy_from(src));
}

static inline void dd_copy_four(u64 *dst, const u64 *src)
{
	dd_copy_word(dst, src);
	dd_copy_word(dst + 1, src + 1);
	dd_copy_word(dst + 2, src + 2);
	dd_copy_word(dst + 3, src + 3);
}

/*
 * Copy whole words to an aligned place. Not memcpy(), which may store a word twice: another
 * process may have swapped it in between.
 */
static inline void dd_copy_bulk(u64 *dst, const u64 *src, size_t len)
{
#ifdef CONFIG_X86_64
	size_t n = len / 8;

	kasan_check_write(dst, len);
	kasan_check_read(src, len);
	asm volatile("rep movsq" : "+D" (dst), "+S" (src), "+c" (n) : : "memory");
#else
	for (; len; len -= 8)
		dd_copy_word(dst++, src++);
#endif
}

/**
 * dd_copy_words() - copy bytes in ascending order, in aligned words
 * @dst: kernel address of wired memory
 * @src: kernel address
 * @len: bytes
 */
static inline void dd_copy_words(void *dst, const void *src, size_t len)
{
	size_t lead = dd_copy_lead(dst, len);
	size_t bulk;

	if (lead) {
		dd_copy_tail(dst, src, lead);
		dst += lead;
		src += lead;
		len -= lead;
	}
	bulk = len & ~7ul;
	if (bulk >= DD_COPY_BULK) {
		dd_copy_bulk(dst, src, bulk);
	} else {
		size_t i = 0;

		for (; i + 32 <= bulk; i += 32)
			dd_copy_four(dst + i, src + i);
		for (; i < bulk; i += 8)
			dd_copy_word(dst + i, src + i);
	}
	if (len != bulk)
		dd_copy_tail(dst + bulk, src + bulk, len - bulk);
}

/**
 * dd_copy_last() - number of bytes that must be stored after all others
 * @dst: destination of the last piece of a message
 * @len: bytes in the piece, at least 1
 *
 * Return: size of its last aligned word, or of its unaligned tail.
 */
static inline size_t dd_copy_last(const void *dst, size_t len)
{
	size_t tail = (unsigned long)(dst + len) & 7;

	return min_t(size_t, tail ? tail : 8, len);
}

/*
 * Bytes at the end of a piece that are loaded and stored by words: those after the last aligned
 * word, and of the @last piece at least one word.
 */
static inline size_t dd_copy_rest(const void *dst, size_t len, bool last)
{
	return last ? dd_copy_last(dst, len) : min_t(size_t, (unsigned long)(dst + len) & 7, len);
}

/**
 * dd_copy_final() - store the last bytes of a message
 * @dst: destination, at the position given by dd_copy_last()
 * @src: kernel address
 * @len: bytes, 1..8
 *
 * Orders all earlier stores before these bytes.
 *
 * Return: the bytes as a little-endian word.
 */
static inline u64 dd_copy_final(void *dst, const void *src, size_t len)
{
	u64 word = 0;

	if (likely(len == 8 && IS_ALIGNED((unsigned long)dst, 8))) {
		word = dd_copy_from((u64 *)src);
		/* Pairs with the acquire of a receiver that polls this word. */
		smp_store_release((u64 *)dst, word);
		return word;
	}
	memcpy(&word, src, len);
	/* The same for a tail that needs several stores. */
	smp_wmb();
	dd_copy_tail(dst, src, len);
	return word;
}

/*
 * Copy aligned words like dd_copy_words() and dd_copy_final(), with fewer branches. Each word
 * is stored once: other processes may swap it.
 */
static inline u64 dd_copy_small(u64 *dst, const u64 *src, size_t len)
{
	size_t n = len / 8 - 1;
	u64 word;

	for (; n >= 8; n -= 8, src += 8, dst += 8) {
		dd_copy_four(dst, src);
		dd_copy_four(dst + 4, src + 4);
	}
	if (n & 4) {
		dd_copy_four(dst, src);
		dst += 4;
		src += 4;
	}
	if (n & 2) {
		dd_copy_word(dst++, src++);
		dd_copy_word(dst++, src++);
	}
	if (n & 1)
		dd_copy_word(dst++, src++);
	word = dd_copy_from(src);
	/* Pairs with the acquire of a process that polls this word. */
	smp_store_release(dst, word);
	return word;
}

#endif /* _DD_COPY_H */
