// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes to the importer: DD_SQE_NOTIFY_SELF, its slots, and what ends them. On one node, or
 * between two by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define SEGMENT_LEN	(64 * PAGE)
#define NOTED_DEPTH	3
#include "exporter.h"
#include "threads.h"

#define DEPTH	NOTED_DEPTH
#define SELF	DD_SQE_NOTIFY_SELF
#define LEN	SEGMENT_LEN

/* Import @s of @node with the list of the importer. It also gets the note of a pending import. */
static int join_of(FIXTURE_DATA(mem) *self, const struct dd_segment_make *s, __u32 node,
		   __u32 flags, struct dd_import_make *i)
{
	const __u32 list = self->ilist.list;

	*i = mem_import_of(s, node, s->rights, flags, flags & DD_IMPORT_NOWAIT ? list : 0);
	i->depth = DEPTH;
	return raw_ioctl(&self->im, DD_IOC_IMPORT, i) ?: mem_import_list(&self->im, i, list);
}

static int join(FIXTURE_DATA(mem) *self, const struct dd_segment_make *s, __u32 flags,
		struct dd_import_make *i)
{
	return join_of(self, s, mem_far_node(&self->im), flags, i);
}

static int put_word(FIXTURE_DATA(mem) *self, __u8 flags)
{
	return put(self, "12345678", 8, 8, flags);
}

/* Wait for all requests. */
static int all_done(FIXTURE_DATA(mem) *self)
{
	return wait_done(&self->im, &self->i, self->cs->submitted);
}

/* Each operation, from and to wired and other memory, short and long. */
TEST_F(mem, the_importer_is_notified_of_each_operation)
{
	static char bytes[LEN] __attribute__((aligned(8)));
	struct dd_note n;
	__u32 k;

	for (k = 0; k < MEM_SELF_REQUESTS; k++) {
		const struct dd_sqe sqe = mem_self_request(k, &self->imem, bytes, LEN / 2);
		const char *to = sqe.region ? self->imem.at + 8 : bytes;

		memset(self->em.at, 1 + k, LEN);
		ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
		ASSERT_TRUE(next_note(self, &n));
		ASSERT_EQ(k + 1, self->cs->done);
		/* The result is in place before the note. */
		if (sqe.opcode == DD_OP_GET)
			EXPECT_EQ(0, memcmp(to, self->em.at + 16, sqe.len));
		EXPECT_TRUE(mem_self_done(&n, &self->i, &sqe, k + 1));
		EXPECT_FALSE(own_note(self, &n));
		/* The NOTE itself. */
		if (sqe.opcode == DD_OP_NOTE)
			ASSERT_TRUE(take(self, &n));
	}
}

static int attach(FIXTURE_DATA(mem) *self, __u64 import, __u32 list, __u32 depth, __u32 flags)
{
	const struct dd_import_list l = {
		.size = sizeof(l), .flags = flags, .import = import, .list = list, .depth = depth,
	};

	return raw_ioctl(&self->im, DD_IOC_IMPORT_LIST, &l);
}

TEST_F(mem, a_list_is_attached_to_an_import)
{
	struct dd_list_make other;
	struct pair p;

	ASSERT_OK(mem_list(&self->im, &other));
	EXPECT_ERR(EEXIST, attach(self, self->i.import, self->ilist.list, 1, 0));
	EXPECT_ERR(EINVAL, attach(self, self->i.import, other.list, 1, 1));
	EXPECT_ERR(EINVAL, attach(self, self->i.import, other.list, DD_DEPTH_MAX + 1, 0));
	EXPECT_ERR(ENOENT, attach(self, self->i.import, 0x7fff0000, 1, 0));
	EXPECT_ERR(ENOENT, attach(self, self->i.import, 0, 1, 0));
	EXPECT_ERR(ENOENT, attach(self, self->i.import + 1, other.list, 1, 0));
	EXPECT_EQ(0, attach(self, self->i.import, other.list, DD_DEPTH_MAX, 0));
	EXPECT_ERR(EEXIST, attach(self, self->i.import, other.list, 1, 0));
	ASSERT_OK(pair_open(&p, 1, PAGE, 1));
	self->i.import = p.c.conn;
	EXPECT_ERR(EINVAL, mem_import_list(&p.cl, &self->i, p.c.list));
}

