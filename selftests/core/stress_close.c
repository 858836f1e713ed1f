// SPDX-License-Identifier: GPL-2.0-only
/*
 * Close, unserve, unmap and exit during traffic.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include <sys/ptrace.h>
#include "audit.h"
#include "dd.h"
#include "peer.h"
#include "raw.h"

/* --- closing ---------------------------------------------------------------*/

static volatile bool finished;
static volatile long sends;

static void *send_until_closed(void *arg)
{
	struct pair *p = arg;

	for (;;) {
		if (pair_request(p, 0, 0, 128) >= 0) {
			sends++;
			continue;
		}
		if (errno != EBUSY)
			return (void *)(long)errno;
	}
}

static void *take_until_finished(void *arg)
{
	struct pair *p = arg;
	struct dd_note n;

	/* On User-Mode Linux no other thread of the process runs until this one calls. */
	while (!finished)
		if (!raw_take(&p->srv, p->s.list_unit, &n))
			sched_yield();
	return NULL;
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
	pthread_t s, t;
	struct pair p;
	void *err;
	long base;
	int i;

	for (i = 0; i < dd_count(200); i++) {
		ASSERT_EQ(0, pair_open(&p, 1, PAGE, 2));
		finished = false;
		base = sends;
		ASSERT_EQ(0, pthread_create(&s, NULL, send_until_closed, &p));
		ASSERT_EQ(0, pthread_create(&t, NULL, take_until_finished, &p));
		ASSERT_SOON(sends > base + i % 7);
		end_it(&p, i % ENDS);
		pthread_join(s, &err);
		EXPECT_TRUE((long)err == ECONNRESET || (long)err == ENOENT) {
			TH_LOG("end %d: errno %ld", i % ENDS, (long)err);
		}
		finished = true;
		pthread_join(t, NULL);
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

/* The tracer single-steps what is between two SIGSTOPs. */
static void send_to_be_closed(const char *name, int rounds)
{
	struct dd_connect_attr attr = { .size = sizeof(attr),
					.type = DD_TYPE_STREAM,
					.send_size = PAGE, .recv_size = PAGE };
	int list, conn, ret;
	struct dd_msg msg;
	struct dd *h;

	CHILD_CHECK(dd_open(&h) == 0);
	CHILD_CHECK(dd_alloc(h, PAGE, &attr.send) == 0);
	CHILD_CHECK(dd_alloc(h, PAGE, &attr.recv) == 0);
	CHILD_CHECK(ptrace(PTRACE_TRACEME) == 0);
	for (int i = 0; i < rounds; i++) {
		conn = dd_connect(h, name, dd_node(h), &attr, &list);
		CHILD_CHECK(conn > 0);
		/* The first message sets the direct path up. */
		CHILD_CHECK(dd_send(h, conn, attr.send, 8, 0, 0, NULL, 0) == 0);
		CHILD_CHECK(dd_done(h, conn, DD_DONE_PLACED, DD_FOREVER) > 0);
		raise(SIGSTOP);
		ret = dd_send(h, conn, attr.send, LAST, 0, 0, NULL, 0);
		raise(SIGSTOP);
		CHILD_CHECK(ret == 0);
		ret = dd_recv(h, list, &msg, 0, DD_FOREVER);
		CHILD_CHECK(ret == -ECONNCLOSE);
		CHILD_CHECK(dd_close(h, conn) == 0);
	}
	_exit(0);
}

/* Lets @pid run, and single-steps it between its SIGSTOPs. */
static int step_through(pid_t pid)
{
	bool stepping = false;
	int status, sig;

	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		sig = WSTOPSIG(status);
		if (sig == SIGSTOP)
			stepping = !stepping;
		if (sig == SIGSTOP || sig == SIGTRAP)
			sig = 0;
		ptrace(stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, 0, sig);
	}
	return status;
}

/*
 * A sender whose message was read gets no error, however soon the reader
 * closes. Single steps give the reader time to do both between any two
 * instructions of the sender.
 */
TEST(a_reader_closes_at_once)
{
	pid_t server, client;
	char name[16];
	int ready;

	snprintf(name, sizeof(name), "once.%d", getpid());
	server = fork_until_report(&ready);
	if (!server)
		close_what_is_read(name, ready);
	ASSERT_LT(0, server);
	client = fork_child();
	if (!client)
		send_to_be_closed(name, dd_count(30));
	EXPECT_EQ(0, step_through(client));
	ASSERT_EQ(0, waitpid(server, NULL, WNOHANG));
	kill_child(server);
}

/* The list ends with the service while threads wait for it. */
static void *wait_forever(void *arg)
{
	struct pair *p = arg;

	return (void *)(long)(raw_list_wait(&p->srv, p->s.list, ~0ull) ? errno : 0);
}

TEST(unserve_while_waiting)
{
	pthread_t t[2];
	struct pair p;
	void *err;
	int i, k;

	for (i = 0; i < dd_count(200); i++) {
		ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
		for (k = 0; k < 2; k++)
			ASSERT_EQ(0, pthread_create(&t[k], NULL, wait_forever,
						    &p));
		ASSERT_EQ(0, raw_op(&p.srv, DD_IOC_UNSERVE, p.s.service));
		for (k = 0; k < 2; k++) {
			pthread_join(t[k], &err);
			EXPECT_EQ(ENOENT, (long)err);
		}
		pair_close(&p);
	}
}

/* --- the descriptor and the mapping go -------------------------------------*/

static void *ring_until_stale(void *arg)
{
	struct pair *p = arg;
	struct dd_list_info i = { .size = sizeof(i), .list = p->c.list };

	/* A context without its area is about to end: ENXIO until it has. */
	while (raw_ioctl(&p->cl, DD_IOC_LIST_INFO, &i) == 0 || errno == ENXIO)
		raw_op(&p->cl, DD_IOC_DOORBELL, p->c.conn);
	return (void *)(long)errno;
}

/* Unmaps the area, or closes the descriptor, under two threads' calls. */
static void end_while_calling(struct __test_metadata *_metadata, bool unmap)
{
	pthread_t t[2];
	struct pair p;
	void *err;
	int i, k;

	for (i = 0; i < dd_count(200); i++) {
		ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
		for (k = 0; k < 2; k++)
			ASSERT_EQ(0, pthread_create(&t[k], NULL,
						    ring_until_stale, &p));
		usleep(i % 5 * 100);
		if (unmap) {
			ASSERT_EQ(0, munmap(p.cl.area, DD_AREA_SIZE));
			p.cl.area = NULL;
		} else {
			raw_close(&p.cl);
		}
		for (k = 0; k < 2; k++) {
			pthread_join(t[k], &err);
			/* The objects of a context go before the context. */
			EXPECT_TRUE((long)err == ESTALE || (long)err == ENOENT ||
				    (!unmap && (long)err == EBADF)) {
				TH_LOG("errno %ld", (long)err);
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

/* --- connecting ------------------------------------------------------------*/

static void connector(const char *name, int rounds)
{
	struct client c;
	int i, got = 0;

	CHILD_CHECK(client_prepare(&c, name) == 0);
	for (i = 0; i < rounds; i++) {
		raw_connect_args(&c.c, name, &c.m);
		if (raw_connect(&c.r, &c.c)) {
			CHILD_CHECK(errno == ECONNREFUSED || errno == EUSERS);
			continue;
		}
		got++;
		if (i % 2)
			client_send(&c, 8);
		CHILD_CHECK(client_close(&c) == 0);
	}
	_exit(0);
}

TEST(unserve_while_connecting)
{
	int i, pids_left = 3, rounds = 0, status;
	struct server s;
	pid_t pids[3];

	for (i = 0; i < 3; i++) {
		pids[i] = fork_child();
		if (!pids[i])
			connector("unserved", dd_count(5000));
	}
	ASSERT_EQ(0, server_prepare(&s, "unserved", 2));
	while (pids_left) {
		raw_serve_args(&s.s, "unserved", 2, &s.m);
		ASSERT_EQ(0, raw_serve(&s.r, &s.s)) {
			TH_LOG("errno %d", errno);
		}
		if (rounds++ % 3)
			sched_yield();
		ASSERT_EQ(0, raw_op(&s.r, DD_IOC_UNSERVE, s.s.service));
		for (i = 0; i < 3; i++)
			if (pids[i] &&
			    waitpid(pids[i], &status, WNOHANG) == pids[i]) {
				EXPECT_EQ(0, status);
				pids[i] = 0;
				pids_left--;
			}
	}
	TH_LOG("%d services", rounds);
}

static void sharer(int rounds)
{
	struct server s;
	int i;

	CHILD_CHECK(server_prepare(&s, "ending", 1) == 0);
	for (i = 0; i < rounds; i++) {
		raw_serve_args(&s.s, "ending", 1, &s.m);
		s.s.flags |= DD_SERVE_SHARED;
		CHILD_CHECK(raw_serve(&s.r, &s.s) == 0);
		CHILD_CHECK(raw_op(&s.r, DD_IOC_UNSERVE, s.s.service) == 0);
	}
	_exit(0);
}

/* Each of them may be the next one for the name when another one ends. */
TEST(services_of_one_name_end)
{
	struct server s;
	pid_t pids[4];
	int i;

	for (i = 0; i < 4; i++) {
		pids[i] = fork_child();
		if (!pids[i] && i)
			sharer(dd_count(5000));
		if (!pids[i])
			connector("ending", dd_count(2000));
	}
	for (i = 0; i < 4; i++)
		ASSERT_CHILD_OK(pids[i]);
	/* The name is free. */
	ASSERT_EQ(0, server_prepare(&s, "ending", 1));
	raw_serve_args(&s.s, "ending", 1, &s.m);
	EXPECT_EQ(0, raw_serve(&s.r, &s.s));
	raw_close(&s.r);
}

TEST(connect_and_close_for_long)
{
	struct dd_connect c;
	struct dd_note n;
	long long used;
	struct pair p;
	int i;

	ASSERT_EQ(0, become_user(lone_user()));
	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	used = memlock_used(&p.srv);
	ASSERT_EQ(0, raw_op(&p.cl, DD_IOC_CLOSE, p.c.conn));
	for (i = 0; i < dd_count(20000); i++) {
		c = p.c;
		c.list = 0;
		ASSERT_EQ(0, raw_connect(&p.cl, &c)) {
			TH_LOG("round %d: errno %d", i, errno);
		}
		if (i % 3 == 0) {
			ASSERT_EQ(1, raw_send(&p.cl, c.state_unit, c.conn, 0, 0,
					      8));
		}
		/* Every fifth time the server closes first. */
		if (i % 5 == 0) {
			ASSERT_EQ(0, raw_op(&p.srv, DD_IOC_CLOSE,
					    pair_server_conn(&p)));
		}
		ASSERT_EQ(0, raw_op(&p.cl, DD_IOC_CLOSE, c.conn));
		raw_take(&p.srv, p.s.list_unit, &n);
	}
	/* Pages of an area stay with its context. */
	EXPECT_GE(used + 16 * (long long)PAGE, memlock_used(&p.srv));
}

/* --- services that share a name --------------------------------------------*/

static void *serve_and_unserve(void *arg)
{
	struct server *s = arg;
	struct dd_serve again;

	while (!finished) {
		again = s->s;
		if (raw_serve(&s->r, &again) || raw_op(&s->r, DD_IOC_UNSERVE, again.service))
			return (void *)(long)errno;
	}
	return NULL;
}

/* A client is refused only if none of them is there. */
TEST(services_of_one_name_come_and_go)
{
	struct server others[3], stays;
	bool serving = false;
	pthread_t threads[3];
	struct dd_connect c;
	struct client cl;
	void *err;
	int i;

	finished = false;
	for (i = 0; i < 4; i++) {
		struct server *s = i < 3 ? &others[i] : &stays;

		ASSERT_EQ(0, server_prepare(s, "turns", 1));
		s->s.flags = DD_SERVE_SHARED;
	}
	ASSERT_EQ(0, client_prepare(&cl, "turns"));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, serve_and_unserve, &others[i]));
	for (i = 0; i < dd_count(5000); i++) {
		if (!serving) {
			stays.s.list = 0;
			ASSERT_EQ(0, raw_serve(&stays.r, &stays.s));
			serving = true;
		}
		c = cl.c;
		ASSERT_EQ(0, raw_connect(&cl.r, &c)) {
			TH_LOG("round %d: errno %d", i, errno);
		}
		if (server_conn(&stays)) {
			ASSERT_EQ(0, raw_op(&stays.r, DD_IOC_UNSERVE, stays.s.service));
			serving = false;
		}
		/* Its service may have ended. */
		raw_op(&cl.r, DD_IOC_CLOSE, c.conn);
	}
	finished = true;
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], &err);
		EXPECT_EQ(0, (long)err);
	}
}

TEST(nothing_is_left_of_it)
{
	EXPECT_CLEAN();
}

DD_TEST_MAIN
