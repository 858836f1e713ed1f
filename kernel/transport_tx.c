// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that go out, and what becomes of them. Each has a number of its own,
 * never used again; what a lost one carried goes out in another. RFC 9002 says
 * when a packet is lost.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport_int.h"

#define DD_TP_PUT_ROOM	(sizeof(struct dd_wire_put) + \
			 sizeof(struct dd_wire_head))
#define DD_TP_COLLAPSE	3	/* timeouts in a row */
#define DD_TP_SMALL_AT	2	/* timeouts until small packets are tried */
#define DD_TP_STALLS	3	/* such until the path is taken for narrow */
#define DD_TP_SMALL_NS	(60000 * DD_TP_MS)

/* ---- records ------------------------------------------------------------ */

/* @arena holds the ring, the records and the slots, in this order. */
void dd_tp_tx_init(struct dd_tp *tp, void *arena)
{
	tp->ring_mask = 2 * tp->cfg.records - 1;
	tp->ring = arena;
	arena += 2 * tp->cfg.records * sizeof(*tp->ring);
	tp->recs = arena;
	arena += tp->cfg.records * sizeof(*tp->recs);
	tp->tx_ctl = arena;
	arena += tp->cfg.ctl_slots * sizeof(*tp->tx_ctl);
	tp->rx_ctl = arena;
	dd_tp_tx_reset(tp);
}

/* Forget all packets; no channel is left to care. */
void dd_tp_tx_reset(struct dd_tp *tp)
{
	u32 i;

	tp->tx_train.chan = NULL;
	INIT_LIST_HEAD(&tp->chans);
	INIT_LIST_HEAD(&tp->ready);
	INIT_LIST_HEAD(&tp->owing);
	tp->free = NULL;
	memset(tp->ring, 0, (tp->ring_mask + 1) * sizeof(*tp->ring));
	for (i = 0; i < tp->cfg.records; i++) {
		INIT_LIST_HEAD(&tp->recs[i].done);
		tp->recs[i].next = tp->free;
		tp->free = &tp->recs[i];
	}
	tp->nfree = tp->cfg.records;
	for (i = 0; i < tp->cfg.ctl_slots; i++) {
		tp->tx_ctl[i].state = DD_TP_SLOT_FREE;
		tp->rx_ctl[i].state = DD_TP_SLOT_FREE;
	}
	tp->ctl_next = 0;
	tp->ctl_una = 0;
	tp->ctl_queued = 0;
	tp->ctl_rx = 0;
	tp->next_pn = 0;
	tp->low_pn = 0;
	tp->mark_pn = U64_MAX;
	tp->mark_last = 0;
	tp->largest_acked = 0;
	tp->loss_at = 0;
	tp->last_eliciting = 0;
	tp->unheard = 0;
	tp->pto_count = 0;
	tp->probes = 0;
	tp->stalls = 0;
	tp->small = false;
	tp->small_until = 0;
	tp->ping = false;
	dd_tp_cc_reset(tp);
}

struct dd_tp_rec *dd_tp_rec_alloc(struct dd_tp *tp)
{
	struct dd_tp_rec *rec = tp->free;

	if (!rec)
		return NULL;
	tp->free = rec->next;
	INIT_HLIST_NODE(&rec->flight);
	tp->nfree--;
	rec->chan = NULL;
	rec->op = NULL;
	rec->count = 1;
	rec->nctl = 0;
	rec->hurt = false;
	return rec;
}

/* @rec is on no list, and carries no DONE. */
void dd_tp_rec_free(struct dd_tp *tp, struct dd_tp_rec *rec)
{
	rec->next = tp->free;
	tp->free = rec;
	tp->nfree += rec->count;
}

static u16 *dd_tp_ring_at(struct dd_tp *tp, u64 pn)
{
	return &tp->ring[pn & tp->ring_mask];
}

static struct dd_tp_rec *dd_tp_ring_rec(struct dd_tp *tp, u64 pn)
{
	u16 i = *dd_tp_ring_at(tp, pn);

	return i && i <= tp->cfg.records ? &tp->recs[i - 1] : NULL;
}

static bool dd_tp_in_flight(const struct dd_tp *tp)
{
	return tp->low_pn < tp->next_pn;
}

