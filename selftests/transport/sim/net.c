// SPDX-License-Identifier: GPL-2.0-only
/* Packets in flight, and their impairments. */
#include <arpa/inet.h>

#include "sim.h"

#define OVERHEAD	28	/* of IPv4 and UDP */

struct network net;
u64 net_packets, net_dropped;

static u64 *busy;		/* end of the last transmission, by node */
static u64 *order;		/* last arrival, by node: jitter keeps the order */
static FILE *pcap;

/* A datagram. */
struct packet {
	int src;		/* sending node */
	int dst;		/* receiving node */
	u32 len;		/* number of bytes */
	u32 hlen;		/* bytes of the header */
	const struct chan *chan;	/* channel of the payload, if that is read at arrival */
	const u8 *source;	/* source of the payload, if that is read at arrival */
	u8 data[];		/* header and payload */
};

void net_reset(int nodes)
{
	free(busy);
	free(order);
	busy = sim_alloc(nodes * sizeof(*busy));
	order = sim_alloc(nodes * sizeof(*order));
}

/* ---- capture ------------------------------------------------------------ */

void net_pcap(const char *path)
{
	static const u32 head[6] = { 0xa1b23c4d, 4 << 16 | 2, 0, 0, 65535, 101 };

	pcap = fopen(path, "wb");
	if (!pcap) {
		perror(path);
		exit(2);
	}
	/* In nanoseconds; raw IP. */
	fwrite(head, sizeof(head), 1, pcap);
}

static u32 address(int node)
{
	return htonl(0x0a000001u + node);
}

static void capture(const struct packet *p)
{
	u32 rec[4] = { sim.now / SEC, sim.now % SEC, p->len + OVERHEAD,
		       p->len + OVERHEAD };
	u16 ip[10] = { htons(0x4500), htons(p->len + OVERHEAD), 0,
		       htons(0x4000), htons(0x4011) };
	u16 udp[4] = { htons(DD_WIRE_PORT), htons(DD_WIRE_PORT),
		       htons(p->len + 8) };
	u32 addr[2] = { address(p->src), address(p->dst) }, sum = 0;
	int i;

	memcpy(ip + 6, addr, sizeof(addr));
	for (i = 0; i < 10; i++)
		sum += ip[i];
	sum = (sum & 0xffff) + (sum >> 16);
	ip[5] = ~(sum + (sum >> 16));
	fwrite(rec, sizeof(rec), 1, pcap);
	fwrite(ip, sizeof(ip), 1, pcap);
	fwrite(udp, sizeof(udp), 1, pcap);
	fwrite(p->data, p->len, 1, pcap);
}

/* ---- transmission ------------------------------------------------------------- */

/* Enqueue bytes for @dst: the time when they leave the queue, 0 if dropped. */
static u64 enqueue(int dst, u32 bytes)
{
	u64 start = max(busy[dst], sim.now);

	if (!net.rate)
		return sim.now;
	if ((start - sim.now) * net.rate / 8 / SEC + bytes > net.queue)
		return 0;
	busy[dst] = start + bytes * 8 * SEC / net.rate;
	return busy[dst];
}

/* Receive datagrams; this may send others. */
static void deliver(struct packet **list, u32 n)
{
	struct datagram d[SIM_MERGE];
	int src = list[0]->src, dst = list[0]->dst;
	struct packet *p[SIM_MERGE];
	u32 i;

	for (i = 0; i < n; i++) {
		p[i] = list[i];
		/* A driver may read the page long after transmission was requested. */
		if (p[i]->source && p[i]->len > p[i]->hlen)
			memcpy(p[i]->data + p[i]->hlen, p[i]->source,
			       p[i]->len - p[i]->hlen);
		d[i].p = p[i]->data;
		d[i].len = p[i]->len;
	}
	end_rx(src, dst, d, n);
	for (i = 0; i < n; i++)
		free(p[i]);
}

static void merged(void *arg, u64 gen)
{
	struct end *e = arg;
	u32 n = e->nmerged;

	e->nmerged = 0;
	if (n)
		deliver(e->merged, n);
}

