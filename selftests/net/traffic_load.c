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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traffic_end.h"

struct client {
	char kind;
	int node;
	int dd_conn;		/* 0 if there is none */
	uint32_t conn;
	const struct service *service;
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
	return c->send + n % c->service->slots * slot_size(c->service);
}

static int client_connect(struct client *c)
{
	static const int types[128] = {
		['r'] = DD_TYPE_RPC, ['s'] = DD_TYPE_SPLIT,
		['w'] = DD_TYPE_STREAM, ['W'] = DD_TYPE_STREAM,
	};
	size_t size = block_size(c->service);
	struct dd_connect_attr attr = {
		.size = sizeof(attr),
		.type = types[(int)c->kind],
		.list = common_list,
		.send = c->send,
		.recv = c->recv,
		.send_size = size,
		.recv_size = size,
	};
	int list, ret;

	ret = dd_connect(dd, c->service->name, c->node, &attr, &list);
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
	c->reply = (struct shadow) {
		.block = c->recv, .copy = c->reply.copy, .size = size,
		.slot = size,
	};
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
	size_t slot = slot_size(c->service), len = random_size(&rnd, slot - 4096);
	uint64_t n = c->made + 1;

	if (len < opt.min && opt.min <= slot - 4096)
		len = opt.min;
	if (c->kind == 'r' && len < 16)
		len = 16;
	pattern(shared->seed, c->conn, n, REQUEST, source(c, n), len);
	c->meta[0] = c->conn;
	c->meta[1] = n;
	c->meta[2] = len;
	c->meta[3] = n % c->service->slots * slot +
		     next_random(&rnd) % (slot - len);
	if (c->kind == 'r') {
		c->meta[3] = 0;
		memcpy(source(c, n), c->meta, 16);
	}
	c->made = n;
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
		scribble(source(c, ++c->clean), slot_size(c->service));
	r->done = d.done;
	return any;
}

/* Compose a message and record it before it is sent. False if there is no source. */
static bool prepare(struct client *c)
{
	if (c->made == c->accepted) {
		if (c->made - c->clean >= c->service->slots)
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

static void client_call(struct client *c)
{
	struct dd_msg msg;
	int ret;

	clean_up(c);
	if (!prepare(c))
		return;
	ret = dd_call(dd, c->dd_conn, source(c, c->made), c->meta[2], &msg,
		      DD_RECV_SLEEP, PATIENCE);
	if (ret == -ENOCMP)
		return;
	if (ret) {
		client_lost(c, ret);
		return;
	}
	c->accepted++;
	take_reply(c, &msg);
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
		__atomic_fetch_add(&shared->refused, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (c->kind == 'r') {
		client_call(c);
		return true;
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
	size_t size;

	c->node = node;
	c->kind = kind;
	c->service = &services[kind == 'W'];
	size = block_size(c->service);
	c->send = alloc(size);
	c->recv = alloc(size);
	c->reply.copy = calloc(1, size);
	if (!c->reply.copy)
		die("no memory", 0);
}

static int load_kinds(const int *nodes, int nnodes, const char *kinds)
{
	double end = now() + opt.seconds;
	int n = nnodes * opt.conns, i;
	struct client *c = calloc(n, sizeof(*c));
	bool any;

	rnd = shared->seed ^ (uint64_t)getpid() << 20;
	for (i = 0; i < n; i++)
		client_init(&c[i], nodes[i % nnodes],
			    kinds[(i / nnodes + i) % strlen(kinds)]);
	/* Connect all of them, even if only some are used. */
	for (i = 0; i < n && opt.active; i++)
		if (client_connect(&c[i]))
			wrong("connection number %d is refused", i);
	while (!stopping && (!opt.seconds || now() < end)) {
		any = false;
		for (i = 0; i < (opt.active ? opt.active : n); i++)
			any |= step(opt.active ? &c[next_random(&rnd) % n] : &c[i]);
		while (client_receive(c, n, any ? 0 : 2 * MS))
			any = true;
	}
	for (i = 0; i < n; i++)
		client_finish(c, n, &c[i]);
	return 0;
}

/* Run the clients of type RPC, or the others. */
static char *select_kinds(char kinds[16], bool calls)
{
	const char *k;
	int n = 0;

	for (k = opt.kinds; *k && n < 15; k++)
		if ((*k == 'r') == calls)
			kinds[n++] = *k;
	kinds[n] = 0;
	return kinds;
}

/* Calls block, so a process of their own makes them, which ends with this one. */
int load(const int *nodes, int n)
{
	char calls[16], others[16], *kinds = others;
	pid_t parent = getpid(), pid = -1;
	int status = 0, ret;

	select_kinds(others, false);
	select_kinds(calls, true);
	signal(SIGTERM, on_term);
	if (*calls && *others)
		pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			return 1;
	}
	if (*calls && (!pid || !*others))
		kinds = calls;
	ret = dd_open(&dd);
	if (ret)
		die("dd_open", ret);
	ret = load_kinds(nodes, n, kinds);
	if (pid > 0 && stopping)
		kill(pid, SIGTERM);
	if (pid > 0 && (waitpid(pid, &status, 0) != pid || status))
		ret = 1;
	return ret;
}
