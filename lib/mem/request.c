// SPDX-License-Identifier: LGPL-2.1-only
/*
 * request.c - requests to segments by the kernel
 *
 * Copyright (C) 2026 The dd authors
 *
 * A request goes by the send queue, which has one entry, or as an array of one if another
 * thread, or the thread that a signal handler has interrupted, uses the queue. With another
 * node a request is one round trip, under a lock, with signals blocked, so that no handler
 * waits for it.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "mem.h"
#include "region.h"
#include "wait.h"

#define MEM_WITHHELD_NS	1000000000ull
#define MEM_FEW		256	/* bytes that the kernel copies faster if they are not wired */

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
		if (ret != -EBUSY || ddi_mem_withheld(m->cell))
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
	struct dd_sqe *slot = m->cell->sq;
	int ret;

	/* Atomic even with one thread: a signal handler may find the queue in use. */
	if (__atomic_exchange_n(&m->queued, 1, __ATOMIC_ACQUIRE))
		return mem_again(m, sqe);
	/* A refused request may have left its number there; the kernel reads it first. */
	ddi_store(&slot->seq, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy((char *)slot + sizeof(slot->seq), (const char *)sqe + sizeof(slot->seq),
	       sizeof(*slot) - sizeof(slot->seq));
	ddi_store_release(&slot->seq, ddi_load(&m->cell->submitted) + 1);
	ret = ddi_ioctl_conn(m->h, DD_IOC_DOORBELL, m->serial);
	ddi_store_release(&m->queued, 0);
	if (ddi_likely(ret > 0))
		return 0;
	return !ret || ret == -EBUSY ? mem_again(m, sqe) : ret;
}

static DDI_NOINLINE int mem_wired(struct dd_mem *m, struct dd_sqe *sqe, const void *local,
				  size_t len)
{
	struct dd_buf buf;

	if (len > DDI_MEM_MAX)
		return -EINVAL;
	if (ddi_region_try(m->h, local, len, &buf)) {
		sqe->flags |= DD_SQE_REGION;
		sqe->region = buf.region;
		sqe->src = buf.offset;
	} else {
		sqe->flags |= DD_SQE_UNWIRED;
	}
	return mem_queue(m, sqe);
}

/* Submit a request with @local as its source or destination. */
static int mem_local(struct dd_mem *m, struct dd_sqe *sqe, const void *local, size_t len)
{
	if (!ddi_load(&m->h->board.alive))
		return -ESTALE;
	sqe->len = len;
	sqe->src = (uintptr_t)local;
	if (len > MEM_FEW || m->result)
		return mem_wired(m, sqe, local, len);
	sqe->flags |= DD_SQE_UNWIRED;
	return mem_queue(m, sqe);
}

static int mem_await(struct dd_mem *m, uint64_t request, int64_t timeout)
{
	return ddi_cell_await(m->h, &m->spin, m->cell, m->serial, DD_WAIT_DONE, request,
			      timeout);
}

/* Whether a request was executed, and its result, if any, is in place. */
static bool mem_executed(const struct dd_mem *m, uint64_t request)
{
	return ddi_load(&m->cell->sent) >= request &&
	       __atomic_load_n(&m->result[request % DD_RESULTS], __ATOMIC_ACQUIRE) !=
	       DD_RESULT_AWAITED;
}

/*
 * Wait until the last request is done. Returns %-ETIMEDOUT if it was executed but its note
 * waits for a slot, or if the reply that refuses it is late. The caller holds the lock.
 */
static int mem_done(struct dd_mem *m)
{
	uint64_t last = ddi_load(&m->cell->submitted);
	int ret;

	do {
		ret = mem_await(m, last, MEM_WITHHELD_NS);
	} while (ret == -EINTR || (ret == -ETIMEDOUT && !mem_executed(m, last)));
	return ret;
}

/*
 * Keep the first error of requests that dd_fence() returns. Called before each request:
 * its result replaces that of the one %DD_RESULTS before it, which is done. The caller
 * holds the lock.
 */
