// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_auto.c - SBL: automatic update
 *
 * Each test names the requirements that it shows. This process maps memory to buffers of a worker,
 * of the other node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "buffers.h"

#define MAPPED	8			/* pages of a buffer */

/* ---- jobs of the exporter ------------------------------------------------------ */

#define NOTED	(100 * WORDS)		/* number of notifications, then offsets and values */

static void note(Int32 *where, Int32 what)
{
	int n = board[NOTED];

	board[NOTED + 1 + 2 * n] = where - board;
	board[NOTED + 2 + 2 * n] = what;
	store(&board[NOTED], n + 1);
}

static long job_export_notifying(long at, long words, long id)
{
	return SBL_ExportRecvBuf(board + at, words, id, note, 0);
}

/* ---- this process ---------------------------------------------------------------- */

static Int32 memory[MAPPED * WORDS] __attribute__((aligned(PAGE)));

/* The owner exports @words from the beginning of the board, and this process imports them. */
static void begin_with(long words)
{
	memset(memory, 0, sizeof(memory));
	owner_start_with(0, words, 1);
}

static void begin_mapped(long words)
{
	begin_with(words);
	check_eq(SBL_Map(memory, proxy, words, 0), SBL_Success);
}

/* The same of words that notify the owner, of which the first page is mapped with notifications. */
static void begin_noted(long words)
{
	memset(memory, 0, sizeof(memory));
	owner_start();
	check_eq(worker_do(owner, job_export_notifying, 0, words, 1), SBL_Success);
	check_eq(import_number(1), SBL_Success);
	check_eq(SBL_Map(memory, proxy, WORDS, 1), SBL_Success);
}

static void end_mapped(void)
{
	check_eq(SBL_Unmap(memory), SBL_Success);
	import_end();
}

/* ---- what is sent -------------------------------------------------------------------- */

/* A mapping is exactly its words; stores beside them, in its last page, are the program's own. */
TEST(SBL_16_SBL_12_nothing_outside_the_mapping)
{
	begin_with(3 * WORDS);
	check_eq(SBL_Map(memory, proxy + WORDS, WORDS + 3, 0), SBL_Success);
	for (int i = 0; i < 3 * WORDS; i++)
		store(memory + i, 1 + i);
	store(memory + WORDS + 2, 77);
	check(arrives(board + 2 * WORDS + 2, 77));
	for (int i = 0; i < 3 * WORDS; i++) {
		if (i < WORDS || i > 2 * WORDS + 2)
			check_eq(board[i], 0);
		else if (i < 2 * WORDS + 2)
			check_eq(board[i], 1 + i - WORDS);
	}
	end_mapped();
	check_eq(memory[3 * WORDS - 1], 3 * WORDS);
}

/* Each address has one destination, and is exported or mapped. */
TEST(SBL_4_SBL_16_mappings_and_exports_do_not_overlap)
{
	begin_mapped(WORDS + 1);
	check_eq(worker_do(owner, job_export, 4 * WORDS, 2 * WORDS, 2), SBL_Success);
	check_eq(import_number(2), SBL_Success);
	check_eq(SBL_Map(memory, proxy, WORDS, 0), SBL_EOverlappedBufs);
	/* The whole last page is the mapping's. */
	check_eq(SBL_Map(memory + WORDS, proxy, 1, 0), SBL_EOverlappedBufs);
	check_eq(SBL_ExportRecvBuf(memory + 5, 10, 3, NULL, 0), SBL_EOverlappedBufs);
	check_eq(SBL_ExportRecvBuf(memory + 2 * WORDS - 1, 2, 3, NULL, 0), SBL_EOverlappedBufs);
	check_eq(SBL_Map(memory + 2 * WORDS, proxy, WORDS, 0), SBL_Success);
	store(memory + 3, 3);
	store(memory + 2 * WORDS + 3, 4);
	check(arrives(board + 3, 3));
	check(arrives(board + 4 * WORDS + 3, 4));
	check_eq(board[2 * WORDS + 3], 0);
	check_eq(SBL_ExportRecvBuf(memory + 3 * WORDS, 10, 3, NULL, 0), SBL_Success);
	check_eq(SBL_Map(memory + 3 * WORDS, proxy, WORDS, 0), SBL_EOverlappedBufs);
	check_eq(SBL_UnexportRecvBuf(3), SBL_Success);
	/* The mapping ends with its import. */
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	check_eq(SBL_Unmap(memory + 2 * WORDS), SBL_EBadArg);
	check_eq(SBL_Unmap(memory), SBL_Success);
	owner_end();
}

/* ---- when it is sent ------------------------------------------------------------------ */

