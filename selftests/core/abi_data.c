// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages: bounds, refused requests, notes, credits, order, close.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include "raw.h"

#define BLOCK	4096

FIXTURE(data) {
	struct pair p;
	struct dd_conn_state *cs;
};

FIXTURE_SETUP(data)
{
	ASSERT_EQ(0, pair_open(&self->p, 2, BLOCK, 1));
	self->cs = raw_state(&self->p.cl, self->p.c.state_unit);
}

FIXTURE_TEARDOWN(data)
{
	pair_close(&self->p);
}

static char *source(FIXTURE_DATA(data) *self)
{
	return self->p.cmem.at + self->p.c.send.offset;
}

static bool take(FIXTURE_DATA(data) *self, struct dd_note *n)
{
	return raw_take(&self->p.srv, self->p.s.list_unit, n);
}

/* A valid message still arrives after requests that must not do harm. */
#define EXPECT_ALIVE() do {						\
	struct dd_note __n;						\
	__u64 __before = self->cs->submitted;				\
	EXPECT_EQ(1, pair_request(&self->p, 0, 0, 8)) {			\
		TH_LOG("errno %d", errno);				\
	}								\
	EXPECT_EQ(__before + 1, self->cs->submitted);			\
	EXPECT_TRUE(take(self, &__n));					\
	EXPECT_FALSE(take(self, &__n));					\
} while (0)

static int submit(FIXTURE_DATA(data) *self, const struct dd_sqe *sqe)
{
	return raw_submit(&self->p.cl, self->p.c.state_unit, self->p.c.conn, sqe);
}

TEST_F(data, cell_describes_the_connection)
{
	struct dd_conn_state *c = self->cs;

	EXPECT_EQ(0, c->submitted);
	EXPECT_EQ(0, c->sent);
	EXPECT_EQ(0, c->done);
	EXPECT_EQ(0, c->received);
	EXPECT_EQ(self->p.c.conn, c->conn);
	EXPECT_EQ(0, c->error);
	EXPECT_EQ(DD_CONN_STREAM, c->type);
	EXPECT_EQ(BLOCK, c->peer_size);
	EXPECT_EQ(BLOCK, self->p.c.peer_size);
	EXPECT_EQ(1, c->node);
}

TEST_F(data, counters_follow_the_messages)
{
	struct dd_conn_state *there = raw_state(&self->p.srv, self->p.s.states_unit);
	struct dd_note n;
	int i;

	for (i = 1; i < 5; i++) {
		ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
		EXPECT_EQ(i, self->cs->submitted);
		EXPECT_EQ(i, self->cs->sent);
		EXPECT_EQ(i, self->cs->done);
		EXPECT_EQ(i, there->received);
		ASSERT_TRUE(take(self, &n));
		EXPECT_EQ(i, n.msgid);
	}
	EXPECT_EQ(0, there->submitted);
	EXPECT_EQ(0, self->cs->received);
}

TEST_F(data, a_note_describes_its_message)
{
	struct dd_sqe sqe = {
		.opcode = DD_OP_PUT, .flags = DD_SQE_NOTIFY, .meta_count = 3,
		.src = 16, .dst = 128, .len = 24, .tag = 0xcafe,
		.meta = { 7, 8, 9, 10 },
	};
	__u64 last = 0x8877665544332211;
	struct dd_note n;

	memcpy(source(self) + 32, &last, 8);
	ASSERT_EQ(1, submit(self, &sqe));
	ASSERT_TRUE(take(self, &n));
	EXPECT_EQ(DD_NOTE_DATA, n.type);
	EXPECT_EQ(pair_server_conn(&self->p), n.conn);
	EXPECT_EQ(self->p.s.service, (__u32)n.cookie);
	EXPECT_EQ(0, n.cookie >> 32);
	EXPECT_EQ(128, n.offset);
	EXPECT_EQ(24, n.len);
	EXPECT_EQ(0, n.generation);
	EXPECT_EQ(last, n.word);
	EXPECT_EQ(1, n.msgid);
	EXPECT_EQ(0xcafe, n.tag);
	EXPECT_EQ(3, n.meta_count);
	EXPECT_EQ(7, n.meta[0]);
	EXPECT_EQ(9, n.meta[2]);
	EXPECT_EQ(0, memcmp(self->p.smem.at + 128, source(self) + 16, 24));
}

