// SPDX-License-Identifier: GPL-2.0-only
/*
 * More senders than a list has rings, by hand: who has to give his back, when,
 * and what becomes of what he sends.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include "raw.h"

#define FOREVER		(~0ull)
#define N		DD_RINGS_MAX
#define NEW		N	/* who comes when all rings are taken */
#define MORE		24	/* connections of one of them */

struct sender {
	struct raw r;
	struct dd_connect c;
	struct mem m;
	struct way w;
	__u64 sent;
};

FIXTURE(evict) {
	struct pair p;
	struct sender s[N + 1];
};

static int sender_open(struct sender *s, const struct pair *p)
{
	if (raw_open(&s->r) || raw_alloc(&s->r, 2 * PAGE, &s->m))
		return -1;
	raw_connect_args(&s->c, p->name, &s->m);
	return raw_connect(&s->r, &s->c);
}

static struct dd_cell *cell_of(const struct sender *s)
{
	return raw_cell(&s->r, s->c.cell_unit);
}

/* What the sender says it has sent. */
static void count(struct sender *s, __u64 n)
{
	s->sent = n;
	memcpy(cell_of(s)->sq[0].meta, &n, sizeof(n));
}

FIXTURE_SETUP(evict)
{
	/* The pair's own connection has the first block, and does not send. */
	ASSERT_EQ(0, pair_open(&self->p, N + 2 + MORE, PAGE, 2));
	for (int i = 0; i <= N; i++)
		ASSERT_EQ(0, sender_open(&self->s[i], &self->p));
	for (int i = 0; i < N; i++)
		ASSERT_EQ(0, way_open(&self->s[i].r, self->s[i].c.conn,
				      &self->s[i].w));
}

FIXTURE_TEARDOWN(evict)
{
	for (int i = 0; i <= N; i++)
		raw_close(&self->s[i].r);
	pair_close(&self->p);
}

/* The cell of the serving end of a sender's connection. */
static struct dd_cell *served(const struct pair *p, int i)
{
	return raw_cell(&p->srv, p->s.cells_unit + (i + 1) * p->s.cell_units);
}

/* A message directly, and what the server reads. */
static bool direct(struct pair *p, struct sender *s, int ring)
{
	struct dd_ring_note n;

	count(s, s->sent + 1);
	way_note(&s->w, 0, 8);
	return ring_take(ring_of(&p->srv, p->s.list_unit, ring), &n) &&
	       n.conn == s->w.d.peer_conn;
}

static int drop(struct sender *s, __u64 last, __u64 *end)
{
	struct dd_direct d = { .size = sizeof(d), .conn = s->c.conn,
			       .flags = DD_DIRECT_DROP, .start = last };
	int ret = raw_ioctl(&s->r, DD_IOC_DIRECT, &d);

	*end = d.start;
	return ret;
}

/* The next message by the doorbell: its number as the server reads it. */
static long doorbell(struct pair *p, struct sender *s)
{
	struct dd_note n;

	if (raw_send(&s->r, s->c.cell_unit, s->c.conn, 0, 0, 8) != 1 ||
	    !raw_take(&p->srv, p->s.list_unit, &n))
		return -1;
	return n.msgid;
}

/* The first whose ring was taken back, -1 if that is nobody. */
static int victim(const struct sender *s)
{
	for (int i = 0; i < N; i++)
		if (cell_of(&s[i])->left)
			return i;
	return -1;
}

static int victims(const struct sender *s)
{
	int n = 0;

	for (int i = 0; i < N; i++)
		n += cell_of(&s[i])->left;
	return n;
}

/* Asks for a ring until there is one. */
static bool granted(struct sender *s)
{
	return WAIT_FOR(!way_grant(&s->r, s->c.conn, &s->w)) &&
	       !way_open(&s->r, s->c.conn, &s->w);
}

/* Each sends @n messages, all are read, and the newcomer gets the ring of one. */
static int oust_one(struct pair *p, struct sender *s, int n)
{
	for (int i = 0; i < N; i++)
		for (int k = 0; k < n; k++)
			if (!direct(p, &s[i], i))
				return -1;
	return granted(&s[NEW]) ? victim(s) : -1;
}

TEST_F(evict, one_gives_way)
{
	struct sender *s = self->s, *new = &s[NEW];
	long long before = raw_node_count("rings_taken");
	struct pair *p = &self->p;
	int i;

	ASSERT_TRUE(granted(new));
	EXPECT_EQ(before + 1, raw_node_count("rings_taken"));
	EXPECT_EQ(N, raw_list(&p->srv, p->s.list_unit)->rings);
	ASSERT_EQ(1, victims(s));
	i = victim(s);
	EXPECT_EQ(0, served(p, i)->ring);
	EXPECT_NE(0, served(p, NEW)->ring);
	for (int k = 0; k < N; k++) {
		struct sender *who = k == i ? new : &s[k];

		EXPECT_TRUE(direct(p, who, k));
	}
}

