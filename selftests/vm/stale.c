// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mapping that one processor removes is gone on the other one when the system call
 * returns; without dd. Processors keep mappings in a buffer of their own, and those of
 * User-Mode Linux are processes of the host. Prints TAP; needs two processors.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	200
#define PAGE	4096
#define GONE	0
#define STORED	1

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		printf("1..0 # SKIP this needs two processors\n");
		exit(0);
	}
}

static void *shared_page(int fd)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static int status_of(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		abort();
	return WEXITSTATUS(status);
}

static sigjmp_buf fault;

static void on_fault(int sig)
{
	siglongjmp(fault, sig);
}

/* Stores to a page of @fd all the time, and once more after it has been removed. */
static int store_on(int fd, _Atomic int *ready, const _Atomic int *removed)
{
	volatile int *page = shared_page(fd);

	on_cpu(1);
	signal(SIGBUS, on_fault);
	if (sigsetjmp(fault, 1))
		return GONE;
	*page = 1;
	*ready = 1;
	while (!*removed)
		++*page;
	*page = 2;
	return STORED;
}

static int truncate_once(_Atomic int *words)
{
	int fd = memfd_create("stale", 0), status;
	pid_t pid;

	words[0] = words[1] = 0;
	if (ftruncate(fd, PAGE))
		abort();
	pid = fork();
	if (!pid)
		_exit(store_on(fd, &words[0], &words[1]));
	while (!words[0])
		;
	if (ftruncate(fd, 0))
		abort();
	words[1] = 1;
	status = status_of(pid);
	close(fd);
	return status;
}

static volatile unsigned long counted;
static _Atomic int stop;

static void *count(void *unused)
{
	on_cpu(1);
	while (!stop)
		counted++;
	return unused;
}

/* Whether the copy of a child changes. */
static int fork_once(void)
{
	const struct timespec moment = { .tv_nsec = 300000 };
	pid_t pid = fork();

	if (!pid) {
		unsigned long copy = counted;

		nanosleep(&moment, NULL);
		_exit(counted != copy);
	}
	return status_of(pid);
}

static int failures;

static void result(int number, const char *name, int bad)
{
	failures += !!bad;
	if (bad)
		printf("# %d of %d times\n", bad, ROUNDS);
	printf("%sok %d %s\n", bad ? "not " : "", number, name);
}

int main(void)
{
	_Atomic int *words = shared_page(-1);
	pthread_t thread;
	int i, bad = 0;

	on_cpu(1);
	on_cpu(0);
	setbuf(stdout, NULL);
	for (i = 0; i < ROUNDS; i++)
		bad += truncate_once(words);
	result(1, "no store reaches a page after it has been removed", bad);

	if (pthread_create(&thread, NULL, count, NULL))
		abort();
	for (i = bad = 0; i < ROUNDS; i++)
		bad += fork_once();
	stop = 1;
	pthread_join(thread, NULL);
	result(2, "no store of a thread changes the copy of a child", bad);
	printf("1..2\n");
	return failures;
}
