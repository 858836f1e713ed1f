// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments on one node: arguments, keys, permission, grants, and what ends them.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "exporter.h"
#include "threads.h"

TEST_F(mem, end_of_the_segment_revokes_it)
{
	struct dd_import_make i;
	__u64 word = 1;

	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	EXPECT_EQ(ESTALE, self->cs->error);
	EXPECT_ERR(ESTALE, put(self, &word, 0, 8, 0));
	EXPECT_ERR(ESTALE, get(self, &word, 0, 8));
	EXPECT_ERR(ESTALE, put(self, &word, 0, 8, 0));
	EXPECT_EQ(0, *(__u64 *)self->em.at);
	EXPECT_ERR(ECONNREFUSED, mem_import(&self->im, &self->s, DD_RIGHT_PUT, &i));
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->s.segment));
	EXPECT_ERR(ENOENT, inhibit(self, true));
	/* The key is free, and the generation has grown. */
	i.generation = self->s.generation;
	ASSERT_OK(export_again(self));
	EXPECT_LT(i.generation, self->s.generation);
	EXPECT_ERR(ESTALE, put(self, &word, 0, 8, 0));
	ASSERT_OK(mem_end(&self->im, self->i.import));
	EXPECT_ERR(ENOENT, put(self, &word, 0, 8, 0));
}

static int import_as(FIXTURE_DATA(mem) *self, const struct dd_segment_make *s, uid_t uid,
		     struct dd_import_make *i)
{
	return AS_USER(uid, mem_import(&self->im, s, DD_RIGHT_PUT, i));
}

/* Of the places of a segment, only the owner's user may have all. */
TEST_F(mem, a_user_gets_no_more_places_than_are_free)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_mem_places");
	struct dd_import_make i;

	s.importers = 5;
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_EQ(0, import_as(self, &s, 1001, &i));
	EXPECT_EQ(0, import_as(self, &s, 1001, &i));
	EXPECT_EQ(0, import_as(self, &s, 1001, &i));
	EXPECT_ERR(EUSERS, import_as(self, &s, 1001, &i));
	EXPECT_EQ(0, import_as(self, &s, 1002, &i));
	EXPECT_ERR(EUSERS, import_as(self, &s, 1002, &i));
	EXPECT_EQ(0, import_as(self, &s, 0, &i));
	EXPECT_ERR(EUSERS, import_as(self, &s, 0, &i));
	EXPECT_ERR(EUSERS, import_as(self, &s, 1003, &i));
}

TEST_F(mem, places_with_unread_notes_stay_those_of_their_user)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_mem_unread");
	struct dd_import_make i;
	__u64 word = 1;
	struct dd_note n;
	int k;

	s.list = self->list.list;
	s.window = 1;
	s.policy = DD_POLICY_CONDITIONAL;
	s.importers = 5;
	ASSERT_OK(mem_export(&self->ex, &s));
	for (k = 0; k < 3; k++) {
		ASSERT_OK(import_as(self, &s, 1001, &i));
		ASSERT_EQ(1, mem_put(&self->im, &i, &word, 0, 8, DD_SQE_NOTIFY));
		ASSERT_OK(mem_end(&self->im, i.import));
	}
	EXPECT_ERR(EUSERS, import_as(self, &s, 1001, &i));
	EXPECT_EQ(0, import_as(self, &s, 1002, &i));
	EXPECT_ERR(EUSERS, import_as(self, &s, 1002, &i));
	for (k = 0; k < 3; k++)
		ASSERT_TRUE(take(self, &n));
	EXPECT_EQ(0, import_as(self, &s, 1001, &i));
	EXPECT_EQ(0, import_as(self, &s, 1002, &i));
	/* Without notes nothing is left. */
	for (k = 0; k < 10; k++) {
		ASSERT_OK(mem_end(&self->im, i.import));
		ASSERT_OK(import_as(self, &s, 1002, &i));
	}
	/* The end of the segment frees a place whose notes are unread. */
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHT_PUT, &i));
	ASSERT_EQ(1, mem_put(&self->im, &i, &word, 0, 8, DD_SQE_NOTIFY));
	ASSERT_OK(mem_end(&self->im, i.import));
	ASSERT_OK(mem_end(&self->ex, s.segment));
}