TEST_F(data, a_page_and_its_edges)
{
	unsigned char *to = (unsigned char *)self->p.smem.at;
	struct pair big;
	struct dd_note n;
	size_t i, size = 5 * PAGE + 24;

	ASSERT_EQ(0, pair_open(&big, 1, 8 * PAGE, 1));
	to = (unsigned char *)big.smem.at;
	for (i = 0; i < 8 * PAGE; i++)
		big.cmem.at[big.c.send.offset + i] = i * 13 >> 3;
	ASSERT_EQ(1, pair_request(&big, PAGE - 5, 2 * PAGE - 3, size));
	ASSERT_TRUE(raw_take(&big.srv, big.s.list_unit, &n));
	EXPECT_EQ(0, memcmp(to + 2 * PAGE - 3,
			    big.cmem.at + big.c.send.offset + PAGE - 5, size));
	EXPECT_EQ(0, to[2 * PAGE - 4]);
	EXPECT_EQ(0, to[2 * PAGE - 3 + size]);
	/* A page of the source ends within the last word. */
	for (i = 1; i < 24; i++) {
		ASSERT_EQ(1, pair_request(&big, PAGE - i, 64, 24));
		ASSERT_TRUE(raw_take(&big.srv, big.s.list_unit, &n));
		EXPECT_EQ(0, memcmp(to + 64, big.cmem.at + big.c.send.offset + PAGE - i, 24));
		EXPECT_EQ(0, memcmp(to + 80, &n.word, 8));
	}
}

/* --- bounds ----------------------------------------------------------------*/

static const __u64 edges[] = {
	0, 1, 7, 8, BLOCK - 8, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK,
	(1ull << 31) - 1, 1ull << 31, (1ull << 32) - 8, (1ull << 32) - 1,
	1ull << 32, (1ull << 32) + 8, (1ull << 63) - 8, (1ull << 63) - 1,
	1ull << 63, (1ull << 63) + 1, -(__u64)BLOCK - 1, -(__u64)BLOCK, -8ull,
	-7ull, -1ull,
};

#define EDGES	(sizeof(edges) / sizeof(edges[0]))

static bool inside(__u64 offset, __u64 len, __u64 size)
{
	return offset <= size && len <= size - offset;
}

TEST_F(data, every_edge_of_offset_and_length)
{
	unsigned int s, d, l;
	struct dd_note n;
	__u64 before;
	int want, ret;

	for (s = 0; s < EDGES; s++)
		for (d = 0; d < EDGES; d++)
			for (l = 0; l < EDGES; l++) {
				want = inside(edges[s], edges[l], 2 * BLOCK) &&
				       inside(edges[d], edges[l], BLOCK) ?
				       1 : -1;
				before = self->cs->submitted;
				errno = 0;
				ret = pair_request(&self->p, edges[s], edges[d],
						   edges[l]);
				ASSERT_EQ(want, ret) {
					TH_LOG("src %llx dst %llx len %llx",
					       edges[s], edges[d], edges[l]);
				}
				if (ret < 0)
					ASSERT_EQ(ERANGE, errno);
				ASSERT_EQ(before + (ret > 0),
					  self->cs->submitted);
				ASSERT_EQ(ret > 0, take(self, &n));
			}
}

