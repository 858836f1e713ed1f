// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages: cut into pieces, put together, each byte stored once, in order.
 *
 * Sender. A piece of a message is unsent, or in one record: in flight, or lost.
 * Those of a message that lost something go before those of later messages,
 * since the receiver would not take these.
 *
 * Receiver. Of each channel one message is in progress. Pieces are deposited as
 * they come, what has come already is left out, so that a piece sent again
 * after its source was reused changes nothing. The last word is kept until all
 * else is there. Pieces of the next message are refused until then, without
 * acknowledgment: it is the sender that has the memory to hold them.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport_int.h"

/* Say so at @at, or before; not to an end that has no name yet. */
static void dd_tp_chan_owe(struct dd_tp *tp, struct dd_tp_chan *chan, u64 at)
{
	if (!chan->cfg.peer_id)
		return;
	/* It may be in flight with an older count: then that one is void. */
	if (!list_empty(&chan->done_node))
		list_del(&chan->done_node);
	list_add_tail(&chan->done_node, &tp->owing);
	tp->ack_hurry |= at <= tp->last_rx;
	dd_tp_ack_by(tp, at);
}

/* ---- life --------------------------------------------------------------- */

int dd_tp_chan_init(struct dd_tp *tp, struct dd_tp_chan *chan,
		    const struct dd_tp_chan_cfg *cfg)
{
	if (!cfg->id || !cfg->rx_window || cfg->rx_window > DD_TP_WINDOW_MAX ||
	    cfg->tx_window > DD_TP_WINDOW_MAX ||
	    cfg->rx_taken > cfg->rx_window || cfg->tx_taken > cfg->tx_window ||
	    (cfg->peer_id && !cfg->tx_window))
		return -EINVAL;
	if (tp->state != DD_TP_UP)
		return -ENOTCONN;
	memset(chan, 0, offsetof(struct dd_tp_chan, msg));
	chan->cfg = *cfg;
	chan->up = true;
	chan->limit = cfg->tx_window - cfg->tx_taken + 1;
	chan->lead = cfg->tx_window / 2;
	chan->told_limit = cfg->rx_window - cfg->rx_taken + 1;
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
	if (!peer_id || !tx_window || tx_window > DD_TP_WINDOW_MAX ||
	    tx_taken > tx_window)
		return -EINVAL;
	if (!chan->up)
		return -ENOTCONN;
	chan->cfg.peer_id = peer_id;
	chan->cfg.tx_window = tx_window;
	chan->limit = tx_window - tx_taken + 1;
	chan->lead = tx_window / 2;
	if (chan->told)
		dd_tp_chan_owe(tp, chan, tp->last_rx);
	return 0;
}

/* What comes next of a channel is not the next piece of the same message. */
static void dd_tp_train_ends(struct dd_tp *tp, const struct dd_tp_chan *chan)
{
	if (tp->tx_train.chan == chan)
		tp->tx_train.chan = NULL;
}

/* The channel that the peer names so; most often the one named before. */
struct dd_tp_chan *dd_tp_chan_find(struct dd_tp *tp, u64 id)
{
	struct dd_tp_chan *chan = tp->named;

	if (chan && chan->cfg.id == id)
		return chan;
	chan = tp->ops->find(tp, id);
	if (!chan || !chan->up)
		return NULL;
	tp->named = chan;
	return chan;
}

/* The packet stays in flight, but nobody cares for its piece any more. */
static void dd_tp_piece_forget(struct dd_tp_rec *rec)
{
	hlist_del_init(&rec->flight);
	rec->chan = NULL;
	rec->op = NULL;
}

/* All pieces of @op, or of all messages if that is NULL. */
static void dd_tp_pieces_forget(struct dd_tp *tp, struct dd_tp_chan *chan,
				const struct dd_tp_op *op)
{
	struct dd_tp_rec *rec, *next;
	struct hlist_node *node;

	hlist_for_each_entry_safe(rec, node, &chan->flight, flight) {
		if (!op || rec->op == op)
			dd_tp_piece_forget(rec);
	}
	list_for_each_entry_safe(rec, next, &chan->lost, node) {
		if (!op || rec->op == op) {
			list_del(&rec->node);
			dd_tp_rec_free(tp, rec);
		}
	}
}

