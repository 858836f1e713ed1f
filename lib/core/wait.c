// SPDX-License-Identifier: LGPL-2.1-only
/*
 * wait.c - waiting for a note: spinning where that helps, sleeping otherwise
 *
 * Copyright (C) 2026 The dd authors
 *
 * Spinning pays if the other end runs on another CPU, and hurts if it waits
 * for this one. Where it runs cannot be known, but two things can be seen:
 *
 * - whether sched_yield() let somebody else run. A note found right after
 *   that came from a peer that shares the CPU: for the next waits (1, 2, 4,
 *   ... up to 1024 of them) there is no spinning.
 * - a note that arrives soon after the spinning was given up tells that it
 *   was given up too early; one that arrives late, that it was futile. The
 *   time worth spinning, per list, is doubled or halved. What is soon must be
 *   longer than a wake-up takes on a slow or busy machine, or two ends that
 *   have both gone to sleep once would find each other asleep ever after.
 *
 * With one CPU in the system there is no spinning at all. With one CPU
 * allowed to this thread and others to others, it yields earlier.
 *
 * Where there are several CPUs, and the peer was not seen on this one, the
 * first looks are without a clock. They take less time than going to sleep
 * does, and a quick answer is found as it comes.
 */
#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "direct.h"
#include "internal.h"
#include "ring.h"

#define NSEC_PER_SEC	1000000000ll

#define SPIN_MIN	50000		/* ns; also where it starts */
#define SPIN_MAX	4000000		/* ns; about a time slice */
#define SPIN_SLICE	20000		/* ns between yields */
#define SPIN_SLICE_ONE	5000		/* the same, one CPU allowed */
#define SPIN_FIRST	64		/* looks before the first at the clock */
#define SPIN_LOOKS	32		/* looks between looks at the clock */
#define SHIFT_MAX	10
#define CPUS_VALID	100000000	/* ns */

int64_t ddi_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

int64_t ddi_deadline(int64_t timeout)
{
	int64_t deadline;

	if (timeout < 0)
		return DD_FOREVER;
	if (__builtin_add_overflow(ddi_now(), timeout, &deadline))
		return DD_FOREVER;
	return deadline;
}

/* Not of one that never comes. */
bool ddi_passed(int64_t deadline)
{
	return deadline >= 0 && ddi_now() >= deadline;
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

/* CPUs this thread may use: 1 only if there is one; 2 if one of several. */
static uint32_t cpus_count(void)
{
	cpu_set_t set;

	/* More CPUs than fit the set are surely more than one. */
	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) > 1)
		return 3;
	return sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1;
}

/*
 * Kept for a while, by handle: threads with different affinities may get each
 * other's answer, which costs time only, and little.
 */
static uint32_t cpus(struct dd *h, int64_t now)
{
	uint32_t n = ddi_load(&h->cpus);

	if (!n || now >= ddi_load(&h->cpus_until)) {
		n = cpus_count();
		ddi_store(&h->cpus, n);
		ddi_store(&h->cpus_until, now + CPUS_VALID);
	}
	return n;
}

/* The peer shares this CPU: leave it to him for a growing number of waits. */
static void spin_shared(struct ddi_spin *spin)
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

static inline bool seen(const struct ddi_look *look)
{
	return ddi_load(look->word) == look->value;
}

/* Returns whether the waiting is over after it. */
static bool spin_yield(struct ddi_spin *spin, const struct ddi_look *look)
{
	long before = switches();

	sched_yield();
	if (!seen(look) && !look->over(look))
		return false;
	if (switches() != before)
		spin_shared(spin);
	return true;
}

/* Looks without a clock: is it @value, or, of a @count, is that passed? */
static inline bool first_looks(const __u64 *word, uint64_t value, bool count)
{
	/* Looking all the time would take the line from whom it is wanted of. */
	for (int i = 0; i < SPIN_FIRST; i++) {
		uint64_t is = ddi_load_acquire(word);

		if (is == value || (count && is > value))
			return true;
		cpu_relax();
	}
	return false;
}

static bool spin_first(const struct dd *h, const struct ddi_spin *spin,
		       const struct ddi_look *look)
{
	return ddi_load(&h->cpus) >= 2 && !ddi_load(&spin->skip) &&
	       first_looks(look->word, look->value, false);
}

/**
 * ddi_glance() - look at a count for a moment, without a clock
 * @h: handle
 * @spin: what is known about the place
 * @count: what to look at; others may have part in it
 * @value: what it grows to, and beyond
 *
 * Shorter than a way into the kernel, and so with a lock held, too. Where it was
 * futile, the next waits go without: 1, 2, 4, ... of them.
 *
 * Return: whether it has.
 */
bool ddi_glance(struct dd *h, struct ddi_spin *spin, const __u64 *count,
		uint64_t value)
{
	uint16_t skip = ddi_load(&spin->skip);

	if (skip) {
		ddi_store(&spin->skip, skip - 1);
		return false;
	}
	if (ddi_load(&h->cpus) < 2 && cpus(h, ddi_now()) < 2)
		return false;
	/* Pairs with the reader's release: it has done with the slots. */
	if (!first_looks(count, value, true)) {
		spin_shared(spin);
		return false;
	}
	ddi_store(&spin->shift, 0);
	return true;
}

/**
 * ddi_spin() - look for a while
 * @h: handle
 * @spin: what is known about the place
 * @deadline: not after this
 * @look: what to look at
 * @start: set, if this is not over, to when it began
 *
 * Return: whether it was over; else the caller sleeps, and then reports to
 * ddi_spin_slept().
 */
