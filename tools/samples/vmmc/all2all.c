// SPDX-License-Identifier: GPL-2.0-only
/*
 * all2all - every process sends to every other one
 *
 *   all2all pairwise|random NNODES NWORDS NITER [HOST:PID ...]  prints the bandwidth
 *   all2all worker                      a peer that was not spawned; prints HOST:PID
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"

/* The order in which a process serves the others, drawn anew each time if @random. */
static void order(const struct group *g, int *to, int random)
{
	int n = g->count - 1, i, j, kept;

	for (i = 0; i < n; i++)
		to[i] = (g->rank + i + 1) % g->count;
	for (i = n - 1; random && i > 0; i--) {
		j = rand() % (i + 1);
		kept = to[i];
		to[i] = to[j];
		to[j] = kept;
	}
}

int main(int argc, char **argv)
{
	int32 param[3], words, rounds, i;
	int to[GROUP_MAX], j;
	struct group g;
	double time;

	if (group_is_worker(argc, argv)) {
		group_join(&g);
	} else {
		if (argc < 5 || (strcmp(argv[1], "pairwise") && strcmp(argv[1], "random")) ||
		    !group_peers(argc, 5, group_number(argv[2])))
			errx(2, "usage: all2all pairwise|random NNODES NWORDS NITER [HOST:PID ...] | worker");
		param[0] = !strcmp(argv[1], "random");
		param[1] = group_number(argv[3]);
		param[2] = group_number(argv[4]);
		group_make(&g, param, 3, group_number(argv[2]), argv[0], argv + 5);
	}
	words = g.param[1];
	rounds = g.param[2];
	srand(g.rank);
	group_buffers(&g, words);
	time = group_seconds();
	for (i = 1; i <= rounds; i++) {
		order(&g, to, g.param[0]);
		for (j = 0; j < g.count - 1; j++)
			group_send(&g, to[j], words, i);
		for (j = 0; j < g.count - 1; j++)
			group_wait(&g, to[j], words, i);
		group_barrier(&g);
	}
	time = group_seconds() - time;
	if (!g.rank)
		printf("%d processes, %d words, %d rounds: %.2f MB/s\n", g.count, words, rounds,
		       4e-6 * words * rounds * g.count * (g.count - 1) / time);
	return 0;
}
