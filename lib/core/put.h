/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * put.h - the short way to send a message
 *
 * Copyright (C) 2026 The dd authors
 *
 * For a message without options or metadata, on a connection whose type does
 * not restrict what may be sent. All others are for ddi_send_general().
 *
 * The shortest way, ddi_put(), is for few words that go directly, and calls
 * nothing. ddi_put_long() goes on with what is longer, ddi_put_kernel() with what
 * is for the kernel to send. What is due, the caller calls last: so no registers
 * are saved.
 */
#ifndef _DD_PUT_H
#define _DD_PUT_H

#include <string.h>
#include <sys/ioctl.h>

#include "direct.h"
#include "internal.h"

/*
 * As many as fit the other end's list may be on their way, but one in any case:
 * the kernel would refuse more as well, this spares a system call.
 */
static DDI_INLINE int ddi_put_room(const struct ddi_conn *c,
				   const struct dd_cell *cell, uint64_t n)
{
	uint64_t pending;

	if (ddi_likely(ddi_equals(&cell->done, n)))
		return 0;
	pending = n - ddi_load(&cell->done);
	if (pending >= ddi_load(&cell->window) || pending >= c->most)
		return -ENOTREADY;
	return 0;
}

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
	if (ddi_unlikely(ddi_load(&cell->error)))
		return -ECONNCLOSE;
	return ddi_put_room(c, cell, n);
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

	/* It is there already, and need not be worked out again. */
	__asm__("" : "+r" (offset));
	if (ddi_unlikely(!c->send) || ddi_unlikely(offset > c->send_size) ||
	    ddi_unlikely(len > c->send_size - offset))
		return -EBADRANGE;
	sqe->src = offset;
	sqe->region = 0;
	return 0;
}

/* Ring the doorbell: > 0 if the request was accepted. */
static DDI_INLINE long ddi_put_ring(const struct dd *h, uint64_t serial)
{
	/* Where a long has 32 bits, the kernel takes the address of a serial. */
	return ioctl(h->fd, DD_IOC_DOORBELL, sizeof(long) < sizeof(serial) ?
		     (unsigned long)&serial : (unsigned long)serial);
}

/**
 * enum ddi_sent - how ddi_put() went
 * @DDI_SENT: the message was accepted
 * @DDI_SENT_WAKE: the same, and ddi_lock_wake() is due
 * @DDI_SENT_AFTER: it was sent directly, and ddi_put_after() is due; the
 *	connection is locked
 * @DDI_SENT_LONG: nothing was done; ddi_put_long() is due, the connection is
 *	locked, and sends directly
 * @DDI_SENT_KERNEL: nothing was done; ddi_put_kernel() is due, the connection is
 *	locked but where ddi_alone()
 * @DDI_REFUSED: it was refused; ddi_put_refused() is due
 * @DDI_NOT_PLAIN: nothing was done; the connection is locked, if there is one
 */
enum ddi_sent {
	DDI_SENT,
	DDI_SENT_WAKE,
	DDI_SENT_AFTER,
	DDI_SENT_LONG,
	DDI_SENT_KERNEL,
	DDI_REFUSED,
	DDI_NOT_PLAIN,
};

static DDI_INLINE bool ddi_put_up(const struct ddi_out *out)
{
	return ddi_likely(ddi_test(&out->head->node_up, 1));
}

/* On to what wants the connection locked. */
static DDI_INLINE enum ddi_sent ddi_put_on(struct ddi_conn *c, bool alone,
					   enum ddi_sent sent)
{
	if (alone)
		ddi_lock_alone(&c->lock);
	return sent;
}

/* A message that fits is in place: tell of it. */
static DDI_INLINE enum ddi_sent ddi_put_post(struct ddi_conn *c,
					     struct ddi_out *out, size_t len,
					     size_t roffset, uint64_t word,
					     bool alone)
{
	const struct ddi_request rq = {
		.len = len,
		.roffset = roffset,
	};

	ddi_out_post(out, &rq, &c->consumed, word, alone);
	if (ddi_unlikely(ddi_out_awaited(out)) ||
	    ddi_unlikely(!ddi_out_is_open(out)))
		return ddi_put_on(c, alone, DDI_SENT_AFTER);
	if (alone)
		return DDI_SENT;
	return ddi_unlikely(ddi_unlock_mb(&c->lock)) ? DDI_SENT_WAKE : DDI_SENT;
}

/* Of a table with an entry for each 8 bytes. */
static DDI_INLINE const uint64_t *ddi_put_entry(const uint64_t *table, size_t len)
{
	return (const uint64_t *)((const char *)table + len);
}

/* The same, of a length that is one of those of &ddi_out.room; nothing is sure. */
static DDI_INLINE enum ddi_sent ddi_put_out(struct ddi_conn *c,
					    struct ddi_out *out,
					    const char *addr, size_t len,
					    size_t roffset, bool alone)
{
	uintptr_t offset = (uintptr_t)addr - (uintptr_t)out->source;
	uint64_t n;

	if (ddi_unlikely(offset >= *ddi_put_entry(out->source_room, len - 8)))
		return ddi_put_on(c, alone, DDI_NOT_PLAIN);
	if (ddi_unlikely(roffset >= *ddi_put_entry(out->room - 1, len)) ||
	    !ddi_put_up(out))
		return ddi_put_on(c, alone, DDI_NOT_PLAIN);
	n = out->submitted;
	/* With a window of 1 that is each second time, so it is not unlikely. */
	if (ddi_unlikely(roffset & 7) ||
	    (ddi_likely(n == out->limit) &&
	     ddi_unlikely(!ddi_out_drained(out, n))))
		return ddi_put_on(c, alone, DDI_SENT_LONG);
	return ddi_put_post(c, out, len, roffset,
			    ddi_deposit_short(out->block + roffset, addr, len),
			    alone);
}

