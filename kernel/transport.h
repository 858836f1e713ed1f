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

#include "wire.h"

struct dd_tp;
struct dd_tp_chan;
struct dd_tp_op;
struct dd_tp_rec;
struct dd_tp_run;
struct dd_tp_slot;

#define DD_TP_NEVER		U64_MAX		/* a deadline that is none */
#define DD_TP_RECORDS_MIN	32
#define DD_TP_RECORDS_MAX	8192
#define DD_TP_CTL_MIN		2
#define DD_TP_CTL_MAX		64
#define DD_TP_WINDOW_MAX	65534		/* of a channel */
#define DD_TP_HOLES		32		/* pieces kept apart per message */
#define DD_TP_RX_RANGES		32		/* of packet numbers */

/**
 * enum dd_tp_reason - why a session ended
 * @DD_TP_DEAD: nothing was heard from the peer for the dead time
 * @DD_TP_REBOOT: the peer has a new incarnation; up() follows at once
 * @DD_TP_RESET: the peer has lost the session; or it has begun another one, then
 *	up() follows at once
 * @DD_TP_VERSION: no version in common
 * @DD_TP_CONFIG: the peer disagrees about who is which node
 * @DD_TP_STOPPED: dd_tp_stop()
 * @DD_TP_BYE: the peer's dd_tp_stop()
 * @DD_TP_MAXNODES: the peer's cluster has another number of nodes
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
 * enum dd_tp_drop - why a packet, or what it carried, was thrown away
 * @DD_TP_DROP_FORMAT: no packet of ours, truncated, or a malformed frame
 * @DD_TP_DROP_VERSION: a version that was not agreed upon
 * @DD_TP_DROP_CRC: wrong checksum
 * @DD_TP_DROP_TOKEN: of no session we have: an old one, or forged
 * @DD_TP_DROP_STATE: not expected now
 * @DD_TP_DROP_COOKIE: an INIT whose cookie is wrong or too old
 * @DD_TP_DROP_CONFIG: an INIT that disagrees with our configuration
 * @DD_TP_DROP_RATE: deserved an answer, but there were too many of that kind;
 *	what is counted for another reason is not counted here, too
 * @DD_TP_DROP_DUP: a packet number that has been here before
 * @DD_TP_DROP_OLD: too old to know whether it has; not acknowledged
 * @DD_TP_DROP_ACK: acknowledges what was never sent
 * @DD_TP_DROP_CTL: a control message beyond those allowed
 * @DD_TP_DROP_CHAN: for a channel that is not, or no longer, there
 * @DD_TP_DROP_CLOSED: deposit() said -%ECONNRESET
 * @DD_TP_DROP_AGAIN: deposit() said -%EAGAIN, or nothing is taken now; not
 *	acknowledged
 * @DD_TP_DROP_ORDER: before the end of the preceding message; not acknowledged
 * @DD_TP_DROP_CREDIT: a message that was not allowed to be sent yet
 * @DD_TP_DROP_BOUNDS: outside the block, or at odds with the same message
 * @DD_TP_DROP_HOLES: one piece apart too many; not acknowledged
 * @DD_TP_DROP_BYTES: bytes that are in place already
 * @DD_TP_DROP_MESSAGE: a control message that means nothing; counted by the
 *	caller
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
	DD_TP_DROP_RATE,
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
 * enum dd_tp_event - what trace() of struct dd_tp_ops is told
 * @DD_TP_EV_SENT: a packet, its number, its bytes in flight
 * @DD_TP_EV_RECEIVED: a packet of the session, its number, its bytes
 * @DD_TP_EV_ACKED: a packet of ours has arrived
 * @DD_TP_EV_LOST: a packet of ours is taken for lost
 * @DD_TP_EV_SPURIOUS: it was not lost after all
 */
enum dd_tp_event {
	DD_TP_EV_SENT,
	DD_TP_EV_RECEIVED,
	DD_TP_EV_ACKED,
	DD_TP_EV_LOST,
	DD_TP_EV_SPURIOUS,
};

