// SPDX-License-Identifier: LGPL-2.1-only
/*
 * call_test.c - the calls, over a kernel made of user code
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/dd.h>

#include "dd.h"
#include "fake.h"
#include "tap.h"

#define MS	1000000ll
#define PAGE	0x1000

static struct dd *h;
static int service, list, conn, clist;
static char *srecv, *ssend, *crecv, *csend;

static void *alloc(size_t size)
{
	void *addr = NULL;

	check_eq(dd_alloc(h, size, &addr), 0);
	return addr;
}

static int serve(const char *name, unsigned int flags, int *l)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr), .flags = flags, .maxconn = 2,
		.recv = srecv = alloc(2 * PAGE), .recv_size = 2 * PAGE,
		.send = ssend = alloc(PAGE), .send_size = PAGE,
		.list = *l,
	};

	return dd_serve(h, name, &attr, l);
}

static int client(const char *name, unsigned int type, int *l)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = type, .list = *l,
		.recv = crecv = alloc(PAGE), .recv_size = PAGE,
		.send = csend = alloc(PAGE), .send_size = PAGE,
	};

	return dd_connect(h, name, 1, &attr, l);
}

static void setup(unsigned int type)
{
	fake_reset();
	list = clist = 0;
	check_eq(dd_open(&h), 0);
	service = serve("echo", 0, &list);
	check(service > 0 && list > 0);
	conn = client("echo", type, &clist);
	check(conn > 0);
	check_eq(clist > 0, type != DD_TYPE_RPC);
}

/* The same, whatever the environment says. */
static void setup_direct(unsigned int type, bool direct)
{
	const char *value = getenv("DD_DIRECT");
	char *before = value ? strdup(value) : NULL;

	setenv("DD_DIRECT", direct ? "1" : "0", 1);
	setup(type);
	if (before)
		setenv("DD_DIRECT", before, 1);
	else
		unsetenv("DD_DIRECT");
	free(before);
}

/* With a doorbell to refuse. */
static void setup_doorbell(unsigned int type)
{
	setup_direct(type, false);
}

static void teardown(void)
{
	fake.interrupts = 0;
	check_eq(dd_shutdown(h), 0);
}

static int request(const char *text)
{
	strcpy(csend, text);
	return dd_send(h, conn, csend, strlen(text), 0, 0, NULL, 0);
}

static int take(struct dd_msg *msg)
{
	return dd_recv(h, list, msg, 0, 0);
}

static void open_errors(void)
{
	static const struct {
		int kernel, library;
	} cases[] = {
		{ ENOENT, -ENOCMP }, { ENXIO, -ENOCMP }, { ENODEV, -ENOCMP },
		{ EACCES, -EACCES }, { EMFILE, -ENORESOURCE },
	};
	struct dd *none;

	fake_reset();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fake.absent = cases[i].kernel;
		check_eq(dd_open(&none), cases[i].library);
	}
	fake.absent = 0;
	check_eq(dd_open(NULL), -EINVAL);
}

static void error_numbers(void)
{
	static const struct {
		int kernel, library;
	} cases[] = {
		{ ENOENT, EBADID }, { ESTALE, EBADID }, { ENXIO, EBADID },
		{ ECONNRESET, ECONNCLOSE }, { ENETDOWN, ENOCMP },
		{ ENOMEM, ENORESOURCE }, { ENOSPC, ENORESOURCE },
		{ EDQUOT, EMEMLOCK }, { ERANGE, EBADRANGE },
		{ EBUSY, ENOTREADY }, { EFAULT, EFAULT }, { EINVAL, EINVAL },
	};

	setup_doorbell(DD_TYPE_STREAM);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fake.refuse = DD_IOC_DOORBELL;
		fake.refusal = cases[i].kernel;
		check_eq(request("x"), -cases[i].library);
	}
	/* A refused request is not counted: the next one is the first. */
	check_eq(request("x"), 0);
	teardown();
}

static void error_texts(void)
{
	for (int e = EBADID; e <= EMEMLOCK; e++) {
		check(strcmp(dd_strerror(e), "unknown error") != 0);
		check(dd_strerror(e) == dd_strerror(-e));
	}
	check(!strcmp(dd_strerror(EINVAL), strerror(EINVAL)));
	check(!strcmp(dd_strerror(1000), "unknown error"));
	check(!strcmp(dd_strerror(EMEMLOCK + 1), "unknown error"));
	check(dd_strerror(-2147483647 - 1) != NULL);
}

