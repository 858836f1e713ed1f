// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_notify.c - SBL: notifications and their handlers
 *
 * Each test names the requirements that it shows. This process exports buffers, a worker sends to
 * them, from the other node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "sb.h"

#define WINDOW	256

/* ---- jobs of the sender ------------------------------------------------------------ */

static Int32 *at[8];

static long job_import(long node, long squid, long id)
{
	int n;

	return SBL_ImportRecvBuf(node, squid, id, &at[id], &n);
}

/* Send the words @value, @value + 1, ... with a notification. */
static long job_send(long id, long span, long value)
{
	long offset = span >> 16, n = span & 0xffff;
	Int32 words[WORDS];

	for (long i = 0; i < n; i++)
		words[i] = value + i;
	return SBL_SendMsgWithNotify(words, at[id] + offset, n);
}
#define SPAN(offset, n)	((long)(offset) << 16 | (n))

static long job_send_plain(long id, long offset, long value)
{
	Int32 word = value;

	return SBL_SendMsg(&word, at[id] + offset, 1);
}

static long job_send_many(long id, long n, long first)
{
	int ret = 0;

	for (Int32 i = first; i < first + n && !ret; i++)
		ret = SBL_SendMsgWithNotify(&i, at[id], 1);
	return ret;
}

static struct worker *sender;

/* ---- this process -------------------------------------------------------------------- */

static Int32 words[4 * WORDS] __attribute__((aligned(PAGE)));
static _Atomic int handled;
static Int32 *address[4096];
static Int32 value[4096];

static void note(Int32 *where, Int32 what)
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

static void export_as(int id, Int32 *buf, int n, SBL_MsgHandler handler)
{
	check_eq(SBL_ExportRecvBuf(buf, n, id, handler, 0), SBL_Success);
	check_eq(worker_do(sender, job_import, SBL_MyNode(), SBL_MySquid(), id), SBL_Success);
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
		check_eq(SBL_UnexportRecvBuf(id), SBL_Success);
	worker_end(sender);
}

static void begin_one(SBL_MsgHandler handler)
{
	begin();
	export_as(1, words, WORDS, handler);
}

/* ---- handlers ---------------------------------------------------------------------------- */

static bool in_place;

static void look(Int32 *where, Int32 what)
{
	in_place = *where == what && where[-1] == what - 1;
	note(where, what);
}

TEST(SBL_22_SBL_20_a_handler_runs_when_the_data_is_in_memory)
{
	begin_one(look);
	check_eq(worker_do(sender, job_send, 1, SPAN(10, 5), 100), SBL_Success);
	check(handles(1));
	check(in_place);
	check(address[0] == words + 14);
	check_eq(value[0], 104);
	end(1);
}

TEST(SBL_19_a_buffer_has_one_handler_or_none)
{
	begin_one(note);
	export_as(2, words + WORDS, WORDS, NULL);
	/* Neither a notification without a handler, nor a message without one, has an effect. */
	check_eq(worker_do(sender, job_send, 2, SPAN(3, 2), 7), SBL_Success);
	check_eq(worker_do(sender, job_send_plain, 1, 4, 8), SBL_Success);
	check(arrives(words + WORDS + 4, 8));
	check(arrives(words + 4, 8));
	check_eq(worker_do(sender, job_send, 1, SPAN(0, 1), 9), SBL_Success);
	check(handles(1));
	check_eq(value[0], 9);
	end(2);
}

TEST(SBL_21_the_address_and_the_value_of_the_last_word)
{
	static const int begins[] = { 0, 1, 2, 3, 1021 };

	begin();
	for (size_t b = 0; b < sizeof(begins) / sizeof(begins[0]); b++) {
		Int32 *buf = words + begins[b];

		export_as(1, buf, 32, note);
		atomic_store(&handled, 0);
		for (int offset = 0; offset < 4; offset++)
			for (int n = 1; n <= 9; n++)
				check_eq(worker_do(sender, job_send, 1, SPAN(offset, n), 1000 * n),
					 SBL_Success);
		check(handles(36));
		for (int i = 0; i < 36; i++) {
			check(address[i] == buf + i / 9 + i % 9);
			check_eq(value[i], 1000 * (i % 9 + 1) + i % 9);
		}
		check_eq(SBL_UnexportRecvBuf(1), SBL_Success);
	}
	end(0);
}

