/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Receiving a batch: consecutive packets with pieces of one message. The header of
 * the next packet is known before it arrives, except for its time and checksum, so
 * it need only be compared. Used by the code that reads the packets' bytes.
 */
#ifndef _DD_TRANSPORT_RUN_H
#define _DD_TRANSPORT_RUN_H

#include "transport/crc.h"
#include "transport/transport.h"

/* Copy @piece, whose checksum field is 0, to @to with its checksum. */
static inline void dd_wire_piece_sealed(struct dd_wire_piece *to,
					const struct dd_wire_piece *piece)
{
	u32 crc = dd_crc(~0u, piece, sizeof(*piece));

	*to = *piece;
	to->h.crc = cpu_to_le32(~crc);
}

/* Advance the expected header behind a packet with @plen bytes of payload. */
static inline void dd_wire_piece_next(struct dd_wire_piece *piece, u32 plen)
{
	piece->h.pn = cpu_to_le32(le32_to_cpu(piece->h.pn) + 1);
	piece->put.off = cpu_to_le32(le32_to_cpu(piece->put.off) + plen);
}

/*
 * All packets of a batch bear the time in the first one, which is covered only by
 * the checksum: verify that of the first packet. All bits of the following headers
 * are then known; comparing them replaces their checksums.
 */
static inline bool dd_tp_rx_batch_first(struct dd_tp_rx_batch *batch,
					const struct dd_wire_piece *piece)
{
	batch->next.h.ts = piece->h.ts;
	return le32_to_cpu(piece->h.crc) == ~dd_crc(~0u, &batch->next, sizeof(batch->next));
}

/**
 * dd_tp_rx_batch_accepts() - whether a packet belongs to a batch
 * @batch: passed to deposit_batch() of struct dd_tp_ops
 * @piece: the first bytes of the next packet, without its payload. May change
 *	concurrently: it is read only by the comparison, once
 *
 * Return: true if the packet belongs to the batch: store its payload and continue
 * with the next packet. False: stop.
 */
static inline bool dd_tp_rx_batch_accepts(struct dd_tp_rx_batch *batch,
					  const struct dd_wire_piece *piece)
{
	struct dd_wire_piece *next = &batch->next;

	if (batch->count == batch->most ||
	    (!batch->count && !dd_tp_rx_batch_first(batch, piece)) ||
	    !dd_wire_piece_same(piece, next))
		return false;
	dd_wire_piece_next(next, batch->plen);
	batch->count++;
	return true;
}

#endif /* _DD_TRANSPORT_RUN_H */
