// SPDX-License-Identifier: LGPL-2.1-only
/*
 * tap.c - running tests: all, or the one that the command line names
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static struct test *tests, **last = &tests;
static int count;
bool test_failed;

void test_add(struct test *test)
{
	*last = test;
	last = &test->next;
	count++;
}

void test_check(bool good, const char *what, const char *file, int line)
{
	if (good)
		return;
	printf("# %s:%d: not so: %s\n", file, line, what);
	test_failed = true;
}

void test_check_eq(long long a, long long b, const char *what, const char *file, int line)
{
	if (a == b)
		return;
	printf("# %s:%d: not so: %s (%lld, %lld)\n", file, line, what, a, b);
	test_failed = true;
}

int in_child(int (*run)(const void *arg), const void *arg)
{
	int status = -1, ret;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		test_failed = false;
		ret = run(arg);
		fflush(stdout);
		_exit(ret ? ret : test_failed);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
	int n = 0, bad = 0;

	printf("TAP version 13\n1..%d\n", argc > 1 ? 1 : count);
	for (const struct test *t = tests; t; t = t->next) {
		if (argc > 1 && strcmp(t->name, argv[1]))
			continue;
		test_failed = false;
		t->run();
		printf("%s %d %s\n", test_failed ? "not ok" : "ok", ++n, t->name);
		fflush(stdout);
		bad += test_failed;
	}
	return bad || !n;
}
