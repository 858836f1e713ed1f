/* SPDX-License-Identifier: GPL-2.0-only */
/* Wire format: the frames of a DATA packet. See wire.h. */
#ifndef _DD_WIRE_FRAME_H
#define _DD_WIRE_FRAME_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include "transport/wire_packet.h"

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
#define DD_PUT_REPLY		0x04	/* answers a message in the other direction */
#define DD_PUT_FLAGS		0x07

/**
 * enum dd_wire_op - operations of messages
 * @DD_WIRE_PUT: the bytes of the message are stored. A reply refuses a PUT: see there
 * @DD_WIRE_GET: bytes are returned by a reply. The message is empty; its metadata are
 *	their number, and the address modulo 8 to which the reply stores them
 * @DD_WIRE_CAS4: compare and swap 4 bytes. The message is empty; its metadata are the
 *	expected value and the new one, low word first
 * @DD_WIRE_CAS8: the same for 8 bytes
 * @DD_WIRE_NOTE: a note is posted. The message has its payload, up to %DD_WIRE_NOTE_MAX
 *	bytes, with @dst 0
 * @DD_WIRE_OPS: number of operations
 *
 * A reply has the operation of the message that it answers, and metadata: the low half of
 * that message's number; 0 or an errno; for CAS the value that the word had, low word
 * first. The reply to a GET has the bytes, with @dst from 0 to 7; all others are empty.
 * A PUT or NOTE has a reply only if it is refused, and is not done before that has arrived.
 */
enum dd_wire_op {
	DD_WIRE_PUT,
	DD_WIRE_GET,
	DD_WIRE_CAS4,
	DD_WIRE_CAS8,
	DD_WIRE_NOTE,
	DD_WIRE_OPS
};

#define DD_WIRE_NOTE_MAX	64

/**
 * struct dd_wire_put - PUT
 * @type: DD_FRAME_PUT
 * @flags: DD_PUT_*; the same in all pieces of a message
 * @meta_count: valid words of metadata, 0..%DD_WIRE_META
 * @op: enum dd_wire_op; zero in version 1, which has no DD_PUT_REPLY either
 * @generation: low half of the generation of the segment that the channel leads to;
 *	zero in version 1, and for a connection
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
	u8 op;
	__le32 generation;
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

static_assert(sizeof(struct dd_wire_range) == 8);
static_assert(sizeof(struct dd_wire_ack) == 16);
static_assert(sizeof(struct dd_wire_done) == 24);
static_assert(sizeof(struct dd_wire_ctl) == 8);
static_assert(sizeof(struct dd_wire_put) == 40);
static_assert(sizeof(struct dd_wire_head) == 24);
static_assert(sizeof(struct dd_wire_ping) == 8);
static_assert(sizeof(struct dd_wire_bye) == 8);
static_assert(sizeof(struct dd_wire_piece) == 72);

#endif /* _DD_WIRE_FRAME_H */
