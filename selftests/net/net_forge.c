// SPDX-License-Identifier: GPL-2.0-only
/*
 * A third party on the network: it sends packets to a node that have the address of the
 * peer of that node, or is the cable between both.
 *
 *	net_forge HOW COUNT FROM TO [PCAP [FIRST]]
 *
 *	junk		random bytes
 *	handshake	openings, answers, refusals and resets with random secrets
 *	replay		unchanged packets captured between the two nodes; only
 *			numbered ones, whose repetition is detected
 *	token		captured packets with random tokens
 *	truncate	captured packets truncated at each length, including 0
 *	icmp		ICMP messages that report a path MTU from TO to FROM of
 *			552 or 68 bytes
 *	control		invalid control messages, in the session of the last
 *			captured packet, which cannot continue after that
 *	query		malformed queries, as control messages with numbers from FIRST on
 *
 * FROM and TO are IPv4 addresses. Every packet has a correct UDP checksum, and except
 * with "replay" and "truncate" a correct checksum of the header.
 *
 *	net_forge damage ONE-IN INTERFACE INTERFACE
 *
 * forwards all frames between two interfaces until SIGTERM, and prints how many it has
 * damaged. One in ONE-IN datagrams for the port of dd by IPv4 is cut off, or gets another bit or
 * word, and correct checksums of IP and UDP, as from hardware that computes them after the damage.
 * The nodes must compute checksums themselves, and send no frames larger than the MTU.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "random.h"

#define PORT		56797
#define PACKETS_MAX	20000
#define PACKET_MAX	9000

/* Offsets in the header, see Documentation/protocol.rst. */
enum {
	AT_VERSION = 2, AT_TYPE = 3, AT_FLAGS = 4, AT_HLEN = 6, AT_TOKEN = 8, AT_PN = 16,
	AT_PLEN = 24,
	AT_CRC = 28, HEADER = 32,
};

/* An unnumbered packet, which may be received twice. */
#define UNNUMBERED	2

struct packet {
	size_t len;
	unsigned char *bytes;
};

static struct packet captured[PACKETS_MAX];
static size_t ncaptured;
static struct in_addr from, to;
static uint64_t rnd;
static int sock;

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(1);
}

