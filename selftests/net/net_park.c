// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imports of another node that are not made yet: the segment may be exported later. Run by
 * across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "net_mem.h"
#include <pthread.h>

/* The thread that waits. */
static volatile pid_t waiter;

#define LATER	(DD_IMPORT_NOWAIT | DD_IMPORT_PARK)
#define PARKED	1024	/* look-ups that wait on a node, at most */

/* A segment that is not exported yet. */
static struct dd_segment_make unborn(FIXTURE_DATA(far) *self)
{
	return mem_segment(&self->em, "unborn");
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

/* The end comes at any step of the making; an answer that is late finds nothing. */
TEST_F(far, the_end_of_an_import_that_is_being_made)
{
	struct dd_segment_make s = unborn(self), real = mem_segment(&self->em, "born");
	unsigned int seed = dd_seed(_metadata);
	int rounds = dd_count(3000), spin;
	struct dd_import_make i;

	ASSERT_OK(mem_export(&self->ex, &real));
	while (rounds--) {
		ASSERT_OK(import_flags(&self->im, rounds % 2 ? &s : &real, LATER, 0, &i));
		for (spin = rand_r(&seed) % 2000; spin; spin--)
			__asm__ volatile("pause");
		ASSERT_OK(mem_end(&self->im, i.import));
	}
	/* Each grant that came late was given back. */
	ASSERT_SOON(mem_importers(&self->ex, real.segment) == 0);
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

DD_TEST_MAIN
