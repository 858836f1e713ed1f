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
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "dd_mem.h"
#include "vm.h"

#define WINDOW	256

/* ---- jobs of the sender ------------------------------------------------------------ */

static vmmc_imphandle_t imported[8];
static int32 *at[8];

static long job_import(long node, long pid, long id)
{
	vmmc_node_t n = { node };
	uint32 size;

	return vmmc_ImportRecvBuf(n, pid, id, &imported[id], &at[id], &size);
}

/* Send the words @value, @value + 1, ... and see them in place. */
static long job_send(long id, long offset_words, long value)
{
	long offset = offset_words >> 16, n = offset_words & 0xffff;
	int32 words[WORDS], word;
	vmmc_result_t ret;

	for (long i = 0; i < n; i++)
		words[i] = value + i;
	ret = vmmc_SendDataNotify(words, at[id] + offset, n);
	return ret ? ret : vmmc_GetData(&word, at[id], 1);
}
#define SPAN(offset, n)	((long)(offset) << 16 | (n))

static long job_send_many(long id, long n, long first)
{
	vmmc_result_t ret = 0;

	for (int32 i = first; i < first + n && !ret; i++)
		ret = vmmc_SendDataNotify(&i, at[id], 1);
	return ret;
}

static long job_pid(long a, long b, long c)
{
	return vmmc_MyPid();
}

static struct worker *sender;

/* ---- this process -------------------------------------------------------------------- */

static int32 words[4 * WORDS] __attribute__((aligned(PAGE)));
static vmmc_exphandle_t own[8];
static _Atomic int handled;
static int32 *address[4096];
static int32 value[4096];

static void note(int32 *where, int32 what)
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

static bool handles(int n)
{
	wanted = n;
	return soon(all_handled) && atomic_load(&handled) == n;
}

static void export_as(int id, int32 *buf, uint32 n, vmmc_callback_t proc, uint32 flags)
{
	check_eq(vmmc_ExportRecvBuf(buf, n, id, proc, flags, VMMC_PERM_ANY, &own[id]),
		 vmmc_Success);
	check_eq(worker_do(sender, job_import, vmmc_MyNode().number, vmmc_MyPid(), id),
		 vmmc_Success);
}

static void begin(void)
{
	sender = worker_new(THERE);
	memset(words, 0, sizeof(words));
	atomic_store(&handled, 0);
}

static void end(int exports)
{
	for (int id = 1; id <= exports; id++)
		check_eq(vmmc_UnexportRecvBuf(own[id]), vmmc_Success);
	worker_end(sender);
}

static void begin_one(vmmc_callback_t proc)
{
	begin();
	export_as(1, words, WORDS, proc, BUF_READWRITE);
}

/* ---- handlers ---------------------------------------------------------------------------- */

static bool in_place;

static void look(int32 *where, int32 what)
{
	in_place = *where == what && where[-1] == what - 1;
	note(where, what);
}

TEST(VM_41_VM_84_a_handler_runs_when_the_data_is_in_memory)
{
	begin();
	export_as(1, words, WORDS, look, BUF_READWRITE);
	export_as(2, words + WORDS, WORDS, NULL, BUF_READWRITE);
	check_eq(worker_do(sender, job_send, 1, SPAN(10, 5), 100), vmmc_Success);
	check(handles(1));
	check(in_place);
	check(address[0] == words + 14);
	check_eq(value[0], 104);
	/* Without a handler, a notification has no effect. */
	check_eq(worker_do(sender, job_send, 2, SPAN(3, 2), 7), vmmc_Success);
	check_eq(words[WORDS + 4], 8);
	check_eq(atomic_load(&handled), 1);
	end(2);
}

