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
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "pair.h"

/* The other end permits @window unread headers, and so does this one. */
static void begin(int window)
{
	PAIR({ ST_OPT_RX_WINDOW_LOCAL, window });
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

		begin(window);
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
		worker_begin(other(), job_read, 0, 1, 3 * window);
		for (; sent < 3 * window + 1; sent++)
			OK(nop(sent));
		OK(worker_result(other()));
		OK(st_flush(&c, -1, &count));
		check_eq(count, sent);
		pair_end();
		if (test_failed)
			break;
	}
}

TEST(ST_45_thresholds)
{
	int64_t count = -5;

	begin(16);
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

/* Calls of threads. */
static int read_one(void *unused)
{
	st_header_t h;

	return st_rx(&c, &h, NULL, NULL);
}

static int send_for_ever(void *unused)
{
	int ret;

	while (!(ret = nop(0)))
		;
	return ret;
}

static int flush_1000(void *count)
{
	return st_flush(&c, 1000, count);
}

static int close_it(void *unused)
{
	return st_close(c);
}

static int delete_it(void *unused)
{
	return st_delete(c);
}

#define EACH	500

static int send_each(void *first)
{
	int ret = 0;

	for (int i = 0; i < EACH && !ret; i++)
		ret = nop((long)first + i);
	return ret;
}

/* ---- ends -------------------------------------------------------------------------------- */

TEST(ST_28_ST_48_14_what_was_sent_before_a_close_is_read)
{
	st_header_t h;
	int64_t count;
	st_mhandle_t m;
	int mx;

	begin(64);
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
	struct thread *closer;
	st_header_t h;

	begin(4);
	for (int i = 0; i < 5; i++)
		OK(nop(i));
	closer = thread_begin(close_it, NULL);
	/* The last one is not sent yet. */
	for (int i = 0; i < 5; i++) {
		OK(o_rx(0, &h, NULL, -1));
		check_eq(h.opaque, i);
	}
	check_eq(o_rx(0, &h, NULL, -1), ECONNRESET);
	OK(thread_end(closer));
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
static bool sleeps(const struct thread *t)
{
	for (int i = 0; i < 2000; i++) {
		if (ordinary() ? asleep(t->tid) :
				 asleep_in(t->tid, SYS_ppoll) || asleep_in(t->tid, SYS_ioctl) ||
				 asleep_in(t->tid, SYS_futex))
			return true;
		usleep(1000);
	}
	return false;
}

TEST(ST_28_ST_24_close_ends_the_calls_of_other_threads)
{
	struct thread *reader[2], *sender, *flush, *closer;
	int64_t count;
	st_header_t h;

	begin(4);
	reader[0] = thread_begin(read_one, NULL);
	reader[1] = thread_begin(read_one, NULL);
	sender = thread_begin(send_for_ever, NULL);
	check(sleeps(reader[0]) && sleeps(reader[1]) && sleeps(sender));
	flush = thread_begin(flush_1000, &count);
	/* The other end reads nothing until this one closes: let it. */
	OK(o_job(job_read, 0, 0, 0));
	closer = thread_begin(close_it, NULL);
	while (o_rx(0, &h, NULL, -1) == 0)
		;
	OK(thread_end(closer));
	check(thread_end(reader[0]) != 0);
	check(thread_end(reader[1]) != 0);
	check(thread_end(sender) != 0);
	check(thread_end(flush) != 0);
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
	struct thread *reader[3], *deleter;

	begin(4);
	for (int i = 0; i < 3; i++)
		reader[i] = thread_begin(read_one, NULL);
	for (int i = 0; i < 3; i++)
		check(sleeps(reader[i]));
	deleter = thread_begin(delete_it, NULL);
	for (int i = 0; i < 3; i++)
		check_eq(thread_end(reader[i]), EBADF);
	OK(thread_end(deleter));
	OK(o_delete(0));
}

TEST(ST_48_14_a_peer_that_is_gone_wakes_sleepers)
{
	struct thread *reader[3], *sender;

	begin(4);
	for (int i = 0; i < 3; i++)
		reader[i] = thread_begin(read_one, NULL);
	sender = thread_begin(send_for_ever, NULL);
	check(sleeps(reader[0]) && sleeps(reader[1]) && sleeps(reader[2]) && sleeps(sender));
	OK(o_delete(0));
	for (int i = 0; i < 3; i++)
		check_eq(thread_end(reader[i]), ECONNRESET);
	check_eq(thread_end(sender), ECONNRESET);
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

/* A process of this node, @near, or of the other one connects to the service in shared memory. */
static long job_dial(long end, long near, long x)
{
	int ret = st_create(&o_end[end]);

	return ret ? ret : st_connect(o_end[end], near ? NULL : there(), (char *)peer_shm->data);
}

/* An ordinary user cannot start one at the other node. */
static struct worker *third_new(void)
{
	other();
	return ordinary() ? worker_new_user(HERE, ALICE) : peer_new();
}

static st_chandle_t l;

/* Accept another process. */
static void accept_from(struct worker *p)
{
	strcpy((char *)p->shm->data, own_service());
	OK(st_create(&l));
	OK(st_listen(l, NULL, (char *)p->shm->data));
	worker_begin(p, job_dial, 0, ordinary(), 0);
	OK(st_accept(l));
	OK(worker_result(p));
}

/* Headers and answers of the other connection. */
static void others_go_on(void)
{
	st_header_t h;

	worker_begin(other(), job_echo, 0, 300, 0);
	for (int i = 0; i < 300 && !test_failed; i++) {
		OK(nop(i));
		OK(rx(c, &h, NULL, 20000));
		check_eq(h.opaque, i);
	}
	OK(worker_result(other()));
}

static int fill(void *sent)
{
	st_header_t h = header(ST_OP_NOP);
	int ret;

	do {
		ret = st_tx(&l, &h, NULL, 0, 0, 0);
		__atomic_add_fetch((int *)sent, !ret, __ATOMIC_RELAXED);
	} while (!ret);
	return ret;
}

TEST(ST_38_a_peer_that_floods_delays_no_other)
{
	struct worker *flood = third_new();

	begin(16);
	accept_from(flood);
	/* This end does not read. */
	worker_begin(flood, job_send, 0, 0, 100000);
	others_go_on();
	check(!worker_ready(flood));
	OK(st_delete(l));
	check_eq(worker_result(flood), ECONNRESET);
	worker_end(flood);
	pair_end();
}

TEST(ST_38_ST_48_14_a_peer_that_stops_delays_no_other)
{
	struct worker *stopped = third_new();
	struct thread *filler;
	int sent = 0;

	begin(16);
	accept_from(stopped);
	check_eq(kill(stopped->pid, SIGSTOP), 0);
	filler = thread_begin(fill, &sent);
	/* The window of that end is 64. */
	while (__atomic_load_n(&sent, __ATOMIC_RELAXED) < 64)
		usleep(100);
	others_go_on();
	check(__atomic_load_n(&sent, __ATOMIC_RELAXED) < 1000);
	worker_end(stopped);
	check_eq(thread_end(filler), ECONNRESET);
	OK(st_delete(l));
	pair_end();
}

#define THREADS	4

static unsigned int seen[THREADS * EACH];

static int read_each(void *unused)
{
	st_header_t h;
	int ret = 0;

	for (int i = 0; i < EACH && !ret; i++) {
		ret = st_rx(&c, &h, NULL, NULL);
		if (!ret)
			__atomic_add_fetch(&seen[h.opaque], 1, __ATOMIC_RELAXED);
	}
	return ret;
}

TEST(ST_24_ST_45_threads_share_a_connection)
{
	struct thread *threads[2 * THREADS], *flush;
	int64_t count = 0;

	begin(16);
	/* Other threads reach its threshold. */
	flush = thread_begin(flush_1000, &count);
	memset(seen, 0, sizeof(seen));
	worker_begin(other(), job_echo, 0, THREADS * EACH, 0);
	for (long i = 0; i < THREADS; i++) {
		threads[i] = thread_begin(read_each, NULL);
		threads[THREADS + i] = thread_begin(send_each, (void *)(i * EACH));
	}
	for (int i = 0; i < 2 * THREADS; i++)
		OK(thread_end(threads[i]));
	OK(thread_end(flush));
	check(count >= 1000);
	OK(worker_result(other()));
	for (int i = 0; i < THREADS * EACH; i++)
		check_eq(seen[i], 1);
	pair_end();
}
