/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Types shared by the transport and its caller: messages, channels, packets and
 * the table of callbacks. The session and its functions are in transport.h.
 */
#ifndef _DD_TRANSPORT_TYPES_H
#define _DD_TRANSPORT_TYPES_H

#include <linux/list.h>
#include <linux/types.h>

#include "wire.h"

struct dd_tp;
struct dd_tp_rx_batch;

#define DD_TP_NEVER		U64_MAX		/* no deadline */
#define DD_TP_RECORDS_MIN	32
#define DD_TP_RECORDS_MAX	8192
#define DD_TP_CTL_MIN		2
#define DD_TP_CTL_MAX		64
#define DD_TP_WINDOW_MAX	65534		/* messages per channel */
#define DD_TP_HOLES		32		/* received ranges kept per message */

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
 * struct dd_tp_msg - a message, as passed to complete() of the receiver
 * @msgid: number of the message on its channel, from 1
 * @dst: offset in the destination block
 * @len: bytes
 * @flags: DD_PUT_*
 * @meta_count: number of valid words in @meta
 * @tag: tag word of the note
 * @meta: metadata words of the note
 */
struct dd_tp_msg {
	u64 msgid;
	u64 dst;
	u32 len;
	u8 flags;
	u8 meta_count;
	u32 tag;
	u32 meta[DD_WIRE_META];
};

/**
 * struct dd_tp_op - a message to be sent; memory owned by the caller
 * @msg: the message; dd_tp_submit() sets @msg.msgid, the caller sets the rest and
 *	does not change it while the transport holds the op
 * @node: entry in dd_tp_chan.ops (private, as all that follows)
 * @next: bytes that have been sent at least once
 * @acked: bytes that have been acknowledged
 * @retransmit: pieces that were declared lost and are not acknowledged since
 * @head_sent: the packet of an empty message has been sent
 * @head_acked: the packet of an empty message has been acknowledged
 *
 * The transport holds the op from dd_tp_submit() until it calls sent() for it, or
 * until dd_tp_chan_drop().
 */
struct dd_tp_op {
	struct dd_tp_msg msg;

	struct list_head node;
	u32 next;
	u32 acked;
	u32 retransmit;
	bool head_sent;
	bool head_acked;
};

/**
 * struct dd_tp_range - bytes of a message, the end exclusive
 * @start: first byte
 * @end: byte after the last one
 */
struct dd_tp_range {
	u32 start;
	u32 end;
};

/**
 * struct dd_tp_chan_cfg - parameters of a channel
 * @id: name that the peer uses for this end. From random(), so that only the
 *	peer can name it
 * @peer_id: name that this node uses for the peer's end; 0 if not known yet
 * @rx_size: bytes in the block that the peer writes to
 * @rx_window: unread notes that the peer may have here, 1..DD_TP_WINDOW_MAX
 * @rx_taken: places of @rx_window not available at first, 0..@rx_window; the peer
 *	may send so many messages less until a DONE raises its limit
 * @tx_window: unread notes that this node may have at the peer
 * @tx_taken: places of @tx_window not available at first
 * @prompt: with @tx_window 1: the local sender waits for DONE after each message,
 *	so each message asks for an immediate DONE
 */
struct dd_tp_chan_cfg {
	u64 id;
	u64 peer_id;
	u64 rx_size;
	u32 rx_window;
	u32 rx_taken;
	u32 tx_window;
	u32 tx_taken;
	bool prompt;
};

/**
 * struct dd_tp_chan - one end of a connection; embedded by the caller
 * @cfg: parameters, copied by dd_tp_chan_init()
 * @up: belongs to the session that is up; false after the session ended (read only)
 * @hold: like dd_tp.hold, for this channel; set by the caller, false at first
 * @submitted: messages accepted by dd_tp_submit() (read only)
 * @sent: messages of which all bytes are acknowledged (read only)
 * @done: messages that are in place at the peer and notified (read only)
 * @limit: number of the last message that may be sent now (read only)
 * @received: messages received completely (read only)
 * @notified: received messages whose note is posted, or that need none (read only)
 * @node: entry in dd_tp.chans (private, as all that follows)
 * @ready: entry in dd_tp.retransmit or in dd_tp.ready
 * @done_node: entry in dd_tp.done_queue, or in dd_tp_rec.done of the packet that
 *	carries the DONE
 * @ops: messages that are not acknowledged completely, by number
 * @flight: packets in flight that carry pieces of them
 * @lost: pieces to be retransmitted, as records
 * @granted: number of the last message that the peer may send, as last announced
 * @burst: bytes this channel may still send before the next channel's turn
 * @unanswered: no message was sent since the last one was received
 * @answers: a message was sent between the last two that were received
 * @awaited: the caller waits for messages that did not ask for DONE, or did so
 *	recently
 * @in_progress: @msg and @range describe message number @received + 1
 * @has_head: its first piece has been received
 * @has_tail: its last piece has been received
 * @ntail: bytes in @tail
 * @tail: last bytes of the message, stored after all others
 * @lead: how many messages before the last permitted one a message asks for DONE
 * @asked: number of the last message that asked for DONE, 0 for none
 * @asked_at: when that message was sent; 0 if not known
 * @gap: smoothed time between two messages, ns; see dd_tp_chan_ask()
 * @nranges: entries in @range
 * @msg: the message in progress
 * @range: bytes received of it, ascending, disjoint and not adjacent
 */
