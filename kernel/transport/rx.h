/* SPDX-License-Identifier: GPL-2.0-only */
/* Receiving: rx.c, batch.c. */
#ifndef _DD_TRANSPORT_RX_H
#define _DD_TRANSPORT_RX_H

#include <linux/types.h>

#include "transport/session.h"

/**
 * dd_tp_rx_batch() - receive consecutive packets
 * @tp: the session
 * @now: current time
 * @size: bytes in each packet
 * @most: number of packets, at least 1
 * @payload: passed to deposit_batch(), which alone reads headers and payloads
 *
 * Takes as many packets as continue the message in progress without a gap. The
 * effect is that of dd_tp_rx() for each of them, at a lower cost.
 *
 * Return: number of packets taken. The caller passes the next one to dd_tp_rx().
 * With 0, nothing has changed.
 */
u32 dd_tp_rx_batch(struct dd_tp *tp, u64 now, u32 size, u32 most, const void *payload);

/**
 * dd_tp_rx() - receive a datagram from the peer's address
 * @tp: the session
 * @now: current time
 * @hdr: its first bytes, in memory that no other context writes
 * @hlen: bytes at @hdr, as returned by dd_wire_hlen()
 * @payload: the remaining bytes, passed to deposit(), peek() and payload_crc()
 * @plen: bytes in @payload
 *
 * Return: true if the packet belongs to a session and is valid.
 */
bool dd_tp_rx(struct dd_tp *tp, u64 now, const void *hdr, size_t hlen,
	      const void *payload, size_t plen);

#endif /* _DD_TRANSPORT_RX_H */
