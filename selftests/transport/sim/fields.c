// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invalid packets: truncated at every length, and with every byte changed under a
 * valid checksum. Invalid calls.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "sim.h"
#include "transport/batch.h"

#define BLOCK	4096
#define TOKEN	0x1122334455667788ull
#define CHAN	0x99aabbccddeeff01ull

/* An end whose peer is this program. */
struct victim {
	struct dd_tp tp;	/* the transport under test */
	struct dd_tp_chan c;	/* its channel */
	u8 *arena;		/* memory of @tp */
	u32 stored;		/* number of bytes deposited */
	u32 completed;		/* number of messages completed */
	u32 ctl;		/* number of control messages received */
};

static struct victim *to_victim(struct dd_tp *tp)
{
	return container_of(tp, struct victim, tp);
}

static struct dd_tp_chan *op_find(struct dd_tp *tp, u64 id)
{
	struct victim *v = to_victim(tp);

	return id == v->c.cfg.id ? &v->c : NULL;
}

static int op_deposit(struct dd_tp *tp, struct dd_tp_chan *c, u64 dst,
		      const void *payload, u32 off, u32 len)
{
	if (dst >= BLOCK || len > BLOCK - dst)
		sim_fail("deposit: outside of the block");
	to_victim(tp)->stored += len;
	return 0;
}

/* The payload is the header's own bytes. */
static void op_deposit_batch(struct dd_tp *tp, struct dd_tp_chan *c, u64 dst,
			   const void *payload, struct dd_tp_rx_batch *batch)
{
	const struct dd_wire_piece *piece = payload;

	for (; dd_tp_rx_batch_accepts(batch, piece); piece++, dst += batch->plen)
		op_deposit(tp, c, dst, piece, 0, batch->plen);
}

static bool op_complete(struct dd_tp *tp, struct dd_tp_chan *c,
			const struct dd_tp_msg *msg, const u8 *tail, u32 ntail)
{
	to_victim(tp)->completed++;
	return true;
}

static u32 op_credit(struct dd_tp *tp, struct dd_tp_chan *c)
{
	return 0;
}

static void op_number(struct dd_tp *tp, struct dd_tp_chan *c, u64 msgid)
{
}

static void op_ctl(struct dd_tp *tp, const void *data, u32 len)
{
	to_victim(tp)->ctl++;
}

static void op_up(struct dd_tp *tp)
{
}

static void op_down(struct dd_tp *tp, enum dd_tp_reason reason)
{
}

static const struct dd_tp_ops ops = {
	.random = dd_udp_tp_random,
	.find = op_find,
	.deposit = op_deposit,
	.deposit_batch = op_deposit_batch,
	.peek = bytes_peek,
	.payload_crc = bytes_payload_crc,
	.complete = op_complete,
	.credit = op_credit,
	.sent = op_number,
	.done = op_number,
	.ctl = op_ctl,
	.up = op_up,
	.down = op_down,
};

static const struct dd_tp_cfg cfg = {
	.node = 1, .peer = 2, .maxnodes = 4, .incarnation = 5, .records = 32,
	.ctl_slots = 4, .dead_ns = SEC, .version_min = 1, .version_max = 1,
};

static const struct dd_tp_chan_cfg chan_cfg = {
	.id = CHAN, .peer_id = 7, .rx_size = BLOCK, .rx_window = 2,
	.tx_window = 2,
};

static void victim_init(struct victim *v)
{
	memset(v, 0, sizeof(*v));
	v->arena = sim_alloc(dd_tp_arena_size(&cfg));
	dd_tp_init(&v->tp, &cfg, &ops, v->arena);
	dd_tp_set_mtu(&v->tp, 1472);
	if (!session_establish(&v->tp, sim.now, TOKEN, 8, 9000) ||
	    dd_tp_chan_init(&v->tp, &v->c, &chan_cfg))
		sim_fail("no session");
}

static void victim_exit(struct victim *v)
{
	free(v->arena);
}

static u64 victim_drops(const struct victim *v)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < DD_TP_DROPS; i++)
		sum += v->tp.stats.drops[i];
	return sum;
}

/* ---- packets ------------------------------------------------------------ */

/* A valid packet. */
struct sample {
	u32 hlen;		/* bytes of its header */
	u32 plen;		/* bytes of its payload */
	u8 data[DD_WIRE_HLEN_MAX + 64];	/* header and payload */
};