/* The sum of 16-bit words of which IP and UDP have the complement. */
static uint32_t sum16(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint32_t sum = 0;

	for (; len > 1; len -= 2, p += 2)
		sum += p[0] << 8 | p[1];
	return len ? sum + (p[0] << 8) : sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

/* Fill in the checksum of a datagram of @len bytes with the header of UDP. */
static void udp_checksum(const struct iphdr *ip, struct udphdr *udp, size_t len)
{
	udp->check = 0;
	udp->check = fold(sum16(&ip->saddr, 8) + IPPROTO_UDP + len + sum16(udp, len)) ?: 0xffff;
}

static uint16_t le16(const unsigned char *p)
{
	return p[0] | p[1] << 8;
}

static void put16(unsigned char *p, unsigned int v)
{
	p[0] = v;
	p[1] = v >> 8;
}

static void put_random(unsigned char *p, size_t len)
{
	uint64_t r;

	for (; len; p += len < 8 ? len : 8, len -= len < 8 ? len : 8) {
		r = next_random(&rnd);
		memcpy(p, &r, len < 8 ? len : 8);
	}
}

/* CRC-32C of the bytes before the payload, with the field itself as zero. */
static void seal(unsigned char *p, size_t len)
{
	uint32_t crc = ~0u;
	size_t i, hlen = le16(p + AT_HLEN);
	int bit;

	if (len < HEADER)
		return;
	memset(p + AT_CRC, 0, 4);
	for (i = 0; i < (hlen < len ? hlen : len); i++) {
		crc ^= p[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	crc = ~crc;
	for (i = 0; i < 4; i++)
		p[AT_CRC + i] = crc >> (8 * i);
}

/* --- the network -----------------------------------------------------------*/

static void transmit(const unsigned char *bytes, size_t len, struct in_addr src)
{
	struct {
		struct iphdr ip;
		struct udphdr udp;
		unsigned char bytes[PACKET_MAX];
	} p = {};
	struct sockaddr_in dst = { .sin_family = AF_INET, .sin_addr = to };
	int tries;

	p.ip.version = 4;
	p.ip.ihl = 5;
	p.ip.ttl = 64;
	p.ip.protocol = IPPROTO_UDP;
	p.ip.saddr = src.s_addr;
	p.ip.daddr = to.s_addr;
	p.ip.tot_len = htons(sizeof(p.ip) + sizeof(p.udp) + len);
	p.udp.source = p.udp.dest = htons(PORT);
	p.udp.len = htons(sizeof(p.udp) + len);
	memcpy(p.bytes, bytes, len);
	udp_checksum(&p.ip, &p.udp, sizeof(p.udp) + len);
	/* Ignore a full queue. */
	for (tries = 0; tries < 1000; tries++) {
		if (sendto(sock, &p, sizeof(p.ip) + sizeof(p.udp) + len, 0,
			   (void *)&dst, sizeof(dst)) > 0)
			return;
		usleep(1000);
	}
	die("sendto");
}

static void narrow(unsigned int mtu)
{
	struct {
		struct iphdr ip;
		struct icmphdr icmp;
		struct iphdr about;
		struct udphdr udp;
	} __attribute__((packed)) p = {};
	struct sockaddr_in dst = { .sin_family = AF_INET, .sin_addr = to };

	p.ip.version = p.about.version = 4;
	p.ip.ihl = p.about.ihl = 5;
	p.ip.ttl = p.about.ttl = 64;
	p.ip.protocol = IPPROTO_ICMP;
	p.ip.saddr = p.about.daddr = from.s_addr;
	p.ip.daddr = p.about.saddr = to.s_addr;
	p.ip.tot_len = htons(sizeof(p));
	p.about.protocol = IPPROTO_UDP;
	p.about.frag_off = htons(IP_DF);
	p.about.tot_len = htons(1228);
	p.about.check = fold(sum16(&p.about, sizeof(p.about)));
	p.udp.source = p.udp.dest = htons(PORT);
	p.udp.len = htons(1208);
	p.icmp.type = ICMP_DEST_UNREACH;
	p.icmp.code = ICMP_FRAG_NEEDED;
	p.icmp.un.frag.mtu = htons(mtu);
	p.icmp.checksum = fold(sum16(&p.icmp, sizeof(p) - sizeof(p.ip)));
	if (sendto(sock, &p, sizeof(p), 0, (void *)&dst, sizeof(dst)) < 0)
		die("sendto");
}

/* Read the packets from FROM to TO out of a capture of Ethernet. */
static void keep(const unsigned char *p, size_t len)
{
	const struct iphdr *ip = (const void *)(p + 14);
	size_t at = 14 + sizeof(*ip) + sizeof(struct udphdr);
	struct packet *c = &captured[ncaptured];

	if (len < at || len - at > PACKET_MAX || ip->version != 4 ||
	    ip->ihl != 5 || ip->protocol != IPPROTO_UDP ||
	    ip->saddr != from.s_addr || ip->daddr != to.s_addr ||
	    len - at < HEADER || p[at + AT_FLAGS] & UNNUMBERED ||
	    ncaptured == PACKETS_MAX)
		return;
	c->len = len - at;
	c->bytes = malloc(c->len + 1);
	memcpy(c->bytes, p + at, c->len);
	ncaptured++;
}

static void read_capture(const char *path)
{
	static unsigned char p[1 << 18];
	struct { uint32_t s, us, len, wire; } head;
	FILE *f = fopen(path, "r");
	uint32_t magic[6];

	if (!f || fread(magic, sizeof(magic), 1, f) != 1 ||
	    magic[0] != 0xa1b2c3d4)
		die(path);
	while (fread(&head, sizeof(head), 1, f) == 1 && head.len <= sizeof(p) &&
	       fread(p, head.len, 1, f) == 1)
		keep(p, head.len);
	fclose(f);
	if (!ncaptured) {
		fprintf(stderr, "net_forge: no packets in %s\n", path);
		exit(1);
	}
}

/* --- packets ---------------------------------------------------------------*/

static const unsigned char valid_start[] = { 0x44, 0x44, 1, 6 };

static size_t junk(unsigned char *p, uint64_t n)
{
	size_t len = next_random(&rnd) % 1400;

	put_random(p, len);
	/* Half of the packets begin with a valid version and type. */
	if (n & 1 && len >= HEADER) {
		memcpy(p, valid_start, sizeof(valid_start));
		put16(p + AT_HLEN, HEADER);
		put16(p + AT_PLEN, len - HEADER);
		seal(p, len);
	}
	return len;
}

/* Well-formed; cookies, tokens and incarnations are random. */
static size_t handshake(unsigned char *p, uint64_t n)
{
	static const struct { int type, len; } forms[] = {
		{ 1, 88 }, { 2, 40 }, { 3, 88 }, { 4, 48 }, { 5, 40 },
	};
	int i = n % 5, len = forms[i].len;

	memset(p, 0, len);
	p[0] = p[1] = 0x44;
	p[AT_TYPE] = forms[i].type;
	put16(p + AT_HLEN, len);
	put_random(p + AT_TOKEN, forms[i].type == 1 || forms[i].type == 5 ? 0 : 8);
	put_random(p + 20, 4);
	if (len == 88) {
		p[32] = 1;
		p[36] = 2;
		p[40] = 4;
		put16(p + 44, 1400);
		put16(p + 48, 16);
		p[50] = p[51] = 1;
		put_random(p + 56, 24);
	} else if (len == 48) {
		p[32] = 1 + n / 5 % 3;
		p[33] = p[34] = 1;
		p[36] = 1;
		p[40] = 4;
	} else {
		put_random(p + 32, 8);
	}
	/* Some have another version, or a reserved byte. */
	if (n % 50 < 5)
		p[AT_VERSION] = 1;
	else if (n % 50 < 10)
		p[AT_FLAGS + 1] = 1;
	seal(p, len);
	return len;
}

static size_t changed(unsigned char *p, const char *how, uint64_t n)
{
	const struct packet *c = &captured[n % ncaptured];

	memcpy(p, c->bytes, c->len);
	if (!strcmp(how, "replay"))
		return c->len;
	if (!strcmp(how, "truncate"))
		return next_random(&rnd) % c->len;
	put_random(p + AT_TOKEN, 8);
	seal(p, c->len);
	return c->len;
}

/*
 * The token is that of the packet captured last. Packet numbers are higher. The
 * number of a control message has to be the next one, which is not known: COUNT messages
 * are sent, numbered from the first one on, and those with old numbers are ignored.
 */
static size_t control(unsigned char *p, uint64_t n, bool queries)
{
	static const struct { int kind, class, len; } forms[] = {
		{ 1, 1, 8 },	/* a short query */
		{ 1, 9, 80 },	/* an unknown class */
		{ 1, 1, 200 },	/* too long, with a wrong length */
		{ 1, 1, 80 },	/* an empty key */
		{ 0, 0, 8 },	/* an unknown kind */
		{ 4, 0, 8 },
		{ 255, 1, 64 },
		{ 2, 0, 8 },	/* a short answer */
		{ 2, 0, 20 },	/* to no query */
		{ 2, 0, 200 },	/* too long */
		{ 3, 0, 8 },	/* a close of no channel */
		{ 3, 31, 256 },	/* of too many channels */
		{ 3, 2, 16 },	/* of fewer than its count */
		{ 1, 1, 5 },	/* shorter than the header */
	};
	const struct packet *c = &captured[ncaptured - 1];
	int i = n % (queries ? 3 : sizeof(forms) / sizeof(forms[0]));
	int len = forms[i].len;
	unsigned char *ctl = p + HEADER, *body = ctl + 8;
	uint32_t pn;

	memcpy(p, c->bytes, HEADER);
	memcpy(&pn, p + AT_PN, 4);
	pn += (1 << 28) + n;
	memcpy(p + AT_PN, &pn, 4);
	memset(ctl, 0, 8 + 512);
	p[AT_FLAGS] = 0;
	ctl[0] = 3;
	put16(ctl + 2, len);
	put16(ctl + 4, n);
	body[0] = forms[i].kind;
	body[1] = forms[i].class;
	put_random(body + 4, len < 8 ? 1 : 4);
	len = (len + 7) & ~7;
	put16(p + AT_HLEN, HEADER + 8 + len);
	put16(p + AT_PLEN, 0);
	seal(p, HEADER + 8 + len);
	return HEADER + 8 + len;
}

/* --- the cable -------------------------------------------------------------*/

#define AT_IP	14
#define AT_UDP	(AT_IP + 20)
#define AT_DATA	(AT_UDP + 8)

static volatile sig_atomic_t stopping;
static uint64_t one_in;
static unsigned long damaged;

static int open_interface(const char *name)
{
	struct sockaddr_ll ll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(name),
	};
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), one = 1;
	int size = 4 << 20;

	if (fd < 0 || bind(fd, (void *)&ll, sizeof(ll)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)))
		die(name);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	return fd;
}

