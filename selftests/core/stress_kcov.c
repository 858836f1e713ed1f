// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generates sequences of calls. A sequence that reaches new code of dd.ko joins the corpus, from
 * which most sequences are made by small changes; the kernel reports the code by
 * kcov. Without kcov the sequences are random. After each sequence both contexts are
 * closed, and the charge must be what it was before.
 *
 * DD_SEED repeats a run, DD_SOAK multiplies its length, DD_PRINT=n prints sequence n.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <linux/kcov.h>
#include "audit.h"
#include "calls.h"

#define SEQUENCES	4000
#define CORPUS		2048
#define COVER		(1 << 17)	/* words of kcov's buffer */
#define EDGES		(1 << 20)	/* bits; edges are hashed */

static struct sequence corpus[CORPUS];
static int kept;
static unsigned char edges[EDGES / 8];
static unsigned long *cover;
static int kcov = -1;

/* --- the loop --------------------------------------------------------------*/

static bool kcov_start(void)
{
	kcov = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (kcov < 0 || ioctl(kcov, KCOV_INIT_TRACE, COVER))
		return false;
	cover = mmap(NULL, COVER * sizeof(*cover), PROT_READ | PROT_WRITE,
		     MAP_SHARED, kcov, 0);
	return cover != MAP_FAILED && !ioctl(kcov, KCOV_ENABLE, KCOV_TRACE_PC);
}

/* Number of edges of this run that no earlier one had. */
static int new_edges(void)
{
	unsigned long i, n = cover ? cover[0] : 0, last = 0, bit;
	int fresh = 0;

	for (i = 1; i <= n && i < COVER; i++) {
		bit = (cover[i] * 0x9e3779b97f4a7c15 >> 20 ^ last) % EDGES;
		last = cover[i] * 0xff51afd7ed558ccd >> 41;
		fresh += !(edges[bit / 8] >> bit % 8 & 1);
		edges[bit / 8] |= 1 << bit % 8;
	}
	return fresh;
}

static void begin(void)
{
	if (cover)
		__atomic_store_n(&cover[0], 0, __ATOMIC_RELAXED);
}

static void generate(int sequences, int shown, int *counts)
{
	struct sequence s;
	struct raw audit;
	long long before;
	int i, fresh;

	CHILD_CHECK(raw_open(&audit) == 0);
	before = memlock_used(&audit);
	while (kept < CALLS_FIRST) {
		corpus[kept] = calls_first(kept);
		kept++;
	}
	for (i = 0; i < sequences; i++) {
		s = corpus[i < CALLS_FIRST ? i : calls_pick(kept)];
		if (i >= CALLS_FIRST)
			calls_mutate(&s);
		if (i == shown)
			calls_print(&s);
		CHILD_CHECK(calls_run(&s, begin));
		fresh = new_edges();
		counts[1] += fresh;
		if (fresh && kept < CORPUS)
			corpus[kept++] = s;
		if (WAIT_FOR(memlock_used(&audit) == before))
			continue;
		fprintf(stderr, "# sequence %d: %lld bytes are left\n", i,
			memlock_used(&audit) - before);
		calls_print(&s);
		_exit(1);
	}
	counts[0] = kept;
	raw_close(&audit);
}

TEST(sequences_of_calls)
{
	const char *soak = getenv("DD_SOAK"), *shown = getenv("DD_PRINT");
	int n = SEQUENCES * (soak ? atoi(soak) : 1);
	long long made = node_count("connects"), ended = node_count("closes");
	int *counts = shared_memory(PAGE);
	pid_t pid;
	int status;

	calls_seed = dd_seed(_metadata);
	pid = fork_child();
	if (!pid) {
		counts[2] = kcov_start();
		CHILD_CHECK(become_user(lone_user()) == 0);
		generate(n, shown ? atoi(shown) : -1, counts);
		_exit(0);
	}
	/* A hang limit: the list's. */
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	TH_LOG("%d sequences, %s kcov: %d edges, %d sequences in the corpus", n,
	       counts[2] ? "with" : "without", counts[1], counts[0]);
	ASSERT_EQ(0, status);
	EXPECT_LT(counts[2] ? CALLS_FIRST : CALLS_FIRST - 1, counts[0]);
	EXPECT_CLEAN();
	made = node_count("connects") - made;
	ended = node_count("closes") - ended;
	TH_LOG("%lld connections", made);
	EXPECT_EQ(made, ended);
	EXPECT_LT(0, made);
}

DD_TEST_MAIN