static void mem_collect(struct dd_mem *m)
{
	uint64_t done = ddi_load_acquire(&m->cell->done);

	while (m->seen < done) {
		int error = m->result[++m->seen % DD_RESULTS];

		if (!m->error)
			m->error = error;
	}
}

/* If the note of a request waits, the request is executed, and the next one is refused. */
static int mem_far(struct dd_mem *m, struct dd_sqe *sqe, void *local, size_t len)
{
	bool swap = sqe->opcode == DD_OP_CAS && m->word;
	int ret = mem_done(m);

	mem_collect(m);
	if (!ret)
		ret = mem_local(m, sqe, swap ? m->word : local, len);
	else if (ret == -ETIMEDOUT)
		ret = -EBUSY;
	if (ret)
		return ret;
	ret = mem_done(m);
	if (swap && (!ret || ret == -ETIMEDOUT))
		memcpy(local, m->word, len);
	/* The reply is late: dd_fence() returns its error. */
	if (ret == -ETIMEDOUT)
		return 0;
	/* Returned here, not by dd_fence(). */
	m->seen = ddi_load(&m->cell->submitted);
	return ret ? ret : -(int)m->result[ddi_load(&m->cell->submitted) % DD_RESULTS];
}

/* A signal handler may use the import. */
static void mem_lock(struct dd_mem *m, sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
	pthread_mutex_lock(&m->lock);
}

static void mem_unlock(struct dd_mem *m, const sigset_t *before)
{
	pthread_mutex_unlock(&m->lock);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

static DDI_NOINLINE int mem_remote(struct dd_mem *m, struct dd_sqe *sqe, void *local,
				   size_t len)
{
	sigset_t before;
	int ret;

	if (!ddi_alive(m->h))
		return -ESTALE;
	mem_lock(m, &before);
	ret = mem_far(m, sqe, local, len);
	mem_unlock(m, &before);
	return ret;
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
	sigset_t before;
	int64_t ret;

	if (!ddi_alive(m->h))
		return -ESTALE;
	if (!m->result)
		return mem_local(m, sqe, local, len);
	mem_lock(m, &before);
	mem_collect(m);
	ret = mem_local(m, sqe, local, len);
	if (!ret)
		ret = ddi_load(&m->cell->submitted);
	mem_unlock(m, &before);
	return ret;
}

DD_API int dd_import_wait(struct dd_mem *m, int64_t timeout)
{
	sigset_t before;
	int ret;

	if (!m)
		return -EINVAL;
	if (!ddi_load(&m->h->board.alive))
		return -ESTALE;
	if (timeout < -1)
		return -EINVAL;
	ret = ddi_await(m->h, m->serial, DD_WAIT_UP, 0, timeout);
	if (ret)
		return ret;
	mem_lock(m, &before);
	if (!m->size)
		ddi_mem_up(m, ddi_load(&m->cell->peer_size));
	mem_unlock(m, &before);
	return 0;
}

DD_API int dd_wait(struct dd_mem *m, int64_t request, int64_t timeout)
{
	int ret;

	if (!m)
		return -EINVAL;
	if (!ddi_load(&m->h->board.alive))
		return -ESTALE;
	if (timeout < -1 || request < 0 ||
	    (uint64_t)request > ddi_load_acquire(&m->cell->submitted))
		return -EINVAL;
	ret = mem_await(m, request, timeout);
	if (ret || !m->result || !request)
		return ret;
	ret = -(int)m->result[request % DD_RESULTS];
	/* Load the result before the number of requests that may have replaced it. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ddi_load(&m->cell->submitted) - request < DD_RESULTS ? ret : -EINVAL;
}

DD_API int dd_fence(struct dd_mem *m, int64_t timeout)
{
	sigset_t before;
	int ret;

	if (!m)
		return -EINVAL;
	if (!ddi_load(&m->h->board.alive))
		return -ESTALE;
	if (timeout < -1)
		return -EINVAL;
	ret = mem_await(m, ddi_load(&m->cell->submitted), timeout);
	if (ret || !m->result)
		return ret;
	mem_lock(m, &before);
	mem_collect(m);
	ret = -m->error;
	m->error = 0;
	mem_unlock(m, &before);
	return ret;
}
