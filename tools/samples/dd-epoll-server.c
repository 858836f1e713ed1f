// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-epoll-server - an echo server with one epoll loop for everything
 *
 * The note list has a descriptor, which stands in the loop beside a timer and
 * a signal. Its client is dd-rpc-client.c. SIGTERM or SIGINT ends it.
 *
 *	cc dd-epoll-server.c -o dd-epoll-server $(pkg-config --cflags --libs libdd)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <fedex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define CLIENTS	16
#define BLOCK	4096
#define BATCH	64	/* requests in a row, then the other descriptors' turn */

static unsigned long requests;

static void die(const char *call)
{
	dderror("dd-epoll-server: %s", call);
	exit(1);
}

static void answer(const ddrecv_desc_t *request)
{
	conninfo_t client;

	if (ddconninfo(request->connid, &client) < 0)
		return;		/* The client has gone. */
	memcpy(client.sendbase, request->msgaddr, request->msgsize);
	if (ddsend(request->connid, client.sendbase, request->msgsize, 0,
		   SEND_NOOPTS) < 0)
		dderror("dd-epoll-server: reply to process %d", client.pid);
	requests++;
}

/* Level-triggered: what is left after a batch is reported again. */
static void answer_batch(noteid_t notes)
{
	ddrecv_desc_t request;
	int i;

	for (i = 0; i < BATCH; i++) {
		if (ddrecv(notes, &request, RECV_NOBLOCK, 0) == 0)
			answer(&request);
		else if (errno == EWOULDBLOCK)
			return;
		else
			die("ddrecv");
	}
}

static void report(int timer)
{
	static unsigned long last;
	uint64_t expired;

	if (read(timer, &expired, sizeof(expired)) != sizeof(expired))
		return;
	if (requests != last)
		printf("%lu requests\n", requests);
	fflush(stdout);
	last = requests;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		die("epoll_ctl");
}

int main(void)
{
	char *in = ddalloc(CLIENTS * BLOCK), *out = ddalloc(CLIENTS * BLOCK);
	struct itimerspec second = { { 1, 0 }, { 1, 0 } };
	int i, n, epoll, list, timer, signals;
	struct epoll_event events[3];
	bool stopped = false;
	noteid_t notes = 0;
	servid_t service;
	sigset_t set;

	if (!in || !out)
		die("ddalloc");
	if (ddserve("echo", SERVE_NOOPTS, CLIENTS, in, CLIENTS * BLOCK,
		    out, CLIENTS * BLOCK, &notes, &service) < 0)
		die("ddserve");

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	list = ddfd(notes);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (epoll < 0 || list < 0 || signals < 0 || timer < 0 ||
	    timerfd_settime(timer, 0, &second, NULL) < 0)
		die("descriptors");
	watch(epoll, list);
	watch(epoll, signals);
	watch(epoll, timer);
	printf("ready\n");
	fflush(stdout);

	while (!stopped) {
		n = epoll_wait(epoll, events, 3, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (i = 0; i < n; i++) {
			if (events[i].data.fd == list)
				answer_batch(notes);
			else if (events[i].data.fd == timer)
				report(timer);
			else
				stopped = true;
		}
	}
	printf("%lu requests in all\n", requests);
	if (ddunserve(service) < 0)
		die("ddunserve");
	return 0;
}
