// SPDX-License-Identifier: LGPL-2.1-only
/*
 * common.c - what the tests of librmem, libvmmc and libsbl use: shared memory, waits, commands
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define COMMAND		1024

int *board;
bool far;
static char *command;	/* for run_at() */

/* Before the first worker. */
static void __attribute__((constructor)) common_init(void)
{
	far = across_nodes();
	board = mmap(NULL, BOARD * sizeof(*board) + COMMAND, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		abort();
	command = (char *)(board + BOARD);
}

static const int *awaited;
static int expected;

static bool arrived(void)
{
	return __atomic_load_n(awaited, __ATOMIC_ACQUIRE) == expected;
}

bool arrives(const int *word, int value)
{
	awaited = word;
	expected = value;
	return soon(arrived);
}

void fill(int *words, long n, int seed)
{
	for (long i = 0; i < n; i++)
		words[i] = i * 2654435761u + seed;
}

long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

int run(const char *shell)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		/* The sh of a guest has an ip and a tc of its own. */
		execlp("bash", "bash", "-c", shell, NULL);
		_exit(1);
	}
	check_eq(TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)), pid);
	return status;
}

static long job_run(long a, long b, long c)
{
	return run(command);
}

int run_at(enum where where, const char *shell)
{
	struct worker *w = worker_new(where);
	int status;

	snprintf(command, COMMAND, "%s", shell);
	status = worker_do(w, job_run, 0, 0, 0);
	worker_forget(w);
	return status;
}

int root_run(const char *shell)
{
	return run_at(ROOT, shell);
}
