// SPDX-License-Identifier: GPL-2.0-only
/*
 * pingpong - data and a flag, forth and back, by either kind of update
 *
 *   pingpong worker                              print ADDRESS:NUMBER, and answer
 *   pingpong deliberate ROUNDS ADDRESS:NUMBER    by messages, with that worker
 *   pingpong automatic ROUNDS ADDRESS:NUMBER     by stores to mapped memory
 *
 *	cc pingpong.c member.c -o pingpong $(pkg-config --cflags --libs libsbl)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "member.h"

#define DATA	16		/* words; the flag is the last word of the page */
#define FLAG	(WORDS - 1)

/* Of the master, as a message at word CONTROL: the last word arrives last. */
#define CONTROL	512
struct control {
	struct member master;
	Int32 automatic, rounds;
};

static Int32 in[WORDS] __attribute__((aligned(4096)));	/* exported */
static Int32 out[WORDS] __attribute__((aligned(4096)));	/* mapped, with automatic update */
static Int32 *proxy;					/* of the other one's page */
static int automatic;

static void say(Int32 round)
{
	for (int i = 0; i < DATA; i++)
		out[i] = round;
	if (automatic) {
		/* The flag has a higher address than the data, so it arrives later. */
		store_last(&out[FLAG], round);
	} else {
		check(SBL_SendMsg(out, proxy, DATA), "send");
		check(SBL_SendMsg(&round, proxy + FLAG, 1), "send");
	}
}

static void hear(Int32 round)
{
	wait_until(&in[FLAG], round);
	for (int i = 0; i < DATA; i++)
		if (in[i] != round)
			errx(1, "round %d: word %d is %d", round, i, in[i]);
}

static void map(void)
{
	if (automatic)
		check(SBL_Map(out, proxy, WORDS, 0), "map");
}

static void work(void)
{
	const struct control *c = (const struct control *)&in[CONTROL];

	member_print(member_self());
	wait_while(&c->rounds, 0);
	automatic = c->automatic;
	proxy = member_import(c->master, 1);
	map();
	for (Int32 round = 1; round <= c->rounds; round++) {
		hear(round);
		say(round);
	}
}

static void lead(struct member worker, int rounds)
{
	const struct control c = { member_self(), automatic, rounds };
	struct timespec start, end;

	proxy = member_import(worker, 1);
	map();
	check(SBL_SendMsg((const Int32 *)&c, proxy + CONTROL, sizeof(c) / sizeof(Int32)), "send");
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (Int32 round = 1; round <= rounds; round++) {
		say(round);
		hear(round);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%s update: %d round trips of %d words and a flag, %.2f us each\n",
	       automatic ? "automatic" : "deliberate", rounds, DATA,
	       ((end.tv_sec - start.tv_sec) * 1e6 + (end.tv_nsec - start.tv_nsec) / 1e3) / rounds);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	automatic = !strcmp(verb, "automatic");
	if (argc != (strcmp(verb, "worker") ? 4 : 2) ||
	    (argc == 4 && ((!automatic && strcmp(verb, "deliberate")) || atoi(argv[2]) <= 0)))
		errx(2, "usage: pingpong worker | deliberate|automatic ROUNDS ADDRESS:NUMBER");
	check(SBL_ExportRecvBuf(in, WORDS, 1, NULL, 0), "export");
	if (argc == 2)
		work();
	else
		lead(member_parse(argv[3]), atoi(argv[2]));
	return 0;
}