/* What it stores from then on is lost; what it is told tells which that is. */
TEST_F(evict, the_last_note)
{
	struct sender *s = self->s;
	struct pair *p = &self->p;
	__u64 end, start;
	int i;

	i = oust_one(p, s, 3);
	ASSERT_LE(0, i);
	s = &s[i];
	EXPECT_EQ(3, served(p, i)->received);
	start = s->w.d.start;
	count(s, 4);
	way_note(&s->w, 0, 8);
	EXPECT_EQ(4, s->w.pos - start);
	EXPECT_ERR(EAGAIN, raw_list_wait(&p->srv, p->s.list, 0));
	EXPECT_ERR(EBUSY, way_grant(&s->r, s->c.conn, &(struct way){ }));
	EXPECT_EQ(0, drop(s, s->w.pos, &end));
	EXPECT_EQ(start + 3, end);
	EXPECT_EQ(0, cell_of(s)->left);
	EXPECT_EQ(3, cell_of(s)->submitted);
	EXPECT_EQ(3, cell_of(s)->sent);
	EXPECT_EQ(3, cell_of(s)->done);
	EXPECT_EQ(MAP_FAILED, raw_map(&s->r, s->w.d.block, PAGE, PROT_READ));
	/* It has nothing any more, and may say so as often as it likes. */
	EXPECT_EQ(0, drop(s, 0, &end));
	EXPECT_EQ(4, doorbell(p, s));
	EXPECT_EQ(4, served(p, i)->received);
}

/* One that was read before the ring was taken back, as he finds out later. */
TEST_F(evict, the_last_note_was_read)
{
	struct sender *s = self->s;
	struct pair *p = &self->p;
	__u64 end;
	int i;

	i = oust_one(p, s, 1);
	ASSERT_LE(0, i);
	EXPECT_EQ(0, drop(&s[i], s[i].w.pos, &end));
	EXPECT_EQ(s[i].w.pos, end);
	EXPECT_EQ(1, cell_of(&s[i])->submitted);
	EXPECT_EQ(2, doorbell(p, &s[i]));
}

/* Not even if it is behind a position that nobody has filled. */
TEST_F(evict, not_while_a_note_is_unread)
{
	const int only = 7;
	struct sender *s = self->s;
	struct dd_ring_note n;
	struct pair *p = &self->p;

	for (int i = 0; i < N; i++) {
		s[i].w.pos += i % 2;
		if (i != only)
			way_note(&s[i].w, 0, i);
	}
	ASSERT_TRUE(granted(&s[NEW]));
	EXPECT_EQ(1, victims(s));
	EXPECT_EQ(only, victim(s));
	for (int i = 0; i < N; i += 2) {
		ASSERT_TRUE(ring_take(ring_of(&p->srv, p->s.list_unit, i), &n));
		EXPECT_EQ(i, n.len);
		EXPECT_EQ(s[i].w.d.peer_conn, n.conn);
	}
}

/* Whoever has a ring does not take another one's for want of slots. */
TEST_F(evict, not_for_who_has_one)
{
	struct sender *s = self->s;
	struct dd_connect c;
	struct way w;
	int i;

	raw_connect_args(&c, self->p.name, &s[0].m);
	memset(&c.send, 0, sizeof(c.send));
	for (i = 0; i < MORE; i++) {
		ASSERT_EQ(0, raw_alloc(&s[0].r, PAGE, &s[0].m));
		c.recv.region = s[0].m.id;
		c.recv.offset = 0;
		ASSERT_EQ(0, raw_connect(&s[0].r, &c));
		if (way_grant(&s[0].r, c.conn, &w))
			break;
		EXPECT_EQ(s[0].w.d.notes, w.d.notes);
	}
	/* Three slots each. */
	EXPECT_EQ(s[0].w.d.slots / 3 - 1, i);
	ASSERT_TRUE(granted(&s[NEW]));
	EXPECT_EQ(1, victims(s));
	i = victim(s);
	/* Others could go, too; but not for him, if he has one still. */
	if (i)
		EXPECT_FALSE(WAIT_FOR_MS(!way_grant(&s[0].r, c.conn, &w), 1500));
	EXPECT_EQ(1, victims(s));
}

/* He may have one again, when all that he has sent meanwhile was read. */
TEST_F(evict, and_back)
{
	struct sender *s = self->s, *old;
	struct dd_ring_note n;
	struct dd_note own;
	struct pair *p = &self->p;
	__u64 end;
	int i;

	i = oust_one(p, s, 1);
	ASSERT_LE(0, i);
	old = &s[i];
	ASSERT_EQ(0, drop(old, 0, &end));
	EXPECT_EQ(2, doorbell(p, old));
	ASSERT_EQ(1, raw_send(&old->r, old->c.cell_unit, old->c.conn, 0, 0, 8));
	/* There would be one now. */
	ASSERT_EQ(0, raw_op(&s[NEW].r, DD_IOC_CLOSE, s[NEW].c.conn));
	EXPECT_ERR(EBUSY, way_grant(&old->r, old->c.conn, &old->w));
	ASSERT_TRUE(raw_take(&p->srv, p->s.list_unit, &own));
	EXPECT_EQ(3, own.msgid);
	while (raw_take(&p->srv, p->s.list_unit, &own))
		;
	way_unmap(&old->w);
	count(old, 3);
	ASSERT_EQ(0, way_open(&old->r, old->c.conn, &old->w));
	EXPECT_EQ(end, old->w.d.start);
	EXPECT_EQ(0, victims(s));
	EXPECT_NE(0, served(p, i)->ring);
	EXPECT_TRUE(direct(p, old, i));
	EXPECT_FALSE(ring_take(ring_of(&p->srv, p->s.list_unit, i), &n));
	/* Used by now, so it is not given back. */
	EXPECT_ERR(EBUSY, drop(old, 0, &end));
}

