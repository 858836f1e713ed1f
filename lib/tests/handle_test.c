// SPDX-License-Identifier: LGPL-2.1-only
/*
 * handle_test.c - what a handle is opened for, and what is no message
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/dd.h>

#include "dd.h"
#include "echo.h"
#include "fake.h"
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

static void error_texts(void)
{
	for (int e = EBADID; e <= EMEMLOCK; e++) {
		check(strcmp(dd_strerror(e), "unknown error") != 0);
		check(dd_strerror(e) == dd_strerror(-e));
	}
	check(!strcmp(dd_strerror(EINVAL), strerror(EINVAL)));
	check(!strcmp(dd_strerror(1000), "unknown error"));
	check(!strcmp(dd_strerror(EMEMLOCK + 1), "unknown error"));
	check(dd_strerror(-2147483647 - 1) != NULL);
}

static void version(void)
{
	check(!strcmp(dd_version(), DD_VERSION));
}

static void bad_attributes(void)
{
	struct dd_connect_attr ca = { .size = sizeof(ca), .type = 1 };
	struct dd_serve_attr sa = { .size = sizeof(sa), .maxconn = 1 };
	char name[80], text[256];

	setup(DD_TYPE_STREAM);
	memset(name, 'n', sizeof(name));
	name[64] = 0;
	sa.recv = ca.recv = alloc(PAGE);
	sa.recv_size = ca.recv_size = PAGE;
	check_eq(dd_serve(h, name, &sa, NULL), -EINVAL);
	check_eq(dd_serve(h, "", &sa, NULL), -EINVAL);
	check_eq(dd_serve(h, NULL, &sa, NULL), -EINVAL);
	check_eq(dd_serve(h, "s", NULL, NULL), -EINVAL);
	sa.maxconn = 0;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.maxconn = 65537;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.maxconn = 1;
	sa.window = 257;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.window = 0;
	sa.flags = DD_ATTR_ANON;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.flags = 0;
	sa.recv_size = 0;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.recv_size = 2 * PAGE;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	dd_last_error(h, text, sizeof(text));
	check(strstr(text, "not inside one piece of memory of ddalloc") != NULL);
	sa.recv_size = 8;
	sa.recv = (char *)sa.recv + 8;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);
	sa.size--;
	check_eq(dd_serve(h, "s", &sa, NULL), -EINVAL);

	check_eq(dd_connect(h, "none", 1, &ca, NULL), -EBADSERVER);
	check_eq(dd_connect(h, "echo", 2, &ca, NULL), -EBADSERVER);
	check_eq(dd_connect(h, "echo", -1, &ca, NULL), -EBADSERVER);
	ca.type = 0;
	check_eq(dd_connect(h, "echo", 1, &ca, NULL), -EINVAL);
	ca.type = 4;
	check_eq(dd_connect(h, "echo", 1, &ca, NULL), -EINVAL);
	check_eq(dd_alloc(h, 0, (void **)&text), -EINVAL);
	check_eq(dd_alloc(h, 1ul << 40, (void **)&text), -EMEMLOCK);
	dd_last_error(h, text, sizeof(text));
	check(strstr(text, "RLIMIT_MEMLOCK") != NULL);
	check_eq(dd_free(h, name), -EINVAL);
	teardown();
}

/* What connecting to @name says, and in words. */
static int told(const char *name, const char *words)
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

static void nodes_that_cannot_be_talked_to(void)
{
	setup(DD_TYPE_STREAM);
	check_eq(told("none", "node 1 has no service 'none': 'ddctl service' there lists those it has"),
		 -EBADSERVER);
	check_eq(told("errno 64", "node 1 is no peer of this one, node 1: see 'ddctl peer'"),
		 -EBADSERVER);
	check_eq(told("errno 113", "node 1 does not answer: 'ddctl peer show 1' may say why"),
		 -EBADSERVER);
	check_eq(told("errno 93", "node 1 speaks no version of the protocol that this one speaks"),
		 -EPROTO);
	check_eq(told("errno 71", "node 1 and this one do not understand each other: 'ddctl peer show 1' may say why"),
		 -EPROTO);
	teardown();
}

static void connecting_within_a_time(void)
{
	struct dd_connect_attr ca = {
		.size = sizeof(ca), .flags = DD_ATTR_TIMEOUT, .type = 2,
		.timeout = 1000 * MS,
	};

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
	/* As a program has it that knows no timeout. */
	ca.size = offsetof(struct dd_connect_attr, timeout);
	check_eq(dd_connect(h, "echo", 1, &ca, NULL), -EINVAL);
	ca.flags = 0;
	check(dd_connect(h, "echo", 1, &ca, NULL) > 0);
	teardown();
}

