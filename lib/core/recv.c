// SPDX-License-Identifier: LGPL-2.1-only
/*
 * recv.c - consuming messages, looking at them, and remote procedure calls
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "direct.h"
#include "internal.h"
#include "take.h"

#define NSEC_PER_SEC	1000000000ll

#define RECV_OPTIONS	(DD_RECV_SLEEP | DD_RECV_INTR)

/**
 * ddi_recv_round() - receive what ddi_take() does not, or wait once
 * @h: handle, alive
 * @list: note list
 * @msg: filled in if there is a message
 * @options: of dd_recv()
 * @timeout: likewise
 * @deadline: 0 at first, then kept by this function
 *
 * Return: 1 a message, 0 none but look again, or what dd_recv() returns when
 * there is none.
 */
int ddi_recv_round(struct dd *h, int list, struct dd_msg *msg,
		   unsigned int options, int64_t timeout, int64_t *deadline)
{
	struct ddi_list *l;
	int ret;

	l = ddi_list_find(h, list);
	if (!l)
		return -EBADID;
	ret = ddi_list_next(h, l, list, true, msg);
	if (ret)
		return ret;
	if (!timeout)
		return -EWOULDBLOCK;
	if (!*deadline)
		*deadline = ddi_deadline(timeout);
	else if (ddi_passed(*deadline))
		/* Who writes void notes may have ended each wait before. */
		return -ETIMEDOUT;
	return ddi_list_wait(h, l, list, options, *deadline);
}

static __attribute__((noinline)) int
recv_slow(struct dd *h, int list, struct dd_msg *msg, unsigned int options,
	  int64_t timeout)
{
	int64_t deadline = 0;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	if (!msg || options & ~RECV_OPTIONS)
		return -EINVAL;
	do {
		ret = ddi_recv_round(h, list, msg, options, timeout, &deadline);
		/* What was waited for is probably simple. */
		if (!ret && ddi_take_any(h, list, true, ddi_fill_msg,
					 ddi_fill_msg_meta, msg))
			return 0;
	} while (!ret);
	if (ret > 0)
		ret = msg->type == DD_MSG_CLOSE ? -ECONNCLOSE : 0;
	return ret;
}

/* The same, of a list that is locked still. */
static __attribute__((noinline)) int
recv_not_simple(struct dd *h, struct ddi_list *l, struct dd_msg *msg)
{
	const struct ddi_wish wish = l->wish;

	ddi_unlock(&l->lock);
	return recv_slow(h, wish.id, msg, wish.options, wish.timeout);
}

/* What is due after the last attempt. */
static DDI_INLINE int recv_end(enum ddi_taken taken, struct dd *h,
			       struct ddi_list *l, struct dd_msg *msg)
{
	switch (taken) {
	case DDI_TAKEN:
		return 0;
	case DDI_TAKEN_MORE:
		return ddi_take_more(h, l);
	default:
		return recv_not_simple(h, l, msg);
	}
}

/* The same again, if it did not come directly. */
static __attribute__((noinline)) int
recv_own(struct dd *h, struct ddi_list *l, struct dd_msg *msg)
{
	return recv_end(ddi_take_own(h, l, true, ddi_fill_msg, ddi_fill_msg_meta,
				     msg), h, l, msg);
}

/* Likewise if there is more to it than a message. */
static __attribute__((noinline)) int
recv_rest(struct dd *h, struct ddi_list *l, struct dd_msg *msg)
{
	return recv_end(ddi_take_rest(h, l, true, ddi_fill_msg,
				      ddi_fill_msg_meta, msg), h, l, msg);
}

static DDI_INLINE int recv_as(struct dd *h, int list, struct dd_msg *msg,
			      unsigned int options, int64_t timeout, bool alone)
{
	struct ddi_list *l;

	switch (ddi_take(h, list, options, timeout, true, ddi_fill_msg, msg, &l,
			 alone)) {
	case DDI_TAKEN:
		return 0;
	case DDI_TAKEN_MORE:
		return ddi_take_more(h, l);
	case DDI_NOT_DIRECT:
		return recv_own(h, l, msg);
	case DDI_NOT_BARE:
		return recv_rest(h, l, msg);
	case DDI_NOT_SIMPLE:
		return recv_not_simple(h, l, msg);
	default:
		return recv_slow(h, list, msg, options, timeout);
	}
}

