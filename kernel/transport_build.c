// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that go out: what goes into them, and when there is one to be sent.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport_int.h"

#define DD_TP_PUT_ROOM	(sizeof(struct dd_wire_put) + \
			 sizeof(struct dd_wire_head))

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
	pkt->again = false;
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
 * New bytes leave records for lost pieces. A lost piece may take the last one: the
 * part that is sent and the rest are neighbours, so that they share one record
 * again if the part is lost, too.
 */
static bool dd_tp_build_affords(struct dd_tp *tp, const struct dd_tp_rec *lost)
{
	if (lost)
		return true;
	/* Then it is not the window that keeps it. */
	tp->cc.limited &= tp->nfree >= DD_TP_RESERVE;
	return tp->nfree >= DD_TP_RESERVE;
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

	if (!dd_tp_build_affords(tp, lost))
		return false;
	if (!op->head_sent)
		dd_tp_chan_ask(chan, &op->msg, b->now);
	dd_tp_build_put(b, chan, &op->msg, off);
	pkt->chan = chan;
	pkt->op = op;
	pkt->off = off;
	pkt->len = len;
	pkt->again = lost;
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
static void dd_tp_build_payload(struct dd_tp *tp, struct dd_tp_build *b,
				struct dd_tp_chan *chan, struct dd_tp_op *op,
				struct dd_tp_rec *lost)
{
	if (!dd_tp_build_piece(tp, b, chan, op, lost))
		return;
	tp->fresh_turn = lost;
	/* Often that was all: nobody need look at it again. */
	if (!lost && !b->pkt->more && list_is_last(&op->node, &chan->ops))
		list_del_init(&chan->ready);
	else
		dd_tp_chan_turn(tp, chan, b->pkt->len);
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
static void dd_tp_done_along(struct dd_tp *tp, struct dd_tp_chan *chan,
			     const struct dd_tp_op *op,
			     const struct dd_tp_rec *lost)
{
	if (list_empty(&chan->done_node) ||
	    tp->owing.next == &chan->done_node)
		return;
	if (lost ? !lost->off : !op->head_sent) {
		list_move(&chan->done_node, &tp->owing);
		/* If there is no place in this packet, in the next one. */
		dd_tp_ack_by(tp, tp->last_rx);
	}
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
	struct dd_tp_chan *chan = NULL;
	struct dd_tp_rec *lost;
	bool spare = tp->nfree;
	struct dd_tp_op *op;

	/* Leaves room for the longest control message. */
	b->ack = dd_tp_ack_add(tp, b->now, &b->buf,
			       sizeof(struct dd_wire_ctl) + DD_WIRE_CTL_MAX);
	/* The last record is for what is lost. */
	if (data && spare)
		dd_tp_ctl_add(tp, &b->buf, b->rec);
	/*
	 * While nothing is answered, a control message goes alone: a peer that is
	 * down takes it, and no message.
	 */
	if (data && !(tp->pto_count && b->rec->nctl) &&
	    b->buf.end - b->buf.p >= DD_TP_PUT_ROOM)
		chan = dd_tp_chan_first(tp, &op, &lost);
	if (chan)
		dd_tp_done_along(tp, chan, op, lost);
	if (spare)
		dd_tp_build_done(tp, b, chan ? DD_TP_PUT_ROOM : 0);
	if (chan)
		dd_tp_build_payload(tp, b, chan, op, lost);
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
	struct dd_tp_rec *lost;
	struct dd_tp_op *op;

	return dd_tp_chan_first(tp, &op, &lost) || tp->ctl_queued || tp->ping;
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
	return list_empty(&tp->ready) && list_empty(&tp->retransmit) &&
	       !tp->ctl_queued && !tp->ping && dd_tp_ack_at(tp) > now;
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
	dd_tp_bye_sent(tp, now);
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
	if (tp->bye && tp->bye_at <= now) {
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
	pkt->again = false;
	pkt->more = false;
	if (tp->reply_len)
		return dd_tp_build_reply(tp, pkt);
	if (tp->state != DD_TP_OPENING || tp->init_at > now)
		return false;
	pkt->hlen = dd_tp_build_init(tp, now, pkt->hdr);
	tp->stats.tx_packets++;
	return true;
}
