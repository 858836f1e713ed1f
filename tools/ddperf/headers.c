// SPDX-License-Identifier: GPL-2.0-only
/*
 * headers.c - headers of Scheduled Transfer between both sides
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "headers.h"
#include "process.h"
#include "../common/tool.h"

static st_chandle_t end;

static void must_st(const struct side *s, int error, const char *what)
{
	if (error && s->me)
		_exit(TOOL_OK);		/* the client has finished or reports its own error */
	if (error)
		perf_fail(TOOL_FAILED, "%s: %s", what, strerror(error));
}

static void accept_client(const struct side *s)
{
	int service;

	must_st(s, st_listen(end, NULL, NULL), "st_listen");
	must_st(s, st_getopt(end, ST_OPT_IANA_LOCAL, &service), "st_getopt");
	pair_put(s, &service, sizeof(service));
	must_st(s, st_accept(end), "st_accept");
}

static void connect_server(const struct side *s)
{
	struct peer peer;
	char text[16];
	int service;

	pair_get(s, &service, sizeof(service));
	snprintf(text, sizeof(text), "%d", service);
	if (s->net)
		peer_look(&peer, s->node);
	must_st(s, st_connect(end, s->net ? peer.address : NULL, text), "st_connect");
}

/* The first call of each side, which has nothing else to do with the control socket now. */
static void open_end(const struct side *s)
{
	must_st(s, st_create(&end), "st_create");
	if (s->me)
		accept_client(s);
	else
		connect_server(s);
}

void headers_put(struct side *s, size_t size)
{
	st_header_t hdr = { .op = ST_OP_NOP };

	if (!end)
		open_end(s);
	must_st(s, st_tx(&end, &hdr, size > sizeof(hdr) ? s->buffer : NULL, 0, 0, 0), "st_tx");
}

/* Between nodes st_rx() is called without end, as dd_recv() is. */
char *headers_get(struct side *s, size_t size)
{
	static struct {
		st_header_t hdr;
		char payload[ST_PAYLOAD];
	} got;
	struct timeval none = { 0 };
	int error;

	if (!end)
		open_end(s);
	while ((error = st_rx(&end, &got.hdr, size > sizeof(got.hdr) ? got.payload : NULL,
			      s->net ? &none : NULL)) == EWOULDBLOCK)
		if (s->hello.shared_cpu)
			sched_yield();
	must_st(s, error, "st_rx");
	return (char *)&got;
}