/* One of several threads. */
static __attribute__((noinline)) int
recv_shared(struct dd *h, int list, struct dd_msg *msg, unsigned int options,
	    int64_t timeout)
{
	return recv_as(h, list, msg, options, timeout, false);
}

DD_API int dd_recv(struct dd *h, int list, struct dd_msg *msg,
		   unsigned int options, int64_t timeout)
{
	if (ddi_unlikely(!h) || ddi_unlikely(!msg) ||
	    ddi_unlikely(options & ~RECV_OPTIONS))
		return recv_slow(h, list, msg, options, timeout);
	if (!ddi_alone())
		return recv_shared(h, list, msg, options, timeout);
	return recv_as(h, list, msg, options, timeout, true);
}

DD_API int dd_peek(struct dd *h, int list, struct dd_msg *msg)
{
	struct ddi_list *l;

	if (!ddi_alive(h))
		return -EBADID;
	if (!msg)
		return -EINVAL;
	l = ddi_list_find(h, list);
	return l ? ddi_list_next(h, l, list, false, msg) : -EBADID;
}

DD_API int dd_ready(struct dd *h, int list)
{
	struct dd_msg msg;

	return dd_peek(h, list, &msg);
}

/* Replaces @lists by the ready ones; -EBADID comes before any of them. */
static int poll_once(struct dd *h, int *lists, int count)
{
	int ready[DD_WAIT_MAX];
	int n = 0;

	for (int i = 0; i < count; i++) {
		int ret = dd_ready(h, lists[i]);

		if (ret < 0)
			return ret;
		if (ret)
			ready[n++] = lists[i];
	}
	memcpy(lists, ready, n * sizeof(*lists));
	return n;
}

/* Returns 0 look again, 1 the time is over. */
static int poll_sleep(struct dd *h, const int *lists, int count,
		      int64_t deadline)
{
	uint32_t ids[DD_WAIT_MAX];
	struct dd_list_wait w = {
		.size = sizeof(w),
		.lists = (uintptr_t)ids,
		.count = count,
		.timeout = ddi_remaining(deadline),
	};
	int ret;

	/* The kernel sorts the array, the caller's must stay complete. */
	for (int i = 0; i < count; i++)
		ids[i] = lists[i];
	ret = ddi_ioctl(h, DD_IOC_LIST_WAIT, &w);
	if (ret == -ETIMEDOUT || ret == -EAGAIN)
		return 1;
	return ret < 0 && ret != -EINTR ? ddi_error(ret) : 0;
}

static void pause_until(int64_t deadline)
{
	struct timespec ts = {
		.tv_sec = deadline < 0 ? INT32_MAX : deadline / NSEC_PER_SEC,
		.tv_nsec = deadline < 0 ? 0 : deadline % NSEC_PER_SEC,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	       EINTR)
		;
}

DD_API int dd_poll(struct dd *h, int *lists, int count, int64_t timeout)
{
	int64_t deadline;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	if (count < 0 || count > DD_WAIT_MAX || (count && !lists))
		return -EINVAL;
	deadline = timeout ? ddi_deadline(timeout) : 0;
	if (!count) {
		pause_until(deadline);
		return 0;
	}
	for (bool again = false;; again = true) {
		ret = poll_once(h, lists, count);
		if (ret || !timeout)
			return ret;
		if (again && ddi_passed(deadline))
			return 0;
		ret = poll_sleep(h, lists, count, deadline);
		/* What was found out about one long ago is not about this one. */
		if (ret == -ENORESOURCE)
			ddi_reason_clear(h);
		if (ret)
			return ret < 0 ? ret : 0;
	}
}

/* Until the first @n messages are done. */
static int call_await(struct dd *h, int conn, uint64_t n, int64_t deadline)
{
	struct ddi_conn *c = ddi_conn_lock(h, conn);
	uint64_t serial;

	if (!c)
		return -EBADID;
	serial = c->serial;
	if (ddi_is_direct(c))
		return ddi_out_wait(h, c, serial, n, deadline);
	ddi_unlock(&c->lock);
	return ddi_conn_wait(h, serial, DD_WAIT_DONE, n, deadline);
}

