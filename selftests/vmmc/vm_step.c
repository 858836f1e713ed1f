// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_step.c - VMMC: a notification, or a fork(), between any two instructions of a call
 *
 * A worker makes a call of the library. After each number of instructions this process notifies
 * it: the handler, which sends to another buffer, runs once before the call returns, and both
 * messages are in place. The call is made one instruction at a time once, and then stopped by
 * breakpoints where that was. Run on one node, or by across.sh.
 *
 * Or another thread of the worker forks a child then, which finds that it has no buffers. Not for
 * User-Mode Linux, where children of processes with threads fault.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffers.h"

#define PLACES	400	/* of a call, at most, where it is interrupted; of an import, a tenth */

/* ---- the worker --------------------------------------------------------------------- */

static int32 notified[WORDS] __attribute__((aligned(PAGE)));
static vmmc_imphandle_t to[2];
static int32 *at[2];
static vmmc_node_t there;
static vmmc_pid_t parent;
static int runs;
static vmmc_result_t sent;

static void handler(int32 *where, int32 what)
{
	sent = vmmc_SendData(&what, at[1], 1);
	runs++;
}

static long job_setup(long node, long pid, long c)
{
	there.number = node;
	parent = pid;
	if (buf_export(notified, WORDS, RW(3), handler))
		return -1;
	for (int i = 0; i < 2; i++)
		if (buf_import(node, parent, i + 1, &to[i], &at[i]))
			return -2;
	return 0;
}

enum { SEND, SEND_NOTIFY, SEND_ASYNC, GET, BLOCK, IMPORT, KINDS };

static vmmc_result_t call(int kind, int32 value)
{
	vmmc_async_handle_t h;
	vmmc_imphandle_t imp;
	vmmc_result_t ret;
	int32 got, *proxy;
	uint32 n;

	switch (kind) {
	case SEND:
		return vmmc_SendData(&value, at[0], 1);
	case SEND_NOTIFY:
		return vmmc_SendDataNotify(&value, at[0], 1);
	case SEND_ASYNC:
		ret = vmmc_SendDataAsync(&value, at[0], 1, &h);
		return ret ? ret : finished(&h);
	case GET:
		ret = vmmc_GetData(&got, at[0], 1);
		return ret ? ret : got != value;
	case BLOCK:
		vmmc_BlockNotifications();
		return vmmc_UnblockNotifications() - 1;
	default:
		ret = vmmc_ImportRecvBuf(there, parent, 1, &imp, &proxy, &n);
		return ret ? ret : vmmc_UnimportRecvBuf(imp);
	}
}

static long job_call(long kind, long value, long c)
{
	vmmc_result_t ret;

	/* Calls of one peer's buffers in turn, so that the handler's needs a turn, too. */
	runs = 0;
	sent = -1000;
	raise(SIGUSR1);
	ret = call(kind, value);
	raise(SIGUSR2);
	if (ret)
		return ret;
	return runs == 1 ? sent : 1000 + runs;
}

/* ---- this process ------------------------------------------------------------------------ */

static int32 bufs[2][WORDS] __attribute__((aligned(PAGE)));
static struct worker *victim;
static int32 *note;

