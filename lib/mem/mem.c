// SPDX-License-Identifier: LGPL-2.1-only
/*
 * mem.c - one-sided memory: segments, imports and their requests
 *
 * Copyright (C) 2026 The dd authors
 *
 * On one node, an import may have windows on its segment. Then requests are loads, stores
 * and atomic instructions; <linux/dd_mem.h> has the protocol. They have no state, so threads
 * and signal handlers may use one import at a time.
 *
 * Other requests go by the kernel: by the send queue, which has one entry, or, if another
 * thread or the interrupted one uses that, as arrays of one. With another node a request
 * is one round trip, under a lock, with signals blocked, so that no handler waits for it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <linux/dd_mem.h>

#include "dd_mem.h"
#include "deposit.h"
#include "handle.h"
#include "region.h"

_Static_assert(DD_KEY_SIZE == DD_SEGMENT_KEY && DD_KEY_NAME == DD_SEGMENT_NAME &&
	       DD_KEY_ID == DD_SEGMENT_ID && DD_KEY_BUFFER == DD_SEGMENT_BUFFER &&
	       DD_KEY_WELL_KNOWN == DD_SEGMENT_WELL_KNOWN &&
	       DD_CAN_PUT == DD_RIGHT_PUT && DD_CAN_GET == DD_RIGHT_GET &&
	       DD_CAN_CAS == DD_RIGHT_CAS &&
	       DD_EXPORT_NODIRECT == DD_SEGMENT_NODIRECT &&
	       DD_EXPORT_DIRECT_ANY == DD_SEGMENT_DIRECT_ANY &&
	       DD_EXPORT_WHOLE_PAGES == DD_SEGMENT_WHOLE_PAGES_OK &&
	       DD_NOTIFY_IF_ASKED == (int)DD_POLICY_CONDITIONAL &&
	       DD_NOTIFY_ALWAYS == (int)DD_POLICY_ALWAYS &&
	       DD_NOTIFY_NEVER == (int)DD_POLICY_NEVER &&
	       DD_FOR_USER == (int)DD_PERMIT_USER && DD_FOR_ANY == (int)DD_PERMIT_ANY &&
	       DD_FOR_LISTED == (int)DD_PERMIT_LISTED, "numbers of the kernel");

#define MEM_WITHHELD_NS	1000000000ull
#define MEM_FEW		256	/* bytes that the kernel copies faster if they are not wired */

struct dd_mem {
	struct dd *h;
	uint64_t serial;
	uint64_t size;
	struct dd_cell *cell;
	char *put;		/* the segment, in a window to write; or NULL */
	char *get;		/* to read, the same window; or NULL */
	char *cas;		/* for atomic instructions, a second window; or NULL */
	void *window[2];	/* where they are mapped; or NULL */
	size_t window_size;
	uint32_t queued;	/* the send queue is in use */
	const uint8_t *result;	/* of another node's segment, else NULL */
	pthread_mutex_t lock;	/* one request at a time, with @result */
	void *word;		/* wired, for results of swaps; or NULL */
	uint64_t seen;		/* requests whose result was seen; under the lock */
	int error;		/* the first one of these that dd_fence() has to return */
	struct dd_mem *next, **link;	/* in dd.mems; dd.lock */
};

/* ---- exporting ---------------------------------------------------------- */

DD_API int dd_export(struct dd *h, struct dd_export_attr *attr, uint64_t *segment)
{
	struct dd_segment_make s = { .size = sizeof(s) };
	struct dd_buf buf;
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	if (!attr || !segment || attr->size != sizeof(*attr) ||
	    attr->flags & ~(DD_EXPORT_NODIRECT | DD_EXPORT_DIRECT_ANY | DD_EXPORT_WHOLE_PAGES) ||
	    !ddi_region_find(h, attr->addr, attr->len, &buf))
		return -EINVAL;
	s.flags = attr->flags;
	s.region = buf.region;
	s.offset = buf.offset;
	s.length = attr->len;
	s.key_class = attr->key_class;
	memcpy(s.key, attr->key, sizeof(s.key));
	s.rights = attr->rights;
	s.policy = attr->notify;
	s.permission = attr->users;
	s.importers = attr->importers;
	s.list = attr->list;
	s.window = attr->window;
	s.cookie = attr->cookie;
	ret = ddi_ioctl(h, DD_IOC_SEGMENT, &s);
	if (ret < 0)
		return ret;
	memcpy(attr->key, s.key, sizeof(attr->key));
	*segment = s.segment;
	return 0;
}

