// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages: sent in pieces, reassembled, each byte stored once and in order.
 *
 * Sender: each sent piece of a message is in one record, which is in flight or
 * lost. Pieces of a message with lost pieces are sent before those of later
 * messages, because the receiver does not accept the latter yet.
 *
 * Receiver: each channel has one message in progress. Pieces are deposited as they
 * arrive. Bytes that are in place already are skipped, so that a retransmission
 * after the sender has reused the source changes nothing. The last word is stored
 * after all other bytes. Pieces of the next message are dropped unacknowledged
 * until then: the sender, not the receiver, keeps them in memory.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport/internal.h"

int dd_tp_chan_init(struct dd_tp *tp, struct dd_tp_chan *chan,
		    const struct dd_tp_chan_cfg *cfg)
{
	if (tp->state != DD_TP_UP)
		return -ENOTCONN;
	memset(chan, 0, offsetof(struct dd_tp_chan, msg));
	chan->cfg = *cfg;
	chan->up = true;
	chan->limit = cfg->tx_window - cfg->tx_taken + 1;
	chan->lead = cfg->tx_window / 2;
	chan->granted = cfg->rx_window - cfg->rx_taken + 1;
	INIT_LIST_HEAD(&chan->ready);
	INIT_LIST_HEAD(&chan->done_node);
	INIT_LIST_HEAD(&chan->ops);
	INIT_HLIST_HEAD(&chan->flight);
	INIT_LIST_HEAD(&chan->lost);
	list_add_tail(&chan->node, &tp->chans);
	return 0;
}

int dd_tp_chan_peer(struct dd_tp *tp, struct dd_tp_chan *chan, u64 peer_id,
		    u32 tx_window, u32 tx_taken)
{
	if (!chan->up)
		return -ENOTCONN;
	chan->cfg.peer_id = peer_id;
	chan->cfg.tx_window = tx_window;
	chan->limit = tx_window - tx_taken + 1;
	chan->lead = tx_window / 2;
	if (chan->notified)
		dd_tp_queue_done(tp, chan, tp->last_rx);
	return 0;
}

/* The next piece of @chan will not continue the batch. */
static void dd_tp_tx_batch_end(struct dd_tp *tp, const struct dd_tp_chan *chan)
{
	if (tp->tx_batch.chan == chan)
		tp->tx_batch.chan = NULL;
}

/* Find a channel by its local id; the last one found is the most likely one. */
static struct dd_tp_chan *dd_tp_chan_find(struct dd_tp *tp, u64 id)
{
	struct dd_tp_chan *chan = tp->last_chan;

	if (chan && chan->cfg.id == id)
		return chan;
	chan = tp->ops->find(tp, id);
	if (!chan || !chan->up)
		return NULL;
	tp->last_chan = chan;
	return chan;
}

void dd_tp_chan_drop(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	if (tp->busy == chan)
		tp->busy = NULL;
	if (tp->last_chan == chan)
		tp->last_chan = NULL;
	if (tp->rx_batch.chan == chan)
		tp->rx_batch.chan = NULL;
	dd_tp_tx_batch_end(tp, chan);
	if (!chan->up)
		return;
	chan->up = false;
	dd_tp_recs_drop(tp, chan, NULL);
	list_del_init(&chan->node);
	list_del_init(&chan->ready);
	list_del_init(&chan->done_node);
}

/* The session ended: drop all its channels. */
void dd_tp_chans_end(struct dd_tp *tp)
{
	struct dd_tp_chan *chan, *next;

	list_for_each_entry_safe(chan, next, &tp->chans, node)
		dd_tp_chan_drop(tp, chan);
}

