// SPDX-License-Identifier: GPL-2.0-only
/*
 * Long messages: packets that differ in number, time and offset only. Once one
 * has gone the long way, those that follow it are made and taken many at once.
 * What is not exactly so goes the long way, which knows all cases.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport_int.h"
#include "transport_run.h"

/* ---- coming ------------------------------------------------------------- */

/**
 * dd_tp_run_begins() - a packet has been accepted
 * @tp: the session
 * @hdr: the packet
 * @hlen: bytes before its payload
 *
 * If it carried a piece of a message that is still in progress, dd_tp_put_rx()
 * has left the channel.
 */
void dd_tp_run_begins(struct dd_tp *tp, const struct dd_wire_hdr *hdr,
		      size_t hlen)
{
	struct dd_tp_run *run = &tp->rx_run;

	if (!run->chan)
		return;
	/* A PUT that has so little before it has no head, and is alone. */
	if (hlen != sizeof(run->next) || hdr->flags) {
		run->chan = NULL;
		return;
	}
	memcpy(&run->next, hdr, sizeof(run->next));
	run->plen = le16_to_cpu(hdr->plen);
	dd_wire_piece_next(&run->next, run->plen);
}

/* How many packets may follow: none if the next one is not what was expected. */
static u32 dd_tp_run_most(const struct dd_tp *tp, u32 size, u32 most)
{
	const struct dd_tp_run *run = &tp->rx_run;
	const struct dd_tp_chan *chan = run->chan;
	u32 end;

	/* Of a channel that is there, in the session that is up. */
	if (tp->hold || chan->hold || size != sizeof(run->next) + run->plen)
		return 0;
	/* Of the message in progress, since that was; not its last piece. */
	if (!chan->in_progress || !chan->nranges ||
	    le64_to_cpu(run->next.put.msgid) != chan->msg.msgid)
		return 0;
	end = chan->range[chan->nranges - 1].end;
	if (le32_to_cpu(run->next.put.off) != end || end >= chan->msg.len ||
	    le32_to_cpu(run->next.h.pn) != (u32)(tp->rx_range[0].last + 1) ||
	    ((chan->msg.dst + end) | run->plen) & 7)
		return 0;
	return min(most, (chan->msg.len - end - 1) / run->plen);
}

static void dd_tp_run_trace(struct dd_tp *tp, u32 size)
{
	u64 last = tp->rx_range[0].last;
	u32 i;

	for (i = tp->rx_run.count; tp->tracing && i; i--)
		tp->ops->trace(tp, DD_TP_EV_RECEIVED, last + 1 - i, size);
}

/* As many packets as the run has counted have been accepted. */
static void dd_tp_run_came(struct dd_tp *tp, u64 now, u32 size)
{
	const struct dd_tp_run *run = &tp->rx_run;
	struct dd_tp_chan *chan = run->chan;
	u32 bytes = run->count * run->plen;

	chan->range[chan->nranges - 1].end += bytes;
	tp->last_rx = now;
	tp->unheard = 0;
	tp->stats.rx_packets += run->count;
	tp->stats.rx_bytes += bytes;
	tp->rx_range[0].last += run->count;
	tp->rx_ts = le32_to_cpu(run->next.h.ts);
	tp->rx_at = now;
	dd_tp_run_trace(tp, size);
	dd_tp_chan_refresh(tp, chan, now);
	dd_tp_ack_note(tp, now, run->count, bytes, true);
}

/* As dd_tp_rx_run(), where a run is on. */
u32 dd_tp_run_rx(struct dd_tp *tp, u64 now, u32 size, u32 most,
		 const void *payload)
{
	struct dd_tp_run *run = &tp->rx_run;
	struct dd_tp_chan *chan = run->chan;

	run->count = 0;
	run->most = dd_tp_run_most(tp, size, most);
	if (!run->most)
		return 0;
	tp->ops->deposit_run(tp, chan, chan->msg.dst +
			     chan->range[chan->nranges - 1].end, payload, run);
	if (run->count)
		dd_tp_run_came(tp, now, size);
	return run->count;
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
	train->piece.h.crc = 0;
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
	       list_empty(&tp->retransmit) &&
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

/* Headers of @rec's packets. */
static void dd_tp_train_headers(struct dd_tp_train *train, u64 now,
				const struct dd_tp_rec *rec,
				struct dd_wire_piece *to)
{
	struct dd_wire_piece *piece = &train->piece;
	u32 i;

	piece->h.ts = cpu_to_le32(dd_tp_us(now));
	piece->h.pn = cpu_to_le32(rec->pn);
	piece->put.off = cpu_to_le32(rec->off);
	for (i = 0; i < rec->count; i++, to++) {
		dd_wire_piece_sealed(to, piece);
		dd_wire_piece_next(piece, train->len);
	}
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
	const struct dd_tp_rec *rec;
	u32 n;

	if (!dd_tp_train_goes_on(tp, now))
		return false;
	n = dd_tp_train_count(tp, now, pkt->room);
	rec = dd_tp_train_record(tp, now, n);
	dd_tp_train_headers(train, now, rec, (void *)pkt->hdr);
	pkt->count = n;
	pkt->hlen = sizeof(train->piece);
	pkt->chan = train->chan;
	pkt->op = train->op;
	pkt->off = rec->off;
	pkt->len = train->len;
	pkt->more = true;
	pkt->need_crc = false;
	pkt->again = false;
	train->op->next += rec->len;
	tp->stats.tx_packets += n;
	tp->stats.tx_bytes += rec->len;
	dd_tp_chan_turn(tp, train->chan, rec->len);
	return true;
}
