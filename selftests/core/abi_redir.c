// SPDX-License-Identifier: GPL-2.0-only
/*
 * Redirection of messages to a segment: which bytes are redirected, what ends it, and what it
 * keeps. On one node, or between two by across.sh. With DDP_LOSS the network loses packets.
 *
 * Copyright (C) 2026 The dd authors
 */
#define SEGMENT_LEN	BULK
#define SEGMENT_FLAGS	DD_SEGMENT_REDIRECT
#include "exporter.h"
#include "threads.h"

#define LEN	BULK
#define SEG	0xee	/* what the segment holds at first; neither is in a message */
#define TO	0xdd	/* what the other region holds at first */

/* Where the messages to the segment of the fixture are redirected. */
static struct mem to;
static volatile struct dd_segment_state *redirected;

static int prepare(FIXTURE_DATA(mem) *self)
{
	redirected = raw_unit(&self->ex, self->s.state_unit);
	return raw_alloc(&self->ex, LEN, &to);
}

/* Wait for the request, which another node may refuse later. */
static int finish(FIXTURE_DATA(mem) *self, const struct dd_import_make *i, int submitted)
{
	const struct dd_mem_state *ms = raw_unit(&self->im, i->state_unit);
	__u64 n = ms->cs.submitted;

	if (submitted != 1 || !far_netns())
		return submitted;
	if (wait_done(&self->im, i, n))
		return -1;
	errno = ms->result[n % DD_RESULTS];
	return errno ? -1 : 1;
}

/* A PUT of the importer's memory at @src: by turns as wired and as other memory. */
static int send_by(FIXTURE_DATA(mem) *self, const struct dd_import_make *i, __u64 src, __u64 dst,
		   __u64 len)
{
	const struct dd_sqe sqe = {
		.opcode = DD_OP_PUT, .flags = DD_SQE_REGION, .region = self->imem.id,
		.src = src, .dst = dst, .len = len,
	};
	bool wired = raw_state(&self->im, i->state_unit)->submitted & 1;

	return finish(self, i, wired ? mem_op(&self->im, i, &sqe) :
		      mem_put(&self->im, i, self->imem.at + src, dst, len, 0));
}

static int send(FIXTURE_DATA(mem) *self, __u64 src, __u64 dst, __u64 len)
{
	return send_by(self, &self->i, src, dst, len);
}

static int redirect(FIXTURE_DATA(mem) *self, __u64 at, __u64 offset, __u64 length)
{
	return mem_redirect(&self->ex, self->s.segment, at, &to, offset, length);
}

static int end(FIXTURE_DATA(mem) *self)
{
	return mem_redirect_end(&self->ex, self->s.segment);
}

static void clear(FIXTURE_DATA(mem) *self, size_t len)
{
	memset(self->em.at, SEG, len);
	memset(to.at, TO, len);
}

/* Whether @len bytes at @at are all @value. */
static bool all(const char *at, int value, size_t len)
{
	while (len && (unsigned char)at[len - 1] == value)
		len--;
	return !len;
}

/*
 * Whether the message of @len bytes at @dst, with the bytes at @from, is in place: what
 * struct dd_segment_state states is in the redirection of byte @at to @offset, and the rest
 * in the segment; and no other byte of the first @most has changed.
 */