static void dd_tp_rec_ring(struct dd_tp *tp, const struct dd_tp_rec *rec,
			   u16 entry)
{
	u32 i = rec->pn & tp->ring_mask;
	u32 n = min(rec->count, tp->ring_mask + 1 - i);

	memset16(tp->ring + i, entry, n);
	memset16(tp->ring, entry, rec->count - n);
}

/*
 * Of several packets of one record leave the first @n there; the others get
 * another one, which is free as long as they are in one.
 */
static struct dd_tp_rec *dd_tp_rec_cut(struct dd_tp *tp, struct dd_tp_rec *rec,
				       u32 n)
{
	struct dd_tp_rec *rest = tp->free;
	u32 len = rec->len / rec->count, bytes = rec->bytes / rec->count;

	tp->free = rest->next;
	INIT_HLIST_NODE(&rest->flight);
	rest->pn = rec->pn + n;
	rest->sent_at = rec->sent_at;
	rest->chan = rec->chan;
	rest->op = rec->op;
	rest->count = rec->count - n;
	rest->off = rec->off + n * len;
	rest->len = rest->count * len;
	rest->bytes = rest->count * bytes;
	rest->nctl = 0;
	rest->hurt = false;
	if (rest->chan)
		hlist_add_head(&rest->flight, &rest->chan->flight);
	rec->count = n;
	rec->len = n * len;
	rec->bytes = n * bytes;
	dd_tp_rec_ring(tp, rest, rest - tp->recs + 1);
	return rest;
}

/* Give packets the next numbers. */
static void dd_tp_rec_number(struct dd_tp *tp, struct dd_tp_rec *rec, u64 now)
{
	rec->pn = tp->next_pn;
	rec->sent_at = now;
	tp->next_pn += rec->count;
	dd_tp_rec_ring(tp, rec, rec - tp->recs + 1);
	tp->last_eliciting = now;
	if (!tp->unheard)
		tp->unheard = now;
}

static void dd_tp_rec_trace(struct dd_tp *tp, enum dd_tp_event event,
			    const struct dd_tp_rec *rec)
{
	u32 i;

	for (i = 0; tp->tracing && i < rec->count; i++)
		tp->ops->trace(tp, event, rec->pn + i, rec->bytes / rec->count);
}

/* Packets whose record has all but that are made. */
void dd_tp_rec_sent(struct dd_tp *tp, struct dd_tp_rec *rec, u64 now)
{
	dd_tp_rec_number(tp, rec, now);
	tp->cc.flight += rec->bytes;
	tp->ping = false;
	dd_tp_cc_sent(tp, now, rec->bytes);
	dd_tp_rec_trace(tp, DD_TP_EV_SENT, rec);
}

/* Whether there is room for one more, and for @keep after it. */
bool dd_tp_rec_room(const struct dd_tp *tp, u32 keep)
{
	return tp->nfree > keep && tp->next_pn - tp->low_pn <= tp->ring_mask;
}

static void dd_tp_advance(struct dd_tp *tp)
{
	u64 pn = tp->low_pn;

	while (pn < tp->next_pn && !dd_tp_ring_rec(tp, pn))
		pn++;
	tp->low_pn = pn;
}

/* ---- acknowledged, lost ------------------------------------------------- */

/**
 * struct dd_tp_news - packets that were sent at one time and have arrived
 * @sent_at: when
 * @bytes: in them
 * @count: packets since the beginning of the ACK
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

	if (rec->bytes > rec->count * DD_WIRE_PACKET_MIN)
		tp->stalls = 0;
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

/* What it carried is to be sent again; @mark remains. */
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
		list_splice_tail_init(&rec->done, &tp->owing);
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

/* A packet that was taken for lost has arrived. */
static void dd_tp_mark_acked(struct dd_tp *tp, u64 pn)
{
	/* Those that a timeout sent again were not counted against the path. */
	if (*dd_tp_ring_at(tp, pn) == DD_TP_RING_LOST)
		dd_tp_cc_spurious(tp, tp->largest_acked - pn);
	*dd_tp_ring_at(tp, pn) = DD_TP_RING_NONE;
	tp->stats.spurious++;
	dd_tp_trace(tp, DD_TP_EV_SPURIOUS, pn, 0);
}

/* Packets @first to @last have arrived. */
static void dd_tp_range_acked(struct dd_tp *tp, u64 now, u64 first, u64 last,
			      struct dd_tp_news *news)
{
	u64 oldest = tp->next_pn - min(tp->next_pn, tp->ring_mask + 1ull), pn;
	struct dd_tp_rec *rec;

