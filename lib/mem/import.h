/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * import.h - an import of a segment
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_IMPORT_H
#define _DD_IMPORT_H

#include <pthread.h>
#include <signal.h>
#include <linux/dd_mem.h>

#include "dd_mem.h"
#include "dev.h"
#include "wait.h"

struct dd_mem {
	struct dd *h;
	uint64_t serial;
	uint64_t size;		/* bytes in the segment; 0 while the import is pending */
	int node;		/* of the segment */
	struct dd_conn_state *cs;
	const struct dd_area_head *head;	/* of the area that has the connection state */
	unsigned int rights;
	char *put;		/* the segment, in a window to write; or NULL */
	char *get;		/* to read, the same window; or NULL */
	char *cas;		/* for atomic instructions, a second window; or NULL */
	void *window[2];	/* where they are mapped; or NULL */
	size_t window_size;
	uint32_t queued;	/* the send queue is in use */
	const uint8_t *result;	/* of another node's segment, else NULL */
	pthread_mutex_t lock;	/* numbers of requests, @result and the next three; with signals
				 * blocked
				 */
	uint64_t seen;		/* requests whose results were collected */
	int error;		/* the first one of these that dd_fence() has to return */
	int *call[DD_RESULTS];	/* where the result of request n is awaited, NULL for dd_fence();
				 * a call takes its own away without the lock
				 */
	uint32_t waiting;	/* calls that wait until no request is under way; atomic */
	uint32_t swapping;	/* @word is in use */
	void *word;		/* wired, for the result of a swap; or NULL */
	struct ddi_spin spin;	/* for waits for its counters */
	struct dd_mem *next, **link;	/* in dd.mems; dd.lock */
};

void ddi_mem_lock(struct dd_mem *m, sigset_t *before);
void ddi_mem_unlock(struct dd_mem *m, const sigset_t *before);

/*
 * Whether the note of a request waits for a slot. The kernel counts a request as done
 * before it counts it as submitted, unless its note waits.
 */
static inline bool ddi_mem_withheld(const struct dd_conn_state *cs)
{
	uint64_t submitted = ddi_load_acquire(&cs->submitted);

	return ddi_load(&cs->done) < submitted;
}

#endif /* _DD_IMPORT_H */
