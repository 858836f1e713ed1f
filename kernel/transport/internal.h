/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interfaces between the parts of the transport, each of which uses those above it:
 *
 *	cc.c		congestion control
 *	rec.c		records of packets in flight
 *	ack.c		what is acknowledged
 *	ctl.c		control messages
 *	chan.c		messages: pieces, order, exactly-once delivery
 *	batch.c		batches of packets of one message
 *	tx.c		packets in flight: acknowledgments, loss, probes
 *	session.c	sessions: handshake, dead peers, timers
 *	build.c		building packets
 *	rx.c		receiving packets
 */
#ifndef _DD_TRANSPORT_INT_H
#define _DD_TRANSPORT_INT_H

#include <linux/math64.h>
#include <linux/minmax.h>

#include "transport/ack.h"
#include "transport/ctl.h"
#include "transport/rec.h"
#include "transport/rx.h"
#include "transport/transport.h"

#define DD_TP_MS		1000000ull	/* ns */
#define DD_TP_US		1000ull

#define DD_TP_ACK_DELAY		DD_TP_MS	/* longest delay of an acknowledgment */
#define DD_TP_REORDER		3	/* initial threshold; RFC 9002, 6.1.1 */
#define DD_TP_REORDER_MAX	1024
#define DD_TP_SMALL_AT		2	/* timeouts in a row before small packets are tried */
#define DD_TP_BURST		16384	/* bytes of one channel in a row */
#define DD_TP_RESERVE		8	/* records reserved for retransmissions */
#define DD_TP_MOMENT	(25 * DD_TP_US)	/* time to read several messages */
#define DD_TP_REST_WINDOW	3	/* least window for DD_TP_WAIT_REST */
#define DD_TP_REST_BYTES	8192	/* longest message for DD_TP_WAIT_REST */

/**
 * enum dd_tp_slot_state - state of a slot for a control message
 * @DD_TP_SLOT_FREE: empty
 * @DD_TP_SLOT_QUEUED: to be sent; at the receiver: to be delivered
 * @DD_TP_SLOT_FLIGHT: in a packet in flight
 */
enum dd_tp_slot_state {
	DD_TP_SLOT_FREE,
	DD_TP_SLOT_QUEUED,
	DD_TP_SLOT_FLIGHT,
};

/**
 * struct dd_tp_slot - a slot for a control message
 * @state: enum dd_tp_slot_state
 * @len: bytes in @data
 * @data: the message
 */
struct dd_tp_slot {
	u16 state;
	u16 len;
	u8 data[DD_WIRE_CTL_MAX];
};

