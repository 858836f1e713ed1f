// SPDX-License-Identifier: LGPL-2.1-only
/*
 * close_test.c - what a connection leaves that is closed
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>
#include <linux/dd_ddp.h>

#include "dd.h"
#include "echo.h"
#include "fake.h"
#include "tap.h"
#include "list.h"

/* Not the one whose message is replied to, whatever has its id. */
static void refuses_a_reply_to(const struct dd_msg *old)
{
	check_eq(dd_reply(h, old, csend, 1, 0, DD_SEND_UNWIRED), -EBADID);
}

/* A service has blocks 0 and 1, by turns; serving ends have had all ids. */
static void an_id_comes_again(void)
{
	struct dd_msg msg, old;
	struct dd_conn_desc desc;
	int first;

	/* On another block, with a note of the first one unread. */
	fake_reset();
	setup(DD_TYPE_STREAM);
	check_eq(request("stale"), 0);
	check_eq(dd_conn_list(h, service, &first, 1), 1);
	check_eq(dd_close(h, first), 0);
	fake.id_again = first;
	conn = client("echo", DD_TYPE_STREAM, &clist);
	check_eq(dd_conn_info(h, first, &desc), 0);
	check_eq(dd_ready(h, list), 0);
	check_eq(request("fresh"), 0);
	check_eq(take(&msg), 0);
	check_eq(msg.conn, first);
	check(msg.addr == srecv + PAGE);
	check(!memcmp(msg.addr, "fresh", 5));
	check(msg.serial == desc.serial);
	old = msg;
	check_eq(dd_close(h, first), 0);
	refuses_a_reply_to(&old);

	/* On the block of one that was closed here. */
	fake.id_again = first;
	conn = client("echo", DD_TYPE_STREAM, &clist);
	check_eq(request("again"), 0);
	check_eq(take(&msg), 0);
	check_eq(msg.conn, first);
	check(msg.addr == srecv);
	check(!memcmp(msg.addr, "again", 5));
	check(msg.serial != old.serial);
	refuses_a_reply_to(&old);
	check_eq(dd_conn_info(h, conn, &desc), 0);
	check_eq(desc.received, 0);
	check_eq(dd_reply(h, &msg, csend, 1, 0, DD_SEND_UNWIRED), 0);
	check_eq(dd_conn_info(h, conn, &desc), 0);
	check_eq(desc.received, 1);
	fake.interrupts = 0;
	teardown();
}

/*
 * Two serving ends whose ids lead to the same place of the library's tables: each
 * is found, and the one that was used last without a question to the kernel.
 */
static void ids_that_lead_to_one_place(void)
{
	struct dd_conn_desc desc;
	int first, calls, other;
	char *send = csend;
	struct dd_msg msg;

	fake_reset();
	setup(DD_TYPE_STREAM);
	other = conn;
	send = csend;
	check_eq(dd_conn_list(h, service, &first, 1), 1);
	fake.id_again = first + DDI_BUCKETS;
	conn = client("echo", DD_TYPE_STREAM, &clist);
	for (int i = 0; i < 4; i++) {
		check_eq(request("one"), 0);
		check_eq(take(&msg), 0);
		check_eq(msg.conn, first + (int)DDI_BUCKETS);
		check(msg.addr == srecv + PAGE);
		check_eq(dd_reply(h, &msg, msg.send, 1, 0, 0), 0);
		memcpy(send, "two", 4);
		check_eq(dd_send(h, other, send, 4, 0, 0, NULL, 0), 0);
		check_eq(take(&msg), 0);
		check_eq(msg.conn, first);
		check(msg.addr == srecv);
		check_eq(dd_done(h, conn, DD_DONE_PLACED, 0), 1);
		check_eq(dd_recv(h, clist, &msg, 0, 0), 0);
	}
	calls = fake.calls;
	for (int i = 0; i < 2; i++) {
		check_eq(dd_conn_info(h, first, &desc), 0);
		check_eq(DD_SERIAL_ID(desc.serial), first);
		check_eq(dd_conn_info(h, first + DDI_BUCKETS, &desc), 0);
		check_eq(DD_SERIAL_ID(desc.serial), first + (int)DDI_BUCKETS);
	}
	/* Each asks for the counts, and again for the end that has lost its place. */
	check(fake.calls - calls <= 8);
	check_eq(dd_close(h, first), 0);
	check_eq(dd_conn_info(h, first, &desc), -EBADID);
	check_eq(dd_conn_info(h, first + DDI_BUCKETS, &desc), 0);
	check_eq(dd_close(h, first + DDI_BUCKETS), 0);
	check_eq(dd_conn_info(h, first + DDI_BUCKETS, &desc), -EBADID);
	fake.interrupts = 0;
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
static void lists_that_are_gone_leave_nothing(void)
{
	struct dd_connect_attr attr = { .size = sizeof(attr),
					.type = DD_TYPE_STREAM };
	int ends[2];
	unsigned int n;

	fake_reset();
	setup(DD_TYPE_STREAM);
	attr.recv = alloc(PAGE);
	attr.recv_size = PAGE;
	n = list_records();
	for (int i = 0; i < 2000; i++) {
		int l = 0, c = dd_connect(h, "echo", 1, &attr, &l);

		check(c > 0);
		check_eq(dd_ready(h, l), 0);
		check_eq(dd_close(h, c), 0);
		check_eq(dd_ready(h, l), -EBADID);
		/* The serving end of it, too. */
		check_eq(dd_conn_list(h, service, ends, 2), 2);
		check_eq(dd_close(h, ends[1]), 0);
	}
	check(list_records() < n + 200);
	check_eq(dd_ready(h, list), 0);
	fake.interrupts = 0;
	teardown();
}

static int ended, newcomer;

/* What was there when the kernel was about to close it is not there any more. */
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

/* A connection is made, and its serving end is the next to be closed. */
static void next_one(void)
{
	struct dd_msg msg;

	conn = client("echo", DD_TYPE_STREAM, &clist);
	check_eq(request("x"), 0);
	check_eq(take(&msg), 0);
	ended = msg.conn;
	fake.other = find_nothing;
}

static void nobody_is_at_what_is_closed(void)
{
	fake_reset();
	setup(DD_TYPE_STREAM);
	ended = conn;
	fake.other_at = DD_IOC_CLOSE;
	fake.other = find_nothing;
	check_eq(dd_close(h, conn), 0);
	check(!fake.other);

	next_one();
	check_eq(dd_close(h, ended), 0);
	check(!fake.other);

	next_one();
	newcomer = 1;
	fake.other_at = DD_IOC_UNSERVE;
	check_eq(dd_unserve(h, service), 0);
	check(!fake.other);
	check_eq(dd_send(h, newcomer, csend, 1, 0, 0, NULL, 0), -ECONNCLOSE);
	fake.interrupts = 0;
	teardown();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(an_id_comes_again),
		TEST(ids_that_lead_to_one_place),
		TEST(lists_that_are_gone_leave_nothing),
		TEST(nobody_is_at_what_is_closed),
	};

	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
