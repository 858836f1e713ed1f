/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * put.h - the short way to send a message
 *
 * Copyright (C) 2026 The dd authors
 *
 * For a message without options or metadata, on a connection whose type does
 * not restrict what may be sent. All others are for ddi_send_general().
 */
#ifndef _DD_PUT_H
#define _DD_PUT_H

#include <string.h>
#include <unistd.h>

#include "direct.h"
#include "internal.h"

/**
 * ddi_put_check() - may there be another request?
 * @c: connection, locked
 * @cell: its cell
 * @n: number of requests accepted so far
 *
 * Return: 0; -ECONNCLOSE, -ENOTREADY.
 */
static DDI_INLINE int ddi_put_check(const struct ddi_conn *c,
				    const struct dd_cell *cell, uint64_t n)
{
	uint64_t pending = n - ddi_load(&cell->done);

	if (ddi_unlikely(ddi_load(&cell->error)))
		return -ECONNCLOSE;
	/*
	 * As many as fit the other end's list may be on their way, but one in
	 * any case: the kernel would refuse more as well, this spares a system
	 * call.
	 */
	if (ddi_unlikely(pending) &&
	    (pending >= ddi_load(&cell->window) || pending >= c->most))
		return -ENOTREADY;
	return 0;
}

/* A refused request may have left its number, which is the next one's. */
static DDI_INLINE void ddi_put_open(struct dd_sqe *sqe)
{
	ddi_store(&sqe->seq, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* The first words of an entry, in one. */
static DDI_INLINE void ddi_put_head(struct dd_sqe *sqe, __u8 flags, __u8 words)
{
	const __u8 head[8] = { DD_OP_PUT, DD_SQE_NOTIFY | flags, words };

	memcpy(&sqe->opcode, head, sizeof(head));
}

/* From the connection's own send buffer. */
static DDI_INLINE int ddi_put_source(const struct ddi_conn *c, const void *addr,
				     size_t len, struct dd_sqe *sqe)
{
	uintptr_t offset = (uintptr_t)addr - (uintptr_t)c->send;

	if (ddi_unlikely(!c->send) || ddi_unlikely(offset > c->send_size) ||
	    ddi_unlikely(len > c->send_size - offset))
		return -EBADRANGE;
	sqe->src = offset;
	sqe->region = 0;
	return 0;
}

/* DD_IOC_DOORBELL by the door that costs less: > 0 if it was accepted. */
static DDI_INLINE long ddi_put_ring(const struct dd *h, uint32_t id)
{
	return lseek(h->fd, id, SEEK_SET);
}

/**
 * enum ddi_sent - how ddi_put() went
 * @DDI_SENT: the message was accepted
 * @DDI_SENT_WAKE: the same, and ddi_lock_wake() is due
 * @DDI_SENT_AFTER: it was sent directly, and ddi_put_after() is due; the
 *	connection is locked
 * @DDI_REFUSED: it was not; ddi_put_refused() is due
 * @DDI_NOT_PLAIN: nothing was done, and no lock is held
 * @DDI_NOT_PLAIN_LOCKED: nothing was done, the connection is locked
 *
 * What is due is for the caller to call last, so that the short way saves few
 * registers.
 */
enum ddi_sent {
	DDI_SENT,
	DDI_SENT_WAKE,
	DDI_SENT_AFTER,
	DDI_REFUSED,
	DDI_NOT_PLAIN,
	DDI_NOT_PLAIN_LOCKED,
};

/* ddi_put() of a connection, locked, that sends directly. */
static DDI_INLINE enum ddi_sent
ddi_put_direct(struct dd *h, struct ddi_conn *c, uint32_t id, const void *addr,
	       size_t len, size_t roffset)
{
	const struct dd_area_head *head = (void *)h->area;
	struct dd_cell *cell = c->cell;
	struct ddi_out *out = c->out;
	uintptr_t offset = (uintptr_t)addr - out->source;
	const struct ddi_request rq = {
		.len = len,
		.roffset = roffset,
		.tag = ddi_load(&c->consumed),
	};
	uint64_t word;

	/* Anything unusual is for ddi_out_send() to name; a close, for later. */
	if (ddi_unlikely(ddi_out_full(out)) ||
	    ddi_unlikely(!ddi_load(&head->node_up)) ||
	    ddi_unlikely(offset > out->source_size) ||
	    ddi_unlikely(len > out->source_size - offset) ||
	    ddi_unlikely(roffset > out->size) ||
	    ddi_unlikely(len > out->size - roffset))
		return DDI_NOT_PLAIN_LOCKED;
	word = ddi_deposit(out->block + roffset, addr, len);
	if (ddi_unlikely(ddi_out_post(out, cell, id, &rq, word)))
		return DDI_SENT_AFTER;
	return ddi_unlikely(ddi_unlock_mb(&c->lock)) ? DDI_SENT_WAKE : DDI_SENT;
}

/**
 * ddi_put() - send a plain message
 * @h: handle
 * @id: connection
 * @addr: source
 * @len: bytes
 * @roffset: where to
 * @conn: the connection, if it is locked or something is due
 *
 * Return: how it went.
 */
static DDI_INLINE enum ddi_sent ddi_put(struct dd *h, uint32_t id,
					const void *addr, size_t len,
					size_t roffset, struct ddi_conn **conn)
{
	struct ddi_conn *c = ddi_table_get(h->board->conns, id);
	struct dd_cell *cell;
	uint64_t n;
	long ret;

	*conn = c;
	if (ddi_unlikely(!c) || ddi_unlikely(!ddi_trylock(&c->lock)))
		return DDI_NOT_PLAIN;
	if (ddi_unlikely(ddi_load_acquire(&c->id) != id))
		return DDI_NOT_PLAIN_LOCKED;
	cell = c->cell;
	n = ddi_load(&cell->submitted);
	if (ddi_unlikely(ddi_load_acquire(&cell->id) != id) ||
	    ddi_unlikely(c->guarded))
		return DDI_NOT_PLAIN_LOCKED;
	if (c->out)
		return ddi_put_direct(h, c, id, addr, len, roffset);
	if (ddi_unlikely(!c->out_known) ||
	    ddi_unlikely(ddi_load(&cell->depth) != 1) ||
	    ddi_unlikely(ddi_put_check(c, cell, n)))
		return DDI_NOT_PLAIN_LOCKED;
	ddi_put_open(cell->sq);
	if (ddi_unlikely(ddi_put_source(c, addr, len, cell->sq)))
		return DDI_NOT_PLAIN_LOCKED;
	ddi_put_head(cell->sq, 0, 0);
	cell->sq->dst = roffset;
	cell->sq->len = len;
	cell->sq->tag = ddi_load(&c->consumed);
	ddi_store_release(&cell->sq->seq, n + 1);
	ret = ddi_put_ring(h, id);
	if (ddi_unlikely(ret <= 0)) {
		if (!ret)
			errno = EIO;
		return DDI_REFUSED;
	}
	return ddi_unlikely(ddi_unlock_mb(&c->lock)) ? DDI_SENT_WAKE : DDI_SENT;
}

int ddi_put_refused(struct dd *h, struct ddi_conn *c);
int ddi_put_after(struct dd *h, struct ddi_conn *c);
int ddi_send_general(struct dd *h, int conn, const void *addr, size_t len,
		     size_t roffset, unsigned int options,
		     const unsigned int *meta, size_t metacount,
		     struct ddi_conn *locked);

/* dd_send(), inline. */
static DDI_INLINE int ddi_send(struct dd *h, int conn, const void *addr,
			       size_t len, size_t roffset, unsigned int options,
			       const unsigned int *meta, size_t metacount)
{
	struct ddi_conn *c = NULL;

	if (ddi_unlikely(options | metacount) || !ddi_alive(h))
		goto general;
	switch (ddi_put(h, conn, addr, len, roffset, &c)) {
	case DDI_SENT_WAKE:
		ddi_lock_wake(&c->lock);
		return 0;
	case DDI_SENT:
		return 0;
	case DDI_SENT_AFTER:
		return ddi_put_after(h, c);
	case DDI_REFUSED:
		return ddi_put_refused(h, c);
	case DDI_NOT_PLAIN:
		c = NULL;
		break;
	case DDI_NOT_PLAIN_LOCKED:
		break;
	}
general:
	return ddi_send_general(h, conn, addr, len, roffset, options, meta,
				metacount, c);
}

#endif /* _DD_PUT_H */
