// SPDX-License-Identifier: GPL-2.0-only
/*
 * One-sided memory between nodes: export, import, PUT, GET, CAS, notes, refusals, and what
 * ends them. Run by across.sh; one process has a context on each node.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include "dd_harness.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "asleep.h"
#include "mem.h"

#define BULK	(1 << 20)
#define SECOND	1000000000ull

static int enter(const char *netns)
{
	int fd = open(netns, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -1;
	ret = setns(fd, CLONE_NEWNET);
	close(fd);
	return ret;
}

/* A context on the other node. The process returns to its own. */
static int raw_start_there(struct raw *r, size_t len, struct mem *m)
{
	int ret = enter("/run/netns/dd2") ?: raw_start(r, len, m);

	return enter("/run/netns/dd1") ?: ret;
}

/* @ex exports all of @em on the other node, @im imports it. */
FIXTURE(far) {
	struct raw ex, im;
	struct mem em, imem;
	struct dd_list_make list;
	struct dd_segment_make s;
	struct dd_import_make i;
	struct dd_import_cell *cell;
};

static int import_flags(const struct raw *r, const struct dd_segment_make *s, __u32 flags,
			__u32 list, struct dd_import_make *i)
{
	*i = (struct dd_import_make){
		.size = sizeof(*i), .flags = flags, .node = 2, .key_class = s->key_class,
		.rights = DD_RIGHTS, .list = list, .cookie = list ? 99 : 0,
	};
	memcpy(i->key, s->key, sizeof(i->key));
	return raw_ioctl(r, DD_IOC_IMPORT, i);
}

static int import(const struct raw *r, const struct dd_segment_make *s, __u32 rights,
		  __u32 depth, struct dd_import_make *i)
{
	*i = (struct dd_import_make){
		.size = sizeof(*i), .node = 2, .key_class = s->key_class,
		.rights = rights, .depth = depth,
	};
	memcpy(i->key, s->key, sizeof(i->key));
	return raw_ioctl(r, DD_IOC_IMPORT, i);
}

FIXTURE_SETUP(far)
{
	ASSERT_OK(raw_start_there(&self->ex, BULK, &self->em));
	ASSERT_OK(raw_start(&self->im, BULK, &self->imem));
	ASSERT_OK(mem_list(&self->ex, &self->list));
	self->s = mem_segment(&self->em, "far");
	self->s.list = self->list.list;
	self->s.window = MEM_WINDOW;
	self->s.policy = DD_POLICY_CONDITIONAL;
	self->s.cookie = 0x1122334455667788;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	ASSERT_OK(import(&self->im, &self->s, DD_RIGHTS, 0, &self->i));
	self->cell = raw_unit(&self->im, self->i.cell_unit);
}

FIXTURE_TEARDOWN(far)
{
	raw_close(&self->im);
	raw_close(&self->ex);
}

static int wait_done(const struct raw *r, const struct dd_import_make *i, __u64 n)
{
	return raw_conn_wait(r, i->import, DD_WAIT_DONE, n, 60 * SECOND);
}

/* Wait for the last request; returns its errno, or -1. */
static int result(FIXTURE_DATA(far) *self)
{
	__u64 n = self->cell->cell.submitted;

	return wait_done(&self->im, &self->i, n) ? -1 : self->cell->result[n % DD_RESULTS];
}

static int put(FIXTURE_DATA(far) *self, const void *src, __u64 dst, __u64 len, __u8 flags)
{
	return mem_put(&self->im, &self->i, src, dst, len, flags);
}

static int get(FIXTURE_DATA(far) *self, void *to, __u64 dst, __u64 len)
{
	return mem_get(&self->im, &self->i, to, dst, len);
}

static int cas(FIXTURE_DATA(far) *self, __u64 dst, __u64 len, __u64 old, __u64 new,
	       __u8 flags)
{
	return mem_cas(&self->im, &self->i, &self->imem, 0, dst, len, old, new, flags);
}

static bool take(FIXTURE_DATA(far) *self, struct dd_note *n)
{
	return raw_take(&self->ex, self->list.list_unit, n);
}

static void pattern(char *at, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		at[i] = (i * 31 + seed * 7 + (i >> 8)) & 0xff;
}

TEST_F(far, import_describes_the_segment)
{
	EXPECT_EQ(BULK, self->i.length);
	EXPECT_EQ(self->s.generation, self->i.generation);
	EXPECT_EQ(BULK, self->cell->cell.peer_size);
	EXPECT_EQ(MEM_WINDOW, self->cell->cell.window);
	EXPECT_EQ(2, self->cell->cell.node);
	EXPECT_EQ(self->i.import, self->cell->cell.conn);
}

/* A number that ddctl reports, of the node whose namespace is @netns. */
static long long reported(const char *netns, const char *object, const char *filter)
{
	/* The builtin ip of the guest's shell has no namespaces. */
	return printed_number("bash -c 'ip netns exec %s ddctl -j %s' | jq '%s'", netns, object,
			      filter);
}

TEST_F(far, both_nodes_report_it)
{
	EXPECT_EQ(1, reported("dd1", "import", "length"));
	EXPECT_EQ(2, reported("dd1", "import", ".[0].peer_node"));
	EXPECT_EQ(BULK, reported("dd1", "import", ".[0].length"));
	EXPECT_EQ(0, reported("dd1", "segment", "length"));
	EXPECT_EQ(1, reported("dd2", "segment", ".[0].importers"));
	EXPECT_EQ(0, reported("dd2", "import", "length"));
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	while (!*(volatile __u32 *)&self->cell->cell.error)
		sched_yield();
	EXPECT_EQ(ESTALE, reported("dd1", "import", ".[0].error"));
}

