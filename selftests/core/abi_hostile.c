// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process that writes random values to its mapped memory harms only itself:
 * other traffic, checked beside it, stays correct. Two users, alice and bob,
 * make random calls and connect to each other, also below limits of memory.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <sys/stat.h>
#include "calls.h"
#include "mem.h"
#include "threads.h"

/* Seconds; a busy machine completes fewer rounds. */
#define BUDGET	5

/*
 * Honest traffic in a child until @stop: numbered messages with checked contents.
 * Reports that it has begun; exits with 0 if all was right.
 */
static void honest(const bool *stop, int begun)
{
	struct dd_note n;
	struct pair p;
	__u64 i, *from, *to;

	CHILD_CHECK(pair_open(&p, 2, 256, 4) == 0);
	from = (__u64 *)(p.cmem.at + p.c.send.offset);
	to = (__u64 *)p.smem.at;
	for (i = 1; !__atomic_load_n(stop, __ATOMIC_ACQUIRE); i++) {
		from[0] = i;
		from[31] = ~i;
		CHILD_CHECK(pair_request(&p, 0, 0, 256) == 1);
		CHILD_CHECK(raw_take(&p.srv, p.s.list_unit, &n));
		CHILD_CHECK(n.type == DD_NOTE_DATA && n.len == 256);
		CHILD_CHECK((__u32)i == n.msgid && n.word == ~i);
		CHILD_CHECK(to[0] == i && to[31] == ~i);
		CHILD_CHECK(!raw_take(&p.srv, p.s.list_unit, &n));
		if (i == 1)
			child_report(begun);
	}
	_exit(0);
}

struct bystander {
	pid_t pid;
	bool *stop;
};

/* When this returns the traffic has begun. */
static struct bystander bystander(void)
{
	struct bystander b = { .stop = shared_memory(sizeof(*b.stop)) };
	int begun;

	b.pid = fork_until_report(&begun);
	if (!b.pid)
		honest(b.stop, begun);
	return b;
}

#define EXPECT_UNHARMED(b) do {						\
	ASSERT_LT(0, (b).pid);						\
	__atomic_store_n((b).stop, true, __ATOMIC_RELEASE);		\
	ASSERT_CHILD_OK((b).pid);					\
} while (0)

static int put_number(const char *dir, const char *file, long number)
{
	char path[160], text[24];
	int fd, n = snprintf(text, sizeof(text), "%ld", number), ret;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ret = fd < 0 || write(fd, text, n) != n ? -1 : 0;
	close(fd);
	return ret;
}

/* --- what the owner of an area can write -----------------------------------*/

/* Writes random values into the used beginning of an area. */
static void scribble(struct raw *r, unsigned int *seed, size_t bytes)
{
	__u64 *w = r->area;
	size_t at = raw_random(seed) % (bytes / 8);

	switch (rand_r(seed) % 3) {
	case 0:
		w[at] = raw_random(seed);
		break;
	case 1:
		w[at] += (int)(rand_r(seed) % 5) - 2;
		break;
	default:
		((__u32 *)w)[2 * at + rand_r(seed) % 2] = raw_random(seed);
	}
}

/* The units that the pair uses: their pages exist. */
static size_t used_bytes(const struct pair *p, bool server)
{
	__u32 top = server ? p->s.states_unit + 2 * p->s.state_units :
			     p->c.state_unit + 1;
	__u32 list = server ? p->s.list_unit : p->c.list_unit;
	const struct raw *r = server ? &p->srv : &p->cl;
	__u64 geo = raw_list(r, list)->geometry;
	__u32 ring = (geo >> 32) + (1u << (geo & 31));

	top = top > list ? top : list + 1;
	top = top > ring ? top : ring;
	return (size_t)top * DD_UNIT;
}

/* One thread scribbles, the other makes valid calls: they race on each word. */
static struct pair shared;

struct scribbler {
	unsigned int seed;
	size_t srv, cl;		/* bytes of the areas, which say something else soon */
};

static bool scribble_both(void *arg)
{
	struct scribbler *s = arg;

	scribble(&shared.srv, &s->seed, s->srv);
	scribble(&shared.cl, &s->seed, s->cl);
	return true;
}

