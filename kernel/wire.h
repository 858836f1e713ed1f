/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What two nodes say to each other: packets in UDP datagrams, and the frames
 * in them. Documentation/protocol.rst has a figure of each. Pure: no state, no
 * allocation; compiled for the kernel, the simulator and the fuzzer alike.
 *
 * All numbers are little endian. Headers and frames take multiples of 8 bytes,
 * so that full packets of a message are of one size, whatever else is in them.
 * What is reserved is zero when sent and must be zero when received.
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

#define DD_WIRE_PORT		56797	/* UDP, unless configured */
#define DD_WIRE_MAGIC		0x4444	/* "DD" */
#define DD_WIRE_VERSION		1	/* of DATA packets */
#define DD_WIRE_HANDSHAKE	0	/* version of the others: never changes */

#define DD_WIRE_HLEN_MAX	640	/* most bytes before the payload */
#define DD_WIRE_PACKET_MIN	1200	/* every path carries so much */
#define DD_WIRE_CTL_MAX		512	/* bytes in a control message */
#define DD_WIRE_META		4	/* metadata words of a message */
#define DD_WIRE_RANGES		16	/* ranges in an acknowledgment */
#define DD_WIRE_MSG_MAX		0x7fffffffu	/* bytes in a message */

/**
 * enum dd_wire_type - types of packets
 * @DD_WIRE_INIT: I want a session
 * @DD_WIRE_COOKIE: say that again, with this, so that I see where you are
 * @DD_WIRE_INIT_ACK: here is my side of it
 * @DD_WIRE_REFUSE: we cannot talk
 * @DD_WIRE_RESET: what you sent belongs to no session of mine
 * @DD_WIRE_DATA: within a session; all further meaning is in frames
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
#define DD_WIRE_PAYLOAD_CRC	0x01	/* the checksum covers the payload too */
#define DD_WIRE_UNNUMBERED	0x02	/* @pn means nothing; not acknowledged */
#define DD_WIRE_FLAGS		0x03

/**
 * struct dd_wire_hdr - what every packet starts with
 * @magic: %DD_WIRE_MAGIC
 * @version: %DD_WIRE_VERSION of a DATA packet, else %DD_WIRE_HANDSHAKE
 * @type: enum dd_wire_type
 * @flags: DD_WIRE_PAYLOAD_CRC, DD_WIRE_UNNUMBERED
 * @__reserved: zero
 * @hlen: bytes before the payload, this header included
 * @token: the session, as the receiver named it; 0 where it has not yet
 * @pn: low half of the packet's number, in a DATA packet, else 0
 * @ts: sender's clock in microseconds
 * @plen: bytes of payload: with @hlen, exactly what the datagram holds
 * @__reserved2: zero
 * @crc: CRC-32C of the @hlen bytes, with this field zero, and with
 *	DD_WIRE_PAYLOAD_CRC of the payload after them
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
#define DD_WIRE_WANT_CRC	0x01	/* checksum the payload of what I get */

/**
 * struct dd_wire_init - INIT and INIT_ACK
 * @h: header; its @token is 0 in an INIT, the initiator's in an INIT_ACK
 * @node: sender's node number
 * @peer: node number that the sender takes the receiver for
 * @maxnodes: number of nodes in the sender's cluster
 * @packet_max: largest datagram that the sender takes, in bytes
 * @ctl_slots: control messages that may be on their way to the sender
 * @version_min: lowest version of DATA packets that the sender speaks
 * @version_max: highest one; in an INIT_ACK both are the version agreed upon
 * @flags: DD_WIRE_WANT_CRC
 * @__reserved: zero
 * @incarnation: random number of the sender's life
 * @token: what packets to the sender must bear
 * @cookie: what a COOKIE said, or 0; in an INIT_ACK, of the INIT answered
 * @ts_echo: @ts of the INIT answered, else 0
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
 * enum dd_wire_refusal - why there can be no session
 * @DD_WIRE_REFUSE_VERSION: no version in common
 * @DD_WIRE_REFUSE_MAXNODES: clusters of different sizes
 * @DD_WIRE_REFUSE_NODE: you are, or I am, not the node you think
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
 * @version_min: lowest version that the sender speaks
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
 * @h: header; @token is 0, since the sender does not know it
 * @token: that of the packet answered, which only its sender and the node that
 *	it was meant for know
 */
struct dd_wire_reset {
	struct dd_wire_hdr h;
	__le64 token;
} __packed;

/**
 * enum dd_wire_frame_type - types of frames in a DATA packet
 * @DD_FRAME_ACK: packets that have arrived
 * @DD_FRAME_DONE: messages that are in place, and how many more may come
 * @DD_FRAME_CTL: a control message
 * @DD_FRAME_PUT: a piece of a message; the last frame, its bytes the payload
 * @DD_FRAME_PING: nothing, but to be acknowledged
 * @DD_FRAME_BYE: the session is over
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
 * struct dd_wire_range - a further range of an ACK, below the one before it
 * @gap: packets that have not arrived, 1 or more
 * @len: packets that have, below those, 1 or more
 */
struct dd_wire_range {
	__le32 gap;
	__le32 len;
} __packed;

