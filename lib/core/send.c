// SPDX-License-Identifier: LGPL-2.1-only
/*
 * send.c - filling a send queue and ringing its doorbell
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>

#include "direct.h"
#include "internal.h"
#include "put.h"

#define SEND_OPTIONS	(DD_SEND_BLOCK | DD_SEND_UNWIRED | DD_SEND_DMA)

/* What is wrong with a request, whatever its connection. */
int ddi_send_check(const struct ddi_request *rq)
{
	const unsigned int both = DD_SEND_UNWIRED | DD_SEND_DMA;

	if (!rq->options && !rq->metacount)
		return 0;
	if (rq->options & ~SEND_OPTIONS || (rq->options & both) == both)
		return -EINVAL;
	if (rq->metacount > DD_META_WORDS || (rq->metacount && !rq->meta))
		return -EINVAL;
	return 0;
}

/* What the type of the connection asks of its connecting end. */
static int check_discipline(const struct ddi_conn *c)
{
	if (!c->guarded)
		return 0;
	if (c->type == DD_TYPE_RPC)
		return -EBADTYPE;
	/* That the other end has closed is said in any case. */
	if (ddi_load_acquire(&c->outstanding) && !ddi_load(&c->cell->error))
		return -ESLOTBUSY;
	return 0;
}

/* Anywhere else than in the connection's own send buffer. Returns DD_SQE_*. */
static int other_source(struct dd *h, const struct ddi_request *rq,
			struct dd_sqe *sqe)
{
	struct dd_buf buf = { 0 };
	int flags = DD_SQE_UNWIRED;

	if (rq->options & DD_SEND_DMA) {
		if (!ddi_region_find(h, rq->addr, rq->len, &buf))
			return -EBADRANGE;
		flags = DD_SQE_REGION;
		sqe->src = buf.offset;
	} else {
		sqe->src = (uintptr_t)rq->addr;
	}
	sqe->region = buf.region;
	return flags;
}

/* What the doorbell's answer means; asked again if a signal came first. */
static int doorbell_result(struct dd *h, uint64_t serial, long ret)
{
	/* errno is of the doorbell. */
	while (ret < 0 && errno == EINTR)
		ret = ddi_put_ring(h, serial);
	if (ret < 0)
		return ddi_error(-errno);
	return ret ? 0 : -EIO;
}

/**
 * ddi_put_refused() - why ddi_put() was refused
 * @h: handle
 * @c: connection, locked; unlocked by this function
 *
 * Call it before anything changes errno.
 *
 * Return: as dd_send().
 */
int ddi_put_refused(struct dd *h, struct ddi_conn *c)
{
	int ret = doorbell_result(h, c->serial, -1);

	ddi_unlock(&c->lock);
	return ret;
}

/* Likewise when it says that more is due: as dd_send(). */
int ddi_put_after(struct dd *h, struct ddi_conn *c, const void *addr,
		  size_t len, size_t roffset)
{
	int ret = ddi_out_after(h, c);

	ddi_unlock(&c->lock);
	return ret;
}

/* Likewise when somebody waits for the connection. */
int ddi_put_wake(struct ddi_conn *c)
{
	ddi_lock_wake(&c->lock);
	return 0;
}

/**
 * ddi_send_closed() - a message is refused, since the other end has closed
 * @h: handle
 * @c: connection, locked
 *
 * The kernel counts replies that are refused: until a server has replied, or has
 * closed, no other user's client gets the block that its request lies in.
 *
 * Return: -ECONNCLOSE.
 */
int ddi_send_closed(struct dd *h, const struct ddi_conn *c)
{
	if (c->service)
		ddi_put_ring(h, c->serial);
	return -ECONNCLOSE;
}

/* Whether it is time to ask whether it may send directly. */
static bool out_due(const struct ddi_conn *c)
{
	uint64_t n;

	if (!c->out_again)
		return !c->out_known;
	n = ddi_load(&c->cell->submitted);
	return ddi_out_asks(n) && n > c->asked;
}

/* Whether a connection, which is locked, sends by the kernel, and just so. */
bool ddi_send_fills(const struct ddi_conn *c)
{
	return !c->guarded && !ddi_is_direct(c) && !out_due(c);
}

/**
 * ddi_send_fill() - make a request for the kernel, but its number
 * @h: handle
 * @c: connection, locked
 * @rq: request, checked as far as the connection does not matter
 * @sqe: where to put it
 *
 * Return: 0; -EBADRANGE if the source is not where it should be.
 */
int ddi_send_fill(struct dd *h, const struct ddi_conn *c,
		  const struct ddi_request *rq, struct dd_sqe *sqe)
{
	int ret;

	if (rq->options & (DD_SEND_UNWIRED | DD_SEND_DMA))
		ret = other_source(h, rq, sqe);
	else
		ret = ddi_put_source(c, rq->addr, rq->len, sqe);
	if (ret < 0)
		return ret;
	ddi_put_head(sqe, ret, rq->metacount);
	sqe->dst = rq->roffset;
	sqe->len = rq->len;
	sqe->tag = rq->tag;
	for (size_t i = 0; i < rq->metacount; i++)
		sqe->meta[i] = rq->meta[i];
	return 0;
}