TEST_F(data, edges_of_another_region)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT,
			      .flags = DD_SQE_NOTIFY | DD_SQE_REGION };
	struct dd_note n;
	struct mem m;
	unsigned int s, l;
	int want, ret;

	ASSERT_EQ(0, raw_alloc(&self->p.cl, BLOCK, &m));
	sqe.region = m.id;
	for (s = 0; s < EDGES; s++)
		for (l = 0; l < EDGES; l++) {
			sqe.src = edges[s];
			sqe.len = edges[l];
			want = inside(edges[s], edges[l], BLOCK) ? 1 : -1;
			errno = 0;
			ret = submit(self, &sqe);
			ASSERT_EQ(want, ret) {
				TH_LOG("src %llx len %llx", edges[s], edges[l]);
			}
			if (ret < 0)
				ASSERT_EQ(ERANGE, errno);
			ASSERT_EQ(ret > 0, take(self, &n));
		}
	/* A region that does not exist, and one of another context. */
	sqe.src = 0;
	sqe.len = 8;
	sqe.region = m.id ^ 0x40000;
	EXPECT_ERR(ENOENT, submit(self, &sqe));
	sqe.region = self->p.smem.id;
	if (sqe.region != m.id && sqe.region != self->p.cmem.id)
		EXPECT_ERR(ENOENT, submit(self, &sqe));
	sqe.region = 0;
	EXPECT_EQ(-1, submit(self, &sqe));
	EXPECT_ALIVE();
}

TEST_F(data, addresses_that_cannot_be_read)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .len = 64,
			      .flags = DD_SQE_NOTIFY | DD_SQE_UNWIRED };
	char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 bad[] = { 0, 8, (uintptr_t)page + PAGE,
			(uintptr_t)page + PAGE - 63, 0x7ffffffff000 - 32,
			1ull << 47, 1ull << 63, 0xffff888000000000,
			0xffffffffff600000, 0xffffffff81000000, -64ull, -63ull,
			-1ull };
	unsigned int i;

	ASSERT_EQ(0, munmap(page + PAGE, PAGE));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sqe.src = bad[i];
		EXPECT_ERR(EFAULT, submit(self, &sqe));
	}
	EXPECT_EQ(0, self->cs->submitted);
	/*
	 * Reading up to the end of the page works, and so does an untouched
	 * page.
	 */
	sqe.src = (uintptr_t)page + PAGE - 64;
	EXPECT_EQ(1, submit(self, &sqe));
	struct dd_note n;

	EXPECT_TRUE(take(self, &n));
	EXPECT_ALIVE();
}

TEST_F(data, unwired_out_of_the_area_and_of_regions)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .len = 64,
			      .flags = DD_SQE_NOTIFY | DD_SQE_UNWIRED };
	struct dd_note n;

	/* Both are mapped, so both are readable memory. */
	sqe.src = (uintptr_t)self->p.cl.area;
	EXPECT_EQ(1, submit(self, &sqe));
	ASSERT_TRUE(take(self, &n));
	EXPECT_EQ(DD_AREA_MAGIC, *(__u32 *)self->p.smem.at);
	sqe.src = (uintptr_t)source(self);
	EXPECT_EQ(1, submit(self, &sqe));
	ASSERT_TRUE(take(self, &n));
	/* The source may also be the message's own target. */
	sqe.src = (uintptr_t)self->p.smem.at;
	sqe.dst = 8;
	EXPECT_EQ(1, submit(self, &sqe));
	ASSERT_TRUE(take(self, &n));
}

/* --- requests that make no sense -------------------------------------------*/

