// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pending imports: DD_IMPORT_NOWAIT and DD_IMPORT_PARK, their notes, and what ends them. On
 * one node, or between two by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define EXPORTED	false
#include "exporter.h"
#include "threads.h"

#define LATER	(DD_IMPORT_NOWAIT | DD_IMPORT_PARK)
#define PARKED	512	/* look-ups of one user that wait on a node, at most: half of all */

static int make_of(FIXTURE_DATA(mem) *self, const struct dd_segment_make *s, __u32 flags,
		   struct dd_import_make *i)
{
	return import_flags(&self->im, s, flags, 0, i);
}

/* Make the import of the fixture; @list, or 0, gets its note. */
static int make(FIXTURE_DATA(mem) *self, __u32 flags, __u32 list)
{
	self->i = mem_import_of(&self->s, mem_far_node(&self->im), DD_RIGHTS, flags, list);
	return raw_ioctl(&self->im, DD_IOC_IMPORT, &self->i);
}

static __u32 own_state(FIXTURE_DATA(mem) *self)
{
	return state(&self->im, &self->i);
}

static int put_word(FIXTURE_DATA(mem) *self)
{
	return put(self, &(__u64){ 1 }, 0, 8, 0);
}

/* The errno of an import with a list, from the call, or from another node by its note. */
static __u32 failed(FIXTURE_DATA(mem) *self, __u32 flags)
{
	struct dd_note n;

	if (make(self, flags, self->ilist.list))
		return far_netns() || own_note(self, &n) ? 0 : errno;
	return far_netns() && next_note(self, &n) && n.offset == own_state(self) ? n.offset : 0;
}

TEST_F(mem, an_error_that_is_known_at_once_is_returned)
{
	EXPECT_EQ(ECONNREFUSED, failed(self, DD_IMPORT_NOWAIT));
	self->s.rights = DD_RIGHT_GET;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	EXPECT_EQ(EACCES, failed(self, LATER));
	/* No slot is reserved any more. */
	EXPECT_EQ(0, mem_end(&self->im, self->ilist.serial));
	EXPECT_ERR(ENOENT, make(self, LATER, self->ilist.list));
}

TEST_F(mem, arguments_are_checked)
{
	EXPECT_ERR(EINVAL, make(self, 4, 0));
	EXPECT_ERR(EINVAL, make(self, 0, self->ilist.list));
	EXPECT_ERR(EINVAL, make(self, DD_IMPORT_PARK, self->ilist.list));
	EXPECT_ERR(ENOENT, make(self, LATER, 0x7fff0000));
	self->i.import = self->i.state_unit = 0;
	self->i.list = 0;
	EXPECT_ERR(EINVAL, raw_ioctl(&self->im, DD_IOC_IMPORT, &self->i));
	ASSERT_OK(make(self, LATER, 0));
	EXPECT_ERR(EINVAL, raw_conn_wait(&self->im, self->i.import, DD_WAIT_UP, 1, 0));
	EXPECT_ERR(EINVAL, raw_conn_wait(&self->im, self->i.import, DD_WAIT_UP + 1, 0, 0));
}

