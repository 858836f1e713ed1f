/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the transport know of each other:
 *
 *	transport.c		sessions: handshake, death, timers
 *	transport_rx.c		packets that come, and acknowledging them
 *	transport_build.c	packets that go
 *	transport_tx.c		what becomes of them
 *	transport_ctl.c		control messages
 *	transport_cc.c		how fast
 *	transport_chan.c	messages: in pieces, in order, once
 *	transport_train.c	many pieces of one message, faster
 */
#ifndef _DD_TRANSPORT_INT_H
#define _DD_TRANSPORT_INT_H

#include <linux/math64.h>
#include <linux/minmax.h>

#include "transport.h"

#define DD_TP_MS		1000000ull	/* in ns */
#define DD_TP_US		1000ull

#define DD_TP_REORDER		3	/* at first; RFC 9002, 6.1.1 */
#define DD_TP_REORDER_MAX	1024
#define DD_TP_BURST		16384	/* bytes of one channel in a row */
#define DD_TP_RESERVE		8	/* records that new bytes leave alone */
#define DD_TP_MOMENT	(25 * DD_TP_US)	/* in which readers read some messages */
#define DD_TP_REST_WINDOW	3	/* windows whose half is not one message */
#define DD_TP_REST_BYTES	8192	/* of a message that need not be told at once */

/**
 * struct dd_tp_rec - a packet that is not acknowledged, or a piece that is lost;
 *	or several packets sent one after the other with equal pieces of one
 *	message, and nothing else
 * @node: if it is lost: on the channel's @lost
 * @flight: if it is in flight: on the channel's @flight, or on none
 * @next: if it is free: on the session's @free
 * @done: channels whose DONE it carries
 * @pn: number of the packet, or of the first one
 * @sent_at: when it was sent
 * @chan: channel of its piece; NULL if it has none, or is not wanted any more
 * @op: message of its piece
 * @off: start of the piece
 * @len: bytes in the piece, or in all
 * @bytes: what it adds to the bytes in flight
 * @count: packets; while there are several, so many others less one stay free
 * @ctl: number of its first control message
 * @nctl: control messages it carries
 * @hurt: its piece has been lost before
 */
struct dd_tp_rec {
	union {
		struct list_head node;
		struct hlist_node flight;
		struct dd_tp_rec *next;
	};
	struct list_head done;
	u64 pn;
	u64 sent_at;
	struct dd_tp_chan *chan;
	struct dd_tp_op *op;
	u32 off;
	u32 len;
	u32 bytes;
	u32 count;
	u32 ctl;
	u16 nctl;
	bool hurt;
};

/* In the ring: nothing, a record's index plus 1, or why there is none. */
#define DD_TP_RING_NONE		0
#define DD_TP_RING_PROBED	0xfffe	/* sent again after a timeout */
#define DD_TP_RING_LOST		0xffff	/* overtaken */

/**
 * enum dd_tp_slot_state - what is in a slot
 * @DD_TP_SLOT_FREE: nothing, or what has arrived
 * @DD_TP_SLOT_QUEUED: to be sent, or, at the receiver, to be delivered
 * @DD_TP_SLOT_FLIGHT: in a packet
 */
enum dd_tp_slot_state {
	DD_TP_SLOT_FREE,
	DD_TP_SLOT_QUEUED,
	DD_TP_SLOT_FLIGHT,
};

/**
 * struct dd_tp_slot - a control message
 * @state: enum dd_tp_slot_state
 * @len: its bytes
 * @data: the bytes
 */
struct dd_tp_slot {
	u16 state;
	u16 len;
	u8 data[DD_WIRE_CTL_MAX];
};

static inline void dd_tp_drop(struct dd_tp *tp, enum dd_tp_drop reason)
{
	tp->stats.drops[reason]++;
	if (tp->ops->drop)
		tp->ops->drop(tp, reason);
}

static inline void dd_tp_trace(struct dd_tp *tp, enum dd_tp_event event, u64 pn,
			       u32 bytes)
{
	if (tp->tracing)
		tp->ops->trace(tp, event, pn, bytes);
}

static inline u32 dd_tp_us(u64 now)
{
	return (u32)div_u64(now, DD_TP_US);
}

/* Largest datagram that path and peer are said to take. */
static inline u32 dd_tp_packet_full(const struct dd_tp *tp)
{
	return min(tp->mtu, tp->cur.packet_max) & ~7u;
}

/* Largest datagram that may go to the peer now. */
static inline u32 dd_tp_packet_size(const struct dd_tp *tp)
{
	u32 size = dd_tp_packet_full(tp);

	return tp->small ? min(size, DD_WIRE_PACKET_MIN + 0u) : size;
}

/* Whether a packet is of the session that is up, or of the pending one. */
static inline bool dd_tp_knows(const struct dd_tp *tp, u64 token)
{
	return (tp->state == DD_TP_UP && token == tp->cur.rx_token) ||
	       (tp->pend.rx_token && token == tp->pend.rx_token);
}

/* transport.c */
void dd_tp_end(struct dd_tp *tp, enum dd_tp_reason reason);
bool dd_tp_confirm(struct dd_tp *tp, u64 now, u64 token);
void dd_tp_bye_sent(struct dd_tp *tp, u64 now);
void dd_tp_handshake(struct dd_tp *tp, u64 now, const struct dd_wire_hdr *hdr,
		     size_t hlen);
