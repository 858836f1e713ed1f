// SPDX-License-Identifier: LGPL-2.1-only
/*
 * buffer_notify.c - buffers of VMMC and SBL: notifications and their handlers
 *
 * Each test names the requirements of its interface that it shows. This process exports buffers, a
 * worker sends to them, from the other node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "sender.h"

/* As handles(); what VMMC's sender has waited for has run before an unblock returns. */
static bool unblock_handles(int n)
{
	check_eq(buf_unblock(), 1);
#ifndef OF_SBL
	return atomic_load(&handled) == n;
#endif
	return handles(n);
}

/* ---- handlers ---------------------------------------------------------------------------- */

static bool in_place;

static void look(int *where, int what)
{
	in_place = *where == what && where[-1] == what - 1;
	note(where, what);
}

PROMISE(VM_41_VM_84, SBL_22_SBL_20, a_handler_runs_when_the_data_is_in_memory)
{
	begin_one(look);
	check_eq(worker_do(sender, job_send, 1, SPAN(10, 5), 100), 0);
	check(handles(1));
	check(in_place);
	check(address[0] == words + 14);
	check_eq(value[0], 104);
	end(1);
}

PROMISE(VM_41, SBL_19, a_buffer_has_one_handler_or_none)
{
	begin_one(note);
	export_as(RW(2), words + WORDS, WORDS, NULL);
	/* Neither a notification without a handler, nor a message without one, has an effect. */
	check_eq(worker_do(sender, job_send, 2, SPAN(3, 2), 7), 0);
	check_eq(worker_do(sender, job_send_plain, 1, SPAN(4, 1), 8), 0);
	check(arrives(words + WORDS + 4, 8));
	check(arrives(words + 4, 8));
	check_eq(worker_do(sender, job_send, 1, SPAN(0, 1), 9), 0);
	check(handles(1));
	check_eq(value[0], 9);
	end(2);
}

static void last_words_of(int *buf, long as)
{
	export_as(as, buf, 32, note);
	atomic_store(&handled, 0);
	for (int offset = 0; offset < 4; offset++)
		for (int n = 1; n <= 9; n++)
			check_eq(worker_do(sender, job_send, 1, SPAN(offset, n), 1000 * n), 0);
	check(handles(36));
	for (int i = 0; i < 36; i++) {
		check(address[i] == buf + i / 9 + i % 9);
		check_eq(value[i], 1000 * (i % 9 + 1) + i % 9);
	}
	check_eq(buf_unexport(1), 0);
}

PROMISE(VM_42, SBL_21, the_address_and_the_value_of_the_last_word)
{
	static const int begins[] = { 0, 1, 2, 3, 1021 };

	begin();
	for (size_t b = 0; b < sizeof(begins) / sizeof(begins[0]); b++) {
		last_words_of(words + begins[b], RW(1));
#ifndef OF_SBL
		last_words_of(words + begins[b],
			      AS(1, BUF_READWRITE | BUF_REDIRECTABLE, VMMC_PERM_ANY));
#endif
	}
	end(0);
}

PROMISE(VM_42, SBL_21, the_value_is_that_of_the_message)
{
	begin_one(note);
	buf_block();
	check_eq(worker_do(sender, job_send, 1, SPAN(5, 3), 10), 0);
	check_eq(worker_do(sender, job_send, 1, SPAN(5, 3), 20), 0);
	check(arrives(words + 7, 22));
	check_eq(atomic_load(&handled), 0);
	check(unblock_handles(2));
	check_eq(value[0], 12);
	check_eq(value[1], 22);
	check(address[0] == words + 7 && address[1] == words + 7);
	end(1);
}

PROMISE(VM_43_VM_51_VM_86, SBL_23, blocked_notifications_of_all_buffers_are_delivered_in_order)
{
	begin_one(note);
	export_as(RW(2), words + WORDS, WORDS, note);
	buf_block();
	buf_block();
	for (int i = 0; i < 100; i++)
		check_eq(worker_do(sender, job_send, i % 3 ? 1 : 2, SPAN(i, 1), i), 0);
	check(arrives(words + WORDS + 99, 99));
	check_eq(buf_unblock(), 0);
	check_eq(atomic_load(&handled), 0);
	check(unblock_handles(100));
	for (int i = 0; i < 100; i++) {
		check_eq(value[i], i);
		check(address[i] == words + (i % 3 ? 0 : WORDS) + i);
	}
	end(2);
}

