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

#include "import.h"
#include "order.h"

#define PART		(1u << 30)	/* bytes of a request */
#define COPIED		(1u << 14)	/* up to which it is copied, not waited for */
#define BOUNCE_PART	(1u << 18)	/* of a request by memory of the library's */
#define SLICE_NS	50000000	/* how often a call that waits looks around */
#define HANDLER_MS	1000		/* how long a function of a note may wait for its peer */
#define EXIT_NS		10000000000ll	/* and an exit without progress: twice the usual dead time */

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

/* Make @p the proxy of the next request of its peer, or return the one that has some under way. */
static struct ddi_proxy *peer_turn(struct ddi_proxy *p, struct ddi_near *near)
{
	struct ddi_proxy *last = p->peer->last;

	if (last && last != p && dd_fence(last->mem, 0) == -EAGAIN)
		return last;
	if (last != p) {
		p->peer->last = p;
		ddi_near_changed();
	}
	/* The function of a note may have interrupted a call that looks at @near. */
	if (p->local && in_handler())
		ddi_near_changed();
	/* No other import of the peer has requests under way. */
	if (p->local)
		ddi_near_set(near, p->mem, p->dest.base, p->dest.len);
	return NULL;
}

/* Keep the import of a proxy that its program may end. Its peer's lock is held. */
static void proxy_hold(struct ddi_proxy *p)
{
	__atomic_add_fetch(&p->waiting, 1, __ATOMIC_RELAXED);
}

static void proxy_release(struct ddi_proxy *p)
{
	__atomic_sub_fetch(&p->waiting, 1, __ATOMIC_RELEASE);
}

static int64_t request_start(struct ddi_proxy *p, const struct ddi_request *r)
{
	uint64_t offset = (uintptr_t)r->remote - p->dest.base;

	return r->get ? dd_get_async(p->mem, r->local, r->len, offset, 0) :
			dd_put_async(p->mem, r->local, r->len, offset, r->flags, 0);
}

/*
 * Begin a request. Returns its number, 0 if it is done, or an error; -EBUSY with *@busy set to the
 * proxy that has to be waited for: another one of the peer, whose end waits for @waiting, or @p.
 * On this node, the memory of the caller may fault, and functions of notes may run, while the
 * bytes are copied.
 */
static int64_t request_try(struct ddi_proxy *p, const struct ddi_request *r,
			   struct ddi_proxy **busy)
{
	int64_t ret = -EBUSY;

	ddi_upcall_enter();
	pthread_mutex_lock(&p->peer->lock);
	*busy = peer_turn(p, r->near);
	if (*busy)
		proxy_hold(*busy);
	else if (!p->local)
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

DD_API int64_t ddi_request_try(struct ddi_proxy *p, const struct ddi_request *r)
{
	struct ddi_proxy *busy;
	int64_t ret = request_try(p, r, &busy);

	if (busy != p)
		proxy_release(busy);
	return ret;
}

/* Wait until no request of @busy is under way, or a slice. */
static void request_pause(struct ddi_proxy *p, struct ddi_proxy *busy)
{
	if (!dd_fence(busy->mem, SLICE_NS))
		sched_yield();
	if (busy != p)
		proxy_release(busy);
}

/* A function of a note gives up: the peer may wait for this process to handle notes. */
static bool is_late(uint32_t since)
{
	return in_handler() && now_ms() - since > HANDLER_MS;
}

static int64_t request_begin(struct ddi_proxy *p, const struct ddi_request *r)
{
	uint32_t since = in_handler() ? now_ms() : 0;
	struct ddi_proxy *busy;
	int64_t ret;

	while ((ret = request_try(p, r, &busy)) == -EBUSY) {
		request_pause(p, busy);
		if (is_late(since))
			return -EDEADLK;
	}
	return ret;
}

/* Until the source may be used again, or the bytes that were fetched are in place. */
static int request_wait(struct ddi_proxy *p, int64_t n, bool get)
{
	uint32_t since = in_handler() ? now_ms() : 0;
	int ret;

	for (;;) {
		ret = get ? dd_wait(p->mem, n, SLICE_NS) : dd_sent(p->mem, n, SLICE_NS);
		/* Other threads have begun 64 since, so this one was done. */
		if (ret == -EINVAL)
			return 0;
		if (ret != -ETIMEDOUT && ret != -EINTR)
			return ret;
		if (is_late(since))
			return -EDEADLK;
	}
}

/*
 * Fetch by memory of the library's: into memory that cannot be pinned, such as a mapping of a file,
 * and for a function of a note, since what it gives up is still written.
 */
static int64_t request_bounce(struct ddi_proxy *p, const struct ddi_request *r)
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

/* In pieces; the number of the last one. */
static int64_t request_parts(struct ddi_proxy *p, const struct ddi_request *r, bool copy)
{
	struct ddi_request part = *r;
	int64_t ret = 0;

	for (size_t left = r->len; left && ret >= 0; left -= part.len) {
		part.len = left < PART ? left : PART;
		part.flags = (left > PART ? 0 : r->flags) | (copy ? DD_PUT_COPY : DD_PUT_STABLE);
		ret = request_begin(p, &part);
		part.local += part.len;
		part.remote += part.len;
	}
	return ret;
}

DD_API int64_t ddi_request(struct ddi_proxy *p, const struct ddi_request *r, bool async)
{
	const bool wait = !async && !p->local, copy = wait && !r->get &&
						      (r->len <= COPIED || in_handler());
	int64_t ret;

	if (wait && r->get && in_handler())
		return request_bounce(p, r);
	ret = request_parts(p, r, copy);
	if (r->get && (ret == -EOPNOTSUPP || ret == -EFAULT))
		return request_bounce(p, r);
	if (ret > 0 && wait && !copy)
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

/* The proxy of a peer that may have requests under way, or NULL. */
static struct ddi_proxy *peer_last(struct ddi_peer *p)
{
	struct ddi_proxy *last;

	pthread_mutex_lock(&p->lock);
	last = p->last;
	if (last)
		proxy_hold(last);
	pthread_mutex_unlock(&p->lock);
	return last;
}

static void proxy_drain(struct ddi_proxy *last, int64_t *deadline)
{
	uint64_t done;
	int ret;

	do {
		done = ddi_load(&last->mem->cs->done);
		ret = dd_fence(last->mem, ddi_remaining(*deadline));
		if (ddi_load(&last->mem->cs->done) != done)
			*deadline = ddi_deadline(EXIT_NS);
	} while ((ret == -ETIMEDOUT || ret == -EINTR) && !ddi_passed(*deadline));
	proxy_release(last);
}

/*
 * A program may end when its sends have returned. The end of the process would drop what the other
 * nodes have not acknowledged. The priority is for programs that are linked statically: destructors
 * without one, which may send, run before.
 */
static __attribute__((destructor(101))) void exit_drain(void)
{
	int64_t deadline = ddi_deadline(EXIT_NS);
	struct ddi_peer *p = NULL;
	struct ddi_proxy *last;

	do {
		ddi_upcall_enter();
		p = ddi_peer_next(p);
		last = p ? peer_last(p) : NULL;
		ddi_upcall_leave();
		/* Other threads go on, with imports, too. */
		if (last)
			proxy_drain(last, &deadline);
	} while (p);
}
