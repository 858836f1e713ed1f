// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting: for lists, for counters, by descriptors and by signals.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <poll.h>
#include "raw.h"
#include "threads.h"

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

static int wait_conn(struct pair *p, int what, __u64 value, __u64 timeout)
{
	return raw_conn_wait(&p->cl, p->c.conn, what, value, timeout);
}

TEST_F(wait, the_same_list_many_times)
{
	static const __u64 limits[] = { 0, 1ull << 63, FOREVER - 1, FOREVER };
	__u32 lists[DD_WAIT_MAX];
	int i;

	for (i = 0; i < DD_WAIT_MAX; i++)
		lists[i] = self->p.s.list;
	EXPECT_ERR(EAGAIN, wait_lists(&self->p.srv, lists, DD_WAIT_MAX, 0));
	EXPECT_ERR(ETIMEDOUT, wait_lists(&self->p.srv, lists, DD_WAIT_MAX, MS));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(DD_WAIT_MAX, wait_lists(&self->p.srv, lists, DD_WAIT_MAX, limits[i]));
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

static long wait_for_two(void *pair)
{
	return wait_conn(pair, DD_WAIT_DONE, 2, FOREVER);
}

TEST_F(wait, for_a_counter)
{
	struct dd_note n;
	struct call c;

	EXPECT_EQ(0, wait_conn(&self->p, DD_WAIT_SENT, 0, 0));
	EXPECT_ERR(EAGAIN, wait_conn(&self->p, DD_WAIT_SENT, 1, 0));
	EXPECT_ERR(ETIMEDOUT, wait_conn(&self->p, DD_WAIT_DONE, 1, MS));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_EQ(0, wait_conn(&self->p, DD_WAIT_DONE, 1, FOREVER));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_EQ(0, wait_conn(&self->p, DD_WAIT_SENT, 2, FOREVER));
	EXPECT_ERR(EAGAIN, wait_conn(&self->p, DD_WAIT_DONE, 2, 0));
	ASSERT_TRUE(call_waits(&c, wait_for_two, &self->p));
	ASSERT_TRUE(raw_take(&self->p.srv, self->p.s.list_unit, &n));
	EXPECT_EQ(0, call_end(&c));
}

static int close_there(const struct pair *p)
{
	return raw_op(&p->srv, DD_IOC_CLOSE, pair_server_conn(p));
}

TEST_F(wait, for_a_counter_in_vain)
{
	struct call c;

	ASSERT_TRUE(call_waits(&c, wait_for_two, &self->p));
	ASSERT_TRUE(call_interrupt(&c));
	EXPECT_ERR(EINTR, call_end(&c));
	ASSERT_TRUE(call_waits(&c, wait_for_two, &self->p));
	ASSERT_EQ(0, close_there(&self->p));
	EXPECT_ERR(ECONNRESET, call_end(&c));
	EXPECT_ERR(ECONNRESET, wait_for_two(&self->p));
}

TEST_F(wait, for_a_counter_of_a_connection_closed_here)
{
	struct call c;

	ASSERT_TRUE(call_waits(&c, wait_for_two, &self->p));
	ASSERT_EQ(0, raw_op(&self->p.cl, DD_IOC_CLOSE, self->p.c.conn));
	EXPECT_EQ(-1, call_end(&c));
	EXPECT_TRUE(errno == ENOENT || errno == ECONNRESET);
}

/* --- descriptors -----------------------------------------------------------*/

static int poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

/* The result of poll() in a process that has inherited the descriptor. */
static int poll_elsewhere(int fd)
{
	pid_t pid = fork();

	if (!pid)
		_exit(poll_now(fd));
	return WEXITSTATUS(wait_child(pid));
}

/* Also of another process: io_uring, aio and epoll poll in a worker. */
TEST_F(wait, device_polls_for_any_list)
{
	struct dd_note n;

	EXPECT_EQ(0, poll_now(self->p.srv.fd));
	EXPECT_EQ(0, poll_now(self->p.cl.fd));
	EXPECT_EQ(0, poll_elsewhere(self->p.srv.fd));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_EQ(POLLIN, poll_now(self->p.srv.fd));
	EXPECT_EQ(POLLIN, poll_elsewhere(self->p.srv.fd));
	EXPECT_EQ(0, poll_now(self->p.cl.fd));
	ASSERT_TRUE(raw_take(&self->p.srv, self->p.s.list_unit, &n));
	EXPECT_EQ(0, poll_now(self->p.srv.fd));
	EXPECT_EQ(0, poll_elsewhere(self->p.srv.fd));
	ASSERT_EQ(0, close_there(&self->p));
	EXPECT_EQ(POLLIN, poll_now(self->p.cl.fd));
}

static long poll_device(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&p, 1, dd_patience()) == 1 && (p.revents & POLLIN);
}

TEST_F(wait, device_poll_is_woken)
{
	struct call c;

	ASSERT_TRUE(call_begin(&c, poll_device, &self->p.srv.fd));
	ASSERT_TRUE(call_sleeps(&c, SYS_poll));
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_EQ(1, call_end(&c));
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
	int fd = self->p.srv.fd, i, before;
	struct dd_note n;

	sigaction(SIGIO, &sa, NULL);
	ASSERT_EQ(0, fcntl(fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
	for (i = 0; i < 2; i++) {
		before = sigio_count;
		ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
		EXPECT_TRUE(WAIT_FOR(sigio_count > before));
		ASSERT_TRUE(raw_take(&self->p.srv, self->p.s.list_unit, &n));
	}
	/* Without a request there is no signal. */
	ASSERT_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_ASYNC));
	before = sigio_count;
	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	EXPECT_TRUE(poll_now(fd) & POLLIN);
	EXPECT_EQ(before, sigio_count);
	/* The request goes with its context. */
	ASSERT_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
	raw_close(&self->p.srv);
	ASSERT_SOON(pair_request(&self->p, 0, 0, 8) == -1 && errno == ECONNRESET);
	ASSERT_EQ(0, raw_open(&self->p.srv));
}

DD_TEST_MAIN
