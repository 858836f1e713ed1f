// SPDX-License-Identifier: LGPL-2.1-only
/*
 * batch.c - many messages for one system call
 *
 * Copyright (C) 2026 The dd authors
 *
 * Messages that the kernel sends are collected, and submitted before one that goes
 * directly or that must not follow a refused message: the messages accepted are always
 * the first ones. Their connections stay locked meanwhile, so that no other thread gets
 * a direct path for one. A thread waits for a lock only while it holds none, so that
 * several threads may send on the same connections in any order.
 */
#include <limits.h>

#include "dev.h"
#include "error.h"
#include "send.h"

#define BATCH_MAX	64	/* include/dd.h says so, too */

struct ddi_batch {
	struct dd *h;
	size_t accepted;	/* messages, of all */
	uint32_t count;		/* messages collected since */
	uint32_t held;		/* connections locked */
	struct ddi_conn *conns[BATCH_MAX];
	struct dd_request requests[BATCH_MAX];
};

/*
 * Submit what was collected up to the first message that is refused, and unlock all
 * connections. Returns 0, or why it was refused.
 */
static int batch_flush(struct ddi_batch *b)
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
	while (b->held) {
		struct ddi_conn *c = b->conns[--b->held];

		ddi_store(&c->batch, NULL);
		ddi_unlock(&c->lock);
	}
	return ret ? ddi_error(ret) : 0;
}

/*
 * Lock the connection of a message. Returns 0 with *@conn NULL if the message is not
 * for the batch, but for dd_send().
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
	if (!ddi_conn_is(c, id) || c->guarded || c->tx || ddi_direct_due(c)) {
		ddi_unlock(&c->lock);
		return 0;
	}
	ddi_store(&c->batch, b);
	b->conns[b->held++] = *conn = c;
	return 0;
}

/* Send one message alone, after those before it. */
static int batch_single(struct ddi_batch *b, const struct dd_send_msg *m)
{
	int ret = b->held ? batch_flush(b) : 0;

	if (!ret)
		ret = m->options | m->metacount ?
		      dd_send(b->h, m->conn, m->addr, m->len, m->roffset, m->options, m->meta,
			      m->metacount) :
		      ddi_send(b->h, m->conn, m->addr, m->len, m->roffset);
	b->accepted += !ret;
	return ret;
}

/* Returns 0, or the error of this message or of one before it. */
static int batch_send(struct ddi_batch *b, const struct dd_send_msg *m)
{
	struct ddi_conn *c = ddi_table_get(b->h->board.conns, m->conn);
	struct ddi_request rq;
	struct dd_request *r;
	int ret;

	if (m->options & DD_SEND_BLOCK)
		return -EINVAL;
	/* A hint that it goes directly; dd_send() is right in either case. */
	if (!c || ddi_load(&c->tx))
		return batch_single(b, m);
	rq = (struct ddi_request){
		m->addr, m->len, m->roffset, m->options, m->meta, m->metacount, 0
	};
	ret = ddi_send_check(&rq);
	if (!ret)
		ret = batch_lock(b, m->conn, &c);
	if (ret)
		return ret;
	if (!c)
		return batch_single(b, m);
	rq.tag = ddi_load(&c->got);
	/* Behind batch_lock(), which may have submitted those before. */
	r = &b->requests[b->count];
	r->conn = c->serial;
	r->sqe.seq = 0;
	ret = ddi_send_fill(b->h, c, &rq, DD_SQE_NOTIFY, &r->sqe);
	if (ret)
		return ret;
	return ++b->count == BATCH_MAX ? batch_flush(b) : 0;
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