TEST_F(far, put_and_get_move_bytes_at_any_offset)
{
	const size_t off[] = { 0, 1, 7, PAGE - 3, 2 * PAGE + 5 };
	const size_t len[] = { 0, 1, 8, 9, 64, 511, 4096, 5 * PAGE - 6, 100000 };
	static char from[BULK], to[BULK];
	unsigned int i, k;

	for (i = 0; i < 5; i++)
		for (k = 0; k < 9; k++) {
			memset(self->em.at, 0xee, 2 * len[8]);
			memset(to, 0xdd, 2 * len[8]);
			pattern(from + i, len[k], i * 16 + k);
			ASSERT_EQ(1, put(self, from + i, off[i], len[k], 0));
			ASSERT_EQ(0, result(self));
			ASSERT_EQ(0, memcmp(self->em.at + off[i], from + i, len[k]));
			ASSERT_EQ('\xee', self->em.at[off[i] + len[k]]);
			ASSERT_EQ(1, get(self, to + 1 + k, off[i], len[k]));
			ASSERT_EQ(0, result(self));
			ASSERT_EQ(0, memcmp(to + 1 + k, from + i, len[k]));
			ASSERT_EQ('\xdd', to[k]);
			ASSERT_EQ('\xdd', to[1 + k + len[k]]);
		}
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
	self->s.window = 0;
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

TEST_F(far, cas_swaps_words_of_4_and_8_bytes)
{
	__u64 *word = (__u64 *)self->em.at, *was = (__u64 *)self->imem.at;

	*word = 0x1111111122222222;
	*was = ~0ull;
	ASSERT_EQ(1, cas(self, 0, 8, 1, 2, 0));
	ASSERT_EQ(0, result(self));
	EXPECT_EQ(0x1111111122222222, *was);
	EXPECT_EQ(0x1111111122222222, *word);
	ASSERT_EQ(1, cas(self, 0, 8, 0x1111111122222222, 5, 0));
	ASSERT_EQ(0, result(self));
	EXPECT_EQ(0x1111111122222222, *was);
	EXPECT_EQ(5, *word);
	*was = ~0ull;
	ASSERT_EQ(1, cas(self, 4, 4, 0, 9, 0));
	ASSERT_EQ(0, result(self));
	EXPECT_EQ(0xffffffff00000000, *was);
	EXPECT_EQ(0x900000005, *word);
	ASSERT_EQ(1, cas(self, 0, 8, 0x900000005, 1, DD_SQE_STATUS));
	ASSERT_EQ(0, result(self));
	EXPECT_EQ(1, *was);
	ASSERT_EQ(1, cas(self, 0, 8, 0x900000005, 1, DD_SQE_STATUS));
	ASSERT_EQ(0, result(self));
	EXPECT_EQ(2, *was);
	ASSERT_EQ(1, cas(self, 4, 8, 0, 1, 0));
	EXPECT_EQ(EINVAL, result(self));
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
		if (self->cell->cell.done != self->cell->cell.submitted &&
		    put(self, &value, 8, 8, 0) < 0)
			ASSERT_EQ(EBUSY, errno);
		ASSERT_EQ(0, result(self));
		ASSERT_EQ(value, was[0]);
		ASSERT_EQ(value + 1000, now);
	}
}

TEST_F(far, notes_name_operation_and_node)
{
	struct dd_note n;
	int i;

	ASSERT_EQ(1, put(self, "abcdefgh", 16, 8, DD_SQE_NOTIFY));
	ASSERT_EQ(1, cas(self, 16, 8, 0, 1, DD_SQE_NOTIFY));
	ASSERT_EQ(0, result(self));
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(take(self, &n));
		EXPECT_EQ(i ? DD_OP_CAS : DD_OP_PUT, n.op);
		EXPECT_EQ(1, n.node);
		EXPECT_EQ(16, n.offset);
		EXPECT_EQ(8, n.len);
		EXPECT_EQ(self->s.cookie, n.cookie);
		EXPECT_EQ(self->s.segment, n.conn);
	}
	EXPECT_FALSE(take(self, &n));
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

TEST_F(far, a_note_waits_until_the_reader_has_a_slot)
{
	struct dd_note n;
	int i;

	for (i = 0; i < MEM_WINDOW; i++)
		ASSERT_EQ(1, put(self, "note", 4 * i, 4, DD_SQE_NOTIFY));
	ASSERT_EQ(0, result(self));
	ASSERT_EQ(1, put(self, "late", 4 * i, 4, DD_SQE_NOTIFY));
	for (i = 0; i <= MEM_WINDOW; i++) {
		while (!take(self, &n))
			sched_yield();
		EXPECT_EQ(4 * i, n.offset);
	}
	EXPECT_EQ(0, result(self));
	EXPECT_FALSE(take(self, &n));
}

TEST_F(far, rights_and_bounds_are_checked_at_the_importer)
{
	struct dd_import_make i;
	char b[8] = "";

	EXPECT_ERR(ERANGE, put(self, b, BULK - 4, 8, 0));
	EXPECT_ERR(ERANGE, get(self, b, ~0ull - 3, 8));
	ASSERT_OK(import(&self->im, &self->s, DD_RIGHT_GET, 1, &i));
	EXPECT_ERR(EACCES, mem_put(&self->im, &i, b, 0, 8, 0));
	EXPECT_ERR(EACCES, mem_cas(&self->im, &i, &self->imem, 0, 0, 8, 0, 0, 0));
	EXPECT_EQ(1, mem_get(&self->im, &i, b, 0, 8));
	EXPECT_EQ(0, wait_done(&self->im, &i, 1));
}

