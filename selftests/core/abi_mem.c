// SPDX-License-Identifier: GPL-2.0-only
/*
 * One-sided memory on one node: export, import, PUT, GET, CAS, notes, rights, and what
 * ends them.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include <sys/wait.h>
#include "mem.h"

#define LENGTH(a)	(sizeof(a) / sizeof((a)[0]))

/* Two contexts of this process: @ex exports all of @em, @im imports it. */
FIXTURE(mem) {
	struct raw ex, im;
	struct mem em, imem;
	struct dd_list_make list;
	struct dd_segment_make s;
	struct dd_import_make i;
};

FIXTURE_SETUP(mem)
{
	ASSERT_OK(raw_start(&self->ex, MEM_LEN, &self->em));
	ASSERT_OK(raw_start(&self->im, MEM_LEN, &self->imem));
	ASSERT_OK(mem_list(&self->ex, &self->list));
	self->s = mem_segment(&self->em, "abi_mem");
	self->s.list = self->list.list;
	self->s.window = MEM_WINDOW;
	self->s.policy = DD_POLICY_CONDITIONAL;
	self->s.cookie = 0x1122334455667788;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	ASSERT_OK(mem_import(&self->im, &self->s, DD_RIGHTS, &self->i));
}

FIXTURE_TEARDOWN(mem)
{
	raw_close(&self->im);
	raw_close(&self->ex);
}

static int put(FIXTURE_DATA(mem) *self, const void *src, __u64 dst, __u64 len,
	       __u8 flags)
{
	return mem_put(&self->im, &self->i, src, dst, len, flags);
}

static int get(FIXTURE_DATA(mem) *self, void *to, __u64 dst, __u64 len)
{
	return mem_get(&self->im, &self->i, to, dst, len);
}

static int cas(FIXTURE_DATA(mem) *self, __u64 dst, __u64 len, __u64 old, __u64 new,
	       __u8 flags)
{
	return mem_cas(&self->im, &self->i, &self->imem, 0, dst, len, old, new, flags);
}

static bool take(FIXTURE_DATA(mem) *self, struct dd_note *n)
{
	return raw_take(&self->ex, self->list.list_unit, n);
}

static struct dd_cell *cell(FIXTURE_DATA(mem) *self)
{
	return raw_cell(&self->im, self->i.cell_unit);
}

TEST_F(mem, import_describes_the_segment)
{
	EXPECT_EQ(MEM_LEN, self->i.length);
	EXPECT_EQ(self->s.generation, self->i.generation);
	EXPECT_EQ(MEM_LEN, cell(self)->peer_size);
	EXPECT_EQ(MEM_WINDOW, cell(self)->window);
	EXPECT_EQ(self->i.import, cell(self)->conn);
}

/* Also if other objects have an odd number of units between them. */
TEST_F(mem, the_cell_of_an_import_is_within_a_page)
{
	struct dd_import_make i;
	struct dd_list_make l;
	__u32 at;
	int n;

	self->s.importers = 1000;
	self->s.segment = self->s.generation = 0;
	self->s.list = self->s.window = 0;
	self->s.policy = DD_POLICY_NEVER;
	strcpy((char *)self->s.key, "abi_mem_cells");
	ASSERT_OK(mem_export(&self->ex, &self->s));
	for (n = 0; n < 200; n++) {
		ASSERT_OK(mem_import(&self->im, &self->s, DD_RIGHTS, &i));
		at = i.cell_unit * DD_UNIT % PAGE;
		EXPECT_LE(at + sizeof(struct dd_import_cell), PAGE);
		EXPECT_EQ(i.import, raw_cell(&self->im, i.cell_unit)->conn);
		if (n % 50 == 25)
			ASSERT_OK(mem_list(&self->im, &l));
	}
}

TEST_F(mem, put_and_get_move_bytes_at_any_offset)
{
	const size_t off[] = { 0, 1, 7, 8, PAGE - 3, PAGE, 2 * PAGE + 5 };
	const size_t len[] = { 0, 1, 8, 9, 64, 511, 4096, 2 * PAGE - 6 };
	static char from[MEM_LEN], to[MEM_LEN];
	unsigned int i, k, n = 0;

	for (i = 0; i < LENGTH(off); i++)
		for (k = 0; k < LENGTH(len); k++) {
			memset(self->em.at, 0xee, MEM_LEN);
			memset(to, 0xdd, sizeof(to));
			memset(from, 1 + i * 16 + k, sizeof(from));
			ASSERT_EQ(1, put(self, from + i, off[i], len[k], 0));
			ASSERT_EQ(0, memcmp(self->em.at + off[i], from, len[k]));
			ASSERT_EQ('\xee', self->em.at[off[i] + len[k]]);
			ASSERT_EQ(1, get(self, to + 1, off[i], len[k]));
			ASSERT_EQ(0, memcmp(to + 1, from, len[k]));
			ASSERT_EQ('\xdd', to[0]);
			ASSERT_EQ('\xdd', to[1 + len[k]]);
			n += 2;
			ASSERT_EQ(n, cell(self)->submitted);
			ASSERT_EQ(n, cell(self)->sent);
			ASSERT_EQ(n, cell(self)->done);
		}
}

TEST_F(mem, get_stores_in_a_region)
{
	const struct dd_sqe sqe = {
		.opcode = DD_OP_GET, .flags = DD_SQE_REGION, .region = self->imem.id,
		.src = 3, .dst = 5, .len = 2 * PAGE,
	};

	memset(self->em.at, 0x5a, MEM_LEN);
	ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
	EXPECT_EQ(0, memcmp(self->imem.at + 3, self->em.at, 2 * PAGE));
	EXPECT_EQ(0, self->imem.at[2]);
	EXPECT_EQ(0, self->imem.at[3 + 2 * PAGE]);
}

/* More than is copied with the channel locked once. */
TEST_F(mem, get_and_put_are_complete_beyond_one_piece)
{
	const size_t len = 300 * 1024 + 5;
	struct dd_segment_make s;
	struct dd_import_make i;
	struct mem big;
	char *a, *b;

	ASSERT_OK(raw_alloc(&self->ex, len, &big));
	s = mem_segment(&big, "abi_mem_big");
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHTS, &i));
	a = malloc(len);
	b = calloc(1, len);
	ASSERT_TRUE(a && b);
	for (size_t k = 0; k < len; k++)
		a[k] = k * 7 + (k >> 12);
	ASSERT_EQ(1, mem_put(&self->im, &i, a, 0, len, 0));
	ASSERT_EQ(0, memcmp(big.at, a, len));
	ASSERT_EQ(1, mem_get(&self->im, &i, b, 0, len));
	ASSERT_EQ(0, memcmp(a, b, len));
	free(a);
	free(b);
}

