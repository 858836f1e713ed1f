// SPDX-License-Identifier: GPL-2.0-only
/*
 * Identity: the peer's pid, uid and node, namespaces, other users, passed
 * descriptors, 32-bit callers.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include <sys/socket.h>
#include <linux/sched.h>
#include <sys/wait.h>
#include "mem.h"

/* A pipe in each direction between a test and its child. */
struct line {
	int fd;
};

static struct line line_pair(struct line *other)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
		abort();
	other->fd = fds[1];
	return (struct line){ fds[0] };
}

/* Of the messages of a process and its child, a byte and a process id, get the latter. */
static pid_t hear_pid(struct line l)
{
	pid_t pid = -1;
	char buf[8];
	ssize_t n;
	int k;

	for (k = 0; k < 2; k++) {
		n = read(l.fd, buf, sizeof(buf));
		if (n == sizeof(pid))
			memcpy(&pid, buf, sizeof(pid));
		else if (n != 1)
			return -1;
	}
	return pid;
}

static void tell(struct line l)
{
	if (write(l.fd, "x", 1) != 1)
		_exit(9);
}

static bool hear(struct line l)
{
	char c;

	return read(l.fd, &c, 1) == 1;
}

static bool client_is(const struct server *s, int pid, int uid)
{
	struct dd_conn_info i;

	return !raw_conn_info(&s->r, server_conn(s), &i) && (int)i.pid == pid &&
	       (int)i.uid == uid && i.node == 1;
}

/*
 * Serves for a child that connects, and expects its pid and uid; the identity is
 * that of the time of connecting. @l: the line to the child, which waits for the
 * service, then for the end of the look.
 */
static void expect_client(struct __test_metadata *_metadata, struct line l,
			  pid_t pid, uid_t uid)
{
	struct server s;

	ASSERT_EQ(0, server_open(&s, "identity", 1));
	tell(l);
	ASSERT_TRUE(hear(l));
	EXPECT_TRUE(client_is(&s, pid, uid));
	tell(l);
	ASSERT_CHILD_OK(pid);
}

TEST(identity_of_a_dead_peer)
{
	struct line child, l = line_pair(&child);
	struct dd_conn_info i;
	struct server s;
	struct client c;
	pid_t pid;
	int k;

	pid = fork_child();
	if (!pid) {
		CHILD_CHECK(become_user(ALICE) == 0);
		CHILD_CHECK(server_open(&s, "dies", 1) == 0);
		tell(child);
		pause();
	}
	ASSERT_TRUE(hear(l));
	ASSERT_EQ(0, client_open(&c, "dies"));
	kill_child(pid);
	ASSERT_SOON(raw_state(&c.r, c.c.state_unit)->error == ECONNRESET);
	/*
	 * The pid is reported as long as this end exists: the old one, or none.
	 */
	for (k = 0; k < 20; k++) {
		ASSERT_EQ(0, raw_conn_info(&c.r, c.c.conn, &i));
		EXPECT_EQ(ECONNRESET, i.closed);
		EXPECT_EQ(1, i.node);
		EXPECT_EQ(ALICE, i.uid);
		EXPECT_TRUE(i.pid == 0 || (pid_t)i.pid == pid);
		usleep(5000);
	}
	EXPECT_EQ(0, system("ddctl conn >/dev/null"));
	EXPECT_EQ(0, client_close(&c));
}

TEST(uid_is_that_of_the_time_of_connecting)
{
	struct line child, l = line_pair(&child);
	struct client c;
	pid_t pid;

	pid = fork_child();
	if (!pid) {
		CHILD_CHECK(hear(child));
		CHILD_CHECK(client_prepare(&c, "identity") == 0);
		CHILD_CHECK(seteuid(BOB) == 0);
		CHILD_CHECK(raw_connect(&c.r, &c.c) == 0);
		CHILD_CHECK(seteuid(0) == 0);
		tell(child);
		CHILD_CHECK(hear(child));
		_exit(0);
	}
	expect_client(_metadata, l, pid, BOB);
}

