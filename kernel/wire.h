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

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>

#define DD_WIRE_PORT		56797	/* default UDP port */
#define DD_WIRE_MAGIC		0x4444	/* "DD" */
#define DD_WIRE_VERSION		1	/* of DATA packets */
#define DD_WIRE_HANDSHAKE	0	/* version of all other packets; fixed */

#define DD_WIRE_HLEN_MAX	640	/* most bytes before the payload */
#define DD_WIRE_PACKET_MIN	1200	/* every path must carry this size */
#define DD_WIRE_CTL_MAX		512	/* bytes in a control message */
#define DD_WIRE_META		4	/* metadata words of a message */
#define DD_WIRE_RANGES		16	/* ranges in an acknowledgment */
#define DD_WIRE_MSG_MAX		0x7fffffffu	/* bytes in a message */

/**
 * enum dd_wire_type - types of packets
 * @DD_WIRE_INIT: request for a session
 * @DD_WIRE_COOKIE: request to repeat the INIT with a cookie, as proof of address
 * @DD_WIRE_INIT_ACK: acceptance, with the parameters of the accepting node
 * @DD_WIRE_REFUSE: refusal, with a reason
 * @DD_WIRE_RESET: a received packet belongs to no session
 * @DD_WIRE_DATA: packet of a session, consisting of frames
 */
enum dd_wire_type {
	DD_WIRE_INIT = 1,
	DD_WIRE_COOKIE = 2,
	DD_WIRE_INIT_ACK = 3,
	DD_WIRE_REFUSE = 4,
	DD_WIRE_RESET = 5,
	DD_WIRE_DATA = 6,
};

/* Flags of a packet. */
#define DD_WIRE_PAYLOAD_CRC	0x01	/* @crc covers the payload as well */
#define DD_WIRE_UNNUMBERED	0x02	/* @pn is unused; not acknowledged */
#define DD_WIRE_FLAGS		0x03

/**
 * struct dd_wire_hdr - header of every packet
 * @magic: %DD_WIRE_MAGIC
 * @version: %DD_WIRE_VERSION of a DATA packet, else %DD_WIRE_HANDSHAKE
 * @type: enum dd_wire_type
 * @flags: DD_WIRE_PAYLOAD_CRC, DD_WIRE_UNNUMBERED
 * @__reserved: zero
 * @hlen: bytes before the payload, including this header
 * @token: session token chosen by the receiver; 0 if it has not chosen one yet
 * @pn: low half of the packet number in a DATA packet, else 0
 * @ts: sender's clock in microseconds
 * @plen: bytes of payload; @hlen + @plen is the length of the datagram
 * @__reserved2: zero
 * @crc: CRC-32C of the first @hlen bytes with this field zero; with
 *	DD_WIRE_PAYLOAD_CRC, continued over the payload
 */
struct dd_wire_hdr {
	__le16 magic;
	u8 version;
	u8 type;
	u8 flags;
	u8 __reserved;
	__le16 hlen;
	__le64 token;
	__le32 pn;
	__le32 ts;
	__le16 plen;
	__le16 __reserved2;
	__le32 crc;
} __packed;

/* Flags of a handshake. */
#define DD_WIRE_WANT_CRC	0x01	/* the sender wants checksums of payloads */

/**
 * struct dd_wire_init - INIT and INIT_ACK
 * @h: header; its @token is 0 in an INIT, that of the INIT in an INIT_ACK
 * @node: node number of the sender
 * @peer: node number that the sender has configured for the receiver
 * @maxnodes: number of nodes in the sender's cluster
 * @packet_max: largest datagram that the sender accepts, in bytes
 * @ctl_slots: control messages that may be in flight to the sender
 * @version_min: lowest version of DATA packets that the sender supports
 * @version_max: highest one; in an INIT_ACK both are the version agreed on
 * @flags: DD_WIRE_WANT_CRC
 * @__reserved: zero
 * @incarnation: sender's incarnation, a random number
 * @token: token that packets to the sender must carry
 * @cookie: cookie of the last COOKIE, or 0; in an INIT_ACK, that of the INIT
 * @ts_echo: in an INIT_ACK, @ts of the INIT, else 0
 * @__reserved2: zero
 */