	first = max3(first, oldest, min(tp->low_pn, tp->mark_pn));
	for (pn = first; pn <= last; pn++) {
		rec = dd_tp_ring_rec(tp, pn);
		if (!rec) {
			if (*dd_tp_ring_at(tp, pn) != DD_TP_RING_NONE)
				dd_tp_mark_acked(tp, pn);
			continue;
		}
		if (rec->pn < pn)
			rec = dd_tp_rec_cut(tp, rec, pn - rec->pn);
		if (rec->count > last - pn + 1)
			dd_tp_rec_cut(tp, rec, last - pn + 1);
		dd_tp_rec_ring(tp, rec, DD_TP_RING_NONE);
		pn += rec->count - 1;
		if (rec->pn == tp->low_pn)
			tp->low_pn = pn + 1;
		dd_tp_rec_acked(tp, now, rec, news);
	}
}

/* What turns up after so long is not worth a look. */
static void dd_tp_marks_age(struct dd_tp *tp)
{
	u64 old = tp->low_pn - min_t(u64, tp->low_pn, 2 * DD_TP_REORDER_MAX);

	if (tp->mark_last < old)
		tp->mark_pn = U64_MAX;
	else if (tp->mark_pn < old)
		tp->mark_pn = old + DD_TP_REORDER_MAX;
}

/* Take packets for lost that are too far behind those that have arrived. */
void dd_tp_detect(struct dd_tp *tp, u64 now)
{
	struct dd_tp_rec *rec;
	u64 delay, pn;

	tp->loss_at = 0;
	dd_tp_advance(tp);
	/* As a rule nothing is missing. */
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
			dd_tp_rec_cut(tp, rec, 1);
		dd_tp_cc_lost(tp, now, rec->sent_at);
		dd_tp_rec_lost(tp, rec, DD_TP_RING_LOST);
	}
	dd_tp_advance(tp);
	dd_tp_marks_age(tp);
}

/* The full number of a packet of ours, or false if there is none such. */
static bool dd_tp_ack_largest(const struct dd_tp *tp,
			      const struct dd_wire_ack *ack, u64 *largest)
{
	u64 last = tp->next_pn - 1;
	u32 behind = (u32)last - le32_to_cpu(ack->largest);

	*largest = last - behind;
	return tp->next_pn && behind <= last;
}

/* Walk the ranges of an ACK, downwards; false: it goes below 0. */
static bool dd_tp_ack_range(const struct dd_wire_ack *ack, u32 i, u64 *first,
			    u64 *last)
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

static bool dd_tp_ack_valid(const struct dd_tp *tp,
			    const struct dd_wire_ack *ack)
{
	u64 first = 0, last;
	u32 i;

	if (!dd_tp_ack_largest(tp, ack, &last))
		return false;
	for (i = 0; i <= ack->count; i++) {
		if (!dd_tp_ack_range(ack, i, &first, &last))
			return false;
	}
	return true;
}

/* The first time that the highest packet is acknowledged measures the path. */
static void dd_tp_ack_rtt(struct dd_tp *tp, u64 now,
			  const struct dd_wire_ack *ack, u64 largest)
{
	u32 rtt = dd_tp_us(now) - le32_to_cpu(ack->ts_echo);
	u64 delay = le16_to_cpu(ack->delay) * DD_TP_US;

	if (largest < tp->largest_acked || (s32)rtt < 0)
		return;
	dd_tp_cc_rtt(tp, rtt * DD_TP_US,
		     min_t(u64, delay, tp->cfg.ack_delay_ns * 2));
}

/* An ACK has come; false: it is nonsense. */
bool dd_tp_acked(struct dd_tp *tp, u64 now, const struct dd_wire_ack *ack)
{
	u64 first = 0, last, largest;
	struct dd_tp_news news = { 0 };
	u32 i;

	if (!dd_tp_ack_valid(tp, ack))
		return false;
	dd_tp_ack_largest(tp, ack, &largest);
	dd_tp_ack_rtt(tp, now, ack, largest);
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
		tp->small = tp->small_until;
	}
	dd_tp_detect(tp, now);
	return true;
}

/* ---- timeouts ----------------------------------------------------------- */