static bool in_place(FIXTURE_DATA(mem) *self, const char *from, size_t dst, size_t len,
		     size_t at, size_t offset, size_t most)
{
	size_t first = redirected->first, count = redirected->count;
	const char *seg = self->em.at, *there = to.at + offset;
	size_t begin = count ? at + first : dst;	/* of the redirected bytes */

	return redirected->data_end == dst + len &&
	       all(seg, SEG, dst) && !memcmp(seg + dst, from, begin - dst) &&
	       all(seg + begin, SEG, count) &&
	       !memcmp(seg + begin + count, from + begin + count - dst,
		       dst + len - begin - count) &&
	       all(seg + dst + len, SEG, most - dst - len) &&
	       all(to.at, TO, offset + first) &&
	       !memcmp(there + first, from + begin - dst, count) &&
	       all(there + first + count, TO, most - offset - first - count);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

TEST_F(mem, bytes_inside_are_redirected_and_others_not)
{
	const size_t dst[] = { 0, 1, 4, 7, 100, PAGE - 4, PAGE + 8 };
	const size_t len[] = { 1, 4, 8, 12, 64, 509, PAGE, 3 * PAGE + 2 };
	const size_t at[] = { 0, 4, 8, 104, PAGE - 8, PAGE, PAGE + 12 };
	const size_t length[] = { 4, 8, 100, PAGE };
	const size_t most = 6 * PAGE;
	unsigned int n;

	ASSERT_OK(prepare(self));
	for (n = 0; n < 7 * 8 * 7 * 4; n++) {
		size_t d = dst[n % 7], l = len[n / 7 % 8], a = at[n / 56 % 7];
		size_t w = length[n / 392], o = 4 * (n % 5), end_at, count = 0;

		clear(self, most);
		pattern(self->imem.at + 3, l, n);
		ASSERT_OK(redirect(self, a, o, w));
		ASSERT_EQ(1, send(self, 3, d, l));
		ASSERT_OK(end(self));
		end_at = least(d + l, a + w);
		if (d < end_at && a < end_at)
			count = end_at - (d < a ? a : d);
		ASSERT_EQ(count, redirected->count);
		ASSERT_EQ(count && d > a ? d - a : 0, redirected->first);
		ASSERT_EQ(n + 1, redirected->request);
		ASSERT_TRUE(in_place(self, self->imem.at + 3, d, l, a, o, most));
	}
}

/* @word of the note for a PUT of @len bytes at @from to @dst. */
static __u64 last_word(const char *from, __u64 dst, size_t len)
{
	size_t n = least((dst + len) % 8 ?: 8, len);
	__u64 word = 0;

	memcpy(&word, from + len - n, n);
	return word;
}

/*
 * PUTs of each length to several places of the segment @s, from wired and other memory. Returns
 * how many notes have another word than that of the segment, or -1.
 */
static int words_wrong(FIXTURE_DATA(mem) *self, const struct dd_segment_make *s,
		       const struct dd_import_make *i)
{
	static const __u8 places[] = { 0, 2, 4, 7, 8, 12 };
	int wrong = 0, k;
	struct dd_note n;

	for (k = 0; k < 2 * 6 * 70; k++) {
		__u64 src = k % 9, dst = places[k / 2 % 6], len = k / 12;
		char *from = self->imem.at + src;

		for (__u32 b = 0; b < len; b++)
			from[b] = k + 7 * b;
		if (s->flags && mem_redirect(&self->ex, s->segment, 4 * (k % 5), &to, 4, 64))
			return -1;
		/* From another node, a note may be read before it is known there that it is. */
		while (send_by(self, i, src, dst, len) != 1)
			if (errno != EBUSY || sched_yield())
				return -1;
		while (!take(self, &n))
			sched_yield();
		if (s->flags && mem_redirect_end(&self->ex, s->segment))
			return -1;
		wrong += n.word != last_word(from, dst, len);
	}
	return wrong;
}

/* Wherever the segment begins, and the word is stored. */
TEST_F(mem, notes_hold_the_last_word_of_the_segment)
{
	struct dd_segment_make s;
	struct dd_import_make i;
	int k;

	ASSERT_OK(prepare(self));
	for (k = 0; k < 8; k++) {
		s = mem_segment(&self->em, "words");
		s.offset = k / 2 * 4;
		s.length = 128;
		s.flags = k % 2 ? DD_SEGMENT_REDIRECT : 0;
		s.list = self->list.list;
		s.window = MEM_WINDOW;
		s.policy = DD_POLICY_ALWAYS;
		ASSERT_OK(mem_export(&self->ex, &s));
		ASSERT_OK(import(&self->im, &s, DD_RIGHT_PUT, 0, &i));
		ASSERT_EQ(0, words_wrong(self, &s, &i));
		ASSERT_OK(mem_end(&self->im, i.import));
		ASSERT_OK(mem_end(&self->ex, s.segment));
	}
}

/*
 * More than is copied with the channel locked once, and many packets. A lost packet ends the
 * redirection: its bytes, and those that follow, are in the segment.
 */
TEST_F(mem, each_byte_of_a_long_message_is_stored_once)
{
	int rounds = dd_count(20), i;

	ASSERT_OK(prepare(self));
	for (i = 0; i < rounds; i++) {
		size_t at = i / 2 % 2 ? PAGE + 4 : 0, dst = 4 * i, len = LEN - 100;

		pattern(self->imem.at, len, i);
		clear(self, LEN);
		ASSERT_OK(redirect(self, at, 0, LEN - at));
		ASSERT_EQ(1, send(self, 0, dst, len));
		ASSERT_OK(end(self));
		if (!getenv("DDP_LOSS"))
			EXPECT_EQ(dst < at ? dst + len - at : len, redirected->count);
		EXPECT_TRUE(in_place(self, self->imem.at, dst, len, at, 0, LEN));
	}
}

TEST_F(mem, one_message_of_one_importer_is_redirected)
{
	struct dd_import_make i;

	ASSERT_OK(prepare(self));
	ASSERT_OK(import(&self->im, &self->s, DD_RIGHT_PUT, 0, &i));
	pattern(self->imem.at, 64, 1);
	clear(self, PAGE);
	ASSERT_OK(redirect(self, 0, 0, PAGE));
	/* It passes those that have no byte there. */
	ASSERT_EQ(1, send(self, 0, PAGE, 64));
	ASSERT_EQ(1, send(self, 0, 64, 0));
	ASSERT_EQ(1, send(self, 0, 0, 64));
	/* Their bytes would follow. */
	ASSERT_EQ(1, send(self, 0, 64, 64));
	ASSERT_EQ(1, send_by(self, &i, 0, 128, 64));
	ASSERT_OK(end(self));
	EXPECT_EQ(64, redirected->count);
	EXPECT_EQ(0, memcmp(to.at, self->imem.at, 64));
	EXPECT_TRUE(all(to.at + 64, TO, PAGE - 64));
	EXPECT_TRUE(all(self->em.at, SEG, 64));
	EXPECT_EQ(0, memcmp(self->em.at + 64, self->imem.at, 64));
	EXPECT_EQ(0, memcmp(self->em.at + 128, self->imem.at, 64));
}

TEST_F(mem, an_ended_redirection_takes_nothing)
{
	ASSERT_OK(prepare(self));
	pattern(self->imem.at, 64, 1);
	clear(self, PAGE);
	ASSERT_OK(redirect(self, 0, 0, PAGE));
	ASSERT_OK(end(self));
	EXPECT_EQ(0, redirected->count);
	ASSERT_EQ(1, send(self, 0, 0, 64));
	EXPECT_EQ(0, memcmp(self->em.at, self->imem.at, 64));
	EXPECT_TRUE(all(to.at, TO, PAGE));
	EXPECT_ERR(ENOENT, end(self));
}

/* Neither a GET nor a CAS nor a refused PUT ends it. */
TEST_F(mem, other_requests_see_the_segment)
{
	__u64 word = 0;

	ASSERT_OK(prepare(self));
	pattern(self->imem.at, 64, 1);
	clear(self, PAGE);
	*(__u64 *)self->em.at = 5;
	ASSERT_OK(redirect(self, 0, 0, PAGE));
	ASSERT_EQ(1, mem_cas(&self->im, &self->i, &self->imem, 64, 0, 8, 5, 6, 0));
	ASSERT_EQ(1, get(self, &word, 0, 8));
	ASSERT_EQ(0, result(self));
	EXPECT_EQ(6, word);
	ASSERT_OK(inhibit(self, true));
	EXPECT_ERR(EACCES, send(self, 0, 0, 64));
	EXPECT_EQ(0, redirected->data_end);
	EXPECT_TRUE(all(to.at, TO, PAGE));
	ASSERT_OK(inhibit(self, false));
	ASSERT_EQ(1, send(self, 0, 0, 64));
	ASSERT_OK(end(self));
	EXPECT_EQ(64, redirected->count);
	EXPECT_EQ(0, memcmp(to.at, self->imem.at, 64));
	EXPECT_EQ(6, *(__u64 *)self->em.at);
}

TEST_F(mem, arguments_are_checked)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_redir_no");
	const __u64 seg = self->s.segment;

	ASSERT_OK(prepare(self));
	EXPECT_ERR(EINVAL, redirect(self, 0, 0, 0));
	EXPECT_ERR(EINVAL, redirect(self, 2, 0, 4));
	EXPECT_ERR(EINVAL, redirect(self, 0, 2, 4));
	EXPECT_ERR(EINVAL, redirect(self, 0, 0, 6));
	EXPECT_ERR(ERANGE, redirect(self, LEN, 0, 4));
	EXPECT_ERR(ERANGE, redirect(self, 4, 0, LEN));
	EXPECT_ERR(ERANGE, redirect(self, -4ull, 0, 8));
	EXPECT_ERR(ERANGE, redirect(self, 0, 4, LEN));
	EXPECT_ERR(ERANGE, redirect(self, 0, -4ull, 8));
	if (!far_netns()) {
		EXPECT_ERR(ENOENT, mem_redirect(&self->ex, seg, 0, &self->imem, 0, 4 * PAGE));
		EXPECT_ERR(ENOENT, mem_redirect(&self->im, seg, 0, &to, 0, 4));
		EXPECT_ERR(ENOENT, mem_redirect(&self->ex, self->i.import, 0, &to, 0, 4));
	}
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, seg, DD_SEGMENT_REDIRECT_END, 1, 0, 0));
	EXPECT_ERR(ENOENT, end(self));
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_EQ(0, s.state_unit);
	EXPECT_ERR(EOPNOTSUPP, mem_redirect(&self->ex, s.segment, 0, &to, 0, 4));
	EXPECT_ERR(ENOENT, mem_redirect_end(&self->ex, s.segment));
	ASSERT_OK(redirect(self, 0, 0, LEN));
}

