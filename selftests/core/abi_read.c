// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists by themselves, and their descriptors: read(), poll() and SIGIO.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include "mem.h"

/* A segment with a list, its importer, and a descriptor of the list. */
FIXTURE(fd) {
	struct raw ex, im;
	struct mem em;
	struct dd_list_make list;
	struct dd_segment_make s;
	struct dd_import_make i;
	int fd;
};

FIXTURE_SETUP(fd)
{
	ASSERT_OK(raw_start(&self->ex, MEM_LEN, &self->em));
	ASSERT_OK(raw_open(&self->im));
	ASSERT_OK(mem_list(&self->ex, &self->list));
	self->s = mem_segment(&self->em, "abi_read");
	self->s.list = self->list.list;
	self->s.window = MEM_WINDOW;
	self->s.policy = DD_POLICY_ALWAYS;
	self->s.cookie = 0xc0ffee;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	ASSERT_OK(mem_import(&self->im, &self->s, DD_RIGHTS, &self->i));
	self->fd = raw_op(&self->ex, DD_IOC_LIST_FD, self->list.list);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(fd)
{
	close(self->fd);
	raw_close(&self->im);
	raw_close(&self->ex);
}

static int put(FIXTURE_DATA(fd) *self, __u64 dst)
{
	return mem_put(&self->im, &self->i, "12345678", dst, 8, 0);
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

TEST_F(fd, a_record_describes_a_message)
{
	struct dd_list_record rec;

	EXPECT_FALSE(readable(self->fd));
	ASSERT_EQ(1, put(self, 24));
	EXPECT_TRUE(readable(self->fd));
	ASSERT_EQ(sizeof(rec), read(self->fd, &rec, sizeof(rec)));
	EXPECT_EQ(0xc0ffee, rec.cookie);
	EXPECT_EQ(24, rec.offset);
	EXPECT_EQ(8, rec.count);
	EXPECT_EQ(self->i.node, rec.node);
	EXPECT_EQ(DD_OP_PUT, rec.op);
	EXPECT_EQ(DD_NOTE_DATA, rec.type);
	EXPECT_EQ((__u32)self->s.generation, rec.generation);
	EXPECT_EQ(1, rec.seq);
	EXPECT_FALSE(readable(self->fd));
}

TEST_F(fd, a_read_returns_whole_records)
{
	struct dd_list_record rec[4];
	struct dd_note n;

	ASSERT_EQ(1, put(self, 0));
	ASSERT_EQ(1, put(self, 8));
	ASSERT_EQ(1, put(self, 16));
	EXPECT_ERR(EINVAL, read(self->fd, rec, sizeof(rec[0]) - 1));
	ASSERT_EQ(2 * sizeof(rec[0]), read(self->fd, rec, 3 * sizeof(rec[0]) - 1));
	EXPECT_EQ(0, rec[0].offset);
	EXPECT_EQ(8, rec[1].offset);
	ASSERT_EQ(sizeof(rec[0]), read(self->fd, rec, sizeof(rec)));
	EXPECT_EQ(16, rec[0].offset);
	/* It consumes what the area shows. */
	EXPECT_FALSE(raw_take(&self->ex, self->list.list_unit, &n));
}

TEST_F(fd, a_bad_buffer_loses_nothing)
{
	void *volatile nowhere = (void *)8;
	struct dd_list_record rec;

	ASSERT_EQ(1, put(self, 8));
	EXPECT_ERR(EFAULT, read(self->fd, nowhere, sizeof(rec)));
	ASSERT_EQ(sizeof(rec), read(self->fd, &rec, sizeof(rec)));
	EXPECT_EQ(8, rec.offset);
}

/* What is not filled stays as it was. */
TEST_F(fd, only_records_are_stored)
{
	static char buf[3 * PAGE], was[3 * PAGE];
	ssize_t n;

	memset(buf, 0x5b, sizeof(buf));
	memset(was, 0x5b, sizeof(was));
	nonblocking(self->fd);
	EXPECT_ERR(EAGAIN, read(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(0, memcmp(buf, was, sizeof(buf)));
	ASSERT_EQ(1, put(self, 0));
	n = read(self->fd, buf, sizeof(buf));
	ASSERT_EQ(sizeof(struct dd_list_record), n);
	EXPECT_EQ(0, memcmp(buf + n, was, sizeof(buf) - n));
	/* One record fits before memory that cannot be written. */
	ASSERT_EQ(0, mprotect((void *)(((uintptr_t)buf + PAGE - 1) & -PAGE), PAGE,
			      PROT_READ));
	ASSERT_EQ(1, put(self, 8));
	ASSERT_EQ(1, put(self, 16));
	EXPECT_EQ(n, read(self->fd, (char *)(((uintptr_t)buf + PAGE - 1) & -PAGE) - n,
			  2 * n));
	EXPECT_EQ(n, read(self->fd, was, sizeof(was)));
	EXPECT_EQ(16, ((struct dd_list_record *)was)->offset);
	ASSERT_EQ(0, mprotect((void *)(((uintptr_t)buf + PAGE - 1) & -PAGE), PAGE,
			      PROT_READ | PROT_WRITE));
}

/* The owner writes the position and the notes: a read ends with a signal. */
TEST_F(fd, a_read_of_forged_notes_can_be_interrupted)
{
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
		CHILD_CHECK(read(self->fd, all, 1ul << 30) >= 0);
		_exit(0);
	}
	ASSERT_LT(0, pid);
	/* Waits until it has ended. */
	kill_child(pid);
}

TEST_F(fd, nonblocking_reads_do_not_wait)
{
	struct dd_list_record rec;

	nonblocking(self->fd);
	EXPECT_ERR(EAGAIN, read(self->fd, &rec, sizeof(rec)));
	ASSERT_EQ(1, put(self, 0));
	EXPECT_EQ(sizeof(rec), read(self->fd, &rec, sizeof(rec)));
	EXPECT_ERR(EAGAIN, read(self->fd, &rec, sizeof(rec)));
}

/* A thread that reads one record. */
struct reader {
	int fd;
	pid_t tid;
	ssize_t got;
	struct dd_list_record rec;
};

static void *read_one(void *arg)
{
	struct reader *r = arg;

	__atomic_store_n(&r->tid, thread_id(), __ATOMIC_RELEASE);
	r->got = read(r->fd, &r->rec, sizeof(r->rec));
	return NULL;
}

static bool reader_sleeps(struct reader *r)
{
	pid_t tid = __atomic_load_n(&r->tid, __ATOMIC_ACQUIRE);

	return tid && asleep_in(tid, SYS_read);
}

TEST_F(fd, a_reader_sleeps_until_a_note_comes)
{
	struct reader r = { .fd = self->fd };
	pthread_t t;

	ASSERT_EQ(0, pthread_create(&t, NULL, read_one, &r));
	ASSERT_SOON(reader_sleeps(&r));
	ASSERT_EQ(1, put(self, 40));
	ASSERT_EQ(0, pthread_join(t, NULL));
	EXPECT_EQ(sizeof(r.rec), r.got);
	EXPECT_EQ(40, r.rec.offset);
}

TEST_F(fd, the_end_of_the_list_wakes_a_reader)
{
	struct reader r = { .fd = self->fd };
	struct dd_list_record rec;
	struct dd_list_info info = { .size = sizeof(info), .list = self->list.list };
	pthread_t t;

	/* Its segment still uses it. */
	ASSERT_OK(mem_end(&self->ex, self->list.serial));
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_LIST_INFO, &info));
	EXPECT_EQ(2, info.users);
	ASSERT_EQ(0, pthread_create(&t, NULL, read_one, &r));
	ASSERT_SOON(reader_sleeps(&r));
	ASSERT_OK(mem_end(&self->im, self->i.import));
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	ASSERT_EQ(0, pthread_join(t, NULL));
	EXPECT_EQ(0, r.got);
	EXPECT_EQ(0, read(self->fd, &rec, sizeof(rec)));
	EXPECT_ERR(ENOENT, raw_ioctl(&self->ex, DD_IOC_LIST_INFO, &info));
}

TEST_F(fd, a_list_ends_once)
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

/* Reading lets a withheld note be posted, and so its sender proceed. */
TEST_F(fd, reading_makes_room)
{
	struct dd_list_record rec[MEM_WINDOW];
	struct dd_conn_state *cs = raw_state(&self->im, self->i.state_unit);
	int i;

	for (i = 0; i <= MEM_WINDOW; i++)
		ASSERT_EQ(1, put(self, 8 * i));
	EXPECT_ERR(EBUSY, put(self, 0));
	ASSERT_EQ(sizeof(rec[0]), read(self->fd, rec, sizeof(rec[0])));
	EXPECT_EQ(MEM_WINDOW + 1, cs->done);
	ASSERT_EQ(sizeof(rec), read(self->fd, rec, sizeof(rec)));
	EXPECT_EQ(8 * MEM_WINDOW, rec[MEM_WINDOW - 1].offset);
}

static volatile sig_atomic_t signals;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	if (info->si_code == POLL_IN)
		signals++;
}