static void message_arrives(void)
{
	static const unsigned int meta[4] = { 1, 2, 3, 4 };
	struct dd_msg msg = { .meta = { 9, 9, 9, 9 } };
	int calls;

	setup(DD_TYPE_STREAM);
	strcpy(csend, "hello");
	check_eq(dd_send(h, conn, csend, 5, 24, 0, meta, 3), 0);
	calls = fake.calls;
	check_eq(dd_ready(h, list), 1);
	check_eq(dd_peek(h, list, &msg), 1);
	check_eq(msg.len, 5);
	check_eq(dd_recv(h, list, &msg, 0, DD_FOREVER), 0);
	/* DDP-52: no system call in a receive that finds its note. */
	check_eq(fake.calls, calls);
	check_eq(msg.type, DD_MSG_DATA);
	check_eq(msg.service, service);
	check(msg.addr == srecv + 24);
	check(!memcmp(msg.addr, "hello", 5));
	check(msg.send == ssend);
	check_eq(msg.send_size, PAGE / 2);
	check_eq(msg.meta_count, 3);
	check_eq(msg.meta[2], 3);
	check_eq(msg.meta[3], 9);
	check_eq(dd_ready(h, list), 0);
	check_eq(take(&msg), -EWOULDBLOCK);
	teardown();
}

static void send_options(void)
{
	static char plain[] = "anywhere";
	struct dd_msg msg;
	char *other;

	setup(DD_TYPE_STREAM);
	other = alloc(PAGE);
	check_eq(dd_send(h, conn, csend, 1, 0, 8, NULL, 0), -EINVAL);
	check_eq(dd_send(h, conn, csend, 1, 0,
			 DD_SEND_UNWIRED | DD_SEND_DMA, NULL, 0), -EINVAL);
	check_eq(dd_send(h, conn, csend, 1, 0, 0, NULL, 1), -EINVAL);
	check_eq(dd_send(h, conn, csend, 1, 0, 0, (unsigned int *)csend, 5),
		 -EINVAL);
	/* Outside of its own block, however wired. */
	check_eq(dd_send(h, conn, plain, 1, 0, 0, NULL, 0), -EBADRANGE);
	check_eq(dd_send(h, conn, other, 1, 0, 0, NULL, 0), -EBADRANGE);
	check_eq(dd_send(h, conn, csend, PAGE + 1, 0, 0, NULL, 0), -EBADRANGE);
	check_eq(dd_send(h, conn, csend + 1, PAGE, 0, 0, NULL, 0), -EBADRANGE);
	check_eq(dd_send(h, conn, csend + 8, -1, 0, 0, NULL, 0), -EBADRANGE);
	check_eq(dd_send(h, conn, csend, 1, -1, 0, NULL, 0), -EBADRANGE);
	check_eq(dd_send(h, conn, plain, 1, 0, DD_SEND_DMA, NULL, 0),
		 -EBADRANGE);
	check_eq(dd_send(h, conn, other + 1, PAGE, 0, DD_SEND_DMA, NULL, 0),
		 -EBADRANGE);
	check_eq(dd_send(h, conn, other, PAGE / 2 + 1, PAGE / 2, DD_SEND_DMA,
			 NULL, 0), -EBADRANGE);

	strcpy(other, "wired");
	check_eq(dd_send(h, conn, other, 5, 0, DD_SEND_DMA | DD_SEND_BLOCK,
			 NULL, 0), 0);
	check_eq(take(&msg), 0);
	check(!memcmp(msg.addr, "wired", 5));
	check_eq(dd_send(h, conn, plain, 8, 0, DD_SEND_UNWIRED, NULL, 0), 0);
	check_eq(take(&msg), 0);
	check(!memcmp(msg.addr, "anywhere", 8));
	check_eq(msg.msgid, 2);
	teardown();
}

static void stream_waits_for_ack(void)
{
	struct dd_msg msg;

	setup(DD_TYPE_STREAM);
	check_eq(request("1"), 0);
	check_eq(dd_done(h, conn, DD_DONE_PLACED, 0), 1);
	/* Deposited, its note withheld: sent, not placed. */
	check_eq(request("2"), 0);
	check_eq(dd_done(h, conn, DD_DONE_SENT, 0), 1);
	check_eq(dd_done(h, conn, DD_DONE_PLACED, 0), 0);
	check_eq(dd_done(h, conn, DD_DONE_PLACED, 2 * MS), -ETIMEDOUT);
	check_eq(request("3"), -ENOTREADY);
	/* Consuming the first kicks the second into the list. */
	check_eq(take(&msg), 0);
	check_eq(msg.msgid, 1);
	check_eq(dd_done(h, conn, DD_DONE_PLACED, DD_FOREVER), 1);
	check_eq(request("3"), 0);
	check_eq(take(&msg), 0);
	check_eq(msg.msgid, 2);
	check_eq(take(&msg), 0);
	check_eq(msg.msgid, 3);
	check_eq(dd_done(h, conn, 2, 0), -EINVAL);
	teardown();
}