static void *waiter(void *arg)
{
	struct sender *s = arg;
	struct dd_conn_wait w = { .size = sizeof(w), .conn = s->c.conn,
				  .what = DD_WAIT_RING, .value = s->w.pos,
				  .timeout = FOREVER };

	return (void *)(long)raw_ioctl(&s->r, DD_IOC_CONN_WAIT, &w);
}

/* Whoever waits for a note to be read hears of it. */
TEST_F(evict, waiting_for_the_reader)
{
	struct dd_list_head *h = raw_list(&self->p.srv, self->p.s.list_unit);
	struct sender *s = self->s;
	struct dd_ring_note n;
	pthread_t thread;
	void *ret;

	for (int i = 0; i < N; i++)
		way_note(&s[i].w, 0, 8);
	ASSERT_EQ(0, pthread_create(&thread, NULL, waiter, &s[3]));
	ASSERT_SOON(h->flags & DD_LIST_NEED_KICK);
	ASSERT_TRUE(ring_take(ring_of(&self->p.srv, self->p.s.list_unit, 3),
			      &n));
	ASSERT_TRUE(granted(&s[NEW]));
	ASSERT_EQ(3, victim(s));
	ASSERT_EQ(0, raw_op(&self->p.srv, DD_IOC_LIST_KICK, self->p.s.list));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(NULL, ret);
	EXPECT_EQ(NULL, waiter(&s[3]));
}

/* He need never learn of it: either end may close as it is. */
TEST_F(evict, closed_as_it_is)
{
	struct sender *s = self->s;
	struct pair *p = &self->p;
	__u64 end;
	int i;

	i = oust_one(p, s, 1);
	ASSERT_LE(0, i);
	EXPECT_EQ(0, raw_op(&p->srv, DD_IOC_CLOSE,
			    raw_serial(&p->srv, s[i].w.d.peer_conn)));
	EXPECT_EQ(ECONNRESET, cell_of(&s[i])->error);
	/* What is stored now, nobody reads. */
	way_note(&s[i].w, 0, 8);
	EXPECT_EQ(0, drop(&s[i], 0, &end));
	EXPECT_EQ(s[i].w.pos - 1, end);
	EXPECT_EQ(0, raw_op(&s[i].r, DD_IOC_CLOSE, s[i].c.conn));
	EXPECT_TRUE(direct(p, &s[NEW], i));
	/* The block and the slots are there for the next one. */
	ASSERT_EQ(0, raw_connect(&s[i].r, &s[i].c));
	count(&s[i], 0);
	EXPECT_EQ(1, doorbell(p, &s[i]));
}

/* Slots of those who have closed are not promised to others before they are read. */
TEST(slots_of_the_closed_are_theirs_until_they_are_read)
{
	struct dd_ring_state *state;
	struct dd_ring_note note;
	struct dd_connect c;
	struct way first, w;
	struct pair p;
	struct mem m;
	bool other;
	int i, k;

	ASSERT_EQ(0, pair_open(&p, 66, PAGE, 1));
	ASSERT_EQ(0, raw_alloc(&p.cl, 2 * PAGE, &m));
	ASSERT_EQ(0, way_open(&p.cl, p.c.conn, &first));
	way_note(&first, 0, 8);
	for (i = 1;; i++) {
		raw_connect_args(&c, p.name, &m);
		ASSERT_EQ(0, raw_connect(&p.cl, &c));
		ASSERT_EQ(0, way_grant(&p.cl, c.conn, &w));
		other = w.d.notes != first.d.notes;
		if (!other) {
			ASSERT_GT(first.d.slots, i);
			first.d.peer_conn = w.d.peer_conn;
			way_note(&first, 0, 8);
		}
		ASSERT_EQ(0, raw_op(&p.cl, DD_IOC_CLOSE, c.conn));
		if (other)
			break;
	}
	EXPECT_LT(8, i);
	state = ring_of(&p.srv, p.s.list_unit, 0);
	for (k = 0; k < i; k++) {
		ASSERT_TRUE(ring_take(state, &note));
		EXPECT_EQ(k + 1, note.msgid);
	}
	EXPECT_FALSE(ring_take(state, &note));
	/* Now they are. */
	raw_connect_args(&c, p.name, &m);
	ASSERT_EQ(0, raw_connect(&p.cl, &c));
	ASSERT_EQ(0, way_grant(&p.cl, c.conn, &w));
	EXPECT_EQ(first.d.notes, w.d.notes);
	pair_close(&p);
}

DD_TEST_MAIN
