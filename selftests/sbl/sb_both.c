// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_both.c - SBL and VMMC in one process
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

#include "buffers.h"
#include "vmmc.h"

#define ROUNDS	300
#define READY	(50 * WORDS)
#define DONE	(51 * WORDS)
#define COUNTS	(52 * WORDS)

static Int32 memory[2 * WORDS] __attribute__((aligned(PAGE)));

static void sbl_note(Int32 *where, Int32 what)
{
	store(&board[COUNTS], what);
}

static void vmmc_note(int32 *where, int32 what)
{
	store(&board[COUNTS + 1], what);
}

/* One number for a buffer of each library. */
static long job_export_both(long a, long b, long c)
{
	vmmc_exphandle_t e;

	return SBL_ExportRecvBuf(board, WORDS, 1, sbl_note, 0) ||
	       vmmc_ExportRecvBuf(board + READY, WORDS, 1, vmmc_note, BUF_READWRITE,
				  VMMC_PERM_ANY, &e);
}

static long job_follow(long a, long b, long c)
{
	for (Int32 n = 1; n <= ROUNDS; n++) {
		Int32 *flag = n % 2 ? board + READY : board;

		while (load(flag) < n)
			sched_yield();
		if (board[n % 2 ? WORDS - 1 : READY + WORDS - 1] < n)
			return n;
		store(&board[DONE], n);
	}
	return 0;
}

TEST(SBL_9_SBL_13_with_VMMC)
{
	vmmc_node_t there = vmmc_MyNode();
	vmmc_imphandle_t h;
	int32 *at;
	uint32 n;

	owner_start();
	check_eq(worker_do(owner, job_export_both, 0, 0, 0), 0);
	check_eq(import_number(1), SBL_Success);
	if (far)
		there.number = atoi(getenv("DDP_PEER_NODE"));
	check_eq(vmmc_ImportRecvBuf(there, pid, 1, &h, &at, &n), vmmc_Success);
	/* Addresses of one library are none of the other. */
	check_eq(vmmc_SendData(memory, proxy, 1), vmmcErr_BadProxyAddr);
	check_eq(SBL_SendMsg(memory, at, 1), SBL_EBadProxyAddr);
	check_eq(SBL_SendMsg(at, proxy, 1), SBL_EBadArg);
	check_eq(SBL_Map(memory, at, WORDS, 0), SBL_EBadProxyAddr);
	check_eq(SBL_UnimportRecvBuf(at), SBL_EBadProxyAddr);
	/* One order for both: the flag of one library follows the data of the other. */
	worker_begin(owner, job_follow, 0, 0, 0);
	for (Int32 i = 1; i <= ROUNDS; i++) {
		if (i % 2) {
			check_eq(SBL_SendMsg(&i, proxy + WORDS - 1, 1), SBL_Success);
			check_eq(vmmc_SendData(&i, at, 1), vmmc_Success);
		} else {
			check_eq(vmmc_SendData(&i, at + WORDS - 1, 1), vmmc_Success);
			check_eq(SBL_SendMsg(&i, proxy, 1), SBL_Success);
		}
		while (load(&board[DONE]) < i - 1)
			sched_yield();
	}
	check_eq(worker_result(owner), 0);
	/* Each has its handlers. */
	check_eq(SBL_SendMsgWithNotify(&(Int32){ 7 }, proxy, 1), SBL_Success);
	check(arrives(board + COUNTS, 7));
	check_eq(vmmc_SendDataNotify(&(int32){ 8 }, at, 1), vmmc_Success);
	check(arrives(board + COUNTS + 1, 8));
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	check_eq(vmmc_SendData(memory, at, 1), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(h), vmmc_Success);
	owner_end();
}

TEST(SBL_4_SBL_16_mappings_and_exports_of_VMMC)
{
	vmmc_exphandle_t e;

	owner_start();
	check_eq(worker_do(owner, job_export_both, 0, 0, 0), 0);
	check_eq(import_number(1), SBL_Success);
	check_eq(vmmc_ExportRecvBuf(memory + 5, 9, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmc_Success);
	/* Its pages would not be those that importers write to. */
	check_eq(SBL_Map(memory, proxy, WORDS, 0), SBL_EOverlappedBufs);
	check_eq(SBL_Map(memory + WORDS, proxy, WORDS, 0), SBL_Success);
	check(vmmc_ExportRecvBuf(memory + WORDS, 9, 2, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e) < 0);
	memory[WORDS + 1] = 3;
	check(arrives(board + 1, 3));
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	check_eq(vmmc_UnexportRecvBuf(e), vmmc_Success);
	owner_end();
}