static void split_one_outstanding(void)
{
	struct dd_msg msg, reply;

	setup(DD_TYPE_SPLIT);
	check_eq(request("1"), 0);
	check_eq(request("2"), -ESLOTBUSY);
	check_eq(take(&msg), 0);
	/* A serving end may send as it likes. */
	check_eq(dd_send(h, msg.conn, msg.send, 3, 0, 0, NULL, 0), 0);
	check_eq(request("2"), -ESLOTBUSY);
	check_eq(dd_recv(h, clist, &reply, 0, 0), 0);
	check_eq(reply.conn, conn);
	check_eq(reply.service, 0);
	check(reply.addr == crecv);
	check_eq(request("2"), 0);
	teardown();
}

static void split_refused_is_not_outstanding(void)
{
	setup_doorbell(DD_TYPE_SPLIT);
	fake.refuse = DD_IOC_DOORBELL;
	fake.refusal = ENETDOWN;
	check_eq(request("1"), -ENOCMP);
	check_eq(request("1"), 0);
	teardown();
}

static void interrupted_calls_go_on(void)
{
	struct dd_msg msg;

	setup(DD_TYPE_STREAM);
	fake.interrupts = 3;
	check_eq(request("1"), 0);
	check_eq(take(&msg), 0);
	fake.interrupts = 3;
	check_eq(dd_recv(h, list, &msg, DD_RECV_SLEEP, 5 * MS), -ETIMEDOUT);
	fake.interrupts = 3;
	check_eq(dd_poll(h, &list, 1, 5 * MS), 0);
	teardown();
}

/* The serving end; its first reply waits until @go, if @late. */
struct server {
	int requests;
	bool late;
	bool go;
};

static void *serve_rpc(void *arg)
{
	struct server *s = arg;
	struct timespec ts = { .tv_nsec = 2 * MS };

	for (int i = 0; i < s->requests; i++) {
		struct dd_msg msg;

		if (dd_recv(h, list, &msg, DD_RECV_SLEEP, 20000 * MS))
			break;
		memcpy(msg.send, msg.addr, msg.len);
		while (!i && s->late && !__atomic_load_n(&s->go,
							 __ATOMIC_ACQUIRE))
			nanosleep(&ts, NULL);
		dd_send(h, msg.conn, msg.send, msg.len, 0, 0, NULL, 0);
	}
	return NULL;
}

static void rpc_round_trip(void)
{
	struct server s = { .requests = 2 };
	struct dd_msg reply;
	pthread_t thread;

	setup(DD_TYPE_RPC);
	check_eq(request("x"), -EBADTYPE);
	pthread_create(&thread, NULL, serve_rpc, &s);
	strcpy(csend, "ping");
	check_eq(dd_call(h, conn, csend, 4, &reply, 0, DD_FOREVER), 0);
	check_eq(reply.len, 4);
	check(reply.addr == crecv && !memcmp(crecv, "ping", 4));
	/* NULL is the start of the send buffer. */
	strcpy(csend, "pong");
	check_eq(dd_call(h, conn, NULL, 4, &reply, DD_RECV_SLEEP, -1), 0);
	check(!memcmp(crecv, "pong", 4));
	pthread_join(thread, NULL);
	teardown();
}

/* DDP-60: the reply to the first call comes while the second one waits. */
static void rpc_late_reply(void)
{
	struct server s = { .requests = 2, .late = true };
	struct dd_msg reply;
	pthread_t thread;

	setup(DD_TYPE_RPC);
	strcpy(csend, "one");
	pthread_create(&thread, NULL, serve_rpc, &s);
	check_eq(dd_call(h, conn, csend, 3, &reply, 0, 20 * MS), -ETIMEDOUT);
	__atomic_store_n(&s.go, true, __ATOMIC_RELEASE);
	strcpy(csend, "second");
	check_eq(dd_call(h, conn, csend, 6, &reply, 0, 20000 * MS), 0);
	check_eq(reply.len, 6);
	check_eq(reply.tag, 2);
	check(!memcmp(crecv, "second", 6));
	pthread_join(thread, NULL);
	teardown();
}

/* Nobody serves: requests 1 and 2 are accepted, 3 waits in its own timeout. */
static void rpc_timeouts_pile_up(void)
{
	struct dd_msg reply;

	setup(DD_TYPE_RPC);
	for (int i = 0; i < 4; i++)
		check_eq(dd_call(h, conn, NULL, 8, &reply, 0, 5 * MS),
			 -ETIMEDOUT);
	teardown();
}

static void *close_soon(void *arg)
{
	struct dd_msg msg;

	if (!dd_recv(h, list, &msg, DD_RECV_SLEEP, 5000 * MS))
		dd_close(h, msg.conn);
	return arg;
}

static void rpc_closed_while_waiting(void)
{
	struct dd_msg reply;
	pthread_t thread;

	setup(DD_TYPE_RPC);
	pthread_create(&thread, NULL, close_soon, NULL);
	check_eq(dd_call(h, conn, NULL, 8, &reply, 0, 5000 * MS), -ECONNCLOSE);
	pthread_join(thread, NULL);
	check_eq(dd_call(h, conn, NULL, 8, &reply, 0, 5000 * MS), -ECONNCLOSE);
	check_eq(dd_close(h, conn), 0);
	check_eq(dd_call(h, conn, NULL, 8, &reply, 0, 0), -EBADID);
	teardown();
}