struct dd_tp_chan {
	struct dd_tp_chan_cfg cfg;
	bool up;
	bool hold;
	u64 submitted;
	u64 sent;
	u64 done;
	u64 limit;
	u64 received;
	u64 notified;

	struct list_head node;
	struct list_head ready;
	struct list_head done_node;
	struct list_head ops;
	struct hlist_head flight;
	struct list_head lost;
	u64 granted;
	s32 burst;
	bool unanswered;
	bool answers;
	bool awaited;
	bool in_progress;
	bool has_head;
	bool has_tail;
	u8 ntail;
	u8 tail[8];
	u16 lead;
	u32 nranges;
	u64 asked;
	u64 asked_at;
	u64 gap;
	struct dd_tp_msg msg;
	struct dd_tp_range range[DD_TP_HOLES];
};

/**
 * struct dd_tp_pkt - a packet, or a batch of packets, to be transmitted
 * @hdr: (in) memory of %DD_WIRE_HLEN_MAX bytes
 * @room: (in) number of struct dd_wire_piece that fit at @hdr; with 0 or 1, each
 *	call makes one packet
 * @count: (out) packets made: 1, or more if they carry consecutive pieces of one
 *	message. Their headers are adjacent at @hdr and their payloads are adjacent
 *	in the message; @off and @len describe the first one
 * @hlen: (out) bytes of each header
 * @chan: (out) channel of the payload, NULL if there is none
 * @op: (out) message of the payload
 * @off: (out) offset of the payload in the message
 * @len: (out) bytes of payload, after the header
 * @crc: (out) if @need_crc: running checksum, to be continued over the payload
 *	and stored by dd_wire_seal()
 * @need_crc: (out) the caller has to finish the checksum; @count is 1
 * @again: (out) retransmitted payload; its source may be changing, so the caller
 *	should copy it first; @count is 1
 * @more: (out) another packet of the same length is likely to follow
 *
 * @chan and @op are valid under the caller's lock. A caller that unlocks before
 * it has taken the payload holds a reference to the memory of the source.
 */
struct dd_tp_pkt {
	struct dd_wire_hdr *hdr;
	u32 room;
	u32 count;
	u32 hlen;
	struct dd_tp_chan *chan;
	struct dd_tp_op *op;
	u32 off;
	u32 len;
	u32 crc;
	bool need_crc;
	bool again;
	bool more;
};