TEST(pids_are_those_of_the_readers_namespace)
{
	struct line child, l = line_pair(&child);
	struct dd_conn_info i;
	struct client c;
	struct server s;
	pid_t pid, inner;
	int status;

	ASSERT_EQ(0, server_open(&s, "identity", 1));
	pid = fork_child();
	if (!pid) {
		CHILD_CHECK(unshare(CLONE_NEWPID) == 0);
		inner = fork();
		if (!inner) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			CHILD_CHECK(getpid() == 1);
			CHILD_CHECK(client_open(&c, "identity") == 0);
			CHILD_CHECK(raw_conn_info(&c.r, c.c.conn, &i) == 0);
			/* The server has no pid in that namespace. */
			CHILD_CHECK(i.pid == 0);
			tell(child);
			CHILD_CHECK(hear(child));
			_exit(0);
		}
		CHILD_CHECK(write(child.fd, &inner, sizeof(inner)) > 0);
		CHILD_CHECK(waitpid(inner, &status, 0) == inner);
		CHILD_CHECK(WIFEXITED(status));
		_exit(WEXITSTATUS(status));
	}
	inner = hear_pid(l);
	ASSERT_LT(0, inner);
	EXPECT_TRUE(client_is(&s, inner, 0));
	tell(l);
	ASSERT_CHILD_OK(pid);
}

static bool write_map(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	close(fd);
	return ok;
}

TEST(uids_are_those_of_the_readers_namespace)
{
	struct line child, l = line_pair(&child);
	struct dd_conn_info i;
	struct client c;
	struct server s;
	pid_t pid;

	pid = fork_child();
	if (!pid) {
		CHILD_CHECK(become_user(ALICE) == 0);
		/* Runs as alice, the only user mapped in there, with uid 7. */
		CHILD_CHECK(client_prepare(&c, "identity") == 0);
		if (unshare(CLONE_NEWUSER))
			_exit(77);
		CHILD_CHECK(write_map("/proc/self/uid_map", "7 1000 1\n"));
		CHILD_CHECK(geteuid() == 7);
		CHILD_CHECK(hear(child));
		CHILD_CHECK(raw_connect(&c.r, &c.c) == 0);
		CHILD_CHECK(raw_conn_info(&c.r, c.c.conn, &i) == 0);
		CHILD_CHECK(i.uid == 65534);
		CHILD_CHECK((pid_t)i.pid == getppid());
		tell(child);
		CHILD_CHECK(hear(child));
		_exit(0);
	}
	ASSERT_EQ(0, server_open(&s, "identity", 1));
	tell(l);
	if (!hear(l)) {
		int status = wait_child(pid);

		if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
			DD_SKIP("no user namespaces for ordinary users here");
	}
	EXPECT_TRUE(client_is(&s, pid, ALICE));
	tell(l);
	ASSERT_CHILD_OK(pid);
}

TEST(another_network_namespace_is_another_node)
{
	struct server s, s2;
	struct client c;

	ASSERT_EQ(0, server_open(&s, "identity", 1));
	IN_CHILD {
		CHILD_CHECK(unshare(CLONE_NEWNET) == 0);
		CHILD_ERR(ECONNREFUSED, client_open(&c, "identity"));
		/* The name is free in that namespace. */
		CHILD_CHECK(server_open(&s2, "identity", 1) == 0);
		CHILD_CHECK(raw_connect(&c.r, &c.c) == 0);
	}
	EXPECT_EQ(0, server_conn(&s));
}

/* --- keys with a process id -------------------------------------------------*/

/* The number that the node has for the process that has opened @r, or -1. */
static int node_pid(const struct raw *r)
{
	struct dd_info info = { .size = sizeof(info) };

	return raw_ioctl(r, DD_IOC_INFO, &info) ? -1 : (int)info.pid;
}

/* Arguments of an export of @m under the key (@pid, 7). */
static struct dd_segment_make buffer_of(const struct mem *m, __u32 pid)
{
	struct dd_segment_make s = mem_segment(m, "");