bool ddi_spin(struct dd *h, struct ddi_spin *spin, int64_t deadline,
	      const struct ddi_look *look, int64_t *start)
{
	uint32_t budget, n, slice;
	int64_t now, yield_at;
	uint16_t skip;

	if (spin_first(h, spin, look))
		goto uninterrupted;
	*start = now = ddi_now();
	budget = ddi_load(&spin->budget);
	skip = ddi_load(&spin->skip);
	n = cpus(h, now);
	if (n == 1)
		return false;
	if (skip) {
		ddi_store(&spin->skip, skip - 1);
		return false;
	}
	if (!budget)
		budget = SPIN_MIN;
	slice = n == 2 ? SPIN_SLICE_ONE : SPIN_SLICE;
	yield_at = now + slice;

	for (;;) {
		for (int i = 0; i < SPIN_LOOKS; i++) {
			if (seen(look))
				goto uninterrupted;
			cpu_relax();
		}
		if (look->over(look))
			return true;
		now = ddi_now();
		if (now >= yield_at) {
			if (spin_yield(spin, look))
				return true;
			now = ddi_now();
			yield_at = now + slice;
		}
		if (now - *start >= budget ||
		    (deadline >= 0 && now >= deadline))
			return false;
	}

uninterrupted:
	/* The peer is elsewhere. */
	ddi_store(&spin->shift, 0);
	return true;
}

/**
 * ddi_spin_slept() - learn from a wait that ended in sleep
 * @spin: what is known about the place
 * @since: when the waiting began
 */
void ddi_spin_slept(struct ddi_spin *spin, int64_t since)
{
	uint32_t budget = ddi_load(&spin->budget);

	if (!budget)
		budget = SPIN_MIN;
	if (ddi_now() - since < SPIN_MAX)
		budget = budget < SPIN_MAX / 2 ? 2 * budget : SPIN_MAX;
	else
		budget = budget > 2 * SPIN_MIN ? budget / 2 : SPIN_MIN;
	ddi_store(&spin->budget, budget);
}

static bool list_stirred(const struct ddi_look *look)
{
	const struct dd_list_head *lh = look->place;
	const struct ddi_list *l = look->list;
	uint32_t n = ddi_load_acquire(&l->rings);

	if (ddi_load(&lh->rings) != n && n < DD_RINGS_MAX)
		return true;
	while (n)
		if (ddi_in_ready(&l->in[--n]))
			return true;
	return ddi_ring_stirred(look->area, look->place, look->id);
}

/*
 * The number that the next note's slot will have. What becomes of the slot
 * when the list grows is for list_stirred() to see.
 */
static bool list_look(struct dd *h, struct ddi_list *l, uint32_t id,
		      struct ddi_look *look)
{
	struct dd_list_head *lh = ddi_load_acquire(&l->head);
	uint64_t pos = ddi_load(&lh->head);
	struct dd_note *slot = ddi_ring_slot(h->area, ddi_load(&lh->geometry),
					     pos);
	const struct ddi_in *in = ddi_load(&l->cur);

	if (!slot)
		return false;
	*look = (struct ddi_look){
		.word = &slot->seq,
		.value = pos + 1,
		.over = list_stirred,
		.area = h->area,
		.place = lh,
		.list = l,
		.id = id,
	};
	/* More probably there than in the list's own; both are looked at. */
	if (in) {
		pos = ddi_load(&in->state->head);
		look->word = &ddi_in_slot(in, pos)->seq;
		look->value = pos + 1;
	}
	return true;
}

static int list_wait(struct dd *h, uint32_t id, int64_t deadline)
{
	struct dd_list_wait w = {
		.size = sizeof(w),
		.lists = (uintptr_t)&id,
		.count = 1,
		.timeout = ddi_remaining(deadline),
	};

	return ddi_ioctl(h, DD_IOC_LIST_WAIT, &w);
}

static int list_sleep(struct dd *h, uint32_t id, unsigned int options,
		      int64_t deadline)
{
	int ret;

	do {
		ret = list_wait(h, id, deadline);
	} while (ret == -EINTR && !(options & DD_RECV_INTR));
	if (ret == -EAGAIN)
		return -ETIMEDOUT;
	return ret < 0 ? ddi_error(ret) : 0;
}

/**
 * ddi_list_wait() - wait until a list may have a note
 * @h: handle
 * @l: list
 * @id: its id
 * @options: DD_RECV_*
 * @deadline: when to give up
 *
 * With DD_RECV_INTR without spinning: a signal that comes meanwhile would be missed.
 *
 * Return: 0 look again; -ETIMEDOUT, -EINTR (DD_RECV_INTR), -EBADID.
 */
int ddi_list_wait(struct dd *h, struct ddi_list *l, uint32_t id,
		  unsigned int options, int64_t deadline)
{
	struct ddi_look look;
	int64_t start;
	int ret;

	/* Where there is no slot to look at, the kernel says why. */
	if (options & (DD_RECV_SLEEP | DD_RECV_INTR) ||
	    !list_look(h, l, id, &look))
		return list_sleep(h, id, options, deadline);
	if (ddi_spin(h, &l->spin, deadline, &look, &start))
		return 0;
	ret = list_sleep(h, id, options, deadline);
	ddi_spin_slept(&l->spin, start);
	return ret;
}

/* Waits for a counter of a connection's cell: 0, -ETIMEDOUT or why not. */
int ddi_conn_wait(struct dd *h, uint64_t serial, uint32_t what, uint64_t value,
		  int64_t deadline)
{
	struct dd_conn_wait w = {
		.size = sizeof(w),
		.conn = serial,
		.what = what,
		.value = value,
	};
	int ret;

	do {
		w.timeout = ddi_remaining(deadline);
		ret = ddi_ioctl(h, DD_IOC_CONN_WAIT, &w);
	} while (ret == -EINTR);
	if (ret == -EAGAIN)
		return -ETIMEDOUT;
	return ret < 0 ? ddi_error(ret) : 0;
}