TEST_F(mem, get_refuses_memory_that_cannot_be_written)
{
	char *page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	EXPECT_ERR(EFAULT, get(self, page, 0, 8));
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_ERR(EFAULT, get(self, page, 0, PAGE + 1));
	/* A refused request is not counted. */
	EXPECT_EQ(0, cell(self)->submitted);
	memset(page, 0x5c, PAGE);
	ASSERT_EQ(1, get(self, page, 0, 9));
	/* What is not fetched stays as it was. */
	EXPECT_EQ(0x5c, page[9]);
	EXPECT_EQ(0x5c, page[PAGE - 1]);
	EXPECT_EQ(1, get(self, page, 0, PAGE));
}

TEST_F(mem, cas_replaces_a_word_that_is_equal)
{
	__u64 *word = (__u64 *)(self->em.at + 8), *was = (__u64 *)self->imem.at;

	*word = 5;
	ASSERT_EQ(1, cas(self, 8, 8, 5, 6, 0));
	EXPECT_EQ(6, *word);
	EXPECT_EQ(5, *was);
	ASSERT_EQ(1, cas(self, 8, 8, 5, 7, 0));
	EXPECT_EQ(6, *word);
	EXPECT_EQ(6, *was);
	ASSERT_EQ(1, cas(self, 8, 8, 6, 0x1234567890abcdef, DD_SQE_STATUS));
	EXPECT_EQ(0x1234567890abcdef, *word);
	EXPECT_EQ(1, *was);
	ASSERT_EQ(1, cas(self, 8, 8, 6, 0, DD_SQE_STATUS));
	EXPECT_EQ(0x1234567890abcdef, *word);
	EXPECT_EQ(2, *was);
}

TEST_F(mem, cas_of_four_bytes_leaves_the_others)
{
	__u32 *word = (__u32 *)(self->em.at + 4), *was = (__u32 *)self->imem.at;

	memset(self->em.at, 0xff, 12);
	memset(was, 0xff, 12);
	*word = 1;
	/* The upper halves are not compared. */
	ASSERT_EQ(1, cas(self, 4, 4, 1 | 8ull << 32, 2 | 9ull << 32, 0));
	EXPECT_EQ(2, word[0]);
	EXPECT_EQ(~0u, word[-1]);
	EXPECT_EQ(~0u, word[1]);
	EXPECT_EQ(1, was[0]);
	EXPECT_EQ(~0u, was[1]);
	ASSERT_EQ(1, cas(self, 4, 4, 2 | 8ull << 32, 3, DD_SQE_STATUS));
	EXPECT_EQ(1, was[0]);
}

TEST_F(mem, cas_stores_its_result_anywhere)
{
	__u64 *word = (__u64 *)self->em.at, was = 0;
	struct dd_sqe sqe = {
		.opcode = DD_OP_CAS, .flags = DD_SQE_UNWIRED, .src = (uintptr_t)&was,
		.len = 8, .meta_count = DD_META_WORDS,
	};
	char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	*word = 11;
	sqe.meta[0] = 11;
	sqe.meta[2] = 12;
	ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
	EXPECT_EQ(12, *word);
	EXPECT_EQ(11, was);
	/* Not done where the result cannot be stored. */
	sqe.meta[0] = 12;
	sqe.meta[2] = 13;
	sqe.src = (uintptr_t)page;
	EXPECT_ERR(EFAULT, mem_op(&self->im, &self->i, &sqe));
	EXPECT_EQ(12, *word);
	EXPECT_EQ(1, cell(self)->submitted);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
	EXPECT_EQ(13, *word);
	EXPECT_EQ(12, *(__u64 *)page);
}

TEST_F(mem, malformed_requests_are_refused)
{
	const struct dd_sqe good = {
		.opcode = DD_OP_CAS, .flags = DD_SQE_REGION, .region = self->imem.id,
		.len = 8, .meta_count = DD_META_WORDS,
	};
	struct dd_sqe sqe;

#define BAD(err, change) do {						\
	sqe = good;							\
	change;								\
	EXPECT_ERR(err, mem_op(&self->im, &self->i, &sqe));		\
} while (0)
	BAD(EINVAL, sqe.len = 7);
	BAD(EINVAL, sqe.len = 16);
	BAD(EINVAL, sqe.len = 0);
	BAD(EINVAL, sqe.dst = 4);
	BAD(EINVAL, sqe.src = 4);
	BAD(EINVAL, sqe.meta_count = 3);
	BAD(EINVAL, sqe.flags = 0; sqe.region = 0);
	BAD(EINVAL, sqe.flags |= DD_SQE_UNWIRED);
	BAD(EFAULT, sqe.flags = DD_SQE_UNWIRED; sqe.region = 0);
	BAD(EINVAL, sqe.flags |= 0x20);
	BAD(EINVAL, sqe.__reserved[4] = 1);
	BAD(ERANGE, sqe.src = MEM_LEN);
	BAD(ERANGE, sqe.dst = MEM_LEN);
	BAD(ENOENT, sqe.region = 0x7fff0000);
	BAD(EINVAL, sqe.opcode = DD_OP_GET);
	BAD(EINVAL, sqe.opcode = DD_OP_GET; sqe.meta_count = 0; sqe.flags |= DD_SQE_NOTIFY);
	BAD(EINVAL, sqe.opcode = DD_OP_GET; sqe.meta_count = 0; sqe.flags |= DD_SQE_STATUS);
	BAD(EINVAL, sqe.opcode = DD_OP_GET; sqe.meta_count = 0; sqe.flags = 0; sqe.region = 0);
	BAD(EINVAL, sqe.opcode = DD_OP_PUT; sqe.flags |= DD_SQE_STATUS);
	BAD(EOPNOTSUPP, sqe.opcode = DD_OP_NOTE + 1);
	BAD(EOPNOTSUPP, sqe.opcode = DD_OP_NONE);
#undef BAD
	EXPECT_EQ(0, cell(self)->submitted);
	EXPECT_EQ(1, mem_op(&self->im, &self->i, &good));
}

TEST_F(mem, a_connection_has_no_get_or_cas)
{
	struct pair p;
	struct dd_sqe sqe = {
		.opcode = DD_OP_GET, .flags = DD_SQE_REGION, .len = 8,
	};

	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	sqe.region = p.cmem.id;
	EXPECT_ERR(EOPNOTSUPP, raw_submit(&p.cl, p.c.cell_unit, p.c.conn, &sqe));
	pair_close(&p);
}