/* Memory cannot be freed until its redirection ends, or the segment of that does. */
TEST_F(mem, the_memory_stays_until_the_end)
{
	struct mem m[2];
	int i;

	ASSERT_OK(prepare(self));
	for (i = 0; i < 2; i++) {
		ASSERT_OK(raw_alloc(&self->ex, LEN, &m[i]));
		ASSERT_OK(mem_redirect(&self->ex, self->s.segment, 0, &m[i], 0, LEN));
		EXPECT_ERR(EBUSY, raw_op(&self->ex, DD_IOC_REGION_FREE, m[i].id));
		ASSERT_OK(i ? mem_end(&self->ex, self->s.segment) : end(self));
		EXPECT_EQ(0, raw_op(&self->ex, DD_IOC_REGION_FREE, m[i].id));
	}
}

/* ---- at the same time ----------------------------------------------------- */

/* Every message has other bytes. */
static bool send_one(void *self)
{
	static int n;

	memset(((FIXTURE_DATA(mem) *)self)->imem.at, 1 + n++ % 200, LEN);
	return send(self, 0, 0, LEN) == 1;
}

TEST_F(mem, nothing_is_stored_there_after_the_end)
{
	int rounds = dd_count(200), i, k;
	size_t first, count;
	const char *there;
	struct loop l;

	ASSERT_OK(prepare(self));
	there = to.at;
	ASSERT_TRUE(loop_begin(&l, send_one, self));
	for (i = 0; i < rounds; i++) {
		memset(to.at, TO, LEN);
		ASSERT_OK(redirect(self, 0, 0, LEN));
		/* In every other round, one message from its beginning. */
		ASSERT_SOON(i & 1 ? *(volatile __u8 *)(there + LEN - 1) != TO :
				    !all(there, TO, LEN));
		ASSERT_OK(end(self));
		first = redirected->first;
		count = redirected->count;
		for (k = 0; k < 2; k++) {
			ASSERT_LT(0, count);
			ASSERT_GE(LEN, first + count);
			ASSERT_TRUE(all(there, TO, first));
			ASSERT_TRUE(all(there + first, (unsigned char)there[first], count));
			ASSERT_NE(TO, (unsigned char)there[first]);
			ASSERT_TRUE(all(there + first + count, TO, LEN - first - count));
			sched_yield();
		}
	}
	EXPECT_EQ(0, loop_end(&l));
}