TEST_F(far, inhibition_refuses_put_and_cas_and_tells_the_importer)
{
	struct dd_segment_info info = { .size = sizeof(info), .segment = self->s.segment };
	static char large[100000];
	char b[8] = "12345678";

	memset(large, 'x', sizeof(large));
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 0, 0));
	ASSERT_EQ(1, put(self, b, 0, 8, DD_SQE_NOTIFY));
	EXPECT_EQ(EACCES, result(self));
	ASSERT_EQ(1, put(self, large, 0, sizeof(large), 0));
	EXPECT_EQ(EACCES, result(self));
	ASSERT_EQ(1, cas(self, 0, 8, 0, 1, 0));
	EXPECT_EQ(EACCES, result(self));
	ASSERT_EQ(1, mem_note(&self->im, &self->i, "refused", 7));
	EXPECT_EQ(EACCES, result(self));
	ASSERT_EQ(1, get(self, b, 0, 8));
	EXPECT_EQ(0, result(self));
	EXPECT_EQ(0, memcmp(b, "\0\0\0\0\0\0\0", 8));
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_SEGMENT_INFO, &info));
	EXPECT_LE(4, info.refused_inhibit);
	EXPECT_EQ(1, info.total);
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 0, 0, 0));
	ASSERT_EQ(1, put(self, large, 0, sizeof(large), 0));
	EXPECT_EQ(0, result(self));
	EXPECT_EQ(0, memcmp(self->em.at, large, sizeof(large)));
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
	unsigned int i, refused = 0;
	pthread_t thread;
	size_t k;
	int err;

	ASSERT_EQ(0, pthread_create(&thread, NULL, toggle_run, &t));
	for (i = 1; i < 400; i++) {
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

TEST_F(far, keys_permission_and_number_of_importers)
{
	struct dd_segment_make s = self->s;
	struct dd_import_make i, j;

	strcpy((char *)s.key, "none");
	EXPECT_ERR(ECONNREFUSED, import(&self->im, &s, DD_RIGHT_GET, 0, &i));
	s.segment = 0;
	s.generation = 0;
	s.importers = 1;
	s.rights = DD_RIGHT_GET;
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_ERR(EACCES, import(&self->im, &s, DD_RIGHT_PUT, 0, &i));
	EXPECT_ERR(EINVAL, import(&self->im, &s, DD_RIGHT_GET, DD_DEPTH_MAX + 1, &i));
	ASSERT_OK(import(&self->im, &s, DD_RIGHT_GET, 0, &i));
	EXPECT_ERR(EUSERS, import(&self->im, &s, DD_RIGHT_GET, 0, &j));
	ASSERT_OK(mem_end(&self->im, i.import));
	/* The other node ends the access before it looks at the next query. */
	ASSERT_OK(import(&self->im, &s, DD_RIGHT_GET, 0, &i));
	ASSERT_OK(mem_end(&self->ex, s.segment));
	EXPECT_ERR(ECONNREFUSED, import(&self->im, &s, DD_RIGHT_GET, 0, &i));
}

TEST_F(far, nothing_arrives_after_the_end)
{
	static char ones[BULK];
	int n, i, end;
	ssize_t at;

	memset(ones, 1, sizeof(ones));
	for (n = 0; n < 4; n++) {
		for (i = 0; i < MEM_WINDOW; i++)
			ASSERT_EQ(1, put(self, ones, 0, sizeof(ones), 0));
		while (!*(volatile char *)(self->em.at + n * 1000))
			sched_yield();
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		memset(self->em.at, 0, BULK);
		while (!(end = *(volatile __u32 *)&self->cell->cell.error))
			sched_yield();
		EXPECT_EQ(ESTALE, end);
		EXPECT_ERR(ESTALE, put(self, ones, 0, 8, 0));
		EXPECT_ERR(ESTALE, wait_done(&self->im, &self->i, ~0ull));
		for (at = 0; at < BULK; at++)
			ASSERT_EQ(0, self->em.at[at]);
		ASSERT_OK(mem_end(&self->im, self->i.import));
		self->s.segment = 0;
		self->s.generation = 0;
		ASSERT_OK(mem_export(&self->ex, &self->s));
		ASSERT_OK(import(&self->im, &self->s, DD_RIGHTS, 0, &self->i));
		self->cell = raw_unit(&self->im, self->i.cell_unit);
	}
}

static volatile pid_t waiter;

static void *wait_for_more(void *arg)
{
	FIXTURE_DATA(far) *self = arg;

	waiter = gettid();
	return (void *)(long)(wait_done(&self->im, &self->i, 1) ? errno : 0);
}

TEST_F(far, the_end_of_an_import_ends_a_wait)
{
	pthread_t t;
	void *err;

	waiter = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, wait_for_more, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	ASSERT_OK(mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(ESTALE, (long)err);
}

TEST_F(far, the_end_of_the_session_leaves_outcomes_unknown)
{
	__u64 n;

	for (n = 1; n <= MEM_WINDOW; n++)
		ASSERT_EQ(1, put(self, "note", 0, 4, DD_SQE_NOTIFY));
	ASSERT_OK(wait_done(&self->im, &self->i, MEM_WINDOW));
	/* Its note is withheld, so the last request is not done. */
	ASSERT_EQ(1, put(self, "note", 0, 4, DD_SQE_NOTIFY));
	n++;
	ASSERT_EQ(0, system("ddctl peer del 2"));
	while (!*(volatile __u32 *)&self->cell->cell.error)
		sched_yield();
	EXPECT_EQ(EHOSTUNREACH, self->cell->cell.error);
	EXPECT_ERR(EHOSTUNREACH, put(self, "note", 0, 4, 0));
	EXPECT_ERR(EHOSTUNREACH, wait_done(&self->im, &self->i, n));
	EXPECT_EQ(EIO, self->cell->result[(MEM_WINDOW + 1) % DD_RESULTS]);
	EXPECT_EQ(0, mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, system("ddctl peer add 2 10.9.0.2"));
	while (import(&self->im, &self->s, DD_RIGHT_GET, 0, &self->i))
		ASSERT_TRUE(errno == EHOSTUNREACH || errno == EUSERS);
}

static int lose_packets(void)
{
	return system("bash -c 'for i in 1 2; do "
		      "tc -n dd$i qdisc replace dev eth0 root netem loss 2%; done'");
}

static int lose_none(void)
{
	return system("bash -c 'for i in 1 2; do "
		      "tc -n dd$i qdisc del dev eth0 root; done'");
}

static int cut(void)
{
	return system("bash -c 'for i in 1 2; do "
		      "tc -n dd$i qdisc replace dev eth0 root netem loss 100%; done'");
}

/* Of both nodes, in milliseconds. */
static int dead_time(int ms)
{
	char command[200];

	snprintf(command, sizeof(command), "ddctl peer set 2 dead-time %d && "
		 "bash -c 'ip netns exec dd2 ddctl peer set 1 dead-time %d'", ms, ms);
	return system(command);
}

static __u32 state(FIXTURE_DATA(far) *self, const struct dd_import_make *i)
{
	return *(volatile __u32 *)&raw_cell(&self->im, i->cell_unit)->error;
}

/* ---- notes to the importer ---------------------------------------------- */

#define SELF	DD_SQE_NOTIFY_SELF

/* Imports with a list of the importer, in the place of the fixture's import. */
static int import_notify(FIXTURE_DATA(far) *self, __u32 depth, struct dd_list_make *list)
{
	struct dd_import_make *i = &self->i;

	if (mem_end(&self->im, i->import) || mem_list(&self->im, list))
		return -1;
	*i = (struct dd_import_make){
		.size = sizeof(*i), .flags = DD_IMPORT_NOTIFY, .node = 2,
		.key_class = self->s.key_class, .rights = DD_RIGHTS, .depth = depth,
		.list = list->list, .cookie = 99,
	};
	memcpy(i->key, self->s.key, sizeof(i->key));
	if (raw_ioctl(&self->im, DD_IOC_IMPORT, i))
		return -1;
	self->cell = raw_unit(&self->im, i->cell_unit);
	return 0;
}

TEST_F(far, the_importer_is_notified_of_each_operation)
{
	static char bytes[BULK] __attribute__((aligned(8)));
	__u8 op, wired, large;
	struct dd_list_make list;
	struct dd_note n;
	__u32 k = 0;

	ASSERT_OK(import_notify(self, 0, &list));
	for (op = DD_OP_PUT; op <= DD_OP_NOTE; op++)
		for (wired = 0; wired < 2; wired++)
			for (large = 0; large < 2; large++) {
				struct dd_sqe sqe = {
					.opcode = op, .tag = 5 + k, .dst = 16, .len = 8,
					.flags = SELF | (wired ? DD_SQE_REGION : DD_SQE_UNWIRED),
					.src = wired ? 8 : (uintptr_t)bytes,
					.region = wired ? self->imem.id : 0,
					.meta_count = op == DD_OP_CAS ? DD_META_WORDS : 0,
				};

				if (op == DD_OP_NOTE)
					sqe.dst = 0;
				if (large)
					sqe.len = op == DD_OP_CAS ? 4 : op == DD_OP_NOTE ? 64 :
						  BULK / 2;
				if (op == DD_OP_GET)
					pattern(self->em.at + 16, sqe.len, k);
				ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
				k++;
				ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
				EXPECT_EQ(k, *(volatile __u64 *)&self->cell->cell.done);
				/* The result is in place before the note. */
				if (op == DD_OP_GET)
					EXPECT_EQ(0, memcmp(wired ? self->imem.at + 8 : bytes,
							    self->em.at + 16, sqe.len));
				EXPECT_EQ(DD_NOTE_DONE, n.type);
				EXPECT_EQ(self->i.import, n.conn);
				EXPECT_EQ(99, n.cookie);
				EXPECT_EQ(op, n.op);
				EXPECT_EQ(2, n.node);
				EXPECT_EQ(sqe.dst, n.offset);
				EXPECT_EQ(sqe.len, n.len);
				EXPECT_EQ(sqe.tag, n.tag);
				EXPECT_EQ(k, n.msgid);
				EXPECT_EQ(0, n.error);
				EXPECT_EQ(0, n.word);
				EXPECT_EQ(0, n.meta_count);
				EXPECT_FALSE(raw_take(&self->im, list.list_unit, &n));
				/* The NOTE itself. */
				if (op == DD_OP_NOTE)
					ASSERT_TRUE(take(self, &n));
			}
}

/* The other node refuses all of them. */
TEST_F(far, a_note_has_the_errno_of_a_refused_request)
{
	const __u8 op[] = { DD_OP_PUT, DD_OP_CAS, DD_OP_GET, DD_OP_NOTE };
	struct dd_list_record rec;
	struct dd_list_make list;
	struct dd_sqe sqe;
	int i, fd;

	ASSERT_OK(import_notify(self, 0, &list));
	fd = raw_op(&self->im, DD_IOC_LIST_FD, list.list);
	ASSERT_LE(0, fd);
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 0, 0));
	for (i = 0; i < 4; i++) {
		sqe = (struct dd_sqe){
			.opcode = op[i], .flags = SELF | DD_SQE_REGION,
			.region = self->imem.id, .len = 8,
			.meta_count = op[i] == DD_OP_CAS ? DD_META_WORDS : 0,
		};
		ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
		ASSERT_EQ(sizeof(rec), read(fd, &rec, sizeof(rec)));
		EXPECT_EQ(DD_NOTE_DONE, rec.type);
		EXPECT_EQ(op[i], rec.op);
		EXPECT_EQ(i + 1, rec.seq);
		EXPECT_EQ(op[i] == DD_OP_GET ? 0 : EACCES, rec.error);
		EXPECT_EQ(rec.error, self->cell->result[(i + 1) % DD_RESULTS]);
	}
	close(fd);
}

