// SPDX-License-Identifier: GPL-2.0-only
/*
 * random - RandomChain, RandomOne2All and RandomAll2All, by its name
 *
 *   PROGRAM NUM_NODES NWORDS ITERATIONS [HOST:PID ...]         checks all words
 *   PROGRAM worker                      a peer that was not spawned; prints HOST:PID
 *
 * RandomChain: A sends to B, B to C, and so on, to A. RandomOne2All: A sends to the others, these to
 * B, B to the others, and so on, to A. RandomAll2All: all send to all. A is the master, the others
 * are drawn.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <libgen.h>
#include <stdio.h>

#include "group.h"

enum { CHAIN, ONE_TO_ALL, ALL_TO_ALL, PATTERNS };

static const char *const names[] = { "RandomChain", "RandomOne2All", "RandomAll2All", NULL };

static void move(struct group *g, int from, int to, int32 value)
{
	if (from == to)
		return;
	if (g->rank == from)
		group_send(g, to, g->nwords, value);
	if (g->rank == to)
		group_wait(g, from, g->nwords, value);
}

/* The next process of a round; the master in the last one. */
static int draw(const struct group *g, unsigned int *state, int last)
{
	int next = group_random(state, g->count);

	return last ? 0 : next;
}

static void one_to_all(struct group *g, int from, int to, int32 value)
{
	for (int i = 0; i < g->count; i++)
		move(g, from, i, value);
	for (int i = 0; i < g->count; i++)
		move(g, i, to, value);
	/* A part may be written again. */
	group_barrier(g);
}

static void all_to_all(struct group *g, int32 value)
{
	for (int i = 0; i < g->count; i++)
		if (i != g->rank)
			group_send(g, i, g->nwords, value);
	for (int i = 0; i < g->count; i++)
		if (i != g->rank)
			group_wait(g, i, g->nwords, value);
	group_barrier(g);
}

static void run(struct group *g, int pattern, int32 rounds)
{
	unsigned int state = 1;
	int from = 0, to;

	for (int32 i = 1; i <= rounds; i++, from = to) {
		to = draw(g, &state, i == rounds);
		switch (pattern) {
		case CHAIN:
			move(g, from, to, i);
			break;
		case ONE_TO_ALL:
			one_to_all(g, from, to, 2 * i);
			break;
		default:
			all_to_all(g, i);
		}
	}
	group_barrier(g);
}

int main(int argc, char **argv)
{
	const char *name = basename(argv[0]);
	struct group g;
	int32 param[3];
	const int pattern = group_pattern(names, name);
	double time;

	if (group_is_worker(argc, argv)) {
		group_join(&g);
	} else {
		if (argc < 4 || !group_peers(argc, 4, group_number(argv[1])))
			errx(2, "usage: %s NUM_NODES NWORDS ITERATIONS [HOST:PID ...] | worker", name);
		param[0] = group_number(argv[2]);
		param[1] = group_number(argv[3]);
		param[2] = pattern;
		group_make(&g, param, 3, group_number(argv[1]), argv[0], argv + 4);
	}
	if (g.param[2] != pattern)
		errx(2, "the peer is %s", names[g.param[2] % PATTERNS]);
	group_buffers(&g, g.param[0]);
	time = group_seconds();
	run(&g, pattern, g.param[1]);
	if (!g.rank)
		printf("%s: %d processes, %d words, %d rounds: good, %.2f s\n", name, g.count,
		       g.param[0], g.param[1], group_seconds() - time);
	return 0;
}