void dd_tp_chan_drop(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	struct dd_tp_op *op, *next;

	if (tp->busy == chan)
		tp->busy = NULL;
	if (tp->named == chan)
		tp->named = NULL;
	if (tp->rx_run.chan == chan)
		tp->rx_run.chan = NULL;
	dd_tp_train_ends(tp, chan);
	if (!chan->up)
		return;
	chan->up = false;
	dd_tp_pieces_forget(tp, chan, NULL);
	list_for_each_entry_safe(op, next, &chan->ops, node)
		list_del_init(&op->node);
	list_del_init(&chan->node);
	list_del_init(&chan->ready);
	list_del_init(&chan->done_node);
}

/* The session is over, and with it all channels. */
void dd_tp_chans_end(struct dd_tp *tp)
{
	struct dd_tp_chan *chan, *next;

	list_for_each_entry_safe(chan, next, &tp->chans, node)
		dd_tp_chan_drop(tp, chan);
}

/* ---- sending ------------------------------------------------------------ */

int dd_tp_submit(struct dd_tp *tp, struct dd_tp_chan *chan,
		 struct dd_tp_op *op)
{
	struct dd_tp_msg *msg = &op->msg;

	if (!chan->up || !chan->cfg.peer_id)
		return -ENOTCONN;
	if (msg->len > DD_WIRE_MSG_MAX || msg->meta_count > DD_WIRE_META ||
	    msg->dst > U64_MAX - DD_WIRE_MSG_MAX || msg->flags & ~DD_PUT_FLAGS)
		return -EINVAL;
	if (chan->submitted - chan->done > chan->cfg.tx_window)
		return -EBUSY;
	msg->msgid = ++chan->submitted;
	chan->awaited &= msg->msgid == chan->done + 1;
	op->next = 0;
	op->acked = 0;
	op->hurt = 0;
	op->head_sent = false;
	op->head_acked = false;
	list_add_tail(&op->node, &chan->ops);
	chan->answers |= chan->unanswered;
	chan->unanswered = false;
	dd_tp_chan_kick(tp, chan);
	return 0;
}

void dd_tp_chan_await(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	struct dd_tp_op *op;

	/* On a channel whose messages are answered, answers bring DONE. */
	if (!chan->up || chan->done == chan->submitted ||
	    chan->asked == chan->submitted || chan->answers)
		return;
	chan->awaited = true;
	op = list_empty(&chan->ops) ? NULL :
	     list_last_entry(&chan->ops, struct dd_tp_op, node);
	if (op && !op->head_sent) {
		op->msg.flags |= DD_PUT_PROMPT;
		return;
	}
	tp->ping = true;
	chan->asked = chan->submitted;
	chan->asked_at = 0;
}

/*
 * Whether the sender of a message, of which the first piece is about to go, will
 * wait for DONE before long: it is the last one that he may send, or so near to it
 * that he would be there before the DONE of this one; or he has waited for the
 * one before, and there is no other. One that has asked will do, unless half of a window
 * has been sent since.
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

/* The first piece of a message is about to go, at @now. */
void dd_tp_chan_ask(struct dd_tp_chan *chan, struct dd_tp_msg *msg, u64 now)
{
	u64 n = msg->msgid - chan->asked;

	if (!(msg->flags & DD_PUT_PROMPT) &&
	    !dd_tp_chan_asks(chan, msg->msgid))
		return;
	msg->flags |= DD_PUT_PROMPT;
	/* Grows slowly, since a sender may have had nothing to send. */
	if (n && chan->cfg.tx_window > 1)
		chan->gap = min(div64_u64(now - chan->asked_at, n),
				2 * chan->gap + DD_TP_US);
	chan->asked = msg->msgid;
	chan->asked_at = now;
}

/* The last message that asked is done: how early the next one has to ask. */
static void dd_tp_chan_answered(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	u64 took = tp->last_rx - chan->asked_at;

	/* Of a PING that is not known. */
	if (!chan->asked_at || chan->cfg.tx_window == 1)
		return;
	chan->lead = min(div64_u64(took, max(chan->gap, 1ull)),
			 chan->cfg.tx_window / 2 + 0ull);
}

/* Where a channel waits for its turn: lost pieces go before new bytes. */
static struct list_head *dd_tp_chan_queue(struct dd_tp *tp,
					  const struct dd_tp_chan *chan)
{
	return list_empty(&chan->lost) ? &tp->ready : &tp->retransmit;
}

/* There may be something to send. */
void dd_tp_chan_kick(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	if (!list_empty(&chan->ready))
		return;
	chan->burst = DD_TP_BURST;
	list_add_tail(&chan->ready, dd_tp_chan_queue(tp, chan));
}

