// SPDX-License-Identifier: GPL-2.0-only
/*
 * Long messages: consecutive packets differ only in number, time and offset. After
 * one packet of this form took the general path, the following ones are built and
 * received in batches. Any other packet takes the general path.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport/batch.h"
#include "transport/internal.h"

/**
 * dd_tp_rx_batch_begin() - a packet was accepted; a batch may follow
 * @tp: the session
 * @hdr: header of the packet
 * @hlen: bytes of the header
 *
 * dd_tp_put_rx() has set the channel if the packet carried a piece of a message that
 * is still in progress.
 */
void dd_tp_rx_batch_begin(struct dd_tp *tp, const struct dd_wire_hdr *hdr, size_t hlen)
{
	struct dd_tp_rx_batch *batch = &tp->rx_batch;

	if (!batch->chan)
		return;
	/* A header of this length has a PUT frame only, without struct dd_wire_head. */
	if (hlen != sizeof(batch->next) || hdr->flags) {
		batch->chan = NULL;
		return;
	}
	memcpy(&batch->next, hdr, sizeof(batch->next));
	batch->next.h.crc = 0;
	batch->plen = le16_to_cpu(hdr->plen);
	dd_wire_piece_next(&batch->next, batch->plen);
}

/* How many packets a batch may take now; 0 if it cannot continue. */
static u32 dd_tp_rx_batch_most(const struct dd_tp *tp, u32 size, u32 most)
{
	const struct dd_tp_rx_batch *batch = &tp->rx_batch;
	const struct dd_tp_chan *chan = batch->chan;
	u32 end;

	/* dd_tp_chan_drop() clears the pointer, so the channel is valid. */
	if (!chan || tp->hold || chan->hold || size != sizeof(batch->next) + batch->plen)
		return 0;
	/* The same message must be in progress, and its last piece stays out. */
	if (!chan->in_progress || !chan->nranges ||
	    le64_to_cpu(batch->next.put.msgid) != chan->msg.msgid)
		return 0;
	end = chan->range[chan->nranges - 1].end;
	if (le32_to_cpu(batch->next.put.off) != end || end >= chan->msg.len ||
	    le32_to_cpu(batch->next.h.pn) != (u32)(tp->rx_range[0].last + 1) ||
	    ((chan->msg.dst + end) | batch->plen) & 7)
		return 0;
	return min(most, (chan->msg.len - end - 1) / batch->plen);
}

u32 dd_tp_rx_batch(struct dd_tp *tp, u64 now, u32 size, u32 most, const void *payload)
{
	struct dd_tp_rx_batch *batch = &tp->rx_batch;
	struct dd_tp_chan *chan = batch->chan;
	u32 bytes, i;

	batch->count = 0;
	batch->most = dd_tp_rx_batch_most(tp, size, most);
	if (!batch->most)
		return 0;
	tp->ops->deposit_batch(tp, chan, chan->msg.dst +
			     chan->range[chan->nranges - 1].end, payload, batch);
	if (!batch->count)
		return 0;
	bytes = batch->count * batch->plen;
	chan->range[chan->nranges - 1].end += bytes;
	tp->last_rx = now;
	tp->unanswered_since = 0;
	tp->stats.rx_packets += batch->count;
	tp->stats.rx_bytes += bytes;
	tp->rx_range[0].last += batch->count;
	tp->rx_ts = le32_to_cpu(batch->next.h.ts);
	tp->rx_at = now;
	for (i = batch->count; tp->tracing && i; i--)
		tp->ops->trace(tp, DD_TP_EV_RECEIVED, tp->rx_range[0].last + 1 - i, size);
	dd_tp_chan_refresh(tp, chan, now);
	dd_tp_ack_note(tp, now, batch->count, bytes, true);
	return batch->count;
}

/**
 * dd_tp_tx_batch_begin() - a packet was built; a batch may follow
 * @tp: the session
 * @pkt: the packet
 */
void dd_tp_tx_batch_begin(struct dd_tp *tp, const struct dd_tp_pkt *pkt)
{
	struct dd_tp_tx_batch *batch = &tp->tx_batch;

	batch->chan = NULL;
	/* The first piece of a message, and so an empty message, has a longer header. */
	if (!pkt->op || pkt->again || pkt->need_crc ||
	    pkt->hlen != sizeof(batch->piece) || pkt->op->next == pkt->op->msg.len)
		return;
	memcpy(&batch->piece, pkt->hdr, sizeof(batch->piece));
	batch->piece.h.crc = 0;
	batch->chan = pkt->chan;
	batch->op = pkt->op;
	batch->len = pkt->len;
	batch->size = dd_tp_packet_size(tp);
}

