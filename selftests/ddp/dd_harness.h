/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Additions to the kernel's kselftest_harness.h: repetitions and hang limits
 * that suit the machine, waits for a state, skips that name their test, and a
 * main() that takes a filter.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_HARNESS_H
#define DD_HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "kselftest_harness.h"
#include "users.h"

/*
 * Seconds for a test without a timeout of its own, a little less than a program
 * of a list may take in a guest. The harness' own 30 are too few on a busy machine.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 200

/*
 * How much slower than a stock kernel this one is: DD_SCALE, or 10 for a kernel
 * with fault injection, which is the debug kernel.
 */
static inline int dd_scale(void)
{
	const char *s = getenv("DD_SCALE");

	if (s && atoi(s) > 0)
		return atoi(s);
	return access("/proc/self/fail-nth", F_OK) ? 1 : 10;
}

/* End a test that User-Mode Linux cannot run; QEMU's guests run it. */
#define SKIP_ON_UM(reason) do {						\
	const char *__vm = getenv("DD_VM");				\
									\
	if (__vm && !strncmp(__vm, "um", 2))				\
		SKIP(return, "User-Mode Linux " reason);		\
} while (0)

/* The seed of a test's choices: DD_SEED, or the time. */
static inline unsigned int dd_seed(struct __test_metadata *_metadata)
{
	const char *s = getenv("DD_SEED");
	unsigned int seed = s ? strtoul(s, NULL, 0) : (unsigned int)time(NULL);

	TH_LOG("DD_SEED=%u", seed);
	return seed;
}

/* n repetitions on a stock kernel, fewer on a slow one, never none. */
static inline int dd_count(int n)
{
	n /= dd_scale();
	return n > 2 ? n : 2;
}

/* Hang limit, in ms, of a wait for a state. */
static inline int dd_patience(void)
{
	return 10000 * (dd_scale() > 4 ? 4 : dd_scale());
}

static inline double dd_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * True soon after @cond is; false if it is not within @ms. The naps become longer, up to
 * 8 ms, to leave the processor to what the caller waits for.
 */
#define WAIT_FOR_MS(cond, ms) ({					\
	double __end = dd_now() + (ms) / 1e3;				\
	useconds_t __nap = 250;						\
	bool __ok;							\
	while (!(__ok = !!(cond)) && dd_now() < __end) {		\
		usleep(__nap);						\
		__nap = __nap < 8000 ? 2 * __nap : __nap;		\
	}								\
	__ok; })
#define WAIT_FOR(cond)		WAIT_FOR_MS(cond, dd_patience())
#define ASSERT_SOON(cond)	ASSERT_TRUE(WAIT_FOR(cond))

/*
 * @call waits until its timeout of @ms. It never returns earlier, and it
 * returns before half as much again has passed. On a busy machine it may be
 * late: it is repeated until it is in time once.
 */
#define ASSERT_WAITS(ms, call) do {					\
	bool __in_time = WAIT_FOR(dd_waits(ms, call));			\
	ASSERT_TRUE(__in_time);						\
} while (0)
#define dd_waits(ms, call) ({						\
	double __took = dd_now();					\
	call;								\
	__took = dd_now() - __took;					\
	EXPECT_LE(((ms) - 1) / 1e3, __took);				\
	__took < (ms) * 1.5 / 1e3; })

#define EXPECT_ERR(err, call) do {					\
	errno = 0;							\
	EXPECT_EQ(-1, (long)(call)) {					\
		TH_LOG("%s succeeded", #call);				\
	}								\
	EXPECT_EQ(err, errno) {						\
		TH_LOG("%s: errno %d, expected %s", #call, errno, #err);	\
	}								\
} while (0)

#define ASSERT_OK(call) ASSERT_LE(0, (long)(call)) {			\
	TH_LOG("%s: errno %d", #call, errno);				\
}

/* The harness prints only the reason of a skip. */
#define DD_SKIP(fmt, ...)						\
	SKIP(return, "%s: " fmt, _metadata->name, ##__VA_ARGS__)

/* Like fork(), but the child is killed when the caller exits. */
static inline pid_t fork_child(void)
{
	pid_t parent = getpid(), pid;

	fflush(stdout);
	fflush(stderr);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(125);
	}
	return pid;
}

/* The wait status of a child that must exit by itself; -1 if it does not. */
static inline int wait_child(pid_t pid)
{
	int status = -1;

	/* A child may do all of a test, with several waits. */
	if (!WAIT_FOR_MS(waitpid(pid, &status, WNOHANG) == pid, 6 * dd_patience())) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return -1;
	}
	return status;
}

