// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_step.c - VMMC: a notification at every instruction of a call
 *
 * A worker makes a call of the library. After each number of instructions this process notifies
 * it: the handler, which sends to another buffer, runs once before the call returns, and both
 * messages are in place. The call is made one instruction at a time once, and then stopped by
 * breakpoints where that was. Run on one node, or by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffers.h"

#define PLACES	400	/* of a call, at most, where it is interrupted; of an import, a tenth */

/* ---- the worker --------------------------------------------------------------------- */

static int32 notified[WORDS] __attribute__((aligned(PAGE)));
static vmmc_exphandle_t own;
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
	uint32 n;

	there.number = node;
	parent = pid;
	if (vmmc_ExportRecvBuf(notified, WORDS, 3, handler, BUF_READWRITE, VMMC_PERM_ANY, &own))
		return -1;
	for (int i = 0; i < 2; i++)
		if (vmmc_ImportRecvBuf(there, parent, i + 1, &to[i], &at[i], &n))
			return -2;
	return vmmc_MyPid();
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
		if (ret)
			return ret;
		while ((ret = vmmc_AsyncStatus(&h)) == vmmcErr_InProgress)
			sched_yield();
		return ret;
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
	return __atomic_load_n(&bufs[0][0], __ATOMIC_ACQUIRE) == wanted &&
	       __atomic_load_n(&bufs[1][0], __ATOMIC_ACQUIRE) == wanted;
}

static void every_instruction(int kind, bool stores)
{
	vmmc_exphandle_t e[2];
	vmmc_imphandle_t imp;
	long stride = 1, n, total = 0, places = kind == IMPORT ? PLACES / 10 : PLACES;
	int32 value = 1;
	uint32 size;

	victim = worker_new(THERE);
	memset(bufs, 0, sizeof(bufs));
	for (int i = 0; i < 2; i++)
		check_eq(vmmc_ExportRecvBuf(bufs[i], WORDS, i + 1, NULL, BUF_READWRITE,
					    VMMC_PERM_ANY, &e[i]), vmmc_Success);
	check(worker_do(victim, job_setup, vmmc_MyNode().number, vmmc_MyPid(), 0) > 0);
	check_eq(vmmc_ImportRecvBuf(node_there(), worker_pid(victim), 3, &imp, &note, &size),
		 vmmc_Success);
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
		if (!interrupt_at(kind, n, value))
			continue;
		if (stores)
			check(soon(in_place));
	}
	printf("# %ld instructions, %ld places\n", total, total / stride);
	worker_end(victim);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	for (int i = 0; i < 2; i++)
		check_eq(vmmc_UnexportRecvBuf(e[i]), vmmc_Success);
}

TEST(VM_44_VM_90_a_notification_at_each_instruction_of_SendData)
{
	every_instruction(SEND, true);
}

TEST(VM_44_VM_90_a_notification_at_each_instruction_of_SendDataNotify)
{
	every_instruction(SEND_NOTIFY, true);
}

TEST(VM_44_VM_90_a_notification_at_each_instruction_of_SendDataAsync)
{
	every_instruction(SEND_ASYNC, true);
}

TEST(VM_44_VM_90_a_notification_at_each_instruction_of_GetData)
{
	every_instruction(GET, false);
}

TEST(VM_44_VM_51_a_notification_at_each_instruction_of_a_block)
{
	every_instruction(BLOCK, false);
}

TEST(VM_44_VM_64_a_notification_at_many_instructions_of_an_import)
{
	every_instruction(IMPORT, false);
}
