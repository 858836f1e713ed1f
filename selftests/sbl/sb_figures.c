// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_figures.c - SBL: what deliberate and automatic update cost
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
#include <time.h>
#include <unistd.h>

#include "dd_mem.h"
#include "buffers.h"
#include "vmmc.h"

#define PAGES	256			/* of the large buffer: a MiB */
#define TIMES	200

static Int32 *memory;			/* mapped to the buffer */

static void begin(int pages)
{
	owner = worker_new(HERE);
	memset(board, 0, BOARD * 4);
	memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check_eq(worker_do(owner, job_export, 0, pages * WORDS, 1), SBL_Success);
	check_eq(SBL_ImportRecvBuf(SBL_MyNode(), worker_pid(owner), 1, &proxy, &nwords), SBL_Success);
	check_eq(SBL_Map(memory, proxy, pages * WORDS, 0), SBL_Success);
}

static void end(int pages)
{
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	munmap(memory, pages * PAGE);
	worker_end(owner);
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

static void store(Int32 *word, Int32 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void arrived(const Int32 *word, Int32 value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

static long stores_ns(volatile Int32 *words, long n)
{
	long start = now_ns();

	for (long i = 0; i < n; i++)
		words[i % 64] = i;
	return now_ns() - start;
}

/* ---- instructions, in a worker --------------------------------------------------- */

static Int32 page[2][WORDS] __attribute__((aligned(PAGE)));
static Int32 mapped[WORDS] __attribute__((aligned(PAGE)));
static Int32 message[16];
static int32 *at;

enum { SBL, SBL_MAPPED, VMMC };

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

static long job_map(long a, long b, long c)
{
	int ret = SBL_Map(mapped, proxy, WORDS, 0);

	return ret ? ret : SBL_SendMsg(message, proxy, 16);
}

static long job_call(long kind, long times, long c)
{
	/* The first one is of another library than the latest, or needs the kernel. */
	int ret = kind == VMMC ? vmmc_SendData(message, at, 16) : SBL_SendMsg(message, proxy, 16);

	raise(SIGUSR1);
	while (times-- > 0 && !ret)
		ret = kind == VMMC ? vmmc_SendData(message, at, 16) :
				     SBL_SendMsg(message, proxy, 16);
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
	with = cost(w, SBL_MAPPED);
	printf("# 64 bytes: vmmc_SendData %ld instructions, SBL_SendMsg %ld, with a mapping %ld\n",
	       vmmc, sbl, with);
	check(sbl <= vmmc + 20);
	check(with <= vmmc + 40);
	worker_end(w);
}

/* ---- times ------------------------------------------------------------------------------ */

/* The shortest of many series; the kinds take turns. */
TEST(SBL_30_a_store_to_a_mapped_word)
{
	Int32 *plain = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long best[2] = { 1l << 40, 1l << 40 }, ns;

	begin(1);
	for (int i = 0; i < TIMES; i++) {
		/* The first store makes the page writable, until the next update. */
		stores_ns(memory, 1);
		ns = stores_ns(memory, 10000);
		best[0] = ns < best[0] ? ns : best[0];
		ns = stores_ns(plain, 10000);
		best[1] = ns < best[1] ? ns : best[1];
	}
	printf("# 10000 stores to mapped words: %.2f us, to others: %.2f us\n", best[0] / 1000.,
	       best[1] / 1000.);
	check(best[0] < 2 * best[1]);
	munmap(plain, PAGE);
	end(1);
}

TEST(SBL_30_the_first_store_after_an_update)
{
	volatile Int32 *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static long first[TIMES], fault[TIMES];
	long start;

	begin(1);
	shared[0] = 1;
	for (int i = 0; i < TIMES; i++) {
		store(memory + 1, i + 1);
		/* A message brings the update. */
		check_eq(SBL_SendMsg(&(Int32){ i + 1 }, proxy, 1), SBL_Success);
		start = now_ns();
		store(memory + 2, i + 1);
		first[i] = now_ns() - start;
		/* A page fault that finds a page. */
		madvise((void *)shared, PAGE, MADV_DONTNEED);
		start = now_ns();
		shared[0] = i;
		fault[i] = now_ns() - start;
	}
	print("the first store after an update", first, TIMES);
	print("a page fault of shared memory", fault, TIMES);
	munmap((void *)shared, PAGE);
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

/* Pages as those of a mapping, but no thread waits for a store. */
TEST(SBL_30_a_first_store_that_wakes_no_thread)
{
	Int32 *shared = mmap(NULL, SOME * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			     -1, 0);
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

TEST(SBL_30_from_a_store_to_its_arrival)
{
	static long ns[TIMES];
	long start;

	begin(1);
	for (int i = 0; i < TIMES; i++) {
		usleep(rand() % 3000);
		start = now_ns();
		store(memory + 1, i + 1);
		arrived(board + 1, i + 1);
		ns[i] = now_ns() - start;
	}
	print("a store arrives after", ns, TIMES);
	for (int i = 0; i < TIMES; i++) {
		start = now_ns();
		store(memory + 1, -i - 1);
		arrived(board + 1, -i - 1);
		ns[i] = now_ns() - start;
	}
	print("one of many arrives after", ns, TIMES);
	for (int i = 0; i < TIMES; i++) {
		start = now_ns();
		check_eq(SBL_SendMsg(&(Int32){ i + 1 }, proxy + 2, 1), SBL_Success);
		arrived(board + 2, i + 1);
		ns[i] = now_ns() - start;
	}
	print("a message of a word, with a mapping", ns, TIMES);
	check_eq(SBL_Unmap(memory), SBL_Success);
	for (int i = 0; i < TIMES; i++) {
		start = now_ns();
		check_eq(SBL_SendMsg(&(Int32){ -i - 1 }, proxy + 2, 1), SBL_Success);
		arrived(board + 2, -i - 1);
		ns[i] = now_ns() - start;
	}
	print("a message of a word", ns, TIMES);
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