/**
 * ddi_send_locked() - one request, on a connection that is locked
 * @h: handle
 * @c: connection
 * @rq: request, checked as far as the connection does not matter
 *
 * Whatever the type of the connection: dd_call() has a discipline of its own.
 *
 * Return: as dd_send().
 */
int ddi_send_locked(struct dd *h, struct ddi_conn *c,
		    const struct ddi_request *rq)
{
	struct dd_cell *cell = c->cell;
	struct dd_sqe *sqe;
	uint64_t n;
	int ret;

	if (out_due(c))
		ddi_out_open(h, c);
	if (ddi_is_direct(c))
		return ddi_out_send(h, c, rq);
	n = ddi_load(&cell->submitted);
	sqe = cell->sq;
	ret = ddi_put_check(c, cell, n);
	if (ret)
		return ret == -ECONNCLOSE ? ddi_send_closed(h, c) : ret;
	ddi_put_open(sqe);
	ret = ddi_send_fill(h, c, rq, sqe);
	if (ret)
		return ret;
	ddi_store_release(&sqe->seq, n + 1);
	return doorbell_result(h, c->serial, ddi_put_ring(h, c->serial));
}

/*
 * A split request counts as outstanding before it is sent, since its reply
 * may be consumed by another thread before the system call returns.
 */
static int send_disciplined(struct dd *h, struct ddi_conn *c,
			    const struct ddi_request *rq)
{
	bool split = c->guarded;	/* the other type is refused */
	int ret;

	ret = check_discipline(c);
	if (ret)
		return ret;
	if (split)
		ddi_store(&c->outstanding, 1);
	ret = ddi_send_locked(h, c, rq);
	if (ret && split)
		ddi_store(&c->outstanding, 0);
	return ret;
}

/* The connection is locked; the message that was sent last is waited for. */
static int sent_number(const struct ddi_conn *c, uint64_t *n)
{
	*n = ddi_load(&c->cell->submitted);
	return ddi_is_direct(c) || ddi_load(&c->cell->sent) >= *n;
}

/*
 * @serial: of the connection of the message that is replied to, whose number @rq
 * has; or 0.
 */
static int send_request(struct dd *h, int conn, struct ddi_request *rq,
			uint64_t serial)
{
	struct ddi_conn *c;
	uint64_t n = 0;
	int ret, sent = 1;

	ret = ddi_send_check(rq);
	if (ret)
		return ret;
	c = ddi_conn_lock(h, conn);
	if (!c)
		return -EBADID;
	if (!serial) {
		rq->tag = ddi_load(&c->consumed);
		serial = c->serial;
	}
	/* Else the id is another connection's by now. */
	ret = c->serial == serial ? send_disciplined(h, c, rq) : -EBADID;
	if (!ret && rq->options & DD_SEND_BLOCK)
		sent = sent_number(c, &n);
	ddi_unlock(&c->lock);

	if (!sent)
		ret = ddi_conn_wait(h, serial, DD_WAIT_SENT, n, DD_FOREVER);
	return ret;
}

/**
 * ddi_send_general() - send whatever it is
 * @h: as for dd_send(), and so on
 * @conn: likewise
 * @addr: likewise
 * @len: likewise
 * @roffset: likewise
 * @options: likewise
 * @meta: likewise
 * @metacount: likewise
 *
 * Return: as dd_send().
 */
int ddi_send_general(struct dd *h, int conn, const void *addr, size_t len,
		     size_t roffset, unsigned int options,
		     const unsigned int *meta, size_t metacount)
{
	struct ddi_request rq = {
		.addr = addr,
		.len = len,
		.roffset = roffset,
		.options = options,
		.meta = meta,
		.metacount = metacount,
	};

	if (!ddi_alive(h))
		return -EBADID;
	return send_request(h, conn, &rq, 0);
}

/* A plain message was not for ddi_put(); @c is locked, or NULL. */
int ddi_put_not(struct dd *h, int conn, const void *addr, size_t len,
		size_t roffset, struct ddi_conn *c)
{
	if (c)
		ddi_unlock(&c->lock);
	return ddi_send_general(h, conn, addr, len, roffset, 0, NULL, 0);
}

static __attribute__((noinline)) int
send_long(struct dd *h, int conn, const void *addr, size_t len, size_t roffset,
	  struct ddi_conn *c)
{
	return ddi_put_end(ddi_put_long(c, addr, len, roffset), h, conn, addr,
			   len, roffset, c);
}

static __attribute__((noinline)) int
send_kernel(struct dd *h, int conn, const void *addr, size_t len,
	    size_t roffset, struct ddi_conn *c)
{
	return ddi_put_end(ddi_put_kernel(h, c, addr, len, roffset, true), h,
			   conn, addr, len, roffset, c);
}

