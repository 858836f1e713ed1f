// SPDX-License-Identifier: GPL-2.0-only
/*
 * A third party on the network, which sends packets to a node that have the address of
 * the peer of that node.
 *
 *	net_forge HOW COUNT FROM TO [PCAP]
 *
 *	junk		random bytes
 *	flood		the same, without a pause
 *	bulk		60 packets in each datagram, which take the receiver longer
 *			than the sender: with long headers and a wrong token
 *	handshake	openings, answers, refusals and resets with random secrets
 *	replay		unchanged packets captured between the two nodes; only
 *			numbered ones, whose repetition is detected
 *	token		captured packets with random tokens
 *	fields		captured packets with a changed byte in the header
 *	truncate	captured packets truncated at each length, including 0
 *	icmp		ICMP messages that report a path MTU from TO to FROM of
 *			552 or 68 bytes
 *	control		invalid control messages, in the session of the last
 *			captured packet, which cannot continue after that
 *	query		malformed queries, in the session of the last captured packet
 *
 * FROM and TO are IPv4 addresses. Every packet has a correct UDP checksum, and except
 * with "replay" and "truncate" a correct checksum of the header. Prints the number of
 * packets sent.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "traffic.h"

#define PORT		56797
#define PACKETS_MAX	20000
#define PACKET_MAX	9000
#define BULK		60	/* packets in a datagram */
#define BULK_LEN	640	/* bytes in each of them, all header */

/* Offsets in the header, see Documentation/protocol.rst. */
enum {
	AT_TYPE = 3, AT_FLAGS = 4, AT_HLEN = 6, AT_TOKEN = 8, AT_PN = 16,
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

static void die(const char *what)
{
	perror(what);
	exit(1);
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
	} __attribute__((packed)) p = {};
	struct sockaddr_in dst = { .sin_family = AF_INET, .sin_addr = to };
	uint32_t sum;
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
	sum = sum16(&p.ip.saddr, 8) + IPPROTO_UDP + ntohs(p.udp.len) +
	      sum16(&p.udp, sizeof(p.udp) + len);
	p.udp.check = fold(sum);
	if (!p.udp.check)
		p.udp.check = 0xffff;
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
	seal(p, len);
	return len;
}

static size_t changed(unsigned char *p, const char *how, uint64_t n)
{
	const struct packet *c = &captured[n % ncaptured];
	size_t at, hlen;

	memcpy(p, c->bytes, c->len);
	hlen = c->len < HEADER ? c->len : le16(p + AT_HLEN);
	if (!strcmp(how, "replay"))
		return c->len;
	if (!strcmp(how, "truncate"))
		return next_random(&rnd) % c->len;
	if (!strcmp(how, "token")) {
		put_random(p + AT_TOKEN, 8);
	} else {
		/* A byte of the header or of a frame. */
		at = next_random(&rnd) % (hlen ? hlen : 1);
		p[at] ^= 1 + next_random(&rnd) % 255;
	}
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

/* The kernel segments a datagram, if at all. The address @from need not be local. */
static void bulk(uint64_t count)
{
	static unsigned char p[BULK * BULK_LEN];
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = from,
				 .sin_port = htons(PORT) };
	int s = socket(AF_INET, SOCK_DGRAM, 0), one = 1, len = BULK_LEN, i;

	if (s < 0 || setsockopt(s, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one)) ||
	    setsockopt(s, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) ||
	    setsockopt(s, IPPROTO_UDP, UDP_SEGMENT, &len, sizeof(len)) ||
	    bind(s, (void *)&a, sizeof(a)))
		die("UDP socket");
	memcpy(p, valid_start, sizeof(valid_start));
	put_random(p + AT_TOKEN, 8);
	put16(p + AT_HLEN, BULK_LEN);
	seal(p, BULK_LEN);
	for (i = 1; i < BULK; i++)
		memcpy(p + i * BULK_LEN, p, BULK_LEN);
	a.sin_addr = to;
	while (count--)
		if (sendto(s, p, sizeof(p), 0, (void *)&a, sizeof(a)) < 0 &&
		    errno != ENOBUFS)
			die("sendto");
}

int main(int argc, char **argv)
{
	static unsigned char p[1 << 16];
	uint64_t count, n;
	const char *how;
	size_t len;
	int one = 1;

	if (argc < 5 || !inet_aton(argv[3], &from) || !inet_aton(argv[4], &to)) {
		fprintf(stderr, "usage: net_forge HOW COUNT FROM TO [PCAP]\n");
		return 2;
	}
	how = argv[1];
	count = strtoull(argv[2], NULL, 0);
	if (argc > 5)
		read_capture(argv[5]);
	if (getrandom(&rnd, sizeof(rnd), 0) != sizeof(rnd))
		die("getrandom");
	sock = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	if (sock < 0 || setsockopt(sock, IPPROTO_IP, IP_HDRINCL, &one,
				   sizeof(one)))
		die("raw socket");
	if (!strcmp(how, "bulk")) {
		bulk(count);
		return 0;
	}
	for (n = 0; n < count; n++) {
		if (!strcmp(how, "icmp")) {
			narrow(n & 1 ? 68 : 552);
			continue;
		}
		if (!strcmp(how, "junk") || !strcmp(how, "flood"))
			len = junk(p, n);
		else if (!strcmp(how, "handshake"))
			len = handshake(p, n);
		else if (!strcmp(how, "control") && ncaptured)
			len = control(p, n, false);
		else if (!strcmp(how, "query") && ncaptured)
			len = control(p, n, true);
		else if (ncaptured)
			len = changed(p, how, n);
		else
			return 2;
		transmit(p, len, from);
		/* Send slowly, so that no queue overflows. */
		if (n % 64 == 63 && strcmp(how, "flood"))
			usleep(500);
	}
	printf("%llu\n", (unsigned long long)count);
	return 0;
}
