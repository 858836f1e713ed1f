// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows of the direct path: nothing can pin their memory, and stores that
 * continue through a close, an exec or a death of either end reach no memory
 * of other owners.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <linux/io_uring.h>
#include <linux/loop.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include "raw.h"

#define SELF		"/proc/self/exe"
#define HOLD		"--hold"	/* FD: report there, then wait */
#define WATCH		"--watch"	/* PID: watch new memory while it stores */

/* exec() of a program that reports on @fd that it runs, and then waits. */
static void hold(int fd)
{
	char arg[16];

	snprintf(arg, sizeof(arg), "%d", fd);
	execl(SELF, SELF, HOLD, arg, NULL);
	_exit(1);
}

/* A process with the direct path to a service of one page. */
static void sender_open(struct client *s, const char *name)
{
	CHILD_CHECK(client_open(s, name) == 0);
	CHILD_CHECK(client_way(s) == 0);
}

static void store(struct way *w, __u64 k, int byte)
{
	memset(w->block, byte, PAGE);
	memset(w->notes, byte, way_notes_size(w));
	*way_slot(w, k) = (struct dd_ring_note){
		.seq = k + 1, .conn = w->d.peer_conn, .offset = ~k,
		.len = k << 32 };
}

/* Rounds of stores by all processes, in shared memory. */
static unsigned long *rounds;

