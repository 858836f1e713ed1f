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

static st_chandle_t idle, listener;

/* Handles of the parent are none, and its own ones are new. */
static int child(const char *service)
{
	st_header_t h = header(ST_OP_NOP), r;
	st_chandle_t own;
	st_mhandle_t m;
	int n, error;

	alarm(60);
	check_eq(st_getopt(idle, ST_OPT_BUFSIZE_LOCAL, &n), EBADF);
	check_eq(st_tx(&c, &h, NULL, 0, 0, 0), EBADF);
	check_eq(st_rx(&c, &r, NULL, NULL), EBADF);
	check_eq(st_close(c), EBADF);
	check_eq(st_delete(c), EBADF);
	for (int i = 0; i < CONNECTIONS && !test_failed; i++) {
		OK(st_create(&own));
		check(own != idle && own != c);
		do {
			error = st_connect(own, NULL, service);
		} while (error == ECONNREFUSED);
		OK(error);
		OK(st_map(&own, ST_PIN_RX, mem, PAGE, 0, 1, &m, &n));
		OK(st_tx(&own, &h, NULL, 0, 0, 0));
		OK(st_rx(&own, &r, NULL, NULL));
		check_eq(r.op, ST_OP_END);
		OK(st_delete(own));
	}
	return test_failed;
}

/* Answer the child. */
static void serve(const char *service)
{
	st_header_t end = header(ST_OP_END), r;

	for (int i = 0; i < CONNECTIONS && !test_failed; i++) {
		OK(st_accept(listener));
		OK(rx(listener, &r, NULL, 60000));
		OK(st_tx(&listener, &end, NULL, 0, 0, 0));
		check_eq(rx(listener, &r, NULL, 60000), ECONNRESET);
		OK(st_close(listener));
		OK(st_listen(listener, NULL, service));
	}
}

TEST(ST_3_a_child_has_handles_of_its_own)
{
	st_header_t h = header(ST_OP_NOP), fetch = header(ST_OP_GET), r;
	int status = -1, mx, own_mx;
	st_mhandle_t m[2];
	const char *service;
	pid_t pid;

	pair_new(NULL);
	service = own_service();
	OK(o_map(0, ST_PIN_RX | ST_PIN_TX, 0, PAGE, 0, &mx));
	OK(st_map(&c, ST_PIN_RX, mem, PAGE, 3, 1, &m[0], &own_mx));
	OK(st_map(&c, ST_PIN_TX, mem + PAGE, PAGE, 5, 1, &m[1], NULL));
	/* An unread answer. */
	fetch.mx = mx;
	OK(st_tx(&c, &fetch, NULL, 8, 3, 0));
	OK(st_create(&idle));
	OK(st_create(&listener));
	OK(st_listen(listener, NULL, service));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = child(service);
		fflush(stdout);
		_exit(status);
	}
	serve(service);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	OK(st_delete(listener));
	OK(st_delete(idle));
	/* The parent's connection goes on. */
	OK(rx(c, &r, NULL, 60000));
	check_eq(r.op, ST_OP_DATA);
	nop_arrives();
	OK(o_tx(0, &h, NULL, 0, 0, 0));
	OK(rx(c, &r, NULL, 60000));
	OK(st_unmap(&m[0]));
	OK(st_unmap(&m[1]));
	pair_end();
}
