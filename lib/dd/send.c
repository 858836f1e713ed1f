// SPDX-License-Identifier: LGPL-2.1-only
/*
 * send.c - filling a send queue and ringing its doorbell
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

#define SEND_OPTIONS	(DD_SEND_BLOCK | DD_SEND_UNWIRED | DD_SEND_DMA)

static int check_request(const struct ddi_request *rq)
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
	if (!c->service && c->type == DD_TYPE_RPC)
		return -EBADTYPE;
	/* That the other end has closed is said in any case. */
	if (!c->service && c->type == DD_TYPE_SPLIT &&
	    ddi_load_acquire(&c->outstanding) && !ddi_load(&c->cell->error))
		return -ESLOTBUSY;
	return 0;
}

/* Anywhere else than in the connection's own send buffer. */
static int set_other_source(struct dd *h, const struct ddi_request *rq,
			    struct dd_sqe *sqe)
{
	struct dd_buf buf = { 0 };

	if (rq->options & DD_SEND_DMA) {
		if (!ddi_region_find(h, rq->addr, rq->len, &buf))
			return -EBADRANGE;
		sqe->flags = DD_SQE_NOTIFY | DD_SQE_REGION;
		sqe->src = buf.offset;
	} else {
		sqe->flags = DD_SQE_NOTIFY | DD_SQE_UNWIRED;
		sqe->src = (uintptr_t)rq->addr;
	}
	sqe->region = buf.region;
	return 0;
}

static DDI_INLINE int set_source(struct dd *h, const struct ddi_conn *c,
				 const struct ddi_request *rq,
				 struct dd_sqe *sqe)
{
	uintptr_t offset = (uintptr_t)rq->addr - (uintptr_t)c->send;

	if (rq->options & (DD_SEND_UNWIRED | DD_SEND_DMA))
		return set_other_source(h, rq, sqe);
	if (!c->send || offset > c->send_size ||
	    rq->len > c->send_size - offset)
		return -EBADRANGE;
	sqe->flags = DD_SQE_NOTIFY;
	sqe->src = offset;
	sqe->region = 0;
	return 0;
}

static inline int ring_doorbell(struct dd *h, uint32_t id)
{
	int ret;

	do {
		ret = ddi_doorbell(h, id);
	} while (ret == -EINTR);
	if (ret < 0)
		return ddi_error(ret);
	return ret ? 0 : -EIO;
}

/**
 * send_locked() - one request, on a connection that is locked
 * @h: handle
 * @c: connection
 * @rq: request, checked as far as the connection does not matter
 *
 * The entry after the last accepted one is filled in place; what is refused
 * is overwritten by the next request.
 *
 * Return: as dd_send().
 */
