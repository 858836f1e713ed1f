// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process that is killed at any moment frees all its objects, and the other
 * ends learn of it.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <linux/userfaultfd.h>
#include "audit.h"
#include "raw.h"

/* Bytes charged to this user, for all its processes. */
static long long account(void)
{
	long long used;
	struct raw r;

	if (raw_open(&r))
		return -1;
	used = memlock_used(&r);
	raw_close(&r);
	return used;
}

/* A test has left no object and no charge. */
#define EXPECT_GONE(paid) do {						\
	EXPECT_CLEAN();							\
	EXPECT_TRUE(WAIT_FOR(account() == (paid))) {			\
		TH_LOG("%lld bytes, then %lld", (long long)(paid),	\
		       account());					\
	}								\
} while (0)

/* --- the storm -------------------------------------------------------------*/

/* Messages that servers and clients have received, in shared memory. */
static struct { long requests, replies; } *received;

static void take_all(const struct raw *r, __u32 list_unit, long *count)
{
	struct dd_note n;

	while (raw_take(r, list_unit, &n))
		if (n.type == DD_NOTE_DATA)
			__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

static long read_count(const long *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

/* A server: serves, waits, reads, replies, closes, forever. */
static void storm_server(const char *name, unsigned int seed)
{
	__u64 conns[4];
	struct dd_serve s;
	struct raw r;
	struct mem m;
	int i, n;

	CHILD_CHECK(raw_start(&r, 8 * PAGE, &m) == 0);
	for (;;) {
		raw_serve_args(&s, name, 4, &m);
		s.flags = rand_r(&seed) % 4 ? 0 : DD_SERVE_ACCEPT;
		/* The service of the process before may not have ended yet. */
		if (raw_serve(&r, &s))
			continue;
		for (i = rand_r(&seed) % 200; i; i--) {
			raw_list_wait(&r, s.list, rand_r(&seed) % 100000);
			take_all(&r, s.list_unit, &received->requests);
			n = raw_conns(&r, s.service, conns, 4);
			if (n > 0 && rand_r(&seed) % 8)
				raw_send(&r, s.cells_unit, conns[0], 0, 0, 64);
			else if (n > 0)
				raw_op(&r, DD_IOC_CLOSE, conns[0]);
		}
		raw_op(&r, DD_IOC_UNSERVE, s.service);
	}
}

/* A client: connects, sends, waits, reads, closes, forever. */
static void storm_client(const char *name, unsigned int seed)
{
	struct dd_connect c;
	struct raw r;
	struct mem m;
	int i, fd;

	CHILD_CHECK(raw_open(&r) == 0);
	for (;;) {
		CHILD_CHECK(raw_alloc(&r, 4 * PAGE, &m) == 0);
		raw_connect_args(&c, name, &m);
		if (!raw_connect(&r, &c)) {
			fd = raw_op(&r, DD_IOC_LIST_FD, c.list);
			for (i = rand_r(&seed) % 100; i; i--) {
				raw_send(&r, c.cell_unit, c.conn, 0, 0,
					 rand_r(&seed) % 2048);
				raw_conn_wait(&r, c.conn, DD_WAIT_DONE,
					      raw_cell(&r, c.cell_unit)->submitted,
					      rand_r(&seed) % 100000);
				take_all(&r, c.list_unit, &received->replies);
			}
			close(fd);
			raw_op(&r, DD_IOC_CLOSE, c.conn);
		}
		raw_free(&r, &m);
	}
}

static pid_t storm_start(bool server, const char *name, unsigned int seed)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	if (server)
		storm_server(name, seed);
	else
		storm_client(name, seed);
	_exit(1);
}

TEST(nothing_is_left_of_others)
{
	EXPECT_CLEAN();
}

enum { PROCS = 6, SERVERS = 2 };

/* Replaces the processes that were killed; false if one has ended by itself. */
static bool restart_killed(pid_t *pids, const char *name, unsigned int seed)
{
	int i, status;
	pid_t got;

	for (i = 0; i < PROCS; i++) {
		got = pids[i] ? waitpid(pids[i], &status, WNOHANG) : 0;
		if (pids[i] && !got)
			continue;
		if (got < 0 || (got && (!WIFSIGNALED(status) ||
					WTERMSIG(status) != SIGKILL)))
			return false;
		pids[i] = storm_start(i < SERVERS, name, seed + i);
	}
	return true;
}

TEST(killed_at_random_moments)
{
	unsigned int seed = dd_seed(_metadata);
	long long paid = account();
	pid_t pids[PROCS] = { };
	long before = 0;
	bool good;
	char name[32];
	int i, k;

	received = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, received);
	snprintf(name, sizeof(name), "storm.%d", getpid());
	for (k = 0; k < dd_count(500); k++) {
		/* Requests must have arrived since the last kill. */
		ASSERT_SOON(!(good = restart_killed(pids, name, seed + k)) ||
			    read_count(&received->requests) > before);
		ASSERT_TRUE(good);
		usleep(rand_r(&seed) % (5000 * dd_scale()));
		before = read_count(&received->requests);
		/* One process, or a server and a client at once. */
		i = rand_r(&seed) % PROCS;
		kill(pids[i], SIGKILL);
		if (k % 4 == 0)
			kill(pids[(i + 2) % PROCS], SIGKILL);
	}
	for (i = 0; i < PROCS; i++)
		kill_child(pids[i]);
	TH_LOG("%ld requests, %ld replies", read_count(&received->requests),
	       read_count(&received->replies));
	EXPECT_LT(0, read_count(&received->replies));
	EXPECT_GONE(paid);
}