/* A piece of @len bytes was a channel's: it has a burst of them in a row. */
void dd_tp_chan_turn(struct dd_tp *tp, struct dd_tp_chan *chan, u32 len)
{
	chan->burst -= len + sizeof(struct dd_wire_put);
	if (chan->burst > 0)
		return;
	chan->burst = DD_TP_BURST;
	list_move_tail(&chan->ready, dd_tp_chan_queue(tp, chan));
}

static bool dd_tp_op_sent(const struct dd_tp_op *op)
{
	return op->msg.len ? op->next == op->msg.len : op->head_sent;
}

static bool dd_tp_op_acked(const struct dd_tp_op *op)
{
	return op->msg.len ? op->acked == op->msg.len : op->head_acked;
}

/* The first message that is not all sent, or that all others wait for. */
struct dd_tp_op *dd_tp_chan_op(struct dd_tp_chan *chan)
{
	struct dd_tp_op *op;

	list_for_each_entry(op, &chan->ops, node) {
		if (op->hurt || !dd_tp_op_sent(op))
			return op;
	}
	return NULL;
}

/*
 * What a channel has to send next: a piece that is lost, or of @op the bytes
 * from its @next on.
 */
bool dd_tp_chan_next(struct dd_tp *tp, struct dd_tp_chan *chan,
		     struct dd_tp_op **op, struct dd_tp_rec **lost)
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
		if (dd_tp_chan_next(tp, chan, op, lost) && *lost)
			return chan;
		list_del_init(&chan->ready);
		/* Else another message's retransmission is in flight. */
		if (list_empty(&chan->lost))
			dd_tp_chan_kick(tp, chan);
	}
	return NULL;
}

/*
 * The first channel that has new bytes to send. If there is no record for these,
 * there is none for any other channel's.
 */
static struct dd_tp_chan *dd_tp_chan_fresh(struct dd_tp *tp,
					   struct dd_tp_op **op,
					   struct dd_tp_rec **lost)
{
	struct dd_tp_chan *chan, *next;

	list_for_each_entry_safe(chan, next, &tp->ready, ready) {
		if (dd_tp_chan_next(tp, chan, op, lost))
			return chan;
		list_del_init(&chan->ready);
	}
	return NULL;
}

/*
 * The channel whose turn it is, and what it has to send. Lost pieces and new bytes
 * alternate; where there are no records for the latter, lost pieces go.
 */
struct dd_tp_chan *dd_tp_chan_first(struct dd_tp *tp, struct dd_tp_op **op,
				    struct dd_tp_rec **lost)
{
	struct dd_tp_chan *chan = NULL;

	if (tp->fresh_turn && tp->nfree >= DD_TP_RESERVE)
		chan = dd_tp_chan_fresh(tp, op, lost);
	if (!chan && !list_empty(&tp->retransmit))
		chan = dd_tp_chan_lossy(tp, op, lost);
	return chan ?: dd_tp_chan_fresh(tp, op, lost);
}

/* All that has arrived completely, in order. */
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

/* A packet with a piece has arrived. */
void dd_tp_piece_acked(struct dd_tp *tp, struct dd_tp_rec *rec)
{
	struct dd_tp_chan *chan = rec->chan;
	struct dd_tp_op *op = rec->op;

	op->acked += rec->len;
	if (!op->msg.len)
		op->head_acked = true;
	if (rec->hurt) {
		op->hurt--;
		if (!op->hurt)
			dd_tp_chan_kick(tp, chan);
	}
	dd_tp_piece_forget(rec);
	if (dd_tp_op_acked(op))
		dd_tp_chan_sent(tp, chan);
}

/* A lost piece and the one that follows it become one, if they are neighbours. */
static void dd_tp_piece_join(struct dd_tp *tp, struct dd_tp_rec *rec,
			     struct dd_tp_rec *next)
{
	if (rec->op != next->op || rec->off + rec->len != next->off)
		return;
	rec->len += next->len;
	rec->op->hurt--;
	list_del(&next->node);
	dd_tp_rec_free(tp, next);
}

