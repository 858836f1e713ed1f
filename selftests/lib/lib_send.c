// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_send.c - messages, and what the structures of <dd.h> report of them; the
 * calls of <fedex.h>, which selftests/ddp tests, are made of those of <dd.h>
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <linux/dd_ddp.h>

#include "dd.h"
#include "echo.h"
#include "tap.h"

TEST(message_arrives)
{
	static const unsigned int meta[4] = { 1, 2, 3, 4 };
	struct dd_msg msg = { .meta = { 9, 9, 9, 9 } };

	setup(DD_TYPE_STREAM);
	strcpy(csend, "hello");
	check_eq(dd_send(h, conn, csend, 5, 24, 0, meta, 3), 0);
	check_eq(dd_ready(h, list), 1);
	check_eq(dd_peek(h, list, &msg), 1);
	check_eq(msg.len, 5);
	check_eq(dd_recv(h, list, &msg, 0, DD_FOREVER), 0);
	check_eq(msg.type, DD_MSG_DATA);
	check_eq(msg.service, service);
	check(msg.addr == srecv + 24);
	check(!memcmp(msg.addr, "hello", 5));
	check(msg.send == ssend);
	check_eq(msg.send_size, PAGE / 2);
	check_eq(msg.meta_count, 3);
	check_eq(msg.meta[2], 3);
	check_eq(msg.meta[3], 9);
	check_eq(dd_ready(h, list), 0);
	check_eq(take(&msg), -EWOULDBLOCK);
	teardown();
}

TEST(stream_waits_for_ack)
{
	struct dd_msg msg;

	setup(DD_TYPE_STREAM);
	check_eq(request("1"), 0);
	check_eq(dd_done(h, conn, DD_DONE_PLACED, 0), 1);
	/* Deposited, its note withheld: sent, not placed. */
	check_eq(request("2"), 0);
	check_eq(dd_done(h, conn, DD_DONE_SENT, 0), 1);
	check_eq(dd_done(h, conn, DD_DONE_PLACED, 0), 0);
	check_eq(dd_done(h, conn, DD_DONE_PLACED, 2 * MS), -ETIMEDOUT);
	check_eq(request("3"), -ENOTREADY);
	/* Consuming the first kicks the second into the list. */
	check_eq(take(&msg), 0);
	check_eq(msg.msgid, 1);
	check_eq(dd_done(h, conn, DD_DONE_PLACED, DD_FOREVER), 1);
	check_eq(request("3"), 0);
	check_eq(take(&msg), 0);
	check_eq(msg.msgid, 2);
	check_eq(take(&msg), 0);
	check_eq(msg.msgid, 3);
	check_eq(dd_done(h, conn, 2, 0), -EINVAL);
	teardown();
}

TEST(counters_count)
{
	struct dd_conn_desc desc;
	struct dd_msg msg;

	setup(DD_TYPE_STREAM);
	for (int i = 0; i < 3; i++) {
		check_eq(request("x"), 0);
		check_eq(take(&msg), 0);
	}
	check_eq(dd_conn_info(h, conn, &desc), 0);
	check_eq(desc.submitted, 3);
	check_eq(desc.done, 3);
	check_eq(desc.peer_size, PAGE);
	check_eq(desc.pid, getpid());
	check_eq(dd_conn_info(h, msg.conn, &desc), 0);
	check_eq(desc.received, 3);
	check_eq(desc.service, service);
	check(dd_node(h) < dd_max_nodes(h));
	check(dd_packet_size(h) > 0);
	teardown();
}
