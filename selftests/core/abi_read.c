// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists by themselves, and their descriptors: read(), poll() and SIGIO.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "exporter.h"
#include <poll.h>
#include "threads.h"

/* A descriptor of the list of the segment. */
static int list_fd(FIXTURE_DATA(mem) *self)
{
	return raw_op(&self->ex, DD_IOC_LIST_FD, self->list.list);
}

static int note(FIXTURE_DATA(mem) *self, __u64 dst)
{
	return put(self, "12345678", dst, 8, DD_SQE_NOTIFY);
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

static void nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

TEST_F(mem, a_record_describes_a_message)
{
	struct dd_list_record rec[4];
	int fd = list_fd(self), i;
	struct dd_note n;

	EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	EXPECT_FALSE(readable(fd));
	for (i = 1; i <= 3; i++)
		ASSERT_EQ(1, note(self, 8 * i));
	EXPECT_TRUE(readable(fd));
	EXPECT_ERR(EINVAL, read(fd, rec, sizeof(rec[0]) - 1));
	/* Whole ones. */
	ASSERT_EQ(2 * sizeof(rec[0]), read(fd, rec, 3 * sizeof(rec[0]) - 1));
	ASSERT_EQ(sizeof(rec[0]), read(fd, rec + 2, sizeof(rec[0])));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(self->s.cookie, rec[i].cookie);
		EXPECT_EQ(8 * (i + 1), rec[i].offset);
		EXPECT_EQ(8, rec[i].count);
		EXPECT_EQ(self->i.node, rec[i].node);
		EXPECT_EQ(DD_OP_PUT, rec[i].op);
		EXPECT_EQ(DD_NOTE_DATA, rec[i].type);
		EXPECT_EQ((__u32)self->s.generation, rec[i].generation);
		EXPECT_EQ(i + 1, rec[i].seq);
	}
	EXPECT_FALSE(readable(fd));
	/* A read consumes what the area shows. */
	EXPECT_FALSE(take(self, &n));
}

/* What is not filled stays as it was. */
TEST_F(mem, only_records_are_stored)
{
	static char buf[2 * PAGE] __attribute__((aligned(PAGE)));
	struct dd_list_record *last = (void *)(buf + PAGE - sizeof(*last));
	int fd = list_fd(self);

	nonblocking(fd);
	memset(buf, 0x5b, sizeof(buf));
	EXPECT_ERR(EAGAIN, read(fd, last, PAGE));
	EXPECT_EQ(0, memcmp(last, buf, PAGE / 2));
	ASSERT_EQ(1, note(self, 8));
	ASSERT_EQ(sizeof(*last), read(fd, last, PAGE));
	EXPECT_EQ(0, memcmp(last + 1, buf, PAGE / 2));
	/* One fits before memory that cannot be written, and none is lost. */
	ASSERT_EQ(0, mprotect(buf + PAGE, PAGE, PROT_READ));
	ASSERT_EQ(1, note(self, 16));
	ASSERT_EQ(1, note(self, 24));
	EXPECT_EQ(sizeof(*last), read(fd, last, 2 * sizeof(*last)));
	EXPECT_EQ(16, last->offset);
	EXPECT_ERR(EFAULT, read(fd, buf + PAGE, sizeof(*last)));
	EXPECT_EQ(sizeof(*last), read(fd, last, sizeof(*last)));
	EXPECT_EQ(24, last->offset);
}

/* The owner writes the position and the notes: a read ends with a signal. */
TEST_F(mem, a_read_of_forged_notes_can_be_interrupted)
{
	int fd = list_fd(self);
	struct dd_list_head *head = raw_list(&self->ex, self->list.list_unit);
	struct dd_note *slot = raw_unit(&self->ex, head->geometry >> 32);
	int ready;
	pid_t pid;

	slot->seq = 1;
	head->head = ~0ull / 2;
	pid = fork_until_report(&ready);
	if (!pid) {
		char *all = mmap(NULL, 1ul << 30, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		CHILD_CHECK(all != MAP_FAILED);
		child_report(ready);
		CHILD_CHECK(read(fd, all, 1ul << 30) >= 0);
		_exit(0);
	}
	ASSERT_LT(0, pid);
	/* Waits until it has ended. */
	kill_child(pid);
}

struct reader {
	int fd;
	struct dd_list_record rec;
	struct call call;
};

static long read_record(void *arg)
{
	struct reader *r = arg;

	return read(r->fd, &r->rec, sizeof(r->rec));
}

/* The thread sleeps when this returns. */
static bool begin_read(struct reader *r, int fd)
{
	r->fd = fd;
	return call_begin(&r->call, read_record, r) && call_sleeps(&r->call, SYS_read);
}

TEST_F(mem, the_end_of_the_list_wakes_a_reader)
{
	int fd = list_fd(self);
	struct dd_list_record rec;
	struct dd_list_info info = { .size = sizeof(info), .list = self->list.list };
	struct reader r;

	/* Its segment still uses it. */
	ASSERT_OK(mem_end(&self->ex, self->list.serial));
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_LIST_INFO, &info));
	EXPECT_EQ(2, info.users);
	ASSERT_TRUE(begin_read(&r, fd));
	ASSERT_OK(mem_end(&self->im, self->i.import));
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	EXPECT_EQ(0, call_end(&r.call));
	EXPECT_EQ(0, read(fd, &rec, sizeof(rec)));
	EXPECT_EQ(1, poll(&(struct pollfd){ .fd = fd }, 1, 0));
	EXPECT_ERR(ENOENT, raw_ioctl(&self->ex, DD_IOC_LIST_INFO, &info));
}

