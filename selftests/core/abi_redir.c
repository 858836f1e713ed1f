// SPDX-License-Identifier: GPL-2.0-only
/*
 * Redirection of messages to a segment, on one node: which bytes are redirected, what ends
 * it, and what it keeps.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <pthread.h>
#include <sys/resource.h>
#include "mem.h"

#define LEN	(1 << 20)
#define SEG	0xee	/* what the segment holds at first */
#define TO	0xdd	/* what the other region holds at first */

/* @ex exports all of @em and redirects to @to, @im imports it. */
FIXTURE(redir) {
	struct raw ex, im;
	struct mem em, to, imem;
	struct dd_list_make list;
	struct dd_segment_make s;
	struct dd_import_make i;
	volatile struct dd_segment_state *state;
};

FIXTURE_VARIANT(redir) {
	bool wired;
};

FIXTURE_VARIANT_ADD(redir, wired) { true };
FIXTURE_VARIANT_ADD(redir, unwired) { false };

static int export(FIXTURE_DATA(redir) *self, struct dd_segment_make *s, const char *name)
{
	*s = mem_segment(&self->em, name);
	s->flags = DD_SEGMENT_REDIRECT;
	s->list = self->list.list;
	s->window = MEM_WINDOW;
	s->policy = DD_POLICY_CONDITIONAL;
	return mem_export(&self->ex, s);
}

FIXTURE_SETUP(redir)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	/* A user of this test's own: no other test changes its charge. */
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &all));
	ASSERT_EQ(0, become_user(lone_user()));
	ASSERT_OK(raw_start(&self->ex, LEN, &self->em));
	ASSERT_OK(raw_alloc(&self->ex, LEN, &self->to));
	ASSERT_OK(raw_start(&self->im, LEN, &self->imem));
	ASSERT_OK(mem_list(&self->ex, &self->list));
	ASSERT_OK(export(self, &self->s, "abi_redir"));
	ASSERT_NE(0, self->s.state_unit);
	self->state = raw_unit(&self->ex, self->s.state_unit);
	ASSERT_OK(mem_import(&self->im, &self->s, DD_RIGHTS, &self->i));
}

FIXTURE_TEARDOWN(redir)
{
	raw_close(&self->im);
	raw_close(&self->ex);
}

static int put_by(FIXTURE_DATA(redir) *self, const FIXTURE_VARIANT(redir) *variant,
		  const struct dd_import_make *i, __u64 src, __u64 dst, __u64 len, __u8 flags)
{
	const struct dd_sqe sqe = {
		.opcode = DD_OP_PUT, .flags = flags | DD_SQE_REGION, .region = self->imem.id,
		.src = src, .dst = dst, .len = len,
	};

	return variant->wired ? mem_op(&self->im, i, &sqe) :
				mem_put(&self->im, i, self->imem.at + src, dst, len, flags);
}

static int put(FIXTURE_DATA(redir) *self, const FIXTURE_VARIANT(redir) *variant,
	       __u64 src, __u64 dst, __u64 len)
{
	return put_by(self, variant, &self->i, src, dst, len, 0);
}

static int redirect(FIXTURE_DATA(redir) *self, __u64 at, __u64 offset, __u64 length)
{
	return mem_redirect(&self->ex, self->s.segment, at, &self->to, offset, length);
}

static int end(FIXTURE_DATA(redir) *self)
{
	return mem_redirect_end(&self->ex, self->s.segment);
}

/* Neither SEG nor TO. */
static void pattern(char *at, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		at[i] = 1 + (i * 31 + seed * 7 + (i >> 8)) % 200;
}