DD_API int dd_unexport(struct dd *h, uint64_t segment)
{
	return ddi_alive(h) ? ddi_ioctl_conn(h, DD_IOC_END, segment) : -ESTALE;
}

static int segment_ctl(struct dd *h, struct dd_segment_ctl c)
{
	c.size = sizeof(c);
	return ddi_alive(h) ? ddi_ioctl(h, DD_IOC_SEGMENT_CTL, &c) : -ESTALE;
}

DD_API int dd_export_inhibit(struct dd *h, uint64_t segment, int on)
{
	return segment_ctl(h, (struct dd_segment_ctl){
		.what = DD_SEGMENT_INHIBIT, .segment = segment, .value = on });
}

DD_API int dd_export_grant(struct dd *h, uint64_t segment, unsigned int uid,
			   unsigned int rights)
{
	return segment_ctl(h, (struct dd_segment_ctl){
		.what = DD_SEGMENT_GRANT, .segment = segment, .uid = uid,
		.rights = rights });
}

DD_API int dd_list(struct dd *h)
{
	struct dd_list_make l = { .size = sizeof(l) };
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	ret = ddi_ioctl(h, DD_IOC_LIST_MAKE, &l);
	return ret < 0 ? ret : (int)l.list;
}

/* ---- importing ---------------------------------------------------------- */

static void *window_map(struct dd *h, uint64_t offset, size_t size, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, h->fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

/* Without windows, requests go by the kernel. */
static void window_open(struct dd_mem *m, unsigned int rights)
{
	struct dd_direct d = { .size = sizeof(d), .conn = m->serial };
	int prot = PROT_READ | (rights & DD_CAN_PUT ? PROT_WRITE : 0);

	if (!m->h->direct || ddi_ioctl(m->h, DD_IOC_DIRECT, &d) < 0)
		return;
	m->window_size = d.block_size;
	m->window[0] = window_map(m->h, d.block, d.block_size, prot);
	if (m->window[0]) {
		m->get = (char *)m->window[0] + d.start;
		m->put = rights & DD_CAN_PUT ? m->get : NULL;
	}
	if (d.notes)
		m->window[1] = window_map(m->h, d.notes, d.block_size,
					  PROT_READ | PROT_WRITE);
	if (m->window[1])
		m->cas = (char *)m->window[1] + d.start;
}

/* A child of fork() does not inherit them, and may have other memory there. */
static void window_close(struct dd_mem *m)
{
	for (int i = 0; i < 2; i++)
		if (m->window[i])
			munmap(m->window[i], m->window_size);
}

/* The handle is being shut down: a window would keep the device open. */
void ddi_mem_release(struct dd *h)
{
	struct dd_mem *m;

	while ((m = h->mems)) {
		h->mems = m->next;
		window_close(m);
		free(m);
	}
}

static void mem_insert(struct dd_mem *m)
{
	struct dd *h = m->h;

	pthread_mutex_lock(&h->lock);
	m->link = &h->mems;
	m->next = h->mems;
	if (m->next)
		m->next->link = &m->next;
	h->mems = m;
	pthread_mutex_unlock(&h->lock);
}

static void mem_remove(struct dd_mem *m)
{
	pthread_mutex_lock(&m->h->lock);
	*m->link = m->next;
	if (m->next)
		m->next->link = m->link;
	pthread_mutex_unlock(&m->h->lock);
}

DD_API int dd_import(struct dd *h, int node, unsigned int key_class, const void *key,
		     unsigned int rights, struct dd_mem **mem)
{
	struct dd_import_make i = { .size = sizeof(i), .node = node, .key_class = key_class,
				    .rights = rights };
	struct dd_import_cell *cell;
	struct dd_mem *m;
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	if (!key || !mem)
		return -EINVAL;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	memcpy(i.key, key, sizeof(i.key));
	ret = ddi_ioctl(h, DD_IOC_IMPORT, &i);
	if (ret < 0) {
		free(m);
		return ret;
	}
	cell = (void *)(h->area + (size_t)i.cell_unit * DD_UNIT);
	*m = (struct dd_mem){ .h = h, .serial = i.import, .size = i.length,
		.cell = &cell->cell, .lock = PTHREAD_MUTEX_INITIALIZER };
	if (node != dd_node(h)) {
		m->result = cell->result;
		/* Without it the kernel pins the memory of each result. */
		if (dd_alloc(h, sizeof(uint64_t), &m->word))
			m->word = NULL;
	} else {
		window_open(m, rights);
	}
	mem_insert(m);
	*mem = m;
	return 0;
}

DD_API int dd_unimport(struct dd_mem *m)
{
	int ret = -ESTALE;

	if (!m)
		return -EINVAL;
	if (ddi_alive(m->h)) {
		ret = ddi_ioctl_conn(m->h, DD_IOC_END, m->serial);
		mem_remove(m);
		window_close(m);
		if (m->word)
			dd_free(m->h, m->word);
	}
	free(m);
	return ret;
}

DD_API size_t dd_mem_size(const struct dd_mem *m)
{
	return m->size;
}

/* ---- requests by the kernel --------------------------------------------- */

/*
 * Whether the note of a request waits for a slot. The kernel counts a request as done
 * before it counts it as submitted, unless its note waits.
 */
static inline bool mem_withheld(const struct dd_cell *cell)
{
	uint64_t submitted = ddi_load_acquire(&cell->submitted);

	return ddi_load(&cell->done) < submitted;
}

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
		if (ret != -EBUSY || mem_withheld(m->cell))
			return ret;
		sched_yield();
	}
}