/* When an answer is overdue, or DD_TP_NEVER. */
u64 dd_tp_pto_at(const struct dd_tp *tp)
{
	if (!dd_tp_in_flight(tp))
		return DD_TP_NEVER;
	return tp->last_eliciting + dd_tp_cc_pto(tp);
}

/*
 * Again no answer: perhaps only to packets of this size, and the news of that
 * was lost. If small ones get through where large ones do not, again and again,
 * then it is so, and large ones are tried again after a while.
 */
static void dd_tp_doubt(struct dd_tp *tp, u64 now,
			const struct dd_tp_rec *oldest)
{
	if (tp->pto_count < DD_TP_SMALL_AT)
		return;
	tp->small = true;
	if (tp->pto_count == DD_TP_SMALL_AT &&
	    oldest->bytes > DD_WIRE_PACKET_MIN &&
	    ++tp->stalls >= DD_TP_STALLS)
		tp->small_until = now + DD_TP_SMALL_NS;
}

/* Time to try large packets again. */
static void dd_tp_small_over(struct dd_tp *tp, u64 now)
{
	if (!tp->small_until || now < tp->small_until)
		return;
	tp->small_until = 0;
	tp->small = false;
	/* One more failure is enough. */
	tp->stalls = DD_TP_STALLS - 1;
}

/*
 * No answer: send something again. The oldest two packets are put among the
 * lost ones, which takes nothing from the window; if they do turn up, that is
 * noticed.
 */
void dd_tp_probe(struct dd_tp *tp, u64 now)
{
	struct dd_tp_rec *rec;
	u64 pn;

	tp->pto_count++;
	tp->stats.probes++;
	tp->probes = 2;
	for (pn = tp->low_pn; pn < tp->next_pn && tp->probes; pn++) {
		rec = dd_tp_ring_rec(tp, pn);
		if (!rec)
			continue;
		if (rec->count > 1)
			dd_tp_rec_cut(tp, rec, 1);
		if (tp->probes == 2)
			dd_tp_doubt(tp, now, rec);
		dd_tp_rec_lost(tp, rec, DD_TP_RING_PROBED);
		tp->probes--;
	}
	tp->probes = 2;
	tp->last_eliciting = now;
	dd_tp_advance(tp);
	if (tp->pto_count == DD_TP_COLLAPSE)
		dd_tp_cc_collapse(tp);
}

/* ---- making packets ----------------------------------------------------- */

/**
 * struct dd_tp_build - a packet being made
 * @pkt: the packet
 * @rec: its record; NULL if it gets no number
 * @buf: what is left of its header
 * @now: the time
 * @ack: acknowledges all that has come
 */
struct dd_tp_build {
	struct dd_tp_pkt *pkt;
	struct dd_tp_rec *rec;
	struct dd_wire_buf buf;
	u64 now;
	bool ack;
};

static void dd_tp_build_begin(struct dd_tp *tp, struct dd_tp_build *b,
			      struct dd_tp_pkt *pkt, u64 now)
{
	struct dd_wire_hdr *hdr = pkt->hdr;

	b->pkt = pkt;
	b->rec = NULL;
	b->now = now;
	b->ack = false;
	b->buf.p = (u8 *)hdr;
	b->buf.end = (u8 *)hdr + DD_WIRE_HLEN_MAX;
	pkt->count = 1;
	pkt->chan = NULL;
	pkt->op = NULL;
	pkt->off = 0;
	pkt->len = 0;
	pkt->need_crc = false;
	pkt->more = false;
	hdr = dd_wire_add(&b->buf, sizeof(*hdr));
	hdr->magic = cpu_to_le16(DD_WIRE_MAGIC);
	hdr->version = tp->cur.version;
	hdr->type = DD_WIRE_DATA;
	hdr->token = cpu_to_le64(tp->cur.tx_token);
	hdr->ts = cpu_to_le32(dd_tp_us(now));
}

