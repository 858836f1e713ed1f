// SPDX-License-Identifier: GPL-2.0-only
/*
 * One-sided memory between nodes: PUT, GET, CAS, notes, and refusals. Run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "net_mem.h"
#include <pthread.h>
#include <sys/resource.h>

TEST_F(far, both_nodes_report_it)
{
	EXPECT_EQ(1, reported("dd1", "import", "length"));
	EXPECT_EQ(2, reported("dd1", "import", ".[0].peer_node"));
	EXPECT_EQ(BULK, reported("dd1", "import", ".[0].length"));
	EXPECT_EQ(0, reported("dd1", "segment", "length"));
	EXPECT_EQ(1, reported("dd2", "segment", ".[0].importers"));
	EXPECT_EQ(0, reported("dd2", "import", "length"));
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	while (!*(volatile __u32 *)&self->cs->cs.error)
		sched_yield();
	EXPECT_EQ(ESTALE, reported("dd1", "import", ".[0].error"));
}

/* A segment may begin between words of 8 bytes, and pages need not be contiguous. */
TEST_F(far, the_last_word_may_cross_a_page)
{
	char *own = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dd_region_pin p = { .size = sizeof(p), .address = (uintptr_t)own,
				   .length = 2 * PAGE };
	struct dd_segment_make s;
	struct dd_import_make i;

	ASSERT_NE(MAP_FAILED, own);
	/* Allocates the pages in descending order. */
	own[PAGE] = 1;
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_REGION_PIN, &p));
	s = mem_segment(&(struct mem){ .id = p.region, .len = PAGE }, "far_cross");
	s.offset = 4;
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(import(&self->im, &s, DD_RIGHT_PUT, 0, &i));
	ASSERT_EQ(1, mem_put(&self->im, &i, "12345678", PAGE - 8, 8, 0));
	ASSERT_OK(wait_done(&self->im, &i, 1));
	EXPECT_EQ(0, memcmp(own + PAGE - 8, "\0\0\0\00012345678\0\0\0", 16));
	ASSERT_OK(mem_end(&self->ex, s.segment));
}

TEST_F(far, many_gets_are_under_way)
{
	struct dd_sqe sqe = {
		.opcode = DD_OP_GET, .flags = DD_SQE_REGION, .region = self->imem.id,
		.len = 4096,
	};
	struct dd_import_make i;
	int n;

	self->s.list = 0;
	self->s.window = DD_DEPTH_MAX;
	self->s.policy = DD_POLICY_NEVER;
	self->s.segment = 0;
	self->s.generation = 0;
	strcpy((char *)self->s.key, "deep");
	ASSERT_OK(mem_export(&self->ex, &self->s));
	ASSERT_OK(import(&self->im, &self->s, DD_RIGHT_GET, DD_DEPTH_MAX, &i));
	pattern(self->em.at, BULK, 1);
	for (n = 0; n < DD_DEPTH_MAX; n++) {
		sqe.src = 4096 * n;
		sqe.dst = 4096 * n;
		ASSERT_EQ(1, mem_op(&self->im, &i, &sqe));
	}
	ASSERT_OK(wait_done(&self->im, &i, n));
	EXPECT_EQ(0, memcmp(self->em.at, self->imem.at, 4096 * n));
}

/* Bytes that 8 imports of @depth are charged, at both ends. */
static long long charged_for(FIXTURE_DATA(far) *self, const struct dd_segment_make *s, __u32 depth)
{
	long long before = memlock_used(&self->ex);
	struct dd_import_make i;
	int n;

	for (n = 0; n < 8; n++)
		if (import(&self->im, s, DD_RIGHT_GET, depth, &i))
			return -1;
	return memlock_used(&self->ex) - before;
}

/* What more a large depth costs than the usual one. */
static long long cost_of_depth(FIXTURE_DATA(far) *self, const struct dd_segment_make *s)
{
	long long usual = charged_for(self, s, DD_DEPTH_USUAL);

	return charged_for(self, s, DD_DEPTH_MAX) - usual;
}

/*
 * An importer that asks for more requests than the exporter permits costs it no more. One user
 * is charged for both ends here. Of a segment with a list and a window of 1, only the importer
 * pays for the depth.
 */
