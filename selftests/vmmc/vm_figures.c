// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_figures.c - VMMC: what a send costs, in instructions of the program
 *
 * A worker makes a call, one instruction at a time; on one node, on the direct path. A longer
 * series of calls less a shorter one is what one of them costs. And how long a notification takes
 * until its handler runs, beside a signal.
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

#include "dd_mem.h"
#include "buffers.h"

static int32 own[WORDS] __attribute__((aligned(PAGE)));
static int32 message[16];
static vmmc_exphandle_t e;
static int32 *at;
static struct dd_mem *mem;

enum { DD_PUT, SEND, DD_GET, GET };

/* The buffer of this process, by VMMC and by libdd. */
static long job_setup(long a, long b, long c)
{
	static char segment[PAGE] __attribute__((aligned(PAGE)));
	struct dd_export_attr attr = {
		.size = sizeof(attr), .addr = segment, .len = PAGE, .key_class = DD_KEY_ID,
		.rights = DD_CAN_PUT | DD_CAN_GET, .notify = DD_NOTIFY_NEVER, .importers = 1,
	};
	uint64_t number;
	struct dd *h;
	uint32 n;

	if (vmmc_ExportRecvBuf(own, WORDS, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e) ||
	    vmmc_ImportRecvBuf(vmmc_MyNode(), vmmc_MyPid(), 1, &imp, &at, &n) ||
	    vmmc_SendData(message, at, 16))
		return -1;
	if (dd_open(&h) || dd_pin(h, segment, PAGE) || dd_export(h, &attr, &number) ||
	    dd_import(h, dd_node(h), DD_KEY_ID, attr.key, DD_CAN_PUT | DD_CAN_GET, &mem))
		return -2;
	return 0;
}

static int call(long kind)
{
	switch (kind) {
	case DD_PUT:
		return dd_put(mem, message, 64, 0, 0);
	case SEND:
		return vmmc_SendData(message, at, 16);
	case DD_GET:
		return dd_get(mem, message, 64, 0);
	default:
		return vmmc_GetData(message, at, 16);
	}
}

static long job_call(long kind, long times, long c)
{
	int ret = 0;

	raise(SIGUSR1);
	while (times-- > 0 && !ret)
		ret = call(kind);
	raise(SIGUSR2);
	return ret;
}

static long nanoseconds(long kind, long times)
{
	long begun = now_ns();

	while (times-- > 0)
		call(kind);
	return now_ns() - begun;
}

/* The shortest of many series of calls, in hundredths of a nanosecond; the kinds take turns. */
static long job_time(long a, long b, long c)
{
	long best[4] = { 1 << 30, 1 << 30, 1 << 30, 1 << 30 }, t;

	for (int i = 0; i < 200; i++) {
		for (int kind = 0; kind < 4; kind++) {
			t = nanoseconds(kind, 10000);
			if (t < best[kind])
				best[kind] = t;
		}
	}
	for (int kind = 0; kind < 4; kind++)
		board[kind] = best[kind] / 100;
	return 0;
}

static struct worker *w;

static long cost(int kind)
{
	return (worker_steps(w, job_call, kind, 30, 0) - worker_steps(w, job_call, kind, 10, 0)) / 20;
}

TEST(VM_89_instructions_of_a_send_and_a_fetch)
{
	static const char *const name[] = { "dd_put", "vmmc_SendData", "dd_get", "vmmc_GetData" };
	long n[4];

	w = worker_new(HERE);
	check_eq(worker_do(w, job_setup, 0, 0, 0), 0);
	check_eq(worker_do(w, job_time, 0, 0, 0), 0);
	for (int i = 0; i < 4; i++)
		printf("# %s of 64 bytes: %.2f ns\n", name[i], board[i] / 100.);
	for (int i = 0; i < 4; i++) {
		n[i] = cost(i);
		printf("# %s of 64 bytes: %ld instructions\n", name[i], n[i]);
	}
	check(100 * n[SEND] <= 115 * n[DD_PUT]);
	check(100 * n[GET] <= 125 * n[DD_GET]);
	worker_end(w);
}

/* ---- a notification ---------------------------------------------------------------------- */

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
