/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * upcall.h - handlers of notes, run like those of a signal
 *
 * Copyright (C) 2026 The dd authors
 *
 * The libraries of a process share one note list and one signal. The signal comes when the list
 * gets a note after it was empty. Its handler calls the functions of all notes in their order,
 * and asks for the next signal. A function runs with further ones blocked, in whatever thread
 * has the signal.
 *
 * A library marks the thread while it is inside a call that a function must not interrupt:
 * due functions run at the end of the call.
 */
#ifndef _DD_UPCALL_H
#define _DD_UPCALL_H

#include <linux/dd.h>

#include "handle.h"

typedef void (*ddi_upcall_fn)(const struct dd_note *note, void *data);

/*
 * Marks of a thread. With the model, an access allocates no memory, as it would at the first
 * one in a thread.
 */
#define DDI_TLS		__thread __attribute__((tls_model("initial-exec")))
extern DDI_TLS uint32_t ddi_upcall_depth;	/* calls that must not be interrupted */
extern DDI_TLS uint32_t ddi_upcall_inside;	/* a function runs in this thread */

extern uint32_t ddi_upcall_pending;

int ddi_upcall_start(struct dd *h, int list, int fd);
void ddi_upcall_reset(void);
void ddi_upcall_run(void);
void ddi_upcall_flush(void);

void ddi_upcall_hold(void);
void ddi_upcall_release(void);
int ddi_upcall_add(ddi_upcall_fn fn, void *data);
void ddi_upcall_set(uint32_t cookie, uint64_t serial);
void ddi_upcall_del(uint32_t cookie);
bool ddi_upcall_waits(uint64_t serial);

bool ddi_upcall_blocked(void);
void ddi_upcall_block(void);
int ddi_upcall_unblock(void);

/*
 * The signal handler runs in the same thread: compilers must keep the order of these accesses,
 * processors do.
 */
static inline void ddi_upcall_enter(void)
{
	ddi_store(&ddi_upcall_depth, ddi_load(&ddi_upcall_depth) + 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void ddi_upcall_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ddi_store(&ddi_upcall_depth, ddi_load(&ddi_upcall_depth) - 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (ddi_unlikely(__atomic_load_n(&ddi_upcall_pending, __ATOMIC_SEQ_CST)) &&
	    !ddi_load(&ddi_upcall_depth))
		ddi_upcall_run();
}

#endif /* _DD_UPCALL_H */