/* The other way round: it goes to its place among those to be sent again. */
void dd_tp_piece_lost(struct dd_tp *tp, struct dd_tp_rec *rec)
{
	struct dd_tp_chan *chan = rec->chan;
	struct dd_tp_rec *pos;

	if (!rec->hurt) {
		rec->hurt = true;
		rec->op->hurt++;
	}
	dd_tp_train_ends(tp, chan);
	if (list_empty(&chan->lost))
		list_del_init(&chan->ready);
	hlist_del(&rec->flight);
	list_for_each_entry_reverse(pos, &chan->lost, node) {
		if (pos->op->msg.msgid < rec->op->msg.msgid ||
		    (pos->op == rec->op && pos->off < rec->off))
			break;
	}
	list_add(&rec->node, &pos->node);
	/* Cut for a narrow path, they would need ever more records. */
	if (rec->node.next != &chan->lost)
		dd_tp_piece_join(tp, rec, list_next_entry(rec, node));
	if (rec->node.prev != &chan->lost)
		dd_tp_piece_join(tp, pos, rec);
	dd_tp_chan_kick(tp, chan);
}

/* ---- done --------------------------------------------------------------- */

/* What is done has arrived, whether we have seen that acknowledged or not. */
static void dd_tp_done_implies(struct dd_tp *tp, struct dd_tp_chan *chan,
			       u64 count)
{
	struct dd_tp_op *op;

	dd_tp_train_ends(tp, chan);
	list_for_each_entry(op, &chan->ops, node) {
		if (op->msg.msgid > count)
			break;
		dd_tp_pieces_forget(tp, chan, op);
		op->hurt = 0;
		op->next = op->msg.len;
		op->acked = op->msg.len;
		op->head_sent = true;
		op->head_acked = true;
	}
}

static void dd_tp_chan_done(struct dd_tp *tp, struct dd_tp_chan *chan, u64 count)
{
	if (count <= chan->done)
		return;
	if (chan->done < chan->asked && chan->asked <= count)
		dd_tp_chan_answered(tp, chan);
	chan->done = count;
	dd_tp_done_implies(tp, chan, count);
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
	dd_tp_chan_kick(tp, chan);
	dd_tp_chan_done(tp, chan, count);
}

/* How far the peer may go: what is told, what can be, and one that waits. */
static u64 dd_tp_chan_allow(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	u32 credit = 0;

	if (tp->ops->credit && chan->told == chan->received)
		credit = min(tp->ops->credit(tp, chan), chan->cfg.rx_window);
	return max(chan->told_limit, chan->told + credit + 1);
}

void dd_tp_done_fill(struct dd_tp *tp, struct dd_tp_chan *chan,
		     struct dd_wire_done *done)
{
	chan->told_limit = dd_tp_chan_allow(tp, chan);
	done->type = DD_FRAME_DONE;
	done->credit = cpu_to_le16(chan->told_limit - chan->told);
	done->chan = cpu_to_le64(chan->cfg.peer_id);
	done->count = cpu_to_le64(chan->told);
}

/*
 * When to say that a sender may go on which had to stop. A reader with half of a
 * window to read will not miss what could be sent for the one message that he
 * has read; told of each, the sender would send each alone, and he be stopped
 * himself to let it in, ever after. In a moment there is room for several.
 */
static u64 dd_tp_go_at(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	u32 window = chan->cfg.rx_window;

	if (window < DD_TP_REST_WINDOW ||
	    dd_tp_chan_allow(tp, chan) > chan->told + window / 2)
		return tp->last_rx;
	return tp->last_rx + DD_TP_MOMENT;
}

void dd_tp_told(struct dd_tp *tp, struct dd_tp_chan *chan, u64 msgid)
{
	if (!chan->up || msgid <= chan->told || msgid > chan->received)
		return;
	chan->told = msgid;
	dd_tp_chan_owe(tp, chan, dd_tp_go_at(tp, chan));
}

void dd_tp_chan_hurry(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	if (!list_empty(&chan->done_node))
		dd_tp_chan_owe(tp, chan, tp->last_rx);
}

/* ---- receiving ---------------------------------------------------------- */

/**
 * struct dd_tp_piece - a piece that has come
 * @chan: its channel
 * @payload: where its bytes are
 * @off: its offset in the message
 * @end: where it ends there
 */
struct dd_tp_piece {
	struct dd_tp_chan *chan;
	const void *payload;
	u32 off;
	u32 end;
};

/* Start of the bytes that must be stored last; compare dd_copy_last(). */
static u32 dd_tp_tail_start(const struct dd_tp_msg *msg)
{
	u32 tail = (msg->dst + msg->len) & 7;

	return msg->len - min(tail ? tail : 8, msg->len);
}

/* Pieces are made of whole words of the block, so each word is in one. */
static bool dd_tp_piece_aligned(const struct dd_wire_put *put, u32 off, u32 end)
{
	u64 dst = le64_to_cpu(put->dst);

	return (!off || !((dst + off) & 7)) &&
	       (end == le32_to_cpu(put->len) || !((dst + end) & 7));
}