#define ASSERT_CHILD_OK(pid) do {					\
	int __status = wait_child(pid);					\
	ASSERT_NE(-1, __status) { TH_LOG("child did not end"); }	\
	ASSERT_TRUE(WIFEXITED(__status)) {				\
		TH_LOG("child killed by %d", WTERMSIG(__status));	\
	}								\
	ASSERT_EQ(0, WEXITSTATUS(__status));				\
} while (0)

/*
 * The block that follows runs in a child, which must exit by itself. A test need not
 * close what it has opened: it runs in a process of its own.
 */
#define IN_CHILD							\
	for (pid_t __pid = fork_child();				\
	     ({ if (__pid) ASSERT_CHILD_OK(__pid); !__pid; }); _exit(0))

/* For children, which have no ASSERT: exits with the line number. */
#define CHILD_CHECK(cond) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "# %s:%d: child: %s (errno %d)\n",	\
			__FILE__, __LINE__, #cond, errno);		\
		_exit(1);						\
	}								\
} while (0)

#define CHILD_ERR(err, call)	CHILD_CHECK((long)(call) == -1 && errno == (err))

/*
 * Like fork_child(), but returns in the caller when the child has written a byte to
 * @report; -1 if it ends before that.
 */
static inline pid_t fork_until_report(int *report)
{
	int fds[2];
	pid_t pid;
	char c;

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	pid = fork_child();
	*report = fds[1];
	if (!pid)
		return 0;
	close(fds[1]);
	if (read(fds[0], &c, 1) != 1)
		pid = -1;
	close(fds[0]);
	return pid;
}

static inline void child_report(int report)
{
	CHILD_CHECK(write(report, "", 1) == 1);
	close(report);
}

/* Reports, and stays until the caller kills it. */
static inline void __attribute__((noreturn)) child_report_and_stay(int report)
{
	child_report(report);
	for (;;)
		pause();
}

/* Zeroed memory that children share with the caller. */
static inline void *shared_memory(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

static inline void kill_child(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/* The number that a command prints; -1 if there is none. */
static inline __attribute__((format(printf, 1, 2)))
long long printed_number(const char *format, ...)
{
	unsigned long long n = -1;
	char *command;
	va_list args;
	FILE *f;

	va_start(args, format);
	if (vasprintf(&command, format, args) < 0)
		command = NULL;
	va_end(args);
	f = command ? popen(command, "r") : NULL;
	if (!f || fscanf(f, "%llu", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	free(command);
	return n;
}

/* The number at @key of the output of "ddctl stat", of 64 bits, which jq makes a double of. */
static inline long long node_count(const char *key)
{
	return printed_number("ddctl -j stat | sed -n 's/.*\"%s\":\\([0-9]*\\).*/\\1/p'", key);
}

/* A user of this process's own: no other test changes its charge. */
static inline uid_t lone_user(void)
{
	return 20000 + getpid() % 10000;
}

/* Makes the caller a user of its own with no limit of locked memory. No other test changes its charge. */
static inline int become_lone_user(void)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	return setrlimit(RLIMIT_MEMLOCK, &all) ?: become_user(lone_user());
}

/* Keep the tests whose names contain one of @parts, which end with NULL; all if there are none. */
static inline void dd_filter(char **parts)
{
	struct __fixture_metadata *f;
	struct __test_metadata *t, **link;
	char **part;

	for (f = __fixture_list; *parts && f; f = f->next)
		for (link = &f->tests; (t = *link);) {
			for (part = parts; *part && !strstr(t->name, *part); part++)
				;
			if (*part)
				link = &t->next;
			else
				*link = t->next;
		}
}

static inline void dd_set_timeouts(void)
{
	struct __fixture_metadata *f;
	struct __test_metadata *t;

	for (f = __fixture_list; f; f = f->next)
		for (t = f->tests; t; t = t->next)
			t->timeout *= dd_scale() > 8 ? 8 : dd_scale();
}

/* Arguments: parts of the names of tests, or none. */
static inline int dd_test_main(int argc, char **argv)
{
	dd_filter(argv + 1);
	dd_set_timeouts();
	return test_harness_run(argc, argv);
}

#define DD_TEST_MAIN							\
int main(int argc, char **argv)						\
{									\
	return dd_test_main(argc, argv);				\
}

#endif /* DD_HARNESS_H */
