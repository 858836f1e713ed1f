// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_direct.c - direct rings with any contents, ends that close at any moment, and what
 * closed connections leave in the tables of a handle
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <linux/dd_ddp.h>

#include "../../lib/conn/conn.h"
#include "../../lib/core/list.h"
#include "echo.h"
#include "faulty.h"
#include "tap.h"

/* ---- the ring of a list: this process is its receiver and may write it, too ------- */

static struct dd_ring_state *ring_of(int id)
{
	const struct ddi_list *l = ddi_list_find(h, id);
	__u32 *table = (void *)(h->area + (size_t)l->head->rings_unit * DD_UNIT);

	check_eq(l->head->rings, 1);
	return (void *)(h->area + (size_t)table[0] * DD_UNIT);
}

static struct dd_ring_note *slot_of(int id, uint64_t pos)
{
	struct dd_ring_state *state = ring_of(id);

	return (struct dd_ring_note *)((char *)state + DDI_STATE_SIZE) + pos % state->slots;
}

static void fill_slot(int id, uint64_t pos, const struct dd_ring_note *note)
{
	struct dd_ring_note *slot = slot_of(id, pos);

	memcpy((char *)slot + 8, (const char *)note + 8, sizeof(*note) - 8);
	__atomic_store_n(&slot->seq, pos + 1, __ATOMIC_RELEASE);
}

/* As the sender might. */
static void post(int id, const struct dd_ring_note *note)
{
	uint64_t pos = ring_of(id)->head;

	while (slot_of(id, pos)->seq == pos + 1)
		pos++;
	fill_slot(id, pos, note);
}

TEST(any_note_in_a_ring)
{
	struct dd_ring_note bad[] = {
		{ .conn = 0 }, { .conn = 0x7fffffff }, { .conn = 0x80000000 },
		{ .conn = 1 }, { .conn = ~0u, .meta_count = 255 },
		{ .offset = PAGE, .len = 1 }, { .offset = ~0ull, .len = 1 },
		{ .len = PAGE + 1 }, { .offset = 8, .len = ~0ull },
		{ .offset = 1, .len = PAGE }, { .offset = ~7ull, .len = 8 },
	};
	struct dd_ring_note good = { .len = 5, .meta_count = 255, .msgid = 9 };
	struct dd_msg msg;

	setup_direct(DD_TYPE_STREAM, true);
	check_eq(request("first"), 0);
	check_eq(take(&msg), 0);
	good.conn = msg.conn;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		/* The connection of the ring with a wrong note; or another one. */
		if (i >= 5)
			bad[i].conn = msg.conn;
		if (i == 3)
			bad[i].conn = conn;
		post(list, &bad[i]);
		if (i % 2)
			check_eq(dd_ready(h, list), 0);
		check_eq(take(&msg), -EWOULDBLOCK);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		post(list, &bad[i]);
	post(list, &good);
	check_eq(take(&msg), 0);
	check_eq(msg.conn, good.conn);
	check(msg.addr == srecv);
	check_eq(msg.len, 5);
	check_eq(msg.meta_count, DD_META_WORDS);
	check_eq(take(&msg), -EWOULDBLOCK);
	teardown();
}

/* A sender that sleeps until the ring has been read waits for void notes, too. */
TEST(void_notes_are_read)
{
	static const struct dd_ring_note dud;
	struct dd_msg msg;
	int calls;

	setup_direct(DD_TYPE_STREAM, true);
	check_eq(request("first"), 0);
	check_eq(take(&msg), 0);
	for (int i = 0; i < 2; i++) {
		post(list, &dud);
		ring_of(list)->need_kick = i;
		calls = faulty.calls;
		check_eq(dd_ready(h, list), 0);
		check_eq(faulty.calls - calls, i);
	}
	teardown();
}

/* The messages go through the kernel. */
TEST(windows_that_cannot_be_mapped)
{
	struct dd_msg msg;
	int calls;

	/* The slots of the ring, its state, the block; then all are mapped. */
	for (int nr = 1; nr <= 4; nr++) {
		setup_direct(DD_TYPE_STREAM, true);
		faulty.unmapped = nr;
		check_eq(request("first"), 0);
		check_eq(take(&msg), 0);
		check(!memcmp(msg.addr, "first", 5));
		calls = faulty.calls;
		check_eq(request("second"), 0);
		check_eq(faulty.calls > calls, nr < 4);
		check_eq(take(&msg), 0);
		check_eq(msg.msgid, 2);
		faulty.unmapped = 0;
		teardown();
	}
}

/*
 * One thread has reserved a position and not filled it, another one has sent on its own
 * connection and closed that: what it has sent is read before the close.
 */