static void call_wants_rpc(void)
{
	struct dd_msg reply;

	setup(DD_TYPE_SPLIT);
	check_eq(dd_call(h, conn, NULL, 8, &reply, 0, 0), -EBADTYPE);
	check_eq(dd_call(h, 12345, NULL, 8, &reply, 0, 0), -EBADID);
	check_eq(dd_call(h, conn, NULL, 8, NULL, 0, 0), -EINVAL);
	check_eq(dd_call(h, conn, NULL, 8, &reply, 2, 0), -EINVAL);
	teardown();
}

static void close_is_told(void)
{
	struct dd_conn_desc desc;
	struct dd_msg msg;
	int sconn;

	setup(DD_TYPE_SPLIT);
	check_eq(dd_conn_list(h, service, &sconn, 1), 1);
	check_eq(dd_send(h, sconn, ssend, 4, 0, 0, NULL, 0), 0);
	check_eq(dd_close(h, sconn), 0);
	check_eq(dd_close(h, sconn), -EBADID);
	check_eq(dd_send(h, sconn, ssend, 4, 0, 0, NULL, 0), -EBADID);
	/* First what had arrived, then the close. */
	check_eq(dd_recv(h, clist, &msg, 0, 0), 0);
	check_eq(msg.len, 4);
	check_eq(dd_ready(h, clist), 1);
	check_eq(dd_peek(h, clist, &msg), 1);
	check_eq(msg.type, DD_MSG_CLOSE);
	check_eq(dd_recv(h, clist, &msg, 0, 0), -ECONNCLOSE);
	check_eq(msg.conn, conn);
	check_eq(dd_recv(h, clist, &msg, 0, 0), -EWOULDBLOCK);
	check_eq(request("x"), -ECONNCLOSE);
	check_eq(dd_conn_info(h, conn, &desc), 0);
	check_eq(desc.closed, 1);
	check_eq(dd_close(h, conn), 0);
	check_eq(dd_recv(h, clist, &msg, 0, 0), -EBADID);
	teardown();
}

static void server_learns_on_send(void)
{
	struct dd_msg msg;

	setup(DD_TYPE_SPLIT);
	check_eq(request("bye"), 0);
	check_eq(dd_close(h, conn), 0);
	/* What a client left behind is still delivered. */
	check_eq(take(&msg), 0);
	check_eq(dd_send(h, msg.conn, msg.send, 3, 0, 0, NULL, 0),
		 -ECONNCLOSE);
	check_eq(dd_close(h, msg.conn), 0);
	check_eq(dd_close(h, msg.conn), -EBADID);
	teardown();
}

/* Notes of a connection whose block went to another client are dropped. */
static void stale_notes_are_dropped(void)
{
	struct dd_msg msg;
	int other;

	setup(DD_TYPE_STREAM);
	check_eq(request("stale"), 0);
	check_eq(dd_close(h, conn), 0);
	other = client("echo", DD_TYPE_STREAM, &clist);
	conn = client("echo", DD_TYPE_STREAM, &clist);
	check(other > 0 && conn > 0);
	check_eq(dd_ready(h, list), 0);
	check_eq(request("fresh"), 0);
	check_eq(take(&msg), 0);
	check(!memcmp(msg.addr, "fresh", 5));
	check_eq(msg.msgid, 1);
	teardown();
}

/* A direct ring is written by a stranger, who may write anything. */
static void what_a_stranger_writes(void)
{
	struct dd_ring_note bad[] = {
		{ .conn = 0 }, { .conn = 0x7fffffff }, { .conn = 0x80000000 },
		{ .conn = 1 }, { .conn = ~0u, .meta_count = 255 },
		{ .offset = PAGE, .len = 1 }, { .offset = ~0ull, .len = 1 },
		{ .len = PAGE + 1 }, { .offset = 8, .len = ~0ull },
		{ .offset = 1, .len = PAGE }, { .offset = ~7ull, .len = 8 },
	};
	struct dd_ring_note good = { .len = 5, .meta_count = 255, .msgid = 9 };
	struct dd_msg msg;

	setup_direct(DD_TYPE_STREAM, true);
	check_eq(request("first"), 0);
	check_eq(take(&msg), 0);
	good.conn = msg.conn;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		/* Its own connection, but not that; or somebody else's. */
		if (i >= 5)
			bad[i].conn = msg.conn;
		if (i == 3)
			bad[i].conn = conn;
		fake_ring_post(list, &bad[i]);
		if (i % 2)
			check_eq(dd_ready(h, list), 0);
		check_eq(dd_recv(h, list, &msg, 0, 0), -EWOULDBLOCK);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		fake_ring_post(list, &bad[i]);
	fake_ring_post(list, &good);
	check_eq(take(&msg), 0);
	check_eq(msg.conn, good.conn);
	check(msg.addr == srecv);
	check_eq(msg.len, 5);
	check_eq(msg.meta_count, DD_META_WORDS);
	check_eq(dd_recv(h, list, &msg, 0, 0), -EWOULDBLOCK);
	teardown();
}

