/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads of a test: one that makes a call which waits, and one that repeats a step.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_THREADS_H
#define DD_THREADS_H

#include "dd_harness.h"
#include <pthread.h>
#include <sys/resource.h>

/* A function in a thread of its own. It returns a value, or -1 with errno. */
struct call {
	long (*fn)(void *arg);
	void *arg;
	pthread_t thread;
	pid_t tid;
	long ret;
	int err;
	long sleeps;
	bool over;
};

static inline void *call_run(void *arg)
{
	struct rusage before, after;
	struct call *c = arg;

	getrusage(RUSAGE_THREAD, &before);
	__atomic_store_n(&c->tid, gettid(), __ATOMIC_RELEASE);
	errno = 0;
	c->ret = c->fn(c->arg);
	c->err = errno;
	getrusage(RUSAGE_THREAD, &after);
	c->sleeps = after.ru_nvcsw - before.ru_nvcsw;
	__atomic_store_n(&c->over, true, __ATOMIC_RELEASE);
	return NULL;
}

static inline bool call_begin(struct call *c, long (*fn)(void *arg), void *arg)
{
	*c = (struct call){ .fn = fn, .arg = arg };
	return !pthread_create(&c->thread, NULL, call_run, c);
}

static inline bool call_is_over(struct call *c)
{
	return __atomic_load_n(&c->over, __ATOMIC_ACQUIRE);
}

/*
 * Whether the thread slept once during the call. On um-smp the threads of a process take turns,
 * and one that waits for its turn sleeps, too.
 */
static inline bool call_slept_once(const struct call *c)
{
	bool turns = !strncmp(getenv("DD_VM") ?: "", "um-smp", 6);

	return turns ? c->sleeps >= 1 : c->sleeps == 1;
}

/* Waits until the thread sleeps in system call @nr. */
static inline bool call_sleeps(struct call *c, long nr)
{
	return WAIT_FOR(__atomic_load_n(&c->tid, __ATOMIC_ACQUIRE) && asleep_in(c->tid, nr));
}

/* Begins an ioctl, and returns when it sleeps. */
static inline bool call_waits(struct call *c, long (*fn)(void *arg), void *arg)
{
	return call_begin(c, fn, arg) && call_sleeps(c, SYS_ioctl);
}

static inline void call_no_handler(int sig)
{
}

/* Sends signals until the call has ended: one may come before it sleeps. */
static inline bool call_interrupt(struct call *c)
{
	const struct sigaction sa = { .sa_handler = call_no_handler };

	return !sigaction(SIGUSR1, &sa, NULL) &&
	       WAIT_FOR(pthread_kill(c->thread, SIGUSR1) || call_is_over(c));
}

/* What the function has returned, with its errno. */
static inline long call_end(struct call *c)
{
	pthread_join(c->thread, NULL);
	errno = c->err;
	return c->ret;
}

/* Repeats @step in a thread until the test ends the loop, or @step returns false. */
struct loop {
	bool (*step)(void *arg);
	void *arg;
	bool stop;
	struct call call;
};

static inline long loop_run(void *arg)
{
	struct loop *l = arg;

	while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED))
		if (!l->step(l->arg))
			return -1;
	return 0;
}

static inline bool loop_begin(struct loop *l, bool (*step)(void *arg), void *arg)
{
	*l = (struct loop){ .step = step, .arg = arg };
	return call_begin(&l->call, loop_run, l);
}

/* Waits until a step fails, and returns its errno; 0 if none has failed before the end. */
static inline int loop_failure(struct loop *l)
{
	return call_end(&l->call) ? errno ?: -1 : 0;
}

/* Ends the loop. Returns 0, or errno of the step that has failed. */
static inline int loop_end(struct loop *l)
{
	__atomic_store_n(&l->stop, true, __ATOMIC_RELAXED);
	return loop_failure(l);
}

#endif /* DD_THREADS_H */
