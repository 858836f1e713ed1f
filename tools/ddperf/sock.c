// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock.c - UDP and TCP between two nodes
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net.h"
#include "../common/tool.h"

#define PATIENCE	10000000000ull	/* ns; a datagram that is lost stays so */
#define ROOM		(4 << 20)	/* of a receiving UDP socket */
#define LOOKS		(1u << 20)	/* between looks at the clock */

/* Where a socket is, or shall be. */
struct place {
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	};
	socklen_t len;
};

static void failed(const char *what)
{
	perf_fail(TOOL_FAILED, "%s: %s", what, strerror(errno));
}

/* --- set-up --------------------------------------------------------------- */

/* IPv4 in the guise of IPv6 would take a path of its own. */
static void unmap(struct place *p)
{
	struct in_addr four;

	if (p->any.sa_family != AF_INET6 ||
	    !IN6_IS_ADDR_V4MAPPED(&p->six.sin6_addr))
		return;
	memcpy(&four, &p->six.sin6_addr.s6_addr[12], sizeof(four));
	p->four = (struct sockaddr_in) { .sin_family = AF_INET, .sin_addr = four };
	p->len = sizeof(p->four);
}

/* This end, or the other one, of the socket for commands. */
static struct place place_of(int control, bool own)
{
	struct place p = { .len = sizeof(p.six) };

	if (own ? getsockname(control, &p.any, &p.len) :
		  getpeername(control, &p.any, &p.len))
		failed("address");
	unmap(&p);
	return p;
}

/* It is at the same place in both families. */
static void set_port(struct place *p, uint16_t port)
{
	p->four.sin_port = port;
}

static uint16_t own_port(int fd)
{
	struct place p = { .len = sizeof(p.six) };

	if (getsockname(fd, &p.any, &p.len))
		failed("address");
	return p.four.sin_port;
}

static int open_socket(const struct place *p, int type)
{
	int fd = socket(p->any.sa_family, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		failed("socket");
	return fd;
}

static int bound(struct place *p, int type)
{
	int fd = open_socket(p, type);

	set_port(p, 0);
	if (bind(fd, &p->any, p->len) < 0)
		failed("bind");
	return fd;
}

static int connected(struct place *p, int type, uint16_t port)
{
	int fd = open_socket(p, type);

	set_port(p, port);
	if (connect(fd, &p->any, p->len) < 0)
		failed("connect");
	return fd;
}

static void no_delay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		failed("TCP_NODELAY");
}

static void make_room(struct side *s)
{
	int room = ROOM;
	socklen_t len = sizeof(room);

	if (setsockopt(s->udp, SOL_SOCKET, SO_RCVBUFFORCE, &room, len) < 0)
		setsockopt(s->udp, SOL_SOCKET, SO_RCVBUF, &room, len);
	if (getsockopt(s->udp, SOL_SOCKET, SO_RCVBUF, &room, &len) < 0)
		failed("SO_RCVBUF");
	s->udp_flow.ahead = room / 4;
}

void sock_listen(struct side *s, struct welcome *w)
{
	struct place own = place_of(s->control, true);

	s->tcp = bound(&own, SOCK_STREAM);
	s->udp = bound(&own, SOCK_DGRAM);
	if (listen(s->tcp, 1) < 0)
		failed("listen");
	w->tcp = own_port(s->tcp);
	w->udp = own_port(s->udp);
}

void sock_accept(struct side *s)
{
	struct place client = place_of(s->control, false);
	int fd = accept4(s->tcp, NULL, NULL, SOCK_CLOEXEC);
	uint16_t port;

	if (fd < 0)
		failed("accept");
	close(s->tcp);
	s->tcp = fd;
	no_delay(fd);
	pair_get(s, &port, sizeof(port));
	set_port(&client, port);
	if (connect(s->udp, &client.any, client.len) < 0)
		failed("connect");
	make_room(s);
	/* The client may send now. */
	pair_put(s, &port, sizeof(port));
}

void sock_connect(struct side *s, const struct welcome *w)
{
	struct place server = place_of(s->control, false);
	uint16_t port;

	s->tcp = connected(&server, SOCK_STREAM, w->tcp);
	s->udp = connected(&server, SOCK_DGRAM, w->udp);
	no_delay(s->tcp);
	make_room(s);
	port = own_port(s->udp);
	pair_put(s, &port, sizeof(port));
	pair_get(s, &port, sizeof(port));
}

/* --- UDP ------------------------------------------------------------------ */

static void give_way(const struct side *s)
{
	if (s->hello.shared_cpu)
		sched_yield();
}

void udp_put(struct side *s, size_t size)
{
	if (send(s->udp, s->buffer, size, 0) != (ssize_t)size)
		failed("UDP send");
}

char *udp_get(struct side *s, size_t size)
{
	if (recv(s->udp, s->buffer, size, 0) != (ssize_t)size)
		failed("UDP recv");
	return s->buffer;
}

