// SPDX-License-Identifier: GPL-2.0-only
/* One end of a session whose peer is this program: the callbacks of the transport. */
#include <errno.h>
#include <stdlib.h>

#include "victim.h"

u64 victim_completed[2][DD_WIRE_OPS];

static struct victim *to_victim(struct dd_tp *tp)
{
	return container_of(tp, struct victim, tp);
}

static struct victim_chan *to_chan(struct dd_tp_chan *c)
{
	return container_of(c, struct victim_chan, c);
}

static u64 op_random(struct dd_tp *tp)
{
	return to_victim(tp)->random += 0x9e3779b97f4a7c15ull;
}

static struct dd_tp_chan *op_find(struct dd_tp *tp, u64 id)
{
	struct victim_chan *ch = to_victim(tp)->chans;
	int i;

	for (i = 0; i < CHANS; i++, ch++) {
		if (ch->open && ch->c.cfg.id == id)
			return &ch->c;
	}
	return NULL;
}

bool op_valid(u8 version, const struct dd_tp_msg *msg)
{
	bool reply = msg->flags & DD_PUT_REPLY;

	if (version < 2)
		return !msg->op && !reply;
	if (msg->op == DD_WIRE_NOTE && !reply)
		return msg->len <= DD_WIRE_NOTE_MAX && !msg->dst;
	return msg->op < DD_WIRE_OPS &&
	       (!msg->len || msg->op == (reply ? DD_WIRE_GET : DD_WIRE_PUT));
}

static int op_deposit(struct dd_tp *tp, struct dd_tp_chan *c, u64 dst,
		      const void *payload, u32 off, u32 len)
{
	struct victim *v = to_victim(tp);
	struct victim_chan *ch = to_chan(c);
	u32 i;

	assert(ch->open && c->up && !ch->withheld && op_valid(tp->cur.version, &c->msg));
	assert(len && dst < BLOCK && len <= BLOCK - dst && !v->stale);
	if (v->again)
		return v->again & 1 ? -EAGAIN : -ECONNRESET;
	for (i = 0; i < len; i++) {
		assert(!ch->seen[dst + i]);
		ch->seen[dst + i] = ((const u8 *)payload)[off + i] | 1;
	}
	v->stored += len;
	return 0;
}

static void op_deposit_batch(struct dd_tp *tp, struct dd_tp_chan *c, u64 dst,
			     const void *payload, struct dd_tp_rx_batch *batch)
{
	const struct burst *b = payload;
	u32 i;

	assert(batch->most && batch->most <= b->n);
	for (i = 0; i < b->n && !to_victim(tp)->again; i++, dst += batch->plen) {
		if (!dd_tp_rx_batch_accepts(batch, &b->piece[i]))
			break;
		assert(batch->count == i + 1 && batch->count <= batch->most &&
		       b->piece[i].put.generation == cpu_to_le32(c->cfg.generation));
		assert(!op_deposit(tp, c, dst, b->bytes, 0, batch->plen));
	}
}

static void op_peek(struct dd_tp *tp, const void *payload, u32 off, void *buf, u32 len)
{
	assert(len >= 1 && len <= 8);
	memcpy(buf, (const u8 *)payload + off, len);
}

static u32 op_payload_crc(struct dd_tp *tp, const void *payload, u32 len, u32 crc)
{
	return crc32c(crc, payload, len);
}

struct dd_tp_op *victim_op(struct victim_chan *ch)
{
	struct dd_tp_op *op = &ch->ops[ch->c.submitted % OPS];

	if (ch->c.submitted - ch->c.done >= OPS)
		return NULL;
	memset(op, 0, sizeof(*op));
	return op;
}

/* Answer a GET or CAS; false if there is no op for that. */
static bool reply(struct dd_tp *tp, struct victim_chan *ch, const struct dd_tp_msg *msg)
{
	struct dd_tp_op *op = victim_op(ch);

	if (!op)
		return false;
	op->msg.op = msg->op;
	op->msg.flags = DD_PUT_REPLY;
	op->msg.meta_count = 2;
	op->msg.meta[0] = msg->msgid;
	if (msg->op == DD_WIRE_GET) {
		op->msg.len = msg->meta[0] % BLOCK;
		op->msg.dst = msg->meta[1] % 8;
	}
	assert(!dd_tp_submit(tp, &ch->c, op));
	return true;
}

static bool op_complete(struct dd_tp *tp, struct dd_tp_chan *c,
			const struct dd_tp_msg *msg, const u8 *tail, u32 ntail)
{
	struct victim_chan *ch = to_chan(c);
	bool is_reply = msg->flags & DD_PUT_REPLY;
	u32 i;

	assert(ch->open && c->up && !ch->withheld && !to_victim(tp)->stale);
	assert(op_valid(tp->cur.version, msg) && msg->msgid == c->received);
	assert(msg->len <= BLOCK && msg->dst <= BLOCK - msg->len &&
	       ntail <= msg->len && ntail <= 8);
	to_victim(tp)->completed++;
	victim_completed[is_reply][msg->op]++;
	for (i = 0; i < msg->len; i++)
		assert(!ch->seen[msg->dst + i] == (i >= msg->len - ntail));
	memset(ch->seen, 0, sizeof(ch->seen));
	if (c->cfg.one_sided && !is_reply && msg->op != DD_WIRE_PUT && msg->op != DD_WIRE_NOTE) {
		ch->late = !reply(tp, ch, msg);
		ch->withheld = ch->late ? msg->msgid : 0;
		return !ch->late;
	}
	if (!(msg->flags & DD_PUT_NOTIFY))
		return true;
	if (ch->unread < c->cfg.rx_window) {
		ch->unread++;
		return true;
	}
	ch->withheld = msg->msgid;
	return false;
}