TEST(SBL_21_the_value_is_that_of_the_message)
{
	begin_one(note);
	SBL_BlockNotifications();
	check_eq(worker_do(sender, job_send, 1, SPAN(5, 3), 10), SBL_Success);
	check_eq(worker_do(sender, job_send, 1, SPAN(5, 3), 20), SBL_Success);
	check(arrives(words + 7, 22));
	check_eq(atomic_load(&handled), 0);
	check_eq(SBL_UnblockNotifications(), 1);
	check(handles(2));
	check_eq(value[0], 12);
	check_eq(value[1], 22);
	check(address[0] == words + 7 && address[1] == words + 7);
	end(1);
}

TEST(SBL_23_blocked_notifications_of_all_buffers_are_delivered_in_order)
{
	begin_one(note);
	export_as(2, words + WORDS, WORDS, note);
	SBL_BlockNotifications();
	SBL_BlockNotifications();
	for (int i = 0; i < 100; i++)
		check_eq(worker_do(sender, job_send, i % 3 ? 1 : 2, SPAN(i, 1), i), SBL_Success);
	check(arrives(words + WORDS + 99, 99));
	check_eq(SBL_UnblockNotifications(), 0);
	check_eq(atomic_load(&handled), 0);
	check_eq(SBL_UnblockNotifications(), 1);
	check(handles(100));
	for (int i = 0; i < 100; i++) {
		check_eq(value[i], i);
		check(address[i] == words + (i % 3 ? 0 : WORDS) + i);
	}
	end(2);
}

/* The sender waits when a window of notifications is not handled; none is lost. */
TEST(SBL_23_the_queue_is_finite_and_the_sender_waits)
{
	begin_one(note);
	SBL_BlockNotifications();
	worker_begin(sender, job_send_many, 1, 3 * WINDOW, 0);
	while (__atomic_load_n(&words[0], __ATOMIC_ACQUIRE) < WINDOW - 1)
		sched_yield();
	while (!asleep_in(worker_pid(sender), SYS_ioctl))
		usleep(1000);
	check(words[0] <= WINDOW + 1);
	check_eq(SBL_UnblockNotifications(), 1);
	check_eq(worker_result(sender), SBL_Success);
	check(handles(3 * WINDOW));
	for (int i = 0; i < 3 * WINDOW; i++)
		check_eq(value[i], i);
	end(1);
}

/* ---- blocking ------------------------------------------------------------------------ */

TEST(SBL_24_unblock_undoes_one_block)
{
	begin();
	check_eq(SBL_UnblockNotifications(), 1);
	for (int i = 0; i < 3; i++)
		SBL_BlockNotifications();
	check_eq(SBL_UnblockNotifications(), 0);
	check_eq(SBL_UnblockNotifications(), 0);
	check_eq(SBL_UnblockNotifications(), 1);
	check_eq(SBL_UnblockNotifications(), 1);
	end(0);
}

static int loops, loop_end, pair;

/* The loop of the document. */
static int unconditional(void)
{
	int status;

	for (loops = 0; (status = SBL_UnblockNotifications()) == 0; loops++)
		;
	return status;
}

static void loop(Int32 *where, Int32 what)
{
	SBL_BlockNotifications();
	pair = SBL_UnblockNotifications();
	for (int i = 0; i < what; i++)
		SBL_BlockNotifications();
	loop_end = unconditional();
	note(where, loops);
}

TEST(SBL_24_SBL_25_the_unconditional_loop_ends)
{
	begin_one(loop);
	for (int level = 0; level < 4; level++) {
		for (int i = 0; i < level; i++)
			SBL_BlockNotifications();
		check(unconditional() > 0);
		check_eq(loops, level ? level - 1 : 0);
		check_eq(worker_do(sender, job_send_many, 1, 1, level), SBL_Success);
		check(handles(level + 1));
		/* A pair in a handler is permitted; notifications stay blocked. */
		check_eq(pair, 0);
		check_eq(value[level], level);
		check_eq(loop_end, SBL_ENotInHandler);
	}
	end(1);
}

