// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both ends of a connection between nodes end it at the same moment, while
 * many messages are on their way. Run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "dd.h"
#include "peer.h"

#define WINDOW	256
#define SIZE	4096

/* In the peer: a service that closes each connection at its first message. */
static struct dd *served;
static int serve_list;

static long serve(long unused, long b, long c)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr),
		.maxconn = 8,
		.window = WINDOW,
		.recv_size = 8 * SIZE,
	};
	int ret = dd_open(&served);

	if (!ret)
		ret = dd_alloc(served, attr.recv_size, &attr.recv);
	if (!ret)
		ret = dd_serve(served, peer_shm->name, &attr, &serve_list);
	return ret < 0 ? -1 : 0;
}

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

/* A network whose answers take a while, so that there is something to end. */
static int slow(void)
{
	return system("bash -c 'tc -n dd1 qdisc replace dev eth0 root netem delay 10ms'");
}

/* Messages until the other end has closed; from any memory, or of dd_alloc(). */
static int send_all(struct dd *h, int conn, const void *from, size_t len,
		    unsigned int options)
{
	int ret;

	do {
		ret = dd_send(h, conn, from, len, 0, options, NULL, 0);
	} while (!ret || ret == -ENOTREADY);
	return ret;
}

/* What was done of a connection that is over. */
static unsigned long long done_of(struct dd *h, int conn)
{
	struct dd_conn_desc d = {};

	return dd_conn_info(h, conn, &d) ? 0 : d.done;
}

/* Messages that the far node's service has got, in all. */
static unsigned long long came(void)
{
	unsigned long long n = 0;
	FILE *f = popen("bash -c 'ip netns exec dd2 ddctl -j service | jq .[0].received'", "r");

	if (!f)
		return 0;
	if (fscanf(f, "%llu", &n) != 1)
		n = 0;
	pclose(f);
	return n;
}

TEST(both_ends_close_at_once)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr),
		.type = DD_TYPE_STREAM,
		.recv_size = SIZE,
	};
	int i, conn, rounds = dd_count(100);
	static char anywhere[SIZE];
	unsigned long long done = 0;
	struct peer *srv;
	struct dd *h;
	void *wired;

	ASSERT_TRUE(across_nodes());
	srv = peer_start();
	strcpy(srv->shm->name, own_name("both"));
	ASSERT_EQ(0, peer_call(srv, serve, 0, 0, 0));
	ASSERT_EQ(0, dd_open(&h));
	ASSERT_EQ(0, dd_alloc(h, SIZE, &attr.recv));
	ASSERT_EQ(0, dd_alloc(h, SIZE, &wired));
	ASSERT_EQ(0, slow());
	peer_begin(srv, close_first, rounds, 0, 0);
	for (i = 0; i < rounds; i++) {
		bool any = i % 3;

		/* A block of the last ones may not be free yet. */
		ASSERT_SOON((conn = dd_connect(h, srv->shm->name, far_node(),
					       &attr, NULL)) > 0);
		/* Short messages have no bytes that come before their last. */
		EXPECT_EQ(-ECONNCLOSE,
			  send_all(h, conn, any ? anywhere : wired,
				   i % 3 == 1 ? 8 : SIZE,
				   any ? DD_SEND_UNWIRED : DD_SEND_DMA));
		done += done_of(h, conn);
		EXPECT_EQ(0, dd_close(h, conn));
	}
	EXPECT_EQ(0, peer_end(srv));
	TH_LOG("%llu messages came, %llu were done", came(), done);
	EXPECT_LE(done, came());
	EXPECT_EQ(0, dd_free(h, wired));
	EXPECT_EQ(0, dd_shutdown(h));
	peer_kill(srv);
}

DD_TEST_MAIN
