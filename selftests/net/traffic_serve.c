// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server of net_traffic.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traffic.h"

/* A block, and the connection that has it. */
struct served {
	int dd_conn;
	uint32_t conn;
	bool replies;
	uint32_t nreplies;
	struct shadow shadow;
};

static unsigned char *received;
static struct served *served;

/* Returns the list. */
static int server_start(void)
{
	size_t block = block_size(), size = opt.conns * block;
	struct dd_serve_attr attr = {
		.size = sizeof(attr), .maxconn = opt.conns, .window = WINDOW,
		.recv_size = size, .send_size = size,
	};
	unsigned char *copy = calloc(1, size);
	int i, ret, list = 0;

	attr.recv = received = alloc(size);
	attr.send = alloc(size);
	served = calloc(opt.conns, sizeof(*served));
	if (!copy || !served)
		die("no memory", 0);
	ret = dd_serve(dd, SERVICE, &attr, &list);
	if (ret < 0)
		die("dd_serve", ret);
	for (i = 0; i < opt.conns; i++)
		served[i].shadow = (struct shadow) {
			.block = received + i * block, .copy = copy + i * block,
		};
	return list;
}

static void reply(struct served *c, const struct dd_msg *msg, uint64_t *rnd)
{
	size_t len = random_size(rnd, opt.max), at = place(++c->nreplies, len, rnd);
	unsigned int meta[4] = { c->conn, c->nreplies, len, at };
	int ret;

	/* The last reply has been read, so it will soon be reported sent. */
	ret = dd_done(dd, msg->conn, DD_DONE_SENT, PATIENCE);
	if (ret < 0)
		goto out;
	scribble(msg->send, 8192);
	pattern(c->conn, c->nreplies, REPLY, msg->send, len);
	ret = dd_send(dd, msg->conn, msg->send, len, at, 0, meta, 4);
	/* The acknowledgment is still in flight, or the node is down for a moment. */
	while (ret == -ENOTREADY || ret == -ENOCMP) {
		if (ret == -ENOCMP)
			usleep(1000);
		ret = dd_done(dd, msg->conn, DD_DONE_PLACED, PATIENCE);
		if (ret >= 0)
			ret = dd_send(dd, msg->conn, msg->send, len, at, 0,
				      meta, 4);
	}
out:
	if (ret < 0 && ret != -ECONNCLOSE && ret != -EBADID)
		wrong("connection %u, reply %u: %s", c->conn, c->nreplies,
		      dd_strerror(ret));
}

static void serve_message(const struct dd_msg *msg, uint32_t life, uint64_t *rnd)
{
	struct served *c = &served[((unsigned char *)msg->addr - received) / block_size()];
	struct dd_conn_desc d;
	struct record *r;

	if (c->dd_conn != msg->conn) {
		/* First message of a connection: @c belonged to an earlier one. */
		c->dd_conn = msg->conn;
		c->conn = msg->meta[0];
		c->nreplies = 0;
		c->replies = !dd_conn_info(dd, msg->conn, &d) &&
			     d.type != DD_TYPE_STREAM;
		if (c->conn >= TRAFFIC_CONNS || shared->conn[c->conn].life) {
			wrong("a message of connection %u", c->conn);
			c->conn = 0;
		}
		shared->conn[c->conn].life = life;
	}
	r = &shared->conn[c->conn];
	if (look(&c->shadow, c->conn, r->received + 1, REQUEST, msg)) {
		r->received_bytes += msg->len;
		__atomic_store_n(&r->received, r->received + 1, __ATOMIC_RELEASE);
	}
	if (c->replies)
		reply(c, msg, rnd);
}

/* Compare all blocks for the last time, except those of broken connections. */
static void last_look(void)
{
	const struct shadow *s;
	int i;

	for (i = 0; i < opt.conns; i++) {
		s = &served[i].shadow;
		if (s->conn && shared->conn[s->conn].finished &&
		    memcmp(s->block, s->copy, block_size()))
			wrong("block %d changed after message %llu of connection %u", i,
			      (unsigned long long)shared->conn[s->conn].received, s->conn);
	}
}

int serve(void)
{
	uint32_t life = __atomic_add_fetch(&shared->lives, 1, __ATOMIC_RELAXED);
	uint64_t rnd = shared->seed + life * 1000003;
	struct dd_msg msg;
	int list, ret;

	if (life > TRAFFIC_LIVES)
		die("too many servers", 0);
	start();
	list = server_start();
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		ret = dd_recv(dd, list, &msg, DD_RECV_SLEEP,
			      stopping ? 0 : 50 * MS);
		if (!ret)
			serve_message(&msg, life, &rnd);
		else if (stopping && ret == -EWOULDBLOCK)
			break;
		else if (ret != -ETIMEDOUT)
			die("dd_recv", ret);
	}
	last_look();
	shared->drained[life - 1] = true;
	return 0;
}
