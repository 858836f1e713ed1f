// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_flow.c - ST: windows, st_flush(), the end of connections, threads
 *
 * Each test names the requirements that it shows. Run on one node, or by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "pair.h"

static st_chandle_t c;

/* The other end permits @window unread headers. */
static void pair_new(int window)
{
	other();
	OK(o_create(0));
	OK(o_set(0, ST_OPT_RX_WINDOW_LOCAL, window));
	OK(st_create(&c));
	OK(set(c, ST_OPT_RX_WINDOW_LOCAL, window));
	join(c, 0);
}

static void pair_end(void)
{
	OK(st_delete(c));
	OK(o_delete(0));
}

static int nop(int number)
{
	st_header_t h = header(ST_OP_NOP);

	h.opaque = number;
	return st_tx(&c, &h, NULL, 0, 0, 0);
}

/* Send @count headers, numbered from @first on. */
static long job_send(long end, long first, long count)
{
	st_header_t h = header(ST_OP_NOP);
	int ret = 0;

	for (long i = 0; i < count && !ret; i++) {
		h.opaque = first + i;
		ret = st_tx(&o_end[end], &h, NULL, 0, 0, 0);
	}
	return ret;
}

static long job_read(long end, long first, long count)
{
	st_header_t h;
	int ret = 0;

	for (long i = 0; i < count && !ret; i++) {
		ret = rx(o_end[end], &h, NULL, -1);
		if (!ret && h.opaque != (uint32_t)(first + i))
			ret = 9999;
	}
	return ret;
}

static bool count_is(int64_t n)
{
	int64_t count;

	OK(st_flush(&c, 0, &count));
	return count == n;
}

TEST(ST_22_ST_23_ST_45_windows_and_counts)
{
	static const int windows[] = { 1, 2, 7, 64, 256 };

	for (int w = 0; w < 5; w++) {
		int window = windows[w], sent;
		int64_t count = -5;

		pair_new(window);
		OK(st_flush(&c, 0, &count));
		check_eq(count, 0);
		OK(st_flush(&c, -1, NULL));
		for (sent = 0; sent < window; sent++)
			OK(nop(sent));
		OK(st_flush(&c, window, &count));
		check_eq(count, window);
		OK(st_flush(&c, -1, &count));
		check_eq(count, window);
		/* One more is with the agent, and not sent. */
		OK(nop(sent++));
		for (int i = 0; i < 20; i++)
			check(count_is(window));
		OK(st_flush(&c, window, NULL));
		OK(o_job(job_read, 0, 0, 1));
		OK(st_flush(&c, sent, &count));
		check_eq(count, window + 1);
		/* Reading goes on as sending does. */
		peer_begin(other(), job_read, 0, 1, 3 * window);
		for (; sent < 3 * window + 1; sent++)
			OK(nop(sent));
		OK(peer_end(other()));
		OK(st_flush(&c, -1, &count));
		check_eq(count, sent);
		pair_end();
		if (test_failed)
			break;
	}
}

TEST(ST_38_a_full_window_blocks)
{
	int64_t count;
	st_header_t h;

	pair_new(4);
	peer_begin(other(), job_send, 0, 0, 100);
	/* It is stuck at the latest a window beyond what may be unread. */
	for (int i = 0; i < 100 && !test_failed; i++) {
		check(i > 88 || !peer_ended(other()));
		OK(rx(c, &h, NULL, -1));
		check_eq(h.opaque, i);
	}
	OK(peer_end(other()));
	OK(o_flush(0, -1, &count));
	check_eq(count, 100);
	pair_end();
}

