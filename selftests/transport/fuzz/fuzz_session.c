// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of a session that is up, with a peer that sends arbitrary packets. The input
 * is a list of steps: packets, whose tokens, lengths and checksums are corrected so that
 * they are processed, time that passes, and calls of the transport's caller. In every
 * case bytes are stored only in bounds, once, and before their notification, and no
 * record is lost. The last channel leads to a segment, and its owner answers requests.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "packet.h"
#include "transport/batch.h"

#define CHANS	4
#define SEGMENT	(CHANS - 1)	/* the channel that is one-sided */
#define GENERATION	5	/* of its segment */
#define BLOCK	4096
#define OPS	3

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Rest of the input. */
struct in {
	const u8 *p;		/* next byte */
	const u8 *end;		/* end of the input */
};

/* A channel. */
struct fchan {
	struct dd_tp_chan c;	/* the channel under test */
	bool open;		/* find() returns it */
	u64 withheld;		/* message whose note is withheld; 0 for none */
	bool late;		/* because there is no op for its reply */
	u32 unread;		/* number of unread notes */
	u8 seen[BLOCK];		/* bytes of the message in progress that were stored */
	struct dd_tp_op ops[OPS];	/* messages being sent */
};

#define BURST	6

/* Packets received at once. */
struct burst {
	u32 n;			/* number of packets */
	struct dd_wire_piece piece[BURST];	/* their headers */
	const u8 *bytes;	/* payload of each of them */
};

static u8 *packet, *payload;
static size_t hlen, plen;
static struct dd_tp tp;
static struct fchan chans[CHANS];
static u64 now, random_state;
static u8 again;
static bool stale;	/* the PUT received has another generation than its channel */
static void *arena;
/* Messages that were completed: requests and replies, by operation. */
static u64 completed[2][DD_WIRE_OPS];

