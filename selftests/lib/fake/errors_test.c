// SPDX-License-Identifier: LGPL-2.1-only
/*
 * errors_test.c - errors that a real kernel does not return at will
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/dd_ddp.h>

#include "dd.h"
#include "echo.h"
#include "fake.h"
#include "fedex.h"
#include "tap.h"

static void open_errors(void)
{
	static const struct {
		int kernel, library;
	} cases[] = {
		{ ENOENT, -ENOCMP }, { ENXIO, -ENOCMP }, { ENODEV, -ENOCMP },
		{ EACCES, -EACCES }, { EMFILE, -ENORESOURCE },
	};
	struct dd *none;

	fake_reset();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fake.absent = cases[i].kernel;
		check_eq(dd_open(&none), cases[i].library);
	}
	fake.absent = 0;
	check_eq(dd_open(NULL), -EINVAL);
}

/* Connect to @name, and compare the reason of the failure. */
static int refused(const char *name, const char *words)
{
	struct dd_connect_attr ca = { .size = sizeof(ca), .type = 1 };
	char text[256];
	int ret;

	ca.send = ca.recv = alloc(PAGE);
	ca.send_size = ca.recv_size = 8;
	ret = dd_connect(h, name, 1, &ca, NULL);
	dd_last_error(h, text, sizeof(text));
	check(!strcmp(text, words));
	return ret;
}

static void nodes_that_cannot_be_reached(void)
{
	fake_reset();
	setup(DD_TYPE_STREAM);
	check_eq(refused("none", "node 1 has no service 'none': 'ddctl service' there lists those it has"),
		 -EBADSERVER);
	check_eq(refused("errno 64", "node 1 is no peer of this one, node 1: see 'ddctl peer'"),
		 -EBADSERVER);
	check_eq(refused("errno 113", "node 1 does not answer: 'ddctl peer show 1' may say why"),
		 -EBADSERVER);
	check_eq(refused("errno 93", "node 1 speaks no version of the protocol that this one speaks"),
		 -EPROTO);
	check_eq(refused("errno 71", "node 1 and this one do not understand each other: 'ddctl peer show 1' may say why"),
		 -EPROTO);
	fake.interrupts = 0;
	teardown();
}

static void connecting_within_a_time(void)
{
	struct dd_connect_attr ca = {
		.size = sizeof(ca), .flags = DD_ATTR_TIMEOUT, .type = 2,
		.timeout = 1000 * MS,
	};

	fake_reset();
	setup(DD_TYPE_STREAM);
	ca.recv = alloc(PAGE);
	ca.recv_size = 8;
	fake.interrupts = 2;
	check(dd_connect(h, "echo", 1, &ca, NULL) > 0);
	check_eq(dd_connect(h, "errno 110", 1, &ca, NULL), -ETIMEDOUT);
	/* It has waited, until a signal came. */
	check_eq(dd_connect(h, "errno 11", 1, &ca, NULL), -ETIMEDOUT);
	ca.timeout = 0;
	check_eq(dd_connect(h, "errno 11", 1, &ca, NULL), -EAGAIN);
	/* The structure of a program that was built before @timeout existed. */
	ca.size = offsetof(struct dd_connect_attr, timeout);
	check_eq(dd_connect(h, "echo", 1, &ca, NULL), -EINVAL);
	ca.flags = 0;
	check(dd_connect(h, "echo", 1, &ca, NULL) > 0);
	fake.interrupts = 0;
	teardown();
}

/* ENORESOURCE and ENOCMP have several causes. */
static void causes(void)
{
	fake_reset();
	setup(DD_TYPE_STREAM);
	check_eq(refused("errno 87", "service 'errno 87' on node 1 has no block for this user: each has a connection, or messages unread, or another user's requests without a reply; one has to close, or the server to go on"),
		 -ENORESOURCE);
	check_eq(refused("errno 12", "the kernel is out of memory, or this process' memory cgroup is at its limit"),
		 -ENORESOURCE);
	check_eq(refused("errno 28", "a process has used up its area of 256 MiB, its ids, or the slots of a note list: close connections, or use more note lists"),
		 -ENORESOURCE);
	check_eq(refused("errno 24", "too many open files: raise RLIMIT_NOFILE ('ulimit -n'), or fs.file-max"),
		 -ENORESOURCE);
	check_eq(refused("errno 100", "node 1, this one, is down: 'ddctl node up' starts it"),
		 -ENOCMP);
	fake.interrupts = 0;
	teardown();
}

static void error_numbers(void)
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

	fake_reset();
	setup_doorbell(DD_TYPE_STREAM);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fake.refuse = DD_IOC_DOORBELL;
		fake.refusal = cases[i].kernel;
		check_eq(request("x"), -cases[i].library);
	}
	/* A refused request is not counted: the next one is the first. */
	check_eq(request("x"), 0);
	fake.interrupts = 0;
	teardown();
}

static void interrupted_calls_go_on(void)
{
	struct dd_msg msg;

	fake_reset();
	setup(DD_TYPE_STREAM);
	fake.interrupts = 3;
	check_eq(request("1"), 0);
	check_eq(take(&msg), 0);
	fake.interrupts = 3;
	check_eq(dd_recv(h, list, &msg, DD_RECV_SLEEP, 5 * MS), -ETIMEDOUT);
	fake.interrupts = 1;
	check_eq(dd_recv(h, list, &msg, DD_RECV_INTR, -1), -EINTR);
	check_eq(dd_recv(h, list, &msg, 4, 0), -EINVAL);
	fake.interrupts = 3;
	check_eq(dd_poll(h, &list, 1, 5 * MS), 0);
	fake.interrupts = 0;
	teardown();
}

