// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the frequency of this machine's time stamp counter in kHz. An emulated
 * machine reads the same counter. Its kernel would calibrate it with an emulated
 * timer, and has been wrong by a factor of twenty on a busy host. Fails without
 * output where there is no such counter.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define TRIES	50
#define NSEC	1000000000LL

#ifdef __x86_64__
#include <x86intrin.h>

struct point {
	uint64_t tsc;
	int64_t ns;
};

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC + t.tv_nsec;
}

/* Both clocks at nearly the same time: the closest of TRIES readings. */
static struct point both(void)
{
	uint64_t best = UINT64_MAX;
	struct point p = { 0, 0 };

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = __rdtsc();
		int64_t ns = now();
		uint64_t gap = __rdtsc() - before;

		if (gap < best) {
			best = gap;
			p = (struct point) { before + gap / 2, ns };
		}
	}
	return p;
}

int main(void)
{
	const struct timespec wait = { .tv_nsec = NSEC / 10 };
	struct point a, b;

	a = both();
	nanosleep(&wait, NULL);
	b = both();
	printf("%.0f\n", (double)(b.tsc - a.tsc) * 1e6 / (double)(b.ns - a.ns));
	return 0;
}
#else
int main(void)
{
	return 1;
}
#endif
