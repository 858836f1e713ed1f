// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages from other nodes, and the callbacks of the transport and the link. They are
 * called with the peer locked and softirqs disabled.
 *
 * The owner's node executes a GET or CAS when its message is complete, and answers in the
 * other direction of the channel; see enum dd_wire_op. So numbers, retransmission and flow
 * control are those of the transport, and a request is executed once.
 *
 * Lock order: the peer's lock, the lock of the own channel.
 */

#include "cluster/ctl.h"
#include "cluster/peer.h"
#include "cluster/remote.h"
#include "core/copy.h"
#include "core/deposit.h"
#include "core/notelist.h"
#include "core/trace.h"
#include "udp/rx.h"
#include "udp/session.h"

static struct dd_tp_chan *dd_remote_find(struct dd_tp *tp, u64 id)
{
	struct dd_ctl *ctl = dd_udp_of_tp(tp)->priv;
	struct dd_remote *r;

	r = rhashtable_lookup_fast(&ctl->chans, &id, dd_remote_ids);
	return r ? &r->chan : NULL;
}

/*
 * The peer has ended a connection, after @notified messages were notified. If the
 * connection is not published yet, dd_remote_go() will end it.
 */
void dd_remote_lost(struct dd_peer *peer, u64 id, u64 notified)
{
	struct dd_tp_chan *chan = dd_remote_find(dd_ctl_tp(peer), id);

	if (!chan)
		return;
	dd_tp_chan_over(dd_ctl_tp(peer), chan, notified);
	dd_remote_of_chan(chan)->closed = true;
	dd_ctl_lose(peer, dd_remote_of_chan(chan));
}

/* Copy payload to a region. */
static void dd_remote_store(struct dd_udp_peer *link, struct dd_region *region, u64 at,
			    const void *payload, u32 off, u32 len)
{
	dd_stat_add(link->node, DD_STAT_BYTES, len);
	while (len) {
		size_t n;
		void *to = dd_region_addr(region, at, &n);

		n = min_t(size_t, n, len);
		dd_udp_copy(link, payload, off, to, n);
		at += n;
		off += n;
		len -= n;
	}
}

/*
 * A segment's owner may refuse a PUT: the bytes are dropped, and the importer gets a reply.
 * A connection refuses no PUT before it has ended.
 */
static int dd_remote_refuse(struct dd_remote *r, int err)
{
	if (r->imp || r->own->dead)
		return -ECONNRESET;
	r->refused = -err;
	return 0;
}

static int dd_remote_deposit(struct dd_tp *tp, struct dd_tp_chan *chan, u64 dst,
			     const void *payload, u32 off, u32 len)
{
	struct dd_remote *r = dd_remote_of_chan(chan);
	struct dd_udp_peer *link = dd_udp_of_tp(tp);
	struct dd_channel *ch = r->own;
	struct dd_place p __uninitialized;
	struct dd_remote_op *rop;
	int err;

	if (!ch) {
		rop = dd_remote_asked(r, &chan->msg);
		if (rop)
			dd_remote_store(link, rop->region, rop->src + dst - chan->msg.dst,
					payload, off, len);
		return rop ? 0 : -ECONNRESET;
	}
	/* Drop the bytes that follow refused ones. */
	if (unlikely(r->refused))
		return 0;
	if (unlikely(chan->msg.op == DD_WIRE_NOTE)) {
		/* dd_wire_op_ok() has checked the bounds, dd_remote_note() checks the rest. */
		if (!r->imp)
			dd_udp_copy(link, payload, off, r->payload + dst, len);
		return 0;
	}
	p.msgid = chan->msg.msgid;
	p.dst = chan->msg.dst;
	p.off = dst;
	p.len = len;
	spin_lock(&ch->lock);
	while (likely(!(err = dd_deposit_place(ch, &p)))) {
		dd_remote_store(link, p.region, p.at, payload, off, p.len);
		if (likely(p.len == len))
			break;
		off += p.len;
		len -= p.len;
		p.off += p.len;
		p.len = len;
	}
	if (unlikely(err))
		err = dd_remote_refuse(r, err);
	spin_unlock(&ch->lock);
	/* Not -EAGAIN: the packet is acknowledged, because the peer could only repeat it. */
	return err;
}