TEST_F(data, unknown_requests)
{
	struct dd_sqe ok = { .opcode = DD_OP_PUT, .flags = DD_SQE_NOTIFY,
			     .len = 8 }, sqe;
	struct dd_note n;
	int i;

	/* A zeroed entry has opcode 0. */
	for (i = 0; i < 256; i++) {
		sqe = ok;
		sqe.opcode = i;
		if (i == DD_OP_PUT)
			continue;
		EXPECT_EQ(-1, submit(self, &sqe));
		EXPECT_TRUE(errno == EOPNOTSUPP || errno == EINVAL);
	}
	for (i = 3; i < 8; i++) {
		sqe = ok;
		sqe.flags |= 1 << i;
		EXPECT_ERR(EINVAL, submit(self, &sqe));
	}
	for (i = DD_META_WORDS + 1; i < 256; i++) {
		sqe = ok;
		sqe.meta_count = i;
		EXPECT_ERR(EINVAL, submit(self, &sqe));
	}
	sqe = ok;
	sqe.__reserved = 1;
	EXPECT_ERR(EINVAL, submit(self, &sqe));
	for (i = 0; i < 32; i++) {
		sqe = ok;
		sqe.list = 1u << i;
		EXPECT_ERR(EINVAL, submit(self, &sqe));
	}
	/* An address, which is not in that region. */
	sqe = ok;
	sqe.flags |= DD_SQE_REGION | DD_SQE_UNWIRED;
	sqe.region = self->p.cmem.id;
	EXPECT_ERR(EFAULT, submit(self, &sqe));
	sqe = ok;
	sqe.region = self->p.cmem.id;
	EXPECT_ERR(EINVAL, submit(self, &sqe));
	EXPECT_FALSE(take(self, &n));
	EXPECT_EQ(0, self->cs->submitted);
	EXPECT_ALIVE();
}

TEST_F(data, requests_with_another_number_are_none)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .flags = DD_SQE_NOTIFY,
			      .len = 8 };
	static const __u64 seqs[] = { 0, 2, 3, 1ull << 32, 1ull << 63, -1ull };
	struct dd_note n;
	int i;

	for (i = 0; i < 6; i++) {
		raw_queue(&self->p.cl, self->p.c.state_unit, &sqe);
		self->cs->sq[0].seq = seqs[i];
		EXPECT_EQ(0, raw_op(&self->p.cl, DD_IOC_DOORBELL,
				    self->p.c.conn));
		EXPECT_FALSE(take(self, &n));
	}
	EXPECT_EQ(0, self->cs->submitted);
	EXPECT_ALIVE();
	/* An executed request is not executed again. */
	EXPECT_EQ(0, raw_op(&self->p.cl, DD_IOC_DOORBELL, self->p.c.conn));
}

TEST_F(data, without_notify_there_is_no_note)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .len = 8 };
	struct dd_note n;

	strcpy(source(self), "quiet");
	EXPECT_EQ(1, submit(self, &sqe));
	EXPECT_STREQ("quiet", self->p.smem.at);
	EXPECT_FALSE(take(self, &n));
	EXPECT_EQ(1, self->cs->done);
}

static void queue_one(FIXTURE_DATA(data) *self)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .flags = DD_SQE_NOTIFY,
			      .len = 8 };

	raw_queue(&self->p.cl, self->p.c.state_unit, &sqe);
}

static int ring(const FIXTURE_DATA(data) *self, __u64 serial)
{
	return raw_op(&self->p.cl, DD_IOC_DOORBELL, serial);
}

TEST_F(data, a_doorbell_names_a_connection_of_its_context)
{
	int fd = self->p.cl.fd;
	struct dd_note n;

	queue_one(self);
	EXPECT_ERR(ENOENT, ring(self, 0));
	EXPECT_ERR(ENOENT, ring(self, -1));
	EXPECT_ERR(ENOENT, ring(self, self->p.c.conn + (1ll << 32)));
	EXPECT_ERR(ENOENT, ring(self, self->p.c.conn | 1ll << 62));
	EXPECT_ERR(ENOENT, ring(self, self->p.c.conn ^ 1));
	EXPECT_ERR(ENOENT, ring(self, self->p.cmem.id));
	IN_CHILD {
		CHILD_ERR(ESTALE, ring(self, self->p.c.conn));
	}
	EXPECT_FALSE(take(self, &n));
	EXPECT_EQ(1, ring(self, self->p.c.conn));
	EXPECT_TRUE(take(self, &n));
	EXPECT_EQ(0, ring(self, self->p.c.conn));
	EXPECT_FALSE(take(self, &n));
	/* The file position has no meaning. */
	queue_one(self);
	EXPECT_ERR(ESPIPE, lseek(fd, self->p.c.conn, SEEK_SET));
	EXPECT_ERR(ESPIPE, lseek(fd, self->p.s.list, SEEK_END));
	EXPECT_FALSE(take(self, &n));
}