static uint64_t received_by(int end)
{
	struct dd_conn_desc desc = { .type = 0 };

	check_eq(dd_conn_info(h, end, &desc), 0);
	return desc.received;
}

/* What was granted cannot be mapped: the messages go by the doorbell. */
static void windows_that_cannot_be_mapped(void)
{
	struct dd_msg msg;
	int calls;

	/* The slots of the ring, its state, the block; then all of them. */
	for (int nr = 1; nr <= 4; nr++) {
		setup_direct(DD_TYPE_STREAM, true);
		fake.unmapped = nr;
		check_eq(request("first"), 0);
		check_eq(take(&msg), 0);
		check(!memcmp(msg.addr, "first", 5));
		calls = fake.calls;
		check_eq(request("second"), 0);
		check_eq(fake.calls > calls, nr < 4);
		check_eq(received_by(msg.conn), 2);
		check_eq(take(&msg), 0);
		check_eq(msg.msgid, 2);
		check_eq(received_by(msg.conn), 2);
		teardown();
	}
}

/* Nor is the kernel asked what has come, but for what only it knows. */
static void counts_without_the_kernel(void)
{
	struct dd_msg msg;
	int calls;

	setup_direct(DD_TYPE_STREAM, true);
	for (int i = 1; i < 200; i++) {
		check_eq(request("x"), 0);
		check_eq(take(&msg), 0);
		if (i == 1)
			check_eq(received_by(msg.conn), 1);
		calls = fake.calls;
		check_eq(received_by(msg.conn), i);
		check_eq(fake.calls, calls);
	}
	/* Unread, and of two connections by turns. */
	check_eq(request("x"), 0);
	check_eq(received_by(msg.conn), 200);
	check_eq(dd_close(h, conn), 0);
	check_eq(received_by(msg.conn), 200);
	check_eq(take(&msg), 0);
	check_eq(received_by(msg.conn), 200);
	teardown();
}

/* One more message, and what is received of it. */
static void next_message(struct dd_msg *msg, unsigned int *n, int options)
{
	char text[16];

	snprintf(text, sizeof(text), "number %u", ++*n);
	strcpy(csend, text);
	check_eq(dd_send(h, conn, csend, 16, 0, options, NULL, 0), 0);
	check_eq(take(msg), 0);
	check(!strcmp(msg->addr, text));
	check_eq(msg->msgid, *n);
	check_eq(dd_ready(h, list), 0);
	check_eq(dd_done(h, conn, DD_DONE_PLACED, 0), 1);
	check_eq(received_by(msg->conn), *n);
}

/* The kernel goes on where the ring has been taken back, and the other way. */
static void rings_that_are_taken_back(void)
{
	struct dd_conn_desc desc;
	struct dd_msg msg;
	unsigned int n = 0;
	int calls;

	setup_direct(DD_TYPE_STREAM, true);
	for (int turn = 0; turn < 4; turn++) {
		next_message(&msg, &n, 0);
		calls = fake.calls;
		next_message(&msg, &n, 0);
		check_eq(fake.calls, calls);
		/* Before a message, or while it is sent. */
		if (turn % 2)
			fake.take_back = conn;
		else
			fake_take_back(conn);
		check_eq(dd_done(h, conn, DD_DONE_PLACED, DD_FOREVER), 1);
		next_message(&msg, &n, turn % 2 ? DD_SEND_UNWIRED : 0);
		check_eq(fake.take_back, 0);
		check_eq(dd_conn_info(h, conn, &desc), 0);
		check_eq(desc.submitted, n);
		calls = fake.calls;
		next_message(&msg, &n, 0);
		check_eq(fake.calls, calls + 1);
		/* It is asked for again, and given when there is one. */
		fake.no_ring = true;
		for (int i = 0; i < 1024; i++)
			next_message(&msg, &n, 0);
		fake.no_ring = false;
		check_eq(fake.calls, calls + 1 + 1024 + 1);
		for (int i = 0; i < 512; i++)
			next_message(&msg, &n, 0);
	}
	teardown();
}

/* DD_DIRECT=0 is for both ways, whoever the other end is. */
static void neither_end_sends_directly(void)
{
	struct dd_msg msg;
	int calls;

	setup_doorbell(DD_TYPE_SPLIT);
	for (int i = 0; i < 2; i++) {
		check_eq(request("x"), 0);
		check_eq(take(&msg), 0);
		calls = fake.calls;
		check_eq(dd_send(h, msg.conn, msg.send, 3, 0, 0, NULL, 0), 0);
		check_eq(fake.calls, calls + 1);
		check_eq(dd_recv(h, clist, &msg, 0, 0), 0);
	}
	teardown();
}