TEST_F(mem, the_export_completes_a_parked_import)
{
	struct dd_direct d = { .size = sizeof(d) };
	struct dd_import_make own;
	struct dd_conn_state *cs;
	struct dd_note n;

	ASSERT_OK(make(self, LATER, self->ilist.list));
	EXPECT_EQ(EINPROGRESS, own_state(self));
	EXPECT_EQ(0, self->i.length);
	EXPECT_ERR(EAGAIN, put_word(self));
	d.conn = self->i.import;
	EXPECT_ERR(far_netns() ? EOPNOTSUPP : EAGAIN, raw_ioctl(&self->im, DD_IOC_DIRECT, &d));
	EXPECT_FALSE(own_note(self, &n));
	/* One of the exporter's node, too. */
	ASSERT_OK(mem_import_flags(&self->ex, &self->s, DD_RIGHTS, LATER, 0, &own));

	ASSERT_OK(mem_export(&self->ex, &self->s));
	ASSERT_OK(mem_wait_up(&self->im, &self->i, 60 * SECOND));
	ASSERT_OK(mem_wait_up(&self->ex, &own, 60 * SECOND));
	cs = raw_state(&self->im, self->i.state_unit);
	EXPECT_EQ(0, cs->error);
	EXPECT_EQ(MEM_LEN, cs->peer_size);
	EXPECT_EQ(self->s.generation, cs->received);
	ASSERT_SOON(own_note(self, &n));
	EXPECT_EQ(DD_NOTE_IMPORT, n.type);
	EXPECT_EQ(self->i.import, n.conn);
	EXPECT_EQ(99, n.cookie);
	EXPECT_EQ(0, n.offset);
	EXPECT_EQ(MEM_LEN, n.word);
	EXPECT_EQ(self->i.node, n.node);
	EXPECT_EQ(1, put_word(self));
	EXPECT_EQ(far_netns() ? -1 : 0, raw_ioctl(&self->im, DD_IOC_DIRECT, &d));
	/* The slot is free again. */
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	ASSERT_SOON(own_state(self) == ESTALE);
	EXPECT_ERR(ESTALE, mem_wait_up(&self->im, &self->i, 0));
	EXPECT_FALSE(own_note(self, &n));
}

/* Other names, and other classes, do not matter. */
TEST_F(mem, a_parked_import_waits_for_its_own_key)
{
	struct dd_segment_make other = mem_segment(&self->em, "abi_import_other");
	struct dd_import_make first;

	ASSERT_OK(make(self, LATER, 0));
	first = self->i;
	ASSERT_OK(mem_export(&self->ex, &other));
	ASSERT_OK(make(self, LATER, 0));
	EXPECT_EQ(EINPROGRESS, own_state(self));
	ASSERT_OK(mem_export(&self->ex, &self->s));
	EXPECT_EQ(0, mem_wait_up(&self->im, &self->i, 60 * SECOND));
	EXPECT_EQ(0, mem_wait_up(&self->im, &first, 60 * SECOND));
}

/*
 * Wait until the other node, which answers queries in their order, has parked those before. The
 * workers of two imports may send their queries in either order: the second import here begins
 * when the first one, and so the worker of those before, has had a round trip.
 */
static int wait_parked(FIXTURE_DATA(mem) *self)
{
	struct dd_segment_make none = mem_segment(&self->em, "abi_import_none");
	struct dd_import_make i;
	int n;

	for (n = 0; n < 2; n++)
		if (!make_of(self, &none, 0, &i) || errno != ECONNREFUSED)
			return -1;
	return 0;
}

/* On one processor, no worker runs between the two calls. */
static int export_for_a_moment(FIXTURE_DATA(mem) *self)
{
	const struct sched_param first = { .sched_priority = 1 }, usual = { 0 };
	int err = sched_setscheduler(0, SCHED_FIFO, &first) ?: mem_export(&self->ex, &self->s) ?:
		  mem_end(&self->ex, self->s.segment);

	return sched_setscheduler(0, SCHED_OTHER, &usual) ?: err;
}

/* The segment is gone when the import looks for it again, or a moment later. */
TEST_F(mem, a_parked_import_ends_with_the_first_segment)
{
	int rounds = dd_count(20);

	while (rounds--) {
		ASSERT_OK(make(self, LATER, 0));
		ASSERT_OK(wait_parked(self));
		ASSERT_OK(export_for_a_moment(self));
		ASSERT_SOON(own_state(self) == ESTALE);
		EXPECT_ERR(ESTALE, mem_wait_up(&self->im, &self->i, 0));
		ASSERT_OK(mem_end(&self->im, self->i.import));
		self->s.segment = self->s.generation = 0;
	}
}

static long import_parked(void *self)
{
	return make(self, DD_IMPORT_PARK, 0);
}

