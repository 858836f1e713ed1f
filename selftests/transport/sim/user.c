// SPDX-License-Identifier: GPL-2.0-only
/* Functions of the kernel for user space. */
#include "dd_user.h"

static u64 rol(u64 x, int n)
{
	return x << n | x >> (64 - n);
}

static void sip_rounds(u64 v[4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[1] = rol(v[1], 13) ^ v[0];
		v[0] = rol(v[0], 32);
		v[2] += v[3];
		v[3] = rol(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rol(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rol(v[1], 17) ^ v[2];
		v[2] = rol(v[2], 32);
	}
}

/* SipHash-2-4 of two words. */
u64 siphash_2u64(u64 a, u64 b, const siphash_key_t *key)
{
	u64 m[3] = { a, b, 16ull << 56 };
	u64 v[4] = {
		key->key[0] ^ 0x736f6d6570736575ull,
		key->key[1] ^ 0x646f72616e646f6dull,
		key->key[0] ^ 0x6c7967656e657261ull,
		key->key[1] ^ 0x7465646279746573ull,
	};
	int i;

	for (i = 0; i < 3; i++) {
		v[3] ^= m[i];
		sip_rounds(v, 2);
		v[0] ^= m[i];
	}
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static u32 crc_table[256];

static void __attribute__((constructor)) crc_init(void)
{
	u32 i, j, c;

	for (i = 0; i < 256; i++) {
		for (c = i, j = 0; j < 8; j++)
			c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
		crc_table[i] = c;
	}
}

static u32 crc_bytes(u32 crc, const u8 *p, size_t len)
{
	while (len--)
		crc = crc >> 8 ^ crc_table[(u8)(crc ^ *p++)];
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2")))
static u32 crc_words(u32 crc, const u8 *p, size_t words)
{
	u64 c = crc, w;

	for (; words; words--, p += 8) {
		memcpy(&w, p, 8);
		c = __builtin_ia32_crc32di(c, w);
	}
	return c;
}
#endif

/* Like the kernel's: neither the seed nor the result is inverted. */
u32 crc32c(u32 crc, const void *p, size_t len)
{
	const u8 *s = p;

	if (!len)
		return crc;
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2")) {
		crc = crc_words(crc, s, len / 8);
		s += len & ~7ul;
		len &= 7;
	}
#endif
	return crc_bytes(crc, s, len);
}