	s.key_class = DD_SEGMENT_BUFFER;
	memcpy(s.key, &pid, sizeof(pid));
	s.key[4] = 7;
	return s;
}

/* What a process that shares the memory of the test has done. */
struct sharer {
	struct raw r;
	struct mem m;
	struct dd_segment_make s, *of;
	struct dd_import_make i;
	bool made;
	char stack[65536] __attribute__((aligned(16)));
};

static int sharer_run(struct sharer *c, pid_t pid)
{
	if (raw_start(&c->r, MEM_LEN, &c->m))
		return 1;
	c->s = buffer_of(&c->m, pid);
	if (mem_export(&c->r, &c->s) || (c->of && mem_import(&c->r, c->of, DD_RIGHT_GET, &c->i)))
		return 2;
	c->made = true;
	return 0;
}

static int sharer_exits(void *arg)
{
	return sharer_run(arg, syscall(SYS_getpid));
}

static int sharer_executes(void *arg)
{
	if (!sharer_run(arg, syscall(SYS_getpid)))
		execl("/bin/sleep", "sleep", "1000", NULL);
	return 3;
}

/* Returns when the process has exited or executes another program. */
static pid_t share(struct sharer *c, int (*run)(void *))
{
	return clone(run, c->stack + sizeof(c->stack),
		     CLONE_VM | CLONE_FILES | CLONE_VFORK | SIGCHLD, c);
}

/* Like fork(), with a process id that is free; or -1. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1,
	};

	fflush(stdout);
	fflush(stderr);
	return syscall(SYS_clone3, &args, sizeof(args));
}

static int import_key(const struct raw *r, const struct dd_segment_make *s, __u32 flags,
		      struct dd_import_make *i)
{
	return mem_import_flags(r, s, DD_RIGHT_GET, flags, 0, i);
}

static __u32 first_importer_pid(const struct raw *r, __u64 segment)
{
	struct dd_importer one = { .pid = -1 };
	struct dd_segment_info info = {
		.size = sizeof(info), .segment = segment, .count = 1,
		.importers = (uintptr_t)&one,
	};

	return raw_ioctl(r, DD_IOC_SEGMENT_INFO, &info) ? -1u : one.pid;
}

/*
 * The context of a process outlives it if another one shares its memory. Then its process id may
 * be another user's.
 */
TEST(a_key_with_a_process_id_ends_with_the_process)
{
	struct dd_segment_make own, *again = shared_memory(sizeof(*again));
	const int later = DD_IMPORT_NOWAIT | DD_IMPORT_PARK;
	struct dd_import_make i, parked;
	static struct sharer c;
	struct raw r, im;
	struct mem m;
	pid_t pid;

	ASSERT_OK(raw_start(&r, MEM_LEN, &m));
	ASSERT_OK(raw_open(&im));
	own = mem_segment(&m, "identity_of_importer");
	ASSERT_OK(mem_export(&r, &own));
	c.of = &own;
	pid = share(&c, sharer_exits);
	ASSERT_LT(0, pid);
	ASSERT_CHILD_OK(pid);
	ASSERT_TRUE(c.made);
	/* Its number, which may be used again, is not that of an importer any more. */
	EXPECT_EQ(1, mem_importers(&r, own.segment));
	EXPECT_EQ(0, first_importer_pid(&r, own.segment));
	EXPECT_EQ(0, node_pid(&c.r));
	EXPECT_ERR(ECONNREFUSED, import_key(&im, &c.s, 0, &i));
	ASSERT_OK(import_key(&im, &c.s, later, &parked));
	EXPECT_ERR(EAGAIN, mem_wait_up(&im, &parked, 0));
	/* The context exports no further key with it. */
	c.s.key[4] = 8;
	c.s.segment = c.s.generation = 0;
	EXPECT_ERR(ESRCH, mem_export(&c.r, &c.s));

	pid = fork_as(pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		CHILD_CHECK(raw_start(&r, MEM_LEN, &m) == 0);
		*again = buffer_of(&m, getpid());
		CHILD_CHECK(mem_export(&r, again) == 0);
		pause();
	}
	ASSERT_LT(0, pid);
	ASSERT_OK(mem_wait_up(&im, &parked, -1ull));
	ASSERT_OK(import_key(&im, again, 0, &i));
	EXPECT_EQ(again->generation, i.generation);
	kill_child(pid);
}

