// SPDX-License-Identifier: GPL-2.0-only
/*
 * Identity: the peer's pid, uid and node, namespaces, other users, descriptors in other
 * processes, 32-bit callers.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include <linux/sched.h>
#include <sys/wait.h>
#include "mem.h"

static bool client_is(const struct server *s, int pid, int uid)
{
	struct dd_conn_info i;

	return !raw_conn_info(&s->r, server_conn(s), &i) && (int)i.pid == pid &&
	       (int)i.uid == uid && i.node == 1;
}

/*
 * A child of a child, which is process 1 of a pid namespace. Returns the child, and in @number,
 * which is shared, the grandchild, when that has reported; 0 in the grandchild.
 */
static pid_t fork_as_init(pid_t *number, int *report)
{
	pid_t pid = fork_until_report(report);

	if (pid)
		return pid;
	CHILD_CHECK(unshare(CLONE_NEWPID) == 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		CHILD_CHECK(getpid() == 1);
		CHILD_CHECK(WAIT_FOR(__atomic_load_n(number, __ATOMIC_ACQUIRE)));
		return 0;
	}
	__atomic_store_n(number, pid, __ATOMIC_RELEASE);
	waitpid(pid, NULL, 0);
	_exit(1);
}

TEST(identity_of_a_dead_peer)
{
	struct dd_conn_info i;
	struct server s;
	struct client c;
	pid_t pid;
	int ready;

	pid = fork_until_report(&ready);
	if (!pid) {
		CHILD_CHECK(become_user(ALICE) == 0);
		CHILD_CHECK(server_open(&s, "dies", 1) == 0);
		child_report_and_stay(ready);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, client_open(&c, "dies"));
	kill_child(pid);
	ASSERT_SOON(raw_state(&c.r, c.c.state_unit)->error == ECONNRESET);
	/*
	 * The pid is reported as long as this end exists: the old one, or none.
	 */
	ASSERT_EQ(0, raw_conn_info(&c.r, c.c.conn, &i));
	EXPECT_EQ(ECONNRESET, i.closed);
	EXPECT_EQ(1, i.node);
	EXPECT_EQ(ALICE, i.uid);
	EXPECT_TRUE(i.pid == 0 || (pid_t)i.pid == pid);
	EXPECT_EQ(0, system("ddctl conn >/dev/null"));
	EXPECT_EQ(0, client_close(&c));
}

TEST(uid_is_that_of_the_time_of_connecting)
{
	struct client c;
	struct server s;

	ASSERT_EQ(0, server_open(&s, "identity", 1));
	ASSERT_EQ(0, client_prepare(&c, "identity"));
	ASSERT_EQ(0, AS_USER(BOB, raw_connect(&c.r, &c.c)));
	EXPECT_TRUE(client_is(&s, getpid(), BOB));
}