static void dd_tp_build_end(struct dd_tp *tp, struct dd_tp_build *b)
{
	struct dd_tp_pkt *pkt = b->pkt;
	struct dd_wire_hdr *hdr = pkt->hdr;

	pkt->hlen = b->buf.p - (u8 *)hdr;
	hdr->hlen = cpu_to_le16(pkt->hlen);
	hdr->plen = cpu_to_le16(pkt->len);
	if (b->rec) {
		b->rec->bytes = pkt->hlen + pkt->len;
		dd_tp_rec_sent(tp, b->rec, b->now);
		hdr->pn = cpu_to_le32(b->rec->pn);
	} else {
		hdr->flags |= DD_WIRE_UNNUMBERED;
	}
	if (b->ack)
		dd_tp_ack_sent(tp);
	pkt->need_crc = pkt->len && (tp->cfg.payload_crc || tp->cur.want_crc);
	if (pkt->need_crc)
		hdr->flags |= DD_WIRE_PAYLOAD_CRC;
	pkt->crc = dd_wire_crc(hdr, pkt->hlen);
	dd_wire_seal(hdr, pkt->crc);
	tp->stats.tx_packets++;
	tp->stats.tx_bytes += pkt->len;
}

static void dd_tp_build_put(struct dd_tp_build *b, const struct dd_tp_chan *chan,
			    const struct dd_tp_msg *msg, u32 off)
{
	struct dd_wire_put *put = dd_wire_add(&b->buf, sizeof(*put));
	struct dd_wire_head *head;
	u32 i;

	put->type = DD_FRAME_PUT;
	put->flags = msg->flags;
	put->meta_count = msg->meta_count;
	put->chan = cpu_to_le64(chan->cfg.peer_id);
	put->msgid = cpu_to_le64(msg->msgid);
	put->dst = cpu_to_le64(msg->dst);
	put->len = cpu_to_le32(msg->len);
	put->off = cpu_to_le32(off);
	if (off)
		return;
	head = dd_wire_add(&b->buf, sizeof(*head));
	head->tag = cpu_to_le32(msg->tag);
	for (i = 0; i < msg->meta_count; i++)
		head->meta[i] = cpu_to_le32(msg->meta[i]);
}

/* Bytes of a message from @off on that fit in @room, to a word of the block. */
static u32 dd_tp_piece_len(const struct dd_tp_msg *msg, u32 off, u32 left,
			   u32 room)
{
	if (left <= room)
		return left;
	return room - ((msg->dst + off + room) & 7);
}

/* What is lost is on its way again, or a part of it. */
static void dd_tp_build_again(struct dd_tp *tp, struct dd_tp_build *b,
			      struct dd_tp_rec *lost, u32 len)
{
	b->rec->hurt = true;
	if (len == lost->len) {
		list_del(&lost->node);
		dd_tp_rec_free(tp, lost);
		return;
	}
	lost->off += len;
	lost->len -= len;
	lost->op->hurt++;
}

/*
 * Whether a piece of @len bytes leaves records for those that are lost: each
 * can be sent again if one is free, and in parts if some more are.
 */
static bool dd_tp_build_affords(struct dd_tp *tp, const struct dd_tp_rec *lost,
				u32 len)
{
	if (!lost)
		return tp->nfree >= DD_TP_RESERVE;
	return tp->nfree || len == lost->len;
}

/* Put a piece of @chan in the packet: a lost one, or the next of @op. */
static bool dd_tp_build_piece(struct dd_tp *tp, struct dd_tp_build *b,
			      struct dd_tp_chan *chan, struct dd_tp_op *op,
			      struct dd_tp_rec *lost)
{
	struct dd_tp_pkt *pkt = b->pkt;
	u32 off = lost ? lost->off : op->next;
	u32 left = lost ? lost->len : op->msg.len - op->next;
	u32 room = dd_tp_packet_size(tp) - (b->buf.p - (u8 *)pkt->hdr) -
		   sizeof(struct dd_wire_put) -
		   (off ? 0 : sizeof(struct dd_wire_head));
	u32 len = dd_tp_piece_len(&op->msg, off, left, room);

	if (!dd_tp_build_affords(tp, lost, len))
		return false;
	dd_tp_build_put(b, chan, &op->msg, off);
	pkt->chan = chan;
	pkt->op = op;
	pkt->off = off;
	pkt->len = len;
	pkt->more = len < left;
	b->rec->chan = chan;
	b->rec->op = op;
	b->rec->off = off;
	b->rec->len = len;
	hlist_add_head(&b->rec->flight, &chan->flight);
	if (lost)
		dd_tp_build_again(tp, b, lost, len);
	else
		op->next += len;
	op->head_sent = true;
	return true;
}

