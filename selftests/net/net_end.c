// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of segments, imports and sessions between nodes, which wait for each other. Run by
 * across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "net_mem.h"
#include <pthread.h>
#include <sys/wait.h>

/* The thread that waits. */
static volatile pid_t waiter;

/*
 * The segment ends at a random moment: when a random byte of one of the messages has arrived, or
 * at once. Each message has its number in all bytes. The link is so slow that most ends come
 * before the last message, on one processor, too.
 */
TEST_F(far, nothing_arrives_after_the_end)
{
	static char bytes[MEM_WINDOW][BULK], zeros[BULK];
	int n, i, end, rounds = dd_count(200), partly = 0;
	unsigned int seed = dd_seed(_metadata);
	volatile char *at;

	for (i = 0; i < MEM_WINDOW; i++)
		memset(bytes[i], i + 1, BULK);
	ASSERT_EQ(0, impair(1, "rate 1gbit"));
	for (n = 0; n < rounds; n++) {
		for (i = 0; i < MEM_WINDOW; i++)
			ASSERT_EQ(1, put(self, bytes[i], 0, BULK, 0));
		at = self->em.at + rand_r(&seed) % BULK;
		i = rand_r(&seed) % (MEM_WINDOW + 1);
		while (*at < i)
			sched_yield();
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		partly += self->em.at[BULK - 1] != MEM_WINDOW;
		memset(self->em.at, 0, BULK);
		while (!(end = *(volatile __u32 *)&self->cell->cell.error))
			sched_yield();
		EXPECT_EQ(ESTALE, end);
		EXPECT_ERR(ESTALE, put(self, zeros, 0, 8, 0));
		EXPECT_ERR(ESTALE, wait_done(&self->im, &self->i, ~0ull));
		ASSERT_EQ(0, memcmp(self->em.at, zeros, BULK));
		ASSERT_OK(mem_end(&self->im, self->i.import));
		self->s.segment = 0;
		self->s.generation = 0;
		ASSERT_OK(mem_export(&self->ex, &self->s));
		ASSERT_OK(import(&self->im, &self->s, DD_RIGHTS, 0, &self->i));
		self->cell = raw_unit(&self->im, self->i.cell_unit);
	}
	EXPECT_EQ(0, impair(1, NULL));
	TH_LOG("%d of %d ends before the last message had arrived", partly, rounds);
}

static void *wait_for_more(void *arg)
{
	FIXTURE_DATA(far) *self = arg;

	waiter = gettid();
	return (void *)(long)(wait_done(&self->im, &self->i, 1) ? errno : 0);
}

TEST_F(far, the_end_of_an_import_ends_a_wait)
{
	pthread_t t;
	void *err;

	waiter = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, wait_for_more, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	ASSERT_OK(mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(ESTALE, (long)err);
}

TEST_F(far, importers_know_of_the_end_when_the_call_returns)
{
	static char ones[BULK];
	int rounds = dd_count(100), k;
	struct dd_import_make i[MEM_WINDOW];

	while (rounds--) {
		for (k = 0; k < MEM_WINDOW; k++)
			ASSERT_OK(import(&self->im, &self->s, DD_RIGHTS, 0, &i[k]));
		for (k = 0; k < MEM_WINDOW; k++)
			ASSERT_EQ(1, mem_put(&self->im, &i[k], ones, 0, k * 1000, 0));
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		for (k = 0; k < MEM_WINDOW; k++) {
			ASSERT_EQ(ESTALE, state(self, &i[k]));
			ASSERT_OK(mem_end(&self->im, i[k].import));
		}
		self->s.segment = 0;
		self->s.generation = 0;
		ASSERT_OK(mem_export(&self->ex, &self->s));
	}
}

/* So many ends that the control stream is full for a while. */
TEST_F(far, more_ends_than_the_control_stream_holds)
{
	static struct dd_import_make i[1000];
	struct dd_segment_make s = mem_segment(&self->em, "far_many");
	int k;

	s.importers = 1000;
	ASSERT_OK(mem_export(&self->ex, &s));
	for (k = 0; k < 1000; k++)
		ASSERT_OK(import(&self->im, &s, DD_RIGHT_GET, 1, &i[k]));
	ASSERT_OK(mem_end(&self->ex, s.segment));
	for (k = 0; k < 1000; k++)
		ASSERT_EQ(ESTALE, state(self, &i[k]));
}

static void on_signal(int sig)
{
}

static void *end_segment(void *arg)
{
	FIXTURE_DATA(far) *self = arg;

	waiter = gettid();
	return (void *)(long)(mem_end(&self->ex, self->s.segment) ? errno : 0);
}

TEST_F(far, a_signal_ends_the_wait_but_the_segment_has_ended)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t t;
	void *err;

	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASSERT_EQ(0, dead_time(600000));
	ASSERT_EQ(0, cut());
	waiter = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, end_segment, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	EXPECT_EQ(0, state(self, &self->i));
	ASSERT_EQ(0, pthread_kill(t, SIGUSR1));
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(EINTR, (long)err);
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->s.segment));
	EXPECT_EQ(0, state(self, &self->i));
	ASSERT_EQ(0, lose_none());
	ASSERT_SOON(state(self, &self->i) == ESTALE);
	EXPECT_EQ(0, dead_time(5000));
}