TEST(VM_42_the_address_and_the_value_of_the_last_word)
{
	static const int begins[] = { 0, 1, 2, 3, 1021 };

	begin();
	for (size_t b = 0; b < sizeof(begins) / sizeof(begins[0]); b++) {
		int32 *buf = words + begins[b];

		for (int kind = 0; kind < 2; kind++) {
			export_as(1, buf, 32, note,
				  BUF_READWRITE | (kind ? BUF_REDIRECTABLE : 0));
			atomic_store(&handled, 0);
			for (int offset = 0; offset < 4; offset++) {
				for (int n = 1; n <= 9; n++) {
					check_eq(worker_do(sender, job_send, 1, SPAN(offset, n),
							   1000 * n), vmmc_Success);
				}
			}
			check(handles(36));
			for (int i = 0; i < 36; i++) {
				check(address[i] == buf + i / 9 + i % 9);
				check_eq(value[i], 1000 * (i % 9 + 1) + i % 9);
			}
			check_eq(vmmc_UnexportRecvBuf(own[1]), vmmc_Success);
		}
	}
	end(0);
}

TEST(VM_42_the_value_is_that_of_the_message)
{
	begin_one(note);
	vmmc_BlockNotifications();
	check_eq(worker_do(sender, job_send, 1, SPAN(5, 3), 10), vmmc_Success);
	check_eq(worker_do(sender, job_send, 1, SPAN(5, 3), 20), vmmc_Success);
	check_eq(words[7], 22);
	check_eq(atomic_load(&handled), 0);
	check_eq(vmmc_UnblockNotifications(), 1);
	check(handles(2));
	check_eq(value[0], 12);
	check_eq(value[1], 22);
	check(address[0] == words + 7 && address[1] == words + 7);
	end(1);
}

TEST(VM_43_VM_51_blocked_notifications_of_all_buffers_are_delivered_in_order)
{
	begin();
	export_as(1, words, WORDS, note, BUF_READWRITE);
	export_as(2, words + WORDS, WORDS, note, BUF_READWRITE);
	vmmc_BlockNotifications();
	vmmc_BlockNotifications();
	for (int i = 0; i < 100; i++)
		check_eq(worker_do(sender, job_send, i % 3 ? 1 : 2, SPAN(i, 1), i), vmmc_Success);
	check_eq(vmmc_UnblockNotifications(), 0);
	check_eq(atomic_load(&handled), 0);
	check_eq(vmmc_UnblockNotifications(), 1);
	/* Those that are due have run before the call returns. */
	check_eq(atomic_load(&handled), 100);
	for (int i = 0; i < 100; i++) {
		check_eq(value[i], i);
		check(address[i] == words + (i % 3 ? 0 : WORDS) + i);
	}
	end(2);
}

/* An importer that uses libdd, and sends what VMMC does not. */
static long job_send_other(long node, long pid, long id)
{
	const struct { size_t len, offset; } put[] = { { 0, 0 }, { 1, 1 }, { 3, 0 }, { 0, PAGE },
						       { 6, 4 } };
	unsigned char key[DD_KEY_SIZE] = { pid, pid >> 8, pid >> 16, pid >> 24, id };
	struct dd_mem *mem;
	struct dd *h;

	key[8] = 'V';
	if (dd_open(&h) || dd_import(h, node, DD_KEY_BUFFER, key, DD_CAN_PUT, &mem) ||
	    dd_note(mem, "12345678", 0) || dd_note(mem, "12345678", 8))
		return -1;
	for (size_t i = 0; i < sizeof(put) / sizeof(put[0]); i++)
		if (dd_put(mem, "12345678", put[i].len, put[i].offset, DD_PUT_NOTIFY))
			return i + 1;
	return dd_put(mem, "12345678", 8, PAGE - 8, DD_PUT_NOTIFY);
}

TEST(VM_42_the_address_is_that_of_a_word_of_the_buffer)
{
	begin_one(note);
	check_eq(worker_do(sender, job_send_other, vmmc_MyNode().number, vmmc_MyPid(), 1), 0);
	check(handles(1));
	check(address[0] == words + WORDS - 1);
	check(!memcmp(&value[0], "5678", 4));
	end(1);
}