TEST(ST_45_thresholds)
{
	int64_t count = -5;

	pair_new(16);
	check_eq(st_flush(&c, -2, &count), EINVAL);
	check_eq(count, 0);
	check_eq(st_flush(&c, INT64_MIN, NULL), EINVAL);
	OK(nop(0));
	OK(nop(1));
	OK(st_flush(&c, 1, &count));
	/* Between nodes the second one may still be under way. */
	check(count == 2 || (across_nodes() && count == 1));
	OK(st_flush(&c, 2, NULL));
	/* Calls that are refused do not count. */
	check_eq(st_tx(&c, NULL, NULL, 0, 0, 0), EINVAL);
	OK(st_flush(&c, 0, &count));
	check_eq(count, 2);
	OK(o_job(job_read, 0, 0, 2));
	/* The count begins with the connection. */
	OK(st_close(c));
	OK(o_close(0));
	join(c, 0);
	OK(st_flush(&c, -1, &count));
	check_eq(count, 0);
	pair_end();
}

struct call {
	pthread_t thread;
	pid_t tid;
	long what;
	int ret;
	int64_t count;
};

static void *thread_call(void *arg)
{
	struct call *call = arg;
	st_header_t h;

	__atomic_store_n(&call->tid, gettid(), __ATOMIC_SEQ_CST);
	switch (call->what) {
	case 'r':
		call->ret = st_rx(&c, &h, NULL, NULL);
		break;
	case 't':
		while (!(call->ret = nop(0)))
			;
		break;
	case 'f':
		call->ret = st_flush(&c, 1000, &call->count);
		break;
	case 's':
		for (int i = 0; i < 500 && !call->ret; i++)
			call->ret = nop(i);
		break;
	case 'c':
		call->ret = st_close(c);
		break;
	case 'd':
		call->ret = st_delete(c);
		break;
	}
	return NULL;
}

static struct call *call_begin(int what)
{
	struct call *call = calloc(1, sizeof(*call));

	call->what = what;
	call->ret = 0;
	check_eq(pthread_create(&call->thread, NULL, thread_call, call), 0);
	while (!__atomic_load_n(&call->tid, __ATOMIC_SEQ_CST))
		usleep(100);
	return call;
}

static int call_end(struct call *call)
{
	int ret;

	pthread_join(call->thread, NULL);
	ret = call->ret;
	free(call);
	return ret;
}

TEST(ST_45_a_threshold_that_other_threads_reach)
{
	struct call *flush, *sender[2];

	pair_new(64);
	flush = call_begin('f');
	peer_begin(other(), job_read, 0, 0, 0);
	OK(peer_end(other()));
	sender[0] = call_begin('s');
	sender[1] = call_begin('s');
	for (int i = 0; i < 1000; i++) {
		st_header_t h;

		OK(o_rx(0, &h, NULL, -1));
	}
	OK(call_end(sender[0]));
	OK(call_end(sender[1]));
	pthread_join(flush->thread, NULL);
	check_eq(flush->ret, 0);
	check_eq(flush->count, 1000);
	free(flush);
	pair_end();
}

/* ---- ends -------------------------------------------------------------------------------- */

TEST(ST_28_ST_48_14_what_was_sent_before_a_close_is_read)
{
	st_header_t h;
	int64_t count;
	st_mhandle_t m;
	int mx;

	pair_new(64);
	OK(st_map(&c, ST_PIN_RX, mem, PAGE, 0, 1, &m, &mx));
	OK(o_job(job_send, 0, 0, 50));
	OK(o_close(0));
	for (int i = 0; i < 50; i++) {
		OK(rx(c, &h, NULL, -1));
		check_eq(h.opaque, i);
	}
	for (int i = 0; i < 3; i++)
		check_eq(rx(c, &h, NULL, -1), ECONNRESET);
	check_eq(rx(c, &h, NULL, 0), ECONNRESET);
	check_eq(nop(0), ECONNRESET);
	count = -1;
	check(st_flush(&c, -1, &count) == 0 || errno == ECONNRESET);
	check_eq(count, 0);
	check_eq(st_flush(&c, 5, &count), ECONNRESET);
	/* Options are those of the connection, and the maps are there. */
	check_eq(get(c, ST_OPT_RX_WINDOW_REMOTE), 64);
	check_eq(st_accept(c), EISCONN);
	OK(st_unmap(&m));
	OK(st_close(c));
	check_eq(st_close(c), ENOTCONN);
	pair_end();
}

