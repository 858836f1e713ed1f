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

static const uid_t users[] = { 0, ALICE, BOB };

/* Bytes charged to the users of these tests, for all their processes. */
static long long account(void)
{
	long long used = 0;
	struct raw r;

	for (int i = 0; i < 3; i++) {
		if (setresuid(users[i], 0, 0) || raw_open(&r))
			abort();
		used += memlock_used(&r);
		raw_close(&r);
	}
	return setresuid(0, 0, 0) ? -1 : used;
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

#define BLOCKS	4
#define HALF	(PAGE / 2)	/* of a block: two messages may be unread */

/* The beginning of a client's message. */
struct message {
	__u64 uid, number, sum;
};

/* Messages of Alice and of Bob that servers have received, and their replies, in shared memory. */
static struct { long requests[2], replies; } *received;

static long read_count(const long *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

/* Of the user with this number, 0 or 1. */
static long requests(int user)
{
	return read_count(&received->requests[user]);
}

static __u64 closed;	/* the connection that this server closed last */

/*
 * Checks one message. Until it is consumed it stays where it was placed, and the kernel's
 * information about the connection, unless this server closed it, says which user sent it.
 */
static bool storm_take(const struct server *s)
{
	struct dd_conn_info info;
	struct message m;
	struct dd_note n;

	if (!raw_peek(&s->r, s->s.list_unit, &n))
		return false;
	if (n.type == DD_NOTE_DATA) {
		memcpy(&m, s->m.at + (n.cookie >> 32) * s->s.recv_block + n.offset, sizeof(m));
		CHILD_CHECK(m.sum == m.uid + m.number);
		CHILD_CHECK(m.uid == ALICE || m.uid == BOB);
		CHILD_CHECK(raw_conn_info(&s->r, n.conn, &info) ? n.conn == closed :
			    info.uid == m.uid);
		__atomic_add_fetch(&received->requests[m.uid == BOB], 1,
				   __ATOMIC_RELAXED);
	}
	return server_take(s, &n);
}

/* A server: serves, waits, reads, replies, closes, forever. */
static void storm_server(const char *name, unsigned int seed)
{
	struct server s;
	__u64 conns[BLOCKS];
	int i, n;

	CHILD_CHECK(raw_start(&s.r, 2 * BLOCKS * PAGE, &s.m) == 0);
	for (;;) {
		raw_serve_args(&s.s, name, BLOCKS, &s.m);
		s.s.flags = rand_r(&seed) % 4 ? 0 : DD_SERVE_ACCEPT;
		/* The service of the process before may not have ended yet. */
		if (raw_serve(&s.r, &s.s))
			continue;
		for (i = rand_r(&seed) % 200; i; i--) {
			raw_list_wait(&s.r, s.s.list, rand_r(&seed) % 100000);
			while (storm_take(&s))
				;
			n = raw_conns(&s.r, s.s.service, conns, BLOCKS);
			if (n > 0 && rand_r(&seed) % 8)
				raw_send(&s.r, s.s.states_unit, conns[0], 0, 0, 64);
			else if (n > 0)
				/* This may give the block to another user. */
				raw_op(&s.r, DD_IOC_CLOSE, closed = conns[0]);
		}
		raw_op(&s.r, DD_IOC_UNSERVE, s.s.service);
	}
}

/* Sends, waits, and reads replies. */
static void storm_send(const struct client *c, uid_t uid, unsigned int *seed)
{
	struct message *m = (void *)(c->m.at + c->c.send.offset);
	int i, sent = 0, fd = raw_op(&c->r, DD_IOC_LIST_FD, c->c.list);
	struct dd_note n;

	for (i = rand_r(seed) % 100; i; i--) {
		m->uid = uid;
		m->number = raw_random(seed);
		m->sum = m->uid + m->number;
		sent += raw_send(&c->r, c->c.state_unit, c->c.conn, 0, sent % 2 * HALF,
				 sizeof(*m) + rand_r(seed) % (HALF - sizeof(*m))) == 1;
		/* From here on the memory holds no message. */
		*m = (struct message){ };
		raw_conn_wait(&c->r, c->c.conn, DD_WAIT_DONE,
			      raw_state(&c->r, c->c.state_unit)->submitted,
			      rand_r(seed) % 100000);
		while (raw_take(&c->r, c->c.list_unit, &n))
			if (n.type == DD_NOTE_DATA)
				__atomic_add_fetch(&received->replies, 1, __ATOMIC_RELAXED);
	}
	close(fd);
}

/*
 * A client: connects, sends, closes the connection or just the file, forever, or exits
 * at once.
 */
static void storm_client(const char *name, uid_t uid, unsigned int seed)
{
	struct client c;
	int how;

	CHILD_CHECK(become_user(uid) == 0);
	for (;;) {
		CHILD_CHECK(client_prepare(&c, name) == 0);
		how = rand_r(&seed) % 8;
		if (!raw_connect(&c.r, &c.c)) {
			storm_send(&c, uid, &seed);
			if (how == 0)
				_exit(0);
			if (how < 5)
				client_close(&c);
		}
		munmap(c.m.at, c.m.len);
		raw_close(&c.r);
	}
}

enum { PROCS = 8, SERVERS = 2 };	/* more clients than blocks */

static pid_t storm_start(int i, const char *name, unsigned int seed)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	if (i < SERVERS)
		storm_server(name, seed);
	storm_client(name, users[1 + i % 2], seed);
	_exit(1);
}

TEST(nothing_is_left_of_others)
{
	EXPECT_CLEAN();
}

/* Replaces the processes that were killed or have exited; false if a check has failed. */
static bool restart_ended(pid_t *pids, const char *name, unsigned int seed)
{
	int i, status;
	pid_t got;

	for (i = 0; i < PROCS; i++) {
		got = pids[i] ? waitpid(pids[i], &status, WNOHANG) : 0;
		if (pids[i] && !got)
			continue;
		if (got < 0 || (got && status && (!WIFSIGNALED(status) ||
						  WTERMSIG(status) != SIGKILL)))
			return false;
		pids[i] = storm_start(i, name, seed + i);
	}
	return true;
}

TEST(two_users_killed_at_random_moments)
{
	unsigned int seed = dd_seed(_metadata);
	long long paid = account();
	pid_t pids[PROCS] = { };
	long before = 0, least = dd_count(1000);
	bool good;
	char name[32];
	int i, k;

	received = shared_memory(sizeof(*received));
	snprintf(name, sizeof(name), "storm.%d", getpid());
	for (k = 0; k < dd_count(500) || requests(0) < least || requests(1) < least; k++) {
		/* Requests must have arrived since the last kill. */
		ASSERT_SOON(!(good = restart_ended(pids, name, seed + k)) ||
			    requests(0) + requests(1) > before);
		ASSERT_TRUE(good);
		usleep(rand_r(&seed) % (5000 * dd_scale()));
		before = requests(0) + requests(1);
		/* One process, or a server and a client at once. */
		i = rand_r(&seed) % PROCS;
		kill(pids[i], SIGKILL);
		if (k % 4 == 0)
			kill(pids[(i + 2) % PROCS], SIGKILL);
	}
	for (i = 0; i < PROCS; i++)
		kill_child(pids[i]);
	TH_LOG("%ld messages of alice's, %ld of bob's, %ld replies",
	       requests(0), requests(1), read_count(&received->replies));
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

/* A process that sends from there and does not return; it may still be about to. */
static pid_t stuck_sender(const char *name)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .len = 64,
			      .flags = DD_SQE_NOTIFY | DD_SQE_UNWIRED };
	pid_t pid = fork_child();
	struct client c;

	if (pid)
		return pid;
	sqe.src = (uintptr_t)missing_page();
	CHILD_CHECK(sqe.src);
	CHILD_CHECK(client_prepare(&c, name) == 0);
	/* The service may not exist yet. */
	CHILD_CHECK(WAIT_FOR(raw_connect(&c.r, &c.c) == 0));
	raw_submit(&c.r, c.c.state_unit, c.c.conn, &sqe);
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
	struct client other;

	if (!missing_page())
		DD_SKIP("no userfaultfd in this kernel");
	for (i = 0; i < 3 * FATES; i++) {
		snprintf(name, sizeof(name), "stuck.%d.%d", getpid(), i);
		srv = stuck_server(name, go);
		cl = stuck_sender(name);
		ASSERT_SOON(asleep_in(cl, SYS_ioctl));
		/* It delays no other sender. */
		ASSERT_EQ(0, client_open(&other, name));
		EXPECT_EQ(1, client_send(&other, 64));
		EXPECT_EQ(1, client_send(&other, 64));
		/* EXPECT_CLEAN() sees what is there. */
		EXPECT_LT(0, audit_count());
		ASSERT_EQ(0, client_close(&other));
		munmap(other.m.at, other.m.len);
		raw_close(&other.r);
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

DD_TEST_MAIN