struct dd_wire_init {
	struct dd_wire_hdr h;
	__le32 node;
	__le32 peer;
	__le32 maxnodes;
	__le32 packet_max;
	__le16 ctl_slots;
	u8 version_min;
	u8 version_max;
	u8 flags;
	u8 __reserved[3];
	__le64 incarnation;
	__le64 token;
	__le64 cookie;
	__le32 ts_echo;
	__le32 __reserved2;
} __packed;

/**
 * struct dd_wire_cookie - COOKIE
 * @h: header; @token is that of the INIT answered
 * @cookie: to be put in the next INIT
 */
struct dd_wire_cookie {
	struct dd_wire_hdr h;
	__le64 cookie;
} __packed;

/**
 * enum dd_wire_refusal - reasons in a REFUSE
 * @DD_WIRE_REFUSE_VERSION: no version in common
 * @DD_WIRE_REFUSE_MAXNODES: clusters of different sizes
 * @DD_WIRE_REFUSE_NODE: the node numbers configured at the two nodes do not match
 */
enum dd_wire_refusal {
	DD_WIRE_REFUSE_VERSION = 1,
	DD_WIRE_REFUSE_MAXNODES = 2,
	DD_WIRE_REFUSE_NODE = 3,
};

/**
 * struct dd_wire_refuse - REFUSE
 * @h: header; @token is that of the INIT answered
 * @reason: enum dd_wire_refusal
 * @version_min: lowest version that the sender supports
 * @version_max: highest one
 * @__reserved: zero
 * @node: sender's node number
 * @maxnodes: number of nodes in the sender's cluster
 * @__reserved2: zero
 */
struct dd_wire_refuse {
	struct dd_wire_hdr h;
	u8 reason;
	u8 version_min;
	u8 version_max;
	u8 __reserved;
	__le32 node;
	__le32 maxnodes;
	__le32 __reserved2;
} __packed;

/**
 * struct dd_wire_reset - RESET
 * @h: header; @token is 0, because the sender has none
 * @token: that of the packet answered; known only to the two ends of its session
 */
struct dd_wire_reset {
	struct dd_wire_hdr h;
	__le64 token;
} __packed;

/**
 * enum dd_wire_frame_type - types of frames in a DATA packet
 * @DD_FRAME_ACK: packets that were received
 * @DD_FRAME_DONE: messages that are in place, and credit
 * @DD_FRAME_CTL: a control message
 * @DD_FRAME_PUT: a piece of a message, as payload; always the last frame
 * @DD_FRAME_PING: asks for an acknowledgment
 * @DD_FRAME_BYE: the session ended
 */
enum dd_wire_frame_type {
	DD_FRAME_ACK = 1,
	DD_FRAME_DONE = 2,
	DD_FRAME_CTL = 3,
	DD_FRAME_PUT = 4,
	DD_FRAME_PING = 5,
	DD_FRAME_BYE = 6,
};

/**
 * struct dd_wire_range - a further range of an ACK, below the previous one
 * @gap: number of packets missing between the two ranges, 1 or more
 * @len: number of packets in this range, 1 or more
 */
struct dd_wire_range {
	__le32 gap;
	__le32 len;
} __packed;

/**
 * struct dd_wire_ack - ACK
 * @type: DD_FRAME_ACK
 * @count: entries in @range, 0..%DD_WIRE_RANGES - 1
 * @delay: microseconds since the packet @largest was received
 * @largest: low half of the highest packet number received
 * @first: number of packets received directly below @largest
 * @ts_echo: @ts of the packet @largest
 * @range: older ranges, downwards
 */
struct dd_wire_ack {
	u8 type;
	u8 count;
	__le16 delay;
	__le32 largest;
	__le32 first;
	__le32 ts_echo;
	struct dd_wire_range range[];
} __packed;

/**
 * struct dd_wire_done - DONE
 * @type: DD_FRAME_DONE
 * @__reserved: zero
 * @credit: number of messages after @count that may be sent
 * @__reserved2: zero
 * @chan: channel, by the id chosen by the receiver of this frame
 * @count: all messages up to this number are in place and notified
 */
