// SPDX-License-Identifier: GPL-2.0-only
/* One end of a session, and its invariants. */
#include "cluster/remote.h"
#include "sim.h"

#define DRAIN_MAX	20000	/* packets at once */
#define WRAP_PN		((1ull << 32) - 50)
#define WRAP_CTL	(-5u)

struct node_cfg node_cfg;
int nnodes;

static struct end ***ends;
static u64 *incarnation;
bool mem_used;

static struct end *to_end(struct dd_tp *tp)
{
	return container_of(tp, struct end, tp);
}

/* ---- callbacks of the transport --------------------------------------------- */

u64 dd_udp_tp_random(struct dd_tp *tp)
{
	return sim_random();
}

/* Bytes of a payload. */
const u8 *payload_at(const struct payload *pl, u32 off, u32 len)
{
	if (!len || off > pl->len || len > pl->len - off)
		sim_fail("bytes %u..%u of a payload of %u", off, off + len, pl->len);
	return pl->p + off;
}

/* The payload of the next packet of a batch, or NULL; sometimes it is not readable. */
const u8 *payload_next(struct payload *pl, struct dd_tp_rx_batch *batch)
{
	const struct datagram *d = pl->at;
	struct dd_wire_piece head;

	if (!pl->n || sim_chance(0.02))
		return NULL;
	if (d->len != sizeof(head) + batch->plen)
		sim_fail("batch: %zu bytes in a packet", d->len);
	memcpy(&head, d->p, sizeof(head));
	if (!dd_tp_rx_batch_accepts(batch, &head))
		return NULL;
	pl->at++;
	pl->n--;
	return d->p + sizeof(head);
}

void dd_udp_tp_peek(struct dd_tp *tp, const void *payload, u32 off, void *buf,
		    u32 len)
{
	if (len > 8)
		sim_fail("peek: %u bytes", len);
	memcpy(buf, payload_at(payload, off, len), len);
}

u32 dd_udp_tp_crc(struct dd_tp *tp, const void *payload, u32 len,
			  u32 crc)
{
	const struct payload *pl = payload;

	if (len != pl->len)
		sim_fail("payload_crc: %u bytes of %u", len, pl->len);
	if (!dd_tp_knows(tp, le64_to_cpu(pl->hdr->token)))
		sim_fail("payload_crc: of a packet of no session");
	return crc32c(crc, pl->p, len);
}

struct ctl_head {
	u32 seq;
	u8 type;
	u64 a;
	u64 b;
} __packed;

static void op_ctl(struct dd_tp *tp, const void *data, u32 len)
{
	struct end *e = to_end(tp);
	const struct ctl_head *head = data;
	const u8 *p = data;
	u32 i;

	if (len < sizeof(*head) || head->seq != e->ctl_rx)
		sim_fail("ctl: %u bytes, number %u, expected %u", len,
			 len < 4 ? 0 : head->seq, e->ctl_rx);
	for (i = sizeof(*head); i < len; i++) {
		if (p[i] != (u8)(head->seq + i))
			sim_fail("ctl: number %u: byte %u is wrong", head->seq,
				 i);
	}
	e->ctl_rx++;
	conn_ctl(e, head->type, head->a, head->b);
}

/* Let numbers that have 32 bits in packets wrap early; both ends do the same. */
static void wrap_soon(struct dd_tp *tp)
{
	tp->next_pn = WRAP_PN;
	tp->low_pn = WRAP_PN;
	tp->largest_acked = WRAP_PN - 1;
	tp->rx_range[0].first = 0;
	tp->rx_range[0].last = WRAP_PN - 1;
	tp->nrx = 1;
	tp->ctl_una = WRAP_CTL;
	tp->ctl_next = WRAP_CTL;
	tp->ctl_rx = WRAP_CTL;
}

void dd_udp_up(struct dd_tp *tp)
{
	struct end *e = to_end(tp);

	if (node_cfg.wrap)
		wrap_soon(tp);
	e->ups++;
}

