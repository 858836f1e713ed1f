// SPDX-License-Identifier: GPL-2.0-only
/*
 * mpi.c - ddperf's loops by MPI: mpirun -np 2 dd-mpi lat|bw SIZE...
 *
 * Prints a line for each size: bytes, and the median round trip in microseconds or
 * megabytes a second. The receiver does not read the payload. COUNT in the
 * environment is the number of messages.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ACK		8		/* bytes */
#define BYTES_PER_RUN	(64 << 20)
#define MAX_COUNT	1000

static int rank;

/* MPI_Wtime() would count cycles by what the kernel says of their frequency. */
static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void put(char *buffer, int size)
{
	MPI_Send(buffer, size, MPI_BYTE, !rank, 0, MPI_COMM_WORLD);
}

static void get(char *buffer, int size)
{
	MPI_Recv(buffer, size, MPI_BYTE, !rank, 0, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
}

/* The first rank runs on the first allowed CPU, the other one on the second. */
static void pin(void)
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

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Median round trip. */
static double trips(char *buffer, int size, int count)
{
	static double samples[MAX_COUNT];
	double before = seconds(), now;
	int i;

	for (i = 0; i < count; i++) {
		if (!rank)
			put(buffer, size);
		get(buffer, size);
		if (rank)
			put(buffer, size);
		now = seconds();
		samples[i] = (now - before) * 1e6;
		before = now;
	}
	qsort(samples, count, sizeof(double), compare);
	return samples[count / 2];
}

/* The receiver acknowledges the last message when it has consumed it. */
static double stream(char *buffer, int size, int count)
{
	double begin = seconds();
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
	return (double)size * count / ((seconds() - begin) * 1e6);
}

/* As many messages as ddperf sends. */
static int usual_count(int size)
{
	const char *given = getenv("COUNT");
	int n = given && *given ? atoi(given) : BYTES_PER_RUN / size;

	if (n > MAX_COUNT)
		n = MAX_COUNT;
	return n < 16 ? 16 : n;
}

int main(int argc, char **argv)
{
	double (*run)(char *buffer, int size, int count);
	double figure;
	char *buffer;
	int i, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	pin();
	run = argc > 1 && !strcmp(argv[1], "bw") ? stream : trips;
	for (i = 2; i < argc; i++) {
		size = atoi(argv[i]);
		buffer = size > 0 ? calloc(1, size + ACK) : NULL;
		if (!buffer) {
			fprintf(stderr, "dd-mpi: '%s' is no size\n", argv[i]);
			MPI_Abort(MPI_COMM_WORLD, 2);
		}
		memset(buffer, 1, size + ACK);
		run(buffer, size, usual_count(size) / 10 + 1);
		figure = run(buffer, size, usual_count(size));
		if (!rank)
			printf("%d %g\n", size, figure);
		free(buffer);
	}
	MPI_Finalize();
	return argc > 2 ? 0 : 2;
}
