// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <string.h>

#include "serve.h"
#include "../common/tool.h"

void compose_echo(const char *request, address_t reply, size_t size)
{
	memcpy(reply, request, size);
}

void compose_reverse(const char *request, address_t reply, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		reply[i] = request[size - 1 - i];
}

static void start(const struct sample_options *o, struct sample_service *s,
		  noteid_t *noteid, bool first)
{
	/* Blocks are rounded down to 8 bytes: ask for what is never too small. */
	size_t size = (o->size + 7) / 8 * 8 * o->connections;
	address_t in = sample_alloc(size), out = sample_alloc(size);

	if (ddserve(s->name, first ? SERVE_NOOPTS : SERVE_NOTELIST,
		    o->connections, in, size, out, size, noteid, &s->id) < 0)
		sample_die("ddserve");
	if (!o->quiet)
		fprintf(stderr, "%s: serving '%s' on node %d, %d connection%s of %zu byte%s\n",
			tool_name, s->name, ddmynode(), o->connections,
			tool_s(o->connections), o->size, tool_s(o->size));
}

static void answer(const struct sample_service *s, const ddrecv_desc_t *d)
{
	conninfo_t info;

	/* The buffers belong to the connection that the request came on. */
	if (ddconninfo(d->connid, &info) < 0) {
		/* Gone, and its block already somebody else's. */
		if (errno != EBADID)
			sample_die("ddconninfo");
		return;
	}
	if ((size_t)d->msgsize > info.sendsize ||
	    (size_t)d->msgsize > info.remotesize) {
		tool_warn("a request of %d bytes leaves no room for the reply",
			  d->msgsize);
		return;
	}
	s->compose(d->msgaddr, info.sendbase, d->msgsize);
	if (ddsend(d->connid, info.sendbase, d->msgsize, 0, SEND_NOOPTS) == 0)
		return;
	switch (errno) {
	case ECONNCLOSE:
	case EBADID:
	case ENOTREADY:
		/* It has gone, or does not read: its loss, not the server's. */
		dderror("%s: reply to connection %d", tool_name, d->connid);
		return;
	default:
		sample_die("ddsend");
	}
}

void sample_serve(const struct sample_options *o,
		  struct sample_service *services, int count)
{
	noteid_t noteid = 0;
	ddrecv_desc_t d;
	uint64_t n;
	int i;

	for (i = 0; i < count; i++)
		start(o, &services[i], &noteid, i == 0);
	sample_ready(o);

	for (n = 0; !o->count || n < o->count; n++) {
		if (ddrecv(noteid, &d, o->sleep ? RECV_SLEEP : RECV_SPIN, 0) < 0)
			sample_die("ddrecv");
		for (i = 0; services[i].id != d.servid; i++)
			;
		answer(&services[i], &d);
	}
}
