// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_figures.c - VMMC: how long a notification takes until its handler runs, beside a signal
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffers.h"

static int32 own[WORDS] __attribute__((aligned(PAGE)));
static vmmc_exphandle_t e;
static int32 *at;
static struct worker *w;

#define ROUNDS	1000

/* Words of the board. */
enum { SEEN, OVER };

static void notified(int32 *where, int32 what)
{
	__atomic_store_n(&board[SEEN], what, __ATOMIC_RELEASE);
}

static void signalled(int sig)
{
	__atomic_fetch_add(&board[SEEN], 1, __ATOMIC_RELEASE);
}

static long job_export_noted(long a, long b, long c)
{
	signal(SIGUSR1, signalled);
	return vmmc_ExportRecvBuf(own, WORDS, 1, notified, BUF_READWRITE, VMMC_PERM_ANY, &e);
}

/* Until it is interrupted for the last time. */
static long job_compute(long a, long b, long c)
{
	while (!__atomic_load_n(&board[OVER], __ATOMIC_ACQUIRE))
		;
	return 0;
}

/* Nanoseconds until the worker has seen number @n, by a notification or a signal. */
static long until_seen(bool note, int32 n)
{
	long begun = now_ns();

	if (note)
		vmmc_SendDataNotify(&n, at, 1);
	else
		worker_signal(w, SIGUSR1);
	while (__atomic_load_n(&board[SEEN], __ATOMIC_ACQUIRE) != n)
		sched_yield();
	return now_ns() - begun;
}

static int compare(const void *a, const void *b)
{
	const long x = *(const long *)a, y = *(const long *)b;

	return x < y ? -1 : x > y;
}

TEST(VM_90_a_notification_beside_a_signal)
{
	/* With one processor, each takes a turn of the scheduler. */
	const int rounds = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? ROUNDS : 10;
	static long ns[2][ROUNDS];
	int32 n = 0;
	uint32 size;

	w = worker_new(HERE);
	memset(board, 0, PAGE);
	check_eq(worker_do(w, job_export_noted, 0, 0, 0), 0);
	check_eq(vmmc_ImportRecvBuf(vmmc_MyNode(), worker_pid(w), 1, &imp, &at, &size), 0);
	worker_begin(w, job_compute, 0, 0, 0);
	for (int i = 0; i < rounds; i++)
		for (int note = 0; note < 2; note++)
			ns[note][i] = until_seen(note, ++n);
	__atomic_store_n(&board[OVER], 1, __ATOMIC_RELEASE);
	check_eq(worker_result(w), 0);
	for (int note = 0; note < 2; note++)
		qsort(ns[note], rounds, sizeof(long), compare);
	for (int i = rounds / 10; i < rounds; i += rounds / 10 * 4)
		printf("# %d %% of the handlers ran after %ld ns, of those of a signal %ld ns: %.2f\n",
		       i * 100 / rounds, ns[1][i], ns[0][i], (double)ns[1][i] / ns[0][i]);
	check_eq(board[SEEN], 2 * rounds);
	worker_end(w);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
}
