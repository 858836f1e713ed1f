/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * wait.h - deadlines, spinning and sleeping
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_WAIT_H
#define _DD_WAIT_H

#include <time.h>

#include "handle.h"

#define DDI_NSEC_PER_SEC	1000000000ll

/*
 * Whether and how long to spin, as learnt from earlier waits for one list, connection or
 * import. The next wait takes it as a hint only, so threads may race for it.
 */
struct ddi_spin {
	uint32_t step;		/* time worth spinning: SPIN_MIN << step */
	uint16_t skip;		/* waits in which not to spin */
	uint16_t shift;		/* log2 of the next @skip */
};

/* What a spinning thread looks at. */
struct ddi_look {
	const __u64 *word;
	uint64_t value;		/* the wait ends when @word is at least this */
	bool (*over)(const struct ddi_look *look);	/* other reasons to end it */
	void *place;		/* for @over: list or state, */
	uint64_t id;		/* id of the list or serial of the connection */
};

/* The time limit of a wait. A wait that is over soon does not read the clock. */
struct ddi_limit {
	int64_t timeout;	/* ns; DD_FOREVER */
	int64_t deadline;	/* 0 until the clock was read: ddi_limit_end() */
};

int64_t ddi_now(void);
int64_t ddi_deadline(int64_t timeout);
bool ddi_passed(int64_t deadline);
int64_t ddi_limit_end(struct ddi_limit *limit);
int64_t ddi_remaining(int64_t deadline);
struct timespec ddi_timespec(int64_t nsec);
bool ddi_spin(struct dd *h, struct ddi_spin *spin, struct ddi_limit *limit,
	      const struct ddi_look *look, int64_t *start);
void ddi_spin_slept(struct ddi_spin *spin, int64_t since);
int ddi_await(struct dd *h, uint64_t serial, uint32_t what, uint64_t value, int64_t timeout);
int ddi_state_await(struct dd *h, struct ddi_spin *spin, const struct dd_conn_state *cs,
		    uint64_t serial, uint32_t what, const __u64 *word, uint64_t value,
		    struct ddi_limit *limit);
int ddi_conn_wait(struct dd *h, uint64_t serial, uint32_t what, uint64_t value,
		  int64_t deadline);

#endif /* _DD_WAIT_H */
