/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wire format: packets in UDP datagrams and the frames in them, with figures in
 * Documentation/protocol.rst. Pure: no state, no allocation; compiled for the
 * kernel, the simulator and the fuzzer.
 *
 * All numbers are little endian. The sizes of headers and frames are multiples of
 * 8 bytes, so that all full packets of a message have the same size. Reserved
 * fields are zero; a packet with another value is malformed.
 */
#ifndef _DD_WIRE_H
#define _DD_WIRE_H

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/types.h>

#include "transport/wire_frame.h"
#include "transport/wire_packet.h"

/**
 * struct dd_wire_buf - memory for frames
 * @p: next free byte
 * @end: end of the memory
 */
struct dd_wire_buf {
	u8 *p;
	u8 *end;
};

/**
 * dd_wire_hlen() - length of everything before the payload of a datagram
 * @p: first bytes of the datagram
 * @avail: bytes at @p, at least the lesser of @len and sizeof(struct dd_wire_hdr)
 * @len: bytes in the datagram
 *
 * dd_tp_rx() needs these bytes in contiguous memory.
 *
 * Return: bytes before the payload, or -%EBADMSG if the datagram is truncated or
 * not a packet of this protocol.
 */
int dd_wire_hlen(const void *p, size_t avail, size_t len);

/**
 * dd_wire_crc() - checksum of everything before the payload
 * @hdr: the packet
 * @hlen: bytes before the payload
 *
 * Return: the running CRC-32C, not inverted, to be continued over the payload with
 * crc32c() if the packet has DD_WIRE_PAYLOAD_CRC.
 */
u32 dd_wire_crc(const struct dd_wire_hdr *hdr, size_t hlen);

/**
 * dd_wire_seal() - store the checksum of a packet
 * @hdr: the packet
 * @crc: result of dd_wire_crc(), continued over the payload if the packet has
 *	DD_WIRE_PAYLOAD_CRC
 */
void dd_wire_seal(struct dd_wire_hdr *hdr, u32 crc);

/* The 8 bytes at @at, in memory order. */
static inline u64 dd_wire_word(const void *p, size_t at)
{
	u64 word;

	memcpy(&word, p + at, sizeof(word));
	return word;
}

/* The 4 bytes at @at, followed by zeros. */
static inline u64 dd_wire_half(const void *p, size_t at)
{
	u64 word = 0;

	memcpy(&word, p + at, 4);
	return word;
}

/**
 * dd_wire_piece_same() - compare two headers, except for their checksums
 * @a: one header
 * @b: the other header
 *
 * Return: true if they are equal.
 */
static inline bool dd_wire_piece_same(const struct dd_wire_piece *a,
				      const struct dd_wire_piece *b)
{
	u64 diff = 0;

	diff |= dd_wire_word(a, 0) ^ dd_wire_word(b, 0);
	diff |= dd_wire_word(a, 8) ^ dd_wire_word(b, 8);
	diff |= dd_wire_word(a, 16) ^ dd_wire_word(b, 16);
	diff |= dd_wire_half(a, 24) ^ dd_wire_half(b, 24);
	diff |= dd_wire_word(a, 32) ^ dd_wire_word(b, 32);
	diff |= dd_wire_word(a, 40) ^ dd_wire_word(b, 40);
	diff |= dd_wire_word(a, 48) ^ dd_wire_word(b, 48);
	diff |= dd_wire_word(a, 56) ^ dd_wire_word(b, 56);
	diff |= dd_wire_word(a, 64) ^ dd_wire_word(b, 64);
	return !diff;
}

/**
 * dd_wire_handshake_ok() - check the format of a packet other than DATA
 * @hdr: the packet, @hlen bytes
 * @hlen: bytes before the payload
 *
 * Return: true if it has the length of its type, no payload, and zeros in reserved
 * fields.
 */
bool dd_wire_handshake_ok(const struct dd_wire_hdr *hdr, size_t hlen);

/**
 * dd_wire_frames_ok() - check the format of all frames of a DATA packet
 * @hdr: the packet
 * @hlen: bytes before the payload
 * @plen: bytes of payload
 *
 * Checks everything that does not depend on state. A PUT must be the last frame.
 *
 * Return: true if all frames are valid, and a payload is present only with a PUT
 * and within the bounds of its message.
 */
bool dd_wire_frames_ok(const struct dd_wire_hdr *hdr, size_t hlen, size_t plen);

/**
 * dd_wire_len() - length of a frame that has passed dd_wire_frames_ok()
 * @p: the frame
 * @end: end of the last frame
 *
 * Return: bytes from @p to the next frame.
 */
static inline size_t dd_wire_len(const void *p, const void *end)
{
	const struct dd_wire_ack *ack = p;
	const struct dd_wire_ctl *ctl = p;

	switch (*(const u8 *)p) {
	case DD_FRAME_ACK:
		return struct_size(ack, range, ack->count);
	case DD_FRAME_DONE:
		return sizeof(struct dd_wire_done);
	case DD_FRAME_CTL:
		return sizeof(*ctl) + ALIGN(le16_to_cpu(ctl->len), 8);
	case DD_FRAME_PUT:
		return end - p;
	default:
		return sizeof(struct dd_wire_ping);
	}
}

/**
 * dd_wire_add() - append a frame to a packet
 * @buf: memory of the packet; @buf->p is advanced
 * @len: bytes of the frame
 *
 * Return: the frame, zeroed, or NULL if it does not fit.
 */
static __always_inline void *dd_wire_add(struct dd_wire_buf *buf, size_t len)
{
	void *p = buf->p;

	if (buf->end - buf->p < len)
		return NULL;
	buf->p += len;
	/* Inlined: a constant length compiles to a few stores. */
	return memset(p, 0, len);
}

#endif /* _DD_WIRE_H */
