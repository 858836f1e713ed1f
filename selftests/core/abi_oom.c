// SPDX-License-Identifier: GPL-2.0-only
/*
 * A user takes all the memory it can get, of the module and then of its own,
 * in a guest that has little: the kernel kills processes of that user only.
 * Run it alone, with MEM=1024; no cgroup sets a limit.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <sys/resource.h>
#include "raw.h"

#define ATTACKERS	6
#define CONTEXTS	64	/* of each of them, at most */
#define VICTIMS		4	/* of bob's and of root's, in turn */
#define VICTIM_SIZE	(48 << 20)
#define MEMLOCK		(8 << 20)

static bool stop_now(int fd)
{
	char c;

	return read(fd, &c, 1) == 0;
}

/*
 * Allocates memory and sends messages to itself: a process that the kernel
 * would select by size among the processes that have not caused the shortage.
 * Exits with 0 when the pipe is closed.
 */
static void victim(uid_t uid, int ready, int stop)
{
	struct dd_note n;
	struct pair p;
	char *own;

	CHILD_CHECK(!uid || become_user(uid) == 0);
	own = mmap(NULL, VICTIM_SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	CHILD_CHECK(own != MAP_FAILED);
	memset(own, 1, VICTIM_SIZE);
	CHILD_CHECK(pair_open(&p, 2, 256, 4) == 0);
	fcntl(stop, F_SETFL, O_NONBLOCK);
	CHILD_CHECK(write(ready, "v", 1) == 1);
	while (!stop_now(stop)) {
		CHILD_CHECK(pair_request(&p, 0, 0, 256) == 1);
		CHILD_CHECK(raw_take(&p.srv, p.s.list_unit, &n));
		usleep(1000);
	}
	_exit(0);
}

/* Allocates from the module until refused, then waits. */
static void attacker(int number, int ready)
{
	struct rlimit l = { MEMLOCK, MEMLOCK };
	unsigned int maxconn, i;
	int services = 0, conns = 0, n;
	struct dd_connect c;
	struct dd_serve s;
	char name[40];
	struct raw r;

	CHILD_CHECK(setrlimit(RLIMIT_MEMLOCK, &l) == 0);
	CHILD_CHECK(become_user(ALICE) == 0);
	for (i = 0; i < CONTEXTS; i++) {
		if (raw_open(&r))
			break;
		/* A mapping would keep the contents. */
		for (maxconn = DD_MAXCONN_MAX; maxconn; maxconn /= 2) {
			snprintf(name, sizeof(name), "oom.%d.%u.%u", number, i,
				 maxconn);
			if (raw_serve_unmapped(&r, name, maxconn, 8,
					       i % 2 ? DD_SERVE_ACCEPT : 0, &s))
				continue;
			services++;
			/* With a list of its own each time, until refused. */
			for (n = 0; n < 1000 && !raw_join_receiver(&r, name, DD_WINDOW_MAX, 0, &c);
			     n++)
				conns++;
		}
	}
	fprintf(stderr, "# attacker %d: %u contexts, %d services, %d connections\n",
		number, i, services, conns);
	CHILD_CHECK(write(ready, "a", 1) == 1);
	for (;;)
		pause();
}

/* Allocates ordinary memory until the kernel kills it. */
static void eater(void)
{
	const size_t piece = 16 << 20;
	char *p;

	CHILD_CHECK(become_user(ALICE) == 0);
	for (;;) {
		p = mmap(NULL, piece, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			usleep(1000);
		else
			memset(p, 1, piece);
	}
}

static long oom_kills(void)
{
	return printed_number("sed -n 's/^oom_kill //p' /proc/vmstat");
}

static int alive(const pid_t *pids, int n)
{
	int i, left = 0;

	for (i = 0; i < n; i++)
		left += waitpid(pids[i], NULL, WNOHANG) == 0;
	return left;
}

/* Waits until the others have written to the pipe, or exited. */
static int count_ready(int fd, int n)
{
	char c;
	int i;

	for (i = 0; i < n; i++)
		if (read(fd, &c, 1) != 1)
			break;
	return i;
}

TEST(no_other_user_pays_for_memory)
{
	int ready[2], stop[2], i, status;
	pid_t victims[VICTIMS], attackers[ATTACKERS], pid;
	long kills;

	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(stop, O_CLOEXEC));
	for (i = 0; i < VICTIMS; i++) {
		victims[i] = fork_child();
		if (!victims[i]) {
			close(stop[1]);
			victim(i % 2 ? BOB : 0, ready[1], stop[0]);
		}
	}
	ASSERT_EQ(VICTIMS, count_ready(ready[0], VICTIMS));
	kills = oom_kills();
	ASSERT_LE(0, kills);
	for (i = 0; i < ATTACKERS; i++) {
		attackers[i] = fork_child();
		if (!attackers[i]) {
			close(stop[1]);
			attacker(i, ready[1]);
		}
	}
	close(ready[1]);
	/* The module's limits leave most of the memory free. */
	EXPECT_EQ(ATTACKERS, count_ready(ready[0], ATTACKERS));
	EXPECT_EQ(ATTACKERS, alive(attackers, ATTACKERS));
	EXPECT_EQ(VICTIMS, alive(victims, VICTIMS));
	EXPECT_EQ(kills, oom_kills());
	/* Memory is exhausted now, by a known user. */
	pid = fork_child();
	if (!pid) {
		close(stop[1]);
		eater();
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	EXPECT_LT(kills, oom_kills());
	EXPECT_EQ(VICTIMS, alive(victims, VICTIMS));
	close(stop[1]);
	for (i = 0; i < VICTIMS; i++)
		ASSERT_CHILD_OK(victims[i]);
	for (i = 0; i < ATTACKERS; i++)
		kill_child(attackers[i]);
}

DD_TEST_MAIN
