// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many requests in one call: order, refusal, and what was accepted before it.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include "raw.h"
#include "threads.h"

#define BLOCK	4096
#define WINDOW	4
#define MANY	DD_SUBMIT_MAX

/* Two connections of one process to a service; conns[0] is the pair's. */
FIXTURE(many) {
	struct pair p;
	struct mem mem;
	struct dd_connect other;
	__u64 conns[2];
	struct dd_conn_state *states[2];
	struct dd_request *rq;
	struct dd_submit s;
};

/*
 * @count requests of 8 bytes to offset 8 i, alternating or on one connection.
 */
static void fill(FIXTURE_DATA(many) *self, unsigned int count, bool turns,
		 __u8 flags)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		self->rq[i] = (struct dd_request){
			.conn = self->conns[turns && i % 2],
			.sqe = {
				.opcode = DD_OP_PUT, .flags = flags, .tag = i,
				.src = 8 * (i % 64), .dst = 8 * (i % 64),
				.len = 8,
			},
		};
	self->s = (struct dd_submit){
		.size = sizeof(self->s), .requests = (uintptr_t)self->rq,
		.count = count, .stride = sizeof(*self->rq),
	};
}

static int submit(FIXTURE_DATA(many) *self)
{
	return raw_ioctl(&self->p.cl, DD_IOC_SUBMIT, &self->s);
}

static bool take(FIXTURE_DATA(many) *self, struct dd_note *n)
{
	return raw_take(&self->p.srv, self->p.s.list_unit, n);
}

FIXTURE_SETUP(many)
{
	int i;

	ASSERT_EQ(0, pair_open(&self->p, 2, BLOCK, WINDOW));
	ASSERT_EQ(0, raw_alloc(&self->p.cl, 2 * BLOCK, &self->mem));
	raw_connect_args(&self->other, self->p.name, &self->mem);
	self->other.flags = DD_CONNECT_LIST;
	self->other.list = self->p.c.list;
	ASSERT_EQ(0, raw_connect(&self->p.cl, &self->other));
	self->conns[0] = self->p.c.conn;
	self->conns[1] = self->other.conn;
	self->states[0] = raw_state(&self->p.cl, self->p.c.state_unit);
	self->states[1] = raw_state(&self->p.cl, self->other.state_unit);
	/* Bytes behind the last entry must not be read. */
	self->rq = mmap(NULL, MANY * sizeof(*self->rq) + 2 * PAGE,
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->rq);
	for (i = 0; i < 64; i++) {
		((__u64 *)(self->p.cmem.at + self->p.c.send.offset))[i] = 100 + i;
		((__u64 *)(self->mem.at + self->other.send.offset))[i] = 200 + i;
	}
}

FIXTURE_TEARDOWN(many)
{
	pair_close(&self->p);
}

TEST_F(many, of_several_connections)
{
	__u64 last[2] = {};
	struct dd_note n;
	int i;

	fill(self, 2 * WINDOW, true, DD_SQE_NOTIFY);
	ASSERT_EQ(0, submit(self));
	EXPECT_EQ(2 * WINDOW, self->s.taken);
	for (i = 0; i < 2 * WINDOW; i++) {
		ASSERT_TRUE(take(self, &n));
		EXPECT_EQ(i % 2, n.cookie >> 32);
		EXPECT_EQ(++last[i % 2], n.msgid);
		EXPECT_EQ((i % 2 ? 200 : 100) + i, n.word);
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(WINDOW, self->states[i]->submitted);
		EXPECT_EQ(WINDOW, self->states[i]->sent);
		EXPECT_EQ(WINDOW, self->states[i]->done);
	}
}

