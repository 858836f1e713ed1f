/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets with pieces of one message that come one after the other, as those of
 * a long message do, often many in one go: for whoever has their bytes. One that
 * follows the last one differs from it in number, offset, time and checksum; so
 * its header is known before it comes, and need only be compared.
 */
#ifndef _DD_TRANSPORT_RUN_H
#define _DD_TRANSPORT_RUN_H

#include "crc.h"
#include "transport.h"

/* dd_wire_crc() of a packet of this form. */
static inline u32 dd_wire_piece_crc(const struct dd_wire_piece *piece)
{
	u32 crc;

	crc = dd_crc_words(~0u, dd_wire_word(piece, 0), dd_wire_word(piece, 8),
			   dd_wire_word(piece, 16), dd_wire_half(piece, 24));
	crc = dd_crc_words(crc, dd_wire_word(piece, 32),
			   dd_wire_word(piece, 40), dd_wire_word(piece, 48),
			   dd_wire_word(piece, 56));
	return dd_crc_few(crc, (const u8 *)piece + 64, 8);
}

/* Copy four words, and continue the sum @crc over them. */
static __always_inline u32 dd_wire_copy_four(u32 crc, void *to, const void *from)
{
	u64 a = dd_wire_word(from, 0), b = dd_wire_word(from, 8);
	u64 c = dd_wire_word(from, 16), d = dd_wire_word(from, 24);

	memcpy(to, &a, 8);
	memcpy(to + 8, &b, 8);
	memcpy(to + 16, &c, 8);
	memcpy(to + 24, &d, 8);
	return dd_crc_words(crc, a, b, c, d);
}

/* @to becomes @piece, in which the checksum is 0, with its checksum. */
static inline void dd_wire_piece_sealed(struct dd_wire_piece *to,
					const struct dd_wire_piece *piece)
{
	u8 *p = (u8 *)to;
	const u8 *from = (const u8 *)piece;
	u32 crc;

	crc = dd_wire_copy_four(~0u, p, from);
	crc = dd_wire_copy_four(crc, p + 32, from + 32);
	memcpy(p + 64, from + 64, 8);
	to->h.crc = cpu_to_le32(~dd_crc_few(crc, from + 64, 8));
}

/* One more of @plen bytes has come: the header of the next one. */
static inline void dd_wire_piece_next(struct dd_wire_piece *piece, u32 plen)
{
	piece->h.pn = cpu_to_le32(le32_to_cpu(piece->h.pn) + 1);
	piece->put.off = cpu_to_le32(le32_to_cpu(piece->put.off) + plen);
}

/*
 * What is sent at once has one time, which the first one tells, and only by its
 * checksum is that known to be right. Of those after it every bit is known, and
 * one that has none but these is not damaged: its checksum says nothing more.
 */
static inline bool dd_tp_run_first(struct dd_tp_run *run,
				   const struct dd_wire_piece *piece)
{
	run->next.h.ts = piece->h.ts;
	return le32_to_cpu(piece->h.crc) == ~dd_wire_piece_crc(&run->next);
}

/**
 * dd_tp_run_takes() - whether a packet belongs to a run
 * @run: what deposit_run() of struct dd_tp_ops has been given
 * @piece: the first bytes of the packet that comes next, not yet its payload's;
 *	may change meanwhile, since nothing of it is used but compared, once
 *
 * Return: true if so: then its payload is to be stored, and the one after it may
 * be asked for. Else that was all.
 */
static inline bool dd_tp_run_takes(struct dd_tp_run *run,
				   const struct dd_wire_piece *piece)
{
	struct dd_wire_piece *next = &run->next;

	if (run->count == run->most ||
	    (!run->count && !dd_tp_run_first(run, piece)) ||
	    !dd_wire_piece_same(piece, next))
		return false;
	dd_wire_piece_next(next, run->plen);
	run->count++;
	return true;
}

#endif /* _DD_TRANSPORT_RUN_H */