TEST_F(mem, bounds_are_those_of_the_segment)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_mem_part");
	struct dd_segment_info info = { .size = sizeof(info) };
	static char page[PAGE];
	struct dd_import_make i;
	__u64 word = 1;

	s.offset = 4;
	s.length = PAGE;
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHTS, &i));
	EXPECT_ERR(ERANGE, mem_put(&self->im, &i, &word, PAGE - 7, 8, 0));
	EXPECT_ERR(ERANGE, mem_put(&self->im, &i, &word, PAGE + 1, 0, 0));
	EXPECT_ERR(ERANGE, mem_get(&self->im, &i, &word, -8ull, 8));
	EXPECT_ERR(ERANGE, mem_get(&self->im, &i, page, 1, PAGE));
	/* A word of the region that is not aligned in the segment, and the reverse. */
	EXPECT_ERR(EINVAL, mem_cas(&self->im, &i, &self->imem, 0, 0, 8, 0, 0, 0));
	EXPECT_EQ(1, mem_cas(&self->im, &i, &self->imem, 0, 4, 8, 0, 2, 0));
	EXPECT_EQ(2, *(__u64 *)(self->em.at + 8));
	EXPECT_EQ(1, mem_put(&self->im, &i, &word, PAGE - 8, 8, 0));
	EXPECT_EQ(1, *(char *)(self->em.at + PAGE - 4));
	info.segment = s.segment;
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_SEGMENT_INFO, &info));
	EXPECT_EQ(4, info.refused_bounds);
}

TEST_F(mem, rights_are_asked_for_each_operation)
{
	struct dd_segment_info info = { .size = sizeof(info), .segment = self->s.segment };
	struct dd_import_make i;
	__u64 word = 0;
	unsigned int r;

	for (r = 1; r <= DD_RIGHTS; r++) {
		ASSERT_OK(mem_import(&self->im, &self->s, r, &i));
		errno = 0;
		EXPECT_EQ(r & DD_RIGHT_PUT ? 1 : -1,
			  mem_put(&self->im, &i, &word, 0, 8, 0));
		EXPECT_EQ(r & DD_RIGHT_GET ? 1 : -1,
			  mem_get(&self->im, &i, &word, 0, 8));
		EXPECT_EQ(r & DD_RIGHT_CAS ? 1 : -1,
			  mem_cas(&self->im, &i, &self->imem, 0, 0, 8, 0, 0, 0));
		EXPECT_EQ(r == DD_RIGHTS ? 0 : EACCES, errno);
		ASSERT_OK(mem_end(&self->im, i.import));
	}
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_SEGMENT_INFO, &info));
	/* Each right is missing in 3 of the 7 imports. */
	EXPECT_EQ(9, info.refused_rights);
	EXPECT_EQ(1, info.total);
}

TEST_F(mem, an_import_needs_the_rights_of_the_segment)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_mem_get");
	struct dd_import_make i;

	s.rights = DD_RIGHT_GET;
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_ERR(EACCES, mem_import(&self->im, &s, DD_RIGHT_GET | DD_RIGHT_PUT, &i));
	EXPECT_ERR(EACCES, mem_import(&self->im, &s, DD_RIGHT_CAS, &i));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHT_GET, &i));
}

TEST_F(mem, inhibition_refuses_stores_and_permits_loads)
{
	struct dd_segment_info info = { .size = sizeof(info), .segment = self->s.segment };
	__u64 word = 3;

	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 0, 0));
	EXPECT_ERR(EACCES, put(self, &word, 0, 8, 0));
	EXPECT_ERR(EACCES, cas(self, 0, 8, 0, 1, 0));
	EXPECT_EQ(0, *(__u64 *)self->em.at);
	EXPECT_EQ(1, get(self, &word, 0, 8));
	EXPECT_EQ(0, word);
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_SEGMENT_INFO, &info));
	EXPECT_EQ(1, info.inhibit);
	EXPECT_EQ(2, info.refused_inhibit);
	EXPECT_EQ(0, info.refused_rights);
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 0, 0, 0));
	word = 4;
	EXPECT_EQ(1, put(self, &word, 0, 8, 0));
	EXPECT_EQ(4, *(__u64 *)self->em.at);
}

TEST_F(mem, policy_decides_on_notes)
{
	__u64 word = 9;
	struct dd_note n;

	ASSERT_EQ(1, put(self, &word, 16, 8, 0));
	EXPECT_FALSE(take(self, &n));
	ASSERT_EQ(1, put(self, &word, 16, 8, DD_SQE_NOTIFY));
	ASSERT_TRUE(take(self, &n));
	EXPECT_EQ(self->s.segment, n.conn);
	EXPECT_EQ(self->s.cookie, n.cookie);
	EXPECT_EQ(DD_NOTE_DATA, n.type);
	EXPECT_EQ(DD_OP_PUT, n.op);
	EXPECT_EQ(self->i.node, n.node);
	EXPECT_EQ(16, n.offset);
	EXPECT_EQ(8, n.len);
	EXPECT_EQ(9, n.word);
	EXPECT_EQ(7, n.tag);
	EXPECT_EQ(2, n.msgid);
	ASSERT_EQ(1, cas(self, 16, 8, 9, 10, DD_SQE_NOTIFY));
	ASSERT_TRUE(take(self, &n));
	EXPECT_EQ(DD_OP_CAS, n.op);
	EXPECT_EQ(9, n.word);

	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_POLICY,
			  DD_POLICY_ALWAYS, 0, 0));
	ASSERT_EQ(1, put(self, &word, 0, 0, 0));
	ASSERT_TRUE(take(self, &n));
	ASSERT_EQ(1, cas(self, 16, 8, 0, 0, 0));
	ASSERT_TRUE(take(self, &n));
	ASSERT_EQ(1, get(self, &word, 0, 8));
	EXPECT_FALSE(take(self, &n));

	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_POLICY,
			  DD_POLICY_NEVER, 0, 0));
	ASSERT_EQ(1, put(self, &word, 16, 8, DD_SQE_NOTIFY));
	EXPECT_FALSE(take(self, &n));
}

TEST_F(mem, a_note_brings_its_payload)
{
	struct dd_sqe sqe = {
		.opcode = DD_OP_NOTE, .flags = DD_SQE_REGION, .region = self->imem.id,
		.src = PAGE - 5, .len = DD_PAYLOAD_MAX,
	};
	char bytes[DD_PAYLOAD_MAX];
	struct dd_note n;
	unsigned int i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = i + 1;
	for (i = 0; i <= sizeof(bytes); i += 8) {
		ASSERT_EQ(1, mem_note(&self->im, &self->i, bytes, i));
		ASSERT_TRUE(take(self, &n));
		EXPECT_EQ(self->s.segment, n.conn);
		EXPECT_EQ(self->s.cookie, n.cookie);
		EXPECT_EQ(DD_NOTE_DATA, n.type);
		EXPECT_EQ(DD_OP_NOTE, n.op);
		EXPECT_EQ(0, n.offset);
		EXPECT_EQ(i, n.len);
		EXPECT_EQ(9, n.tag);
		EXPECT_EQ(cell(self)->done, n.msgid);
		EXPECT_EQ(0, memcmp(n.payload, bytes, i));
	}
	memcpy(self->imem.at + PAGE - 5, bytes, sizeof(bytes));
	ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
	ASSERT_TRUE(take(self, &n));
	EXPECT_EQ(0, memcmp(n.payload, bytes, sizeof(bytes)));
	EXPECT_EQ(0, *(__u64 *)self->em.at);
}