static void racer(unsigned int seed, int rounds)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .flags = DD_SQE_NOTIFY,
			      .len = 64 };
	struct scribbler s = { .seed = seed + 1 };
	double end = dd_now() + BUDGET;
	struct loop l;
	__u64 there;
	int i;

	CHILD_CHECK(pair_open(&shared, 2, 256, 2) == 0);
	there = pair_server_conn(&shared);
	s.srv = used_bytes(&shared, true);
	s.cl = used_bytes(&shared, false);
	CHILD_CHECK(loop_begin(&l, scribble_both, &s));
	/* A round sleeps, on a busy machine for longer than it asked. */
	for (i = 0; i < rounds && dd_now() < end; i++) {
		struct dd_conn_state *cs = raw_state(&shared.cl, shared.c.state_unit);
		__u32 list = shared.s.list;

		memcpy(&cs->sq[0], &sqe, sizeof(sqe));
		cs->sq[0].seq = i % 64;
		raw_op(&shared.cl, DD_IOC_DOORBELL, shared.c.conn);
		raw_list(&shared.srv, shared.s.list_unit)->head = i % 32;
		raw_op(&shared.srv, DD_IOC_LIST_KICK, list);
		raw_list_wait(&shared.srv, list, 1);
		/* Requests that may be valid, and what the area says. */
		if (rand_r(&seed) % 2)
			pair_request(&shared, raw_random(&seed) % 300,
				     raw_random(&seed) % 300, raw_random(&seed) % 300);
		raw_op(&shared.srv, DD_IOC_DOORBELL, there);
		raw_op(&shared.cl, DD_IOC_LIST_KICK, shared.c.list);
	}
	CHILD_CHECK(loop_end(&l) == 0);
	/* Whatever its state is, the service can be ended. */
	CHILD_CHECK(raw_op(&shared.cl, DD_IOC_CLOSE, shared.c.conn) == 0);
	CHILD_CHECK(raw_op(&shared.srv, DD_IOC_UNSERVE, shared.s.service) == 0);
	_exit(0);
}

TEST(an_area_scribbled_over_during_calls)
{
	unsigned int seed = dd_seed(_metadata);
	struct bystander b = bystander();
	pid_t pid = fork_child();

	if (!pid)
		racer(seed, dd_count(8000));
	ASSERT_CHILD_OK(pid);
	EXPECT_UNHARMED(b);
}

/*
 * An importer that may only read one segment and only write another one scribbles over its
 * area, and submits requests that may be valid: no byte changes but of the segment that it
 * may write, and another importer's puts and their notes arrive.
 */
TEST(a_scribbling_importer_harms_only_what_it_may_write)
{
	unsigned int seed = dd_seed(_metadata);
	struct dd_segment_make s[3];
	struct dd_import_make bad[2], good;
	struct dd_list_make list;
	struct raw ex, im, other;
	struct mem m, source;
	struct dd_note n;
	size_t bytes, at;
	__u64 i, done[2] = { };

	/* Pages: readable, writable, the other importer's, and one without an importer. */
	ASSERT_OK(raw_start(&ex, 4 * PAGE, &m));
	ASSERT_OK(raw_start(&im, PAGE, &source));
	ASSERT_OK(raw_open(&other));
	ASSERT_OK(mem_list(&ex, &list));
	memset(source.at, 0xbd, PAGE);
	for (i = 0; i < 3; i++) {
		s[i] = mem_segment(&m, (const char *[]){ "read", "write", "other" }[i]);
		s[i].offset = i * PAGE;
		s[i].length = PAGE;
		s[i].list = list.list;
		s[i].window = 1;
		s[i].policy = i == 2 ? DD_POLICY_CONDITIONAL : DD_POLICY_NEVER;
		ASSERT_OK(mem_export(&ex, &s[i]));
	}
	ASSERT_OK(mem_import(&im, &s[0], DD_RIGHT_GET, &bad[0]));
	ASSERT_OK(mem_import(&im, &s[1], DD_RIGHT_PUT | DD_RIGHT_CAS, &bad[1]));
	ASSERT_OK(mem_import(&other, &s[2], DD_RIGHT_PUT, &good));
	bytes = (bad[1].state_unit + 4) * DD_UNIT;
	for (i = 1; i <= dd_count(5000); i++) {
		int which = rand_r(&seed) % 2;
		struct dd_import_make *b = &bad[which];
		struct dd_conn_state *cs = raw_state(&im, b->state_unit);
		struct dd_sqe sqe = {
			.opcode = rand_r(&seed) % 6, .flags = raw_random(&seed),
			.region = source.id, .src = raw_random(&seed) % PAGE & ~7,
			.dst = raw_random(&seed) % (PAGE + 64), .len = raw_random(&seed) % 600,
			.meta_count = rand_r(&seed) % 2 ? DD_META_WORDS : 0,
		};

		/* CAS of an aligned word, as often as not. */
		if (rand_r(&seed) % 2) {
			sqe.flags = DD_SQE_REGION;
			sqe.len = rand_r(&seed) % 2 ? 8 : sqe.len;
			sqe.dst &= ~7;
		}
		scribble(&im, &seed, bytes);
		raw_queue(&im, b->state_unit, &sqe);
		/* The kernel counts by itself. */
		if (rand_r(&seed) % 4)
			cs->sq[0].seq = done[which] + 1;
		if (raw_op(&im, DD_IOC_DOORBELL, b->import) == 1)
			done[which]++;
		ASSERT_EQ(1, mem_put(&other, &good, &i, 2 * 8, 8, DD_SQE_NOTIFY)) {
			TH_LOG("errno %d", errno);
		}
		ASSERT_TRUE(raw_take(&ex, list.list_unit, &n));
		ASSERT_EQ(i, n.msgid);
		ASSERT_EQ(i, n.word);
		ASSERT_EQ(i, *(__u64 *)(m.at + 2 * PAGE + 16));
		EXPECT_FALSE(raw_peek(&ex, list.list_unit, &n));
	}
	*(__u64 *)(m.at + 2 * PAGE + 16) = 0;
	for (at = 0; at < 4 * PAGE; at++) {
		if (at / PAGE != 1)
			ASSERT_EQ(0, m.at[at]);
	}
	/* It did reach what it may reach, and the segments can be ended. */
	EXPECT_LT(0, done[0]);
	for (at = PAGE; at < 2 * PAGE && !m.at[at]; at++)
		;
	EXPECT_GT(2 * PAGE, at);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, mem_end(&ex, s[i].segment));
}

