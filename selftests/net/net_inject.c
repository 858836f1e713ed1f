// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cable that damages packets and corrects the checksums of IP and UDP, so that only the
 * checksums of dd can detect the damage.
 *
 *	net_inject SEED ONE-IN INTERFACE INTERFACE
 *
 * Frames are forwarded between the interfaces. One in ONE-IN UDP datagrams of the port of
 * dd is truncated, or a bit or a word is changed. At SIGTERM the program prints the
 * numbers of forwarded and of damaged frames. IPv4 only; the nodes must compute checksums
 * themselves, and send no frames larger than the MTU.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "traffic.h"

#define PORT	56797
#define AT_IP	14
#define AT_UDP	(AT_IP + 20)
#define AT_DATA	(AT_UDP + 8)

static volatile sig_atomic_t stopping;
static uint64_t rnd, one_in;
static unsigned long carried, cut, bits, words;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

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
	udp->check = 0;
	udp->check = fold(sum16(&ip->saddr, 8) + IPPROTO_UDP +
			  ntohs(udp->len) + sum16(udp, len - AT_UDP));
	if (!udp->check)
		udp->check = 0xffff;
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
		cut++;
		break;
	case 1:
		frame[at] ^= 1 << (r >> 4) % 8;
		bits++;
		break;
	default:
		word = next_random(&rnd) | 1;
		if (len - at < 8)
			at = len - 8;
		memcpy(frame + at, &word, 8);
		words++;
	}
	checksums(frame, len);
	return len;
}

static void carry(int from, int to)
{
	static unsigned char frame[1 << 16];
	ssize_t len;

	while ((len = recv(from, frame, sizeof(frame), MSG_DONTWAIT)) > 0) {
		if (is_ours(frame, len)) {
			carried++;
			if (!(next_random(&rnd) % one_in))
				len = damage(frame, len);
		}
		/* A frame that does not fit into the queue is lost. */
		send(to, frame, len, 0);
	}
}

static void on_term(int sig)
{
	stopping = 1;
}

int main(int argc, char **argv)
{
	struct pollfd p[2];
	int i;

	if (argc != 5 || !(one_in = strtoull(argv[2], NULL, 0))) {
		fprintf(stderr, "usage: net_inject SEED ONE-IN INTERFACE INTERFACE\n");
		return 2;
	}
	rnd = strtoull(argv[1], NULL, 0);
	for (i = 0; i < 2; i++)
		p[i] = (struct pollfd) {
			.fd = open_interface(argv[3 + i]), .events = POLLIN,
		};
	signal(SIGTERM, on_term);
	printf("ready\n");
	fflush(stdout);
	while (!stopping) {
		if (poll(p, 2, 100) < 0 && errno != EINTR)
			die("poll");
		carry(p[0].fd, p[1].fd);
		carry(p[1].fd, p[0].fd);
	}
	printf("%lu datagrams: %lu cut off, %lu with a bit, %lu with a word changed\n",
	       carried, cut, bits, words);
	return 0;
}
