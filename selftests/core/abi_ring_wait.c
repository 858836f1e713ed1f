// SPDX-License-Identifier: GPL-2.0-only
/*
 * Senders that sleep until their direct ring has been read up to a position:
 * each is woken then and not before, and the reader is asked to kick only
 * while a sender of that ring sleeps.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "raw.h"
#include "threads.h"

#define FOREVER		(~0ull)
#define MS		1000000ull
#define N		4

struct waiter {
	const struct raw *r;
	__u64 conn;
	__u64 pos;
	struct call call;
};

FIXTURE(ring_wait) {
	struct pair p;
	struct client other;	/* another sender, with a ring of its own */
	struct way w[2];
	struct dd_ring_state *s[2];
	struct dd_list_head *h;
	struct waiter waiters[2 * N];
};

FIXTURE_SETUP(ring_wait)
{
	struct pair *p = &self->p;

	ASSERT_EQ(0, pair_open(p, 4, PAGE, N));
	ASSERT_EQ(0, client_open(&self->other, p->name));
	ASSERT_EQ(0, way_open(&p->cl, p->c.conn, &self->w[0]));
	ASSERT_EQ(0, way_open(&self->other.r, self->other.c.conn, &self->w[1]));
	self->h = raw_list(&p->srv, p->s.list_unit);
	for (int i = 0; i < 2; i++) {
		self->s[i] = ring_of(&p->srv, p->s.list_unit, i);
		ASSERT_NE(NULL, self->s[i]);
		for (int k = 0; k < N; k++)
			way_note(&self->w[i], 0, 8);
	}
}

FIXTURE_TEARDOWN(ring_wait)
{
	raw_close(&self->other.r);
	pair_close(&self->p);
}

static long wait_there(void *arg)
{
	const struct waiter *w = arg;

	return raw_ring_wait(w->r, w->conn, w->pos, FOREVER);
}

/* The thread sleeps when this returns. */
static bool begin(struct waiter *w, const struct raw *r, __u64 conn, __u64 pos)
{
	*w = (struct waiter){ .r = r, .conn = conn, .pos = pos };
	return call_waits(&w->call, wait_there, w);
}

static bool take(struct dd_ring_state *s)
{
	struct dd_ring_note n;
	bool taken = ring_take(s, &n);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return taken;
}

static bool need_kick(const struct dd_ring_state *s)
{
	return __atomic_load_n(&s->need_kick, __ATOMIC_RELAXED);
}

static int kick(const struct pair *p)
{
	return raw_op(&p->srv, DD_IOC_LIST_KICK, p->s.list);
}

static bool flagged(const struct dd_list_head *h)
{
	return __atomic_load_n(&h->flags, __ATOMIC_RELAXED) & DD_LIST_NEED_KICK;
}

/* Two rings: each thread sleeps once, however often the reader kicks. */
TEST_F(ring_wait, woken_when_the_position_is_reached)
{
	struct waiter *w = self->waiters;
	struct pair *p = &self->p;

	/* The threads of the first ring begin in the order N to 1, and are woken from 1 to N. */
	for (int k = 0; k < N; k++) {
		ASSERT_TRUE(begin(&w[k], &p->cl, p->c.conn, N - k));
		ASSERT_TRUE(begin(&w[N + k], &self->other.r, self->other.c.conn, k + 1));
	}
	EXPECT_TRUE(need_kick(self->s[0]));
	EXPECT_TRUE(need_kick(self->s[1]));
	/* The flag of the list is for notes that the kernel withholds. */
	EXPECT_FALSE(flagged(self->h));
	for (int k = 1; k <= N; k++) {
		/* No thread waits for the position so far: a kick wakes none. */
		ASSERT_EQ(0, kick(p));
		EXPECT_TRUE(need_kick(self->s[0]));
		EXPECT_TRUE(need_kick(self->s[1]));
		ASSERT_TRUE(take(self->s[0]));
		ASSERT_EQ(0, kick(p));
		ASSERT_EQ(0, call_end(&w[N - k].call));
		EXPECT_EQ(k < N, need_kick(self->s[0]));
	}
	/* One kick wakes all. */
	for (int k = 0; k < N; k++)
		ASSERT_TRUE(take(self->s[1]));
	ASSERT_EQ(0, kick(p));
	for (int k = 0; k < N; k++)
		ASSERT_EQ(0, call_end(&w[N + k].call));
	/* A thread that was woken sets @need_kick again until it has looked at the position. */
	EXPECT_FALSE(need_kick(self->s[1]));
	for (int k = 0; k < 2 * N; k++)
		EXPECT_TRUE(call_slept_once(&w[k].call));
}

