// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traffic between nodes, each byte of it verified.
 *
 *	net_traffic FILE init SEED
 *	net_traffic FILE serve [OPTION...]		until SIGTERM
 *	net_traffic FILE load NODE[,NODE...] [OPTION...]
 *	net_traffic FILE wait N [NODE,...]	until N more messages have come
 *	net_traffic FILE check [whole|broken]
 *
 *	-c N	connections to each node (of each process that connects)
 *	-m N	bytes in a message, at most
 *	-t N	seconds; without it, and sooner, SIGTERM ends it
 *	-a N	connections that are used at a time, at random; 0 all
 *	-k T	kinds of connections: some of r(pc), s(plit), w (streams, window
 *		1) and W (streams, window 8)
 *
 * A server and whoever connects to it have the same -m. Each message is what
 * its connection's number and its own determine, in a place of the receiver's
 * block that is chosen at random. The receiver compares not only the message,
 * but all around it with what was there before; the sender writes over the
 * source as soon as it may, so that a late repetition shows.
 *
 * wait counts the messages that the named nodes have sent and somebody has read,
 * N of each of them; those of all nodes together if none is named.
 *
 * check compares what was sent with what came: all that was done has come, no
 * more has than was tried, and in between everything if nothing broke. "whole"
 * wants that of all connections, "broken" wants some that were not.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dd.h"
#include "traffic.h"

#define MS		1000000ll
#define PATIENCE	(120000 * MS)	/* for what must happen */
#define SERVICES	2
#define SLOTS_MAX	10
#define NODES_MAX	64

static struct traffic *shared;
static struct dd *dd;
static volatile sig_atomic_t stopping;

static struct {
	int conns;
	size_t max;
	int seconds;
	int active;
	const char *kinds;
} opt = { .conns = 4, .max = 65536, .kinds = "rswW" };

/* A message's place: one of the block's slots, so that those on their way do
 * not meet those that are being looked at.
 */
static const struct service {
	const char *name;
	unsigned int window;
	unsigned int slots;
	size_t max;
} services[SERVICES] = {
	{ "traffic-1", 1, 3, 4 << 20 },
	{ "traffic-8", 8, SLOTS_MAX, 65536 },
};

static size_t slot_size(const struct service *s)
{
	size_t max = opt.max < s->max ? opt.max : s->max;

	return (max + 4096 + 63) & ~63ul;
}

static size_t block_size(const struct service *s)
{
	return (s->slots * slot_size(s) + 4095) & ~4095ul;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const char *what, int err)
{
	fprintf(stderr, "# net_traffic: %s: %s\n", what,
		err ? dd_strerror(err) : strerror(errno));
	exit(1);
}

