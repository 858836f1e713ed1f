// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_figures.c - SBL: what deliberate and automatic update cost; VMMC: what a notification costs
 *
 * On one node, where this process sees when a word arrives. Times are printed, not judged.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dd_mem.h"
#include "buffers.h"
#include "vmmc.h"

#define PAGES	256			/* of the large buffer: a MiB */
#define TIMES	200

static Int32 *memory;			/* mapped to the buffer */

static Int32 *pages_new(int pages, int sharing)
{
	return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
}

static void begin(int pages)
{
	memory = pages_new(pages, MAP_PRIVATE);
	owner_start_with(0, pages * WORDS, 1);
	check_eq(SBL_Map(memory, proxy, pages * WORDS, 0), SBL_Success);
}

static void end(int pages)
{
	import_end();
	munmap(memory, pages * PAGE);
}

static int by_length(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The shortest, the middle and the longest of some times. */
static void print(const char *what, long *ns, int n)
{
	qsort(ns, n, sizeof(*ns), by_length);
	printf("# %s: %.2f us, at least %.2f, at most %.2f\n", what, ns[n / 2] / 1000.,
	       ns[0] / 1000., ns[n - 1] / 1000.);
}

static void arrived(const Int32 *word, Int32 value)
{
	while (load(word) != value)
		sched_yield();
}

/* ---- instructions, in a worker --------------------------------------------------- */

static Int32 page[2][WORDS] __attribute__((aligned(PAGE)));
static Int32 mapped[WORDS] __attribute__((aligned(PAGE)));
static Int32 message[16];
static int32 *at;

enum { SBL, VMMC };

/* A buffer of each library, of the worker itself. */
static long job_setup(long a, long b, long c)
{
	vmmc_exphandle_t e;
	vmmc_imphandle_t i;
	uint32 n;

	return SBL_ExportRecvBuf(page[0], WORDS, 1, NULL, 0) ||
	       SBL_ImportRecvBuf(SBL_MyNode(), SBL_MySquid(), 1, &proxy, &nwords) ||
	       vmmc_ExportRecvBuf(page[1], WORDS, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e) ||
	       vmmc_ImportRecvBuf(vmmc_MyNode(), vmmc_MyPid(), 1, &i, &at, &n);
}

static int call(int library)
{
	return library == VMMC ? vmmc_SendData(message, at, 16) : SBL_SendMsg(message, proxy, 16);
}

static long job_map(long a, long b, long c)
{
	return SBL_Map(mapped, proxy, WORDS, 0);
}

static long job_call(long library, long times, long c)
{
	/* The first one is of another library than the latest, or needs the kernel. */
	int ret = call(library);

	raise(SIGUSR1);
	while (times-- > 0 && !ret)
		ret = call(library);
	raise(SIGUSR2);
	return ret;
}

static long cost(struct worker *w, int kind)
{
	return (worker_steps(w, job_call, kind, 30, 0) - worker_steps(w, job_call, kind, 10, 0)) / 20;
}

TEST(SBL_30_instructions_of_a_message)
{
	struct worker *w = worker_new(HERE);
	long vmmc, sbl, with;

	check_eq(worker_do(w, job_setup, 0, 0, 0), 0);
	vmmc = cost(w, VMMC);
	sbl = cost(w, SBL);
	check_eq(worker_do(w, job_map, 0, 0, 0), 0);
	with = cost(w, SBL);
	printf("# 64 bytes: vmmc_SendData %ld instructions, SBL_SendMsg %ld, with a mapping %ld\n",
	       vmmc, sbl, with);
	check(sbl <= vmmc + 20);
	check(with <= vmmc + 40);
	worker_end(w);
}

/* ---- times ------------------------------------------------------------------------------ */

static long stores_ns(volatile Int32 *words)
{
	long start = now_ns();

	for (long i = 0; i < 10000; i++)
		words[i % 64] = i;
	return now_ns() - start;
}

/* The shortest of many series; the kinds take turns. */
TEST(SBL_30_a_store_to_a_mapped_word)
{
	Int32 *plain = pages_new(1, MAP_PRIVATE);
	long best[2] = { 1l << 40, 1l << 40 }, ns;

	begin(1);
	for (int i = 0; i < TIMES; i++) {
		/* The first store makes the page writable, until the next update. */
		store(memory, i);
		for (int kind = 0; kind < 2; kind++) {
			ns = stores_ns(kind ? plain : memory);
			best[kind] = ns < best[kind] ? ns : best[kind];
		}
	}
	printf("# 10000 stores to mapped words: %.2f us, to others: %.2f us\n", best[0] / 1000.,
	       best[1] / 1000.);
	check(best[0] < 2 * best[1]);
	munmap(plain, PAGE);
	end(1);
}

#define SOME	64	/* pages, a bit each */

/* A store to each page, on average. */
static long touch_ns(volatile Int32 *pages)
{
	long start = now_ns();

	for (int i = 0; i < SOME; i++)
		pages[i * WORDS] = start;
	return (now_ns() - start) / SOME;
}

/* Pages as those of a mapping, but no thread waits for a store; page faults that find pages. */
TEST(SBL_30_a_first_store_that_wakes_no_thread)
{
	Int32 *shared = pages_new(SOME, MAP_SHARED);
	static long first[TIMES], fault[TIMES], fetch[TIMES];
	uint64_t stored;
	long start;
	struct dd *h;
	void *tracked;

	check_eq(dd_open(&h), 0);
	check_eq(dd_alloc_tracked(h, SOME * PAGE, &tracked), 0);
	touch_ns(shared);
	touch_ns(tracked);
	for (int i = 0; i < TIMES; i++) {
		start = now_ns();
		check_eq(dd_dirty(h, tracked, SOME * PAGE, &stored), 0);
		fetch[i] = now_ns() - start;
		check_eq(stored, ~0ull);
		first[i] = touch_ns(tracked);
		madvise(shared, SOME * PAGE, MADV_DONTNEED);
		fault[i] = touch_ns(shared);
	}
	print("one of 64 first stores, without a thread", first, TIMES);
	print("one of 64 page faults of shared memory", fault, TIMES);
	print("a fetch of 64 pages", fetch, TIMES);
	munmap(shared, SOME * PAGE);
	check_eq(dd_shutdown(h), 0);
}

/* From a call of @act, with a number, until a process sees the number in @word. */
static void measure(const char *what, int times, void (*act)(Int32 n), const Int32 *word)
{
	static long ns[TIMES];
	static Int32 n;
	long start;

	for (int i = 0; i < times; i++) {
		start = now_ns();
		act(++n);
		arrived(word, n);
		ns[i] = now_ns() - start;
	}
	print(what, ns, times);
}

static void send_word(Int32 n)
{
	check_eq(SBL_SendMsg(&n, proxy + 2, 1), SBL_Success);
}

TEST(SBL_30_a_word)
{
	static long first[TIMES], arrival[TIMES];
	long start;

	begin(1);
	for (int i = 0; i < TIMES; i++) {
		/* Most stores find the thread of the library asleep. */
		usleep(rand() % 3000);
		start = now_ns();
		store(memory + 1, i + 1);
		first[i] = now_ns() - start;
		arrived(board + 1, i + 1);
		arrival[i] = now_ns() - start;
	}
	print("the first store after an update", first, TIMES);
	print("a store arrives after", arrival, TIMES);
	check_eq(SBL_Unmap(memory), SBL_Success);
	measure("a message of a word", TIMES, send_word, board + 2);
	end(1);
}

TEST(SBL_30_a_mebibyte)
{
	static Int32 source[PAGES * WORDS];
	static long stored[20], sent[20];
	long start;

	begin(PAGES);
	for (int i = 0; i < 20; i++) {
		fill(source, PAGES * WORDS, i + 1);
		start = now_ns();
		memcpy(memory, source, PAGES * PAGE);
		arrived(board + PAGES * WORDS - 1, source[PAGES * WORDS - 1]);
		stored[i] = now_ns() - start;
	}
	check_eq(SBL_Unmap(memory), SBL_Success);
	for (int i = 0; i < 20; i++) {
		fill(source, PAGES * WORDS, -i - 1);
		start = now_ns();
		check_eq(SBL_SendMsg(source, proxy, PAGES * WORDS), SBL_Success);
		arrived(board + PAGES * WORDS - 1, source[PAGES * WORDS - 1]);
		sent[i] = now_ns() - start;
	}
	print("a MiB by automatic update", stored, 20);
	print("a MiB by deliberate update", sent, 20);
	end(PAGES);
}

/* ---- a notification beside a signal ------------------------------------------------------ */

enum { SEEN, WANTED, OVER };	/* words of the board */

static void notified(int32 *where, int32 what)
{
	store(board + SEEN, what);
}

static void signalled(int sig)
{
	store(board + SEEN, load(board + WANTED));
}

static long job_export_noted(long a, long b, long c)
{
	vmmc_exphandle_t e;

	signal(SIGUSR1, signalled);
	return vmmc_ExportRecvBuf(page[1], WORDS, 1, notified, BUF_READWRITE, VMMC_PERM_ANY, &e);
}

/* Until it is interrupted for the last time. */
static long job_compute(long a, long b, long c)
{
	while (!load(board + OVER))
		;
	return 0;
}

static void notify(Int32 n)
{
	check_eq(vmmc_SendDataNotify(&n, at, 1), vmmc_Success);
}

static void kill_owner(Int32 n)
{
	store(board + WANTED, n);
	worker_signal(owner, SIGUSR1);
}

/* Until the handler runs, in a process that computes. */
TEST(a_notification_of_VMMC_beside_a_signal)
{
	/* With one processor, each takes a turn of the scheduler. */
	const int times = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? TIMES : 10;
	vmmc_imphandle_t h;
	uint32 n;

	owner_start();
	check_eq(worker_do(owner, job_export_noted, 0, 0, 0), 0);
	check_eq(vmmc_ImportRecvBuf(vmmc_MyNode(), pid, 1, &h, &at, &n), 0);
	worker_begin(owner, job_compute, 0, 0, 0);
	measure("the handler of a notification runs after", times, notify, board + SEEN);
	measure("the handler of a signal runs after", times, kill_owner, board + SEEN);
	store(board + OVER, 1);
	check_eq(worker_result(owner), 0);
	worker_end(owner);
	check_eq(vmmc_UnimportRecvBuf(h), vmmc_Success);
}