static u32 dd_remote_store_batch(struct dd_udp_peer *link, const void *payload,
				 struct dd_tp_rx_batch *batch, struct dd_region *region,
				 u64 at)
{
	return dd_udp_copy_batch(link, payload, batch,
				 region->pages + dd_region_index(region, at),
				 offset_in_page(at), dd_region_pinned(region));
}

static void dd_remote_deposit_batch(struct dd_tp *tp, struct dd_tp_chan *chan,
				    u64 dst, const void *payload,
				    struct dd_tp_rx_batch *batch)
{
	struct dd_remote *r = dd_remote_of_chan(chan);
	struct dd_udp_peer *link = dd_udp_of_tp(tp);
	struct dd_channel *ch = r->own;
	struct dd_remote_op *rop;
	u32 n = 0;
	u64 at;

	if (!ch) {
		rop = dd_remote_asked(r, &chan->msg);
		if (!rop)
			return;
		at = rop->src + dst - chan->msg.dst;
		n = dd_remote_store_batch(link, payload, batch, rop->region, at);
		dd_stat_add(link->node, DD_STAT_BYTES, n);
		return;
	}
	if (unlikely(chan->msg.op != DD_WIRE_PUT || r->refused))
		return;
	spin_lock(&ch->lock);
	/*
	 * If this stores nothing, each packet goes to dd_remote_deposit(), which redirects
	 * or refuses it.
	 */
	if (!READ_ONCE(ch->seg->redir) && !dd_channel_check(ch, DD_RIGHT_PUT) &&
	    dd_in_bounds(dst, (u64)batch->most * batch->plen, ch->seg->mem.length))
		n = dd_remote_store_batch(link, payload, batch, ch->seg->mem.region,
					  ch->seg->mem.offset + dst);
	spin_unlock(&ch->lock);
	dd_stat_add(link->node, DD_STAT_BYTES, n);
}

/* Store the last bytes of a message; the channel is locked. */
static int dd_remote_end(struct dd_udp_peer *link, struct dd_channel *ch,
			 const struct dd_tp_msg *msg, const u8 *tail, u32 ntail,
			 u64 *word)
{
	struct dd_place p = { .msgid = msg->msgid, .dst = msg->dst,
			      .off = msg->dst + msg->len - ntail };
	int err = dd_deposit_tail(ch, &p, tail, ntail, word);

	if (err)
		return err;
	dd_stat_add(link->node, DD_STAT_BYTES, ntail);
	if (unlikely(ch->seg->state))
		dd_deposit_ended(ch, msg->msgid, msg->dst, msg->len);
	return 0;
}

/**
 * struct dd_remote_note - contents of a note
 * @msg: the message
 * @word: its last word
 */
struct dd_remote_note {
	const struct dd_tp_msg *msg;
	u64 word;
};

/* Bytes that a CAS swaps. */
static u32 dd_remote_word(const struct dd_tp_msg *msg)
{
	return msg->op == DD_WIRE_CAS4 ? sizeof(u32) : sizeof(u64);
}

static void dd_remote_fill(struct dd_note *to, const void *arg)
{
	const struct dd_remote_note *note = arg;
	const struct dd_tp_msg *msg = note->msg;

	to->op = msg->op == DD_WIRE_PUT ? DD_OP_PUT :
		  msg->op == DD_WIRE_NOTE ? DD_OP_NOTE : DD_OP_CAS;
	to->meta_count = msg->meta_count;
	to->offset = msg->dst;
	to->len = to->op == DD_OP_CAS ? dd_remote_word(msg) : msg->len;
	to->word = note->word;
	to->tag = msg->tag;
	memcpy(to->meta, msg->meta, sizeof(to->meta));
}