/**
 * struct dd_tp_ops - callbacks of the transport
 * @random: return 64 unpredictable random bits
 * @find: return the channel of this session with this id, or NULL
 * @deposit: store @len bytes of @payload, from its byte @off on, at offset @dst
 *	of the block. Bytes of a message come in any order, each byte once; all
 *	bytes of a message come before those of the next. Return 0; -%ECONNRESET if
 *	the channel is closing (the bytes are dropped, the packet is acknowledged);
 *	-%EAGAIN to drop the packet unacknowledged, so that the peer retransmits it
 * @deposit_batch: store the payloads of consecutive packets, which are adjacent in
 *	the block, from @dst on: as long as dd_tp_rx_batch_takes() accepts the
 *	header of the next packet, store its @batch->plen bytes. May stop after any
 *	packet; the remaining ones are passed to dd_tp_rx()
 * @peek: copy @len bytes of @payload, from its byte @off on, to @buf
 * @payload_crc: continue the running CRC-32C @crc over @len bytes of @payload
 * @complete: all bytes of a message but the last @ntail (0..8) are deposited: store
 *	these at its end (dd_copy_final()) and notify the receiver if @msg->flags
 *	asks for it. Return true if it is notified or needs no note, false if the
 *	note is withheld; then the caller calls dd_tp_notified() later
 * @credit: return the number of notes that could be posted on this channel now;
 *	called only while no note is withheld. The value must not decrease except
 *	by posting. Called often. May be NULL for always 0
 * @sent: all bytes of the messages up to @msgid are acknowledged: their ops and
 *	sources may be reused
 * @done: the messages up to @msgid are in place and notified; follows sent()
 * @ctl: a control message was received; each exactly once, in order
 * @up: a session is up; channels may be made and control messages sent
 * @down: the session ended: no further callback for its messages. Its channels
 *	have @up false and may be dropped at any time
 * @drop: something was dropped (also counted in @stats); may be NULL
 * @trace: report an event; may be NULL
 *
 * complete(), sent(), done(), ctl(), up() and down() may call dd_tp_submit(),
 * dd_tp_ctl(), dd_tp_notified(), dd_tp_chan_init(), dd_tp_chan_peer(),
 * dd_tp_chan_await(), dd_tp_chan_over() and dd_tp_chan_drop() for any channel, and
 * down() may call dd_tp_start(). The other callbacks may call no function of the
 * transport. No callback may call dd_tp_stop(), dd_tp_exit() or dd_tp_poll().
 */
struct dd_tp_ops {
	u64 (*random)(struct dd_tp *tp);
	struct dd_tp_chan *(*find)(struct dd_tp *tp, u64 id);
	int (*deposit)(struct dd_tp *tp, struct dd_tp_chan *chan, u64 dst,
		       const void *payload, u32 off, u32 len);
	void (*deposit_batch)(struct dd_tp *tp, struct dd_tp_chan *chan, u64 dst,
			      const void *payload,
			      struct dd_tp_rx_batch *batch);
	void (*peek)(struct dd_tp *tp, const void *payload, u32 off, void *buf,
		     u32 len);
	u32 (*payload_crc)(struct dd_tp *tp, const void *payload, u32 len,
			   u32 crc);
	bool (*complete)(struct dd_tp *tp, struct dd_tp_chan *chan,
			 const struct dd_tp_msg *msg, const u8 *tail,
			 u32 ntail);
	u32 (*credit)(struct dd_tp *tp, struct dd_tp_chan *chan);
	void (*sent)(struct dd_tp *tp, struct dd_tp_chan *chan, u64 msgid);
	void (*done)(struct dd_tp *tp, struct dd_tp_chan *chan, u64 msgid);
	void (*ctl)(struct dd_tp *tp, const void *data, u32 len);
	void (*up)(struct dd_tp *tp);
	void (*down)(struct dd_tp *tp, enum dd_tp_reason reason);
	void (*drop)(struct dd_tp *tp, enum dd_tp_drop reason);
	void (*trace)(struct dd_tp *tp, enum dd_tp_event event, u64 pn,
		      u32 bytes);
};

/**
 * struct dd_tp_cfg - configuration of a session
 * @node: number of this node
 * @peer: number of the peer
 * @maxnodes: number of nodes in the cluster
 * @incarnation: random number, new each time the module starts in a namespace
 * @records: packets that may be unacknowledged, a power of two,
 *	DD_TP_RECORDS_MIN..DD_TP_RECORDS_MAX; they take most of the arena
 * @ctl_slots: control messages in flight per direction,
 *	DD_TP_CTL_MIN..DD_TP_CTL_MAX
 * @packet_max: largest datagram (UDP payload) accepted here,
 *	DD_WIRE_PACKET_MIN..65507
 * @mtu: largest datagram to send at first; see dd_tp_set_mtu()
 * @dead_ns: dead time, at least 10 ms
 * @ack_delay_ns: longest delay of an acknowledgment, at most 50 ms, usually 1 ms
 * @payload_crc: checksum payloads, and ask the peer to do so
 * @version_min: lowest version of DATA packets supported, %DD_WIRE_VERSION
 * @version_max: highest version supported, %DD_WIRE_VERSION
 */
struct dd_tp_cfg {
	u32 node;
	u32 peer;
	u32 maxnodes;
	u64 incarnation;
	u32 records;
	u32 ctl_slots;
	u32 packet_max;
	u32 mtu;
	u64 dead_ns;
	u32 ack_delay_ns;
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
 * @sessions: sessions that came up
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
	u64 sessions;
	u64 drops[DD_TP_DROPS];
};

#endif /* _DD_TRANSPORT_TYPES_H */
