/* SPDX-License-Identifier: GPL-2.0-only */
/* Constants, configuration and counters of a session. */
#ifndef _DD_TRANSPORT_TYPES_H
#define _DD_TRANSPORT_TYPES_H

#include <linux/types.h>

#define DD_TP_NEVER		U64_MAX		/* no deadline */
#define DD_TP_RECORDS_MIN	32
#define DD_TP_RECORDS_MAX	8192
#define DD_TP_RX_RANGES		32		/* of packet numbers */

/**
 * enum dd_tp_reason - why a session ended
 * @DD_TP_DEAD: no packet from the peer for the dead time
 * @DD_TP_REBOOT: the peer has a new incarnation; up() follows at once
 * @DD_TP_RESET: the peer has lost the session, or has started another one; in the
 *	latter case up() follows at once
 * @DD_TP_VERSION: no protocol version in common
 * @DD_TP_CONFIG: the node numbers configured here and at the peer do not match
 * @DD_TP_STOPPED: dd_tp_stop() was called here
 * @DD_TP_BYE: dd_tp_stop() was called at the peer
 * @DD_TP_MAXNODES: the peer is configured with another number of nodes
 */
enum dd_tp_reason {
	DD_TP_DEAD = 1,
	DD_TP_REBOOT,
	DD_TP_RESET,
	DD_TP_VERSION,
	DD_TP_CONFIG,
	DD_TP_STOPPED,
	DD_TP_BYE,
	DD_TP_MAXNODES,
};

/**
 * enum dd_tp_drop - why a packet, or a part of it, was dropped
 * @DD_TP_DROP_FORMAT: not a packet of this protocol, truncated, or a malformed frame
 * @DD_TP_DROP_VERSION: not the version agreed on
 * @DD_TP_DROP_CRC: wrong checksum
 * @DD_TP_DROP_TOKEN: unknown session token: of an old session, or forged
 * @DD_TP_DROP_STATE: not expected in the current state
 * @DD_TP_DROP_COOKIE: an INIT whose cookie is wrong or too old
 * @DD_TP_DROP_CONFIG: an INIT that disagrees with the local configuration
 * @DD_TP_DROP_DUP: a packet number that was received before
 * @DD_TP_DROP_OLD: a packet number too old to detect a duplicate; not acknowledged
 * @DD_TP_DROP_ACK: acknowledges a packet that was never sent
 * @DD_TP_DROP_CTL: more control messages in flight than allowed
 * @DD_TP_DROP_CHAN: for a channel that does not exist, or no longer exists
 * @DD_TP_DROP_CLOSED: deposit() returned -%ECONNRESET
 * @DD_TP_DROP_AGAIN: deposit() returned -%EAGAIN, or the channel or session is on
 *	hold; not acknowledged
 * @DD_TP_DROP_ORDER: the preceding message is incomplete; not acknowledged
 * @DD_TP_DROP_CREDIT: a message beyond the limit announced to the peer
 * @DD_TP_DROP_BOUNDS: outside the block, or contradicts another piece of the message
 * @DD_TP_DROP_HOLES: would need more than DD_TP_HOLES ranges; not acknowledged
 * @DD_TP_DROP_BYTES: bytes that are in place already
 * @DD_TP_DROP_MESSAGE: an invalid control message; counted by the caller
 * @DD_TP_DROPS: number of reasons
 */
enum dd_tp_drop {
	DD_TP_DROP_FORMAT,
	DD_TP_DROP_VERSION,
	DD_TP_DROP_CRC,
	DD_TP_DROP_TOKEN,
	DD_TP_DROP_STATE,
	DD_TP_DROP_COOKIE,
	DD_TP_DROP_CONFIG,
	DD_TP_DROP_DUP,
	DD_TP_DROP_OLD,
	DD_TP_DROP_ACK,
	DD_TP_DROP_CTL,
	DD_TP_DROP_CHAN,
	DD_TP_DROP_CLOSED,
	DD_TP_DROP_AGAIN,
	DD_TP_DROP_ORDER,
	DD_TP_DROP_CREDIT,
	DD_TP_DROP_BOUNDS,
	DD_TP_DROP_HOLES,
	DD_TP_DROP_BYTES,
	DD_TP_DROP_MESSAGE,
	DD_TP_DROPS,
};

