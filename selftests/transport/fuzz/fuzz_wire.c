// SPDX-License-Identifier: GPL-2.0-only
/* Arbitrary bytes as a datagram: the parser reads only these. */
#include <stdlib.h>

#include "transport/internal.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static volatile u64 sink;

/* Read all bytes that a frame refers to. */
static void touch(const u8 *p, size_t len)
{
	while (len--)
		sink += *p++;
}

static void frames(const struct dd_wire_hdr *hdr, size_t hlen, size_t plen)
{
	const u8 *p = (const u8 *)(hdr + 1), *end = (const u8 *)hdr + hlen;
	size_t len;

	if (!dd_wire_frames_ok(hdr, hlen, plen))
		return;
	/* A packet that passed the checks can be read. */
	for (; p != end; p += len) {
		len = dd_wire_len(p, end);
		if (!len || len > (size_t)(end - p))
			abort();
		touch(p, len);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 *p = malloc(size);
	int hlen;

	if (size)
		memcpy(p, data, size);
	hlen = dd_wire_hlen(p, size, size);
	if (hlen >= 0) {
		struct dd_wire_hdr *hdr = (void *)p;

		if (hlen > DD_WIRE_HLEN_MAX || (size_t)hlen > size)
			abort();
		sink += dd_wire_crc(hdr, hlen);
		sink += dd_wire_handshake_ok(hdr, hlen);
		frames(hdr, hlen, size - hlen);
	}
	free(p);
	return 0;
}
