// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets in flight: acknowledgments, loss detection and probes after RFC 9002.
 * Packet numbers are never reused; the contents of a lost packet are sent again in
 * packets with new numbers.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport/internal.h"

#define DD_TP_COLLAPSE	3	/* timeouts in a row */
#define DD_TP_STALLS	3	/* stalls before large packets are given up */
#define DD_TP_ROUNDS	8	/* round trips with losses before that */
#define DD_TP_SMALL_NS	(60000 * DD_TP_MS)

static void dd_tp_advance(struct dd_tp *tp)
{
	u64 pn = tp->low_pn;

	while (pn < tp->next_pn && !dd_tp_ring_rec(tp, pn))
		pn++;
	tp->low_pn = pn;
}

/**
 * struct dd_tp_news - packets newly acknowledged that were sent at the same time
 * @sent_at: when they were sent
 * @bytes: bytes in them
 * @count: packets newly acknowledged since the beginning of the ACK frame
 */
struct dd_tp_news {
	u64 sent_at;
	u32 bytes;
	u32 count;
};

static void dd_tp_news_tell(struct dd_tp *tp, u64 now, struct dd_tp_news *news)
{
	tp->cc.flight -= news->bytes;
	if (news->bytes)
		dd_tp_cc_acked(tp, now, news->sent_at, news->bytes);
	news->bytes = 0;
}

static void dd_tp_rec_acked(struct dd_tp *tp, u64 now, struct dd_tp_rec *rec,
			    struct dd_tp_news *news)
{
	struct dd_tp_chan *chan, *next;

	if (rec->bytes > rec->count * DD_WIRE_PACKET_MIN) {
		tp->stalls = 0;
		tp->rounds = 0;
	}
	if (rec->sent_at != news->sent_at)
		dd_tp_news_tell(tp, now, news);
	news->sent_at = rec->sent_at;
	news->bytes += rec->bytes;
	news->count += rec->count;
	dd_tp_rec_trace(tp, DD_TP_EV_ACKED, rec);
	list_for_each_entry_safe(chan, next, &rec->done, done_node)
		list_del_init(&chan->done_node);
	if (rec->nctl)
		dd_tp_ctl_acked(tp, rec);
	if (rec->chan)
		dd_tp_piece_acked(tp, rec);
	dd_tp_rec_free(tp, rec);
}

/* Queue the contents of a lost packet again and leave @mark in the ring. */
static void dd_tp_rec_lost(struct dd_tp *tp, struct dd_tp_rec *rec, u16 mark)
{
	bool empty = list_empty(&rec->done) && !rec->nctl && !rec->chan;

	tp->stats.lost++;
	dd_tp_trace(tp, DD_TP_EV_LOST, rec->pn, rec->bytes);
	tp->mark_pn = min(tp->mark_pn, rec->pn);
	tp->mark_last = max(tp->mark_last, rec->pn);
	*dd_tp_ring_at(tp, rec->pn) = mark;
	tp->cc.flight -= rec->bytes;
	if (!list_empty(&rec->done)) {
		list_splice_tail_init(&rec->done, &tp->done_queue);
		dd_tp_ack_by(tp, tp->last_rx);
	}
	dd_tp_ctl_lost(tp, rec);
	rec->nctl = 0;
	if (empty)
		tp->ping = true;
	if (rec->chan)
		dd_tp_piece_lost(tp, rec);
	else
		dd_tp_rec_free(tp, rec);
}

/* Packets @first to @last are acknowledged. */
static void dd_tp_range_acked(struct dd_tp *tp, u64 now, u64 first, u64 last,
			      struct dd_tp_news *news)
{
	u64 oldest = tp->next_pn - min(tp->next_pn, tp->ring_mask + 1ull), pn;
	struct dd_tp_rec *rec;
	u16 *mark;

