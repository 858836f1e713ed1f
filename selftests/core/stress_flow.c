// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traffic: many senders, threads that share a connection, messages of all
 * sizes. No message is lost, doubled or out of order on its connection.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include "audit.h"
#include "peer.h"

#define SENDERS		8
#define CONNS		16
#define PAGE		4096	/* blocks of this size allow direct sends */
#define WAIT_UNITS	(dd_patience() / 1000 * SBP_HZ)

/* Sends until the link accepts it; false on any other error. */
static bool send_meta(struct slot *c, unsigned int *meta, int words)
{
	while (ddsend_with_metadata(c->conn, c->out, 64, 0, SEND_NOOPTS,
				    (address_t)meta, words)) {
		if (errno != ENOTREADY)
			return false;
		sched_yield();
	}
	return true;
}

static void sender(const char *name, unsigned int who, unsigned int messages)
{
	struct slot c[CONNS];
	unsigned int meta[3], n, i;

	for (i = 0; i < CONNS; i++)
		CHILD_CHECK(WAIT_FOR(open_conn(&c[i], name, TYPE_SSTREAM, 64) ==
				     0));
	for (n = 0; n < messages; n++)
		for (i = 0; i < CONNS; i++) {
			meta[0] = who;
			meta[1] = i;
			meta[2] = n;
			memset(c[i].out, (char)(who + i + n), 64);
			CHILD_CHECK(send_meta(&c[i], meta, 3));
		}
	/*
	 * Wait until all messages are read: exit would close the connections.
	 */
	for (i = 0; i < CONNS; i++)
		CHILD_CHECK(WAIT_FOR(ddsend(c[i].conn, c[i].out, 0, 0,
					    SEND_NOOPTS) == 0));
	pause();
}

static void many_senders(struct __test_metadata *_metadata,
			 unsigned int messages)
{
	unsigned int next[SENDERS][CONNS] = {}, i;
	unsigned int done = 0, late = 0, n = 0;
	char *name = (char *)own_name("flow");
	pid_t pids[SENDERS];
	ddrecv_desc_t d;
	struct slot s;

	for (i = 0; i < SENDERS; i++) {
		pids[i] = fork_child();
		if (!pids[i])
			sender(name, i, messages);
	}
	ASSERT_OK(open_serve(&s, name, SENDERS * CONNS, SENDERS * CONNS * PAGE));
	while (done < SENDERS * CONNS * messages ||
	       late < SENDERS * CONNS) {
		ASSERT_OK(ddrecv(s.note, &d, RECV_SLEEP | RECV_TIMEOUT,
				 WAIT_UNITS));
		n++;
		if (!d.msgsize) {
			late++;
			continue;
		}
		ASSERT_EQ(3, d.metacount);
		ASSERT_GT(SENDERS, d.metad[0]);
		ASSERT_GT(CONNS, d.metad[1]);
		ASSERT_EQ(next[d.metad[0]][d.metad[1]], d.metad[2]);
		next[d.metad[0]][d.metad[1]]++;
		done++;
	}
	EXPECT_EQ(SENDERS * CONNS * (messages + 1), n);
	EXPECT_ERR(EWOULDBLOCK, ddrecv(s.note, &d, RECV_NOBLOCK, 0));
	EXPECT_EQ(SENDERS * CONNS, ddconnlist(s.serv, 0, NULL));
	for (i = 0; i < SENDERS; i++)
		kill_child(pids[i]);
}

TEST(many_senders_on_one_list)
{
	many_senders(_metadata, dd_count(100));
}

/* --- threads ---------------------------------------------------------------*/

struct work {
	struct slot *c;
	noteid_t note;
	unsigned int who, messages;
	unsigned int seen;
	bool ok;
};

static void *send_thread(void *arg)
{
	struct work *w = arg;
	unsigned int meta[2] = { w->who };

	w->ok = true;
	for (meta[1] = 0; w->ok && meta[1] < w->messages; meta[1]++)
		w->ok = send_meta(w->c, meta, 2);
	return NULL;
}