/* The sender waits when a window of notifications is not handled; none is lost. */
TEST(VM_43_the_queue_is_finite_and_the_sender_waits)
{
	begin_one(note);
	vmmc_BlockNotifications();
	worker_begin(sender, job_send_many, 1, 3 * WINDOW, 0);
	wanted = WINDOW;
	while (__atomic_load_n(&words[0], __ATOMIC_ACQUIRE) < WINDOW - 1)
		sched_yield();
	while (!asleep_in(worker_pid(sender), SYS_ioctl))
		usleep(1000);
	check(words[0] <= WINDOW + 1);
	check_eq(vmmc_UnblockNotifications(), 1);
	check_eq(worker_result(sender), vmmc_Success);
	check(handles(3 * WINDOW));
	for (int i = 0; i < 3 * WINDOW; i++)
		check_eq(value[i], i);
	end(1);
}

static _Atomic int nested, deepest;

/* Long enough that others arrive. */
static void slow(int32 *where, int32 what)
{
	int depth = atomic_fetch_add(&nested, 1) + 1;

	if (depth > atomic_load(&deepest))
		atomic_store(&deepest, depth);
	if (!what)
		while (__atomic_load_n(&words[0], __ATOMIC_ACQUIRE) < 9)
			sched_yield();
	note(where, what);
	atomic_fetch_sub(&nested, 1);
}

TEST(VM_44_notifications_are_blocked_while_a_handler_runs)
{
	begin_one(slow);
	atomic_store(&deepest, 0);
	check_eq(worker_do(sender, job_send_many, 1, 10, 0), vmmc_Success);
	check(handles(10));
	check_eq(atomic_load(&deepest), 1);
	for (int i = 0; i < 10; i++)
		check_eq(value[i], i);
	end(1);
}

/* ---- calls in a handler ----------------------------------------------------------- */

static vmmc_imphandle_t back;
static int32 *back_at;
static int32 result[64];

static void calls(int32 *where, int32 what)
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
	while (vmmc_AsyncStatus(&h) == vmmcErr_InProgress)
		;
	*r++ = vmmc_AsyncStatus(&h);
	*r++ = vmmc_SendDataAsyncNotify(&word, back_at + 3, 1, &h);
	*r++ = vmmc_GetDataAsync(&got, back_at, 1, &h);
	while (vmmc_AsyncStatus(&h) == vmmcErr_InProgress)
		;
	vmmc_BlockNotifications();
	*r++ = vmmc_UnblockNotifications();
	*r++ = vmmc_AllHosts(&n, &hosts);
	*r++ = vmmc_SessionHosts(&n, &hosts);
	*r++ = !vmmc_EqualNodes(vmmc_MyNode(), vmmc_MyNode());
	*r++ = vmmc_MyPid() <= 0;
	*r++ = !vmmc_NodeToName(vmmc_MyNode());
	*r++ = !vmmc_EqualNodes(vmmc_NameToNode(vmmc_MyHostName()), vmmc_MyNode());
	*r++ = vmmc_DataEnd(own[2]) != vmmcErr_NoSuchError;
	vmmc_ClearDataEnd(own[2]);
	vmmc_Version(&major, &minor);
	*r++ = 1000;	/* the calls that are refused follow */
	*r++ = vmmc_ExportRecvBuf(words + 3 * WORDS, 1, 9, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e);
	*r++ = vmmc_UnexportRecvBuf(own[2]);
	*r++ = vmmc_ImportRecvBuf(vmmc_MyNode(), vmmc_MyPid(), 2, &imp, &p, &n);
	*r++ = vmmc_ImportRecvBufAsync(vmmc_MyNode(), vmmc_MyPid(), 2, &imp);
	*r++ = vmmc_ImportRecvBufStatus(&back, &p, &n);
	*r++ = vmmc_UnimportRecvBuf(back);
	*r++ = vmmc_PostRedir(own[2], 0, 1, words + 3 * WORDS);
	*r++ = vmmc_EndRedir(own[2], &n, &first);
	*r++ = vmmc_Spawn("/bin/true", NULL, vmmc_MyNode(), &pid);
	*r++ = vmmc_UnblockNotifications();
	*r++ = 2000;
	note(where, what);
}

