// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_fork.c - VMMC: a fork() between instructions of a call
 *
 * A worker exports a buffer, one instruction at a time. Meanwhile another thread of it forks
 * children, one after the other, each of which finds that it has no buffers. Not for User-Mode
 * Linux, where children of processes with threads fault.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffers.h"

#define WAIT_NS	20000000	/* for a child; the worker may hold a lock that fork() needs */

/* Words of the board: forks that are wanted, that are done, and whether a child failed. */
enum { WANTED, DONE, FAILED };

static int32 load(int i)
{
	return __atomic_load_n(&board[i], __ATOMIC_ACQUIRE);
}

static void store(int i, int32 value)
{
	__atomic_store_n(&board[i], value, __ATOMIC_RELEASE);
}

/* ---- the worker ------------------------------------------------------------------------ */

static int32 bufs[2][WORDS] __attribute__((aligned(PAGE)));
static vmmc_exphandle_t first;

static void handler(int32 *where, int32 what)
{
}

static vmmc_result_t export(int32 *buf, uint32 id, vmmc_exphandle_t *e)
{
	return vmmc_ExportRecvBuf(buf, WORDS, id, handler, BUF_READWRITE, VMMC_PERM_ANY, e);
}

static void *fork_children(void *arg)
{
	int status;
	pid_t pid;

	for (;;) {
		while (load(DONE) == load(WANTED))
			sched_yield();
		pid = fork();
		if (!pid)
			_exit(vmmc_UnexportRecvBuf(first) != vmmcErr_BadRbufState ||
			      vmmc_UnblockNotifications() != 1);
		if (waitpid(pid, &status, 0) != pid || status)
			store(FAILED, 1);
		store(DONE, load(DONE) + 1);
	}
	return arg;
}

static long job_setup(long a, long b, long c)
{
	pthread_t t;

	return export(bufs[0], 1, &first) ? -1 : pthread_create(&t, NULL, fork_children, NULL);
}

static long job_export_stepped(long a, long b, long c)
{
	vmmc_exphandle_t e;
	vmmc_result_t ret;

	raise(SIGUSR1);
	ret = export(bufs[1], 2, &e);
	raise(SIGUSR2);
	return ret;
}

/* ---- this process ------------------------------------------------------------------------ */

static struct worker *victim;

static int step(int request)
{
	int status;

	if (ptrace(request, worker_pid(victim), 0, 0) ||
	    waitpid(worker_pid(victim), &status, __WALL) != worker_pid(victim) ||
	    !WIFSTOPPED(status))
		return 0;
	return WSTOPSIG(status);
}

/* Unless the last child waits for the worker. */
static void fork_one(void)
{
	long begun = now_ns();

	if (load(DONE) != load(WANTED))
		return;
	store(WANTED, load(WANTED) + 1);
	while (load(DONE) != load(WANTED) && now_ns() - begun < WAIT_NS)
		sched_yield();
}

TEST(VM_90_forks_between_instructions_of_an_export)
{
	int steps = 0, sig;

	victim = worker_new(HERE);
	check_eq(worker_do(victim, job_setup, 0, 0, 0), 0);
	check_eq(ptrace(PTRACE_SEIZE, worker_pid(victim), 0, 0), 0);
	worker_begin(victim, job_export_stepped, 0, 0, 0);
	check_eq(waitpid(worker_pid(victim), NULL, __WALL), worker_pid(victim));
	while ((sig = step(PTRACE_SINGLESTEP)) == SIGTRAP) {
		fork_one();
		steps++;
	}
	check_eq(sig, SIGUSR2);
	printf("# %d instructions, %d children\n", steps, load(DONE));
	check(load(DONE) > steps / 20);
	check(!load(FAILED));
	check_eq(ptrace(PTRACE_CONT, worker_pid(victim), 0, 0), 0);
	check_eq(worker_result(victim), vmmc_Success);
	worker_end(victim);
}