/* Within a node, a refused message has the number of the next one, which does not continue it. */
TEST_F(mem, a_refused_message_is_not_continued)
{
	int rounds = dd_count(50), i;
	const char *there;
	struct loop l;
	size_t count;

	ASSERT_OK(prepare(self));
	there = to.at;
	for (i = 0; i < rounds; i++) {
		memset(to.at, TO, LEN);
		ASSERT_OK(inhibit(self, false));
		ASSERT_OK(redirect(self, 0, 0, LEN));
		ASSERT_TRUE(loop_begin(&l, send_one, self));
		ASSERT_SOON(*(volatile __u8 *)there != TO);
		ASSERT_OK(inhibit(self, true));
		ASSERT_EQ(EACCES, loop_failure(&l));
		for (count = 0; count < LEN && (unsigned char)there[count] != TO; count++)
			;
		ASSERT_OK(inhibit(self, false));
		memset(self->em.at, SEG, LEN);
		memset(self->imem.at, 0xaa, LEN);
		if (count < LEN)
			ASSERT_EQ(1, send(self, 0, count, LEN - count));
		ASSERT_TRUE(all(self->em.at + count, 0xaa, LEN - count));
		ASSERT_TRUE(all(there + count, TO, LEN - count));
		ASSERT_OK(end(self));
		ASSERT_EQ(count, redirected->count);
	}
}

DD_TEST_MAIN