static u32 op_credit(struct dd_tp *tp, struct dd_tp_chan *c)
{
	assert(!to_chan(c)->withheld);
	return c->cfg.rx_window - to_chan(c)->unread;
}

static void op_sent(struct dd_tp *tp, struct dd_tp_chan *c, u64 msgid)
{
	assert(to_chan(c)->open && msgid <= c->submitted);
}

static void op_done(struct dd_tp *tp, struct dd_tp_chan *c, u64 msgid)
{
	struct victim_chan *ch = to_chan(c);

	assert(ch->open && msgid <= c->sent);
	if (!ch->late)
		return;
	ch->late = false;
	ch->withheld = 0;
	/* The transport keeps the message. */
	assert(reply(tp, ch, &c->msg));
	dd_tp_notified(tp, c, c->received);
}

static void op_ctl(struct dd_tp *tp, const void *data, u32 len)
{
	assert(len && len <= DD_WIRE_CTL_MAX);
	/* Callers submit and drop in callbacks, too. */
	if (*(const u8 *)data == 'D')
		dd_tp_chan_drop(tp, &to_victim(tp)->chans[0].c);
	else
		dd_tp_ctl(tp, data, len);
}

static void op_up(struct dd_tp *tp)
{
}

static void op_down(struct dd_tp *tp, enum dd_tp_reason reason)
{
	struct victim_chan *ch = to_victim(tp)->chans;
	int i;

	for (i = 0; i < CHANS; i++, ch++) {
		assert(!ch->c.up);
		ch->open = false;
	}
}

static const struct dd_tp_ops ops = {
	.random = op_random,
	.find = op_find,
	.deposit = op_deposit,
	.deposit_batch = op_deposit_batch,
	.peek = op_peek,
	.payload_crc = op_payload_crc,
	.complete = op_complete,
	.credit = op_credit,
	.sent = op_sent,
	.done = op_done,
	.ctl = op_ctl,
	.up = op_up,
	.down = op_down,
};

const struct dd_tp_cfg victim_cfg = {
	.node = 1, .peer = 2, .maxnodes = 16, .incarnation = 3, .records = 32, .ctl_slots = 4,
	.dead_ns = 1000 * DD_TP_MS, .version_min = DD_WIRE_VERSION, .version_max = DD_WIRE_VERSION,
};

void victim_init(struct victim *v, u64 now)
{
	memset(v, 0, sizeof(*v));
	v->arena = malloc(dd_tp_arena_size(&victim_cfg));
	dd_tp_init(&v->tp, &victim_cfg, &ops, v->arena);
	dd_tp_set_mtu(&v->tp, 1472);
	/* The peer has requested a session, which its first packet confirms. */
	v->tp.pend = (struct dd_tp_id) {
		.incarnation = 7, .rx_token = RX_TOKEN, .tx_token = 2222, .packet_max = 65507,
		.ctl_slots = 4, .version = DD_WIRE_VERSION,
	};
	assert(dd_tp_confirm(&v->tp, now, RX_TOKEN));
}

void victim_exit(struct victim *v)
{
	free(v->arena);
}

void victim_open(struct victim *v, int i)
{
	struct dd_tp_chan_cfg cfg = {
		.id = CHAN_ID + i, .peer_id = 200 + i, .rx_size = BLOCK,
		.rx_window = 1 + i, .tx_window = OPS - 1, .prompt = i == 1,
		.one_sided = i == SEGMENT, .generation = i == SEGMENT ? GENERATION : 0,
	};
	struct victim_chan *ch = &v->chans[i];

	if (ch->open || v->tp.state != DD_TP_UP || (cfg.one_sided && v->tp.cur.version < 2))
		return;
	memset(ch, 0, sizeof(*ch));
	assert(!dd_tp_chan_init(&v->tp, &ch->c, &cfg));
	ch->open = true;
}

void victim_close(struct victim *v, int i)
{
	struct victim_chan *ch = &v->chans[i];

	if (!ch->open)
		return;
	dd_tp_chan_drop(&v->tp, &ch->c);
	memset(ch, 0xee, sizeof(*ch));
	ch->open = false;
	ch->c.up = false;
}

void victim_read(struct victim *v, int i)
{
	struct victim_chan *ch = &v->chans[i];
	u64 msgid = ch->withheld;

	if (!ch->open || !ch->unread)
		return;
	ch->unread--;
	if (ch->late || !msgid)
		return;
	ch->withheld = 0;
	ch->unread++;
	dd_tp_notified(&v->tp, &ch->c, msgid);
}

u32 victim_drain(struct victim *v, u64 now)
{
	struct dd_wire_piece hdr[PKT_HDRS];
	struct dd_tp_pkt pkt = { .hdr = &hdr[0].h, .space = PKT_HDRS };
	u32 n = 0, i;

	while (dd_tp_poll(&v->tp, now, &pkt)) {
		n += pkt.count;
		assert(n < 20000 && pkt.hlen <= DD_WIRE_HLEN_MAX);
		assert(pkt.count && pkt.count <= pkt.space);
		for (i = 0; i < pkt.count; i++) {
			const struct dd_wire_hdr *h = (void *)hdr + i * pkt.hlen;

			assert(dd_wire_hlen(h, pkt.hlen, pkt.hlen + pkt.len) == (int)pkt.hlen);
			if (h->type == DD_WIRE_DATA)
				assert(dd_wire_frames_ok(h, pkt.hlen, pkt.len));
			else
				assert(dd_wire_handshake_ok(h, pkt.hlen));
			assert(pkt.need_crc || dd_wire_crc(h, pkt.hlen) == ~le32_to_cpu(h->crc));
		}
	}
	return n;
}
