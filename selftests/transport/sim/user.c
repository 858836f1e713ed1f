// SPDX-License-Identifier: GPL-2.0-only
/* Functions of the kernel for user space. */
#include "dd_user.h"

u64 hash_u64(u64 x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Both ends are of this program: any keyed hash will do. */
u64 siphash_2u64(u64 a, u64 b, const siphash_key_t *key)
{
	return hash_u64(hash_u64(a ^ key->key[0]) ^ b ^ key->key[1]);
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
