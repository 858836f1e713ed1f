// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes to an importer of another node: DD_SQE_NOTIFY_SELF, and what ends them. Run by
 * across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "net_mem.h"
#include <pthread.h>

#define SELF	DD_SQE_NOTIFY_SELF

/* Imports with a list of the importer, in the place of the fixture's import. */
static int import_notify(FIXTURE_DATA(far) *self, __u32 depth, struct dd_list_make *list)
{
	struct dd_import_make *i = &self->i;

	if (mem_end(&self->im, i->import) || mem_list(&self->im, list))
		return -1;
	*i = mem_import_of(&self->s, 2, DD_RIGHTS, DD_IMPORT_NOTIFY, list->list);
	i->depth = depth;
	if (raw_ioctl(&self->im, DD_IOC_IMPORT, i))
		return -1;
	self->cell = raw_unit(&self->im, i->cell_unit);
	return 0;
}

TEST_F(far, the_importer_is_notified_of_each_operation)
{
	static char bytes[BULK] __attribute__((aligned(8)));
	struct dd_list_make list;
	struct dd_note n;
	__u32 k;

	ASSERT_OK(import_notify(self, 0, &list));
	for (k = 0; k < MEM_SELF_REQUESTS; k++) {
		const struct dd_sqe sqe = mem_self_request(k, &self->imem, bytes, BULK / 2);
		const char *to = sqe.region ? self->imem.at + 8 : bytes;

		if (sqe.opcode == DD_OP_GET)
			pattern(self->em.at + 16, sqe.len, k);
		ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
		ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
		EXPECT_EQ(k + 1, *(volatile __u64 *)&self->cell->cell.done);
		/* The result is in place before the note. */
		if (sqe.opcode == DD_OP_GET)
			EXPECT_EQ(0, memcmp(to, self->em.at + 16, sqe.len));
		EXPECT_TRUE(mem_self_done(&n, &self->i, &sqe, k + 1));
		EXPECT_FALSE(raw_take(&self->im, list.list_unit, &n));
		/* The NOTE itself. */
		if (sqe.opcode == DD_OP_NOTE)
			ASSERT_TRUE(take(self, &n));
	}
}

/* The other node refuses all of them. */
TEST_F(far, a_note_has_the_errno_of_a_refused_request)
{
	const __u8 op[] = { DD_OP_PUT, DD_OP_CAS, DD_OP_GET, DD_OP_NOTE };
	struct dd_list_record rec;
	struct dd_list_make list;
	struct dd_sqe sqe;
	int i, fd;

	ASSERT_OK(import_notify(self, 0, &list));
	fd = raw_op(&self->im, DD_IOC_LIST_FD, list.list);
	ASSERT_LE(0, fd);
	ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 0, 0));
	for (i = 0; i < 4; i++) {
		sqe = (struct dd_sqe){
			.opcode = op[i], .flags = SELF | DD_SQE_REGION,
			.region = self->imem.id, .len = 8,
			.meta_count = op[i] == DD_OP_CAS ? DD_META_WORDS : 0,
		};
		ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
		ASSERT_EQ(sizeof(rec), read(fd, &rec, sizeof(rec)));
		EXPECT_EQ(DD_NOTE_DONE, rec.type);
		EXPECT_EQ(op[i], rec.op);
		EXPECT_EQ(i + 1, rec.seq);
		EXPECT_EQ(op[i] == DD_OP_GET ? 0 : EACCES, rec.error);
		EXPECT_EQ(rec.error, self->cell->result[(i + 1) % DD_RESULTS]);
	}
	close(fd);
}

TEST_F(far, depth_notes_are_under_way_or_unread)
{
	struct dd_list_make list;
	struct dd_note n;
	__u32 k;

	ASSERT_OK(import_notify(self, 2, &list));
	for (k = 1; k <= 20; k += 2) {
		ASSERT_EQ(1, put(self, "1234", 0, 4, SELF));
		ASSERT_OK(wait_done(&self->im, &self->i, k));
		ASSERT_EQ(1, put(self, "1234", 0, 4, SELF));
		EXPECT_ERR(EAGAIN, put(self, "1234", 0, 4, SELF));
		ASSERT_OK(wait_done(&self->im, &self->i, k + 1));
		EXPECT_ERR(EAGAIN, put(self, "1234", 0, 4, SELF));
		ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
		EXPECT_EQ(k, n.msgid);
		ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
		EXPECT_EQ(k + 1, n.msgid);
	}
}

