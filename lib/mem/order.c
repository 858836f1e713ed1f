// SPDX-License-Identifier: LGPL-2.1-only
/*
 * order.c - requests to proxies, in the order of their peers
 *
 * Copyright (C) 2026 The dd authors
 *
 * libdd keeps the order of the requests of one import. Before a request of another import than
 * that of the last one, the last one waits until no request is under way. A plain request on the
 * same node is done when its call returns, so if it is of the last import, it needs neither the
 * peer's lock nor a mark.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "handle.h"
#include "order.h"

#define PART		(1u << 30)	/* bytes of a request */
#define COPIED		(1u << 14)	/* up to which it is copied, not waited for */
#define BOUNCE_PART	(1u << 18)	/* and by memory of the library's */
#define SLICE_NS	50000000	/* how often a call that waits looks around */
#define HANDLER_MS	1000		/* how long a function of a note may wait for its peer */

static bool in_handler(void)
{
	return ddi_load(&ddi_upcall_inside);
}

static uint32_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Its peer's lock is held, or the turn cannot change: no other import has requests under way. */
static void near_set(struct ddi_near *near, struct ddi_proxy *p)
{
	ddi_store(&near->len, 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ddi_store(&near->proxy, p);
	ddi_store(&near->mem, p->mem);
	ddi_store(&near->base, p->dest.base);
	ddi_store(&near->version, ddi_load(&ddi_proxy_version));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ddi_store(&near->len, p->dest.len);
}

/* Make @p the proxy of the next request of its peer, or return the one that has some under way. */
static struct ddi_proxy *peer_turn(struct ddi_proxy *p, struct ddi_near *near)
{
	struct ddi_proxy *last = p->peer->last;

	if (last && last != p && dd_fence(last->mem, 0) == -EAGAIN)
		return last;
	if (last != p) {
		p->peer->last = p;
		ddi_proxy_changed();
	}
	if (p->local)
		near_set(near, p);
	return NULL;
}

static int64_t request_start(struct ddi_proxy *p, const struct ddi_request *r)
{
	uint64_t offset = (uintptr_t)r->remote - p->dest.base;

	return r->get ? dd_get_async(p->mem, r->local, r->len, offset, 0) :
			dd_put_async(p->mem, r->local, r->len, offset, r->flags, 0);
}

/*
 * Begin a request. Returns its number, 0 if it is done, or an error; -EBUSY with *@busy set to the
 * proxy that has to be waited for. On this node, the memory of the caller may fault, and functions
 * of notes may run, while the bytes are copied.
 */
static int64_t request_try(struct ddi_proxy *p, const struct ddi_request *r,
			   struct ddi_proxy **busy)
{
	int64_t ret = -EBUSY;

	ddi_upcall_enter();
	pthread_mutex_lock(&p->peer->lock);
	*busy = peer_turn(p, r->near);
	if (!*busy && !p->local)
		ret = request_start(p, r);
	pthread_mutex_unlock(&p->peer->lock);
	ddi_upcall_leave();
	if (*busy)
		return ret;
	if (p->local)
		ret = request_start(p, r);
	*busy = p;
	return ret;
}

static int64_t request_begin(struct ddi_proxy *p, const struct ddi_request *r)
{
	uint32_t since = in_handler() ? now_ms() : 0;
	struct ddi_proxy *busy;
	int64_t ret;

	while ((ret = request_try(p, r, &busy)) == -EBUSY) {
		/* The peer may wait for this process to handle notifications. */
		if (in_handler() && now_ms() - since > HANDLER_MS)
			return -EDEADLK;
		if (!dd_fence(busy->mem, SLICE_NS))
			sched_yield();
	}
	return ret;
}

/* Until the source may be used again, or the bytes that were fetched are in place. */
static int request_wait(struct ddi_proxy *p, int64_t n, bool get)
{
	int ret;

	do {
		ret = get ? dd_wait(p->mem, n, SLICE_NS) : dd_sent(p->mem, n, SLICE_NS);
	} while (ret == -ETIMEDOUT || ret == -EINTR);
	/* Other threads have begun 64 since, so this one was done. */
	return ret == -EINVAL ? 0 : ret;
}

/* Fetch into memory that cannot be pinned, such as a mapping of a file. */
static int request_bounce(struct ddi_proxy *p, const struct ddi_request *r)
{
	char *at = mmap(NULL, BOUNCE_PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ddi_request part = *r;
	int64_t ret = 0;

	if (at == MAP_FAILED)
		return -ENOMEM;
	part.local = at;
	for (size_t done = 0; done < r->len && !ret; done += part.len) {
		part.remote = r->remote + done;
		part.len = r->len - done < BOUNCE_PART ? r->len - done : BOUNCE_PART;
		ret = request_begin(p, &part);
		if (ret > 0)
			ret = request_wait(p, ret, true);
		if (!ret)
			memcpy(r->local + done, at, part.len);
	}
	munmap(at, BOUNCE_PART);
	return ret;
}

DD_API int64_t ddi_request(struct ddi_proxy *p, struct ddi_request *r, bool async)
{
	const bool copied = !async && !r->get && r->len <= COPIED;
	const unsigned int flags = r->flags | (copied ? DD_PUT_COPY : 0);
	const size_t len = r->len;
	int64_t ret = 0;

	for (size_t left = len; left && ret >= 0; left -= r->len) {
		r->len = left < PART ? left : PART;
		r->flags = left > r->len ? 0 : flags;
		ret = request_begin(p, r);
		r->local += r->len;
		r->remote += r->len;
	}
	if (r->get && (ret == -EOPNOTSUPP || ret == -EFAULT) && len <= PART) {
		r->local -= len;
		r->remote -= len;
		ret = request_bounce(p, r);
	}
	if (ret > 0 && !async && !copied)
		ret = request_wait(p, ret, r->get);
	return ret;
}

DD_API int ddi_request_status(struct ddi_proxy *p, int64_t n, bool get)
{
	int ret = dd_wait(p->mem, n, 0);

	if (ret == -EAGAIN && !get)
		ret = dd_sent(p->mem, n, 0);
	/* The request was done before the 64 after it could begin. */
	if (ret == -EINVAL)
		return 0;
	return ret == -EINTR ? -EAGAIN : ret;
}