/* --- credits and order -----------------------------------------------------*/

static void check_window(struct __test_metadata *_metadata, unsigned int w)
{
	struct dd_conn_state *cs;
	struct dd_note n;
	struct pair p;
	unsigned int i;

	ASSERT_EQ(0, pair_open(&p, 1, BLOCK, w));
	cs = raw_state(&p.cl, p.c.state_unit);
	for (i = 1; i <= w + 1; i++)
		ASSERT_EQ(1, pair_request(&p, 0, 0, 8));
	EXPECT_EQ(w + 1, cs->submitted);
	EXPECT_EQ(w + 1, cs->sent);
	EXPECT_EQ(w, cs->done);
	EXPECT_ERR(EBUSY, pair_request(&p, 0, 0, 8));
	EXPECT_ERR(EBUSY, pair_request(&p, 0, 0, 8));
	EXPECT_EQ(w + 1, cs->submitted);
	/*
	 * The server takes one note and a withheld one is posted: one more may
	 * be sent.
	 */
	ASSERT_TRUE(raw_take(&p.srv, p.s.list_unit, &n));
	EXPECT_EQ(1, n.msgid);
	EXPECT_EQ(w + 1, cs->done);
	EXPECT_EQ(1, pair_request(&p, 0, 0, 8));
	EXPECT_ERR(EBUSY, pair_request(&p, 0, 0, 8));
	for (i = 2; i <= w + 2; i++) {
		ASSERT_TRUE(raw_take(&p.srv, p.s.list_unit, &n));
		EXPECT_EQ(i, n.msgid);
	}
	EXPECT_FALSE(raw_take(&p.srv, p.s.list_unit, &n));
	EXPECT_EQ(w + 2, cs->done);
	pair_close(&p);
}

TEST(window_of_1)
{
	check_window(_metadata, 1);
}

TEST(window_of_3)
{
	check_window(_metadata, 3);
}

TEST(window_of_16)
{
	check_window(_metadata, 16);
}

TEST(window_of_the_maximum)
{
	check_window(_metadata, DD_WINDOW_MAX);
}

TEST_F(data, a_full_channel_does_not_hold_up_another)
{
	struct dd_connect c;
	struct dd_note n;
	struct mem m;

	while (pair_request(&self->p, 0, 0, 8) == 1)
		;
	EXPECT_EQ(EBUSY, errno);
	ASSERT_EQ(0, raw_join(&self->p.cl, &m, &c, self->p.name));
	EXPECT_EQ(1, raw_send(&self->p.cl, c.state_unit, c.conn, 0, 0, 8));
	EXPECT_EQ(1, raw_state(&self->p.cl, c.state_unit)->done);
	ASSERT_TRUE(take(self, &n));
	EXPECT_EQ(0, n.cookie >> 32);
	ASSERT_TRUE(take(self, &n));
	EXPECT_EQ(1, n.cookie >> 32);
}

