// SPDX-License-Identifier: GPL-2.0-only
/*
 * Long messages: packets that differ in number, time and offset only. Once one
 * has gone the long way, those that follow it need a look at what differs. What
 * is not exactly so goes the long way, which knows all cases.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "crc.h"
#include "transport_int.h"

/* dd_wire_crc() of a packet of this form. */
static u32 dd_wire_piece_crc(const struct dd_wire_piece *piece)
{
	u32 crc;

	crc = dd_crc_words(~0u, dd_wire_word(piece, 0), dd_wire_word(piece, 8),
			   dd_wire_word(piece, 16), dd_wire_half(piece, 24));
	crc = dd_crc_words(crc, dd_wire_word(piece, 32),
			   dd_wire_word(piece, 40), dd_wire_word(piece, 48),
			   dd_wire_word(piece, 56));
	return dd_crc_few(crc, (const u8 *)piece + 64, 8);
}

/* ---- coming ------------------------------------------------------------- */

/**
 * dd_tp_train_seen() - a packet has been accepted
 * @tp: the session
 * @hdr: the packet
 * @hlen: bytes before its payload
 *
 * If it carried a piece of a message that is still in progress, dd_tp_put_rx()
 * has left the channel.
 */
void dd_tp_train_seen(struct dd_tp *tp, const struct dd_wire_hdr *hdr,
		      size_t hlen)
{
	struct dd_tp_train *train = &tp->rx_train;

	/* A PUT that has so little before it has no head, and is alone. */
	if (hlen == sizeof(train->piece) && !hdr->flags)
		memcpy(&train->piece, hdr, sizeof(train->piece));
	else
		train->chan = NULL;
}

bool dd_tp_rx_next(struct dd_tp *tp, u64 now, const struct dd_wire_hdr *hdr,
		   size_t hlen, const void *payload, u32 plen)
{
	const struct dd_wire_piece *piece = (const void *)hdr;
	struct dd_tp_chan *chan = tp->rx_train.chan;
	struct dd_tp_range *range;
	u32 end;

	/* Of a channel that is there, in the session that is up. */
	if (!chan || tp->hold || chan->hold || hlen != sizeof(*piece) ||
	    !chan->nranges ||
	    !dd_wire_piece_same(piece, &tp->rx_train.piece))
		return false;
	/* Of the message in progress, since that was; not its last piece. */
	range = &chan->range[chan->nranges - 1];
	end = range->end + plen;
	if (!chan->in_progress ||
	    le64_to_cpu(piece->put.msgid) != chan->msg.msgid ||
	    le32_to_cpu(piece->put.off) != range->end ||
	    end >= chan->msg.len || (chan->msg.dst + end) & 7 ||
	    le32_to_cpu(hdr->pn) != (u32)(tp->rx_range[0].last + 1) ||
	    le32_to_cpu(hdr->crc) != ~dd_wire_piece_crc(piece) ||
	    tp->ops->deposit(tp, chan, chan->msg.dst + range->end, payload, 0,
			     plen))
		return false;
	range->end = end;
	tp->last_rx = now;
	tp->unheard = 0;
	tp->stats.rx_packets++;
	tp->stats.rx_bytes += plen;
	tp->rx_range[0].last++;
	tp->rx_ts = le32_to_cpu(hdr->ts);
	tp->rx_at = now;
	dd_tp_trace(tp, DD_TP_EV_RECEIVED, tp->rx_range[0].last, hlen + plen);
	/* The first one of those that come at once has seen to the rest. */
	if (tp->ack_at == now) {
		tp->ack_count++;
		tp->ack_bytes += plen;
		return true;
	}
	dd_tp_chan_refresh(tp, chan, now);
	dd_tp_ack_note(tp, now, plen, true);
	return true;
}

/* ---- going -------------------------------------------------------------- */

/**
 * dd_tp_train_made() - a packet has been made
 * @tp: the session
 * @pkt: the packet
 */
