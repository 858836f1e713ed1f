// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_fork.c - SBL: fork() in a process with mappings
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffers.h"

#define PAGES	3
#define CHILDREN	60

static Int32 memory[PAGES * WORDS] __attribute__((aligned(PAGE)));

static void store(Int32 *word, Int32 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void begin_mapped(void)
{
	memset(memory, 0, sizeof(memory));
	owner_start_with(0, PAGES * WORDS, 1);
	/* The last words of the last page are not mapped. */
	check_eq(SBL_Map(memory, proxy, PAGES * WORDS - 5, 0), SBL_Success);
}

static void end_mapped(void)
{
	check_eq(SBL_Unmap(memory), SBL_Success);
	import_end();
}

/* The status of a child. */
static int child_status(int (*child)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(60);
		_exit(child());
	}
	check_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static Int32 noted[WORDS] __attribute__((aligned(PAGE)));
static Int32 notes;

static void note(Int32 *where, Int32 what)
{
	__atomic_store_n(&notes, where - noted + what, __ATOMIC_RELEASE);
}

/* The child's own notifications. */
static bool child_is_notified(void)
{
	Int32 *at;
	int n;

	return !SBL_ExportRecvBuf(noted, WORDS, 2, note, 0) &&
	       !SBL_ImportRecvBuf(SBL_MyNode(), SBL_MySquid(), 2, &at, &n) &&
	       !SBL_SendMsgWithNotify(&(Int32){ 30 }, at + 4, 1) && arrives(&notes, 34);
}

static int child_stores(void)
{
	Int32 word = 1;

	if (memory[3] != 3 || memory[WORDS + 3] != 4 || memory[PAGES * WORDS - 1] != 5)
		return 1;
	for (int i = 0; i < PAGES * WORDS; i++)
		store(memory + i, -1);
	if (SBL_Unmap(memory) != SBL_EBadArg || SBL_SendMsg(&word, proxy, 1) != SBL_EBadProxyAddr ||
	    SBL_UnimportRecvBuf(proxy) != SBL_EBadProxyAddr)
		return 2;
	/* Memory of the child's own, which can be mapped. */
	if (SBL_ExportRecvBuf(board + 10 * WORDS, WORDS, 1, NULL, 0) ||
	    SBL_ImportRecvBuf(SBL_MyNode(), SBL_MySquid(), 1, &proxy, &nwords) ||
	    SBL_Map(memory, proxy, WORDS, 0))
		return 3;
	store(memory + 9, 99);
	if (!arrives(board + 10 * WORDS + 9, 99))
		return 4;
	return child_is_notified() ? 0 : 5;
}

TEST(SBL_16_a_child_of_fork_has_a_copy)
{
	begin_mapped();
	for (int turn = 0; turn < 3; turn++) {
		store(memory + 3, 3);
		store(memory + WORDS + 3, 4);
		store(memory + PAGES * WORDS - 1, 5);
		check_eq(child_status(child_stores), 0);
		check_eq(memory[0], turn);
		/* The parent's mapping goes on. */
		store(memory, turn + 1);
		check(arrives(board, turn + 1));
		check_eq(board[3], 3);
		check_eq(board[9], 0);
	}
	end_mapped();
}

static int child_executes(void)
{
	execl("/bin/true", "true", NULL);
	return 1;
}

static bool stop;

static void *storing(void *arg)
{
	for (Int32 n = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++) {
		for (int i = 0; i < PAGES; i++)
			store(memory + i * WORDS + (long)arg, n);
		sched_yield();
	}
	return NULL;
}

/* Words that are stored together. */
static int child_compares(void)
{
	Int32 sum = 0;

	for (int i = 0; i < PAGES * WORDS; i++) {
		sum |= memory[i];
		store(memory + i, -7);
	}
	return sum < 0;
}

TEST(SBL_16_children_under_load)
{
	pthread_t threads[2];

	begin_mapped();
	stop = false;
	for (long t = 0; t < 2; t++)
		check_eq(pthread_create(&threads[t], NULL, storing, (void *)(2 * t + 100)), 0);
	for (int i = 0; i < CHILDREN && !test_failed; i++) {
		check_eq(child_status(i % 2 ? child_executes : child_compares), 0);
		check_eq(SBL_SendMsg(&(Int32){ i }, proxy + 7, 1), SBL_Success);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int t = 0; t < 2; t++)
		check_eq(pthread_join(threads[t], NULL), 0);
	store(memory + 8, 8);
	check(arrives(board + 8, 8));
	for (int i = 0; i < PAGES; i++)
		check_eq(board[i * WORDS + 100], memory[i * WORDS + 100]);
	end_mapped();
}

/* The shell that system(3) and popen(3) start needs no copy. */
TEST(SBL_16_posix_spawn)
{
	begin_mapped();
	store(memory + 5, 5);
	check_eq(run("exit 3"), 3 << 8);
	check_eq(system("exit 4"), 4 << 8);
	check(arrives(board + 5, 5));
	end_mapped();
}