TEST_F(far, depth_notes_are_under_way_or_unread)
{
	struct dd_list_make list;
	struct dd_note n;
	__u32 k;

	ASSERT_OK(import_notify(self, 2, &list));
	for (k = 1; k <= 20; k += 2) {
		ASSERT_EQ(1, put(self, "1234", 0, 4, SELF));
		ASSERT_OK(wait_done(&self->im, &self->i, k));
		ASSERT_EQ(1, put(self, "1234", 0, 4, SELF));
		EXPECT_ERR(EAGAIN, put(self, "1234", 0, 4, SELF));
		ASSERT_OK(wait_done(&self->im, &self->i, k + 1));
		EXPECT_ERR(EAGAIN, put(self, "1234", 0, 4, SELF));
		ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
		EXPECT_EQ(k, n.msgid);
		ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
		EXPECT_EQ(k + 1, n.msgid);
	}
}

/* Requests of which the last is not done, since its note to the exporter is withheld. */
static int withhold(FIXTURE_DATA(far) *self, const struct dd_list_make *list)
{
	struct dd_note n;
	__u64 k;

	for (k = 1; k <= MEM_WINDOW; k++)
		if (put(self, "note", 0, 4, DD_SQE_NOTIFY | SELF) != 1)
			return -1;
	if (wait_done(&self->im, &self->i, MEM_WINDOW) ||
	    put(self, "note", 0, 4, DD_SQE_NOTIFY | SELF) != 1)
		return -1;
	for (k = 1; k <= MEM_WINDOW; k++)
		if (!raw_take(&self->im, list->list_unit, &n) || n.msgid != k || n.error)
			return -1;
	return raw_take(&self->im, list->list_unit, &n) ? -1 : 0;
}

TEST_F(far, a_request_whose_note_is_withheld_is_not_done)
{
	struct dd_list_make list;
	struct dd_note n;

	ASSERT_OK(import_notify(self, 0, &list));
	ASSERT_OK(withhold(self, &list));
	ASSERT_TRUE(take(self, &n));
	ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(MEM_WINDOW + 1, n.msgid);
	EXPECT_EQ(0, n.error);
}

