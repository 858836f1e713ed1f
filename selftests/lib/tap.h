/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * tap.h - tests that say what they found, in the Test Anything Protocol
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_TESTS_TAP_H
#define _DD_TESTS_TAP_H

#include <stdbool.h>
#include <stdio.h>

struct test {
	const char *name;
	void (*run)(void);
};

/* Set by a failed check; a test goes on after it. */
extern bool test_failed;

#define check(condition) \
	test_check((condition), #condition, __FILE__, __LINE__)
#define check_eq(a, b) \
	test_check_eq((long long)(a), (long long)(b), #a " == " #b, \
		      __FILE__, __LINE__)

void test_check(bool good, const char *what, const char *file, int line);
void test_check_eq(long long a, long long b, const char *what,
		   const char *file, int line);
int test_run(const struct test *tests, size_t count);

#define TEST(function)	{ #function, function }

#endif /* _DD_TESTS_TAP_H */