TEST(ST_28_close_waits_for_what_was_sent)
{
	struct call *closer;
	st_header_t h;

	pair_new(4);
	for (int i = 0; i < 5; i++)
		OK(nop(i));
	closer = call_begin('c');
	/* The last one is not sent yet. */
	for (int i = 0; i < 5; i++) {
		OK(o_rx(0, &h, NULL, -1));
		check_eq(h.opaque, i);
	}
	check_eq(o_rx(0, &h, NULL, -1), ECONNRESET);
	OK(call_end(closer));
	pair_end();
}

static bool asleep(pid_t tid)
{
	char stat[256], *p;

	read_proc(tid, "stat", stat, sizeof(stat));
	p = strrchr(stat, ')');
	return p && p[2] == 'S';
}

/* The thread sleeps; some kernels do not let an ordinary user see where. */
static bool sleeps(const struct call *call)
{
	for (int i = 0; i < 2000; i++) {
		if (ordinary() ? asleep(call->tid) :
				 asleep_in(call->tid, SYS_ppoll) || asleep_in(call->tid, SYS_ioctl) ||
				 asleep_in(call->tid, SYS_futex))
			return true;
		usleep(1000);
	}
	return false;
}

TEST(ST_28_ST_24_close_ends_the_calls_of_other_threads)
{
	struct call *reader[2], *sender, *flush;

	pair_new(4);
	reader[0] = call_begin('r');
	reader[1] = call_begin('r');
	sender = call_begin('t');
	check(sleeps(reader[0]) && sleeps(reader[1]) && sleeps(sender));
	flush = call_begin('f');
	/* The other end reads nothing until this one closes: let it. */
	peer_begin(other(), job_read, 0, 0, 0);
	OK(peer_end(other()));
	{
		struct call *closer = call_begin('c');
		st_header_t h;

		while (o_rx(0, &h, NULL, -1) == 0)
			;
		OK(call_end(closer));
	}
	check(call_end(reader[0]) != 0);
	check(call_end(reader[1]) != 0);
	check(call_end(sender) != 0);
	check(call_end(flush) != 0);
	/* The handle is idle. */
	check_eq(st_close(c), ENOTCONN);
	OK(o_close(0));
	join(c, 0);
	OK(nop(1));
	OK(o_job(job_read, 0, 1, 1));
	pair_end();
}

TEST(ST_3_ST_24_delete_ends_the_calls_of_other_threads)
{
	struct call *reader[3], *deleter;

	pair_new(4);
	for (int i = 0; i < 3; i++)
		reader[i] = call_begin('r');
	for (int i = 0; i < 3; i++)
		check(sleeps(reader[i]));
	deleter = call_begin('d');
	for (int i = 0; i < 3; i++)
		check_eq(call_end(reader[i]), EBADF);
	OK(call_end(deleter));
	OK(o_delete(0));
}

TEST(ST_48_14_a_peer_that_is_gone_wakes_sleepers)
{
	struct call *reader, *sender;

	pair_new(4);
	reader = call_begin('r');
	sender = call_begin('t');
	check(sleeps(reader) && sleeps(sender));
	OK(o_delete(0));
	check_eq(call_end(reader), ECONNRESET);
	check_eq(call_end(sender), ECONNRESET);
	OK(st_delete(c));
}

/* ---- threads ------------------------------------------------------------------------------ */

static long job_echo(long end, long count, long z)
{
	st_header_t h;
	int ret = 0;

	for (long i = 0; i < count && !ret; i++) {
		ret = rx(o_end[end], &h, NULL, -1);
		if (!ret)
			ret = st_tx(&o_end[end], &h, NULL, 0, 0, 0);
	}
	return ret;
}

/* A process of this node, @near, or of that of the other one. */
static long job_dial(long end, long port, long near)
{
	char service[16];
	int ret = st_create(&o_end[end]);

	snprintf(service, sizeof(service), "%ld", port);
	return ret ? ret : st_connect(o_end[end], near ? NULL : there(), service);
}