/**
 * enum dd_tp_state - where a session is
 * @DD_TP_IDLE: none, and none wanted; answers a peer that wants one
 * @DD_TP_OPENING: INIT is on its way, again and again
 * @DD_TP_UP: both ends know that the other one is there
 */
enum dd_tp_state {
	DD_TP_IDLE,
	DD_TP_OPENING,
	DD_TP_UP,
};

/**
 * struct dd_tp_msg - a message, as its receiver's complete() gets it
 * @msgid: its number, counting from 1
 * @dst: its offset in the block
 * @len: its bytes
 * @flags: DD_PUT_*
 * @meta_count: valid words of @meta
 * @tag: as submitted
 * @meta: as submitted
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
 * struct dd_tp_op - a message to be sent; memory of the caller's
 * @msg: the message; @msg.msgid is set by dd_tp_submit(); the rest is not
 *	changed while the transport has the op
 * @node: on its channel (private)
 * @next: bytes that have been sent once (private)
 * @acked: bytes that have arrived (private)
 * @hurt: pieces taken for lost that have not arrived since (private)
 * @head_sent: the empty message has been sent (private)
 * @head_acked: the empty message has arrived (private)
 *
 * The transport has it from dd_tp_submit() until it calls sent() for it, or
 * until dd_tp_chan_drop().
 */
struct dd_tp_op {
	struct dd_tp_msg msg;

	struct list_head node;
	u32 next;
	u32 acked;
	u32 hurt;
	bool head_sent;
	bool head_acked;
};

/**
 * struct dd_tp_range - bytes of a message, start inclusive, end exclusive
 * @start: first byte
 * @end: behind the last byte
 */
struct dd_tp_range {
	u32 start;
	u32 end;
};

/**
 * struct dd_tp_chan_cfg - a channel to be
 * @id: what the peer calls it, from random(): who knows it may write here
 * @peer_id: what we call the peer's end; 0 if not known yet
 * @rx_size: bytes in the block that the peer writes to
 * @rx_window: notes that the peer may have unconsumed here, 1..DD_TP_WINDOW_MAX
 * @tx_window: notes that we may have unconsumed there
 * @prompt: with @tx_window 1: its sender waits for each message to be done: no
 *	delay of that, unless each is answered by a message
 */
struct dd_tp_chan_cfg {
	u64 id;
	u64 peer_id;
	u64 rx_size;
	u32 rx_window;
	u32 tx_window;
	bool prompt;
};