	first = max3(first, oldest, min(tp->low_pn, tp->mark_pn));
	for (pn = first; pn <= last; pn++) {
		/* An ACK repeats what earlier ones said: only marks are looked for there. */
		if (pn > tp->mark_last && pn < tp->low_pn) {
			pn = tp->low_pn - 1;
			continue;
		}
		rec = dd_tp_ring_rec(tp, pn);
		if (!rec) {
			mark = dd_tp_ring_at(tp, pn);
			if (*mark == DD_TP_RING_NONE)
				continue;
			/* A probe timeout has not reduced the window: nothing to undo. */
			if (*mark == DD_TP_RING_LOST)
				dd_tp_cc_spurious(tp, tp->largest_acked - pn);
			*mark = DD_TP_RING_NONE;
			tp->stats.spurious++;
			dd_tp_trace(tp, DD_TP_EV_SPURIOUS, pn, 0);
			continue;
		}
		if (rec->pn < pn)
			rec = dd_tp_rec_split(tp, rec, pn - rec->pn);
		if (rec->count > last - pn + 1)
			dd_tp_rec_split(tp, rec, last - pn + 1);
		dd_tp_rec_ring(tp, rec, DD_TP_RING_NONE);
		pn += rec->count - 1;
		if (rec->pn == tp->low_pn)
			tp->low_pn = pn + 1;
		dd_tp_rec_acked(tp, now, rec, news);
	}
	/* All marks up to @last are cleared. */
	if (first <= tp->mark_pn && last >= tp->mark_pn)
		tp->mark_pn = last < tp->mark_last ? last + 1 : U64_MAX;
}

/*
 * A packet was lost and later ones arrived. If all large packets are lost for many
 * round trips while small ones arrive, the path does not carry large ones.
 */
static void dd_tp_overtaken(struct dd_tp *tp, u64 now, const struct dd_tp_rec *rec)
{
	if (rec->bytes <= DD_WIRE_PACKET_MIN || rec->sent_at <= tp->round_at)
		return;
	tp->round_at = now;
	if (++tp->rounds < DD_TP_ROUNDS)
		return;
	tp->rounds = 0;
	tp->small_until = now + DD_TP_SMALL_NS;
}

/* Declare packets lost that are too far behind the highest acknowledged one. */
void dd_tp_detect(struct dd_tp *tp, u64 now)
{
	struct dd_tp_rec *rec;
	u64 delay, old, pn;

	tp->loss_at = 0;
	dd_tp_advance(tp);
	/* Common case: nothing is missing. */
	if (tp->low_pn >= tp->largest_acked && tp->mark_pn == U64_MAX)
		return;
	delay = dd_tp_cc_loss_delay(tp);
	for (pn = tp->low_pn; pn < tp->largest_acked; pn++) {
		rec = dd_tp_ring_rec(tp, pn);
		if (!rec)
			continue;
		if (tp->largest_acked - 1 - pn < tp->cc.reorder &&
		    rec->sent_at + delay > now) {
			tp->loss_at = rec->sent_at + delay;
			break;
		}
		if (rec->count > 1)
			dd_tp_rec_split(tp, rec, 1);
		dd_tp_overtaken(tp, now, rec);
		dd_tp_cc_lost(tp, now, rec->sent_at);
		dd_tp_rec_lost(tp, rec, DD_TP_RING_LOST);
	}
	dd_tp_advance(tp);
	/* Forget loss marks that are too old to be acknowledged. */
	old = tp->low_pn - min_t(u64, tp->low_pn, 2 * DD_TP_REORDER_MAX);
	if (tp->mark_last < old)
		tp->mark_pn = U64_MAX;
	else if (tp->mark_pn < old)
		tp->mark_pn = old + DD_TP_REORDER_MAX;
}

/* Expand the highest number of an ACK; false if no such packet was sent. */
static bool dd_tp_ack_largest(const struct dd_tp *tp,
			      const struct dd_wire_ack *ack, u64 *largest)
{
	u64 last = tp->next_pn - 1;
	u32 behind = (u32)last - le32_to_cpu(ack->largest);

	*largest = last - behind;
	return tp->next_pn && behind <= last;
}

/* Compute range @i of an ACK from the one above; false if it is invalid. */
static bool dd_tp_ack_range(const struct dd_wire_ack *ack, u32 i, u64 *first, u64 *last)
{
	u64 gap, len;

	if (!i) {
		len = le32_to_cpu(ack->first);
	} else {
		gap = le32_to_cpu(ack->range[i - 1].gap);
		len = le32_to_cpu(ack->range[i - 1].len) - 1;
		if (*first < gap + 1)
			return false;
		*last = *first - gap - 1;
	}
	if (*last < len)
		return false;
	*first = *last - len;
	return true;
}

