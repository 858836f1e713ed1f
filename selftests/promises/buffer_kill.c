// SPDX-License-Identifier: LGPL-2.1-only
/*
 * buffer_kill.c - buffers of VMMC and SBL: processes that are killed at any time
 *
 * Workers do in a random order what the interface has, with this process and with each other, and
 * are killed. This process sees no other errors than the document's, and goes on. BUF_ROUNDS is
 * the number of kills of each test. Run on one node, or by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "buffer_kill.h"

static int rounds(void)
{
	const char *n = getenv("BUF_ROUNDS");

	return n ? atoi(n) : 200;
}

bool is_end(int code)
{
	return code == ERR(BadIbufState) || code == ERR(NoSuchProcess) || code == ERR(NoSuchNode);
}

int words[PAGES * WORDS] __attribute__((aligned(PAGE)));
static int handled;

void note(int *where, int what)
{
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

static long job_live(long node, long of, long seed)
{
	int code;

	srand(seed);
	do
		code = live_once(node, of, seed);
	while (!code);
	return code;
}

static void work_for_a_while(void)
{
	const struct timespec while_ = { .tv_nsec = rand() % 5000000 };

	nanosleep(&while_, NULL);
}

PROMISE(VM_46_3_VM_46_16, SBL_7_SBL_8_SBL_16_SBL_28, workers_are_killed_at_any_time)
{
	struct worker *w = worker_new(THERE), *second;
	process_t its;

	srand(1);
	check_eq(buf_export(words, PAGES * WORDS, RW(2), note), 0);
	for (int i = 0; i < rounds() && !test_failed; i++) {
		its = worker_do(w, job_pid, 0, 0, 0);
		worker_begin(w, job_live, buf_here(), buf_me(), i);
		second = worker_new(THERE);
		if (i % 3)
			check(request_and_use(its, rand() % 200));
		work_for_a_while();
		worker_end(w);
		/* The dead one's are gone, or will be. */
		if (i % 4 == 0)
			check(request_and_use(its, 20000));
		w = second;
	}
	worker_end(w);
	check_eq(buf_unexport(2), 0);
	printf("# %d notifications\n", handled);
}

static long job_owner(long a, long b, long c)
{
	return buf_export(words, PAGES * WORDS, RW(2), note);
}

/* The exporter of what a worker uses is killed: it ends with a code of the document. */
PROMISE(VM_46_3, SBL_16_SBL_27, the_partner_is_killed_at_any_time)
{
	struct worker *w, *partner;

	for (int i = 0; i < rounds() && !test_failed; i++) {
		partner = worker_new(HERE);
		w = worker_new(THERE);
		check_eq(worker_do(partner, job_owner, 0, 0, 0), 0);
		worker_begin(w, job_live, buf_here(), worker_pid(partner), 2 * i);
		work_for_a_while();
		worker_end(partner);
		check(is_end(worker_result(w)));
		worker_end(w);
	}
}
