// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the frequency of this machine's time stamp counter in kHz. An emulated
 * machine reads the same counter. Its kernel would calibrate it with an emulated
 * timer, and has been wrong by a factor of twenty on a busy host.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define TRIES	50

/* Both clocks at nearly the same time: the closest of TRIES readings. */
static void both(uint64_t *tsc, double *ms)
{
	uint64_t best = UINT64_MAX;
	struct timespec t;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = __rdtsc(), gap;

		clock_gettime(CLOCK_MONOTONIC, &t);
		gap = __rdtsc() - before;
		if (gap < best) {
			best = gap;
			*tsc = before + gap / 2;
			*ms = t.tv_sec * 1e3 + t.tv_nsec / 1e6;
		}
	}
}

int main(void)
{
	const struct timespec wait = { .tv_nsec = 100000000 };
	uint64_t tsc[2];
	double ms[2];

	both(&tsc[0], &ms[0]);
	nanosleep(&wait, NULL);
	both(&tsc[1], &ms[1]);
	printf("%.0f\n", (tsc[1] - tsc[0]) / (ms[1] - ms[0]));
	return 0;
}