/*
 * Wait until a process executes a program of this name. exec() wakes a parent that waits in
 * vfork() shortly before it replaces the memory, and sets the name after that.
 */
static void wait_program(pid_t pid, const char *name)
{
	char path[32], comm[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	do {
		FILE *f = fopen(path, "r");

		if (!f || !fgets(comm, sizeof(comm), f))
			comm[0] = 0;
		if (f)
			fclose(f);
		comm[strcspn(comm, "\n")] = 0;
		sched_yield();
	} while (comm[0] && strcmp(comm, name));
}

TEST(a_key_with_a_process_id_ends_with_the_program)
{
	struct dd_import_make i;
	static struct sharer c;
	struct raw im;
	pid_t pid;

	ASSERT_OK(raw_open(&im));
	pid = share(&c, sharer_executes);
	ASSERT_LT(0, pid);
	ASSERT_TRUE(c.made);
	wait_program(pid, "sleep");
	EXPECT_LE(0, kill(pid, 0));
	EXPECT_ERR(ECONNREFUSED, import_key(&im, &c.s, 0, &i));
	kill_child(pid);
}

static void *hold_process(void *arg)
{
	pause();
	return NULL;
}

static char state_of(pid_t pid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%*d %*s %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state;
}

TEST(a_process_exists_as_long_as_one_of_its_threads)
{
	struct dd_segment_make *s = shared_memory(sizeof(*s));
	struct dd_import_make i;
	struct raw r, im;
	pthread_t t;
	struct mem m;
	int report;
	pid_t pid;

	ASSERT_OK(raw_open(&im));
	pid = fork_until_report(&report);
	if (!pid) {
		CHILD_CHECK(raw_start(&r, MEM_LEN, &m) == 0);
		*s = buffer_of(&m, getpid());
		CHILD_CHECK(mem_export(&r, s) == 0);
		CHILD_CHECK(pthread_create(&t, NULL, hold_process, NULL) == 0);
		child_report(report);
		syscall(SYS_exit, 0);
	}
	ASSERT_LT(0, pid);
	ASSERT_SOON(state_of(pid) == 'Z');
	EXPECT_LE(0, import_key(&im, s, 0, &i));
	kill_child(pid);
}

/* Two containers with one network may each have a process 1. */
TEST(a_process_id_in_a_key_is_that_of_the_node)
{
	pid_t *outer = shared_memory(sizeof(*outer)), inner;
	struct dd_segment_make s;
	struct dd_import_make i;
	struct raw r;
	struct mem m;

	IN_CHILD {
		CHILD_CHECK(unshare(CLONE_NEWPID) == 0);
		inner = fork();
		if (!inner) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			CHILD_CHECK(getpid() == 1);
			CHILD_CHECK(raw_start(&r, MEM_LEN, &m) == 0);
			s = buffer_of(&m, 1);
			CHILD_ERR(EINVAL, mem_export(&r, &s));
			CHILD_CHECK(WAIT_FOR(__atomic_load_n(outer, __ATOMIC_ACQUIRE)));
			CHILD_CHECK(node_pid(&r) == *outer);
			s = buffer_of(&m, *outer);
			CHILD_CHECK(mem_export(&r, &s) == 0);
			CHILD_CHECK(import_key(&r, &s, 0, &i) == 0);
			_exit(0);
		}
		__atomic_store_n(outer, inner, __ATOMIC_RELEASE);
		CHILD_CHECK(wait_child(inner) == 0);
	}
}