int dd_tp_submit(struct dd_tp *tp, struct dd_tp_chan *chan, struct dd_tp_op *op)
{
	struct dd_tp_msg *msg = &op->msg;

	if (!chan->up || !chan->cfg.peer_id)
		return -ENOTCONN;
	if (msg->len > DD_WIRE_MSG_MAX || msg->meta_count > DD_WIRE_META ||
	    msg->dst > U64_MAX - DD_WIRE_MSG_MAX || msg->flags & ~DD_PUT_FLAGS ||
	    ((msg->op || msg->flags & DD_PUT_REPLY) && tp->cur.version < 2))
		return -EINVAL;
	if (chan->submitted - chan->done > chan->cfg.tx_window)
		return -EBUSY;
	msg->msgid = ++chan->submitted;
	chan->awaited &= msg->msgid == chan->done + 1;
	op->next = 0;
	op->acked = 0;
	op->retransmit = 0;
	list_add_tail(&op->node, &chan->ops);
	chan->answers |= chan->unanswered && !chan->cfg.one_sided;
	chan->unanswered = false;
	dd_tp_chan_kick(tp, chan);
	return 0;
}

void dd_tp_chan_await(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	struct dd_tp_op *op;

	/* If the peer answers each message, its answers carry DONE. */
	if (!chan->up || chan->done == chan->submitted ||
	    chan->asked == chan->submitted || chan->answers)
		return;
	chan->awaited = true;
	op = list_empty(&chan->ops) ? NULL :
	     list_last_entry(&chan->ops, struct dd_tp_op, node);
	if (op && !op->next) {
		op->msg.flags |= DD_PUT_PROMPT;
		return;
	}
	tp->ping = true;
	chan->asked = chan->submitted;
	chan->asked_at = 0;
}

/*
 * Whether message @msgid, whose first piece is about to be sent, asks for an
 * immediate DONE, because the sender will soon wait for it: the message is the last
 * one permitted now, or less than a round trip before the last one; or the sender
 * waited for the previous message and this is the only one in flight. If an earlier
 * message has asked, another one asks only after half of a window.
 */
static bool dd_tp_chan_asks(const struct dd_tp_chan *chan, u64 msgid)
{
	u32 window = chan->cfg.tx_window;
	u64 last = min(chan->limit, chan->done + window);

	if (chan->awaited)
		return true;
	if (window == 1)
		return chan->cfg.prompt || msgid > last;
	if (chan->asked <= chan->done)
		return msgid + chan->lead >= last;
	return msgid >= last && msgid - chan->asked >= (window + 1) / 2;
}

/* The first piece of a message is about to be sent, at @now. */
void dd_tp_chan_ask(struct dd_tp_chan *chan, struct dd_tp_msg *msg, u64 now)
{
	u64 n = msg->msgid - chan->asked;

	if (!(msg->flags & DD_PUT_PROMPT) && !dd_tp_chan_asks(chan, msg->msgid))
		return;
	msg->flags |= DD_PUT_PROMPT;
	/* Limit the growth: the sender may have had nothing to send. */
	if (n && chan->cfg.tx_window > 1)
		chan->gap = min(div64_u64(now - chan->asked_at, n),
				2 * chan->gap + DD_TP_US);
	chan->asked = msg->msgid;
	chan->asked_at = now;
}

/* The list of the session on which a channel waits to send. */
static struct list_head *dd_tp_chan_queue(struct dd_tp *tp, const struct dd_tp_chan *chan)
{
	return list_empty(&chan->lost) ? &tp->ready : &tp->retransmit;
}

/* Put a channel on the list of those that may have something to send. */
void dd_tp_chan_kick(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	if (!list_empty(&chan->ready))
		return;
	chan->burst = DD_TP_BURST;
	list_add_tail(&chan->ready, dd_tp_chan_queue(tp, chan));
}

/* Account @len bytes sent by @chan; after a burst, the next channel has its turn. */
void dd_tp_chan_turn(struct dd_tp *tp, struct dd_tp_chan *chan, u32 len)
{
	chan->burst -= len + sizeof(struct dd_wire_put);
	if (chan->burst > 0)
		return;
	chan->burst = DD_TP_BURST;
	list_move_tail(&chan->ready, dd_tp_chan_queue(tp, chan));
}