/* Nor is what a connection left that was closed at this end. */
static void own_close_leaves_nothing(void)
{
	struct dd_msg msg;
	int sconn;

	setup(DD_TYPE_STREAM);
	check_eq(request("unread"), 0);
	check_eq(dd_conn_list(h, service, &sconn, 1), 1);
	check_eq(dd_close(h, sconn), 0);
	check_eq(dd_ready(h, list), 0);
	check_eq(take(&msg), -EWOULDBLOCK);
	teardown();
}

static void unserve_voids_ids(void)
{
	struct dd_msg msg;
	int sconn;

	setup(DD_TYPE_SPLIT);
	check_eq(request("x"), 0);
	check_eq(dd_conn_list(h, service, NULL, 0), 1);
	check_eq(dd_conn_list(h, service, &sconn, 1), 1);
	check_eq(dd_send(h, sconn, ssend, 1, 0, 0, NULL, 0), 0);
	check_eq(dd_unserve(h, service), 0);
	check_eq(dd_unserve(h, service), -EBADID);
	check_eq(dd_send(h, sconn, ssend, 1, 0, 0, NULL, 0), -EBADID);
	check_eq(dd_conn_list(h, service, &sconn, 1), -EBADID);
	check_eq(take(&msg), -EBADID);
	check_eq(dd_recv(h, clist, &msg, 0, 0), 0);
	check_eq(dd_recv(h, clist, &msg, 0, 0), -ECONNCLOSE);
	/* The record is used again. */
	service = serve("echo", 0, &list);
	check(service > 0);
	conn = client("echo", DD_TYPE_SPLIT, &clist);
	check_eq(request("again"), 0);
	check_eq(take(&msg), 0);
	check(!memcmp(msg.addr, "again", 5));
	teardown();
}

static void accept_gives_lists(void)
{
	struct dd_conn_desc desc;
	struct dd_msg msg;
	int l = 0, other = 0;

	setup(DD_TYPE_STREAM);
	check(serve("accept", DD_ATTR_ACCEPT, &l) > 0);
	conn = client("accept", DD_TYPE_STREAM, &other);
	check_eq(dd_recv(h, l, &msg, 0, 0), 0);
	check_eq(msg.type, DD_MSG_CONN);
	check(!msg.addr && !msg.len);
	check_eq(dd_conn_info(h, msg.conn, &desc), 0);
	check(desc.list > 0 && desc.list != l);
	check_eq(desc.recv_size, PAGE);
	check(desc.recv == srecv);
	check_eq(request("hi"), 0);
	check_eq(dd_ready(h, l), 0);
	check_eq(dd_recv(h, desc.list, &msg, 0, 0), 0);
	check_eq(msg.len, 2);
	teardown();
}

static void lists_are_shared(void)
{
	int l = list, m = 0;

	setup(DD_TYPE_STREAM);
	l = list;
	check(serve("two", 0, &l) > 0);
	check_eq(l, list);
	l = 12345;
	check(serve("three", 0, &l) > 0);
	check(l != list && l != 12345);
	l = 12345;
	check_eq(serve("four", DD_ATTR_LIST, &l), -EBADID);
	check_eq(serve("four", DD_ATTR_LIST, &m), -EBADID);
	m = clist;
	check(client("two", DD_TYPE_SPLIT, &m) > 0);
	check_eq(m, clist);
	check_eq(serve("echo", 0, &l), -EEXIST);
	teardown();
}

static void poll_keeps_the_ready(void)
{
	int l = 0, lists[3], bad[2];

	setup(DD_TYPE_SPLIT);
	check(serve("idle", 0, &l) > 0);
	lists[0] = l;
	lists[1] = list;
	lists[2] = clist;
	check_eq(dd_poll(h, lists, 3, 2 * MS), 0);
	check_eq(request("x"), 0);
	lists[0] = l;
	check_eq(dd_poll(h, lists, 3, DD_FOREVER), 1);
	check_eq(lists[0], list);
	bad[0] = list;
	bad[1] = 12345;
	check_eq(dd_poll(h, bad, 2, 0), -EBADID);
	check_eq(bad[0], list);
	check_eq(dd_poll(h, lists, -1, 0), -EINVAL);
	check_eq(dd_poll(h, lists, 1025, 0), -EINVAL);
	check_eq(dd_poll(h, NULL, 1, 0), -EINVAL);
	check_eq(dd_poll(h, NULL, 0, 2 * MS), 0);
	teardown();
}