TEST(a_process_that_its_node_does_not_see_has_no_such_key)
{
	struct line child, l = line_pair(&child);
	pid_t pid, inner;
	char path[64];
	struct dd_segment_make s;
	struct raw r;
	struct mem m;
	int fd;

	pid = fork_child();
	if (!pid) {
		CHILD_CHECK(unshare(CLONE_NEWPID) == 0);
		inner = fork();
		if (!inner) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			CHILD_CHECK(unshare(CLONE_NEWNET) == 0);
			CHILD_CHECK(raw_open(&r) == 0);
			CHILD_CHECK(node_pid(&r) == 1);
			tell(child);
			CHILD_CHECK(hear(child));
			_exit(0);
		}
		CHILD_CHECK(write(child.fd, &inner, sizeof(inner)) == sizeof(inner));
		CHILD_CHECK(wait_child(inner) == 0);
		_exit(0);
	}
	inner = hear_pid(l);
	ASSERT_LT(0, inner);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", inner);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_OK(setns(fd, CLONE_NEWNET));
	ASSERT_OK(raw_start(&r, MEM_LEN, &m));
	EXPECT_EQ(0, node_pid(&r));
	s = buffer_of(&m, getpid());
	EXPECT_ERR(ESRCH, mem_export(&r, &s));
	s = buffer_of(&m, 0);
	EXPECT_ERR(ESRCH, mem_export(&r, &s));
	tell(l);
	ASSERT_CHILD_OK(pid);
}

/* --- serials ---------------------------------------------------------------*/

#define RECONNECTS	20000	/* more than ids that were used before */

/* Everything that names a connection refuses @conn as unknown. */
static bool is_refused(const struct raw *r, __u32 state_unit, __u64 conn)
{
	const struct dd_sqe put = { .opcode = DD_OP_PUT, .len = 8,
				    .flags = DD_SQE_NOTIFY };
	const unsigned int *nr;

	raw_queue(r, state_unit, &put);
	for (nr = raw_ops[RAW_CONN]; *nr; nr++)
		/* The information about a connection may be asked for by its id. */
		if ((*nr != DD_IOC_CONN_INFO || conn > DD_ID_MAX) &&
		    (raw_on(r, *nr, conn) >= 0 || errno != ENOENT))
			return false;
	return true;
}

/*
 * A server identifies a client by the serial in its first note. The client
 * exits, its note stays unread, and another client connects again and again:
 * the serial never repeats.
 */
TEST(no_serial_comes_twice)
{
	struct dd_note known, stale, n;
	struct dd_conn_state *states[2];
	struct dd_connect c;
	struct pair p;
	__u64 last, conn;
	int i, k = 0;

	ASSERT_EQ(0, pair_open(&p, 2, PAGE, 1));
	for (i = 0; i < 2; i++)
		states[i] = raw_state(&p.srv, p.s.states_unit + i * p.s.state_units);
	ASSERT_EQ(1, pair_request(&p, 0, 0, 8));
	ASSERT_TRUE(raw_take(&p.srv, p.s.list_unit, &known));
	ASSERT_EQ(states[0]->conn, known.conn);
	ASSERT_EQ(1, pair_request(&p, 0, 0, 8));
	ASSERT_EQ(0, raw_op(&p.cl, DD_IOC_CLOSE, p.c.conn));
	ASSERT_EQ(0, raw_op(&p.srv, DD_IOC_CLOSE, known.conn));

	c = p.c;
	last = known.conn;
	for (i = 0; i < RECONNECTS; i++) {
		if (i)
			ASSERT_EQ(0, raw_op(&p.cl, DD_IOC_CLOSE, c.conn));
		c.list = 0;
		ASSERT_EQ(0, raw_connect(&p.cl, &c));
		k = states[1]->conn > states[0]->conn;
		conn = states[k]->conn;
		/* An id is not used again before all others have been used. */
		ASSERT_LT(last, conn);
		ASSERT_NE(DD_SERIAL_ID(known.conn), DD_SERIAL_ID(conn));
		last = conn;
	}

	/* What is sent to the first client reaches no other client. */
	conn = known.conn;
	EXPECT_TRUE(is_refused(&p.srv, p.s.states_unit + k * p.s.state_units, conn));
	/*
	 * Neither a serial of another epoch nor an id alone names the new
	 * connection.
	 */
	EXPECT_TRUE(is_refused(&p.srv, p.s.states_unit + k * p.s.state_units,
			       last ^ 1ull << 32));
	EXPECT_TRUE(is_refused(&p.srv, p.s.states_unit + k * p.s.state_units,
			       DD_SERIAL_ID(last)));
	EXPECT_FALSE(raw_take(&p.cl, c.list_unit, &n));
	EXPECT_EQ(0, raw_state(&p.cl, c.state_unit)->received);
	EXPECT_EQ(0, raw_state(&p.cl, c.state_unit)->error);

	/* The note that is left still carries the first client's serial. */
	ASSERT_TRUE(raw_take(&p.srv, p.s.list_unit, &stale));
	EXPECT_EQ(known.conn, stale.conn);
	EXPECT_EQ(1, raw_send(&p.srv, p.s.states_unit + k * p.s.state_units, last,
			      0, 0, 8));
	EXPECT_TRUE(raw_take(&p.cl, c.list_unit, &n));
	EXPECT_EQ(c.conn, n.conn);
	EXPECT_EQ(last, raw_serial(&p.srv, DD_SERIAL_ID(last)));
}