/* An ordinary user cannot start one at the other node. */
static struct peer *third_new(void)
{
	other();
	return ordinary() ? peer_start_near() : peer_new();
}

static st_chandle_t l;

/* Accept another process. */
static void accept_from(struct peer *p)
{
	int port = own_port();
	char service[16];

	snprintf(service, sizeof(service), "%d", port);
	OK(st_create(&l));
	OK(st_listen(l, NULL, service));
	peer_begin(p, job_dial, 0, port, ordinary());
	OK(st_accept(l));
	OK(peer_end(p));
}

/* Headers and answers of the other connection. */
static void others_go_on(void)
{
	st_header_t h;

	peer_begin(other(), job_echo, 0, 300, 0);
	for (int i = 0; i < 300 && !test_failed; i++) {
		OK(nop(i));
		OK(rx(c, &h, NULL, 20000));
		check_eq(h.opaque, i);
	}
	OK(peer_end(other()));
}

static void *thread_fill(void *arg)
{
	st_header_t h = header(ST_OP_NOP);
	long ret;

	do {
		ret = st_tx(&l, &h, NULL, 0, 0, 0);
		__atomic_add_fetch((int *)arg, !ret, __ATOMIC_RELAXED);
	} while (!ret);
	return (void *)ret;
}

TEST(ST_38_a_peer_that_floods_delays_no_other)
{
	struct peer *flood = third_new();

	pair_new(16);
	accept_from(flood);
	/* This end does not read. */
	peer_begin(flood, job_send, 0, 0, 100000);
	others_go_on();
	check(!peer_ended(flood));
	OK(st_delete(l));
	check_eq(peer_end(flood), ECONNRESET);
	peer_kill(flood);
	pair_end();
}

TEST(ST_38_ST_48_14_a_peer_that_stops_delays_no_other)
{
	struct peer *stopped = third_new();
	pthread_t thread;
	int sent = 0;
	void *ret;

	pair_new(16);
	accept_from(stopped);
	check_eq(kill(stopped->pid, SIGSTOP), 0);
	check_eq(pthread_create(&thread, NULL, thread_fill, &sent), 0);
	/* The window of that end is 64. */
	while (__atomic_load_n(&sent, __ATOMIC_RELAXED) < 64)
		usleep(100);
	others_go_on();
	check(__atomic_load_n(&sent, __ATOMIC_RELAXED) < 1000);
	peer_kill(stopped);
	pthread_join(thread, &ret);
	check_eq((long)ret, ECONNRESET);
	OK(st_delete(l));
	pair_end();
}

#define THREADS	4
#define EACH	500

static unsigned int seen[THREADS * EACH];

static void *thread_send(void *arg)
{
	long first = (long)arg, ret = 0;

	for (int i = 0; i < EACH && !ret; i++)
		ret = nop(first + i);
	return (void *)ret;
}

static void *thread_read(void *arg)
{
	st_header_t h;
	int ret = 0;

	for (int i = 0; i < EACH && !ret; i++) {
		ret = st_rx(&c, &h, NULL, NULL);
		if (!ret)
			__atomic_add_fetch(&seen[h.opaque], 1, __ATOMIC_RELAXED);
	}
	return (void *)(long)ret;
}

TEST(ST_24_threads_share_a_connection)
{
	pthread_t threads[2 * THREADS];
	void *ret;

	pair_new(16);
	memset(seen, 0, sizeof(seen));
	peer_begin(other(), job_echo, 0, THREADS * EACH, 0);
	for (long i = 0; i < THREADS; i++) {
		pthread_create(&threads[i], NULL, thread_read, NULL);
		pthread_create(&threads[THREADS + i], NULL, thread_send, (void *)(i * EACH));
	}
	for (int i = 0; i < 2 * THREADS; i++) {
		pthread_join(threads[i], &ret);
		check(!ret);
	}
	OK(peer_end(other()));
	for (int i = 0; i < THREADS * EACH; i++)
		check_eq(seen[i], 1);
	pair_end();
}