/**
 * struct dd_wire_ack - ACK
 * @type: DD_FRAME_ACK
 * @count: entries in @range, 0..%DD_WIRE_RANGES - 1
 * @delay: microseconds since the packet @largest came
 * @largest: low half of the highest packet number that has arrived
 * @first: packets just below @largest that have arrived as well
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
 * @credit: messages after number @count that may be sent
 * @__reserved2: zero
 * @chan: channel, as the receiver of this frame named it
 * @count: all messages up to this number are in place, and told
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
 * @seq: low half of its number, counting from 0
 * @data: not interpreted by the transport; zeros after it fill the frame
 */
struct dd_wire_ctl {
	u8 type;
	u8 __reserved;
	__le16 len;
	__le32 seq;
	u8 data[];
} __packed;

/* Flags of a PUT. */
#define DD_PUT_NOTIFY		0x01	/* tell when all of it is there */
#define DD_PUT_PROMPT		0x02	/* its sender waits for DONE */
#define DD_PUT_FLAGS		0x03

/**
 * struct dd_wire_put - PUT
 * @type: DD_FRAME_PUT
 * @flags: DD_PUT_*; the same in all pieces of a message
 * @meta_count: valid words of metadata, 0..%DD_WIRE_META
 * @__reserved: zero
 * @__reserved2: zero
 * @chan: channel, as the receiver of this frame named it
 * @msgid: number of the message, counting from 1
 * @dst: offset of the message in the receiver's block
 * @len: bytes in the message, 0..%DD_WIRE_MSG_MAX
 * @off: offset of this piece, which is the packet's payload, in the message;
 *	pieces end at a multiple of 8 from the start of the block, or with
 *	the message
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
 * struct dd_wire_head - what goes with the first piece of a message
 * @tag: delivered in the note
 * @meta: delivered in the note
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
 * @reason: enum dd_tp_reason, for the log
 * @__reserved: zero
 */
struct dd_wire_bye {
	u8 type;
	u8 reason;
	u8 __reserved[6];
} __packed;

/**
 * struct dd_wire_piece - a packet that carries a piece of a message, not the
 *	first, and nothing else: what long messages are made of
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
 * struct dd_wire_buf - bytes being read or written, in order
 * @p: next one
 * @end: behind the last one
 */
struct dd_wire_buf {
	u8 *p;
	u8 *end;
};

/**
 * dd_wire_hlen() - where the payload of a datagram starts
 * @p: its first bytes
 * @avail: how many of them are at @p, at least the lesser of @len and
 *	sizeof(struct dd_wire_hdr)
 * @len: bytes in the datagram
 *
 * To be called before dd_tp_rx(), which wants the header in one piece.
 *
 * Return: bytes before the payload, or -%EBADMSG if this is no packet of ours,
 * or not all of it.
 */
int dd_wire_hlen(const void *p, size_t avail, size_t len);

/**
 * dd_wire_crc() - checksum of what precedes the payload
 * @hdr: the packet
 * @hlen: bytes before the payload
 *
 * Return: the running CRC-32C, not yet inverted, to be continued over the
 * payload with crc32c() where that is covered.
 */
u32 dd_wire_crc(const struct dd_wire_hdr *hdr, size_t hlen);

/**
 * dd_wire_seal() - store the checksum of a packet
 * @hdr: the packet
 * @crc: what dd_wire_crc() returned, continued over the payload if the packet
 *	has DD_WIRE_PAYLOAD_CRC
 */
void dd_wire_seal(struct dd_wire_hdr *hdr, u32 crc);

/* The 8 bytes from @at on, of no meaning but to be compared. */
static inline u64 dd_wire_word(const void *p, size_t at)
{
	u64 word;

	memcpy(&word, p + at, sizeof(word));
	return word;
}

/* The 4 bytes from @at on, and zeros after them. */
static inline u64 dd_wire_half(const void *p, size_t at)
{
	u64 word = 0;

	memcpy(&word, p + at, 4);
	return word;
}

/**
 * dd_wire_piece_same() - whether two pieces of messages have the same header
 * @a: one packet
 * @b: the other
 *
 * Return: whether they differ in their checksum at most.
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
 * dd_wire_handshake_ok() - check the form of a packet that is not DATA
 * @hdr: the packet, @hlen bytes
 * @hlen: bytes before the payload
 *
 * Return: whether it has the length of its type, no payload, and zeros where
 * they belong.
 */
bool dd_wire_handshake_ok(const struct dd_wire_hdr *hdr, size_t hlen);

/**
 * dd_wire_frames_ok() - check the form of all frames of a DATA packet
 * @hdr: the packet
 * @hlen: bytes before the payload
 * @plen: bytes of payload
 *
 * Checks all that can be known from a frame alone. A PUT must be the last.
 *
 * Return: whether each is in order, and whether there is a payload only with
 * a PUT, within the message that this names.
 */
bool dd_wire_frames_ok(const struct dd_wire_hdr *hdr, size_t hlen, size_t plen);

/**
 * dd_wire_len() - bytes of a frame that has passed dd_wire_frames_ok()
 * @p: the frame
 * @end: the end of all frames
 *
 * Return: where the next one is, from @p.
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
 * dd_wire_add() - make room for a frame in a packet being made
 * @buf: what is left of the packet; advanced
 * @len: bytes of the frame
 *
 * Return: where the frame goes, zeroed, or NULL if there is no room.
 */
static __always_inline void *dd_wire_add(struct dd_wire_buf *buf, size_t len)
{
	void *p = buf->p;

	if (buf->end - buf->p < len)
		return NULL;
	buf->p += len;
	/* Inline, so that a length that is constant is a few stores. */
	return memset(p, 0, len);
}

#endif /* _DD_WIRE_H */