/**
 * ddi_put() - send a plain message
 * @h: handle; without @ddi_alive(), for a child of fork() finds no connection
 * @id: connection
 * @addr: source
 * @len: bytes
 * @roffset: where to
 * @conn: the connection, if it is locked or something is due, or NULL
 * @alone: as ddi_alone(); constant
 *
 * Return: how it went.
 */
static DDI_INLINE enum ddi_sent ddi_put(struct dd *h, uint32_t id,
					const void *addr, size_t len,
					size_t roffset, struct ddi_conn **conn,
					bool alone)
{
	struct ddi_conn *c = ddi_table_get(h->board.conns, id);
	struct ddi_out *out;

	*conn = NULL;
	if (ddi_unlikely(!c) ||
	    (!alone && ddi_unlikely(!ddi_trylock(&c->lock))))
		return DDI_NOT_PLAIN;
	*conn = c;
	if (ddi_unlikely(DD_SERIAL_ID(c->serial) != id))
		return ddi_put_on(c, alone, DDI_NOT_PLAIN);
	/*
	 * Only a real one ever goes on, and is written to. Whether the cell is still
	 * this connection's is asked when the message is in place.
	 */
	out = (struct ddi_out *)c->way;
	if (!ddi_cell_goes_on(out->cell))
		return c->out ? ddi_put_on(c, alone, DDI_NOT_PLAIN) :
				DDI_SENT_KERNEL;
	/* A multiple of 8 that is neither 0 nor too long. */
	if (ddi_unlikely((len - 8) & ~(DDI_COPY_SHORT - 8ul)))
		return ddi_put_on(c, alone, DDI_SENT_LONG);
	return ddi_put_out(c, out, addr, len, roffset, alone);
}

/* ddi_put() has found that it is not short: as ddi_put(). */
static DDI_INLINE enum ddi_sent ddi_put_long(struct ddi_conn *c, const void *addr,
					     size_t len, size_t roffset)
{
	struct ddi_out *out = c->out;
	struct dd_sqe unused;

	if (ddi_unlikely(ddi_put_source(c, addr, len, &unused)) ||
	    ddi_unlikely(roffset > out->size) ||
	    ddi_unlikely(len > out->size - roffset) || !ddi_put_up(out) ||
	    ddi_unlikely(ddi_out_full(out)))
		return DDI_NOT_PLAIN;
	return ddi_put_post(c, out, len, roffset,
			    ddi_deposit(out->block + roffset, addr, len), false);
}

/* Likewise that it does not go directly; @alone is as there. */
static DDI_INLINE enum ddi_sent ddi_put_kernel(struct dd *h, struct ddi_conn *c,
					       const void *addr, size_t len,
					       size_t roffset, bool alone)
{
	struct dd_cell *cell = c->cell;
	uint64_t n = ddi_load(&cell->submitted);
	uint64_t serial = c->serial;
	long ret;

	if (!ddi_cell_is_open(cell, c->open) ||
	    ddi_unlikely(ddi_put_room(c, cell, n)) ||
	    ddi_out_asks(n))
		return ddi_put_on(c, alone, DDI_NOT_PLAIN);
	ddi_put_open(cell->sq);
	if (ddi_unlikely(ddi_put_source(c, addr, len, cell->sq)))
		return ddi_put_on(c, alone, DDI_NOT_PLAIN);
	ddi_put_head(cell->sq, 0, 0);
	cell->sq->dst = roffset;
	cell->sq->len = len;
	cell->sq->tag = ddi_load(&c->consumed);
	ddi_store_release(&cell->sq->seq, n + 1);
	ret = ddi_put_ring(h, serial);
	if (ddi_unlikely(ret <= 0)) {
		if (!ret)
			errno = EIO;
		return ddi_put_on(c, alone, DDI_REFUSED);
	}
	if (alone)
		return DDI_SENT;
	return ddi_unlikely(ddi_unlock_mb(&c->lock)) ? DDI_SENT_WAKE : DDI_SENT;
}

/* Inline, they would have the short way save registers. */
#define DDI_NOINLINE	__attribute__((noinline))

DDI_NOINLINE int ddi_put_refused(struct dd *h, struct ddi_conn *c);
DDI_NOINLINE int ddi_put_after(struct dd *h, struct ddi_conn *c,
			       const void *addr, size_t len, size_t roffset);
DDI_NOINLINE int ddi_put_wake(struct ddi_conn *c);
DDI_NOINLINE int ddi_put_not(struct dd *h, int conn, const void *addr,
			     size_t len, size_t roffset, struct ddi_conn *c);
DDI_NOINLINE int ddi_send_general(struct dd *h, int conn, const void *addr,
				  size_t len, size_t roffset,
				  unsigned int options,
				  const unsigned int *meta, size_t metacount);

/* What is due after any of them; as dd_send(). */
static DDI_INLINE int ddi_put_end(enum ddi_sent sent, struct dd *h, int conn,
				  const void *addr, size_t len, size_t roffset,
				  struct ddi_conn *c)
{
	switch (sent) {
	case DDI_SENT:
		return 0;
	case DDI_SENT_WAKE:
		return ddi_put_wake(c);
	case DDI_SENT_AFTER:
		return ddi_put_after(h, c, addr, len, roffset);
	case DDI_REFUSED:
		return ddi_put_refused(h, c);
	default:
		return ddi_put_not(h, conn, addr, len, roffset, c);
	}
}

#endif /* _DD_PUT_H */