static long job_export(long a, long b, long c)
{
	static vmmc_exphandle_t e;

	return vmmc_ExportRecvBuf(board, 8 * WORDS, 1, note, BUF_READWRITE, VMMC_PERM_ANY, &e);
}

static long job_handled(long a, long b, long c)
{
	return atomic_load(&handled);
}

/* Import a buffer of the sender. */
static void begin_back(void)
{
	uint32 n;

	check_eq(worker_do(sender, job_export, 0, 0, 0), vmmc_Success);
	check_eq(vmmc_ImportRecvBuf(node_there(), worker_do(sender, job_pid, 0, 0, 0), 1, &back,
				    &back_at, &n), vmmc_Success);
}

TEST(VM_45_VM_46_17_calls_in_a_handler)
{
	int32 *r = result;

	begin_one(calls);
	export_as(2, words + WORDS, WORDS, NULL, BUF_READWRITE | BUF_REDIRECTABLE);
	begin_back();
	check_eq(worker_do(sender, job_send_many, 1, 1, 7), vmmc_Success);
	check(handles(1));
	for (; *r != 1000; r++)
		check_eq(*r, 0);
	for (r++; *r != 2000; r++)
		check_eq(*r, vmmcErr_NotInHandler);
	check_eq(vmmc_UnimportRecvBuf(back), vmmc_Success);
	end(2);
}

/* ---- blocking ------------------------------------------------------------------------ */

TEST(VM_52_unblock_undoes_one_block)
{
	begin();
	check_eq(vmmc_UnblockNotifications(), 1);
	vmmc_BlockNotifications();
	vmmc_BlockNotifications();
	vmmc_BlockNotifications();
	check_eq(vmmc_UnblockNotifications(), 0);
	check_eq(vmmc_UnblockNotifications(), 0);
	check_eq(vmmc_UnblockNotifications(), 1);
	check_eq(vmmc_UnblockNotifications(), 1);
	end(0);
}

static int loops, loop_end;

/* The loop of the document. */
static int unconditional(void)
{
	int status;

	for (loops = 0; (status = vmmc_UnblockNotifications()) == 0; loops++)
		;
	return status;
}

static void loop(int32 *where, int32 what)
{
	for (int i = 0; i < what; i++)
		vmmc_BlockNotifications();
	loop_end = unconditional();
	note(where, loops);
}

TEST(VM_53_the_unconditional_loop_ends)
{
	begin_one(loop);
	for (int level = 0; level < 4; level++) {
		for (int i = 0; i < level; i++)
			vmmc_BlockNotifications();
		check(unconditional() > 0);
		check_eq(loops, level ? level - 1 : 0);
		check_eq(worker_do(sender, job_send_many, 1, 1, level), vmmc_Success);
		check(handles(level + 1));
		check_eq(value[level], level);
		check_eq(loop_end, vmmcErr_NotInHandler);
		check_eq(vmmc_ENotInHandler, vmmcErr_NotInHandler);
	}
	end(1);
}

static long job_send_async(long id, long n, long first)
{
	static int32 sent[64];
	vmmc_async_handle_t h;
	vmmc_result_t ret = 0;

	for (long i = 0; i < n && !ret; i++) {
		sent[i] = first + i;
		ret = vmmc_SendDataAsyncNotify(&sent[i], at[id] + i, 1, &h);
	}
	if (ret)
		return ret;
	while ((ret = vmmc_AsyncStatus(&h)) == vmmcErr_InProgress)
		sched_yield();
	return ret;
}

TEST(VM_86_asynchronous_with_a_notification)
{
	begin_one(note);
	check_eq(worker_do(sender, job_send_async, 1, 64, 500), vmmc_Success);
	check(handles(64));
	for (int i = 0; i < 64; i++) {
		check_eq(value[i], 500 + i);
		check(address[i] == words + i);
	}
	end(1);
}

