// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting: for lists, for counters, by descriptors and by signals.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include "raw.h"

#define MS		1000000ull
#define FOREVER		(~0ull)

FIXTURE(wait) {
	struct pair p;
};

FIXTURE_SETUP(wait)
{
	ASSERT_EQ(0, pair_open(&self->p, 4, 4096, 1));
}

FIXTURE_TEARDOWN(wait)
{
	pair_close(&self->p);
}

static int wait_lists(const struct raw *r, __u32 *lists, int count,
		      __u64 timeout)
{
	struct dd_list_wait w = {
		.size = sizeof(w), .lists = (uintptr_t)lists, .count = count,
		.timeout = timeout,
	};

	return raw_ioctl(r, DD_IOC_LIST_WAIT, &w) ? -1 : (int)w.ready;
}

static int wait_list(struct pair *p, __u64 timeout)
{
	__u32 list = p->s.list;

	return wait_lists(&p->srv, &list, 1, timeout);
}

static int wait_conn(struct pair *p, int what, __u64 value, __u64 timeout)
{
	return raw_conn_wait(&p->cl, p->c.conn, what, value, timeout);
}

TEST_F(wait, nothing_yet)
{
	double start = dd_now();

	EXPECT_ERR(EAGAIN, wait_list(&self->p, 0));
	EXPECT_ERR(ETIMEDOUT, wait_list(&self->p, 1));
	EXPECT_ERR(ETIMEDOUT, wait_list(&self->p, 200 * MS));
	EXPECT_LE(0.2, dd_now() - start);
}

TEST_F(wait, something_already)
{
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_EQ(1, wait_list(&self->p, 0));
	EXPECT_EQ(1, wait_list(&self->p, FOREVER));
	EXPECT_EQ(1, wait_list(&self->p, FOREVER - 1));
	EXPECT_EQ(1, wait_list(&self->p, 1ull << 63));
}

struct sender {
	struct pair *p;
	pid_t tid;		/* that must sleep first */
	void (*act)(struct pair *p);
	bool slept;
};

static void *act_when_asleep(void *arg)
{
	struct sender *s = arg;

	s->slept = WAIT_FOR(asleep_in_wait(s->tid));
	s->act(s->p);
	return NULL;
}

/* Evaluates @call in this thread; another one does @fn once this one sleeps. */
#define WHILE_ASLEEP(fn, call) do {					\
	struct sender __s = { .p = &self->p, .tid = gettid(), .act = fn };\
	pthread_t __t;							\
	ASSERT_EQ(0, pthread_create(&__t, NULL, act_when_asleep, &__s));\
	call;								\
	pthread_join(__t, NULL);					\
	EXPECT_TRUE(__s.slept);						\
} while (0)

static void nothing(int sig)
{
}

static void signal_main(struct pair *p)
{
	kill(getpid(), SIGUSR1);
}

TEST_F(wait, many_lists_ready_ones_first)
{
	struct dd_connect c[3];
	struct dd_serve s[3];
	__u32 lists[4], want[2];
	int i;

	for (i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "many%d", i);
		ASSERT_EQ(0, pair_more(&self->p, name, 0, &s[i], &c[i]));
		lists[i] = s[i].list;
	}
	lists[3] = self->p.s.list;
	EXPECT_ERR(EAGAIN, wait_lists(&self->p.srv, lists, 4, 0));
	ASSERT_EQ(1, raw_send(&self->p.cl, c[1].state_unit, c[1].conn, 0, 0, 8));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	want[0] = lists[1];
	want[1] = lists[3];
	EXPECT_EQ(2, wait_lists(&self->p.srv, lists, 4, FOREVER));
	EXPECT_EQ(want[0], lists[0]);
	EXPECT_EQ(want[1], lists[1]);
}

TEST_F(wait, the_same_list_many_times)
{
	__u32 lists[DD_WAIT_MAX];
	int i;

	for (i = 0; i < DD_WAIT_MAX; i++)
		lists[i] = self->p.s.list;
	EXPECT_ERR(EAGAIN, wait_lists(&self->p.srv, lists, DD_WAIT_MAX, 0));
	EXPECT_ERR(ETIMEDOUT, wait_lists(&self->p.srv, lists, DD_WAIT_MAX, MS));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_EQ(DD_WAIT_MAX,
		  wait_lists(&self->p.srv, lists, DD_WAIT_MAX, FOREVER));
}

