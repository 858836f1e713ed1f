/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CRC-32C of short inputs. The kernel's crc32c() goes through the crypto API, whose
 * overhead is several times the cost of summing a header.
 */
#ifndef _DD_CRC_H
#define _DD_CRC_H

#include <linux/crc32c.h>
#include <linux/types.h>

static noinline u32 __maybe_unused dd_crc_slow(u32 crc, u64 a, u64 b, u64 c, u64 d)
{
	u64 word[4] = { a, b, c, d };

	return crc32c(crc, word, sizeof(word));
}

#if defined(__KERNEL__) && defined(CONFIG_X86_64)

#include <asm/cpufeature.h>

#include "compat/compat.h"

static inline u64 dd_crc_word(u64 sum, u64 word)
{
	asm("crc32q %1, %0" : "+r" (sum) : "rm" (word));
	return sum;
}

/**
 * dd_crc_words() - continue a running CRC-32C over four words
 * @crc: running checksum, not inverted
 * @a: first word, in memory order
 * @b: second word
 * @c: third word
 * @d: fourth word
 *
 * Return: the running checksum, equal to that of crc32c().
 */
static inline u32 dd_crc_words(u32 crc, u64 a, u64 b, u64 c, u64 d)
{
	if (!static_cpu_has(X86_FEATURE_XMM4_2))
		return dd_crc_slow(crc, a, b, c, d);
	return dd_crc_word(dd_crc_word(dd_crc_word(dd_crc_word(crc, a), b), c), d);
}

/**
 * dd_crc_few() - continue a running CRC-32C over a header
 * @crc: running checksum, not inverted
 * @p: the bytes
 * @len: a multiple of 8; from some hundred bytes on, crc32c() is faster
 *
 * Return: the running checksum, equal to that of crc32c().
 */
static inline u32 dd_crc_few(u32 crc, const void *p, size_t len)
{
	u64 sum = crc;

	if (!static_cpu_has(X86_FEATURE_XMM4_2))
		return crc32c(crc, p, len);
	for (; len >= 32; len -= 32, p += 32) {
		sum = dd_crc_word(sum, get_unaligned((const u64 *)p));
		sum = dd_crc_word(sum, get_unaligned((const u64 *)p + 1));
		sum = dd_crc_word(sum, get_unaligned((const u64 *)p + 2));
		sum = dd_crc_word(sum, get_unaligned((const u64 *)p + 3));
	}
	for (; len >= 8; len -= 8, p += 8)
		sum = dd_crc_word(sum, get_unaligned((const u64 *)p));
	return sum;
}

#else

static inline u32 dd_crc_words(u32 crc, u64 a, u64 b, u64 c, u64 d)
{
	return dd_crc_slow(crc, a, b, c, d);
}

static inline u32 dd_crc_few(u32 crc, const void *p, size_t len)
{
	return crc32c(crc, p, len);
}

#endif

#endif /* _DD_CRC_H */
