// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_errors.c - what the library makes of the kernel's errors, and of signals
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <linux/dd_ddp.h>

#include "echo.h"
#include "faulty.h"
#include "peer.h"
#include "tap.h"

TEST(open_errors)
{
	static const struct {
		int kernel, library;
	} cases[] = {
		{ ENOENT, -ENOCMP }, { ENXIO, -ENOCMP }, { ENODEV, -ENOCMP },
		{ EACCES, -EACCES }, { EMFILE, -ENORESOURCE },
	};
	struct dd *none;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		faulty.absent = cases[i].kernel;
		check_eq(dd_open(&none), cases[i].library);
	}
	faulty.absent = 0;
	faulty.refuse = DD_IOC_INFO;
	faulty.refusal = ENOTTY;
	check_eq(dd_open(&none), -ENOCMP);
	check_eq(dd_open(NULL), -EINVAL);
}

/* Each number of dd_errno.h has a text, and one of the system; those of the system stay. */
TEST(texts_and_numbers_of_the_system)
{
	int n;

	for (n = EBADID; n <= EMEMLOCK; n++) {
		check(strcmp(dd_strerror(n), "unknown error") != 0);
		check(dd_strerror(n) == dd_strerror(-n));
		check(dd_errno(n) > 0 && dd_errno(n) < 256);
		check(strerrorname_np(dd_errno(n)));
	}
	check(!strcmp(dd_strerror(n), "unknown error"));
	check(!strcmp(dd_strerror(INT_MIN), "unknown error"));
	check(!strcmp(dd_strerror(EINVAL), strerror(EINVAL)));
	for (n = 1; n < 256; n++)
		check_eq(dd_errno(n), n);
}

/* ENORESOURCE, ENOCMP and EBADSERVER have several causes. */
TEST(causes)
{
	static const struct {
		int kernel, library;
		const char *text;
	} cases[] = {
		{ ECONNREFUSED, EBADSERVER, "node %d has no service 'echo': 'ddctl service' there lists those it has" },
		{ ENONET, EBADSERVER, "node %d is no peer of this one, node %d: see 'ddctl peer'" },
		{ EHOSTUNREACH, EBADSERVER, "node %d does not answer: 'ddctl peer show %d' may say why" },
		{ EPROTONOSUPPORT, EPROTO, "node %d and this node have no protocol version in common: install the same release of dd on both" },
		{ EPROTO, EPROTO, "node %d has refused the session, or sent an invalid answer: 'ddctl peer show %d' may say why" },
		{ EUSERS, ENORESOURCE, "service 'echo' on node %d has no free block for this user: each has a client, unread messages, or another user's requests without an answer; wait until a client closes or the server answers" },
		{ ENOMEM, ENORESOURCE, "the kernel is out of memory, or this process' memory cgroup is at its limit" },
		{ ENOSPC, ENORESOURCE, "a process has used up its area of 256 MiB, its ids, or the slots of a note list: close connections, or use more note lists" },
		{ EMFILE, ENORESOURCE, "too many open files: raise RLIMIT_NOFILE ('ulimit -n'), or fs.file-max" },
		{ ENETDOWN, ENOCMP, "node %d, this one, is down: 'ddctl node up' starts it" },
	};
	char want[256], text[256];

	setup(DD_TYPE_STREAM);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		faulty.refuse = DD_IOC_CONNECT;
		faulty.refusal = cases[i].kernel;
		check_eq(client("echo", DD_TYPE_STREAM, &clist), -cases[i].library);
		dd_last_error(h, text, sizeof(text));
		snprintf(want, sizeof(want), cases[i].text, dd_node(h), dd_node(h));
		check(!strcmp(text, want));
	}
	teardown();
}

TEST(connecting_within_a_time)
{
	struct dd_connect_attr ca = {
		.size = sizeof(ca), .flags = DD_ATTR_TIMEOUT, .type = DD_TYPE_SPLIT,
		.timeout = 1000 * MS, .recv_size = 8,
	};
	char text[256];

	setup(DD_TYPE_STREAM);
	ca.recv = alloc(PAGE);
	faulty.interrupts = 2;
	check(dd_connect(h, "echo", dd_node(h), &ca, NULL) > 0);
	/* The first call has waited, until a signal came. */
	faulty.interrupts = 1;
	faulty.refuse = DD_IOC_CONNECT;
	faulty.refusal = EAGAIN;
	check_eq(dd_connect(h, "echo", dd_node(h), &ca, NULL), -ETIMEDOUT);
	dd_last_error(h, text, sizeof(text));
	check(strstr(text, "has not answered in time: 'ddctl peer show"));
	ca.timeout = 0;
	faulty.refuse = DD_IOC_CONNECT;
	check_eq(dd_connect(h, "echo", dd_node(h), &ca, NULL), -EAGAIN);
	/* The structure of a program that was built before @timeout existed. */
	ca.size = offsetof(struct dd_connect_attr, timeout);
	check_eq(dd_connect(h, "echo", dd_node(h), &ca, NULL), -EINVAL);
	teardown();
	setup(DD_TYPE_STREAM);
	ca.flags = 0;
	ca.recv = alloc(PAGE);
	check(dd_connect(h, "echo", dd_node(h), &ca, NULL) > 0);
	teardown();
}

