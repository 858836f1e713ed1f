// SPDX-License-Identifier: LGPL-2.1-only
/*
 * direct_test.c - messages that the kernel has nothing to do with
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <linux/dd_ddp.h>

#include "dd.h"
#include "echo.h"
#include "fake.h"
#include "tap.h"

/* The sending process may write anything to a direct ring. */
static void what_a_stranger_writes(void)
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

	fake_reset();
	setup_direct(DD_TYPE_STREAM, true);
	check_eq(request("first"), 0);
	check_eq(take(&msg), 0);
	good.conn = msg.conn;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		/* Its own connection with a wrong note; or another process's. */
		if (i >= 5)
			bad[i].conn = msg.conn;
		if (i == 3)
			bad[i].conn = conn;
		fake_ring_post(list, &bad[i]);
		if (i % 2)
			check_eq(dd_ready(h, list), 0);
		check_eq(dd_recv(h, list, &msg, 0, 0), -EWOULDBLOCK);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		fake_ring_post(list, &bad[i]);
	fake_ring_post(list, &good);
	check_eq(take(&msg), 0);
	check_eq(msg.conn, good.conn);
	check(msg.addr == srecv);
	check_eq(msg.len, 5);
	check_eq(msg.meta_count, DD_META_WORDS);
	check_eq(dd_recv(h, list, &msg, 0, 0), -EWOULDBLOCK);
	fake.interrupts = 0;
	teardown();
}

static uint64_t received_by(int end)
{
	struct dd_conn_desc desc = { .type = 0 };

	check_eq(dd_conn_info(h, end, &desc), 0);
	return desc.received;
}

/* What was granted cannot be mapped: the messages go by the doorbell. */
static void windows_that_cannot_be_mapped(void)
{
	struct dd_msg msg;
	int calls;

	/* The slots of the ring, its state, the block; then all of them. */
	for (int nr = 1; nr <= 4; nr++) {
		fake_reset();
	setup_direct(DD_TYPE_STREAM, true);
		fake.unmapped = nr;
		check_eq(request("first"), 0);
		check_eq(take(&msg), 0);
		check(!memcmp(msg.addr, "first", 5));
		calls = fake.calls;
		check_eq(request("second"), 0);
		check_eq(fake.calls > calls, nr < 4);
		check_eq(received_by(msg.conn), 2);
		check_eq(take(&msg), 0);
		check_eq(msg.msgid, 2);
		check_eq(received_by(msg.conn), 2);
		fake.interrupts = 0;
	teardown();
	}
}

/* One more message, and what is received of it. */
static void next_message(struct dd_msg *msg, unsigned int *n, int options)
{
	char text[16];

	snprintf(text, sizeof(text), "number %u", ++*n);
	strcpy(csend, text);
	check_eq(dd_send(h, conn, csend, 16, 0, options, NULL, 0), 0);
	check_eq(take(msg), 0);
	check(!strcmp(msg->addr, text));
	check_eq(msg->msgid, *n);
	check_eq(dd_ready(h, list), 0);
	check_eq(dd_done(h, conn, DD_DONE_PLACED, 0), 1);
}

/*
 * One thread has taken a position and not filled it, another one has sent on its
 * own connection and closed that: what it has sent is read before the close.
 */
static void a_close_behind_a_hole(void)
{
	struct dd_ring_note late = { .len = 4, .msgid = 1 };
	struct dd_msg msg;
	int ends[2], second;

	fake_reset();
	setup_direct(DD_TYPE_SPLIT, true);
	second = client("echo", DD_TYPE_SPLIT, &clist);
	check_eq(dd_conn_list(h, service, ends, 2), 2);
	check_eq(dd_send(h, ends[0], ssend, 4, 0, 0, NULL, 0), 0);
	check_eq(dd_send(h, ends[1], ssend + PAGE / 2, 8, 0, 0, NULL, 0), 0);
	check_eq(dd_send(h, ends[1], ssend + PAGE / 2, 16, 0, 0, NULL, 0), 0);
	fake_ring_hole(clist, 0);
	check_eq(dd_ready(h, clist), 0);
	check_eq(dd_close(h, ends[1]), 0);

	for (int i = 1; i <= 2; i++) {
		check_eq(dd_peek(h, clist, &msg), 1);
		check_eq(msg.conn, second);
		/* What was looked at is what is taken. */
		if (i == 2) {
			late.conn = conn;
			fake_ring_fill(clist, 0, &late);
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
	/* The ring goes on behind what was taken out of it. */
	check_eq(dd_send(h, ends[0], ssend, 12, 0, 0, NULL, 0), 0);
	check_eq(dd_recv(h, clist, &msg, 0, 0), 0);
	check_eq(msg.conn, conn);
	check_eq(msg.len, 12);
	fake.interrupts = 0;
	teardown();
}

/* The other end closes before the sender looks: has the message come? */
static void a_close_before_the_look(void)
{
	struct dd_conn_desc desc;
	struct dd_msg msg;

	for (int noted = 0; noted < 2; noted++) {
		unsigned int n = 0;

		fake_reset();
	setup_direct(DD_TYPE_STREAM, true);
		next_message(&msg, &n, 0);
		fake.noted = noted;
		fake.hang_up = conn;
		check_eq(dd_send(h, conn, csend, 4, 0, DD_SEND_UNWIRED, NULL,
				 0), noted ? 0 : -ECONNCLOSE);
		check_eq(fake.hang_up, 0);
		check_eq(dd_conn_info(h, conn, &desc), 0);
		check_eq(desc.submitted, 1 + noted);
		check_eq(dd_done(h, conn, DD_DONE_PLACED, DD_FOREVER), 1);
		check_eq(request("x"), -ECONNCLOSE);
		fake.interrupts = 0;
	teardown();
	}
}

int main(void)
{
	static const struct test tests[] = {
		TEST(what_a_stranger_writes),
		TEST(windows_that_cannot_be_mapped),
		TEST(a_close_behind_a_hole),
		TEST(a_close_before_the_look),
	};

	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