TEST(pids_are_those_of_the_readers_namespace)
{
	pid_t *inner = shared_memory(sizeof(*inner)), pid;
	struct dd_conn_info i;
	struct client c;
	struct server s;
	int report;

	ASSERT_EQ(0, server_open(&s, "identity", 1));
	pid = fork_as_init(inner, &report);
	if (!pid) {
		CHILD_CHECK(client_open(&c, "identity") == 0);
		CHILD_CHECK(raw_conn_info(&c.r, c.c.conn, &i) == 0);
		/* The server has no pid in that namespace. */
		CHILD_CHECK(i.pid == 0);
		child_report_and_stay(report);
	}
	ASSERT_LT(0, pid);
	EXPECT_TRUE(client_is(&s, *inner, 0));
	kill_child(pid);
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
	struct dd_conn_info i;
	struct client c;
	struct server s;
	int report;
	pid_t pid;

	ASSERT_EQ(0, server_open(&s, "identity", 1));
	pid = fork_until_report(&report);
	if (!pid) {
		CHILD_CHECK(become_user(ALICE) == 0);
		/* Runs as alice, the only user mapped in there, with uid 7. */
		CHILD_CHECK(client_prepare(&c, "identity") == 0);
		CHILD_CHECK(unshare(CLONE_NEWUSER) == 0);
		CHILD_CHECK(write_map("/proc/self/uid_map", "7 1000 1\n"));
		CHILD_CHECK(geteuid() == 7);
		CHILD_CHECK(raw_connect(&c.r, &c.c) == 0);
		CHILD_CHECK(raw_conn_info(&c.r, c.c.conn, &i) == 0);
		CHILD_CHECK(i.uid == 65534);
		CHILD_CHECK((pid_t)i.pid == getppid());
		child_report_and_stay(report);
	}
	ASSERT_LT(0, pid);
	EXPECT_TRUE(client_is(&s, pid, ALICE));
	kill_child(pid);
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

TEST(a_key_with_a_process_id_ends_with_the_program)
{
	struct dd_import_make i;
	static struct sharer c;
	char comm[32];
	struct raw im;
	pid_t pid;

	ASSERT_OK(raw_open(&im));
	pid = share(&c, sharer_executes);
	ASSERT_LT(0, pid);
	ASSERT_TRUE(c.made);
	/*
	 * exec() wakes a parent that waits in vfork() shortly before it replaces the memory, and
	 * sets the name after that.
	 */
	ASSERT_SOON((read_proc(pid, "comm", comm, sizeof(comm)), !strcmp(comm, "sleep\n")));
	EXPECT_LE(0, kill(pid, 0));
	EXPECT_ERR(ECONNREFUSED, import_key(&im, &c.s, 0, &i));
	kill_child(pid);
}

static void *hold_process(void *arg)
{
	pause();
	return NULL;
}

static bool is_zombie(pid_t pid)
{
	char stat[256];

	read_proc(pid, "stat", stat, sizeof(stat));
	return strstr(stat, ") Z ");
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
	ASSERT_SOON(is_zombie(pid));
	EXPECT_LE(0, import_key(&im, s, 0, &i));
	kill_child(pid);
}

/* Two containers with one network may each have a process 1. */
TEST(a_process_id_in_a_key_is_that_of_the_node)
{
	pid_t *outer = shared_memory(sizeof(*outer)), pid;
	struct dd_segment_make s;
	struct dd_import_make i;
	struct raw r;
	struct mem m;
	int report;

	pid = fork_as_init(outer, &report);
	if (!pid) {
		CHILD_CHECK(raw_start(&r, MEM_LEN, &m) == 0);
		s = buffer_of(&m, 1);
		CHILD_ERR(EINVAL, mem_export(&r, &s));
		CHILD_CHECK(node_pid(&r) == *outer);
		s = buffer_of(&m, *outer);
		CHILD_CHECK(mem_export(&r, &s) == 0);
		CHILD_CHECK(import_key(&r, &s, 0, &i) == 0);
		child_report_and_stay(report);
	}
	ASSERT_LT(0, pid);
	kill_child(pid);
}

TEST(a_process_that_its_node_does_not_see_has_no_such_key)
{
	pid_t *inner = shared_memory(sizeof(*inner)), pid;
	struct dd_segment_make s;
	int report, fd;
	char path[64];
	struct raw r;
	struct mem m;

	pid = fork_as_init(inner, &report);
	if (!pid) {
		CHILD_CHECK(unshare(CLONE_NEWNET) == 0);
		CHILD_CHECK(raw_open(&r) == 0);
		CHILD_CHECK(node_pid(&r) == 1);
		child_report_and_stay(report);
	}
	ASSERT_LT(0, pid);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", *inner);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_OK(setns(fd, CLONE_NEWNET));
	ASSERT_OK(raw_start(&r, MEM_LEN, &m));
	EXPECT_EQ(0, node_pid(&r));
	s = buffer_of(&m, getpid());
	EXPECT_ERR(ESRCH, mem_export(&r, &s));
	s = buffer_of(&m, 0);
	EXPECT_ERR(ESRCH, mem_export(&r, &s));
	kill_child(pid);
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
	struct dd_conn_info info;
	struct dd_conn_state *states[2];
	struct dd_connect c;
	struct pair p;
	__u64 last, conn;
	long long used;
	int i, k = 0;

	ASSERT_EQ(0, become_lone_user());
	ASSERT_EQ(0, pair_open(&p, 2, PAGE, 1));
	used = memlock_used(&p.srv);
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
	/* Pages of an area stay with its context. */
	EXPECT_GE(used + 16 * (long long)PAGE, memlock_used(&p.srv));

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
	EXPECT_EQ(0, states[k]->received);
	EXPECT_EQ(0, states[k]->error);
	EXPECT_EQ(0, raw_state(&p.cl, c.state_unit)->received);
	EXPECT_EQ(0, raw_state(&p.cl, c.state_unit)->error);

	/* The note that is left still carries the first client's serial. */
	ASSERT_TRUE(raw_take(&p.srv, p.s.list_unit, &stale));
	EXPECT_EQ(known.conn, stale.conn);
	EXPECT_EQ(1, raw_send(&p.srv, p.s.states_unit + k * p.s.state_units, last,
			      0, 0, 8));
	EXPECT_TRUE(raw_take(&p.cl, c.list_unit, &n));
	EXPECT_EQ(c.conn, n.conn);
	ASSERT_EQ(0, raw_conn_info(&p.srv, DD_SERIAL_ID(last), &info));
	EXPECT_EQ(last, info.conn);
}

/* --- descriptors that go elsewhere -----------------------------------------*/

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

/* The other process may have inherited it, or received it through a socket. */
TEST(a_descriptor_is_of_no_use_to_another_process)
{
	struct pair p;

	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	IN_CHILD {
		try_all(p.cl.fd, &p);
	}
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
	struct server s, own;
	char fd_arg[16];
	int report;
	pid_t pid;

	pid = fork_until_report(&report);
	if (!pid) {
		CHILD_CHECK(server_open(&s, "execs", 1) == 0);
		/* Kept open over the exec on purpose. */
		CHILD_CHECK(fcntl(s.r.fd, F_SETFD, 0) == 0);
		CHILD_CHECK(dup2(report, 0) == 0);
		snprintf(fd_arg, sizeof(fd_arg), "%d", s.r.fd);
		execl("/proc/self/exe", "abi_identity", "--after-exec", fd_arg,
		      NULL);
		_exit(1);
	}
	ASSERT_LT(0, pid);
	/* The executed program still runs, and holds the file. */
	ASSERT_EQ(0, server_prepare(&own, "execs", 1));
	EXPECT_TRUE(WAIT_FOR(raw_serve(&own.r, &own.s) == 0));
	ASSERT_EQ(0, waitpid(pid, NULL, WNOHANG));
	kill_child(pid);
}

/* The executed program tries to use the inherited descriptor. */
static void after_exec(int fd)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = PAGE };

	CHILD_ERR(ESTALE, ioctl(fd, DD_IOC_REGION_ALLOC, &a));
	CHILD_ERR(ESTALE, ioctl(fd, DD_IOC_CLOSE, 1));
	child_report_and_stay(0);
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

