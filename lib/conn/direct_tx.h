/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * direct_tx.h - windows for sending by plain stores, to a process of the same node
 *
 * Copyright (C) 2026 The dd authors
 *
 * A connection sends either directly or by the kernel, and changes from one to the
 * other only when all messages sent so far have been read: so no order is lost. The
 * protocol of the direct path is in <linux/dd.h>.
 */
#ifndef _DD_DIRECT_TX_H
#define _DD_DIRECT_TX_H

#include "handle.h"

/* A ring of another process that this process writes. */
struct ddi_tx_ring {
	uint64_t offset;	/* mmap() offset of its slots, which identifies it */
	struct dd_ring_note *notes;
	uint32_t mask;		/* number of slots minus 1 */
	uint32_t users;		/* connections; dd.direct_lock */
	uint32_t refs;		/* to this memory: of the list below, and of threads that wait */
	const struct dd_ring_state *state;	/* written by the receiver */
	uint64_t tail;		/* positions handed out */
	struct ddi_tx_ring *next;	/* in dd.tx_rings */
};

/* For a thread that looks at the ring of a connection after it has unlocked that. */
static inline struct ddi_tx_ring *ddi_ring_hold(struct ddi_tx_ring *ring)
{
	__atomic_fetch_add(&ring->refs, 1, __ATOMIC_RELAXED);
	return ring;
}

/* The direct path of a connection, whose lock protects it. */
struct ddi_direct_tx {
	struct ddi_tx_ring *ring;
	char *block;		/* the other end's */
	size_t size;		/* of @block, less than 2 GiB */
	uint64_t to;		/* word of each note: the id of the connection there, and
				 * its block number << 40 if that is a serving end
				 */
	uint64_t submitted;	/* messages sent */
	uint64_t limit;		/* messages that may be sent before the reader's position is
				 * to be loaded again; at most @submitted + @window + 1
				 */
	uint32_t window;	/* unread messages allowed there */
	uint32_t mask;		/* entries in @ends minus 1 */
	uint64_t ends[];	/* entry n & @mask: position after the note of message n,
				 * from 0, for the last @window + 1 messages at least
				 */
};

struct ddi_direct_tx *ddi_direct_open(struct dd *h, struct dd_conn_state *cs, uint64_t serial,
				      uint64_t *ask);
void ddi_direct_close(struct dd *h, struct ddi_direct_tx *tx);
void ddi_ring_put(struct ddi_tx_ring *ring);
bool ddi_direct_look(struct ddi_direct_tx *tx);

/* Whether the reader has consumed all messages: then the next one may be sent. */
static inline bool ddi_direct_drained(struct ddi_direct_tx *tx)
{
	uint64_t n = tx->submitted;

	/* Pairs with the reader's release: it has finished with the slots before. */
	if (ddi_unlikely(tx->ends[(n - 1) & tx->mask] >
			 ddi_load_acquire(&tx->ring->state->head)))
		return false;
	tx->limit = n + 1 + tx->window;
	return true;
}

/*
 * Whether the next message must wait for the reader. If so, the one before is not
 * done: it is beyond the window.
 */
static inline bool ddi_direct_full(struct ddi_direct_tx *tx)
{
	return tx->submitted == tx->limit && !ddi_direct_look(tx);
}

#endif /* _DD_DIRECT_TX_H */