/* By one of several threads. */
static __attribute__((noinline)) int
send_kernel_shared(struct dd *h, int conn, const void *addr, size_t len,
		   size_t roffset, struct ddi_conn *c)
{
	return ddi_put_end(ddi_put_kernel(h, c, addr, len, roffset, false), h,
			   conn, addr, len, roffset, c);
}

static DDI_INLINE int send_as(struct dd *h, int conn, const void *addr,
			      size_t len, size_t roffset, bool alone)
{
	struct ddi_conn *c;
	enum ddi_sent sent = ddi_put(h, conn, addr, len, roffset, &c, alone);

	if (sent == DDI_SENT_KERNEL)
		return alone ? send_kernel(h, conn, addr, len, roffset, c) :
			       send_kernel_shared(h, conn, addr, len, roffset, c);
	if (sent == DDI_SENT_LONG)
		return send_long(h, conn, addr, len, roffset, c);
	return ddi_put_end(sent, h, conn, addr, len, roffset, c);
}

/* By one of several threads. */
static __attribute__((noinline)) int
send_shared(struct dd *h, int conn, const void *addr, size_t len,
	    size_t roffset)
{
	return send_as(h, conn, addr, len, roffset, false);
}

DD_API int dd_send(struct dd *h, int conn, const void *addr, size_t len,
		   size_t roffset, unsigned int options,
		   const unsigned int *meta, size_t metacount)
{
	if (ddi_unlikely(!h) || ddi_unlikely(options | metacount))
		return ddi_send_general(h, conn, addr, len, roffset, options,
					meta, metacount);
	if (!ddi_alone())
		return send_shared(h, conn, addr, len, roffset);
	return send_as(h, conn, addr, len, roffset, true);
}

DD_API int dd_reply(struct dd *h, const struct dd_msg *msg, const void *addr,
		    size_t len, size_t roffset, unsigned int options)
{
	struct ddi_request rq = {
		.addr = addr,
		.len = len,
		.roffset = roffset,
		.options = options,
	};

	if (!ddi_alive(h))
		return -EBADID;
	if (!msg || msg->type != DD_MSG_DATA)
		return -EINVAL;
	if (DD_SERIAL_ID(msg->serial) != (uint32_t)msg->conn)
		return -EBADID;
	rq.tag = msg->msgid;
	return send_request(h, msg->conn, &rq, msg->serial);
}

static bool counter_reached(const struct ddi_look *look)
{
	return ddi_load_acquire(look->word) >= look->value;
}

static bool counter_stirred(const struct ddi_look *look)
{
	const struct dd_cell *cell = look->place;

	/* It may have grown beyond what was waited for. */
	return counter_reached(look) || ddi_load(&cell->error) ||
	       ddi_load(&cell->conn) != look->id;
}

/* As dd_done(), of a connection that is locked and sends directly. */
static int done_direct(struct dd *h, struct ddi_conn *c, unsigned int what,
		       int64_t timeout)
{
	int ret = what == DD_DONE_SENT || !ddi_out_full(c->out) ||
		  ddi_load(&c->cell->error);

	if (ret || !timeout) {
		ddi_unlock(&c->lock);
		return ret;
	}
	ret = ddi_out_wait(h, c, c->serial, c->out->submitted,
			   ddi_deadline(timeout));
	return ret ? ret : 1;
}

#define DONE_DIRECT	2

/* What to look at: 1 it is so already, 0 not yet. */
static int done_look(struct dd *h, int conn, unsigned int what,
		     struct ddi_look *look, struct ddi_conn **conn_out)
{
	struct ddi_conn *c = ddi_conn_lock(h, conn);
	int ret;

	if (!c)
		return -EBADID;
	*conn_out = c;
	if (ddi_is_direct(c))
		return DONE_DIRECT;
	look->id = c->serial;
	look->place = c->cell;
	look->over = counter_stirred;
	look->word = what == DD_DONE_PLACED ? &c->cell->done : &c->cell->sent;
	look->value = ddi_load(&c->cell->submitted);
	ret = counter_reached(look);
	if (!ret && ddi_load(&c->cell->error))
		ret = -ECONNCLOSE;
	ddi_unlock(&c->lock);
	return ret;
}

DD_API int dd_done(struct dd *h, int conn, unsigned int what, int64_t timeout)
{
	struct ddi_look look;
	struct ddi_conn *c;
	int64_t start, deadline;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	if (what > DD_DONE_PLACED)
		return -EINVAL;
	ret = done_look(h, conn, what, &look, &c);
	if (ret == DONE_DIRECT)
		return done_direct(h, c, what, timeout);
	if (ret || !timeout)
		return ret;

	deadline = ddi_deadline(timeout);
	if (ddi_spin(h, &c->spin, deadline, &look, &start)) {
		if (counter_reached(&look))
			return 1;
		start = ddi_now();
	}
	ret = ddi_conn_wait(h, look.id, what == DD_DONE_PLACED ? DD_WAIT_DONE :
								 DD_WAIT_SENT,
			    look.value, deadline);
	ddi_spin_slept(&c->spin, start);
	return ret ? ret : 1;
}
