// SPDX-License-Identifier: GPL-2.0-only
/*
 * clerk.c - rmfs clerk: a service for clients of this node, which have no access to segments
 *
 * One thread: an operation at a time.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clerk.h"
#include "common.h"
#include "dd.h"
#include "remote.h"
#include "table.h"
#include "../common/tool.h"

static struct remote remote;

/* Execute the request of a client, and make its reply. Returns the bytes of the reply. */
static size_t perform(int client, const struct call *call, size_t size, struct call *out)
{
	const struct header *h = &call->h;
	struct header reply = { .op = EINVAL };

	if (size >= sizeof(*h) && h->len == size - sizeof(*h))
		reply.op = op_check(h->op, h->offset, call->payload, h->len);
	if (!reply.op) {
		remote.client = client;
		reply.op = remote_op(&remote, h->op, h->handle, h->offset, call->payload, h->len);
		reply.late = remote.late;
	}
	if (!reply.op)
		reply.len = remote.len;
	out->h = reply;
	memcpy(out->payload, remote.data, reply.len);
	return sizeof(reply) + reply.len;
}

static void __attribute__((noreturn)) loop(struct dd *h, int list)
{
	static struct call call;
	struct dd_msg msg;
	size_t size;
	int ret;

	for (;;) {
		ret = dd_recv(h, list, &msg, DD_RECV_SPIN, INT64_MAX);
		if (ret == -ECONNCLOSE) {
			remote_drop_client(&remote, msg.conn);
			continue;
		}
		if (ret)
			fail("cannot receive requests", -ret);
		if (msg.type != DD_MSG_DATA || msg.send_size < sizeof(call))
			continue;
		/* The client can write here at any time: what was checked must not change. */
		size = msg.len > sizeof(call) ? 0 : msg.len;
		copy_once(&call, msg.addr, size);
		size = perform(msg.conn, &call, size, msg.send);
		/* A client that is gone, or whose buffer is small, gets no reply. */
		dd_reply(h, &msg, msg.send, size, 0, 0);
	}
}

static void stop(int sig)
{
	(void)sig;
	_exit(TOOL_OK);
}

int clerk(int argc, char **argv)
{
	static const char * const schemes[] = { "dx", "hy", "push" };
	struct dd_serve_attr attr = {
		.size = sizeof(attr), .flags = DD_ATTR_SAME_USER | DD_ATTR_CLOSE, .maxconn = RMFS_CLIENTS,
		.recv_size = RMFS_CLIENTS * sizeof(struct call),
		.send_size = RMFS_CLIENTS * sizeof(struct call),
	};
	char service[RM_NAME_MAX + 1];
	struct dd *h;
	int opt, ret, list, i;
	uint32_t err;

	while ((opt = getopt(argc, argv, "x:")) != -1) {
		if (opt != 'x')
			tool_bad_option(argv);
		for (i = 0; i < 3 && strcmp(optarg, schemes[i]); i++)
			;
		if (i == 3)
			tool_usage("-x is dx, hy or push, not '%s'", optarg);
		remote.scheme = i;
	}
	if (optind == argc || optind + 2 < argc)
		tool_usage("clerk needs a name and a node");
	remote.name = argv[optind];
	remote.node = optind + 1 < argc ? (int)tool_number("NODE", argv[optind + 1], 0, 65535) : -1;
	name_make(service, SERVICE, remote.name);
	tool_raise_memlock();
	/* The kernel ends the segments and the service of a process that exits. */
	signal(SIGTERM, stop);
	signal(SIGINT, stop);
	ret = dd_open(&h);
	if (ret)
		fail("cannot open /dev/dd", -ret);
	remote.own = dd_node(h);
	err = remote_op(&remote, OP_NULL, 0, 0, NULL, 0);
	if (err)
		fail(remote.name, err);
	ret = dd_alloc(h, attr.recv_size, &attr.recv);
	if (!ret)
		ret = dd_alloc(h, attr.send_size, &attr.send);
	if (!ret)
		ret = dd_serve(h, service, &attr, &list);
	if (ret < 0)
		fail("cannot serve clients", -ret);
	printf("rmfs: ready\n");
	fflush(stdout);
	loop(h, list);
}