TEST_F(far, the_exporter_decides_what_an_import_costs_it)
{
	struct dd_segment_make s = mem_segment(&self->em, "costs"), one = self->s;
	long long importer;

	strcpy((char *)one.key, "costs_one");
	one.segment = 0;
	one.generation = 0;
	one.window = 1;
	one.importers = 16;
	ASSERT_OK(mem_export(&self->ex, &one));
	ASSERT_OK(mem_export(&self->ex, &s));
	importer = cost_of_depth(self, &one);
	ASSERT_LT(0, importer);
	EXPECT_LE(cost_of_depth(self, &s), importer + 2 * PAGE);
}

/* Kilobytes of a line of /proc/meminfo. */
static long long meminfo(const char *line)
{
	return printed_number("awk '/^%s:/ { print $2 }' /proc/meminfo", line);
}

/* An import for as many GETs of a segment as are permitted. */
static int flood_begin(FIXTURE_DATA(far) *self, const struct mem *m,
		       struct dd_segment_make *s, struct dd_import_make *i)
{
	*s = mem_segment(m, "flooded");
	s->window = DD_DEPTH_MAX;
	return mem_export(&self->ex, s) ?:
	       import(&self->im, s, DD_RIGHT_GET, DD_DEPTH_MAX, i);
}

/*
 * Ask for all bytes again and again, until as many GETs as are permitted are under way. With one
 * processor each may be done before the next one, so their number is limited, too.
 */
static int flood(FIXTURE_DATA(far) *self, const struct dd_import_make *i)
{
	const struct dd_sqe sqe = {
		.opcode = DD_OP_GET, .flags = DD_SQE_REGION, .region = self->imem.id,
		.len = BULK,
	};
	int n = 0;

	while (n < 2 * DD_DEPTH_MAX && mem_op(&self->im, i, &sqe) == 1)
		n++;
	return n == 2 * DD_DEPTH_MAX || errno == EBUSY ? n : -1;
}

/*
 * Replies are copied from the segment when it is their channel's turn: however
 * much is asked for, the exporter needs no more memory, and another import gets on.
 */
TEST_F(far, an_importer_that_asks_for_much_holds_up_nobody)
{
	struct dd_segment_make s;
	struct dd_import_make i;
	struct dd_conn_state *cs;
	long long used, free;
	__u64 done;
	int n;

	ASSERT_OK(flood_begin(self, &self->em, &s, &i));
	cs = raw_state(&self->im, i.state_unit);
	used = memlock_used(&self->ex);
	free = meminfo("MemFree");
	for (n = 0; n < 5; n++) {
		ASSERT_LE(n ? 0 : DD_DEPTH_MAX, flood(self, &i));
		done = *(volatile __u64 *)&cs->done;
		ASSERT_EQ(1, cas(self, 0, 8, n, n + 1, 0));
		ASSERT_EQ(0, result(self));
		/*
		 * It does not wait for the requests before it. Those that are done
		 * meanwhile are fewer by far, unless this process waits for a processor.
		 */
		EXPECT_LE(*(volatile __u64 *)&cs->done - done, DD_DEPTH_MAX / 2);
		EXPECT_EQ(used, memlock_used(&self->ex));
		EXPECT_LT(free - meminfo("MemFree"), 16 << 10);
	}
	EXPECT_EQ(5, *(__u64 *)self->em.at);
}

static void memlock(__u64 bytes)
{
	const struct rlimit l = { bytes, 8 * BULK };

	CHILD_CHECK(setrlimit(RLIMIT_MEMLOCK, &l) == 0);
}

static int put_bulk(const struct raw *r, const struct dd_import_make *i)
{
	static char from[BULK];

	return mem_put(r, i, from, 0, sizeof(from), 0);
}

static void import_bulk(FIXTURE_DATA(far) *self, struct raw *r, struct dd_import_make *i)
{
	CHILD_CHECK(raw_open(r) == 0);
	CHILD_CHECK(import(r, &self->s, DD_RIGHT_PUT, DD_DEPTH_MAX, i) == 0);
}