TEST(a_close_behind_a_hole)
{
	struct dd_ring_note late = { .len = 4, .msgid = 1 };
	struct dd_msg msg;
	int ends[2], second;
	uint64_t hole;

	setup_direct(DD_TYPE_SPLIT, true);
	second = client("echo", DD_TYPE_SPLIT, &clist);
	check_eq(dd_conn_list(h, service, ends, 2), 2);
	check_eq(dd_send(h, ends[0], ssend, 4, 0, 0, NULL, 0), 0);
	check_eq(dd_send(h, ends[1], ssend + PAGE / 2, 8, 0, 0, NULL, 0), 0);
	check_eq(dd_send(h, ends[1], ssend + PAGE / 2, 16, 0, 0, NULL, 0), 0);
	hole = ring_of(clist)->head;
	slot_of(clist, hole)->seq = 0;
	check_eq(dd_ready(h, clist), 0);
	check_eq(dd_close(h, ends[1]), 0);

	for (int i = 1; i <= 2; i++) {
		check_eq(dd_peek(h, clist, &msg), 1);
		check_eq(msg.conn, second);
		/* The message that was looked at is the one that is taken. */
		if (i == 2) {
			late.conn = conn;
			fill_slot(clist, hole, &late);
		}
		check_eq(dd_recv(h, clist, &msg, 0, 0), 0);
		check_eq(msg.conn, second);
		check_eq(msg.msgid, i);
		check_eq(msg.len, 8 * i);
	}
	for (int i = 0; i < 2; i++) {
		int ret = dd_recv(h, clist, &msg, 0, 0);

		check_eq(ret, msg.conn == conn ? 0 : -ECONNCLOSE);
		check(msg.conn == conn || msg.conn == second);
	}
	check_eq(dd_recv(h, clist, &msg, 0, 0), -EWOULDBLOCK);
	/* The ring continues behind what was taken out of it. */
	check_eq(dd_send(h, ends[0], ssend, 12, 0, 0, NULL, 0), 0);
	check_eq(dd_recv(h, clist, &msg, 0, 0), 0);
	check_eq(msg.conn, conn);
	check_eq(msg.len, 12);
	teardown();
}

/* A closed end has reserved a slot behind another one's message, and has not written it. */
TEST(a_close_behind_a_message_of_another)
{
	struct dd_msg msg;
	int ends[2], second;

	setup_direct(DD_TYPE_SPLIT, true);
	second = client("echo", DD_TYPE_SPLIT, &clist);
	check_eq(dd_conn_list(h, service, ends, 2), 2);
	check_eq(dd_send(h, ends[0], ssend, 4, 0, 0, NULL, 0), 0);
	check_eq(dd_send(h, ends[1], ssend + PAGE / 2, 8, 0, 0, NULL, 0), 0);
	slot_of(clist, ring_of(clist)->head + 1)->seq = 0;
	check_eq(dd_close(h, ends[1]), 0);
	/* The next look is at the list's own ring, which has the close note. */
	ddi_list_find(h, clist)->cur = NULL;
	ddi_list_find(h, clist)->streak = 1;
	check_eq(dd_recv(h, clist, &msg, 0, 0), -ECONNCLOSE);
	check_eq(msg.conn, second);
	check_eq(dd_recv(h, clist, &msg, 0, 0), 0);
	check_eq(msg.conn, conn);
	check_eq(msg.len, 4);
	teardown();
}

static bool noted;
static int ended;

static void hang_up(void)
{
	struct dd_ring_note note = { .conn = ended };

	if (noted)
		post(list, &note);
	check_eq(dd_close(h, ended), 0);
}

/* The other end closes when the bytes are in place, before the sender looks. */
TEST(a_close_before_the_look)
{
	struct dd_conn_desc desc;
	struct dd_msg msg;

	for (int i = 0; i < 2; i++) {
		setup_direct(DD_TYPE_STREAM, true);
		check_eq(request("x"), 0);
		check_eq(take(&msg), 0);
		ended = msg.conn;
		noted = i;
		faulty.other = hang_up;
		faulty.other_at = DD_IOC_DOORBELL;
		faulty.other_after = 1;
		check_eq(dd_send(h, conn, csend, 4, 0, DD_SEND_UNWIRED, NULL, 0),
			 noted ? 0 : -ECONNCLOSE);
		check(!faulty.other);
		faulty.other_after = 0;
		check_eq(dd_conn_info(h, conn, &desc), 0);
		check_eq(desc.submitted, 1 + noted);
		check_eq(dd_done(h, conn, DD_DONE_PLACED, DD_FOREVER), 1);
		check_eq(request("x"), -ECONNCLOSE);
		teardown();
	}
}

/* ---- waits for the reader ---------------------------------------------------------- */

static void (*at_yield)(void);	/* what another thread does, once, when this one yields */

int sched_yield(void)
{
	void (*other)(void) = at_yield;

	at_yield = NULL;
	if (other)
		other();
	return 0;
}

static void read_one(void)
{
	struct dd_msg msg;

	check_eq(take(&msg), 0);
}

static void close_it(void)
{
	check_eq(dd_close(h, conn), 0);
}

