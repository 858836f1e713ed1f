/* SPDX-License-Identifier: GPL-2.0-only */
/* Wire format: headers of packets, and the packets of a handshake. See wire.h. */
#ifndef _DD_WIRE_PACKET_H
#define _DD_WIRE_PACKET_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define DD_WIRE_PORT		56797	/* default UDP port */
#define DD_WIRE_MAGIC		0x4444	/* "DD" */
#define DD_WIRE_VERSION_MIN	1	/* of DATA packets */
#define DD_WIRE_VERSION		2	/* highest one */
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
 * @version: version agreed on of a DATA packet, else %DD_WIRE_HANDSHAKE
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

static_assert(sizeof(struct dd_wire_hdr) == 32);
static_assert(offsetof(struct dd_wire_hdr, token) == 8);
static_assert(offsetof(struct dd_wire_hdr, plen) == 24);
static_assert(offsetof(struct dd_wire_hdr, crc) == 28);
static_assert(sizeof(struct dd_wire_init) == 88);
static_assert(offsetof(struct dd_wire_init, incarnation) == 56);
static_assert(sizeof(struct dd_wire_cookie) == 40);
static_assert(sizeof(struct dd_wire_refuse) == 48);
static_assert(sizeof(struct dd_wire_reset) == 40);

#endif /* _DD_WIRE_PACKET_H */