TEST_F(wait, bad_arguments)
{
	__u32 lists[2] = { self->p.s.list, 0 };

	EXPECT_ERR(EINVAL, wait_lists(&self->p.srv, lists, 0, 0));
	EXPECT_ERR(EINVAL, wait_lists(&self->p.srv, lists, DD_WAIT_MAX + 1, 0));
	EXPECT_ERR(EINVAL, wait_lists(&self->p.srv, lists, -1, 0));
	EXPECT_ERR(EFAULT, wait_lists(&self->p.srv, NULL, 1, 0));
	EXPECT_ERR(EFAULT, wait_lists(&self->p.srv, (void *)-4096, 1, 0));
	EXPECT_ERR(ENOENT, wait_lists(&self->p.srv, lists, 2, FOREVER));
	lists[1] = self->p.c.list;
	if (lists[1] != lists[0])
		EXPECT_ERR(ENOENT, wait_lists(&self->p.srv, lists, 2, FOREVER));
	EXPECT_ERR(EINVAL, wait_conn(&self->p, 2, 0, 0));
	EXPECT_ERR(EINVAL, wait_conn(&self->p, -1, 0, 0));
}

TEST_F(wait, for_a_counter)
{
	struct dd_note n;

	EXPECT_EQ(0, wait_conn(&self->p, DD_WAIT_SENT, 0, 0));
	EXPECT_ERR(EAGAIN, wait_conn(&self->p, DD_WAIT_SENT, 1, 0));
	EXPECT_ERR(ETIMEDOUT, wait_conn(&self->p, DD_WAIT_DONE, 1, MS));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_EQ(0, wait_conn(&self->p, DD_WAIT_DONE, 1, FOREVER));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_EQ(0, wait_conn(&self->p, DD_WAIT_SENT, 2, FOREVER));
	EXPECT_ERR(EAGAIN, wait_conn(&self->p, DD_WAIT_DONE, 2, 0));
	ASSERT_TRUE(raw_take(&self->p.srv, self->p.s.list_unit, &n));
	EXPECT_EQ(0, wait_conn(&self->p, DD_WAIT_DONE, 2, FOREVER));
}

static void take_one(struct pair *p)
{
	struct dd_note n;

	raw_take(&p->srv, p->s.list_unit, &n);
}

TEST_F(wait, for_a_counter_that_moves)
{
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	WHILE_ASLEEP(take_one, EXPECT_EQ(0, wait_conn(&self->p, DD_WAIT_DONE, 2,
						      FOREVER)));
}

static void close_there(struct pair *p)
{
	raw_op(&p->srv, DD_IOC_CLOSE, pair_server_conn(p));
}

TEST_F(wait, for_a_counter_of_a_connection_that_ends)
{
	WHILE_ASLEEP(close_there,
		     EXPECT_ERR(ECONNRESET, wait_conn(&self->p, DD_WAIT_DONE, 9,
						      FOREVER)));
	EXPECT_ERR(ECONNRESET, wait_conn(&self->p, DD_WAIT_DONE, 9, FOREVER));
}

TEST_F(wait, for_a_counter_interrupted)
{
	struct sigaction sa = { .sa_handler = nothing };

	sigaction(SIGUSR1, &sa, NULL);
	WHILE_ASLEEP(signal_main,
		     EXPECT_ERR(EINTR, wait_conn(&self->p, DD_WAIT_SENT, 9,
						 FOREVER)));
}

static void close_here(struct pair *p)
{
	raw_op(&p->cl, DD_IOC_CLOSE, p->c.conn);
}

TEST_F(wait, for_a_counter_of_a_connection_closed_here)
{
	int ret = 0;

	WHILE_ASLEEP(close_here,
		     ret = wait_conn(&self->p, DD_WAIT_DONE, 9, FOREVER));
	EXPECT_EQ(-1, ret);
	EXPECT_TRUE(errno == ENOENT || errno == ECONNRESET);
}

