// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_data.c - VMMC: receive buffers, imports, and data that is sent and fetched
 *
 * Each test names the requirements that it shows. The exporter is another process, of the other
 * node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

/* ---- jobs of the exporter ------------------------------------------------------ */

static vmmc_exphandle_t exported[64];	/* by number of the buffer */

/* Export @words from word @at of the board as buffer @id. */
static long job_export(long at, long words, long id_flags)
{
	uint32 id = id_flags & 0xff, flags = id_flags >> 8;

	return vmmc_ExportRecvBuf(board + at, words, id, NULL, flags, VMMC_PERM_ANY,
				  &exported[id % 64]);
}

static long job_unexport(long id, long b, long c)
{
	return vmmc_UnexportRecvBuf(exported[id]);
}

static long job_pid(long a, long b, long c)
{
	return vmmc_MyPid();
}

#define RW(id)	((id) | BUF_READWRITE << 8)
#define RO(id)	((id) | BUF_READ_ONLY << 8)
#define WO(id)	((id) | BUF_WRITE_ONLY << 8)

static struct worker *owner;
static vmmc_pid_t pid;		/* of the owner */
static vmmc_imphandle_t imp;
static int32 *proxy;
static uint32 nwords;

static void begin(void)
{
	owner = worker_new(THERE);
	pid = worker_do(owner, job_pid, 0, 0, 0);
	memset(board, 0, BOARD * 4);
}

static void end(void)
{
	worker_end(owner);
}

static vmmc_result_t import(uint32 id)
{
	return vmmc_ImportRecvBuf(node_there(), pid, id, &imp, &proxy, &nwords);
}

/* The owner exports a page, this process imports it. */
static void begin_page(void)
{
	begin();
	check_eq(worker_do(owner, job_export, 0, WORDS, RW(1)), 0);
	check_eq(import(1), vmmc_Success);
}

static void end_page(void)
{
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	end();
}

/* A send returns before the data arrives: a fetch comes after it. */
static void arrived(int32 *at)
{
	int32 word;

	check_eq(vmmc_GetData(&word, at, 1), vmmc_Success);
}

TEST(VM_29_data_moves_only_with_permission)
{
	int32 words[4] = { 1, 2, 3, 4 };

	begin();
	board[7] = board[12] = 99;
	check_eq(worker_do(owner, job_export, 8, 4, RW(1)), 0);
	/* Before the import there is no address to send to. */
	check_eq(vmmc_SendData(words, board + 8, 1), vmmcErr_BadProxyAddr);
	check_eq(import(1), vmmc_Success);
	check_eq(vmmc_SendData(words, proxy, 4), vmmc_Success);
	check_eq(vmmc_SendData(words, proxy + 1, 4), vmmcErr_BadProxyAddr);
	check_eq(vmmc_SendData(words, proxy + 4, 1), vmmcErr_BadProxyAddr);
	check_eq(vmmc_SendData(words, proxy - 1, 1), vmmcErr_BadProxyAddr);
	arrived(proxy);
	check(!memcmp(board + 8, words, sizeof(words)));
	check_eq(board[7], 99);
	check_eq(board[12], 99);
	end_page();
}

TEST(VM_83_VM_62_send_and_fetch)
{
	int32 words[100], got[100];

	begin_page();
	check_eq(nwords, WORDS);
	for (int i = 0; i < 100; i++)
		words[i] = i * i + 1;
	check_eq(vmmc_SendData(words, proxy + 5, 100), vmmc_Success);
	check_eq(vmmc_GetData(got, proxy + 5, 100), vmmc_Success);
	check(!memcmp(words, got, sizeof(words)));
	check(!memcmp(board + 5, words, sizeof(words)));
	end_page();
}