/* A doorbell continues that numbering, and a filled queue is left alone. */
TEST_F(many, number_on_with_those_of_the_queue)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .len = 8 };

	raw_queue(&self->p.cl, self->p.c.state_unit, &sqe);
	fill(self, 3, false, 0);
	ASSERT_EQ(0, submit(self));
	EXPECT_EQ(3, self->states[0]->submitted);
	/* The entry has the number of the first request. */
	EXPECT_EQ(0, raw_op(&self->p.cl, DD_IOC_DOORBELL, self->conns[0]));
	EXPECT_EQ(1, raw_submit(&self->p.cl, self->p.c.state_unit,
				self->conns[0], &sqe));
	EXPECT_EQ(4, self->states[0]->submitted);
}

TEST_F(many, a_full_window_ends_it)
{
	struct dd_note n;
	int i;

	/* As many as the window holds, and the one with a withheld note. */
	fill(self, WINDOW + 3, false, DD_SQE_NOTIFY);
	ASSERT_EQ(0, submit(self));
	EXPECT_EQ(WINDOW + 1, self->s.taken);
	EXPECT_EQ(EBUSY, self->s.error);
	EXPECT_EQ(WINDOW + 1, self->states[0]->submitted);
	EXPECT_EQ(WINDOW, self->states[0]->done);
	for (i = 0; i <= WINDOW; i++) {
		ASSERT_TRUE(take(self, &n));
		EXPECT_EQ(i + 1, n.msgid);
		EXPECT_EQ(i, n.tag);
		EXPECT_EQ(8 * i, n.offset);
		EXPECT_EQ(100 + i, n.word);
	}
	EXPECT_EQ(WINDOW + 1, self->states[0]->done);
	/* None of the refused requests has arrived. */
	EXPECT_FALSE(take(self, &n));
	EXPECT_EQ(0, *(__u64 *)(self->p.smem.at + 8 * (WINDOW + 1)));
}

/* Bits that make a valid request an invalid one, and the error that refuses it. */
static const struct {
	int err;
	struct dd_request flip;
} spoilt[] = {
	{ ENOENT, { .conn = 1ull << 32 } },	/* the serial of an earlier connection */
	{ EINVAL, { .sqe.seq = 1 } },
	{ EOPNOTSUPP, { .sqe.opcode = DD_OP_PUT ^ DD_OP_NONE } },
	{ EOPNOTSUPP, { .sqe.opcode = DD_OP_PUT ^ DD_OP_GET } },
	{ EINVAL, { .sqe.flags = 0x80 } },
	{ EINVAL, { .sqe.__reserved = 1 } },
	{ EINVAL, { .sqe.meta_count = DD_META_WORDS + 1 } },
	{ ERANGE, { .sqe.dst = BLOCK } },
	{ ERANGE, { .sqe.src = 1ull << 63 } },
	{ EFAULT, { .sqe.flags = DD_SQE_UNWIRED } },	/* of page 0 */
	{ ENOENT, { .sqe.flags = DD_SQE_REGION, .sqe.region = DD_ID_MAX } },
};

static void spoil(struct dd_request *r, int how)
{
	const char *flip = (const char *)&spoilt[how].flip;
	size_t i;

	for (i = 0; i < sizeof(*r); i++)
		((char *)r)[i] ^= flip[i];
}

#define SPOILT	(int)(sizeof(spoilt) / sizeof(*spoilt))

/* The first, and positions before, behind and beyond what the kernel copies at once. */
TEST_F(many, one_that_is_refused_ends_it)
{
	static const int at[] = { 0, 1, 7, 8, 9, 63 };
	__u64 n = 0;
	int how, i;

	for (i = 0; i < 6; i++)
		for (how = 0; how < SPOILT; how++) {
			fill(self, 64, false, 0);
			spoil(&self->rq[at[i]], how);
			if (at[i]) {
				ASSERT_EQ(0, submit(self));
				EXPECT_EQ(spoilt[how].err, self->s.error);
			} else {
				EXPECT_ERR(spoilt[how].err, submit(self));
			}
			EXPECT_EQ(at[i], self->s.taken) {
				TH_LOG("case %d at %d", how, at[i]);
			}
			n += at[i];
			EXPECT_EQ(n, self->states[0]->submitted);
		}
}

