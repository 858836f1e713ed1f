// SPDX-License-Identifier: GPL-2.0-only
/*
 * native.c - the clock, by the time stamp counter, and yields without a system call; to be
 * preloaded
 *
 * A kernel without a vDSO reads its clock by a system call. On User-Mode Linux that takes
 * longer than what is measured, and a process that yields while it spins is away for the time
 * of hundreds of messages.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define NSEC		1000000000ll
#define CALIBRATION	(NSEC / 20)
#define SHIFT		32

static int64_t base_ns;
static uint64_t base_tsc, ns_by_tsc;	/* fixed point, SHIFT bits behind it */

static int64_t kernel_ns(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC + t.tv_nsec;
}

__attribute__((constructor)) static void calibrate(void)
{
	int64_t ns = kernel_ns(), begin = kernel_ns();
	uint64_t tsc = __rdtsc();

	do {
		ns = kernel_ns();
		base_tsc = __rdtsc();
	} while (ns - begin < CALIBRATION);
	base_ns = ns;
	ns_by_tsc = ((unsigned __int128)(ns - begin) << SHIFT) / (base_tsc - tsc);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t ns;

	if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_RAW &&
	    clock != CLOCK_MONOTONIC_COARSE)
		return syscall(SYS_clock_gettime, clock, t);
	ns = base_ns + (int64_t)(((unsigned __int128)(__rdtsc() - base_tsc) * ns_by_tsc) >> SHIFT);
	t->tv_sec = ns / NSEC;
	t->tv_nsec = ns % NSEC;
	return 0;
}

/* Each of the two processes has a processor: there is none to yield it to. */
int sched_yield(void)
{
	return 0;
}

/* libdd asks for the switches of a thread around each yield. ddperf then reports none. */
int getrusage(int who, struct rusage *usage)
{
	if (who != RUSAGE_THREAD)
		return syscall(SYS_getrusage, who, usage);
	*usage = (struct rusage){ };
	return 0;
}
