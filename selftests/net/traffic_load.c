// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clients of net_traffic.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traffic.h"

struct client {
	char kind;
	int node;
	int dd_conn;		/* 0 if there is none */
	uint32_t conn;
	unsigned char *send, *recv;
	uint64_t made;		/* last message composed */
	uint64_t accepted;	/* last message sent: @made, or the one before */
	uint64_t clean;		/* sources up to this message are overwritten */
	bool asked;		/* a reply is due */
	unsigned int meta[4];
	struct shadow reply;
};

static uint64_t rnd;
static int common_list;

static struct record *record_of(const struct client *c)
{
	return &shared->conn[c->conn];
}

static unsigned char *source(const struct client *c, uint64_t n)
{
	return c->send + n % SLOTS * slot_size();
}

static int client_connect(struct client *c)
{
	size_t size = block_size();
	struct dd_connect_attr attr = {
		.size = sizeof(attr),
		.type = c->kind == 's' ? DD_TYPE_SPLIT : DD_TYPE_STREAM,
		.list = common_list,
		.send = c->send,
		.recv = c->recv,
		.send_size = size,
		.recv_size = size,
	};
	int list, ret;

	ret = dd_connect(dd, SERVICE, c->node, &attr, &list);
	if (ret < 0)
		return ret;
	if (list)
		common_list = list;
	c->dd_conn = ret;
	c->conn = __atomic_add_fetch(&shared->conns, 1, __ATOMIC_RELAXED);
	if (c->conn >= TRAFFIC_CONNS)
		die("too many connections", 0);
	record_of(c)->node = dd_node(dd);
	c->made = c->accepted = c->clean = 0;
	c->asked = false;
	c->reply.conn = 0;
	return 0;
}

/* The other end has closed the connection, or its node is dead. */
static void client_lost(struct client *c, int err)
{
	struct record *r = record_of(c);
	struct dd_conn_desc d;

	if (err != -ECONNCLOSE)
		wrong("connection %u: %s", c->conn, dd_strerror(err));
	if (!dd_conn_info(dd, c->dd_conn, &d))
		r->done = d.done;
	r->broken = 1;
	/* The list ends with its last connection. */
	dd_close(dd, c->dd_conn);
	c->dd_conn = 0;
}

/* Compose the next message in the send buffer. */
static void make(struct client *c)
{
	size_t len = random_size(&rnd, opt.max);
	uint64_t n = ++c->made;

	if (len < opt.min)
		len = opt.min;
	pattern(c->conn, n, REQUEST, source(c, n), len);
	c->meta[0] = c->conn;
	c->meta[1] = n;
	c->meta[2] = len;
	c->meta[3] = place(n, len, &rnd);
}

/* Overwrite sources as soon as they may be reused. True if there were any. */
static bool clean_up(struct client *c)
{
	struct record *r = record_of(c);
	struct dd_conn_desc d;
	int ret = dd_conn_info(dd, c->dd_conn, &d);
	bool any = false;

	if (ret) {
		wrong("connection %u: %s", c->conn, dd_strerror(ret));
		return false;
	}
	for (; c->clean < d.sent; any = true)
		scribble(source(c, ++c->clean), slot_size());
	r->done = d.done;
	return any;
}

/* Compose a message and record it before it is sent. False if there is no source. */
static bool prepare(struct client *c)
{
	if (c->made == c->accepted) {
		if (c->made - c->clean >= SLOTS)
			return false;
		make(c);
		__atomic_store_n(&record_of(c)->tried, c->made,
				 __ATOMIC_RELEASE);
	}
	return true;
}

static bool client_send(struct client *c)
{
	int ret;

	if (c->asked || !prepare(c))
		return false;
	ret = dd_send(dd, c->dd_conn, source(c, c->made), c->meta[2], c->meta[3],
		      0, c->meta, 4);
	if (ret == -ENOTREADY || ret == -ENOCMP)
		return false;
	if (ret) {
		client_lost(c, ret);
		return true;
	}
	c->accepted++;
	c->asked = c->kind == 's';
	return true;
}

static void take_reply(struct client *c, const struct dd_msg *msg)
{
	struct record *r = record_of(c);

	c->asked = false;
	if (look(&c->reply, c->conn, r->replies + 1, REPLY, msg))
		r->replies++;
}

/* Receive one message; true if there was one. */
static bool client_receive(struct client *clients, int n, int64_t timeout)
{
	struct dd_msg msg;
	int i, ret;

	ret = common_list ? dd_recv(dd, common_list, &msg, DD_RECV_SLEEP,
				    timeout) : -EBADID;
	if (ret == -EBADID) {
		common_list = 0;
		if (timeout)
			usleep(timeout / 1000);
		return false;
	}
	if (ret && ret != -ECONNCLOSE)
		return false;
	for (i = 0; i < n && clients[i].dd_conn != msg.conn; i++)
		;
	/* The connection may have been closed. */
	if (i < n && ret)
		client_lost(&clients[i], ret);
	else if (i < n)
		take_reply(&clients[i], &msg);
	return true;
}

/* Connect, or send a message. True if there was progress. */
static bool step(struct client *c)
{
	static double last_refused;
	bool any;

	if (!c->dd_conn) {
		if (now() < last_refused + 0.05)
			return false;
		if (!client_connect(c))
			return true;
		last_refused = now();
		return false;
	}
	any = clean_up(c);
	return client_send(c) || any;
}

/* Wait for the replies to accepted messages, and close. */
static void client_finish(struct client *clients, int n, struct client *c)
{
	double end = now() + PATIENCE / 1e9;
	int ret;

	while (c->dd_conn && c->asked && now() < end)
		client_receive(clients, n, 100 * MS);
	if (!c->dd_conn)
		return;
	if (c->asked)
		wrong("connection %u: no reply", c->conn);
	ret = dd_done(dd, c->dd_conn, DD_DONE_PLACED, PATIENCE);
	if (ret < 0) {
		client_lost(c, ret);
		return;
	}
	/* A message that was composed and not accepted was not sent. */
	record_of(c)->tried = c->accepted;
	clean_up(c);
	ret = dd_close(dd, c->dd_conn);
	if (ret)
		wrong("connection %u: close: %s", c->conn, dd_strerror(ret));
	record_of(c)->finished = 1;
}

static void client_init(struct client *c, int node, char kind)
{
	size_t size = block_size();

	c->node = node;
	c->kind = kind;
	c->send = alloc(size);
	c->recv = c->reply.block = alloc(size);
	c->reply.copy = calloc(1, size);
	if (!c->reply.copy)
		die("no memory", 0);
}

int load(const int *nodes, int nnodes)
{
	int n = nnodes * opt.conns, i;
	struct client *c = calloc(n, sizeof(*c));
	bool any;

	start();
	rnd = shared->seed ^ (uint64_t)getpid() << 20;
	for (i = 0; i < n; i++)
		client_init(&c[i], nodes[i % nnodes], opt.kinds[i / nnodes % strlen(opt.kinds)]);
	while (!stopping) {
		any = false;
		for (i = 0; i < n; i++)
			any |= step(&c[i]);
		while (client_receive(c, n, any ? 0 : 2 * MS))
			any = true;
	}
	for (i = 0; i < n; i++)
		client_finish(c, n, &c[i]);
	return 0;
}
