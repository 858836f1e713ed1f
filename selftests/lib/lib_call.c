// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_call.c - calls: a request, and its reply
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "dd.h"
#include "echo.h"
#include "tap.h"

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

/* No server replies: requests 1 and 2 are accepted, 3 waits in its own timeout. */
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
	check_eq(dd_call(h, conn, NULL, 8, &reply, 4, 0), -EINVAL);
	teardown();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(rpc_round_trip),
		TEST(rpc_late_reply),
		TEST(rpc_timeouts_pile_up),
		TEST(rpc_closed_while_waiting),
		TEST(call_wants_rpc),
	};

	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
