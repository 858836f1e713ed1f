// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traffic: many senders, and threads that share a connection. No message is lost, doubled
 * or out of order on its connection. selftests/net/profiles.sh compares the bytes.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "audit.h"
#include "peer.h"
#include "threads.h"

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
	/* Its exit would close the connections. */
	pause();
}

static void many_senders(struct __test_metadata *_metadata,
			 unsigned int messages)
{
	unsigned int next[SENDERS][CONNS] = {}, i, done;
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
	for (done = 0; done < SENDERS * CONNS * messages; done++) {
		ASSERT_OK(ddrecv(s.note, &d, RECV_SLEEP | RECV_TIMEOUT,
				 WAIT_UNITS));
		ASSERT_EQ(3, d.metacount);
		ASSERT_GT(SENDERS, d.metad[0]);
		ASSERT_GT(CONNS, d.metad[1]);
		ASSERT_EQ(next[d.metad[0]][d.metad[1]], d.metad[2]);
		next[d.metad[0]][d.metad[1]]++;
	}
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

#define THREADS		2
#define COMING		(3 * dd_count(500))

struct work {
	struct slot *c;
	unsigned int who, messages;
	struct call call;
};

static long send_all(void *arg)
{
	struct work *w = arg;
	unsigned int meta[2] = { w->who };

	for (; meta[1] < w->messages; meta[1]++)
		if (!send_meta(w->c, meta, 2))
			return -1;
	return 0;
}

/* Connects, sends, closes, repeatedly: no accepted message is lost. */
static long come_and_go(void *arg)
{
	struct work *w = arg;
	unsigned int meta[2] = { w->who }, i;
	struct slot *c = w->c;
	bool ok = true;

	while (ok && meta[1] < w->messages) {
		ok = WAIT_FOR(ddconn((char *)own_name("flow"), far_node(),
				     TYPE_SSTREAM, CONN_NOOPTS, c->out, 64,
				     c->in, 64, &c->conn, &c->note) == 0);
		for (i = 0; ok && i < 3; i++, meta[1]++)
			ok = send_meta(c, meta, 2);
		ok = ok && !ddclose(c->conn);
	}
	if (!ok)
		dderror("thread %u, message %u", w->who, meta[1]);
	return ok ? 0 : -1;
}

/* Each message arrives once; order holds on a connection. */
static long count(long note, long total, long ordered)
{
	unsigned int next[THREADS] = {};
	char *seen[THREADS];
	ddrecv_desc_t d;
	long n;

	for (n = 0; n < THREADS; n++)
		seen[n] = calloc(1, total);
	for (n = 0; n < total; n++) {
		if (ddrecv(note, &d, RECV_SLEEP | RECV_TIMEOUT, WAIT_UNITS))
			return -1;
		if (d.metacount != 2 || d.metad[0] >= THREADS ||
		    d.metad[1] >= total || seen[d.metad[0]][d.metad[1]]++ ||
		    (ordered && d.metad[1] != next[d.metad[0]]++))
			return -2;
	}
	return ddready(note);
}

/* Threads send by @fn, each by its slot, what a peer of a service receives. */
static void threads_send(struct __test_metadata *_metadata, struct worker *srv,
			 long (*fn)(void *), struct slot *c[THREADS], unsigned int messages,
			 bool ordered)
{
	struct work w[THREADS];
	int i;

	worker_begin(srv, count, peer_slot(srv, 0).note, THREADS * messages, ordered);
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct work){ .c = c[i], .who = i, .messages = messages };
		ASSERT_TRUE(call_begin(&w[i].call, fn, &w[i]));
	}
	for (i = 0; i < THREADS; i++)
		EXPECT_EQ(0, call_end(&w[i].call));
	EXPECT_EQ(0, worker_result(srv));
}

TEST(two_threads_send_on_one_connection)
{
	struct worker *srv = worker_new(THERE);
	struct slot c, *both[THREADS] = { &c, &c };

	ASSERT_OK(p_serve_simple(srv, own_name("flow"), 1, PAGE));
	ASSERT_OK(open_conn(&c, own_name("flow"), TYPE_SSTREAM, 64));
	threads_send(_metadata, srv, send_all, both, dd_count(2000), true);
}

/*
 * The connections of both threads share a ring, and the library's state of it,
 * whenever there are two; it comes and goes with them.
 */
TEST(two_threads_connect_and_close)
{
	struct worker *srv = worker_new(THERE);
	struct slot c[THREADS], *each[THREADS];
	int i;

	/* A block that gets a new owner drops its unread messages. */
	ASSERT_OK(p_serve_simple(srv, own_name("flow"), THREADS * COMING / 3,
				 THREADS * COMING / 3 * PAGE));
	for (i = 0; i < THREADS; i++) {
		c[i] = (struct slot){ .in = ddalloc(64), .out = ddalloc(64) };
		each[i] = &c[i];
	}
	threads_send(_metadata, srv, come_and_go, each, COMING, false);
}

static unsigned char *seen;
static unsigned int total;

/* Returns the number of messages that the thread has received. */
static long receive_some(void *note)
{
	ddrecv_desc_t d;
	long n;

	for (n = 0;; n++) {
		if (ddrecv(*(noteid_t *)note, &d, RECV_SLEEP | RECV_TIMEOUT, WAIT_UNITS))
			return -1;
		/* The last messages end one thread each. */
		if (d.metad[0] >= total)
			return n;
		__atomic_add_fetch(&seen[d.metad[0]], 1, __ATOMIC_RELAXED);
	}
}

static long send_numbers(long n, long b, long c)
{
	struct slot s;
	unsigned int i;

	if (open_conn(&s, peer_shm->name, TYPE_SSTREAM, 64))
		return -1;
	for (i = 0; i < n; i++)
		if (!send_meta(&s, &i, 1))
			return -1;
	return 0;
}

TEST(two_threads_receive_from_one_list)
{
	struct worker *cl = worker_new(THERE);
	struct call c[THREADS];
	struct slot s;
	unsigned int i;
	long n = 0;

	total = dd_count(4000);
	seen = calloc(1, total);
	ASSERT_OK(open_serve(&s, own_name("flow"), 1, PAGE));
	strcpy(cl->shm->name, own_name("flow"));
	for (i = 0; i < THREADS; i++)
		ASSERT_TRUE(call_begin(&c[i], receive_some, &s.note));
	worker_begin(cl, send_numbers, total + THREADS, 0, 0);
	for (i = 0; i < THREADS; i++)
		n += call_end(&c[i]);
	EXPECT_EQ(0, worker_result(cl));
	EXPECT_EQ(total, n);
	for (i = 0; i < total; i++)
		ASSERT_EQ(1, seen[i]);
}

TEST(nothing_is_left_of_it)
{
	EXPECT_CLEAN();
}

DD_TEST_MAIN
