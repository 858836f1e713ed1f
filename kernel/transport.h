/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session between two nodes: turns an unreliable packet service into messages
 * that are deposited once and in order. Pure: events and a clock go in, packets
 * and calls of struct dd_tp_ops come out. No sockets, timers or allocations.
 *
 * The caller serialises all calls for one struct dd_tp with a lock of its own; the
 * callbacks run under the same lock. Time is in nanoseconds and monotonic. After
 * dd_tp_start(), dd_tp_rx(), dd_tp_timeout(), dd_tp_submit(), dd_tp_notified() or
 * dd_tp_ctl() the caller drains dd_tp_poll(), preferably once after a burst of
 * received packets, so that one acknowledgment covers the burst. Then it arranges
 * for dd_tp_timeout() to be called at dd_tp_deadline().
 *
 * Nothing here waits for a peer. Documentation/protocol.rst has the states.
 */
#ifndef _DD_TRANSPORT_H
#define _DD_TRANSPORT_H

#include <linux/list.h>
#include <linux/siphash.h>
#include <linux/types.h>

#include "transport_types.h"

struct dd_tp_rec;
struct dd_tp_slot;

#define DD_TP_RX_RANGES		32		/* of packet numbers */

/**
 * struct dd_tp_cc - congestion control, round-trip times, loss detection (private,
 *	but exported by netlink)
 * @srtt: smoothed round-trip time, ns; 0 before the first sample
 * @rttvar: its variation, ns
 * @min_rtt: shortest sample, ns
 * @latest: last sample, ns
 * @cwnd: congestion window, bytes
 * @ssthresh: slow start threshold, bytes
 * @flight: bytes in flight
 * @w_max: window before the last reduction
 * @w_est: window that Reno would have now
 * @epoch: start of the current growth period, ns; 0 before it starts
 * @avoid_at: when the window last grew in congestion avoidance
 * @k: milliseconds from @epoch until the window reaches @w_max
 * @recovery: losses of packets sent before this time cause no further reduction
 * @undo_cwnd: @cwnd before the last reduction
 * @undo_ssthresh: @ssthresh before it
 * @undo_w_max: @w_max before it
 * @undo_lost: losses of that round that have not turned out spurious
 * @pace_at: earliest time of the next packet, ns
 * @reorder: reordering threshold, packets
 * @limited: the window, not the lack of data, stopped dd_tp_poll()
 * @paced: pacing stopped dd_tp_poll(); the next packet is due at @pace_at
 */