static void dd_tp_head_read(struct dd_tp_chan *chan,
			    const struct dd_wire_head *head)
{
	u32 i;

	if (chan->has_head)
		return;
	chan->has_head = true;
	chan->msg.tag = le32_to_cpu(head->tag);
	for (i = 0; i < DD_WIRE_META; i++)
		chan->msg.meta[i] = le32_to_cpu(head->meta[i]);
}

/* The first piece that comes says what the message is; the others agree. */
static bool dd_tp_msg_agrees(struct dd_tp_chan *chan,
			     const struct dd_wire_put *put)
{
	u64 dst = le64_to_cpu(put->dst);
	u32 len = le32_to_cpu(put->len);
	struct dd_tp_msg *msg = &chan->msg;

	if (chan->in_progress)
		return dst == msg->dst && len == msg->len &&
		       put->flags == msg->flags &&
		       put->meta_count == msg->meta_count;
	if (len > chan->cfg.rx_size || dst > chan->cfg.rx_size - len)
		return false;
	msg->msgid = chan->received + 1;
	msg->dst = dst;
	msg->len = len;
	msg->flags = put->flags;
	msg->meta_count = put->meta_count;
	chan->in_progress = true;
	chan->has_head = false;
	chan->has_tail = false;
	chan->ntail = msg->len - dd_tp_tail_start(msg);
	chan->nranges = 0;
	return true;
}

/* Index of the first range that ends at @off or behind it. */
static u32 dd_tp_range_find(const struct dd_tp_chan *chan, u32 off)
{
	u32 i = chan->nranges;

	/* Most pieces belong to the last one. */
	while (i && chan->range[i - 1].end >= off)
		i--;
	return i;
}

/* Whether a piece can be remembered. */
static bool dd_tp_range_fits(const struct dd_tp_chan *chan, u32 off, u32 end)
{
	u32 i = dd_tp_range_find(chan, off);

	if (chan->nranges < DD_TP_HOLES)
		return true;
	return i < chan->nranges && chan->range[i].start <= end;
}