/* Channels take turns; a long message sends several packets in each. */
static void dd_tp_build_payload(struct dd_tp *tp, struct dd_tp_build *b)
{
	struct dd_tp_chan *chan, *next;
	struct dd_tp_rec *lost;
	struct dd_tp_op *op;

	list_for_each_entry_safe(chan, next, &tp->ready, ready) {
		if (!dd_tp_chan_next(tp, chan, &op, &lost)) {
			list_del_init(&chan->ready);
			continue;
		}
		if (!dd_tp_build_piece(tp, b, chan, op, lost))
			continue;
		/* Often that was all: nobody need look at it again. */
		if (!lost && !b->pkt->more && list_empty(&chan->lost) &&
		    list_is_last(&op->node, &chan->ops))
			list_del_init(&chan->ready);
		else
			dd_tp_chan_turn(tp, chan, b->pkt->len);
		return;
	}
}

static void dd_tp_build_done(struct dd_tp *tp, struct dd_tp_build *b,
			     u32 reserve)
{
	struct dd_tp_chan *chan, *next;
	struct dd_wire_done *done;

	list_for_each_entry_safe(chan, next, &tp->owing, done_node) {
		if (b->buf.end - b->buf.p < sizeof(*done) + reserve)
			return;
		done = dd_wire_add(&b->buf, sizeof(*done));
		dd_tp_done_fill(tp, chan, done);
		list_move_tail(&chan->done_node, &b->rec->done);
	}
}

/*
 * Packets may overtake each other, and who answers a message must know by then
 * that the answer before it is done: until it has arrived, DONE goes along with the
 * first piece of each message. Who has all of that has the DONE.
 */
static void dd_tp_done_along(struct dd_tp *tp)
{
	struct dd_tp_chan *chan = list_first_entry(&tp->ready,
						   struct dd_tp_chan, ready);
	struct dd_tp_rec *lost;
	struct dd_tp_op *op;

	if (list_empty(&chan->done_node) ||
	    tp->owing.next == &chan->done_node ||
	    !dd_tp_chan_next(tp, chan, &op, &lost))
		return;
	if (lost ? !lost->off : !op->head_sent)
		list_move(&chan->done_node, &tp->owing);
}

static void dd_tp_build_ping(struct dd_tp_build *b)
{
	struct dd_wire_ping *ping = dd_wire_add(&b->buf, sizeof(*ping));

	ping->type = DD_FRAME_PING;
}

/* What a packet with a number carries; @data: not only what is owed. */
static void dd_tp_build_frames(struct dd_tp *tp, struct dd_tp_build *b,
			       bool data)
{
	bool spare = tp->nfree, put;

	/* Leaves room for the longest control message. */
	b->ack = dd_tp_ack_add(tp, b->now, &b->buf,
			       sizeof(struct dd_wire_ctl) + DD_WIRE_CTL_MAX);
	/* The last record is for what is lost. */
	if (data && spare)
		dd_tp_ctl_add(tp, &b->buf, b->rec);
	put = data && !list_empty(&tp->ready) &&
	      b->buf.end - b->buf.p >= DD_TP_PUT_ROOM;
	if (put)
		dd_tp_done_along(tp);
	if (spare)
		dd_tp_build_done(tp, b, put ? DD_TP_PUT_ROOM : 0);
	if (put)
		dd_tp_build_payload(tp, b);
}

static bool dd_tp_build_full(struct dd_tp *tp, struct dd_tp_pkt *pkt, u64 now,
			     bool data)
{
	struct dd_tp_build b;

	dd_tp_build_begin(tp, &b, pkt, now);
	b.rec = dd_tp_rec_alloc(tp);
	dd_tp_build_frames(tp, &b, data);
	if (!b.rec->nctl && !b.rec->chan && list_empty(&b.rec->done)) {
		if (!tp->ping || !tp->nfree) {
			dd_tp_rec_free(tp, b.rec);
			return false;
		}
		dd_tp_build_ping(&b);
	}
	dd_tp_build_end(tp, &b);
	return true;
}

static void dd_tp_build_ack(struct dd_tp *tp, struct dd_tp_pkt *pkt, u64 now)
{
	struct dd_tp_build b;

	dd_tp_build_begin(tp, &b, pkt, now);
	b.ack = dd_tp_ack_add(tp, now, &b.buf, 0);
	dd_tp_build_end(tp, &b);
	tp->stats.acks++;
}