/**
 * struct dd_tp_chan - one end of a connection; embedded by the caller
 * @cfg: as given
 * @up: belongs to the session that is up; false once that is over (read only)
 * @hold: as dd_tp.hold, for this channel; the caller's, false at first
 * @submitted: messages taken by dd_tp_submit() (read only)
 * @sent: of these, all bytes have arrived (read only)
 * @done: of these, told (read only)
 * @limit: last message that may be sent now (read only)
 * @received: messages that have come completely (read only)
 * @told: of these, told (read only)
 * @node: on the session's list of channels (private, as all that follows)
 * @ready: on the session's list of those that have something to send
 * @done_node: on the session's list of those that owe a DONE, or on that of
 *	the packet that carries it
 * @ops: messages not yet sent, by number
 * @flight: packets that carry pieces of them
 * @lost: pieces to be sent again, as records
 * @told_limit: last message that the peer was told it may send
 * @burst: bytes it may still send before another channel's turn
 * @unanswered: no message has been sent since one came
 * @answers: there was one between the last two that came
 * @awaited: somebody waits for messages that have not asked for DONE, or did
 *	so lately
 * @in_progress: @msg and @range are of the message number @received + 1
 * @has_head: its first piece has come
 * @has_tail: its last piece has come
 * @ntail: bytes in @tail
 * @tail: the last bytes of the message, to be stored after all others
 * @unasked: messages submitted and not done since the last that asked for DONE
 * @nranges: entries in @range
 * @msg: the message
 * @range: bytes that have come, ascending, none touching another
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
	u64 told;

	struct list_head node;
	struct list_head ready;
	struct list_head done_node;
	struct list_head ops;
	struct hlist_head flight;
	struct list_head lost;
	u64 told_limit;
	s32 burst;
	bool unanswered;
	bool answers;
	bool awaited;
	bool in_progress;
	bool has_head;
	bool has_tail;
	u8 ntail;
	u8 tail[8];
	u16 unasked;
	u32 nranges;
	struct dd_tp_msg msg;
	struct dd_tp_range range[DD_TP_HOLES];
};

/**
 * struct dd_tp_pkt - a packet to be transmitted
 * @hdr: (in) room for %DD_WIRE_HLEN_MAX bytes
 * @room: (in) headers of struct dd_wire_piece that @hdr has room for; with 0 or
 *	1 all packets come one by one
 * @count: (out) packets: 1, or more pieces of one message. Then at @hdr their
 *	headers follow one another, and what is said below is said of the first,
 *	and in the message its payload is followed by those of the others
 * @hlen: (out) bytes written there, for each
 * @chan: (out) channel of the payload, NULL if there is none
 * @op: (out) its message
 * @off: (out) the payload's offset in the message
 * @len: (out) its bytes, which come after the header's
 * @crc: (out) if @need_crc: running checksum, to be continued over the payload
 *	and stored by dd_wire_seal(); else the packet is complete
 * @need_crc: (out) whether it is to be so
 * @more: (out) another packet of the same length is likely to follow
 *
 * @chan and @op are valid while the lock is held; so whoever unlocks before the
 * payload has been picked up holds what keeps its source alive.
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
	bool more;
};

/**
 * struct dd_tp_ops - what the transport asks of its caller
 * @random: 64 random bits that nobody can guess
 * @find: the channel with this id that belongs to this session, or NULL
 * @deposit: store @len bytes of @payload, from its byte @off on, at offset @dst
 *	of the block. Bytes of a message come in any order, each once, and
 *	those of one message before those of the next. 0; -%ECONNRESET: the
 *	channel is closing, drop them, but let the packet count as arrived;
 *	-%EAGAIN: not now, let the peer send it again
 * @deposit_run: the same for packets that have come one after the other, whose
 *	payloads follow each other in the block: as long as dd_tp_run_takes()
 *	says of the header of the next one that it belongs to @run, store its
 *	payload, @run->plen bytes, from @dst on behind that of the last. May end
 *	anywhere; what is not taken goes to dd_tp_rx()
 * @peek: copy @len bytes of @payload, from its byte @off on, to @buf
 * @payload_crc: continue the running CRC-32C @crc over @len bytes of @payload
 * @complete: all bytes of a message but the last @ntail (0..8) have been
 *	deposited: store these at its end (dd_copy_final()) and tell its
 *	receiver if @msg->flags says so. True: told, or nothing to tell. False:
 *	its note is withheld, and dd_tp_told() will follow
 * @credit: notes that could be posted on this channel at once, now; asked only
 *	while none is withheld. May only grow as long as none is posted. Should
 *	be cheap. May be NULL for always 0
 * @sent: all bytes of messages up to @msgid have arrived: their ops and sources
 *	may be reused
 * @done: messages up to @msgid are in place and told; after sent() for them
 * @ctl: a control message; each once, in order
 * @up: a session is there; channels may be made and control messages sent
 * @down: the session is over. Nothing in it will be deposited, sent or done any
 *	more; its channels have @up false and may be dropped at any time
 * @drop: something was thrown away (besides what @stats counts); may be NULL
 * @trace: may be NULL
 *
 * complete(), sent(), done(), ctl(), up() and down() may call dd_tp_submit(),
 * dd_tp_ctl(), dd_tp_told(), dd_tp_chan_init(), dd_tp_chan_peer(),
 * dd_tp_chan_await() and dd_tp_chan_drop() of any channel, and down()
 * dd_tp_start(). The others may call nothing. None may call dd_tp_stop(),
 * dd_tp_exit() or dd_tp_poll().
 */
