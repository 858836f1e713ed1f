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

#include "traffic_end.h"

struct served {
	int dd_conn;
	uint32_t conn;
	bool replies;
	uint32_t nreplies;
	struct shadow shadow;
};

struct server {
	const struct service *service;
	unsigned char *recv, *send, *copy;
	size_t maxconn;
	struct served *block;
	int id;
};

static void server_start(struct server *s, const struct service *service,
			 int *list)
{
	size_t size, block = block_size(service), i;
	struct dd_serve_attr attr = { .size = sizeof(attr) };

	s->service = service;
	s->maxconn = opt.conns;
	size = s->maxconn * block;
	s->recv = alloc(size);
	s->send = alloc(size);
	s->copy = calloc(1, size);
	s->block = calloc(s->maxconn, sizeof(*s->block));
	if (!s->copy || !s->block)
		die("no memory", 0);
	attr.maxconn = s->maxconn;
	attr.window = service->window;
	attr.list = *list;
	attr.flags = *list ? DD_ATTR_LIST : 0;
	attr.recv = s->recv;
	attr.send = s->send;
	attr.recv_size = attr.send_size = size;
	s->id = dd_serve(dd, service->name, &attr, list);
	if (s->id < 0)
		die("dd_serve", s->id);
	for (i = 0; i < s->maxconn; i++)
		s->block[i].shadow = (struct shadow) {
			.block = s->recv + i * block,
			.copy = s->copy + i * block,
			.size = block,
			.slot = slot_size(service),
		};
}

static struct served *served_by(struct server *server, const struct dd_msg *msg)
{
	struct server *s = server;

	while (s->id != msg->service)
		if (++s == server + SERVICES)
			die("a message of no service", 0);
	return &s->block[((unsigned char *)msg->addr - s->recv) /
			 block_size(s->service)];
}

static void reply(struct served *c, const struct dd_msg *msg, uint64_t *rnd)
{
	struct dd_conn_desc d;
	unsigned int meta[4];
	size_t len, at, space;
	int ret;

	/* The last reply has been read, so it will soon be reported sent. */
	ret = dd_done(dd, msg->conn, DD_DONE_SENT, PATIENCE);
	if (ret >= 0)
		ret = dd_conn_info(dd, msg->conn, &d);
	if (ret < 0)
		goto out;
	space = d.peer_size < msg->send_size ? d.peer_size : msg->send_size;
	len = random_size(rnd, opt.max < space ? opt.max : space);
	at = next_random(rnd) % (d.peer_size - len + 1);
	scribble(msg->send, msg->send_size < 8192 ? msg->send_size : 8192);
	pattern(shared->seed, c->conn, ++c->nreplies, REPLY, msg->send, len);
	meta[0] = c->conn;
	meta[1] = c->nreplies;
	meta[2] = len;
	meta[3] = at;
	ret = dd_send(dd, msg->conn, msg->send, len, at, 0, meta, 4);
	/* The last message was read, but the acknowledgment is still in flight. */
	if (ret == -ENOTREADY)
		__atomic_fetch_add(&shared->late, 1, __ATOMIC_RELAXED);
	while (ret == -ENOTREADY || ret == -ENOCMP) {
		/* The node is down for a moment. */
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

static void serve_message(struct server *server, const struct dd_msg *msg,
			  uint32_t life, uint64_t *rnd)
{
	struct served *c = served_by(server, msg);
	struct dd_conn_desc d;
	unsigned int meta[4];
	struct record *r;

	if (c->dd_conn != msg->conn) {
		/* First message of a connection: @c belonged to an earlier one. */
		says(msg, meta);
		c->dd_conn = msg->conn;
		c->conn = meta[0];
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
static void last_look(const struct server *server)
{
	const struct shadow *s;
	size_t i, k;

	for (k = 0; k < SERVICES; k++)
		for (i = 0; i < server[k].maxconn; i++) {
			s = &server[k].block[i].shadow;
			if (s->conn && shared->conn[s->conn].finished &&
			    memcmp(s->block, s->copy, s->size))
				wrong("block %zu changed after message %llu of connection %u",
				      i, (unsigned long long)shared->conn[s->conn].received,
				      s->conn);
		}
}

int serve(void)
{
	uint32_t life = __atomic_add_fetch(&shared->lives, 1, __ATOMIC_RELAXED);
	uint64_t rnd = shared->seed + life * 1000003;
	struct server server[SERVICES] = {};
	struct dd_msg msg;
	int list = 0, ret;
	size_t i;

	if (life > TRAFFIC_LIVES)
		die("too many servers", 0);
	signal(SIGTERM, on_term);
	for (i = 0; i < SERVICES; i++)
		server_start(&server[i], &services[i], &list);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		ret = dd_recv(dd, list, &msg, DD_RECV_SLEEP,
			      stopping ? 0 : 50 * MS);
		if (!ret)
			serve_message(server, &msg, life, &rnd);
		else if (stopping && ret == -EWOULDBLOCK)
			break;
		else if (ret != -ETIMEDOUT)
			die("dd_recv", ret);
	}
	last_look(server);
	shared->life[life - 1].drained = 1;
	return 0;
}