static void clear(FIXTURE_DATA(redir) *self, size_t len)
{
	memset(self->em.at, SEG, len);
	memset(self->to.at, TO, len);
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
static bool in_place(FIXTURE_DATA(redir) *self, const char *from, size_t dst, size_t len,
		     size_t at, size_t offset, size_t most)
{
	size_t first = self->state->first, count = self->state->count;
	const char *seg = self->em.at, *to = self->to.at;
	size_t begin = count ? at + first : dst;	/* of the redirected bytes */

	return all(seg, SEG, dst) && !memcmp(seg + dst, from, begin - dst) &&
	       all(seg + begin, SEG, count) &&
	       !memcmp(seg + begin + count, from + begin + count - dst,
		       dst + len - begin - count) &&
	       all(seg + dst + len, SEG, most - dst - len) &&
	       all(to, TO, offset + first) &&
	       !memcmp(to + offset + first, from + begin - dst, count) &&
	       all(to + offset + first + count, TO, most - offset - first - count);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

TEST_F(redir, bytes_inside_are_redirected_and_others_not)
{
	const size_t dst[] = { 0, 1, 4, 7, 100, PAGE - 4, PAGE + 8 };
	const size_t len[] = { 1, 4, 8, 12, 64, 509, PAGE, 3 * PAGE + 2 };
	const size_t at[] = { 0, 4, 8, 104, PAGE - 8, PAGE, PAGE + 12 };
	const size_t most = 6 * PAGE;
	size_t length[] = { 4, 8, 100, PAGE };
	unsigned int n, seed = 0;

	for (n = 0; n < 7 * 8 * 7 * 4; n++) {
		size_t d = dst[n % 7], l = len[n / 7 % 8], a = at[n / 56 % 7];
		size_t w = length[n / 392], o = 4 * (seed % 5), end_at, count = 0;

		clear(self, most);
		pattern(self->imem.at + 3, l, ++seed);
		ASSERT_OK(redirect(self, a, o, w));
		ASSERT_EQ(1, put(self, variant, 3, d, l));
		ASSERT_OK(end(self));
		end_at = least(d + l, a + w);
		if (d < end_at && a < end_at)
			count = end_at - (d < a ? a : d);
		ASSERT_EQ(count, self->state->count);
		ASSERT_EQ(count && d > a ? d - a : 0, self->state->first);
		ASSERT_EQ(d + l, self->state->data_end);
		ASSERT_TRUE(in_place(self, self->imem.at + 3, d, l, a, o, most));
	}
}

/* Wherever the segment begins, and the word is stored. */
TEST_F(redir, notes_hold_the_last_word_of_the_segment)
{
	struct mem_noted t = {
		.ex = &self->ex, .im = &self->im, .m = &self->em, .imem = &self->imem,
		.list = &self->list, .node = mem_node(&self->im),
	};

	for (t.offset = 0; t.offset <= 12; t.offset += 4) {
		t.to = NULL;
		ASSERT_EQ(0, mem_words_wrong(&t));
		t.to = &self->to;
		ASSERT_EQ(0, mem_words_wrong(&t));
	}
}

/* More than is copied with the channel locked once. */
TEST_F(redir, a_long_message_is_redirected)
{
	pattern(self->imem.at, LEN, 1);
	clear(self, LEN);
	ASSERT_OK(redirect(self, 0, 0, LEN));
	ASSERT_EQ(1, put(self, variant, 0, 0, LEN));
	ASSERT_OK(end(self));
	EXPECT_EQ(LEN, self->state->count);
	EXPECT_TRUE(in_place(self, self->imem.at, 0, LEN, 0, 0, LEN));
}

TEST_F(redir, one_message_is_redirected)
{
	pattern(self->imem.at, 64, 1);
	clear(self, PAGE);
	ASSERT_OK(redirect(self, 0, 0, PAGE));
	/* It passes those that have no byte there. */
	ASSERT_EQ(1, put(self, variant, 0, PAGE, 64));
	ASSERT_EQ(1, put(self, variant, 0, 64, 0));
	ASSERT_EQ(1, put(self, variant, 0, 0, 64));
	/* Its bytes would follow. */
	ASSERT_EQ(1, put(self, variant, 0, 64, 64));
	ASSERT_OK(end(self));
	EXPECT_EQ(64, self->state->count);
	EXPECT_EQ(0, memcmp(self->to.at, self->imem.at, 64));
	EXPECT_TRUE(all(self->to.at + 64, TO, PAGE - 64));
	EXPECT_TRUE(all(self->em.at, SEG, 64));
	EXPECT_EQ(0, memcmp(self->em.at + 64, self->imem.at, 64));
}

TEST_F(redir, messages_of_two_importers_are_not_mixed)
{
	struct dd_import_make i;

	ASSERT_OK(mem_import(&self->im, &self->s, DD_RIGHT_PUT, &i));
	pattern(self->imem.at, 64, 1);
	clear(self, PAGE);
	ASSERT_OK(redirect(self, 0, 0, PAGE));
	ASSERT_EQ(1, put(self, variant, 0, 0, 64));
	ASSERT_EQ(1, put_by(self, variant, &i, 0, 0, 64, 0));
	ASSERT_EQ(1, put_by(self, variant, &i, 0, 64, 64, 0));
	ASSERT_OK(end(self));
	EXPECT_EQ(64, self->state->count);
	EXPECT_TRUE(all(self->to.at + 64, TO, PAGE - 64));
	EXPECT_EQ(0, memcmp(self->em.at, self->imem.at, 64));
	EXPECT_EQ(0, memcmp(self->em.at + 64, self->imem.at, 64));
}

TEST_F(redir, an_ended_redirection_takes_nothing)
{
	pattern(self->imem.at, 64, 1);
	clear(self, PAGE);
	ASSERT_OK(redirect(self, 0, 0, PAGE));
	ASSERT_OK(end(self));
	EXPECT_EQ(0, self->state->count);
	ASSERT_EQ(1, put(self, variant, 0, 0, 64));
	EXPECT_EQ(0, memcmp(self->em.at, self->imem.at, 64));
	EXPECT_TRUE(all(self->to.at, TO, PAGE));
	EXPECT_ERR(ENOENT, end(self));
}

TEST_F(redir, the_next_one_replaces_what_its_message_has_ended)
{
	pattern(self->imem.at, 64, 1);
	ASSERT_OK(redirect(self, 0, 0, PAGE));
	EXPECT_ERR(EBUSY, redirect(self, 0, 0, PAGE));
	ASSERT_EQ(1, put(self, variant, 0, 8, 64));
	clear(self, 3 * PAGE);
	ASSERT_OK(redirect(self, 0, PAGE, PAGE));
	EXPECT_EQ(8, self->state->first);
	EXPECT_EQ(64, self->state->count);
	ASSERT_EQ(1, put(self, variant, 0, 0, 64));
	ASSERT_OK(end(self));
	EXPECT_EQ(0, self->state->first);
	EXPECT_TRUE(in_place(self, self->imem.at, 0, 64, 0, PAGE, 3 * PAGE));
}

TEST_F(redir, the_owner_clears_the_end_of_data)
{
	EXPECT_EQ(0, self->state->data_end);
	ASSERT_EQ(1, put(self, variant, 0, 40, 24));
	EXPECT_EQ(64, self->state->data_end);
	self->state->data_end = 0;
	ASSERT_EQ(1, put(self, variant, 0, 40, 0));
	EXPECT_EQ(0, self->state->data_end);
	/* An empty PUT is one, too. */
	EXPECT_EQ(2, self->state->request);
	ASSERT_EQ(1, put(self, variant, 0, 0, 4));
	EXPECT_EQ(4, self->state->data_end);
	EXPECT_EQ(3, self->state->request);
}

TEST_F(redir, get_and_cas_see_the_segment)
{
	__u64 word = 0;

	clear(self, PAGE);
	*(__u64 *)self->em.at = 5;
	ASSERT_OK(redirect(self, 0, 0, PAGE));
	ASSERT_EQ(1, mem_cas(&self->im, &self->i, &self->imem, 0, 0, 8, 5, 6, 0));
	ASSERT_EQ(1, mem_get(&self->im, &self->i, &word, 0, 8));
	EXPECT_EQ(6, word);
	EXPECT_EQ(0, self->state->data_end);
	ASSERT_OK(end(self));
	EXPECT_EQ(0, self->state->count);
	EXPECT_TRUE(all(self->to.at, TO, PAGE));
}

TEST_F(redir, inhibition_refuses_redirected_bytes)
{
	pattern(self->imem.at, 64, 1);
	clear(self, PAGE);
	ASSERT_OK(redirect(self, 0, 0, PAGE));
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 0, 0));
	EXPECT_ERR(EACCES, put(self, variant, 0, 0, 64));
	EXPECT_TRUE(all(self->to.at, TO, PAGE));
	EXPECT_EQ(0, self->state->data_end);
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 0, 0, 0));
	ASSERT_EQ(1, put(self, variant, 0, 0, 64));
	ASSERT_OK(end(self));
	EXPECT_EQ(64, self->state->count);
	EXPECT_EQ(0, memcmp(self->to.at, self->imem.at, 64));
}

