// SPDX-License-Identifier: GPL-2.0-only
/*
 * dd-split-client - requests to two services at once, replies when convenient
 *
 * Both connections share a note list: one ddrecv() takes the reply that comes
 * first, and its connid tells whose it is.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>

#include "sample.h"
#include "../common/tool.h"

struct channel {
	connid_t connid;
	address_t request;
	bool reversed;
	bool answered;
};

static void open_channel(const struct sample_options *o, struct channel *c,
			 char *name, int flags, noteid_t *noteid)
{
	address_t reply = sample_alloc(o->size);

	c->request = sample_alloc(o->size);
	if (ddconn(name, o->node, TYPE_SPLIT, flags, c->request, o->size,
		   reply, o->size, &c->connid, noteid) < 0)
		sample_die("ddconn");
}

static void request(const struct sample_options *o, struct channel *c,
		    uint64_t number)
{
	c->answered = false;
	sample_fill(c->request, o->size, number);
	if (ddsend(c->connid, c->request, o->size, 0, SEND_NOOPTS) < 0)
		sample_die("ddsend");
}

/* Something worth doing while the requests travel; its result is checked. */
static uint64_t compute(uint64_t number)
{
	uint64_t i, sum = 0;

	for (i = 0; i <= number % 1000; i++)
		sum += i;
	return sum;
}

static void collect(const struct sample_options *o, struct channel *c,
		    noteid_t noteid, uint64_t number)
{
	ddrecv_desc_t d;

	if (ddrecv(noteid, &d, o->sleep ? RECV_SLEEP : RECV_SPIN, 0) < 0)
		sample_die("ddrecv");
	if (d.connid != c->connid)
		c++;
	if (d.connid != c->connid || c->answered ||
	    (size_t)d.msgsize != o->size ||
	    !sample_check(d.msgaddr, o->size, number, c->reversed)) {
		tool_warn("reply %llu is wrong (connection %d, %d bytes)",
			  (unsigned long long)number, d.connid, d.msgsize);
		exit(TOOL_FAILED);
	}
	c->answered = true;
}

static void exchange(const struct sample_options *o, struct channel *c,
		     noteid_t noteid, uint64_t number)
{
	uint64_t n = number % 1000;

	request(o, &c[0], number);
	request(o, &c[1], number);
	if (compute(number) != n * (n + 1) / 2) {
		tool_warn("the computation was disturbed");
		exit(TOOL_FAILED);
	}
	collect(o, c, noteid, number);
	collect(o, c, noteid, number);
}

int main(int argc, char **argv)
{
	struct sample_options o = {
		.node = -1,
		.name = "echo",
		.name2 = "reverse",
		.count = 1,
		.size = 128,
	};
	struct channel c[2] = { { .reversed = false }, { .reversed = true } };
	noteid_t noteid = 0;
	uint64_t i;

	sample_parse(&o, SAMPLE_CLIENT,
		     "Has requests with two services at a time and checks the replies.",
		     argc, argv);
	if (o.node < 0)
		o.node = ddmynode();
	open_channel(&o, &c[0], o.name, CONN_NOOPTS, &noteid);
	open_channel(&o, &c[1], o.name2, CONN_NOTELIST, &noteid);
	for (i = 0; i < o.count; i++)
		exchange(&o, c, noteid, i);
	if (!o.quiet)
		printf("%llu request%s of %zu byte%s to each of '%s' and '%s', all replies correct\n",
		       (unsigned long long)o.count, tool_s(o.count), o.size,
		       tool_s(o.size), o.name, o.name2);
	if (ddclose(c[0].connid) < 0 || ddclose(c[1].connid) < 0)
		sample_die("ddclose");
	return 0;
}