TEST_F(far, the_end_of_the_session_notifies_of_what_was_under_way)
{
	struct dd_list_make list;
	struct dd_note n;

	ASSERT_OK(import_notify(self, 0, &list));
	ASSERT_OK(withhold(self, &list));
	ASSERT_EQ(0, system("ddctl peer del 2"));
	ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(DD_NOTE_DONE, n.type);
	EXPECT_EQ(MEM_WINDOW + 1, n.msgid);
	EXPECT_EQ(EIO, n.error);
	EXPECT_EQ(EHOSTUNREACH, self->cell->cell.error);
	EXPECT_EQ(EIO, self->cell->result[(MEM_WINDOW + 1) % DD_RESULTS]);
	EXPECT_ERR(EHOSTUNREACH, put(self, "note", 0, 4, SELF));
	EXPECT_FALSE(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(0, mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, system("ddctl peer add 2 10.9.0.2"));
	while (import(&self->im, &self->s, DD_RIGHT_GET, 0, &self->i))
		ASSERT_TRUE(errno == EHOSTUNREACH || errno == EUSERS);
}

/* Each request has one note, whatever its outcome, before or after the end. */
TEST_F(far, the_end_of_the_segment_notifies_of_what_was_under_way)
{
	static char ones[BULK];
	__u64 k, submitted;
	struct dd_list_make list;
	int rounds = dd_count(20);
	struct dd_note n;

	while (rounds--) {
		ASSERT_OK(import_notify(self, 0, &list));
		for (k = 0; k < MEM_WINDOW; k++)
			ASSERT_EQ(1, put(self, ones, 0, sizeof(ones), SELF));
		if (rounds & 1)
			ASSERT_OK(wait_done(&self->im, &self->i, 1));
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		ASSERT_SOON(*(volatile __u32 *)&self->cell->cell.error == ESTALE);
		submitted = self->cell->cell.submitted;
		for (k = 1; k <= submitted; k++) {
			ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
			ASSERT_EQ(DD_NOTE_DONE, n.type);
			ASSERT_EQ(k, n.msgid);
			ASSERT_EQ(k <= self->cell->cell.done ? 0 : EIO, n.error);
		}
		EXPECT_ERR(ESTALE, put(self, ones, 0, 8, SELF));
		EXPECT_FALSE(raw_take(&self->im, list.list_unit, &n));
		self->s.segment = 0;
		self->s.generation = 0;
		ASSERT_OK(mem_export(&self->ex, &self->s));
	}
	ASSERT_OK(import_notify(self, 0, &list));
}

/* Makes imports, which let the list grow, until it is stopped. */
struct grower {
	const struct raw *r;
	struct dd_import_make i;
	int stop, failed;
};

static void *grow(void *arg)
{
	struct grower *g = arg;
	struct dd_import_make i[64];
	int k;

	while (!__atomic_load_n(&g->stop, __ATOMIC_RELAXED) && !g->failed) {
		for (k = 0; k < 64 && !g->failed; k++) {
			i[k] = g->i;
			g->failed = raw_ioctl(g->r, DD_IOC_IMPORT, &i[k]);
		}
		while (k--)
			mem_end(g->r, i[k].import);
	}
	return NULL;
}

/* A segment of this node makes the list of the importer grow. */
TEST_F(far, no_note_is_lost_while_the_list_grows)
{
	struct dd_segment_make s = mem_segment(&self->imem, "far_grow");
	struct grower g = { .r = &self->im };
	int k, many = dd_count(5000);
	struct dd_list_head *head;
	struct dd_list_make list;
	struct dd_note n;
	__u64 before;
	pthread_t t;

	s.importers = 64;
	ASSERT_OK(mem_export(&self->im, &s));
	ASSERT_OK(import_notify(self, 4, &list));
	head = raw_list(&self->im, list.list_unit);
	before = head->geometry;
	g.i = (struct dd_import_make){
		.size = sizeof(g.i), .flags = DD_IMPORT_NOTIFY, .node = 1,
		.key_class = s.key_class, .rights = DD_RIGHTS, .list = list.list,
		.depth = DD_DEPTH_MAX,
	};
	memcpy(g.i.key, s.key, sizeof(s.key));
	ASSERT_EQ(0, pthread_create(&t, NULL, grow, &g));
	for (k = 1; k <= many || __atomic_load_n(&head->geometry, __ATOMIC_RELAXED) == before;
	     k++) {
		ASSERT_EQ(1, put(self, "1234", 0, 4, SELF));
		ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
		ASSERT_EQ((__u32)k, n.msgid);
		ASSERT_EQ(0, n.error);
	}
	g.stop = 1;
	ASSERT_EQ(0, pthread_join(t, NULL));
	EXPECT_EQ(0, g.failed);
	EXPECT_FALSE(raw_take(&self->im, list.list_unit, &n));
}

/* ---- the end of a segment waits for other nodes ------------------------- */

TEST_F(far, importers_know_of_the_end_when_the_call_returns)
{
	static char ones[BULK];
	int rounds = dd_count(100), k;
	struct dd_import_make i[MEM_WINDOW];

	while (rounds--) {
		for (k = 0; k < MEM_WINDOW; k++)
			ASSERT_OK(import(&self->im, &self->s, DD_RIGHTS, 0, &i[k]));
		for (k = 0; k < MEM_WINDOW; k++)
			ASSERT_EQ(1, mem_put(&self->im, &i[k], ones, 0, k * 1000, 0));
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		for (k = 0; k < MEM_WINDOW; k++) {
			ASSERT_EQ(ESTALE, state(self, &i[k]));
			ASSERT_OK(mem_end(&self->im, i[k].import));
		}
		self->s.segment = 0;
		self->s.generation = 0;
		ASSERT_OK(mem_export(&self->ex, &self->s));
	}
}

/* So many ends that the control stream is full for a while. */
TEST_F(far, many_importers_know_of_the_end_when_the_call_returns)
{
	static struct dd_import_make i[1000];
	struct dd_segment_make s = mem_segment(&self->em, "far_many");
	int k;

	s.importers = 1000;
	ASSERT_OK(mem_export(&self->ex, &s));
	for (k = 0; k < 1000; k++)
		ASSERT_OK(import(&self->im, &s, DD_RIGHT_GET, 1, &i[k]));
	ASSERT_OK(mem_end(&self->ex, s.segment));
	for (k = 0; k < 1000; k++)
		ASSERT_EQ(ESTALE, state(self, &i[k]));
}

static void on_signal(int sig)
{
}

static void *end_segment(void *arg)
{
	FIXTURE_DATA(far) *self = arg;

	waiter = gettid();
	return (void *)(long)(mem_end(&self->ex, self->s.segment) ? errno : 0);
}

TEST_F(far, a_signal_ends_the_wait_but_the_segment_has_ended)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t t;
	void *err;

	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASSERT_EQ(0, dead_time(600000));
	ASSERT_EQ(0, cut());
	waiter = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, end_segment, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	EXPECT_EQ(0, state(self, &self->i));
	ASSERT_EQ(0, pthread_kill(t, SIGUSR1));
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(EINTR, (long)err);
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->s.segment));
	EXPECT_EQ(0, state(self, &self->i));
	ASSERT_EQ(0, lose_none());
	ASSERT_SOON(state(self, &self->i) == ESTALE);
	EXPECT_EQ(0, dead_time(5000));
}