/* The sender waits when a window of notifications is not handled; none is lost. */
PROMISE(VM_43, SBL_23, the_queue_is_finite_and_the_sender_waits)
{
	begin_one(note);
	buf_block();
	worker_begin(sender, job_send_many, 1, 3 * WINDOW, 0);
	while (load(&words[0]) < WINDOW - 1)
		sched_yield();
	while (!asleep_in(worker_pid(sender), SYS_ioctl))
		usleep(1000);
	check(words[0] <= WINDOW + 1);
	check_eq(buf_unblock(), 1);
	check_eq(worker_result(sender), 0);
	check(handles(3 * WINDOW));
	for (int i = 0; i < 3 * WINDOW; i++)
		check_eq(value[i], i);
	end(1);
}

/* ---- blocking ------------------------------------------------------------------------ */

static int loops, loop_end, pair;

/* The loop of the document. */
static int unconditional(void)
{
	int status;

	for (loops = 0; (status = buf_unblock()) == 0; loops++)
		;
	return status;
}

static void loop(int *where, int what)
{
	buf_block();
	pair = buf_unblock();
	for (int i = 0; i < what; i++)
		buf_block();
	loop_end = unconditional();
	note(where, loops);
}

/* An unblock undoes one block; without one it returns 1. */
PROMISE(VM_52_VM_53, SBL_24_SBL_25, the_unconditional_loop_ends)
{
	begin_one(loop);
	for (int level = 0; level < 4; level++) {
		for (int i = 0; i < level; i++)
			buf_block();
		check_eq(unconditional(), 1);
		check_eq(loops, level ? level - 1 : 0);
		check_eq(worker_do(sender, job_send_many, 1, 1, level), 0);
		check(handles(level + 1));
		/* A pair in a handler is permitted; notifications stay blocked. */
		check_eq(pair, 0);
		check_eq(value[level], level);
		check_eq(loop_end, ERR(NotInHandler));
	}
	end(1);
}

static _Atomic int nested, deepest;

/* Long enough that others arrive. */
static void slow(int *where, int what)
{
	int depth = atomic_fetch_add(&nested, 1) + 1;

	if (depth > atomic_load(&deepest))
		atomic_store(&deepest, depth);
	if (!what)
		while (load(&words[0]) < 9)
			sched_yield();
	note(where, what);
	atomic_fetch_sub(&nested, 1);
}

PROMISE(VM_44, SBL_25, notifications_are_blocked_while_a_handler_runs)
{
	begin_one(slow);
	atomic_store(&deepest, 0);
	check_eq(worker_do(sender, job_send_many, 1, 10, 0), 0);
	check(handles(10));
	check_eq(atomic_load(&deepest), 1);
	for (int i = 0; i < 10; i++)
		check_eq(value[i], i);
	end(1);
}

PROMISE(VM_46_11, SBL_28, unexport_with_pending_notifications)
{
	begin_one(note);
	buf_block();
	check_eq(worker_do(sender, job_send, 1, SPAN(0, 1), 3), 0);
	check(arrives(words, 3));
	check_eq(buf_unexport(1), ERR(BlockedNotifications));
	check_eq(atomic_load(&handled), 0);
	/* The buffer is still exported. */
	check_eq(worker_do(sender, job_send, 1, SPAN(0, 1), 4), 0);
	check(arrives(words, 4));
	check(unblock_handles(2));
	buf_block();
	check_eq(buf_unexport(1), 0);
	check_eq(buf_unblock(), 1);
	end(0);
}

/* ---- like a signal --------------------------------------------------------------------- */

static int pipe_ends[2];

static void wake(int *where, int what)
{
	errno = 99;
	if (what == 2 && write(pipe_ends[1], "x", 1) != 1)
		abort();
	note(where, what);
}

static long job_send_late(long to, long nr, long what)
{
	int word = what;

	while (nr && !asleep_in(to, nr))
		usleep(1000);
	return buf_send_notify(&word, at[1], 1);
}

PROMISE(VM_90, SBL_30, a_handler_interrupts_the_process)
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
	check_eq(worker_result(sender), 0);
	/* A blocking system call: read(2) is restarted, and finds what the handler has written. */
	worker_begin(sender, job_send_late, getpid(), 0, 2);
	check_eq(read(pipe_ends[0], &byte, 1), 1);
	check_eq(worker_result(sender), 0);
	check_eq(atomic_load(&handled), 2);
	/* Sleeping: as signal(7) says, this is not restarted. */
	worker_begin(sender, job_send_late, getpid(), SYS_clock_nanosleep, 3);
	check_eq(nanosleep(&hour, &left), -1);
	check_eq(errno, EINTR);
	check_eq(worker_result(sender), 0);
	check_eq(atomic_load(&handled), 3);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	end(1);
}