/* Correct the checksums. */
static void checksums(unsigned char *frame, size_t len)
{
	struct iphdr *ip = (void *)(frame + AT_IP);
	struct udphdr *udp = (void *)(frame + AT_UDP);

	ip->tot_len = htons(len - AT_IP);
	ip->check = 0;
	ip->check = fold(sum16(ip, sizeof(*ip)));
	udp->len = htons(len - AT_UDP);
	udp_checksum(ip, udp, len - AT_UDP);
}

static bool is_ours(const unsigned char *frame, size_t len)
{
	const struct iphdr *ip = (const void *)(frame + AT_IP);
	const struct udphdr *udp = (const void *)(frame + AT_UDP);

	return len > AT_DATA && frame[12] == 8 && !frame[13] &&
	       ip->version == 4 && ip->ihl == 5 && ip->protocol == IPPROTO_UDP &&
	       udp->dest == htons(PORT) && ntohs(ip->tot_len) == len - AT_IP;
}

static size_t damage(unsigned char *frame, size_t len)
{
	uint64_t r = next_random(&rnd), word;
	size_t at = AT_DATA + (r >> 8) % (len - AT_DATA);

	switch (r % 3) {
	case 0:
		len = at;
		break;
	case 1:
		frame[at] ^= 1 << (r >> 4) % 8;
		break;
	default:
		word = next_random(&rnd) | 1;
		if (len - at < 8)
			at = len - 8;
		memcpy(frame + at, &word, 8);
	}
	checksums(frame, len);
	return len;
}