/* A packet with a control message and a message of one piece. */
static void sample_make(struct sample *s)
{
	struct dd_wire_hdr *hdr = (void *)s->data;
	struct dd_wire_ctl *ctl = (void *)(hdr + 1);
	struct dd_wire_put *put = (void *)(ctl->data + 8);
	struct dd_wire_head *head = (void *)(put + 1);

	memset(s, 0, sizeof(*s));
	s->hlen = (u8 *)(head + 1) - s->data;
	s->plen = 64;
	packet_head(hdr, DD_WIRE_DATA, s->hlen, s->plen, TOKEN);
	hdr->flags = DD_WIRE_PAYLOAD_CRC;
	ctl->type = DD_FRAME_CTL;
	ctl->len = cpu_to_le16(5);
	put->type = DD_FRAME_PUT;
	put->flags = DD_PUT_NOTIFY;
	put->meta_count = 2;
	put->chan = cpu_to_le64(CHAN);
	put->msgid = cpu_to_le64(1);
	put->dst = cpu_to_le64(8);
	put->len = cpu_to_le32(s->plen);
	head->tag = cpu_to_le32(12);
	head->meta[0] = cpu_to_le32(13);
	head->meta[1] = cpu_to_le32(14);
	packet_seal(s->data, s->hlen, s->data + s->hlen, s->plen);
}

/* From here to there, other values are as good: the message arrives. */
static bool is_free(u32 at)
{
	static const struct {
		u32 from;
		u32 to;
	} ranges[] = {
		{ 4, 5 },	/* flags: checksum or not */
		{ 16, 24 },	/* packet number, timestamp */
		{ 36, 45 },	/* number of the control message, its bytes */
		{ 34, 36 },	/* their number, if the rest is zero */
		{ 49, 51 },	/* flags, words of metadata if not fewer */
		{ 72, 80 },	/* place in the block */
		{ 88, 100 },	/* tag, metadata */
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		if (at >= ranges[i].from && at < ranges[i].to)
			return true;
	}
	return false;
}

/* With another length or offset it is a piece of another message. */
static bool is_shape(u32 at)
{
	return at >= 80 && at < 88;
}

static void try_byte(const struct sample *good, u32 at, u8 change)
{
	struct sample s = *good;
	struct victim v;
	bool whole;

	victim_init(&v);
	s.data[at] ^= change;
	if (at < 28 || at >= 32)
		packet_seal(s.data, s.hlen, s.data + s.hlen, s.plen);
	dd_tp_rx(&v.tp, sim.now, s.data, s.hlen, s.data + s.hlen, s.plen);
	whole = v.completed == 1 && !victim_drops(&v);
	if (whole && !is_free(at))
		sim_fail("byte %u changed by %#x: taken", at, change);
	if (!whole && v.completed)
		sim_fail("byte %u changed by %#x: taken and dropped", at,
			 change);
	if (!whole && victim_drops(&v) != 1 && !is_shape(at))
		sim_fail("byte %u changed by %#x: %llu drops counted", at, change,
			 victim_drops(&v));
	if (!whole && v.stored && !is_shape(at))
		sim_fail("byte %u changed by %#x: bytes deposited", at, change);
	if (v.tp.state != DD_TP_UP)
		sim_fail("byte %u changed by %#x: the session is over", at,
			 change);
	victim_exit(&v);
}

static void try_length(const struct sample *good, u32 len)
{
	u32 hlen = min(len, good->hlen);
	u8 *exact = malloc(hlen + !hlen);
	struct victim v;

	victim_init(&v);
	memcpy(exact, good->data, hlen);
	dd_tp_rx(&v.tp, sim.now, exact, hlen, good->data + hlen, len - hlen);
	if (v.completed || v.ctl || v.stored ||
	    v.tp.stats.drops[DD_TP_DROP_FORMAT] != 1)
		sim_fail("taken, of %u bytes", len);
	victim_exit(&v);
	free(exact);
}

/* ---- batches -------------------------------------------- */

#define PIECE	64	/* bytes of a packet */
#define PIECES	6

/* A message of several packets; the first one also has the head. */
static void pieces_make(struct dd_wire_piece *piece)
{
	u32 i;

	memset(piece, 0, PIECES * sizeof(*piece));
	for (i = 0; i < PIECES; i++, piece++) {
		packet_head(piece, DD_WIRE_DATA, sizeof(*piece), PIECE, TOKEN);
		piece->h.pn = cpu_to_le32(i);
		piece->put.type = DD_FRAME_PUT;
		piece->put.flags = DD_PUT_NOTIFY;
		piece->put.chan = cpu_to_le64(CHAN);
		piece->put.msgid = cpu_to_le64(1);
		piece->put.len = cpu_to_le32(PIECES * PIECE);
		piece->put.off = cpu_to_le32(i * PIECE);
		packet_seal(piece, sizeof(*piece), NULL, 0);
	}
}

