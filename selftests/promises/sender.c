// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sender.c - this process exports buffers, and a worker sends to them
 *
 * Copyright (C) 2026 The dd authors
 */
#include <string.h>

#include "sender.h"

/* ---- jobs of the sender ------------------------------------------------------------ */

import_t imported[8];
int *at[8];
static int message[BULK];

long job_import(long node, long of, long id)
{
	return buf_import(node, of, id, &imported[id], &at[id]);
}

/* Returns the number of words, and stores where they go to. */
static long compose(long id, long span, long first, int **to)
{
	long n = span & 0xffffffff;

	for (long i = 0; i < n; i++)
		message[i] = first + i;
	*to = at[id] + (span >> 32);
	return n;
}

long job_send(long id, long span, long first)
{
	int *to;
	long n = compose(id, span, first, &to);
	int ret;
#ifndef OF_SBL
	vmmc_async_handle_t h;

	if (first % 2) {
		ret = vmmc_SendDataAsyncNotify(message, to, n, &h);
		ret = ret ? ret : finished(&h);
	} else
#endif
		ret = buf_send_notify(message, to, n);
	return ret ? ret : buf_settle(at[id]);
}

long job_send_plain(long id, long span, long first)
{
	int *to;
	long n = compose(id, span, first, &to);
#ifdef OF_SBL
	return buf_send(message, to, n);
#else
	vmmc_async_handle_t h;
	vmmc_result_t ret = vmmc_SendDataAsync(message, to, n, &h);

	if (!ret)
		ret = finished(&h);
	return ret ? ret : buf_settle(at[id]);
#endif
}

long job_send_many(long id, long n, long first)
{
	int ret = 0;

	for (int i = first; i < first + n && !ret; i++)
		ret = buf_send_notify(&i, at[id], 1);
	return ret;
}

/* ---- this process -------------------------------------------------------------------- */

struct worker *sender;
int words[BULK] __attribute__((aligned(PAGE)));
_Atomic int handled;
int *address[4096];
int value[4096];

void note(int *where, int what)
{
	int n = atomic_load(&handled);

	address[n % 4096] = where;
	value[n % 4096] = what;
	atomic_store(&handled, n + 1);
}

static int wanted;

static bool all_handled(void)
{
	return atomic_load(&handled) >= wanted;
}

bool handles_some(int n)
{
	wanted = n;
	return soon(all_handled);
}

bool handles(int n)
{
	return handles_some(n) && atomic_load(&handled) == n;
}

void export_as(long as, int *buf, int n, buf_handler_t handler)
{
	check_eq(buf_export(buf, n, as, handler), 0);
	check_eq(worker_do(sender, job_import, buf_here(), buf_me(), as & 255), 0);
}

void begin(void)
{
	sender = worker_new(THERE);
	memset(words, 0, sizeof(words));
	atomic_store(&handled, 0);
}

void end(int exports)
{
	for (int id = 1; id <= exports; id++)
		check_eq(buf_unexport(id), 0);
	worker_end(sender);
}

void begin_one(buf_handler_t handler)
{
	begin();
	export_as(RW(1), words, WORDS, handler);
}

/* ---- a buffer of the sender ---------------------------------------------------------- */

import_t back;
int *back_at;
int result[64];

static long job_export_back(long a, long b, long c)
{
	return buf_export(board, BACK, RW(1), note);
}

void begin_back(void)
{
	check_eq(worker_do(sender, job_export_back, 0, 0, 0), 0);
	check_eq(buf_import(buf_there(), worker_pid(sender), 1, &back, &back_at), 0);
}