TEST_F(fd, a_note_causes_a_signal)
{
	const struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct dd_list_record rec[2];
	int was;

	ASSERT_EQ(0, sigaction(SIGRTMIN, &sa, NULL));
	ASSERT_EQ(0, fcntl(self->fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(self->fd, F_SETSIG, SIGRTMIN));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	ASSERT_EQ(1, put(self, 0));
	ASSERT_SOON(signals > 0);
	ASSERT_EQ(sizeof(rec[0]), read(self->fd, rec, sizeof(rec)));
	was = signals;
	ASSERT_EQ(1, put(self, 0));
	ASSERT_SOON(signals > was);
	/* Not after it is turned off. */
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	was = signals;
	ASSERT_EQ(1, put(self, 0));
	ASSERT_EQ(2 * sizeof(rec[0]), read(self->fd, rec, sizeof(rec)));
	EXPECT_EQ(was, signals);
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

TEST_F(fd, an_armed_list_sends_one_signal)
{
	int n;

	ASSERT_OK(async(self->fd));
	for (n = 0; n < 3; n++) {
		ASSERT_EQ(0, arm(self->fd));
		EXPECT_FALSE(signalled(0));
		ASSERT_EQ(1, put(self, 0));
		ASSERT_EQ(1, put(self, 8));
		ASSERT_TRUE(signalled(60));
		ASSERT_EQ(1, put(self, 16));
		EXPECT_FALSE(signalled(0));
		EXPECT_EQ(3, drain(self->fd));
		/* Not before it is armed again. */
		ASSERT_EQ(1, put(self, 24));
		EXPECT_FALSE(signalled(0));
		EXPECT_EQ(1, drain(self->fd));
	}
}

TEST_F(fd, a_list_with_notes_is_not_armed)
{
	ASSERT_OK(async(self->fd));
	ASSERT_EQ(1, put(self, 0));
	ASSERT_TRUE(signalled(60));
	ASSERT_EQ(1, arm(self->fd));
	EXPECT_EQ(1, arm(self->fd));
	ASSERT_EQ(1, put(self, 8));
	EXPECT_FALSE(signalled(0));
	EXPECT_EQ(2, drain(self->fd));
	ASSERT_EQ(0, arm(self->fd));
	EXPECT_EQ(0, arm(self->fd));
	ASSERT_EQ(1, put(self, 16));
	EXPECT_TRUE(signalled(60));
	EXPECT_FALSE(signalled(0));
}

TEST_F(fd, arming_needs_signals)
{
	EXPECT_ERR(EINVAL, arm(self->fd));
	EXPECT_ERR(ENOTTY, ioctl(self->ex.fd, DD_IOC_LIST_ARM, 0));
	EXPECT_ERR(ENOTTY, ioctl(self->fd, DD_IOC_LIST_KICK, self->list.list));
	ASSERT_OK(async(self->fd));
	EXPECT_ERR(EINVAL, ioctl(self->fd, DD_IOC_LIST_ARM, 1));
	ASSERT_EQ(0, arm(self->fd));
	/* Then each note causes a signal again. */
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(EINVAL, arm(self->fd));
	ASSERT_EQ(1, put(self, 0));
	EXPECT_FALSE(signalled(0));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	ASSERT_EQ(1, put(self, 8));
	EXPECT_TRUE(signalled(60));
	ASSERT_EQ(1, put(self, 16));
	EXPECT_TRUE(signalled(60));
}

TEST_F(fd, the_end_of_an_armed_list_sends_a_signal)
{
	ASSERT_OK(async(self->fd));
	ASSERT_EQ(0, arm(self->fd));
	ASSERT_OK(mem_end(&self->im, self->i.import));
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	EXPECT_FALSE(signalled(0));
	ASSERT_OK(mem_end(&self->ex, self->list.serial));
	EXPECT_TRUE(signalled(60));
	EXPECT_ERR(ENOENT, arm(self->fd));
	EXPECT_FALSE(signalled(0));
}

struct poster {
	FIXTURE_DATA(fd) *self;
	int left;
};

static void *post(void *arg)
{
	struct poster *p = arg;

	while (p->left)
		if (put(p->self, 0) == 1)
			p->left--;
	return NULL;
}

/* The list is armed while notes are posted: each time that it is, there is one signal. */
TEST_F(fd, no_signal_is_lost_or_sent_twice)
{
	int many = dd_count(20000), got = 0, ret;
	struct poster p = { self, many };
	pthread_t t;

	ASSERT_OK(async(self->fd));
	ASSERT_EQ(0, arm(self->fd));
	ASSERT_EQ(0, pthread_create(&t, NULL, post, &p));
	while (got < many) {
		ASSERT_TRUE(signalled(60));
		ASSERT_FALSE(signalled(0));
		do {
			got += drain(self->fd);
			ret = arm(self->fd);
			ASSERT_LE(0, ret);
		} while (ret);
	}
	ASSERT_EQ(0, pthread_join(t, NULL));
	EXPECT_EQ(many, got);
	EXPECT_FALSE(signalled(0));
}

TEST_F(fd, descriptors_are_closed_while_they_are_armed)
{
	struct poster p = { self, dd_count(2000) };
	pthread_t t;
	int fd;

	nonblocking(self->fd);
	ASSERT_OK(async(self->fd));
	ASSERT_EQ(0, pthread_create(&t, NULL, post, &p));
	while (__atomic_load_n(&p.left, __ATOMIC_RELAXED)) {
		fd = raw_op(&self->ex, DD_IOC_LIST_FD, self->list.list);
		ASSERT_LE(0, fd);
		ASSERT_OK(async(fd));
		ASSERT_LE(0, arm(fd));
		drain(self->fd);
		close(fd);
	}
	ASSERT_EQ(0, pthread_join(t, NULL));
}

/* Two threads that read one descriptor get each record once. */
#define MANY	2000

struct counter {
	int fd;
	unsigned char *seen;
	int *left;
};

static void *count(void *arg)
{
	struct counter *c = arg;
	struct dd_list_record rec[2];
	ssize_t n;

	while (__atomic_load_n(c->left, __ATOMIC_RELAXED) > 0) {
		n = read(c->fd, rec, sizeof(rec));
		if (n < 0) {
			sched_yield();
			continue;
		}
		for (unsigned int i = 0; i < n / sizeof(rec[0]); i++) {
			__atomic_add_fetch(&c->seen[rec[i].seq], 1, __ATOMIC_RELAXED);
			__atomic_sub_fetch(c->left, 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

TEST_F(fd, two_readers_share_the_records)
{
	static unsigned char seen[MANY + 1];
	int left = dd_count(MANY), n = left, i;
	struct counter c = { self->fd, seen, &left };
	pthread_t t[2];

	nonblocking(self->fd);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, count, &c));
	for (i = 0; i < n;)
		if (put(self, 0) == 1) {
			i++;
		} else {
			ASSERT_EQ(EBUSY, errno);
		}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(t[i], NULL));
	for (i = 1; i <= n; i++)
		ASSERT_EQ(1, seen[i]);
}

DD_TEST_MAIN