TEST(error_numbers)
{
	static const struct {
		int kernel, library;
	} cases[] = {
		{ ENOENT, EBADID }, { ESTALE, EBADID }, { ENXIO, EBADID },
		{ ECONNRESET, ECONNCLOSE }, { ENETDOWN, ENOCMP },
		{ ENOMEM, ENORESOURCE }, { ENOSPC, ENORESOURCE },
		{ EDQUOT, EMEMLOCK }, { ERANGE, EBADRANGE },
		{ EBUSY, ENOTREADY }, { EFAULT, EFAULT }, { EINVAL, EINVAL },
	};

	setup_direct(DD_TYPE_STREAM, false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		faulty.refuse = DD_IOC_DOORBELL;
		faulty.refusal = cases[i].kernel;
		check_eq(request("x"), -cases[i].library);
	}
	/* A refused request is not counted: the next one is the first. */
	check_eq(request("x"), 0);
	teardown();
}

TEST(interrupted_calls_continue)
{
	struct dd_msg msg;

	setup_direct(DD_TYPE_STREAM, false);
	faulty.interrupts = 3;
	check_eq(request("1"), 0);
	check_eq(take(&msg), 0);
	faulty.interrupts = 3;
	check_eq(dd_recv(h, list, &msg, DD_RECV_SLEEP, 5 * MS), -ETIMEDOUT);
	faulty.interrupts = 1;
	check_eq(dd_recv(h, list, &msg, DD_RECV_INTR, -1), -EINTR);
	faulty.interrupts = 3;
	check_eq(dd_poll(h, &list, 1, 5 * MS), 0);
	faulty.interrupts = 0;
	teardown();
}

/* A signal does not end the call. */
TEST(several_are_interrupted)
{
	struct dd_msg msg;
	int error;

	setup_direct(DD_TYPE_STREAM, false);
	check_eq(send_some(1, &error), 1);
	check_eq(take(&msg), 0);
	faulty.interrupts = 2;
	faulty.cut = 1;
	check_eq(send_some(2, &error), 2);
	check_eq(error, 0);
	check_eq(faulty.cut, 0);
	check_eq(take(&msg), 0);
	check_eq(take(&msg), 0);
	check_eq(msg.msgid, 3);
	faulty.refuse = DD_IOC_SUBMIT;
	faulty.refusal = ENETDOWN;
	check_eq(send_some(2, &error), 0);
	check_eq(error, -ENOCMP);
	check_eq(send_some(2, &error), 2);
	teardown();
}

/* dderror() adds the reason to the error that it explains, and to no other. */
TEST(reasons_of_dderror)
{
	address_t mem;
	noteid_t id = 0;
	connid_t c;

	faulty.absent = ENOENT;
	check(!ddalloc(1));
	check(strstr(said(ENOCMP), "modprobe dd") != NULL);
	faulty.absent = EMFILE;
	check(!ddalloc(1));
	check(strstr(said(ENORESOURCE), "RLIMIT_NOFILE") != NULL);
	faulty.absent = 0;
	mem = ddalloc(2 * PAGE);
	check_eq(ddconn("not served", ddmynode(), TYPE_SPLIT, 0, mem, 8, mem + PAGE, 8, &c,
			&id), -1);
	check_eq(errno, EBADSERVER);
	check(!strcmp(said(EINVAL), "call 7: Invalid argument\n"));
	check(strstr(said(EBADSERVER), "call 7: no such service, or no way to its node (node ") != NULL);
	check(strstr(said(EBADSERVER), "has no service 'not served': 'ddctl service' there") != NULL);
	check(!strcmp(said(9999), "call 7: unknown error\n"));
	check_eq(ddfree(mem), 0);
}

/* The counts of conninfo_t are ints: 31 bits of a count are not negative. */
TEST(counts_modulo_2_31)
{
	conninfo_t info;
	address_t mem = ddalloc(3 * PAGE);
	noteid_t list = 0, clist = 0;
	servid_t service;
	connid_t c;

	check_eq(ddserve("counts", SERVE_NODIRECT, 1, mem, PAGE, NULL, 0, &list, &service), 0);
	check_eq(ddconn("counts", ddmynode(), TYPE_SSTREAM, CONN_NOOPTS, mem + PAGE, PAGE,
			mem + 2 * PAGE, PAGE, &c, &clist), 0);
	for (int bits = 31; bits < 33; bits++)
		for (int k = -1; k < 2; k++) {
			faulty.received = (1ull << bits) + k;
			check_eq(ddconninfo(c, &info), 0);
			check_eq(info.msgid_recv, k < 0 ? INT_MAX : k);
		}
	faulty.received = 0;
	check_eq(ddunserve(service), 0);
	check_eq(ddclose(c), 0);
}
