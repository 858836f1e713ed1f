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

/* The error is that of the first that was refused, by the library or the kernel. */
TEST(several_and_a_bad_one)
{
	struct dd_send_msg msgs[3];
	struct dd_msg msg;
	int error;

	setup_direct(DD_TYPE_STREAM, false);
	for (int bad = 0; bad < 3; bad++)
		for (int how = 0; how < 6; how++) {
			static const int errors[] = { -EBADID, -EBADRANGE,
				-EBADRANGE, -EINVAL, -EINVAL, -EINVAL };

			for (int i = 0; i < 3; i++)
				msgs[i] = (struct dd_send_msg){
					.conn = conn, .addr = csend, .len = 8,
				};
			switch (how) {
			case 0:
				msgs[bad].conn = 0x12345;
				break;
			case 1:
				msgs[bad].addr = srecv;
				break;
			case 2:
				/* The kernel refuses it. */
				msgs[bad].roffset = 2 * PAGE;
				break;
			case 3:
				msgs[bad].options = DD_SEND_BLOCK;
				break;
			case 4:
				msgs[bad].options = 0x100;
				break;
			case 5:
				msgs[bad].metacount = 1;
				break;
			}
			/* The third is one too many, if it is not bad. */
			check_eq(dd_sendv(h, msgs, 3, &error), bad);
			check_eq(error, errors[how]);
			for (int i = 0; i < bad; i++)
				check_eq(take(&msg), 0);
			check_eq(take(&msg), -EWOULDBLOCK);
		}
	teardown();
}

/* Messages that are sent one by one stay in order with the others. */
TEST(several_of_all_kinds)
{
	struct dd_send_msg msgs[4] = { 0 };
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
	check_eq(dd_sendv(h, msgs, 4, &error), 3);
	check_eq(error, -ESLOTBUSY);
	for (size_t i = 0; i < 3; i++) {
		check_eq(take(&msg), 0);
		check_eq(msg.len, i);
	}
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