TEST_F(ring_wait, given_up)
{
	struct waiter *w = self->waiters;
	struct pair *p = &self->p;

	/* Without a sleeping thread no kick is needed. */
	EXPECT_ERR(EAGAIN, raw_ring_wait(&p->cl, p->c.conn, 1, 0));
	EXPECT_EQ(0, raw_ring_wait(&p->cl, p->c.conn, 0, FOREVER));
	EXPECT_ERR(ETIMEDOUT, raw_ring_wait(&p->cl, p->c.conn, 1, MS));
	EXPECT_FALSE(need_kick(self->s[0]));
	EXPECT_FALSE(flagged(self->h));
	ASSERT_TRUE(begin(w, &p->cl, p->c.conn, 2));
	EXPECT_ERR(ETIMEDOUT, raw_ring_wait(&p->cl, p->c.conn, 1, MS));
	EXPECT_TRUE(need_kick(self->s[0]));
	for (int i = 0; i < 2; i++)
		ASSERT_TRUE(take(self->s[0]));
	ASSERT_EQ(0, kick(p));
	EXPECT_EQ(0, call_end(&w->call));
	EXPECT_TRUE(call_slept_once(&w->call));
}

/* The flag of the list and the word of the ring do not disturb each other. */
TEST_F(ring_wait, beside_a_withheld_note)
{
	struct waiter *w = self->waiters;
	struct pair *p = &self->p;
	struct dd_connect c;
	struct dd_note n;
	struct mem m;

	ASSERT_EQ(0, raw_join(&self->other.r, &m, &c, p->name));
	for (int i = 0; i <= N; i++)
		ASSERT_EQ(1, raw_send(&self->other.r, c.state_unit, c.conn, 0, 0, 8));
	EXPECT_TRUE(flagged(self->h));
	EXPECT_FALSE(need_kick(self->s[0]));
	ASSERT_TRUE(begin(w, &p->cl, p->c.conn, 1));
	ASSERT_TRUE(take(self->s[0]));
	ASSERT_EQ(0, kick(p));
	EXPECT_EQ(0, call_end(&w->call));
	EXPECT_FALSE(need_kick(self->s[0]));
	EXPECT_TRUE(flagged(self->h));
	/* In the reverse order. */
	ASSERT_TRUE(begin(w, &p->cl, p->c.conn, 2));
	for (int i = 0; i < N; i++)
		ASSERT_TRUE(raw_take(&p->srv, p->s.list_unit, &n));
	ASSERT_EQ(0, kick(p));
	EXPECT_FALSE(flagged(self->h));
	EXPECT_TRUE(need_kick(self->s[0]));
	ASSERT_TRUE(raw_take(&p->srv, p->s.list_unit, &n));
	ASSERT_TRUE(take(self->s[0]));
	ASSERT_EQ(0, kick(p));
	EXPECT_EQ(0, call_end(&w->call));
	EXPECT_FALSE(need_kick(self->s[0]));
}

/* The receiver may store anything in its area. */
TEST_F(ring_wait, a_reader_that_writes_anything)
{
	struct waiter *w = self->waiters;
	struct pair *p = &self->p;

	ASSERT_TRUE(begin(w, &p->cl, p->c.conn, 1));
	self->s[0]->need_kick = 0;
	self->h->flags = 0;
	ASSERT_TRUE(take(self->s[0]));
	ASSERT_EQ(0, kick(p));
	EXPECT_EQ(0, call_end(&w->call));
	self->s[0]->head = 0;
	ASSERT_TRUE(begin(w, &p->cl, p->c.conn, 1));
	self->s[0]->head = ~0ull;
	ASSERT_EQ(0, kick(p));
	EXPECT_EQ(0, call_end(&w->call));
}

/* A grant that was never used is given back while a thread waits. */
TEST_F(ring_wait, dropped)
{
	struct dd_direct drop = { .size = sizeof(drop), .flags = DD_DIRECT_DROP };
	struct waiter *w = self->waiters;
	struct pair *p = &self->p;
	struct dd_connect c;
	struct mem m;
	struct way way;

	ASSERT_EQ(0, raw_join(&p->cl, &m, &c, p->name));
	ASSERT_EQ(0, way_grant(&p->cl, c.conn, &way));
	ASSERT_TRUE(begin(w, &p->cl, c.conn, 100));
	EXPECT_TRUE(need_kick(self->s[0]));
	drop.conn = c.conn;
	ASSERT_EQ(0, raw_ioctl(&p->cl, DD_IOC_DIRECT, &drop));
	EXPECT_ERR(EINVAL, call_end(&w->call));
	EXPECT_FALSE(need_kick(self->s[0]));
}

/* A close wakes the threads of its connection, whichever end closes. */
TEST_F(ring_wait, closed)
{
	struct waiter *w = self->waiters;
	struct pair *p = &self->p;

	ASSERT_TRUE(begin(&w[0], &p->cl, p->c.conn, 1));
	ASSERT_TRUE(begin(&w[1], &self->other.r, self->other.c.conn, 1));
	ASSERT_EQ(0, raw_op(&p->cl, DD_IOC_CLOSE, p->c.conn));
	EXPECT_ERR(ECONNRESET, call_end(&w[0].call));
	EXPECT_FALSE(need_kick(self->s[0]));
	EXPECT_TRUE(need_kick(self->s[1]));
	ASSERT_EQ(0, raw_op(&p->srv, DD_IOC_UNSERVE, p->s.service));
	EXPECT_ERR(ECONNRESET, call_end(&w[1].call));
}

DD_TEST_MAIN