/* An empty message counts as one byte. */
static u32 dd_tp_op_len(const struct dd_tp_op *op)
{
	return op->msg.len ?: 1;
}

static bool dd_tp_op_sent(const struct dd_tp_op *op)
{
	return op->next == dd_tp_op_len(op);
}

static bool dd_tp_op_acked(const struct dd_tp_op *op)
{
	return op->acked == dd_tp_op_len(op);
}

/* The first message with unsent or lost bytes. */
struct dd_tp_op *dd_tp_chan_op(struct dd_tp_chan *chan)
{
	struct dd_tp_op *op;

	list_for_each_entry(op, &chan->ops, node) {
		if (op->retransmit || !dd_tp_op_sent(op))
			return op;
	}
	return NULL;
}

/*
 * Find the bytes that a channel sends next: the lost piece *@lost, or those of
 * *@op from (*@op)->next on.
 */
static bool dd_tp_chan_next(struct dd_tp_chan *chan, struct dd_tp_op **op,
			    struct dd_tp_rec **lost)
{
	struct dd_tp_rec *rec;

	*lost = NULL;
	*op = dd_tp_chan_op(chan);
	if (!*op)
		return false;
	rec = list_first_entry_or_null(&chan->lost, struct dd_tp_rec, node);
	if (rec && rec->op == *op) {
		*lost = rec;
		return true;
	}
	return !dd_tp_op_sent(*op) && (*op)->msg.msgid <= chan->limit;
}

/* The first channel that has a lost piece to send, and that piece. */
static struct dd_tp_chan *dd_tp_chan_lossy(struct dd_tp *tp,
					   struct dd_tp_op **op,
					   struct dd_tp_rec **lost)
{
	struct dd_tp_chan *chan, *next;

	list_for_each_entry_safe(chan, next, &tp->retransmit, ready) {
		if (dd_tp_chan_next(chan, op, lost) && *lost)
			return chan;
		list_del_init(&chan->ready);
		/* The lost pieces wait for a retransmission that is in flight. */
		if (list_empty(&chan->lost))
			dd_tp_chan_kick(tp, chan);
	}
	return NULL;
}

/*
 * The first channel that has new bytes to send. If there are too few free records
 * for these, the same holds for all other channels.
 */
static struct dd_tp_chan *dd_tp_chan_fresh(struct dd_tp *tp,
					   struct dd_tp_op **op,
					   struct dd_tp_rec **lost)
{
	struct dd_tp_chan *chan, *next;

	list_for_each_entry_safe(chan, next, &tp->ready, ready) {
		if (dd_tp_chan_next(chan, op, lost))
			return chan;
		list_del_init(&chan->ready);
	}
	return NULL;
}

/*
 * Find the channel whose turn it is, and its next bytes. Lost pieces and new bytes
 * alternate; without free records for new bytes, beside that of the packet, lost pieces
 * are sent.
 */
struct dd_tp_chan *dd_tp_chan_first(struct dd_tp *tp, struct dd_tp_op **op,
				    struct dd_tp_rec **lost)
{
	struct dd_tp_chan *chan = NULL;

	if (tp->fresh_turn && tp->nfree > DD_TP_RESERVE)
		chan = dd_tp_chan_fresh(tp, op, lost);
	if (!chan && !list_empty(&tp->retransmit))
		chan = dd_tp_chan_lossy(tp, op, lost);
	return chan ?: dd_tp_chan_fresh(tp, op, lost);
}

/* Report messages of which all bytes are acknowledged, in order. */
static void dd_tp_chan_sent(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	struct dd_tp_op *op, *next;
	u64 sent = chan->sent;

	list_for_each_entry_safe(op, next, &chan->ops, node) {
		if (!dd_tp_op_acked(op))
			break;
		list_del_init(&op->node);
		chan->sent = op->msg.msgid;
	}
	if (chan->sent != sent)
		tp->ops->sent(tp, chan, chan->sent);
}

