// SPDX-License-Identifier: LGPL-2.1-only
/*
 * send.c - the send path: by the send queue and its doorbell, or directly
 *
 * Copyright (C) 2026 The dd authors
 */
#include <sys/ioctl.h>

#include "direct_tx.h"
#include "error.h"
#include "region.h"
#include "send.h"

#define SEND_OPTIONS	(DD_SEND_BLOCK | DD_SEND_UNWIRED | DD_SEND_DMA)

/* Check what does not depend on the connection. */
int ddi_send_check(const struct ddi_request *rq)
{
	const unsigned int both = DD_SEND_UNWIRED | DD_SEND_DMA;

	if (ddi_likely(!rq->options && !rq->metacount))
		return 0;
	if (rq->options & ~SEND_OPTIONS || (rq->options & both) == both)
		return -EINVAL;
	if (rq->metacount > DD_META_WORDS || (rq->metacount && !rq->meta))
		return -EINVAL;
	return 0;
}

static DDI_NOINLINE int doorbell_failed(struct dd *h, uint64_t serial, int ret)
{
	while (ret < 0 && errno == EINTR)
		ret = ddi_ioctl_conn(h, DD_IOC_DOORBELL, serial);
	if (ret < 0)
		return ddi_error(-errno);
	return ret ? 0 : -EIO;
}

/* Ring the doorbell. Returns 0, or why the request was refused. */
int ddi_doorbell(struct dd *h, const struct ddi_conn *c)
{
	/* Where a long has 32 bits, the kernel takes the address of the serial. */
	int ret = ioctl(h->fd, DD_IOC_DOORBELL, sizeof(long) < sizeof(c->serial) ?
			(unsigned long)&c->serial : (unsigned long)c->serial);

	return ddi_likely(ret > 0) ? 0 : doorbell_failed(h, c->serial, ret);
}

/*
 * A message is refused because the other end has closed. The kernel counts refused
 * replies: no other user's client gets the block of a request before the server has
 * replied to it or has closed.
 */
int ddi_send_closed(struct dd *h, const struct ddi_conn *c)
{
	if (c->service)
		ddi_doorbell(h, c);
	return -ECONNCLOSE;
}

/* Anywhere but in the connection's own send buffer. Returns DD_SQE_*. */
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

static DDI_INLINE int fill(struct dd *h, const struct ddi_conn *c,
			   const struct ddi_request *rq, struct dd_sqe *sqe)
{
	int flags = 0;

	if (rq->options & (DD_SEND_UNWIRED | DD_SEND_DMA)) {
		flags = other_source(h, rq, sqe);
		if (flags < 0)
			return flags;
	} else {
		/* The kernel checks that this is inside the connection's send buffer. */
		sqe->src = (uintptr_t)rq->addr - (uintptr_t)c->send;
		sqe->region = 0;
	}
	ddi_sqe_head(sqe, DD_SQE_NOTIFY | flags, rq->metacount);
	sqe->dst = rq->roffset;
	sqe->len = rq->len;
	sqe->tag = rq->tag;
	for (size_t i = 0; i < rq->metacount; i++)
		sqe->meta[i] = rq->meta[i];
	return 0;
}

/**
 * ddi_send_fill() - make a queue entry for the kernel, but for its number
 * @h: handle
 * @c: connection, locked
 * @rq: request, which has passed ddi_send_check()
 * @sqe: (out) the entry
 *
 * Return: 0; -EBADRANGE if the source is not where it has to be.
 */
int ddi_send_fill(struct dd *h, const struct ddi_conn *c,
		  const struct ddi_request *rq, struct dd_sqe *sqe)
{
	return fill(h, c, rq, sqe);
}

static DDI_INLINE int send_kernel(struct dd *h, struct ddi_conn *c,
				  const struct ddi_request *rq)
{
	struct dd_sqe *sqe = c->cell->sq;
	uint64_t n = ddi_load(&c->cell->submitted);
	int ret = ddi_send_may(c, n);

	if (ret)
		return ret == -ECONNCLOSE ? ddi_send_closed(h, c) : ret;
	ddi_sqe_open(sqe);
	ret = fill(h, c, rq, sqe);
	if (ret)
		return ret;
	ddi_store_release(&sqe->seq, n + 1);
	return ddi_doorbell(h, c);
}

/*
 * The fast path of a connection that sends by the kernel: without options and metadata.
 * The connection is locked, if not ddi_alone(), and is unlocked here.
 */
int ddi_send_queue(struct dd *h, struct ddi_conn *c, const void *addr, size_t len,
		   size_t roffset)
{
	const struct ddi_request rq = {
		.addr = addr,
		.len = len,
		.roffset = roffset,
		.tag = ddi_load(&c->got),
	};
	int ret = send_kernel(h, c, &rq);

	if (!ddi_alone())
		ddi_unlock(&c->lock);
	return ret;
}