/* ---- two processes that notify each other ----------------------------------------------- */

#define FLOOD	(5 * WINDOW)

static long job_handled(long a, long b, long c)
{
	return atomic_load(&handled);
}

/* Both windows are full while both send: handlers run while a send waits. */
PROMISE(VM_84, SBL_20, two_processes_flood_each_other)
{
	int ret = 0;

	begin_one(note);
	begin_back();
	worker_begin(sender, job_send_many, 1, FLOOD, 0);
	for (int i = 0; i < FLOOD && !ret; i++)
		ret = buf_send_notify(&i, back_at, 1);
	check_eq(ret, 0);
	check_eq(worker_result(sender), 0);
	check(handles(FLOOD));
	check_eq(value[FLOOD - 1], FLOOD - 1);
	while (worker_do(sender, job_handled, 0, 0, 0) < FLOOD)
		usleep(1000);
	check_eq(buf_unimport(back), 0);
	end(1);
}

static int answer, answer_of_get;

/* @what: words of each message. Then VMMC fetches, which waits for the messages. */
static void flood_back(int *where, int what)
{
	static int many[BACK];

	for (int i = 0; i < 2 * WINDOW && !answer; i++)
		answer = buf_send_notify(many, back_at, what);
	answer_of_get = buf_settle(back_at);
	note(where, what);
}

PROMISE(VM_46_11, SBL_26, a_handler_does_not_wait_for_a_process_that_blocks)
{
	begin_one(flood_back);
	begin_back();
	for (int i = 0; i < 2; i++) {
		answer = 0;
		check_eq(worker_do(sender, job_block, 1, 0, 0), 0);
		check_eq(worker_do(sender, job_send_many, 1, 1, i ? BACK : 1), 0);
		check(handles(i + 1));
		check_eq(answer, ERR(BlockedNotifications));
#ifndef OF_SBL
		check_eq(answer_of_get, vmmcErr_BlockedNotifications);
#endif
		check_eq(worker_do(sender, job_block, 0, 0, 0), 1);
	}
	check_eq(buf_unimport(back), 0);
	end(1);
}

PROMISE(VM_45_VM_46_17, SBL_26_SBL_13, calls_in_a_handler)
{
	const int *r = result;

	begin_one(calls);
	export_as(REDIRECTABLE(2), words + WORDS, WORDS, NULL);
	begin_back();
	check_eq(worker_do(sender, job_send_many, 1, 1, 7), 0);
	check(handles(1));
	for (; *r != ALLOWED; r++)
		check_eq(*r, 0);
	for (r++; *r != REFUSED; r++)
		check_eq(*r, ERR(NotInHandler));
	check_eq(buf_unimport(back), 0);
	end(2);
}

/* ---- children ---------------------------------------------------------------------------- */

static int child(const void *unused)
{
	int word = 6, *to;
	import_t i;

	alarm(60);
	check_eq(buf_me(), getpid());
	check_eq(buf_unexport(1), ERR(BadRbufState));
	check_eq(buf_send(&word, back_at, 1), ERR(BadProxyAddr));
	check(buf_unimport(back) < 0);
	/* Its parent has blocked notifications. */
	check_eq(buf_unblock(), 1);
	atomic_store(&handled, 0);
	check_eq(buf_export(words, 8, RW(1), note), 0);
	check_eq(buf_import(buf_here(), getpid(), 1, &i, &to), 0);
	check_eq(buf_send_notify(&word, to, 1), 0);
	check(handles(1));
	check_eq(value[0], 6);
	return 0;
}

static long job_fork(long a, long b, long c)
{
	int ret;

	if (!back_at && (buf_export(words, 8, RW(1), note) ||
			 buf_import(buf_here(), buf_me(), 1, &back, &back_at)))
		return -1;
	buf_block();
	ret = in_child(child, NULL);
	buf_unblock();
	return ret ? ret : buf_send((int[]){ 1 }, back_at, 1);
}

PROMISE(VM_90, SBL_2, a_child_of_fork_has_its_own)
{
	begin();
	back_at = NULL;
	for (int i = 0; i < 2; i++)
		check_eq(worker_do(sender, job_fork, 0, 0, 0), 0);
	end(0);
}
