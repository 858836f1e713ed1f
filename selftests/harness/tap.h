/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * tap.h - tests that print what they found, in the Test Anything Protocol
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_TESTS_TAP_H
#define _DD_TESTS_TAP_H

#include <stdbool.h>

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

/* The current test has a failed check. */
extern bool test_failed;

void test_add(struct test *test);
void test_check(bool good, const char *what, const char *file, int line);
void test_check_eq(long long a, long long b, const char *what, const char *file, int line);

/* The test continues after a failed check. */
#define check(condition)	test_check((condition), #condition, __FILE__, __LINE__)
#define check_eq(a, b)							\
	test_check_eq((long long)(a), (long long)(b), #a " == " #b, __FILE__, __LINE__)

/*
 * Run a function in a child: 0 if it returns 0 and no check has failed in it, else its result, or
 * -1 if a signal has ended it.
 */
int in_child(int (*run)(const void *arg), const void *arg);

/* Define a test; its body follows. Tests run in the order of the file. */
#define TEST(id)							\
	static void id(void);						\
	static void __attribute__((constructor)) test_add_##id(void)	\
	{								\
		static struct test test = { #id, id, NULL };		\
		test_add(&test);					\
	}								\
	static void id(void)

#endif /* _DD_TESTS_TAP_H */
