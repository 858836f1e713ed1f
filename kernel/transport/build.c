// SPDX-License-Identifier: GPL-2.0-only
/*
 * Building packets: what they carry, and when one has to be sent.
 */
#include <linux/string.h>

#include "transport/internal.h"

#define DD_TP_BYE_LAST	(20 * DD_TP_MS)	/* longest interval of BYEs */
#define DD_TP_PUT_ROOM	(sizeof(struct dd_wire_put) + \
			 sizeof(struct dd_wire_head))

/**
 * struct dd_tp_build - a packet being built
 * @pkt: the packet
 * @rec: its record; NULL for a packet without a number
 * @buf: unused part of its header
 * @now: current time
 * @ack: the packet contains an up-to-date ACK
 * @chan: channel whose turn it is; NULL if none has anything to send
 * @op: its message
 * @lost: the lost piece of @op to be sent, or NULL: the bytes from @op->next on
 */
struct dd_tp_build {
	struct dd_tp_pkt *pkt;
	struct dd_tp_rec *rec;
	struct dd_wire_buf buf;
	u64 now;
	bool ack;
	struct dd_tp_chan *chan;
	struct dd_tp_op *op;
	struct dd_tp_rec *lost;
};

/* A packet without payload. */
static void dd_tp_pkt_init(struct dd_tp_pkt *pkt)
{
	pkt->count = 1;
	pkt->chan = NULL;
	pkt->op = NULL;
	pkt->off = 0;
	pkt->len = 0;
	pkt->need_crc = false;
	pkt->again = false;
}

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
	dd_tp_pkt_init(pkt);
	hdr = dd_wire_add(&b->buf, sizeof(*hdr));
	dd_tp_hdr_fill(hdr, tp->cur.version, DD_WIRE_DATA, tp->cur.tx_token, now);
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
	/* Fragments of different datagrams may be joined; a UDP checksum misses 1 of 65536. */
	pkt->need_crc = pkt->len && (tp->cfg.payload_crc || tp->cur.want_crc || tp->fragments);
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
	put->op = msg->op;
	put->generation = cpu_to_le32(chan->cfg.generation);
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

/* Put a piece into the packet. Channels take turns, with a burst of packets each. */
static void dd_tp_build_piece(struct dd_tp *tp, struct dd_tp_build *b)
{
	struct dd_tp_chan *chan = b->chan;
	struct dd_tp_rec *lost = b->lost;
	struct dd_tp_pkt *pkt = b->pkt;
	struct dd_tp_op *op = b->op;
	u32 off = lost ? lost->off : op->next;
	u32 left = lost ? lost->len : op->msg.len - op->next;
	u32 space = dd_tp_packet_size(tp) - (b->buf.p - (u8 *)pkt->hdr) -
		   sizeof(struct dd_wire_put) -
		   (off ? 0 : sizeof(struct dd_wire_head));
	/* Cut at a word boundary of the block. */
	u32 len = left <= space ? left : space - ((op->msg.dst + off + space) & 7);

	/*
	 * New bytes leave DD_TP_RESERVE records for lost pieces. A lost piece may take
	 * the last record: if it is split and its sent part is lost as well, the two
	 * parts are merged into one record again.
	 */
	if (!lost && tp->nfree < DD_TP_RESERVE) {
		/* The congestion window is not the limit. */
		tp->cc.limited = false;
		return;
	}
	if (!op->next)
		dd_tp_chan_ask(chan, &op->msg, b->now);
	dd_tp_build_put(b, chan, &op->msg, off);
	pkt->chan = chan;
	pkt->op = op;
	pkt->off = off;
	pkt->len = len;
	pkt->again = lost;
	b->rec->chan = chan;
	b->rec->op = op;
	b->rec->off = off;
	b->rec->len = len;
	hlist_add_head(&b->rec->flight, &chan->flight);
	tp->fresh_turn = lost;
	if (!lost) {
		op->next += len ?: 1;
		/* If the channel has nothing more to send, skip the next look at it. */
		if (len == left && list_is_last(&op->node, &chan->ops)) {
			list_del_init(&chan->ready);
			return;
		}
	} else {
		b->rec->retransmit = true;
		if (len == lost->len) {
			list_del(&lost->node);
			dd_tp_rec_free(tp, lost);
		} else {
			lost->off += len;
			lost->len -= len;
			op->retransmit++;
		}
	}
	dd_tp_chan_turn(tp, chan, len);
}

static void dd_tp_build_done(struct dd_tp *tp, struct dd_tp_build *b, u32 reserve)
{
	struct dd_tp_chan *chan, *next;
	struct dd_wire_done *done;

	list_for_each_entry_safe(chan, next, &tp->done_queue, done_node) {
		if (b->buf.end - b->buf.p < sizeof(*done) + reserve)
			return;
		done = dd_wire_add(&b->buf, sizeof(*done));
		dd_tp_done_fill(tp, chan, done);
		list_move_tail(&chan->done_node, &b->rec->done);
	}
}

/*
 * Packets may be reordered. A node that answers a message must know by then that
 * its previous answer is done. So until the DONE is acknowledged, each first piece
 * of a message carries it again, and the receiver of the message has the DONE.
 */
