// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections between nodes that end and begin at the worst moments. Run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "dd.h"
#include "dead_time.h"
#include "peer.h"

#define WINDOW	256
#define SIZE	4096

/* In the peer: serve with a block of a page for each client. */
static struct dd *served;
static int serve_list;

static long serve(long maxconn, long window, long flags)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr),
		.maxconn = maxconn,
		.window = window,
		.flags = flags,
		.recv_size = maxconn * SIZE,
	};
	int ret = dd_open(&served);

	if (!ret)
		ret = dd_alloc(served, attr.recv_size, &attr.recv);
	if (!ret)
		ret = dd_serve(served, peer_shm->name, &attr, &serve_list);
	return ret < 0 ? -1 : 0;
}

FIXTURE(both) {
	struct peer *srv;
	struct dd *h;
	struct dd_connect_attr attr;
};

FIXTURE_SETUP(both)
{
	ASSERT_TRUE(across_nodes());
	self->srv = peer_start();
	strcpy(self->srv->shm->name, own_name("both"));
	ASSERT_EQ(0, dd_open(&self->h));
	self->attr = (struct dd_connect_attr){
		.size = sizeof(self->attr),
		.type = DD_TYPE_STREAM,
		.recv_size = SIZE,
	};
	ASSERT_EQ(0, dd_alloc(self->h, SIZE, &self->attr.recv));
}

FIXTURE_TEARDOWN(both)
{
	EXPECT_EQ(0, dd_shutdown(self->h));
	peer_kill(self->srv);
}

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

/* A network with a delay, so that look-ups can be interrupted. */
static int slow(void)
{
	return system("bash -c 'tc -n dd1 qdisc replace dev eth0 root netem delay 10ms'");
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

/* Number of messages received by the service of the other node. */
static unsigned long long came(void)
{
	long long n;

	n = printed_number("bash -c 'ip netns exec dd2 ddctl -j service | jq .[0].received'");
	return n < 0 ? 0 : n;
}

/* The blocks of the last connections may not be free yet. */
#define CONNECT(list) \
	({ int __conn; \
	   ASSERT_SOON((__conn = dd_connect(self->h, self->srv->shm->name, \
					    far_node(), &self->attr, list)) > 0); \
	   __conn; })

TEST_F(both, both_ends_close_at_once)
{
	int i, conn, rounds = dd_count(100);
	static char anywhere[SIZE];
	unsigned long long done = 0;
	struct dd *h = self->h;
	void *wired;

	ASSERT_EQ(0, peer_call(self->srv, serve, 8, WINDOW, 0));
	ASSERT_EQ(0, dd_alloc(h, SIZE, &wired));
	ASSERT_EQ(0, slow());
	peer_begin(self->srv, close_first, rounds, 0, 0);
	for (i = 0; i < rounds; i++) {
		bool any = i % 3;

		conn = CONNECT(NULL);
		/* Of short messages no byte is deposited before the last packet. */
		EXPECT_EQ(-ECONNCLOSE,
			  send_all(h, conn, any ? anywhere : wired,
				   i % 3 == 1 ? 8 : SIZE,
				   any ? DD_SEND_UNWIRED : DD_SEND_DMA));
		/* The server has read the first one, since it closes after that. */
		EXPECT_LE(1, done_of(h, conn));
		done += done_of(h, conn);
		EXPECT_EQ(0, dd_close(h, conn));
	}
	EXPECT_EQ(0, peer_end(self->srv));
	TH_LOG("%llu messages came, %llu were done", came(), done);
	EXPECT_LE(done, came());
	EXPECT_EQ(0, dd_free(h, wired));
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
TEST_F(both, who_comes_is_greeted_and_sent_away)
{
	int i, conn, list, ret, rounds = dd_count(300);
	struct dd_msg msg;

	ASSERT_EQ(0, peer_call(self->srv, serve, 8, 1, DD_ATTR_ACCEPT));
	peer_begin(self->srv, greet, rounds, 0, 0);
	for (i = 0; i < rounds; i++) {
		conn = CONNECT(&list);
		ret = dd_recv(self->h, list, &msg, DD_RECV_SLEEP, DD_FOREVER);
		if (i & 1) {
			EXPECT_EQ(-ECONNCLOSE, ret);
		} else {
			ASSERT_EQ(0, ret);
			EXPECT_EQ(0, strcmp(msg.addr, "hello"));
		}
		EXPECT_EQ(0, dd_close(self->h, conn));
	}
	EXPECT_EQ(0, peer_end(self->srv));
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
TEST_F(both, what_was_accepted_beyond_the_window_arrives)
{
	int conn;
	long n;

	ASSERT_EQ(0, peer_call(self->srv, serve, 1, FEW, 0));
	conn = CONNECT(NULL);
	n = send_numbers(self->h, conn, FEW + 2, 3 * FEW);
	ASSERT_LT(FEW + 1, n);
	peer_begin(self->srv, read_numbers, n, 0, 0);
	EXPECT_EQ(0, dd_close(self->h, conn));
	EXPECT_EQ(0, peer_end(self->srv));
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
TEST_F(both, both_close_with_more_than_the_window)
{
	int conn;

	ASSERT_EQ(0, peer_call(self->srv, serve, 1, FEW, 0));
	EXPECT_EQ(0, dead_time(dd_patience() / 8));
	EXPECT_EQ(0, dead_time_there(dd_patience() / 8));
	self->attr.window = FEW;
	conn = CONNECT(NULL);
	peer_begin(self->srv, answer_and_close, FEW + 2, 0, 0);
	EXPECT_LT(FEW + 1, send_numbers(self->h, conn, FEW + 2, 3 * FEW));
	EXPECT_EQ(0, dd_close(self->h, conn));
	EXPECT_EQ(0, peer_end(self->srv));
	ASSERT_EQ(0, dead_time_there(USUAL));
	ASSERT_EQ(0, dead_time(USUAL));
}

DD_TEST_MAIN