static void op_up(struct dd_tp *tp)
{
	struct end *e = to_end(tp);

	dd_udp_up(tp);
	e->nctlq = 0;
	e->ctl_tx = 0;
	e->ctl_rx = 0;
	conn_up(e);
}

static void restart(void *arg, u64 gen)
{
	struct end *e = arg;

	if (e->alive && e->wanted)
		end_start(e);
}

void dd_udp_down(struct dd_tp *tp, enum dd_tp_reason reason)
{
	struct end *e = to_end(tp);

	e->downs++;
	e->reason = reason;
	if (e->wanted)
		sim_at(sim.now + sim_below(50 * MS), restart, e, 0);
}

static void op_down(struct dd_tp *tp, enum dd_tp_reason reason)
{
	struct end *e = to_end(tp);
	struct chan *ch, *next;

	dd_udp_down(tp, reason);
	list_for_each_entry_safe(ch, next, &e->chans, node) {
		if (ch->c.up)
			sim_fail("down: a channel still seems up");
		chan_close(ch, sim_chance(0.5));
	}
}

static const struct dd_tp_ops ops = {
	.random = dd_udp_tp_random,
	.find = chan_find,
	.deposit = chan_deposit,
	.deposit_batch = chan_deposit_batch,
	.peek = dd_udp_tp_peek,
	.payload_crc = dd_udp_tp_crc,
	.complete = chan_complete,
	.credit = chan_credit,
	.sent = chan_sent,
	.done = chan_done,
	.ctl = op_ctl,
	.up = op_up,
	.down = op_down,
};

/* ---- audit -------------------------------------------------------------- */

void end_audit(struct end *e)
{
	const char *fault = session_fault(&e->tp);

	if (fault)
		sim_fail("%s", fault);
}

/* ---- the transport's caller -------------------------------------------------- */

static void timer(void *arg, u64 gen)
{
	struct end *e = arg;
	u64 probes = e->tp.stats.probes, pn = e->tp.next_pn;

	if (gen != e->timer_gen || !e->alive)
		return;
	e->timer_at = DD_TP_NEVER;
	dd_udp_lock(&e->link);
	dd_tp_timeout(&e->tp, sim.now);
	dd_udp_unlock(&e->link);
	/* Numbered packets are acknowledged: RFC 9002, 6.2.4. */
	if (e->tp.stats.probes != probes && e->tp.next_pn == pn)
		sim_fail("a probe timeout sends nothing");
}

static void end_arm(struct end *e)
{
	u64 at = dd_tp_deadline(&e->tp);

	if (at < e->timer_at && dd_tp_deadline_after(&e->tp, e->timer_at))
		sim_fail("idle, with work due before its timer");
	/* The earlier timer arms the next one. */
	if (at >= e->timer_at)
		return;
	e->timer_at = max(at, sim.now);
	sim_at(e->timer_at + sim_below(node_cfg.late), timer, e,
	       ++e->timer_gen);
}

static void ctl_flush(struct end *e)
{
	u32 n = 0;

	if (!e->nctlq)
		return;
	while (n < e->nctlq &&
	       !dd_tp_ctl(&e->tp, e->ctlq[n].data, e->ctlq[n].len))
		n++;
	e->nctlq -= n;
	memmove(e->ctlq, e->ctlq + n, e->nctlq * sizeof(*e->ctlq));
}

