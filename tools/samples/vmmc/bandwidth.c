// SPDX-License-Identifier: GPL-2.0-only
/*
 * bandwidth - PPBandwidth, OnewayBandwidth, BidirBandwidth and FetchBandwidth, by its name
 *
 *   PROGRAM ITERATIONS START_NWORDS END_NWORDS [HOST:PID]        a line for each size
 *   PROGRAM worker                      a peer that was not spawned; prints HOST:PID
 *
 * PPBandwidth: the bytes of a message and half the time of a round trip. OnewayBandwidth: the
 * master sends all the time. BidirBandwidth: both do; the sum. FetchBandwidth: the master fetches.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>

#include "group.h"

enum { PING_PONG, ONE_WAY, BOTH_WAYS, FETCH };

static const char *const names[] = {
	"PPBandwidth", "OnewayBandwidth", "BidirBandwidth", "FetchBandwidth",
	NULL
};

/* One message of each process, in which the last one is received. */
static void end(struct group *g, int sends)
{
	if (sends)
		group_send(g, !g->rank, 1, -1);
	else
		group_wait(g, !g->rank, 1, -1);
}

static void ping_pong(struct group *g, uint32 words, int32 rounds)
{
	for (int32 i = 1; i <= rounds; i++) {
		if (g->rank)
			group_wait(g, 0, words, i);
		group_send(g, !g->rank, words, i);
		if (!g->rank)
			group_wait(g, 1, words, i);
	}
}

static void transfer(struct group *g, int pattern, uint32 words, int32 rounds)
{
	int32 *own = g->data + (size_t)g->rank * g->nwords;
	int32 *there = g->proxy[!g->rank] + (size_t)g->rank * g->nwords;

	if (pattern == PING_PONG) {
		ping_pong(g, words, rounds);
		return;
	}
	for (int32 i = 0; i < rounds && (!g->rank || pattern == BOTH_WAYS); i++)
		group_check(pattern == FETCH ? vmmc_GetData(own, there, words) :
					       vmmc_SendData(own, there, words), "transfer");
	if (pattern == BOTH_WAYS)
		end(g, g->rank);
	end(g, !g->rank);
}

static void measure(struct group *g, int pattern, uint32 words, int32 rounds)
{
	double time, bytes = 4.0 * words * rounds;

	memset(g->data, 0, 2 * (size_t)g->nwords * sizeof(int32));
	group_barrier(g);
	time = group_seconds();
	transfer(g, pattern, words, rounds);
	group_barrier(g);
	time = group_seconds() - time;
	if (pattern == PING_PONG || pattern == BOTH_WAYS)
		bytes *= 2;
	if (!g->rank)
		printf("%10u words %10.2f MB/s\n", words, bytes / time * 1e-6);
}

int main(int argc, char **argv)
{
	const char *name = basename(argv[0]);
	struct group g;
	int32 param[4];
	const int pattern = group_pattern(names, name);
	uint32 words;

	if (group_is_worker(argc, argv)) {
		group_join(&g);
	} else {
		if (argc < 4 || !group_peers(argc, 4, 2))
			errx(2, "usage: %s ITERATIONS START_NWORDS END_NWORDS [HOST:PID] | worker", name);
		for (int i = 0; i < 3; i++)
			param[i] = group_number(argv[1 + i]);
		if (param[1] > param[2])
			errx(2, "START_NWORDS is above END_NWORDS");
		param[3] = pattern;
		group_make(&g, param, 4, 2, argv[0], argv + 4);
	}
	if (g.param[3] != pattern)
		errx(2, "the peer is %s", names[g.param[3] & 3]);
	group_buffers(&g, g.param[2]);
	for (words = g.param[1]; words <= (uint32)g.param[2]; words *= 2)
		measure(&g, pattern, words, g.param[0]);
	return 0;
}
