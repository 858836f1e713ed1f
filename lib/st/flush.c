// SPDX-License-Identifier: LGPL-2.1-only
/*
 * flush.c - st_flush()
 *
 * Copyright (C) 2026 The dd authors
 *
 * A header counts as sent when it is inside the other end's window: then the other end finds it
 * whatever happens to this one. Of the STUs of a call at most the last one, which has the header, is
 * not sent yet, if the bytes are in place. Data may be under way to another node: then none of its STUs
 * was sent.
 */
#include <errno.h>
#include <time.h>

#include "flush.h"
#include "remote.h"
#include "send.h"

void st_flush_wake(struct st_end *e)
{
	pthread_mutex_lock(&e->lock);
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

/* Whether Data, or the report that silent Data was refused, is under way. */
static bool under_way(const struct st_end *e)
{
	return __atomic_load_n(&e->under_way, __ATOMIC_SEQ_CST) || __atomic_load_n(&e->bad, __ATOMIC_RELAXED);
}

/* Find out whether it has arrived. Another sender finds out itself. */
static void settle_look(struct st_end *e)
{
	if (under_way(e) && ddi_trylock(&e->order)) {
		st_settle(e, false);
		ddi_unlock(&e->order);
	}
}

/* Wait for it, or a moment for another sender, which may wait for the window. */
static int settle_wait(struct st_end *e)
{
	int error = 0;

	if (!ddi_lock_until(&e->order, st_now() + ST_SLICE_NS)) {
		error = st_settle(e, true);
		ddi_unlock(&e->order);
	}
	return error;
}

/*
 * What was sent. @pending: messages that are not inside the window yet; @first: the number of the
 * first one of these. Returns ECONNRESET if the other end has closed.
 */
static int sent(struct st_end *e, int64_t *count, uint64_t *pending, uint64_t *first)
{
	struct dd_conn_desc desc = { };
	int64_t submitted;
	int error = 0;

	*pending = *first = 0;
	settle_look(e);
	pthread_mutex_lock(&e->lock);
	/* In this order: Data is under way before it is submitted. */
	submitted = __atomic_load_n(&e->submitted, __ATOMIC_SEQ_CST);
	submitted -= __atomic_load_n(&e->under_way, __ATOMIC_SEQ_CST);
	if (dd_done(e->h, e->conn, DD_DONE_PLACED, 0) != 1) {
		if (dd_conn_info(e->h, e->conn, &desc) || desc.closed)
			error = ECONNRESET;
		*pending = desc.submitted - desc.done;
		*first = desc.done + 1;
	}
	submitted -= *pending;
	/* Another thread may have sent a message, and not counted it yet. */
	if (submitted > e->counted)
		e->counted = submitted;
	*count = e->counted;
	pthread_mutex_unlock(&e->lock);
	return error;
}

static bool closed(struct st_end *e)
{
	struct dd_conn_desc desc;

	return dd_conn_info(e->h, e->conn, &desc) || desc.closed;
}

/* Wait a moment for other threads to send up to @threshold: 0, or the connection has ended. */
static int flush_others(struct st_end *e, int64_t threshold)
{
	int64_t end = st_now() + ST_SLICE_NS;
	const struct timespec t = { end / 1000000000, end % 1000000000 };

	pthread_mutex_lock(&e->lock);
	__atomic_add_fetch(&e->waiting, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&e->submitted, __ATOMIC_SEQ_CST) < threshold &&
	    e->state == ST_CONNECTED)
		pthread_cond_timedwait(&e->changed, &e->lock, &t);
	__atomic_sub_fetch(&e->waiting, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&e->lock);
	return closed(e) ? ECONNRESET : 0;
}

static int flush(struct st_end *e, int64_t threshold, int64_t *count)
{
	uint64_t pending, first;
	int error, ret;

	for (;;) {
		error = sent(e, count, &pending, &first);
		if (threshold < 0 ? !pending && !under_way(e) : *count >= threshold)
			return 0;
		if (!error && st_state(e) != ST_CONNECTED)
			error = ENOTCONN;
		if (error)
			return error;
		if (under_way(e)) {
			error = settle_wait(e);
		} else if (pending) {
			/* The last one that is needed. */
			if (threshold >= 0 && pending > (uint64_t)(threshold - *count))
				pending = threshold - *count;
			ret = ddi_placed(e->h, e->conn, first + pending - 1, DD_FOREVER);
			error = ret < 0 ? ECONNRESET : 0;
		} else {
			error = flush_others(e, threshold);
		}
		if (error)
			return error;
	}
}

ST_API int st_flush(st_chandle_t *chandle, int64_t threshold, int64_t *count)
{
	struct st_end *e = st_enter(chandle);
	int64_t n = 0;
	int error;

	if (!e)
		return EBADF;
	if (st_state(e) != ST_CONNECTED)
		return st_leave(e, ENOTCONN);
	error = flush(e, threshold < -1 ? 0 : threshold, &n);
	if (threshold < -1)
		error = EINVAL;
	if (count)
		*count = n;
	return st_leave(e, error);
}