TEST_F(mem, a_request_names_a_list_of_its_import)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .flags = SELF };
	struct dd_import_make i;
	struct dd_note n;
	struct pair p;
	__u8 op;

	ASSERT_OK(import_flags(&self->im, &self->s, DD_IMPORT_NOWAIT, self->ilist.list, &i));
	ASSERT_OK(mem_wait_up(&self->im, &i, 60 * SECOND));
	ASSERT_TRUE(next_note(self, &n));
	for (op = DD_OP_PUT; op <= DD_OP_NOTE; op++) {
		sqe.opcode = op;
		sqe.flags = SELF | DD_SQE_REGION;
		sqe.region = self->imem.id;
		sqe.len = 8;
		sqe.meta_count = op == DD_OP_CAS ? DD_META_WORDS : 0;
		EXPECT_ERR(ENOENT, mem_op(&self->im, &i, &sqe));
		EXPECT_ERR(EINVAL, raw_submit(&self->im, self->i.state_unit, self->i.import, &sqe));
		sqe.flags = DD_SQE_REGION;
		sqe.list = self->ilist.list;
		EXPECT_ERR(EINVAL, mem_op(&self->im, &self->i, &sqe));
		sqe.list = 0;
	}
	EXPECT_FALSE(own_note(self, &n));
	ASSERT_OK(pair_open(&p, 1, PAGE, 1));
	sqe = (struct dd_sqe){ .opcode = DD_OP_PUT, .flags = SELF, .list = p.c.list };
	EXPECT_ERR(ENOENT, raw_submit(&p.cl, p.c.state_unit, p.c.conn, &sqe));
}

TEST_F(mem, requests_of_an_import_notify_in_several_lists)
{
	const struct dd_sqe sqe = { .opcode = DD_OP_PUT, .flags = SELF };
	struct dd_list_make other;
	struct dd_import_make to;
	struct dd_note n;
	__u32 k;

	ASSERT_OK(mem_list(&self->im, &other));
	to = self->i;
	to.depth = 1;
	ASSERT_OK(mem_import_list(&self->im, &to, other.list));
	for (k = 1; k <= DEPTH; k++) {
		ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
		ASSERT_OK(all_done(self));
		if (k > 1)
			continue;
		ASSERT_EQ(1, mem_op(&self->im, &to, &sqe));
		ASSERT_OK(all_done(self));
	}
	/* Each has its own slots. */
	EXPECT_ERR(EAGAIN, mem_op(&self->im, &self->i, &sqe));
	EXPECT_ERR(EAGAIN, mem_op(&self->im, &to, &sqe));
	ASSERT_TRUE(raw_take(&self->im, other.list_unit, &n));
	EXPECT_EQ(2, n.msgid);
	EXPECT_EQ(self->i.import, n.conn);
	EXPECT_FALSE(raw_take(&self->im, other.list_unit, &n));
	ASSERT_EQ(1, mem_op(&self->im, &to, &sqe));
	for (k = 1; k <= DEPTH; k++) {
		ASSERT_TRUE(next_note(self, &n));
		EXPECT_EQ(k < 2 ? k : k + 1, n.msgid);
	}
	EXPECT_FALSE(own_note(self, &n));
	ASSERT_OK(all_done(self));
	ASSERT_TRUE(raw_take(&self->im, other.list_unit, &n));
	EXPECT_EQ(DEPTH + 2, n.msgid);
}