TEST_F(redir, arguments_are_checked)
{
	const struct mem *to = &self->to;
	struct dd_segment_make s = mem_segment(&self->em, "abi_redir_no");
	const __u64 seg = self->s.segment;

	EXPECT_ERR(EINVAL, redirect(self, 0, 0, 0));
	EXPECT_ERR(EINVAL, redirect(self, 2, 0, 4));
	EXPECT_ERR(EINVAL, redirect(self, 0, 2, 4));
	EXPECT_ERR(EINVAL, redirect(self, 0, 0, 6));
	EXPECT_ERR(ERANGE, redirect(self, LEN, 0, 4));
	EXPECT_ERR(ERANGE, redirect(self, 4, 0, LEN));
	EXPECT_ERR(ERANGE, redirect(self, -4ull, 0, 8));
	EXPECT_ERR(ERANGE, redirect(self, 0, 4, LEN));
	EXPECT_ERR(ERANGE, redirect(self, 0, -4ull, 8));
	EXPECT_ERR(ENOENT, mem_redirect(&self->ex, seg, 0, &self->imem, 0, 4 * PAGE));
	EXPECT_ERR(ENOENT, mem_redirect(&self->im, seg, 0, to, 0, 4));
	EXPECT_ERR(ENOENT, mem_redirect(&self->ex, self->i.import, 0, to, 0, 4));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, seg, DD_SEGMENT_REDIRECT_END, 1, 0, 0));
	EXPECT_ERR(ENOENT, end(self));
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_EQ(0, s.state_unit);
	EXPECT_ERR(EOPNOTSUPP, mem_redirect(&self->ex, s.segment, 0, to, 0, 4));
	EXPECT_ERR(ENOENT, mem_redirect_end(&self->ex, s.segment));
	ASSERT_OK(redirect(self, 0, 0, LEN));
}

