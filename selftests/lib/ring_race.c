// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library's ring code and the kernel's, against each other on two
 * processors with real store buffers.
 *
 *   ring_race wake      a receiver that goes to sleep is woken, in each round
 *   ring_race lost      the same until a wake-up is lost
 *   ring_race traffic   messages with contents, for ThreadSanitizer
 *   ring_race clock     a receiver that gets its message while it spins does not read the
 *                       clock, and one whose message does not come waits for its time
 *
 * The system calls are those of ring_kernel.c, but kernel/core/rings.h arms the ring.
 * The whole library sends and receives, so that its other locked instructions
 * run as well. The program has no time limit of its own.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dd.h"
#include "kernel/core/rings.h"
#include "list.h"

#define PAGE		4096
#define ROUNDS		100000	/* of wake, at least */
#define MESSAGES	20000	/* of traffic */
#define WAITS		2000	/* of clock, at least */
#define WINDOW		4
#define SLOT		1024	/* bytes of the block for one message */

extern int kernel_calls;	/* system calls made */
static struct dd *h;
static int list, conn;
static char *from, *to;

/* The kernel's state of the list. */
static struct {
	struct dd_rings rings;
	struct dd_ring ring;
	void *page[1];
} k;

static void must(bool good, const char *what)
{
	if (good)
		return;
	printf("# %s\n", what);
	exit(2);
}

static __thread int reads, yields;	/* calls of this thread */

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __real_sched_yield(void);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_sched_yield(void);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	reads++;
	return __real_clock_gettime(clock, t);
}

int __wrap_sched_yield(void)
{
	yields++;
	return __real_sched_yield();
}

static void setup(void)
{
	struct dd_serve_attr serve = { .size = sizeof(serve), .maxconn = 1,
				       .window = WINDOW, .recv_size = 2 * PAGE };
	struct dd_connect_attr connect = { .size = sizeof(connect),
					   .type = DD_TYPE_STREAM,
					   .send_size = PAGE };

	setenv("DD_DIRECT", "1", 1);
	must(!dd_open(&h), "open");
	must(!dd_alloc(h, 2 * PAGE, &serve.recv), "alloc");
	must(!dd_alloc(h, PAGE, &connect.send), "alloc");
	must(dd_serve(h, "race", &serve, &list) > 0, "serve");
	conn = dd_connect(h, "race", 1, &connect, NULL);
	must(conn > 0, "connect");
	from = connect.send;
	to = serve.recv;
}

/* The first message creates the ring; it is received at once. */
static void setup_ring(void)
{
	struct ddi_list *l = ddi_list_find(h, list);
	struct dd_list_head *lh = l->head;
	struct dd_msg msg;
	__u32 unit;

	must(!dd_send(h, conn, from, 8, 0, 0, NULL, 0), "first send");
	must(!dd_recv(h, list, &msg, 0, 0), "first receive");
	must(lh->rings == 1, "it was not sent directly");
	unit = *(__u32 *)(h->area + (size_t)lh->rings_unit * DD_UNIT);
	k.ring.state = (void *)(h->area + (size_t)unit * DD_UNIT);
	k.ring.slots = k.ring.state->slots;
	k.page[0] = (char *)k.ring.state + PAGE;
	must(k.ring.page == k.page && k.ring.slots == DD_PAGE_NOTES, "layout");
	k.rings.ring[0] = &k.ring;
	k.rings.n = 1;
}

/* --- wake ------------------------------------------------------------------*/

static unsigned long at[2];	/* round that each thread has reached */
static bool stop, woken;

/* Both threads leave at nearly the same time; on a busy machine they yield. */
static void meet(int me, unsigned long round)
{
	__atomic_store_n(&at[me], round, __ATOMIC_SEQ_CST);
	for (int i = 0; __atomic_load_n(&at[!me], __ATOMIC_ACQUIRE) < round;)
		if (++i > 2000)
			sched_yield();
}

static void delay(unsigned int *seed, int least)
{
	for (int i = least + rand_r(seed) % 64; i > 0; i--)
		__asm__ volatile("" ::: "memory");
}

#define LINES		7

/*
 * Stores to lines that are in the other processor's cache, of the message and
 * of this, keep later stores in the store buffer for longer.
 */
static volatile char cold[LINES][64] __attribute__((aligned(64)));

static void touch(volatile char (*line)[64])
{
	for (int i = 0; i < LINES; i++)
		line[i][0]++;
}

static void *wake_sender(void *arg)
{
	unsigned int seed = 1;
	unsigned long m = 0;

	for (;;) {
		int calls = kernel_calls;

		touch(cold);
		meet(0, ++m);
		if (stop)
			return arg;
		delay(&seed, 0);
		must(!dd_send(h, conn, from, sizeof(cold), 0, 0, NULL, 0),
		     "send");
		woken = kernel_calls != calls;
		meet(0, ++m);
	}
}