static long wait_up(void *arg)
{
	FIXTURE_DATA(mem) *self = arg;

	return mem_wait_up(&self->im, &self->i, -1ull);
}

TEST_F(mem, a_call_without_nowait_waits_for_the_export)
{
	struct call c;

	ASSERT_TRUE(call_waits(&c, import_parked, self));
	ASSERT_OK(mem_export(&self->ex, &self->s));
	ASSERT_OK(call_end(&c));
	EXPECT_EQ(MEM_LEN, self->i.length);
	EXPECT_EQ(self->s.generation, self->i.generation);
	EXPECT_EQ(1, put_word(self));
}

TEST_F(mem, a_signal_ends_the_call_and_the_import)
{
	struct call c;

	ASSERT_TRUE(call_waits(&c, import_parked, self));
	ASSERT_TRUE(call_interrupt(&c));
	EXPECT_ERR(EINTR, call_end(&c));
	ASSERT_OK(mem_export(&self->ex, &self->s));
	/* A query that was under way may be granted; then the importer's node ends the access. */
	ASSERT_SOON(mem_importers(&self->ex, self->s.segment) == 0);
}

TEST_F(mem, the_end_of_a_pending_import_ends_a_wait)
{
	struct call c;

	ASSERT_OK(make(self, LATER, 0));
	ASSERT_TRUE(call_waits(&c, wait_up, self));
	ASSERT_OK(mem_end(&self->im, self->i.import));
	EXPECT_ERR(ESTALE, call_end(&c));
}

/* Imports that have failed with EUSERS; -1 if one has another state but is not pending. */
static int too_many(FIXTURE_DATA(mem) *self, const struct dd_import_make *i)
{
	int n, failed = 0;

	for (n = 0; n <= PARKED; n++) {
		__u32 error = state(&self->im, &i[n]);

		if (error != EUSERS && error != EINPROGRESS)
			return -1;
		failed += error == EUSERS;
	}
	return failed;
}

/* Park as many look-ups as one user may, and one more, which is refused. */
static int park_all(FIXTURE_DATA(mem) *self, struct dd_import_make *i)
{
	int n;

	for (n = 0; n < PARKED; n++)
		if (make_of(self, &self->s, LATER, &i[n]))
			return -1;
	if (make_of(self, &self->s, LATER, &i[n]))
		return !far_netns() && errno == EUSERS ? 0 : -1;
	return far_netns() && WAIT_FOR(too_many(self, i) == 1) ? 0 : -1;
}

TEST_F(mem, a_user_parks_half_of_the_look_ups_at_most)
{
	static struct dd_import_make i[PARKED + 1];
	struct dd_import_make k, other;
	int n;

	ASSERT_OK(park_all(self, i));
	/* Users of another node are others. */
	if (!far_netns())
		EXPECT_ERR(EUSERS, mem_import_flags(&self->ex, &self->s, DD_RIGHTS, LATER, 0, &k));
	EXPECT_EQ(0, AS_USER(65534, make_of(self, &self->s, LATER, &other)));
	/* The end of one gives its place back, on its node and on the other. */
	for (n = 0; n < PARKED / 2; n++)
		ASSERT_OK(mem_end(&self->im, i[n].import));
	ASSERT_SOON(!mem_import_flags(&self->ex, &self->s, DD_RIGHTS, LATER, 0, &k));
	self->s.importers = PARKED;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	EXPECT_EQ(0, mem_wait_up(&self->ex, &k, 60 * SECOND));
	EXPECT_EQ(0, mem_wait_up(&self->im, &other, 60 * SECOND));
	for (; n < PARKED; n++)
		if (state(&self->im, &i[n]) != EUSERS)
			ASSERT_OK(mem_wait_up(&self->im, &i[n], 60 * SECOND));
}

/* ---- exporters and permission -------------------------------------------- */

/* The effective user of the calling thread alone. */
static int become(uid_t uid)
{
	return syscall(SYS_setresuid, -1, uid, -1);
}

