// SPDX-License-Identifier: GPL-2.0-only
/*
 * The path between nodes, by its counters: the sender copies nothing, the receiver copies
 * every byte once, in softirq. Run by across.sh, without other traffic.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>

#include "dd.h"
#include "nodes.h"
#include "peer.h"

#define LARGE	(1 << 20)

/* Counters of a node for its peer. */
#define SENT(name)	reported(1, "peer show 2", ".counters." name)
/* Number of lost packets, less those that were late. */
#define LOST		reported(1, "peer show 2", ".packets_lost - .counters.spurious")
#define RECEIVED(name)	reported(2, "peer show 1", ".counters." name)

FIXTURE(shape) {
	struct worker *srv;
	char *name;
	struct slot c;
};

FIXTURE_SETUP(shape)
{
	ASSERT_TRUE(across_nodes());
	self->name = (char *)own_name("s");
	self->srv = worker_new(THERE);
	ASSERT_OK(p_serve_simple(self->srv, self->name, 2, 2 * LARGE));
	ASSERT_OK(open_conn(&self->c, self->name, TYPE_SSTREAM, LARGE));
}

FIXTURE_TEARDOWN(shape)
{
	worker_end(self->srv);
}

/* Send a message, and wait until it has been read. */
#define MESSAGE(from, len, options) do {				\
	ASSERT_SENT(ddsend(self->c.conn, from, len, 0, options));	\
	ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));			\
	ASSERT_EQ(len, self->srv->shm->desc.msgsize);			\
	ASSERT_EQ(1, dddone(self->c.conn, SDONE_SLEEP));		\
} while (0)

TEST_F(shape, wired_bytes_are_not_copied_at_the_sender_and_others_once)
{
	static const int lens[] = { 1, 8, 1000, 5000, 100000, LARGE };
	address_t elsewhere = ddalloc(LARGE);
	static char memory[LARGE];
	long long before = SENT("tx_copied"), sum = 0;
	size_t i;

	ASSERT_LE(0, before);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		MESSAGE(self->c.out, lens[i], SEND_NOOPTS);
		MESSAGE(self->c.out, lens[i], SEND_BLOCK);
		MESSAGE(elsewhere, lens[i], SEND_DMA);
	}
	EXPECT_EQ(before, SENT("tx_copied"));
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		MESSAGE(memory, lens[i], SEND_UNWIRED);
		sum += lens[i];
	}
	EXPECT_EQ(before + sum, SENT("tx_copied"));
}

/*
 * The last word of a message is stored separately, and retransmitted payload that was
 * received before is not copied again.
 */
TEST_F(shape, every_byte_is_copied_once_at_the_receiver_in_softirq)
{
	long long copied = RECEIVED("rx_copied"), softirq, process;
	int i, n = dd_count(50);

	softirq = RECEIVED("rx_softirq");
	process = RECEIVED("rx_process");
	for (i = 0; i < n; i++)
		MESSAGE(self->c.out, 100000 + 8 * i, SEND_NOOPTS);
	copied = RECEIVED("rx_copied") - copied;
	EXPECT_EQ(100000ll * n + 4ll * n * (n - 1) - 8 * n, copied);
	EXPECT_LE(n, RECEIVED("rx_softirq") - softirq);
	EXPECT_EQ(process, RECEIVED("rx_process"));
}

static void *change(void *arg)
{
	volatile char *p = arg;
	long i;

	for (i = 0; *p != 's'; i = (i + 64) % LARGE)
		if (i)
			p[i]++;
	return NULL;
}

/* A retransmitted packet has a new checksum, which may be wrong again. */
static int send_changing(struct worker *srv, const struct slot *c)
{
	int i, n = dd_count(8), err = 0;
	char *source = c->out;
	pthread_t writer;

	source[0] = 0;
	if (pthread_create(&writer, NULL, change, source))
		return -1;
	for (i = 0; !err && i < n; i++) {
		err = ddsend(c->conn, c->out, LARGE, 0, SEND_NOOPTS);
		err = err ? err : p_recv(srv, 0, RECV_SLEEP, 0);
		err = err ? err : dddone(c->conn, SDONE_SLEEP) != 1;
	}
	source[0] = 's';
	pthread_join(writer, NULL);
	return err;
}

TEST_F(shape, a_checksum_is_of_what_is_sent_whatever_becomes_of_the_source)
{
	long long copied = SENT("tx_copied"), damaged = RECEIVED("drop_crc");

	ASSERT_EQ(0, at_node(1, "ddctl peer set 2 payload-crc on"));
	EXPECT_EQ(0, send_changing(self->srv, &self->c));
	EXPECT_EQ(0, at_node(1, "ddctl peer set 2 payload-crc off"));
	EXPECT_LE(1ll * dd_count(8) * LARGE, SENT("tx_copied") - copied);
	EXPECT_EQ(damaged, RECEIVED("drop_crc"));
}

TEST_F(shape, a_source_that_changes_stops_nobody_where_udp_sums_it)
{
	long long copied = SENT("tx_copied"), lost = LOST;
	/* They are copied when their checksum is computed. */
	int most = dd_count(8) * (LARGE / 9000) / 20 + 1;

	ASSERT_EQ(0, at_node(1, "ethtool -K eth0 tx off"));
	EXPECT_EQ(0, send_changing(self->srv, &self->c));
	EXPECT_EQ(0, at_node(1, "ethtool -K eth0 tx on"));
	EXPECT_EQ(copied, SENT("tx_copied"));
	EXPECT_GE(most, LOST - lost);
}

#define SOME	8

/* Sent one by one, each message would leave before the next one is submitted. */
TEST_F(shape, several_at_once_leave_together)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr), .type = DD_TYPE_STREAM, .recv_size = 4096,
	};
	struct dd_send_msg msgs[SOME];
	int i, k, n = dd_count(20), conn, error, list = 0;
	long long skbs, alone;
	struct dd *h;
	char c = 'c';

	ASSERT_EQ(0, dd_open(&h));
	ASSERT_EQ(0, dd_alloc(h, attr.recv_size, &attr.recv));
	conn = dd_connect(h, self->name, far_node(), &attr, &list);
	ASSERT_LT(0, conn);
	for (i = 0; i < SOME; i++)
		msgs[i] = (struct dd_send_msg){
			.conn = conn, .addr = &c,
			.options = DD_SEND_UNWIRED,
		};
	alone = SENT("tx_skbs");
	for (k = 0; k < n; k++)
		for (i = 0; i < SOME; i++) {
			ASSERT_SENT(dd_send(h, conn, &c, 0, 0, DD_SEND_UNWIRED,
					    NULL, 0));
			ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
		}
	skbs = SENT("tx_skbs");
	alone = skbs - alone;
	for (k = 0; k < n; k++) {
		for (i = 0; i < SOME; i += dd_sendv(h, msgs + i, SOME - i, &error))
			ASSERT_TRUE(!i || error == -ENOTREADY);
		for (i = 0; i < SOME; i++)
			ASSERT_OK(p_recv(self->srv, 0, RECV_SLEEP, 0));
	}
	skbs = SENT("tx_skbs") - skbs;
	TH_LOG("for %d messages: %.1f skbs, one by one %.1f", SOME,
	       1.0 * skbs / n, 1.0 * alone / n);
	EXPECT_LE(SOME * n, alone);
	EXPECT_GE(SOME * n / 2, skbs);
	dd_shutdown(h);
}

DD_TEST_MAIN