void dd_tp_train_made(struct dd_tp *tp, const struct dd_tp_pkt *pkt)
{
	struct dd_tp_train *train = &tp->tx_train;

	train->chan = NULL;
	if (!pkt->more || pkt->need_crc ||
	    pkt->hlen != sizeof(train->piece) ||
	    pkt->off + pkt->len != pkt->op->next)
		return;
	memcpy(&train->piece, pkt->hdr, sizeof(train->piece));
	train->chan = pkt->chan;
	train->op = pkt->op;
	train->len = pkt->len;
	train->size = dd_tp_packet_size(tp);
}

/* Whether the next packet is one that follows, and may be sent. */
static bool dd_tp_train_goes_on(struct dd_tp *tp, u64 now)
{
	const struct dd_tp_train *train = &tp->tx_train;

	/* A piece that is lost, or another turn, ends a train. */
	return train->chan && tp->ready.next == &train->chan->ready &&
	       train->op->msg.len - train->op->next > train->len &&
	       train->size == dd_tp_packet_size(tp) && !tp->ack_count &&
	       !tp->ctl_queued && !tp->probes && list_empty(&tp->owing) &&
	       tp->nfree > DD_TP_RESERVE && dd_tp_rec_room(tp, 0) &&
	       dd_tp_cc_room(tp, now, train->size);
}

/* How many packets at once, given that one may go. */
static u32 dd_tp_train_count(const struct dd_tp *tp, u64 now, u32 room)
{
	const struct dd_tp_train *train = &tp->tx_train;
	const struct dd_tp_op *op = train->op;
	/* The last piece goes the long way. */
	u32 n = min(room, (op->msg.len - op->next - 1) / train->len);

	n = min(n, tp->nfree - DD_TP_RESERVE);
	n = min_t(u64, n, tp->ring_mask + 1 - (tp->next_pn - tp->low_pn));
	n = min(n, dd_tp_cc_rooms(tp, now, train->size));
	if (!list_is_singular(&tp->ready))
		n = min_t(u32, n, train->chan->burst / train->len);
	return max(n, 1u);
}

/* The record of @n packets that go now. */
static const struct dd_tp_rec *dd_tp_train_record(struct dd_tp *tp, u64 now,
						  u32 n)
{
	const struct dd_tp_train *train = &tp->tx_train;
	struct dd_tp_rec *rec = dd_tp_rec_alloc(tp);

	/* The others stay on the list, for when they are told apart. */
	tp->nfree -= n - 1;
	rec->chan = train->chan;
	rec->op = train->op;
	rec->off = train->op->next;
	rec->len = n * train->len;
	rec->bytes = n * (sizeof(train->piece) + train->len);
	rec->count = n;
	hlist_add_head(&rec->flight, &train->chan->flight);
	dd_tp_rec_sent(tp, rec, now);
	return rec;
}

/**
 * dd_tp_train_poll() - make packets that follow the last one
 * @tp: the session, up
 * @now: the time
 * @pkt: (in, out) the packets, as dd_tp_poll() has them
 *
 * Return: false if that is not what comes next: then nothing has changed.
 */
bool dd_tp_train_poll(struct dd_tp *tp, u64 now, struct dd_tp_pkt *pkt)
{
	struct dd_tp_train *train = &tp->tx_train;
	struct dd_wire_piece *piece = (void *)pkt->hdr;
	const struct dd_tp_rec *rec;
	u32 i, n;

	if (!dd_tp_train_goes_on(tp, now))
		return false;
	n = dd_tp_train_count(tp, now, pkt->room);
	rec = dd_tp_train_record(tp, now, n);
	train->piece.h.ts = cpu_to_le32(dd_tp_us(now));
	for (i = 0; i < n; i++, piece++) {
		memcpy(piece, &train->piece, sizeof(*piece));
		piece->h.pn = cpu_to_le32(rec->pn + i);
		piece->put.off = cpu_to_le32(rec->off + i * train->len);
		dd_wire_seal(&piece->h, dd_wire_piece_crc(piece));
	}
	pkt->count = n;
	pkt->hlen = sizeof(*piece);
	pkt->chan = train->chan;
	pkt->op = train->op;
	pkt->off = rec->off;
	pkt->len = train->len;
	pkt->more = true;
	pkt->need_crc = false;
	train->op->next += rec->len;
	tp->stats.tx_packets += n;
	tp->stats.tx_bytes += rec->len;
	dd_tp_chan_turn(tp, train->chan, rec->len);
	return true;
}
