// SPDX-License-Identifier: LGPL-2.1-only
/*
 * st_fork.c - ST: children of a process that has connections, maps and unread headers
 *
 * Run on one node.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

#define CONNECTIONS	3

enum bad {
	BAD_IDLE = 1,
	BAD_LIVE = 2,
	BAD_NEW = 4,
	BAD_CONNECT = 8,
	BAD_MAP = 16,
	BAD_HEADER = 32,
	BAD_DELETE = 64,
};

/* Handles of the parent are none. */
static int parents(st_chandle_t idle, st_chandle_t live)
{
	st_header_t h = header(ST_OP_NOP), r;
	int n, bad = 0;

	if (st_getopt(idle, ST_OPT_BUFSIZE_LOCAL, &n) != EBADF || st_delete(idle) != EBADF)
		bad |= BAD_IDLE;
	if (st_tx(&live, &h, NULL, 0, 0, 0) != EBADF || st_close(live) != EBADF ||
	    st_rx(&live, &r, NULL, NULL) != EBADF || st_delete(live) != EBADF)
		bad |= BAD_LIVE;
	return bad;
}

/* Its own ones are new. */
static int own(st_chandle_t idle, st_chandle_t live, const char *service)
{
	st_header_t h = header(ST_OP_NOP), r;
	st_chandle_t c;
	st_mhandle_t m;
	int bad = 0, mx, error;

	if (st_create(&c) || c == idle || c == live)
		return BAD_NEW;
	do {
		error = st_connect(c, NULL, service);
	} while (error == ECONNREFUSED);
	if (error)
		return BAD_CONNECT;
	if (st_map(&c, ST_PIN_RX, mem, PAGE, 0, 1, &m, &mx))
		bad |= BAD_MAP;
	if (st_tx(&c, &h, NULL, 0, 0, 0) || st_rx(&c, &r, NULL, NULL) || r.op != ST_OP_END)
		bad |= BAD_HEADER;
	if (st_delete(c))
		bad |= BAD_DELETE;
	return bad;
}

static int in_a_child(st_chandle_t idle, st_chandle_t live, const char *service)
{
	int bad = parents(idle, live);

	for (int i = 0; i < CONNECTIONS && !bad; i++)
		bad = own(idle, live, service);
	return bad;
}

static void nothing(int sig)
{
}

/* Answer the child, which may have failed. */
static void serve(st_chandle_t l, const char *service)
{
	const struct sigaction act = { .sa_handler = nothing };
	st_header_t end = header(ST_OP_END), r;
	struct sigaction old;

	sigaction(SIGALRM, &act, &old);
	alarm(60);
	for (int i = 0; i < CONNECTIONS && !test_failed; i++) {
		OK(st_accept(l));
		OK(rx(l, &r, NULL, 60000));
		OK(st_tx(&l, &end, NULL, 0, 0, 0));
		check_eq(rx(l, &r, NULL, 60000), ECONNRESET);
		OK(st_close(l));
		OK(st_listen(l, NULL, service));
	}
	alarm(0);
	sigaction(SIGALRM, &old, NULL);
}

TEST(ST_3_a_child_has_handles_of_its_own)
{
	st_header_t h = header(ST_OP_NOP), fetch = header(ST_OP_GET), r;
	st_chandle_t idle, live, l;
	int status = -1, mx, own_mx;
	st_mhandle_t m[2];
	char service[16];
	pid_t pid;

	snprintf(service, sizeof(service), "%d", own_port());
	live = joined(0);
	OK(o_map(0, ST_PIN_RX | ST_PIN_TX, 0, PAGE, 0, &mx));
	OK(st_map(&live, ST_PIN_RX, mem, PAGE, 3, 1, &m[0], &own_mx));
	OK(st_map(&live, ST_PIN_TX, mem + PAGE, PAGE, 5, 1, &m[1], NULL));
	/* An unread answer. */
	fetch.mx = mx;
	OK(st_tx(&live, &fetch, NULL, 8, 3, 0));
	OK(st_create(&idle));
	OK(st_create(&l));
	OK(st_listen(l, NULL, service));
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(in_a_child(idle, live, service));
	serve(l, service);
	if (test_failed)
		kill(pid, SIGKILL);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	OK(st_delete(l));
	OK(st_delete(idle));
	/* The parent's connection goes on. */
	OK(rx(live, &r, NULL, 60000));
	check_eq(r.op, ST_OP_DATA);
	OK(st_tx(&live, &h, NULL, 0, 0, 0));
	OK(o_rx(0, &r, NULL, -1));
	OK(o_tx(0, &h, NULL, 0, 0, 0));
	OK(rx(live, &r, NULL, 60000));
	OK(st_unmap(&m[0]));
	OK(st_unmap(&m[1]));
	OK(st_delete(live));
	OK(o_delete(0));
}