/* Post the note that dd_remote_complete() has prepared. */
static void dd_remote_post(struct dd_udp_peer *link)
{
	const struct dd_ctl *ctl = link->priv;

	lockdep_assert_held(&link->lock);
	link->note_due = false;
	dd_deposit_notify(&ctl->due);
}

/* ---- GET, CAS and refusals: requests at the owner ------------------------ */

/* Queue a reply. dd_remote_complete() has checked that an entry is free for it. */
static void dd_remote_reply(struct dd_remote *r, struct dd_remote_op *op,
			    const struct dd_tp_msg *msg, int err)
{
	op->tp.msg.op = msg->op;
	op->tp.msg.flags = DD_PUT_REPLY;
	op->tp.msg.meta[0] = lower_32_bits(msg->msgid);
	op->tp.msg.meta[1] = -err;
	op->tp.msg.tag = 0;
	op->copy = NULL;
	if (dd_tp_submit(dd_ctl_tp(r->peer), &r->chan, &op->tp))
		dd_remote_op_end(op);
}

static struct dd_remote_op *dd_remote_reply_op(struct dd_remote *r)
{
	struct dd_remote_op *op = &r->op[(r->chan.submitted + 1) % r->nops];

	op->region = NULL;
	op->tp.msg.dst = 0;
	op->tp.msg.len = 0;
	op->tp.msg.meta_count = 2;
	op->tp.msg.meta[2] = 0;
	op->tp.msg.meta[3] = 0;
	return op;
}

/* The reply sends the bytes from the pages of the segment. */
static bool dd_remote_get(struct dd_remote *r, const struct dd_tp_msg *msg)
{
	struct dd_remote_op *op = dd_remote_reply_op(r);
	struct dd_channel *ch = r->own;
	int err = -EINVAL;
	u64 at;

	spin_lock(&ch->lock);
	if (msg->meta_count == 2 && msg->meta[0] <= DD_WIRE_MSG_MAX && msg->meta[1] < 8)
		err = dd_deposit_at(ch, DD_RIGHT_GET, msg->dst, msg->meta[0], &at);
	if (!err) {
		op->region = ch->seg->mem.region;
		refcount_inc(&op->region->obj.users);
		op->src = at;
		op->tp.msg.dst = msg->meta[1];
		op->tp.msg.len = msg->meta[0];
	}
	WRITE_ONCE(ch->received, msg->msgid);
	spin_unlock(&ch->lock);
	if (err == -ECONNRESET)
		return false;
	dd_remote_reply(r, op, msg, err);
	return true;
}

/* Count a message, and prepare its note for dd_remote_post(); the channel is locked. */
static bool dd_remote_notify(struct dd_remote *r, const struct dd_remote_note *note)
{
	struct dd_udp_peer *link = dd_ctl_link(r->peer);
	struct dd_due *due = &dd_ctl_of(r->peer)->due;
	const struct dd_tp_msg *msg = note->msg;
	struct dd_channel *ch = r->own;
	bool done;

	done = dd_deposit_done(ch, msg->msgid, msg->flags & DD_PUT_NOTIFY, dd_remote_fill,
			       note, due);
	trace_dd_arrival(ch, link->tp.cfg.peer, msg->dst, msg->len, msg->msgid);
	link->note_due = due->note;
	return done;
}

static bool dd_remote_cas(struct dd_remote *r, const struct dd_tp_msg *msg)
{
	struct dd_remote_op *op = dd_remote_reply_op(r);
	struct dd_remote_note note = { .msg = msg };
	struct dd_channel *ch = r->own;
	int err = -EINVAL;
	bool done = true;

	spin_lock(&ch->lock);
	if (msg->meta_count == DD_WIRE_META)
		err = dd_deposit_swap(ch, msg->dst, dd_remote_word(msg), msg->meta,
				      &note.word);
	if (!err)
		done = dd_remote_notify(r, &note);
	spin_unlock(&ch->lock);
	if (err == -ECONNRESET)
		return false;
	op->tp.msg.meta_count = DD_WIRE_META;
	op->tp.msg.meta[2] = lower_32_bits(note.word);
	op->tp.msg.meta[3] = upper_32_bits(note.word);
	dd_remote_reply(r, op, msg, err);
	return done;
}

