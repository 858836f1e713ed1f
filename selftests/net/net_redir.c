// SPDX-License-Identifier: GPL-2.0-only
/*
 * PUTs of another node that are redirected. Run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "net_mem.h"

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
	if (r->state->data_end != dst + len || r->state->request != n)
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

/* As on one node, wherever the segment begins, and the word is stored. */
TEST_F(far, notes_hold_the_last_word_of_the_segment)
{
	struct mem_noted t = {
		.ex = &self->ex, .im = &self->im, .m = &self->em, .imem = &self->imem,
		.list = &self->list, .node = 2,
	};
	struct mem to;

	ASSERT_OK(raw_alloc(&self->ex, PAGE, &to));
	for (t.offset = 0; t.offset <= 12; t.offset += 4) {
		t.to = NULL;
		ASSERT_EQ(0, mem_words_wrong(&t));
		t.to = &to;
		ASSERT_EQ(0, mem_words_wrong(&t));
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
