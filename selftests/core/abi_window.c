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
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include "raw.h"
#include "threads.h"

#define SELF		"/proc/self/exe"
#define HOLD		"--hold"	/* wait */
#define WATCH		"--watch"	/* PID: watch new memory while it stores */

/* Rounds of stores by all processes, in shared memory. */
static unsigned long *rounds;

static void *store_forever(void *arg)
{
	const struct way *w = arg;

	for (__u64 k = 0;; k++) {
		memset(w->block, 0xee, PAGE);
		memset(w->notes, 0xee, way_notes_size(w));
		*way_slot(w, k) = (struct dd_ring_note){
			.seq = k + 1, .conn = w->d.peer_conn, .offset = ~k,
			.len = k << 32 };
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

/* By a splice, by another process, by io_uring. */
TEST(a_window_is_not_pinned)
{
	void *own = aligned_alloc(PAGE, PAGE);
	bool has_uring;
	struct uring u;
	struct pair p;
	struct way w;
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, pair_open(&p, 4, PAGE, 1));
	ASSERT_EQ(0, way_open(&p.cl, p.c.conn, &w));
	/* Fault the pages in: mmap() alone maps none. */
	w.block[0] = 1;
	w.notes[0].len = 1;
	has_uring = !uring_open(&u);
	if (!has_uring)
		TH_LOG("no io_uring, errno %d", errno);
	for (int closed = 0; closed < 2; closed++) {
		void *at[] = { w.block, w.notes, (void *)w.state };

		for (int i = 0; i < 3; i++) {
			EXPECT_ERR(EFAULT, pin_splice(pipes, at[i]));
			EXPECT_ERR(EFAULT, other_writes(getpid(), at[i]));
			EXPECT_ERR(EFAULT, other_reads(getpid(), at[i]));
			EXPECT_TRUE(!has_uring || (pin_buffer(&u, at[i]) == -1 &&
				    (errno == EFAULT || errno == EOPNOTSUPP)));
			/* A call that copies at once is allowed. */
			EXPECT_EQ(8, write(pipes[1], at[i], 8));
		}
		EXPECT_EQ(closed ? -1 : 0, raw_op(&p.cl, DD_IOC_CLOSE, p.c.conn));
	}
	EXPECT_EQ(1, p.smem.at[0]);
	/* Ordinary memory can be pinned, and nothing was before: io_uring takes buffers once. */
	EXPECT_TRUE(!has_uring || pin_buffer(&u, own) == 0);
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
		CHILD_CHECK(client_open(s, "stored") == 0 && client_way(s) == 0);
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

/* --- all of it at once -----------------------------------------------------*/

/* How a process that stores and tries to pin loses its window. */
enum end { EXECS, CLOSES, DIES, SERVER_CLOSES, SERVER_ENDS, ENDS };

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

/* Stores, tries to pin, has a read pending, and ends this itself or is killed. */
static void storer(struct client *s, int ready, enum end how)
{
	struct pinner p = { .w = &s->w };
	pthread_t threads[2];

	CHILD_CHECK(client_open(s, "stored") == 0 && client_way(s) == 0);
	s->w.block[0] = 1;
	p.has_uring = !uring_open(&p.u);
	CHILD_CHECK(pipe2(p.pipes, O_CLOEXEC) == 0);
	CHILD_CHECK(pipe2(p.waiting, O_CLOEXEC) == 0);
	if (p.has_uring)
		CHILD_CHECK(uring_read(&p.u, p.waiting[0], s->w.block, 64) == 1);
	CHILD_CHECK(!pthread_create(&threads[0], NULL, pin_forever, &p));
	CHILD_CHECK(!pthread_create(&threads[1], NULL, store_forever, &s->w));
	child_report(ready);
	CHILD_CHECK(stores_go_on());
	if (how == CLOSES)
		CHILD_CHECK(client_close(s) == 0);
	/* After the close, the bytes go to the private page that replaces the window. */
	if (how == CLOSES || how == EXECS)
		CHILD_CHECK(write(p.waiting[1], "12345678", 8) == 8);
	if (how == CLOSES && p.has_uring)
		CHILD_CHECK(uring_result(&p.u) == 8);
	if (how == EXECS)
		execl(SELF, SELF, HOLD, NULL);
	pause();
	_exit(1);
}

/* When this returns it has a window. */
static pid_t start_storer(struct client *s, enum end how)
{
	int ready;
	pid_t pid = fork_until_report(&ready);

	if (!pid)
		storer(s, ready, how);
	return pid;
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

	ASSERT_EQ(0, server_open(&serve, "stored", 1));
	for (int i = 0; i < dd_count(10 * ENDS); i++) {
		enum end how = i % ENDS;

		pid = start_storer(s, how);
		ASSERT_LT(0, pid);
		third = fork_child();
		if (!third)
			meddler(pid, s);
		if (how == DIES)
			kill(pid, SIGKILL);
		if (how == SERVER_CLOSES)
			ASSERT_EQ(0, raw_op(&serve.r, DD_IOC_CLOSE, server_conn(&serve)));
		if (how == SERVER_ENDS) {
			if (i / ENDS % 2)
				ASSERT_EQ(0, raw_op(&serve.r, DD_IOC_UNSERVE, serve.s.service));
			raw_close(&serve.r);
			munmap(serve.m.at, serve.m.len);
			EXPECT_TRUE(stores_go_on());
			ASSERT_EQ(0, server_prepare(&serve, "stored", 1));
			ASSERT_SOON(!raw_serve(&serve.r, &serve.s));
		}
		ASSERT_SOON(!connections(&serve));
		memset(serve.m.at, 0, PAGE);
		/* It stores without an error, and does not notice the end of its window. */
		EXPECT_TRUE((how != CLOSES && how != SERVER_CLOSES) || stores_go_on());
		ASSERT_TRUE(all_zero(serve.m.at, PAGE));
		ASSERT_TRUE(nothing_arrives(serve.m.at, PAGE));
		ASSERT_TRUE(next_owner(&serve));
		ASSERT_SOON(!connections(&serve));
		/* No attempt to pin or to access the window has succeeded. */
		EXPECT_EQ(0, waitpid(third, NULL, WNOHANG));
		EXPECT_TRUE(how == DIES || !waitpid(pid, NULL, WNOHANG));
		kill_child(third);
		kill_child(pid);
	}
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
	struct server s;
	struct client c;
	char arg[16];

	for (int i = 0; i < dd_count(20); i++) {
		IN_CHILD {
			CHILD_CHECK(server_open(&s, "stored", 1) == 0);
			snprintf(arg, sizeof(arg), "%d", start_storer(&c, SERVER_ENDS));
			execl(SELF, SELF, WATCH, arg, NULL);
			_exit(1);
		}
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

static long grant(void *arg)
{
	const struct pair *p = arg;
	struct way w;

	return way_grant(&p->cl, p->c.conn, &w);
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
	struct call c;
	struct pair p;
	__u64 conn;
	int err;

	ASSERT_OK(pair_open(&p, 1, PAGE, 1));
	ASSERT_OK(raw_op(&p.cl, DD_IOC_CLOSE, p.c.conn));
	ASSERT_OK(raw_alloc(&p.srv, 2 * block, &p.smem));
	raw_serve_args(&p.s, "zeroed", 1, &p.smem);
	p.s.flags = DD_SERVE_DIRECT_ANY;
	ASSERT_OK(raw_serve(&p.srv, &p.s));
	while (!refused) {
		raw_connect_args(&p.c, "zeroed", &p.cmem);
		ASSERT_OK(AS_USER(ALICE, raw_connect(&p.cl, &p.c)));
		conn = pair_server_conn(&p);
		memset(p.smem.at, 0xff, block);
		ASSERT_TRUE(call_begin(&c, grant, &p));
		while (__atomic_load_n(p.smem.at, __ATOMIC_ACQUIRE) && !call_is_over(&c))
			;
		ASSERT_OK(raw_op(&p.srv, DD_IOC_CLOSE, conn));
		err = call_end(&c) ? errno : 0;
		refused = err == ECONNRESET;
		ASSERT_TRUE(!err || refused) {
			TH_LOG("errno %d", err);
		}
		ASSERT_OK(raw_op(&p.cl, DD_IOC_CLOSE, p.c.conn));
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], HOLD))
		return pause();
	if (argc == 3 && !strcmp(argv[1], WATCH))
		return watch(atoi(argv[2]));
	rounds = shared_memory(PAGE);
	return dd_test_main(argc, argv);
}
