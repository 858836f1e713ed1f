// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_figures.c - ST: what headers and Data cost, in time, instructions and system calls
 *
 * One process has both ends of two connections, of ST and of libdd, on the direct path: so no
 * other processor, and no wait, is part of the figures. It executes a call one instruction, or from
 * one system call to the next, at a time; a longer series of calls less a shorter one is what one of
 * them costs.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dd_mem.h"
#include "pair.h"

#define LARGE	(1 << 20)

enum kind { DD_HEADER, HEADER, DD_DATA, DATA, WHOLE, KINDS };
static const char *const names[] = {
	"dd_send() and dd_recv() of 48 bytes", "st_tx() and st_rx() of a header",
	"dd_put() of 1 MiB", "st_tx() of 1 MiB of silent Data, tiled", "the same as one STU",
};

static struct dd *h;
static int conn, list;
static char *out;
static struct dd_mem *put;
static st_chandle_t c, l;
static st_header_t nop, data;

static void *thread_accept(void *arg)
{
	return st_accept(l) ? arg : NULL;
}

/* Both ends of a connection of libdd. */
static int dd_pair(void)
{
	struct dd_serve_attr serve = { .size = sizeof(serve), .maxconn = 1, .window = 64,
				       .recv_size = PAGE };
	struct dd_connect_attr dial = { .size = sizeof(dial), .type = DD_TYPE_STREAM,
					.window = 64, .send_size = PAGE, .recv_size = PAGE,
					.flags = DD_ATTR_ANON };
	void *p;

	if (dd_open(&h) || dd_alloc(h, PAGE, &serve.recv) || dd_alloc(h, PAGE, &dial.recv) ||
	    dd_alloc(h, PAGE, &p) ||
	    dd_serve(h, "st_figures", &serve, &list) < 0)
		return -2;
	out = dial.send = p;
	conn = dd_connect(h, "st_figures", dd_node(h), &dial, NULL);
	return conn;
}

static int dd_segment(void)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .addr = st_malloc(LARGE), .len = LARGE,
		.key_class = DD_KEY_ID, .rights = DD_CAN_PUT | DD_CAN_GET,
		.notify = DD_NOTIFY_NEVER, .importers = 1,
	};
	uint64_t number;

	int ret = dd_pin(h, attr.addr, LARGE);

	if (!ret)
		ret = dd_export(h, &attr, &number);
	return ret ? ret : dd_import(h, dd_node(h), DD_KEY_ID, attr.key,
				     DD_CAN_PUT | DD_CAN_GET, &put);
}

static int st_pair(void)
{
	static st_mhandle_t m[2];
	pthread_t thread;
	void *bad;
	int mx;

	if (st_create(&c) || st_create(&l) || st_listen(l, NULL, "1800") ||
	    pthread_create(&thread, NULL, thread_accept, &mx) || st_connect(c, NULL, "1800"))
		return -1;
	pthread_join(thread, &bad);
	if (bad || st_map(&l, ST_PIN_RX, st_malloc(LARGE), LARGE, 0, -1, &m[0], &mx) ||
	    st_map(&c, ST_PIN_TX, mem, LARGE, 0, -1, &m[1], NULL))
		return -1;
	nop = header(ST_OP_NOP);
	data = header(ST_OP_DATA);
	data.flags = ST_FLAG_SILENT;
	data.mx = mx;
	return 0;
}

static long job_setup(long a, long b, long x)
{
	int ret = dd_pair();

	if (ret < 0)
		return ret;
	memset(mem, 1, LARGE);
	ret = dd_segment();
	return ret ? ret : st_pair();
}

static int call(enum kind kind)
{
	st_header_t got;
	struct dd_msg msg;

	switch (kind) {
	case DD_HEADER:
		return dd_send(h, conn, out, 48, 0, 0, NULL, 0) ||
		       dd_recv(h, list, &msg, 0, DD_FOREVER);
	case HEADER:
		return st_tx(&c, &nop, NULL, 0, 0, 0) || st_rx(&l, &got, NULL, NULL);
	case DD_DATA:
		return dd_put(put, mem, LARGE, 0, 0);
	default:
		return st_tx(&c, &data, NULL, LARGE, 0, 0);
	}
}

static int prepare(enum kind kind)
{
	return set(c, ST_OPT_MAXSTU_REMOTE, kind == WHOLE ? ST_STU_UNLIMITED : 65536);
}

static long job_call(long kind, long times, long x)
{
	int ret = prepare(kind);

	raise(SIGUSR1);
	while (times-- > 0 && !ret)
		ret = call(kind);
	raise(SIGUSR2);
	return ret;
}

static long nanoseconds(enum kind kind, long times)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (long n = times; n-- > 0;)
		if (call(kind))
			return -1;
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (b.tv_sec - a.tv_sec) * 1000000000l + b.tv_nsec - a.tv_nsec;
}

/* The shortest of many series of calls, which take turns, in hundredths of a nanosecond. */
static long job_time(long a, long b, long x)
{
	long *best = (long *)peer_shm->data, t, times;

	for (int kind = 0; kind < KINDS; kind++)
		best[kind] = 1l << 60;
	for (int i = 0; i < 300; i++) {
		for (int kind = 0; kind < KINDS; kind++) {
			times = kind < DD_DATA ? 1000 : 1;
			if (prepare(kind))
				return -1;
			t = nanoseconds(kind, times);
			if (t < 0)
				return -1;
			if (t * 100 / times < best[kind])
				best[kind] = t * 100 / times;
		}
	}
	return 0;
}

static int stopped(void)
{
	pid_t pid = other()->pid;
	int status;

	return waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/* How often a series of calls stops, with PTRACE_SINGLESTEP or PTRACE_SYSCALL. */
static long stops(enum __ptrace_request request, enum kind kind, int times)
{
	pid_t pid = other()->pid;
	long n = 0;
	int sig;

	peer_begin(other(), job_call, kind, times, 0);
	check_eq(stopped(), SIGUSR1);
	do {
		ptrace(request, pid, 0, 0);
		sig = stopped();
		n += sig == SIGTRAP;
	} while (sig == SIGTRAP);
	check_eq(sig, SIGUSR2);
	ptrace(PTRACE_CONT, pid, 0, 0);
	OK(peer_end(other()));
	return n;
}

static long cost(enum kind kind)
{
	return (stops(PTRACE_SINGLESTEP, kind, 30) - stops(PTRACE_SINGLESTEP, kind, 10)) / 20;
}

TEST(ST_38_ST_44_cost_of_headers_and_data)
{
	long best[KINDS], n[KINDS];

	OK(o_job(job_setup, 0, 0, 0));
	OK(o_job(job_time, 0, 0, 0));
	memcpy(best, other()->shm->data, sizeof(best));
	check_eq(ptrace(PTRACE_SEIZE, other()->pid, 0, 0), 0);
	for (int kind = 0; kind < DD_DATA; kind++)
		n[kind] = cost(kind);
	/* The receiver does not sleep, so there is no system call. */
	for (int kind = 0; kind < KINDS; kind++)
		check_eq(stops(PTRACE_SYSCALL, kind, 30), stops(PTRACE_SYSCALL, kind, 10));
	for (int kind = 0; kind < KINDS; kind++)
		printf("# %s: %.1f ns\n", names[kind], best[kind] / 100.);
	for (int kind = 0; kind < DD_DATA; kind++)
		printf("# %s: %ld instructions\n", names[kind], n[kind]);
	/* Data costs what the bytes cost. */
	check(95 * best[DATA] <= 100 * best[DD_DATA]);
	check(95 * best[DATA] <= 100 * best[WHOLE]);
}