static _Atomic int nested, deepest;

/* Long enough that others arrive. */
static void slow(Int32 *where, Int32 what)
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

TEST(SBL_25_notifications_are_blocked_while_a_handler_runs)
{
	begin_one(slow);
	atomic_store(&deepest, 0);
	check_eq(worker_do(sender, job_send_many, 1, 10, 0), SBL_Success);
	check(handles(10));
	check_eq(atomic_load(&deepest), 1);
	for (int i = 0; i < 10; i++)
		check_eq(value[i], i);
	end(1);
}

/* ---- calls in a handler ----------------------------------------------------------- */

static Int32 *back_at;
static Int32 result[64];

static void calls(Int32 *where, Int32 what)
{
	Int32 word = 5, *r = result, *p;
	SBL_Squid *squids, child;
	NodeID *hosts;
	int n;

	*r++ = SBL_SendMsg(&word, back_at, 1);
	*r++ = SBL_SendMesg(&word, back_at + 1, 1);
	*r++ = SBL_SendMsgWithNotify(&word, back_at + 2, 1);
	SBL_BlockNotifications();
	*r++ = SBL_UnblockNotifications();
	*r++ = SBL_Hosts(&n, &hosts);
	*r++ = SBL_MyNode() != hosts[0] && n == 1;
	*r++ = SBL_MySquid() != getpid();
	*r++ = SBL_PageSize() - 4096;
	*r++ = SBL_WordSize() - 4;
	*r++ = 1000;	/* the calls that are refused follow */
	*r++ = SBL_ExportRecvBuf(words + 3 * WORDS, 1, 9, NULL, 0);
	*r++ = SBL_UnexportRecvBuf(2);
	*r++ = SBL_ImportRecvBuf(SBL_MyNode(), SBL_MySquid(), 2, &p, &n);
	*r++ = SBL_ImportRecvBufReq(SBL_MyNode(), SBL_MySquid(), 2, &p, &n, 0);
	*r++ = SBL_UnimportRecvBuf(back_at);
	*r++ = SBL_Map(words + 3 * WORDS, back_at, 1, 0);
	*r++ = SBL_AUMap(words + 3 * WORDS, back_at, 1, 0, AU_TimerWrite);
	*r++ = SBL_AUMap(words + 3 * WORDS, back_at, 1, 0, AU_Disable);
	*r++ = SBL_Unmap(words);
	*r++ = SBL_Importers(2, &n, &squids, &hosts);
	*r++ = SBL_UnblockNotifications();
	*r++ = 2000;
	(void)child;
	note(where, what);
}

static long job_export(long a, long b, long c)
{
	return SBL_ExportRecvBuf(board, WORDS, 1, note, 0);
}

static long job_handled(long a, long b, long c)
{
	return atomic_load(&handled);
}

/* Import a buffer of the sender. */
static void begin_back(void)
{
	int n;

	check_eq(worker_do(sender, job_export, 0, 0, 0), SBL_Success);
	check_eq(SBL_ImportRecvBuf(node_there(), worker_pid(sender), 1, &back_at, &n), SBL_Success);
}

TEST(SBL_26_SBL_13_calls_in_a_handler)
{
	Int32 *r = result;

	begin_one(calls);
	export_as(2, words + WORDS, WORDS, NULL);
	begin_back();
	check_eq(worker_do(sender, job_send_many, 1, 1, 7), SBL_Success);
	check(handles(1));
	for (; *r != 1000; r++)
		check_eq(*r, 0);
	for (r++; *r != 2000; r++)
		check_eq(*r, SBL_ENotInHandler);
	check_eq(SBL_UnimportRecvBuf(back_at), SBL_Success);
	end(2);
}