static void *store_forever(void *arg)
{
	for (__u64 k = 0;; k++) {
		store(arg, k, 0xee);
		__atomic_add_fetch(rounds, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* A complete round of stores has begun and ended since the call. */
static bool stores_go_on(void)
{
	unsigned long from = __atomic_load_n(rounds, __ATOMIC_ACQUIRE);

	return WAIT_FOR(__atomic_load_n(rounds, __ATOMIC_ACQUIRE) >= from + 2);
}

/* How a process that keeps storing loses its window. */
enum fate {
	KILLED,
	CLOSES,
};

static void storer(const char *name, int ready, enum fate fate)
{
	struct client s;
	__u64 k;

	sender_open(&s, name);
	s.w.block[0] = 1;
	child_report(ready);
	if (fate == KILLED)
		store_forever(&s.w);
	for (k = 0; k < 20000; k++)
		store(&s.w, k, 0xee);
	CHILD_CHECK(client_close(&s) == 0);
	for (k = 0; k < 1000; k++) {
		memset(s.w.block, 0xdd, PAGE);
		memset(s.w.notes, 0xdd, way_notes_size(&s.w));
	}
	_exit(0);
}

static bool all_zero(const char *at, size_t len)
{
	return !at[0] && !memcmp(at, at + 1, len - 1);
}

/* Zeroed memory stays zero: no store reaches it. */
static bool nothing_arrives(char *at, size_t len)
{
	memset(at, 0, len);
	/* Look repeatedly: a store may come between two looks. */
	for (int i = 0; i < 200; i++) {
		sched_yield();
		if (!all_zero(at, len))
			return false;
	}
	return true;
}

static int connections(const struct server *s)
{
	return raw_conns(&s->r, s->s.service, NULL, 0);
}

static pid_t start_storer(const char *name, enum fate fate)
{
	int ready;
	pid_t pid = fork_until_report(&ready);

	if (!pid)
		storer(name, ready, fate);
	return pid;
}

/* Consumes all that was posted to the first ring, also behind gaps. */
static void read_all(const struct server *s)
{
	struct dd_ring_state *state = ring_of(&s->r, s->s.list_unit, 0);
	const struct dd_ring_note *notes = (void *)((char *)state + PAGE);
	__u64 head, end;

	if (!state)
		return;
	end = head = state->head;
	for (__u32 i = 0; i < state->slots; i++)
		if (notes[i].seq > end && notes[i].seq <= head + state->slots)
			end = notes[i].seq;
	__atomic_store_n(&state->head, end, __ATOMIC_RELEASE);
}

TEST(stores_after_the_server_closed)
{
	struct server s;
	pid_t pid;

	ASSERT_EQ(0, server_open(&s, "stored", 1));
	for (int i = 0; i < dd_count(30); i++) {
		pid = start_storer("stored", KILLED);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, raw_op(&s.r, DD_IOC_CLOSE, server_conn(&s)));
		memset(s.m.at, 0, PAGE);
		/*
		 * The client still stores: its window is gone, and it does not
		 * notice.
		 */
		ASSERT_TRUE(stores_go_on());
		EXPECT_TRUE(all_zero(s.m.at, PAGE));
		EXPECT_TRUE(nothing_arrives(s.m.at, PAGE));
		EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
		kill_child(pid);
		/* Otherwise the block stays reserved for the unread notes. */
		read_all(&s);
	}
}

TEST(stores_while_the_server_dies)
{
	struct server s;
	pid_t pid;

	for (int i = 0; i < dd_count(30); i++) {
		ASSERT_EQ(0, server_open(&s, "stored", 1));
		pid = start_storer("stored", KILLED);
		ASSERT_LT(0, pid);
		if (i % 2)
			raw_op(&s.r, DD_IOC_UNSERVE, s.s.service);
		raw_close(&s.r);
		munmap(s.m.at, s.m.len);
		EXPECT_TRUE(stores_go_on());
		EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
		kill_child(pid);
	}
}

TEST(stores_through_an_own_close)
{
	struct server s;
	pid_t pid;

	ASSERT_EQ(0, server_open(&s, "stored", 1));
	for (int i = 0; i < 4; i++) {
		pid = start_storer("stored", CLOSES);
		ASSERT_LT(0, pid);
		ASSERT_CHILD_OK(pid);
		EXPECT_NE(0xdd, (unsigned char)s.m.at[0]);
	}
}

/* --- exec ------------------------------------------------------------------*/

/* The block's next owner sees the message it was sent, and nothing else. */
static bool next_owner(const struct server *s)
{
	const char *at = s->m.at;
	struct dd_note n;
	struct client c;
	bool good;

	memset(s->m.at, 0, PAGE);
	/* Random stores may be valid notes, which reserve the block. */
	read_all(s);
	if (client_open(&c, "stored"))
		return false;
	memset(c.m.at + c.c.send.offset, 0x11, 64);
	good = raw_send(&c.r, c.c.state_unit, c.c.conn, 0, 128, 64) == 1;
	while (good && server_take(s, &n) && n.type != DD_NOTE_DATA)
		;
	good = good && n.offset == 128 && n.len == 64 && all_zero(at, 128) &&
	       at[128] == 0x11 && all_zero(at + 192, PAGE - 192);
	raw_close(&c.r);
	return good;
}

/* After exec: new regions may get the memory that was the block. */
static int watch(pid_t storing)
{
	const size_t len = 16 * PAGE;
	bool good = true;
	struct raw r;
	struct mem m;

	CHILD_CHECK(raw_open(&r) == 0);
	for (int i = 0; good && i < 4; i++) {
		CHILD_CHECK(raw_alloc(&r, len, &m) == 0);
		good = all_zero(m.at, len) && nothing_arrives(m.at, len);
		CHILD_CHECK(raw_free(&r, &m) == 0);
	}
	CHILD_CHECK(waitpid(storing, NULL, WNOHANG) == 0);
	kill_child(storing);
	return !good;
}

TEST(stores_through_an_exec_of_the_receiver)
{
	char arg[16];

	for (int i = 0; i < dd_count(20); i++) {
		pid_t pid = fork_child();

		if (!pid) {
			struct server s;

			CHILD_CHECK(server_open(&s, "stored", 1) == 0);
			snprintf(arg, sizeof(arg), "%d",
				 start_storer("stored", KILLED));
			execl(SELF, SELF, WATCH, arg, NULL);
			_exit(1);
		}
		ASSERT_CHILD_OK(pid);
	}
}

/* --- pins ------------------------------------------------------------------*/

/* An io_uring with what one request at a time needs. */
struct uring {
	int fd;
	unsigned int *tail, *mask, *array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static int uring_open(struct uring *u)
{
	const int rw = PROT_READ | PROT_WRITE;
	struct io_uring_params p = { };
	char *sq, *cq;

	u->fd = syscall(__NR_io_uring_setup, 4, &p);
	if (u->fd < 0)
		return -1;
	fcntl(u->fd, F_SETFD, FD_CLOEXEC);
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, rw, MAP_SHARED,
		  u->fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*u->cqes), rw,
		  MAP_SHARED, u->fd, IORING_OFF_CQ_RING);
	u->sqes = mmap(NULL, p.sq_entries * sizeof(*u->sqes), rw, MAP_SHARED,
		       u->fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || u->sqes == MAP_FAILED)
		return -1;
	u->tail = (void *)(sq + p.sq_off.tail);
	u->mask = (void *)(sq + p.sq_off.ring_mask);
	u->array = (void *)(sq + p.sq_off.array);
	u->cq_head = (void *)(cq + p.cq_off.head);
	u->cq_tail = (void *)(cq + p.cq_off.tail);
	u->cq_mask = (void *)(cq + p.cq_off.ring_mask);
	u->cqes = (void *)(cq + p.cq_off.cqes);
	return 0;
}

static int uring_enter(const struct uring *u, unsigned int submit,
		       unsigned int wait)
{
	return syscall(__NR_io_uring_enter, u->fd, submit, wait,
		       wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
}

/* Queues a read; the kernel has taken it when this returns. */
static int uring_read(struct uring *u, int fd, void *to, unsigned int len)
{
	unsigned int tail = *u->tail, i = tail & *u->mask;

	u->sqes[i] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = fd,
		.addr = (uintptr_t)to, .len = len,
	};
	u->array[i] = i;
	__atomic_store_n(u->tail, tail + 1, __ATOMIC_RELEASE);
	return uring_enter(u, 1, 0);
}

/* The result of the read. */
static int uring_result(struct uring *u)
{
	unsigned int head = *u->cq_head;
	int res;

	if (__atomic_load_n(u->cq_tail, __ATOMIC_ACQUIRE) == head)
		uring_enter(u, 0, 1);
	if (__atomic_load_n(u->cq_tail, __ATOMIC_ACQUIRE) == head)
		return -EAGAIN;
	res = u->cqes[head & *u->cq_mask].res;
	__atomic_store_n(u->cq_head, head + 1, __ATOMIC_RELEASE);
	return res;
}

/* Functions that try to pin return -1 with the reason in errno. */
static int pin_buffer(const struct uring *u, void *at)
{
	struct iovec iov = { at, PAGE };

	return syscall(__NR_io_uring_register, u->fd, IORING_REGISTER_BUFFERS,
		       &iov, 1);
}

static int pin_splice(const int pipes[2], void *at)
{
	struct iovec iov = { at, PAGE };

	return vmsplice(pipes[1], &iov, 1, SPLICE_F_GIFT | SPLICE_F_NONBLOCK);
}

/* Accesses that a process may make to another one that it may trace. */
static int other_writes(pid_t pid, void *at)
{
	char bytes[8] = "pinned!";
	struct iovec from = { bytes, 8 }, to = { at, 8 };

	return process_vm_writev(pid, &from, 1, &to, 1, 0);
}

static int other_reads(pid_t pid, void *at)
{
	char bytes[8];
	struct iovec to = { bytes, 8 }, from = { at, 8 };

	return process_vm_readv(pid, &to, 1, &from, 1, 0);
}

static int other_opens(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* A block device that reads directly into user memory, or -1. */
static int direct_file(int *loop)
{
	char path[] = "/tmp/direct.XXXXXX", dev[32];
	int control, file, n, fd;

	*loop = -1;
	if (system("modprobe -q loop 2>/dev/null"))
		fprintf(stderr, "# no module loop\n");
	control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	file = mkostemp(path, O_CLOEXEC);
	if (control < 0 || file < 0 || unlink(path) ||
	    ftruncate(file, 16 * PAGE))
		return -1;
	n = ioctl(control, LOOP_CTL_GET_FREE);
	snprintf(dev, sizeof(dev), "/dev/loop%d", n);
	*loop = open(dev, O_RDWR | O_CLOEXEC);
	if (*loop < 0 || ioctl(*loop, LOOP_SET_FD, file))
		return -1;
	fd = open(dev, O_RDONLY | O_DIRECT | O_CLOEXEC);
	close(control);
	close(file);
	return fd;
}

static void direct_file_end(int fd, int loop)
{
	close(fd);
	ioctl(loop, LOOP_CLR_FD);
	close(loop);
}

FIXTURE(window) {
	struct pair p;
	struct way w;
};

FIXTURE_SETUP(window)
{
	ASSERT_EQ(0, pair_open(&self->p, 4, PAGE, 1));
	ASSERT_EQ(0, way_open(&self->p.cl, self->p.c.conn, &self->w));
	/* Fault the pages in: mmap() alone maps none. */
	self->w.block[0] = 1;
	self->w.notes[0].len = 1;
}

FIXTURE_TEARDOWN(window)
{
	pair_close(&self->p);
}

/* Tries each way on the block, the notes and the state. */
static void nothing_pins(struct __test_metadata *_metadata,
			 const struct way *w)
{
	void *at[3] = { w->block, w->notes, (void *)w->state };
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	for (int i = 0; i < 3; i++) {
		EXPECT_ERR(EFAULT, pin_splice(pipes, at[i]));
		EXPECT_ERR(EFAULT, other_writes(getpid(), at[i]));
		EXPECT_ERR(EFAULT, other_reads(getpid(), at[i]));
		/* A call that copies at once is allowed. */
		EXPECT_EQ(8, write(pipes[1], at[i], 8));
	}
	close(pipes[0]);
	close(pipes[1]);
}

TEST_F(window, not_spliced_nor_written_by_process_vm)
{
	nothing_pins(_metadata, &self->w);
	ASSERT_EQ(0, raw_op(&self->p.cl, DD_IOC_CLOSE, self->p.c.conn));
	nothing_pins(_metadata, &self->w);
	EXPECT_EQ(1, self->p.smem.at[0]);
}

TEST_F(window, not_a_buffer_of_io_uring)
{
	struct way *w = &self->w;
	struct uring u;

	if (uring_open(&u))
		DD_SKIP("no io_uring, errno %d", errno);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(-1, pin_buffer(&u, w->block));
		EXPECT_TRUE(errno == EFAULT || errno == EOPNOTSUPP);
		EXPECT_EQ(-1, pin_buffer(&u, w->notes));
		EXPECT_TRUE(errno == EFAULT || errno == EOPNOTSUPP);
		EXPECT_EQ(-1, pin_buffer(&u, (void *)w->state));
		EXPECT_TRUE(errno == EFAULT || errno == EOPNOTSUPP);
		raw_op(&self->p.cl, DD_IOC_CLOSE, self->p.c.conn);
	}
	/* Ordinary memory can be registered. */
	EXPECT_EQ(0, pin_buffer(&u, aligned_alloc(PAGE, PAGE)));
	close(u.fd);
}

TEST_F(window, not_read_into_by_a_device)
{
	struct way *w = &self->w;
	int loop, fd = direct_file(&loop);
	void *own = aligned_alloc(PAGE, PAGE);

	if (fd < 0)
		DD_SKIP("no loop device, errno %d", errno);
	EXPECT_EQ(PAGE, pread(fd, own, PAGE, 0));
	EXPECT_ERR(EFAULT, pread(fd, w->block, PAGE, 0));
	EXPECT_ERR(EFAULT, pread(fd, w->notes, PAGE, 0));
	ASSERT_EQ(0, raw_op(&self->p.cl, DD_IOC_CLOSE, self->p.c.conn));
	EXPECT_ERR(EFAULT, pread(fd, w->block, PAGE, 0));
	EXPECT_EQ(1, self->p.smem.at[0]);
	direct_file_end(fd, loop);
}

/* Accesses of a debugger to a process with windows. */
TEST(not_touched_by_a_debugger)
{
	struct client *s = shared_memory(PAGE);
	struct server serve;
	pid_t pid;
	int fd;

	ASSERT_EQ(0, server_open(&serve, "stored", 1));
	pid = fork_child();
	if (!pid) {
		sender_open(s, "stored");
		s->w.block[0] = 1;
		ptrace(PTRACE_TRACEME);
		raise(SIGSTOP);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
	fd = other_opens(pid);
	ASSERT_LE(0, fd);
	for (int i = 0; i < 2; i++) {
		EXPECT_ERR(EIO, ptrace(PTRACE_POKEDATA, pid, s->w.block, 2));
		EXPECT_ERR(EIO, ptrace(PTRACE_PEEKDATA, pid, s->w.block, 0));
		EXPECT_ERR(EIO, pwrite(fd, "x", 1, (uintptr_t)s->w.block));
		EXPECT_ERR(EFAULT, other_writes(pid, s->w.block));
		EXPECT_EQ(1, serve.m.at[0]);
		raw_op(&serve.r, DD_IOC_UNSERVE, serve.s.service);
	}
	/* Other memory of the process can be written. */
	EXPECT_EQ(8, other_writes(pid, &s->m));
	close(fd);
	kill_child(pid);
}

/*
 * A read that is pending while the window is revoked copies its bytes to the
 * private page that replaces the window.
 */
TEST_F(window, a_pending_read_of_io_uring)
{
	struct pair *p = &self->p;
	struct way *w = &self->w;
	char bytes[64];
	struct uring u;
	int pipes[2];

	if (uring_open(&u))
		DD_SKIP("no io_uring, errno %d", errno);
	memset(bytes, 0x77, sizeof(bytes));
	ASSERT_EQ(0, pipe(pipes));
	/* While the window is alive the read does reach the block. */
	ASSERT_EQ(1, uring_read(&u, pipes[0], w->block, 64));
	ASSERT_EQ(64, write(pipes[1], bytes, 64));
	EXPECT_EQ(64, uring_result(&u));
	EXPECT_EQ(0x77, p->smem.at[0]);

	ASSERT_EQ(1, uring_read(&u, pipes[0], w->block, 64));
	ASSERT_EQ(0, raw_op(&p->srv, DD_IOC_CLOSE, pair_server_conn(p)));
	memset(p->smem.at, 0, PAGE);
	ASSERT_EQ(64, write(pipes[1], bytes, 64));
	EXPECT_EQ(64, uring_result(&u));
	EXPECT_EQ(0x77, w->block[0]);
	EXPECT_TRUE(all_zero(p->smem.at, PAGE));
	close(u.fd);
	close(pipes[0]);
	close(pipes[1]);
}

/* --- all of it at once -----------------------------------------------------*/

struct pinner {
	struct way *w;
	struct uring u;
	bool has_uring;
	int pipes[2];
	int waiting[2];
};

/* None of these may ever succeed; the process exits if one does. */
static void *pin_forever(void *arg)
{
	struct pinner *p = arg;

	for (;;) {
		CHILD_CHECK(pin_splice(p->pipes, p->w->block) == -1);
		CHILD_CHECK(pin_splice(p->pipes, p->w->notes) == -1);
		if (!p->has_uring)
			continue;
		CHILD_CHECK(pin_buffer(&p->u, p->w->block) == -1);
		CHILD_CHECK(pin_buffer(&p->u, p->w->notes) == -1);
	}
	return NULL;
}

/* Stores, tries to pin, has a read pending; calls exec if @execs. */
static void pinning_storer(struct client *s, int ready, bool execs)
{
	struct pinner p = { .w = &s->w };
	pthread_t threads[2];

	sender_open(s, "stored");
	s->w.block[0] = 1;
	p.has_uring = !uring_open(&p.u);
	CHILD_CHECK(pipe2(p.pipes, O_CLOEXEC) == 0);
	CHILD_CHECK(pipe2(p.waiting, O_CLOEXEC) == 0);
	if (p.has_uring)
		CHILD_CHECK(uring_read(&p.u, p.waiting[0], s->w.block, 64) == 1);
	CHILD_CHECK(!pthread_create(&threads[0], NULL, pin_forever, &p));
	CHILD_CHECK(!pthread_create(&threads[1], NULL, store_forever, &s->w));
	CHILD_CHECK(write(ready, "x", 1) == 1);
	/* Waits until the parent kills it. */
	if (!execs)
		pause();
	usleep(2000);
	CHILD_CHECK(write(p.waiting[1], p.waiting, 8) == 8);
	hold(ready);
}

/* A third process that accesses the same memory. */
static void meddler(pid_t pid, const struct client *s)
{
	void *at = s->w.block;

	for (;;) {
		CHILD_CHECK(other_writes(pid, at) == -1);
		CHILD_CHECK(other_reads(pid, at) == -1);
	}
}

TEST(stores_and_pins_through_every_end)
{
	struct client *s = shared_memory(PAGE);
	struct server serve;
	pid_t pid, third;
	int pipes[2];
	char c;

	ASSERT_EQ(0, server_open(&serve, "stored", 1));
	for (int i = 0; i < dd_count(24); i++) {
		enum { EXECS_NOW, SERVER_CLOSES, DIES } how = i % 3;

		ASSERT_EQ(0, pipe2(pipes, 0));
		pid = fork_child();
		if (!pid)
			pinning_storer(s, pipes[1], how == EXECS_NOW);
		close(pipes[1]);
		ASSERT_EQ(1, read(pipes[0], &c, 1));
		third = fork_child();
		if (!third)
			meddler(pid, s);
		if (how == SERVER_CLOSES) {
			ASSERT_EQ(0, raw_op(&serve.r, DD_IOC_CLOSE, server_conn(&serve)));
		} else if (how == DIES) {
			kill(pid, SIGKILL);
		}
		ASSERT_SOON(!connections(&serve));
		memset(serve.m.at, 0, PAGE);
		EXPECT_TRUE(how != SERVER_CLOSES || stores_go_on());
		EXPECT_TRUE(all_zero(serve.m.at, PAGE));
		EXPECT_TRUE(nothing_arrives(serve.m.at, PAGE));
		EXPECT_TRUE(next_owner(&serve));
		ASSERT_SOON(!connections(&serve));
		EXPECT_EQ(0, waitpid(third, NULL, WNOHANG));
		/*
		 * It has not noticed the end, and none of its attempts has
		 * succeeded.
		 */
		EXPECT_TRUE(how == DIES || !waitpid(pid, NULL, WNOHANG));
		kill_child(third);
		kill_child(pid);
		close(pipes[0]);
	}
}

/* --- faults and revocation ------------------------------------------------*/

/* Kilobytes of page tables of this process. */
static long page_tables(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPTE: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/*
 * A fault in a window delays the end of the other process' connection. It must
 * not allocate: a process over its memory.high sleeps in an allocation.
 */
TEST(faults_in_a_window_allocate_no_page_tables)
{
	const size_t block = 16ul << 20;
	struct pair p;
	struct way w;
	long before;
	size_t i;

	ASSERT_EQ(0, pair_open(&p, 1, block, 1));
	ASSERT_EQ(0, way_open(&p.cl, p.c.conn, &w));
	before = page_tables();
	ASSERT_LT(0, before);
	for (i = 0; i < block; i += 1ul << 20)
		((volatile char *)w.block)[i] = 1;
	((volatile char *)w.notes)[0] = 0;
	(void)*(volatile char *)w.state;
	EXPECT_EQ(before, page_tables());
}

struct grant {
	struct raw r;
	__u64 conn;
	int err;
	bool over;
};

static void *call_grant(void *arg)
{
	struct grant *g = arg;
	struct way w;

	g->err = way_grant(&g->r, g->conn, &w) ? errno : 0;
	__atomic_store_n(&g->over, true, __ATOMIC_RELEASE);
	return NULL;
}

/* A service for all users, and the context of a client. */
static int open_two_users(struct pair *p, size_t block)
{
	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "two.%d", getpid());
	if (raw_open(&p->srv) || raw_open(&p->cl) ||
	    raw_alloc(&p->srv, 2 * block, &p->smem) ||
	    raw_alloc(&p->cl, 2 * PAGE, &p->cmem))
		return -1;
	raw_serve_args(&p->s, p->name, 1, &p->smem);
	p->s.flags = DD_SERVE_DIRECT_ANY;
	return raw_serve(&p->srv, &p->s);
}

static int connect_as(struct pair *p, uid_t uid)
{
	int ret;

	raw_connect_args(&p->c, p->name, &p->cmem);
	if (seteuid(uid))
		return -1;
	ret = raw_connect(&p->cl, &p->c);
	return seteuid(0) ? -1 : ret;
}

/*
 * The block of a service is zeroed for a client of another user. A server that
 * closes meanwhile does not wait until all of the block is zeroed, and the client
 * is refused. A round in which the close comes too late says nothing.
 */
TEST(a_server_closes_while_its_block_is_being_zeroed)
{
	const size_t block = 64ul << 20;
	bool refused = false;
	pthread_t thread;
	struct grant g;
	struct pair p;
	__u64 conn;

	ASSERT_OK(open_two_users(&p, block));
	while (!refused) {
		ASSERT_OK(connect_as(&p, ALICE));
		conn = pair_server_conn(&p);
		memset(p.smem.at, 0xff, block);
		g = (struct grant){ .r = p.cl, .conn = p.c.conn };
		ASSERT_EQ(0, pthread_create(&thread, NULL, call_grant, &g));
		while (__atomic_load_n(p.smem.at, __ATOMIC_ACQUIRE) &&
		       !__atomic_load_n(&g.over, __ATOMIC_ACQUIRE))
			;
		ASSERT_OK(raw_op(&p.srv, DD_IOC_CLOSE, conn));
		pthread_join(thread, NULL);
		refused = g.err == ECONNRESET;
		ASSERT_TRUE(!g.err || refused) {
			TH_LOG("errno %d", g.err);
		}
		ASSERT_OK(raw_op(&p.cl, DD_IOC_CLOSE, p.c.conn));
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], HOLD)) {
		if (write(atoi(argv[2]), "x", 1) != 1)
			return 1;
		pause();
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], WATCH))
		return watch(atoi(argv[2]));
	rounds = shared_memory(PAGE);
	dd_filter(argv + 1);
	dd_set_timeouts();
	return test_harness_run(argc, argv);
}