/* A packet with a piece was acknowledged. */
void dd_tp_piece_acked(struct dd_tp *tp, struct dd_tp_rec *rec)
{
	struct dd_tp_chan *chan = rec->chan;
	struct dd_tp_op *op = rec->op;

	op->acked += rec->len ?: 1;
	if (rec->retransmit) {
		op->retransmit--;
		if (!op->retransmit)
			dd_tp_chan_kick(tp, chan);
	}
	dd_tp_rec_detach(rec);
	if (dd_tp_op_acked(op))
		dd_tp_chan_sent(tp, chan);
}

/* A packet with a piece was lost. */
void dd_tp_piece_lost(struct dd_tp *tp, struct dd_tp_rec *rec)
{
	struct dd_tp_chan *chan = rec->chan;

	if (!rec->retransmit) {
		rec->retransmit = true;
		rec->op->retransmit++;
	}
	dd_tp_tx_batch_end(tp, chan);
	if (list_empty(&chan->lost))
		list_del_init(&chan->ready);
	dd_tp_rec_sort(tp, rec);
	dd_tp_chan_kick(tp, chan);
}

static void dd_tp_chan_done(struct dd_tp *tp, struct dd_tp_chan *chan, u64 count)
{
	u32 window = chan->cfg.tx_window;
	struct dd_tp_op *op;

	if (count <= chan->done)
		return;
	/*
	 * The last message that asked is done: update how early the next one asks,
	 * unless a PING asked: then the time is not known.
	 */
	if (chan->done < chan->asked && chan->asked <= count && chan->asked_at && window > 1)
		chan->lead = min(div64_u64(tp->last_rx - chan->asked_at,
					   max(chan->gap, 1ull)), window / 2 + 0ull);
	chan->done = count;
	/* Messages that are done have arrived, even if the acknowledgment was lost. */
	dd_tp_tx_batch_end(tp, chan);
	list_for_each_entry(op, &chan->ops, node) {
		if (op->msg.msgid > count)
			break;
		dd_tp_recs_drop(tp, chan, op);
		op->retransmit = 0;
		op->next = dd_tp_op_len(op);
		op->acked = op->next;
	}
	tp->busy = chan;
	dd_tp_chan_sent(tp, chan);
	if (tp->busy)
		tp->ops->done(tp, chan, count);
	tp->busy = NULL;
}

void dd_tp_chan_over(struct dd_tp *tp, struct dd_tp_chan *chan, u64 count)
{
	if (chan->up && count <= chan->submitted)
		dd_tp_chan_done(tp, chan, count);
}

void dd_tp_done_rx(struct dd_tp *tp, const struct dd_wire_done *done)
{
	struct dd_tp_chan *chan = dd_tp_chan_find(tp, le64_to_cpu(done->chan));
	u64 count = le64_to_cpu(done->count);

	if (!chan) {
		dd_tp_drop(tp, DD_TP_DROP_CHAN);
		return;
	}
	if (count > chan->submitted) {
		dd_tp_drop(tp, DD_TP_DROP_BOUNDS);
		return;
	}
	chan->limit = max(chan->limit, count + le16_to_cpu(done->credit));
	if (!list_empty(&chan->ops))
		dd_tp_chan_kick(tp, chan);
	dd_tp_chan_done(tp, chan, count);
}

/**
 * struct dd_tp_piece - a received piece
 * @chan: channel
 * @payload: its bytes
 * @off: offset of the first byte in the message
 * @end: offset after the last byte
 */
struct dd_tp_piece {
	struct dd_tp_chan *chan;
	const void *payload;
	u32 off;
	u32 end;
};

/* Start of the bytes that must be stored last; see dd_copy_last(). */
static u32 dd_tp_tail_start(const struct dd_tp_msg *msg)
{
	u32 tail = (msg->dst + msg->len) & 7;

	return msg->len - min(tail ? tail : 8, msg->len);
}

