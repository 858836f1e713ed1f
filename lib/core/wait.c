// SPDX-License-Identifier: LGPL-2.1-only
/*
 * wait.c - deadlines, spinning where that helps, and sleeping
 *
 * Copyright (C) 2026 The dd authors
 *
 * Spinning pays if the other end runs on another CPU, and costs time if it waits for
 * this one. Where it runs is not known, but two things can be observed:
 *
 * - whether another thread ran during sched_yield(). If a note is found right after
 *   that, its sender shares this CPU: the next waits (1, 2, 4, ... up to 1024 of them)
 *   do not spin.
 * - how long after the end of the spinning a note arrives: soon means that the spinning
 *   ended too early, late that it was in vain. The time to spin is doubled or halved,
 *   per list. "Soon" has to be longer than a wake-up takes on a slow or busy machine,
 *   or two ends that have both slept once would find each other asleep each time.
 *
 * With one CPU in the system there is no spinning at all. If this thread is bound to one
 * of several CPUs, it yields earlier.
 *
 * The clock may be a system call. So the time between two yields is a number of looks, and
 * the clock is read around a yield only. A time limit begins when it is read first.
 */
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dev.h"
#include "error.h"
#include "wait.h"

#define SPIN_MIN	50000		/* ns after the first yield; also where it starts */
#define SPIN_STEPS	6		/* doublings, to 3.2 ms: about a time slice */
#define SPIN_SOON	4000000		/* ns */
#define SPIN_FIRST	320		/* looks of first_looks(), */
#define SPIN_BARE	256		/* of which these follow each other at once */
#define SPIN_LOOKS	32		/* looks between those at other reasons to end, */
#define SPIN_SLICE	14		/* and such groups between yields: some 20 us */
#define SPIN_SLICE_ONE	4		/* the same, one CPU allowed */
#define SHIFT_MAX	10
#define CPUS_VALID	100000000	/* ns */

int64_t ddi_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * DDI_NSEC_PER_SEC + ts.tv_nsec;
}

int64_t ddi_deadline(int64_t timeout)
{
	int64_t deadline;

	if (timeout < 0 || __builtin_add_overflow(ddi_now(), timeout, &deadline))
		return DD_FOREVER;
	return deadline;
}

/* Whether a deadline has passed; DD_FOREVER never does. */
bool ddi_passed(int64_t deadline)
{
	return deadline >= 0 && ddi_now() >= deadline;
}

/* The deadline of a wait; from the first call on, its time limit runs. */
int64_t ddi_limit_end(struct ddi_limit *limit)
{
	if (!limit->deadline)
		limit->deadline = ddi_deadline(limit->timeout);
	return limit->deadline;
}

/* Nanoseconds left, or DD_FOREVER. */
int64_t ddi_remaining(int64_t deadline)
{
	int64_t left;

	if (deadline < 0)
		return DD_FOREVER;
	left = deadline - ddi_now();
	return left > 0 ? left : 0;
}

/* Nanoseconds as a time; negative ones are the longest time. */
struct timespec ddi_timespec(int64_t nsec)
{
	int64_t n = nsec < 0 ? INT64_MAX : nsec;

	return (struct timespec){ n / DDI_NSEC_PER_SEC, n % DDI_NSEC_PER_SEC };
}

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/*
 * 1 if there is one CPU, 2 if this thread may use one of several, else 3. Kept for a
 * while, per handle: a thread may get the answer for another one with a different
 * affinity, which costs little time and nothing else.
 */
static uint32_t cpus(struct dd *h, int64_t now)
{
	uint32_t n = ddi_load(&h->cpus);
	cpu_set_t set;

	if (n && now < ddi_load(&h->cpus_until))
		return n;
	/* It fails if there are more CPUs than fit the set. */
	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) > 1)
		n = 3;
	else
		n = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1;
	ddi_store(&h->cpus, n);
	ddi_store(&h->cpus_until, now + CPUS_VALID);
	return n;
}

/* The other end shares this CPU: do not spin for a growing number of waits. */
DDI_HOT static void spin_shared(struct ddi_spin *spin)
{
	uint16_t shift = ddi_load(&spin->shift);

	if (shift < SHIFT_MAX)
		ddi_store(&spin->shift, shift + 1);
	ddi_store(&spin->skip, 1u << shift);
}

static long switches(void)
{
	struct rusage ru;

	return getrusage(RUSAGE_THREAD, &ru) ? 0 : ru.ru_nvcsw + ru.ru_nivcsw;
}

/* Pairs with the release of the writer: a reader has finished with the slots before. */
static inline bool seen(const __u64 *word, uint64_t value)
{
	return ddi_load_acquire(word) >= value;
}

/*
 * Look without a clock. Back off after a while, so that polling does not steal the cache
 * line from the writer; not at once, because a pause takes longer than most of a round
 * trip.
 */