static void carry(int from, int to)
{
	static unsigned char frame[1 << 16];
	ssize_t len;

	while ((len = recv(from, frame, sizeof(frame), MSG_DONTWAIT)) > 0) {
		if (is_ours(frame, len) && !(next_random(&rnd) % one_in)) {
			len = damage(frame, len);
			damaged++;
		}
		/* A frame that does not fit into the queue is lost. */
		send(to, frame, len, 0);
	}
}

static void on_term(int sig)
{
	stopping = 1;
}

static int be_cable(char **interfaces)
{
	struct pollfd p[2];
	int i;

	for (i = 0; i < 2; i++)
		p[i] = (struct pollfd){ .fd = open_interface(interfaces[i]), .events = POLLIN };
	signal(SIGTERM, on_term);
	printf("ready\n");
	fflush(stdout);
	while (!stopping) {
		if (poll(p, 2, 100) < 0 && errno != EINTR)
			die("poll");
		carry(p[0].fd, p[1].fd);
		carry(p[1].fd, p[0].fd);
	}
	printf("%lu\n", damaged);
	return 0;
}

static size_t forge(unsigned char *p, const char *how, uint64_t n)
{
	if (!strcmp(how, "junk"))
		return junk(p, n);
	if (!strcmp(how, "handshake"))
		return handshake(p, n);
	if (!ncaptured)
		exit(2);
	if (!strcmp(how, "control") || !strcmp(how, "query"))
		return control(p, n, *how == 'q');
	return changed(p, how, n);
}

int main(int argc, char **argv)
{
	static unsigned char p[1 << 16];
	uint64_t count, first, n;
	const char *how = argv[1];
	int one = 1;

	if (argc < 5) {
		fprintf(stderr, "usage: net_forge HOW COUNT FROM TO [PCAP [FIRST]]\n"
			"       net_forge damage ONE-IN INTERFACE INTERFACE\n");
		return 2;
	}
	if (getrandom(&rnd, sizeof(rnd), 0) != sizeof(rnd))
		die("getrandom");
	count = one_in = strtoull(argv[2], NULL, 0);
	if (!strcmp(how, "damage"))
		return be_cable(argv + 3);
	if (!inet_aton(argv[3], &from) || !inet_aton(argv[4], &to))
		return 2;
	if (argc > 5)
		read_capture(argv[5]);
	first = argc > 6 ? strtoull(argv[6], NULL, 0) : 0;
	sock = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	if (sock < 0 || setsockopt(sock, IPPROTO_IP, IP_HDRINCL, &one, sizeof(one)))
		die("raw socket");
	for (n = first; n < first + count; n++) {
		if (!strcmp(how, "icmp"))
			narrow(n & 1 ? 68 : 552);
		else
			transmit(p, forge(p, how, n), from);
		/* Send slowly, so that no queue overflows. */
		if (n % 64 == 63)
			usleep(500);
	}
	return 0;
}