void udp_put_spinning(struct side *s, size_t size)
{
	ssize_t n;

	while ((n = send(s->udp, s->buffer, size, MSG_DONTWAIT)) < 0 &&
	       errno == EAGAIN)
		give_way(s);
	if (n != (ssize_t)size)
		failed("UDP send");
}

char *udp_get_spinning(struct side *s, size_t size)
{
	uint64_t begin = 0;
	uint32_t looks = 0;
	ssize_t n;

	while ((n = recv(s->udp, s->buffer, size, MSG_DONTWAIT)) < 0 &&
	       errno == EAGAIN) {
		give_way(s);
		if (++looks % LOOKS)
			continue;
		if (!begin)
			begin = tool_now();
		if (tool_now() - begin < PATIENCE)
			continue;
		perf_fail(TOOL_FAILED, "UDP: a datagram was lost");
	}
	if (n != (ssize_t)size)
		failed("UDP recv");
	return s->buffer;
}

/* --- UDP, one way --------------------------------------------------------- */

/*
 * The client sends, and nothing may be lost: the server acknowledges what takes
 * ACK_STEP of room by a datagram of a length that its answers do not have.
 */
#define PIECE		(60u << 10)	/* bytes in a datagram */
#define OVERHEAD	1024		/* room that one takes besides its bytes */
#define ACK_STEP	(64u << 10)
#define ACK_BYTES	5

static ssize_t recv_datagram(struct side *s, char *p, size_t size, int flags)
{
	ssize_t n;

	while ((n = recv(s->udp, p, size, flags)) < 0 && errno == EAGAIN)
		give_way(s);
	if (n < 0)
		failed("UDP recv");
	return n;
}

static void send_datagram(struct side *s, const char *p, size_t size, int flags)
{
	ssize_t n;

	while ((n = send(s->udp, p, size, flags)) < 0 && errno == EAGAIN)
		give_way(s);
	if (n != (ssize_t)size)
		failed("UDP send");
}

static void flow_put(struct side *s, size_t size, int flags)
{
	struct udp_flow *f = &s->udp_flow;
	const char *p = s->buffer;
	char ack[ACK_BYTES + 1];
	size_t n;

	for (; size; p += n, size -= n) {
		n = size < PIECE ? size : PIECE;
		while (!s->me && f->sent - f->acked > f->ahead) {
			if (recv_datagram(s, ack, sizeof(ack), flags) != ACK_BYTES)
				failed("UDP acknowledgement");
			f->acked += ACK_STEP;
		}
		send_datagram(s, p, n, flags);
		f->sent += n + OVERHEAD;
	}
}

static char *flow_get(struct side *s, size_t size, int flags)
{
	struct udp_flow *f = &s->udp_flow;
	char *p = s->buffer;
	ssize_t n;

	while (size) {
		n = recv_datagram(s, p, size < ACK_BYTES ? ACK_BYTES : size, flags);
		if (!s->me && n == ACK_BYTES) {
			f->acked += ACK_STEP;
			continue;
		}
		p += n;
		size -= n;
		f->taken += n + OVERHEAD;
		for (; s->me && f->taken - f->told >= ACK_STEP; f->told += ACK_STEP)
			send_datagram(s, s->buffer, ACK_BYTES, flags);
	}
	return s->buffer;
}

void udp_flow_spinning(struct side *s, size_t size)
{
	flow_put(s, size, MSG_DONTWAIT);
}

char *udp_take_spinning(struct side *s, size_t size)
{
	return flow_get(s, size, MSG_DONTWAIT);
}

void udp_flow(struct side *s, size_t size)
{
	flow_put(s, size, 0);
}

char *udp_take(struct side *s, size_t size)
{
	return flow_get(s, size, 0);
}

/* --- TCP ------------------------------------------------------------------ */

static void put_all(struct side *s, size_t size, int flags)
{
	const char *p = s->buffer;
	ssize_t n;

	while (size) {
		n = send(s->tcp, p, size, MSG_NOSIGNAL | flags);
		if (n < 0 && errno != EAGAIN)
			failed("TCP send");
		if (n < 0) {
			give_way(s);
			continue;
		}
		p += n;
		size -= n;
	}
}

static char *get_all(struct side *s, size_t size, int flags)
{
	char *p = s->buffer;
	ssize_t n;

	while (size) {
		n = recv(s->tcp, p, size, flags);
		if (!n || (n < 0 && errno != EAGAIN))
			failed("TCP recv");
		if (n < 0) {
			give_way(s);
			continue;
		}
		p += n;
		size -= n;
	}
	return s->buffer;
}

void tcp_put_spinning(struct side *s, size_t size)
{
	put_all(s, size, MSG_DONTWAIT);
}

char *tcp_get_spinning(struct side *s, size_t size)
{
	return get_all(s, size, MSG_DONTWAIT);
}

void tcp_put(struct side *s, size_t size)
{
	put_all(s, size, 0);
}

char *tcp_get(struct side *s, size_t size)
{
	return get_all(s, size, 0);
}
