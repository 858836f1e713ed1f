// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_kill.c - ST: processes that are killed at any time
 *
 * Two processes listen, connect, map, send, get, unmap and close, in a random order; one of them
 * is killed, at any time or right before a certain call, and another one takes its place. The
 * survivor sees no other errors than those of the end of a connection, and goes on. Run on one node,
 * or by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"

#define ROUNDS	400	/* or ST_ROUNDS in the environment; half of them for either end */
#define PORT	"1234"

/* Calls of the processes. */
enum step { CREATE, OPEN, ACCEPT, MAP, ANNOUNCE, READ, TRANSMIT, FLUSH, UNMAP, DELETE, STEPS };

/*
 * Shared by all processes. @doomed: before which call an end is to be killed, and 1; or 0. @at: the
 * last call.
 */
static struct {
	volatile int stop;
	volatile int connections;
	volatile int headers;
	volatile int doomed[2];
	volatile int at[2];
} *all;

static int own;			/* end of this process: 1 serves */
static struct peer *ends[2];	/* the processes */

static st_chandle_t c;

static void before(enum step step)
{
	all->at[own] = step;
	if (all->doomed[own] == (int)step + 1) {
		all->doomed[own] = 0;
		raise(SIGKILL);
	}
}

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
	before(what % 17 ? TRANSMIT : FLUSH);
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
	before(MAP);
	ret = st_map(&c, ST_PIN_RX | ST_PIN_TX, mem, 4 * PAGE, 0, -1, &m, &mx);
	if (ret)
		return ret;
	h.mx = mx;
	before(ANNOUNCE);
	ret = st_tx(&c, &h, NULL, 0, 0, 0);
	before(READ);
	if (!ret)
		ret = st_rx(&c, &h, NULL, NULL);
	for (int n = rand() % 40; n > 0 && !ret; n--)
		ret = step(h.mx, rand());
	before(UNMAP);
	if (rand() % 2 && st_unmap(&m))
		return 7777;
	return ret;
}

static int serve(void)
{
	int ret = st_listen(c, NULL, PORT);

	before(ACCEPT);
	return ret ? ret : st_accept(c);
}

/* Until the test stops: 0, or an error that it should not have got. */
static long job_live(long serves, long seed, long x)
{
	int ret;

	if (!mem)
		mem = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	own = serves;
	srand(seed);
	while (!all->stop) {
		before(CREATE);
		ret = st_create(&c);
		if (ret)
			return ret;
		before(OPEN);
		ret = serves ? serve() : st_connect(c, there(), PORT);
		if (!ret && !all->stop)
			ret = exchange();
		if (ret == ECONNREFUSED && !serves)
			usleep(200);
		else if (ret && ret != ECONNRESET)
			return ret;
		before(DELETE);
		ret = st_delete(c);
		if (ret)
			return ret;
	}
	return 0;
}

static struct peer *live(bool serves, int seed)
{
	struct peer *p = serves ? peer_start_near() : peer_new();

	peer_begin(p, job_live, serves, seed, 0);
	return p;
}

/* It has not seen what it should not. */
static bool alive(struct peer *p)
{
	if (!peer_ended(p))
		return true;
	printf("# the %s, call %d: error %ld\n", p == ends[1] ? "server" : "client",
	       all->at[p == ends[1]], peer_end(p));
	check(!"a survivor sees the end of its connection only");
	return false;
}

static bool both_alive(struct peer **p)
{
	return alive(p[0]) && alive(p[1]);
}

/* Wait until both have one more connection. */
static void connected(struct peer **p)
{
	for (int seen = all->connections; all->connections < seen + 2 && both_alive(p);)
		usleep(100);
}

/* Any time: in some rounds while they connect, in others later. */
static bool time_passes(struct peer **p, bool connects)
{
	const struct timespec t = { .tv_nsec = rand() % 3000000 };

	if (!connects)
		connected(p);
	nanosleep(&t, NULL);
	return both_alive(p);
}

/* The victim ends before a call that it makes. */
static bool call_comes(struct peer **p, int victim, enum step step)
{
	if (step == ACCEPT && !victim)
		step = OPEN;
	all->doomed[victim] = step + 1;
	while (all->doomed[victim] && alive(p[!victim])) {
		/* It ended in another way. */
		if (peer_ended(p[victim]) && all->doomed[victim])
			return alive(p[victim]);
		usleep(100);
	}
	return !all->doomed[victim];
}

TEST(ST_3_ST_28_ST_48_14_processes_are_killed_at_any_time)
{
	const char *rounds = getenv("ST_ROUNDS");
	struct peer **p = ends;

	all = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	srand(1);
	p[0] = live(false, 1);
	p[1] = live(true, 2);
	for (int i = 0; i < (rounds ? atoi(rounds) : ROUNDS) && !test_failed; i++) {
		int victim = i % 2;

		if (!(i % 4 < 2 ? time_passes(p, i % 8 < 2) :
				  call_comes(p, victim, i / 4 % STEPS)))
			return;
		peer_kill(p[victim]);
		p[victim] = live(victim, i + 3);
	}
	/* They go on with each other. */
	for (int i = 0; i < 10; i++)
		connected(p);
	printf("# %d connections, %d headers\n", all->connections, all->headers);
	all->stop = 1;
	/* Either may wait for the other one. */
	for (int i = 0; i < 2; i++)
		peer_kill(p[i]);
}