TEST(VM_46_11_unexport_with_pending_notifications)
{
	begin_one(note);
	vmmc_BlockNotifications();
	check_eq(worker_do(sender, job_send, 1, SPAN(0, 1), 3), vmmc_Success);
	check_eq(vmmc_UnexportRecvBuf(own[1]), vmmcErr_BlockedNotifications);
	check_eq(atomic_load(&handled), 0);
	/* The buffer is still exported. */
	check_eq(worker_do(sender, job_send, 1, SPAN(0, 1), 4), vmmc_Success);
	check_eq(vmmc_UnblockNotifications(), 1);
	check_eq(atomic_load(&handled), 2);
	vmmc_BlockNotifications();
	check_eq(vmmc_UnexportRecvBuf(own[1]), vmmc_Success);
	check_eq(vmmc_UnblockNotifications(), 1);
	end(0);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *computing(void *arg)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return NULL;
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
		export_as(1, words, WORDS, note, BUF_READWRITE);
		atomic_store(&handled, 0);
		words[0] = -1;
		worker_begin(sender, job_send_until_refused, 1, 0, 0);
		check(handles(0) || true);
		wanted = 20 + i;
		check(soon(all_handled));
		check_eq(vmmc_UnexportRecvBuf(own[1]), vmmc_Success);
		worker_result(sender);
		check_eq(words[0], atomic_load(&handled) - 1);
		check_eq(value[words[0] % 4096], words[0]);
	}
	end(0);
}

/* ---- like a signal --------------------------------------------------------------------- */

static int pipe_ends[2];

static void wake(int32 *where, int32 what)
{
	errno = 99;
	if (what == 2 && write(pipe_ends[1], "x", 1) != 1)
		abort();
	note(where, what);
}

static long job_send_late(long pid, long nr, long what)
{
	int32 word = what;

	while (nr && !asleep_in(pid, nr))
		usleep(1000);
	return vmmc_SendDataNotify(&word, at[1], 1);
}

TEST(VM_90_a_handler_interrupts_the_process)
{
	const struct timespec hour = { .tv_sec = 3600 };
	struct timespec left;
	unsigned long turns = 0;
	char byte;

	begin_one(wake);
	check_eq(pipe(pipe_ends), 0);
	/* Computing; errno stays. */
	errno = 5;
	worker_begin(sender, job_send_late, getpid(), 0, 1);
	while (!atomic_load(&handled))
		turns++;
	check_eq(errno, 5);
	check_eq(worker_result(sender), vmmc_Success);
	/* A blocking system call: read(2) is restarted, and finds what the handler has written. */
	worker_begin(sender, job_send_late, getpid(), 0, 2);
	check_eq(read(pipe_ends[0], &byte, 1), 1);
	check_eq(worker_result(sender), vmmc_Success);
	check_eq(atomic_load(&handled), 2);
	/* Sleeping: as signal(7) says, this is not restarted. */
	worker_begin(sender, job_send_late, getpid(), SYS_clock_nanosleep, 3);
	check_eq(nanosleep(&hour, &left), -1);
	check_eq(errno, EINTR);
	check_eq(worker_result(sender), vmmc_Success);
	check_eq(atomic_load(&handled), 3);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	end(1);
}

/* In the library: a blocking import is interrupted, and goes on. */
static long job_notify_and_export(long importer, long b, long c)
{
	static vmmc_exphandle_t e;
	int32 word = 1;
	vmmc_result_t ret;

	while (!asleep_in(importer, SYS_ioctl))
		usleep(1000);
	ret = vmmc_SendDataNotify(&word, at[1], 1);
	while (!ret && !__atomic_load_n(&board[WORDS], __ATOMIC_ACQUIRE))
		usleep(1000);
	return ret ? ret : vmmc_ExportRecvBuf(board, WORDS, 3, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e);
}

