// SPDX-License-Identifier: GPL-2.0-only
/*
 * Close, unserve, unmap and exit during traffic.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "audit.h"
#include "dd.h"
#include "peer.h"
#include "raw.h"
#include "threads.h"

/* --- closing ---------------------------------------------------------------*/

static long sends;

static bool send_one(void *arg)
{
	if (pair_request(arg, 0, 0, 128) < 0)
		return errno == EBUSY;
	__atomic_add_fetch(&sends, 1, __ATOMIC_RELEASE);
	return true;
}

static bool take_one(void *arg)
{
	const struct pair *p = arg;
	struct dd_note n;

	/* On User-Mode Linux no other thread of the process runs until this one calls. */
	if (!raw_take(&p->srv, p->s.list_unit, &n))
		sched_yield();
	return true;
}

/* How the connection ends under its sender. */
enum end { SERVER_CLOSES, CLIENT_CLOSES, SERVICE_ENDS, BOTH_CLOSE, ENDS };

static void end_it(struct pair *p, enum end how)
{
	__u64 there = pair_server_conn(p);

	if (how == SERVER_CLOSES || how == BOTH_CLOSE)
		raw_op(&p->srv, DD_IOC_CLOSE, there);
	if (how == CLIENT_CLOSES || how == BOTH_CLOSE)
		raw_op(&p->cl, DD_IOC_CLOSE, p->c.conn);
	if (how == SERVICE_ENDS)
		raw_op(&p->srv, DD_IOC_UNSERVE, p->s.service);
}

TEST(close_while_sending)
{
	struct loop s, t;
	struct pair p;
	int i, err;

	for (i = 0; i < dd_count(200); i++) {
		ASSERT_EQ(0, pair_open(&p, 1, PAGE, 2));
		sends = 0;
		ASSERT_TRUE(loop_begin(&s, send_one, &p) && loop_begin(&t, take_one, &p));
		ASSERT_SOON(__atomic_load_n(&sends, __ATOMIC_ACQUIRE) > i % 7);
		end_it(&p, i % ENDS);
		err = loop_failure(&s);
		EXPECT_TRUE(err == ECONNRESET || err == ENOENT) {
			TH_LOG("end %d: errno %d", i % ENDS, err);
		}
		ASSERT_EQ(0, loop_end(&t));
		pair_close(&p);
	}
}

#define LAST	64		/* bytes of a connection's last message */

/* Closes a connection as soon as its last message has arrived. */
static void close_what_is_read(const char *name, int ready)
{
	struct dd_serve_attr attr = { .size = sizeof(attr), .maxconn = 2,
				      .recv_size = 2 * PAGE,
				      .send_size = 2 * PAGE };
	struct dd_msg msg;
	struct dd *h;
	int list, ret;

	CHILD_CHECK(dd_open(&h) == 0);
	CHILD_CHECK(dd_alloc(h, attr.recv_size, &attr.recv) == 0);
	CHILD_CHECK(dd_alloc(h, attr.send_size, &attr.send) == 0);
	CHILD_CHECK(dd_serve(h, name, &attr, &list) > 0);
	child_report(ready);
	for (;;) {
		ret = dd_recv(h, list, &msg, 0, 0);
		if (ret)
			CHILD_CHECK(ret == -EWOULDBLOCK || ret == -ECONNCLOSE);
		else if (msg.len == LAST)
			CHILD_CHECK(dd_close(h, msg.conn) == 0);
	}
}

/* In a worker: the connection whose last message is sent in single steps. */
static struct dd *h;
static int list, conn;
static struct dd_connect_attr attr = {
	.size = sizeof(attr), .type = DD_TYPE_STREAM, .send_size = PAGE, .recv_size = PAGE
};

static long begin_to_send(long a, long b, long c)
{
	if (!h && (dd_open(&h) || dd_alloc(h, PAGE, &attr.send) || dd_alloc(h, PAGE, &attr.recv)))
		return -1;
	conn = dd_connect(h, peer_shm->name, dd_node(h), &attr, &list);
	/* The first message sets the direct path up. */
	return dd_send(h, conn, attr.send, 8, 0, 0, NULL, 0) ?:
	       dd_done(h, conn, DD_DONE_PLACED, DD_FOREVER) > 0 ? 0 : -1;
}

static long send_last(long a, long b, long c)
{
	int ret;

	raise(SIGUSR1);
	ret = dd_send(h, conn, attr.send, LAST, 0, 0, NULL, 0);
	raise(SIGUSR2);
	return ret;
}

static long end_with_reader(long a, long b, long c)
{
	struct dd_msg msg;

	return dd_recv(h, list, &msg, 0, DD_FOREVER) == -ECONNCLOSE ? dd_close(h, conn) : -1;
}

/*
 * A sender whose message was read gets no error, however soon the reader
 * closes. Single steps give the reader time to do both between any two
 * instructions of the sender.
 */
