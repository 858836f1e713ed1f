// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-rpc-client - calls an echo service and checks the replies
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>

#include "sample.h"
#include "../common/tool.h"

static void call(const struct sample_options *o, connid_t connid,
		 address_t request, uint64_t number)
{
	address_t reply;
	size_t size;

	sample_fill(request, o->size, number);
	if (ddcall(connid, request, o->size, &reply, &size,
		   o->sleep ? RECV_SLEEP : RECV_SPIN, 0) < 0)
		sample_die("ddcall");
	if (size != o->size || !sample_check(reply, size, number, false)) {
		tool_warn("reply %llu is wrong (%zu bytes)",
			  (unsigned long long)number, size);
		exit(TOOL_FAILED);
	}
}

int main(int argc, char **argv)
{
	struct sample_options o = {
		.node = -1,
		.name = "echo",
		.count = 1,
		.size = 128,
	};
	address_t request, reply;
	connid_t connid;
	uint64_t i, begin;

	sample_parse(&o, SAMPLE_CLIENT,
		     "Calls an echo service and checks its replies.", argc, argv);
	request = sample_alloc(o.size);
	reply = sample_alloc(o.size);
	if (o.node < 0)
		o.node = ddmynode();
	/* An RPC connection's note list is anonymous: there is no id to get. */
	if (ddconn(o.name, o.node, TYPE_RPC, CONN_NOOPTS, request, o.size,
		   reply, o.size, &connid, NULL) < 0)
		sample_die("ddconn");

	begin = tool_now();
	for (i = 0; i < o.count; i++)
		call(&o, connid, request, i);
	if (!o.quiet)
		printf("%llu call%s of %zu byte%s, %.1f us each, all replies correct\n",
		       (unsigned long long)o.count, tool_s(o.count), o.size,
		       tool_s(o.size),
		       (tool_now() - begin) / 1e3 / (o.count ? o.count : 1));
	if (ddclose(connid) < 0)
		sample_die("ddclose");
	return 0;
}
