// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of connections between nodes: accepted messages arrive, no byte is deposited
 * afterwards, and ends and beginnings may meet at the worst moments. Run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "dd.h"
#include "nodes.h"
#include "peer.h"

#define LARGE	(1 << 20)
#define SIZE	4096

/* --- the server, in a peer --------------------------------------------------*/

static struct dd *served;
static unsigned char *block;
static int service, serve_list;
static int last;	/* connection of the last message */

/* Serve with a block of LARGE bytes, or several of SIZE. */
static long serve(long blocks, long window, long flags)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr), .maxconn = blocks, .window = window, .flags = flags,
		.recv_size = blocks > 1 ? blocks * SIZE : LARGE,
	};
	int ret = dd_open(&served);

	if (!ret)
		ret = dd_alloc(served, attr.recv_size, &attr.recv);
	if (!ret)
		ret = service = dd_serve(served, peer_shm->name, &attr, &serve_list);
	block = attr.recv;
	return ret < 0 ? ret : 0;
}

static void fill(unsigned char *p, int seed)
{
	int i;

	for (i = 0; i < LARGE; i++)
		p[i] = i * 31 + (i >> 8) + seed;
}

static bool is_filled(const unsigned char *p, int seed)
{
	int i;

	for (i = 0; i < LARGE; i++)
		if (p[i] != (unsigned char)(i * 31 + (i >> 8) + seed))
			return false;
	return true;
}

/* Wait for a message of @len bytes. */
static long take(long len, long b, long c)
{
	struct dd_msg msg;

	if (dd_recv(served, serve_list, &msg, DD_RECV_SLEEP, dd_patience() * 1000000ll) ||
	    msg.len != len)
		return -1;
	last = msg.conn;
	return 0;
}

static long take_large(long seed, long b, long c)
{
	return take(LARGE, 0, 0) || !is_filled(block, seed) ? -1 : 0;
}

/*
 * End the connection, or the service, in the middle of a message. Returns 0 if the rest of it
 * does not come, and 2 if it has come before.
 */
static long end_midway(long seed, long unserve, long c)
{
	static unsigned char before[LARGE];

	if (!WAIT_FOR(*(volatile unsigned char *)block == seed) ||
	    (unserve ? dd_unserve(served, service) : dd_close(served, last)))
		return -1;
	memcpy(before, block, LARGE);
	if (is_filled(before, seed))
		return 2;
	usleep(300 * 1000);
	return memcmp(before, block, LARGE) ? 1 : 0;
}

/* Notes of a closed connection keep its block until they are skipped. */
static long skip_notes(long a, long b, long c)
{
	struct dd_msg msg;

	return dd_recv(served, serve_list, &msg, 0, 0);
}

/* --- a client ---------------------------------------------------------------*/

FIXTURE(end) {
	struct worker *srv;
	struct dd *h;
	struct dd_connect_attr attr;
	unsigned char *out;
	int conn;
};

FIXTURE_SETUP(end)
{
	ASSERT_TRUE(across_nodes());
	self->srv = worker_new(THERE);
	strcpy(self->srv->shm->name, own_name("end"));
	ASSERT_EQ(0, dd_open(&self->h));
	self->attr = (struct dd_connect_attr){
		.size = sizeof(self->attr), .type = DD_TYPE_STREAM, .recv_size = SIZE,
		.send_size = LARGE,
	};
	ASSERT_EQ(0, dd_alloc(self->h, SIZE, &self->attr.recv));
	ASSERT_EQ(0, dd_alloc(self->h, LARGE, &self->attr.send));
	self->out = self->attr.send;
}

FIXTURE_TEARDOWN(end)
{
	EXPECT_EQ(0, dd_shutdown(self->h));
	worker_end(self->srv);
}

/* The blocks of the last connections may not be free yet. */
#define CONNECT(list)								\
	ASSERT_SOON((self->conn = dd_connect(self->h, self->srv->shm->name,	\
					     far_node(), &self->attr, list)) > 0)

#define SERVE(blocks, window, flags)						\
	ASSERT_EQ(0, worker_do(self->srv, serve, blocks, window, flags))

static int submit(FIXTURE_DATA(end) *self, size_t len)
{
	return dd_send(self->h, self->conn, self->out, len, 0, 0, NULL, 0);
}

