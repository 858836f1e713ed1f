/* SPDX-License-Identifier: GPL-2.0-only */
/* State of a session. */
#ifndef _DD_TRANSPORT_SESSION_H
#define _DD_TRANSPORT_SESSION_H

#include <linux/list.h>
#include <linux/siphash.h>
#include <linux/types.h>

#include "transport/cc.h"
#include "transport/chan.h"
#include "transport/ops.h"
#include "transport/types.h"

struct dd_tp_rec;
struct dd_tp_slot;

/**
 * struct dd_tp_rx_batch - consecutive packets with pieces of one message
 *	(private, except to batch.h)
 * @chan: channel of the message; NULL if no batch is expected
 * @next: expected header of the next packet, without time and checksum
 * @plen: bytes of payload in each packet
 * @most: packets that may be taken now
 * @count: packets taken so far
 */
struct dd_tp_rx_batch {
	struct dd_tp_chan *chan;
	struct dd_wire_piece next;
	u32 plen;
	u32 most;
	u32 count;
};

/**
 * struct dd_tp_tx_batch - consecutive packets with pieces of one message (private)
 * @chan: channel of the message; NULL if there is no batch
 * @op: the message
 * @len: bytes in a piece
 * @size: dd_tp_packet_size() when the batch began
 * @piece: header of the last packet that was built frame by frame
 */
struct dd_tp_tx_batch {
	struct dd_tp_chan *chan;
	struct dd_tp_op *op;
	u32 len;
	u32 size;
	struct dd_wire_piece piece;
};

/**
 * enum dd_tp_wait - how long a DONE may be delayed (private)
 * @DD_TP_WAIT_NOT: not at all
 * @DD_TP_WAIT_ROOM: not at all, or until there is room for several messages; see
 *	dd_tp_credit_at()
 * @DD_TP_WAIT_DELAY: like an acknowledgment
 * @DD_TP_WAIT_REST: like an acknowledgment; and the acknowledgment of the message's
 *	packets may be delayed as well if these are few
 * @DD_TP_WAIT_ANSWER: both until the answer, which is likely to follow
 */
enum dd_tp_wait {
	DD_TP_WAIT_NOT,
	DD_TP_WAIT_ROOM,
	DD_TP_WAIT_DELAY,
	DD_TP_WAIT_REST,
	DD_TP_WAIT_ANSWER,
};

/**
 * struct dd_tp - the state kept for one peer, in and between sessions
 * @cfg: configuration, copied by dd_tp_init()
 * @ops: callbacks
 * @state: enum dd_tp_state (read only)
 * @tracing: call trace(); the caller may change it at any time
 * @stats: counters (read only)
 * @mtu: largest datagram to send (read only)
 * @cc: congestion control (read only)
 * @hold: set by the caller: messages are dropped unacknowledged, so that the peer
 *	retransmits them; the session stays up
 * @fragments: the path carries @mtu bytes in several IP fragments only (read only)
 * @cur: the session that is up (private, as all that follows)
 * @pend: a session that the peer has requested and that is not confirmed by a
 *	packet yet; @pend.rx_token is 0 for none
 * @init_token: local token while opening
 * @init_cookie: cookie to be put in the next INIT
 * @init_at: when the next INIT is sent
 * @init_wait: interval between that INIT and the following one
 * @init_since: when opening began
 * @yielding: while opening: the peer's INIT takes precedence over the local one
 * @cookie_key: keys of the cookies handed out, the current and the previous one
 * @cookie_at: when the current key was made; 0 for never
 * @reply_len: bytes of @reply to be sent; 0 for none
 * @reply: a reply outside a session
 * @reply_tokens: REFUSE and RESET packets that may be sent at once (token bucket)
 * @reply_at: when the bucket was last filled
 * @chans: all channels of the session
 * @retransmit: channels with lost pieces to retransmit
 * @ready: channels with new bytes to send
 * @done_queue: channels with a DONE to send
 * @recs: records, cfg.records of them
 * @free: first free record
 * @nfree: number of free records
 * @ring: records by packet number
 * @ring_mask: entries in @ring, less 1
 * @next_pn: number of the next packet
 * @low_pn: no packet below is in flight
 * @mark_pn: no packet below has a loss mark in @ring; U64_MAX if none has
 * @mark_last: highest packet number declared lost
 * @largest_acked: highest packet number acknowledged, plus 1
 * @loss_at: when the next packet is declared lost; 0 for never
 * @last_eliciting: when the last ack-eliciting packet was sent
 * @unanswered_since: when the first ack-eliciting packet was sent after the last
 *	packet was received; 0 for none
 * @pto_count: probe timeouts since the last acknowledgment
 * @probes: packets that may be sent regardless of the window
 * @stalls: times that large packets got no answer at all
 * @rounds: round trips in which large packets were lost and none was acknowledged
 * @round_at: when the last of these round trips was noticed
 * @small_until: until then only packets of the smallest size are sent; 0 for not set
 * @fresh_turn: the last piece sent was a retransmission: new bytes are next
 * @ping: a PING is to be sent
 * @ctl_next: number of the next control message
 * @ctl_una: lowest number that is not acknowledged
 * @ctl_queued: number of slots of @tx_ctl that wait to be sent
 * @ctl_rx: number of the next control message expected
 * @rx_range: packet numbers received, descending
 * @nrx: entries in @rx_range
 * @rx_ts: timestamp in the packet with the highest number
 * @rx_at: when that packet was received
 * @last_rx: when the last packet of the session was received
 * @heard: a packet of the session was received
 * @proved: a handshake packet was received that proves knowledge of a secret sent
 *	to the peer's address; the caller clears it
 * @ack_count: ack-eliciting packets received since the last acknowledgment
 * @ack_bytes: bytes of messages in them
 * @ack_at: latest time of the next acknowledgment; 0 if none is due
 * @ack_hurry: acknowledge without delay: a packet is missing, or the peer waits
 *	for a DONE
 * @wait: delay of the DONE of the message completed by the current packet
 * @bye: token of the session to end with BYE and @bye_reason; 0 for none
 * @bye_at: when the next BYE is sent
 * @bye_wait: interval between that BYE and the following one
 * @bye_reason: enum dd_tp_reason
 * @tx_ctl: slots of control messages that are not acknowledged
 * @rx_ctl: slots of control messages received out of order
 * @busy: channel whose callback is running; NULL if the callback dropped it
 * @last_chan: last result of dd_tp_chan_find()
 * @rx_batch: packets expected next
 * @tx_batch: packets to be built next
 */