static DDI_INLINE int send_locked(struct dd *h, struct ddi_conn *c,
				const struct ddi_request *rq)
{
	struct dd_cell *cell = c->cell;
	uint64_t n = ddi_load(&cell->submitted);
	uint32_t depth = ddi_load(&cell->depth);
	struct dd_sqe *sqe = &cell->sq[depth > 1 ? n % depth : 0];
	int ret;

	if (ddi_load(&cell->error))
		return -ECONNCLOSE;
	/*
	 * As many as fit the other end's list may be on their way, or one: the
	 * kernel would refuse more as well, this spares a system call.
	 */
	if (n - ddi_load(&cell->done) >= ddi_load(&cell->window))
		return -ENOTREADY;
	/* A refused request may have left this number: no entry until then. */
	ddi_store(&sqe->seq, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	ret = set_source(h, c, rq, sqe);
	if (ret)
		return ret;
	sqe->opcode = DD_OP_PUT;
	sqe->meta_count = rq->metacount;
	sqe->dst = rq->roffset;
	sqe->len = rq->len;
	sqe->tag = rq->tag;
	for (size_t i = 0; i < rq->metacount; i++)
		sqe->meta[i] = rq->meta[i];
	ddi_store_release(&sqe->seq, n + 1);
	return ring_doorbell(h, c->id);
}

/* For dd_call(), whose connection has a discipline of its own. */
int ddi_send_locked(struct dd *h, struct ddi_conn *c,
		    const struct ddi_request *rq)
{
	return send_locked(h, c, rq);
}

/*
 * A split request counts as outstanding before it is sent, since its reply
 * may be consumed by another thread before the system call returns.
 */
static DDI_INLINE int send_disciplined(struct dd *h, struct ddi_conn *c,
				       const struct ddi_request *rq)
{
	bool split = !c->service && c->type == DD_TYPE_SPLIT;
	int ret;

	ret = check_discipline(c);
	if (ret)
		return ret;
	if (split)
		ddi_store(&c->outstanding, 1);
	ret = send_locked(h, c, rq);
	if (ret && split)
		ddi_store(&c->outstanding, 0);
	return ret;
}

/* The connection is locked; the message that was sent last is waited for. */
static int sent_number(const struct ddi_conn *c, uint64_t *n)
{
	*n = ddi_load(&c->cell->submitted);
	return ddi_load(&c->cell->sent) >= *n;
}

static inline int send_request(struct dd *h, int conn, struct ddi_request *rq,
			       bool tagged)
{
	struct ddi_conn *c;
	uint64_t n = 0;
	int ret, sent = 1;

	ret = check_request(rq);
	if (ret)
		return ret;
	c = ddi_conn_lock(h, conn);
	if (!c)
		return -EBADID;
	if (!tagged && c->type == DD_TYPE_RPC)
		rq->tag = ddi_load(&c->consumed);
	ret = send_disciplined(h, c, rq);
	if (!ret && rq->options & DD_SEND_BLOCK)
		sent = sent_number(c, &n);
	ddi_unlock(&c->lock);

	if (!sent)
		ret = ddi_conn_wait(h, conn, DD_WAIT_SENT, n, DD_FOREVER);
	return ret;
}

DD_API int dd_send(struct dd *h, int conn, const void *addr, size_t len,
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
	return send_request(h, conn, &rq, false);
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
	rq.tag = msg->msgid;
	return send_request(h, msg->conn, &rq, true);
}

struct counter_look {
	const __u64 *counter;
	uint64_t value;
	const struct dd_cell *cell;
	uint32_t id;
};

static bool counter_reached(const struct counter_look *look)
{
	return ddi_load_acquire(look->counter) >= look->value;
}

static bool counter_stirred(void *arg)
{
	const struct counter_look *look = arg;

	return counter_reached(look) || ddi_load(&look->cell->error) ||
	       ddi_load(&look->cell->id) != look->id;
}

/* What to look at: 1 it is so already, 0 not yet. */
static int done_look(struct dd *h, int conn, unsigned int what,
		     struct counter_look *look, struct ddi_conn **conn_out)
{
	struct ddi_conn *c = ddi_conn_lock(h, conn);
	int ret;

	if (!c)
		return -EBADID;
	look->id = conn;
	look->cell = c->cell;
	look->counter = what == DD_DONE_PLACED ? &c->cell->done :
						 &c->cell->sent;
	look->value = ddi_load(&c->cell->submitted);
	ret = counter_reached(look);
	if (!ret && ddi_load(&c->cell->error))
		ret = -ECONNCLOSE;
	ddi_unlock(&c->lock);
	*conn_out = c;
	return ret;
}

DD_API int dd_done(struct dd *h, int conn, unsigned int what, int64_t timeout)
{
	struct counter_look look;
	struct ddi_conn *c;
	int64_t start, deadline;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	if (what > DD_DONE_PLACED)
		return -EINVAL;
	ret = done_look(h, conn, what, &look, &c);
	if (ret || !timeout)
		return ret;

	start = ddi_now();
	deadline = ddi_deadline(timeout);
	if (ddi_spin(h, &c->spin, deadline, counter_stirred, &look) &&
	    counter_reached(&look))
		return 1;
	ret = ddi_conn_wait(h, conn, what == DD_DONE_PLACED ? DD_WAIT_DONE :
							      DD_WAIT_SENT,
			    look.value, deadline);
	ddi_spin_slept(&c->spin, start);
	return ret ? ret : 1;
}