TEST_F(end, what_was_accepted_arrives_before_the_close)
{
	int i;

	SERVE(1, 1, 0);
	for (i = 0; i < dd_count(20); i++) {
		CONNECT(NULL);
		fill(self->out, i);
		ASSERT_EQ(0, submit(self, LARGE));
		ASSERT_EQ(0, dd_close(self->h, self->conn));
		/* The source may be reused now. */
		memset(self->out, 0xdb, LARGE);
		EXPECT_EQ(0, worker_do(self->srv, take_large, i, 0, 0));
	}
}

/* A close gives up messages without credit, not those that are slow to send. */
TEST_F(end, what_is_long_on_its_way_arrives_before_the_close)
{
	SERVE(1, 1, 0);
	CONNECT(NULL);
	ASSERT_EQ(0, impair(1, "rate 2mbit"));
	EXPECT_EQ(0, dead_time(3000));
	fill(self->out, 3);
	EXPECT_EQ(0, submit(self, LARGE));
	EXPECT_EQ(0, dd_close(self->h, self->conn));
	EXPECT_EQ(0, dead_time(USUAL));
	EXPECT_EQ(0, impair(1, NULL));
	EXPECT_EQ(0, worker_do(self->srv, take_large, 3, 0, 0));
}

/* Most of a large message is in flight for a while. */
static void end_while_receiving(struct __test_metadata *_metadata, FIXTURE_DATA(end) *self,
				int seed, bool unserve)
{
	CONNECT(NULL);
	ASSERT_EQ(0, submit(self, 8));
	ASSERT_EQ(0, worker_do(self->srv, take, 8, 0, 0));
	fill(self->out, seed);
	ASSERT_EQ(0, submit(self, LARGE));
	EXPECT_EQ(0, worker_do(self->srv, end_midway, seed, unserve, 0));
}

TEST_F(end, no_byte_comes_after_the_receiver_has_closed)
{
	int i;

	SERVE(1, 2, 0);
	ASSERT_EQ(0, impair(1, "rate 10mbit"));
	for (i = 1; i <= dd_count(20); i++) {
		end_while_receiving(_metadata, self, i, false);
		ASSERT_EQ(0, dd_close(self->h, self->conn));
		EXPECT_EQ(-EWOULDBLOCK, worker_do(self->srv, skip_notes, 0, 0, 0));
	}
	EXPECT_EQ(0, impair(1, NULL));
}

TEST_F(end, no_byte_comes_after_the_service_has_ended)
{
	SERVE(1, 2, 0);
	ASSERT_EQ(0, impair(1, "rate 10mbit"));
	end_while_receiving(_metadata, self, 1, true);
	EXPECT_EQ(0, impair(1, NULL));
	ASSERT_SOON(submit(self, 8) == -ECONNCLOSE);
}

/* A close waits for accepted messages until the other node is dead. */
TEST_F(end, a_close_waits_no_longer_than_the_dead_time)
{
	bool dead;

	SERVE(1, 1, 0);
	CONNECT(NULL);
	ASSERT_EQ(0, cut());
	EXPECT_EQ(0, submit(self, LARGE));
	EXPECT_EQ(0, dead_time(dd_patience() / 8));
	EXPECT_EQ(0, dd_close(self->h, self->conn));
	dead = peer_is("unreachable");
	ASSERT_EQ(0, heal());
	EXPECT_TRUE(dead);
	ASSERT_SOON(peer_is("up"));
	ASSERT_EQ(0, dead_time(USUAL));
	/* The server's only block is free again. */
	CONNECT(NULL);
}

/* --- ends and beginnings at once --------------------------------------------*/

/* In the peer: close each connection at its first message. */
static long close_first(long rounds, long b, long c)
{
	struct dd_msg msg;
	long closed = 0;

	while (closed < rounds) {
		if (dd_recv(served, serve_list, &msg, DD_RECV_SLEEP, DD_FOREVER))
			return -1;
		closed += !dd_close(served, msg.conn);
	}
	return 0;
}

/* Send until the other end has closed; from any memory, or from dd_alloc(). */
static int send_all(struct dd *h, int conn, const void *from, size_t len,
		    unsigned int options)
{
	int ret;

	do {
		ret = dd_send(h, conn, from, len, 0, options, NULL, 0);
	} while (!ret || ret == -ENOTREADY);
	return ret;
}

