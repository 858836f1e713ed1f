// SPDX-License-Identifier: GPL-2.0-only
/*
 * latency - ping-pong between two processes
 *
 *   latency NWORDS NITER [HOST:PID]   prints half the time of a round trip
 *   latency worker                    a peer that was not spawned; prints HOST:PID
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <stdio.h>

#include "group.h"

int main(int argc, char **argv)
{
	struct group g;
	int32 param[2], words, rounds, i;
	double start;

	if (group_is_worker(argc, argv)) {
		group_join(&g);
	} else {
		if (argc < 3 || !group_peers(argc, 3, 2))
			errx(2, "usage: latency NWORDS NITER [HOST:PID] | worker");
		param[0] = group_number(argv[1]);
		param[1] = group_number(argv[2]);
		group_make(&g, param, 2, 2, argv[0], argv + 3);
	}
	words = g.param[0];
	rounds = g.param[1];
	group_buffers(&g, words);
	start = group_seconds();
	for (i = 1; i <= rounds; i++) {
		if (g.rank)
			group_wait(&g, 0, words, i);
		group_send(&g, !g.rank, words, i);
		if (!g.rank)
			group_wait(&g, 1, words, i);
	}
	if (!g.rank)
		printf("%d words, %d round trips: latency %.2f us\n", words, rounds,
		       (group_seconds() - start) / rounds / 2 * 1e6);
	group_barrier(&g);
	return 0;
}