static void __attribute__((format(printf, 1, 2))) wrong(const char *fmt, ...)
{
	va_list ap;

	/* The first ones tell most. */
	if (__atomic_fetch_add(&shared->errors, 1, __ATOMIC_RELAXED) >= 20)
		return;
	va_start(ap, fmt);
	fprintf(stderr, "# WRONG: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
}

static void *alloc(size_t size)
{
	void *p;
	int err = dd_alloc(dd, size, &p);

	if (err)
		die("dd_alloc", err);
	return p;
}

/* --- looking at what has come ----------------------------------------------*/

/*
 * What a block should hold. @conn is 0 until something has come, and @block is
 * what counts from then on.
 */
struct shadow {
	uint32_t conn;
	unsigned char *block;
	unsigned char *copy;
	size_t size;
	size_t slot;
};

static size_t differs_at(const unsigned char *a, const unsigned char *b,
			 size_t len)
{
	size_t i = 0;

	while (i < len && a[i] == b[i])
		i++;
	return i;
}

/* Within its slot; to compare 3 MiB for each small message were too much. */
static void compare(const struct shadow *s, size_t from, size_t to, uint32_t n)
{
	size_t lo = from / s->slot * s->slot, hi = lo + s->slot, at;

	if (lo + 4096 < from)
		lo = from - 4096;
	if (to + 4096 < hi)
		hi = to + 4096;
	at = differs_at(s->block + lo, s->copy + lo, hi - lo);
	if (at == hi - lo)
		return;
	at += lo;
	wrong("connection %u, message %u [%zu, %zu): byte %zu is %02x, not %02x",
	      s->conn, n, from, to, at, s->block[at], s->copy[at]);
	memcpy(s->copy + lo, s->block + lo, hi - lo);
}

/*
 * What a message says of itself: connection, number, length, offset. Calls have
 * no metadata, so there it comes first.
 */
static void says(const struct dd_msg *msg, unsigned int meta[4])
{
	memset(meta, 0, 16);
	if (msg->meta_count == 4)
		memcpy(meta, msg->meta, 16);
	else if (!msg->meta_count && msg->len >= 16)
		memcpy(meta, msg->addr, 16);
}

static bool look(struct shadow *s, uint32_t conn, uint32_t n, int direction,
		 const struct dd_msg *msg)
{
	size_t at = (unsigned char *)msg->addr - s->block;
	unsigned int meta[4];

	says(msg, meta);
	if (meta[0] != conn || meta[1] != n ||
	    msg->msgid != n || meta[2] != msg->len || meta[3] != at ||
	    at + msg->len > s->size) {
		wrong("connection %u, message %u: it is %u, says %u:%u, %zu bytes at %zu, not %u at %u",
		      conn, n, msg->msgid, meta[0], meta[1], msg->len, at,
		      meta[2], meta[3]);
		return false;
	}
	/* A part of a message may have come on the one before. */
	if (s->conn != conn)
		memcpy(s->copy, s->block, s->size);
	s->conn = conn;
	pattern(shared->seed, conn, n, direction, s->copy + at, msg->len);
	if (!msg->meta_count)
		memcpy(s->copy + at, meta, 16);
	compare(s, at, at + msg->len, n);
	return true;
}

/* --- a server --------------------------------------------------------------*/

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
	size_t len, at, room;
	int ret;

	/* The last reply has been read; that it was sent is known soon. */
	ret = dd_done(dd, msg->conn, DD_DONE_SENT, PATIENCE);
	if (ret >= 0)
		ret = dd_conn_info(dd, msg->conn, &d);
	if (ret < 0)
		goto out;
	room = d.peer_size < msg->send_size ? d.peer_size : msg->send_size;
	len = random_size(rnd, opt.max < room ? opt.max : room);
	at = next_random(rnd) % (d.peer_size - len + 1);
	scribble(msg->send, msg->send_size < 8192 ? msg->send_size : 8192);
	pattern(shared->seed, c->conn, ++c->nreplies, REPLY, msg->send, len);
	meta[0] = c->conn;
	meta[1] = c->nreplies;
	meta[2] = len;
	meta[3] = at;
	ret = dd_send(dd, msg->conn, msg->send, len, at, 0, meta, 4);
	/* The last one has been read, but that is not known here. */
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
		/* Its first message; c was another one's. */
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

/* All that is left is as it was found right, unless it was cut short. */
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

static void on_term(int sig)
{
	stopping = 1;
}

static int serve(void)
{
	uint32_t life = __atomic_add_fetch(&shared->lives, 1, __ATOMIC_RELAXED);
	uint64_t rnd = shared->seed + life * 1000003;
	struct server server[SERVICES] = {};
	struct dd_msg msg;
	int list = 0, ret;
	size_t i;

	if (life > TRAFFIC_LIVES)
		die("too many servers", 0);
	shared->life[life - 1].node = dd_node(dd);
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

/* --- a client --------------------------------------------------------------*/

struct client {
	char kind;
	int node;
	int dd_conn;		/* 0 if there is none */
	uint32_t conn;
	const struct service *service;
	unsigned char *send, *recv;
	uint64_t made;		/* last message that has its source */
	uint64_t accepted;	/* the last one sent: @made, or the one before */
	uint64_t clean;		/* sources up to this message are scribbled */
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
	record_of(c)->open = 1;
	c->made = c->accepted = c->clean = 0;
	c->asked = false;
	c->reply = (struct shadow) {
		.block = c->recv, .copy = c->reply.copy, .size = size,
		.slot = size,
	};
	return 0;
}

/* It was closed by the other end, or by the death of the other node. */
static void client_lost(struct client *c, int err)
{
	struct record *r = record_of(c);
	struct dd_conn_desc d;

	if (err != -ECONNCLOSE)
		wrong("connection %u: %s", c->conn, dd_strerror(err));
	if (!dd_conn_info(dd, c->dd_conn, &d))
		r->done = d.done;
	r->broken = 1;
	/* The list goes with the last of them. */
	dd_close(dd, c->dd_conn);
	c->dd_conn = 0;
}

/* The next message, where it may be sent from. */
static void make(struct client *c)
{
	size_t slot = slot_size(c->service), len = random_size(&rnd, slot - 4096);
	uint64_t n = c->made + 1;

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

/* Sources are written over as soon as they may. True if there were any. */
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

/* A message of which all is said, before it is sent. */
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
	record_of(c)->sent_bytes += c->meta[2];
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
	record_of(c)->sent_bytes += c->meta[2];
	take_reply(c, &msg);
}

/* Whatever there is; true if it was something. */
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
	/* It may have been given up. */
	if (i < n && ret)
		client_lost(&clients[i], ret);
	else if (i < n)
		take_reply(&clients[i], &msg);
	return true;
}

/* True if it got somewhere. */
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

/* All that was accepted, and its replies. */
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
	/* What was made and not accepted was never tried again. */
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

static int load(const int *nodes, int nnodes, const char *kinds)
{
	double end = now() + opt.seconds;
	int n = nnodes * opt.conns, i;
	struct client *c = calloc(n, sizeof(*c));
	bool any;

	rnd = shared->seed ^ (uint64_t)getpid() << 20;
	for (i = 0; i < n; i++)
		client_init(&c[i], nodes[i % nnodes],
			    kinds[(i / nnodes + i) % strlen(kinds)]);
	/* All of them are there, even if only some are used. */
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

/* --- progress --------------------------------------------------------------*/

/* Messages read of those that a node has sent; 0 is any node. */
static uint64_t came_from(uint32_t node)
{
	uint32_t i, n = __atomic_load_n(&shared->conns, __ATOMIC_RELAXED);
	uint64_t sum = 0;

	/* Number 0 stands for none. */
	for (i = 1; i <= n && i < TRAFFIC_CONNS; i++)
		if (!node || shared->conn[i].node == node)
			sum += __atomic_load_n(&shared->conn[i].received,
					       __ATOMIC_RELAXED);
	return sum;
}

static int wait_for(uint64_t count, const int *nodes, int n)
{
	double end = now() + PATIENCE / 1e9;
	uint64_t goal[NODES_MAX];
	int i;

	for (i = 0; i < n; i++)
		goal[i] = came_from(nodes[i]) + count;
	for (i = 0; i < n; i++)
		while (came_from(nodes[i]) < goal[i]) {
			if (now() > end) {
				printf("node %d: %llu messages came of %llu\n",
				       nodes[i],
				       (unsigned long long)(count - goal[i] +
							    came_from(nodes[i])),
				       (unsigned long long)count);
				return 1;
			}
			usleep(2000);
		}
	return 0;
}

/* --- the account -----------------------------------------------------------*/

static void account(uint32_t i, const char *mode)
{
	const struct record *r = &shared->conn[i];
	bool read = r->life && shared->life[r->life - 1].drained;
	bool whole = !strcmp(mode, "whole");

	if (whole && !r->finished)
		wrong("connection %u was %s", i,
		      r->broken ? "closed" : "not finished");
	if (r->received > r->tried)
		wrong("connection %u: %llu messages came, %llu were sent", i,
		      (unsigned long long)r->received,
		      (unsigned long long)r->tried);
	if (read && r->received < r->done)
		wrong("connection %u: %llu messages came, %llu were done", i,
		      (unsigned long long)r->received,
		      (unsigned long long)r->done);
	if (whole && r->done && !r->life)
		wrong("connection %u: no message came", i);
	if ((read || whole) && r->finished && r->received != r->tried)
		wrong("connection %u: %llu messages came of %llu", i,
		      (unsigned long long)r->received,
		      (unsigned long long)r->tried);
}

static int check(const char *mode)
{
	unsigned long long messages = 0, replies = 0, bytes = 0;
	unsigned int i, broken = 0, finished = 0;

	for (i = 1; i <= shared->conns; i++) {
		account(i, mode);
		messages += shared->conn[i].received;
		bytes += shared->conn[i].received_bytes;
		replies += shared->conn[i].replies;
		broken += shared->conn[i].broken;
		finished += shared->conn[i].finished;
	}
	if (!messages)
		wrong("nothing was sent");
	if (!strcmp(mode, "broken") && !broken)
		wrong("no connection was closed");
	printf("%u connections, %llu messages of %.1f MiB, %llu replies",
	       shared->conns, messages, bytes / 1048576.0, replies);
	if (shared->late)
		printf("; %u replies had to wait", shared->late);
	if (broken)
		printf("; %u closed, %u attempts refused", broken,
		       shared->refused);
	if (shared->conns != finished + broken)
		printf("; %u left", shared->conns - finished - broken);
	printf("; %u errors\n", shared->errors);
	return shared->errors != 0;
}

/* --- the command line ------------------------------------------------------*/

static int usage(void)
{
	fprintf(stderr, "usage: net_traffic FILE init SEED | serve | load NODE,... | wait N [NODE,...] | check [whole|broken]\n"
		"\t[-c connections] [-m bytes] [-t seconds] [-a active] [-k kinds]\n");
	return 2;
}

static int options(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "c:m:t:a:k:")) != -1)
		switch (o) {
		case 'c':
			opt.conns = atoi(optarg);
			break;
		case 'm':
			opt.max = atol(optarg);
			break;
		case 't':
			opt.seconds = atoi(optarg);
			break;
		case 'a':
			opt.active = atoi(optarg);
			break;
		case 'k':
			opt.kinds = optarg;
			break;
		default:
			return -1;
		}
	return 0;
}

