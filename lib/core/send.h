/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * send.h - the send path
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_SEND_H
#define _DD_SEND_H

#include <errno.h>

#include "conn.h"
#include "dd_errno.h"

struct ddi_request {
	const void *addr;
	size_t len;
	size_t roffset;
	unsigned int options;
	const unsigned int *meta;
	size_t metacount;
	uint32_t tag;
};

int ddi_send_general(struct dd *h, int conn, const void *addr, size_t len,
		     size_t roffset, unsigned int options,
		     const unsigned int *meta, size_t metacount);
int ddi_send_fast(struct dd *h, int conn, const char *addr, size_t len,
		  size_t roffset);
int ddi_send_check(const struct ddi_request *rq);
int ddi_send_queue(struct dd *h, struct ddi_conn *c, const void *addr, size_t len,
		   size_t roffset);
int ddi_send_fill(struct dd *h, const struct ddi_conn *c,
		  const struct ddi_request *rq, struct dd_sqe *sqe);
int ddi_send_closed(struct dd *h, const struct ddi_conn *c);
int ddi_send_locked(struct dd *h, struct ddi_conn *c,
		    const struct ddi_request *rq);
int ddi_doorbell(struct dd *h, const struct ddi_conn *c);

/*
 * Check for room: as many messages as fit the other end's list may be in flight, but
 * at least one. The kernel would refuse more as well; this saves a system call.
 */
static inline int ddi_send_may(const struct ddi_conn *c, uint64_t n)
{
	const struct dd_cell *cell = c->cell;
	uint64_t pending = n - ddi_load(&cell->done);

	if (ddi_unlikely(ddi_load(&cell->error)))
		return -ECONNCLOSE;
	if (pending && (pending >= ddi_load(&cell->window) || pending >= c->most))
		return -ENOTREADY;
	return 0;
}

/* Open the queue entry: a refused request may have left its number there. */
static inline void ddi_sqe_open(struct dd_sqe *sqe)
{
	ddi_store(&sqe->seq, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Write the first words of a queue entry with one store. */
static inline void ddi_sqe_head(struct dd_sqe *sqe, __u8 flags, __u8 words)
{
	const __u8 head[8] = { DD_OP_PUT, flags, words };

	__builtin_memcpy(&sqe->opcode, head, sizeof(head));
}

#endif /* _DD_SEND_H */