TEST_F(far, the_end_waits_no_longer_than_the_dead_time)
{
	struct timespec from, to;
	pthread_t t;
	void *err;

	ASSERT_EQ(0, dead_time(3000));
	ASSERT_EQ(0, cut());
	waiter = 0;
	clock_gettime(CLOCK_MONOTONIC, &from);
	ASSERT_EQ(0, pthread_create(&t, NULL, end_segment, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	EXPECT_EQ(0, pthread_join(t, &err));
	clock_gettime(CLOCK_MONOTONIC, &to);
	EXPECT_EQ(0, (long)err);
	/* Most of it is for a machine with other work. */
	EXPECT_LE(to.tv_sec - from.tv_sec, 60);
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->s.segment));
	ASSERT_SOON(state(self, &self->i) == EHOSTUNREACH);
	ASSERT_EQ(0, lose_none());
	EXPECT_EQ(0, dead_time(5000));
	self->s.segment = 0;
	self->s.generation = 0;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	while (import(&self->im, &self->s, DD_RIGHT_GET, 0, &self->i))
		ASSERT_EQ(EHOSTUNREACH, errno);
}

/* It waits in the call, and ends at once. */
TEST_F(far, an_exporter_is_killed_while_it_waits)
{
	struct dd_segment_make s;
	int report, go[2];
	pid_t pid;
	char c;

	SKIP_ON_UM("leaves pages of VM_DONTCOPY mapped in a child");
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, dead_time(600000));
	pid = fork_until_report(&report);
	if (!pid) {
		struct raw r;
		struct mem m;

		CHILD_CHECK(raw_start_there(&r, PAGE, &m) == 0);
		s = mem_segment(&m, "far_killed");
		CHILD_CHECK(mem_export(&r, &s) == 0);
		child_report(report);
		CHILD_CHECK(read(go[0], &c, 1) == 1);
		mem_end(&r, s.segment);
		_exit(1);
	}
	ASSERT_LT(0, pid);
	s = mem_segment(&self->em, "far_killed");
	ASSERT_OK(import(&self->im, &s, DD_RIGHT_GET, 0, &self->i));
	ASSERT_EQ(0, cut());
	ASSERT_EQ(1, write(go[1], "x", 1));
	ASSERT_SOON(asleep_in(pid, SYS_ioctl));
	kill_child(pid);
	EXPECT_EQ(0, state(self, &self->i));
	ASSERT_EQ(0, lose_none());
	ASSERT_SOON(state(self, &self->i) == ESTALE);
	EXPECT_EQ(0, dead_time(5000));
}

/* ---- pending imports ---------------------------------------------------- */

#define LATER	(DD_IMPORT_NOWAIT | DD_IMPORT_PARK)
#define PARKED	1024	/* look-ups that wait on a node, at most */

/* A segment that is not exported yet. */
static struct dd_segment_make unborn(FIXTURE_DATA(far) *self)
{
	return mem_segment(&self->em, "unborn");
}

TEST_F(far, nowait_returns_at_once_and_a_note_follows)
{
	struct dd_segment_make s = unborn(self);
	struct dd_list_make list;
	struct dd_import_make i;
	struct dd_note n;

	ASSERT_OK(mem_list(&self->im, &list));
	ASSERT_OK(import_flags(&self->im, &self->s, DD_IMPORT_NOWAIT, list.list, &i));
	ASSERT_OK(mem_wait_up(&self->im, &i, 60 * SECOND));
	EXPECT_EQ(0, state(self, &i));
	EXPECT_EQ(BULK, raw_cell(&self->im, i.cell_unit)->peer_size);
	EXPECT_EQ(self->s.generation, raw_cell(&self->im, i.cell_unit)->received);
	ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(DD_NOTE_IMPORT, n.type);
	EXPECT_EQ(i.import, n.conn);
	EXPECT_EQ(99, n.cookie);
	EXPECT_EQ(0, n.offset);
	EXPECT_EQ(2, n.node);
	ASSERT_EQ(1, mem_put(&self->im, &i, "now", 0, 4, 0));
	ASSERT_OK(wait_done(&self->im, &i, 1));
	EXPECT_STREQ("now", self->em.at);
	/* Without a segment it fails. */
	ASSERT_OK(import_flags(&self->im, &s, DD_IMPORT_NOWAIT, list.list, &i));
	EXPECT_ERR(ECONNREFUSED, mem_wait_up(&self->im, &i, 60 * SECOND));
	EXPECT_EQ(ECONNREFUSED, state(self, &i));
	EXPECT_ERR(ECONNREFUSED, mem_put(&self->im, &i, "now", 0, 4, 0));
	ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(ECONNREFUSED, n.offset);
	EXPECT_EQ(0, mem_end(&self->im, i.import));
}

TEST_F(far, the_export_completes_parked_imports_of_both_nodes)
{
	struct dd_segment_make s = unborn(self);
	struct dd_import_make i, near;

	ASSERT_OK(import_flags(&self->im, &s, LATER, 0, &i));
	ASSERT_OK(mem_import_flags(&self->ex, &s, DD_RIGHTS, LATER, 0, &near));
	EXPECT_EQ(EINPROGRESS, state(self, &i));
	EXPECT_ERR(EAGAIN, mem_put(&self->im, &i, "now", 0, 4, 0));
	EXPECT_ERR(ETIMEDOUT, mem_wait_up(&self->im, &i, SECOND / 10));
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_wait_up(&self->im, &i, 60 * SECOND));
	ASSERT_OK(mem_wait_up(&self->ex, &near, 60 * SECOND));
	ASSERT_EQ(1, mem_put(&self->im, &i, "now", 0, 4, 0));
	ASSERT_OK(wait_done(&self->im, &i, 1));
	EXPECT_STREQ("now", self->em.at);
	EXPECT_EQ(1, mem_put(&self->ex, &near, "yet", 0, 4, 0));
}