/* The first piece received defines the message; the others must agree with it. */
static bool dd_tp_msg_agrees(struct dd_tp_chan *chan, const struct dd_wire_put *put)
{
	u64 dst = le64_to_cpu(put->dst);
	u32 len = le32_to_cpu(put->len);
	struct dd_tp_msg *msg = &chan->msg;

	if (chan->in_progress)
		return dst == msg->dst && len == msg->len &&
		       put->op == msg->op && put->flags == msg->flags &&
		       put->meta_count == msg->meta_count;
	if (len > chan->cfg.rx_size || dst > chan->cfg.rx_size - len)
		return false;
	msg->msgid = chan->received + 1;
	msg->dst = dst;
	msg->len = len;
	msg->op = put->op;
	msg->flags = put->flags;
	msg->meta_count = put->meta_count;
	chan->in_progress = true;
	chan->ntail = msg->len - dd_tp_tail_start(msg);
	chan->nranges = 0;
	return true;
}

/* Index of the first range that ends at or after @off. */
static u32 dd_tp_range_find(const struct dd_tp_chan *chan, u32 off)
{
	u32 i = chan->nranges;

		/* From the end: most pieces extend the last range. */
	while (i && chan->range[i - 1].end >= off)
		i--;
	return i;
}

/* Add the bytes from @off to @end, which are in no range. */
static void dd_tp_range_add(struct dd_tp_chan *chan, u32 off, u32 end)
{
	u32 i = dd_tp_range_find(chan, off);
	struct dd_tp_range *r = &chan->range[i];

	if (i < chan->nranges && r->end == off) {
		r->end = end;
		if (i + 1 < chan->nranges && r[1].start == end) {
			r->end = r[1].end;
			chan->nranges--;
			memmove(r + 1, r + 2, (chan->nranges - i - 1) * sizeof(*r));
		}
		return;
	}
	if (i < chan->nranges && r->start == end) {
		r->start = off;
		return;
	}
	if (i < chan->nranges)
		memmove(r + 1, r, (chan->nranges - i) * sizeof(*r));
	chan->nranges++;
	r->start = off;
	r->end = end;
}

/* Deposit the bytes from @off to @end, of which none is in place. */
static int dd_tp_piece_store(struct dd_tp *tp, const struct dd_tp_piece *piece,
			     u32 off, u32 end)
{
	struct dd_tp_chan *chan = piece->chan;
	u32 tail = dd_tp_tail_start(&chan->msg);
	u32 n = min(end, tail) - min(off, tail);
	int err = 0;

	if (n)
		err = tp->ops->deposit(tp, chan, chan->msg.dst + off,
				       piece->payload, off - piece->off, n);
	if (err)
		return err;
	if (end == chan->msg.len && end)
		tp->ops->peek(tp, piece->payload, tail - piece->off, chan->tail,
			      chan->ntail);
	tp->stats.rx_bytes += end - off;
	dd_tp_range_add(chan, off, end);
	return 0;
}

/* Deposit the bytes of a piece that are not in place. */
static int dd_tp_piece_deposit(struct dd_tp *tp, const struct dd_tp_piece *piece)
{
	struct dd_tp_chan *chan = piece->chan;
	u32 off = piece->off;

	/* Fast path: the first piece, usually of a message of one piece. */
	if (!chan->nranges && off < piece->end)
		return dd_tp_piece_store(tp, piece, off, piece->end);
	while (off < piece->end) {
		u32 i = dd_tp_range_find(chan, off + 1);
		u32 end = piece->end;
		int err;

		if (i < chan->nranges && chan->range[i].start <= off) {
			off = chan->range[i].end;
			continue;
		}
		if (i < chan->nranges)
			end = min(end, chan->range[i].start);
		err = dd_tp_piece_store(tp, piece, off, end);
		if (err)
			return err;
		off = end;
	}
	return 0;
}

