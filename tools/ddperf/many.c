// SPDX-License-Identifier: GPL-2.0-only
/*
 * many.c - UNIX sockets in the place of connections: pairs of SOCK_SEQPACKET,
 * whose receiver asks epoll which of them have something
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "many.h"
#include "perf.h"
#include "../common/tool.h"

#define EVENTS	64	/* asked for at a time */

/* Both ends of those of each kind, 0 "one", 1 "many". */
static struct sockets {
	unsigned int count;
	int *sending;
	int *receiving;
} sockets[2];

static void die(const char *what)
{
	perf_fail(TOOL_FAILED, "%s: %s", what, strerror(errno));
}

/* Two for each pair, and some that are open anyhow. */
static void allow_descriptors(unsigned int pairs)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		die("descriptors");
	if (r.rlim_cur >= 2 * pairs + 64)
		return;
	r.rlim_cur = 2 * pairs + 64;
	if (r.rlim_max < r.rlim_cur)
		r.rlim_max = r.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &r))
		die("descriptors");
}

static void open_some(struct sockets *s, unsigned int count)
{
	unsigned int i;
	int pair[2];

	s->count = count;
	s->sending = calloc(count, sizeof(int));
	s->receiving = calloc(count, sizeof(int));
	if (!s->sending || !s->receiving)
		die("memory");
	for (i = 0; i < count; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			die("socketpair");
		s->sending[i] = pair[0];
		s->receiving[i] = pair[1];
	}
}

static void close_some(struct sockets *s)
{
	unsigned int i;

	for (i = 0; i < s->count; i++) {
		close(s->sending[i]);
		close(s->receiving[i]);
	}
	free(s->sending);
	free(s->receiving);
	*s = (struct sockets) {};
}

void many_open(unsigned int one, unsigned int many)
{
	allow_descriptors(one + many);
	open_some(&sockets[0], one);
	open_some(&sockets[1], many);
}

void many_close(void)
{
	close_some(&sockets[0]);
	close_some(&sockets[1]);
}

int many_sending(bool many, unsigned int index)
{
	return sockets[many].sending[index];
}

int many_serve(bool many)
{
	struct sockets *s = &sockets[many];
	int set = epoll_create1(EPOLL_CLOEXEC);
	unsigned int i;

	if (set < 0)
		die("epoll");
	for (i = 0; i < s->count; i++) {
		struct epoll_event e = { .events = EPOLLIN,
					 .data.fd = s->receiving[i] };

		if (epoll_ctl(set, EPOLL_CTL_ADD, s->receiving[i], &e))
			die("epoll");
	}
	return set;
}

/* One of each that has something; what is left is told again next time. */
void many_consume(int set, char *buffer, size_t size, uint32_t count)
{
	struct epoll_event events[EVENTS];
	int i, n;

	while (count) {
		n = epoll_wait(set, events, count < EVENTS ? count : EVENTS, 0);
		if (n < 0)
			die("epoll");
		for (i = 0; i < n; i++, count--)
			if (recv(events[i].data.fd, buffer, size, 0) != (ssize_t)size)
				die("recv");
	}
}

void many_send(int fd, const char *buffer, size_t size)
{
	if (send(fd, buffer, size, MSG_NOSIGNAL) != (ssize_t)size)
		die("send");
}