/*
 * The request, tagged with its number. Waits while an old one, whose call has
 * timed out, is in the way.
 */
static int call_send(struct dd *h, int conn, struct ddi_request *rq,
		     int64_t deadline)
{
	for (;;) {
		struct ddi_conn *c = ddi_conn_lock(h, conn);
		uint64_t n;
		int ret;

		if (!c)
			return -EBADID;
		n = ddi_submitted(c);
		rq->tag = n + 1;
		if (!rq->addr)
			rq->addr = c->send;
		ret = ddi_send_locked(h, c, rq);
		ddi_unlock(&c->lock);
		if (ret != -ENOTREADY)
			return ret;
		ret = call_await(h, conn, n, deadline);
		if (ret)
			return ret;
	}
}

/* The message that replies to @tag; others reply to calls long over. */
static int call_wait(struct dd *h, struct ddi_list *l, uint32_t list,
		     uint32_t tag, struct dd_msg *reply, unsigned int options,
		     int64_t deadline)
{
	for (bool again = false;; again = true) {
		int ret = ddi_list_next(h, l, list, true, reply);

		if (ret < 0)
			return ret;
		if (ret && reply->type == DD_MSG_CLOSE)
			return -ECONNCLOSE;
		if (ret && reply->tag == tag)
			return 0;
		/* There may be ever more that are none. */
		if (again && ddi_passed(deadline))
			return -ETIMEDOUT;
		if (ret)
			continue;
		ret = ddi_list_wait(h, l, list, options, deadline);
		if (ret)
			return ret;
	}
}

/* Replies that nobody waits for any more; a close shows in the cell too. */
static void call_drain(struct dd *h, struct ddi_list *l, uint32_t list,
		       int64_t deadline)
{
	struct dd_msg msg;

	while (ddi_list_next(h, l, list, true, &msg) > 0 &&
	       !ddi_passed(deadline))
		;
}

static int call_lock(pthread_mutex_t *lock, int64_t deadline)
{
	struct timespec ts;

	if (!pthread_mutex_trylock(lock))
		return 0;
	if (deadline < 0)
		return -pthread_mutex_lock(lock);
	ts.tv_sec = deadline / NSEC_PER_SEC;
	ts.tv_nsec = deadline % NSEC_PER_SEC;
	return -pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &ts);
}

static int call_locked(struct dd *h, struct ddi_conn *c, int conn,
		       struct ddi_request *rq, struct dd_msg *reply,
		       unsigned int options, int64_t deadline)
{
	uint32_t list = ddi_load(&c->list);
	struct ddi_list *l;
	int ret;

	/* It may have been closed, and the record reused, in the meantime. */
	if (!ddi_conn_is(c, conn))
		return -EBADID;
	l = ddi_list_find(h, list);
	if (!l)
		return -EBADID;
	call_drain(h, l, list, deadline);
	ret = call_send(h, conn, rq, deadline);
	if (!ret)
		ret = call_wait(h, l, list, rq->tag, reply, options, deadline);
	return ret;
}

DD_API int dd_call(struct dd *h, int conn, const void *addr, size_t len,
		   struct dd_msg *reply, unsigned int options, int64_t timeout)
{
	struct ddi_request rq = { .addr = addr, .len = len };
	pthread_mutex_t *lock;
	int64_t deadline;
	struct ddi_conn *c;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	if (!reply || options & ~RECV_OPTIONS)
		return -EINVAL;
	c = ddi_conn_find(h, conn);
	if (!c)
		return -EBADID;
	if (c->service || c->type != DD_TYPE_RPC)
		return -EBADTYPE;

	/* A connecting end is one of these. */
	lock = &((struct ddi_client *)c)->call_lock;
	deadline = timeout < 0 ? DD_FOREVER : ddi_deadline(timeout);
	ret = call_lock(lock, deadline);
	if (ret)
		return ret;
	ret = call_locked(h, c, conn, &rq, reply, options, deadline);
	pthread_mutex_unlock(lock);
	return ret;
}