static void to_board(int32 *where, int32 what)
{
	note(where, what);
	__atomic_store_n(&board[WORDS], 1, __ATOMIC_RELEASE);
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

/* ---- two processes that notify each other ----------------------------------------------- */

#define FLOOD	(5 * WINDOW)

/* Both windows are full while both send: handlers run while a send waits. */
TEST(VM_84_two_processes_flood_each_other)
{
	vmmc_result_t ret = vmmc_Success;

	begin_one(note);
	begin_back();
	worker_begin(sender, job_send_many, 1, FLOOD, 0);
	for (int32 i = 0; i < FLOOD && !ret; i++)
		ret = vmmc_SendDataNotify(&i, back_at, 1);
	check_eq(ret, vmmc_Success);
	check_eq(worker_result(sender), vmmc_Success);
	check(handles(FLOOD));
	check_eq(value[FLOOD - 1], FLOOD - 1);
	while (worker_do(sender, job_handled, 0, 0, 0) < FLOOD)
		usleep(1000);
	check_eq(vmmc_UnimportRecvBuf(back), vmmc_Success);
	end(1);
}

static vmmc_result_t answer, answer_of_get;
static int32 many[8 * WORDS];

/* @what: words of each message. Then fetch, which waits for the messages. */
static void flood_back(int32 *where, int32 what)
{
	for (int32 i = 0; i < 2 * WINDOW && !answer; i++)
		answer = vmmc_SendDataNotify(many, back_at, what);
	answer_of_get = vmmc_GetData(many, back_at, what);
	note(where, what);
}

static long job_block(long block, long b, long c)
{
	if (block)
		vmmc_BlockNotifications();
	else
		vmmc_UnblockNotifications();
	return 0;
}

TEST(VM_46_11_a_handler_does_not_wait_for_a_process_that_blocks)
{
	begin_one(flood_back);
	begin_back();
	for (int i = 0; i < 2; i++) {
		answer = 0;
		check_eq(worker_do(sender, job_block, 1, 0, 0), 0);
		check_eq(worker_do(sender, job_send_many, 1, 1, i ? 8 * WORDS : 1), vmmc_Success);
		check(handles(i + 1));
		check_eq(answer, vmmcErr_BlockedNotifications);
		check_eq(answer_of_get, vmmcErr_BlockedNotifications);
		check_eq(worker_do(sender, job_block, 0, 0, 0), 0);
	}
	check_eq(vmmc_UnimportRecvBuf(back), vmmc_Success);
	end(1);
}

/* Imports of another user, until it gets no more. */
static long job_import_all(long node, long pid, long id)
{
	vmmc_node_t n = { node };
	vmmc_imphandle_t h;
	uint32 size;
	int32 *p;
	long i;

	for (i = 0; i < 300 && !vmmc_ImportRecvBuf(n, pid, id, &h, &p, &size); i++)
		;
	return i;
}

/* Each costs the exporter memory. */
TEST(VM_30_a_user_does_not_get_all_imports_of_a_buffer_with_a_handler)
{
	struct worker *greedy = worker_new(STRANGER), *own_user = worker_new(HERE);
	long n;

	begin_one(note);
	n = worker_do(greedy, job_import_all, vmmc_MyNode().number, vmmc_MyPid(), 1);
	check(n > 0 && n < 64);
	check_eq(worker_do(own_user, job_import, vmmc_MyNode().number, vmmc_MyPid(), 1),
		 vmmc_Success);
	worker_end(greedy);
	worker_end(own_user);
	end(1);
}

/* ---- threads, children, and the choice of a signal ---------------------------------------- */

TEST(VM_43_threads_share_the_handlers)
{
	pthread_t t;

	begin_one(note);
	pthread_mutex_lock(&gate);
	check_eq(pthread_create(&t, NULL, computing, NULL), 0);
	check_eq(worker_do(sender, job_send_many, 1, 2 * WINDOW, 0), vmmc_Success);
	check(handles(2 * WINDOW));
	for (int i = 0; i < 2 * WINDOW; i++)
		check_eq(value[i], i);
	pthread_mutex_unlock(&gate);
	check_eq(pthread_join(t, NULL), 0);
	end(1);
}

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
		export_as(1, words, WORDS, note, BUF_READWRITE);
		export_as(2, words + WORDS, WORDS, NULL, BUF_READWRITE);
		vmmc_BlockNotifications();
		check_eq(worker_do(sender, job_unimport_awaited, 0, 0, 0), 0);
		vmmc_UnblockNotifications();
		check_eq(words[WORDS], 1);
		words[WORDS] = 0;
		check_eq(vmmc_UnexportRecvBuf(own[1]), vmmc_Success);
		check_eq(vmmc_UnexportRecvBuf(own[2]), vmmc_Success);
	}
	worker_end(sender);
}