/* Process an ACK frame; false if it is invalid. */
bool dd_tp_acked(struct dd_tp *tp, u64 now, const struct dd_wire_ack *ack)
{
	u32 rtt = dd_tp_us(now) - le32_to_cpu(ack->ts_echo), i;
	u64 delay = le16_to_cpu(ack->delay) * DD_TP_US;
	u64 first = 0, last, largest;
	struct dd_tp_news news = { 0 };

	if (!dd_tp_ack_largest(tp, ack, &largest))
		return false;
	last = largest;
	for (i = 0; i <= ack->count; i++) {
		if (!dd_tp_ack_range(ack, i, &first, &last))
			return false;
	}
	/* Measure the round trip when the highest packet is acknowledged first. */
	if (largest >= tp->largest_acked && (s32)rtt >= 0)
		dd_tp_cc_rtt(tp, rtt * DD_TP_US,
			     min(delay, 2 * DD_TP_ACK_DELAY));
	tp->largest_acked = max(tp->largest_acked, largest + 1);
	last = largest;
	for (i = 0; i <= ack->count; i++) {
		dd_tp_ack_range(ack, i, &first, &last);
		dd_tp_range_acked(tp, now, first, last, &news);
	}
	dd_tp_news_tell(tp, now, &news);
	if (news.count) {
		tp->pto_count = 0;
		tp->probes = 0;
	}
	dd_tp_detect(tp, now);
	return true;
}

/* When the next probe is due, or DD_TP_NEVER. */
u64 dd_tp_pto_at(const struct dd_tp *tp)
{
	if (tp->low_pn >= tp->next_pn)
		return DD_TP_NEVER;
	return tp->last_eliciting + dd_tp_cc_pto(tp);
}

/* Try large packets again if it is time. */
void dd_tp_small_over(struct dd_tp *tp, u64 now)
{
	if (!tp->small_until || now < tp->small_until)
		return;
	tp->small_until = 0;
	/* After one more stall, return to small packets. */
	tp->stalls = DD_TP_STALLS - 1;
}

/*
 * A probe timeout sends two packets (RFC 9002, 6.2.4). The pieces of the two oldest
 * packets are queued as lost, without reducing the window; if the packets are
 * acknowledged after all, that is noticed. If none of these pieces can be sent,
 * because they wait for a retransmission in flight, more packets are declared lost
 * until one can.
 */
void dd_tp_probe(struct dd_tp *tp, u64 now)
{
	struct dd_tp_chan *chan;
	struct dd_tp_rec *rec;
	struct dd_tp_op *op;
	bool helps = false;
	u32 n = 0;
	u64 pn;

	tp->pto_count++;
	tp->stats.probes++;
	for (pn = tp->low_pn; pn < tp->next_pn && (n < 2 || !helps); pn++) {
		rec = dd_tp_ring_rec(tp, pn);
		if (!rec)
			continue;
		if (rec->count > 1)
			dd_tp_rec_split(tp, rec, 1);
		/*
		 * Repeated timeouts: possibly the path drops large packets, and its ICMP
		 * errors were lost. Small ones are tried. If these get through where large ones
		 * do not, several times, use small ones for DD_TP_SMALL_NS.
		 */
		if (!n++ && tp->pto_count == DD_TP_SMALL_AT &&
		    rec->bytes > DD_WIRE_PACKET_MIN && ++tp->stalls >= DD_TP_STALLS)
			tp->small_until = now + DD_TP_SMALL_NS;
		chan = rec->chan;
		op = rec->op;
		dd_tp_rec_lost(tp, rec, DD_TP_RING_PROBED);
		/*
		 * A channel sends nothing of later messages while an earlier one has lost
		 * pieces, and the last free record is for pieces.
		 */
		helps |= chan ? tp->nfree && dd_tp_chan_op(chan) == op : tp->nfree > 1;
	}
	tp->probes = 2;
	tp->last_eliciting = now;
	dd_tp_advance(tp);
	if (tp->pto_count == DD_TP_COLLAPSE)
		dd_tp_cc_collapse(tp, now);
}