TEST_F(mem, a_note_that_cannot_be_delivered_is_refused)
{
	struct dd_sqe sqe = {
		.opcode = DD_OP_NOTE, .flags = DD_SQE_REGION, .region = self->imem.id,
	};
	struct dd_import_make i;
	struct dd_note n;
	int k;

	for (k = 0; k < MEM_WINDOW; k++)
		ASSERT_EQ(1, mem_note(&self->im, &self->i, "note", 4));
	EXPECT_ERR(EAGAIN, mem_note(&self->im, &self->i, "more", 4));
	EXPECT_EQ(MEM_WINDOW, cell(self)->submitted);
	for (k = 0; k < MEM_WINDOW; k++) {
		ASSERT_TRUE(take(self, &n));
		EXPECT_EQ(0, memcmp(n.payload, "note", 4));
	}
	EXPECT_FALSE(take(self, &n));
	ASSERT_EQ(1, mem_note(&self->im, &self->i, "more", 4));
	ASSERT_TRUE(take(self, &n));
	/* After a PUT whose note is withheld, too. */
	for (k = 0; k <= MEM_WINDOW; k++)
		ASSERT_EQ(1, put(self, "word", 0, 4, DD_SQE_NOTIFY));
	EXPECT_ERR(EBUSY, mem_note(&self->im, &self->i, "more", 4));
	while (take(self, &n))
		EXPECT_EQ(DD_OP_PUT, n.op);
	EXPECT_EQ(cell(self)->submitted, cell(self)->done);

	EXPECT_ERR(ERANGE, mem_note(&self->im, &self->i, self->em.at, DD_PAYLOAD_MAX + 1));
	EXPECT_ERR(EFAULT, mem_note(&self->im, &self->i, (void *)8, 4));
	sqe.dst = 4;
	EXPECT_ERR(EINVAL, mem_op(&self->im, &self->i, &sqe));
	sqe.dst = 0;
	sqe.meta_count = 1;
	EXPECT_ERR(EINVAL, mem_op(&self->im, &self->i, &sqe));
	sqe.meta_count = 0;
	sqe.flags |= DD_SQE_NOTIFY;
	EXPECT_ERR(EINVAL, mem_op(&self->im, &self->i, &sqe));
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 0, 0));
	EXPECT_ERR(EACCES, mem_note(&self->im, &self->i, "note", 4));
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 0, 0, 0));
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_POLICY, DD_POLICY_NEVER,
			  0, 0));
	EXPECT_ERR(EACCES, mem_note(&self->im, &self->i, "note", 4));
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_POLICY, DD_POLICY_ALWAYS,
			  0, 0));
	ASSERT_OK(mem_import(&self->im, &self->s, DD_RIGHT_GET, &i));
	EXPECT_ERR(EACCES, mem_note(&self->im, &i, "note", 4));
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	EXPECT_ERR(ESTALE, mem_note(&self->im, &self->i, "note", 4));
}

TEST_F(mem, a_full_list_withholds_one_note)
{
	__u64 word = 1;
	struct dd_note n;
	int i;

	for (i = 0; i < MEM_WINDOW; i++)
		ASSERT_EQ(1, put(self, &word, 0, 8, DD_SQE_NOTIFY));
	ASSERT_EQ(1, put(self, &word, 8, 8, DD_SQE_NOTIFY));
	EXPECT_EQ(MEM_WINDOW + 1, cell(self)->sent);
	EXPECT_EQ(MEM_WINDOW, cell(self)->done);
	EXPECT_ERR(EBUSY, put(self, &word, 16, 8, 0));
	EXPECT_ERR(EBUSY, get(self, &word, 0, 8));
	EXPECT_ERR(EBUSY, cas(self, 0, 8, 1, 2, 0));
	ASSERT_TRUE(take(self, &n));
	EXPECT_EQ(MEM_WINDOW + 1, cell(self)->done);
	EXPECT_EQ(1, cas(self, 0, 8, 1, 2, 0));
	for (i = 0; i < MEM_WINDOW; i++)
		ASSERT_TRUE(take(self, &n));
	EXPECT_FALSE(take(self, &n));
}

TEST_F(mem, a_withheld_note_survives_the_end_of_both_sides)
{
	__u64 word = 1;
	struct dd_note n;
	int i;

	for (i = 0; i <= MEM_WINDOW; i++)
		ASSERT_EQ(1, put(self, &word, 0, 8, DD_SQE_NOTIFY));
	ASSERT_OK(mem_end(&self->im, self->i.import));
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	for (i = 0; i <= MEM_WINDOW; i++)
		ASSERT_TRUE(take(self, &n));
	EXPECT_FALSE(take(self, &n));
}

TEST_F(mem, end_of_the_segment_revokes_it)
{
	struct dd_import_make i;
	__u64 word = 1;

	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	EXPECT_EQ(ESTALE, cell(self)->error);
	EXPECT_ERR(ESTALE, put(self, &word, 0, 8, 0));
	EXPECT_ERR(ESTALE, get(self, &word, 0, 8));
	EXPECT_ERR(ESTALE, put(self, &word, 0, 8, 0));
	EXPECT_EQ(0, *(__u64 *)self->em.at);
	EXPECT_ERR(ECONNREFUSED, mem_import(&self->im, &self->s, DD_RIGHT_PUT, &i));
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->s.segment));
	EXPECT_ERR(ENOENT, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 0, 0));
	/* The key is free, and the generation has grown. */
	i.generation = self->s.generation;
	self->s.segment = self->s.generation = 0;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	EXPECT_LT(i.generation, self->s.generation);
	EXPECT_ERR(ESTALE, put(self, &word, 0, 8, 0));
	ASSERT_OK(mem_end(&self->im, self->i.import));
	EXPECT_ERR(ENOENT, put(self, &word, 0, 8, 0));
}

TEST_F(mem, end_of_an_import_frees_its_place)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_mem_few");
	struct dd_import_make i, k;
	__u64 word = 1;

	s.importers = 1;
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHT_PUT, &i));
	EXPECT_ERR(EUSERS, mem_import(&self->im, &s, DD_RIGHT_PUT, &k));
	EXPECT_ERR(ENOENT, mem_end(&self->ex, i.import));
	ASSERT_OK(mem_end(&self->im, i.import));
	EXPECT_ERR(ENOENT, mem_put(&self->im, &i, &word, 0, 8, 0));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHT_PUT, &k));
	EXPECT_NE(i.import, k.import);
}

