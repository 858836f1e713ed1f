/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session between two nodes: everything that makes unreliable packets into
 * messages deposited once and in order. Pure: events and a clock go in, packets
 * and calls of struct dd_tp_ops come out. No socket, no timer, no allocation.
 *
 * All calls for one struct dd_tp are made under one lock of the caller's, and
 * so are those that it makes. Time is in nanoseconds and never goes backwards.
 * After any of dd_tp_start(), dd_tp_rx(), dd_tp_timeout(), dd_tp_submit(),
 * dd_tp_told(), dd_tp_ctl() the caller drains dd_tp_poll() (after a whole burst
 * of packets received is best: one acknowledgment then does for all), and then
 * sees to it that dd_tp_timeout() is called at dd_tp_deadline().
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
 * struct dd_tp_cc - congestion control, round-trip times, loss (private, but
 *	good to show)
 * @srtt: smoothed round-trip time, ns; 0 before the first sample
 * @rttvar: its variation, ns
 * @min_rtt: shortest one seen, ns
 * @latest: last one, ns
 * @cwnd: bytes that may be in flight
 * @ssthresh: below this the window grows by what is acknowledged
 * @flight: bytes in flight
 * @w_max: window before the last reduction
 * @w_est: what Reno would have by now
 * @epoch: when the window began to grow since, ns; 0 for not yet
 * @avoid_at: when it grew last
 * @k: milliseconds from then until it reaches @w_max
 * @recovery: packets sent before this time are of the last reduction's round
 * @undo_cwnd: @cwnd before the last reduction
 * @undo_ssthresh: @ssthresh before it
 * @undo_w_max: @w_max before it
 * @undo_lost: packets taken for lost in that round that have not turned up
 * @pace_at: no packet before this time, ns
 * @reorder: packets after which a missing one is taken for lost
 * @limited: it was the window that kept packets, not a lack of them
 * @paced: the next packet waits for @pace_at
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
 * struct dd_tp_rx_range - packet numbers that have come
 * @first: lowest
 * @last: highest
 */
struct dd_tp_rx_range {
	u64 first;
	u64 last;
};

/**
 * struct dd_tp_id - a session as one end sees it
 * @incarnation: peer's
 * @rx_token: what packets to us bear
 * @tx_token: what packets to the peer bear
 * @packet_max: largest datagram that the peer takes
 * @ctl_slots: control messages that may be on their way to the peer
 * @want_crc: the peer wants payloads checksummed
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
 * struct dd_tp_run - packets with pieces of one message that come one after the
 *	other (private, but for those of transport_run.h)
 * @chan: channel of the message; NULL if none are expected
 * @next: the header expected next, but for its time and checksum
 * @plen: bytes of payload in each
 * @most: how many may come now
 * @count: of these, have come
 */
struct dd_tp_run {
	struct dd_tp_chan *chan;
	struct dd_wire_piece next;
	u32 plen;
	u32 most;
	u32 count;
};

/**
 * struct dd_tp_train - packets that go one after the other (private)
 * @chan: channel of the message whose pieces they carry; NULL for no train
 * @op: the message
 * @len: bytes in a piece
 * @size: dd_tp_packet_size() when the train began
 * @piece: the last one that went the long way
 */
struct dd_tp_train {
	struct dd_tp_chan *chan;
	struct dd_tp_op *op;
	u32 len;
	u32 size;
	struct dd_wire_piece piece;
};

/**
 * enum dd_tp_wait - how long a DONE may wait for company (private)
 * @DD_TP_WAIT_NOT: it goes at once
 * @DD_TP_WAIT_ROOM: the same, or when there is a little more room
 * @DD_TP_WAIT_DELAY: as an acknowledgment does
 * @DD_TP_WAIT_REST: the same, and so may the acknowledgment of its packets, as
 *	long as these are few
 * @DD_TP_WAIT_ANSWER: both for the answer, which is likely to follow
 */
enum dd_tp_wait {
	DD_TP_WAIT_NOT,
	DD_TP_WAIT_ROOM,
	DD_TP_WAIT_DELAY,
	DD_TP_WAIT_REST,
	DD_TP_WAIT_ANSWER,
};