TEST(a_list_grows_and_loses_nothing)
{
	enum { CONNS = 64 };
	struct dd_connect c[CONNS];
	unsigned int next[CONNS] = {};
	struct mem m[CONNS], sm;
	struct raw srv, cl;
	struct dd_serve s;
	struct dd_note n;
	__u64 geometry;
	int i, taken = 0;

	ASSERT_EQ(0, raw_open(&srv));
	ASSERT_EQ(0, raw_open(&cl));
	ASSERT_EQ(0, raw_alloc(&srv, 2 * CONNS * 64, &sm));
	raw_serve_args(&s, "grows", CONNS, &sm);
	s.window = 4;
	ASSERT_EQ(0, raw_serve(&srv, &s));
	geometry = raw_list(&srv, s.list_unit)->geometry;
	for (i = 0; i < CONNS; i++) {
		ASSERT_EQ(0, raw_join(&cl, &m[i], &c[i], "grows"));
		/* Earlier messages lie in the list meanwhile. */
		ASSERT_EQ(1, raw_send(&cl, c[i].state_unit, c[i].conn, 0, 0, 8));
		ASSERT_EQ(1, raw_send(&cl, c[i / 2].state_unit, c[i / 2].conn, 0,
				      0, 8));
	}
	TH_LOG("geometry %llx, then %llx", geometry,
	       raw_list(&srv, s.list_unit)->geometry);
	while (raw_take(&srv, s.list_unit, &n)) {
		ASSERT_GT(CONNS, n.cookie >> 32);
		EXPECT_EQ(++next[n.cookie >> 32], n.msgid);
		taken++;
	}
	EXPECT_EQ(2 * CONNS, taken);
}

struct flood {
	struct raw *srv, *cl;
	struct dd_serve *s;
	struct dd_connect *c;
	bool stop;
	unsigned int sent, taken, lost;
};

/* Sends messages on one connection as fast as they are taken. */
static void *flood_send(void *arg)
{
	struct flood *f = arg;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED))
		f->sent += raw_send(f->cl, f->c->state_unit, f->c->conn, 0, 0,
				    8) == 1;
	return NULL;
}

static void flood_take(struct flood *f)
{
	struct dd_note n;

	while (raw_take(f->srv, f->s->list_unit, &n))
		f->lost += n.msgid != ++f->taken;
}

/* A note may be half written when its list is about to move: the move waits. */
TEST(a_list_grows_while_messages_arrive)
{
	enum { CONNS = 64 };
	struct dd_connect c[CONNS];
	struct raw srv, cl;
	struct flood f = { .srv = &srv, .cl = &cl };
	pthread_t thread;
	struct dd_serve s;
	struct mem m, sm;
	char name[32];
	int round, i;

	for (round = 0; round < 5; round++) {
		f.stop = false;
		f.sent = f.taken = f.lost = 0;
		f.s = &s;
		f.c = &c[0];
		snprintf(name, sizeof(name), "moves%d", round);
		ASSERT_EQ(0, raw_open(&srv));
		ASSERT_EQ(0, raw_open(&cl));
		ASSERT_EQ(0, raw_alloc(&srv, 2 * CONNS * 64, &sm));
		raw_serve_args(&s, name, CONNS, &sm);
		s.window = 4;
		ASSERT_EQ(0, raw_serve(&srv, &s));
		for (i = 0; i < CONNS; i++) {
			ASSERT_EQ(0, raw_join(&cl, &m, &c[i], name));
			ASSERT_EQ(0, munmap(m.at, m.len));
			if (!i) {
				ASSERT_EQ(0, pthread_create(&thread, NULL,
							    flood_send, &f));
				EXPECT_TRUE(WAIT_FOR((flood_take(&f),
						      f.taken)));
			}
			flood_take(&f);
		}
		__atomic_store_n(&f.stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		EXPECT_TRUE(WAIT_FOR((flood_take(&f), f.taken == f.sent))) {
			TH_LOG("%u sent, %u taken", f.sent, f.taken);
		}
		EXPECT_EQ(0, f.lost);
		munmap(sm.at, sm.len);
		raw_close(&cl);
		raw_close(&srv);
	}
}

/* --- ends ------------------------------------------------------------------*/

TEST_F(data, a_close_note_follows_withheld_messages)
{
	__u64 there = pair_server_conn(&self->p);
	struct dd_note n;
	int sent = 0, got = 0;

	while (raw_send(&self->p.srv, self->p.s.states_unit, there, 0, 0, 8) == 1)
		sent++;
	EXPECT_EQ(2, sent);
	ASSERT_EQ(0, raw_op(&self->p.srv, DD_IOC_CLOSE, there));
	while (raw_take(&self->p.cl, self->p.c.list_unit, &n) &&
	       n.type == DD_NOTE_DATA)
		EXPECT_EQ(++got, n.msgid);
	EXPECT_EQ(sent, got);
	EXPECT_EQ(DD_NOTE_CLOSE, n.type);
	EXPECT_EQ(self->p.c.conn, n.conn);
	EXPECT_EQ(self->p.c.cookie, n.cookie);
	EXPECT_FALSE(raw_take(&self->p.cl, self->p.c.list_unit, &n));
}

/* Polls the list, and reads the connection state as soon as there is a close note. */
static void *await_close(void *arg)
{
	const struct pair *p = arg;
	struct dd_note n;

	while (!raw_peek(&p->cl, p->c.list_unit, &n))
		;
	return (void *)(long)raw_state(&p->cl, p->c.state_unit)->error;
}

TEST(a_close_note_comes_after_the_error_in_the_cell)
{
	struct dd_note n;
	pthread_t reader;
	struct pair p;
	void *error;
	int i;

	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, pthread_create(&reader, NULL, await_close, &p));
		ASSERT_EQ(0, raw_op(&p.srv, DD_IOC_CLOSE, pair_server_conn(&p)));
		ASSERT_EQ(0, pthread_join(reader, &error));
		ASSERT_EQ(ECONNRESET, (long)error);
		ASSERT_TRUE(raw_take(&p.cl, p.c.list_unit, &n));
		ASSERT_EQ(0, raw_op(&p.cl, DD_IOC_CLOSE, p.c.conn));
		p.c.list = 0;
		ASSERT_EQ(0, raw_connect(&p.cl, &p.c));
	}
}

