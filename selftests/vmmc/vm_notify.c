// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_notify.c - VMMC: notifications and their handlers
 *
 * Each test names the requirements that it shows. This process exports buffers, a worker sends to
 * them, from the other node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asleep.h"
#include "sender.h"

/* ---- calls in a handler ----------------------------------------------------------- */

void calls(int32 *where, int32 what)
{
	int32 word = 5, got = 0, *r = result;
	vmmc_async_handle_t h;
	vmmc_imphandle_t imp = back;
	vmmc_exphandle_t e;
	uint32 n, first, major, minor;
	vmmc_node_t *hosts;
	vmmc_pid_t pid;
	int32 *p;

	*r++ = vmmc_SendData(&word, back_at, 1);
	*r++ = vmmc_GetData(&got, back_at, 1);
	*r++ = got - 5;
	*r++ = vmmc_SendDataNotify(&word, back_at + 1, 1);
	*r++ = vmmc_SendDataAsync(&word, back_at + 2, 1, &h);
	*r++ = finished(&h);
	*r++ = vmmc_SendDataAsyncNotify(&word, back_at + 3, 1, &h);
	*r++ = vmmc_GetDataAsync(&got, back_at, 1, &h);
	*r++ = finished(&h);
	vmmc_BlockNotifications();
	*r++ = vmmc_UnblockNotifications();
	*r++ = vmmc_AllHosts(&n, &hosts);
	*r++ = vmmc_SessionHosts(&n, &hosts);
	*r++ = !vmmc_EqualNodes(vmmc_MyNode(), vmmc_MyNode());
	*r++ = vmmc_MyPid() <= 0;
	*r++ = !vmmc_NodeToName(vmmc_MyNode());
	*r++ = !vmmc_EqualNodes(vmmc_NameToNode(vmmc_MyHostName()), vmmc_MyNode());
	*r++ = vmmc_DataEnd(exported[2]) != vmmcErr_NoSuchError;
	vmmc_ClearDataEnd(exported[2]);
	vmmc_Version(&major, &minor);
	*r++ = ALLOWED;
	*r++ = vmmc_ExportRecvBuf(words + 3 * WORDS, 1, 9, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e);
	*r++ = vmmc_UnexportRecvBuf(exported[2]);
	*r++ = vmmc_ImportRecvBuf(vmmc_MyNode(), vmmc_MyPid(), 2, &imp, &p, &n);
	*r++ = vmmc_ImportRecvBufAsync(vmmc_MyNode(), vmmc_MyPid(), 2, &imp);
	*r++ = vmmc_ImportRecvBufStatus(&back, &p, &n);
	*r++ = vmmc_UnimportRecvBuf(back);
	*r++ = vmmc_PostRedir(exported[2], 0, 1, words + 3 * WORDS);
	*r++ = vmmc_EndRedir(exported[2], &n, &first);
	*r++ = vmmc_Spawn("/bin/true", NULL, vmmc_MyNode(), &pid);
	*r++ = vmmc_UnblockNotifications();
	*r++ = REFUSED;
	note(where, what);
}

/* In a loop of sends, as a buffer ends: each message that arrived is handled, and no other one. */
static long job_send_until_refused(long id, long b, long c)
{
	int32 i = 0;

	while (!vmmc_SendDataNotify(&i, at[id], 1))
		i++;
	return i;
}

TEST(VM_87_pending_notifications_are_delivered_before_the_end)
{
	begin();
	for (int i = 0; i < 20; i++) {
		export_as(RW(1), words, WORDS, note);
		atomic_store(&handled, 0);
		words[0] = -1;
		worker_begin(sender, job_send_until_refused, 1, 0, 0);
		check(handles_some(20 + i));
		check_eq(vmmc_UnexportRecvBuf(exported[1]), vmmc_Success);
		worker_result(sender);
		check_eq(words[0], atomic_load(&handled) - 1);
		check_eq(value[words[0] % 4096], words[0]);
	}
	end(0);
}

/* ---- like a signal --------------------------------------------------------------------- */

/* In the library: a blocking import is interrupted, and goes on. */
static long job_notify_and_export(long importer, long b, long c)
{
	static vmmc_exphandle_t e;
	int32 word = 1;
	vmmc_result_t ret;

	while (!asleep_in(importer, SYS_ioctl))
		usleep(1000);
	ret = vmmc_SendDataNotify(&word, at[1], 1);
	while (!ret && !load(&board[WORDS]))
		usleep(1000);
	return ret ? ret : vmmc_ExportRecvBuf(board, WORDS, 3, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e);
}

static void to_board(int32 *where, int32 what)
{
	note(where, what);
	store(&board[WORDS], 1);
}

TEST(VM_90_handlers_run_while_the_library_waits)
{
	uint32 n;

	begin_one(to_board);
	board[WORDS] = 0;
	worker_begin(sender, job_notify_and_export, getpid(), 0, 0);
	check_eq(vmmc_ImportRecvBuf(node_there(), worker_pid(sender), 3, &back, &back_at, &n),
		 vmmc_Success);
	check_eq(worker_result(sender), vmmc_Success);
	check_eq(atomic_load(&handled), 1);
	check_eq(vmmc_UnimportRecvBuf(back), vmmc_Success);
	end(1);
}

/* ---- threads -------------------------------------------------------------------------- */

static volatile pid_t other_thread;

static void *send_word(void *arg)
{
	int32 word = 1;

	other_thread = gettid();
	return (void *)(long)vmmc_SendData(&word, arg, 1);
}

/* Use memory again that was freed, and say later whether it was written to. */
static char *freed[64];

static void freed_take(void)
{
	for (int i = 0; i < 64; i++) {
		freed[i] = malloc(512 + 16 * i);
		memset(freed[i], 0x5a, 512 + 16 * i);
	}
}

static long freed_changed(void)
{
	long changed = 0;

	for (int i = 0; i < 64; i++) {
		for (int k = 0; k < 512 + 16 * i; k++)
			changed += freed[i][k] != 0x5a;
		free(freed[i]);
	}
	return changed;
}

/* The thread sends to buffer 2, and waits for buffer 1, whose import ends. */
static long job_unimport_awaited(long a, long b, long c)
{
	vmmc_result_t code;
	pthread_t t;
	void *ret;

	other_thread = 0;
	if (job_send_many(1, WINDOW + 1, 0) || pthread_create(&t, NULL, send_word, at[2]))
		return -1;
	while (!other_thread || !asleep_in(other_thread, SYS_ioctl))
		usleep(1000);
	code = vmmc_UnimportRecvBuf(imported[1]);
	freed_take();
	pthread_join(t, &ret);
	return code ? code : (long)ret ? (long)ret : freed_changed();
}

TEST(VM_88_an_import_ends_while_another_thread_waits_for_it)
{
	sender = worker_new(HERE);
	for (int i = 0; i < 10; i++) {
		export_as(RW(1), words, WORDS, note);
		export_as(RW(2), words + WORDS, WORDS, NULL);
		vmmc_BlockNotifications();
		check_eq(worker_do(sender, job_unimport_awaited, 0, 0, 0), 0);
		vmmc_UnblockNotifications();
		check_eq(words[WORDS], 1);
		words[WORDS] = 0;
		check_eq(vmmc_UnexportRecvBuf(exported[1]), vmmc_Success);
		check_eq(vmmc_UnexportRecvBuf(exported[2]), vmmc_Success);
	}
	worker_end(sender);
}