static void bad_attributes(void)
{
	struct dd_connect_attr ca = { .size = sizeof(ca), .type = 1 };
	struct dd_serve_attr sa = { .size = sizeof(sa), .maxconn = 1 };
	char name[80], text[256];

	setup(DD_TYPE_STREAM);
	memset(name, 'n', sizeof(name));
	name[64] = 0;
	sa.recv = ca.recv = alloc(PAGE);
	sa.recv_size = ca.recv_size = PAGE;
	check_eq(dd_serve(h, name, &sa, NULL), -EINVAL);
	check_eq(dd_serve(h, "", &sa, NULL), -EINVAL);
	check_eq(dd_serve(h, NULL, &sa, NULL), -EINVAL);
	check_eq(dd_serve(h, "s", NULL, NULL), -EINVAL);
	sa.maxconn = 0;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.maxconn = 65537;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.maxconn = 1;
	sa.window = 257;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.window = 0;
	sa.flags = DD_ATTR_ANON;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.flags = 0;
	sa.recv_size = 0;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.recv_size = 2 * PAGE;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	dd_last_error(h, text, sizeof(text));
	check(strstr(text, "not in memory of ddalloc") != NULL);
	sa.recv_size = 8;
	sa.recv = (char *)sa.recv + 8;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.size--;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);

	check_eq(dd_connect(h, "none", 1, &ca, NULL), -EBADSERVER);
	check_eq(dd_connect(h, "echo", 2, &ca, NULL), -EBADSERVER);
	check_eq(dd_connect(h, "echo", -1, &ca, NULL), -EBADSERVER);
	ca.type = 0;
	check_eq(dd_connect(h, "echo", 1, &ca, NULL), -EINVAL);
	ca.type = 4;
	check_eq(dd_connect(h, "echo", 1, &ca, NULL), -EINVAL);
	check_eq(dd_alloc(h, 0, (void **)&text), -EINVAL);
	check_eq(dd_alloc(h, 1ul << 40, (void **)&text), -EMEMLOCK);
	dd_last_error(h, text, sizeof(text));
	check(strstr(text, "RLIMIT_MEMLOCK") != NULL);
	check_eq(dd_free(h, name), -EINVAL);
	teardown();
}

/* What connecting to @name says, and in words. */
static int told(const char *name, const char *words)
{
	struct dd_connect_attr ca = { .size = sizeof(ca), .type = 1 };
	char text[256];
	int ret;

	ca.send = ca.recv = alloc(PAGE);
	ca.send_size = ca.recv_size = 8;
	ret = dd_connect(h, name, 1, &ca, NULL);
	dd_last_error(h, text, sizeof(text));
	check(!strcmp(text, words));
	return ret;
}

static void nodes_that_cannot_be_talked_to(void)
{
	setup(DD_TYPE_STREAM);
	check_eq(told("none", ""), -EBADSERVER);
	check_eq(told("errno 113", "node 1 does not answer"), -EBADSERVER);
	check_eq(told("errno 93", "node 1 speaks no version of the protocol that this one speaks"),
		 -EPROTO);
	check_eq(told("errno 71", "node 1 and this one do not understand each other: 'ddctl peer show 1' may say why"),
		 -EPROTO);
	teardown();
}

static void regions_by_address(void)
{
	char *r[20];

	setup(DD_TYPE_STREAM);
	for (int i = 0; i < 20; i++)
		r[i] = alloc(PAGE);
	for (int i = 0; i < 20; i += 2)
		check_eq(dd_free(h, r[i]), 0);
	for (int i = 0; i < 20; i++)
		check_eq(dd_free(h, r[i]), i % 2 ? 0 : -EINVAL);
	fake.refuse = DD_IOC_REGION_FREE;
	fake.refusal = EBUSY;
	check_eq(dd_free(h, csend), -EBUSY);
	check_eq(dd_free(h, csend), 0);
	teardown();
}

static void list_grows(void)
{
	struct dd_msg msg;

	setup(DD_TYPE_STREAM);
	check_eq(request("one"), 0);
	fake_list_grow(list);
	check_eq(take(&msg), 0);
	check_eq(request("two"), 0);
	check_eq(take(&msg), 0);
	check_eq(msg.msgid, 2);
	teardown();
}

static void counters_tell(void)
{
	struct dd_conn_desc desc;
	struct dd_msg msg;

	setup(DD_TYPE_STREAM);
	for (int i = 0; i < 3; i++) {
		check_eq(request("x"), 0);
		check_eq(take(&msg), 0);
	}
	check_eq(dd_conn_info(h, conn, &desc), 0);
	check_eq(desc.submitted, 3);
	check_eq(desc.done, 3);
	check_eq(desc.peer_size, PAGE);
	check_eq(desc.pid, getpid());
	check_eq(dd_conn_info(h, msg.conn, &desc), 0);
	check_eq(desc.received, 3);
	check_eq(desc.service, service);
	check_eq(dd_node(h), 1);
	check_eq(dd_max_nodes(h), 2);
	check_eq(dd_packet_size(h), 65536);
	teardown();
}