/* As many requests as the limit permits, while the other node is not reached. */
static void put_to_the_limit(const struct raw *r, const struct dd_import_make *i,
			     const struct raw *other)
{
	struct mem m;
	int n = 0;

	while (n < DD_DEPTH_MAX && put_bulk(r, i) == 1)
		n++;
	CHILD_CHECK(errno == EBUSY);
	CHILD_CHECK(n == 7);
	CHILD_CHECK(memlock_used(other) > 7 * BULK);
	CHILD_ERR(EDQUOT, raw_alloc(other, BULK, &m));
}

/* Requests beyond the limit wait for earlier ones; the memory can be used when they are done. */
static void put_beyond_the_limit(const struct raw *r, const struct dd_import_make *i)
{
	const struct dd_conn_state *cs = raw_state(r, i->state_unit);
	struct mem m;
	int n;

	for (n = 0; n < 40; n++)
		while (put_bulk(r, i) != 1) {
			CHILD_CHECK(errno == EBUSY);
			CHILD_CHECK(wait_done(r, i, *(volatile __u64 *)&cs->done + 1) == 0);
		}
	CHILD_CHECK(wait_done(r, i, n) == 0);
	CHILD_CHECK(raw_alloc(r, 7 * BULK, &m) == 0);
	/* Nothing is under way, and the request does not fit. */
	CHILD_ERR(EDQUOT, put_bulk(r, i));
	CHILD_CHECK(raw_free(r, &m) == 0);
	CHILD_CHECK(put_bulk(r, i) == 1);
	CHILD_CHECK(wait_done(r, i, n + 1) == 0);
	memlock(BULK / 2);
	CHILD_ERR(EDQUOT, put_bulk(r, i));
}

TEST_F(far, copies_of_sources_count_against_memlock)
{
	volatile int *step = shared_memory(sizeof(*step));
	struct dd_import_make i;
	struct raw r, other;
	long long before;
	int ready;
	pid_t pid;

	ASSERT_EQ(0, dead_time(600000));
	self->s = mem_segment(&self->em, "copied");
	ASSERT_OK(mem_export(&self->ex, &self->s));
	pid = fork_until_report(&ready);
	if (!pid) {
		memlock(8 * BULK);
		CHILD_CHECK(become_user(30000 + getpid() % 10000) == 0);
		CHILD_CHECK(raw_open(&other) == 0);
		before = memlock_used(&other);
		import_bulk(self, &r, &i);
		child_report(ready);
		CHILD_CHECK(WAIT_FOR(*step == 1));
		put_to_the_limit(&r, &i, &other);
		raw_close(&r);
		CHILD_CHECK(memlock_used(&other) == before);
		*step = 2;
		CHILD_CHECK(WAIT_FOR(*step == 3));
		import_bulk(self, &r, &i);
		put_beyond_the_limit(&r, &i);
		_exit(0);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, impair(1, "loss 100%"));
	*step = 1;
	EXPECT_TRUE(WAIT_FOR(*step == 2));
	ASSERT_EQ(0, impair(1, NULL));
	*step = 3;
	ASSERT_CHILD_OK(pid);
	ASSERT_EQ(0, dead_time(5000));
}

TEST_F(far, the_end_of_the_segment_ends_its_replies)
{
	struct dd_segment_make s;
	struct dd_import_make i;
	struct mem m;

	ASSERT_OK(raw_alloc(&self->ex, BULK, &m));
	ASSERT_OK(flood_begin(self, &m, &s, &i));
	ASSERT_LE(DD_DEPTH_MAX, flood(self, &i));
	ASSERT_OK(mem_end(&self->ex, s.segment));
	EXPECT_ERR(ESTALE, wait_done(&self->im, &i, ~0ull));
	memset(self->imem.at, 0, BULK);
	ASSERT_EQ(1, cas(self, 0, 8, 0, 1, 0));
	ASSERT_EQ(0, result(self));
	for (size_t k = 8; k < BULK; k++)
		ASSERT_EQ(0, self->imem.at[k]);
	/* Replies do not keep its memory. */
	munmap(m.at, m.len);
	EXPECT_EQ(0, raw_op(&self->ex, DD_IOC_REGION_FREE, m.id));
}