TEST_F(mem, a_list_ends_once)
{
	struct dd_list_make l;
	struct dd_serve s;
	struct mem m;

	ASSERT_OK(mem_list(&self->ex, &l));
	ASSERT_OK(mem_end(&self->ex, l.serial));
	EXPECT_ERR(ENOENT, mem_end(&self->ex, l.serial));
	/* A service may use it, and keeps it. */
	ASSERT_OK(mem_list(&self->ex, &l));
	ASSERT_OK(raw_alloc(&self->ex, 2 * PAGE, &m));
	raw_serve_args(&s, "abi_read", 1, &m);
	s.flags = DD_SERVE_LIST;
	s.list = l.list;
	ASSERT_OK(raw_serve(&self->ex, &s));
	ASSERT_OK(mem_end(&self->ex, l.serial));
	EXPECT_ERR(ENOENT, mem_end(&self->ex, l.serial));
	ASSERT_OK(raw_op(&self->ex, DD_IOC_UNSERVE, s.service));
	EXPECT_ERR(ENOENT, mem_end(&self->ex, l.serial));
}

/* ---- DD_IOC_LIST_ARM ---------------------------------------------------- */

static int arm(int fd)
{
	return ioctl(fd, DD_IOC_LIST_ARM, 0);
}

/* Blocks SIGRTMIN, and sends it for the descriptor. */
static int async(int fd)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	return sigprocmask(SIG_BLOCK, &set, NULL) || fcntl(fd, F_SETOWN, getpid()) ||
	       fcntl(fd, F_SETSIG, SIGRTMIN) || fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
}

/* Waits for a signal, for @seconds. */
static bool signalled(int seconds)
{
	const struct timespec t = { .tv_sec = seconds };
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	return sigtimedwait(&set, &info, &t) == SIGRTMIN && info.si_code == POLL_IN;
}

static int drain(int fd)
{
	struct dd_list_record rec;
	int n = 0;

	while (read(fd, &rec, sizeof(rec)) == sizeof(rec))
		n++;
	return n;
}

TEST_F(mem, an_armed_list_sends_one_signal)
{
	int fd = list_fd(self);
	int n;

	ASSERT_OK(async(fd));
	for (n = 0; n < 3; n++) {
		ASSERT_EQ(0, arm(fd));
		EXPECT_FALSE(signalled(0));
		ASSERT_EQ(1, note(self, 0));
		ASSERT_EQ(1, note(self, 8));
		ASSERT_TRUE(signalled(60));
		ASSERT_EQ(1, note(self, 16));
		EXPECT_FALSE(signalled(0));
		EXPECT_EQ(3, drain(fd));
		/* Not before it is armed again. */
		ASSERT_EQ(1, note(self, 24));
		EXPECT_FALSE(signalled(0));
		EXPECT_EQ(1, drain(fd));
	}
}

TEST_F(mem, a_list_with_notes_is_not_armed)
{
	int fd = list_fd(self);
	ASSERT_OK(async(fd));
	ASSERT_EQ(1, note(self, 0));
	ASSERT_TRUE(signalled(60));
	ASSERT_EQ(1, arm(fd));
	EXPECT_EQ(1, arm(fd));
	ASSERT_EQ(1, note(self, 8));
	EXPECT_FALSE(signalled(0));
	EXPECT_EQ(2, drain(fd));
	ASSERT_EQ(0, arm(fd));
	EXPECT_EQ(0, arm(fd));
	ASSERT_EQ(1, note(self, 16));
	EXPECT_TRUE(signalled(60));
	EXPECT_FALSE(signalled(0));
}