/* Its stack lies at the end of its address space, so addresses are above 2 GiB. */
TEST(a_32_bit_caller_sees_the_same_structures)
{
	const size_t page = 0xc0000000;
	void *at = mmap((void *)page, PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	const struct dd_sqe put = { .opcode = DD_OP_PUT, .len = 8, .flags = DD_SQE_NOTIFY };
	struct dd_info *info = at;
	struct dd_conn_info *conn = at;
	struct dd_submit *submit = at;
	struct dd_request *request = at + sizeof(*submit);
	struct mem spare;
	struct pair p;

	if (!has_compat())
		DD_SKIP("this kernel has no 32-bit system calls");
	ASSERT_EQ((void *)page, at);
	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 2));

	info->size = sizeof(*info);
	EXPECT_EQ(0, ioctl32(p.cl.fd, DD_IOC_INFO, page));
	EXPECT_EQ(DD_ABI_VERSION, info->abi);
	EXPECT_EQ(DD_AREA_SIZE, info->area_size);
	EXPECT_EQ(-EFAULT, ioctl32(p.cl.fd, DD_IOC_INFO, 0));

	*conn = (struct dd_conn_info){ .size = sizeof(*conn), .conn = p.c.conn };
	EXPECT_EQ(0, ioctl32(p.cl.fd, DD_IOC_CONN_INFO, page));
	EXPECT_EQ(p.c.cookie, conn->cookie);
	EXPECT_EQ(p.c.list, conn->list);

	ASSERT_EQ(0, raw_alloc(&p.srv, 2 * PAGE, &spare));
	raw_serve_args(at, p.name, 1, &spare);
	EXPECT_EQ(-EEXIST, ioctl32(p.srv.fd, DD_IOC_SERVE, page));

	*request = (struct dd_request){ .conn = p.c.conn, .sqe = put };
	*submit = (struct dd_submit){
		.size = sizeof(*submit), .requests = (uintptr_t)request, .count = 1,
		.stride = sizeof(*request),
	};
	EXPECT_EQ(0, ioctl32(p.cl.fd, DD_IOC_SUBMIT, page));
	EXPECT_EQ(1, submit->taken);
	EXPECT_EQ(0, submit->error);
	EXPECT_EQ(-EFAULT, ioctl32(p.cl.fd, DD_IOC_SUBMIT, page + 2 * PAGE));

	raw_queue(&p.cl, p.c.state_unit, &put);
	/* A serial is passed by its address: it does not fit in 32 bits. */
	*(__u64 *)at = p.c.conn;
	EXPECT_EQ(1, ioctl32(p.cl.fd, DD_IOC_DOORBELL, page));
	EXPECT_EQ(-EFAULT, ioctl32(p.cl.fd, DD_IOC_CLOSE, 0));
	EXPECT_EQ(-ENOTTY, ioctl32(p.cl.fd, _IO(DD_IOC_TYPE, 0x77), 0));
	EXPECT_EQ(0, ioctl32(p.cl.fd, DD_IOC_CLOSE, page));
	EXPECT_EQ(-ENOENT, ioctl32(p.cl.fd, DD_IOC_CLOSE, page));
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "--after-exec"))
		after_exec(atoi(argv[2]));
	return dd_test_main(argc, argv);
}