static int export_as(FIXTURE_DATA(mem) *self, uid_t uid)
{
	int ret;

	if (become(uid))
		return -1;
	ret = mem_export(&self->ex, &self->s);
	return become(0) ?: ret;
}

/* The errno of an import by ALICE, at once or when the other node has answered; 0 if it is made. */
static int refused(FIXTURE_DATA(mem) *self, __u32 rights, __u32 flags, uid_t owner)
{
	int err;

	self->i = mem_import_of(&self->s, mem_far_node(&self->im), rights, flags, 0);
	self->i.uid = owner;
	if (become(ALICE))
		return -1;
	err = raw_ioctl(&self->im, DD_IOC_IMPORT, &self->i) ? errno : 0;
	return become(0) ? -1 : err;
}

TEST_F(mem, an_importer_may_demand_the_user_of_the_exporter)
{
	struct dd_mem_state *cs;
	struct dd_note n;

	ASSERT_OK(export_as(self, BOB));
	EXPECT_EQ(EPERM, refused(self, DD_RIGHTS, DD_IMPORT_UID, ALICE));
	EXPECT_EQ(EPERM, refused(self, DD_RIGHTS, DD_IMPORT_UID, 0));
	EXPECT_EQ(EPERM, refused(self, DD_RIGHTS, DD_IMPORT_UID | DD_IMPORT_PARK, 0));
	EXPECT_EQ(EINVAL, refused(self, DD_RIGHTS, DD_IMPORT_UID, -1));
	EXPECT_EQ(EINVAL, refused(self, DD_RIGHTS, 0, BOB));
	/* No refused importer is left. */
	ASSERT_SOON(mem_importers(&self->ex, self->s.segment) == 0);

	ASSERT_EQ(0, refused(self, DD_RIGHTS, DD_IMPORT_UID, BOB));
	cs = raw_unit(&self->im, self->i.state_unit);
	EXPECT_EQ(BOB, cs->uid);
	ASSERT_OK(mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, refused(self, DD_RIGHTS, 0, 0));
	cs = raw_unit(&self->im, self->i.state_unit);
	EXPECT_EQ(BOB, cs->uid);

	/* One that waits gets the same. */
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	self->i = mem_import_of(&self->s, mem_far_node(&self->im), DD_RIGHTS,
				LATER | DD_IMPORT_UID, self->ilist.list);
	self->i.uid = ALICE;
	ASSERT_OK(raw_ioctl(&self->im, DD_IOC_IMPORT, &self->i));
	self->s.segment = self->s.generation = 0;
	ASSERT_OK(export_as(self, BOB));
	EXPECT_ERR(EPERM, mem_wait_up(&self->im, &self->i, 60 * SECOND));
	ASSERT_SOON(own_note(self, &n));
	EXPECT_EQ(DD_NOTE_IMPORT, n.type);
	EXPECT_EQ(EPERM, n.offset);
}

/* A user that may not import a segment does not find out whether its number is in use. */
TEST_F(mem, a_number_is_known_to_permitted_users_only)
{
	struct dd_segment_make name = self->s;

	self->s.key_class = DD_SEGMENT_ID;
	memset(self->s.key, 0, sizeof(self->s.key));
	self->s.permission = DD_PERMIT_USER;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	EXPECT_EQ(ECONNREFUSED, refused(self, DD_RIGHT_GET, 0, 0));
	EXPECT_EQ(ECONNREFUSED, refused(self, DD_RIGHT_GET, DD_IMPORT_UID, BOB));
	EXPECT_EQ(EINVAL, refused(self, DD_RIGHT_GET, DD_IMPORT_PARK, 0));
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_GRANT, 0, ALICE, DD_RIGHT_GET));
	EXPECT_EQ(EACCES, refused(self, DD_RIGHTS, 0, 0));
	EXPECT_EQ(0, refused(self, DD_RIGHT_GET, 0, 0));
	self->s.key[0]++;
	EXPECT_EQ(ECONNREFUSED, refused(self, DD_RIGHT_GET, 0, 0));
	/* Names are no secret. */
	self->s = name;
	self->s.permission = DD_PERMIT_USER;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	EXPECT_EQ(EACCES, refused(self, DD_RIGHT_GET, 0, 0));
}