void end_drain(struct end *e)
{
	struct dd_wire_piece hdr[PKT_HDRS];
	struct dd_tp_pkt pkt;
	bool still;
	u32 n = 0;

	dd_udp_lock(&e->link);
	if (mem_used)
		dd_remote_upper.progress(&e->link);
	ctl_flush(e);
	while (pkt.hdr = &hdr[0].h, pkt.space = 1 + n % ARRAY_SIZE(hdr),
	       still = dd_tp_is_idle(&e->tp, sim.now),
	       dd_tp_poll(&e->tp, sim.now, &pkt)) {
		if (still)
			sim_fail("an idle end sends");
		if (++n > DRAIN_MAX)
			sim_fail("poll does not end");
		if (pkt.hlen + pkt.len > max(e->tp.mtu, DD_WIRE_HLEN_MAX))
			sim_fail("a packet of %u bytes", pkt.hlen + pkt.len);
		if (pkt.len && node_cfg.mtu < DD_WIRE_PACKET_MIN && !pkt.need_crc)
			sim_fail("payload in fragments without a checksum");
		if (!pkt.count || pkt.count > pkt.space)
			sim_fail("%u packets at once", pkt.count);
		while (pkt.count--) {
			net_send(e, &pkt);
			pkt.hdr = (void *)pkt.hdr + pkt.hlen;
			pkt.off += pkt.len;
		}
	}
	spin_unlock(&e->link.lock);
	end_arm(e);
	if (++e->steps % 64 == 0)
		end_audit(e);
}

/* Transmits what is due. */
void dd_udp_unlock(struct dd_udp_peer *link)
{
	struct end *e = container_of(link, struct end, link);

	spin_unlock(&link->lock);
	if (e->alive)
		end_drain(e);
}

static void rx_one(struct end *e, const struct datagram *d)
{
	u32 ups = e->ups;
	u64 packets = e->tp.stats.rx_packets;
	struct payload payload;
	struct dd_wire_hdr *hdr;
	u8 *exact;
	int hlen;

	hlen = dd_wire_hlen(d->p, d->len, d->len);
	if (hlen < 0)
		return;
	/* Of the exact size, so that a sanitizer detects reads beyond the end. */
	exact = malloc(hlen);
	memcpy(exact, d->p, hlen);
	payload.p = d->p + hlen;
	payload.len = d->len - hlen;
	payload.hdr = (void *)exact;
	/* The address of a packet that is accepted becomes the peer's. */
	if (dd_tp_rx(&e->tp, sim.now, exact, hlen, &payload, d->len - hlen) !=
	    (e->tp.stats.rx_packets != packets))
		sim_fail("a packet that is dropped counts as valid, or the reverse");
	if (e->link.note_due)
		mem_post(e);
	hdr = (void *)exact;
	if (e->ups != ups && hdr->type == DD_WIRE_DATA &&
	    le64_to_cpu(hdr->token) != e->tp.cur.rx_token)
		sim_fail("a packet of another session confirms this one");
	free(exact);
}

/* Packets of one size, as in an skb. */
static u32 rx_some(struct end *e, struct datagram *d, u32 n)
{
	struct payload payload = { .at = d };
	u32 taken;

	while (payload.n < n && d[payload.n].len == d->len)
		payload.n++;
	taken = dd_tp_rx_batch(&e->tp, sim.now, d->len, payload.n, &payload);
	if (taken > payload.n)
		sim_fail("batch: %u packets of %u", taken, payload.n);
	e->runs += taken > 1;
	if (!taken)
		rx_one(e, d);
	return taken ?: 1;
}

/* Receive datagrams at once, in this order. */
void end_rx(int src, int dst, struct datagram *d, u32 n)
{
	struct end *e = end_get(dst, src);
	u32 taken;

	if (!e->alive)
		return;
	dd_udp_lock(&e->link);
	for (; n; d += taken, n -= taken)
		taken = rx_some(e, d, n);
	dd_udp_unlock(&e->link);
}

/* A control message of @pad bytes more than it needs. */
void end_ctl(struct end *e, u8 type, u64 a, u64 b, u32 pad)
{
	struct ctl_msg *msg;
	struct ctl_head *head;
	u32 i;

	e->ctlq = realloc(e->ctlq, (e->nctlq + 1) * sizeof(*e->ctlq));
	msg = &e->ctlq[e->nctlq++];
	msg->len = sizeof(*head) + pad;
	head = (void *)msg->data;
	head->seq = e->ctl_tx++;
	head->type = type;
	head->a = a;
	head->b = b;
	for (i = sizeof(*head); i < msg->len; i++)
		msg->data[i] = head->seq + i;
}