TEST_F(data, a_reused_block_has_a_new_id_and_fresh_counters)
{
	struct dd_conn_state *there = raw_state(&self->p.srv, self->p.s.states_unit);
	struct dd_connect c[2];
	__u64 id = there->conn;
	struct dd_note n;
	struct mem m;

	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	ASSERT_TRUE(take(self, &n));
	ASSERT_EQ(0, raw_op(&self->p.cl, DD_IOC_CLOSE, self->p.c.conn));
	/* The service has two blocks: one of the two ids is in the old one. */
	c[0] = self->p.c;
	c[0].list = 0;
	ASSERT_EQ(0, raw_connect(&self->p.cl, &c[0]));
	ASSERT_EQ(0, raw_join(&self->p.cl, &m, &c[1], self->p.name));
	EXPECT_NE(id, there->conn);
	EXPECT_EQ(0, there->error);
	EXPECT_EQ(0, there->received);
	EXPECT_ERR(ENOENT, raw_op(&self->p.srv, DD_IOC_DOORBELL, id));
	EXPECT_ERR(ENOENT, raw_op(&self->p.srv, DD_IOC_CLOSE, id));
}

TEST_F(data, a_node_that_is_down_sends_nothing)
{
	int ret, err;

	ASSERT_EQ(1, pair_request(&self->p, 0, 0, 8));
	ASSERT_EQ(0, system("ddctl node down"));
	errno = 0;
	ret = pair_request(&self->p, 0, 0, 8);
	err = errno;
	EXPECT_EQ(0, ((struct dd_area_head *)self->p.cl.area)->node_up);
	ASSERT_EQ(0, system("ddctl node up"));
	EXPECT_EQ(-1, ret);
	EXPECT_EQ(ENETDOWN, err);
	EXPECT_EQ(1, ((struct dd_area_head *)self->p.cl.area)->node_up);
	/* Services and connections still exist. */
	struct dd_note n;

	EXPECT_TRUE(take(self, &n));
	EXPECT_ALIVE();
}

DD_TEST_MAIN