/* An importer that comes again and again reserves no more slots than others. */
TEST_F(mem, slots_of_ended_importers_count_until_read)
{
	struct dd_segment_make s = self->s;
	struct dd_import_make i;
	__u64 word = 1;
	struct dd_note n;
	int k;

	strcpy((char *)s.key, "abi_mem_again");
	s.segment = s.generation = 0;
	s.importers = 3;
	ASSERT_OK(mem_export(&self->ex, &s));
	for (k = 0; k < 3; k++) {
		ASSERT_OK(mem_import(&self->im, &s, DD_RIGHT_PUT, &i));
		ASSERT_EQ(1, mem_put(&self->im, &i, &word, 0, 8, DD_SQE_NOTIFY));
		ASSERT_OK(mem_end(&self->im, i.import));
	}
	EXPECT_ERR(EUSERS, mem_import(&self->im, &s, DD_RIGHT_PUT, &i));
	for (k = 0; k < 3; k++)
		ASSERT_TRUE(take(self, &n));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHT_PUT, &i));
	/* Without notes nothing is left. */
	for (k = 0; k < 10; k++) {
		ASSERT_OK(mem_end(&self->im, i.import));
		ASSERT_OK(mem_import(&self->im, &s, DD_RIGHT_PUT, &i));
	}
}

TEST_F(mem, deny_ends_one_importer)
{
	struct dd_importer who[3];
	struct dd_segment_info info = {
		.size = sizeof(info), .segment = self->s.segment, .count = 3,
		.importers = (uintptr_t)who,
	};
	struct dd_import_make other;
	__u64 word = 1;

	ASSERT_OK(mem_import(&self->im, &self->s, DD_RIGHT_PUT, &other));
	ASSERT_EQ(1, put(self, &word, 0, 8, 0));
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_SEGMENT_INFO, &info));
	ASSERT_EQ(2, info.count);
	EXPECT_EQ(2, info.total);
	EXPECT_EQ(getpid(), who[0].pid);
	EXPECT_EQ(geteuid(), who[0].uid);
	EXPECT_EQ(DD_RIGHTS, who[0].rights);
	EXPECT_EQ(1, who[0].count);
	EXPECT_EQ(DD_RIGHT_PUT, who[1].rights);
	ASSERT_NE(who[0].channel, who[1].channel);
	EXPECT_ERR(ENOENT, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_DENY, 0, 0, 0));
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_DENY, who[0].channel, 0, 0));
	EXPECT_ERR(ENOENT, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_DENY,
				   who[0].channel, 0, 0));
	EXPECT_ERR(ESTALE, put(self, &word, 0, 8, 0));
	EXPECT_EQ(1, mem_put(&self->im, &other, &word, 0, 8, 0));
}

TEST_F(mem, segments_may_overlap)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_mem_over");
	struct dd_import_make i;
	__u64 word = 0x77, back = 0;

	s.offset = PAGE;
	s.length = PAGE;
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHTS, &i));
	ASSERT_EQ(1, mem_put(&self->im, &i, &word, 0, 8, 0));
	ASSERT_EQ(1, get(self, &back, PAGE, 8));
	EXPECT_EQ(0x77, back);
	/* One ends; the region stays, and the other segment. */
	ASSERT_OK(mem_end(&self->ex, s.segment));
	EXPECT_EQ(1, get(self, &back, PAGE, 8));
}

TEST_F(mem, a_segment_keeps_the_memory_of_its_region)
{
	__u64 word = 0x55;

	ASSERT_OK(raw_op(&self->ex, DD_IOC_REGION_FREE, self->em.id));
	ASSERT_EQ(1, put(self, &word, 0, 8, 0));
	word = 0;
	ASSERT_EQ(1, get(self, &word, 0, 8));
	EXPECT_EQ(0x55, word);
}

/* ---- keys and permission ------------------------------------------------ */

TEST_F(mem, keys_have_the_form_of_their_class)
{
	struct dd_segment_make s = mem_segment(&self->em, ""), t;
	struct dd_import_make i;
	__u32 pid = getpid();
	unsigned int n;

	EXPECT_ERR(EINVAL, mem_export(&self->ex, &s));
	memset(s.key, 'x', sizeof(s.key));
	EXPECT_ERR(EINVAL, mem_export(&self->ex, &s));
	EXPECT_ERR(EEXIST, mem_export(&self->ex, (t = self->s, t.segment = 0,
						  t.generation = 0, &t)));
	for (n = 0; n < 8; n += n == 1 ? 5 : 1) {
		s.key_class = n;
		EXPECT_ERR(EINVAL, mem_export(&self->ex, &s));
	}

	s.key_class = DD_SEGMENT_ID;
	EXPECT_ERR(EINVAL, mem_export(&self->ex, &s));
	memset(s.key, 0, sizeof(s.key));
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_EQ(0, memcmp(s.key, &s.generation, 8));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHT_GET, &i));

	s = mem_segment(&self->em, "");
	s.key_class = DD_SEGMENT_BUFFER;
	EXPECT_ERR(EINVAL, mem_export(&self->ex, &s));
	memcpy(s.key, &pid, 4);
	s.key[4] = 9;
	t = s;
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_ERR(EEXIST, mem_export(&self->ex, &t));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHT_GET, &i));
	t.key[12] = 1;
	EXPECT_ERR(EINVAL, mem_export(&self->ex, &t));

	s = mem_segment(&self->em, "");
	s.key_class = DD_SEGMENT_WELL_KNOWN;
	s.key[0] = DD_WELL_KNOWN_MAX;
	EXPECT_ERR(EINVAL, mem_export(&self->ex, &s));
	s.key[0] = DD_WELL_KNOWN_MAX - 1;
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHT_GET, &i));
	/* A service's name is of another class. */
	s.key_class = 1;
	EXPECT_ERR(EINVAL, mem_import(&self->im, &s, DD_RIGHT_GET, &i));
}

TEST_F(mem, arguments_are_checked)
{
	const struct dd_segment_make good = mem_segment(&self->em, "abi_mem_args");
	struct dd_segment_make s;
	struct dd_import_make i;

#define BAD(err, change) do {						\
	s = good;							\
	change;								\
	EXPECT_ERR(err, mem_export(&self->ex, &s));			\
} while (0)
	BAD(EINVAL, s.length = 0);
	BAD(EINVAL, s.length = 6);
	BAD(EINVAL, s.offset = 2);
	BAD(ERANGE, s.offset = 4);
	BAD(ERANGE, s.length = -4ull);
	BAD(ERANGE, s.offset = -4ull; s.length = 8);
	BAD(EINVAL, s.rights = 0);
	BAD(EINVAL, s.rights = DD_RIGHTS + 1);
	BAD(EINVAL, s.policy = DD_POLICY_ALWAYS);
	BAD(EINVAL, s.policy = DD_POLICY_NEVER + 1; s.list = self->list.list; s.window = 1);
	BAD(EINVAL, s.permission = DD_PERMIT_LISTED + 1);
	BAD(EINVAL, s.importers = 0);
	BAD(EINVAL, s.importers = DD_IMPORTERS_MAX + 1);
	BAD(EINVAL, s.window = 1);
	BAD(EINVAL, s.list = self->list.list);
	BAD(EINVAL, s.list = self->list.list; s.window = DD_WINDOW_MAX + 1);
	BAD(ENOENT, s.list = 0x7fff0000; s.window = 1);
	BAD(ENOENT, s.region = 0x7fff0000);
	BAD(ENOENT, s.region = self->list.list);