/* The signal that stops it next, or 0 at its end. */
static int stopped(void)
{
	int status;

	return waitpid(worker_pid(victim), &status, __WALL) == worker_pid(victim) &&
	       WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/* Let it run until a signal comes that is not SIGURG, which it gets. */
static int run_until_signal(int request)
{
	int sig = 0;

	do {
		if (ptrace(request, worker_pid(victim), 0, sig))
			return 0;
		sig = stopped();
	} while (sig == SIGURG);
	return sig;
}

/* Let it begin a call. */
static void begin_call(int kind, int32 value)
{
	worker_begin(victim, job_call, kind, value, 0);
	check_eq(stopped(), SIGUSR1);
}

/* Let it end the call, after which its result is this. */
static void end_call(long result)
{
	check_eq(ptrace(PTRACE_CONT, worker_pid(victim), 0, 0), 0);
	check_eq(worker_result(victim), result);
}

/* Where the worker was after each number of instructions of a call. */
static unsigned long trail[1000000];

#define IP	((void *)offsetof(struct user_regs_struct, rip))

/* Instructions until the end of the call. */
static long record(void)
{
	long n = 0;
	int sig;

	while (n < 1000000 && (sig = run_until_signal(PTRACE_SINGLESTEP)) == SIGTRAP)
		trail[++n] = ptrace(PTRACE_PEEKUSER, worker_pid(victim), IP, 0);
	check_eq(sig, SIGUSR2);
	return n;
}

/* Run to an instruction; false if the call ends before. */
static bool run_to(unsigned long ip)
{
	void *at = (void *)ip;
	long text = ptrace(PTRACE_PEEKTEXT, worker_pid(victim), at, 0);
	int sig;

	check_eq(ptrace(PTRACE_POKETEXT, worker_pid(victim), at, (text & ~0xffl) | 0xcc), 0);
	sig = run_until_signal(PTRACE_CONT);
	check_eq(ptrace(PTRACE_POKETEXT, worker_pid(victim), at, text), 0);
	check(sig == SIGTRAP || sig == SIGUSR2);
	if (sig != SIGTRAP)
		return false;
	check_eq(ptrace(PTRACE_POKEUSER, worker_pid(victim), IP, at), 0);
	return true;
}

/* Run to where the worker was after @n instructions; false if the call ends before. */
static bool run_instructions(long n)
{
	bool stands = false;

	for (long i = 1; i <= n; i++) {
		if (trail[i] != trail[n])
			continue;
		/* The instruction is executed, and reached again. */
		if (stands && run_until_signal(PTRACE_SINGLESTEP) != SIGTRAP)
			return false;
		stands = (stands && trail[i - 1] == trail[i]) || run_to(trail[n]);
		if (!stands)
			return false;
	}
	return true;
}

/* Notify the worker after @n instructions of a call; false if it has fewer. */
static bool interrupt_at(int kind, long n, int32 value)
{
	int32 word;

	begin_call(kind, value);
	if (!run_instructions(n)) {
		end_call(1000);
		return false;
	}
	/* Executed, and the signal is pending. */
	check_eq(vmmc_SendDataNotify(&value, note, 1), vmmc_Success);
	check_eq(vmmc_GetData(&word, note, 1), vmmc_Success);
	check_eq(run_until_signal(PTRACE_CONT), SIGUSR2);
	end_call(vmmc_Success);
	return true;
}

static int32 wanted;

static bool in_place(void)
{
	return load(&bufs[0][0]) == wanted &&
	       load(&bufs[1][0]) == wanted;
}

static void every_instruction(int kind)
{
	static const char *const names[KINDS] = {
		"vmmc_SendData", "vmmc_SendDataNotify", "vmmc_SendDataAsync", "vmmc_GetData",
		"vmmc_BlockNotifications", "vmmc_ImportRecvBuf",
	};
	long stride = 1, n, total = 0, places = kind == IMPORT ? PLACES / 10 : PLACES;
	int32 value = 1;

	victim = worker_new(THERE);
	memset(bufs, 0, sizeof(bufs));
	for (int i = 0; i < 2; i++)
		check_eq(buf_export(bufs[i], WORDS, RW(i + 1), NULL), 0);
	check_eq(worker_do(victim, job_setup, buf_here(), buf_me(), 0), 0);
	check_eq(buf_import(buf_there(), worker_pid(victim), 3, &imp, &note), 0);
	check_eq(ptrace(PTRACE_SEIZE, worker_pid(victim), 0, 0), 0);
	/* How long is it? */
	begin_call(kind, 0);
	total = record();
	end_call(1000);
	if (total > places)
		stride = total / places + 1;
	for (n = 0; n < total && !test_failed; n += stride) {
		value++;
		wanted = value;
		if (kind == GET)
			bufs[0][0] = value;
		if (interrupt_at(kind, n, value) && kind <= SEND_ASYNC)
			check(soon(in_place));
	}
	printf("# %s: %ld instructions, %ld places\n", names[kind], total, total / stride);
	worker_end(victim);
	check_eq(buf_unimport(imp), 0);
	for (int i = 0; i < 2; i++)
		check_eq(buf_unexport(i + 1), 0);
}

TEST(VM_44_VM_51_VM_64_VM_90_a_notification_at_each_instruction_of_a_call)
{
	for (int kind = 0; kind < KINDS && !test_failed; kind++)
		every_instruction(kind);
}

/* ---- forks --------------------------------------------------------------------------------- */

#define WAIT_NS	20000000	/* for a child; the worker may hold a lock that fork() needs */

/* Words of the board: forks that are wanted, that are done, and whether a child failed. */
enum { WANTED, DONE, FAILED };

static void *fork_children(void *arg)
{
	int status;
	pid_t pid;

	for (;;) {
		while (load(board + DONE) == load(board + WANTED))
			sched_yield();
		pid = fork();
		if (!pid)
			_exit(buf_unexport(1) != vmmcErr_BadRbufState ||
			      vmmc_UnblockNotifications() != 1);
		if (waitpid(pid, &status, 0) != pid || status)
			store(board + FAILED, 1);
		store(board + DONE, load(board + DONE) + 1);
	}
	return arg;
}

static long job_fork(long a, long b, long c)
{
	pthread_t t;

	return buf_export(bufs[0], WORDS, RW(1), handler) ||
	       pthread_create(&t, NULL, fork_children, NULL);
}

static long job_export_stepped(long a, long b, long c)
{
	int ret;

	raise(SIGUSR1);
	ret = buf_export(bufs[1], WORDS, RW(2), handler);
	raise(SIGUSR2);
	return ret;
}

/* Unless the last child waits for the worker. */
static void fork_one(void)
{
	long begun = now_ns();

	if (load(board + DONE) != load(board + WANTED))
		return;
	store(board + WANTED, load(board + WANTED) + 1);
	while (load(board + DONE) != load(board + WANTED) && now_ns() - begun < WAIT_NS)
		sched_yield();
}

TEST(VM_90_forks_between_instructions_of_an_export)
{
	struct worker *w = worker_new(HERE);
	long steps;

	memset(board, 0, PAGE);
	check_eq(worker_do(w, job_fork, 0, 0, 0), 0);
	steps = worker_steps_with(w, fork_one, job_export_stepped, 0, 0, 0);
	printf("# %ld instructions, %d children\n", steps, load(board + DONE));
	check(load(board + DONE) > steps / 20);
	check(!load(board + FAILED));
	worker_end(w);
}
