// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is acknowledged: the numbers of received packets and the DONEs of channels; and when.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport/internal.h"

#define DD_TP_ACK_EVERY	16	/* packets, or more bytes than one packet holds */
#define DD_TP_ACK_BYTES	16384	/* of messages whose acknowledgment may wait */
#define DD_TP_ACK_FAR	(4 * DD_TP_RECORDS_MAX)	/* beyond the sender's ring */

/* Expand a packet number: the one closest to the next expected number. */
u64 dd_tp_pn_decode(const struct dd_tp *tp, u32 low)
{
	u64 next = tp->nrx ? tp->rx_range[0].last + 1 : 0;
	s32 diff = low - (u32)next;

	if (diff < 0 && next < (u64)-(s64)diff)
		return next + (u32)diff;
	return next + diff;
}

/* Whether a packet number is new; if not, *@reason says why. */
bool dd_tp_pn_is_new(const struct dd_tp *tp, u64 pn, enum dd_tp_drop *reason)
{
	u32 i;

	*reason = DD_TP_DROP_DUP;
	for (i = 0; i < tp->nrx; i++) {
		if (pn > tp->rx_range[i].last)
			return true;
		if (pn >= tp->rx_range[i].first)
			return false;
	}
	/* Below all ranges: if ranges were dropped, duplicates cannot be detected. */
	*reason = DD_TP_DROP_OLD;
	return tp->nrx < DD_TP_RX_RANGES;
}

/* Add the number of an accepted packet. */
void dd_tp_pn_add(struct dd_tp *tp, u64 pn)
{
	struct dd_tp_rx_range *r = tp->rx_range;
	u32 i = 0;

	/* The first range that contains @pn, or ends at @pn - 1 or before. */
	for (; i < tp->nrx && r->first > pn + 1; r++)
		i++;
	if (i < tp->nrx && r->first == pn + 1) {
		r->first = pn;
		if (i + 1 < tp->nrx && r[1].last + 1 == pn) {
			r->first = r[1].first;
			tp->nrx--;
			memmove(r + 1, r + 2, (tp->nrx - i - 1) * sizeof(*r));
		}
		return;
	}
	if (i < tp->nrx && r->last + 1 == pn) {
		r->last = pn;
		return;
	}
	/* Drop the oldest range; it has been acknowledged many times. */
	tp->nrx = min(tp->nrx + 1, (u32)DD_TP_RX_RANGES);
	memmove(r + 1, r, (tp->nrx - i - 1) * sizeof(*r));
	r->first = pn;
	r->last = pn;
}

/* Send ACK and DONEs at @at or before. */
void dd_tp_ack_by(struct dd_tp *tp, u64 at)
{
	/* 0 means that nothing is due. */
	at = max(at, 1ull);
	if (!tp->ack_at || at < tp->ack_at)
		tp->ack_at = at;
}

/* Send a DONE for @chan at @at or before, unless the peer's end is not known. */
void dd_tp_queue_done(struct dd_tp *tp, struct dd_tp_chan *chan, u64 at)
{
	if (!chan->cfg.peer_id)
		return;
	/* A DONE with an older count may be in flight: this one replaces it. */
	if (!list_empty(&chan->done_node))
		list_del(&chan->done_node);
	list_add_tail(&chan->done_node, &tp->done_queue);
	tp->ack_hurry |= at <= tp->last_rx;
	dd_tp_ack_by(tp, at);
}

/* A packet with ACK and DONEs was built; some DONEs may be left over. */
void dd_tp_ack_sent(struct dd_tp *tp)
{
	tp->ack_count = 0;
	tp->ack_bytes = 0;
	tp->ack_hurry = false;
	if (list_empty(&tp->done_queue))
		tp->ack_at = 0;
}

/* Packets were accepted, or a duplicate was received: schedule an ACK. */
void dd_tp_ack_note(struct dd_tp *tp, u64 now, u32 packets, u32 bytes, bool in_order)
{
	tp->ack_count += packets;
	tp->ack_bytes += bytes;
	tp->ack_hurry |= !in_order;
	/* At least every second full-sized packet, as in RFC 9000. */
	if (tp->ack_count >= DD_TP_ACK_EVERY || !in_order ||
	    tp->ack_bytes > dd_tp_packet_size(tp))
		dd_tp_ack_by(tp, now);
	else
		dd_tp_ack_by(tp, now + DD_TP_ACK_DELAY);
}

/*
 * The packet completed a message whose acknowledgment may wait: the sender waits for
 * an answer, which will carry the ACK; or the message is short and the sender will
 * send the next one before it needs a DONE.
 */
void dd_tp_ack_wait(struct dd_tp *tp, u64 now)
{
	if (tp->wait == DD_TP_WAIT_REST &&
	    (tp->ack_count >= DD_TP_ACK_EVERY || tp->ack_bytes >= DD_TP_ACK_BYTES))
		return;
	if (tp->ack_at <= now && !tp->ack_hurry && list_is_singular(&tp->done_queue))
		tp->ack_at = now + DD_TP_ACK_DELAY;
}