/* Memory cannot be freed until its redirection ends, or the segment of that does. */
TEST_F(redir, the_memory_stays_until_the_end)
{
	long long used = memlock_used(&self->ex);
	struct dd_segment_make s;
	struct mem m[2];
	int i;

	ASSERT_OK(export(self, &s, "abi_redir_kept"));
	for (i = 0; i < 2; i++) {
		ASSERT_OK(raw_alloc(&self->ex, LEN, &m[i]));
		ASSERT_OK(mem_redirect(&self->ex, i ? s.segment : self->s.segment, 0,
				       &m[i], 0, LEN));
		EXPECT_ERR(EBUSY, raw_op(&self->ex, DD_IOC_REGION_FREE, m[i].id));
	}
	pattern(self->imem.at, LEN, 1);
	clear(self, LEN);
	ASSERT_EQ(1, put(self, variant, 0, 0, LEN));
	EXPECT_TRUE(all(self->em.at, SEG, LEN));
	EXPECT_LE(used + 2 * LEN, memlock_used(&self->ex));
	ASSERT_OK(end(self));
	ASSERT_OK(mem_end(&self->ex, s.segment));
	for (i = 0; i < 2; i++) {
		ASSERT_OK(raw_op(&self->ex, DD_IOC_REGION_FREE, m[i].id));
		munmap(m[i].at, LEN);
	}
	EXPECT_TRUE(WAIT_FOR(memlock_used(&self->ex) <= used));
}