/* Messages of this node to the list of the notes, one for each of its slots, have no errno. */
static bool no_errno_stays(FIXTURE_DATA(mem) *self)
{
	struct dd_segment_make s = mem_segment(&self->imem, "abi_self_own");
	struct dd_import_make i;
	struct dd_note n;
	__u64 slots;

	s.list = self->ilist.list;
	s.window = MEM_WINDOW;
	s.policy = DD_POLICY_ALWAYS;
	if (mem_export(&self->im, &s) || mem_import(&self->im, &s, DD_RIGHTS, &i))
		return false;
	slots = 1ull << (__u32)raw_list(&self->im, self->ilist.list_unit)->geometry;
	while (slots--)
		if (mem_put(&self->im, &i, "1234", 0, 4, 0) != 1 || !own_note(self, &n) ||
		    n.type != DD_NOTE_DATA || n.error)
			return false;
	return true;
}

/* A request that this node refuses has no note, and one that the other refuses has the errno. */
TEST_F(mem, a_refused_request_has_no_note_or_its_errno)
{
	const struct dd_sqe beyond = {
		.opcode = DD_OP_PUT, .flags = SELF | DD_SQE_UNWIRED, .dst = LEN, .len = 8,
	};
	const __u8 op[] = { DD_OP_PUT, DD_OP_CAS, DD_OP_GET, DD_OP_NOTE };
	__u32 i, error, number = 0;
	struct dd_note n;

	EXPECT_ERR(ERANGE, mem_op(&self->im, &self->i, &beyond));
	EXPECT_ERR(EINVAL, put_word(self, SELF | 0x20));
	ASSERT_OK(inhibit(self, true));
	for (i = 0; i < 4; i++) {
		const struct dd_sqe sqe = {
			.opcode = op[i], .flags = SELF | DD_SQE_REGION,
			.region = self->imem.id, .len = 8,
			.meta_count = op[i] == DD_OP_CAS ? DD_META_WORDS : 0,
		};

		error = op[i] == DD_OP_GET ? 0 : EACCES;
		if (error && !far_netns()) {
			EXPECT_ERR(EACCES, mem_op(&self->im, &self->i, &sqe));
			continue;
		}
		ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
		ASSERT_TRUE(next_note(self, &n));
		EXPECT_EQ(op[i], n.op);
		EXPECT_EQ(++number, n.msgid);
		EXPECT_EQ(error, n.error);
		EXPECT_EQ(error, self->ms->result[number % DD_RESULTS]);
	}
	EXPECT_FALSE(own_note(self, &n));
	EXPECT_TRUE(no_errno_stays(self));
	ASSERT_OK(inhibit(self, false));
	ASSERT_EQ(1, put_word(self, SELF));
	ASSERT_TRUE(next_note(self, &n));
	EXPECT_EQ(number + 1, n.msgid);
}

TEST_F(mem, depth_notes_are_under_way_or_unread)
{
	struct dd_note n;
	__u32 k;

	for (k = 1; k <= DEPTH; k++)
		ASSERT_EQ(1, put_word(self, SELF));
	/* EBUSY: no request may be added to those that are under way to another node. */
	EXPECT_EQ(-1, put_word(self, SELF));
	EXPECT_TRUE(errno == EAGAIN || (far_netns() && errno == EBUSY));
	ASSERT_OK(all_done(self));
	EXPECT_ERR(EAGAIN, put_word(self, SELF));
	EXPECT_EQ(DEPTH, self->cs->submitted);
	/* Others need no slot. */
	ASSERT_EQ(1, put_word(self, 0));
	for (k = 1; k <= DEPTH; k++) {
		ASSERT_TRUE(next_note(self, &n));
		EXPECT_EQ(k, n.msgid);
		ASSERT_EQ(1, put_word(self, SELF));
		ASSERT_OK(all_done(self));
		EXPECT_ERR(EAGAIN, put_word(self, SELF));
	}
	for (k = 1; k <= DEPTH; k++) {
		ASSERT_TRUE(next_note(self, &n));
		EXPECT_EQ(DEPTH + 1 + k, n.msgid);
	}
	EXPECT_FALSE(own_note(self, &n));
}

/* Requests until the note of the last one to the exporter is withheld. */
static bool withhold(FIXTURE_DATA(mem) *self)
{
	struct dd_note n;
	int k;

	for (k = 0; k < MEM_WINDOW; k++)
		if (put_word(self, DD_SQE_NOTIFY | SELF) != 1 || !next_note(self, &n) || n.error)
			return false;
	if (put_word(self, DD_SQE_NOTIFY | SELF) != 1 || self->cs->done != MEM_WINDOW ||
	    own_note(self, &n))
		return false;
	return far_netns() || (put_word(self, SELF) == -1 && errno == EBUSY);
}

