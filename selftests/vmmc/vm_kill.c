// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_kill.c - VMMC: processes that are killed at any time
 *
 * Workers export, import, send, fetch, notify, redirect and end all that, in a random order, with
 * this process and with each other, and are killed. This process sees no other errors than the
 * document's, and goes on. VM_ROUNDS is the number of kills of each test. Run on one node, or by
 * across.sh.
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

static int32 words[4 * WORDS] __attribute__((aligned(PAGE)));
static int32 other[4 * WORDS] __attribute__((aligned(PAGE)));
static vmmc_node_t partner_node;
static vmmc_pid_t partner;
static int handled;

static int rounds(void)
{
	const char *n = getenv("VM_ROUNDS");

	return n ? atoi(n) : 200;
}

static void note(int32 *where, int32 what)
{
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

/* What an importer may get when its exporter ends. */
static bool is_end(vmmc_result_t code)
{
	return code == vmmcErr_BadIbufState || code == vmmcErr_NoSuchProcess ||
	       code == vmmcErr_NoSuchNode;
}

/* One step of an importer; true while the import is good. */
static bool use(int32 *at, int what, vmmc_result_t *code)
{
	vmmc_async_handle_t h;
	int32 got[64];

	switch (what % 6) {
	case 0:
		*code = vmmc_SendData(words, at, 1 + what % WORDS);
		break;
	case 1:
		*code = vmmc_SendDataNotify(words, at + 1, 1);
		break;
	case 2:
		*code = vmmc_GetData(got, at + 2, 64);
		break;
	case 3:
		*code = vmmc_SendDataAsync(words, at, WORDS / 2, &h);
		break;
	case 4:
		*code = vmmc_SendDataAsyncNotify(words, at + 3, 5, &h);
		break;
	default:
		*code = vmmc_GetDataAsync(other + WORDS, at, WORDS / 2, &h);
		/* The memory is used until it is done. */
		while (!*code && (*code = vmmc_AsyncStatus(&h)) == vmmcErr_InProgress) {
			*code = 0;
			sched_yield();
		}
	}
	return !*code;
}

/* Until it is killed; returns a code that it should not have got. */
static long job_live(long node, long pid, long seed)
{
	uint32 flags = BUF_READWRITE | (seed % 2 ? BUF_REDIRECTABLE : 0), n, first;
	vmmc_exphandle_t e;
	vmmc_imphandle_t h;
	vmmc_result_t code;
	int32 *at;

	partner_node.number = node;
	partner = pid;
	srand(seed);
	for (;;) {
		code = vmmc_ExportRecvBuf(other, WORDS, 1, note, flags, VMMC_PERM_ANY, &e);
		if (code)
			return code;
		code = vmmc_ImportRecvBuf(partner_node, partner, 2, &h, &at, &n);
		if (code)
			return code;
		for (int i = rand() % 50; i > 0; i--) {
			if (!use(at, rand(), &code))
				return code;
			if (flags & BUF_REDIRECTABLE && i % 7 == 0)
				vmmc_PostRedir(e, 0, WORDS, words + 2 * WORDS);
			if (flags & BUF_REDIRECTABLE && i % 11 == 0)
				vmmc_EndRedir(e, &n, &first);
		}
		code = vmmc_UnimportRecvBuf(h);
		if (!code)
			code = vmmc_UnexportRecvBuf(e);
		if (code)
			return code;
	}
}

/* Use the worker's buffer while there is one. */
static bool import_and_use(vmmc_pid_t pid, int steps)
{
	vmmc_imphandle_t h;
	vmmc_result_t code;
	int32 *at;
	uint32 n;

	code = vmmc_ImportRecvBufAsync(node_there(), pid, 1, &h);
	while (!code && (code = vmmc_ImportRecvBufStatus(&h, &at, &n)) == vmmcErr_InProgress) {
		if (--steps < 0)
			return !vmmc_UnimportRecvBuf(h);
		code = 0;
		sched_yield();
	}
	if (code)
		return is_end(code);
	while (--steps > 0 && use(at, rand(), &code))
		;
	return (!code || is_end(code)) && !vmmc_UnimportRecvBuf(h);
}

TEST(VM_46_3_VM_46_16_workers_are_killed_at_any_time)
{
	struct worker *w = worker_new(THERE), *second;
	vmmc_exphandle_t e;
	vmmc_pid_t pid;

	srand(1);
	check_eq(vmmc_ExportRecvBuf(words, WORDS, 2, note, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmc_Success);
	for (int i = 0; i < rounds() && !test_failed; i++) {
		const struct timespec while_ = { .tv_nsec = rand() % 5000000 };

		pid = worker_do(w, job_pid, 0, 0, 0);
		worker_begin(w, job_live, vmmc_MyNode().number, vmmc_MyPid(), i);
		second = worker_new(THERE);
		if (i % 3)
			check(import_and_use(pid, rand() % 200));
		nanosleep(&while_, NULL);
		worker_end(w);
		/* The dead one's are gone, or will be. */
		if (i % 4 == 0)
			check(import_and_use(pid, 20000));
		w = second;
	}
	worker_end(w);
	check_eq(vmmc_UnexportRecvBuf(e), vmmc_Success);
	printf("# %d notifications\n", handled);
}

static long job_owner(long a, long b, long c)
{
	static vmmc_exphandle_t e;

	return vmmc_ExportRecvBuf(words, WORDS, 2, note, BUF_READWRITE, VMMC_PERM_ANY, &e);
}

/* The exporter of what a worker uses is killed: it ends with a code of the document. */
TEST(VM_46_3_the_partner_is_killed_at_any_time)
{
	struct worker *w, *owner;
	vmmc_node_t node;

	for (int i = 0; i < rounds() && !test_failed; i++) {
		const struct timespec while_ = { .tv_nsec = rand() % 5000000 };

		owner = worker_new(HERE);
		w = worker_new(THERE);
		check_eq(worker_do(owner, job_owner, 0, 0, 0), vmmc_Success);
		node = vmmc_MyNode();
		worker_begin(w, job_live, node.number, worker_pid(owner), 2 * i);
		nanosleep(&while_, NULL);
		worker_end(owner);
		check(is_end(worker_result(w)));
		worker_end(w);
	}
}