static int wake(bool until_lost)
{
	unsigned long round, m = 0, lost = 0, wakes = 0;
	unsigned int seed = 2;
	struct dd_msg msg;
	pthread_t thread;
	int skew = 0;
	bool found;

	must(!pthread_create(&thread, NULL, wake_sender, NULL), "thread");
	/* If the same thread is first in all rounds, they have not raced. */
	for (round = 0; until_lost ? !lost :
	     round < ROUNDS || !wakes || wakes == round; round++) {
		k.ring.state->need_wake = 0;
		touch((void *)to);
		meet(1, ++m);
		delay(&seed, skew);
		touch(cold);
		dd_rings_need_wake(&k.rings, 1);
		found = dd_rings_have(&k.rings);
		meet(1, ++m);
		/* The receiver would sleep, and the sender does not wake it. */
		lost += !found && !woken;
		wakes += woken;
		/* Makes each thread the first one equally often. */
		skew += woken ? 1 : -1;
		must(!dd_recv(h, list, &msg, 0, 0), "receive");
	}
	stop = true;
	meet(1, ++m);
	pthread_join(thread, NULL);
	printf("# %lu rounds, in %lu the sender woke the receiver, in %lu neither noticed\n",
	       round, wakes, lost);
	return lost != 0;
}

/* --- traffic ---------------------------------------------------------------*/

static size_t length(unsigned long i)
{
	return i * 8 % SLOT;
}

static void *traffic_sender(void *arg)
{
	unsigned int meta[4] = { };

	for (unsigned long i = 1; i <= MESSAGES; i++) {
		int ret;

		memset(from, i, length(i));
		meta[0] = i;
		do {
			ret = dd_send(h, conn, from, length(i), i % 8 * SLOT, 0,
				      meta, i % 5);
			if (ret == -ENOTREADY)
				must(dd_done(h, conn, DD_DONE_PLACED,
					     DD_FOREVER) == 1, "done");
		} while (ret == -ENOTREADY);
		must(!ret, "send");
	}
	return arg;
}

static int traffic(void)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, traffic_sender, NULL), "thread");
	for (unsigned long i = 1; i <= MESSAGES; i++) {
		struct dd_msg msg;
		char *at;

		must(!dd_recv(h, list, &msg, i % 8 ? 0 : DD_RECV_SLEEP,
			      DD_FOREVER), "receive");
		at = msg.addr;
		must(at == to + i % 8 * SLOT && msg.len == length(i), "place");
		for (size_t b = 0; b < msg.len; b++)
			must(at[b] == (char)i, "contents");
		must(msg.meta_count == i % 5, "metadata");
		must(!msg.meta_count || msg.meta[0] == i, "metadata");
	}
	pthread_join(thread, NULL);
	return 0;
}

/* --- clock -----------------------------------------------------------------*/

static unsigned long waiting;	/* rounds in which the receiver has begun to wait */

static void *clock_sender(void *arg)
{
	unsigned int seed = 3;

	for (unsigned long round = 1;; round++) {
		while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) < round)
			__real_sched_yield();
		if (stop)
			return arg;
		/* Some microseconds: more than the first looks take, less than a slice. */
		delay(&seed, 12000);
		must(!dd_send(h, conn, from, 8, 0, 0, NULL, 0), "send");
	}
}

static bool timed_out(long timeout)
{
	struct timespec a, b;
	struct dd_msg msg;

	clock_gettime(CLOCK_MONOTONIC, &a);
	must(dd_recv(h, list, &msg, 0, timeout) == -ETIMEDOUT, "no message");
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (b.tv_sec - a.tv_sec) * 1000000000ll + b.tv_nsec - a.tv_nsec >= timeout;
}

static int clock_reads(void)
{
	unsigned long spun = 0, bad = 0;
	struct dd_msg msg;
	pthread_t thread;

	/* Also finds out how many CPUs there are. */
	must(timed_out(1) && timed_out(100000) && timed_out(20000000), "time limit");
	must(!pthread_create(&thread, NULL, clock_sender, NULL), "thread");
	for (int i = 0; spun < WAITS; i++) {
		int calls = kernel_calls;

		reads = yields = 0;
		__atomic_store_n(&waiting, waiting + 1, __ATOMIC_RELEASE);
		must(!dd_recv(h, list, &msg, 0, i % 2 ? DD_FOREVER : 1000000000), "receive");
		/* Otherwise the wait was longer than a slice, or without spinning. */
		if (!yields && kernel_calls == calls) {
			spun++;
			bad += reads != 0;
		}
	}
	stop = true;
	__atomic_store_n(&waiting, waiting + 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	printf("# of %lu messages that came while the receiver spun, it read the clock for %lu\n",
	       spun, bad);
	return bad != 0;
}

int main(int argc, char **argv)
{
	setup();
	if (argc > 1 && !strcmp(argv[1], "traffic"))
		return traffic();
	setup_ring();
	if (argc > 1 && !strcmp(argv[1], "clock"))
		return clock_reads();
	return wake(argc > 1 && !strcmp(argv[1], "lost"));
}