TEST_F(far, requests_are_executed_in_their_order)
{
	__u64 *was = (__u64 *)self->imem.at, now, n;

	for (n = 0; n < 50; n++) {
		const __u64 value = n + 1;

		ASSERT_EQ(1, put(self, &value, 8, 8, 0));
		ASSERT_EQ(1, cas(self, 8, 8, value, value + 1000, 0));
		ASSERT_EQ(1, get(self, &now, 8, 8));
		/* Neither may overtake the GET. */
		if (self->cs->cs.done != self->cs->cs.submitted &&
		    put(self, &value, 8, 8, 0) < 0)
			ASSERT_EQ(EBUSY, errno);
		ASSERT_EQ(0, result(self));
		ASSERT_EQ(value, was[0]);
		ASSERT_EQ(value + 1000, now);
	}
}

TEST_F(far, notes_bring_their_payloads_in_order)
{
	struct dd_sqe sqe = {
		.opcode = DD_OP_NOTE, .flags = DD_SQE_REGION, .region = self->imem.id,
	};
	char bytes[DD_PAYLOAD_MAX];
	unsigned int i, k, sent = 0;
	struct dd_note n;

	for (i = 0; i <= DD_PAYLOAD_MAX; i++) {
		while (sent <= DD_PAYLOAD_MAX && sent < i + MEM_WINDOW) {
			pattern(self->imem.at + 64 * sent, sent, sent);
			sqe.src = 64 * sent;
			sqe.len = sent;
			pattern(bytes, sent, sent);
			/* By turns from wired memory and from other memory. */
			ASSERT_EQ(1, sent & 1 ? mem_op(&self->im, &self->i, &sqe) :
				     mem_note(&self->im, &self->i, bytes, sent));
			sent++;
			ASSERT_EQ(0, result(self));
		}
		ASSERT_TRUE(take(self, &n));
		ASSERT_EQ(DD_OP_NOTE, n.op);
		ASSERT_EQ(i, n.len);
		ASSERT_EQ(i + 1, n.msgid);
		pattern(bytes, i, i);
		ASSERT_EQ(0, memcmp(n.payload, bytes, i));
	}
	for (k = 0; k < 64; k++)
		ASSERT_EQ(0, self->em.at[k]);
}

struct toggle {
	const struct raw *r;
	__u64 segment;
	volatile bool over;
};

static void *toggle_run(void *arg)
{
	struct toggle *t = arg;
	int on = 0;

	while (!t->over) {
		on = !on;
		mem_ctl(t->r, t->segment, DD_SEGMENT_INHIBIT, on, 0, 0);
		usleep(on ? 50 : 500);
	}
	mem_ctl(t->r, t->segment, DD_SEGMENT_INHIBIT, 0, 0, 0);
	return NULL;
}

/*
 * Unless one was lost, the packets of a message arrive in their order, and the bytes that
 * were stored before a refusal are the first ones.
 */
TEST_F(far, no_byte_is_stored_after_those_that_were_refused)
{
	struct toggle t = { .r = &self->ex, .segment = self->s.segment };
	const char *counter = ".[0].packets_lost";
	long long lost, before = reported("dd1", "peer", counter);
	static char from[BULK];
	unsigned int i, rounds = dd_count(400), refused = 0;
	pthread_t thread;
	size_t k;
	int err;

	ASSERT_EQ(0, pthread_create(&thread, NULL, toggle_run, &t));
	for (i = 0; i < rounds; i++) {
		memset(from, 1 + i % 2, sizeof(from));
		memset(self->em.at, 0, sizeof(from));
		ASSERT_EQ(1, put(self, from, 0, sizeof(from), 0));
		err = result(self);
		for (k = 0; k < sizeof(from) && self->em.at[k]; k++)
			;
		ASSERT_EQ(!err, k == sizeof(from));
		if (!err)
			continue;
		ASSERT_EQ(EACCES, err);
		refused += k > 0;
		for (; k < sizeof(from) && !self->em.at[k]; k++)
			;
		if (k == sizeof(from))
			continue;
		lost = reported("dd1", "peer", counter);
		ASSERT_LT(before, lost);
		before = lost;
	}
	ASSERT_LE(0, before);
	t.over = true;
	pthread_join(thread, NULL);
	TH_LOG("%u of %u messages refused in the middle", refused, i);
}

DD_TEST_MAIN
