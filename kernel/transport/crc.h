/* SPDX-License-Identifier: GPL-2.0-only */
/* CRC-32C of headers. */
#ifndef _DD_CRC_H
#define _DD_CRC_H

#include <linux/crc32c.h>
#include <linux/types.h>

#include "compat/compat.h"

#if defined(__KERNEL__) && defined(CONFIG_X86_64)
#include <asm/cpufeature.h>
#endif

/**
 * dd_crc() - continue a running CRC-32C over a header
 * @crc: running checksum, not inverted
 * @p: the bytes
 * @len: a multiple of 8
 *
 * crc32c() goes through the crypto API: with it alone, a stream of packets of 1500 bytes takes
 * 20 % more instructions.
 *
 * Return: the running checksum, equal to that of crc32c().
 */
static __always_inline u32 dd_crc(u32 crc, const void *p, size_t len)
{
#if defined(__KERNEL__) && defined(CONFIG_X86_64)
	u64 sum = crc;

	if (dd_cpu_has(X86_FEATURE_XMM4_2)) {
/* The words of struct dd_wire_piece. */
#pragma GCC unroll 9
		for (; len; len -= 8, p += 8)
			asm("crc32q %1, %0" : "+r" (sum) : "rm" (get_unaligned((const u64 *)p)));
		return sum;
	}
#endif
	return crc32c(crc, p, len);
}

#endif /* _DD_CRC_H */