#undef BAD
	EXPECT_ERR(EINVAL, mem_import(&self->im, &self->s, 0, &i));
	EXPECT_ERR(EINVAL, mem_import(&self->im, &self->s, DD_RIGHTS + 1, &i));
	s = self->s;
	s.key[0] = '?';
	EXPECT_ERR(ECONNREFUSED, mem_import(&self->im, &s, DD_RIGHT_GET, &i));
	i = (struct dd_import_make){ .size = sizeof(i), .node = 0xfffffff0,
		.key_class = DD_SEGMENT_NAME, .rights = DD_RIGHT_GET };
	EXPECT_ERR(ENONET, raw_ioctl(&self->im, DD_IOC_IMPORT, &i));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, 0, 0, 0, 0));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_REDIRECT_END + 1, 0, 0, 0));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 2, 0, 0));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 1, 0));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_POLICY, 3, 0, 0));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_GRANT, 1, 1, 1));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_GRANT, 0, 1, 8));
	EXPECT_ERR(ENOENT, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_GRANT, 0, 1, 0));
	EXPECT_ERR(ENOENT, mem_end(&self->ex, 0));
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->em.id));
}

/* Whether another user may import: 1, 0, or -1 on failure. */
static int may(const struct dd_segment_make *s, uid_t uid, __u32 rights)
{
	pid_t pid = fork_child();
	int status;

	if (!pid) {
		struct dd_import_make i;
		struct raw r;

		CHILD_CHECK(become_user(uid) == 0);
		CHILD_CHECK(raw_open(&r) == 0);
		if (mem_import(&r, s, rights, &i) == 0)
			_exit(10);
		CHILD_CHECK(errno == EACCES);
		_exit(11);
	}
	status = wait_child(pid);
	if (!WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status) == 10 ? 1 : WEXITSTATUS(status) == 11 ? 0 : -1;
}

TEST_F(mem, permission_is_of_users)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_mem_user");

	EXPECT_EQ(1, may(&self->s, ALICE, DD_RIGHTS));
	s.permission = DD_PERMIT_USER;
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_EQ(0, may(&s, ALICE, DD_RIGHT_GET));
	EXPECT_EQ(1, may(&s, geteuid(), DD_RIGHTS));

	s = mem_segment(&self->em, "abi_mem_list");
	s.permission = DD_PERMIT_LISTED;
	s.rights = DD_RIGHT_GET | DD_RIGHT_PUT;
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_EQ(0, may(&s, ALICE, DD_RIGHT_GET));
	ASSERT_OK(mem_ctl(&self->ex, s.segment, DD_SEGMENT_GRANT, 0, ALICE, DD_RIGHT_GET));
	EXPECT_EQ(1, may(&s, ALICE, DD_RIGHT_GET));
	EXPECT_EQ(0, may(&s, ALICE, DD_RIGHT_GET | DD_RIGHT_PUT));
	EXPECT_EQ(0, may(&s, BOB, DD_RIGHT_GET));
	/* Not more than the segment has. */
	ASSERT_OK(mem_ctl(&self->ex, s.segment, DD_SEGMENT_GRANT, 0, ALICE, DD_RIGHTS));
	EXPECT_EQ(1, may(&s, ALICE, DD_RIGHT_GET | DD_RIGHT_PUT));
	EXPECT_EQ(0, may(&s, ALICE, DD_RIGHT_CAS));
	ASSERT_OK(mem_ctl(&self->ex, s.segment, DD_SEGMENT_GRANT, 0, ALICE, 0));
	EXPECT_EQ(0, may(&s, ALICE, DD_RIGHT_GET));
}

TEST_F(mem, grants_are_bounded)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_mem_many");
	__u32 n;

	s.permission = DD_PERMIT_LISTED;
	ASSERT_OK(mem_export(&self->ex, &s));
	for (n = 0; n < DD_GRANTS_MAX; n++)
		ASSERT_OK(mem_ctl(&self->ex, s.segment, DD_SEGMENT_GRANT, 0, n, 1));
	EXPECT_ERR(ENOSPC, mem_ctl(&self->ex, s.segment, DD_SEGMENT_GRANT, 0, n, 1));
	ASSERT_OK(mem_ctl(&self->ex, s.segment, DD_SEGMENT_GRANT, 0, 5, 2));
	ASSERT_OK(mem_ctl(&self->ex, s.segment, DD_SEGMENT_GRANT, 0, 5, 0));
	ASSERT_OK(mem_ctl(&self->ex, s.segment, DD_SEGMENT_GRANT, 0, n, 1));
}

TEST_F(mem, well_known_keys_need_a_privilege)
{
	pid_t pid = fork_child();

	if (!pid) {
		struct dd_segment_make s;
		struct mem m;
		struct raw r;

		CHILD_CHECK(become_user(ALICE) == 0);
		CHILD_CHECK(raw_start(&r, PAGE, &m) == 0);
		s = mem_segment(&m, "");
		s.key_class = DD_SEGMENT_WELL_KNOWN;
		CHILD_CHECK(mem_export(&r, &s) == -1 && errno == EPERM);
		_exit(0);
	}
	ASSERT_CHILD_OK(pid);
}

/* ---- ends --------------------------------------------------------------- */

TEST_F(mem, death_of_the_exporter_revokes)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_mem_dies");
	struct dd_import_make i;
	__u64 word = 1;
	int up[2];
	char c;
	pid_t pid;

	SKIP_ON_UM("leaves pages of VM_DONTCOPY mapped in a child");
	ASSERT_EQ(0, pipe(up));
	pid = fork_child();
	if (!pid) {
		struct mem m;
		struct raw r;

		CHILD_CHECK(raw_start(&r, MEM_LEN, &m) == 0);
		s = mem_segment(&m, "abi_mem_dies");
		CHILD_CHECK(mem_export(&r, &s) == 0);
		CHILD_CHECK(write(up[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(up[0], &c, 1));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHT_PUT, &i));
	ASSERT_EQ(1, mem_put(&self->im, &i, &word, 0, 8, 0));
	kill_child(pid);
	ASSERT_SOON(raw_cell(&self->im, i.cell_unit)->error == ESTALE);
	EXPECT_ERR(ESTALE, mem_put(&self->im, &i, &word, 0, 8, 0));
	EXPECT_ERR(ECONNREFUSED, mem_import(&self->im, &s, DD_RIGHT_PUT, &i));
}