/* A child has no exports and imports, and makes its own. */
static long job_fork(long node, long b, long c)
{
	vmmc_exphandle_t e;
	vmmc_imphandle_t h;
	int32 word = 6, *p;
	int status;
	uint32 n;
	pid_t child;

	vmmc_BlockNotifications();
	child = fork();
	if (!child) {
		alarm(60);
		if (vmmc_MyPid() != getpid() || vmmc_UnexportRecvBuf(own[1]) != vmmcErr_BadRbufState ||
		    vmmc_SendData(&word, back_at, 1) != vmmcErr_BadProxyAddr ||
		    vmmc_UnimportRecvBuf(back) != vmmcErr_BadIbufState ||
		    vmmc_UnblockNotifications() != 1)
			_exit(2);
		atomic_store(&handled, 0);
		if (vmmc_ExportRecvBuf(words, 8, 1, note, BUF_READWRITE, VMMC_PERM_ANY, &e) ||
		    vmmc_ImportRecvBuf(vmmc_MyNode(), getpid(), 1, &h, &p, &n) ||
		    vmmc_SendDataNotify(&word, p, 1))
			_exit(3);
		while (!atomic_load(&handled))
			usleep(1000);
		_exit(value[0] == 6 ? 0 : 4);
	}
	if (waitpid(child, &status, 0) != child)
		return -1;
	vmmc_UnblockNotifications();
	return status;
}

static long job_setup(long node, long a, long b)
{
	uint32 n;

	if (vmmc_ExportRecvBuf(words, 8, 1, note, BUF_READWRITE, VMMC_PERM_ANY, &own[1]) ||
	    vmmc_ImportRecvBuf(vmmc_MyNode(), vmmc_MyPid(), 1, &back, &back_at, &n))
		return -1;
	return 0;
}

TEST(VM_90_a_child_of_fork_has_its_own)
{
	begin();
	check_eq(worker_do(sender, job_setup, 0, 0, 0), 0);
	check_eq(worker_do(sender, job_fork, 0, 0, 0), 0);
	/* The parent's go on. */
	check_eq(worker_do(sender, job_fork, 0, 0, 0), 0);
	end(0);
}

static int signals_of_program;

static void count_signal(int sig)
{
	signals_of_program++;
}

static long job_other_signal(long a, long b, long c)
{
	int32 word = 1, *p;
	vmmc_imphandle_t h;
	uint32 n;

	setenv("DD_SIGNAL", "12", 1);
	signal(SIGURG, count_signal);
	if (vmmc_ExportRecvBuf(words, 8, 1, note, BUF_READWRITE, VMMC_PERM_ANY, &own[1]) ||
	    vmmc_ImportRecvBuf(vmmc_MyNode(), vmmc_MyPid(), 1, &h, &p, &n))
		return -1;
	atomic_store(&handled, 0);
	raise(SIGURG);
	if (vmmc_SendDataNotify(&word, p, 1))
		return -2;
	while (!atomic_load(&handled))
		usleep(1000);
	return signals_of_program;
}

TEST(VM_90_another_signal)
{
	begin();
	check_eq(worker_do(sender, job_other_signal, 0, 0, 0), 1);
	end(0);
}