/* Requests of which the last is not done, since its note to the exporter is withheld. */
static int withhold(FIXTURE_DATA(far) *self, const struct dd_list_make *list)
{
	struct dd_note n;
	__u64 k;

	for (k = 1; k <= MEM_WINDOW; k++)
		if (put(self, "note", 0, 4, DD_SQE_NOTIFY | SELF) != 1)
			return -1;
	if (wait_done(&self->im, &self->i, MEM_WINDOW) ||
	    put(self, "note", 0, 4, DD_SQE_NOTIFY | SELF) != 1)
		return -1;
	for (k = 1; k <= MEM_WINDOW; k++)
		if (!raw_take(&self->im, list->list_unit, &n) || n.msgid != k || n.error)
			return -1;
	return raw_take(&self->im, list->list_unit, &n) ? -1 : 0;
}

TEST_F(far, a_request_whose_note_is_withheld_is_not_done)
{
	struct dd_list_make list;
	struct dd_note n;

	ASSERT_OK(import_notify(self, 0, &list));
	ASSERT_OK(withhold(self, &list));
	ASSERT_TRUE(take(self, &n));
	ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(MEM_WINDOW + 1, n.msgid);
	EXPECT_EQ(0, n.error);
}

TEST_F(far, the_end_of_the_session_notifies_of_what_was_under_way)
{
	struct dd_list_make list;
	struct dd_note n;

	ASSERT_OK(import_notify(self, 0, &list));
	ASSERT_OK(withhold(self, &list));
	ASSERT_EQ(0, system("ddctl peer del 2"));
	ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(DD_NOTE_DONE, n.type);
	EXPECT_EQ(MEM_WINDOW + 1, n.msgid);
	EXPECT_EQ(EIO, n.error);
	EXPECT_EQ(EHOSTUNREACH, self->cell->cell.error);
	EXPECT_EQ(EIO, self->cell->result[(MEM_WINDOW + 1) % DD_RESULTS]);
	EXPECT_ERR(EHOSTUNREACH, put(self, "note", 0, 4, SELF));
	EXPECT_ERR(EHOSTUNREACH, wait_done(&self->im, &self->i, MEM_WINDOW + 2));
	EXPECT_FALSE(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(0, mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, system("ddctl peer add 2 10.9.0.2"));
	while (import(&self->im, &self->s, DD_RIGHT_GET, 0, &self->i))
		ASSERT_TRUE(errno == EHOSTUNREACH || errno == EUSERS);
}

/*
 * The other node executes a CAS, and its reply is lost with the session. Its owner then stores
 * the expected value again, so that a second execution would show.
 */
TEST_F(far, a_swap_that_is_cut_off_is_not_known_and_not_repeated)
{
	volatile __u64 *word = (volatile __u64 *)self->em.at;
	__u64 *was = (__u64 *)self->imem.at;
	struct dd_list_make list;
	struct dd_note n;

	ASSERT_OK(import_notify(self, 0, &list));
	*was = 77;
	ASSERT_EQ(0, impair(2, "loss 100%"));
	ASSERT_EQ(1, cas(self, 0, 8, 0, 1, SELF));
	ASSERT_SOON(*word == 1);
	*word = 0;
	EXPECT_EQ(0, self->cell->cell.done);
	ASSERT_EQ(0, system("ddctl peer del 2"));
	ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
	EXPECT_EQ(DD_OP_CAS, n.op);
	EXPECT_EQ(EIO, n.error);
	EXPECT_EQ(EIO, self->cell->result[1]);
	EXPECT_EQ(EHOSTUNREACH, self->cell->cell.error);
	EXPECT_EQ(0, self->cell->cell.done);
	EXPECT_EQ(0, mem_end(&self->im, self->i.import));
	ASSERT_EQ(0, impair(2, NULL));
	ASSERT_EQ(0, system("ddctl peer add 2 10.9.0.2"));
	while (import(&self->im, &self->s, DD_RIGHTS, 0, &self->i))
		ASSERT_TRUE(errno == EHOSTUNREACH || errno == EUSERS);
	self->cell = raw_unit(&self->im, self->i.cell_unit);
	EXPECT_EQ(0, *word);
	EXPECT_EQ(77, *was);
	/* Its memory is free for the next one. */
	ASSERT_EQ(1, cas(self, 0, 8, 0, 5, 0));
	EXPECT_EQ(0, result(self));
	EXPECT_EQ(0, *was);
	EXPECT_EQ(5, *word);
}

/* Each request has one note, whatever its outcome, before or after the end. */
TEST_F(far, the_end_of_the_segment_notifies_of_what_was_under_way)
{
	static char ones[BULK];
	__u64 k, submitted;
	struct dd_list_make list;
	int rounds = dd_count(20);
	struct dd_note n;

	while (rounds--) {
		ASSERT_OK(import_notify(self, 0, &list));
		for (k = 0; k < MEM_WINDOW; k++)
			ASSERT_EQ(1, put(self, ones, 0, sizeof(ones), SELF));
		if (rounds & 1)
			ASSERT_OK(wait_done(&self->im, &self->i, 1));
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		ASSERT_SOON(*(volatile __u32 *)&self->cell->cell.error == ESTALE);
		submitted = self->cell->cell.submitted;
		for (k = 1; k <= submitted; k++) {
			ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
			ASSERT_EQ(DD_NOTE_DONE, n.type);
			ASSERT_EQ(k, n.msgid);
			ASSERT_EQ(k <= self->cell->cell.done ? 0 : EIO, n.error);
		}
		EXPECT_ERR(ESTALE, put(self, ones, 0, 8, SELF));
		EXPECT_FALSE(raw_take(&self->im, list.list_unit, &n));
		self->s.segment = 0;
		self->s.generation = 0;
		ASSERT_OK(mem_export(&self->ex, &self->s));
	}
	ASSERT_OK(import_notify(self, 0, &list));
}

/* Makes imports, which let the list grow, until it is stopped. */
struct grower {
	const struct raw *r;
	struct dd_import_make i;
	int stop, failed;
};

static void *grow(void *arg)
{
	struct grower *g = arg;
	struct dd_import_make i[64];
	int k;

	while (!__atomic_load_n(&g->stop, __ATOMIC_RELAXED) && !g->failed) {
		for (k = 0; k < 64 && !g->failed; k++) {
			i[k] = g->i;
			g->failed = raw_ioctl(g->r, DD_IOC_IMPORT, &i[k]);
		}
		while (k--)
			mem_end(g->r, i[k].import);
	}
	return NULL;
}

/* A segment of this node makes the list of the importer grow. */
TEST_F(far, no_note_is_lost_while_the_list_grows)
{
	struct dd_segment_make s = mem_segment(&self->imem, "far_grow");
	struct grower g = { .r = &self->im };
	int k, many = dd_count(5000);
	struct dd_list_head *head;
	struct dd_list_make list;
	struct dd_note n;
	__u64 before;
	pthread_t t;

	s.importers = 64;
	ASSERT_OK(mem_export(&self->im, &s));
	ASSERT_OK(import_notify(self, 4, &list));
	head = raw_list(&self->im, list.list_unit);
	before = head->geometry;
	g.i = mem_import_of(&s, 1, DD_RIGHTS, DD_IMPORT_NOTIFY, list.list);
	g.i.depth = DD_DEPTH_MAX;
	ASSERT_EQ(0, pthread_create(&t, NULL, grow, &g));
	for (k = 1; k <= many || __atomic_load_n(&head->geometry, __ATOMIC_RELAXED) == before;
	     k++) {
		ASSERT_EQ(1, put(self, "1234", 0, 4, SELF));
		ASSERT_SOON(raw_take(&self->im, list.list_unit, &n));
		ASSERT_EQ((__u32)k, n.msgid);
		ASSERT_EQ(0, n.error);
	}
	g.stop = 1;
	ASSERT_EQ(0, pthread_join(t, NULL));
	EXPECT_EQ(0, g.failed);
	EXPECT_FALSE(raw_take(&self->im, list.list_unit, &n));
}

DD_TEST_MAIN
