// SPDX-License-Identifier: GPL-2.0-only
/* Time, random numbers, failures. */
#include <stdarg.h>

#include "sim.h"

#define BURST_MAX	2000000	/* events at the same time */

struct sim sim;

struct event {
	u64 time;
	u64 seq;
	sim_fn fn;
	void *arg;
	u64 gen;
};

static struct event *heap;
static size_t nheap, heap_size;
static u64 next_seq;
static u64 state;

void *sim_alloc(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p)
		sim_fail("out of memory");
	return p;
}

/* ---- random numbers ------------------------------------------------------------- */

u64 sim_random(void)
{
	if (!state)
		state = sim.seed * 0x2545f4914f6cdd1dull + 1;
	state += 0x9e3779b97f4a7c15ull;
	return hash_u64(state);
}

u64 sim_below(u64 n)
{
	return n ? sim_random() % n : 0;
}

bool sim_chance(double p)
{
	return p > 0 && (double)(sim_random() >> 11) < p * 9007199254740992.0;
}

/* ---- failure ------------------------------------------------------------ */

void sim_fail(const char *fmt, ...)
{
	va_list ap;

	printf("# %s: at %.6f s: ", sim.name, sim.now / 1e9);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n# again: build/selftests/sim --seed %llu --scenario %s\n", sim.seed,
	       sim.name);
	fflush(stdout);
	exit(1);
}

void sim_say(const char *fmt, ...)
{
	va_list ap;

	printf("# %s: ", sim.name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* ---- time --------------------------------------------------------------- */

static bool before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

void sim_at(u64 time, sim_fn fn, void *arg, u64 gen)
{
	struct event ev = {
		.time = max(time, sim.now),
		.seq = next_seq++,
		.fn = fn,
		.arg = arg,
		.gen = gen,
	};
	size_t i;

	if (nheap == heap_size) {
		heap_size = heap_size ? 2 * heap_size : 1024;
		heap = realloc(heap, heap_size * sizeof(*heap));
		if (!heap)
			sim_fail("out of memory");
	}
	for (i = nheap++; i && before(&ev, &heap[(i - 1) / 2]);
	     i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = ev;
}

static struct event pop(void)
{
	struct event first = heap[0], last = heap[--nheap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < nheap) {
		if (child + 1 < nheap &&
		    before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

/* Run until @done returns true, which must be within @duration. */
void sim_run(u64 duration, bool (*done)(void))
{
	u64 until = sim.now + duration;
	u32 burst = 0;

	while (!done || !done()) {
		struct event ev;

		if (!nheap || heap[0].time > until) {
			sim.now = until;
			if (done)
				sim_fail("no progress: not over in time");
			return;
		}
		ev = pop();
		burst = ev.time == sim.now ? burst + 1 : 0;
		if (burst > BURST_MAX)
			sim_fail("time does not advance");
		sim.now = ev.time;
		ev.fn(ev.arg, ev.gen);
	}
}

void sim_run_for(u64 duration)
{
	sim_run(duration, NULL);
}