/* Number of packets of a batch that are accepted after the first two. */
static u32 pieces_taken(struct victim *v, struct dd_wire_piece *piece)
{
	struct {
		struct dd_wire_piece piece;
		struct dd_wire_head head;
	} first = { .piece = piece[0] };
	u8 bytes[PIECE] = {};

	first.piece.h.hlen = cpu_to_le16(sizeof(first));
	packet_seal(&first, sizeof(first), NULL, 0);
	dd_tp_rx(&v->tp, sim.now, &first, sizeof(first), bytes, PIECE);
	if (dd_tp_rx_batch(&v->tp, sim.now, sizeof(*piece) + PIECE, PIECES - 1,
			 piece + 1))
		sim_fail("a batch begins with a head");
	dd_tp_rx(&v->tp, sim.now, piece + 1, sizeof(*piece), bytes, PIECE);
	return dd_tp_rx_batch(&v->tp, sim.now, sizeof(*piece) + PIECE,
			    PIECES - 2, piece + 2);
}

static bool in_checksum(u32 at)
{
	return at >= 28 && at < 32;
}

/* Change byte @at of packet @which, the third (2) or a later one. */
static void try_run(const struct dd_wire_piece *good, u32 which, u32 at,
		    u8 change)
{
	struct dd_wire_piece piece[PIECES];
	struct victim v;
	u32 taken;
	/* Only the checksum protects the timestamp of the first packet. */
	bool bad = change && (which == 2 || !in_checksum(at));

	victim_init(&v);
	memcpy(piece, good, sizeof(piece));
	((u8 *)&piece[which])[at] ^= change;
	if (!in_checksum(at) && (which > 2 || at < 20 || at >= 24))
		packet_seal(&piece[which], sizeof(*piece), NULL, 0);
	taken = pieces_taken(&v, piece);
	/* All but the last, which completes the message. */
	if (taken != (bad ? which - 2 : PIECES - 3))
		sim_fail("byte %u of a batch changed by %#x: %u taken", at,
			 change, taken);
	if (v.stored != (2 + taken) * PIECE || v.completed || victim_drops(&v))
		sim_fail("byte %u of a batch changed by %#x: %u stored", at,
			 change, v.stored);
	v.c.hold = true;
	if (dd_tp_rx_batch(&v.tp, sim.now, sizeof(*piece) + PIECE, 1,
			 piece + 2 + taken))
		sim_fail("a batch while nothing is to be taken");
	victim_exit(&v);
}

static void runs(void)
{
	struct dd_wire_piece good[PIECES];
	u32 at, change;

	pieces_make(good);
	try_run(good, 2, 0, 0);
	for (at = 0; at < sizeof(*good); at++) {
		for (change = 1; change < 256; change++) {
			try_run(good, 2, at, change);
			try_run(good, 3, at, change);
		}
	}
}

/* Of a frame that is valid as a PUT of version 2. */
static bool op_is_valid(u8 version, u8 op, bool reply, u32 len, u64 dst)
{
	if (version == 1)
		return op == DD_WIRE_PUT && !reply;
	switch (op) {
	case DD_WIRE_PUT:
		return !reply || !len;
	case DD_WIRE_GET:
		return reply || !len;
	case DD_WIRE_CAS4:
	case DD_WIRE_CAS8:
		return !len;
	case DD_WIRE_NOTE:
		return reply ? !len : len <= 64 && !dst;
	default:
		return false;
	}
}

/* Each operation, with and without bytes, as a request and as a reply. */
static void operations(void)
{
	static const u32 lens[] = { 0, 1, 64, 65, 4000 };
	struct {
		struct dd_wire_hdr h;
		struct dd_wire_put put;
		struct dd_wire_head head;
	} __packed p = { .put = { .type = DD_FRAME_PUT, .msgid = cpu_to_le64(1) } };
	u32 i, n;
	bool ok;

	for (i = 0; i < 2 * 2 * 8 * 2 * ARRAY_SIZE(lens); i++) {
		u8 version = 1 + (i & 1), op = i >> 2 & 7;
		bool reply = i >> 1 & 1;
		u64 dst = i >> 5 & 1 ? 8 : 0;
		u32 len = lens[i >> 6];

		p.h.version = version;
		p.put.op = op;
		p.put.flags = reply ? DD_PUT_REPLY : 0;
		p.put.dst = cpu_to_le64(dst);
		p.put.len = cpu_to_le32(len);
		n = min(len, 1000u);
		ok = dd_wire_frames_ok(&p.h, sizeof(p), n);
		if (ok != op_is_valid(version, op, reply, len, dst))
			sim_fail("version %u, operation %u, reply %d, %u bytes at %llu: %s",
				 version, op, reply, len, dst, ok ? "accepted" : "refused");
	}
}