#define THREADS	4
#define NOTES	2000

static int consumed[THREADS];

static void *consumer(void *arg)
{
	int *count = arg;
	struct dd_msg msg;

	while (!dd_recv(h, list, &msg, 0, 20000 * MS)) {
		if (!msg.len)
			break;
		++*count;
	}
	return NULL;
}

static void each_note_to_one_thread(void)
{
	pthread_t threads[THREADS];
	int sum = 0;

	setup(DD_TYPE_STREAM);
	memset(consumed, 0, sizeof(consumed));
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, consumer, &consumed[i]);
	for (int i = 0; i < NOTES + THREADS; i++) {
		check_eq(dd_done(h, conn, DD_DONE_PLACED, 20000 * MS), 1);
		check_eq(dd_send(h, conn, csend, i < NOTES, 0, 0, NULL, 0), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += consumed[i];
	}
	check_eq(sum, NOTES);
	teardown();
}

static int child_calls(void)
{
	struct dd_serve_attr sa = { .size = sizeof(sa) };
	struct dd_connect_attr ca = { .size = sizeof(ca) };
	struct dd_conn_desc desc;
	struct dd_msg msg;
	void *addr;
	char text[8];
	int bad = 0;

	bad += dd_fd(h) != -EBADID;
	bad += dd_alloc(h, 1, &addr) != -EBADID;
	bad += dd_free(h, csend) != -EBADID;
	bad += dd_serve(h, "s", &sa, NULL) != -EBADID;
	bad += dd_unserve(h, service) != -EBADID;
	bad += dd_connect(h, "s", 1, &ca, NULL) != -EBADID;
	bad += dd_close(h, conn) != -EBADID;
	bad += dd_send(h, conn, csend, 1, 0, 0, NULL, 0) != -EBADID;
	bad += dd_done(h, conn, 0, -1) != -EBADID;
	bad += dd_recv(h, list, &msg, 0, -1) != -EBADID;
	bad += dd_reply(h, &msg, csend, 1, 0, 0) != -EBADID;
	bad += dd_call(h, conn, NULL, 1, &msg, 0, -1) != -EBADID;
	bad += dd_conn_info(h, conn, &desc) != -EBADID;
	bad += dd_conn_list(h, service, NULL, 0) != -EBADID;
	bad += dd_poll(h, &list, 1, -1) != -EBADID;
	bad += dd_peek(h, list, &msg) != -EBADID;
	bad += dd_ready(h, list) != -EBADID;
	bad += dd_list_fd(h, list) != -EBADID;
	bad += dd_node(h) != -EBADID;
	bad += dd_max_nodes(h) != -EBADID;
	bad += dd_packet_size(h) != -EBADID;
	bad += dd_last_error(h, text, sizeof(text)) != -EBADID;
	bad += dd_shutdown(h) != -EBADID;
	return bad;
}

static void forked_child(void)
{
	struct dd_msg msg;
	int status;
	pid_t pid;

	setup(DD_TYPE_STREAM);
	pid = fork();
	if (!pid)
		_exit(child_calls());
	waitpid(pid, &status, 0);
	check_eq(status, 0);
	pid = vfork();
	if (!pid)
		_exit(0);
	waitpid(pid, &status, 0);
	/* The parent goes on as before. */
	check_eq(system("true"), 0);
	check_eq(request("x"), 0);
	check_eq(take(&msg), 0);
	check_eq(fcntl(dd_fd(h), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	teardown();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(open_errors),
		TEST(error_numbers),
		TEST(error_texts),
		TEST(message_arrives),
		TEST(send_options),
		TEST(stream_waits_for_ack),
		TEST(split_one_outstanding),
		TEST(split_refused_is_not_outstanding),
		TEST(interrupted_calls_go_on),
		TEST(rpc_round_trip),
		TEST(rpc_late_reply),
		TEST(rpc_timeouts_pile_up),
		TEST(rpc_closed_while_waiting),
		TEST(call_wants_rpc),
		TEST(close_is_told),
		TEST(server_learns_on_send),
		TEST(stale_notes_are_dropped),
		TEST(what_a_stranger_writes),
		TEST(windows_that_cannot_be_mapped),
		TEST(counts_without_the_kernel),
		TEST(rings_that_are_taken_back),
		TEST(neither_end_sends_directly),
		TEST(own_close_leaves_nothing),
		TEST(unserve_voids_ids),
		TEST(accept_gives_lists),
		TEST(lists_are_shared),
		TEST(poll_keeps_the_ready),
		TEST(bad_attributes),
		TEST(nodes_that_cannot_be_talked_to),
		TEST(regions_by_address),
		TEST(list_grows),
		TEST(counters_tell),
		TEST(each_note_to_one_thread),
		TEST(forked_child),
	};

	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