TEST_F(mem, a_request_whose_note_is_withheld_is_not_done)
{
	struct dd_note n;

	ASSERT_TRUE(withhold(self));
	ASSERT_TRUE(take(self, &n));
	ASSERT_TRUE(next_note(self, &n));
	EXPECT_EQ(MEM_WINDOW + 1, n.msgid);
	EXPECT_EQ(0, n.error);
	EXPECT_EQ(MEM_WINDOW + 1, self->cs->done);
	ASSERT_EQ(1, put_word(self, SELF));
	ASSERT_TRUE(next_note(self, &n));
}

TEST_F(mem, the_end_of_the_segment_makes_it_done)
{
	struct dd_note n;

	ASSERT_TRUE(withhold(self));
	ASSERT_OK(mem_end(&self->ex, self->s.segment));
	ASSERT_TRUE(next_note(self, &n));
	EXPECT_EQ(MEM_WINDOW + 1, n.msgid);
	/* At another node it may have ended before the request arrived. */
	EXPECT_TRUE(!n.error || (far_netns() && n.error == EIO));
	EXPECT_ERR(ESTALE, put_word(self, SELF));
	EXPECT_FALSE(own_note(self, &n));
}

/* Each request has one note, whatever its outcome, before or after the end. */
TEST_F(mem, the_end_of_the_segment_notifies_of_what_was_under_way)
{
	static char ones[LEN];
	int rounds = dd_count(20);
	__u64 k, submitted;
	struct dd_note n;

	while (rounds--) {
		for (k = 0; k < DEPTH; k++)
			ASSERT_EQ(1, mem_put(&self->im, &self->i, ones, 0, LEN, SELF));
		if (rounds & 1)
			ASSERT_SOON(self->cs->done);
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		ASSERT_SOON(self->cs->error == ESTALE);
		submitted = self->cs->submitted;
		for (k = 1; k <= submitted; k++) {
			ASSERT_TRUE(next_note(self, &n));
			ASSERT_EQ(DD_NOTE_DONE, n.type);
			ASSERT_EQ(k, n.msgid);
			ASSERT_EQ(k <= self->cs->done ? 0 : EIO, n.error);
		}
		EXPECT_ERR(ESTALE, put_word(self, SELF));
		EXPECT_FALSE(own_note(self, &n));
		ASSERT_OK(mem_end(&self->im, self->i.import));
		ASSERT_OK(export_again(self));
		ASSERT_OK(import_again(self, DD_RIGHTS));
	}
}

/* The notes of both imports are in one list, which ends with the second one. */
TEST_F(mem, the_end_of_an_import_gives_its_slots_back)
{
	struct dd_list_info info = { .size = sizeof(info), .list = self->ilist.list };
	struct dd_import_make other;
	struct dd_note n;

	ASSERT_OK(join(self, &self->s, DD_IMPORT_NOWAIT, &other));
	ASSERT_TRUE(next_note(self, &n));
	EXPECT_EQ(DD_NOTE_IMPORT, n.type);
	ASSERT_EQ(1, put_word(self, SELF));
	ASSERT_OK(all_done(self));
	ASSERT_OK(mem_end(&self->im, self->ilist.serial));
	ASSERT_OK(raw_ioctl(&self->im, DD_IOC_LIST_INFO, &info));
	EXPECT_EQ(2, info.users);
	ASSERT_OK(mem_end(&self->im, self->i.import));
	/* Notes that were posted stay. */
	ASSERT_TRUE(own_note(self, &n));
	EXPECT_EQ(self->i.import, n.conn);
	ASSERT_EQ(1, mem_put(&self->im, &other, "1234", 0, 4, SELF));
	ASSERT_TRUE(next_note(self, &n));
	EXPECT_EQ(other.import, n.conn);
	ASSERT_OK(mem_end(&self->im, other.import));
	EXPECT_ERR(ENOENT, raw_ioctl(&self->im, DD_IOC_LIST_INFO, &info));
}