/* --- users -----------------------------------------------------------------*/

TEST(a_user_outside_of_the_group_cannot_open_it)
{
	IN_CHILD {
		CHILD_CHECK(setgroups(0, NULL) == 0);
		CHILD_CHECK(setresgid(65534, 65534, 65534) == 0);
		CHILD_CHECK(setresuid(65534, 65534, 65534) == 0);
		CHILD_ERR(EACCES, open("/dev/dd", O_RDWR));
	}
}

TEST(users_of_the_group_can_work_with_each_other)
{
	struct line child, l = line_pair(&child);
	struct client c;
	struct server s;
	struct dd_note n;
	pid_t srv, cl;

	srv = fork_child();
	if (!srv) {
		CHILD_CHECK(become_user(ALICE) == 0);
		CHILD_CHECK(server_open(&s, "identity", 1) == 0);
		tell(child);
		CHILD_CHECK(WAIT_FOR(server_take(&s, &n)));
		CHILD_CHECK(server_conn(&s) == n.conn);
		CHILD_CHECK(!strcmp(s.m.at, "from bob"));
		_exit(0);
	}
	ASSERT_TRUE(hear(l));
	cl = fork_child();
	if (!cl) {
		CHILD_CHECK(become_user(BOB) == 0);
		CHILD_CHECK(client_open(&c, "identity") == 0);
		strcpy(c.m.at + c.c.send.offset, "from bob");
		CHILD_CHECK(client_send(&c, 9) == 1);
		/* Wait until it is read: exit would close the connection. */
		CHILD_CHECK(WAIT_FOR(raw_state(&c.r, c.c.state_unit)->error));
		_exit(0);
	}
	ASSERT_CHILD_OK(srv);
	ASSERT_CHILD_OK(cl);
}

/* --- descriptors that go elsewhere -----------------------------------------*/