/**
 * struct dd_tp - a session with one peer, and what outlives it
 * @cfg: as given
 * @ops: as given
 * @state: enum dd_tp_state (read only)
 * @tracing: trace() is called; on after dd_tp_init() if there is one, and the
 *	caller's to change at any time
 * @stats: counters (read only)
 * @mtu: largest datagram to send (read only)
 * @cc: congestion control (read only)
 * @hold: the caller's: no message is taken now; what comes is not acknowledged,
 *	comes again and again, and the session stays up
 * @cur: the session that is up (private, as all that follows)
 * @pend: one that a peer has asked for, and has not been heard in yet;
 *	@pend.rx_token is 0 for none
 * @init_token: our token while opening
 * @init_cookie: cookie to be put in the next INIT
 * @init_at: when the next INIT goes out
 * @init_wait: from that one to the next
 * @init_since: when opening began
 * @yielding: while opening: the peer's own INIT goes before ours
 * @cookie_key: keys of the cookies we hand out, the current and the last one
 * @cookie_at: when the current one was made; 0 for never
 * @reply_len: bytes of @reply to be sent; 0 for none
 * @reply: an answer outside a session
 * @reply_tokens: REFUSE and RESET that may be sent at once
 * @reply_at: when the last one was added
 * @chans: channels of the session
 * @retransmit: of these, with lost pieces to send again
 * @ready: of these, with new bytes to send
 * @owing: of these, that owe a DONE
 * @recs: records, cfg.records of them
 * @free: those that are not in use, the first of them
 * @nfree: how many
 * @ring: records by packet number
 * @ring_mask: entries in @ring, less 1
 * @next_pn: number of the next packet
 * @low_pn: no packet below is in flight
 * @mark_pn: no packet below is remembered as lost; U64_MAX for none at all
 * @mark_last: highest one that was taken for lost
 * @largest_acked: highest one that has arrived, plus 1
 * @loss_at: when the next packet is taken for lost; 0 for never
 * @last_eliciting: when the last packet was sent that wants an answer
 * @unheard: when the first packet was sent that wants an answer and since which
 *	nothing has come; 0 for none
 * @pto_count: timeouts since something was last acknowledged
 * @probes: packets that may be sent in spite of the window
 * @stalls: times that large packets found no answer at all
 * @rounds: round trips in which large packets were lost, and none has arrived
 * @round_at: when the last of these was noticed
 * @small: only packets that every path carries, now
 * @small_until: and until then; 0 for not
 * @rx_range: packet numbers that have come, descending
 * @nrx: entries there
 * @rx_ts: timestamp of the highest of them
 * @rx_at: when it came
 * @last_rx: when a packet of the session last came
 * @heard: one has come
 * @proved: a packet of a handshake has come whose sender knows a secret that went to
 *	the peer; the caller's to clear
 * @fresh_turn: the last piece that was sent was a lost one: new bytes are next
 * @ack_count: packets that want an answer since our last acknowledgment
 * @ack_bytes: of messages, in them
 * @ack_at: when it is sent at the latest; 0 for none is owed
 * @ack_hurry: something is missing, or the peer waits for a DONE: no waiting for
 *	company
 * @wait: for the DONE of a message that the packet in hand has completed
 * @ping: a PING is to be sent
 * @bye: session to say BYE in, with @bye_reason; 0 for none
 * @bye_at: when the next BYE is sent
 * @bye_wait: time until the one after that
 * @bye_reason: enum dd_tp_reason
 * @bye_version: version of that session
 * @tx_ctl: slots of control messages not yet acknowledged
 * @rx_ctl: slots of control messages that came before their turn
 * @ctl_next: number of the next control message
 * @ctl_una: lowest one that has not arrived
 * @ctl_queued: how many of those in @tx_ctl are to be sent
 * @ctl_rx: the next one expected
 * @busy: channel whose callback is on the stack, unless that has dropped it
 * @named: channel that the peer named last
 * @rx_run: what may come next
 * @tx_train: what may go next
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
	struct list_head owing;

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
	u64 unheard;
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
	struct dd_tp_chan *named;

	struct dd_tp_run rx_run;
	struct dd_tp_train tx_train;
};

/**
 * dd_tp_arena_size() - memory that a session needs beside struct dd_tp
 * @cfg: its configuration
 *
 * Return: bytes, or 0 if @cfg is out of its ranges.
 */
size_t dd_tp_arena_size(const struct dd_tp_cfg *cfg);

/**
 * dd_tp_init() - make a peer known; no session yet
 * @tp: to be initialised
 * @cfg: copied
 * @ops: kept
 * @arena: dd_tp_arena_size() bytes, aligned to 8, kept until dd_tp_exit()
 *
 * Return: 0 or -%EINVAL.
 */
int dd_tp_init(struct dd_tp *tp, const struct dd_tp_cfg *cfg,
	       const struct dd_tp_ops *ops, void *arena);