/*
 * A PUT is complete. A refused PUT is not in place and never will be. Its importer gets a reply;
 * when the reply is acknowledged, dd_remote_sent() counts the message as done.
 */
static bool dd_remote_put_msg(struct dd_remote *r, const struct dd_tp_msg *msg,
			      const u8 *tail, u32 ntail)
{
	struct dd_udp_peer *link = dd_ctl_link(r->peer);
	struct dd_remote_note note = { .msg = msg };
	struct dd_channel *ch = r->own;
	bool done = false;
	int err;

	spin_lock(&ch->lock);
	err = unlikely(r->refused) ? -r->refused :
	      dd_remote_end(link, ch, msg, tail, ntail, &note.word);
	r->refused = 0;
	if (likely(!err))
		done = dd_remote_notify(r, &note);
	spin_unlock(&ch->lock);
	if (unlikely(err) && !r->imp && err != -ECONNRESET)
		dd_remote_reply(r, dd_remote_reply_op(r), msg, err);
	return done;
}

/* A NOTE is complete: post its payload, or refuse it. */
static bool dd_remote_note_msg(struct dd_remote *r, const struct dd_tp_msg *msg,
			       const u8 *tail, u32 ntail)
{
	struct dd_udp_peer *link = dd_ctl_link(r->peer);
	struct dd_remote_note note = { .msg = msg };
	struct dd_due *due = &dd_ctl_of(r->peer)->due;
	struct dd_channel *ch = r->own;
	int err;

	memcpy(r->payload + msg->len - ntail, tail, ntail);
	spin_lock(&ch->lock);
	err = dd_deposit_payload(ch, msg->msgid, r->payload, msg->len, dd_remote_fill, &note,
				 due);
	WRITE_ONCE(ch->received, msg->msgid);
	/* The channel is alive and locked: the segment has its region. */
	if (!err)
		trace_dd_arrival(ch, link->tp.cfg.peer, msg->dst, msg->len, msg->msgid);
	spin_unlock(&ch->lock);
	link->note_due = due->note;
	if (err && err != -ECONNRESET)
		dd_remote_reply(r, dd_remote_reply_op(r), msg, err);
	return !err;
}

static bool dd_remote_execute(struct dd_remote *r, const struct dd_tp_msg *msg,
			      const u8 *tail, u32 ntail)
{
	if (likely(msg->op == DD_WIRE_PUT))
		return dd_remote_put_msg(r, msg, tail, ntail);
	if (msg->op == DD_WIRE_NOTE)
		return dd_remote_note_msg(r, msg, tail, ntail);
	return msg->op == DD_WIRE_GET ? dd_remote_get(r, msg) : dd_remote_cas(r, msg);
}

/*
 * A message is complete. A reader that sees its note may answer at once, on another CPU,
 * and needs the peer's lock for that, so dd_remote_post() posts the note just before the
 * peer is unlocked. The peer's lock keeps notes in order and list and slot valid: a connection
 * leaves its list only after dd_remote_break(), which takes that lock.
 */
static bool dd_remote_complete(struct dd_tp *tp, struct dd_tp_chan *chan,
			       const struct dd_tp_msg *msg, const u8 *tail,
			       u32 ntail)
{
	struct dd_remote *r = dd_remote_of_chan(chan);
	struct dd_udp_peer *link = dd_udp_of_tp(tp);

	if (WARN_ON_ONCE(link->note_due))
		dd_remote_post(link);
	if (unlikely(!r->own)) {
		if (msg->flags & DD_PUT_REPLY)
			dd_remote_replied(r, msg, tail, ntail);
		return true;
	}
	/* The peer violates the protocol: a connection has no other requests. */
	if (unlikely(r->imp && msg->op != DD_WIRE_PUT))
		return true;
	/* If no entry is free for its reply, the message waits for dd_remote_done(). */
	r->late = !r->imp && chan->submitted - chan->done >= r->nops;
	return likely(!r->late) && dd_remote_execute(r, msg, tail, ntail);
}

