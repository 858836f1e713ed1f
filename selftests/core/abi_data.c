// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages: bounds, refused requests, notes, credits, order, close.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "raw.h"
#include "threads.h"

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

TEST_F(data, a_note_describes_its_message)
{
	struct dd_sqe sqe = {
		.opcode = DD_OP_PUT, .flags = DD_SQE_NOTIFY, .meta_count = 3,
		.src = 16, .dst = 128, .len = 24, .tag = 0xcafe,
		.meta = { 7, 8, 9, 10 },
	};
	struct dd_conn_state *there = raw_state(&self->p.srv, self->p.s.states_unit);
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
	EXPECT_EQ(1, there->received);
	EXPECT_EQ(0, there->submitted);
	EXPECT_EQ(0, self->cs->received);
}

TEST_F(data, a_page_and_its_edges)
{
	size_t i, size = 5 * PAGE + 24;
	unsigned char *to, *from;
	struct pair big;
	struct dd_note n;

	ASSERT_EQ(0, pair_open(&big, 1, 8 * PAGE, 1));
	to = (unsigned char *)big.smem.at;
	from = (unsigned char *)big.cmem.at + big.c.send.offset;
	for (i = 0; i < 8 * PAGE; i++)
		from[i] = i * 13 >> 3;
	ASSERT_EQ(1, pair_request(&big, PAGE - 5, 2 * PAGE - 3, size));
	ASSERT_TRUE(raw_take(&big.srv, big.s.list_unit, &n));
	EXPECT_EQ(0, memcmp(to + 2 * PAGE - 3, from + PAGE - 5, size));
	EXPECT_EQ(0, to[2 * PAGE - 4]);
	EXPECT_EQ(0, to[2 * PAGE - 3 + size]);
	/* A page of the source ends within the last word. */
	for (i = 1; i < 24; i++) {
		ASSERT_EQ(1, pair_request(&big, PAGE - i, 64, 24));
		ASSERT_TRUE(raw_take(&big.srv, big.s.list_unit, &n));
		EXPECT_EQ(0, memcmp(to + 64, from + PAGE - i, 24));
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

/* A request is executed if all of it is inside, and otherwise refused and not counted. */
static void check_edges(struct __test_metadata *_metadata, FIXTURE_DATA(data) *self,
			const struct dd_sqe *sqe, bool good)
{
	__u64 before = self->cs->submitted;
	struct dd_note n;
	int ret;

	errno = 0;
	ret = submit(self, sqe);
	ASSERT_EQ(good ? 1 : -1, ret) {
		TH_LOG("src %llx dst %llx len %llx", sqe->src, sqe->dst, sqe->len);
	}
	ASSERT_EQ(good ? 0 : ERANGE, errno);
	ASSERT_EQ(before + good, self->cs->submitted);
	ASSERT_EQ(good, take(self, &n));
}

TEST_F(data, every_edge_of_offset_and_length)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .flags = DD_SQE_NOTIFY };
	unsigned int s, d, l;

	for (s = 0; s < EDGES; s++)
		for (d = 0; d < EDGES; d++)
			for (l = 0; l < EDGES; l++) {
				sqe.src = edges[s];
				sqe.dst = edges[d];
				sqe.len = edges[l];
				check_edges(_metadata, self, &sqe,
					    inside(sqe.src, sqe.len, 2 * BLOCK) &&
					    inside(sqe.dst, sqe.len, BLOCK));
			}
}

TEST_F(data, edges_of_another_region)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT,
			      .flags = DD_SQE_NOTIFY | DD_SQE_REGION };
	unsigned int s, l;
	struct mem m;

	ASSERT_EQ(0, raw_alloc(&self->p.cl, BLOCK, &m));
	sqe.region = m.id;
	for (s = 0; s < EDGES; s++)
		for (l = 0; l < EDGES; l++) {
			sqe.src = edges[s];
			sqe.len = edges[l];
			check_edges(_metadata, self, &sqe, inside(sqe.src, sqe.len, BLOCK));
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
	struct dd_note n;
	unsigned int i;

	ASSERT_EQ(0, munmap(page + PAGE, PAGE));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sqe.src = bad[i];
		EXPECT_ERR(EFAULT, submit(self, &sqe));
	}
	EXPECT_EQ(0, self->cs->submitted);
	/* Up to the end of the page, which was not touched before. */
	sqe.src = (uintptr_t)page + PAGE - 64;
	EXPECT_EQ(1, submit(self, &sqe));
	EXPECT_TRUE(take(self, &n));
	EXPECT_ALIVE();
}

/* --- requests that make no sense -------------------------------------------*/

TEST_F(data, unknown_requests)
{
	struct dd_sqe ok = { .opcode = DD_OP_PUT, .flags = DD_SQE_NOTIFY,
			     .len = 8 }, sqe;
	struct dd_note n;
	int i;

	/* A zeroed entry has opcode 0. Bad values of other fields are refused by abi_submit. */
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

/* --- ends ------------------------------------------------------------------*/

/* Polls the list, and reads the connection state as soon as there is a close note. */
static long await_close(void *arg)
{
	const struct pair *p = arg;
	struct dd_note n;

	while (!raw_peek(&p->cl, p->c.list_unit, &n))
		;
	return raw_state(&p->cl, p->c.state_unit)->error;
}

TEST(a_close_note_comes_after_the_error_in_the_cell)
{
	struct call reader;
	struct dd_note n;
	struct pair p;
	int i;

	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	for (i = 0; i < 200; i++) {
		ASSERT_TRUE(call_begin(&reader, await_close, &p));
		ASSERT_EQ(0, raw_op(&p.srv, DD_IOC_CLOSE, pair_server_conn(&p)));
		ASSERT_EQ(ECONNRESET, call_end(&reader));
		ASSERT_TRUE(raw_take(&p.cl, p.c.list_unit, &n));
		ASSERT_EQ(0, raw_op(&p.cl, DD_IOC_CLOSE, p.c.conn));
		p.c.list = 0;
		ASSERT_EQ(0, raw_connect(&p.cl, &p.c));
	}
}

DD_TEST_MAIN
