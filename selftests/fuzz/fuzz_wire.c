// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes at all, as a datagram: the parser stays inside of them. */
#include <stdlib.h>

#include "transport_int.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static volatile u64 sink;

/* Whatever a frame points to can be read. */
static void touch(const u8 *p, size_t len)
{
	while (len--)
		sink += *p++;
}

static void frames(const struct dd_wire_hdr *hdr, size_t hlen, size_t plen)
{
	struct dd_wire_buf buf = {
		.p = (u8 *)(hdr + 1),
		.end = (u8 *)hdr + hlen,
	};
	bool ok = dd_wire_frames_ok(hdr, hlen, plen);
	struct dd_wire_frame f;
	int ret;

	while ((ret = dd_wire_next(&buf, &f)) > 0) {
		touch((const u8 *)f.ack, f.len);
		if (f.head)
			touch((const u8 *)f.head, sizeof(*f.head));
		if ((const u8 *)f.ack + f.len > (const u8 *)hdr + hlen)
			abort();
	}
	/* What was found in order is. */
	if (ok && ret < 0)
		abort();
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