struct dd_wire_done {
	u8 type;
	u8 __reserved;
	__le16 credit;
	__le32 __reserved2;
	__le64 chan;
	__le64 count;
} __packed;

/**
 * struct dd_wire_ctl - CTL
 * @type: DD_FRAME_CTL
 * @__reserved: zero
 * @len: bytes in @data, 1..%DD_WIRE_CTL_MAX
 * @seq: low half of the message's number, from 0
 * @data: opaque to the transport, padded with zeros
 */
struct dd_wire_ctl {
	u8 type;
	u8 __reserved;
	__le16 len;
	__le32 seq;
	u8 data[];
} __packed;

/* Flags of a PUT. */
#define DD_PUT_NOTIFY		0x01	/* post a note when the message is complete */
#define DD_PUT_PROMPT		0x02	/* send DONE without delay */
#define DD_PUT_FLAGS		0x03

/**
 * struct dd_wire_put - PUT
 * @type: DD_FRAME_PUT
 * @flags: DD_PUT_*; the same in all pieces of a message
 * @meta_count: valid words of metadata, 0..%DD_WIRE_META
 * @__reserved: zero
 * @__reserved2: zero
 * @chan: channel, by the id chosen by the receiver of this frame
 * @msgid: number of the message on its channel, from 1
 * @dst: offset of the message in the receiver's block
 * @len: bytes in the message, 0..%DD_WIRE_MSG_MAX
 * @off: offset of this piece, the packet's payload, in the message; a piece ends
 *	at a multiple of 8 from the start of the block, or at the message's end
 *
 * The piece with @off 0 is followed by struct dd_wire_head.
 */
struct dd_wire_put {
	u8 type;
	u8 flags;
	u8 meta_count;
	u8 __reserved;
	__le32 __reserved2;
	__le64 chan;
	__le64 msgid;
	__le64 dst;
	__le32 len;
	__le32 off;
} __packed;

/**
 * struct dd_wire_head - follows the PUT of the first piece of a message
 * @tag: tag word of the note
 * @meta: metadata words of the note
 * @__reserved: zero
 */
struct dd_wire_head {
	__le32 tag;
	__le32 meta[DD_WIRE_META];
	__le32 __reserved;
} __packed;

/**
 * struct dd_wire_ping - PING
 * @type: DD_FRAME_PING
 * @__reserved: zero
 */
struct dd_wire_ping {
	u8 type;
	u8 __reserved[7];
} __packed;

/**
 * struct dd_wire_bye - BYE
 * @type: DD_FRAME_BYE
 * @reason: enum dd_tp_reason, for information
 * @__reserved: zero
 */
struct dd_wire_bye {
	u8 type;
	u8 reason;
	u8 __reserved[6];
} __packed;

/**
 * struct dd_wire_piece - header of a packet that carries only a piece of a message,
 *	not the first one; the bulk of a long message has this form
 * @h: header
 * @put: the only frame
 */
struct dd_wire_piece {
	struct dd_wire_hdr h;
	struct dd_wire_put put;
} __packed;

static_assert(sizeof(struct dd_wire_hdr) == 32);
static_assert(offsetof(struct dd_wire_hdr, token) == 8);
static_assert(offsetof(struct dd_wire_hdr, plen) == 24);
static_assert(offsetof(struct dd_wire_hdr, crc) == 28);
static_assert(sizeof(struct dd_wire_init) == 88);
static_assert(offsetof(struct dd_wire_init, incarnation) == 56);
static_assert(sizeof(struct dd_wire_cookie) == 40);
static_assert(sizeof(struct dd_wire_refuse) == 48);
static_assert(sizeof(struct dd_wire_reset) == 40);
static_assert(sizeof(struct dd_wire_range) == 8);
static_assert(sizeof(struct dd_wire_ack) == 16);
static_assert(sizeof(struct dd_wire_done) == 24);
static_assert(sizeof(struct dd_wire_ctl) == 8);
static_assert(sizeof(struct dd_wire_put) == 40);
static_assert(sizeof(struct dd_wire_head) == 24);
static_assert(sizeof(struct dd_wire_ping) == 8);
static_assert(sizeof(struct dd_wire_bye) == 8);
static_assert(sizeof(struct dd_wire_piece) == 72);

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