/* --- random calls ----------------------------------------------------------*/

#define FUZZERS	4

/* Sequences that share the names of services, and so connect to each other. */
static void fuzz(unsigned int seed, int rounds)
{
	double end = dd_now() + BUDGET;
	struct sequence s;
	int i, ran = 0;

	calls_seed = seed;
	for (i = 0; i < rounds && dd_now() < end; i++) {
		s = calls_first(calls_pick(CALLS_FIRST));
		do
			calls_mutate(&s);
		while (calls_pick(8));
		/* There may be no memory for a context now. */
		ran += calls_run(&s, NULL);
	}
	CHILD_CHECK(ran > 0);
	_exit(0);
}

/*
 * Processes with an odd number are alice's, others bob's; each below @memlock.
 */
static void fuzz_all(struct __test_metadata *_metadata, unsigned int seed,
		     rlim_t memlock, const char *group)
{
	struct rlimit l = { memlock, memlock };
	pid_t pid[FUZZERS];
	int i;

	for (i = 0; i < FUZZERS; i++) {
		pid[i] = fork_child();
		if (pid[i])
			continue;
		setrlimit(RLIMIT_MEMLOCK, &l);
		CHILD_CHECK(!group || put_number(group, "cgroup.procs", 0) == 0);
		CHILD_CHECK(become_user(i % 2 ? BOB : ALICE) == 0);
		fuzz(seed + i, dd_count(20000));
	}
	for (i = 0; i < FUZZERS; i++)
		ASSERT_CHILD_OK(pid[i]);
}

TEST(random_calls_with_random_arguments)
{
	unsigned int seed = dd_seed(_metadata);
	struct bystander b = bystander();

	fuzz_all(_metadata, seed, 64 << 20, NULL);
	EXPECT_UNHARMED(b);
}

/* Users that are throttled and refused do not make others wait. */
TEST(random_calls_below_limits_of_memory)
{
	unsigned int seed = dd_seed(_metadata);
	struct bystander b = bystander();
	char group[64];

	snprintf(group, sizeof(group), "/sys/fs/cgroup/hostile.%d", getpid());
	ASSERT_EQ(0, mkdir(group, 0755));
	ASSERT_EQ(0, put_number(group, "memory.high", 2 << 20));
	fuzz_all(_metadata, seed, 512 << 10, group);
	EXPECT_UNHARMED(b);
	ASSERT_SOON(!rmdir(group));
}

DD_TEST_MAIN
