// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copyright (C) 2026 The dd authors
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

#define ACK		8		/* bytes */
#define BYTES_PER_RUN	(64u << 20)
#define MAX_COUNT	1000

int rank;

/* The first rank gets the first allowed CPU, the other one the second. */
void loop_pin(void)
{
	cpu_set_t all, one;
	int cpu, n = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	CPU_ZERO(&one);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && n++ == rank)
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static pid_t child;

int loop_fork(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || (child = fork()) < 0) {
		perror("two processes");
		exit(1);
	}
	rank = !child;
	if (rank)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(pair[!rank]);
	loop_pin();
	return pair[rank];
}

int loop_join(void)
{
	int status = 0;

	if (rank)
		_exit(0);
	waitpid(child, &status, 0);
	return status ? 1 : 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void trips(char *buffer, int size, int count, double *samples)
{
	double before = now(), after;
	int i;

	for (i = 0; i < count; i++) {
		if (!rank)
			put(buffer, size);
		get(buffer, size);
		if (rank)
			put(buffer, size);
		after = now();
		samples[i] = after - before;
		before = after;
	}
}

/* The last message has been taken when its acknowledgement comes. */
static double stream(char *buffer, int size, int count)
{
	double begin = now();
	int i;

	for (i = 0; i < count; i++) {
		if (rank)
			get(buffer, size);
		else
			put(buffer, size);
	}
	if (rank)
		put(buffer, ACK);
	else
		get(buffer, ACK);
	return now() - begin;
}

static double measure(const char *test, char *buffer, int size, int count)
{
	static double samples[MAX_COUNT];

	if (!strcmp(test, "bw")) {
		stream(buffer, size, count / 10 + 1);
		return (double)size * count / stream(buffer, size, count);
	}
	trips(buffer, size, count / 10 + 1, samples);
	trips(buffer, size, count, samples);
	qsort(samples, count, sizeof(double), compare);
	return samples[count / 2];
}

/* As many as ddperf sends. */
static int usual_count(int size)
{
	const char *told = getenv("COUNT");
	int n = BYTES_PER_RUN / size;

	if (told && *told)
		n = atoi(told);
	if (n > MAX_COUNT)
		n = MAX_COUNT;
	return n < 16 ? 16 : n;
}

void loop_run(const char *test, char **sizes)
{
	double figure;
	char *buffer;
	int size;

	for (; *sizes; sizes++) {
		size = atoi(*sizes);
		buffer = size > 0 ? malloc(size + ACK) : NULL;
		if (!buffer) {
			fprintf(stderr, "%s bytes?\n", *sizes);
			exit(1);
		}
		memset(buffer, 1, size + ACK);
		figure = measure(test, buffer, size, usual_count(size));
		if (!rank)
			printf("%d %g\n", size, figure);
		settle();
		free(buffer);
	}
	fflush(stdout);
}