TEST_F(far, a_parked_import_fails_if_the_segment_refuses_it)
{
	struct dd_segment_make s = unborn(self);
	struct dd_import_make i;

	ASSERT_OK(import_flags(&self->im, &s, LATER, 0, &i));
	s.rights = DD_RIGHT_GET;
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_ERR(EACCES, mem_wait_up(&self->im, &i, 60 * SECOND));
	EXPECT_EQ(EACCES, state(self, &i));
}

/* Imports that have failed with EUSERS; -1 if one has another state but is not pending. */
static int too_many(const struct raw *r, const struct dd_import_make *i)
{
	int n, failed = 0;

	for (n = 0; n <= PARKED; n++) {
		__u32 error = *(volatile __u32 *)&raw_cell(r, i[n].cell_unit)->error;

		if (error != EUSERS && error != EINPROGRESS)
			return -1;
		failed += error == EUSERS;
	}
	return failed;
}

/* Park as many look-ups as the other node permits. One fails, as they are one too many. */
static int park_all(FIXTURE_DATA(far) *self, const struct raw *r, struct dd_import_make *i)
{
	struct dd_segment_make s = unborn(self);
	int n;

	for (n = 0; n <= PARKED; n++)
		if (import_flags(r, &s, LATER, 0, &i[n]))
			return -1;
	return WAIT_FOR(too_many(r, i) == 1) ? 0 : -1;
}

TEST_F(far, the_end_of_a_parked_import_ends_it_on_both_nodes)
{
	static struct dd_import_make i[PARKED + 1], k;
	struct dd_segment_make s = unborn(self);
	int n;

	ASSERT_OK(park_all(self, &self->im, i));
	EXPECT_ERR(EUSERS, mem_import_flags(&self->ex, &s, DD_RIGHTS, LATER, 0, &k));
	for (n = 0; n <= PARKED; n++)
		ASSERT_OK(mem_end(&self->im, i[n].import));
	ASSERT_SOON(!mem_import_flags(&self->ex, &s, DD_RIGHTS, LATER, 0, &k));
	s.importers = 1;
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_EQ(0, mem_wait_up(&self->ex, &k, 60 * SECOND));
}

TEST_F(far, many_parked_imports_complete)
{
	static struct dd_import_make i[PARKED + 1];
	struct dd_segment_make s = unborn(self);
	int n;

	ASSERT_OK(park_all(self, &self->im, i));
	s.importers = PARKED;
	ASSERT_OK(mem_export(&self->ex, &s));
	for (n = 0; n <= PARKED; n++)
		if (state(self, &i[n]) != EUSERS)
			ASSERT_OK(mem_wait_up(&self->im, &i[n], 60 * SECOND));
}

TEST_F(far, a_killed_importer_parks_no_more)
{
	static struct dd_import_make i[PARKED + 1], k;
	struct dd_segment_make s = unborn(self);
	int report;
	pid_t pid;

	SKIP_ON_UM("leaves pages of VM_DONTCOPY mapped in a child");
	pid = fork_until_report(&report);
	if (!pid) {
		struct raw r;

		CHILD_CHECK(raw_open(&r) == 0);
		CHILD_CHECK(park_all(self, &r, i) == 0);
		child_report(report);
		import_flags(&r, &s, DD_IMPORT_PARK, 0, &k);
		for (;;)
			pause();
	}
	ASSERT_LT(0, pid);
	EXPECT_ERR(EUSERS, mem_import_flags(&self->ex, &s, DD_RIGHTS, LATER, 0, &k));
	kill_child(pid);
	ASSERT_SOON(!mem_import_flags(&self->ex, &s, DD_RIGHTS, LATER, 0, &k));
}

/* Importers are killed in each state while segments come and go. */
TEST_F(far, importers_die_while_segments_come_and_go)
{
	struct dd_segment_make s = unborn(self);
	struct dd_import_make i;
	int rounds = dd_count(30), report;
	pid_t pid;

	SKIP_ON_UM("leaves pages of VM_DONTCOPY mapped in a child");
	while (rounds--) {
		ASSERT_OK(import_flags(&self->im, &s, LATER, 0, &i));
		pid = fork_until_report(&report);
		if (!pid) {
			struct dd_import_make k;
			struct raw r;

			CHILD_CHECK(raw_open(&r) == 0);
			child_report(report);
			for (;;)
				if (!import_flags(&r, &s, LATER, 0, &k))
					mem_end(&r, k.import);
		}
		ASSERT_LT(0, pid);
		ASSERT_OK(mem_export(&self->ex, &s));
		kill_child(pid);
		ASSERT_OK(mem_wait_up(&self->im, &i, 60 * SECOND));
		ASSERT_OK(mem_end(&self->ex, s.segment));
		s.segment = s.generation = 0;
		ASSERT_OK(mem_end(&self->im, i.import));
	}
}

static void *import_parked(void *arg)
{
	FIXTURE_DATA(far) *self = arg;
	struct dd_segment_make s = unborn(self);

	waiter = gettid();
	return (void *)(long)(import_flags(&self->im, &s, DD_IMPORT_PARK, 0, &self->i) ?
			      errno : 0);
}

TEST_F(far, a_call_without_nowait_waits_for_the_export)
{
	struct dd_segment_make s = unborn(self);
	pthread_t t;
	void *err;

	waiter = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, import_parked, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(0, (long)err);
	EXPECT_EQ(s.generation, self->i.generation);
}

TEST_F(far, the_end_of_the_session_fails_parked_imports)
{
	struct dd_segment_make s = unborn(self);
	struct dd_list_make list;
	struct dd_import_make i;
	struct dd_note n;
	pthread_t t;
	void *err;

	ASSERT_OK(mem_list(&self->im, &list));
	ASSERT_OK(import_flags(&self->im, &s, LATER, list.list, &i));
	waiter = 0;
	ASSERT_EQ(0, pthread_create(&t, NULL, import_parked, self));
	ASSERT_SOON(waiter && asleep_in(waiter, SYS_ioctl));
	ASSERT_EQ(0, system("bash -c 'ip netns exec dd2 ddctl peer del 1'"));
	EXPECT_ERR(EHOSTUNREACH, mem_wait_up(&self->im, &i, 60 * SECOND));
	ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(EHOSTUNREACH, n.offset);
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(EHOSTUNREACH, (long)err);
	/* The other node has forgotten them. */
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_EQ(0, system("bash -c 'ip netns exec dd2 ddctl peer add 1 10.9.0.1'"));
	while (import_flags(&self->im, &s, 0, 0, &i))
		ASSERT_EQ(EHOSTUNREACH, errno);
}

