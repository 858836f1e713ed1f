// SPDX-License-Identifier: LGPL-2.1-only
/*
 * owner.c - a process that exports buffers, and the import of one of them
 *
 * Copyright (C) 2026 The dd authors
 */
#include <string.h>

#include "owner.h"

struct worker *owner;
vmmc_pid_t pid;
vmmc_imphandle_t imp;
int32 *proxy;
uint32 nwords;
const int32 constant[3] = { 11, 22, 33 };

static vmmc_exphandle_t exported[256];	/* by number of the buffer */

long job_export(long at, long words, long as)
{
	return vmmc_ExportRecvBuf(board + at, words, as & 255, NULL, as >> 8 & 255, as >> 16,
				  &exported[as & 255]);
}

long job_unexport(long id, long b, long c)
{
	return vmmc_UnexportRecvBuf(exported[id]);
}

long job_pid(long a, long b, long c)
{
	return vmmc_MyPid();
}

void owner_start(void)
{
	owner = worker_new(THERE);
	pid = worker_do(owner, job_pid, 0, 0, 0);
	memset(board, 0, BOARD * 4);
}

void owner_end(void)
{
	worker_end(owner);
}

vmmc_result_t import_number(uint32 id)
{
	return vmmc_ImportRecvBuf(node_there(), pid, id, &imp, &proxy, &nwords);
}

void owner_start_with(long at, long words, long as)
{
	owner_start();
	check_eq(worker_do(owner, job_export, at, words, as), 0);
	check_eq(import_number(as & 255), vmmc_Success);
}

void import_end(void)
{
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	owner_end();
}

long last_words(job_t job, long c)
{
	struct worker *w = worker_new(HERE);

	worker_begin(w, job, node_there().number, pid, c);
	return worker_end_result(w);
}

void arrived(int32 *at)
{
	int32 word;

	check_eq(vmmc_GetData(&word, at, 1), vmmc_Success);
}

void fill(int32 *words, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++)
		words[i] = i * 2654435761u + seed;
}
