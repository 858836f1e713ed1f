// SPDX-License-Identifier: GPL-2.0-only
/*
 * One-sided memory on one node: PUT, GET, CAS, notes, and what refuses them.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "abi_mem.h"

#define LENGTH(a)	(sizeof(a) / sizeof((a)[0]))

TEST_F(mem, import_describes_the_segment)
{
	EXPECT_EQ(MEM_LEN, self->i.length);
	EXPECT_EQ(self->s.generation, self->i.generation);
	EXPECT_EQ(MEM_LEN, cs(self)->peer_size);
	EXPECT_EQ(MEM_WINDOW, cs(self)->window);
	EXPECT_EQ(self->i.import, cs(self)->conn);
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
		at = i.state_unit * DD_UNIT % PAGE;
		EXPECT_LE(at + sizeof(struct dd_mem_state), PAGE);
		EXPECT_EQ(i.import, raw_state(&self->im, i.state_unit)->conn);
		if (n % 50 == 25)
			ASSERT_OK(mem_list(&self->im, &l));
	}
}

#define BIG	(320 * 1024ul)

/* Whether @len bytes of @from are at @to + 1, and no byte beside them has changed. */
static bool arrived(const char *to, const char *from, size_t len)
{
	return to[0] == '\xdd' && !memcmp(to + 1, from, len) && to[1 + len] == '\xdd';
}

/* The longest are copied in several steps, and GET stores in any memory and in a region. */
TEST_F(mem, put_and_get_move_bytes_at_any_offset)
{
	const size_t off[] = { 1, 8, PAGE - 3, PAGE, 2 * PAGE + 5 };
	const size_t len[] = { 0, 1, 8, 9, 511, 2 * PAGE - 6, 300 * 1024 + 5 };
	struct dd_sqe sqe = { .opcode = DD_OP_GET, .flags = DD_SQE_REGION, .src = 1 };
	static char from[BIG], to[BIG];
	struct dd_segment_make s;
	struct dd_import_make im;
	unsigned int i, k, n = 0;
	struct dd_conn_state *cs;
	struct mem big, back;

	ASSERT_OK(raw_alloc(&self->ex, BIG, &big));
	ASSERT_OK(raw_alloc(&self->im, BIG, &back));
	s = mem_segment(&big, "abi_mem_big");
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHTS, &im));
	cs = raw_state(&self->im, im.state_unit);
	for (i = 0; i < BIG; i++)
		from[i] = i * 7 + (i >> 12);
	sqe.region = back.id;
	for (i = 0; i < LENGTH(off); i++)
		for (k = 0; k < LENGTH(len); k++) {
			memset(big.at, 0xdd, BIG);
			memset(back.at, 0xdd, BIG);
			memset(to, 0xdd, BIG);
			sqe.dst = off[i];
			sqe.len = len[k];
			ASSERT_EQ(1, mem_put(&self->im, &im, from + i, off[i], len[k], 0));
			ASSERT_TRUE(arrived(big.at + off[i] - 1, from + i, len[k]));
			ASSERT_EQ(1, mem_get(&self->im, &im, to + 1, off[i], len[k]));
			ASSERT_TRUE(arrived(to, from + i, len[k]));
			ASSERT_EQ(1, mem_op(&self->im, &im, &sqe));
			ASSERT_TRUE(arrived(back.at, from + i, len[k]));
			n += 3;
			ASSERT_EQ(n, cs->submitted);
			ASSERT_EQ(n, cs->sent);
			ASSERT_EQ(n, cs->done);
		}
}

TEST_F(mem, get_refuses_memory_that_cannot_be_written)
{
	char *page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	EXPECT_ERR(EFAULT, get(self, page, 0, 8));
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_ERR(EFAULT, get(self, page, 0, PAGE + 1));
	/* A refused request is not counted. */
	EXPECT_EQ(0, cs(self)->submitted);
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
	EXPECT_EQ(1, cs(self)->submitted);
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
	BAD(EFAULT, sqe.flags |= DD_SQE_UNWIRED);
	BAD(EFAULT, sqe.flags = DD_SQE_UNWIRED; sqe.region = 0);
	BAD(EINVAL, sqe.flags |= 0x20);
	BAD(EINVAL, sqe.__reserved = 1);
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
	EXPECT_EQ(0, cs(self)->submitted);
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
	EXPECT_ERR(EOPNOTSUPP, raw_submit(&p.cl, p.c.state_unit, p.c.conn, &sqe));
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
		EXPECT_EQ(cs(self)->done, n.msgid);
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
	EXPECT_EQ(MEM_WINDOW, cs(self)->submitted);
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
	EXPECT_EQ(cs(self)->submitted, cs(self)->done);

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
	EXPECT_EQ(MEM_WINDOW + 1, cs(self)->sent);
	EXPECT_EQ(MEM_WINDOW, cs(self)->done);
	EXPECT_ERR(EBUSY, put(self, &word, 16, 8, 0));
	EXPECT_ERR(EBUSY, get(self, &word, 0, 8));
	EXPECT_ERR(EBUSY, cas(self, 0, 8, 1, 2, 0));
	ASSERT_TRUE(take(self, &n));
	EXPECT_EQ(MEM_WINDOW + 1, cs(self)->done);
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

DD_TEST_MAIN