SCENARIO(fields, "every byte of a packet changed, every length")
{
	struct sample good;
	u32 at, change, len;

	sample_make(&good);
	try_byte(&good, 16, 0);
	for (at = 0; at < good.hlen; at++) {
		for (change = 1; change < 256; change++)
			try_byte(&good, at, change);
	}
	operations();
	for (len = 0; len < good.hlen + good.plen; len++)
		try_length(&good, len);
	runs();
}

/* ---- calls -------------------------------------------------------------- */

static void expect(int got, int want, const char *call)
{
	if (got != want)
		sim_fail("%s: %d, not %d", call, got, want);
}

#define REFUSES(want, call)	expect(call, want, #call)

static void calls_submit(struct victim *v)
{
	struct dd_tp_op op[4] = {};
	u32 i;

	op[0].msg.len = DD_WIRE_MSG_MAX + 1u;
	REFUSES(-EINVAL, dd_tp_submit(&v->tp, &v->c, op));
	op[0].msg.len = 0;
	op[0].msg.meta_count = DD_WIRE_META + 1;
	REFUSES(-EINVAL, dd_tp_submit(&v->tp, &v->c, op));
	op[0].msg.meta_count = 0;
	op[0].msg.dst = U64_MAX;
	REFUSES(-EINVAL, dd_tp_submit(&v->tp, &v->c, op));
	op[0].msg.dst = 0;
	/* Version 1 of the protocol has neither. */
	v->tp.cur.version = 1;
	op[0].msg.op = DD_WIRE_GET;
	REFUSES(-EINVAL, dd_tp_submit(&v->tp, &v->c, op));
	op[0].msg.op = 0;
	op[0].msg.flags = DD_PUT_REPLY;
	REFUSES(-EINVAL, dd_tp_submit(&v->tp, &v->c, op));
	op[0].msg.flags = 0;
	v->tp.cur.version = DD_WIRE_VERSION;
	for (i = 0; i < 3; i++)
		REFUSES(0, dd_tp_submit(&v->tp, &v->c, &op[i]));
	REFUSES(-EBUSY, dd_tp_submit(&v->tp, &v->c, &op[3]));
	dd_tp_chan_drop(&v->tp, &v->c);
	dd_tp_chan_drop(&v->tp, &v->c);
	REFUSES(-ENOTCONN, dd_tp_submit(&v->tp, &v->c, &op[3]));
	REFUSES(-ENOTCONN, dd_tp_chan_peer(&v->tp, &v->c, 1, 1, 0));
}

/* A batch has as many packets as may be sent one by one, or a few less. */
static void calls_rooms(struct victim *v)
{
	struct dd_tp *tp = &v->tp;
	struct dd_tp_cc *cc = &tp->cc;
	u32 i, n, rooms, bytes;
	u64 now = sim.now + SEC;

	for (i = 0; i < 10000; i++) {
		bytes = 500 + sim_below(1000);
		cc->cwnd = 10000 + sim_below(1000000);
		cc->ssthresh = sim_below(2 * cc->cwnd);
		cc->flight = sim_below(cc->cwnd);
		cc->srtt = MS + sim_below(50 * MS);
		cc->min_rtt = cc->srtt;
		cc->pace_at = now - 10 * MS + sim_below(10 * MS);
		rooms = dd_tp_cc_spaces(tp, now, bytes);
		for (n = 0; dd_tp_cc_space(tp, now, bytes); n++) {
			dd_tp_cc_sent(tp, now, bytes);
			cc->flight += bytes;
		}
		if (rooms > max(n, 1u) || n > rooms + n / 200 + 1)
			sim_fail("a batch of %u, but %u may be sent", rooms, n);
	}
	dd_tp_cc_reset(tp);
}

