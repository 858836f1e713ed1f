// SPDX-License-Identifier: GPL-2.0-only
/*
 * One-sided memory between nodes: PUT, GET, CAS, notes, and refusals. Run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define SEGMENT_LEN	BULK
#include "exporter.h"
#include "nodes.h"
#include "threads.h"

TEST_F(mem, both_nodes_report_it)
{
	EXPECT_EQ(1, reported(1, "import", "length"));
	EXPECT_EQ(2, reported(1, "import", ".[0].peer_node"));
	EXPECT_EQ(BULK, reported(1, "import", ".[0].length"));
	EXPECT_EQ(0, reported(1, "segment", "length"));
	EXPECT_EQ(1, reported(2, "segment", ".[0].importers"));
	EXPECT_EQ(0, reported(2, "import", "length"));
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	ASSERT_SOON(self->cs->error);
	EXPECT_EQ(ESTALE, reported(1, "import", ".[0].error"));
}

/* Bytes that 8 imports of @depth are charged, at both ends. */
static long long charged_for(FIXTURE_DATA(mem) *self, const struct dd_segment_make *s, __u32 depth)
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
static long long cost_of_depth(FIXTURE_DATA(mem) *self, const struct dd_segment_make *s)
{
	long long usual = charged_for(self, s, DD_DEPTH_USUAL);

	return charged_for(self, s, DD_DEPTH_MAX) - usual;
}

/*
 * An importer that asks for more requests than the exporter permits costs it no more. One user
 * is charged for both ends here. Of a segment with a list and a window of 1, only the importer
 * pays for the depth.
 */
TEST_F(mem, the_exporter_decides_what_an_import_costs_it)
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
static int flood_begin(FIXTURE_DATA(mem) *self, const struct mem *m,
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
static int flood(FIXTURE_DATA(mem) *self, const struct dd_import_make *i)
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
TEST_F(mem, an_importer_that_asks_for_much_holds_up_nobody)
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

TEST_F(mem, the_end_of_the_segment_ends_its_replies)
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

TEST_F(mem, requests_are_executed_in_their_order)
{
	__u64 *was = (__u64 *)self->imem.at, now, n;

	for (n = 0; n < 50; n++) {
		const __u64 value = n + 1;

		ASSERT_EQ(1, put(self, &value, 8, 8, 0));
		ASSERT_EQ(1, cas(self, 8, 8, value, value + 1000, 0));
		ASSERT_EQ(1, get(self, &now, 8, 8));
		/* Neither may overtake the GET. */
		if (self->cs->done != self->cs->submitted &&
		    put(self, &value, 8, 8, 0) < 0)
			ASSERT_EQ(EBUSY, errno);
		ASSERT_EQ(0, result(self));
		ASSERT_EQ(value, was[0]);
		ASSERT_EQ(value + 1000, now);
	}
}

/* They are of one node, which gets both in one go. */
TEST_F(mem, one_submission_has_requests_of_two_imports)
{
	const __u64 value[] = { 0x1122334455667788, 0x99aabbccddeeff00 };
	volatile __u64 *stored = (__u64 *)self->em.at;
	struct dd_request rq[2];
	struct dd_submit s = {
		.size = sizeof(s), .requests = (uintptr_t)rq, .count = 2, .stride = sizeof(*rq),
	};
	struct dd_import_make other;

	ASSERT_OK(import(&self->im, &self->s, DD_RIGHT_PUT, DD_DEPTH_USUAL, &other));
	for (int k = 0; k < 2; k++)
		rq[k] = (struct dd_request){
			.conn = k ? other.import : self->i.import,
			.sqe = {
				.opcode = DD_OP_PUT, .flags = DD_SQE_UNWIRED, .len = 8,
				.src = (uintptr_t)&value[k], .dst = 8 * k,
			},
		};
	ASSERT_OK(raw_ioctl(&self->im, DD_IOC_SUBMIT, &s));
	EXPECT_EQ(2, s.taken);
	ASSERT_SOON(stored[0] == value[0] && stored[1] == value[1]);
}

TEST_F(mem, notes_bring_their_payloads_in_order)
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

static bool inhibit_for_a_moment(void *self)
{
	if (inhibit(self, true))
		return false;
	usleep(50);
	if (inhibit(self, false))
		return false;
	usleep(500);
	return true;
}

/*
 * Unless one was lost, the packets of a message arrive in their order, and the bytes that
 * were stored before a refusal are the first ones.
 */
TEST_F(mem, no_byte_is_stored_after_those_that_were_refused)
{
	const char *counter = ".[0].packets_lost";
	long long lost, before = reported(1, "peer", counter);
	static char from[BULK];
	unsigned int i, rounds = dd_count(400), refused = 0;
	struct loop l;
	size_t k;
	int err;

	ASSERT_TRUE(loop_begin(&l, inhibit_for_a_moment, self));
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
		lost = reported(1, "peer", counter);
		ASSERT_LT(before, lost);
		before = lost;
	}
	ASSERT_LE(0, before);
	EXPECT_EQ(0, loop_end(&l));
	TH_LOG("%u of %u messages refused in the middle", refused, i);
}

DD_TEST_MAIN
