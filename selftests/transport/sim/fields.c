// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invalid packets: with every byte changed under a valid checksum. Invalid calls.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "sim.h"
#include "victim.h"

/* With its first channel only. */
static void victim_begin(struct victim *v)
{
	victim_init(v, sim.now);
	victim_open(v, 0);
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

/* A packet with a control message and a message of one piece. */
struct sample {
	struct dd_wire_hdr h;
	struct dd_wire_ctl ctl;
	u8 message[8];
	struct dd_wire_put put;
	struct dd_wire_head head;
	u8 payload[64];
} __packed;

#define SAMPLE_HLEN	offsetof(struct sample, payload)

static struct sample sample_make(void)
{
	struct sample s = {
		.h.flags = DD_WIRE_PAYLOAD_CRC,
		.ctl = { .type = DD_FRAME_CTL, .len = cpu_to_le16(5) },
		.put = {
			.type = DD_FRAME_PUT, .flags = DD_PUT_NOTIFY, .meta_count = 2,
			.chan = cpu_to_le64(CHAN_ID), .msgid = cpu_to_le64(1),
			.dst = cpu_to_le64(8), .len = cpu_to_le32(sizeof(s.payload)),
		},
		.head = { .tag = cpu_to_le32(12), .meta = { cpu_to_le32(13), cpu_to_le32(14) } },
	};

	packet_head(&s, DD_WIRE_DATA, SAMPLE_HLEN, sizeof(s.payload), RX_TOKEN);
	packet_seal(&s, SAMPLE_HLEN, s.payload, sizeof(s.payload));
	return s;
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

static bool in_checksum(u32 at)
{
	return at >= 28 && at < 32;
}

static void try_byte(u32 at, u8 change)
{
	struct sample s = sample_make();
	struct victim v;
	bool whole;

	victim_begin(&v);
	((u8 *)&s)[at] ^= change;
	if (!in_checksum(at))
		packet_seal(&s, SAMPLE_HLEN, s.payload, sizeof(s.payload));
	dd_tp_rx(&v.tp, sim.now, &s, SAMPLE_HLEN, s.payload, sizeof(s.payload));
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

/* ---- batches -------------------------------------------- */

#define PIECE	64	/* bytes of a packet */

static const u8 bytes[PIECE];

/* A message of several packets. */
static void pieces_make(struct dd_wire_piece *piece)
{
	u32 i;

	for (i = 0; i < BURST; i++, piece++) {
		*piece = (struct dd_wire_piece) {
			.h.pn = cpu_to_le32(i),
			.put = {
				.type = DD_FRAME_PUT, .flags = DD_PUT_NOTIFY,
				.chan = cpu_to_le64(CHAN_ID), .msgid = cpu_to_le64(1),
				.len = cpu_to_le32(BURST * PIECE), .off = cpu_to_le32(i * PIECE),
			},
		};
		packet_head(piece, DD_WIRE_DATA, sizeof(*piece), PIECE, RX_TOKEN);
		packet_seal(piece, sizeof(*piece), NULL, 0);
	}
}

static u32 rx_pieces(struct victim *v, const struct dd_wire_piece *piece, u32 n)
{
	struct burst b = { .n = n, .bytes = bytes };

	memcpy(b.piece, piece, n * sizeof(*piece));
	return dd_tp_rx_batch(&v->tp, sim.now, sizeof(*piece) + PIECE, n, &b);
}

/* Receive the first two packets alone: the head with the first one ends a batch. */
static void rx_first(struct victim *v, const struct dd_wire_piece *piece)
{
	struct {
		struct dd_wire_piece piece;
		struct dd_wire_head head;
	} first = { .piece = piece[0] };

	first.piece.h.hlen = cpu_to_le16(sizeof(first));
	packet_seal(&first, sizeof(first), NULL, 0);
	dd_tp_rx(&v->tp, sim.now, &first, sizeof(first), bytes, PIECE);
	if (rx_pieces(v, piece + 1, BURST - 1))
		sim_fail("a batch begins with a head");
	dd_tp_rx(&v->tp, sim.now, piece + 1, sizeof(*piece), bytes, PIECE);
}

/* Change byte @at of packet @which, the third (2) or a later one. */
static void try_run(const struct dd_wire_piece *good, u32 which, u32 at,
		    u8 change)
{
	struct dd_wire_piece piece[BURST];
	struct victim v;
	u32 taken;
	/* Only the checksum protects the timestamp of the first packet. */
	bool bad = change && (which == 2 || !in_checksum(at));

	victim_begin(&v);
	memcpy(piece, good, sizeof(piece));
	((u8 *)&piece[which])[at] ^= change;
	if (!in_checksum(at) && (which > 2 || at < 20 || at >= 24))
		packet_seal(&piece[which], sizeof(*piece), NULL, 0);
	rx_first(&v, piece);
	taken = rx_pieces(&v, piece + 2, BURST - 2);
	/* All but the last, which completes the message. */
	if (taken != (bad ? which - 2 : BURST - 3))
		sim_fail("byte %u of a batch changed by %#x: %u taken", at,
			 change, taken);
	if (v.stored != (2 + taken) * PIECE || v.completed || victim_drops(&v))
		sim_fail("byte %u of a batch changed by %#x: %u stored", at,
			 change, v.stored);
	v.chans[0].c.hold = true;
	if (rx_pieces(&v, piece + 2 + taken, 1))
		sim_fail("a batch while nothing is to be taken");
	victim_exit(&v);
}

static void runs(void)
{
	struct dd_wire_piece good[BURST];
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

/* Each operation, with and without bytes, as a request and as a reply. */
static void operations(void)
{
	static const u32 lens[] = { 0, 1, 64, 65, 4000 };
	struct {
		struct dd_wire_hdr h;
		struct dd_wire_put put;
		struct dd_wire_head head;
	} __packed p = { .put = { .type = DD_FRAME_PUT, .msgid = cpu_to_le64(1) } };
	bool ok;
	u32 i;

	for (i = 0; i < 2 * 2 * 8 * 2 * ARRAY_SIZE(lens); i++) {
		const struct dd_tp_msg msg = {
			.op = i >> 2 & 7,
			.flags = i >> 1 & 1 ? DD_PUT_REPLY : 0,
			.dst = i >> 5 & 1 ? 8 : 0,
			.len = lens[i >> 6],
		};

		p.h.version = 1 + (i & 1);
		p.put.op = msg.op;
		p.put.flags = msg.flags;
		p.put.dst = cpu_to_le64(msg.dst);
		p.put.len = cpu_to_le32(msg.len);
		ok = dd_wire_frames_ok(&p.h, sizeof(p), min(msg.len, 1000u));
		if (ok != op_valid(p.h.version, &msg))
			sim_fail("version %u, operation %u, flags %u, %u bytes at %llu: %s",
				 p.h.version, msg.op, msg.flags, msg.len, msg.dst,
				 ok ? "accepted" : "refused");
	}
}

SCENARIO(fields, "every byte of a packet changed")
{
	u32 at, change;

	try_byte(16, 0);
	for (at = 0; at < SAMPLE_HLEN; at++) {
		for (change = 1; change < 256; change++)
			try_byte(at, change);
	}
	operations();
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
	static const struct {
		u8 version;
		struct dd_tp_msg msg;
	} bad[] = {
		{ 2, { .len = DD_WIRE_MSG_MAX + 1u } },
		{ 2, { .meta_count = DD_WIRE_META + 1 } },
		{ 2, { .dst = U64_MAX } },
		/* Version 1 of the protocol has neither. */
		{ 1, { .op = DD_WIRE_GET } },
		{ 1, { .flags = DD_PUT_REPLY } },
	};
	struct dd_tp_chan *c = &v->chans[0].c;
	struct dd_tp_op op[4] = {};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		v->tp.cur.version = bad[i].version;
		op[0].msg = bad[i].msg;
		REFUSES(-EINVAL, dd_tp_submit(&v->tp, c, op));
	}
	v->tp.cur.version = DD_WIRE_VERSION;
	op[0].msg = op[1].msg;
	for (i = 0; i < 3; i++)
		REFUSES(0, dd_tp_submit(&v->tp, c, &op[i]));
	REFUSES(-EBUSY, dd_tp_submit(&v->tp, c, &op[3]));
	dd_tp_chan_drop(&v->tp, c);
	dd_tp_chan_drop(&v->tp, c);
	REFUSES(-ENOTCONN, dd_tp_submit(&v->tp, c, &op[3]));
	REFUSES(-ENOTCONN, dd_tp_chan_peer(&v->tp, c, 1, 1, 0));
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
	const struct dd_tp_chan_cfg none = {};
	u8 data[DD_WIRE_CTL_MAX + 1] = {};
	struct victim v;
	u32 i;

	victim_begin(&v);
	calls_submit(&v);
	calls_rtt(&v);
	REFUSES(-EINVAL, dd_tp_ctl(&v.tp, data, 0));
	REFUSES(-EINVAL, dd_tp_ctl(&v.tp, data, sizeof(data)));
	for (i = 0; i < victim_cfg.ctl_slots; i++)
		REFUSES(0, dd_tp_ctl(&v.tp, data, DD_WIRE_CTL_MAX));
	REFUSES(-EAGAIN, dd_tp_ctl(&v.tp, data, 1));
	dd_tp_stop(&v.tp);
	REFUSES(-ENOTCONN, dd_tp_ctl(&v.tp, data, 1));
	REFUSES(-ENOTCONN, dd_tp_chan_init(&v.tp, &v.chans[0].c, &none));
	victim_exit(&v);
}

/* ---- many channels, few records ------------------------------------------ */

#define MANY	1000

/* Without free records nothing walks the channels that wait for one. */
SCENARIO(scarce, "no records, and many channels that wait for them")
{
	/* A channel and its only message, in pages of their own. */
	size_t size = ALIGN(sizeof(struct victim_chan), sysconf(_SC_PAGESIZE));
	/* Any access to a channel other than the first and the last few is fatal. */
	const u32 few = 2 * DD_TP_RECORDS_MIN;
	struct dd_tp_chan_cfg cfg = { .peer_id = 7, .rx_window = 2, .tx_window = 2 };
	void *lones = mmap(NULL, MANY * size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct victim v;
	u32 i;

	victim_init(&v, sim.now);
	for (i = 0; i < MANY; i++) {
		struct victim_chan *ch = lones + i * size;

		cfg.id = 1 + i;
		ch->ops[0].msg.len = 64;
		REFUSES(0, dd_tp_chan_init(&v.tp, &ch->c, &cfg));
		REFUSES(0, dd_tp_submit(&v.tp, &ch->c, &ch->ops[0]));
	}
	REFUSES(0, mprotect(lones + few * size, (MANY - 2 - few) * size, PROT_NONE));
	need(victim_drain(&v, sim.now) == victim_cfg.records - DD_TP_RESERVE, "records run out");
	/* A timeout sends lost pieces, and every other event polls, too. */
	for (i = 0; i < 4; i++) {
		sim.now = dd_tp_deadline(&v.tp);
		dd_tp_timeout(&v.tp, sim.now);
		if (v.tp.state == DD_TP_UP)
			need(victim_drain(&v, sim.now), "a timeout sends something");
	}
	victim_exit(&v);
	munmap(lones, MANY * size);
}
