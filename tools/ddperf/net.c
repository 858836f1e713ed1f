// SPDX-License-Identifier: GPL-2.0-only
/*
 * net.c - how the client finds a server on another node
 *
 * Commands go by TCP, so that neither they nor the loss of the other side
 * depend on what is measured.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net.h"
#include "../common/tool.h"

/**
 * struct greeting - first thing said by the client
 * @magic: GREETING
 * @kind: enum net_kind
 */
struct greeting {
	char magic[16];
	uint32_t kind;
};

/* Both sides are of one version, as their records have no other. */
#define GREETING	"ddperf2 " DD_VERSION

static void no_delay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static struct addrinfo *resolve(const char *address, unsigned int port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST }, *found;
	char service[16];
	int ret;

	snprintf(service, sizeof(service), "%u", port);
	ret = getaddrinfo(address, service, &hints, &found);
	if (!ret)
		return found;
	tool_warn("'%s': %s", address, gai_strerror(ret));
	exit(TOOL_FAILED);
}

int net_connect(const struct perf_options *o, enum net_kind kind)
{
	struct greeting g = { GREETING, kind };
	struct side s = {};
	struct addrinfo *a;
	struct peer peer;

	if (!peer_look(&peer, o->node)) {
		tool_warn("node %d: ddctl knows no address of it", o->node);
		exit(TOOL_FAILED);
	}
	a = resolve(peer.address, o->port);
	s.control = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s.control < 0 || connect(s.control, a->ai_addr, a->ai_addrlen) < 0) {
		tool_warn("node %d: no 'ddperf net serve' at %s, port %u: %s",
			  o->node, peer.address, o->port, strerror(errno));
		exit(TOOL_FAILED);
	}
	freeaddrinfo(a);
	no_delay(s.control);
	pair_put(&s, &g, sizeof(g));
	return s.control;
}

/* --- the server ----------------------------------------------------------- */

static void answer(int control)
{
	struct side s = { .me = 1, .control = control };
	struct greeting g;

	no_delay(control);
	perf_serves(control, false);
	pair_get(&s, &g, sizeof(g));
	if (memcmp(g.magic, GREETING, sizeof(GREETING)))
		perf_fail(TOOL_FAILED, "a client of another version");
	if (g.kind == NET_CONNS)
		conns_answer(control);
	pair_answer_net(control);
}

/* IPv6 sockets take IPv4 as well; there are machines without IPv6. */
static int listen_at(unsigned int port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_port = htons(port) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1, ret;

	if (fd < 0)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	else
		four.sin_family = AF_UNSPEC;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (four.sin_family == AF_INET)
		ret = bind(fd, (struct sockaddr *)&four, sizeof(four));
	else
		ret = bind(fd, (struct sockaddr *)&six, sizeof(six));
	if (!ret && !listen(fd, 16))
		return fd;
	tool_warn("TCP port %u: %s", port, strerror(errno));
	exit(TOOL_FAILED);
}

int net_serve(const struct perf_options *o)
{
	int fd = listen_at(o->port), client;

	tool_raise_memlock();
	signal(SIGCHLD, SIG_IGN);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0) {
			tool_warn("accept: %s", strerror(errno));
			return TOOL_FAILED;
		}
		if (!fork()) {
			close(fd);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			signal(SIGCHLD, SIG_DFL);
			answer(client);
		}
		close(client);
	}
}
