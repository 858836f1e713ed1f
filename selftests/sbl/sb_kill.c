// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_kill.c - SBL: processes that are killed at any time
 *
 * Workers export, import, send, map, store, notify and end all that, with this process and with
 * each other, and are killed. This process sees no other errors than the document's, and goes on.
 * Run on one node, or by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "buffers.h"

#define ROUNDS	200
#define PAGES	2

static Int32 words[PAGES * WORDS] __attribute__((aligned(PAGE)));
static Int32 other[PAGES * WORDS] __attribute__((aligned(PAGE)));
static Int32 mapped[PAGES * WORDS] __attribute__((aligned(PAGE)));
static int handled;

static void note(Int32 *where, Int32 what)
{
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

/* What an importer may get when its exporter ends. */
static bool is_end(int code)
{
	return code == SBL_EBadIbufState || code == SBL_ENoSuchProcess || code == SBL_ENoSuchNode;
}

/* One step of an importer with a mapping. */
static int use(Int32 *at, int what)
{
	switch (what % 4) {
	case 0:
		return SBL_SendMsg(words, at, 1 + what % WORDS);
	case 1:
		return SBL_SendMsgWithNotify(words, at + 1, 1);
	default:
		__atomic_store_n(mapped + what % (PAGES * WORDS), what, __ATOMIC_RELAXED);
		return SBL_Success;
	}
}

/* Import a buffer, map memory to it, and use both. */
static int use_all(NodeID node, SBL_Squid squid, unsigned int id, int steps)
{
	int n, code, end;
	Int32 *at;

	code = SBL_ImportRecvBuf(node, squid, id, &at, &n);
	if (code)
		return code;
	code = SBL_Map(mapped, at, PAGES * WORDS, steps % 2);
	if (!code) {
		while (steps-- > 0 && !code)
			code = use(at, rand());
		end = SBL_Unmap(mapped);
		code = code ? code : end;
	}
	end = SBL_UnimportRecvBuf(at);
	return code ? code : end;
}

/* Until it is killed; returns a code that it should not have got. */
static long job_live(long node, long squid, long seed)
{
	int code;

	srand(seed);
	for (;;) {
		code = SBL_ExportRecvBuf(other, PAGES * WORDS, 1, note, 0);
		if (code)
			return code;
		code = use_all(node, squid, 2, rand() % 50);
		if (code)
			return code;
		code = SBL_UnexportRecvBuf(1);
		if (code)
			return code;
	}
}

static volatile int request_size;
static Int32 *request_at;

/* Use the worker's buffer while there is one; it may never export it again. */
static bool request_and_use(SBL_Squid squid, int steps)
{
	int code = SBL_ImportRecvBufReq(node_there(), squid, 1, &request_at, (int *)&request_size, 0);

	if (code)
		return is_end(code);
	while (!__atomic_load_n(&request_size, __ATOMIC_ACQUIRE) && steps-- > 0)
		sched_yield();
	code = __atomic_load_n(&request_size, __ATOMIC_ACQUIRE);
	if (code >= 0) {
		/* It may be complete, or fail, meanwhile. */
		code = SBL_UnimportRecvBuf(request_at);
		if (code == SBL_EBadProxyAddr)
			code = SBL_UnimportRecvBuf(request_at);
		return !code || code == SBL_EBadProxyAddr;
	}
	return is_end(code);
}

TEST(SBL_7_SBL_8_SBL_16_SBL_28_workers_are_killed_at_any_time)
{
	struct worker *w = worker_new(THERE), *second;
	int code;

	srand(1);
	check_eq(SBL_ExportRecvBuf(words, PAGES * WORDS, 2, note, 0), SBL_Success);
	for (int i = 0; i < ROUNDS && !test_failed; i++) {
		const struct timespec while_ = { .tv_nsec = rand() % 5000000 };

		pid = worker_do(w, job_pid, 0, 0, 0);
		worker_begin(w, job_live, SBL_MyNode(), SBL_MySquid(), i);
		second = worker_new(THERE);
		if (i % 3 == 1)
			check(request_and_use(pid, rand() % 200));
		nanosleep(&while_, NULL);
		worker_end(w);
		/* The dead one's are gone, or will be. */
		if (i % 3 == 2) {
			code = use_all(node_there(), pid, 1, 20000);
			check(is_end(code));
		}
		w = second;
	}
	worker_end(w);
	check_eq(SBL_UnexportRecvBuf(2), SBL_Success);
	printf("# %d notifications\n", handled);
}

static long job_owner(long a, long b, long c)
{
	return SBL_ExportRecvBuf(words, PAGES * WORDS, 2, note, 0);
}

/* The exporter of what a worker uses is killed: it ends with a code of the document. */
TEST(SBL_16_SBL_27_the_partner_is_killed_at_any_time)
{
	struct worker *w, *owner;

	for (int i = 0; i < ROUNDS && !test_failed; i++) {
		const struct timespec while_ = { .tv_nsec = rand() % 5000000 };

		owner = worker_new(HERE);
		w = worker_new(THERE);
		check_eq(worker_do(owner, job_owner, 0, 0, 0), SBL_Success);
		worker_begin(w, job_live, SBL_MyNode(), worker_pid(owner), i);
		nanosleep(&while_, NULL);
		worker_end(owner);
		check(is_end(worker_result(w)));
		worker_end(w);
	}
}