/* A signal does not end the call. */
static void several_are_interrupted(void)
{
	struct dd_msg msg;
	int error;

	fake_reset();
	setup_direct(DD_TYPE_STREAM, false);
	check_eq(send_some(1, &error), 1);
	check_eq(take(&msg), 0);
	fake.interrupts = 2;
	fake.cut = 1;
	check_eq(send_some(2, &error), 2);
	check_eq(error, 0);
	check_eq(fake.cut, 0);
	check_eq(take(&msg), 0);
	check_eq(take(&msg), 0);
	check_eq(msg.msgid, 3);
	fake.refuse = DD_IOC_SUBMIT;
	fake.refusal = ENETDOWN;
	check_eq(send_some(2, &error), 0);
	check_eq(error, -ENOCMP);
	check_eq(send_some(2, &error), 2);
	fake.interrupts = 0;
	teardown();
}

#define fails(call, error) \
	(errno = 0, check_eq((call), -1), check_eq(errno, (error)))

/* Call dderror() with standard error in a file. Returns what it has written. */
static const char *said(int error, const char *prefix)
{
	static char text[256];
	int saved = dup(2), fd = memfd_create("stderr", 0);
	ssize_t n;

	dup2(fd, 2);
	errno = error;
	dderror("%s %d", prefix, 7);
	check_eq(errno, error);
	dup2(saved, 2);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	close(fd);
	close(saved);
	return text;
}

static void error_messages(void)
{
	address_t req, rep;
	noteid_t id = 0;
	connid_t c;

	fake_reset();
	fake.absent = ENOENT;
	check(strstr(said(ENOCMP, "call"), "modprobe dd") != NULL);
	fake.absent = 0;
	req = ddalloc(PAGE);
	rep = ddalloc(PAGE);
	fails(ddconn("none", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &c, &id),
	      EBADSERVER);
	check(!strcmp(said(EINVAL, "call"), "call 7: Invalid argument\n"));
	check(!strcmp(said(EBADSERVER, "call"),
		      "call 7: no such service, or no way to its node (node 1 has no service 'none': 'ddctl service' there lists those it has)\n"));
	fails(ddconn("errno 93", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &c, &id),
	      EBADSERVER);
	check(!strcmp(said(EBADSERVER, "call"),
		      "call 7: no such service, or no way to its node (node 1 speaks no version of the protocol that this one speaks)\n"));
	fails(ddconn("errno 24", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &c, &id),
	      ENORESOURCE);
	check(strstr(said(ENORESOURCE, "call"), "ulimit -n") != NULL);
	fails(ddconn("errno 87", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &c, &id),
	      ENORESOURCE);
	check(strstr(said(ENORESOURCE, "call"), "has no block") != NULL);
	fails(ddconn("errno 100", 1, TYPE_SPLIT, 0, req, 8, rep, 8, &c, &id),
	      ENOCMP);
	check(strstr(said(ENOCMP, "call"), "ddctl node up") != NULL);
	check(strstr(said(EMEMLOCK, "call"), "the limit is") != NULL);
	check(!strcmp(said(9999, "call"), "call 7: unknown error\n"));
}

/* The counts of conninfo_t are ints. */
/* An int holds 31 bits of a count that is not negative. */
static void counts_modulo_2_31(void)
{
	address_t mem = ddalloc(PAGE), to = ddalloc(PAGE), from = ddalloc(PAGE);
	noteid_t list = 0, clist = 0;
	ddrecv_desc_t desc;
	conninfo_t info;
	servid_t service;
	connid_t c;

	check_eq(ddserve("m", SERVE_NODIRECT, 1, mem, PAGE, NULL, 0, &list,
			 &service), 0);
	check_eq(ddconn("m", 1, TYPE_SSTREAM, CONN_NOOPTS, from, PAGE, to, PAGE,
			&c, &clist), 0);
	for (int i = 0; i < 2; i++) {
		fake_counted(c, (1ull << (31 + i)) - 2);
		for (int k = 0; k < 4; k++) {
			check_eq(ddsend(c, from, 8, 0, SEND_NOOPTS), 0);
			check_eq(ddrecv(list, &desc, RECV_NOBLOCK, 0), 0);
			check_eq(ddconninfo(c, &info), 0);
			check_eq(info.msgid_send, k ? k - 1 : INT_MAX);
			check_eq(ddconninfo(desc.connid, &info), 0);
			check_eq(info.msgid_recv, k ? k - 1 : INT_MAX);
		}
	}
	check_eq(ddunserve(service), 0);
	check_eq(ddclose(c), 0);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(open_errors),
		TEST(nodes_that_cannot_be_reached),
		TEST(connecting_within_a_time),
		TEST(causes),
		TEST(error_numbers),
		TEST(interrupted_calls_go_on),
		TEST(several_are_interrupted),
		TEST(error_messages),
		TEST(counts_modulo_2_31),
	};

	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
