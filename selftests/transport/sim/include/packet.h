/* SPDX-License-Identifier: GPL-2.0-only */
/* What the simulator and the fuzzer share: packets, and an audit of the records. */
#ifndef _DD_PACKET_H
#define _DD_PACKET_H

#include "transport/internal.h"

/* Enough for the headers of the packets that dd_tp_poll() makes at once. */
#define PKT_HDRS	(DD_WIRE_HLEN_MAX / sizeof(struct dd_wire_piece) + 1)

/* A header, without flags, number, timestamp and checksum. */
void packet_head(void *packet, u8 type, size_t hlen, size_t plen, u64 token);
/* The checksum of a header, and of the payload if a flag says so. */
void packet_seal(void *packet, size_t hlen, const void *payload, size_t plen);

/* Every record is free, in flight or lost, and the sums are right. NULL, or why not. */
const char *session_fault(const struct dd_tp *tp);

#endif /* _DD_PACKET_H */
