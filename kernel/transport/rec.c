// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of packets in flight and of lost pieces, and the ring that finds a record by the
 * number of its packet.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport/internal.h"

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
	rec->retransmit = false;
	return rec;
}

/* @rec must be on no list and carry no DONE. */
void dd_tp_rec_free(struct dd_tp *tp, struct dd_tp_rec *rec)
{
	rec->next = tp->free;
	tp->free = rec;
	tp->nfree += rec->count;
}

void dd_tp_rec_ring(struct dd_tp *tp, const struct dd_tp_rec *rec, u16 entry)
{
	u32 i = rec->pn & tp->ring_mask;
	u32 n = min(rec->count, tp->ring_mask + 1 - i);

	/* Common case, without the overhead of string instructions. */
	if (rec->count == 1) {
		tp->ring[i] = entry;
		return;
	}
	memset16(tp->ring + i, entry, n);
	memset16(tp->ring, entry, rec->count - n);
}

/*
 * Split a batch: @rec keeps its first @n packets, and the rest moves to a record
 * that was reserved for this on the free list.
 */
struct dd_tp_rec *dd_tp_rec_split(struct dd_tp *tp, struct dd_tp_rec *rec, u32 n)
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
	rest->retransmit = false;
	if (rest->chan)
		hlist_add_head(&rest->flight, &rest->chan->flight);
	rec->count = n;
	rec->len = n * len;
	rec->bytes = n * bytes;
	dd_tp_rec_ring(tp, rest, rest - tp->recs + 1);
	return rest;
}

void dd_tp_rec_trace(struct dd_tp *tp, enum dd_tp_event event, const struct dd_tp_rec *rec)
{
	u32 i;

	for (i = 0; tp->tracing && i < rec->count; i++)
		tp->ops->trace(tp, event, rec->pn + i, rec->bytes / rec->count);
}

/* The packets of @rec are built: number and account them. */
void dd_tp_rec_sent(struct dd_tp *tp, struct dd_tp_rec *rec, u64 now)
{
	rec->pn = tp->next_pn;
	rec->sent_at = now;
	tp->next_pn += rec->count;
	dd_tp_rec_ring(tp, rec, rec - tp->recs + 1);
	tp->last_eliciting = now;
	if (!tp->unanswered_since)
		tp->unanswered_since = now;
	tp->cc.flight += rec->bytes;
	tp->ping = false;
	dd_tp_cc_sent(tp, now, rec->bytes);
	dd_tp_rec_trace(tp, DD_TP_EV_SENT, rec);
}

/* Whether a record can be used so that @keep remain free. */
bool dd_tp_rec_space(const struct dd_tp *tp, u32 keep)
{
	return tp->nfree > keep && tp->next_pn - tp->low_pn <= tp->ring_mask;
}

/* The packet stays in flight, but its piece needs no acknowledgment any more. */
void dd_tp_rec_detach(struct dd_tp_rec *rec)
{
	hlist_del_init(&rec->flight);
	rec->chan = NULL;
	rec->op = NULL;
}

/* No piece of @op, or of any message if @op is NULL, needs an acknowledgment any more. */
void dd_tp_recs_drop(struct dd_tp *tp, struct dd_tp_chan *chan, const struct dd_tp_op *op)
{
	struct dd_tp_rec *rec, *next;
	struct hlist_node *node;

	hlist_for_each_entry_safe(rec, node, &chan->flight, flight) {
		if (!op || rec->op == op)
			dd_tp_rec_detach(rec);
	}
	list_for_each_entry_safe(rec, next, &chan->lost, node) {
		if (!op || rec->op == op) {
			list_del(&rec->node);
			dd_tp_rec_free(tp, rec);
		}
	}
}

/* Merge the lost pieces @rec and @next if they are adjacent. */
static void dd_tp_rec_join(struct dd_tp *tp, struct dd_tp_rec *rec, struct dd_tp_rec *next)
{
	if (rec->op != next->op || rec->off + rec->len != next->off)
		return;
	rec->len += next->len;
	rec->op->retransmit--;
	list_del(&next->node);
	dd_tp_rec_free(tp, next);
}

/* Move a piece from those in flight to those to retransmit, by message and offset. */
void dd_tp_rec_sort(struct dd_tp *tp, struct dd_tp_rec *rec)
{
	struct list_head *lost = &rec->chan->lost;
	struct dd_tp_rec *pos;

	hlist_del(&rec->flight);
	list_for_each_entry_reverse(pos, lost, node) {
		if (pos->op->msg.msgid < rec->op->msg.msgid ||
		    (pos->op == rec->op && pos->off < rec->off))
			break;
	}
	list_add(&rec->node, &pos->node);
	/* Else pieces cut for a smaller MTU would use up the records. */
	if (rec->node.next != lost)
		dd_tp_rec_join(tp, rec, list_next_entry(rec, node));
	if (rec->node.prev != lost)
		dd_tp_rec_join(tp, pos, rec);
}