struct dd_tp_cc {
	u64 srtt;
	u64 rttvar;
	u64 min_rtt;
	u64 latest;
	u32 cwnd;
	u32 ssthresh;
	u32 flight;
	u32 w_max;
	u32 w_est;
	u64 epoch;
	u64 avoid_at;
	u64 k;
	u64 recovery;
	u32 undo_cwnd;
	u32 undo_ssthresh;
	u32 undo_w_max;
	u32 undo_lost;
	u64 pace_at;
	u32 reorder;
	bool limited;
	bool paced;
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

/**
 * struct dd_tp_rx_batch - consecutive packets with pieces of one message
 *	(private, except to transport_batch.h)
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
 * @tracing: call trace(); set by dd_tp_init() if there is one; the caller may
 *	change it at any time
 * @stats: counters (read only)
 * @mtu: largest datagram to send (read only)
 * @cc: congestion control (read only)
 * @hold: set by the caller: messages are dropped unacknowledged, so that the peer
 *	retransmits them; the session stays up
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
 * @small: only packets of the smallest size are sent now
 * @small_until: end of the time of small packets; 0 for not set
 * @rx_range: packet numbers received, descending
 * @nrx: entries in @rx_range
 * @rx_ts: timestamp in the packet with the highest number
 * @rx_at: when that packet was received
 * @last_rx: when the last packet of the session was received
 * @heard: a packet of the session was received
 * @proved: a handshake packet was received that proves knowledge of a secret sent
 *	to the peer's address; the caller clears it
 * @fresh_turn: the last piece sent was a retransmission: new bytes are next
 * @ack_count: ack-eliciting packets received since the last acknowledgment
 * @ack_bytes: bytes of messages in them
 * @ack_at: latest time of the next acknowledgment; 0 if none is due
 * @ack_hurry: acknowledge without delay: a packet is missing, or the peer waits
 *	for a DONE
 * @wait: delay of the DONE of the message completed by the current packet
 * @ping: a PING is to be sent
 * @bye: token of the session to end with BYE and @bye_reason; 0 for none
 * @bye_at: when the next BYE is sent
 * @bye_wait: interval between that BYE and the following one
 * @bye_reason: enum dd_tp_reason
 * @bye_version: version of that session
 * @tx_ctl: slots of control messages that are not acknowledged
 * @rx_ctl: slots of control messages received out of order
 * @ctl_next: number of the next control message
 * @ctl_una: lowest number that is not acknowledged
 * @ctl_queued: number of slots of @tx_ctl that wait to be sent
 * @ctl_rx: number of the next control message expected
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
	bool small;
	u64 small_until;

	struct dd_tp_rx_range rx_range[DD_TP_RX_RANGES];
	u32 nrx;
	u32 rx_ts;
	u64 rx_at;
	u64 last_rx;
	u32 ack_count;
	u32 ack_bytes;
	u64 ack_at;
	bool heard;
	bool proved;
	bool fresh_turn;
	bool ack_hurry;
	enum dd_tp_wait wait;
	bool ping;

	u64 bye;
	u64 bye_at;
	u64 bye_wait;
	u8 bye_reason;
	u8 bye_version;

	struct dd_tp_slot *tx_ctl;
	struct dd_tp_slot *rx_ctl;
	u32 ctl_next;
	u32 ctl_una;
	u32 ctl_queued;
	u32 ctl_rx;
	struct dd_tp_chan *busy;
	struct dd_tp_chan *last_chan;

	struct dd_tp_rx_batch rx_batch;
	struct dd_tp_tx_batch tx_batch;
};

/**
 * dd_tp_arena_size() - size of the memory that a session needs beside struct dd_tp
 * @cfg: configuration
 *
 * Return: bytes, or 0 if @cfg is out of range.
 */
size_t dd_tp_arena_size(const struct dd_tp_cfg *cfg);

/**
 * dd_tp_init() - initialise the state of a peer, without a session
 * @tp: to be initialised
 * @cfg: configuration, copied
 * @ops: callbacks, not copied
 * @arena: dd_tp_arena_size() bytes, aligned to 8, in use until dd_tp_exit()
 *
 * Return: 0 or -%EINVAL.
 */
int dd_tp_init(struct dd_tp *tp, const struct dd_tp_cfg *cfg,
	       const struct dd_tp_ops *ops, void *arena);

/**
 * dd_tp_exit() - end without a packet to the peer and without a callback
 * @tp: the session
 *
 * Drops all channels. The caller may free @arena and @tp.
 */
void dd_tp_exit(struct dd_tp *tp);

/**
 * dd_tp_start() - request a session
 * @tp: the session
 * @now: current time
 *
 * up() or down() follows, after the dead time at the latest. No effect if a
 * session is up or requested already.
 */
void dd_tp_start(struct dd_tp *tp, u64 now);

/**
 * dd_tp_stop() - end the session, if there is one
 * @tp: the session
 * @now: current time
 *
 * Calls down() with %DD_TP_STOPPED. dd_tp_poll() makes a BYE at once and more at
 * growing intervals until the peer answers, for 35 ms at most; then @bye is 0.
 */
void dd_tp_stop(struct dd_tp *tp, u64 now);

u32 __dd_tp_rx_batch(struct dd_tp *tp, u64 now, u32 size, u32 most,
		     const void *payload);

/**
 * dd_tp_rx_batch() - receive consecutive packets
 * @tp: the session
 * @now: current time
 * @size: bytes in each packet
 * @most: number of packets, at least 1
 * @payload: passed to deposit_batch(), which alone reads headers and payloads
 *
 * Takes as many packets as continue the message in progress without a gap. The
 * effect is that of dd_tp_rx() for each of them, at a lower cost.
 *
 * Return: number of packets taken. The caller passes the next one to dd_tp_rx().
 * With 0, nothing has changed.
 */
static inline u32 dd_tp_rx_batch(struct dd_tp *tp, u64 now, u32 size, u32 most,
				 const void *payload)
{
	return tp->rx_batch.chan ?
		__dd_tp_rx_batch(tp, now, size, most, payload) : 0;
}

/**
 * dd_tp_rx() - receive a datagram from the peer's address
 * @tp: the session
 * @now: current time
 * @hdr: its first bytes, in memory that no other context writes
 * @hlen: bytes at @hdr, as returned by dd_wire_hlen()
 * @payload: the remaining bytes, passed to deposit(), peek() and payload_crc()
 * @plen: bytes in @payload
 *
 * Return: true if the packet belongs to a session and is valid.
 */
bool dd_tp_rx(struct dd_tp *tp, u64 now, const void *hdr, size_t hlen,
	      const void *payload, size_t plen);

/**
 * dd_tp_timeout() - handle expired timers
 * @tp: the session
 * @now: current time; nothing happens before the deadline
 */
void dd_tp_timeout(struct dd_tp *tp, u64 now);

/**
 * dd_tp_deadline() - when dd_tp_timeout() has to be called
 * @tp: the session
 *
 * Valid after dd_tp_poll() has returned false.
 *
 * Return: a time, possibly in the past, or %DD_TP_NEVER.
 */
u64 dd_tp_deadline(const struct dd_tp *tp);

/**
 * dd_tp_is_idle() - quick check whether dd_tp_poll() would make no packet
 * @tp: the session
 * @now: current time
 *
 * Return: true if it would make none; then the call replaces dd_tp_poll(). False
 * if dd_tp_poll() has to be called.
 */
static inline bool dd_tp_is_idle(struct dd_tp *tp, u64 now)
{
	if (tp->state != DD_TP_UP || tp->bye || tp->reply_len ||
	    !list_empty(&tp->ready) || !list_empty(&tp->retransmit) ||
	    tp->ctl_queued || tp->ping || (tp->ack_at && tp->ack_at <= now))
		return false;
	tp->cc.limited = false;
	tp->cc.paced = false;
	return true;
}

#define DD_TP_SURE	2000000ull	/* ns: below any probe timeout */

/**
 * dd_tp_deadline_after() - quick check whether dd_tp_deadline() is not before @at
 * @tp: the session
 * @at: a time
 *
 * Return: false if dd_tp_deadline() has to be called to know.
 */
static inline bool dd_tp_deadline_after(const struct dd_tp *tp, u64 at)
{
	return tp->state == DD_TP_UP && (!tp->ack_at || tp->ack_at >= at) &&
	       !tp->loss_at && !tp->bye && !tp->cc.paced &&
	       at <= min(tp->last_rx, tp->last_eliciting ?: tp->last_rx) +
		     DD_TP_SURE;
}

/**
 * dd_tp_poll() - make the next packet, or a batch of packets
 * @tp: the session
 * @now: current time
 * @pkt: (in, out) the packet
 *
 * Return: true if there is a packet to send now.
 */
bool dd_tp_poll(struct dd_tp *tp, u64 now, struct dd_tp_pkt *pkt);

/**
 * dd_tp_set_mtu() - set the largest datagram that the path carries
 * @tp: the session
 * @bytes: UDP payload; raised to %DD_WIRE_PACKET_MIN
 *
 * Applies to retransmissions, too. If the path silently drops packets of this
 * size, smaller ones are tried.
 */
void dd_tp_set_mtu(struct dd_tp *tp, u32 bytes);

/**
 * dd_tp_chan_init() - make a channel in the session that is up
 * @tp: the session
 * @chan: to be initialised
 * @cfg: parameters, copied
 *
 * find() must return the channel before the peer learns @cfg->id.
 *
 * Return: 0, -%EINVAL, or -%ENOTCONN if no session is up.
 */
int dd_tp_chan_init(struct dd_tp *tp, struct dd_tp_chan *chan,
		    const struct dd_tp_chan_cfg *cfg);

/**
 * dd_tp_chan_peer() - set the peer's end of a channel
 * @tp: the session
 * @chan: a channel made with @peer_id 0
 * @peer_id: name of the peer's end, not 0
 * @tx_window: unread notes that this node may have at the peer
 * @tx_taken: places of @tx_window not available at first
 *
 * Return: 0, -%EINVAL, or -%ENOTCONN if the session ended.
 */
int dd_tp_chan_peer(struct dd_tp *tp, struct dd_tp_chan *chan, u64 peer_id,
		    u32 tx_window, u32 tx_taken);

/**
 * dd_tp_chan_drop() - remove a channel from its session at once
 * @tp: the session
 * @chan: the channel; may have been dropped before
 *
 * The transport forgets @chan and its ops without sent() or done(). Packets in
 * flight may still be delivered to the peer.
 */
void dd_tp_chan_drop(struct dd_tp *tp, struct dd_tp_chan *chan);

/**
 * dd_tp_submit() - send a message
 * @tp: the session
 * @chan: a channel whose peer's end is known
 * @op: the message
 *
 * Return: 0, with the number of the message in op->msg.msgid; -%EBUSY if
 * tx_window + 1 messages are not done; -%EINVAL; -%ENOTCONN if the session ended
 * or the peer's end is not known. An error changes nothing.
 */
int dd_tp_submit(struct dd_tp *tp, struct dd_tp_chan *chan,
		 struct dd_tp_op *op);

/**
 * dd_tp_chan_await() - the caller is about to wait for sent() or done()
 * @tp: the session
 * @chan: the channel
 *
 * Makes the last message, or a PING, ask the peer for an immediate DONE, unless
 * one in flight asks already. The next message asks as well if it is then the
 * only one.
 */
void dd_tp_chan_await(struct dd_tp *tp, struct dd_tp_chan *chan);

/**
 * dd_tp_chan_hurry() - send a queued DONE of a channel now, as the channel will end
 * @tp: the session
 * @chan: the channel
 */
void dd_tp_chan_hurry(struct dd_tp *tp, struct dd_tp_chan *chan);

/**
 * dd_tp_chan_over() - the peer's end of a channel has ended
 * @tp: the session
 * @chan: the channel
 * @count: final number of messages notified there; ignored if more than were sent
 */
void dd_tp_chan_over(struct dd_tp *tp, struct dd_tp_chan *chan, u64 count);

/**
 * dd_tp_notified() - withheld notes have been posted
 * @tp: the session
 * @chan: the channel
 * @msgid: last message posted; those before it are posted, too
 */
void dd_tp_notified(struct dd_tp *tp, struct dd_tp_chan *chan, u64 msgid);

/**
 * dd_tp_ctl() - send a control message, reliably and in order
 * @tp: the session
 * @data: bytes, copied
 * @len: number of bytes, 1..%DD_WIRE_CTL_MAX
 *
 * Not ordered with messages on channels, except that messages for which sent()
 * was called have arrived before.
 *
 * Return: 0, -%EAGAIN if too many are in flight, -%EINVAL, or -%ENOTCONN.
 */
int dd_tp_ctl(struct dd_tp *tp, const void *data, u32 len);

/**
 * dd_tp_ctl_room() - number of control messages that dd_tp_ctl() would accept now
 * @tp: the session
 *
 * Return: the number; 0 if no session is up.
 */
u32 dd_tp_ctl_room(const struct dd_tp *tp);

#endif /* _DD_TRANSPORT_H */