/* Connects, sends, closes, repeatedly: no accepted message is lost. */
static void *come_and_go(void *arg)
{
	struct work *w = arg;
	unsigned int meta[2] = { w->who }, i;
	struct slot *c = w->c;

	w->ok = true;
	while (w->ok && meta[1] < w->messages) {
		w->ok = WAIT_FOR(ddconn((char *)own_name("flow"), far_node(),
					TYPE_SSTREAM, CONN_NOOPTS, c->out, 64,
					c->in, 64, &c->conn, &c->note) == 0);
		for (i = 0; w->ok && i < 3; i++, meta[1]++)
			w->ok = send_meta(c, meta, 2);
		w->ok = w->ok && !ddclose(c->conn);
	}
	if (!w->ok)
		dderror("thread %u, message %u", w->who, meta[1]);
	return NULL;
}

static long count_all(long note, long total, long c)
{
	unsigned int next[4] = {};
	ddrecv_desc_t d;
	long n;

	for (n = 0; n < total; n++) {
		if (ddrecv(note, &d, RECV_SLEEP | RECV_TIMEOUT, WAIT_UNITS))
			return -1;
		if (d.metacount != 2 || d.metad[0] > 3 ||
		    next[d.metad[0]]++ != d.metad[1])
			return -2;
	}
	return ddready(note);
}

TEST(two_threads_send_on_one_connection)
{
	struct work w[2] = { { .who = 0 }, { .who = 1 } };
	struct peer *srv = peer_start();
	pthread_t t[2];
	struct slot c;
	int i;

	ASSERT_OK(p_serve_simple(srv, own_name("flow"), 1, PAGE));
	ASSERT_OK(open_conn(&c, own_name("flow"), TYPE_SSTREAM, 64));
	peer_begin(srv, count_all, peer_slot(srv, 0).note, 2 * dd_count(2000),
		   0);
	for (i = 0; i < 2; i++) {
		w[i].c = &c;
		w[i].messages = dd_count(2000);
		ASSERT_EQ(0, pthread_create(&t[i], NULL, send_thread, &w[i]));
	}
	for (i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		EXPECT_TRUE(w[i].ok);
	}
	EXPECT_EQ(0, peer_end(srv));
}

/*
 * The connections of both threads share a ring, and the library's state of it,
 * whenever there are two; it comes and goes with them.
 */
#define COMERS		2
#define COMING		(3 * dd_count(500))

/* Each message arrives once; order holds on its connection only. */
static long count_each(long note, long total, long c)
{
	char *seen[COMERS];
	ddrecv_desc_t d;
	long n;

	for (n = 0; n < COMERS; n++)
		seen[n] = calloc(1, total);
	for (n = 0; n < total; n++) {
		if (ddrecv(note, &d, RECV_SLEEP | RECV_TIMEOUT, WAIT_UNITS))
			return -1;
		if (d.metacount != 2 || d.metad[0] >= COMERS ||
		    d.metad[1] >= total || seen[d.metad[0]][d.metad[1]]++)
			return -2;
	}
	return ddready(note);
}

TEST(two_threads_connect_and_close)
{
	struct peer *srv = peer_start();
	struct work w[COMERS];
	struct slot c[COMERS];
	pthread_t t[COMERS];
	int i;

	/* A block that gets a new owner drops its unread messages. */
	ASSERT_OK(p_serve_simple(srv, own_name("flow"), COMERS * COMING / 3,
				 COMERS * COMING / 3 * PAGE));
	peer_begin(srv, count_each, peer_slot(srv, 0).note, COMERS * COMING, 0);
	for (i = 0; i < COMERS; i++) {
		c[i] = (struct slot){ .in = ddalloc(64), .out = ddalloc(64) };
		w[i] = (struct work){ .c = &c[i], .who = i, .messages = COMING };
		ASSERT_EQ(0, pthread_create(&t[i], NULL, come_and_go, &w[i]));
	}
	for (i = 0; i < COMERS; i++) {
		pthread_join(t[i], NULL);
		EXPECT_TRUE(w[i].ok);
	}
	EXPECT_EQ(0, peer_end(srv));
}

static unsigned char *seen_by[2];