static u8 get8(struct in *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static u64 get(struct in *in, int bytes)
{
	u64 x = 0;

	while (bytes--)
		x = x << 8 | get8(in);
	return x;
}

static void need(bool ok)
{
	if (!ok)
		abort();
}

/* ---- the caller --------------------------------------------------------- */

static struct fchan *to_chan(struct dd_tp_chan *c)
{
	return container_of(c, struct fchan, c);
}

static u64 op_random(struct dd_tp *t)
{
	return random_state += 0x9e3779b97f4a7c15ull;
}

static struct dd_tp_chan *op_find(struct dd_tp *t, u64 id)
{
	int i;

	for (i = 0; i < CHANS; i++) {
		if (chans[i].open && chans[i].c.cfg.id == id)
			return &chans[i].c;
	}
	return NULL;
}

/* What the rest of the module relies on. */
static bool op_valid(const struct dd_tp_msg *msg)
{
	bool reply = msg->flags & DD_PUT_REPLY;

	if (tp.cur.version < 2)
		return !msg->op && !reply;
	if (msg->op == DD_WIRE_NOTE && !reply)
		return msg->len <= DD_WIRE_NOTE_MAX && !msg->dst;
	return msg->op < DD_WIRE_OPS &&
	       (!msg->len || msg->op == (reply ? DD_WIRE_GET : DD_WIRE_PUT));
}

static int op_deposit(struct dd_tp *t, struct dd_tp_chan *c, u64 dst,
		      const void *payload, u32 off, u32 len)
{
	struct fchan *ch = to_chan(c);
	u32 i;

	need(ch->open && c->up && !ch->withheld && op_valid(&c->msg));
	need(len && dst < BLOCK && len <= BLOCK - dst && !stale);
	if (again)
		return again & 1 ? -EAGAIN : -ECONNRESET;
	for (i = 0; i < len; i++) {
		need(!ch->seen[dst + i]);
		ch->seen[dst + i] = ((const u8 *)payload)[off + i] | 1;
	}
	return 0;
}

/* Headers, each followed by as many bytes as the input specifies. */
static void op_deposit_batch(struct dd_tp *t, struct dd_tp_chan *c, u64 dst,
			   const void *payload, struct dd_tp_rx_batch *batch)
{
	const struct burst *b = payload;
	u32 i;

	need(batch->most && batch->most <= b->n && batch->plen == plen);
	for (i = 0; i < b->n && !again; i++) {
		if (!dd_tp_rx_batch_accepts(batch, &b->piece[i]))
			break;
		need(batch->count == i + 1 && batch->count <= batch->most &&
		     b->piece[i].put.generation == cpu_to_le32(c->cfg.generation));
		need(!op_deposit(t, c, dst + i * plen, b->bytes, 0, plen));
	}
}

static void op_peek(struct dd_tp *t, const void *payload, u32 off, void *buf,
		    u32 len)
{
	need(len >= 1 && len <= 8);
	bytes_peek(t, payload, off, buf, len);
}

static bool chan_full(const struct fchan *ch)
{
	return ch->c.submitted - ch->c.done >= OPS;
}

/* The op of the next message. */
static struct dd_tp_op *chan_op(struct fchan *ch)
{
	struct dd_tp_op *op = &ch->ops[ch->c.submitted % OPS];

	memset(op, 0, sizeof(*op));
	return op;
}

/* Answer a GET or CAS. */
static void chan_reply(struct fchan *ch, const struct dd_tp_msg *msg)
{
	struct dd_tp_op *op = chan_op(ch);

	op->msg.op = msg->op;
	op->msg.flags = DD_PUT_REPLY;
	op->msg.meta_count = 2;
	op->msg.meta[0] = msg->msgid;
	if (msg->op == DD_WIRE_GET) {
		op->msg.len = msg->meta[0] % BLOCK;
		op->msg.dst = msg->meta[1] % 8;
	}
	need(!dd_tp_submit(&tp, &ch->c, op));
}

static bool op_complete(struct dd_tp *t, struct dd_tp_chan *c,
			const struct dd_tp_msg *msg, const u8 *tail, u32 ntail)
{
	struct fchan *ch = to_chan(c);
	bool reply = msg->flags & DD_PUT_REPLY;
	u32 i;

	need(ch->open && c->up && !ch->withheld && !stale);
	need(msg->msgid == c->received && msg->len <= BLOCK && op_valid(msg) &&
	     msg->dst <= BLOCK - msg->len && ntail <= msg->len && ntail <= 8);
	completed[reply][msg->op]++;
	for (i = 0; i < msg->len; i++)
		need(!ch->seen[msg->dst + i] == (i >= msg->len - ntail));
	memset(ch->seen, 0, sizeof(ch->seen));
	if (c->cfg.one_sided && !reply && msg->op != DD_WIRE_PUT && msg->op != DD_WIRE_NOTE) {
		ch->late = chan_full(ch);
		if (!ch->late)
			chan_reply(ch, msg);
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

static u32 op_credit(struct dd_tp *t, struct dd_tp_chan *c)
{
	need(!to_chan(c)->withheld);
	return c->cfg.rx_window - to_chan(c)->unread;
}

static void op_sent(struct dd_tp *t, struct dd_tp_chan *c, u64 msgid)
{
	need(to_chan(c)->open && msgid <= c->submitted);
}

static void op_done(struct dd_tp *t, struct dd_tp_chan *c, u64 msgid)
{
	struct fchan *ch = to_chan(c);

	need(ch->open && msgid <= c->sent);
	if (!ch->late)
		return;
	ch->late = false;
	ch->withheld = 0;
	/* The transport keeps the message. */
	chan_reply(ch, &c->msg);
	dd_tp_notified(t, c, c->received);
}

static void op_ctl(struct dd_tp *t, const void *data, u32 len)
{
	need(len && len <= DD_WIRE_CTL_MAX);
	/* Callers submit and drop in callbacks, too. */
	if (*(const u8 *)data == 'D')
		dd_tp_chan_drop(t, &chans[0].c);
	else
		dd_tp_ctl(t, data, len);
}

static void op_up(struct dd_tp *t)
{
}

static void op_down(struct dd_tp *t, enum dd_tp_reason reason)
{
	int i;

	for (i = 0; i < CHANS; i++) {
		need(!chans[i].c.up);
		chans[i].open = false;
	}
}

static const struct dd_tp_ops ops = {
	.random = op_random,
	.find = op_find,
	.deposit = op_deposit,
	.deposit_batch = op_deposit_batch,
	.peek = op_peek,
	.payload_crc = bytes_payload_crc,
	.complete = op_complete,
	.credit = op_credit,
	.sent = op_sent,
	.done = op_done,
	.ctl = op_ctl,
	.up = op_up,
	.down = op_down,
};

static void chan_open(int i)
{
	struct dd_tp_chan_cfg cfg = {
		.id = 100 + i, .peer_id = 200 + i, .rx_size = BLOCK,
		.rx_window = 1 + i, .tx_window = OPS - 1, .prompt = i == 1,
		.one_sided = i == SEGMENT, .generation = i == SEGMENT ? GENERATION : 0,
	};
	struct fchan *ch = &chans[i];

	if (ch->open || tp.state != DD_TP_UP || (cfg.one_sided && tp.cur.version < 2))
		return;
	memset(ch, 0, sizeof(*ch));
	need(!dd_tp_chan_init(&tp, &ch->c, &cfg));
	ch->open = true;
}

static void chan_close(int i)
{
	if (!chans[i].open)
		return;
	dd_tp_chan_drop(&tp, &chans[i].c);
	memset(&chans[i], 0xee, sizeof(chans[i]));
	chans[i].open = false;
	chans[i].c.up = false;
}

static void chan_submit(struct in *in, int i)
{
	struct fchan *ch = &chans[i];
	struct dd_tp_op *op;

	if (!ch->open || chan_full(ch))
		return;
	op = chan_op(ch);
	op->msg.len = get(in, 2);
	op->msg.dst = get8(in);
	op->msg.flags = DD_PUT_NOTIFY;
	if (ch->c.cfg.one_sided)
		op->msg.op = get8(in) % DD_WIRE_OPS;
	if (op->msg.op == DD_WIRE_NOTE) {
		op->msg.len %= DD_WIRE_NOTE_MAX + 1;
		op->msg.dst = 0;
	} else if (op->msg.op != DD_WIRE_PUT) {
		op->msg.len = 0;
	}
	dd_tp_submit(&tp, &ch->c, op);
}

static void chan_read(int i)
{
	struct fchan *ch = &chans[i];
	u64 msgid = ch->withheld;

	if (!ch->open || !ch->unread)
		return;
	ch->unread--;
	if (ch->late)
		return;
	ch->withheld = 0;
	if (!msgid)
		return;
	ch->unread++;
	dd_tp_notified(&tp, &ch->c, msgid);
}

/* ---- the peer ----------------------------------------------------------- */

/* A packet from the input, corrected where the parser would reject it. */
static void rx(u8 type, u64 token)
{
	struct dd_wire_hdr *hdr = (void *)packet;

	packet_head(hdr, type, hlen, plen, token);
	packet_seal(hdr, hlen, payload, plen);
	dd_tp_rx(&tp, now, hdr, hlen, payload, plen);
}

static void packet_begin(size_t size)
{
	packet = calloc(1, DD_WIRE_HLEN_MAX);
	hlen = size;
	payload = NULL;
	plen = 0;
}

static void packet_end(void)
{
	free(packet);
	free(payload);
}

/* Arbitrary frames. */
static void step_raw(struct in *in)
{
	size_t n = get8(in), i;
	struct dd_wire_hdr *hdr;

	packet_begin(sizeof(*hdr) + n);
	hdr = (void *)packet;
	hdr->flags = get8(in);
	hdr->pn = cpu_to_le32(get8(in));
	for (i = 0; i < n; i++)
		packet[sizeof(*hdr) + i] = get8(in);
	rx(DD_WIRE_DATA, tp.cur.rx_token);
	packet_end();
}

static void *frame(size_t size)
{
	void *p = packet + hlen;

	hlen += size;
	return p;
}

static void add_ack(struct in *in)
{
	struct dd_wire_ack *ack;
	u32 count = get8(in) & 3, i;

	ack = frame(struct_size(ack, range, count));
	ack->type = DD_FRAME_ACK;
	ack->count = count;
	ack->largest = cpu_to_le32(tp.next_pn - get8(in));
	ack->first = cpu_to_le32(get8(in) >> 3);
	ack->ts_echo = cpu_to_le32(dd_tp_us(now) - get8(in));
	for (i = 0; i < count; i++) {
		ack->range[i].gap = cpu_to_le32(get8(in) >> 4);
		ack->range[i].len = cpu_to_le32(get8(in) >> 4);
	}
}

static void add_done(struct in *in)
{
	struct dd_wire_done *done = frame(sizeof(*done));

	done->type = DD_FRAME_DONE;
	done->chan = cpu_to_le64(100 + (get8(in) & 3));
	done->count = cpu_to_le64(get8(in) & 31);
	done->credit = cpu_to_le16(get8(in) & 7);
}

static void add_ctl(struct in *in)
{
	u32 len = 1 + (get8(in) & 63);
	struct dd_wire_ctl *ctl = frame(sizeof(*ctl) + ALIGN(len, 8));

	ctl->type = DD_FRAME_CTL;
	ctl->len = cpu_to_le16(len);
	ctl->seq = cpu_to_le32(tp.ctl_rx - 2 + (get8(in) & 7));
	ctl->data[0] = get8(in);
}

/* Make a message of one packet, the next one of its channel, as its operation permits. */
static void put_whole(struct dd_wire_put *put, const struct fchan *ch)
{
	bool reply = put->flags & DD_PUT_REPLY;

	if (put->op == DD_WIRE_NOTE && !reply) {
		plen = min_t(size_t, plen, DD_WIRE_NOTE_MAX);
		put->dst = 0;
	} else if (put->op != (reply ? DD_WIRE_GET : DD_WIRE_PUT)) {
		plen = 0;
	}
	put->msgid = cpu_to_le64(ch->c.received + 1);
	put->len = cpu_to_le32(plen);
	put->off = 0;
}

static void add_put(struct in *in)
{
	struct dd_wire_put *put = frame(sizeof(*put));
	struct fchan *ch = &chans[get8(in) % CHANS];
	struct dd_wire_head *head;
	u8 how = get8(in);

	put->type = DD_FRAME_PUT;
	put->flags = get8(in) & DD_PUT_FLAGS;
	put->op = how & 7;
	put->generation = cpu_to_le32(how & 0x40 ? get8(in) : ch->c.cfg.generation);
	put->chan = cpu_to_le64(100 + (ch - chans));
	put->msgid = cpu_to_le64(ch->c.received + (get8(in) & 3));
	put->dst = cpu_to_le64(get8(in) * 4);
	put->len = cpu_to_le32(get(in, 2) >> 4);
	put->off = cpu_to_le32(get8(in) * 8);
	plen = get8(in) * 4;
	if (how & 0x80)
		put_whole(put, ch);
	stale = put->generation != cpu_to_le32(ch->c.cfg.generation);
	if (!put->off) {
		head = frame(sizeof(*head));
		put->meta_count = 2;
		head->meta[0] = cpu_to_le32(get(in, 2));
		head->meta[1] = cpu_to_le32(get8(in));
	}
	payload = calloc(1, plen);
}

/* Frames that are valid one by one. */
static void step_frames(struct in *in)
{
	u8 which = get8(in);
	struct dd_wire_hdr *hdr;

	packet_begin(sizeof(*hdr));
	hdr = (void *)packet;
	hdr->flags = which & 0x40 ? DD_WIRE_PAYLOAD_CRC : 0;
	hdr->pn = cpu_to_le32((tp.nrx ? tp.rx_range[0].last + 1 : 0) +
			      (which & 0x80 ? (s8)get8(in) : 0));
	hdr->ts = cpu_to_le32(dd_tp_us(now));
	if (which & 1)
		add_ack(in);
	if (which & 2)
		add_done(in);
	if (which & 4)
		add_ctl(in);
	if (which & 8)
		add_put(in);
	again = which & 0x20 ? 1 + (which >> 4 & 1) : 0;
	rx(DD_WIRE_DATA, tp.cur.rx_token);
	again = 0;
	stale = false;
	packet_end();
}

/* Change a byte of a header; the checksum may match. */
static void burst_damage(struct in *in, struct dd_wire_piece *piece)
{
	u8 at = get8(in), how = get8(in);

	((u8 *)piece)[at % sizeof(*piece)] ^= how;
	if (at & 0x80)
		dd_wire_seal(&piece->h, dd_wire_crc(&piece->h, sizeof(*piece)));
}

/* Pieces that continue the last one, except for one or two of them. */
static void step_burst(struct in *in)
{
	struct dd_wire_piece piece = tp.rx_batch.next;
	struct burst *b = calloc(1, sizeof(*b));
	u32 i, taken, which = get8(in);

	plen = le16_to_cpu(piece.h.plen);
	b->n = 1 + get8(in) % BURST;
	b->bytes = payload = calloc(1, plen);
	piece.h.ts = cpu_to_le32(dd_tp_us(now));
	for (i = 0; i < b->n; i++) {
		dd_wire_seal(&piece.h, dd_wire_crc(&piece.h, sizeof(piece)));
		b->piece[i] = piece;
		if (which >> i & 1)
			burst_damage(in, &b->piece[i]);
		dd_wire_piece_next(&piece, plen);
	}
	again = which >> 7;
	for (i = 0; i < b->n && plen; i += taken) {
		struct burst rest = { .n = b->n - i, .bytes = payload };

		memcpy(rest.piece, b->piece + i, rest.n * sizeof(piece));
		taken = dd_tp_rx_batch(&tp, now, sizeof(piece) + plen, rest.n,
				     &rest);
		need(taken <= rest.n);
		if (taken)
			continue;
		taken = 1;
		if (dd_wire_hlen(rest.piece, sizeof(piece),
				 sizeof(piece) + plen) == sizeof(piece))
			dd_tp_rx(&tp, now, rest.piece, sizeof(piece),
				 payload, plen);
	}
	again = 0;
	free(b);
	free(payload);
}

/* Handshake packets with correct or nearly correct tokens. */
static void step_handshake(struct in *in)
{
	static const u8 sizes[] = {
		[DD_WIRE_INIT] = sizeof(struct dd_wire_init),
		[DD_WIRE_COOKIE] = sizeof(struct dd_wire_cookie),
		[DD_WIRE_INIT_ACK] = sizeof(struct dd_wire_init),
		[DD_WIRE_REFUSE] = sizeof(struct dd_wire_refuse),
		[DD_WIRE_RESET] = sizeof(struct dd_wire_reset),
	};
	u8 type = 1 + get8(in) % 5, how = get8(in);
	struct dd_wire_init *init;

	packet_begin(sizes[type]);
	init = (void *)packet;
	if (type == DD_WIRE_INIT || type == DD_WIRE_INIT_ACK) {
		init->node = cpu_to_le32(2);
		init->peer = cpu_to_le32(1);
		init->maxnodes = cpu_to_le32(16 + (how >> 7));
		init->packet_max = cpu_to_le32(1200 + get(in, 2));
		init->ctl_slots = cpu_to_le16(get8(in));
		init->version_min = get8(in) & 1 ? 1 : get8(in);
		init->version_max = max(init->version_min, get8(in));
		init->incarnation = cpu_to_le64(get8(in));
		init->token = cpu_to_le64(get8(in));
		if (how & 1)
			init->cookie = cpu_to_le64(siphash_2u64(
				le64_to_cpu(init->incarnation),
				le64_to_cpu(init->token),
				&tp.cookie_key[how >> 1 & 1]) | 1);
	}
	if (type == DD_WIRE_RESET)
		((struct dd_wire_reset *)init)->token =
			cpu_to_le64(how & 1 ? tp.cur.tx_token : how);
	if (type == DD_WIRE_REFUSE)
		((struct dd_wire_refuse *)init)->reason = how;
	if (type == DD_WIRE_COOKIE)
		((struct dd_wire_cookie *)init)->cookie = cpu_to_le64(how);
	rx(type, type == DD_WIRE_INIT || type == DD_WIRE_RESET ?
		 0 : tp.init_token);
	packet_end();
}

/* The first packet of the requested session. */
static void step_confirm(struct in *in)
{
	packet_begin(sizeof(struct dd_wire_hdr));
	frame(sizeof(struct dd_wire_ping));
	packet[sizeof(struct dd_wire_hdr)] = DD_FRAME_PING;
	rx(DD_WIRE_DATA, get8(in) & 1 ? tp.pend.rx_token : tp.cur.rx_token);
	packet_end();
}

/* ---- the fuzzer ---------------------------------------------------------- */

static void drain(void)
{
	struct dd_wire_piece hdr[PKT_HDRS];
	struct dd_tp_pkt pkt = {
		.hdr = &hdr[0].h,
		.space = sizeof(hdr) / sizeof(hdr[0]),
	};
	u32 n = 0, i;
	u64 at;

	while (dd_tp_poll(&tp, now, &pkt)) {
		need(++n < 20000);
		need(pkt.hlen <= DD_WIRE_HLEN_MAX);
		need(pkt.count && pkt.count <= pkt.space);
		for (i = 0; i < pkt.count; i++) {
			const struct dd_wire_hdr *h = (void *)hdr + i * pkt.hlen;

			need(dd_wire_hlen(h, pkt.hlen, pkt.hlen + pkt.len) ==
			     (int)pkt.hlen);
			if (h->type == DD_WIRE_DATA)
				need(dd_wire_frames_ok(h, pkt.hlen, pkt.len));
			else
				need(dd_wire_handshake_ok(h, pkt.hlen));
			need(pkt.need_crc ||
			     dd_wire_crc(h, pkt.hlen) == ~le32_to_cpu(h->crc));
		}
	}
	/* After a deadline has passed there must be something to do. */
	for (n = 0; (at = dd_tp_deadline(&tp)) <= now; n++) {
		need(n < 100);
		dd_tp_timeout(&tp, now);
		while (dd_tp_poll(&tp, now, &pkt))
			;
	}
}

static void step(struct in *in)
{
	u8 what = get8(in), arg = what >> 4;

	switch (what & 15) {
	case 0:
		step_raw(in);
		break;
	case 1:
	case 2:
	case 3:
		step_frames(in);
		break;
	case 4:
		step_burst(in);
		break;
	case 5:
		now += get8(in) * 20000ull;
		dd_tp_timeout(&tp, now);
		break;
	case 6:
		now += get8(in) * 20000000ull;
		dd_tp_timeout(&tp, now);
		break;
	case 7:
	case 8:
		chan_submit(in, arg % CHANS);
		break;
	case 9:
		chan_read(arg % CHANS);
		break;
	case 10:
		dd_tp_ctl(&tp, "control", 1 + arg % 7);
		break;
	case 11:
		chan_open(arg % CHANS);
		break;
	case 12:
		chan_close(arg % CHANS);
		break;
	case 13:
		dd_tp_set_mtu(&tp, get(in, 2));
		break;
	case 14:
		step_handshake(in);
		break;
	case 15:
		if (arg < 8)
			step_confirm(in);
		else if (arg == 8)
			dd_tp_stop(&tp);
		else
			dd_tp_start(&tp, now);
		break;
	}
}

static void report(void)
{
	int reply;

	for (reply = 0; reply < 2; reply++)
		fprintf(stderr, "completed %s: put %llu get %llu cas4 %llu cas8 %llu note %llu\n",
			reply ? "replies" : "requests", completed[reply][DD_WIRE_PUT],
			completed[reply][DD_WIRE_GET], completed[reply][DD_WIRE_CAS4],
			completed[reply][DD_WIRE_CAS8], completed[reply][DD_WIRE_NOTE]);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return atexit(report);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct in in = { .p = data, .end = data + size };
	struct dd_tp_cfg cfg = {
		.node = 1, .peer = 2, .maxnodes = 16, .incarnation = 3,
		.records = 32, .ctl_slots = 4, .dead_ns = 1000 * DD_TP_MS,
		.version_min = DD_WIRE_VERSION,
		.version_max = DD_WIRE_VERSION,
	};
	int i, steps = 0;

	now = 1000 * DD_TP_MS;
	random_state = 0;
	memset(chans, 0, sizeof(chans));
	arena = malloc(dd_tp_arena_size(&cfg));
	dd_tp_init(&tp, &cfg, &ops, arena);
	dd_tp_set_mtu(&tp, 1472);
	/* The peer has requested a session. */
	need(session_establish(&tp, now, 1111, 2222, 65507));
	for (i = 0; i < CHANS; i++)
		chan_open(i);
	while (in.p < in.end && ++steps < 500) {
		step(&in);
		drain();
		need(!session_fault(&tp));
	}
	for (i = 0; i < CHANS; i++)
		chan_close(i);
	free(arena);
	return 0;
}