/* Importers of this segment, or -1. */
static long importers(FIXTURE_DATA(mem) *self)
{
	struct dd_segment_info info = { .size = sizeof(info), .segment = self->s.segment };

	return raw_ioctl(&self->ex, DD_IOC_SEGMENT_INFO, &info) ? -1 : (long)info.total;
}

TEST_F(mem, death_of_an_importer_frees_its_place)
{
	int rounds = dd_count(30), up[2];
	struct dd_note n;
	char c;

	/* An importer writes to its parent's area where its own should be. */
	SKIP_ON_UM("leaves pages of VM_DONTCOPY mapped in a child");
	ASSERT_EQ(0, pipe(up));
	while (rounds--) {
		pid_t pid = fork_child();

		if (!pid) {
			struct dd_import_make i;
			__u64 word = 1;
			struct raw r;

			CHILD_CHECK(raw_open(&r) == 0);
			CHILD_CHECK(mem_import(&r, &self->s, DD_RIGHTS, &i) == 0);
			CHILD_CHECK(write(up[1], "x", 1) == 1);
			for (;;)
				mem_put(&r, &i, &word, 0, 8, DD_SQE_NOTIFY);
		}
		ASSERT_EQ(1, read(up[0], &c, 1));
		ASSERT_SOON(take(self, &n));
		kill_child(pid);
		ASSERT_SOON(importers(self) == 1);
	}
	while (take(self, &n))
		;
	/* Slots of all of them are free again. */
	for (int i = 0; i < MEM_WINDOW; i++)
		ASSERT_EQ(1, put(self, &(__u64){ 2 }, 0, 8, DD_SQE_NOTIFY));
}

/* Not one byte arrives after the end of the segment. */
TEST_F(mem, nothing_arrives_after_the_end)
{
	int rounds = dd_count(200), i;
	static char seen[MEM_LEN];
	pid_t pid;

	SKIP_ON_UM("leaves pages of VM_DONTCOPY mapped in a child");
	pid = fork_child();
	if (!pid) {
		static char junk[MEM_LEN];
		struct dd_import_make imp;
		struct raw r;
		unsigned int n = 0;

		CHILD_CHECK(raw_open(&r) == 0);
		for (;;) {
			if (mem_import(&r, &self->s, DD_RIGHT_PUT, &imp)) {
				CHILD_CHECK(errno == ECONNREFUSED || errno == EUSERS);
				continue;
			}
			do {
				memset(junk, ++n, sizeof(junk));
			} while (mem_put(&r, &imp, junk, 0, n & 1 ? MEM_LEN : 64, 0) == 1);
			CHILD_CHECK(errno == ESTALE);
			CHILD_CHECK(mem_end(&r, imp.import) == 0);
		}
	}
	for (i = 0; i < rounds; i++) {
		*(volatile char *)self->em.at = 0;
		ASSERT_SOON(*(volatile char *)self->em.at != 0);
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		memcpy(seen, self->em.at, MEM_LEN);
		sched_yield();
		ASSERT_EQ(0, memcmp(seen, self->em.at, MEM_LEN));
		self->s.segment = self->s.generation = 0;
		ASSERT_OK(mem_export(&self->ex, &self->s));
	}
	kill_child(pid);
}

#define ADDERS	4

/* Each increment of each process counts exactly once. */
TEST_F(mem, processes_add_by_cas)
{
	int rounds = dd_count(100000), i;
	pid_t pid[ADDERS];

	SKIP_ON_UM("leaves pages of VM_DONTCOPY mapped in a child");
	for (i = 0; i < ADDERS; i++) {
		pid[i] = fork_child();
		if (!pid[i]) {
			struct dd_import_make imp;
			__u64 was, guess = 0;
			struct raw r;
			struct mem m;

			CHILD_CHECK(raw_start(&r, PAGE, &m) == 0);
			CHILD_CHECK(mem_import(&r, &self->s, DD_RIGHT_CAS, &imp) == 0);
			for (int k = 0; k < rounds;) {
				CHILD_CHECK(mem_cas(&r, &imp, &m, 0, 64, 8, guess,
						    guess + 1, 0) == 1);
				was = *(volatile __u64 *)m.at;
				k += was == guess;
				guess = was == guess ? guess + 1 : was;
			}
			_exit(0);
		}
	}
	for (i = 0; i < ADDERS; i++)
		ASSERT_CHILD_OK(pid[i]);
	EXPECT_EQ((__u64)ADDERS * rounds, *(volatile __u64 *)(self->em.at + 64));
}

/* ---- windows ------------------------------------------------------------ */

/* Asks for the windows of an import, and maps them; -1 with errno. */
static int windows(const struct raw *r, const struct dd_import_make *i, struct dd_direct *d,
		   char **block, char **cas)
{
	*d = (struct dd_direct){ .size = sizeof(*d), .conn = i->import };
	if (raw_ioctl(r, DD_IOC_DIRECT, d))
		return -1;
	*block = raw_map(r, d->block, d->block_size, PROT_READ |
			 (i->rights & DD_RIGHT_PUT ? PROT_WRITE : 0));
	*cas = d->notes ? raw_map(r, d->notes, d->block_size, PROT_READ | PROT_WRITE) : NULL;
	return *block == MAP_FAILED || *cas == MAP_FAILED ? -1 : 0;
}

TEST_F(mem, a_window_shows_the_segment)
{
	struct dd_direct d, again = { .size = sizeof(again), .conn = self->i.import };
	char *at, *cas;

	EXPECT_EQ(0, cell(self)->ring);
	ASSERT_OK(windows(&self->im, &self->i, &d, &at, &cas));
	EXPECT_EQ(MEM_LEN, d.block_size);
	EXPECT_EQ(0, d.start);
	EXPECT_EQ(1, cell(self)->ring);
	ASSERT_NE(NULL, cas);
	memset(at, 0x31, MEM_LEN);
	EXPECT_EQ(0x31, self->em.at[0]);
	EXPECT_EQ(0x31, self->em.at[MEM_LEN - 1]);
	EXPECT_EQ(0x31, cas[PAGE]);
	ASSERT_OK(raw_ioctl(&self->im, DD_IOC_DIRECT, &again));
	EXPECT_EQ(d.block, again.block);
	EXPECT_EQ(d.notes, again.notes);
	again.flags = DD_DIRECT_DROP;
	EXPECT_ERR(EINVAL, raw_ioctl(&self->im, DD_IOC_DIRECT, &again));
}