/* --- a source that never comes ---------------------------------------------*/

/* A page whose fault is never resolved. */
static void *missing_page(void)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	char *page;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		return NULL;
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)page;
	reg.range.len = PAGE;
	return ioctl(fd, UFFDIO_REGISTER, &reg) ? NULL : page;
}

static void stuck_sender(const char *name)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .len = 64,
			      .flags = DD_SQE_NOTIFY | DD_SQE_UNWIRED };
	struct client c;

	sqe.src = (uintptr_t)missing_page();
	if (!sqe.src)
		_exit(77);
	CHILD_CHECK(client_prepare(&c, name) == 0);
	/* The service may not exist yet. */
	CHILD_CHECK(WAIT_FOR(raw_connect(&c.r, &c.c) == 0));
	raw_submit(&c.r, c.c.cell_unit, c.c.conn, &sqe);
	_exit(1);
}

/* How the server ends while its client is stuck. */
enum fate { CLOSES, UNSERVES, DIES, FATES };

static pid_t stuck_server(const char *name, int *go)
{
	struct server s;
	pid_t pid;
	char c;

	if (pipe2(go, O_CLOEXEC))
		abort();
	pid = fork_child();
	if (pid)
		return pid;
	CHILD_CHECK(server_open(&s, name, 2) == 0);
	CHILD_CHECK(read(go[0], &c, 1) == 1);
	if (c == CLOSES)
		CHILD_CHECK(raw_op(&s.r, DD_IOC_CLOSE, server_conn(&s)) == 0);
	CHILD_CHECK(raw_op(&s.r, DD_IOC_UNSERVE, s.s.service) == 0);
	_exit(0);
}

TEST(a_sender_stuck_in_a_missing_page)
{
	long long paid = account();
	pid_t cl, srv;
	char name[32], how;
	int go[2], i, status;

	for (i = 0; i < 3 * FATES; i++) {
		snprintf(name, sizeof(name), "stuck.%d.%d", getpid(), i);
		srv = stuck_server(name, go);
		cl = fork_child();
		if (!cl)
			stuck_sender(name);
		ASSERT_SOON(asleep_in(cl, SYS_ioctl) ||
			    waitpid(cl, &status, WNOHANG) == cl);
		if (kill(cl, 0)) {
			if (WEXITSTATUS(status) == 77)
				DD_SKIP("no userfaultfd in this kernel");
			ASSERT_TRUE(false) { TH_LOG("the sender ended"); }
		}
		how = i % FATES;
		if (how == DIES) {
			kill_child(srv);
		} else {
			ASSERT_EQ(1, write(go[1], &how, 1));
			ASSERT_CHILD_OK(srv);
		}
		/* The sender stays in its system call until it is killed. */
		EXPECT_EQ(0, waitpid(cl, &status, WNOHANG));
		kill(cl, SIGKILL);
		ASSERT_SOON(waitpid(cl, &status, WNOHANG) == cl);
		close(go[0]);
		close(go[1]);
	}
	EXPECT_GONE(paid);
}

TEST(a_stuck_sender_delays_no_other_sender)
{
	char name[32], how = UNSERVES;
	struct client c;
	pid_t srv, cl;
	int go[2], i, status = 0;

	snprintf(name, sizeof(name), "stuck.%d", getpid());
	srv = stuck_server(name, go);
	ASSERT_EQ(0, client_prepare(&c, name));
	ASSERT_SOON(!raw_connect(&c.r, &c.c));
	/* EXPECT_CLEAN() sees what is there. */
	EXPECT_LT(0, audit_count());
	cl = fork_child();
	if (!cl)
		stuck_sender(name);
	ASSERT_SOON(asleep_in(cl, SYS_ioctl) ||
		    waitpid(cl, &status, WNOHANG) == cl);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		DD_SKIP("no userfaultfd in this kernel");
	for (i = 0; i < 2; i++)
		EXPECT_EQ(1, client_send(&c, 64));
	ASSERT_EQ(1, write(go[1], &how, 1));
	ASSERT_CHILD_OK(srv);
	kill_child(cl);
	raw_close(&c.r);
	munmap(c.m.at, c.m.len);
	EXPECT_CLEAN();
}

DD_TEST_MAIN