static void *end_import(void *arg)
{
	FIXTURE_DATA(far) *self = arg;

	waiter = gettid();
	return (void *)(long)(mem_end(&self->im, self->i.import) ? errno : 0);
}

TEST_F(far, the_end_of_an_import_waits_for_its_requests)
{
	struct sigaction sa = { .sa_handler = on_signal };
	static char ones[BULK];
	pthread_t t;
	void *err;

	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASSERT_EQ(0, dead_time(600000));
	memset(ones, 1, sizeof(ones));
	ASSERT_EQ(0, cut());
	ASSERT_EQ(1, put(self, ones, 0, sizeof(ones), 0));
	waiter = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, end_import, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	ASSERT_EQ(0, pthread_kill(t, SIGUSR1));
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(EINTR, (long)err);
	/* The import has not ended. */
	ASSERT_EQ(1, put(self, "2", 8, 1, 0));
	ASSERT_EQ(0, lose_none());
	EXPECT_EQ(0, mem_end(&self->im, self->i.import));
	EXPECT_EQ('2', self->em.at[8]);
	self->em.at[8] = 1;
	EXPECT_EQ(0, memcmp(self->em.at, ones, BULK));
	EXPECT_EQ(0, dead_time(5000));
}

TEST_F(far, the_end_waits_no_longer_than_the_dead_time)
{
	struct timespec from, to;
	pthread_t t;
	void *err;

	ASSERT_EQ(0, dead_time(3000));
	ASSERT_EQ(0, cut());
	waiter = 0;
	clock_gettime(CLOCK_MONOTONIC, &from);
	ASSERT_EQ(0, pthread_create(&t, NULL, end_segment, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	EXPECT_EQ(0, pthread_join(t, &err));
	clock_gettime(CLOCK_MONOTONIC, &to);
	EXPECT_EQ(0, (long)err);
	/* Most of it is for a machine with other work. */
	EXPECT_LE(to.tv_sec - from.tv_sec, 60);
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->s.segment));
	ASSERT_SOON(state(self, &self->i) == EHOSTUNREACH);
	ASSERT_EQ(0, lose_none());
	EXPECT_EQ(0, dead_time(5000));
	self->s.segment = 0;
	self->s.generation = 0;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	while (import(&self->im, &self->s, DD_RIGHT_GET, 0, &self->i))
		ASSERT_EQ(EHOSTUNREACH, errno);
}

/* It waits in the call, and ends at once. */
TEST_F(far, an_exporter_is_killed_while_it_waits)
{
	struct dd_segment_make s;
	int report, go[2];
	pid_t pid;
	char c;

	SKIP_ON_UM("leaves pages of VM_DONTCOPY mapped in a child");
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, dead_time(600000));
	pid = fork_until_report(&report);
	if (!pid) {
		struct raw r;
		struct mem m;

		CHILD_CHECK(raw_start_there(&r, PAGE, &m) == 0);
		s = mem_segment(&m, "far_killed");
		CHILD_CHECK(mem_export(&r, &s) == 0);
		child_report(report);
		CHILD_CHECK(read(go[0], &c, 1) == 1);
		mem_end(&r, s.segment);
		_exit(1);
	}
	ASSERT_LT(0, pid);
	s = mem_segment(&self->em, "far_killed");
	ASSERT_OK(import(&self->im, &s, DD_RIGHT_GET, 0, &self->i));
	ASSERT_EQ(0, cut());
	ASSERT_EQ(1, write(go[1], "x", 1));
	ASSERT_SOON(asleep_in(pid, SYS_ioctl));
	kill_child(pid);
	EXPECT_EQ(0, state(self, &self->i));
	ASSERT_EQ(0, lose_none());
	ASSERT_SOON(state(self, &self->i) == ESTALE);
	EXPECT_EQ(0, dead_time(5000));
}

DD_TEST_MAIN
