// SPDX-License-Identifier: GPL-2.0-only
/*
 * One-sided memory on one node: PUT, GET, CAS, notes, and what refuses them. Windows: which
 * imports get them, and when they are hidden.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "exporter.h"
#include "threads.h"

#define LENGTH(a)	(sizeof(a) / sizeof((a)[0]))

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
	EXPECT_EQ(0, self->cs->submitted);
	memset(page, 0x5c, PAGE);
	ASSERT_EQ(1, get(self, page, 0, 9));
	/* What is not fetched stays as it was. */
	EXPECT_EQ(0x5c, page[9]);
	EXPECT_EQ(0x5c, page[PAGE - 1]);
	EXPECT_EQ(1, get(self, page, 0, PAGE));
}

/* Of four bytes, neither the other half of the word nor that of the operands takes part. */
TEST_F(mem, cas_replaces_a_word_that_is_equal)
{
	static const struct {
		__u32 len;
		__u8 flags;
		__u64 old, new, word, result;	/* the word was 5 */
	} swaps[] = {
		{ 8, 0, 5, 0x1234567890abcdef, 0x1234567890abcdef, 5 },
		{ 8, 0, 5 | 1ull << 32, 7, 5, 5 },
		{ 8, DD_SQE_STATUS, 5, 7, 7, 1 },
		{ 8, DD_SQE_STATUS, 6, 7, 5, 2 },
		{ 4, 0, 5 | 8ull << 32, 7 | 9ull << 32, 7, 5 | ~0ull << 32 },
		{ 4, DD_SQE_STATUS, 6, 7, 5, 2 | ~0ull << 32 },
	};
	__u64 *word = (__u64 *)self->em.at, *result = (__u64 *)self->imem.at;
	unsigned int i;

	for (i = 0; i < LENGTH(swaps); i++) {
		word[0] = word[2] = result[0] = ~0ull;
		word[1] = 5;
		ASSERT_EQ(1, cas(self, 8, swaps[i].len, swaps[i].old, swaps[i].new,
				 swaps[i].flags));
		EXPECT_EQ(swaps[i].word, word[1]);
		EXPECT_EQ(swaps[i].result, result[0]);
		EXPECT_EQ(~0ull, word[0] & word[2]);
	}
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
	EXPECT_EQ(1, self->cs->submitted);
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
	EXPECT_EQ(0, self->cs->submitted);
	EXPECT_EQ(1, mem_op(&self->im, &self->i, &good));
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

/* From other memory, and from a region where it crosses a page. */
TEST_F(mem, a_note_brings_its_payload)
{
	struct dd_sqe sqe = {
		.opcode = DD_OP_NOTE, .flags = DD_SQE_REGION, .region = self->imem.id,
		.src = PAGE - 5, .len = DD_PAYLOAD_MAX,
	};
	char bytes[DD_PAYLOAD_MAX];
	struct dd_note n;
	unsigned int i;

	pattern(bytes, sizeof(bytes), 1);
	memcpy(self->imem.at + sqe.src, bytes, sizeof(bytes));
	for (i = 0; i <= sizeof(bytes); i += 8) {
		ASSERT_EQ(1, mem_note(&self->im, &self->i, bytes, i));
		ASSERT_TRUE(take(self, &n));
		EXPECT_EQ(i, n.len);
		EXPECT_EQ(9, n.tag);
		EXPECT_EQ(self->cs->done, n.msgid);
		EXPECT_EQ(0, memcmp(n.payload, bytes, i));
	}
	ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
	ASSERT_TRUE(take(self, &n));
	EXPECT_EQ(0, memcmp(n.payload, bytes, sizeof(bytes)));
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
	EXPECT_EQ(MEM_WINDOW, self->cs->submitted);
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
	EXPECT_EQ(self->cs->submitted, self->cs->done);

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
	ASSERT_OK(inhibit(self, true));
	EXPECT_ERR(EACCES, mem_note(&self->im, &self->i, "note", 4));
	ASSERT_OK(inhibit(self, false));
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

/* ---- windows --------------------------------------------------------------- */

#define MAPS	8	/* of a window at a time */

/* Each mapping costs the process that hides the window. */
TEST_F(mem, mappings_of_a_window_are_limited)
{
	struct dd_direct d, again = { .size = sizeof(again), .conn = self->i.import };
	char *at, *cas;
	void *last;
	int n;

	ASSERT_OK(mem_windows(&self->im, &self->i, &d, &at, &cas));
	for (n = 1; n < MAPS; n++)
		ASSERT_NE(MAP_FAILED, raw_map(&self->im, d.block, d.block_size, PROT_READ));
	EXPECT_EQ(MAP_FAILED, raw_map(&self->im, d.block, d.block_size, PROT_READ));
	EXPECT_EQ(ENOMEM, errno);
	ASSERT_OK(munmap(at, d.block_size));
	last = raw_map(&self->im, d.block, d.block_size, PROT_READ);
	EXPECT_NE(MAP_FAILED, last);
	EXPECT_EQ(MAP_FAILED, raw_map(&self->im, d.block, d.block_size, PROT_READ));
	/* The other window has a limit of its own. */
	EXPECT_NE(MAP_FAILED, raw_map(&self->im, d.notes, d.block_size, PROT_READ));
	ASSERT_OK(raw_ioctl(&self->im, DD_IOC_DIRECT, &again));
	EXPECT_EQ(d.block, again.block);
	EXPECT_EQ(d.notes, again.notes);
	again.flags = DD_DIRECT_DROP;
	EXPECT_ERR(EINVAL, raw_ioctl(&self->im, DD_IOC_DIRECT, &again));
}

TEST_F(mem, rules_decide_on_windows)
{
	static const struct {
		int err;
		__u32 rights, flags;
		__u64 offset, length;
		bool cas;	/* a window for swaps, too */
	} rules[] = {
		{ EACCES, DD_RIGHT_PUT, 0, 0, MEM_LEN },
		{ EACCES, DD_RIGHT_PUT | DD_RIGHT_CAS, 0, 0, MEM_LEN },
		{ EACCES, DD_RIGHTS, DD_SEGMENT_NODIRECT, 0, MEM_LEN },
		{ EACCES, DD_RIGHTS, DD_SEGMENT_REDIRECT, 0, MEM_LEN },
		{ EOPNOTSUPP, DD_RIGHTS, 0, 0, PAGE + 4 },
		{ EOPNOTSUPP, DD_RIGHTS, 0, 4, PAGE },
		{ 0, DD_RIGHT_PUT | DD_RIGHT_GET, 0, 0, MEM_LEN },
		{ 0, DD_RIGHT_GET | DD_RIGHT_CAS, 0, 0, MEM_LEN },
		{ 0, DD_RIGHTS, DD_SEGMENT_WHOLE_PAGES_OK, PAGE + 4, PAGE, true },
	};
	struct dd_segment_make s;
	struct dd_import_make i;
	struct dd_direct d;
	char *at, *cas;
	size_t n;

	for (n = 0; n < LENGTH(rules); n++) {
		s = mem_segment(&self->em, "rule");
		s.flags = rules[n].flags;
		s.offset = rules[n].offset;
		s.length = rules[n].length;
		ASSERT_OK(mem_export(&self->ex, &s));
		ASSERT_OK(mem_import(&self->im, &s, rules[n].rights, &i));
		if (rules[n].err) {
			EXPECT_ERR(rules[n].err, mem_windows(&self->im, &i, &d, &at, &cas));
		} else {
			ASSERT_OK(mem_windows(&self->im, &i, &d, &at, &cas));
			EXPECT_EQ(rules[n].offset % PAGE, d.start);
			EXPECT_EQ(rules[n].length + (d.start ? PAGE : 0), d.block_size);
			EXPECT_EQ(rules[n].cas, cas != NULL);
			/* Read-only: also later. */
			EXPECT_EQ(rules[n].rights & DD_RIGHT_PUT ? 0 : -1,
				  mprotect(at, PAGE, PROT_READ | PROT_WRITE));
		}
		ASSERT_OK(mem_end(&self->ex, s.segment));
		ASSERT_OK(mem_end(&self->im, i.import));
	}
}

/* Each step, and the number of the window then: 0 if it is hidden. */
TEST_F(mem, windows_are_hidden_and_shown)
{
	static const struct {
		__u32 what;
		int value, ring;
	} steps[] = {
		{ DD_SEGMENT_INHIBIT, 1, 0 }, { DD_SEGMENT_INHIBIT, 0, 1 },
		{ DD_SEGMENT_POLICY, DD_POLICY_ALWAYS, 0 }, { DD_SEGMENT_INHIBIT, 1, 0 },
		{ DD_SEGMENT_POLICY, DD_POLICY_NEVER, 0 }, { DD_SEGMENT_INHIBIT, 0, 2 },
		{ 0 },	/* the end of the segment */
	};
	struct dd_direct d;
	char *at, *cas;
	__u64 *word;
	size_t n;

	ASSERT_OK(inhibit(self, true));
	ASSERT_OK(mem_windows(&self->im, &self->i, &d, &at, &cas));
	word = (__u64 *)cas;
	for (n = 0; n < LENGTH(steps); n++) {
		self->em.at[0] = 0;
		ASSERT_OK(steps[n].what ? mem_ctl(&self->ex, self->s.segment, steps[n].what,
						  steps[n].value, 0, 0) :
					  mem_end(&self->ex, self->s.segment));
		EXPECT_EQ(steps[n].ring, self->cs->ring);
		EXPECT_EQ(steps[n].ring ? 0 : DD_DIRECT_GONE, word[3]);
		at[0] = 1;
		EXPECT_EQ(steps[n].ring != 0, self->em.at[0]);
		if (steps[n].ring)
			EXPECT_EQ(1, cas[0]);
	}
	EXPECT_ERR(ESTALE, raw_ioctl(&self->im, DD_IOC_DIRECT,
				     (&(struct dd_direct){ .size = sizeof(d),
							   .conn = self->i.import })));
}

/* Import with windows, and end that. */
static bool come_and_go(void *arg)
{
	FIXTURE_DATA(mem) *self = arg;
	struct dd_import_make i;
	struct dd_direct d;
	char *at, *cas;

	return !mem_import(&self->im, &self->s, DD_RIGHTS, &i) &&
	       !mem_windows(&self->im, &i, &d, &at, &cas) && !mem_end(&self->im, i.import) &&
	       !munmap(at, d.block_size) && !munmap(cas, d.block_size);
}

/* The exporter does not keep importers from coming and going while it hides windows. */
TEST_F(mem, all_windows_are_hidden_while_importers_come_and_go)
{
	struct dd_import_make i[4];
	int rounds = dd_count(300), n, k;
	struct dd_direct d;
	char *at[4], *cas;
	struct loop l;

	for (n = 0; n < 4; n++) {
		ASSERT_OK(mem_import(&self->im, &self->s, DD_RIGHTS, &i[n]));
		ASSERT_OK(mem_windows(&self->im, &i[n], &d, &at[n], &cas));
	}
	ASSERT_TRUE(loop_begin(&l, come_and_go, self));
	for (k = 1; k <= 2 * rounds; k++) {
		ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, k % 2, 0, 0));
		for (n = 0; n < 4; n++)
			ASSERT_EQ(k % 2, raw_state(&self->im, i[n].state_unit)->ring == 0);
		for (n = 0; n < 4; n++)
			at[n][n] = k;
		if (k % 2)
			ASSERT_EQ(0, memcmp(self->em.at, "\0\0\0", 4));
		memset(self->em.at, 0, 4);
		sched_yield();
	}
	EXPECT_EQ(0, loop_end(&l));
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
	ASSERT_OK(mem_windows(&self->im, &i, &d, &at, &cas));
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