/* Of the driver. abi_mem has the same for pinned memory, which a segment keeps. */
TEST_F(mem, memory_of_segments_cannot_be_freed)
{
	struct dd_segment_make s = self->s, again;
	__u64 word = 0x55;

	strcpy((char *)s.key, "abi_mem_again");
	s.segment = s.generation = 0;
	s.length = 8;
	again = s;
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_ERR(EBUSY, raw_op(&self->ex, DD_IOC_REGION_FREE, self->em.id));
	ASSERT_EQ(1, put(self, &word, 0, 8, 0));
	EXPECT_EQ(word, *(__u64 *)self->em.at);
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	EXPECT_ERR(EBUSY, raw_op(&self->ex, DD_IOC_REGION_FREE, self->em.id));
	/* An export that fails leaves nothing. */
	EXPECT_ERR(EEXIST, mem_export(&self->ex, &again));
	ASSERT_OK(mem_end(&self->ex, s.segment));
	ASSERT_OK(raw_op(&self->ex, DD_IOC_REGION_FREE, self->em.id));
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
	BAD(EINVAL, s.window = DD_DEPTH_MAX + 1);
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
		.key_class = DD_SEGMENT_NAME, .key = "?", .rights = DD_RIGHT_GET };
	EXPECT_ERR(ENONET, raw_ioctl(&self->im, DD_IOC_IMPORT, &i));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, 0, 0, 0, 0));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_REDIRECT_END + 1,
				   0, 0, 0));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 2, 0, 0));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 1, 0));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_POLICY, 3, 0, 0));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_GRANT, 0x10000, 1, 1));
	EXPECT_ERR(EINVAL, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_GRANT, 0, 1, 8));
	EXPECT_ERR(ENOENT, mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_GRANT, 0, 1, 0));
	EXPECT_ERR(ENOENT, mem_end(&self->ex, 0));
	EXPECT_ERR(ENOENT, mem_end(&self->ex, self->em.id));
}

/* Whether another user may import. */
static bool may(FIXTURE_DATA(mem) *self, const struct dd_segment_make *s, uid_t uid, __u32 rights)
{
	struct dd_import_make i;

	return !AS_USER(uid, mem_import(&self->im, s, rights, &i)) &&
	       !mem_end(&self->im, i.import);
}

static int grant(FIXTURE_DATA(mem) *self, const struct dd_segment_make *s, uid_t uid, __u32 rights)
{
	return mem_ctl(&self->ex, s->segment, DD_SEGMENT_GRANT, 0, uid, rights);
}

TEST_F(mem, permission_is_of_users)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_mem_user");

	EXPECT_TRUE(may(self, &self->s, ALICE, DD_RIGHTS));
	s.permission = DD_PERMIT_USER;
	s.rights = DD_RIGHT_GET | DD_RIGHT_PUT;
	ASSERT_OK(mem_export(&self->ex, &s));
	EXPECT_FALSE(may(self, &s, ALICE, DD_RIGHT_GET));
	EXPECT_EQ(EACCES, errno);
	EXPECT_TRUE(may(self, &s, geteuid(), DD_RIGHT_GET | DD_RIGHT_PUT));
	ASSERT_OK(grant(self, &s, ALICE, DD_RIGHT_GET));
	EXPECT_TRUE(may(self, &s, ALICE, DD_RIGHT_GET));
	EXPECT_FALSE(may(self, &s, ALICE, DD_RIGHT_PUT));
	EXPECT_FALSE(may(self, &s, BOB, DD_RIGHT_GET));
	/* Not more than the segment has. */
	ASSERT_OK(grant(self, &s, ALICE, DD_RIGHTS));
	EXPECT_TRUE(may(self, &s, ALICE, DD_RIGHT_GET | DD_RIGHT_PUT));
	EXPECT_FALSE(may(self, &s, ALICE, DD_RIGHT_CAS));
	ASSERT_OK(grant(self, &s, ALICE, 0));
	EXPECT_FALSE(may(self, &s, ALICE, DD_RIGHT_GET));
}

TEST_F(mem, grants_are_bounded)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_mem_many");
	__u32 n;

	s.permission = DD_PERMIT_LISTED;
	ASSERT_OK(mem_export(&self->ex, &s));
	for (n = 0; n < DD_GRANTS_MAX; n++)
		ASSERT_OK(grant(self, &s, n, 1));
	EXPECT_ERR(ENOSPC, grant(self, &s, n, 1));
	ASSERT_OK(grant(self, &s, 5, 2));
	ASSERT_OK(grant(self, &s, 5, 0));
	ASSERT_OK(grant(self, &s, n, 1));
}

struct putter {
	const struct raw *r;
	struct dd_segment_make s;
};

/* Import the segment and store to all of it until it ends. */
static bool put_until_the_end(void *arg)
{
	static char junk[MEM_LEN];
	static unsigned int n;
	struct putter *p = arg;
	struct dd_import_make i;

	if (mem_import(p->r, &p->s, DD_RIGHT_PUT, &i))
		return errno == ECONNREFUSED || errno == EUSERS;
	do {
		memset(junk, ++n, sizeof(junk));
	} while (mem_put(p->r, &i, junk, 0, n & 1 ? MEM_LEN : 64, 0) == 1);
	return errno == ESTALE && !mem_end(p->r, i.import);
}

/* Not one byte arrives after the end of the segment. */
TEST_F(mem, nothing_arrives_after_the_end)
{
	struct putter p = { &self->im, self->s };
	int rounds = dd_count(200), i;
	static char seen[MEM_LEN];
	struct loop l;

	ASSERT_TRUE(loop_begin(&l, put_until_the_end, &p));
	for (i = 0; i < rounds; i++) {
		*(volatile char *)self->em.at = 0;
		ASSERT_SOON(*(volatile char *)self->em.at != 0);
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		memcpy(seen, self->em.at, MEM_LEN);
		sched_yield();
		ASSERT_EQ(0, memcmp(seen, self->em.at, MEM_LEN));
		ASSERT_OK(export_again(self));
	}
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	EXPECT_EQ(0, loop_end(&l));
}

DD_TEST_MAIN