/* Count something that was dropped. Return: false, for the caller to return. */
static inline bool dd_tp_drop(struct dd_tp *tp, enum dd_tp_drop reason)
{
	tp->stats.drops[reason]++;
	return false;
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

/* Begin a header, which is zeroed. */
static inline void dd_tp_hdr_fill(struct dd_wire_hdr *hdr, u8 version, u8 type, u64 token, u64 now)
{
	hdr->magic = cpu_to_le16(DD_WIRE_MAGIC);
	hdr->version = version;
	hdr->type = type;
	hdr->token = cpu_to_le64(token);
	hdr->ts = cpu_to_le32(dd_tp_us(now));
}

/* Largest datagram to send now, which the path and the peer are believed to take. */
static inline u32 dd_tp_packet_size(const struct dd_tp *tp)
{
	u32 size = min(tp->mtu, tp->cur.packet_max) & ~7u;

	return tp->small_until || tp->pto_count >= DD_TP_SMALL_AT ?
		min(size, DD_WIRE_PACKET_MIN + 0u) : size;
}

/* Whether a packet belongs to the session that is up, or to the pending one. */
static inline bool dd_tp_knows(const struct dd_tp *tp, u64 token)
{
	return (tp->state == DD_TP_UP && token == tp->cur.rx_token) ||
	       (tp->pend.rx_token && token == tp->pend.rx_token);
}

/* session.c */
void dd_tp_end(struct dd_tp *tp, enum dd_tp_reason reason);
bool dd_tp_confirm(struct dd_tp *tp, u64 now, u64 token);
void dd_tp_handshake(struct dd_tp *tp, u64 now, const struct dd_wire_hdr *hdr,
		     size_t hlen);
void dd_tp_reply_reset(struct dd_tp *tp, u64 now, const struct dd_wire_hdr *hdr);
u32 dd_tp_build_init(struct dd_tp *tp, u64 now, struct dd_wire_hdr *hdr);

/* tx.c */
void dd_tp_detect(struct dd_tp *tp, u64 now);
bool dd_tp_acked(struct dd_tp *tp, u64 now, const struct dd_wire_ack *ack);
void dd_tp_probe(struct dd_tp *tp, u64 now);
u64 dd_tp_pto_at(const struct dd_tp *tp);
void dd_tp_small_over(struct dd_tp *tp, u64 now);

/* ctl.c */
void dd_tp_ctl_add(struct dd_tp *tp, struct dd_wire_buf *buf, struct dd_tp_rec *rec);
void dd_tp_ctl_lost(struct dd_tp *tp, const struct dd_tp_rec *rec);
void dd_tp_ctl_acked(struct dd_tp *tp, const struct dd_tp_rec *rec);
bool dd_tp_ctl_rx(struct dd_tp *tp, const struct dd_wire_ctl *ctl);

/* cc.c */
void dd_tp_cc_reset(struct dd_tp *tp);
void dd_tp_cc_rtt(struct dd_tp *tp, u64 rtt, u64 delay);
void dd_tp_cc_sent(struct dd_tp *tp, u64 now, u32 bytes);
void dd_tp_cc_acked(struct dd_tp *tp, u64 now, u64 sent_at, u32 bytes);
void dd_tp_cc_lost(struct dd_tp *tp, u64 now, u64 sent_at);
void dd_tp_cc_spurious(struct dd_tp *tp, u64 distance);
void dd_tp_cc_collapse(struct dd_tp *tp, u64 now);
bool dd_tp_cc_space(struct dd_tp *tp, u64 now, u32 bytes);
u32 dd_tp_cc_spaces(const struct dd_tp *tp, u64 now, u32 bytes);
u64 dd_tp_cc_pto(const struct dd_tp *tp);
u64 dd_tp_cc_loss_delay(const struct dd_tp *tp);

/* chan.c */
void dd_tp_chans_end(struct dd_tp *tp);
void dd_tp_chan_kick(struct dd_tp *tp, struct dd_tp_chan *chan);
struct dd_tp_op *dd_tp_chan_op(struct dd_tp_chan *chan);
struct dd_tp_chan *dd_tp_chan_first(struct dd_tp *tp, struct dd_tp_op **op,
				    struct dd_tp_rec **lost);
void dd_tp_chan_ask(struct dd_tp_chan *chan, struct dd_tp_msg *msg, u64 now);
void dd_tp_chan_turn(struct dd_tp *tp, struct dd_tp_chan *chan, u32 len);
void dd_tp_piece_acked(struct dd_tp *tp, struct dd_tp_rec *rec);
void dd_tp_piece_lost(struct dd_tp *tp, struct dd_tp_rec *rec);
void dd_tp_done_rx(struct dd_tp *tp, const struct dd_wire_done *done);
bool dd_tp_put_rx(struct dd_tp *tp, u64 now, const struct dd_wire_put *put,
		  const void *payload, u32 plen);

/* batch.c */
void dd_tp_rx_batch_begin(struct dd_tp *tp, const struct dd_wire_hdr *hdr, size_t hlen);
void dd_tp_tx_batch_begin(struct dd_tp *tp, const struct dd_tp_pkt *pkt);
bool dd_tp_tx_batch_poll(struct dd_tp *tp, u64 now, struct dd_tp_pkt *pkt);

#endif /* _DD_TRANSPORT_INT_H */