/* Add an ACK with as many ranges as fit, leaving @reserve bytes of @buf. */
bool dd_tp_ack_add(struct dd_tp *tp, u64 now, struct dd_wire_buf *buf, u32 reserve)
{
	const struct dd_tp_rx_range *r = tp->rx_range;
	struct dd_wire_ack *ack;
	size_t space = buf->end - buf->p;
	u32 i, n;

	if (!tp->nrx || !tp->ack_count || space < reserve + sizeof(*ack))
		return !tp->ack_count;
	n = (space - reserve - sizeof(*ack)) / sizeof(*ack->range);
	n = min3(n, tp->nrx - 1, DD_WIRE_RANGES - 1u);
	/* The sender has forgotten packets this old. */
	while (n && r[n].last + DD_TP_ACK_FAR < r->last)
		n--;
	/* No zeroing as in dd_wire_add(): every field is written below. */
	ack = (void *)buf->p;
	buf->p += struct_size(ack, range, n);
	ack->type = DD_FRAME_ACK;
	ack->count = n;
	ack->delay = cpu_to_le16(min_t(u64, div_u64(now - tp->rx_at, DD_TP_US), U16_MAX));
	ack->largest = cpu_to_le32(r->last);
	ack->first = cpu_to_le32(min_t(u64, r->last - r->first, U32_MAX));
	ack->ts_echo = cpu_to_le32(tp->rx_ts);
	for (i = 0; i < n; i++, r++) {
		ack->range[i].gap = cpu_to_le32(r[0].first - r[1].last - 1);
		ack->range[i].len = cpu_to_le32(min_t(u64, U32_MAX,
						      r[1].last - r[1].first + 1));
	}
	return true;
}

/* When the next ACK or DONE is due, as far as it can be sent. */
u64 dd_tp_ack_at(const struct dd_tp *tp)
{
	bool done = !list_empty(&tp->done_queue) && dd_tp_rec_space(tp, 1);

	return tp->ack_at && (tp->ack_count || done) ? tp->ack_at :
							DD_TP_NEVER;
}

/* Last message the peer may send: notified, free places, and one withheld. */
static u64 dd_tp_chan_allow(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	u32 credit = 0;

	if (chan->notified == chan->received)
		credit = min(tp->ops->credit(tp, chan), chan->cfg.rx_window);
	return max(chan->granted, chan->notified + credit + 1);
}

void dd_tp_done_fill(struct dd_tp *tp, struct dd_tp_chan *chan, struct dd_wire_done *done)
{
	chan->granted = dd_tp_chan_allow(tp, chan);
	done->type = DD_FRAME_DONE;
	done->credit = cpu_to_le16(chan->granted - chan->notified);
	done->chan = cpu_to_le64(chan->cfg.peer_id);
	done->count = cpu_to_le64(chan->notified);
}

/*
 * When to return credit to a sender that may be out of it. With half of a window
 * still unread, the reader does not run dry at once, so delay by DD_TP_MOMENT:
 * returning credit per message read makes the sender send one packet per message,
 * forever (silly window).
 */
static u64 dd_tp_credit_at(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	u32 window = chan->cfg.rx_window;

	if (window < DD_TP_REST_WINDOW ||
	    dd_tp_chan_allow(tp, chan) > chan->notified + window / 2)
		return tp->last_rx;
	return tp->last_rx + DD_TP_MOMENT;
}

void dd_tp_notified(struct dd_tp *tp, struct dd_tp_chan *chan, u64 msgid)
{
	if (!chan->up || msgid <= chan->notified || msgid > chan->received)
		return;
	chan->notified = msgid;
	dd_tp_queue_done(tp, chan, dd_tp_credit_at(tp, chan));
}

void dd_tp_chan_hurry(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	if (!list_empty(&chan->done_node))
		dd_tp_queue_done(tp, chan, tp->last_rx);
}

/* During a long message: announce credit that the reader has returned. */
void dd_tp_chan_refresh(struct dd_tp *tp, struct dd_tp_chan *chan, u64 now)
{
	if (!list_empty(&chan->done_node) ||
	    chan->granted > chan->notified + chan->cfg.rx_window ||
	    dd_tp_chan_allow(tp, chan) == chan->granted)
		return;
	dd_tp_queue_done(tp, chan, now + DD_TP_ACK_DELAY);
}

/*
 * The message just received is in place and notified: decide how long its DONE may be
 * delayed. @alone: it had only one piece.
 */
void dd_tp_msg_done(struct dd_tp *tp, u64 now, struct dd_tp_chan *chan, bool alone)
{
	if (chan->answers)
		/* The local end usually answers: the DONE goes with the answer. */
		tp->wait = DD_TP_WAIT_ANSWER;
	else if (chan->msg.flags & DD_PUT_PROMPT || chan->received == chan->granted)
		/* The sender has asked for DONE, or has used all its credit. */
		tp->wait = DD_TP_WAIT_ROOM;
	else if (chan->cfg.rx_window >= DD_TP_REST_WINDOW &&
		 chan->msg.len <= DD_TP_REST_BYTES)
		/* The sender asks for DONE before it has used all its credit. */
		tp->wait = DD_TP_WAIT_REST;
	else
		tp->wait = alone ? DD_TP_WAIT_DELAY : DD_TP_WAIT_NOT;
	if (tp->wait <= DD_TP_WAIT_ROOM)
		dd_tp_queue_done(tp, chan, tp->wait == DD_TP_WAIT_NOT ?
			       now : dd_tp_credit_at(tp, chan));
	else
		dd_tp_queue_done(tp, chan, now + DD_TP_ACK_DELAY);
}