static void arrive(void *arg, u64 gen)
{
	struct packet *p = arg;
	struct end *e = end_get(p->dst, p->src);

	if (!net.merge) {
		deliver(&p, 1);
		return;
	}
	e->merged[e->nmerged++] = p;
	if (e->nmerged == 1)
		sim_at(sim.now + net.merge, merged, e, 0);
	else if (e->nmerged == SIM_MERGE)
		merged(e, 0);
}

static struct packet *copy(const struct packet *p)
{
	struct packet *q = sim_alloc(sizeof(*p) + p->len);

	memcpy(q, p, sizeof(*p) + p->len);
	return q;
}

static void corrupt(struct packet *p)
{
	int n = 1 + sim_below(3);

	while (n--)
		p->data[sim_below(p->len)] ^= 1 << sim_below(8);
	/* Reading the payload at arrival would undo it. */
	p->source = NULL;
}

/* A packet forged by a sender that has seen packets but knows no session. */
static void forge(const struct packet *p)
{
	struct packet *q = copy(p);
	struct dd_wire_hdr *hdr = (void *)q->data;
	u32 n = 1 + sim_below(4);

	while (n--)
		q->data[sim_below(q->hlen)] = sim_random();
	if (sim_chance(0.5))
		hdr->token = cpu_to_le64(sim_random());
	else if (hdr->token == ((struct dd_wire_hdr *)p->data)->token)
		hdr->token ^= cpu_to_le64(1ull << sim_below(64));
	if (dd_wire_hlen(hdr, q->len, q->len) > 0)
		packet_seal(hdr, le16_to_cpu(hdr->hlen), q->data + le16_to_cpu(hdr->hlen),
			    le16_to_cpu(hdr->plen));
	q->source = NULL;
	sim_at(sim.now + net.delay, arrive, q, 0);
}

/* A packet that another sender sends with the address of @src. */
void net_inject(int src, int dst, const void *bytes, u32 len)
{
	struct packet *p = sim_alloc(sizeof(*p) + len);

	p->src = src;
	p->dst = dst;
	p->len = len;
	p->hlen = len;
	memcpy(p->data, bytes, len);
	sim_at(sim.now + net.delay, arrive, p, 0);
}

static u64 arrival(const struct packet *p)
{
	u64 at = enqueue(p->dst, p->len + OVERHEAD);

	if (!at)
		return 0;
	at += net.delay;
	if (sim_chance(net.reorder))
		return at + sim_below(net.reorder_ns);
	if (net.jitter) {
		at = max(at + sim_below(net.jitter), order[p->dst]);
		order[p->dst] = at;
	}
	return at;
}

static void travel(struct packet *p)
{
	u64 at = 0;
	bool bare = p->len == p->hlen;

	if (pcap)
		capture(p);
	net_packets++;
	if (!(net.cut && net.cut(p->src, p->dst)) &&
	    !(net.mtu && p->len > net.mtu) && !sim_chance(net.loss) &&
	    !(bare && sim_chance(net.ack_loss)))
		at = arrival(p);
	if (!at) {
		net_dropped++;
		free(p);
		return;
	}
	if (sim_chance(net.dup))
		sim_at(at + sim_below(net.dup_ns), arrive, copy(p), 0);
	if (sim_chance(net.forge))
		forge(p);
	if (sim_chance(net.corrupt))
		corrupt(p);
	if (sim_chance(net.truncate)) {
		p->len = sim_below(p->len);
		p->hlen = min(p->hlen, p->len);
	}
	sim_at(at, arrive, p, 0);
}

void net_send(struct end *from, const struct dd_tp_pkt *pkt)
{
	u32 len = pkt->hlen + pkt->len;
	struct packet *p = sim_alloc(sizeof(*p) + len);

	p->src = from->node;
	p->dst = from->peer;
	p->len = len;
	p->hlen = pkt->hlen;
	if (pkt->len) {
		const u8 *src = mem_used ? mem_source(from, pkt) :
				chan_source(pkt->chan, pkt->op) + pkt->off;

		if (pkt->need_crc)
			dd_wire_seal(pkt->hdr, crc32c(pkt->crc, src, pkt->len));
		memcpy(p->data + pkt->hlen, src, pkt->len);
		if (net.late)
			p->source = src;
	}
	memcpy(p->data, pkt->hdr, pkt->hlen);
	travel(p);
}