/* --- descriptors -----------------------------------------------------------*/

static int poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

TEST_F(wait, list_fd_polls_for_input)
{
	int fd = raw_op(&self->p.srv, DD_IOC_LIST_FD, self->p.s.list);
	struct dd_note n;

	ASSERT_LE(0, fd);
	EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	EXPECT_EQ(0, poll_now(fd));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_TRUE(poll_now(fd) & POLLIN);
	EXPECT_FALSE(poll_now(fd) & (POLLERR | POLLHUP));
	ASSERT_TRUE(raw_take(&self->p.srv, self->p.s.list_unit, &n));
	EXPECT_EQ(0, poll_now(fd));
	/* A list may have several descriptors. */
	EXPECT_LE(0, raw_op(&self->p.srv, DD_IOC_LIST_FD, self->p.s.list));
	close(fd);
}

TEST_F(wait, list_fd_outlives_its_list)
{
	int fd = raw_op(&self->p.srv, DD_IOC_LIST_FD, self->p.s.list);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, raw_op(&self->p.srv, DD_IOC_UNSERVE, self->p.s.service));
	EXPECT_NE(0, poll_now(fd));
	raw_close(&self->p.srv);
	EXPECT_NE(0, poll_now(fd));
	close(fd);
	ASSERT_EQ(0, raw_open(&self->p.srv));
}

TEST_F(wait, list_fd_does_nothing_else)
{
	int fd = raw_op(&self->p.srv, DD_IOC_LIST_FD, self->p.s.list);
	char c = 0;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, read(fd, &c, 1));
	EXPECT_EQ(-1, write(fd, &c, 1));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0));
	EXPECT_EQ(-1, ioctl(fd, DD_IOC_LIST_KICK, self->p.s.list));
	close(fd);
}

static void *epoll_one(void *arg)
{
	struct epoll_event e;

	return (void *)(long)epoll_wait(*(int *)arg, &e, 1, dd_patience());
}

TEST_F(wait, epoll_on_a_list)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };
	int fd = raw_op(&self->p.srv, DD_IOC_LIST_FD, self->p.s.list);
	int ep = epoll_create1(EPOLL_CLOEXEC), i;
	struct dd_note n;
	pthread_t t;
	void *ret;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
	for (i = 0; i < dd_count(20); i++) {
		EXPECT_EQ(0, epoll_wait(ep, &e, 1, 0));
		ASSERT_EQ(0, pthread_create(&t, NULL, epoll_one, &ep));
		ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
		pthread_join(t, &ret);
		EXPECT_EQ(1, (long)ret);
		ASSERT_TRUE(raw_take(&self->p.srv, self->p.s.list_unit, &n));
	}
	/* A descriptor may be closed while it is in the set. */
	close(fd);
	EXPECT_EQ(0, epoll_wait(ep, &e, 1, 0));
	close(ep);
}

TEST_F(wait, device_polls_for_any_list)
{
	struct dd_note n;

	EXPECT_FALSE(poll_now(self->p.srv.fd) & POLLIN);
	EXPECT_FALSE(poll_now(self->p.cl.fd) & POLLIN);
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_TRUE(poll_now(self->p.srv.fd) & POLLIN);
	EXPECT_FALSE(poll_now(self->p.cl.fd) & POLLIN);
	ASSERT_TRUE(raw_take(&self->p.srv, self->p.s.list_unit, &n));
	EXPECT_FALSE(poll_now(self->p.srv.fd) & POLLIN);
	close_there(&self->p);
	EXPECT_TRUE(poll_now(self->p.cl.fd) & POLLIN);
}

static void *poll_device(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	return (void *)(long)(poll(&p, 1, dd_patience()) == 1 &&
			      (p.revents & POLLIN));
}

TEST_F(wait, device_poll_is_woken)
{
	pthread_t t;
	void *ret;

	ASSERT_EQ(0, pthread_create(&t, NULL, poll_device, &self->p.srv.fd));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	pthread_join(t, &ret);
	EXPECT_EQ(1, (long)ret);
}

