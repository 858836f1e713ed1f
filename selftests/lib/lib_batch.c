// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_batch.c - several messages with one call
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <linux/dd_ddp.h>

#include "dd.h"
#include "echo.h"
#include "tap.h"

/* One of three messages is refused, by the library or the kernel. */
static void refused(struct dd_send_msg bad, int error)
{
	const struct dd_send_msg good = { .conn = conn, .addr = csend, .len = 8 };

	for (int at = 0; at < 3; at++) {
		struct dd_send_msg msgs[3] = { good, good, good };
		struct dd_msg msg;
		int why;

		msgs[at] = bad;
		check_eq(dd_sendv(h, msgs, 3, &why), at);
		check_eq(why, error);
		for (int n = 0; n < at; n++)
			check_eq(take(&msg), 0);
		check_eq(take(&msg), -EWOULDBLOCK);
	}
}

TEST(several_and_a_bad_one)
{
	setup_direct(DD_TYPE_STREAM, false);
	refused((struct dd_send_msg){ .conn = 0x12345, .addr = csend, .len = 8 }, -EBADID);
	refused((struct dd_send_msg){ .conn = conn, .addr = srecv, .len = 8 }, -EBADRANGE);
	/* The kernel refuses it. */
	refused((struct dd_send_msg){ .conn = conn, .addr = csend, .len = 8, .roffset = 2 * PAGE },
		-EBADRANGE);
	refused((struct dd_send_msg){ .conn = conn, .addr = csend, .options = DD_SEND_BLOCK }, -EINVAL);
	refused((struct dd_send_msg){ .conn = conn, .addr = csend, .options = 0x100 }, -EINVAL);
	refused((struct dd_send_msg){ .conn = conn, .addr = csend, .metacount = 1 }, -EINVAL);
	teardown();
}

/* Messages that are sent one by one stay in order with the others; one has metadata. */
TEST(several_of_all_kinds)
{
	struct dd_send_msg msgs[4] = { 0 };
	const unsigned int meta = 7;
	struct dd_msg msg;
	int error;

	setup_direct(DD_TYPE_STREAM, false);
	msgs[0].conn = msgs[2].conn = conn;
	msgs[0].addr = msgs[2].addr = csend;
	msgs[1].conn = msgs[3].conn = client("echo", DD_TYPE_SPLIT, &clist);
	/* In the send buffer of the one that was made last. */
	msgs[1].addr = msgs[3].addr = csend;
	for (int i = 0; i < 4; i++)
		msgs[i].len = i;
	msgs[2].meta = &meta;
	msgs[2].metacount = 1;
	check_eq(dd_sendv(h, msgs, 4, &error), 3);
	check_eq(error, -ESLOTBUSY);
	for (size_t i = 0; i < 3; i++) {
		check_eq(take(&msg), 0);
		check_eq(msg.len, i);
		check_eq(msg.meta_count, i == 2);
	}
	check_eq(msg.meta[0], meta);
	check_eq(take(&msg), -EWOULDBLOCK);
	teardown();
}

#define ROUNDS	200

/* Two threads with the same connections, in either order. */
static void *send_both_ways(void *arg)
{
	struct dd_send_msg msgs[2] = { { 0 } };
	int *conns = arg;

	for (int i = 0; i < ROUNDS; i++) {
		int error, n = 0;

		for (int k = 0; k < 2; k++)
			msgs[k] = (struct dd_send_msg){
				.conn = conns[k], .addr = "",
				.options = DD_SEND_UNWIRED,
			};
		while (n < 2)
			n += dd_sendv(h, msgs + n, 2 - n, &error);
	}
	return NULL;
}

TEST(several_by_two_threads)
{
	int conns[3], seen[2] = { 0, 0 };
	struct dd_msg msg;
	pthread_t a, b;

	setup_direct(DD_TYPE_STREAM, false);
	conns[0] = conns[2] = conn;
	conns[1] = client("echo", DD_TYPE_STREAM, &clist);
	check_eq(pthread_create(&a, NULL, send_both_ways, conns), 0);
	check_eq(pthread_create(&b, NULL, send_both_ways, conns + 1), 0);
	for (int i = 0; i < 4 * ROUNDS; i++) {
		check_eq(dd_recv(h, list, &msg, 0, DD_FOREVER), 0);
		seen[msg.msgid > 2 * ROUNDS]++;
	}
	check_eq(seen[0], 4 * ROUNDS);
	check_eq(take(&msg), -EWOULDBLOCK);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	teardown();
}