/**
 * ddi_send_locked() - send one message, whatever the connection's type allows
 * @h: handle
 * @c: connection, locked
 * @rq: request, which has passed ddi_send_check()
 *
 * Return: as dd_send().
 */
int ddi_send_locked(struct dd *h, struct ddi_conn *c,
		    const struct ddi_request *rq)
{
	if (ddi_unlikely(!c->tx) && ddi_direct_due(c))
		ddi_direct_open(h, c);
	return c->tx ? ddi_direct_send(h, c, rq) : send_kernel(h, c, rq);
}

/*
 * At the connecting end of RPC and SPLIT. A split request counts as outstanding before
 * it is sent: another thread may consume its reply before the system call returns.
 */
static DDI_NOINLINE int send_guarded(struct dd *h, struct ddi_conn *c,
				     const struct ddi_request *rq)
{
	int ret;

	if (c->type == DD_TYPE_RPC)
		return -EBADTYPE;
	/* A close of the other end is reported in any case. */
	if (ddi_load_acquire(&c->outstanding) && !ddi_load(&c->cell->error))
		return -ESLOTBUSY;
	ddi_store(&c->outstanding, 1);
	ret = ddi_send_locked(h, c, rq);
	if (ret)
		ddi_store(&c->outstanding, 0);
	return ret;
}

/*
 * @serial: of the connection of the message that is replied to, whose number is the
 * tag of @rq; or 0.
 */
static int send_request(struct dd *h, int conn, struct ddi_request *rq,
			uint64_t serial)
{
	struct ddi_conn *c;
	uint64_t n = 0;
	bool wait;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	ret = ddi_send_check(rq);
	if (ret)
		return ret;
	c = ddi_conn_lock(h, conn);
	if (!c)
		return -EBADID;
	if (!serial)
		rq->tag = ddi_load(&c->got);
	if (serial && c->serial != serial)
		ret = -EBADID;	/* The id names another connection by now. */
	else if (ddi_unlikely(c->guarded))
		ret = send_guarded(h, c, rq);
	else
		ret = ddi_send_locked(h, c, rq);
	wait = !ret && rq->options & DD_SEND_BLOCK && !c->tx;
	if (wait) {
		serial = c->serial;
		n = ddi_load(&c->cell->submitted);
		wait = ddi_load(&c->cell->sent) < n;
	}
	ddi_unlock(&c->lock);
	return wait ? ddi_conn_wait(h, serial, DD_WAIT_SENT, n, DD_FOREVER) : ret;
}

/* Send whatever it is. Returns as dd_send(). */
DDI_NOINLINE int ddi_send_general(struct dd *h, int conn, const void *addr, size_t len,
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

	return send_request(h, conn, &rq, 0);
}

DD_API int dd_send(struct dd *h, int conn, const void *addr, size_t len,
		   size_t roffset, unsigned int options,
		   const unsigned int *meta, size_t metacount)
{
	if (ddi_unlikely(options | metacount))
		return ddi_send_general(h, conn, addr, len, roffset, options,
					meta, metacount);
	return ddi_send_fast(h, conn, addr, len, roffset);
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

/* The counter may have grown beyond the value that is waited for. */
static bool counter_over(const struct ddi_look *look)
{
	const struct dd_cell *cell = look->place;

	return counter_reached(look) || ddi_load(&cell->error) ||
	       ddi_load(&cell->conn) != look->id;
}

/* dd_done() of a locked connection that sends directly; unlocks it. */
static int done_direct(struct dd *h, struct ddi_conn *c, unsigned int what,
		       int64_t timeout)
{
	int ret = what == DD_DONE_SENT || !ddi_direct_full(c->tx) ||
		  ddi_load(&c->cell->error);

	if (ret || !timeout) {
		ddi_unlock(&c->lock);
		return ret;
	}
	ret = ddi_direct_wait(h, c, c->tx->submitted, ddi_deadline(timeout));
	return ret ? ret : 1;
}

DD_API int dd_done(struct dd *h, int conn, unsigned int what, int64_t timeout)
{
	struct ddi_look look = { .over = counter_over };
	int64_t start, deadline;
	struct ddi_conn *c;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	if (what > DD_DONE_PLACED)
		return -EINVAL;
	c = ddi_conn_lock(h, conn);
	if (!c)
		return -EBADID;
	if (c->tx)
		return done_direct(h, c, what, timeout);
	look.id = c->serial;
	look.place = c->cell;
	look.word = what == DD_DONE_PLACED ? &c->cell->done : &c->cell->sent;
	look.value = ddi_load(&c->cell->submitted);
	ret = counter_reached(&look);
	if (!ret && ddi_load(&c->cell->error))
		ret = -ECONNCLOSE;
	ddi_unlock(&c->lock);
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