/* Wait for the reader of a full window, which does what @other says. */
static int wait_full(void (*other)(void))
{
	int ret;

	setup_direct(DD_TYPE_STREAM, true);
	/* With one processor it would not look, but sleep. */
	h->cpus = 3;
	h->cpus_until = INT64_MAX;
	check_eq(request("the first one, which makes the connection known"), 0);
	read_one();
	do {
		ret = request("x");
	} while (!ret);
	check_eq(ret, -ENOTREADY);
	at_yield = other;
	faulty.calls = 0;
	ret = dd_done(h, conn, DD_DONE_PLACED, 10000 * MS);
	check(!at_yield);
	return ret;
}

TEST(a_wait_for_a_reader_that_runs_makes_no_call)
{
	check_eq(wait_full(read_one), 1);
	check_eq(faulty.calls, 0);
	check_eq(request("x"), 0);
	teardown();
}

/* The ring of the connection goes while a thread looks at it. */
TEST(a_close_during_a_wait_for_the_reader)
{
	check_eq(wait_full(close_it), -EBADID);
	teardown();
}

/* ---- what closed connections leave ------------------------------------------------ */

/* An id comes again after 2^31 others: the record has a connection with that id. */
TEST(an_id_comes_again)
{
	struct dd_conn_desc desc;
	struct dd_msg msg, old;
	struct ddi_conn *c;

	setup(DD_TYPE_STREAM);
	check_eq(request("stale"), 0);
	check_eq(take(&old), 0);
	c = ddi_conn_find(h, old.conn);
	check(c != NULL);
	c->serial ^= 1ull << 32;
	c->recv = NULL;
	check_eq(request("fresh"), 0);
	check_eq(take(&msg), 0);
	check_eq(msg.conn, old.conn);
	check(msg.serial == old.serial);
	check(msg.addr == srecv);
	/* A reply to the earlier one is refused. */
	old.serial ^= 1ull << 32;
	check_eq(dd_reply(h, &old, csend, 1, 0, DD_SEND_UNWIRED), -EBADID);
	check_eq(dd_conn_info(h, conn, &desc), 0);
	check_eq(desc.received, 0);
	check_eq(dd_reply(h, &msg, csend, 1, 0, DD_SEND_UNWIRED), 0);
	check_eq(dd_conn_info(h, conn, &desc), 0);
	check_eq(desc.received, 1);
	teardown();
}

static unsigned int list_records(void)
{
	unsigned int n = 0;

	for (const struct ddi_list *l = h->all_lists; l; l = l->next)
		n++;
	return n;
}

/* Each has an id, and a list, that none had before. */
TEST(lists_that_are_gone_leave_nothing)
{
	struct dd_connect_attr attr = { .size = sizeof(attr), .type = DD_TYPE_STREAM,
					.recv_size = PAGE, .flags = DD_ATTR_ANON };
	unsigned int n;

	setup(DD_TYPE_STREAM);
	attr.recv = alloc(PAGE);
	n = list_records();
	for (int i = 0; i < 500; i++) {
		int l = 0, c = dd_connect(h, "echo", dd_node(h), &attr, &l);

		check(c > 0);
		check_eq(dd_ready(h, l), 0);
		check_eq(dd_close(h, c), 0);
		check_eq(dd_ready(h, l), -EBADID);
	}
	check(list_records() < n + 100);
	check_eq(dd_ready(h, list), 0);
	teardown();
}

static int newcomer;

/* While the kernel closes a connection, no other thread finds it. */
static void find_nothing(void)
{
	struct dd_conn_desc desc;
	int far[4], n;

	check_eq(dd_send(h, ended, csend, 1, 0, 0, NULL, 0), -EBADID);
	check_eq(dd_conn_info(h, ended, &desc), -EBADID);
	check_eq(dd_close(h, ended), -EBADID);
	if (!newcomer)
		return;
	newcomer = client("echo", DD_TYPE_STREAM, &clist);
	check(newcomer > 0);
	n = dd_conn_list(h, service, far, 4);
	check(n > 1 && n <= 4);
	while (n-- > 0)
		check_eq(dd_conn_info(h, far[n], &desc), -EBADID);
}

/* Make a connection whose serving end is the next to be closed. */
static void next_one(void)
{
	struct dd_msg msg;

	conn = client("echo", DD_TYPE_STREAM, &clist);
	check_eq(request("x"), 0);
	check_eq(take(&msg), 0);
	ended = msg.conn;
	faulty.other = find_nothing;
}

TEST(a_connection_that_is_being_closed)
{
	setup(DD_TYPE_STREAM);
	newcomer = 0;
	ended = conn;
	faulty.other_at = DD_IOC_CLOSE;
	faulty.other = find_nothing;
	check_eq(dd_close(h, conn), 0);
	check(!faulty.other);

	next_one();
	check_eq(dd_close(h, ended), 0);
	check(!faulty.other);

	next_one();
	newcomer = 1;
	faulty.other_at = DD_IOC_UNSERVE;
	check_eq(dd_unserve(h, service), 0);
	check(!faulty.other);
	check_eq(dd_send(h, newcomer, csend, 1, 0, 0, NULL, 0), -ECONNCLOSE);
	teardown();
}