/* Number of messages done on a closed connection. */
static unsigned long long done_of(struct dd *h, int conn)
{
	struct dd_conn_desc d = {};

	return dd_conn_info(h, conn, &d) ? 0 : d.done;
}

TEST_F(end, both_ends_close_at_once)
{
	int i, rounds = dd_count(100);
	static char anywhere[SIZE];
	long long done = 0, came;
	struct dd *h = self->h;

	SERVE(8, 256, 0);
	/* So that look-ups can be interrupted. */
	ASSERT_EQ(0, impair(1, "delay 10ms"));
	worker_begin(self->srv, close_first, rounds, 0, 0);
	for (i = 0; i < rounds; i++) {
		bool any = i % 3;

		CONNECT(NULL);
		/* Of short messages no byte is deposited before the last packet. */
		EXPECT_EQ(-ECONNCLOSE,
			  send_all(h, self->conn, any ? (void *)anywhere : self->out,
				   i % 3 == 1 ? 8 : SIZE,
				   any ? DD_SEND_UNWIRED : DD_SEND_DMA));
		/* The server has read the first one, since it closes after that. */
		EXPECT_LE(1, done_of(h, self->conn));
		done += done_of(h, self->conn);
		EXPECT_EQ(0, dd_close(h, self->conn));
	}
	EXPECT_EQ(0, worker_result(self->srv));
	EXPECT_EQ(0, impair(1, NULL));
	came = reported(2, "service", ".[0].received");
	TH_LOG("%lld messages came, %lld were done", came, done);
	EXPECT_LE(done, came);
}

/* Every second connection is closed unused. The list is checked all the time. */
static long greet(long rounds, long b, long c)
{
	struct dd_msg msg;
	long i;

	for (i = 0; i < rounds; i++) {
		if (dd_recv(served, serve_list, &msg, DD_RECV_SPIN, DD_FOREVER) ||
		    msg.type != DD_MSG_CONN)
			return -1;
		if (!(i & 1) && dd_send(served, msg.conn, "hello", 6, 0,
					DD_SEND_UNWIRED, NULL, 0))
			return -2;
		if (dd_close(served, msg.conn))
			return -3;
	}
	return 0;
}

/* A connection is usable when the server reads its connection record. */
TEST_F(end, who_comes_is_greeted_and_sent_away)
{
	int i, list, ret, rounds = dd_count(300);
	struct dd_msg msg;

	SERVE(8, 1, DD_ATTR_ACCEPT);
	worker_begin(self->srv, greet, rounds, 0, 0);
	for (i = 0; i < rounds; i++) {
		CONNECT(&list);
		ret = dd_recv(self->h, list, &msg, DD_RECV_SLEEP, DD_FOREVER);
		if (i & 1) {
			EXPECT_EQ(-ECONNCLOSE, ret);
		} else {
			ASSERT_EQ(0, ret);
			EXPECT_EQ(0, strcmp(msg.addr, "hello"));
		}
		EXPECT_EQ(0, dd_close(self->h, self->conn));
	}
	EXPECT_EQ(0, worker_result(self->srv));
}

/* In the peer: read @n numbered messages, after which there is no other one. */
static long read_numbers(long n, long b, long c)
{
	struct dd_msg msg;
	long i;

	for (i = 0; i < n; i++)
		if (dd_recv(served, serve_list, &msg, DD_RECV_SLEEP, DD_FOREVER) ||
		    *(long *)msg.addr != i)
			return i + 1;
	return dd_recv(served, serve_list, &msg, DD_RECV_SPIN, 0) ? 0 : -1;
}

/* Send up to @most messages, of which @least must be accepted. Returns how many were. */
static long send_numbers(struct dd *h, int conn, long least, long most)
{
	long n;

	for (n = 0; n < most; n++)
		if (!WAIT_FOR_MS(!dd_send(h, conn, &n, sizeof(n), n * sizeof(n),
					  DD_SEND_UNWIRED, NULL, 0),
				 n < least ? dd_patience() : 50))
			break;
	return n;
}

#define FEW	4

