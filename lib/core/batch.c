// SPDX-License-Identifier: LGPL-2.1-only
/*
 * batch.c - many messages for one system call
 *
 * Copyright (C) 2026 The dd authors
 *
 * Messages that the kernel sends are collected, and submitted before one that goes
 * directly or that must not follow a refused message: the messages accepted are always
 * the first ones. Their connections stay locked meanwhile. A thread waits for a lock
 * only while it holds none, so that several threads may send on the same connections in
 * any order.
 */
#include <limits.h>

#include "direct_tx.h"
#include "error.h"

#define BATCH_MAX	64	/* include/dd.h says so, too */

struct ddi_batch {
	struct dd *h;
	size_t accepted;	/* messages, of all */
	uint32_t count;		/* messages collected since */
	uint32_t held;		/* connections locked */
	struct ddi_conn *conns[BATCH_MAX];
	struct dd_request requests[BATCH_MAX];
};

static void batch_release(struct ddi_batch *b)
{
	while (b->held) {
		struct ddi_conn *c = b->conns[--b->held];

		c->batched = 0;
		ddi_store(&c->batch, NULL);
		ddi_unlock(&c->lock);
	}
}

/* Submit up to the first one that is refused. Returns 0, or why it was refused. */
static int batch_submit(struct ddi_batch *b)
{
	uint32_t done = 0;
	int ret = 0;

	while (done < b->count && !ret) {
		struct dd_submit s = {
			.size = sizeof(s),
			.requests = (uintptr_t)&b->requests[done],
			.count = b->count - done,
			.stride = sizeof(b->requests[0]),
		};

		ret = ddi_ioctl(b->h, DD_IOC_SUBMIT, &s);
		if (ret >= 0)
			ret = -(int)s.error;
		done += s.taken;
		/* Interrupted by a signal: submit the rest. */
		if (ret == -EINTR)
			ret = 0;
	}
	b->accepted += done;
	b->count = 0;
	return ret ? ddi_error(ret) : 0;
}

/* Submit what was collected, and unlock all connections. */
static int batch_flush(struct ddi_batch *b)
{
	int ret = b->count ? batch_submit(b) : 0;

	batch_release(b);
	return ret;
}

/*
 * Lock one more connection. Returns 0 with *@conn NULL if its messages are not for the
 * batch, but for dd_send().
 */
static int batch_lock(struct ddi_batch *b, uint32_t id, struct ddi_conn **conn)
{
	struct ddi_conn *c = *conn;
	int ret;

	if (ddi_load(&c->batch) == b && DD_SERIAL_ID(c->serial) == id)
		return 0;
	*conn = NULL;
	if (!ddi_trylock(&c->lock)) {
		ret = batch_flush(b);
		if (ret)
			return ret;
		ddi_lock(&c->lock);
	}
	if (!ddi_conn_is(c, id) || !ddi_send_fills(c)) {
		ddi_unlock(&c->lock);
		return 0;
	}
	ddi_store(&c->batch, b);
	b->conns[b->held++] = c;
	*conn = c;
	return 0;
}

/*
 * As ddi_send_may(). Within a node it is not known before the kernel executes the
 * collected messages how many of them stay in flight; it then refuses those that follow.
 */
static int batch_check(const struct ddi_batch *b, const struct ddi_conn *c)
{
	const struct dd_area_head *head = (void *)b->h->area;
	const struct dd_cell *cell = c->cell;
	int ret;

	if (c->batched && ddi_load(&cell->node) == ddi_load(&head->node))
		return 0;
	ret = ddi_send_may(c, ddi_load(&cell->submitted) + c->batched);
	return ret == -ECONNCLOSE ? ddi_send_closed(b->h, c) : ret;
}

static int batch_add(struct ddi_batch *b, struct ddi_conn *c,
		     const struct ddi_request *rq)
{
	struct dd_request *r = &b->requests[b->count];
	int ret = batch_check(b, c);

	if (ret)
		return ret;
	r->conn = c->serial;
	r->sqe.seq = 0;
	ret = ddi_send_fill(b->h, c, rq, &r->sqe);
	if (ret)
		return ret;
	c->batched++;
	b->count++;
	return b->count == BATCH_MAX ? batch_flush(b) : 0;
}

/* Send one message alone, after those before it. */
static int batch_single(struct ddi_batch *b, const struct dd_send_msg *m)
{
	int ret = b->held ? batch_flush(b) : 0;

	if (!ret)
		ret = dd_send(b->h, m->conn, m->addr, m->len, m->roffset,
			      m->options, m->meta, m->metacount);
	b->accepted += !ret;
	return ret;
}

/* Returns 0, or the error of this message or of one before it. */
static int batch_send(struct ddi_batch *b, const struct dd_send_msg *m)
{
	struct ddi_conn *c = ddi_table_get(b->h->board.conns, m->conn);
	struct ddi_request rq = {
		.addr = m->addr,
		.len = m->len,
		.roffset = m->roffset,
		.options = m->options,
		.meta = m->meta,
		.metacount = m->metacount,
	};
	int ret;

	if (m->options & DD_SEND_BLOCK)
		return -EINVAL;
	/* A hint that it goes directly; dd_send() is right in either case. */
	if (!c || ddi_load(&c->tx))
		return batch_single(b, m);
	ret = ddi_send_check(&rq);
	if (!ret)
		ret = batch_lock(b, m->conn, &c);
	if (ret)
		return ret;
	if (!c)
		return batch_single(b, m);
	rq.tag = ddi_load(&c->got);
	return batch_add(b, c, &rq);
}

DD_API int dd_sendv(struct dd *h, const struct dd_send_msg *msgs, size_t count,
		    int *error)
{
	struct ddi_batch b;
	int ret = 0, first;

	if (!ddi_alive(h))
		return -EBADID;
	if (count > INT_MAX || (count && !msgs))
		return -EINVAL;
	/* The arrays are written before they are read. */
	b.h = h;
	b.accepted = b.count = b.held = 0;
	for (size_t i = 0; i < count && !ret; i++)
		ret = batch_send(&b, &msgs[i]);
	/* The submission may refuse a message before that one. */
	first = batch_flush(&b);
	if (error)
		*error = first ? first : ret;
	return b.accepted;
}