/* All pieces have been received; @alone if there was only one. */
static void dd_tp_msg_complete(struct dd_tp *tp, u64 now,
			       struct dd_tp_chan *chan, bool alone)
{
	bool notified;

	chan->in_progress = false;
	chan->received++;
	tp->stats.messages++;
	chan->answers &= !chan->unanswered;
	chan->unanswered = true;
	tp->busy = chan;
	notified = tp->ops->complete(tp, chan, &chan->msg, chan->tail, chan->ntail);
	if (tp->busy && notified) {
		chan->notified = chan->received;
		dd_tp_msg_done(tp, now, chan, alone);
	}
	tp->busy = NULL;
}

/* A PUT frame was received. Return: whether to acknowledge its packet. */
bool dd_tp_put_rx(struct dd_tp *tp, u64 now, const struct dd_wire_put *put,
		  const void *payload, u32 plen)
{
	const struct dd_wire_head *head = (const void *)(put + 1);
	struct dd_tp_piece piece = { .payload = payload };
	u64 msgid = le64_to_cpu(put->msgid), dst = le64_to_cpu(put->dst);
	struct dd_tp_chan *chan;
	int err;
	u32 i;

	piece.off = le32_to_cpu(put->off);
	piece.end = piece.off + plen;
	chan = dd_tp_chan_find(tp, le64_to_cpu(put->chan));
	if (!chan || le32_to_cpu(put->generation) != chan->cfg.generation)
		return !dd_tp_drop(tp, DD_TP_DROP_CHAN);
	piece.chan = chan;
	if (msgid <= chan->received)
		return !dd_tp_drop(tp, DD_TP_DROP_BYTES);
	if (tp->hold || chan->hold) {
		/* The PING keeps the session alive: nothing is acknowledged now. */
		tp->ping = true;
		return dd_tp_drop(tp, DD_TP_DROP_AGAIN);
	}
	if (msgid > chan->granted)
		return dd_tp_drop(tp, DD_TP_DROP_CREDIT);
	if (msgid != chan->received + 1)
		return dd_tp_drop(tp, DD_TP_DROP_ORDER);
	/*
	 * A note is withheld, so there is no place for another one. The limit
	 * covers this, unless the list grew concurrently or the peer ignores its
	 * limit.
	 */
	if (chan->notified != chan->received) {
		tp->ping = true;
		return dd_tp_drop(tp, DD_TP_DROP_AGAIN);
	}
	/* Pieces consist of whole words of the block, except at the message's ends. */
	if ((piece.off && (dst + piece.off) & 7) ||
	    (piece.end != le32_to_cpu(put->len) && (dst + piece.end) & 7) ||
	    !dd_tp_msg_agrees(chan, put))
		return dd_tp_drop(tp, DD_TP_DROP_BOUNDS);
	if (chan->nranges >= DD_TP_HOLES) {
		i = dd_tp_range_find(chan, piece.off);
		if (i == chan->nranges || chan->range[i].start > piece.end)
			return dd_tp_drop(tp, DD_TP_DROP_HOLES);
	}
	err = dd_tp_piece_deposit(tp, &piece);
	if (err) {
		dd_tp_drop(tp, err == -EAGAIN ? DD_TP_DROP_AGAIN : DD_TP_DROP_CLOSED);
		return err != -EAGAIN;
	}
	if (!piece.off) {
		chan->msg.tag = le32_to_cpu(head->tag);
		for (i = 0; i < DD_WIRE_META; i++)
			chan->msg.meta[i] = le32_to_cpu(head->meta[i]);
	}
	if (!chan->msg.len || (chan->nranges == 1 && !chan->range[0].start &&
			       chan->range[0].end == chan->msg.len))
		dd_tp_msg_complete(tp, now, chan, plen == chan->msg.len);
	else
		dd_tp_chan_refresh(tp, chan, now);
	if (chan->in_progress)
		tp->rx_batch.chan = chan;
	return true;
}