/* Samples below and above the mean: RFC 9002, 5.3, by numbers made by hand. */
static void calls_rtt(struct victim *v)
{
	static const struct {
		u64 rtt, delay, srtt, rttvar;	/* us */
	} sample[] = {
		{ 8000, 0, 8000, 4000 },
		{ 4000, 0, 7500, 4000 },
		{ 15500, 0, 8500, 5000 },
		{ 5500, 1000, 8000, 4750 },	/* without the delay: 4,500 */
		{ 4500, 1000, 7562, 4437 },	/* less than min_rtt and the delay */
	};
	const struct dd_tp_cc *cc = &v->tp.cc;
	u32 i;

	dd_tp_cc_reset(&v->tp);
	for (i = 0; i < ARRAY_SIZE(sample); i++) {
		dd_tp_cc_rtt(&v->tp, sample[i].rtt * US, sample[i].delay * US);
		if (cc->srtt / US != sample[i].srtt ||
		    cc->rttvar / US != sample[i].rttvar)
			sim_fail("sample %u: mean %llu, variation %llu ns", i, cc->srtt,
				 cc->rttvar);
	}
	dd_tp_cc_reset(&v->tp);
}

SCENARIO(calls, "what a caller may get wrong")
{
	u8 data[DD_WIRE_CTL_MAX + 1] = {};
	struct victim v;
	u32 i;

	victim_init(&v);
	calls_submit(&v);
	calls_rtt(&v);
	calls_rooms(&v);
	REFUSES(-EINVAL, dd_tp_ctl(&v.tp, data, 0));
	REFUSES(-EINVAL, dd_tp_ctl(&v.tp, data, sizeof(data)));
	for (i = 0; i < cfg.ctl_slots; i++)
		REFUSES(0, dd_tp_ctl(&v.tp, data, DD_WIRE_CTL_MAX));
	REFUSES(-EAGAIN, dd_tp_ctl(&v.tp, data, 1));
	dd_tp_stop(&v.tp);
	REFUSES(-ENOTCONN, dd_tp_ctl(&v.tp, data, 1));
	REFUSES(-ENOTCONN, dd_tp_chan_init(&v.tp, &v.c, &chan_cfg));
	victim_exit(&v);
}

/* ---- many channels, few records ------------------------------------------ */

#define MANY	1000

/* A channel in pages of its own. */
struct lone {
	struct dd_tp_chan c;	/* the channel */
	struct dd_tp_op op;	/* its only message */
};

static struct lone *lones[MANY];

static void lones_init(struct victim *v, size_t size)
{
	struct dd_tp_chan_cfg c = chan_cfg;
	u32 i;

	for (i = 0; i < MANY; i++) {
		lones[i] = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (lones[i] == MAP_FAILED)
			sim_fail("no memory");
		c.id = CHAN + 1 + i;
		lones[i]->op.msg.len = 64;
		if (dd_tp_chan_init(&v->tp, &lones[i]->c, &c) ||
		    dd_tp_submit(&v->tp, &lones[i]->c, &lones[i]->op))
			sim_fail("no channel");
	}
}

/* Any access to a channel other than the first and the last few is fatal. */
static void lones_may(size_t size, int may)
{
	u32 i;

	for (i = 2 * DD_TP_RECORDS_MIN; i < MANY - 2; i++) {
		if (mprotect(lones[i], size, may))
			sim_fail("mprotect");
	}
}

static u32 poll_all(struct victim *v, u64 now)
{
	struct dd_wire_piece hdr[PKT_HDRS];
	struct dd_tp_pkt pkt = { .hdr = &hdr[0].h };
	u32 n = 0;

	while (dd_tp_poll(&v->tp, now, &pkt))
		n++;
	return n;
}

/* Without free records nothing walks the channels that wait for one. */
SCENARIO(scarce, "no records, and many channels that wait for them")
{
	size_t size = ALIGN(sizeof(struct lone), sysconf(_SC_PAGESIZE));
	struct victim v;
	u32 i, sent;

	victim_init(&v);
	lones_init(&v, size);
	lones_may(size, PROT_NONE);
	sent = poll_all(&v, sim.now);
	need(sent == cfg.records - DD_TP_RESERVE, "records run out");
	/* A timeout sends lost pieces, and every other event polls, too. */
	for (i = 0; i < 4; i++) {
		sim.now = dd_tp_deadline(&v.tp);
		dd_tp_timeout(&v.tp, sim.now);
		if (v.tp.state == DD_TP_UP)
			need(poll_all(&v, sim.now), "a timeout sends something");
	}
	lones_may(size, PROT_READ | PROT_WRITE);
	victim_exit(&v);
	for (i = 0; i < MANY; i++)
		munmap(lones[i], size);
}
