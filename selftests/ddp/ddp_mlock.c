// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes with all present and future memory locked: what the library maps
 * must fit in RLIMIT_MEMLOCK.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <sys/mman.h>
#include <sys/resource.h>

#include "dd.h"

#define PAGE		4096
#define LIMIT		(64ul << 20)
#define MESSAGES	1000

static struct dd *locked_open(void)
{
	struct rlimit l = { LIMIT, LIMIT };
	struct dd *h;
	int ret;

	CHILD_CHECK(setrlimit(RLIMIT_MEMLOCK, &l) == 0);
	CHILD_CHECK(become_user(ALICE) == 0);
	CHILD_CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
	ret = dd_open(&h);
	if (ret)
		fprintf(stderr, "# dd_open: %s\n", dd_strerror(ret));
	CHILD_CHECK(ret == 0);
	return h;
}

static void server(const char *name, int ready)
{
	struct dd_serve_attr attr = { .size = sizeof(attr), .maxconn = 4 };
	struct dd *h = locked_open();
	struct dd_msg msg = {};
	int list, i;
	void *mem;

	CHILD_CHECK(dd_alloc(h, 8 * PAGE, &mem) == 0);
	attr.recv = mem;
	attr.recv_size = 4 * PAGE;
	attr.send = (char *)mem + 4 * PAGE;
	attr.send_size = 4 * PAGE;
	CHILD_CHECK(dd_serve(h, name, &attr, &list) > 0);
	child_report(ready);
	for (i = 0; i < MESSAGES; i++) {
		CHILD_CHECK(dd_recv(h, list, &msg, 0, DD_FOREVER) == 0);
		CHILD_CHECK(msg.word == (uint64_t)i);
		memcpy(attr.send, &msg.word, 8);
		CHILD_CHECK(dd_reply(h, &msg, attr.send, 8, 0, 0) == 0);
	}
	_exit(0);
}

static void client(const char *name)
{
	struct dd_connect_attr attr = { .size = sizeof(attr),
					.type = DD_TYPE_RPC };
	struct dd *h = locked_open();
	struct dd_msg reply = {};
	void *mem;
	int conn;
	uint64_t i;

	CHILD_CHECK(dd_alloc(h, 2 * PAGE, &mem) == 0);
	attr.recv = mem;
	attr.recv_size = PAGE;
	attr.send = (char *)mem + PAGE;
	attr.send_size = PAGE;
	conn = dd_connect(h, name, dd_node(h), &attr, NULL);
	CHILD_CHECK(conn > 0);
	for (i = 0; i < MESSAGES; i++) {
		memcpy(attr.send, &i, 8);
		CHILD_CHECK(dd_call(h, conn, attr.send, 8, &reply, 0,
				    DD_FOREVER) == 0);
		CHILD_CHECK(reply.word == i);
	}
	_exit(0);
}

/* DDP-8: a process may lock its memory, and use dd. */
TEST(DDP_8_a_process_whose_memory_is_locked_opens_serves_and_sends)
{
	pid_t server_pid, client_pid;
	char name[40];
	int ready;

	snprintf(name, sizeof(name), "mlock.%d", getpid());
	server_pid = fork_until_report(&ready);
	if (!server_pid)
		server(name, ready);
	ASSERT_LT(0, server_pid);
	client_pid = fork_child();
	if (!client_pid)
		client(name);
	ASSERT_CHILD_OK(client_pid);
	ASSERT_CHILD_OK(server_pid);
}

DD_TEST_MAIN