/**
 * enum dd_tp_event - events passed to trace() of struct dd_tp_ops
 * @DD_TP_EV_SENT: a packet was sent; its number and its bytes in flight
 * @DD_TP_EV_RECEIVED: a packet of the session was received; its number and bytes
 * @DD_TP_EV_ACKED: a packet was acknowledged
 * @DD_TP_EV_LOST: a packet was declared lost
 * @DD_TP_EV_SPURIOUS: a packet declared lost was acknowledged after all
 */
enum dd_tp_event {
	DD_TP_EV_SENT,
	DD_TP_EV_RECEIVED,
	DD_TP_EV_ACKED,
	DD_TP_EV_LOST,
	DD_TP_EV_SPURIOUS,
};

/**
 * enum dd_tp_state - state of a session
 * @DD_TP_IDLE: no session, and none requested here; the peer's INIT is answered
 * @DD_TP_OPENING: INIT is being sent, and repeated
 * @DD_TP_UP: both ends have confirmed the session
 */
enum dd_tp_state {
	DD_TP_IDLE,
	DD_TP_OPENING,
	DD_TP_UP,
};

/**
 * struct dd_tp_cfg - configuration of a session
 * @node: number of this node, another one than @peer
 * @peer: number of the peer
 * @maxnodes: number of nodes in the cluster
 * @incarnation: random number, new each time the module starts in a namespace
 * @records: packets that may be unacknowledged, a power of two,
 *	DD_TP_RECORDS_MIN..DD_TP_RECORDS_MAX; they take most of the arena
 * @ctl_slots: control messages in flight per direction, a power of two, at least 2
 * @dead_ns: dead time, at least 10 ms
 * @payload_crc: checksum payloads, and ask the peer to do so
 * @version_min: lowest version of DATA packets supported
 * @version_max: highest version supported, at most %DD_WIRE_VERSION
 */
struct dd_tp_cfg {
	u32 node;
	u32 peer;
	u32 maxnodes;
	u64 incarnation;
	u32 records;
	u32 ctl_slots;
	u64 dead_ns;
	bool payload_crc;
	u8 version_min;
	u8 version_max;
};

/**
 * struct dd_tp_stats - counters since dd_tp_init()
 * @tx_packets: packets made
 * @tx_bytes: bytes of messages sent, retransmissions included
 * @rx_packets: packets of a session received
 * @rx_bytes: bytes of messages deposited
 * @messages: messages completed here
 * @lost: packets declared lost
 * @spurious: packets declared lost that were acknowledged after all
 * @probes: probe timeouts
 * @acks: packets sent only to acknowledge
 * @drops: packets and frames dropped, by enum dd_tp_drop
 */
struct dd_tp_stats {
	u64 tx_packets;
	u64 tx_bytes;
	u64 rx_packets;
	u64 rx_bytes;
	u64 messages;
	u64 lost;
	u64 spurious;
	u64 probes;
	u64 acks;
	u64 drops[DD_TP_DROPS];
};

/**
 * struct dd_tp_rx_range - packet numbers that were received
 * @first: lowest
 * @last: highest
 */
struct dd_tp_rx_range {
	u64 first;
	u64 last;
};

/**
 * struct dd_tp_id - identity and parameters of a session
 * @incarnation: peer's incarnation
 * @rx_token: token of packets to this node
 * @tx_token: token of packets to the peer
 * @packet_max: largest datagram that the peer accepts
 * @ctl_slots: control messages that may be in flight to the peer
 * @want_crc: the peer wants checksums of payloads
 * @version: of DATA packets
 */
struct dd_tp_id {
	u64 incarnation;
	u64 rx_token;
	u64 tx_token;
	u32 packet_max;
	u32 ctl_slots;
	bool want_crc;
	u8 version;
};

#endif /* _DD_TRANSPORT_TYPES_H */