TEST_F(mem, rules_decide_on_windows)
{
	struct dd_segment_make s;
	struct dd_import_make i;
	struct dd_direct d;
	char *at, *cas;

#define WINDOW(want, r, change) do {					\
	s = mem_segment(&self->em, "abi_mem_rule");			\
	change;								\
	ASSERT_OK(mem_export(&self->ex, &s));				\
	ASSERT_OK(mem_import(&self->im, &s, r, &i));			\
	errno = 0;							\
	EXPECT_EQ((want) ? -1 : 0, windows(&self->im, &i, &d, &at, &cas));	\
	EXPECT_EQ(want, errno);						\
	ASSERT_OK(mem_end(&self->ex, s.segment));			\
	ASSERT_OK(mem_end(&self->im, i.import));			\
} while (0)
	WINDOW(EACCES, DD_RIGHT_PUT, (void)0);
	WINDOW(EACCES, DD_RIGHT_PUT | DD_RIGHT_CAS, (void)0);
	WINDOW(0, DD_RIGHT_PUT | DD_RIGHT_GET, (void)0);
	EXPECT_EQ(NULL, cas);
	WINDOW(0, DD_RIGHT_GET | DD_RIGHT_CAS, (void)0);
	EXPECT_EQ(NULL, cas);
	/* Read-only: also later. */
	EXPECT_ERR(EACCES, mprotect(at, PAGE, PROT_READ | PROT_WRITE));
	WINDOW(EACCES, DD_RIGHTS, s.flags = DD_SEGMENT_NODIRECT);
	WINDOW(EACCES, DD_RIGHTS, s.flags = DD_SEGMENT_REDIRECT);
	WINDOW(EOPNOTSUPP, DD_RIGHTS, s.length = PAGE + 4);
	WINDOW(EOPNOTSUPP, DD_RIGHTS, s.offset = 4; s.length = PAGE);
	WINDOW(0, DD_RIGHTS, s.offset = PAGE + 4; s.length = PAGE;
	       s.flags = DD_SEGMENT_WHOLE_PAGES_OK);
	EXPECT_EQ(4, d.start);
	EXPECT_EQ(2 * PAGE, d.block_size);
#undef WINDOW
	s = mem_segment(&self->em, "abi_mem_rule");
	s.flags = DD_SEGMENT_FLAGS + 1;
	EXPECT_ERR(EINVAL, mem_export(&self->ex, &s));
}

TEST_F(mem, windows_are_hidden_and_shown)
{
	const __u64 seg = self->s.segment;
	struct dd_direct d;
	char *at, *cas;
	__u64 *word;

	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_INHIBIT, 1, 0, 0));
	ASSERT_OK(windows(&self->im, &self->i, &d, &at, &cas));
	word = (__u64 *)cas;
	EXPECT_EQ(0, cell(self)->ring);
	at[0] = 1;
	EXPECT_EQ(0, self->em.at[0]);
	EXPECT_EQ(DD_DIRECT_GONE, word[3]);
	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_INHIBIT, 0, 0, 0));
	EXPECT_EQ(1, cell(self)->ring);
	EXPECT_EQ(0, at[0]);
	EXPECT_EQ(0, word[3]);
	at[0] = 2;
	EXPECT_EQ(2, self->em.at[0]);
	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_POLICY, DD_POLICY_ALWAYS, 0, 0));
	EXPECT_EQ(0, cell(self)->ring);
	at[0] = 3;
	EXPECT_EQ(2, self->em.at[0]);
	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_INHIBIT, 1, 0, 0));
	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_POLICY, DD_POLICY_NEVER, 0, 0));
	EXPECT_EQ(0, cell(self)->ring);
	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_INHIBIT, 0, 0, 0));
	EXPECT_EQ(2, cell(self)->ring);
	EXPECT_EQ(2, at[0]);
	ASSERT_OK(mem_end(&self->ex, seg));
	EXPECT_EQ(0, cell(self)->ring);
	at[0] = 4;
	EXPECT_EQ(2, self->em.at[0]);
	EXPECT_EQ(DD_DIRECT_GONE, word[3]);
	EXPECT_ERR(ESTALE, raw_ioctl(&self->im, DD_IOC_DIRECT,
				     (&(struct dd_direct){ .size = sizeof(d),
							   .conn = self->i.import })));
}

static bool stop;

static void *store_until_stop(void *at)
{
	for (unsigned int n = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++)
		memset(at, 1 + n % 255, MEM_LEN);
	return NULL;
}

/* Another thread stores in the window all the time. */
TEST_F(mem, no_store_arrives_while_inhibited)
{
	static char seen[MEM_LEN];
	int rounds = dd_count(200), i, on;
	struct dd_direct d;
	char *at, *cas;
	pthread_t t;

	ASSERT_OK(windows(&self->im, &self->i, &d, &at, &cas));
	ASSERT_EQ(0, pthread_create(&t, NULL, store_until_stop, at));
	for (i = 0; i <= rounds; i++) {
		memset(self->em.at, 0, MEM_LEN);
		ASSERT_SOON(*(volatile char *)self->em.at != 0);
		on = i < rounds;
		ASSERT_OK(on ? mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 0, 0) :
			       mem_end(&self->ex, self->s.segment));
		memcpy(seen, self->em.at, MEM_LEN);
		for (int k = 0; k < 5; k++) {
			sched_yield();
			ASSERT_EQ(0, memcmp(seen, self->em.at, MEM_LEN));
		}
		if (on)
			ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT,
					  0, 0, 0));
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(t, NULL));
}

/* Pages of the exporter's own memory are shown as those of the device are. */
TEST_F(mem, pinned_memory_has_windows)
{
	char *own = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dd_region_pin p = { .size = sizeof(p), .address = (uintptr_t)own,
				   .length = 2 * PAGE };
	struct dd_segment_make s;
	struct dd_import_make i;
	struct dd_direct d;
	char *at, *cas;

	ASSERT_NE(MAP_FAILED, own);
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_REGION_PIN, &p));
	s = mem_segment(&(struct mem){ .id = p.region, .len = 2 * PAGE }, "abi_mem_pin");
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHTS, &i));
	ASSERT_OK(windows(&self->im, &i, &d, &at, &cas));
	memset(at, 0x44, 2 * PAGE);
	EXPECT_EQ(0x44, own[0]);
	EXPECT_EQ(0x44, own[2 * PAGE - 1]);
	/* The pages stay after the exporter has unmapped and unpinned them. */
	ASSERT_OK(raw_op(&self->ex, DD_IOC_REGION_FREE, p.region));
	ASSERT_EQ(0, munmap(own, 2 * PAGE));
	EXPECT_EQ(0x44, at[PAGE]);
	ASSERT_OK(mem_end(&self->ex, s.segment));
	EXPECT_EQ(0, at[PAGE]);
}

DD_TEST_MAIN