TEST_F(many, counts_and_strides)
{
	static const struct {
		__u32 count, stride;
	} bad[] = {
		{ 4, 0 }, { 4, 64 }, { 4, 71 }, { 4, 73 }, { 4, 144 }, { 4, -1 },
		{ 0, sizeof(struct dd_request) }, { MANY + 1, sizeof(struct dd_request) },
		{ -1, sizeof(struct dd_request) },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fill(self, bad[i].count > MANY ? MANY : bad[i].count, false, 0);
		self->s.count = bad[i].count;
		self->s.stride = bad[i].stride;
		EXPECT_ERR(EINVAL, submit(self));
	}
	EXPECT_EQ(0, self->states[0]->submitted);
	fill(self, MANY, false, 0);
	ASSERT_EQ(0, submit(self));
	EXPECT_EQ(MANY, self->s.taken);
	EXPECT_EQ(MANY, self->states[0]->submitted);
}

TEST_F(many, requests_that_cannot_be_read)
{
	char *end = (char *)self->rq + ((MANY * sizeof(*self->rq)) & ~(PAGE - 1));
	unsigned int n;
	__u64 sum = 0;

	ASSERT_EQ(0, munmap(end, PAGE));
	for (n = 1; n < 20; n++) {
		fill(self, 20, false, 0);
		self->s.requests = (uintptr_t)end - n * sizeof(*self->rq);
		memcpy(end - n * sizeof(*self->rq), self->rq,
		       n * sizeof(*self->rq));
		ASSERT_EQ(0, submit(self));
		EXPECT_EQ(n, self->s.taken);
		EXPECT_EQ(EFAULT, self->s.error);
		sum += n;
	}
	EXPECT_EQ(sum, self->states[0]->submitted);
	/* The first of them is cut. */
	self->s.requests = (uintptr_t)end - 8;
	self->s.taken = self->s.error = 0;
	EXPECT_ERR(EFAULT, submit(self));
	self->s.requests = -PAGE;
	EXPECT_ERR(EFAULT, submit(self));
	EXPECT_EQ(sum, self->states[0]->submitted);
}

TEST_F(many, a_connection_that_was_closed)
{
	fill(self, 4, true, 0);
	ASSERT_EQ(0, raw_op(&self->p.cl, DD_IOC_CLOSE, self->conns[1]));
	ASSERT_EQ(0, submit(self));
	EXPECT_EQ(1, self->s.taken);
	EXPECT_EQ(ENOENT, self->s.error);
	ASSERT_EQ(0, raw_op(&self->p.srv, DD_IOC_CLOSE,
			    pair_server_conn(&self->p)));
	fill(self, 4, true, 0);
	EXPECT_ERR(ECONNRESET, submit(self));
}

static bool send_signal(void *to)
{
	usleep(100);
	return !pthread_kill(*(pthread_t *)to, SIGUSR1);
}

/* The rest is for another call; accepted requests are accepted once. */
TEST_F(many, a_signal_ends_it)
{
	const struct sigaction act = { .sa_handler = call_no_handler };
	pthread_t this = pthread_self();
	bool ended = false;
	struct loop l;
	__u64 sum = 0;
	double end;

	sigaction(SIGUSR1, &act, NULL);
	ASSERT_TRUE(loop_begin(&l, send_signal, &this));
	for (end = dd_now() + dd_patience() / 1e3; !ended && dd_now() < end;) {
		fill(self, MANY, false, 0);
		ASSERT_EQ(0, submit(self));
		ASSERT_LE(1, self->s.taken);
		ended = self->s.taken < MANY;
		EXPECT_EQ(ended ? EINTR : 0, self->s.error);
		sum += self->s.taken;
		EXPECT_EQ(sum, self->states[0]->submitted);
	}
	EXPECT_EQ(0, loop_end(&l));
	EXPECT_TRUE(ended);
}

DD_TEST_MAIN
