// SPDX-License-Identifier: GPL-2.0-only
/*
 * check.c - the other end of a figure, which looks at the bytes
 *
 *   figcheck client NODE SERVICE...	figures 2 and 4 answer as they should
 *   figcheck server MESSAGES		figures 3 and 5 send what they should
 *
 * A service is "echo" or "reverse".
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fedex.h"
#include "support.h"

#define AREA	0x1000
#define BLOCK	(AREA / 2)

static int fail(const char *what)
{
	dderror("figcheck: %s", what);
	return 1;
}

/* A message that is neither zero nor a palindrome. */
static void compose(char *p, int len, int seed)
{
	for (int i = 0; i < len; i++)
		p[i] = 1 + (i * 7 + seed) % 251;
}

/* The reply that the service should make. */
static void answer(bool reversed, char *from, char *to, int len)
{
	if (reversed)
		reverse(from, to, len);
	else
		memcpy(to, from, len);
}

static int ask(connid_t conn, char *request, bool reversed)
{
	static const int lens[] = { 128, 1, 7, BLOCK };
	char want[BLOCK];
	address_t got;
	size_t size;

	for (unsigned int i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		compose(request, lens[i], i);
		answer(reversed, request, want, lens[i]);
		if (ddcall(conn, 0, lens[i], &got, &size) < 0)
			return fail("ddcall");
		if (size != (size_t)lens[i] || memcmp(got, want, size)) {
			fprintf(stderr, "figcheck: %d bytes come back as %zu others\n",
				lens[i], size);
			return 1;
		}
	}
	return 0;
}

static int client(int node, char *name)
{
	address_t request = ddalloc(AREA), reply = ddalloc(AREA);
	connid_t conn;
	int ret;

	if (!request || !reply)
		return fail("ddalloc");
	if (ddconn(name, node, TYPE_RPC, CONN_NOOPTS, request, AREA, reply, AREA,
		   &conn, NULL) < 0)
		return fail(name);
	ret = ask(conn, request, !strcmp(name, "reverse"));
	if (ddclose(conn))
		ret = fail("ddclose");
	return ret;
}

static servid_t serve(char *name, noteid_t *note)
{
	address_t in = ddalloc(AREA), out = ddalloc(AREA);
	servid_t id;

	if (!in || !out || ddserve(name, SERVE_NOOPTS, 2, in, AREA, out, AREA,
				   note, &id) < 0) {
		fail(name);
		exit(1);
	}
	return id;
}

/* As the figures print it: 0 to 31, then 96 bytes that are never written. */
static bool is_request(const ddrecv_desc_t *d, const conninfo_t *info)
{
	if (d->msgaddr != info->recvbase || d->msgsize != 128)
		return false;
	for (int i = 0; i < 128; i++)
		if (d->msgaddr[i] != (i < 32 ? i : 0))
			return false;
	return true;
}

/* Figure 3 asks one service; figure 5 asks each of two once. */
static int server(int messages)
{
	noteid_t note = 0;
	servid_t last = 0;

	serve("echo", &note);
	if (messages > 1)
		serve("reverse", &note);
	while (messages--) {
		ddrecv_desc_t d;
		conninfo_t info;

		if (ddrecv(note, &d, RECV_SLEEP, 0) < 0)
			return fail("ddrecv");
		if (ddconninfo(d.connid, &info) < 0)
			return fail("ddconninfo");
		if (!is_request(&d, &info) || d.servid == last) {
			fprintf(stderr, "figcheck: this is not what is printed\n");
			return 1;
		}
		last = d.servid;
		answer(false, d.msgaddr, info.sendbase, d.msgsize);
		/* Figure 5 ends when it has the first of two answers. */
		if (ddsend(d.connid, info.sendbase, d.msgsize, 0,
			   SEND_NOOPTS) < 0 && errno != ECONNCLOSE)
			return fail("ddsend");
	}
	return 0;
}

int main(int argc, char **argv)
{
	int ret = 0;

	if (argc == 3 && !strcmp(argv[1], "server"))
		return server(atoi(argv[2]));
	if (argc < 4 || strcmp(argv[1], "client"))
		return 2;
	for (int i = 3; i < argc && !ret; i++)
		ret = client(atoi(argv[2]), argv[i]);
	return ret;
}
