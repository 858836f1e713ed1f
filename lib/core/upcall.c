// SPDX-License-Identifier: LGPL-2.1-only
/*
 * upcall.c - handlers of notes, run like those of a signal
 *
 * Copyright (C) 2026 The dd authors
 *
 * @state is 0 while functions may run. UPCALL_RUNNING belongs to the thread that takes a note and
 * runs its function, UPCALL_HELD to one that changes the table; the rest counts the blocks. @pending
 * is set by each signal, and cleared before the next one is asked for. A thread that cannot run
 * functions at a signal leaves @pending set. The thread that makes @state 0 afterwards looks at
 * @pending: both accesses of both threads are sequentially consistent, so one of the two finds
 * the other's.
 *
 * Senders may be faster than the functions. So a thread that has taken as many notes as the list
 * has room for leaves the rest, with @pending set, to the next call or to a timer, which sends the
 * signal after the same time again. The program goes on in between.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "notes.h"
#include "upcall.h"
#include "wait.h"

#define UPCALL_RUNNING	0x80000000u
#define UPCALL_HELD	0x40000000u
#define UPCALL_BLOCKS	0x3fffffffu
#define UPCALL_MAX	65536
#define UPCALL_WAIT_NS	100000

struct upcall {
	uint64_t serial;	/* of the segment; 0: its notes are dropped */
	ddi_upcall_fn fn;	/* NULL: the entry is free */
	void *data;
};

DD_API DDI_TLS uint32_t ddi_upcall_depth;
DD_API DDI_TLS uint32_t ddi_upcall_inside;
DD_API uint32_t ddi_upcall_pending;

static struct upcall upcalls[UPCALL_MAX];
static uint32_t next, used;	/* entry to try first; entries that were ever given out */
static uint32_t state;
static uint32_t own_blocks;	/* of the function that runs */
static struct dd *handle;
static struct ddi_list *list;	/* NULL before ddi_upcall_start() */
static int list_fd = -1;
static timer_t timer;

/* The descriptor sends one signal from now on, or none if there are notes. */
static void arm(void)
{
	__atomic_store_n(&ddi_upcall_pending, 0, __ATOMIC_SEQ_CST);
	if (ioctl(list_fd, DD_IOC_LIST_ARM, 0) > 0)
		__atomic_store_n(&ddi_upcall_pending, 1, __ATOMIC_SEQ_CST);
}

/* Blocks that a function leaves are the program's. */
static void blocks_keep(void)
{
	__atomic_fetch_add(&state, own_blocks, __ATOMIC_SEQ_CST);
	own_blocks = 0;
}

static void run_next(void)
{
	const struct upcall *u;
	struct dd_note note;

	if (!ddi_note_get(handle, list, &note)) {
		arm();
		return;
	}
	u = &upcalls[note.cookie % UPCALL_MAX];
	/* Segments of this list end, and their notes stay. */
	if (!u->fn || u->serial != note.conn)
		return;
	ddi_store(&ddi_upcall_inside, 1);
	u->fn(&note, u->data);
	ddi_store(&ddi_upcall_inside, 0);
	if (own_blocks)
		blocks_keep();
}

/* Send the signal in as much time as has passed. */
static void signal_later(int64_t since)
{
	const struct itimerspec once = { .it_value = ddi_timespec(ddi_now() - since + 1) };

	timer_settime(timer, 0, &once, NULL);
}

static bool may_run(void)
{
	return __atomic_load_n(&ddi_upcall_pending, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&state, __ATOMIC_SEQ_CST);
}

/*
 * Take one note, unless another thread has come first; returns whether it was taken. Signal
 * handlers of the program may interrupt the thread: the mark keeps them from waiting for it.
 */