/* The result of poll() in a process that has inherited the descriptor. */
static int poll_elsewhere(int fd)
{
	pid_t pid = fork();

	if (!pid)
		_exit(poll_now(fd));
	return WEXITSTATUS(wait_child(pid));
}

/* io_uring, aio and epoll poll in a worker or for another process. */
TEST_F(wait, device_polls_for_another_process)
{
	struct dd_note n;

	EXPECT_EQ(0, poll_elsewhere(self->p.srv.fd));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_EQ(POLLIN, poll_elsewhere(self->p.srv.fd));
	ASSERT_TRUE(raw_take(&self->p.srv, self->p.s.list_unit, &n));
	EXPECT_EQ(0, poll_elsewhere(self->p.srv.fd));
}

/* The end of a context wakes pollers whatever they wait for. */
TEST_F(wait, device_poll_is_woken_by_the_end)
{
	pid_t pid = fork();

	if (!pid) {
		struct pollfd p = { .fd = self->p.cl.fd };

		_exit(poll(&p, 1, dd_patience()) == 1 ? p.revents : 0);
	}
	EXPECT_TRUE(WAIT_FOR(asleep_in(pid, SYS_poll)));
	ASSERT_EQ(0, munmap(self->p.cl.area, DD_AREA_SIZE));
	EXPECT_EQ(POLLHUP | POLLERR, WEXITSTATUS(wait_child(pid)));
	close(self->p.cl.fd);
	ASSERT_EQ(0, raw_open(&self->p.cl));
}

static volatile sig_atomic_t sigio_count;

static void on_sigio(int sig)
{
	sigio_count++;
}

/*
 * An edge-triggered poller gets an edge for each note, also for one on a list
 * that was behind a ready list at the last poll.
 */
TEST_F(wait, an_edge_of_any_list)
{
	struct pair *p = &self->p;
	struct pollfd fd = { .fd = p->srv.fd, .events = POLLIN };
	__u32 list[2] = { p->s.list_unit };
	__u64 conn[2] = { p->c.conn };
	struct dd_connect c;
	struct dd_ring_note n;
	struct dd_serve s;
	struct way w[2];
	int i, k;

	ASSERT_EQ(0, pair_more(p, "direct.second", 0, &s, &c));
	list[1] = s.list_unit;
	conn[1] = c.conn;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, way_open(&p->cl, conn[i], &w[i]));
	for (i = 0; i < 2; i++) {
		for (k = 0; k < 2; k++)
			if (is_armed(&w[k]))
				raw_op(&p->cl, DD_IOC_WAKE, conn[k]);
		way_note(&w[i], 0, 8);
		EXPECT_EQ(1, poll(&fd, 1, 0));
		EXPECT_TRUE(is_armed(&w[!i]));
		ASSERT_TRUE(ring_take(ring_of(&p->srv, list[i], 0), &n));
	}
}

TEST_F(wait, sigio_when_asked_for)
{
	struct sigaction sa = { .sa_handler = on_sigio };
	int fd = self->p.srv.fd, before;
	struct dd_note n;

	sigaction(SIGIO, &sa, NULL);
	ASSERT_EQ(0, fcntl(fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_TRUE(WAIT_FOR(sigio_count > 0));
	ASSERT_TRUE(raw_take(&self->p.srv, self->p.s.list_unit, &n));
	before = sigio_count;
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_TRUE(WAIT_FOR(sigio_count > before));
	ASSERT_TRUE(raw_take(&self->p.srv, self->p.s.list_unit, &n));
	/* Without a request there is no signal. */
	ASSERT_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_ASYNC));
	before = sigio_count;
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_TRUE(poll_now(fd) & POLLIN);
	EXPECT_EQ(before, sigio_count);
}

TEST_F(wait, sigio_goes_with_its_context)
{
	int fd = self->p.srv.fd;

	signal(SIGIO, SIG_IGN);
	ASSERT_EQ(0, fcntl(fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
	raw_close(&self->p.srv);
	ASSERT_SOON(pair_request(&self->p, 0, 0, 8) == -1 &&
		    errno == ECONNRESET);
	ASSERT_EQ(0, raw_open(&self->p.srv));
}

DD_TEST_MAIN