TEST(a_reader_closes_at_once)
{
	struct worker *client = worker_new(HERE);
	pid_t server;
	int ready;

	strcpy(client->shm->name, own_name("once"));
	server = fork_until_report(&ready);
	if (!server)
		close_what_is_read(client->shm->name, ready);
	ASSERT_LT(0, server);
	for (int i = 0; i < dd_count(30); i++) {
		ASSERT_EQ(0, worker_do(client, begin_to_send, 0, 0, 0));
		worker_steps(client, send_last, 0, 0, 0);
		ASSERT_EQ(0, worker_do(client, end_with_reader, 0, 0, 0));
	}
	ASSERT_EQ(0, waitpid(server, NULL, WNOHANG));
	kill_child(server);
	worker_end(client);
}

/* The list ends with the service while threads wait for it. */
static long wait_forever(void *arg)
{
	const struct pair *p = arg;

	return raw_list_wait(&p->srv, p->s.list, ~0ull);
}

TEST(unserve_while_waiting)
{
	struct call c[2];
	struct pair p;
	int i, k;

	for (i = 0; i < dd_count(200); i++) {
		ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
		for (k = 0; k < 2; k++)
			ASSERT_TRUE(call_begin(&c[k], wait_forever, &p));
		ASSERT_EQ(0, raw_op(&p.srv, DD_IOC_UNSERVE, p.s.service));
		for (k = 0; k < 2; k++)
			EXPECT_ERR(ENOENT, call_end(&c[k]));
		pair_close(&p);
	}
}

/* --- the descriptor and the mapping go -------------------------------------*/

static bool ring_once(void *arg)
{
	struct pair *p = arg;
	struct dd_list_info i = { .size = sizeof(i), .list = p->c.list };

	/* A context without its area is about to end: ENXIO until it has. */
	if (raw_ioctl(&p->cl, DD_IOC_LIST_INFO, &i) && errno != ENXIO)
		return false;
	raw_op(&p->cl, DD_IOC_DOORBELL, p->c.conn);
	return true;
}

/* Unmaps the area, or closes the descriptor, under two threads' calls. */
static void end_while_calling(struct __test_metadata *_metadata, bool unmap)
{
	struct loop l[2];
	struct pair p;
	int i, k, err;

	for (i = 0; i < dd_count(200); i++) {
		ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
		for (k = 0; k < 2; k++)
			ASSERT_TRUE(loop_begin(&l[k], ring_once, &p));
		usleep(i % 5 * 100);
		if (unmap) {
			ASSERT_EQ(0, munmap(p.cl.area, DD_AREA_SIZE));
			p.cl.area = NULL;
		} else {
			raw_close(&p.cl);
		}
		for (k = 0; k < 2; k++) {
			err = loop_failure(&l[k]);
			/* The objects of a context go before the context. */
			EXPECT_TRUE(err == ESTALE || err == ENOENT || (!unmap && err == EBADF)) {
				TH_LOG("errno %d", err);
			}
		}
		raw_close(&p.srv);
		if (unmap)
			raw_close(&p.cl);
	}
}

TEST(unmap_while_calling)
{
	end_while_calling(_metadata, true);
}

TEST(close_descriptor_while_calling)
{
	end_while_calling(_metadata, false);
}

/* --- services that share a name --------------------------------------------*/

static void serve_and_unserve(const char *name)
{
	struct server s;

	CHILD_CHECK(server_prepare(&s, name, 1) == 0);
	s.s.flags = DD_SERVE_SHARED;
	for (;;) {
		struct dd_serve again = s.s;

		CHILD_CHECK(raw_serve(&s.r, &again) == 0);
		CHILD_CHECK(raw_op(&s.r, DD_IOC_UNSERVE, again.service) == 0);
	}
}

/*
 * Each of them may be the next one for the name when another one ends. A client is refused only
 * if none of them is there.
 */
TEST(services_of_one_name_come_and_go)
{
	struct server stays;
	struct dd_connect c;
	struct client cl;
	pid_t others[3];
	int i;

	for (i = 0; i < 3; i++) {
		others[i] = fork_child();
		if (!others[i])
			serve_and_unserve("turns");
	}
	ASSERT_EQ(0, server_prepare(&stays, "turns", 1));
	stays.s.flags = DD_SERVE_SHARED;
	ASSERT_EQ(0, client_prepare(&cl, "turns"));
	ASSERT_EQ(0, raw_serve(&stays.r, &stays.s));
	for (i = 0; i < dd_count(5000); i++) {
		c = cl.c;
		ASSERT_EQ(0, raw_connect(&cl.r, &c)) {
			TH_LOG("round %d: errno %d", i, errno);
		}
		if (server_conn(&stays)) {
			ASSERT_EQ(0, raw_op(&stays.r, DD_IOC_UNSERVE, stays.s.service));
			stays.s.list = 0;
			ASSERT_EQ(0, raw_serve(&stays.r, &stays.s));
		}
		/* Its service may have ended. */
		raw_op(&cl.r, DD_IOC_CLOSE, c.conn);
	}
	ASSERT_EQ(0, waitpid(-1, NULL, WNOHANG));
	for (i = 0; i < 3; i++)
		kill_child(others[i]);
	/* The name is free when the last one has ended. */
	ASSERT_EQ(0, raw_op(&stays.r, DD_IOC_UNSERVE, stays.s.service));
	stays.s.flags = stays.s.list = 0;
	ASSERT_SOON(!raw_serve(&stays.r, &stays.s));
}

TEST(nothing_is_left_of_it)
{
	EXPECT_CLEAN();
}

DD_TEST_MAIN
