// SPDX-License-Identifier: LGPL-2.1-only
/*
 * request.c - requests to segments by the kernel
 *
 * Copyright (C) 2026 The dd authors
 *
 * A request goes by the send queue, which has one entry, or as an array of one if another
 * thread, or the thread that a signal handler has interrupted, uses the queue.
 *
 * With another node, dd_mem.lock protects the numbers and results of requests. A thread holds
 * it with all signals blocked, and never while it waits for the other node. So a signal handler
 * may use the import that it has interrupted: it finds the lock free, or held by another thread
 * that releases it soon.
 */
#include <sched.h>
#include <string.h>

#include "region.h"
#include "request.h"

#define MEM_WITHHELD_NS	1000000000ull
#define MEM_FEW		256	/* bytes that the kernel copies faster if they are not wired */

/* In dd_mem.call: the result is not for dd_fence(), and no call awaits it any more. */
static int mem_taken;
#define MEM_TAKEN	(&mem_taken)

/* Submit a request as an array of one, and again while the import is busy. */
static DDI_NOINLINE int mem_again(struct dd_mem *m, const struct dd_sqe *sqe)
{
	struct dd_request rq = { .conn = m->serial, .sqe = *sqe };
	struct dd_submit s;
	int ret;

	for (;;) {
		s = (struct dd_submit){
			.size = sizeof(s), .requests = (uintptr_t)&rq, .count = 1,
			.stride = sizeof(rq),
		};
		ret = ddi_ioctl(m->h, DD_IOC_SUBMIT, &s);
		if (ret != -EBUSY || ddi_mem_withheld(m->cs))
			return ret;
		sched_yield();
	}
}

/*
 * Submit a request. The doorbell costs less than an array, but the queue may be in use, or
 * the kernel may execute an array of another thread first. It refuses requests while another
 * thread's request copies to or from memory that may fault.
 */