/* Whether there is anything to send but what is owed. */
static bool dd_tp_wants(struct dd_tp *tp)
{
	struct dd_tp_chan *chan, *next;
	struct dd_tp_rec *lost;
	struct dd_tp_op *op;

	list_for_each_entry_safe(chan, next, &tp->ready, ready) {
		if (dd_tp_chan_next(tp, chan, &op, &lost))
			return true;
		list_del_init(&chan->ready);
	}
	return tp->ctl_queued || tp->ping;
}

static bool dd_tp_may_send(struct dd_tp *tp, u64 now)
{
	if (!dd_tp_wants(tp)) {
		tp->cc.limited = false;
		tp->cc.paced = false;
		return false;
	}
	if (tp->probes && dd_tp_rec_room(tp, 0)) {
		tp->probes--;
		return true;
	}
	return dd_tp_rec_room(tp, 0) &&
	       dd_tp_cc_room(tp, now, dd_tp_packet_size(tp));
}

/* When what is owed is due, as far as it can be sent. */
u64 dd_tp_ack_at(const struct dd_tp *tp)
{
	bool owing = !list_empty(&tp->owing) && dd_tp_rec_room(tp, 1);

	return tp->ack_at && (tp->ack_count || owing) ? tp->ack_at :
							DD_TP_NEVER;
}

/* Whether it is plain that nothing is to be sent now. */
static bool dd_tp_idle(const struct dd_tp *tp, u64 now)
{
	return list_empty(&tp->ready) && !tp->ctl_queued && !tp->ping &&
	       dd_tp_ack_at(tp) > now;
}

static bool dd_tp_poll_up(struct dd_tp *tp, u64 now, struct dd_tp_pkt *pkt)
{
	if (dd_tp_idle(tp, now)) {
		tp->cc.limited = false;
		tp->cc.paced = false;
		return false;
	}
	dd_tp_small_over(tp, now);
	if (dd_tp_train_poll(tp, now, pkt))
		return true;
	if (dd_tp_may_send(tp, now) && dd_tp_build_full(tp, pkt, now, true)) {
		dd_tp_train_made(tp, pkt);
		return true;
	}
	if (dd_tp_ack_at(tp) > now)
		return false;
	if (!list_empty(&tp->owing) && dd_tp_rec_room(tp, 1))
		return dd_tp_build_full(tp, pkt, now, false);
	if (!tp->ack_count)
		return false;
	dd_tp_build_ack(tp, pkt, now);
	return true;
}

static void dd_tp_build_bye(struct dd_tp *tp, struct dd_tp_pkt *pkt, u64 now)
{
	struct dd_tp_build b;
	struct dd_wire_bye *bye;

	dd_tp_build_begin(tp, &b, pkt, now);
	pkt->hdr->token = cpu_to_le64(tp->bye);
	pkt->hdr->version = tp->bye_version;
	bye = dd_wire_add(&b.buf, sizeof(*bye));
	bye->type = DD_FRAME_BYE;
	bye->reason = tp->bye_reason;
	dd_tp_build_end(tp, &b);
	tp->bye = 0;
}

static bool dd_tp_build_reply(struct dd_tp *tp, struct dd_tp_pkt *pkt)
{
	memcpy(pkt->hdr, tp->reply, tp->reply_len);
	pkt->hlen = tp->reply_len;
	tp->reply_len = 0;
	tp->stats.tx_packets++;
	return true;
}

bool dd_tp_poll(struct dd_tp *tp, u64 now, struct dd_tp_pkt *pkt)
{
	if (tp->bye) {
		dd_tp_build_bye(tp, pkt, now);
		return true;
	}
	if (tp->state == DD_TP_UP && !tp->reply_len)
		return dd_tp_poll_up(tp, now, pkt);
	pkt->count = 1;
	pkt->chan = NULL;
	pkt->op = NULL;
	pkt->off = 0;
	pkt->len = 0;
	pkt->need_crc = false;
	pkt->more = false;
	if (tp->reply_len)
		return dd_tp_build_reply(tp, pkt);
	if (tp->state != DD_TP_OPENING || tp->init_at > now)
		return false;
	pkt->hlen = dd_tp_build_init(tp, now, pkt->hdr);
	tp->stats.tx_packets++;
	return true;
}
