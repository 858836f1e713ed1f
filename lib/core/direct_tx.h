/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * direct_tx.h - sending by plain stores, to a process of the same node
 *
 * Copyright (C) 2026 The dd authors
 *
 * A connection sends either directly or by the kernel, and changes from one to the
 * other only when all messages sent so far have been read: so no order is lost. The
 * protocol of the direct path is in <linux/dd.h>.
 */
#ifndef _DD_DIRECT_TX_H
#define _DD_DIRECT_TX_H

#include "send.h"

/* A ring of another process that this process writes. */
struct ddi_tx_ring {
	uint64_t offset;	/* mmap() offset of its slots, which identifies it */
	struct dd_ring_note *notes;
	uint32_t mask;		/* number of slots minus 1 */
	uint32_t users;		/* connections; dd.direct_lock */
	const struct dd_ring_state *state;	/* written by the receiver */
	uint64_t tail;		/* positions handed out */
	struct ddi_tx_ring *next;	/* in dd.tx_rings */
};

/* The direct path of a connection, whose lock protects it. */
struct ddi_direct_tx {
	struct ddi_tx_ring *ring;
	char *block;		/* the other end's */
	size_t size;		/* of @block, less than 2 GiB */
	uint64_t to;		/* word of each note: the id of the connection there, and
				 * its block number << 40 if that is a serving end
				 */
	const __u32 *node_up;	/* in the area */
	uint64_t submitted;	/* messages sent */
	uint64_t limit;		/* messages that may be sent before the reader's position is
				 * to be loaded again; at most @submitted + @window + 1
				 */
	uint32_t window;	/* unread messages allowed there */
	uint32_t mask;		/* entries in @ends minus 1 */
	uint64_t deposits;	/* requests that the kernel has carried out */
	uint64_t ends[];	/* entry n & @mask: position after the note of message n,
				 * from 0, for the last @window + 1 messages at least
				 */
};

void ddi_direct_open(struct dd *h, struct ddi_conn *c);
void ddi_direct_close(struct dd *h, struct ddi_conn *c);
bool ddi_direct_full(struct ddi_direct_tx *tx);
int ddi_direct_send(struct dd *h, struct ddi_conn *c,
		    const struct ddi_request *rq);
int ddi_direct_wait(struct dd *h, struct ddi_conn *c, uint64_t n,
		    int64_t deadline);
void ddi_direct_release(struct dd *h);

/*
 * A connection that sends by the kernel may ask again for a direct path at the last
 * DDI_ASK_TIMES of each DDI_ASK_EVERY messages, both powers of two: the kernel refuses while a
 * message is unread, so once is not enough.
 */
#define DDI_ASK_EVERY	512
#define DDI_ASK_TIMES	16

/* Whether a locked connection without a direct path is to ask for one. */
static inline bool ddi_direct_due(const struct ddi_conn *c)
{
	uint64_t n;

	if (ddi_likely(!c->tx_again))
		return !c->tx_known;
	n = ddi_load(&c->cell->submitted);
	return n > c->tx_after &&
	       n % DDI_ASK_EVERY >= DDI_ASK_EVERY - DDI_ASK_TIMES;
}

/* Whether a locked connection sends any message by the kernel, and does not ask now. */
static inline bool ddi_send_fills(const struct ddi_conn *c)
{
	return !c->guarded && !c->tx && !ddi_direct_due(c);
}

/* Messages that a locked connection has sent. */
static inline uint64_t ddi_submitted(const struct ddi_conn *c)
{
	return c->tx ? c->tx->submitted : ddi_load(&c->cell->submitted);
}

#endif /* _DD_DIRECT_TX_H */