/* Those that are calls, or those that are not. */
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

/* Calls block, so they have a process of their own, which dies with this. */
static int load_apart(const int *nodes, int n)
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
	ret = load(nodes, n, kinds);
	if (pid > 0 && stopping)
		kill(pid, SIGTERM);
	if (pid > 0 && (waitpid(pid, &status, 0) != pid || status))
		ret = 1;
	return ret;
}

/* The numbers of a list, which it changes. */
static int node_list(char *list, int *nodes)
{
	char *arg;
	int n = 0;

	for (arg = strtok(list, ","); arg && n < NODES_MAX; arg = strtok(NULL, ","))
		nodes[n++] = atoi(arg);
	return n;
}

int main(int argc, char **argv)
{
	int nodes[NODES_MAX] = {}, n = 1, ret;
	char *verb;

	if (argc < 3)
		return usage();
	verb = argv[2];
	shared = strcmp(verb, "init") ? traffic_open(argv[1]) :
		 traffic_create(argv[1], argc > 3 ? strtoull(argv[3], NULL, 0) : 1);
	if (!shared)
		die(argv[1], 0);
	if (!strcmp(verb, "init"))
		return 0;
	if (!strcmp(verb, "check"))
		return check(argc > 3 ? argv[3] : "");
	if (!strcmp(verb, "wait") && argc > 3) {
		if (argc > 4)
			n = node_list(argv[4], nodes);
		return wait_for(strtoull(argv[3], NULL, 0), nodes, n);
	}
	optind = 3;
	if (options(argc, argv))
		return usage();
	if (!strcmp(verb, "serve")) {
		ret = dd_open(&dd);
		if (ret)
			die("dd_open", ret);
		return serve();
	}
	if (strcmp(verb, "load") || optind >= argc)
		return usage();
	n = node_list(argv[optind], nodes);
	return load_apart(nodes, n);
}