struct dd_tp {
	struct dd_tp_cfg cfg;
	const struct dd_tp_ops *ops;
	enum dd_tp_state state;
	bool tracing;
	struct dd_tp_stats stats;
	u32 mtu;
	struct dd_tp_cc cc;
	bool hold;
	bool fragments;

	struct dd_tp_id cur;
	struct dd_tp_id pend;
	u64 init_token;
	u64 init_cookie;
	u64 init_at;
	u64 init_wait;
	u64 init_since;
	bool yielding;
	siphash_key_t cookie_key[2];
	u64 cookie_at;
	u32 reply_len;
	u8 reply[sizeof(struct dd_wire_init)];
	u32 reply_tokens;
	u64 reply_at;

	struct list_head chans;
	struct list_head retransmit;
	struct list_head ready;
	struct list_head done_queue;

	struct dd_tp_rec *recs;
	struct dd_tp_rec *free;
	u32 nfree;
	u16 *ring;
	u32 ring_mask;

	/* From here to @rx_range: zeroed with each session, without channels. */
	u64 next_pn;
	u64 low_pn;
	u64 mark_pn;
	u64 mark_last;
	u64 largest_acked;
	u64 loss_at;
	u64 last_eliciting;
	u64 unanswered_since;
	u32 pto_count;
	u32 probes;
	u32 stalls;
	u32 rounds;
	u64 round_at;
	u64 small_until;
	bool fresh_turn;
	bool ping;
	u32 ctl_next;
	u32 ctl_una;
	u32 ctl_queued;
	u32 ctl_rx;

	u32 nrx;
	u32 rx_ts;
	u64 rx_at;
	u64 last_rx;
	u32 ack_count;
	u32 ack_bytes;
	u64 ack_at;
	bool heard;
	bool ack_hurry;
	enum dd_tp_wait wait;

	struct dd_tp_rx_range rx_range[DD_TP_RX_RANGES];
	bool proved;

	u64 bye;
	u64 bye_at;
	u64 bye_wait;
	u8 bye_reason;

	struct dd_tp_slot *tx_ctl;
	struct dd_tp_slot *rx_ctl;
	struct dd_tp_chan *busy;
	struct dd_tp_chan *last_chan;

	struct dd_tp_rx_batch rx_batch;
	struct dd_tp_tx_batch tx_batch;
};

#endif /* _DD_TRANSPORT_SESSION_H */