/* A close waits until the receiver has read messages beyond its window. */
TEST_F(end, what_was_accepted_beyond_the_window_arrives)
{
	long n;

	SERVE(1, FEW, 0);
	CONNECT(NULL);
	n = send_numbers(self->h, self->conn, FEW + 2, 3 * FEW);
	ASSERT_LT(FEW + 1, n);
	worker_begin(self->srv, read_numbers, n, 0, 0);
	EXPECT_EQ(0, dd_close(self->h, self->conn));
	EXPECT_EQ(0, worker_result(self->srv));
}

/* In the peer: send to the client until a message is refused, and close. */
static long answer_and_close(long least, long b, long c)
{
	struct dd_msg msg;

	if (dd_recv(served, serve_list, &msg, DD_RECV_SLEEP, DD_FOREVER))
		return -1;
	if (send_numbers(served, msg.conn, least, 3 * FEW) < least)
		return -2;
	return dd_close(served, msg.conn) ? -3 : 0;
}

/* Both ends close and wait for the other one to read, which neither does. */
TEST_F(end, both_close_with_more_than_the_window)
{
	SERVE(1, FEW, 0);
	EXPECT_EQ(0, dead_time(dd_patience() / 8));
	self->attr.window = FEW;
	CONNECT(NULL);
	worker_begin(self->srv, answer_and_close, FEW + 2, 0, 0);
	EXPECT_LT(FEW + 1, send_numbers(self->h, self->conn, FEW + 2, 3 * FEW));
	EXPECT_EQ(0, dd_close(self->h, self->conn));
	EXPECT_EQ(0, worker_result(self->srv));
	ASSERT_EQ(0, dead_time(USUAL));
}

/* --- callers that do not wait for the answer ---------------------------------*/

/* Connect within a time: the look-up is in a queue, since there is no network now. */
static void leave_early(struct __test_metadata *_metadata, FIXTURE_DATA(end) *self)
{
	SERVE(1, 1, 0);
	/* A host that stops the guest for some seconds must not end the session. */
	ASSERT_EQ(0, dead_time(12 * USUAL));
	ASSERT_SOON(peer_is("up"));
	ASSERT_EQ(0, cut());
	self->attr.flags = DD_ATTR_TIMEOUT;
	self->attr.timeout = 200 * 1000000ll;
	ASSERT_EQ(-ETIMEDOUT, dd_connect(self->h, self->srv->shm->name, far_node(), &self->attr,
					 NULL));
	self->attr.flags = 0;
}

/* The server's only block is free. */
static void connect_again(struct __test_metadata *_metadata, FIXTURE_DATA(end) *self)
{
	CONNECT(NULL);
	EXPECT_EQ(0, dead_time(USUAL));
}

TEST_F(end, what_is_granted_after_the_caller_has_left_ends)
{
	long long connects = reported(2, "stat", ".connects");
	long long closes = reported(2, "stat", ".closes");

	leave_early(_metadata, self);
	ASSERT_EQ(connects, reported(2, "stat", ".connects"));
	ASSERT_EQ(0, heal());
	ASSERT_SOON(reported(2, "stat", ".closes") == closes + 1);
	EXPECT_EQ(connects + 1, reported(2, "stat", ".connects"));
	connect_again(_metadata, self);
}

/* In a peer: connect to shm->name at @node. */
static long connect_to(long node, long b, long c)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = DD_TYPE_STREAM, .recv_size = SIZE,
	};
	struct dd *h;
	int ret = dd_open(&h);

	if (!ret)
		ret = dd_alloc(h, attr.recv_size, &attr.recv);
	return ret ? ret : dd_connect(h, peer_shm->name, node, &attr, NULL);
}

TEST_F(end, a_caller_is_woken_when_the_node_is_removed)
{
	struct worker *cl = worker_new(HERE);

	leave_early(_metadata, self);
	strcpy(cl->shm->name, self->srv->shm->name);
	worker_begin(cl, connect_to, far_node(), 0, 0);
	ASSERT_TRUE(worker_sleeps(cl));
	ASSERT_EQ(0, peer_del());
	EXPECT_EQ(-EBADSERVER, worker_result(cl));
	ASSERT_EQ(0, heal());
	ASSERT_EQ(0, peer_add());
	ASSERT_SOON(peer_is("up"));
	connect_again(_metadata, self);
	worker_end(cl);
}

DD_TEST_MAIN