void dd_tp_reply_reset(struct dd_tp *tp, u64 now,
		       const struct dd_wire_hdr *hdr);
u32 dd_tp_build_init(struct dd_tp *tp, u64 now, struct dd_wire_hdr *hdr);

/* transport_rx.c */
void dd_tp_rx_reset(struct dd_tp *tp);
void dd_tp_ack_by(struct dd_tp *tp, u64 at);
void dd_tp_ack_sent(struct dd_tp *tp);
void dd_tp_ack_note(struct dd_tp *tp, u64 now, u32 packets, u32 bytes,
		    bool in_order);
bool dd_tp_ack_add(struct dd_tp *tp, u64 now, struct dd_wire_buf *buf,
		   u32 reserve);

/* transport_tx.c */
void dd_tp_tx_init(struct dd_tp *tp, void *arena);
void dd_tp_tx_reset(struct dd_tp *tp);
struct dd_tp_rec *dd_tp_rec_alloc(struct dd_tp *tp);
void dd_tp_rec_free(struct dd_tp *tp, struct dd_tp_rec *rec);
void dd_tp_rec_sent(struct dd_tp *tp, struct dd_tp_rec *rec, u64 now);
bool dd_tp_rec_room(const struct dd_tp *tp, u32 keep);
void dd_tp_detect(struct dd_tp *tp, u64 now);
bool dd_tp_acked(struct dd_tp *tp, u64 now, const struct dd_wire_ack *ack);
void dd_tp_probe(struct dd_tp *tp, u64 now);
u64 dd_tp_pto_at(const struct dd_tp *tp);
void dd_tp_small_over(struct dd_tp *tp, u64 now);

/* transport_build.c */
u64 dd_tp_ack_at(const struct dd_tp *tp);

/* transport_ctl.c */
void dd_tp_ctl_add(struct dd_tp *tp, struct dd_wire_buf *buf,
		   struct dd_tp_rec *rec);
void dd_tp_ctl_lost(struct dd_tp *tp, const struct dd_tp_rec *rec);
void dd_tp_ctl_acked(struct dd_tp *tp, const struct dd_tp_rec *rec);
bool dd_tp_ctl_rx(struct dd_tp *tp, const struct dd_wire_ctl *ctl);

/* transport_cc.c */
void dd_tp_cc_reset(struct dd_tp *tp);
void dd_tp_cc_rtt(struct dd_tp *tp, u64 rtt, u64 delay);
void dd_tp_cc_sent(struct dd_tp *tp, u64 now, u32 bytes);
void dd_tp_cc_acked(struct dd_tp *tp, u64 now, u64 sent_at, u32 bytes);
void dd_tp_cc_lost(struct dd_tp *tp, u64 now, u64 sent_at);
void dd_tp_cc_spurious(struct dd_tp *tp, u64 distance);
void dd_tp_cc_collapse(struct dd_tp *tp, u64 now);
bool dd_tp_cc_room(struct dd_tp *tp, u64 now, u32 bytes);
u32 dd_tp_cc_rooms(const struct dd_tp *tp, u64 now, u32 bytes);
u64 dd_tp_cc_pto(const struct dd_tp *tp);
u64 dd_tp_cc_loss_delay(const struct dd_tp *tp);

/* transport_chan.c */
void dd_tp_chans_end(struct dd_tp *tp);
void dd_tp_chan_kick(struct dd_tp *tp, struct dd_tp_chan *chan);
struct dd_tp_op *dd_tp_chan_op(struct dd_tp_chan *chan);
struct dd_tp_chan *dd_tp_chan_first(struct dd_tp *tp, struct dd_tp_op **op,
				    struct dd_tp_rec **lost);
bool dd_tp_chan_next(struct dd_tp *tp, struct dd_tp_chan *chan,
		     struct dd_tp_op **op, struct dd_tp_rec **lost);
void dd_tp_chan_ask(struct dd_tp_chan *chan, struct dd_tp_msg *msg, u64 now);
void dd_tp_chan_turn(struct dd_tp *tp, struct dd_tp_chan *chan, u32 len);
void dd_tp_chan_refresh(struct dd_tp *tp, struct dd_tp_chan *chan, u64 now);
void dd_tp_piece_acked(struct dd_tp *tp, struct dd_tp_rec *rec);
void dd_tp_piece_lost(struct dd_tp *tp, struct dd_tp_rec *rec);
void dd_tp_done_rx(struct dd_tp *tp, const struct dd_wire_done *done);
void dd_tp_done_fill(struct dd_tp *tp, struct dd_tp_chan *chan,
		     struct dd_wire_done *done);
bool dd_tp_put_rx(struct dd_tp *tp, u64 now, const struct dd_wire_put *put,
		  const void *payload, u32 plen);
struct dd_tp_chan *dd_tp_chan_find(struct dd_tp *tp, u64 id);

/* transport_train.c */
void dd_tp_run_begins(struct dd_tp *tp, const struct dd_wire_hdr *hdr,
		      size_t hlen);
void dd_tp_train_made(struct dd_tp *tp, const struct dd_tp_pkt *pkt);
bool dd_tp_train_poll(struct dd_tp *tp, u64 now, struct dd_tp_pkt *pkt);

#endif /* _DD_TRANSPORT_INT_H */