static bool first_looks(struct ddi_spin *spin, const __u64 *word, uint64_t value)
{
	for (int i = 0; i < SPIN_FIRST; i++) {
		if (seen(word, value)) {
			/* The other end runs on another CPU. */
			ddi_store(&spin->shift, 0);
			return true;
		}
		if (i >= SPIN_BARE)
			cpu_relax();
	}
	return false;
}

/* Whether this wait is to do without spinning. */
static bool spin_skip(struct ddi_spin *spin)
{
	uint16_t skip = ddi_load(&spin->skip);

	if (skip)
		ddi_store(&spin->skip, skip - 1);
	return skip;
}

/* Look without a clock, until it is time to yield. */
static bool look_slice(struct ddi_spin *spin, const struct ddi_look *look, int groups)
{
	while (groups--) {
		for (int i = 0; i < SPIN_LOOKS; i++) {
			if (seen(look->word, look->value)) {
				ddi_store(&spin->shift, 0);
				return true;
			}
			cpu_relax();
		}
		if (look->over(look))
			return true;
	}
	return false;
}

/* Let another thread run. Returns whether the wait is over. */
static bool yielded(struct ddi_spin *spin, const struct ddi_look *look)
{
	long before = switches();

	sched_yield();
	if (!seen(look->word, look->value) && !look->over(look))
		return false;
	if (switches() != before)
		spin_shared(spin);
	return true;
}

/*
 * Look for a while. Returns whether the wait is over; if not, the caller sleeps and then
 * calls ddi_spin_slept() with *@start, the time when the wait began.
 */
DDI_HOT bool ddi_spin(struct dd *h, struct ddi_spin *spin, struct ddi_limit *limit,
		      const struct ddi_look *look, int64_t *start)
{
	uint32_t budget = SPIN_MIN << ddi_load(&spin->step), n = ddi_load(&h->cpus);
	int64_t now = 0, deadline;

	if (n < 2)
		n = cpus(h, now = ddi_now());
	if (n < 2 || spin_skip(spin)) {
		*start = now ? now : ddi_now();
		return false;
	}
	if (first_looks(spin, look->word, look->value) ||
	    look_slice(spin, look, n == 2 ? SPIN_SLICE_ONE : SPIN_SLICE))
		return true;
	*start = now = ddi_now();
	deadline = ddi_limit_end(limit);
	while (!yielded(spin, look)) {
		now = ddi_now();
		if (now - *start >= budget || (deadline >= 0 && now >= deadline))
			return false;
		n = cpus(h, now);
		if (look_slice(spin, look, n == 2 ? SPIN_SLICE_ONE : SPIN_SLICE))
			return true;
	}
	return true;
}

/* Learn from a wait that began at @since and ended in sleep. */
void ddi_spin_slept(struct ddi_spin *spin, int64_t since)
{
	uint32_t step = ddi_load(&spin->step);

	if (ddi_now() - since >= SPIN_SOON)
		step -= step > 0;
	else if (step < SPIN_STEPS)
		step++;
	ddi_store(&spin->step, step);
}

/* Wait for a counter of a connection state, or until a signal comes: 0, or the kernel's -errno. */
int ddi_await(struct dd *h, uint64_t serial, uint32_t what, uint64_t value, int64_t timeout)
{
	struct dd_conn_wait w = {
		.size = sizeof(w), .conn = serial, .what = what, .value = value,
		.timeout = timeout,
	};

	return ddi_ioctl(h, DD_IOC_CONN_WAIT, &w);
}

static bool counter_over(const struct ddi_look *look)
{
	const struct dd_conn_state *cs = look->place;

	return ddi_load(&cs->error) || ddi_load(&cs->conn) != look->id;
}

/* As ddi_await(), after a look for a while at @word, which is the counter that @what names. */
int ddi_state_await(struct dd *h, struct ddi_spin *spin, const struct dd_conn_state *cs,
		    uint64_t serial, uint32_t what, const __u64 *word, uint64_t value,
		    struct ddi_limit *limit)
{
	struct ddi_look look = {
		.over = counter_over, .place = (void *)cs, .id = serial, .value = value,
		.word = word,
	};
	int64_t start;
	int ret;

	if (ddi_load_acquire(look.word) >= value)
		return 0;
	if (!limit->timeout)
		return ddi_await(h, serial, what, value, 0);
	if (ddi_spin(h, spin, limit, &look, &start)) {
		if (ddi_load_acquire(look.word) >= value)
			return 0;
		start = ddi_now();
	}
	ret = ddi_await(h, serial, what, value, ddi_remaining(ddi_limit_end(limit)));
	ddi_spin_slept(spin, start);
	return ret == -EAGAIN ? -ETIMEDOUT : ret;
}

/* Wait for a counter of a connection's state: 0, -ETIMEDOUT or another error. */
int ddi_conn_wait(struct dd *h, uint64_t serial, uint32_t what, uint64_t value,
		  int64_t deadline)
{
	int ret;

	do {
		ret = ddi_await(h, serial, what, value, ddi_remaining(deadline));
	} while (ret == -EINTR);
	return ret == -EAGAIN ? -ETIMEDOUT : ddi_error(ret);
}