struct dd_tp_ops {
	u64 (*random)(struct dd_tp *tp);
	struct dd_tp_chan *(*find)(struct dd_tp *tp, u64 id);
	int (*deposit)(struct dd_tp *tp, struct dd_tp_chan *chan, u64 dst,
		       const void *payload, u32 off, u32 len);
	void (*deposit_run)(struct dd_tp *tp, struct dd_tp_chan *chan, u64 dst,
			    const void *payload, struct dd_tp_run *run);
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
 * struct dd_tp_cfg - how a session is to be
 * @node: our node number
 * @peer: the peer's
 * @maxnodes: number of nodes in the cluster
 * @incarnation: random number of our life
 * @records: packets that may be unacknowledged, a power of two,
 *	DD_TP_RECORDS_MIN..DD_TP_RECORDS_MAX; these are most of the arena
 * @ctl_slots: control messages that may be, in each direction,
 *	DD_TP_CTL_MIN..DD_TP_CTL_MAX
 * @packet_max: largest datagram (UDP payload) that we take,
 *	DD_WIRE_PACKET_MIN..65507
 * @mtu: largest datagram to send at first; see dd_tp_set_mtu()
 * @dead_ns: the dead time, at least 10 ms
 * @ack_delay_ns: how long an acknowledgment may wait for company, at most 50
 *	ms; by custom 1 ms
 * @payload_crc: checksum payloads, and ask the peer to
 * @version_min: lowest version of DATA packets we speak, %DD_WIRE_VERSION
 * @version_max: highest one, %DD_WIRE_VERSION
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
 * struct dd_tp_stats - counters, from dd_tp_init() on
 * @tx_packets: packets made
 * @tx_bytes: bytes of messages sent, repetitions included
 * @rx_packets: packets of a session that have come
 * @rx_bytes: bytes of messages deposited
 * @messages: messages completed here
 * @lost: packets taken for lost
 * @spurious: of these, have arrived after all
 * @probes: timeouts that sent something again to hear an answer
 * @acks: packets sent for nothing but an acknowledgment
 * @sessions: sessions that came up
 * @drops: things thrown away, by enum dd_tp_drop
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
 * @reply_tokens: answers that may be given at once
 * @reply_at: when the last one was added
 * @chans: channels of the session
 * @ready: of these, with something to send
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
 * @small: only packets that every path carries, now
 * @small_until: and until then; 0 for not
 * @rx_range: packet numbers that have come, descending
 * @nrx: entries there
 * @rx_ts: timestamp of the highest of them
 * @rx_at: when it came
 * @last_rx: when a packet of the session last came
 * @ack_count: packets that want an answer since our last acknowledgment
 * @ack_bytes: of messages, in them
 * @ack_at: when it is sent at the latest; 0 for none is owed
 * @ack_hurry: something is missing, or the peer waits for a DONE: no waiting for
 *	company
 * @wait: for the DONE of a message that the packet in hand has completed
 * @ping: a PING is to be sent
 * @bye: session to say BYE in, with @bye_reason; 0 for none
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
	bool ack_hurry;
	enum dd_tp_wait wait;
	bool ping;

	u64 bye;
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
 * down() is called with %DD_TP_STOPPED. The next packet from dd_tp_poll() tells
 * the peer, which learns it by its own means if that is lost.
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
 *
 * Return: 0, -%EINVAL, or -%ENOTCONN if the session is over.
 */
int dd_tp_chan_peer(struct dd_tp *tp, struct dd_tp_chan *chan, u64 peer_id,
		    u32 tx_window);

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