#define NAP_NS		500000		/* the pause of the library between two updates */
#define IN_TIME		4		/* naps in two milliseconds */
#define SLOW		20		/* a kernel that checks each access, emulated */
#define STORES		51		/* of each kind */

/* Naps of this thread until a store arrives. What else the host does delays the library as well. */
static int naps(Int32 value)
{
	int n = 0;

	store(memory + 1, value);
	for (; load(board + 1) != value && n < 10000; n++)
		nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	return n;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * A store that wakes the thread of the library, and one that comes when it has just begun to pause:
 * no other waits longer. The median of either is judged.
 */
TEST(SBL_16_stores_arrive_within_two_milliseconds)
{
	const char *vm = getenv("DD_VM");
	const int bound = vm && !strcmp(vm, "debug") ? SLOW * IN_TIME : IN_TIME;
	int waking[STORES], pausing[STORES], more;

	begin_mapped(WORDS);
	for (int i = 0; i < STORES; i++) {
		usleep(5000);
		waking[i] = naps(2 * i + 1);
		pausing[i] = naps(2 * i + 2);
	}
	qsort(waking, STORES, sizeof(int), by_number);
	qsort(pausing, STORES, sizeof(int), by_number);
	printf("# naps: %d, in a pause %d\n", waking[STORES / 2], pausing[STORES / 2]);
	check(waking[STORES / 2] <= bound);
	more = waking[STORES / 2] + 2;
	check(pausing[STORES / 2] <= (more > bound ? more : bound));
	end_mapped();
}

/* ---- order --------------------------------------------------------------------------- */

#define ROUNDS	2000
#define READY	(50 * WORDS)
#define STOP	(51 * WORDS)

static const int apart[] = { 1, 500, WORDS, 3 * WORDS + 5, (MAPPED - 1) * WORDS };

/* Look at a flag, and then at the words at lower addresses: none of them may be older. */
static long job_watch(long flag, long b, long c)
{
	Int32 last = 0;

	store(board + READY, 1);
	while (!load(board + STOP)) {
		last = load(board + flag);
		for (size_t i = 0; i < 5 && apart[i] <= flag; i++)
			if (load(board + flag - apart[i]) < last)
				return -1;
	}
	return last;
}

TEST(SBL_16_words_do_not_overtake_those_before_them)
{
	static const int flags[] = { 1, WORDS - 1, 2 * WORDS, MAPPED * WORDS - 1 };

	begin_mapped(MAPPED * WORDS);
	for (size_t f = 0; f < 4; f++) {
		board[READY] = board[STOP] = 0;
		for (size_t i = 0; i < 5; i++)
			if (apart[i] <= flags[f])
				store(memory + flags[f] - apart[i], 0);
		store(memory + flags[f], 0);
		check(arrives(board + flags[f], 0));
		worker_begin(owner, job_watch, flags[f], 0, 0);
		check(arrives(board + READY, 1));
		for (Int32 n = 1; n <= ROUNDS; n++) {
			for (size_t i = 0; i < 5; i++)
				if (apart[i] <= flags[f])
					store(memory + flags[f] - apart[i], n);
			store(memory + flags[f], n);
			if (n % 100 == 0)
				usleep(100);
		}
		check(arrives(board + flags[f], ROUNDS));
		store(board + STOP, 1);
		check(worker_result(owner) >= 0);
	}
	end_mapped();
}

/* ---- notifications --------------------------------------------------------------------- */

TEST(SBL_18_SBL_21_a_notification_for_each_run_of_words)
{
	begin_noted(2 * WORDS);
	check_eq(SBL_Map(memory + WORDS, proxy + WORDS, WORDS, 0), SBL_Success);
	store(memory + 9, 9);
	check(arrives(board + NOTED, 1));
	check_eq(board[NOTED + 1], 9);
	check_eq(board[NOTED + 2], 9);
	/* That of a mapping without notifications. */
	store(memory + WORDS, 10);
	check(arrives(board + WORDS, 10));
	store(memory + 8, 11);
	check(arrives(board + NOTED, 2));
	check_eq(board[NOTED + 3], 8);
	check_eq(board[NOTED + 4], 11);
	/* Not a word that keeps its value. */
	store(memory + 5, 0);
	store(memory + 8, 12);
	check(arrives(board + NOTED, 3));
	check_eq(board[NOTED + 5], 8);
	check_eq(board[NOTED + 6], 12);
	check_eq(SBL_Unmap(memory + WORDS), SBL_Success);
	end_mapped();
}

static bool last_noted(void)
{
	int n = load(&board[NOTED]);

	return n && board[NOTED + 2 * n] == 4000;
}

TEST(SBL_18_SBL_22_values_of_runs_that_change_all_the_time)
{
	begin_noted(WORDS);
	/* One run: its last word is stored last. */
	for (Int32 n = 1; n <= 4000; n++)
		for (int i = 0; i < 3; i++)
			store(memory + 4 + i, n);
	check(soon(last_noted));
	for (int i = 0; i < board[NOTED]; i++) {
		Int32 at = board[NOTED + 1 + 2 * i], value = board[NOTED + 2 + 2 * i];

		check(at >= 4 && at <= 6);
		check(value >= 1 && value <= 4000);
		if (i)
			check(value >= board[NOTED + 2 * i] - 1);
	}
	check_eq(board[6], 4000);
	end_mapped();
}

/* A receiver that blocks notifications delays its sender, but not what is sent to others. */
TEST(SBL_18_SBL_23_a_receiver_that_blocks)
{
	struct worker *other;
	Int32 *first;

	begin_noted(WORDS);
	first = proxy;
	other = worker_new(THERE);
	check_eq(worker_do(other, job_export, WORDS, WORDS, 1), SBL_Success);
	check_eq(buf_import(buf_there(), worker_pid(other), 1, &imp, &proxy), SBL_Success);
	check_eq(SBL_Map(memory + WORDS, proxy, WORDS, 0), SBL_Success);
	check_eq(worker_do(owner, job_block, 1, 0, 0), 0);
	/* Runs of one word, more than may be unread. */
	for (int i = 0; i < WORDS; i += 2)
		store(memory + i, 1 + i);
	check(arrives(board, 1));
	for (Int32 n = 1; n <= 20; n++) {
		store(memory + WORDS + n, n);
		check(arrives(board + WORDS + n, n));
		check_eq(SBL_SendMsg(&n, proxy, 1), SBL_Success);
	}
	check_eq(worker_do(owner, job_block, 0, 0, 0), 1);
	check(arrives(board + NOTED, WORDS / 2));
	for (int i = 0; i < WORDS / 2; i++) {
		check_eq(board[NOTED + 1 + 2 * i], 2 * i);
		check_eq(board[NOTED + 2 + 2 * i], 1 + 2 * i);
	}
	check_eq(SBL_Unmap(memory), SBL_Success);
	check_eq(SBL_Unmap(memory + WORDS), SBL_Success);
	check_eq(SBL_UnimportRecvBuf(first), SBL_Success);
	worker_end(other);
	import_end();
}

/* ---- the end of mappings ------------------------------------------------------------- */

TEST(SBL_16_unmap_ends_a_mapping)
{
	begin_mapped(2 * WORDS);
	store(memory + WORDS + 5, 5);
	check_eq(SBL_Unmap(memory), SBL_Success);
	/* The last stores have been sent; the memory keeps its contents. */
	check(arrives(board + WORDS + 5, 5));
	check_eq(memory[WORDS + 5], 5);
	store(memory + 6, 6);
	check_eq(SBL_Unmap(memory), SBL_EBadArg);
	check_eq(SBL_Map(memory, proxy, 2 * WORDS, 0), SBL_Success);
	store(memory + 7, 7);
	check(arrives(board + 7, 7));
	check_eq(board[6], 0);
	end_mapped();
}

TEST(SBL_28_SBL_27_links_that_end_under_a_mapping)
{
	begin_mapped(WORDS);
	store(memory + 1, 1);
	check(arrives(board + 1, 1));
	check_eq(worker_do(owner, job_unexport, 1, 0, 0), SBL_Success);
	store(memory + 2, 2);
	check_eq(SBL_SendMsg(memory, proxy, 1), SBL_EBadIbufState);
	check_eq(board[2], 0);
	check_eq(memory[2], 2);
	check_eq(SBL_Unmap(memory), SBL_EBadIbufState);
	check_eq(memory[2], 2);
	check_eq(SBL_Unmap(memory), SBL_EBadArg);
	import_end();
	/* The process ends. */
	begin_mapped(WORDS);
	store(memory + 1, 1);
	check(arrives(board + 1, 1));
	worker_end(owner);
	for (Int32 n = 0; SBL_SendMsg(&n, proxy, 1) == SBL_Success; n++)
		store(memory + 3, n);
	store(memory + 4, 4);
	check_eq(SBL_Unmap(memory), SBL_EBadIbufState);
	check_eq(memory[4], 4);
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
}

/* In another process: map memory, store to it, and end. */
static long job_store_and_exit(long node, long squid, long value)
{
	Int32 *at;
	int n;

	if (SBL_ImportRecvBuf(node, squid, 1, &at, &n) ||
	    SBL_Map(memory, at, MAPPED * WORDS, 0))
		return -1;
	for (int i = 0; i < MAPPED * WORDS; i++)
		memory[i] = value;
	/* Its parent's. */
	__fpurge(stdout);
	exit(0);
}

TEST(SBL_16_stores_before_the_end_of_the_program)
{
	struct worker *w;

	begin_with(MAPPED * WORDS);
	for (int i = 1; i <= 20; i++) {
		w = worker_new(HERE);
		worker_begin(w, job_store_and_exit, node_there(), worker_pid(owner), i);
		check_eq(worker_end_result(w), 1000);
		check(arrives(board + MAPPED * WORDS - 1, i));
		check_eq(board[0], i);
	}
	import_end();
}

/* ---- arguments that are not valid ------------------------------------------------------ */

TEST(SBL_17_kinds_of_mappings)
{
	static const struct {
		enum SBL_AUWriteType kind;
		int code;
	} t[] = {
		{ AU_TimerWrite, SBL_Success }, { AU_BlockWrite, SBL_Success },
		{ AU_SingleWrite, SBL_ENotImplemented }, { AU_Disable, SBL_ENotImplemented },
		{ 9, SBL_EBadArg },
	};

	begin_with(WORDS);
	for (int i = 0; i < 5; i++) {
		check_eq(SBL_AUMap(memory, proxy, WORDS, 0, t[i].kind), t[i].code);
		store(memory + i, 1);
		if (!t[i].code)
			check(arrives(board + i, 1));
		check_eq(SBL_Unmap(memory), t[i].code ? SBL_EBadArg : SBL_Success);
	}
	import_end();
}

static const Int32 read_only[WORDS] __attribute__((aligned(PAGE))) = { 1 };

TEST(SBL_16_SBL_29_arguments_that_are_not_valid)
{
	Int32 *hole = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin_with(2 * WORDS);
	check_eq(SBL_Map(NULL, proxy, WORDS, 0), SBL_EBadArg);
	check_eq(SBL_Map(memory + 1, proxy, WORDS, 0), SBL_EBadAlignment);
	check_eq(SBL_Map(memory, proxy + 4, WORDS, 0), SBL_EBadAlignment);
	check_eq(SBL_Map(memory, proxy, 0, 0), SBL_EBadSize);
	check_eq(SBL_Map(memory, proxy, -1, 0), SBL_EBadSize);
	check_eq(SBL_Map(memory, proxy, 2 * WORDS + 1, 0), SBL_EBadProxyAddr);
	check_eq(SBL_Map(memory, proxy + WORDS, WORDS + 1, 0), SBL_EBadProxyAddr);
	check_eq(SBL_Map(memory, memory + WORDS, WORDS, 0), SBL_EBadProxyAddr);
	check_eq(SBL_Map(memory, NULL, WORDS, 0), SBL_EBadProxyAddr);
	/* A proxy as the source; no memory; memory that cannot be written, or is shared. */
	check_eq(SBL_Map(proxy, proxy, WORDS, 0), SBL_EBadArg);
	check_eq(SBL_Map(hole, proxy, WORDS, 0), SBL_EBadArg);
	check_eq(SBL_Map((Int32 *)read_only, proxy, WORDS, 0), SBL_EBadArg);
	check_eq(SBL_Map(board, proxy, WORDS, 0), SBL_ENotImplemented);
	munmap(hole, PAGE);
	check_eq(SBL_Map(hole, proxy, WORDS, 0), SBL_EBadArg);
	check_eq(SBL_Unmap(NULL), SBL_EBadArg);
	check_eq(SBL_Unmap(memory), SBL_EBadArg);
	check_eq(SBL_Map(memory, proxy, 2 * WORDS, 0), SBL_Success);
	check_eq(SBL_Unmap(memory + WORDS), SBL_EBadArg);
	end_mapped();
}

/* Context switches of the other threads of this process. */
static long turns(void)
{
	char command[200];
	long n = 0;
	FILE *f;

	snprintf(command, sizeof(command),
		 "cat /proc/%d/task/*/status | awk '/^Pid:/ { p = $2 } "
		 "/ctxt_switches/ && p != %d { n += $2 } END { print n + 0 }'", getpid(), getpid());
	f = popen(command, "r");
	check_eq(fscanf(f, "%ld", &n), 1);
	pclose(f);
	return n;
}

TEST(SBL_30_nothing_runs_while_nothing_is_stored)
{
	long before;

	begin_mapped(WORDS);
	store(memory + 1, 1);
	check(arrives(board + 1, 1));
	/* Until the thread sleeps. */
	do {
		before = turns();
		usleep(20000);
	} while (turns() != before);
	usleep(200000);
	check_eq(turns(), before);
	check(before > 0);
	store(memory + 2, 2);
	check(arrives(board + 2, 2));
	check(turns() > before);
	end_mapped();
}