static void dd_tp_done_along(struct dd_tp *tp, const struct dd_tp_build *b)
{
	struct dd_tp_chan *chan = b->chan;

	if (list_empty(&chan->done_node) || tp->done_queue.next == &chan->done_node)
		return;
	if (b->lost ? !b->lost->off : !b->op->next) {
		list_move(&chan->done_node, &tp->done_queue);
		/* If it does not fit in this packet, send it in the next one. */
		dd_tp_ack_by(tp, tp->last_rx);
	}
}

/* Fill a numbered packet; without @data only with an ACK and DONEs. */
static void dd_tp_build_frames(struct dd_tp *tp, struct dd_tp_build *b, bool data)
{
	bool spare = tp->nfree;

	/* Leave space for the longest control message. */
	b->ack = dd_tp_ack_add(tp, b->now, &b->buf,
			       sizeof(struct dd_wire_ctl) + DD_WIRE_CTL_MAX);
	/* The last record is for retransmissions. */
	if (data && spare)
		dd_tp_ctl_add(tp, &b->buf, b->rec);
	/*
	 * During timeouts a control message is sent without a piece: a peer that
	 * has closed the channel accepts the former but not the latter.
	 */
	if (!data || (tp->pto_count && b->rec->nctl) ||
	    b->buf.end - b->buf.p < DD_TP_PUT_ROOM)
		b->chan = NULL;
	if (b->chan)
		dd_tp_done_along(tp, b);
	if (spare)
		dd_tp_build_done(tp, b, b->chan ? DD_TP_PUT_ROOM : 0);
	if (b->chan)
		dd_tp_build_piece(tp, b);
}

static bool dd_tp_build_full(struct dd_tp *tp, struct dd_tp_build *b, struct dd_tp_pkt *pkt,
			     u64 now, bool data)
{
	struct dd_wire_ping *ping;

	dd_tp_build_begin(tp, b, pkt, now);
	b->rec = dd_tp_rec_alloc(tp);
	dd_tp_build_frames(tp, b, data);
	if (!b->rec->nctl && !b->rec->chan && list_empty(&b->rec->done)) {
		if (!tp->ping || !tp->nfree) {
			dd_tp_rec_free(tp, b->rec);
			return false;
		}
		ping = dd_wire_add(&b->buf, sizeof(*ping));
		ping->type = DD_FRAME_PING;
	}
	dd_tp_build_end(tp, b);
	return true;
}

/* Whether there is anything to send other than ACK and DONE, and it may be sent now. */
static bool dd_tp_may_send(struct dd_tp *tp, struct dd_tp_build *b, u64 now)
{
	b->chan = dd_tp_chan_first(tp, &b->op, &b->lost);
	if (!b->chan && !tp->ctl_queued && !tp->ping) {
		tp->cc.limited = false;
		tp->cc.paced = false;
		return false;
	}
	if (tp->probes && dd_tp_rec_space(tp, 0)) {
		tp->probes--;
		return true;
	}
	return dd_tp_rec_space(tp, 0) &&
	       dd_tp_cc_space(tp, now, dd_tp_packet_size(tp));
}

static bool dd_tp_poll_up(struct dd_tp *tp, u64 now, struct dd_tp_pkt *pkt)
{
	struct dd_tp_build b;

	dd_tp_small_over(tp, now);
	if (dd_tp_tx_batch_poll(tp, now, pkt))
		return true;
	if (dd_tp_may_send(tp, &b, now) && dd_tp_build_full(tp, &b, pkt, now, true)) {
		dd_tp_tx_batch_begin(tp, pkt);
		return true;
	}
	if (dd_tp_ack_at(tp) > now)
		return false;
	if (!list_empty(&tp->done_queue) && dd_tp_rec_space(tp, 1))
		return dd_tp_build_full(tp, &b, pkt, now, false);
	if (!tp->ack_count)
		return false;
	dd_tp_build_begin(tp, &b, pkt, now);
	b.ack = dd_tp_ack_add(tp, now, &b.buf, 0);
	dd_tp_build_end(tp, &b);
	tp->stats.acks++;
	return true;
}

static void dd_tp_build_bye(struct dd_tp *tp, struct dd_tp_pkt *pkt, u64 now)
{
	struct dd_tp_build b;
	struct dd_wire_bye *bye;

	dd_tp_build_begin(tp, &b, pkt, now);
	pkt->hdr->token = cpu_to_le64(tp->bye);
	bye = dd_wire_add(&b.buf, sizeof(*bye));
	bye->type = DD_FRAME_BYE;
	bye->reason = tp->bye_reason;
	dd_tp_build_end(tp, &b);
	tp->bye_at = now + tp->bye_wait;
	if (tp->bye_wait > DD_TP_BYE_LAST)
		tp->bye = 0;
	tp->bye_wait *= 2;
}

bool dd_tp_poll(struct dd_tp *tp, u64 now, struct dd_tp_pkt *pkt)
{
	if (tp->bye && tp->bye_at <= now) {
		dd_tp_build_bye(tp, pkt, now);
		return true;
	}
	if (tp->state == DD_TP_UP && !tp->reply_len)
		return dd_tp_poll_up(tp, now, pkt);
	dd_tp_pkt_init(pkt);
	if (tp->reply_len) {
		memcpy(pkt->hdr, tp->reply, tp->reply_len);
		pkt->hlen = tp->reply_len;
		tp->reply_len = 0;
	} else if (tp->state == DD_TP_OPENING && tp->init_at <= now) {
		pkt->hlen = dd_tp_build_init(tp, now, pkt->hdr);
	} else {
		return false;
	}
	tp->stats.tx_packets++;
	return true;
}