/* ---- at the same time ----------------------------------------------------- */

static bool stop;

struct sender {
	const FIXTURE_VARIANT(redir) *variant;
	FIXTURE_DATA(redir) *self;
};

/* Every message has other bytes. Returns the first error. */
static void *send_until_stop(void *arg)
{
	const struct sender *s = arg;
	int n = 0, ret = 1;

	while (ret == 1 && !__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		memset(s->self->imem.at, 1 + n++ % 200, LEN);
		ret = put(s->self, s->variant, 0, 0, LEN);
	}
	return (void *)(long)(ret == 1 ? 0 : errno);
}

TEST_F(redir, nothing_is_stored_there_after_the_end)
{
	struct sender s = { variant, self };
	int rounds = dd_count(200), i, k;
	const char *to = self->to.at;
	size_t first, count;
	pthread_t t;
	void *err;

	stop = false;
	ASSERT_EQ(0, pthread_create(&t, NULL, send_until_stop, &s));
	for (i = 0; i < rounds; i++) {
		memset(self->to.at, TO, LEN);
		ASSERT_OK(redirect(self, 0, 0, LEN));
		/* In every other round, one message from its beginning. */
		ASSERT_SOON(i & 1 ? *(volatile __u8 *)(to + LEN - 1) != TO :
				    !all(to, TO, LEN));
		ASSERT_OK(end(self));
		first = self->state->first;
		count = self->state->count;
		for (k = 0; k < 2; k++) {
			ASSERT_LT(0, count);
			ASSERT_GE(LEN, first + count);
			ASSERT_TRUE(all(to, TO, first));
			ASSERT_TRUE(all(to + first, (unsigned char)to[first], count));
			ASSERT_NE(TO, (unsigned char)to[first]);
			ASSERT_TRUE(all(to + first + count, TO, LEN - first - count));
			sched_yield();
		}
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(t, &err));
	EXPECT_EQ(NULL, err);
}

/* A refused message has the number of the next one, and does not continue in it. */
TEST_F(redir, a_refused_message_is_not_continued)
{
	struct sender s = { variant, self };
	int rounds = dd_count(50), i;
	const char *to = self->to.at;
	size_t count;
	pthread_t t;
	void *err;

	for (i = 0; i < rounds; i++) {
		stop = false;
		memset(self->to.at, TO, LEN);
		ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 0, 0, 0));
		ASSERT_OK(redirect(self, 0, 0, LEN));
		ASSERT_EQ(0, pthread_create(&t, NULL, send_until_stop, &s));
		ASSERT_SOON(*(volatile __u8 *)to != TO);
		ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 0, 0));
		ASSERT_EQ(0, pthread_join(t, &err));
		ASSERT_EQ(EACCES, (long)err);
		for (count = 0; count < LEN && (unsigned char)to[count] != TO; count++)
			;
		ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 0, 0, 0));
		memset(self->em.at, SEG, LEN);
		memset(self->imem.at, 0xaa, LEN);
		if (count < LEN)
			ASSERT_EQ(1, put(self, variant, 0, count, LEN - count));
		ASSERT_TRUE(all(self->em.at + count, 0xaa, LEN - count));
		ASSERT_TRUE(all(to + count, TO, LEN - count));
		ASSERT_OK(end(self));
		ASSERT_EQ(count, self->state->count);
	}
}

DD_TEST_MAIN