/* Bytes from @off to @end, which are in no range, have come. */
static void dd_tp_range_add(struct dd_tp_chan *chan, u32 off, u32 end)
{
	u32 i = dd_tp_range_find(chan, off);
	struct dd_tp_range *r = &chan->range[i];

	if (i < chan->nranges && r->end == off) {
		r->end = end;
		if (i + 1 < chan->nranges && r[1].start == end) {
			r->end = r[1].end;
			chan->nranges--;
			memmove(r + 1, r + 2,
				(chan->nranges - i - 1) * sizeof(*r));
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

/* Deposit bytes from @off to @end, of which none has come before. */
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
	if (end == chan->msg.len && end) {
		tp->ops->peek(tp, piece->payload, tail - piece->off, chan->tail,
			      chan->ntail);
		chan->has_tail = true;
	}
	tp->stats.rx_bytes += end - off;
	dd_tp_range_add(chan, off, end);
	return 0;
}

/* Deposit what has not come yet of a piece. */
static int dd_tp_piece_deposit(struct dd_tp *tp,
			       const struct dd_tp_piece *piece)
{
	struct dd_tp_chan *chan = piece->chan;
	u32 off = piece->off;

	/* Nothing has come yet: most often it is all of a short one. */
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

static bool dd_tp_msg_is_whole(const struct dd_tp_chan *chan)
{
	if (!chan->has_head)
		return false;
	if (!chan->msg.len)
		return true;
	return chan->nranges == 1 && !chan->range[0].start &&
	       chan->range[0].end == chan->msg.len;
}

/* How long the sender of the message that is told now can do without DONE. */
static enum dd_tp_wait dd_tp_msg_waits(struct dd_tp *tp,
				       struct dd_tp_chan *chan, bool alone)
{
	/* A reply may follow soon, and take DONE along; or is likely to. */
	if (chan->answers)
		return DD_TP_WAIT_ANSWER;
	/* He has said so, or all has come that he was allowed. */
	if (chan->msg.flags & DD_PUT_PROMPT ||
	    chan->received == chan->told_limit)
		return DD_TP_WAIT_ROOM;
	/* It will have asked before all of its window is used up. */
	if (chan->cfg.rx_window >= DD_TP_REST_WINDOW &&
	    chan->msg.len <= DD_TP_REST_BYTES)
		return DD_TP_WAIT_REST;
	return alone ? DD_TP_WAIT_DELAY : DD_TP_WAIT_NOT;
}

/* The last piece has come; @alone if it was the only one. */
static void dd_tp_msg_complete(struct dd_tp *tp, u64 now,
			       struct dd_tp_chan *chan, bool alone)
{
	bool told;

	chan->in_progress = false;
	chan->received++;
	tp->stats.messages++;
	chan->answers &= !chan->unanswered;
	chan->unanswered = true;
	tp->busy = chan;
	told = tp->ops->complete(tp, chan, &chan->msg, chan->tail, chan->ntail);
	if (tp->busy && told) {
		chan->told = chan->received;
		tp->wait = dd_tp_msg_waits(tp, chan, alone);
		if (tp->wait <= DD_TP_WAIT_ROOM)
			dd_tp_chan_owe(tp, chan, tp->wait == DD_TP_WAIT_NOT ?
				       now : dd_tp_go_at(tp, chan));
		else
			dd_tp_chan_owe(tp, chan, now + tp->cfg.ack_delay_ns);
	}
	tp->busy = NULL;
}

/* Whether a message may be worked on: the next one, and allowed. */
static bool dd_tp_msg_is_due(struct dd_tp *tp, struct dd_tp_chan *chan,
			     u64 msgid)
{
	if (msgid > chan->told_limit) {
		dd_tp_drop(tp, DD_TP_DROP_CREDIT);
		return false;
	}
	if (msgid != chan->received + 1) {
		dd_tp_drop(tp, DD_TP_DROP_ORDER);
		return false;
	}
	/*
	 * A note waits for its reader, and there is no place for another one. The
	 * limit says so too, unless the list grows just now, or the peer does not
	 * heed it.
	 */
	if (chan->told != chan->received) {
		dd_tp_drop(tp, DD_TP_DROP_AGAIN);
		tp->ping = true;
		return false;
	}
	return true;
}

/* While a long message comes, its reader may have made room for the next. */
void dd_tp_chan_refresh(struct dd_tp *tp, struct dd_tp_chan *chan, u64 now)
{
	if (!list_empty(&chan->done_node) ||
	    chan->told_limit > chan->told + chan->cfg.rx_window ||
	    dd_tp_chan_allow(tp, chan) == chan->told_limit)
		return;
	dd_tp_chan_owe(tp, chan, now + tp->cfg.ack_delay_ns);
}

/* A piece has come: whether its packet counts as arrived. */
bool dd_tp_put_rx(struct dd_tp *tp, u64 now, const struct dd_wire_put *put,
		  const void *payload, u32 plen)
{
	struct dd_tp_chan *chan;
	struct dd_tp_piece piece = { .payload = payload };
	u64 msgid = le64_to_cpu(put->msgid);
	int err;

	piece.off = le32_to_cpu(put->off);
	piece.end = piece.off + plen;
	chan = dd_tp_chan_find(tp, le64_to_cpu(put->chan));
	if (!chan) {
		dd_tp_drop(tp, DD_TP_DROP_CHAN);
		return true;
	}
	piece.chan = chan;
	if (msgid <= chan->received) {
		dd_tp_drop(tp, DD_TP_DROP_BYTES);
		return true;
	}
	if (tp->hold || chan->hold) {
		dd_tp_drop(tp, DD_TP_DROP_AGAIN);
		/* The sender, which hears no more of it, is not to give us up. */
		tp->ping = true;
		return false;
	}
	if (!dd_tp_msg_is_due(tp, chan, msgid))
		return false;
	if (!dd_tp_piece_aligned(put, piece.off, piece.end) ||
	    !dd_tp_msg_agrees(chan, put)) {
		dd_tp_drop(tp, DD_TP_DROP_BOUNDS);
		return false;
	}
	if (!dd_tp_range_fits(chan, piece.off, piece.end)) {
		dd_tp_drop(tp, DD_TP_DROP_HOLES);
		return false;
	}
	err = dd_tp_piece_deposit(tp, &piece);
	if (err) {
		dd_tp_drop(tp, err == -EAGAIN ? DD_TP_DROP_AGAIN :
						DD_TP_DROP_CLOSED);
		return err != -EAGAIN;
	}
	if (!piece.off)
		dd_tp_head_read(chan, (const void *)(put + 1));
	if (dd_tp_msg_is_whole(chan))
		dd_tp_msg_complete(tp, now, chan, plen == chan->msg.len);
	else
		dd_tp_chan_refresh(tp, chan, now);
	if (chan->in_progress)
		tp->rx_run.chan = chan;
	return true;
}