TEST_F(mem, arming_needs_signals)
{
	int fd = list_fd(self);
	EXPECT_ERR(EINVAL, arm(fd));
	EXPECT_ERR(ENOTTY, ioctl(self->ex.fd, DD_IOC_LIST_ARM, 0));
	EXPECT_ERR(ENOTTY, ioctl(fd, DD_IOC_LIST_KICK, self->list.list));
	EXPECT_EQ(-1, write(fd, "x", 1));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0));
	ASSERT_OK(async(fd));
	EXPECT_ERR(EINVAL, ioctl(fd, DD_IOC_LIST_ARM, 1));
	ASSERT_EQ(0, arm(fd));
	/* Then each note causes a signal again. */
	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(EINVAL, arm(fd));
	ASSERT_EQ(1, note(self, 0));
	EXPECT_FALSE(signalled(0));
	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	ASSERT_EQ(1, note(self, 8));
	EXPECT_TRUE(signalled(60));
	ASSERT_EQ(1, note(self, 16));
	EXPECT_TRUE(signalled(60));
}

TEST_F(mem, the_end_of_an_armed_list_sends_a_signal)
{
	int fd = list_fd(self);
	ASSERT_OK(async(fd));
	ASSERT_EQ(0, arm(fd));
	ASSERT_OK(mem_end(&self->im, self->i.import));
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	EXPECT_FALSE(signalled(0));
	ASSERT_OK(mem_end(&self->ex, self->list.serial));
	EXPECT_TRUE(signalled(60));
	EXPECT_ERR(ENOENT, arm(fd));
	EXPECT_FALSE(signalled(0));
}

struct poster {
	FIXTURE_DATA(mem) *self;
	int left;
};

static long post(void *arg)
{
	struct poster *p = arg;

	while (p->left)
		if (note(p->self, 0) == 1)
			__atomic_store_n(&p->left, p->left - 1, __ATOMIC_RELAXED);
	return 0;
}

/* The list is armed while notes are posted: each time that it is, there is one signal. */
TEST_F(mem, no_signal_is_lost_or_sent_twice)
{
	int fd = list_fd(self);
	int many = dd_count(20000), got = 0, ret;
	struct poster p = { self, many };
	struct call c;

	ASSERT_OK(async(fd));
	ASSERT_EQ(0, arm(fd));
	ASSERT_TRUE(call_begin(&c, post, &p));
	while (got < many) {
		ASSERT_TRUE(signalled(60));
		ASSERT_FALSE(signalled(0));
		do {
			got += drain(fd);
			ret = arm(fd);
			ASSERT_LE(0, ret);
		} while (ret);
	}
	EXPECT_EQ(0, call_end(&c));
	EXPECT_EQ(many, got);
	EXPECT_FALSE(signalled(0));
}

TEST_F(mem, descriptors_are_closed_while_they_are_armed)
{
	int fd = list_fd(self);
	struct poster p = { self, dd_count(2000) };
	struct call c;
	int other;

	nonblocking(fd);
	ASSERT_OK(async(fd));
	ASSERT_TRUE(call_begin(&c, post, &p));
	while (__atomic_load_n(&p.left, __ATOMIC_RELAXED)) {
		other = list_fd(self);
		ASSERT_LE(0, other);
		ASSERT_OK(async(other));
		ASSERT_LE(0, arm(other));
		drain(fd);
		close(other);
	}
	EXPECT_EQ(0, call_end(&c));
}

/* Two threads that read one descriptor get each record once. */
#define MANY	2000

struct counter {
	int fd;
	int left;
	unsigned char seen[MANY + 1];
};

static bool count(void *arg)
{
	struct counter *c = arg;
	struct dd_list_record rec[2];
	ssize_t n = read(c->fd, rec, sizeof(rec));

	if (n < 0)
		sched_yield();
	for (int i = 0; i < n / (ssize_t)sizeof(rec[0]); i++) {
		__atomic_add_fetch(&c->seen[rec[i].seq], 1, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&c->left, 1, __ATOMIC_RELAXED);
	}
	return true;
}

TEST_F(mem, two_readers_share_the_records)
{
	int fd = list_fd(self);
	int n = dd_count(MANY), i;
	struct poster p = { self, n };
	static struct counter c;
	struct loop l[2];

	nonblocking(fd);
	c.fd = fd;
	c.left = n;
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(loop_begin(&l[i], count, &c));
	post(&p);
	ASSERT_SOON(__atomic_load_n(&c.left, __ATOMIC_RELAXED) <= 0);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, loop_end(&l[i]));
	for (i = 1; i <= n; i++)
		ASSERT_EQ(1, c.seen[i]);
}

DD_TEST_MAIN