/**
 * dd_tp_exit() - forget a peer, without a word to it
 * @tp: the session
 *
 * All channels are taken from it; @arena and @tp may go. Calls nothing.
 */
void dd_tp_exit(struct dd_tp *tp);

/**
 * dd_tp_start() - want a session
 * @tp: the session
 * @now: the time
 *
 * up() or down() will follow, the latter after the dead time at the latest;
 * unless a session is up or wanted already.
 */
void dd_tp_start(struct dd_tp *tp, u64 now);

/**
 * dd_tp_stop() - end the session, if there is one
 * @tp: the session
 * @now: the time
 *
 * down() is called with %DD_TP_STOPPED. dd_tp_poll() makes a BYE at once, and some
 * more at growing intervals, until the peer answers: for 35 ms at most. @bye is 0
 * after that.
 */
void dd_tp_stop(struct dd_tp *tp, u64 now);

u32 dd_tp_run_rx(struct dd_tp *tp, u64 now, u32 size, u32 most,
		 const void *payload);

/**
 * dd_tp_rx_run() - packets have come one after the other
 * @tp: the session
 * @now: the time
 * @size: bytes in each of them
 * @most: how many there are, at least 1
 * @payload: for deposit_run(); their bytes, headers and all, are not looked at
 *	elsewhere
 *
 * Of those that are pieces of a message in progress, and follow the last one
 * that has come, as many are taken as can be at once: with less effort than
 * dd_tp_rx() takes for each, and to the same effect.
 *
 * Return: how many were taken. The next one is dd_tp_rx()'s, which is all that
 * there is to be done if it is 0: then nothing has changed.
 */
static inline u32 dd_tp_rx_run(struct dd_tp *tp, u64 now, u32 size, u32 most,
			       const void *payload)
{
	return tp->rx_run.chan ? dd_tp_run_rx(tp, now, size, most, payload) : 0;
}

/**
 * dd_tp_rx() - a datagram has come from the peer's address
 * @tp: the session
 * @now: the time
 * @hdr: its first bytes, in memory that nobody else can write
 * @hlen: how many: what dd_wire_hlen() said
 * @payload: the rest, for deposit() and its like; not looked at
 * @plen: bytes in there
 *
 * Return: whether it was of a session, and in order.
 */
bool dd_tp_rx(struct dd_tp *tp, u64 now, const void *hdr, size_t hlen,
	      const void *payload, size_t plen);

/**
 * dd_tp_timeout() - time has passed
 * @tp: the session
 * @now: the time; may be before the deadline, then nothing happens
 */
void dd_tp_timeout(struct dd_tp *tp, u64 now);

/**
 * dd_tp_deadline() - when dd_tp_timeout() wants to be called
 * @tp: the session
 *
 * Right after dd_tp_poll() has said that nothing is due.
 *
 * Return: a time, which may have passed, or %DD_TP_NEVER.
 */
u64 dd_tp_deadline(const struct dd_tp *tp);

/**
 * dd_tp_still() - whether it is plain that dd_tp_poll() would make nothing
 * @tp: the session
 * @now: the time
 *
 * Then it has done what dd_tp_poll() would have.
 *
 * Return: false if that would have to be called.
 */
static inline bool dd_tp_still(struct dd_tp *tp, u64 now)
{
	if (tp->state != DD_TP_UP || tp->bye || tp->reply_len ||
	    !list_empty(&tp->ready) || !list_empty(&tp->retransmit) || tp->ctl_queued || tp->ping ||
	    (tp->ack_at && tp->ack_at <= now))
		return false;
	tp->cc.limited = false;
	tp->cc.paced = false;
	return true;
}

#define DD_TP_SURE	2000000ull	/* ns: less than any timeout for an answer */

/**
 * dd_tp_rests() - whether it is plain that dd_tp_deadline() is not before @at
 * @tp: the session
 * @at: a time
 *
 * Return: false if that would have to be computed.
 */
static inline bool dd_tp_rests(const struct dd_tp *tp, u64 at)
{
	return tp->state == DD_TP_UP && (!tp->ack_at || tp->ack_at >= at) &&
	       !tp->loss_at && !tp->bye && !tp->cc.paced &&
	       at <= min(tp->last_rx, tp->last_eliciting ?: tp->last_rx) +
		     DD_TP_SURE;
}

/**
 * dd_tp_poll() - make the next packet, or the next few
 * @tp: the session
 * @now: the time
 * @pkt: (in, out) the packet
 *
 * Return: whether there was one to be sent now.
 */