static void *recv_thread(void *arg)
{
	struct work *w = arg;
	ddrecv_desc_t d;

	w->ok = true;
	for (;;) {
		if (ddrecv(w->note, &d, RECV_SLEEP | RECV_TIMEOUT, WAIT_UNITS)) {
			w->ok = false;
			return NULL;
		}
		/* The last two messages end one thread each. */
		if (d.metad[0] >= w->messages)
			return NULL;
		seen_by[w->who][d.metad[0]]++;
		w->seen++;
	}
}

static long send_numbers(long total, long b, long c)
{
	struct slot s;
	unsigned int i;

	if (open_conn(&s, peer_shm->name, TYPE_SSTREAM, 64))
		return -1;
	for (i = 0; i < total + 2; i++)
		if (!send_meta(&s, &i, 1))
			return -1;
	return 0;
}

TEST(two_threads_receive_from_one_list)
{
	struct work w[2] = { { .who = 0 }, { .who = 1 } };
	unsigned int i, total = dd_count(4000);
	struct peer *cl = peer_start();
	pthread_t t[2];
	struct slot s;

	ASSERT_OK(open_serve(&s, own_name("flow"), 1, PAGE));
	strcpy(cl->shm->name, own_name("flow"));
	for (i = 0; i < 2; i++) {
		seen_by[i] = calloc(1, total);
		w[i].note = s.note;
		w[i].messages = total;
		ASSERT_EQ(0, pthread_create(&t[i], NULL, recv_thread, &w[i]));
	}
	peer_begin(cl, send_numbers, total, 0, 0);
	for (i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		EXPECT_TRUE(w[i].ok);
	}
	EXPECT_EQ(0, peer_end(cl));
	EXPECT_EQ(total, w[0].seen + w[1].seen);
	for (i = 0; i < total; i++)
		ASSERT_EQ(1, seen_by[0][i] + seen_by[1][i]);
}

/* --- contents --------------------------------------------------------------*/

#define BIG	(1 << 20)

static unsigned char pattern(unsigned int n, size_t i)
{
	return (n * 2654435761u >> 13) + i * 7 + (i >> 8);
}

static long check_patterns(long note, long total, long c)
{
	ddrecv_desc_t d;
	unsigned int n;
	int i;

	for (n = 0; n < total; n++) {
		if (ddrecv(note, &d, RECV_SLEEP | RECV_TIMEOUT, WAIT_UNITS))
			return -1;
		if (d.metad[0] != n || d.metad[1] != (unsigned int)d.msgsize)
			return -2;
		for (i = 0; i < d.msgsize; i++)
			if ((unsigned char)d.msgaddr[i] != pattern(n, i))
				return -3;
		/* Read: the next message may overwrite it. */
		peer_shm->data[0] = n + 1;
		if (ddsend(d.connid, (address_t)&n, 4, 0, SEND_UNWIRED))
			return -4;
	}
	return 0;
}

TEST(contents_of_messages_of_all_sizes)
{
	unsigned int total = dd_count(100), n, meta[2], seed = 1;
	struct peer *srv = peer_start();
	ddrecv_desc_t d;
	struct slot c;
	size_t i, len, at;

	ASSERT_OK(p_serve_simple(srv, own_name("flow"), 1, BIG));
	ASSERT_OK(open_conn(&c, own_name("flow"), TYPE_SPLIT, BIG));
	peer_begin(srv, check_patterns, peer_slot(srv, 0).note, total, 0);
	for (n = 0; n < total; n++) {
		len = rand_r(&seed) % (n % 8 ? 5000 : BIG);
		at = rand_r(&seed) % (BIG - len + 1);
		for (i = 0; i < len; i++)
			c.out[i] = pattern(n, i);
		meta[0] = n;
		meta[1] = len;
		ASSERT_OK(ddsend_with_metadata(c.conn, c.out, len, at,
					       n % 3 ? SEND_NOOPTS : SEND_UNWIRED,
					       (address_t)meta, 2));
		ASSERT_OK(ddrecv(c.note, &d, RECV_SLEEP | RECV_TIMEOUT,
				 WAIT_UNITS));
		ASSERT_EQ(n, *(unsigned int *)d.msgaddr);
	}
	EXPECT_EQ(0, peer_end(srv));
}

TEST(nothing_is_left_of_it)
{
	EXPECT_CLEAN();
}

DD_TEST_MAIN
