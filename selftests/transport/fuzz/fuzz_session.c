// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of a session that is up, with a peer that sends arbitrary packets. The input
 * is a list of steps: packets, whose tokens, lengths and checksums are corrected so that
 * they are processed, time that passes, and calls of the transport's caller. victim.c has
 * what must be so in every case, and no record may be lost.
 */
#include <stdio.h>
#include <stdlib.h>

#include "victim.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Rest of the input. */
struct in {
	const u8 *p;		/* next byte */
	const u8 *end;		/* end of the input */
};

static struct victim v;
static u64 now;
/* The packet that is made. */
static u8 packet[DD_WIRE_HLEN_MAX], *payload;
static size_t hlen, plen;

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

/* ---- the caller --------------------------------------------------------- */

static void chan_submit(struct in *in, int i)
{
	struct victim_chan *ch = &v.chans[i];
	struct dd_tp_op *op = ch->open ? victim_op(ch) : NULL;

	if (!op)
		return;
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
	dd_tp_submit(&v.tp, &ch->c, op);
}

/* ---- the peer ----------------------------------------------------------- */

static void packet_begin(size_t size)
{
	memset(packet, 0, sizeof(packet));
	hlen = size;
	payload = NULL;
	plen = 0;
}

/* Receive the packet, corrected where the parser would reject it; its size is exact. */
static void rx(u8 type, u64 token)
{
	u8 *exact = malloc(hlen);

	packet_head(packet, type, hlen, plen, token);
	packet_seal(packet, hlen, payload, plen);
	memcpy(exact, packet, hlen);
	dd_tp_rx(&v.tp, now, exact, hlen, payload, plen);
	free(exact);
	free(payload);
}

/* Arbitrary bytes as a datagram. */
static void step_datagram(struct in *in)
{
	size_t n = get8(in), i;
	u8 *p = malloc(n);
	struct dd_wire_hdr *hdr = (void *)p;
	int len;

	for (i = 0; i < n; i++)
		p[i] = get8(in);
	len = dd_wire_hlen(p, n, n);
	if (len >= 0) {
		assert(len <= DD_WIRE_HLEN_MAX && len <= n);
		if (hdr->type == DD_WIRE_DATA)
			hdr->token = cpu_to_le64(v.tp.cur.rx_token);
		packet_seal(hdr, len, p + len, n - len);
		dd_tp_rx(&v.tp, now, p, len, p + len, n - len);
	}
	free(p);
}

/* Arbitrary frames. */
static void step_raw(struct in *in)
{
	size_t n = get8(in), i;
	struct dd_wire_hdr *hdr = (void *)packet;

	packet_begin(sizeof(*hdr) + n);
	hdr->flags = get8(in);
	hdr->pn = cpu_to_le32(get8(in));
	for (i = 0; i < n; i++)
		packet[sizeof(*hdr) + i] = get8(in);
	rx(DD_WIRE_DATA, v.tp.cur.rx_token);
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
	ack->largest = cpu_to_le32(v.tp.next_pn - get8(in));
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
	done->chan = cpu_to_le64(CHAN_ID + (get8(in) & 3));
	done->count = cpu_to_le64(get8(in) & 31);
	done->credit = cpu_to_le16(get8(in) & 7);
}

static void add_ctl(struct in *in)
{
	u32 len = 1 + (get8(in) & 63);
	struct dd_wire_ctl *ctl = frame(sizeof(*ctl) + ALIGN(len, 8));

	ctl->type = DD_FRAME_CTL;
	ctl->len = cpu_to_le16(len);
	ctl->seq = cpu_to_le32(v.tp.ctl_rx - 2 + (get8(in) & 7));
	ctl->data[0] = get8(in);
}