/*
 * Submit a request. The doorbell costs less than an array, but the queue may be in use,
 * or another thread's request be executed first. While another thread copies to or from
 * memory that may fault, the kernel refuses requests of its import.
 */
static int mem_queue(struct dd_mem *m, const struct dd_sqe *sqe)
{
	struct dd_sqe *slot = m->cell->sq;
	int ret;

	/* A signal handler finds it in use, even if there is one thread. */
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

/*
 * Wait until the last request is done. %-ETIMEDOUT: its bytes are in place, but its note
 * waits for a slot. The caller holds the lock.
 */
static int mem_done(struct dd_mem *m)
{
	struct dd_conn_wait w = {
		.size = sizeof(w), .what = DD_WAIT_DONE, .conn = m->serial,
		.value = ddi_load(&m->cell->submitted), .timeout = MEM_WITHHELD_NS,
	};
	int ret;

	do {
		ret = ddi_ioctl(m->h, DD_IOC_CONN_WAIT, &w);
	} while (ret == -EINTR ||
		 (ret == -ETIMEDOUT && ddi_load(&m->cell->sent) < w.value));
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

/* As on one node: a request whose note waits is executed, and the next one refused. */
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
	/* Returned here, not by dd_fence(). */
	m->seen = ddi_load(&m->cell->submitted);
	if (swap && (!ret || ret == -ETIMEDOUT))
		memcpy(local, m->word, len);
	if (ret == -ETIMEDOUT)
		return 0;
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

static inline int mem_submit(struct dd_mem *m, struct dd_sqe *sqe, const void *local,
			     size_t len)
{
	return m->result ? mem_remote(m, sqe, (void *)local, len) :
			   mem_local(m, sqe, local, len);
}

/* ---- requests by the windows -------------------------------------------- */

/*
 * Number of the windows that show @len bytes at @offset now; 0 sends the request to the
 * kernel, which finds the reason. A request follows those before it: while the note of
 * one is withheld, the kernel refuses others.
 */
static inline uint32_t window_number(const struct dd_mem *m, const char *window, size_t len,
				     uint64_t offset)
{
	if (ddi_unlikely(!window) || ddi_unlikely(!ddi_load(&m->h->board.alive)) ||
	    ddi_unlikely(offset > m->size || len > m->size - offset) ||
	    ddi_unlikely(!ddi_load(&((struct dd_area_head *)m->h->area)->node_up)) ||
	    ddi_unlikely(mem_withheld(m->cell)))
		return 0;
	return ddi_load_acquire(&m->cell->ring);
}

/* Unlike ddi_deposit_short(), store each word once: other processes may swap it. */
static inline void window_copy_short(char *dst, const char *src, size_t len)
{
	for (; len > 16; dst += 16, src += 16, len -= 16)
		ddi_move_pair(dst, src);
	if (len > 8) {
		ddi_store((ddi_word *)dst, *(const ddi_word *)src);
		dst += 8;
		src += 8;
	}
	ddi_store_release((ddi_word *)dst, *(const ddi_word *)src);
}

static inline bool window_is_short(const char *dst, const char *src, size_t len)
{
	return ddi_is_short(len, (uintptr_t)dst | (uintptr_t)src);
}

static bool put_direct(struct dd_mem *m, const char *src, size_t len, uint64_t offset)
{
	uint32_t number = window_number(m, m->put, len, offset);
	char *dst = m->put + offset;

	if (ddi_unlikely(!number))
		return false;
	if (window_is_short(dst, src, len))
		window_copy_short(dst, src, len);
	else
		ddi_deposit_any(dst, src, len);
	/*
	 * Orders the stores before the load of @ring. Pairs with the kernel's barrier
	 * between its store of @ring and the end of the windows.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return ddi_likely(ddi_load(&m->cell->ring) == number);
}

/* Load aligned words of the segment as a whole, also if @dst is aligned in another way. */
static void fetch(char *dst, const char *src, size_t len)
{
	uint64_t words[MEM_FEW / 8 + 1];
	char *at = (char *)words + ((uintptr_t)src & 7);
	size_t n;

	if (!(((uintptr_t)dst ^ (uintptr_t)src) & 7)) {
		ddi_deposit_any(dst, src, len);
		return;
	}
	for (; len; dst += n, src += n, len -= n) {
		n = len < MEM_FEW ? len : MEM_FEW;
		ddi_deposit_any(at, src, n);
		memcpy(dst, at, n);
	}
}

static bool get_direct(struct dd_mem *m, char *dst, size_t len, uint64_t offset)
{
	uint32_t number = window_number(m, m->get, len, offset);
	const char *src = m->get + offset;

	if (ddi_unlikely(!number))
		return false;
	if (window_is_short(dst, src, len))
		window_copy_short(dst, src, len);
	else
		fetch(dst, src, len);
	/* Orders the loads before that of @ring; pairs as in put_direct(). */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ddi_likely(ddi_load(&m->cell->ring) == number);
}

/*
 * A window that shows nothing is full of %DD_DIRECT_GONE, so a swap of other values that
 * has replaced the word was executed, whatever happens to the window afterwards.
 */
static bool cas_direct(struct dd_mem *m, uint64_t offset, size_t len, uint64_t expect,
		       uint64_t replace, uint64_t *was)
{
	uint32_t number = window_number(m, m->cas, len, offset);
	char *word = m->cas + offset;
	uint32_t half = expect;
	bool done;

	if (ddi_unlikely(!number))
		return false;
	if (len == 8 && !((uintptr_t)word & 7) && expect != DD_DIRECT_GONE) {
		done = __atomic_compare_exchange_n((ddi_word *)word, &expect, replace, false,
						   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		*was = expect;
	} else if (len == 4 && !((uintptr_t)word & 3) && half != (uint32_t)DD_DIRECT_GONE) {
		done = __atomic_compare_exchange_n((uint32_t *)word, &half, (uint32_t)replace,
						   false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		*was = half;
	} else {
		return false;
	}
	return done || ddi_likely(ddi_load(&m->cell->ring) == number);
}

/* ---- requests ----------------------------------------------------------- */

static struct dd_sqe request_put(uint64_t offset, unsigned int flags)
{
	return (struct dd_sqe){ .opcode = DD_OP_PUT, .dst = offset,
				.flags = flags ? DD_SQE_NOTIFY : 0 };
}

static struct dd_sqe request_cas(uint64_t offset, uint64_t expect, uint64_t replace,
				 unsigned int flags)
{
	struct dd_sqe sqe = { .opcode = DD_OP_CAS, .dst = offset,
			      .flags = flags ? DD_SQE_NOTIFY : 0,
			      .meta_count = DD_META_WORDS };

	memcpy(sqe.meta, &expect, sizeof(expect));
	memcpy(sqe.meta + 2, &replace, sizeof(replace));
	return sqe;
}

static DDI_NOINLINE int mem_put(struct dd_mem *m, const void *src, size_t len,
				uint64_t offset, unsigned int flags)
{
	struct dd_sqe sqe = request_put(offset, flags);

	if (flags & ~DD_PUT_NOTIFY)
		return -EINVAL;
	return mem_submit(m, &sqe, src, len);
}

DD_API int dd_put(struct dd_mem *m, const void *src, size_t len, uint64_t offset,
		  unsigned int flags)
{
	if (!flags && put_direct(m, src, len, offset))
		return 0;
	return mem_put(m, src, len, offset, flags);
}

static DDI_NOINLINE int mem_get(struct dd_mem *m, void *dst, size_t len, uint64_t offset)
{
	struct dd_sqe sqe = { .opcode = DD_OP_GET, .dst = offset };

	return mem_submit(m, &sqe, dst, len);
}

DD_API int dd_get(struct dd_mem *m, void *dst, size_t len, uint64_t offset)
{
	return get_direct(m, dst, len, offset) ? 0 : mem_get(m, dst, len, offset);
}

static DDI_NOINLINE int mem_cas(struct dd_mem *m, uint64_t offset, size_t len,
				uint64_t expect, uint64_t replace, uint64_t *was,
				unsigned int flags)
{
	struct dd_sqe sqe = request_cas(offset, expect, replace, flags);
	uint64_t result = 0;
	uint32_t half;
	int ret;

	if (flags & ~DD_PUT_NOTIFY || !was)
		return -EINVAL;
	ret = mem_submit(m, &sqe, &result, len);
	if (ret)
		return ret;
	memcpy(&half, &result, sizeof(half));
	*was = len == sizeof(half) ? half : result;
	return 0;
}

DD_API int dd_cas(struct dd_mem *m, uint64_t offset, size_t len, uint64_t expect,
		  uint64_t replace, uint64_t *was, unsigned int flags)
{
	if (!flags && was && cas_direct(m, offset, len, expect, replace, was))
		return 0;
	return mem_cas(m, offset, len, expect, replace, was, flags);
}

DD_API int dd_note(struct dd_mem *m, const void *bytes, size_t len)
{
	struct dd_sqe sqe = { .opcode = DD_OP_NOTE };

	return mem_submit(m, &sqe, bytes, len);
}

/* ---- requests that the caller does not wait for --------------------------- */

static int64_t mem_start(struct dd_mem *m, struct dd_sqe *sqe, const void *local, size_t len)
{
	sigset_t before;
	int64_t ret;

	if (!ddi_alive(m->h))
		return -ESTALE;
	mem_lock(m, &before);
	mem_collect(m);
	ret = mem_local(m, sqe, local, len);
	if (!ret)
		ret = ddi_load(&m->cell->submitted);
	mem_unlock(m, &before);
	return ret;
}

DD_API int64_t dd_put_async(struct dd_mem *m, const void *src, size_t len, uint64_t offset,
			    unsigned int flags)
{
	struct dd_sqe sqe = request_put(offset, flags);

	if (!m->result)
		return dd_put(m, src, len, offset, flags);
	return flags & ~DD_PUT_NOTIFY ? -EINVAL : mem_start(m, &sqe, src, len);
}

DD_API int64_t dd_get_async(struct dd_mem *m, void *dst, size_t len, uint64_t offset)
{
	struct dd_sqe sqe = { .opcode = DD_OP_GET, .dst = offset };

	return m->result ? mem_start(m, &sqe, dst, len) : dd_get(m, dst, len, offset);
}

DD_API int64_t dd_cas_async(struct dd_mem *m, uint64_t offset, size_t len, uint64_t expect,
			    uint64_t replace, void *was, unsigned int flags)
{
	struct dd_sqe sqe = request_cas(offset, expect, replace, flags);
	uint64_t word;
	uint32_t half;
	int ret;

	if (flags & ~DD_PUT_NOTIFY || !was)
		return -EINVAL;
	if (m->result)
		return mem_start(m, &sqe, was, len);
	ret = dd_cas(m, offset, len, expect, replace, &word, flags);
	half = word;
	if (!ret)
		memcpy(was, len == sizeof(half) ? (void *)&half : &word, len);
	return ret;
}

static int mem_wait(struct dd_mem *m, uint64_t request, int64_t timeout)
{
	struct dd_conn_wait w = {
		.size = sizeof(w), .what = DD_WAIT_DONE, .conn = m->serial,
		.value = request, .timeout = timeout,
	};

	if (!ddi_alive(m->h))
		return -ESTALE;
	if (timeout < -1)
		return -EINVAL;
	return ddi_ioctl(m->h, DD_IOC_CONN_WAIT, &w);
}

DD_API int dd_wait(struct dd_mem *m, int64_t request, int64_t timeout)
{
	uint64_t submitted = ddi_load_acquire(&m->cell->submitted);
	int ret;

	if (request < 0 || (uint64_t)request > submitted)
		return -EINVAL;
	ret = mem_wait(m, request, timeout);
	if (ret || !m->result || !request)
		return ret;
	ret = -(int)m->result[request % DD_RESULTS];
	/* Load the result before the number of requests that may have replaced it. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ddi_load(&m->cell->submitted) - request < DD_RESULTS ? ret : -EINVAL;
}

DD_API int dd_fence(struct dd_mem *m, int64_t timeout)
{
	int ret = mem_wait(m, ddi_load(&m->cell->submitted), timeout);
	sigset_t before;

	if (ret || !m->result)
		return ret;
	mem_lock(m, &before);
	mem_collect(m);
	ret = -m->error;
	m->error = 0;
	mem_unlock(m, &before);
	return ret;
}
