// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_short.c - bounds and windows of the direct path, against a model
 *
 * Copyright (C) 2026 The dd authors
 *
 * Once as the only thread, and once as if there were others: then the library uses
 * atomic instructions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <linux/dd_ddp.h>

#include "echo.h"
#include "tap.h"

#define LEN_MAX	88	/* more than what is copied without a loop */
#define CONNS	2
#define STEPS	20000
#define QUEUE	64

/**
 * struct end - a connection, as it should be
 * @conn: its id
 * @send: its send buffer
 * @window: as it was asked for
 * @unread: messages sent and not received
 */
struct end {
	int conn;
	char *send;
	uint32_t window;
	uint32_t unread;
};

/* A message that is on its way. */
struct sent {
	const struct end *from;
	size_t len;
	size_t offset;
	unsigned char byte;
	bool meta;
};

static char *block;
static struct end ends[CONNS];

/* A stream to a service of its own, on the list of all. */
static void stream(struct end *e)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = DD_TYPE_STREAM,
		.recv = alloc(PAGE), .recv_size = PAGE, .send_size = PAGE,
	};
	struct dd_serve_attr served = {
		.size = sizeof(served), .maxconn = 1, .window = e->window,
		.list = list, .flags = list ? DD_ATTR_LIST : 0,
		.recv_size = PAGE,
	};
	char name[2] = { 'a' + (e - ends), 0 };

	attr.send = e->send = alloc(PAGE);
	served.recv = alloc(PAGE);
	if (e == ends)
		block = served.recv;
	check(dd_serve(h, name, &served, &list) > 0);
	e->conn = dd_connect(h, name, dd_node(h), &attr, NULL);
	check(e->conn > 0);
	e->unread = 0;
}

static void begin(bool alone)
{
	list = 0;
	check_eq(dd_open(&h), 0);
	ends[0].window = 1;
	ends[1].window = 5;
	stream(&ends[0]);
	stream(&ends[1]);
	__libc_single_threaded = alone;
}

static void end(void)
{
	__libc_single_threaded = 1;
	teardown();
}

/* One message there, or why not; what was sent is received. */
static int pass(const struct end *e, const char *addr, size_t len, size_t roffset)
{
	struct dd_msg msg;
	int ret;

	ret = dd_send(h, e->conn, addr, len, roffset, 0, NULL, 0);
	if (ret)
		return ret;
	check_eq(dd_recv(h, list, &msg, 0, 0), 0);
	check((char *)msg.addr == block + roffset && msg.len == len);
	check(!memcmp(msg.addr, addr, len));
	return 0;
}

/* Around both ends of both blocks, each length that is short and some more. */
static void bounds_of(bool alone)
{
	const struct end *e = &ends[0];

	begin(alone);
	for (int i = 0; i < PAGE; i++)
		e->send[i] = i * 7 + i / 256;
	for (size_t len = 0; len <= LEN_MAX; len++) {
		for (int d = -9; d <= 9; d++) {
			char *last = e->send + PAGE - len;
			int out = d > 0 ? -EBADRANGE : 0;

			check_eq(pass(e, last + d, len, 8), out);
			check_eq(pass(e, e->send - d, len, 8), out);
			check_eq(pass(e, e->send + 3, len, PAGE - len + d), out);
			check_eq(pass(e, e->send, len, -(size_t)d), out);
		}
		check_eq(pass(e, (char *)~0ul - len, len, 0), -EBADRANGE);
		check_eq(pass(e, NULL, len, 0), -EBADRANGE);
		check_eq(pass(e, e->send, -len - 1, 0), -EBADRANGE);
	}
	end();
}

TEST(short_bounds)
{
	bounds_of(true);
	bounds_of(false);
}

static struct sent queue[QUEUE];
static unsigned int first, last;

static void model_send(struct end *e, unsigned int n)
{
	struct sent s = {
		.from = e, .len = rand() % LEN_MAX, .offset = rand() % 64,
		.byte = n, .meta = !(rand() % 8),
	};
	bool space = e->unread <= e->window;
	int ret;

	memset(e->send, s.byte, s.len);
	ret = dd_send(h, e->conn, e->send, s.len, s.offset, 0, &n, s.meta);
	check_eq(ret, space ? 0 : -ENOTREADY);
	/* The last one is beyond the window if there is no room for another. */
	e->unread += space;
	check_eq(dd_done(h, e->conn, DD_DONE_PLACED, 0), e->unread <= e->window);
	if (space)
		queue[last++ % QUEUE] = s;
}

static void model_recv(void)
{
	const struct sent *s = &queue[first % QUEUE];
	struct dd_msg msg;
	int ret = dd_recv(h, list, &msg, 0, 0);

	check_eq(ret, first == last ? -EWOULDBLOCK : 0);
	if (ret || first == last)
		return;
	check(msg.len == s->len && msg.meta_count == s->meta);
	/* Later messages lie on earlier ones of the same connection. */
	if (s->len && s->from->unread == 1)
		check_eq(*((unsigned char *)msg.addr + s->len - 1), s->byte);
	if (s->meta)
		check_eq(msg.meta[0] & 0xff, s->byte);
	ends[s->from - ends].unread--;
	first++;
}

/* Two connections share a ring; bursts of each, and readers of any speed. */
static void windows_of(bool alone)
{
	struct dd_conn_desc desc;

	begin(alone);
	first = last = 0;
	srand(1);
	for (unsigned int n = 0; n < STEPS && !test_failed; n++) {
		unsigned int pace = n / 512 % 3;

		if (rand() % 4 > (int)pace)
			model_send(&ends[rand() % CONNS], n);
		else
			model_recv();
	}
	check_eq(dd_conn_info(h, ends[1].conn, &desc), 0);
	check(desc.submitted > STEPS / 16);
	check_eq(desc.submitted - desc.done,
		 ends[1].unread > ends[1].window);
	end();
}

TEST(short_windows)
{
	windows_of(true);
	windows_of(false);
}