static int mem_queue(struct dd_mem *m, const struct dd_sqe *sqe)
{
	struct dd_sqe *slot = m->cs->sq;
	int ret;

	/* Atomic even with one thread: a signal handler may find the queue in use. */
	if (__atomic_exchange_n(&m->queued, 1, __ATOMIC_ACQUIRE))
		return mem_again(m, sqe);
	/* A refused request may have left its number there; the kernel reads it first. */
	ddi_store(&slot->seq, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy((char *)slot + sizeof(slot->seq), (const char *)sqe + sizeof(slot->seq),
	       sizeof(*slot) - sizeof(slot->seq));
	ddi_store_release(&slot->seq, ddi_load(&m->cs->submitted) + 1);
	ret = ddi_ioctl_conn(m->h, DD_IOC_DOORBELL, m->serial);
	ddi_store_release(&m->queued, 0);
	if (ddi_likely(ret > 0))
		return 0;
	return !ret || ret == -EBUSY ? mem_again(m, sqe) : ret;
}

static DDI_NOINLINE int mem_wired(struct dd_mem *m, struct dd_sqe *sqe, const void *local,
				  size_t len)
{
	sqe->region = ddi_region_hint(m->h, local, len, false);
	if (sqe->region)
		sqe->flags |= DD_SQE_REGION;
	return mem_queue(m, sqe);
}

/*
 * Submit a request with @local as its source or destination. With DD_SQE_UNWIRED the kernel is to
 * copy it, even if it is wired. A request that is submitted again keeps its region.
 */
static int mem_local(struct dd_mem *m, struct dd_sqe *sqe, const void *local, size_t len)
{
	bool copy = sqe->flags & DD_SQE_UNWIRED || (len <= MEM_FEW && !m->result);

	if (!ddi_load(&m->h->board.alive))
		return -ESTALE;
	sqe->len = len;
	sqe->src = (uintptr_t)local;
	sqe->flags |= DD_SQE_UNWIRED;
	if (len > DDI_MEM_MAX)
		return -EINVAL;
	return copy ? mem_queue(m, sqe) : mem_wired(m, sqe, local, len);
}

static int mem_await(struct dd_mem *m, uint64_t request, int64_t timeout, unsigned int what)
{
	struct ddi_limit limit = { .timeout = timeout };

	return ddi_state_await(m->h, &m->spin, m->cs, m->serial, what,
			       what == DD_WAIT_SENT ? &m->cs->sent : &m->cs->done, request, &limit);
}

/* Whether a request was executed, and its result, if any, is in place. */
static bool mem_executed(const struct dd_mem *m, uint64_t request)
{
	return ddi_load(&m->cs->sent) >= request &&
	       __atomic_load_n(&m->result[request % DD_RESULTS], __ATOMIC_ACQUIRE) !=
	       DD_RESULT_AWAITED;
}

/*
 * Wait until request @n is done. Returns %-ETIMEDOUT after a second if it was executed but its
 * note waits for a slot, or if the reply that refuses it is late. A signal does not end the wait,
 * and does not prolong that second by more than another one.
 */
static int mem_done(struct dd_mem *m, uint64_t n)
{
	int64_t left = MEM_WITHHELD_NS, deadline = DD_FOREVER;
	int ret;

	for (;;) {
		ret = mem_await(m, n, left, DD_WAIT_DONE);
		if (ret == -EINTR) {
			if (deadline == DD_FOREVER)
				deadline = ddi_deadline(left);
			left = ddi_remaining(deadline);
		} else if (ret != -ETIMEDOUT && ret != -EAGAIN) {
			return ret;
		} else if (mem_executed(m, n)) {
			return -ETIMEDOUT;
		} else {
			left = MEM_WITHHELD_NS;
			deadline = DD_FOREVER;
		}
	}
}

/*
 * Collect the results of requests that are done: for the calls that wait for them, or the first
 * error for dd_fence(). The caller holds the lock.
 */
static void mem_collect(struct dd_mem *m)
{
	uint64_t done = ddi_load_acquire(&m->cs->done);
	int *call, error;
	size_t i;

	while (m->seen < done) {
		i = ++m->seen % DD_RESULTS;
		error = m->result[i];
		/* Its call, if any, takes the lock before it reads the result. */
		call = __atomic_exchange_n(&m->call[i], MEM_TAKEN, __ATOMIC_ACQ_REL);
		if (!call && !m->error)
			m->error = error;
		if (call && call != MEM_TAKEN)
			*call = -error;
	}
}

/*
 * Begin a request; @call: where its result is wanted, NULL for dd_fence(). Returns its number or
 * an error. While calls wait until no request is under way, one that is begun meanwhile is
 * refused: threads that begin requests all the time would delay these calls without end.
 */
static int64_t mem_begin(struct dd_mem *m, struct dd_sqe *sqe, const void *local, size_t len,
			 int *call)
{
	int64_t ret = -EBUSY;
	sigset_t before;
	uint32_t ended;
	uint64_t last;

	ddi_mem_lock(m, &before);
	mem_collect(m);
	last = ddi_load(&m->cs->submitted);
	/* The result of a request replaces that of the one %DD_RESULTS before it. */
	if (last - m->seen < (call || ddi_load(&m->waiting) ? 1 : DD_RESULTS))
		ret = mem_local(m, sqe, local, len);
	/* The requests under way when the access has ended leave no room for others. */
	ended = ddi_load(&m->cs->error);
	if (ret == -EBUSY && ended && ended != EINPROGRESS)
		ret = -(int64_t)ended;
	if (!ret) {
		ret = last + 1;
		ddi_store(&m->call[ret % DD_RESULTS], call);
	}
	ddi_mem_unlock(m, &before);
	return ret;
}

/* If the note of a request waits, the request is executed, and the next one is refused. */
static int64_t mem_begin_alone(struct dd_mem *m, struct dd_sqe *sqe, const void *local,
			       size_t len, int *call)
{
	int64_t ret;

	__atomic_add_fetch(&m->waiting, 1, __ATOMIC_RELAXED);
	do {
		ret = mem_done(m, ddi_load(&m->cs->submitted));
		if (ret)
			break;
		ret = mem_begin(m, sqe, local, len, call);
	} while (ret == -EBUSY);
	__atomic_sub_fetch(&m->waiting, 1, __ATOMIC_RELAXED);
	return ret == -ETIMEDOUT ? -EBUSY : ret;
}

/* Wait for the result of request @n, which *@call awaits. */
static int mem_end(struct dd_mem *m, uint64_t n, int *call)
{
	int ret = mem_done(m, n), result = -(int)ddi_load(&m->result[n % DD_RESULTS]);
	/* If a reply that refuses it is late, dd_fence() returns its error. */
	int *left = ret == -ETIMEDOUT && !result ? NULL : MEM_TAKEN, *mine = call;
	sigset_t before;

	if (!__atomic_compare_exchange_n(&m->call[n % DD_RESULTS], &mine, left, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		/* It was collected. The thread that stores it in *@call holds the lock. */
		ddi_mem_lock(m, &before);
		ddi_mem_unlock(m, &before);
		result = *call;
	}
	return ret && ret != -ETIMEDOUT ? ret : result;
}

static DDI_NOINLINE int mem_remote(struct dd_mem *m, struct dd_sqe *sqe, void *local,
				   size_t len)
{
	int64_t n;
	bool swap;
	int call;

	if (!ddi_alive(m->h))
		return -ESTALE;
	/* The caller waits, so its memory does not change meanwhile. */
	sqe->flags |= DD_SQE_REGION;
	/* If another call uses the wired word, the kernel pins that of the caller. */
	swap = sqe->opcode == DD_OP_CAS && m->word &&
	       !__atomic_exchange_n(&m->swapping, 1, __ATOMIC_ACQUIRE);
	n = mem_begin_alone(m, sqe, swap ? m->word : local, len, &call);
	if (n > 0)
		n = mem_end(m, n, &call);
	if (swap && !n)
		memcpy(local, m->word, len);
	if (swap)
		ddi_store_release(&m->swapping, 0);
	return n;
}

/* Execute a request by the kernel, and wait until it is done; 0 or an error. */
int ddi_mem_submit(struct dd_mem *m, struct dd_sqe *sqe, const void *local, size_t len)
{
	return m->result ? mem_remote(m, sqe, (void *)local, len) :
			   mem_local(m, sqe, local, len);
}

/* Begin a request. Returns its number, 0 if it is done, or an error. */
int64_t ddi_mem_start(struct dd_mem *m, struct dd_sqe *sqe, const void *local, size_t len)
{
	if (!ddi_alive(m->h))
		return -ESTALE;
	return m->result ? mem_begin(m, sqe, local, len, NULL) : mem_local(m, sqe, local, len);
}

/* Check the arguments of a call that waits. */
static int wait_check(const struct dd_mem *m, int64_t request, int64_t timeout)
{
	if (!m)
		return -EINVAL;
	if (!ddi_load(&m->h->board.alive))
		return -ESTALE;
	if (timeout < -1 || request < 0 ||
	    (uint64_t)request > ddi_load_acquire(&m->cs->submitted))
		return -EINVAL;
	return 0;
}

DD_API int dd_wait(struct dd_mem *m, int64_t request, int64_t timeout)
{
	int ret = wait_check(m, request, timeout);

	if (!ret)
		ret = mem_await(m, request, timeout, DD_WAIT_DONE);
	if (ret || !m->result || !request)
		return ret;
	ret = -(int)m->result[request % DD_RESULTS];
	/* Load the result before the number of requests that may have replaced it. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ddi_load(&m->cs->submitted) - request < DD_RESULTS ? ret : -EINVAL;
}

DD_API int dd_sent(struct dd_mem *m, int64_t request, int64_t timeout)
{
	int ret = wait_check(m, request, timeout);

	return ret ? ret : mem_await(m, request, timeout, DD_WAIT_SENT);
}

DD_API int dd_fence(struct dd_mem *m, int64_t timeout)
{
	int ret = wait_check(m, 0, timeout);
	sigset_t before;

	if (!ret)
		ret = mem_await(m, ddi_load(&m->cs->submitted), timeout, DD_WAIT_DONE);
	if (ret || !m->result)
		return ret;
	ddi_mem_lock(m, &before);
	mem_collect(m);
	ret = -m->error;
	m->error = 0;
	ddi_mem_unlock(m, &before);
	return ret;
}