bool dd_tp_poll(struct dd_tp *tp, u64 now, struct dd_tp_pkt *pkt);

/**
 * dd_tp_set_mtu() - the path carries datagrams of another size
 * @tp: the session
 * @bytes: largest UDP payload; less than %DD_WIRE_PACKET_MIN counts as that
 *
 * What is lost already, and what comes, goes out in packets of that size. Where
 * the path turns out to swallow them without a word, smaller ones are tried.
 */
void dd_tp_set_mtu(struct dd_tp *tp, u32 bytes);

/**
 * dd_tp_chan_init() - make a channel in the session that is up
 * @tp: the session
 * @chan: to be initialised
 * @cfg: copied
 *
 * find() must know it before the peer gets to know @cfg->id.
 *
 * Return: 0, -%EINVAL, or -%ENOTCONN if no session is up.
 */
int dd_tp_chan_init(struct dd_tp *tp, struct dd_tp_chan *chan,
		    const struct dd_tp_chan_cfg *cfg);

/**
 * dd_tp_chan_peer() - the other end of a channel has become known
 * @tp: the session
 * @chan: its channel, made with @peer_id 0
 * @peer_id: what we call the peer's end, not 0
 * @tx_window: notes that we may have unconsumed there
 * @tx_taken: of these, taken by others at first
 *
 * Return: 0, -%EINVAL, or -%ENOTCONN if the session is over.
 */
int dd_tp_chan_peer(struct dd_tp *tp, struct dd_tp_chan *chan, u64 peer_id,
		    u32 tx_window, u32 tx_taken);

/**
 * dd_tp_chan_drop() - take a channel from its session, at once
 * @tp: the session
 * @chan: the channel; may have been dropped before
 *
 * The transport knows neither @chan nor any of its ops any more; sent() and
 * done() are not called for them. What is in flight may still arrive.
 */
void dd_tp_chan_drop(struct dd_tp *tp, struct dd_tp_chan *chan);

/**
 * dd_tp_submit() - send a message
 * @tp: the session
 * @chan: a channel whose peer is known
 * @op: the message
 *
 * Return: 0, then op->msg.msgid is its number; -%EBUSY if tx_window + 1
 * messages are not done; -%EINVAL; -%ENOTCONN if the session is over or the
 * peer's end not known. Only 0 changes anything.
 */
int dd_tp_submit(struct dd_tp *tp, struct dd_tp_chan *chan,
		 struct dd_tp_op *op);

/**
 * dd_tp_chan_await() - somebody is about to wait until messages are sent, or done
 * @tp: the session
 * @chan: the channel
 *
 * If nothing on its way asks the peer to say so without delay, something will;
 * and so will the next message, if it is the only one then.
 */
void dd_tp_chan_await(struct dd_tp *tp, struct dd_tp_chan *chan);

/**
 * dd_tp_chan_hurry() - a channel is about to end: what it owes is said before
 * @tp: the session
 * @chan: the channel
 */
void dd_tp_chan_hurry(struct dd_tp *tp, struct dd_tp_chan *chan);

/**
 * dd_tp_chan_over() - the other end of a channel has ended
 * @tp: the session
 * @chan: the channel
 * @count: messages that were told there, all that ever will be; more than there
 *	are is not believed
 */
void dd_tp_chan_over(struct dd_tp *tp, struct dd_tp_chan *chan, u64 count);

/**
 * dd_tp_told() - a withheld note is in place now
 * @tp: the session
 * @chan: the channel
 * @msgid: the message; all before it are told too
 */
void dd_tp_told(struct dd_tp *tp, struct dd_tp_chan *chan, u64 msgid);

/**
 * dd_tp_ctl() - send a control message, reliably, in order
 * @tp: the session
 * @data: copied
 * @len: bytes, 1..%DD_WIRE_CTL_MAX
 *
 * Nothing is said about order between these and messages on channels, except
 * that what sent() was called for has arrived.
 *
 * Return: 0, -%EAGAIN if too many are on their way, -%EINVAL, or -%ENOTCONN.
 */
int dd_tp_ctl(struct dd_tp *tp, const void *data, u32 len);

/**
 * dd_tp_ctl_room() - control messages that dd_tp_ctl() would take now
 * @tp: the session
 *
 * Return: their number; 0 if no session is up.
 */
u32 dd_tp_ctl_room(const struct dd_tp *tp);

#endif /* _DD_TRANSPORT_H */