/* Import the segment as ALICE, and keep the import until the owner ends it. */
static bool come_again(void *arg)
{
	FIXTURE_DATA(mem) *self = arg;
	struct dd_import_make i;

	if (become(ALICE))
		return false;
	if (make_of(self, &self->s, 0, &i))
		return errno == EACCES || errno == ESTALE;
	while (!state(&self->im, &i))
		sched_yield();
	return !mem_end(&self->im, i.import);
}

static int deny_all(const struct raw *r, __u64 segment)
{
	struct dd_importer list[16];
	struct dd_segment_info info = {
		.size = sizeof(info), .segment = segment, .count = 16,
		.importers = (uintptr_t)list,
	};
	__u32 n;

	if (raw_ioctl(r, DD_IOC_SEGMENT_INFO, &info))
		return -1;
	for (n = 0; n < info.count; n++)
		if (mem_ctl(r, segment, DD_SEGMENT_DENY, list[n].channel, 0, 0) && errno != ENOENT)
			return -1;
	return 0;
}

/* An importer may be anywhere between the look-up and the join. */
TEST_F(mem, a_withdrawn_grant_leaves_no_importer)
{
	int rounds = dd_count(200), k;
	struct loop l[4];

	self->s.permission = DD_PERMIT_LISTED;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	for (k = 0; k < 4; k++)
		ASSERT_TRUE(loop_begin(&l[k], come_again, self));
	while (rounds--) {
		ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_GRANT, 0, ALICE,
				  DD_RIGHTS));
		ASSERT_SOON(mem_importers(&self->ex, self->s.segment) > 0);
		ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_GRANT, 0, ALICE, 0));
		ASSERT_OK(deny_all(&self->ex, self->s.segment));
		ASSERT_SOON(mem_importers(&self->ex, self->s.segment) == 0);
	}
	for (k = 0; k < 4; k++)
		EXPECT_EQ(0, loop_end(&l[k]));
}

/* The end comes at any step of the making; an answer that is late finds nothing. */
TEST_F(mem, the_end_of_an_import_that_is_being_made)
{
	struct dd_segment_make real = mem_segment(&self->em, "abi_import_born");
	unsigned int seed = dd_seed(_metadata);
	int rounds = dd_count(3000), spin;

	ASSERT_OK(mem_export(&self->ex, &real));
	while (rounds--) {
		ASSERT_OK(make_of(self, rounds % 2 ? &self->s : &real, LATER, &self->i));
		for (spin = rand_r(&seed) % 2000; spin; spin--)
			__asm__ volatile("pause");
		ASSERT_OK(mem_end(&self->im, self->i.import));
	}
	/* Each grant that came late was given back. */
	ASSERT_SOON(mem_importers(&self->ex, real.segment) == 0);
}

/* The note of a pending import keeps its slot however full the list is. */
TEST_F(mem, each_pending_import_has_a_slot)
{
	struct dd_import_make first;
	struct dd_note n;
	int i, got = 0;

	ASSERT_OK(make(self, LATER, self->ilist.list));
	first = self->i;
	for (i = 1; i < 100; i++)
		ASSERT_OK(make(self, LATER, self->ilist.list));
	/* The list is kept by them. */
	ASSERT_OK(mem_end(&self->im, self->ilist.serial));
	self->s.importers = 200;
	ASSERT_OK(mem_export(&self->ex, &self->s));
	for (i = 0; i < 100; i++, got += n.offset == 0)
		ASSERT_SOON(own_note(self, &n));
	EXPECT_EQ(100, got);
	EXPECT_FALSE(own_note(self, &n));
	EXPECT_EQ(0, mem_wait_up(&self->im, &first, 0));
}

DD_TEST_MAIN
