/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a session between two nodes is told, and tells: messages, channels,
 * packets, why and how. The session itself, and its calls: transport.h.
 */
#ifndef _DD_TRANSPORT_TYPES_H
#define _DD_TRANSPORT_TYPES_H

#include <linux/list.h>
#include <linux/types.h>

#include "wire.h"

struct dd_tp;
struct dd_tp_run;

#define DD_TP_NEVER		U64_MAX		/* a deadline that is none */
#define DD_TP_RECORDS_MIN	32
#define DD_TP_RECORDS_MAX	8192
#define DD_TP_CTL_MIN		2
#define DD_TP_CTL_MAX		64
#define DD_TP_WINDOW_MAX	65534		/* of a channel */
#define DD_TP_HOLES		32		/* pieces kept apart per message */

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
 * @rx_taken: of these, taken by others at first: the peer may send as many less,
 *	until it is told otherwise; 0..@rx_window
 * @tx_window: notes that we may have unconsumed there
 * @tx_taken: of these, taken at first
 * @prompt: with @tx_window 1: its sender waits for each message to be done: no
 *	delay of that, unless each is answered by a message
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
 * @ready: on the session's list of those that have lost pieces to send, or on
 *	that of those that have new bytes
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
 * @lead: how many messages before the last one that may be sent asks for DONE
 * @asked: last message that has, 0 for none
 * @asked_at: when that was sent; 0 for not known
 * @gap: time between two messages, ns, as far as it was short
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
	u16 lead;
	u32 nranges;
	u64 asked;
	u64 asked_at;
	u64 gap;
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
 * @again: (out) payload that was taken for lost; its source may have changed
 *	since, or be changing, and had better be copied. Where this or @need_crc is
 *	set, @count is 1
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
	bool again;
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
 * dd_tp_chan_await(), dd_tp_chan_over() and dd_tp_chan_drop() of any channel, and
 * down() dd_tp_start(). The others may call nothing. None may call dd_tp_stop(),
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

#endif /* _DD_TRANSPORT_TYPES_H */