void end_start(struct end *e)
{
	e->wanted = true;
	dd_udp_lock(&e->link);
	dd_tp_start(&e->tp, sim.now);
	dd_udp_unlock(&e->link);
}

void end_stop(struct end *e)
{
	e->wanted = false;
	dd_udp_lock(&e->link);
	dd_tp_stop(&e->tp);
	dd_udp_unlock(&e->link);
}

/* ---- nodes -------------------------------------------------------------- */

void nodes_init(int n)
{
	int i;

	nnodes = n;
	net_reset(n);
	ends = sim_alloc(n * sizeof(*ends));
	incarnation = sim_alloc(n * sizeof(*incarnation));
	for (i = 0; i < n; i++) {
		ends[i] = sim_alloc(n * sizeof(**ends));
		incarnation[i] = sim_random();
	}
}

/* What is not 0 in @change replaces the usual configuration. */
void end_reinit(struct end *e, const struct dd_tp_cfg *change)
{
	struct dd_tp_cfg cfg = {
		.node = e->node + 1,
		.peer = e->peer + 1,
		.maxnodes = nnodes + 1,
		.incarnation = incarnation[e->node],
		.records = node_cfg.records,
		.ctl_slots = node_cfg.ctl_slots,
		.dead_ns = node_cfg.dead,
		.payload_crc = node_cfg.crc,
		.version_min = DD_WIRE_VERSION_MIN,
		.version_max = DD_WIRE_VERSION,
	};

	if (change) {
		cfg.node = change->node ?: cfg.node;
		cfg.maxnodes = change->maxnodes ?: cfg.maxnodes;
		cfg.version_min = change->version_min ?: cfg.version_min;
		cfg.version_max = change->version_max ?: cfg.version_max;
	}
	free(e->arena);
	e->arena = sim_alloc(dd_tp_arena_size(&cfg));
	e->link.lock = false;
	dd_tp_init(&e->tp, &cfg, mem_used ? mem_attach(e) : &ops, e->arena);
	dd_tp_set_mtu(&e->tp, node_cfg.mtu);
	e->timer_at = DD_TP_NEVER;
	e->timer_gen++;
	e->alive = true;
}

struct end *end_get(int node, int peer)
{
	struct end *e = ends[node][peer];

	if (e)
		return e;
	e = sim_alloc(sizeof(*e));
	e->node = node;
	e->peer = peer;
	ends[node][peer] = e;
	INIT_LIST_HEAD(&e->chans);
	end_reinit(e, NULL);
	return e;
}

void ends_each(void (*fn)(struct end *e))
{
	int i, j;

	for (i = 0; i < nnodes; i++) {
		for (j = 0; j < nnodes; j++) {
			if (ends[i][j])
				fn(ends[i][j]);
		}
	}
}

static void reborn(void *arg, u64 gen)
{
	int node = gen, j;

	for (j = 0; j < nnodes; j++) {
		if (!ends[node][j])
			continue;
		end_reinit(ends[node][j], NULL);
		if (ends[node][j]->wanted)
			end_start(ends[node][j]);
	}
}

/* The node fails without a packet and restarts after a while. */
void node_reboot(int node)
{
	struct chan *ch, *next;
	struct end *e;
	int j;

	incarnation[node] = sim_random();
	if (mem_used)
		mem_died(node);
	for (j = 0; j < nnodes; j++) {
		e = ends[node][j];
		if (!e)
			continue;
		list_for_each_entry_safe(ch, next, &e->chans, node)
			chan_close(ch, false);
		dd_tp_chans_end(&e->tp);
		e->alive = false;
	}
	sim_at(sim.now + sim_below(200 * MS), reborn, NULL, node);
}