/* Make a message of one packet, the next one of its channel, as its operation permits. */
static void put_whole(struct dd_wire_put *put, const struct victim_chan *ch)
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
	struct victim_chan *ch = &v.chans[get8(in) % CHANS];
	struct dd_wire_head *head;
	u8 how = get8(in);

	put->type = DD_FRAME_PUT;
	put->flags = get8(in) & DD_PUT_FLAGS;
	put->op = how & 7;
	put->generation = cpu_to_le32(how & 0x40 ? get8(in) : ch->c.cfg.generation);
	put->chan = cpu_to_le64(CHAN_ID + (ch - v.chans));
	put->msgid = cpu_to_le64(ch->c.received + (get8(in) & 3));
	put->dst = cpu_to_le64(get8(in) * 4);
	put->len = cpu_to_le32(get(in, 2) >> 4);
	put->off = cpu_to_le32(get8(in) * 8);
	plen = get8(in) * 4;
	if (how & 0x80)
		put_whole(put, ch);
	v.stale = put->generation != cpu_to_le32(ch->c.cfg.generation);
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
	struct dd_wire_hdr *hdr = (void *)packet;

	packet_begin(sizeof(*hdr));
	hdr->flags = which & 0x40 ? DD_WIRE_PAYLOAD_CRC : 0;
	hdr->pn = cpu_to_le32((v.tp.nrx ? v.tp.rx_range[0].last + 1 : 0) +
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
	v.again = which & 0x20 ? 1 + (which >> 4 & 1) : 0;
	rx(DD_WIRE_DATA, v.tp.cur.rx_token);
	v.again = 0;
	v.stale = false;
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
	struct dd_wire_piece piece = v.tp.rx_batch.next;
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
	v.again = which >> 7;
	for (i = 0; i < b->n && plen; i += taken) {
		struct burst rest = { .n = b->n - i, .bytes = payload };

		memcpy(rest.piece, b->piece + i, rest.n * sizeof(piece));
		taken = dd_tp_rx_batch(&v.tp, now, sizeof(piece) + plen, rest.n,
				     &rest);
		assert(taken <= rest.n);
		if (taken)
			continue;
		taken = 1;
		if (dd_wire_hlen(rest.piece, sizeof(piece),
				 sizeof(piece) + plen) == sizeof(piece))
			dd_tp_rx(&v.tp, now, rest.piece, sizeof(piece),
				 payload, plen);
	}
	v.again = 0;
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
	struct dd_wire_init *init = (void *)packet;

	packet_begin(sizes[type]);
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
				&v.tp.cookie_key[how >> 1 & 1]) | 1);
	}
	if (type == DD_WIRE_RESET)
		((struct dd_wire_reset *)init)->token =
			cpu_to_le64(how & 1 ? v.tp.cur.tx_token : how);
	if (type == DD_WIRE_REFUSE)
		((struct dd_wire_refuse *)init)->reason = how;
	if (type == DD_WIRE_COOKIE)
		((struct dd_wire_cookie *)init)->cookie = cpu_to_le64(how);
	rx(type, type == DD_WIRE_INIT || type == DD_WIRE_RESET ?
		 0 : v.tp.init_token);
}

/* The first packet of the requested session. */
static void step_confirm(struct in *in)
{
	packet_begin(sizeof(struct dd_wire_hdr));
	frame(sizeof(struct dd_wire_ping));
	packet[sizeof(struct dd_wire_hdr)] = DD_FRAME_PING;
	rx(DD_WIRE_DATA, get8(in) & 1 ? v.tp.pend.rx_token : v.tp.cur.rx_token);
}

/* ---- the fuzzer ---------------------------------------------------------- */

static void drain(void)
{
	u32 n;

	victim_drain(&v, now);
	/* After a deadline has passed there must be something to do. */
	for (n = 0; dd_tp_deadline(&v.tp) <= now; n++) {
		assert(n < 100);
		dd_tp_timeout(&v.tp, now);
		victim_drain(&v, now);
	}
}

static void step(struct in *in)
{
	u8 what = get8(in), arg = what >> 4;

	switch (what & 15) {
	case 0:
		if (arg == 15)
			step_datagram(in);
		else
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
		dd_tp_timeout(&v.tp, now);
		break;
	case 6:
		now += get8(in) * 20000000ull;
		dd_tp_timeout(&v.tp, now);
		break;
	case 7:
	case 8:
		chan_submit(in, arg % CHANS);
		break;
	case 9:
		victim_read(&v, arg % CHANS);
		break;
	case 10:
		dd_tp_ctl(&v.tp, "control", 1 + arg % 7);
		break;
	case 11:
		victim_open(&v, arg % CHANS);
		break;
	case 12:
		victim_close(&v, arg % CHANS);
		break;
	case 13:
		dd_tp_set_mtu(&v.tp, get(in, 2));
		break;
	case 14:
		step_handshake(in);
		break;
	case 15:
		if (arg < 8)
			step_confirm(in);
		else if (arg == 8)
			dd_tp_stop(&v.tp);
		else
			dd_tp_start(&v.tp, now);
		break;
	}
}

static void report(void)
{
	int reply;

	for (reply = 0; reply < 2; reply++) {
		const u64 *n = victim_completed[reply];

		fprintf(stderr, "completed %s: put %llu get %llu cas4 %llu cas8 %llu note %llu\n",
			reply ? "replies" : "requests", n[DD_WIRE_PUT], n[DD_WIRE_GET],
			n[DD_WIRE_CAS4], n[DD_WIRE_CAS8], n[DD_WIRE_NOTE]);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return atexit(report);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct in in = { .p = data, .end = data + size };
	int i, steps = 0;

	now = 1000 * DD_TP_MS;
	victim_init(&v, now);
	for (i = 0; i < CHANS; i++)
		victim_open(&v, i);
	while (in.p < in.end && ++steps < 500) {
		step(&in);
		drain();
		assert(!session_fault(&v.tp));
	}
	for (i = 0; i < CHANS; i++)
		victim_close(&v, i);
	victim_exit(&v);
	return 0;
}
