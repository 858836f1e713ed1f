// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_node.c - VMMC: what happens when another node does not answer
 *
 * Each test names the requirements that it shows. Run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asleep.h"
#include "buffers.h"

/* Calls wait for the dead time, and return the document's codes; afterwards all is well again. */
TEST(VM_46_3_VM_46_15_a_node_that_does_not_answer)
{
	static int32 words[16 * WORDS];
	vmmc_async_handle_t sent;
	struct request pending;
	int32 word;

	owner_start_with(0, 16 * WORDS, RW(1));
	check_eq(request_new(&pending, pid, 2), vmmc_Success);
	check_eq(root_run("ddctl peer set 2 dead-time 1000"), 0);
	check_eq(root_run("tc -n dd2 qdisc replace dev eth0 root netem loss 100%"), 0);
	check_eq(vmmc_SendDataAsync(words, proxy, 16 * WORDS, &sent), vmmc_Success);
	check_eq(vmmc_GetData(&word, proxy, 1), vmmcErr_BadIbufState);
	check_eq(finished(&sent), vmmcErr_BadIbufState);
	check_eq(vmmc_SendData(&word, proxy, 1), vmmcErr_BadIbufState);
	check_eq(request_wait(&pending), vmmcErr_NoSuchNode);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(import_number(1), vmmcErr_NoSuchNode);
	check_eq(root_run("ddctl peer set 2 dead-time 5000"), 0);
	link_shape(NULL);
	check_eq(import_number(1), vmmc_Success);
	check_eq(vmmc_SendData(constant, proxy, 3), vmmc_Success);
	check_eq(buf_settle(proxy), 0);
	check_eq(board[2], 33);
	import_end();
}

/* ---- exit --------------------------------------------------------------------------------- */

/* Words of the board, of which the last ones are free. */
enum { IMPORTED = BOARD - 1 };

static vmmc_node_t there;
static pid_t main_thread;

static void *import_meanwhile(void *arg)
{
	vmmc_imphandle_t h;
	int32 *at;
	uint32 n;

	while (!asleep_in(main_thread, SYS_ioctl))
		usleep(1000);
	if (!vmmc_ImportRecvBuf(there, (long)arg, 2, &h, &at, &n))
		store(&board[IMPORTED], 1);
	return NULL;
}

/* Send one notification more than are handled, and exit. */
static long job_exit(long node, long exporter, long c)
{
	vmmc_async_handle_t h;
	vmmc_imphandle_t to;
	int32 *at, word = 1;
	pthread_t t;
	uint32 n;

	there.number = node;
	main_thread = gettid();
	if (vmmc_ImportRecvBuf(there, exporter, 1, &to, &at, &n))
		return 1;
	for (int i = 0; i <= WINDOW; i++)
		if (vmmc_SendDataAsyncNotify(&word, at, 1, &h))
			return 2;
	if (pthread_create(&t, NULL, import_meanwhile, (void *)exporter))
		return 3;
	/* What the test has not printed yet. */
	__fpurge(stdout);
	exit(0);
}

static void note(int32 *where, int32 what)
{
}

static bool has_imported(void)
{
	return load(&board[IMPORTED]);
}

/* It waits for what was sent, and other threads go on. */
TEST(VM_32_VM_37_an_import_while_another_thread_exits)
{
	static int32 words[2 * WORDS] __attribute__((aligned(PAGE)));
	vmmc_exphandle_t e[2];

	owner_start();
	for (int i = 0; i < 2; i++)
		check_eq(vmmc_ExportRecvBuf(words + i * WORDS, WORDS, i + 1, i ? NULL : note,
					    BUF_READWRITE, VMMC_PERM_ANY, &e[i]), vmmc_Success);
	vmmc_BlockNotifications();
	worker_begin(owner, job_exit, vmmc_MyNode().number, vmmc_MyPid(), 0);
	check(soon(has_imported));
	owner_end();
	check_eq(vmmc_UnblockNotifications(), 1);
	for (int i = 0; i < 2; i++)
		check_eq(vmmc_UnexportRecvBuf(e[i]), vmmc_Success);
}