/* Add @n to the first word, by an import of its own. */
static int adder(const struct dd_segment_make *s, int n)
{
	volatile __u64 *was;
	struct dd_import_make i;
	struct mem m;
	struct raw r;
	__u64 value = 0, done = 0;

	if (raw_start(&r, PAGE, &m) || import(&r, s, DD_RIGHTS, 0, &i))
		return 1;
	was = (volatile __u64 *)m.at;
	while (n) {
		if (mem_cas(&r, &i, &m, 0, 0, 8, value, value + 1, 0) != 1 ||
		    wait_done(&r, &i, ++done))
			return 1;
		n -= *was == value;
		value = *was + (*was == value);
	}
	return 0;
}

static void check_adders(struct __test_metadata *_metadata, FIXTURE_DATA(far) *self,
			 int n)
{
	int k, status;

	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_POLICY,
			  DD_POLICY_NEVER, 0, 0));
	for (k = 0; k < 4; k++)
		if (!fork())
			_exit(adder(&self->s, n));
	for (k = 0; k < 4; k++) {
		ASSERT_LT(0, wait(&status));
		ASSERT_EQ(0, status);
	}
	EXPECT_EQ(4ull * n, *(__u64 *)self->em.at);
}

TEST_F(far, processes_add_by_cas)
{
	SKIP_ON_UM("leaves pages of VM_DONTCOPY mapped in a child");
	check_adders(_metadata, self, dd_count(2000));
}

/* Each request is executed once, however often its packets and its reply are lost. */
TEST_F(far, processes_add_by_cas_with_loss)
{
	SKIP_ON_UM("leaves pages of VM_DONTCOPY mapped in a child");
	ASSERT_EQ(0, lose_packets());
	check_adders(_metadata, self, dd_count(500));
	EXPECT_EQ(0, lose_none());
}

TEST_F(far, bytes_are_right_with_loss)
{
	static char from[BULK], to[BULK];
	int i;

	ASSERT_EQ(0, lose_packets());
	for (i = 0; i < dd_count(20); i++) {
		pattern(from, sizeof(from), i);
		ASSERT_EQ(1, put(self, from + i, i, sizeof(from) - 100, 0));
		ASSERT_EQ(1, get(self, to, i, sizeof(from) - 100));
		ASSERT_EQ(0, result(self));
		ASSERT_EQ(0, memcmp(from + i, to, sizeof(from) - 100));
	}
	EXPECT_EQ(0, lose_none());
}

/* A segment that is redirected to @to, with the state of the redirection. */
struct redirected {
	struct dd_segment_make s;
	struct dd_import_make i;
	struct mem to;
	volatile struct dd_segment_state *state;
};

static int redirect_all(FIXTURE_DATA(far) *self, struct redirected *r)
{
	r->s = mem_segment(&self->em, "far_redir");
	r->s.flags = DD_SEGMENT_REDIRECT;
	if (raw_alloc(&self->ex, BULK, &r->to) || mem_export(&self->ex, &r->s) ||
	    import(&self->im, &r->s, DD_RIGHT_PUT, 0, &r->i))
		return -1;
	r->state = raw_unit(&self->ex, r->s.state_unit);
	return 0;
}

/*
 * Sends @len bytes at @from to byte @dst, while bytes from @at on are redirected. Each is
 * in one of both places, as the state says. Returns the number of those redirected, or -1.
 */
static long redirected_once(FIXTURE_DATA(far) *self, struct redirected *r, const char *from,
			    size_t dst, size_t len, size_t at, __u64 n)
{
	const char *seg = self->em.at, *to = r->to.at;
	size_t i, first, count;

	memset(self->em.at, 0, BULK);
	memset(r->to.at, 0, BULK);
	if (mem_redirect(&self->ex, r->s.segment, at, &r->to, 0, BULK - at) ||
	    mem_put(&self->im, &r->i, from, dst, len, 0) != 1 ||
	    wait_done(&self->im, &r->i, n) || mem_redirect_end(&self->ex, r->s.segment))
		return -1;
	first = r->state->first;
	count = r->state->count;
	if (r->state->data_end != dst + len)
		return -1;
	for (i = 0; i < BULK; i++) {
		bool there = i - at - first < count;
		bool sent = i - dst < len;

		if (seg[i] != (sent && !there ? from[i - dst] : 0) ||
		    (i >= at && to[i - at] != (there ? from[i - dst] : 0)))
			return -1;
	}
	return count;
}

/* Bytes of a packet, and of its last word, to both places. */
TEST_F(far, redirection_may_begin_anywhere)
{
	const size_t len[] = { 4, 8, 64, 1000 };
	static char from[1000];
	struct redirected r;
	size_t i, at;
	__u64 n = 0;

	ASSERT_OK(redirect_all(self, &r));
	pattern(from, sizeof(from), 9);
	for (i = 0; i < 4; i++)
		for (at = 0; at <= 24; at += 4) {
			size_t want = 12 + len[i] > at ? 12 + len[i] - at : 0;

			if (want > len[i])
				want = len[i];
			ASSERT_EQ(want, redirected_once(self, &r, from, 12, len[i], at, ++n));
		}
}

static void check_redirected(struct __test_metadata *_metadata, FIXTURE_DATA(far) *self)
{
	static char from[BULK];
	struct redirected r;
	int i;

	ASSERT_OK(redirect_all(self, &r));
	for (i = 0; i < dd_count(20); i++) {
		pattern(from, sizeof(from), i);
		ASSERT_LT(0, redirected_once(self, &r, from, 4 * i, sizeof(from) - 100,
					     i % 2 ? PAGE + 4 : 0, i + 1));
	}
}

TEST_F(far, bytes_are_redirected_once)
{
	check_redirected(_metadata, self);
}

/* A lost packet ends the redirection: its bytes, and those that follow, are not there. */
TEST_F(far, bytes_are_redirected_once_with_loss)
{
	ASSERT_EQ(0, lose_packets());
	check_redirected(_metadata, self);
	EXPECT_EQ(0, lose_none());
}

DD_TEST_MAIN
