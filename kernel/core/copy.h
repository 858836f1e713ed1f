/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copying to memory that another process polls.
 *
 * Each aligned word of 8 bytes is stored once, in any order, and the end of a message is stored
 * last. If the source is written during the copy, the message may be a mix of old and new bytes.
 */
#ifndef _DD_COPY_H
#define _DD_COPY_H

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/kasan-checks.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "compat/compat.h"

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

/*
 * Copy @len / 8 words to an aligned place. Not memcpy(), which may store a word twice: another
 * process may have swapped it in between. The string instruction may store the words in any
 * order, but stores all of them before a later store.
 */
static inline void dd_copy_bulk(u64 *dst, const u64 *src, size_t len)
{
	size_t n = len / 8;

#ifdef CONFIG_X86_64
	kasan_check_write(dst, n * 8);
	kasan_check_read(src, n * 8);
	asm volatile("rep movsq" : "+D" (dst), "+S" (src), "+c" (n) : : "memory");
#else
	for (; n; n--)
		WRITE_ONCE(*dst++, dd_copy_from(src++));
#endif
}

/**
 * dd_copy_words() - copy bytes, in aligned words
 * @dst: kernel address of wired memory
 * @src: kernel address
 * @len: bytes
 */
static inline void dd_copy_words(void *dst, const void *src, size_t len)
{
	size_t n;

	if (unlikely(!IS_ALIGNED((unsigned long)dst, 8))) {
		n = dd_copy_lead(dst, len);
		dd_copy_tail(dst, src, n);
		dst += n;
		src += n;
		len -= n;
	}
	n = len & 7;
	dd_copy_bulk(dst, src, len);
	if (unlikely(n))
		dd_copy_tail(dst + len - n, src + len - n, n);
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
	size_t i;

	if (likely(len == 8 && IS_ALIGNED((unsigned long)dst, 8))) {
		word = dd_copy_from((u64 *)src);
		/* Pairs with the acquire of a receiver that polls this word. */
		smp_store_release((u64 *)dst, word);
		return word;
	}
	for (i = 0; i < len; i++)
		word |= (u64)dd_copy_from((u8 *)src + i) << 8 * i;
	/* The same for a tail that needs several stores. */
	smp_wmb();
	dd_copy_tail(dst, src, len);
	return word;
}

/* Copy all bytes of a message, at least 1. Returns as dd_copy_final(). */
static inline u64 dd_copy_message(void *dst, const void *src, size_t len)
{
	size_t left = len - 8;

	if (likely(IS_ALIGNED((unsigned long)dst | len, 8))) {
		dd_copy_bulk(dst, src, left);
	} else {
		left = len - dd_copy_last(dst, len);
		dd_copy_words(dst, src, left);
	}
	return dd_copy_final(dst + left, src + left, len - left);
}

#endif /* _DD_COPY_H */
