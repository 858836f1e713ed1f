/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces kernel/udp/rx.h. */
#ifndef _DD_UDP_RX_H
#define _DD_UDP_RX_H

#include "transport/batch.h"
#include "udp/session.h"

void dd_udp_copy(struct dd_udp_peer *link, const void *payload, u32 off, void *dst, u32 len);
u32 dd_udp_copy_batch(struct dd_udp_peer *link, const void *payload,
		      struct dd_tp_rx_batch *batch, void **pages, u32 at, bool single);
void dd_udp_tp_peek(struct dd_tp *tp, const void *payload, u32 off, void *buf, u32 len);
u32 dd_udp_tp_crc(struct dd_tp *tp, const void *payload, u32 len, u32 crc);

#endif /* _DD_UDP_RX_H */