static int send_fd(int sock, int fd)
{
	char ctl[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { "f", 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = ctl, .msg_controllen = sizeof(ctl) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(sock, &m, 0);
}

static int receive_fd(int sock)
{
	char ctl[CMSG_SPACE(sizeof(int))] = {}, b;
	struct iovec iov = { &b, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = ctl, .msg_controllen = sizeof(ctl) };
	int fd;

	if (recvmsg(sock, &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* Tries every operation on another process' context. */
static void try_all(int fd, const struct pair *p)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = PAGE };
	const __u64 names[RAW_KINDS] = { p->cmem.id, p->s.service, p->c.conn, p->c.list };
	struct raw r = { .fd = fd };

	for (enum raw_kind k = 0; k < RAW_KINDS; k++)
		for (const unsigned int *nr = raw_ops[k]; *nr; nr++)
			CHILD_ERR(ESTALE, raw_on(&r, *nr, names[k]));
	CHILD_ERR(ESTALE, raw_ioctl(&r, DD_IOC_REGION_ALLOC, &a));
	CHILD_CHECK(mmap(NULL, DD_AREA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0) == MAP_FAILED);
}

TEST(a_passed_descriptor_is_of_no_use)
{
	struct line child, l = line_pair(&child);
	struct pair p;
	pid_t pid;
	int fd;

	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	pid = fork_child();
	if (!pid) {
		fd = receive_fd(child.fd);
		CHILD_CHECK(fd >= 0);
		try_all(fd, &p);
		_exit(0);
	}
	ASSERT_EQ(1, send_fd(l.fd, p.cl.fd));
	ASSERT_CHILD_OK(pid);
	EXPECT_EQ(1, pair_request(&p, 0, 0, 8));
}

TEST(an_unused_descriptor_belongs_to_its_opener)
{
	struct raw r;

	r.fd = open("/dev/dd", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, r.fd);
	IN_CHILD {
		CHILD_CHECK(mmap(NULL, DD_AREA_SIZE, PROT_READ | PROT_WRITE,
				 MAP_SHARED, r.fd, 0) == MAP_FAILED);
	}
	EXPECT_NE(MAP_FAILED, mmap(NULL, DD_AREA_SIZE, PROT_READ | PROT_WRITE,
				   MAP_SHARED, r.fd, 0));
}

TEST(exec_ends_the_context)
{
	struct line child, l = line_pair(&child);
	struct server s, own;
	char fd_arg[16];
	pid_t pid;

	pid = fork_child();
	if (!pid) {
		CHILD_CHECK(server_open(&s, "execs", 1) == 0);
		/* Kept open over the exec on purpose. */
		CHILD_CHECK(fcntl(s.r.fd, F_SETFD, 0) == 0);
		CHILD_CHECK(fcntl(child.fd, F_SETFD, 0) == 0);
		snprintf(fd_arg, sizeof(fd_arg), "%d", s.r.fd);
		dup2(child.fd, 0);
		execl("/proc/self/exe", "abi_identity", "--after-exec", fd_arg,
		      NULL);
		_exit(1);
	}
	ASSERT_TRUE(hear(l));
	/* The executed program still runs, and holds the file. */
	ASSERT_EQ(0, server_prepare(&own, "execs", 1));
	EXPECT_TRUE(WAIT_FOR(raw_serve(&own.r, &own.s) == 0));
	tell(l);
	ASSERT_CHILD_OK(pid);
}

/* The executed program tries to use the inherited descriptor. */
static int after_exec(int fd)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = PAGE };
	struct line up = { 0 };

	CHILD_ERR(ESTALE, ioctl(fd, DD_IOC_REGION_ALLOC, &a));
	CHILD_ERR(ESTALE, ioctl(fd, DD_IOC_CLOSE, 1));
	tell(up);
	CHILD_CHECK(hear(up));
	return 0;
}

/* --- 32 bits ---------------------------------------------------------------*/

/* An ioctl() by the 32-bit entry, with pointers of 32 bits. */
static int ioctl32(int fd, unsigned int nr, unsigned long arg)
{
	int ret;

	__asm__ volatile("int $0x80" : "=a"(ret)
			 : "0"(54), "b"(fd), "c"(nr), "d"((__u32)arg)
			 : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

/* Whether this kernel has the 32-bit entry: calls getpid() by it. */
static bool has_compat(void)
{
	pid_t pid = fork();
	int status, ret;

	if (!pid) {
		__asm__ volatile("int $0x80" : "=a"(ret) : "0"(20)
				 : "memory", "r8", "r9", "r10", "r11");
		_exit(ret == getpid() ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

TEST(a_32_bit_caller_sees_the_same_structures)
{
	struct dd_conn_info *ci;
	struct dd_serve *s;
	struct dd_info *i;
	__u64 *conn;
	struct mem spare;
	struct pair p;
	char *low;

	if (!has_compat())
		DD_SKIP("this kernel has no 32-bit system calls");
	low = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, low);
	ASSERT_GT(1ul << 32, (unsigned long)low);
	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));

	i = (void *)low;
	i->size = sizeof(*i);
	EXPECT_EQ(0, ioctl32(p.cl.fd, DD_IOC_INFO, (unsigned long)low));
	EXPECT_EQ(DD_ABI_VERSION, i->abi);
	EXPECT_EQ(DD_AREA_SIZE, i->area_size);
	EXPECT_EQ(-EFAULT, ioctl32(p.cl.fd, DD_IOC_INFO, 0));

	ci = (void *)low;
	memset(ci, 0, sizeof(*ci));
	ci->size = sizeof(*ci);
	ci->conn = p.c.conn;
	EXPECT_EQ(0, ioctl32(p.cl.fd, DD_IOC_CONN_INFO, (unsigned long)low));
	EXPECT_EQ(p.c.cookie, ci->cookie);
	EXPECT_EQ(p.c.list, ci->list);

	s = (void *)low;
	ASSERT_EQ(0, raw_alloc(&p.srv, 2 * PAGE, &spare));
	raw_serve_args(s, p.name, 1, &spare);
	EXPECT_EQ(-EEXIST, ioctl32(p.srv.fd, DD_IOC_SERVE, (unsigned long)low));

	raw_queue(&p.cl, p.c.state_unit,
		  &(struct dd_sqe){ .opcode = DD_OP_PUT, .len = 8,
				    .flags = DD_SQE_NOTIFY });
	/* A serial is passed by its address: it does not fit in 32 bits. */
	conn = (void *)low;
	*conn = p.c.conn;
	EXPECT_EQ(1, ioctl32(p.cl.fd, DD_IOC_DOORBELL, (unsigned long)low));
	EXPECT_EQ(-EFAULT, ioctl32(p.cl.fd, DD_IOC_CLOSE, 0));
	EXPECT_EQ(-ENOTTY, ioctl32(p.cl.fd, _IO(DD_IOC_TYPE, 0x77), 0));
	EXPECT_EQ(0, ioctl32(p.cl.fd, DD_IOC_CLOSE, (unsigned long)low));
	EXPECT_EQ(-ENOENT, ioctl32(p.cl.fd, DD_IOC_CLOSE, (unsigned long)low));
}

/* The stack of a 32-bit process lies at the end of its address space. */
TEST(a_32_bit_caller_submits_from_above_2_GiB)
{
	const size_t high = 0xc0000000;
	struct dd_request *rq;
	struct dd_submit *s;
	struct pair p;

	if (!has_compat())
		DD_SKIP("this kernel has no 32-bit system calls");
	s = mmap((void *)high, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	ASSERT_EQ((void *)high, s);
	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	rq = (void *)(s + 1);
	*rq = (struct dd_request){
		.conn = p.c.conn,
		.sqe = { .opcode = DD_OP_PUT, .flags = DD_SQE_NOTIFY, .len = 8 },
	};
	*s = (struct dd_submit){
		.size = sizeof(*s), .requests = high + sizeof(*s), .count = 1,
		.stride = sizeof(*rq),
	};
	EXPECT_EQ(0, ioctl32(p.cl.fd, DD_IOC_SUBMIT, high));
	EXPECT_EQ(1, s->taken);
	EXPECT_EQ(0, s->error);
	EXPECT_EQ(-EFAULT, ioctl32(p.cl.fd, DD_IOC_SUBMIT, high + 2 * PAGE));
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "--after-exec"))
		return after_exec(atoi(argv[2]));
	dd_filter(argv + 1);
	dd_set_timeouts();
	return test_harness_run(argc, argv);
}