/* Many more imports, one after the other, than there are slots in a list. */
TEST_F(mem, slots_are_used_again)
{
	struct dd_list_head *head = raw_list(&self->im, self->ilist.list_unit);
	struct dd_import_make i;
	__u64 before = head->geometry;
	struct dd_note n;
	int k;

	for (k = 0; k < 200; k++) {
		ASSERT_OK(join(self, &self->s, k & 1 ? DD_IMPORT_NOWAIT : 0, &i));
		if (k & 1)
			ASSERT_TRUE(next_note(self, &n));
		ASSERT_EQ(1, mem_put(&self->im, &i, "1234", 0, 4, SELF));
		ASSERT_TRUE(next_note(self, &n));
		ASSERT_EQ(i.import, n.conn);
		ASSERT_OK(mem_end(&self->im, i.import));
		if (!k)
			before = head->geometry;
	}
	EXPECT_EQ(before, head->geometry);
}

TEST_F(mem, a_parked_import_may_ask_when_it_is_up)
{
	struct dd_segment_make s = mem_segment(&self->em, "abi_self_parked");
	__u32 later = DD_IMPORT_NOWAIT | DD_IMPORT_PARK;
	struct dd_import_make i, ended;
	struct dd_note n;

	ASSERT_OK(join(self, &s, later, &ended));
	ASSERT_OK(join(self, &s, later, &i));
	EXPECT_ERR(EAGAIN, mem_put(&self->im, &i, "1234", 0, 4, SELF));
	ASSERT_OK(mem_end(&self->im, ended.import));
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_wait_up(&self->im, &i, -1ull));
	ASSERT_EQ(1, mem_put(&self->im, &i, "1234", 0, 4, SELF));
	ASSERT_SOON(own_note(self, &n));
	EXPECT_EQ(DD_NOTE_IMPORT, n.type);
	ASSERT_TRUE(next_note(self, &n));
	EXPECT_EQ(DD_NOTE_DONE, n.type);
	EXPECT_FALSE(own_note(self, &n));
}

struct grower {
	FIXTURE_DATA(mem) *self;
	struct dd_segment_make s;
};

/* Makes imports of a segment of its own node, which let the list grow. */
static bool grow(void *arg)
{
	const struct grower *g = arg;
	const struct raw *r = &g->self->im;
	struct dd_import_make i[64];
	struct dd_list_make l;
	bool failed = false;
	int k;

	/* Slots that are not read stay reserved, so that the next ones need more. */
	for (k = 0; k < 64 && !failed; k++)
		failed = join_of(g->self, &g->s, mem_node(r), 0, &i[k]);
	while (k--)
		mem_end(r, i[k].import);
	return !failed && !mem_list(r, &l) && !mem_end(r, l.serial);
}

TEST_F(mem, no_note_is_lost_while_the_list_grows)
{
	struct grower g = { self, mem_segment(&self->imem, "abi_self_grow") };
	struct dd_list_head *head = raw_list(&self->im, self->ilist.list_unit);
	__u64 before = head->geometry;
	int k, many = dd_count(far_netns() ? 5000 : 20000);
	struct dd_note n;
	struct loop l;

	g.s.importers = 64;
	ASSERT_OK(mem_export(&self->im, &g.s));
	ASSERT_TRUE(loop_begin(&l, grow, &g));
	for (k = 1; k <= many || __atomic_load_n(&head->geometry, __ATOMIC_RELAXED) == before;
	     k++) {
		while (put_word(self, SELF) != 1)
			ASSERT_EQ(EBUSY, errno);
		ASSERT_SOON(own_note(self, &n));
		ASSERT_EQ((__u32)k, n.msgid);
		ASSERT_EQ(0, n.error);
	}
	EXPECT_EQ(0, loop_end(&l));
	EXPECT_FALSE(own_note(self, &n));
}

DD_TEST_MAIN
