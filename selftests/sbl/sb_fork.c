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
#include <unistd.h>

#include "buffers.h"

#define PAGES	3
#define CHILDREN	60

static Int32 memory[PAGES * WORDS] __attribute__((aligned(PAGE)));

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

static int child_stores(const void *unused)
{
	alarm(60);
	check(memory[3] == 3 && memory[WORDS + 3] == 4 && memory[PAGES * WORDS - 1] == 5);
	for (int i = 0; i < PAGES * WORDS; i++)
		store(memory + i, -1);
	check_eq(SBL_Unmap(memory), SBL_EBadArg);
	/* Memory of the child's own, which can be mapped. */
	check_eq(SBL_ExportRecvBuf(board + 10 * WORDS, WORDS, 1, NULL, 0), SBL_Success);
	check_eq(buf_import(buf_here(), buf_me(), 1, &imp, &proxy), SBL_Success);
	check_eq(SBL_Map(memory, proxy, WORDS, 0), SBL_Success);
	store(memory + 9, 99);
	check(arrives(board + 10 * WORDS + 9, 99));
	return 0;
}

TEST(SBL_16_a_child_of_fork_has_a_copy)
{
	begin_mapped();
	for (int turn = 0; turn < 3; turn++) {
		store(memory + 3, 3);
		store(memory + WORDS + 3, 4);
		store(memory + PAGES * WORDS - 1, 5);
		check_eq(in_child(child_stores, NULL), 0);
		check_eq(memory[0], turn);
		/* The parent's mapping goes on. */
		store(memory, turn + 1);
		check(arrives(board, turn + 1));
		check_eq(board[3], 3);
		check_eq(board[9], 0);
	}
	end_mapped();
}

static int child_executes(const void *unused)
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
static int child_compares(const void *unused)
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
		check_eq(in_child(i % 2 ? child_executes : child_compares, NULL), 0);
		check_eq(SBL_SendMsg(&(Int32){ i }, proxy + 7, 1), SBL_Success);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int t = 0; t < 2; t++)
		check_eq(pthread_join(threads[t], NULL), 0);
	/* A store to a higher address may arrive later than one to a lower address. */
	for (int i = 0; i < PAGES; i++)
		check(arrives(board + i * WORDS + 100, memory[i * WORDS + 100]));
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
