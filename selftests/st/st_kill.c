// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_kill.c - ST: processes that are killed at any time
 *
 * Two processes listen, connect, map, send, get, unmap and close, in a random order; one of them
 * is killed at any time, and another one takes its place. The survivor sees no other errors than
 * those of the end of a connection, and goes on. Run on one node, or by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pair.h"

#define ROUNDS	400	/* or ST_ROUNDS in the environment; half of them for either end */
#define PORT	"1234"

/* Shared by all processes. */
static struct {
	volatile int stop;
	volatile int connections;
	volatile int headers;
} *all;

/* Read what there is: 0, or an error. */
static int drain(void)
{
	st_header_t h;
	int ret;

	while (!(ret = rx(c, &h, NULL, 0)))
		all->headers++;
	return ret == EWOULDBLOCK ? 0 : ret;
}

static int step(int mx, int what)
{
	st_header_t h = header(what % 4 == 0 ? ST_OP_GET : what % 4 == 1 ? ST_OP_NOP : ST_OP_DATA);
	unsigned char pay[ST_PAYLOAD] = { 1 };
	int ret = drain();

	if (ret)
		return ret;
	h.mx = mx;
	h.bufx = what % 3;
	h.flags = what % 5 == 0 ? ST_FLAG_SILENT : 0;
	if (what % 17 == 0)
		return st_flush(&c, what % 2 ? -1 : 0, NULL);
	return st_tx(&c, &h, pay, 1 + what % (2 * PAGE), what % 2, 0);
}

/* What both do with a connection: 0, or an error. */
static int exchange(void)
{
	st_header_t h = header(ST_OP_MEMORY_REGION_AVAILABLE);
	st_mhandle_t m;
	int ret, mx;

	all->connections++;
	ret = st_map(&c, ST_PIN_RX | ST_PIN_TX, mem, 4 * PAGE, 0, -1, &m, &mx);
	if (ret)
		return ret;
	h.mx = mx;
	ret = st_tx(&c, &h, NULL, 0, 0, 0);
	if (!ret)
		ret = st_rx(&c, &h, NULL, NULL);
	for (int n = rand() % 40; n > 0 && !ret; n--)
		ret = step(h.mx, rand());
	if (rand() % 2 && st_unmap(&m))
		return 7777;
	return ret;
}

static int serve(void)
{
	int ret = st_listen(c, NULL, PORT);

	return ret ? ret : st_accept(c);
}

/* Until the test stops: 0, or an error that it should not have got. */
static long job_live(long serves, long seed, long x)
{
	int ret;

	srand(seed);
	while (!all->stop) {
		ret = st_create(&c);
		if (ret)
			return ret;
		ret = serves ? serve() : st_connect(c, there(), PORT);
		if (!ret && !all->stop)
			ret = exchange();
		if (ret == ECONNREFUSED && !serves)
			usleep(200);
		else if (ret && ret != ECONNRESET)
			return ret;
		ret = st_delete(c);
		if (ret)
			return ret;
	}
	return 0;
}

static struct worker *live(bool serves, int seed)
{
	struct worker *p = serves ? worker_new(HERE) : peer_new();

	worker_begin(p, job_live, serves, seed, 0);
	return p;
}

/* Neither has seen what it should not. */
static bool alive(struct worker *const *p)
{
	for (int serves = 0; serves < 2; serves++) {
		if (!worker_ready(p[serves]))
			continue;
		printf("# the %s: error %ld\n", serves ? "server" : "client",
		       worker_result(p[serves]));
		check(!"a survivor sees the end of its connection only");
		return false;
	}
	return true;
}

/* Wait until both have one more connection. */
static bool connected(struct worker *const *p)
{
	for (int seen = all->connections; all->connections < seen + 2 && alive(p);)
		usleep(100);
	return alive(p);
}

TEST(ST_3_ST_28_ST_48_14_processes_are_killed_at_any_time)
{
	const char *rounds = getenv("ST_ROUNDS");
	struct worker *p[2];
	int victim;

	all = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	srand(1);
	for (int serves = 0; serves < 2; serves++)
		p[serves] = live(serves, serves + 1);
	for (int i = 0; i < (rounds ? atoi(rounds) : ROUNDS); i++) {
		/* In some rounds while they connect, in others later. */
		if (i % 4 < 2 && !connected(p))
			return;
		usleep(rand() % 3000);
		if (!alive(p))
			return;
		victim = i % 2;
		worker_end(p[victim]);
		p[victim] = live(victim, i + 3);
	}
	/* They go on with each other. */
	for (int i = 0; i < 10; i++)
		check(connected(p));
	printf("# %d connections, %d headers\n", all->connections, all->headers);
	all->stop = 1;
	/* Either may wait for the other one. */
	for (int i = 0; i < 2; i++)
		worker_end(p[i]);
}
