// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_figures.c - ST: what headers and Data cost, in time, instructions and system calls
 *
 * One process has both ends of two connections, of ST and of libdd, on the direct path: so no
 * other processor, and no wait, is part of the figures. It executes a call one instruction, or from
 * one system call to the next, at a time; a longer series of calls less a shorter one is what one
 * of them costs.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dd_mem.h"
#include "pair.h"

#define LARGE	(1 << 20)
#define SMALL	1024	/* each byte may be an instruction */

enum kind { DD_HEADER, HEADER, DD_DATA, DATA, WHOLE, KINDS };
static const char *const names[] = {
	"dd_send() and dd_recv() of 48 bytes", "st_tx() and st_rx() of a header",
	"dd_put()", "st_tx() of silent Data, 16 STUs", "the same as one STU",
};

static struct dd *h;
static int conn, list;
static char *out;
static struct dd_mem *put;
static st_chandle_t l;
static st_header_t nop, data;

/* Both ends of a connection, and of a segment, of libdd. */
static int dd_ends(void)
{
	struct dd_serve_attr serve = { .size = sizeof(serve), .maxconn = 1, .window = 64,
				       .recv_size = PAGE };
	struct dd_connect_attr dial = { .size = sizeof(dial), .type = DD_TYPE_STREAM,
					.window = 64, .send_size = PAGE, .recv_size = PAGE,
					.flags = DD_ATTR_ANON };
	struct dd_export_attr segment = { .size = sizeof(segment), .addr = st_malloc(LARGE),
					  .len = LARGE, .key_class = DD_KEY_ID,
					  .rights = DD_CAN_PUT | DD_CAN_GET,
					  .notify = DD_NOTIFY_NEVER, .importers = 1 };
	uint64_t number;
	void *p;

	if (dd_open(&h) || dd_alloc(h, PAGE, &serve.recv) || dd_alloc(h, PAGE, &dial.recv) ||
	    dd_alloc(h, PAGE, &p) || dd_serve(h, "st_figures", &serve, &list) < 0)
		return -1;
	out = dial.send = p;
	conn = dd_connect(h, "st_figures", dd_node(h), &dial, NULL);
	return conn < 0 || dd_pin(h, segment.addr, LARGE) || dd_export(h, &segment, &number) ||
	       dd_import(h, dd_node(h), DD_KEY_ID, segment.key, DD_CAN_PUT | DD_CAN_GET, &put);
}

static int accept_one(void *unused)
{
	return st_accept(l);
}

static int st_ends(void)
{
	static st_mhandle_t m[2];
	struct thread *accepting;
	int mx;

	if (st_create(&c) || st_create(&l) || st_listen(l, NULL, "1800"))
		return -1;
	accepting = thread_begin(accept_one, NULL);
	if (st_connect(c, NULL, "1800") || thread_end(accepting) ||
	    st_map(&l, ST_PIN_RX, st_malloc(LARGE), LARGE, 0, -1, &m[0], &mx) ||
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
	memset(mem, 1, LARGE);
	return dd_ends() || st_ends();
}

static int call(enum kind kind, uint32_t bytes)
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
		return dd_put(put, mem, bytes, 0, 0);
	default:
		return st_tx(&c, &data, NULL, bytes, 0, 0);
	}
}

static int calls(enum kind kind, long times, uint32_t bytes)
{
	int ret = 0;

	while (times-- > 0 && !ret)
		ret = call(kind, bytes);
	return ret;
}

static int prepare(enum kind kind, uint32_t bytes)
{
	return set(c, ST_OPT_MAXSTU_REMOTE, kind == WHOLE ? ST_STU_UNLIMITED : bytes / 16);
}

static long job_call(long kind, long times, long bytes)
{
	int ret = prepare(kind, bytes);

	raise(SIGUSR1);
	ret = ret ? ret : calls(kind, times, bytes);
	raise(SIGUSR2);
	return ret;
}

static long nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
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
			if (prepare(kind, LARGE))
				return -1;
			t = nanoseconds();
			if (calls(kind, times, LARGE))
				return -1;
			t = (nanoseconds() - t) * 100 / times;
			best[kind] = t < best[kind] ? t : best[kind];
		}
	}
	return 0;
}

/* The shorter series; the longer one has three times as many calls. */
static long series(enum kind kind)
{
	return kind < DD_DATA ? 10 : 4;
}

/* What a longer series of calls takes more than a shorter one, of what @count counts. */
static long more(enum kind kind, long (*count)(struct worker *w, job_t job, long a, long b, long c))
{
	return count(other(), job_call, kind, 3 * series(kind), SMALL) -
	       count(other(), job_call, kind, series(kind), SMALL);
}

TEST(ST_38_ST_44_cost_of_headers_and_data)
{
	long best[KINDS], n[KINDS];

	OK(o_job(job_setup, 0, 0, 0));
	OK(o_job(job_time, 0, 0, 0));
	memcpy(best, other()->shm->data, sizeof(best));
	for (int kind = 0; kind < KINDS; kind++) {
		n[kind] = more(kind, worker_steps) / (2 * series(kind));
		printf("# %s: %.1f ns%s, %ld instructions%s\n", names[kind], best[kind] / 100.,
		       kind < DD_DATA ? "" : " for 1 MiB", n[kind],
		       kind < DD_DATA ? "" : " for 1 KiB");
		/* The receiver does not sleep, so there is no system call. */
		check_eq(more(kind, worker_syscalls), 0);
	}
	/* Data costs what the bytes cost, and less than two headers beside. */
	check(n[DATA] - n[DD_DATA] <= 2 * n[HEADER]);
	/* The number of STUs is computed: they are put as one. */
	check(n[DATA] - n[WHOLE] <= 32);
}
