// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_list.c - note lists: shared, polled, and read by several threads
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "dd.h"
#include "echo.h"
#include "tap.h"

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

#define THREADS	4
#define NOTES	500

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

int main(void)
{
	static const struct test tests[] = {
		TEST(accept_gives_lists),
		TEST(lists_are_shared),
		TEST(poll_keeps_the_ready),
		TEST(each_note_to_one_thread),
	};

	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