TEST(SBL_28_unexport_with_pending_notifications)
{
	begin_one(note);
	SBL_BlockNotifications();
	check_eq(worker_do(sender, job_send, 1, SPAN(0, 1), 3), SBL_Success);
	check(arrives(words, 3));
	check_eq(SBL_UnexportRecvBuf(1), SBL_EBlockedNotifications);
	check_eq(atomic_load(&handled), 0);
	/* The buffer is still exported. */
	check_eq(worker_do(sender, job_send, 1, SPAN(0, 1), 4), SBL_Success);
	check(arrives(words, 4));
	check_eq(SBL_UnblockNotifications(), 1);
	check(handles(2));
	SBL_BlockNotifications();
	check_eq(SBL_UnexportRecvBuf(1), SBL_Success);
	check_eq(SBL_UnblockNotifications(), 1);
	end(0);
}

/* ---- like a signal --------------------------------------------------------------------- */

static int pipe_ends[2];

static void wake(Int32 *where, Int32 what)
{
	errno = 99;
	if (what == 2 && write(pipe_ends[1], "x", 1) != 1)
		abort();
	note(where, what);
}

static long job_send_late(long pid, long nr, long what)
{
	Int32 word = what;

	while (nr && !asleep_in(pid, nr))
		usleep(1000);
	return SBL_SendMsgWithNotify(&word, at[1], 1);
}

TEST(SBL_30_a_notification_is_an_upcall)
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
	check_eq(worker_result(sender), SBL_Success);
	/* A blocking system call: read(2) is restarted, and finds what the handler has written. */
	worker_begin(sender, job_send_late, getpid(), 0, 2);
	check_eq(read(pipe_ends[0], &byte, 1), 1);
	check_eq(worker_result(sender), SBL_Success);
	check_eq(atomic_load(&handled), 2);
	/* Sleeping: as signal(7) says, this is not restarted. */
	worker_begin(sender, job_send_late, getpid(), SYS_clock_nanosleep, 3);
	check_eq(nanosleep(&hour, &left), -1);
	check_eq(errno, EINTR);
	check_eq(worker_result(sender), SBL_Success);
	check_eq(atomic_load(&handled), 3);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	end(1);
}

/* ---- two processes that notify each other ----------------------------------------------- */

#define FLOOD	(5 * WINDOW)

/* Both windows are full while both send: handlers run while a send waits. */
TEST(SBL_20_two_processes_flood_each_other)
{
	int ret = SBL_Success;

	begin_one(note);
	begin_back();
	worker_begin(sender, job_send_many, 1, FLOOD, 0);
	for (Int32 i = 0; i < FLOOD && !ret; i++)
		ret = SBL_SendMsgWithNotify(&i, back_at, 1);
	check_eq(ret, SBL_Success);
	check_eq(worker_result(sender), SBL_Success);
	check(handles(FLOOD));
	check_eq(value[FLOOD - 1], FLOOD - 1);
	while (worker_do(sender, job_handled, 0, 0, 0) < FLOOD)
		usleep(1000);
	check_eq(SBL_UnimportRecvBuf(back_at), SBL_Success);
	end(1);
}

static int answer;

static void flood_back(Int32 *where, Int32 what)
{
	for (Int32 i = 0; i < 2 * WINDOW && !answer; i++)
		answer = SBL_SendMsgWithNotify(&i, back_at, 1);
	note(where, what);
}

static long job_block(long block, long b, long c)
{
	if (block)
		SBL_BlockNotifications();
	else
		SBL_UnblockNotifications();
	return 0;
}

TEST(SBL_26_a_handler_does_not_wait_for_a_process_that_blocks)
{
	begin_one(flood_back);
	begin_back();
	answer = 0;
	check_eq(worker_do(sender, job_block, 1, 0, 0), 0);
	check_eq(worker_do(sender, job_send_many, 1, 1, 0), SBL_Success);
	check(handles(1));
	check_eq(answer, SBL_EBlockedNotifications);
	check_eq(worker_do(sender, job_block, 0, 0, 0), 0);
	check_eq(SBL_UnimportRecvBuf(back_at), SBL_Success);
	end(1);
}
