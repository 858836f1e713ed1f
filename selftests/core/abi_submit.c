// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many requests in one call: order, refusal, and what was accepted before it.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include <sys/wait.h>
#include "raw.h"

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

TEST_F(many, of_one_connection_arrive_in_order)
{
	struct dd_note n;
	int i;

	/* As many as the window holds, and the one with a withheld note. */
	fill(self, WINDOW + 1, false, DD_SQE_NOTIFY);
	ASSERT_EQ(0, submit(self));
	EXPECT_EQ(WINDOW + 1, self->s.taken);
	EXPECT_EQ(0, self->s.error);
	EXPECT_EQ(WINDOW + 1, self->states[0]->submitted);
	EXPECT_EQ(WINDOW, self->states[0]->done);
	for (i = 0; i <= WINDOW; i++) {
		ASSERT_TRUE(take(self, &n));
		EXPECT_EQ(i + 1, n.msgid);
		EXPECT_EQ(i, n.tag);
		EXPECT_EQ(8 * i, n.offset);
		EXPECT_EQ(100 + i, n.word);
	}
	EXPECT_FALSE(take(self, &n));
	EXPECT_EQ(WINDOW + 1, self->states[0]->done);
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

	fill(self, WINDOW + 3, false, DD_SQE_NOTIFY);
	ASSERT_EQ(0, submit(self));
	EXPECT_EQ(WINDOW + 1, self->s.taken);
	EXPECT_EQ(EBUSY, self->s.error);
	EXPECT_EQ(WINDOW + 1, self->states[0]->submitted);
	/* None of the refused requests has arrived. */
	for (i = 0; i <= WINDOW; i++)
		ASSERT_TRUE(take(self, &n));
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

TEST_F(many, the_first_is_refused)
{
	int how;

	for (how = 0; how < SPOILT; how++) {
		fill(self, 3, true, 0);
		spoil(&self->rq[0], how);
		EXPECT_ERR(spoilt[how].err, submit(self));
		EXPECT_EQ(0, self->states[0]->submitted);
		EXPECT_EQ(0, self->states[1]->submitted);
		EXPECT_EQ(0, self->s.taken);
	}
}

/* Positions before, behind and beyond what the kernel copies at once. */
TEST_F(many, one_in_the_middle_is_refused)
{
	static const int at[] = { 1, 7, 8, 9, 63 };
	__u64 n = 0;
	int how, i;

	for (i = 0; i < 5; i++)
		for (how = 0; how < SPOILT; how++) {
			fill(self, 64, false, 0);
			spoil(&self->rq[at[i]], how);
			ASSERT_EQ(0, submit(self));
			EXPECT_EQ(at[i], self->s.taken);
			EXPECT_EQ(spoilt[how].err, self->s.error) {
				TH_LOG("case %d at %d", how, at[i]);
			}
			n += at[i];
			EXPECT_EQ(n, self->states[0]->submitted);
		}
}

TEST_F(many, counts_and_strides)
{
	static const __u32 strides[] = { 0, 64, 71, 73, 144, -1 };
	int i;

	fill(self, 4, false, 0);
	for (i = 0; i < 6; i++) {
		self->s.stride = strides[i];
		EXPECT_ERR(EINVAL, submit(self));
	}
	fill(self, 4, false, 0);
	self->s.count = 0;
	EXPECT_ERR(EINVAL, submit(self));
	self->s.count = MANY + 1;
	EXPECT_ERR(EINVAL, submit(self));
	self->s.count = -1;
	EXPECT_ERR(EINVAL, submit(self));
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

/* Sources that may make the kernel sleep, between others. */
TEST_F(many, unwired_and_long_ones_among_others)
{
	char *big = malloc(BLOCK);
	struct dd_note n;
	int i;

	memset(big, 'x', BLOCK);
	fill(self, 4, true, DD_SQE_NOTIFY);
	self->rq[1].sqe.flags |= DD_SQE_UNWIRED;
	self->rq[1].sqe.src = (uintptr_t)big;
	self->rq[1].sqe.dst = 0;
	self->rq[1].sqe.len = BLOCK;
	ASSERT_EQ(0, submit(self));
	EXPECT_EQ(4, self->s.taken);
	for (i = 0; i < 4; i++) {
		ASSERT_TRUE(take(self, &n));
		EXPECT_EQ(i, n.tag);
		EXPECT_EQ(i == 1 ? BLOCK : 8, n.len);
	}
	/* A later request has overwritten part of the long message. */
	EXPECT_EQ(203, *(__u64 *)(self->p.smem.at + BLOCK + 24));
	EXPECT_EQ('x', self->p.smem.at[BLOCK]);
	free(big);
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

struct crowd {
	FIXTURE_DATA(many) *self;
	bool back;
	__u64 taken[2];
	int error;
};

#define ROUNDS	dd_count(400)

static void *submit_many(void *arg)
{
	struct crowd *c = arg;
	struct dd_request rq[16];
	int i, k, n = ROUNDS;

	for (i = 0; i < 16; i++)
		rq[i] = (struct dd_request){
			.conn = c->self->conns[(i + c->back) % 2],
			.sqe = { .opcode = DD_OP_PUT, .len = 8 },
		};
	for (i = 0; i < n; i++) {
		struct dd_submit s = {
			.size = sizeof(s), .requests = (uintptr_t)rq,
			.count = 16, .stride = sizeof(*rq),
		};

		if (raw_ioctl(&c->self->p.cl, DD_IOC_SUBMIT, &s) || s.error)
			c->error = s.error ? (int)s.error : errno;
		for (k = 0; k < (int)s.taken; k++)
			c->taken[(k + c->back) % 2]++;
	}
	return NULL;
}

/* No request is lost or counted twice while several threads submit. */
TEST_F(many, by_several_threads)
{
	struct crowd crowd[4] = {};
	pthread_t threads[4];
	__u64 sum[2] = {};
	int i;

	for (i = 0; i < 4; i++) {
		crowd[i].self = self;
		crowd[i].back = i % 2;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, submit_many,
					    &crowd[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, crowd[i].error);
		sum[0] += crowd[i].taken[0];
		sum[1] += crowd[i].taken[1];
	}
	EXPECT_EQ(4 * 8 * ROUNDS, sum[0]);
	EXPECT_EQ(sum[0], self->states[0]->submitted);
	EXPECT_EQ(sum[1], self->states[1]->submitted);
}

static void nothing(int sig)
{
}

struct bell {
	pthread_t to;
	bool stop;
};

static void *ring(void *arg)
{
	struct bell *b = arg;

	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		pthread_kill(b->to, SIGUSR1);
		usleep(100);
	}
	return NULL;
}

/* The rest is for another call; accepted requests are accepted once. */
TEST_F(many, a_signal_ends_it)
{
	struct bell bell = { .to = pthread_self() };
	struct sigaction act = { .sa_handler = nothing };
	bool ended = false;
	pthread_t thread;
	__u64 sum = 0;
	double end;

	sigaction(SIGUSR1, &act, NULL);
	ASSERT_EQ(0, pthread_create(&thread, NULL, ring, &bell));
	for (end = dd_now() + dd_patience() / 1e3; !ended && dd_now() < end;) {
		fill(self, MANY, false, 0);
		ASSERT_EQ(0, submit(self));
		ASSERT_LE(1, self->s.taken);
		ended = self->s.taken < MANY;
		EXPECT_EQ(ended ? EINTR : 0, self->s.error);
		sum += self->s.taken;
		EXPECT_EQ(sum, self->states[0]->submitted);
	}
	__atomic_store_n(&bell.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_TRUE(ended);
}

/*
 * A sender that is killed meanwhile leaves nothing, and harms no other sender.
 */
TEST_F(many, killed_in_the_middle)
{
	int i, status, ready;
	struct pair own = {};
	pid_t pid;

	/* The senders get the free block in turn. */
	ASSERT_EQ(0, raw_op(&self->p.cl, DD_IOC_CLOSE, self->conns[1]));
	for (i = 0; i < 3; i++) {
		pid = fork_until_report(&ready);
		if (!pid) {
			if (raw_start(&own.cl, 2 * BLOCK, &own.cmem))
				_exit(1);
			raw_connect_args(&own.c, self->p.name, &own.cmem);
			/* The previous connection may not have ended yet. */
			if (!WAIT_FOR(!raw_connect(&own.cl, &own.c)))
				_exit(2);
			self->p.cl = own.cl;
			self->conns[0] = own.c.conn;
			for (bool first = true;; first = false) {
				fill(self, MANY, false, 0);
				if (submit(self))
					_exit(3);
				if (first)
					child_report(ready);
			}
		}
		ASSERT_LT(0, pid);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		EXPECT_TRUE(WIFSIGNALED(status));
	}
	fill(self, 2, false, DD_SQE_NOTIFY);
	ASSERT_EQ(0, submit(self));
	EXPECT_EQ(2, self->s.taken);
}

DD_TEST_MAIN