static bool run_one(void)
{
	uint32_t idle = 0;
	bool mine;

	ddi_upcall_enter();
	mine = __atomic_compare_exchange_n(&state, &idle, UPCALL_RUNNING, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	if (mine) {
		run_next();
		__atomic_fetch_and(&state, ~UPCALL_RUNNING, __ATOMIC_SEQ_CST);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ddi_store(&ddi_upcall_depth, 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return mine;
}

/* The thread is not marked. */
DD_API void ddi_upcall_run(void)
{
	struct ddi_list *l = ddi_load_acquire(&list);
	uint32_t n = 0, most = l ? ddi_note_slots(handle, l) : 0;
	int error = errno;
	int64_t since = 0;

	while (n < most && may_run()) {
		n += run_one();
		if (n == 1)
			since = ddi_now();
	}
	if (n && n == most)
		signal_later(since);
	errno = error;
}

static void on_signal(int sig)
{
	(void)sig;
	__atomic_store_n(&ddi_upcall_pending, 1, __ATOMIC_SEQ_CST);
	if (!ddi_load(&ddi_upcall_depth))
		ddi_upcall_run();
}

/* Run the functions of unread notes, also before their signal comes. */
DD_API void ddi_upcall_flush(void)
{
	__atomic_store_n(&ddi_upcall_pending, 1, __ATOMIC_SEQ_CST);
	ddi_upcall_run();
}

/* SIGURG is ignored by default, needs no memory of a queue, and is merged while it is pending. */
static int signal_number(void)
{
	const char *name = secure_getenv("DD_SIGNAL");
	int sig = name ? atoi(name) : SIGURG;

	return sig > 0 && sig <= SIGRTMAX ? sig : -EINVAL;
}

static int signals_start(int fd)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal_number() };

	if (event.sigev_signo < 0)
		return event.sigev_signo;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		return -errno;
	if (!sigaction(event.sigev_signo, &action, NULL) &&
	    !fcntl(fd, F_SETSIG, event.sigev_signo) && !fcntl(fd, F_SETOWN, getpid()) &&
	    !fcntl(fd, F_SETFL, O_ASYNC))
		return 0;
	timer_delete(timer);
	return -errno;
}

/* Run the functions of notes in list @id, of which @fd is a descriptor: 0 or an error. */
DD_API int ddi_upcall_start(struct dd *h, int id, int fd)
{
	struct ddi_list *l = ddi_note_list(h, id);
	int ret = l ? signals_start(fd) : -ENOMEM;

	if (ret)
		return ret;
	handle = h;
	list_fd = fd;
	ddi_store_release(&list, l);
	arm();
	return 0;
}

/*
 * In a child of fork(), which has none of its parent's functions, and no timer. Marks of the
 * thread stay: it may have called fork() in a function.
 */
DD_API void ddi_upcall_reset(void)
{
	ddi_upcall_pending = 0;
	memset(upcalls, 0, used * sizeof(upcalls[0]));
	used = 0;
	state = 0;
	own_blocks = 0;
	list = NULL;
	list_fd = -1;
}

static void wait_shortly(void)
{
	const struct timespec pause = { .tv_nsec = UPCALL_WAIT_NS };

	nanosleep(&pause, NULL);
}

/* @state keeps further functions from running; one may run in another thread. */
static void await_function(void)
{
	while (__atomic_load_n(&state, __ATOMIC_SEQ_CST) & UPCALL_RUNNING)
		wait_shortly();
}

/* Keep functions from running. The caller is not in one, and the thread is marked. */
DD_API void ddi_upcall_hold(void)
{
	while (__atomic_fetch_or(&state, UPCALL_HELD, __ATOMIC_SEQ_CST) & UPCALL_HELD)
		wait_shortly();
	await_function();
}

/* Due functions run when the mark of the thread is cleared. */
DD_API void ddi_upcall_release(void)
{
	__atomic_fetch_and(&state, ~UPCALL_HELD, __ATOMIC_SEQ_CST);
}

/* Make an entry: the cookie for a segment, or -ENOSPC. The caller holds the functions. */
DD_API int ddi_upcall_add(ddi_upcall_fn fn, void *data)
{
	for (uint32_t n = 0; n < UPCALL_MAX; n++) {
		uint32_t i = (next + n) % UPCALL_MAX;

		if (upcalls[i].fn)
			continue;
		/* Another thread may fork(): the child clears the entries that are counted. */
		if (used <= i)
			__atomic_store_n(&used, i + 1, __ATOMIC_SEQ_CST);
		upcalls[i] = (struct upcall){ .fn = fn, .data = data };
		next = i + 1;
		return i;
	}
	return -ENOSPC;
}

/* The segment that was exported with this cookie. The caller holds the functions. */
DD_API void ddi_upcall_set(uint32_t cookie, uint64_t serial)
{
	upcalls[cookie].serial = serial;
}

DD_API void ddi_upcall_del(uint32_t cookie)
{
	upcalls[cookie] = (struct upcall){ 0 };
}

/* Whether a note of this segment is unread. The caller holds the functions. */
DD_API bool ddi_upcall_waits(uint64_t serial)
{
	return list && ddi_note_any(handle, list, serial);
}

DD_API bool ddi_upcall_blocked(void)
{
	return __atomic_load_n(&state, __ATOMIC_SEQ_CST) & UPCALL_BLOCKS;
}

/*
 * A function counts its own blocks: further ones do not run before it returns. Another thread waits
 * for the function that runs, unless this is a signal handler of the program that has interrupted
 * a call of the library: the function could be in the same thread, or wait for that call.
 */
DD_API void ddi_upcall_block(void)
{
	if (ddi_load(&ddi_upcall_inside)) {
		own_blocks++;
		return;
	}
	__atomic_fetch_add(&state, 1, __ATOMIC_SEQ_CST);
	if (!ddi_load(&ddi_upcall_depth))
		await_function();
}

static int unblock_in_function(void)
{
	if (!own_blocks)
		return -EPERM;
	own_blocks--;
	return 0;
}

/*
 * Undo one block: 1 if there is none now, else 0. A function can only undo those that it has made:
 * 0, or -EPERM if there is none.
 */
DD_API int ddi_upcall_unblock(void)
{
	uint32_t s = __atomic_load_n(&state, __ATOMIC_SEQ_CST);

	if (ddi_load(&ddi_upcall_inside))
		return unblock_in_function();
	do {
		if (!(s & UPCALL_BLOCKS))
			return 1;
	} while (!__atomic_compare_exchange_n(&state, &s, s - 1, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	if ((s & UPCALL_BLOCKS) > 1)
		return 0;
	if (ddi_load(&ddi_upcall_pending) && !ddi_load(&ddi_upcall_depth))
		ddi_upcall_run();
	return 1;
}
