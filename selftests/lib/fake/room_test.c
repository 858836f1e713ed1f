// SPDX-License-Identifier: LGPL-2.1-only
/*
 * room_test.c - when a reader calls for senders that sleep until there is room,
 * over a kernel made of user code
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <linux/dd_ddp.h>

#include "wait.h"
#include "dd.h"
#include "echo.h"
#include "fake.h"
#include "tap.h"

#define WINDOW	8

/* The reader's position is 2 after it: it has had one the long way, one not. */
static void windowed(void)
{
	struct dd_serve_attr serve = {
		.size = sizeof(serve), .maxconn = 1, .recv_size = PAGE,
		.window = WINDOW,
	};
	struct dd_msg msg;

	fake_reset();
	list = clist = 0;
	setenv("DD_DIRECT", "1", 1);
	check_eq(dd_open(&h), 0);
	serve.recv = alloc(PAGE);
	check(dd_serve(h, "room", &serve, &list) > 0);
	conn = client("room", DD_TYPE_STREAM, &clist);
	check(conn > 0);
	for (int i = 0; i < 2; i++) {
		check_eq(dd_send(h, conn, csend, 8, 0, 0, NULL, 0), 0);
		check_eq(dd_recv(h, list, &msg, 0, 0), 0);
	}
}

/* System calls that it takes to receive the next one. */
static int calls_to_take(void)
{
	int calls = fake.calls;
	struct dd_msg msg;

	check_eq(take(&msg), 0);
	return fake.calls - calls;
}

static void the_reader_kicks(void)
{
	windowed();
	for (int i = 0; i < WINDOW; i++)
		check_eq(dd_send(h, conn, csend, 8, 0, 0, NULL, 0), 0);
	check_eq(calls_to_take(), 0);
	fake_ring_need_kick(list, true);
	check_eq(calls_to_take(), 1);
	/* The sender has not been scheduled. */
	check_eq(calls_to_take(), 1);
	fake_ring_need_kick(list, false);
	check_eq(calls_to_take(), 0);
	fake.interrupts = 0;
	teardown();
}

/* Notes that are dropped are read as well. */
static void after_dropped_notes(void)
{
	static const struct dd_ring_note dud;
	int calls;

	windowed();
	for (int i = 0; i < 2; i++) {
		fake_ring_post(list, &dud);
		fake_ring_need_kick(list, i);
		calls = fake.calls;
		check_eq(dd_ready(h, list), 0);
		check_eq(fake.calls - calls, i);
	}
	fake.interrupts = 0;
	teardown();
}

static void *nothing(void *arg)
{
	return arg;
}

/* A sender looks before it sleeps, unless the last look was in vain. */
static void looks_first(void)
{
	struct ddi_spin spin = { 0 };
	__u64 count = 5;

	check_eq(dd_open(&h), 0);
	h->cpus = 2;
	h->cpus_until = INT64_MAX;
	check(ddi_poll_once(h, &spin, &count, 5));
	check(ddi_poll_once(h, &spin, &count, 4));
	for (int futile = 0; futile < 3; futile++) {
		check(!ddi_poll_once(h, &spin, &count, 6));
		check_eq(spin.skip, 1 << futile);
		for (int i = 0; i < 1 << futile; i++)
			check(!ddi_poll_once(h, &spin, &count, 5));
	}
	check(ddi_poll_once(h, &spin, &count, 5));
	check(!ddi_poll_once(h, &spin, &count, 6));
	check_eq(spin.skip, 1);
	/* A single processor is the receiver's, too. */
	spin = (struct ddi_spin){ 0 };
	h->cpus = 1;
	check(!ddi_poll_once(h, &spin, &count, 5));
	check_eq(spin.skip, 0);
	check_eq(spin.shift, 0);
	fake.interrupts = 0;
	teardown();
}

/* From now on the lock is taken. */
static void with_threads(void)
{
	pthread_t thread;

	check_eq(pthread_create(&thread, NULL, nothing, NULL), 0);
	pthread_join(thread, NULL);
	the_reader_kicks();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(the_reader_kicks),
		TEST(after_dropped_notes),
		TEST(looks_first),
		TEST(with_threads),
	};

	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
