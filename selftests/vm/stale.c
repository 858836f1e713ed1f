// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mapping that one processor removes is gone on the other one when the system call
 * returns; without dd. Processors keep mappings in a buffer of their own, and those of
 * User-Mode Linux are processes of the host. Prints TAP; needs two processors.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

#define ROUNDS	200
#define PAGE	4096

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check_eq(sched_setaffinity(0, sizeof(set), &set), 0);
}

static volatile int *shared_page(int fd)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
}

/* A child stores to a page of a file until it has been removed, and once more. */
static void store_and_truncate(_Atomic int *ready, _Atomic int *removed)
{
	int fd = memfd_create("stale", 0), status = 0;
	pid_t pid;

	*ready = *removed = 0;
	check_eq(ftruncate(fd, PAGE), 0);
	pid = fork();
	if (!pid) {
		volatile int *page = shared_page(fd);

		on_cpu(1);
		for (*page = 1, *ready = 1; !*removed;)
			++*page;
		*page = 2;
		_exit(0);
	}
	while (!*ready)
		;
	check_eq(ftruncate(fd, 0), 0);
	*removed = 1;
	check_eq(waitpid(pid, &status, 0), pid);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	close(fd);
}

TEST(no_store_reaches_a_page_after_it_has_been_removed)
{
	_Atomic int *words = (_Atomic int *)shared_page(-1);

	on_cpu(0);
	for (int i = 0; i < ROUNDS; i++)
		store_and_truncate(&words[0], &words[1]);
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

static int copy_changes(const void *unused)
{
	const struct timespec moment = { .tv_nsec = 300000 };
	unsigned long copy = counted;

	(void)unused;
	nanosleep(&moment, NULL);
	return counted != copy;
}

TEST(no_store_of_a_thread_changes_the_copy_of_a_child)
{
	pthread_t thread;

	on_cpu(0);
	check_eq(pthread_create(&thread, NULL, count, NULL), 0);
	for (int i = 0; i < ROUNDS; i++)
		check_eq(in_child(copy_changes, NULL), 0);
	stop = 1;
	check_eq(pthread_join(thread, NULL), 0);
}