/* Whether the batch continues and its next packet may be sent now. */
static bool dd_tp_tx_batch_ready(struct dd_tp *tp, u64 now)
{
	const struct dd_tp_tx_batch *batch = &tp->tx_batch;

	/* A lost piece or another channel's turn ends the batch. */
	return batch->chan && tp->ready.next == &batch->chan->ready &&
	       list_empty(&tp->retransmit) &&
	       batch->op->msg.len - batch->op->next > batch->len &&
	       batch->size == dd_tp_packet_size(tp) && !tp->ack_count &&
	       !tp->ctl_queued && !tp->probes && list_empty(&tp->done_queue) &&
	       tp->nfree > DD_TP_RESERVE && dd_tp_rec_space(tp, 0) &&
	       dd_tp_cc_space(tp, now, batch->size);
}

/* Number of packets to build at once, at least 1. */
static u32 dd_tp_tx_batch_count(const struct dd_tp *tp, u64 now, u32 space)
{
	const struct dd_tp_tx_batch *batch = &tp->tx_batch;
	const struct dd_tp_op *op = batch->op;
	/* The last piece takes the general path. */
	u32 n = min(space, (op->msg.len - op->next - 1) / batch->len);

	n = min(n, tp->nfree - DD_TP_RESERVE);
	n = min_t(u64, n, tp->ring_mask + 1 - (tp->next_pn - tp->low_pn));
	n = min(n, dd_tp_cc_spaces(tp, now, batch->size));
	if (!list_is_singular(&tp->ready))
		n = min_t(u32, n, batch->chan->burst / batch->len);
	return max(n, 1u);
}

/* Make the record of @n packets. */
static const struct dd_tp_rec *dd_tp_tx_batch_record(struct dd_tp *tp, u64 now, u32 n)
{
	const struct dd_tp_tx_batch *batch = &tp->tx_batch;
	struct dd_tp_rec *rec = dd_tp_rec_alloc(tp);

	/* The other n - 1 records stay on the free list, for dd_tp_rec_split(). */
	tp->nfree -= n - 1;
	rec->chan = batch->chan;
	rec->op = batch->op;
	rec->off = batch->op->next;
	rec->len = n * batch->len;
	rec->bytes = n * (sizeof(batch->piece) + batch->len);
	rec->count = n;
	hlist_add_head(&rec->flight, &batch->chan->flight);
	dd_tp_rec_sent(tp, rec, now);
	return rec;
}

/**
 * dd_tp_tx_batch_poll() - build the next packets of the batch
 * @tp: the session, up
 * @now: current time
 * @pkt: (in, out) the packets, see dd_tp_poll()
 *
 * Return: false if the batch does not continue; then nothing has changed.
 */
bool dd_tp_tx_batch_poll(struct dd_tp *tp, u64 now, struct dd_tp_pkt *pkt)
{
	struct dd_tp_tx_batch *batch = &tp->tx_batch;
	struct dd_wire_piece *piece = &batch->piece, *to = (void *)pkt->hdr;
	const struct dd_tp_rec *rec;
	u32 i, n;

	if (!dd_tp_tx_batch_ready(tp, now))
		return false;
	n = dd_tp_tx_batch_count(tp, now, pkt->space);
	rec = dd_tp_tx_batch_record(tp, now, n);
	piece->h.ts = cpu_to_le32(dd_tp_us(now));
	piece->h.pn = cpu_to_le32(rec->pn);
	piece->put.off = cpu_to_le32(rec->off);
	for (i = 0; i < n; i++, to++) {
		dd_wire_piece_sealed(to, piece);
		dd_wire_piece_next(piece, batch->len);
	}
	pkt->count = n;
	pkt->hlen = sizeof(batch->piece);
	pkt->chan = batch->chan;
	pkt->op = batch->op;
	pkt->off = rec->off;
	pkt->len = batch->len;
	pkt->need_crc = false;
	pkt->again = false;
	batch->op->next += rec->len;
	tp->stats.tx_packets += n;
	tp->stats.tx_bytes += rec->len;
	dd_tp_chan_turn(tp, batch->chan, rec->len);
	return true;
}