/* ENORESOURCE and ENOCMP have several causes. */
static void causes(void)
{
	setup(DD_TYPE_STREAM);
	check_eq(told("errno 87", "service 'errno 87' on node 1 has no block for this user: each has a connection, or messages unread, or another user's requests without a reply; one has to close, or the server to go on"),
		 -ENORESOURCE);
	check_eq(told("errno 12", "the kernel is out of memory, or this process' memory cgroup is at its limit"),
		 -ENORESOURCE);
	check_eq(told("errno 28", "a process has used up its area of 256 MiB, its ids, or the slots of a note list: close connections, or use more note lists"),
		 -ENORESOURCE);
	check_eq(told("errno 24", "too many open files: raise RLIMIT_NOFILE ('ulimit -n'), or fs.file-max"),
		 -ENORESOURCE);
	check_eq(told("errno 100", "node 1, this one, is down: 'ddctl node up' starts it"),
		 -ENOCMP);
	teardown();
}

static void regions_by_address(void)
{
	char *r[20];

	setup(DD_TYPE_STREAM);
	for (int i = 0; i < 20; i++)
		r[i] = alloc(PAGE);
	for (int i = 0; i < 20; i += 2)
		check_eq(dd_free(h, r[i]), 0);
	for (int i = 0; i < 20; i++)
		check_eq(dd_free(h, r[i]), i % 2 ? 0 : -EINVAL);
	fake.refuse = DD_IOC_REGION_FREE;
	fake.refusal = EBUSY;
	check_eq(dd_free(h, csend), -EBUSY);
	check_eq(dd_free(h, csend), 0);
	teardown();
}

static int child_calls(void)
{
	struct dd_serve_attr sa = { .size = sizeof(sa) };
	struct dd_connect_attr ca = { .size = sizeof(ca) };
	struct dd_conn_desc desc;
	struct dd_msg msg;
	void *addr;
	char text[8];
	int bad = 0;

	bad += dd_fd(h) != -EBADID;
	bad += dd_alloc(h, 1, &addr) != -EBADID;
	bad += dd_free(h, csend) != -EBADID;
	bad += dd_serve(h, "s", &sa, NULL) != -EBADID;
	bad += dd_unserve(h, service) != -EBADID;
	bad += dd_connect(h, "s", 1, &ca, NULL) != -EBADID;
	bad += dd_close(h, conn) != -EBADID;
	bad += dd_send(h, conn, csend, 1, 0, 0, NULL, 0) != -EBADID;
	bad += dd_done(h, conn, 0, -1) != -EBADID;
	bad += dd_recv(h, list, &msg, 0, -1) != -EBADID;
	bad += dd_reply(h, &msg, csend, 1, 0, 0) != -EBADID;
	bad += dd_call(h, conn, NULL, 1, &msg, 0, -1) != -EBADID;
	bad += dd_conn_info(h, conn, &desc) != -EBADID;
	bad += dd_conn_list(h, service, NULL, 0) != -EBADID;
	bad += dd_poll(h, &list, 1, -1) != -EBADID;
	bad += dd_peek(h, list, &msg) != -EBADID;
	bad += dd_ready(h, list) != -EBADID;
	bad += dd_list_fd(h, list) != -EBADID;
	bad += dd_node(h) != -EBADID;
	bad += dd_max_nodes(h) != -EBADID;
	bad += dd_packet_size(h) != -EBADID;
	bad += dd_last_error(h, text, sizeof(text)) != -EBADID;
	bad += dd_shutdown(h) != -EBADID;
	return bad;
}

static void forked_child(void)
{
	struct dd_msg msg;
	int status;
	pid_t pid;

	setup(DD_TYPE_STREAM);
	pid = fork();
	if (!pid)
		_exit(child_calls());
	waitpid(pid, &status, 0);
	check_eq(status, 0);
	pid = vfork();
	if (!pid)
		_exit(0);
	waitpid(pid, &status, 0);
	/* The parent goes on as before. */
	check_eq(system("true"), 0);
	check_eq(request("x"), 0);
	check_eq(take(&msg), 0);
	check_eq(fcntl(dd_fd(h), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	teardown();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(open_errors),
		TEST(error_texts),
		TEST(version),
		TEST(bad_attributes),
		TEST(nodes_that_cannot_be_talked_to),
		TEST(causes),
		TEST(connecting_within_a_time),
		TEST(regions_by_address),
		TEST(forked_child),
	};

	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
