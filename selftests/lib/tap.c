// SPDX-License-Identifier: LGPL-2.1-only
/*
 * tap.c - running tests
 *
 * Copyright (C) 2026 The dd authors
 */
#include "tap.h"

bool test_failed;

void test_check(bool good, const char *what, const char *file, int line)
{
	if (good)
		return;
	printf("# %s:%d: not so: %s\n", file, line, what);
	test_failed = true;
}

void test_check_eq(long long a, long long b, const char *what,
		   const char *file, int line)
{
	if (a == b)
		return;
	printf("# %s:%d: not so: %s (%lld, %lld)\n", file, line, what, a, b);
	test_failed = true;
}

int test_run(const struct test *tests, size_t count)
{
	size_t failed = 0;

	printf("TAP version 13\n1..%zu\n", count);
	for (size_t i = 0; i < count; i++) {
		test_failed = false;
		tests[i].run();
		printf("%s %zu %s\n", test_failed ? "not ok" : "ok", i + 1,
		       tests[i].name);
		fflush(stdout);
		failed += test_failed;
	}
	return failed ? 1 : 0;
}