/*
 * Number of free slots, 0 to the window. dd_credit.seen keeps the highest position read
 * so far: if the reader moves its position back, credit that was returned to the peer
 * stays valid.
 */
u32 dd_remote_free_slots(struct dd_channel *ch)
{
	struct dd_credit *c = ch->credit;
	u64 head = max(dd_list_head_pos(ch->seg->list), READ_ONCE(c->seen));
	u32 n, i = c->next;

	WRITE_ONCE(c->seen, head);
	for (n = 0; n < c->window && c->ends[i] <= head; n++)
		if (++i == c->window)
			i = 0;
	return n;
}

static u32 dd_remote_credit(struct dd_tp *tp, struct dd_tp_chan *chan)
{
	struct dd_channel *own = dd_remote_of_chan(chan)->own;

	/* Replies, and requests to a segment without a list, need no slots. */
	return likely(own && own->seg->list) ? dd_remote_free_slots(own) :
					       chan->cfg.rx_window;
}

static void dd_remote_sent(struct dd_tp *tp, struct dd_tp_chan *chan, u64 msgid)
{
	struct dd_remote *r = dd_remote_of_chan(chan);
	struct dd_import *imp = r->imp;
	struct dd_remote_op *op;

	while (r->ended < msgid) {
		op = &r->op[++r->ended % r->nops];
		/* The memory of a GET or CAS is needed until the reply has arrived. */
		if (unlikely(op->awaited))
			continue;
		dd_remote_op_end(op);
		/* The peer has received the refusal of its request: accept the next message. */
		if (unlikely(!imp && (op->tp.msg.op == DD_WIRE_PUT ||
				      op->tp.msg.op == DD_WIRE_NOTE)))
			dd_tp_notified(tp, chan, chan->received);
	}
	if (unlikely(!imp))
		return;
	WRITE_ONCE(imp->sent, msgid);
	WRITE_ONCE(imp->cs->sent, msgid);
	r->drain.sent_at = tp->last_rx;
	dd_ctx_wake(imp->obj.ctx);
}

static void dd_remote_done(struct dd_tp *tp, struct dd_tp_chan *chan, u64 msgid)
{
	struct dd_remote *r = dd_remote_of_chan(chan);

	r->confirmed = msgid;
	if (likely(r->imp)) {
		dd_remote_advance(r);
	} else if (r->late) {
		/* The transport keeps the message until the next one begins. */
		r->late = false;
		if (dd_remote_execute(r, &chan->msg, chan->tail, chan->ntail))
			dd_tp_notified(tp, chan, chan->received);
		/* Post the note now: the packet may complete the next message. */
		if (dd_udp_of_tp(tp)->note_due)
			dd_remote_post(dd_udp_of_tp(tp));
	}
}

const struct dd_net_upper dd_remote_upper = {
	.attach = dd_ctl_attach,
	.detach = dd_ctl_detach,
	.release = dd_ctl_release,
	.post = dd_remote_post,
	.state = dd_peer_set_state,
	.progress = dd_ctl_progress,
	.source = dd_remote_source,
	.tp = {
		.random = dd_udp_tp_random,
		.find = dd_remote_find,
		.deposit = dd_remote_deposit,
		.deposit_batch = dd_remote_deposit_batch,
		.peek = dd_udp_tp_peek,
		.payload_crc = dd_udp_tp_crc,
		.complete = dd_remote_complete,
		.credit = dd_remote_credit,
		.sent = dd_remote_sent,
		.done = dd_remote_done,
		.ctl = dd_ctl_receive,
		.up = dd_ctl_up,
		.down = dd_ctl_down,
		.trace = dd_udp_tp_trace,
	},
};
