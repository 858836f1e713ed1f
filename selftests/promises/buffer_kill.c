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
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "buffer_kill.h"

static int rounds(void)
{
	const char *n = getenv("BUF_ROUNDS");

	return n ? atoi(n) : 200;
}

int own[PAGES * WORDS] __attribute__((aligned(PAGE)));
int words[PAGES * WORDS] __attribute__((aligned(PAGE)));
static int handled;

void note(int *where, int what)
{
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

/* What an importer may get when its exporter ends. */
static bool is_end(int code)
{
	return code == ERR(BadIbufState) || code == ERR(NoSuchProcess) || code == ERR(NoSuchNode);
}

/* Export number 1, use number 2 of a process, and end both. */
static int live_once(long node, process_t of, long as)
{
	int code, end, *at;
	import_t i;

	code = buf_export(own, PAGES * WORDS, as, note);
	if (!code)
		code = buf_import(node, of, 2, &i, &at);
	if (code)
		return code;
	code = use(at, rand() % 50);
	end = buf_unimport(i);
	code = code ? code : end;
	return code ? code : buf_unexport(1);
}

static long job_live(long node, long of, long seed)
{
	int code;

	srand(seed);
	do
		code = live_once(node, of, seed % 2 ? REDIRECTABLE(1) : RW(1));
	while (!code);
	return code;
}

/*
 * Import number 1 of a process THERE without waiting for more than @steps steps, as it may never
 * export it again, and use it. False if a code is not that of an end.
 */
static bool request_and_use(process_t of, int steps)
{
	struct request r;
	int code;

	code = request_new(&r, of, 1);
	if (code)
		return is_end(code);
	while (!request_done(&r, &code)) {
		/* It may be made, or fail, meanwhile: then it has another name, or none. */
		if (--steps < 0)
			return !request_end(&r) || !request_end(&r) ||
			       (request_done(&r, &code) && is_end(code));
		sched_yield();
	}
	if (code)
		return is_end(code);
	code = use(r.at, steps % 50);
	return (!code || is_end(code)) && !request_end(&r);
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
