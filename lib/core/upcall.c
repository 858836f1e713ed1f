// SPDX-License-Identifier: LGPL-2.1-only
/*
 * upcall.c - handlers of notes, run like those of a signal
 *
 * Copyright (C) 2026 The dd authors
 *
 * @state is 0 while functions may run. UPCALL_RUNNING belongs to the thread that runs one, or
 * that changes the table; the rest counts the blocks. @pending is set by each signal, and cleared
 * before the next one is asked for. A thread that cannot run functions at a signal leaves
 * @pending set. The thread that makes @state 0 afterwards looks at @pending: both accesses of
 * both threads are sequentially consistent, so one of the two finds the other's.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "notes.h"
#include "upcall.h"

#define UPCALL_RUNNING	0x80000000u
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
static struct dd *handle;
static struct ddi_list *list;
static int list_fd = -1;

/* The descriptor sends one signal from now on, or none if there are notes. */
static void arm(void)
{
	__atomic_store_n(&ddi_upcall_pending, 0, __ATOMIC_SEQ_CST);
	if (ioctl(list_fd, DD_IOC_LIST_ARM, 0) > 0)
		__atomic_store_n(&ddi_upcall_pending, 1, __ATOMIC_SEQ_CST);
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
}

DD_API void ddi_upcall_run(void)
{
	int error = errno;
	uint32_t idle = 0;

	while (__atomic_load_n(&ddi_upcall_pending, __ATOMIC_SEQ_CST) &&
	       __atomic_compare_exchange_n(&state, &idle, UPCALL_RUNNING, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		run_next();
		__atomic_fetch_and(&state, ~UPCALL_RUNNING, __ATOMIC_SEQ_CST);
		idle = 0;
	}
	errno = error;
}

static void on_signal(int sig)
{
	(void)sig;
	__atomic_store_n(&ddi_upcall_pending, 1, __ATOMIC_SEQ_CST);
	if (!ddi_load(&ddi_upcall_depth))
		ddi_upcall_run();
}

/* Run the functions of all unread notes, also before their signal comes. */
DD_API void ddi_upcall_flush(void)
{
	__atomic_store_n(&ddi_upcall_pending, list != NULL, __ATOMIC_SEQ_CST);
	ddi_upcall_run();
}

/* SIGURG is ignored by default, needs no memory of a queue, and is merged while it is pending. */
static int signal_number(void)
{
	const char *name = secure_getenv("DD_SIGNAL");
	int sig = name ? atoi(name) : SIGURG;

	return sig > 0 && sig <= SIGRTMAX ? sig : -EINVAL;
}

/* Run the functions of notes in @list, of which @fd is a descriptor: 0 or an error. */
DD_API int ddi_upcall_start(struct dd *h, int id, int fd)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
	int sig = signal_number();

	if (sig < 0)
		return sig;
	if (sigaction(sig, &action, NULL) || fcntl(fd, F_SETSIG, sig) ||
	    fcntl(fd, F_SETOWN, getpid()) || fcntl(fd, F_SETFL, O_ASYNC))
		return -errno;
	list = ddi_note_list(h, id);
	if (!list)
		return -ENOMEM;
	handle = h;
	list_fd = fd;
	arm();
	return 0;
}

/* In a child of fork(), which has none of its parent's functions. */
DD_API void ddi_upcall_reset(void)
{
	ddi_upcall_pending = 0;
	ddi_upcall_depth = 0;
	ddi_upcall_inside = 0;
	memset(upcalls, 0, used * sizeof(upcalls[0]));
	used = 0;
	state = 0;
	list = NULL;
	list_fd = -1;
}

/*
 * Wait until no function runs in another thread, and keep them from running. The caller is not
 * in a function.
 */
DD_API void ddi_upcall_hold(void)
{
	const struct timespec pause = { .tv_nsec = UPCALL_WAIT_NS };

	while (__atomic_fetch_or(&state, UPCALL_RUNNING, __ATOMIC_SEQ_CST) & UPCALL_RUNNING)
		nanosleep(&pause, NULL);
}

/* The mark of the thread is set: due functions run when it is cleared. */
DD_API void ddi_upcall_release(void)
{
	__atomic_fetch_and(&state, ~UPCALL_RUNNING, __ATOMIC_SEQ_CST);
}

/* Make an entry: the cookie for a segment, or -ENOSPC. The caller holds the functions. */
DD_API int ddi_upcall_add(ddi_upcall_fn fn, void *data)
{
	for (uint32_t n = 0; n < UPCALL_MAX; n++) {
		uint32_t i = (next + n) % UPCALL_MAX;

		if (upcalls[i].fn)
			continue;
		upcalls[i] = (struct upcall){ .fn = fn, .data = data };
		next = i + 1;
		if (used <= i)
			used = i + 1;
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
	return __atomic_load_n(&state, __ATOMIC_SEQ_CST) & ~UPCALL_RUNNING;
}

DD_API void ddi_upcall_block(void)
{
	__atomic_fetch_add(&state, 1, __ATOMIC_SEQ_CST);
}

/* Undo one block: 1 if there is none now, else 0; -EPERM in a function, for one of the thread. */
DD_API int ddi_upcall_unblock(void)
{
	uint32_t s = __atomic_load_n(&state, __ATOMIC_SEQ_CST);

	do {
		if (!(s & ~UPCALL_RUNNING))
			return ddi_load(&ddi_upcall_inside) ? -EPERM : 1;
	} while (!__atomic_compare_exchange_n(&state, &s, s - 1, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	if (ddi_load(&ddi_upcall_inside) || (s & ~UPCALL_RUNNING) > 1)
		return 0;
	if (ddi_load(&ddi_upcall_pending) && !ddi_load(&ddi_upcall_depth))
		ddi_upcall_run();
	return 1;
}
