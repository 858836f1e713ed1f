// SPDX-License-Identifier: LGPL-2.1-only
/*
 * put.c - the requests: by the windows of an import, or by the kernel
 *
 * Copyright (C) 2026 The dd authors
 *
 * On one node, an import may have windows on its segment. Then requests are loads, stores
 * and atomic instructions; <linux/dd_mem.h> has the protocol. They have no state, so threads
 * and signal handlers may use one import at a time.
 */
#include <string.h>

#include "deposit.h"
#include "put.h"
#include "request.h"

#define FETCH_PART	256	/* bytes that are copied at a time to change their alignment */

/*
 * Number of the windows that show the segment now; 0 sends the request to the kernel, which finds
 * the reason. Requests keep their order, so while a note is withheld none uses a window: the
 * kernel refuses it.
 */
static inline uint32_t window_now(const struct dd_mem *m)
{
	const struct dd_conn_state *cs = m->cs;

	if (ddi_unlikely(!ddi_load(&m->head->node_up)) || ddi_unlikely(ddi_mem_withheld(cs)))
		return 0;
	return ddi_load_acquire(&cs->ring);
}

/* The same for @len bytes at @offset. */
static inline uint32_t window_number(const struct dd_mem *m, const char *window, size_t len,
				     uint64_t offset)
{
	if (ddi_unlikely(!window) || ddi_unlikely(!ddi_load(&m->h->board.alive)) ||
	    ddi_unlikely(offset > m->size || len > m->size - offset))
		return 0;
	return window_now(m);
}

/*
 * Whether the same windows still show the segment. The barrier before it orders the stores of
 * a put, or the loads of a get, before the load of @ring. Pairs with the kernel's barrier
 * between its store of @ring and the end of the windows.
 */
static inline bool window_shows(const struct dd_mem *m, uint32_t number)
{
	return ddi_likely(ddi_load(&m->cs->ring) == number);
}

/* Whether a request is for a few words, between aligned places. */
static inline bool window_is_short(const char *dst, const char *src, size_t len)
{
	return ddi_is_short(len, (uintptr_t)dst | (uintptr_t)src);
}

/*
 * These return whether the request was executed; if not, the kernel is asked to. Unlike
 * ddi_deposit_short(), a put stores each word once: other processes may swap it.
 */
static inline bool put_words(struct dd_mem *m, uint32_t number, char *dst, const char *src,
			     size_t len)
{
	const char *last = src + len - 8;

	if (ddi_unlikely(!number))
		return false;
	if (!(len & 8)) {
		ddi_store((ddi_word *)dst, *(const ddi_word *)src);
		dst += 8;
		src += 8;
	}
	for (; src != last; dst += 16, src += 16)
		ddi_move_pair(dst, src);
	ddi_store_release((ddi_word *)dst, *(const ddi_word *)src);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return window_shows(m, number);
}

static inline bool put_short(struct dd_mem *m, char *window, const char *src, size_t len,
			     uint64_t offset)
{
	char *dst = window + offset;

	return window_is_short(dst, src, len) &&
	       put_words(m, window_number(m, window, len, offset), dst, src, len);
}

static bool put_any(struct dd_mem *m, const char *src, size_t len, uint64_t offset)
{
	char *window = ddi_load_acquire(&m->put);
	uint32_t number = window_number(m, window, len, offset);

	if (!number || len > DDI_MEM_MAX)
		return false;
	ddi_deposit_any(window + offset, src, len);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return window_shows(m, number);
}

static inline bool get_words(struct dd_mem *m, uint32_t number, char *dst, const char *src,
			     size_t len)
{
	if (ddi_unlikely(!number))
		return false;
	ddi_deposit_short(dst, src, len);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return window_shows(m, number);
}

static inline bool get_short(struct dd_mem *m, const char *window, char *dst, size_t len,
			     uint64_t offset)
{
	const char *src = window + offset;

	return window_is_short(dst, src, len) &&
	       get_words(m, window_number(m, window, len, offset), dst, src, len);
}

/* Loads aligned words of the segment as a whole, also if @dst is aligned in another way. */
static bool get_any(struct dd_mem *m, char *dst, size_t len, uint64_t offset)
{
	const char *window = ddi_load_acquire(&m->get), *src = window + offset;
	uint32_t number = window_number(m, window, len, offset);
	uint64_t words[FETCH_PART / 8 + 1];
	char *at = (char *)words + ((uintptr_t)src & 7);
	size_t n;

	if (!number || len > DDI_MEM_MAX)
		return false;
	if (!(((uintptr_t)dst ^ (uintptr_t)src) & 7)) {
		ddi_deposit_any(dst, src, len);
		len = 0;
	}
	for (; len; dst += n, src += n, len -= n) {
		n = len < FETCH_PART ? len : FETCH_PART;
		ddi_deposit_any(at, src, n);
		memcpy(dst, at, n);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return window_shows(m, number);
}

/*
 * A window that shows nothing is full of %DD_DIRECT_GONE, so a swap of other values that
 * has replaced the word was executed, whatever happens to the window afterwards.
 */
static bool window_cas(struct dd_mem *m, uint64_t offset, size_t len, uint64_t expect,
		       uint64_t replace, uint64_t *was)
{
	char *window = ddi_load_acquire(&m->cas), *word = window + offset;
	uint32_t number = window_number(m, window, len, offset);
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
	return done || window_shows(m, number);
}

_Static_assert(DD_PUT_NOTIFY == DD_SQE_NOTIFY && DD_CAS_STATUS == DD_SQE_STATUS, "flags of the kernel");

static struct dd_sqe request_cas(uint64_t offset, uint64_t expect, uint64_t replace,
				 unsigned int flags)
{
	struct dd_sqe sqe = { .opcode = DD_OP_CAS, .dst = offset, .flags = flags,
			      .meta_count = DD_META_WORDS };

	memcpy(sqe.meta, &expect, sizeof(expect));
	memcpy(sqe.meta + 2, &replace, sizeof(replace));
	return sqe;
}

static DDI_NOINLINE int mem_put(struct dd_mem *m, const void *src, size_t len,
				uint64_t offset, unsigned int flags)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .dst = offset, .flags = flags };

	return flags & ~DD_PUT_NOTIFY ? -EINVAL : ddi_mem_submit(m, &sqe, src, len);
}

static DDI_NOINLINE int put_long(struct dd_mem *m, const void *src, size_t len, uint64_t offset)
{
	return put_any(m, src, len, offset) ? 0 : mem_put(m, src, len, offset, 0);
}

/* Only tail calls, so that this function and dd_get() save no registers. */
DD_API int dd_put(struct dd_mem *m, const void *src, size_t len, uint64_t offset,
		  unsigned int flags)
{
	char *window = ddi_load_acquire(&m->put);

	if (flags || ddi_unlikely(!window))
		return mem_put(m, src, len, offset, flags);
	return put_short(m, window, src, len, offset) ? 0 : put_long(m, src, len, offset);
}

static DDI_NOINLINE int mem_get(struct dd_mem *m, void *dst, size_t len, uint64_t offset)
{
	struct dd_sqe sqe = { .opcode = DD_OP_GET, .dst = offset };

	return ddi_mem_submit(m, &sqe, dst, len);
}

static DDI_NOINLINE int get_long(struct dd_mem *m, void *dst, size_t len, uint64_t offset)
{
	return get_any(m, dst, len, offset) ? 0 : mem_get(m, dst, len, offset);
}

DD_API int dd_get(struct dd_mem *m, void *dst, size_t len, uint64_t offset)
{
	const char *window = ddi_load_acquire(&m->get);

	if (ddi_unlikely(!window))
		return mem_get(m, dst, len, offset);
	return get_short(m, window, dst, len, offset) ? 0 : get_long(m, dst, len, offset);
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
	ret = ddi_mem_submit(m, &sqe, &result, len);
	if (ret)
		return ret;
	memcpy(&half, &result, sizeof(half));
	*was = len == sizeof(half) ? half : result;
	return 0;
}

DD_API int dd_cas(struct dd_mem *m, uint64_t offset, size_t len, uint64_t expect,
		  uint64_t replace, uint64_t *was, unsigned int flags)
{
	if (!flags && was && window_cas(m, offset, len, expect, replace, was))
		return 0;
	return mem_cas(m, offset, len, expect, replace, was, flags);
}

DD_API int dd_note(struct dd_mem *m, const void *bytes, size_t len)
{
	struct dd_sqe sqe = { .opcode = DD_OP_NOTE };

	return ddi_mem_submit(m, &sqe, bytes, len);
}

/* On one node, requests without a note may use the windows: the caller executes them. */
static inline bool executes(const struct dd_mem *m, int list)
{
	return !list && !m->result;
}

/* Begin a request with a note to @list, or 0. */
static int64_t begin(struct dd_mem *m, struct dd_sqe *sqe, const void *local, size_t len,
		     int list)
{
	if (list) {
		sqe->flags |= DD_SQE_NOTIFY_SELF;
		sqe->list = list;
	}
	return ddi_mem_start(m, sqe, local, len);
}

static DDI_NOINLINE int64_t put_begin(struct dd_mem *m, const void *src, size_t len,
				      uint64_t offset, unsigned int flags, int list)
{
	struct dd_sqe sqe = { .opcode = DD_OP_PUT, .dst = offset,
			      .flags = flags & DD_PUT_NOTIFY };

	if (flags & DD_PUT_STABLE)
		sqe.flags |= DD_SQE_REGION;
	if (flags & DD_PUT_COPY)
		sqe.flags |= DD_SQE_UNWIRED;
	return begin(m, &sqe, src, len, list);
}

DD_API int64_t dd_put_async(struct dd_mem *m, const void *src, size_t len, uint64_t offset,
			    unsigned int flags, int list)
{
	if (flags & ~(DD_PUT_NOTIFY | DD_PUT_COPY | DD_PUT_STABLE) ||
	    (flags & DD_PUT_COPY && flags & DD_PUT_STABLE))
		return -EINVAL;
	return executes(m, list) ? dd_put(m, src, len, offset, flags & DD_PUT_NOTIFY) :
				   put_begin(m, src, len, offset, flags, list);
}

DD_API int64_t dd_get_async(struct dd_mem *m, void *dst, size_t len, uint64_t offset, int list)
{
	struct dd_sqe sqe = { .opcode = DD_OP_GET, .dst = offset };

	return executes(m, list) ? dd_get(m, dst, len, offset) : begin(m, &sqe, dst, len, list);
}

DD_API int64_t dd_cas_async(struct dd_mem *m, uint64_t offset, size_t len, uint64_t expect,
			    uint64_t replace, void *was, unsigned int flags, int list)
{
	struct dd_sqe sqe = request_cas(offset, expect, replace, flags);
	uint64_t word;
	uint32_t half;
	int ret;

	if (flags & ~(DD_PUT_NOTIFY | DD_CAS_STATUS) || !was)
		return -EINVAL;
	if (!executes(m, list))
		return begin(m, &sqe, was, len, list);
	ret = dd_cas(m, offset, len, expect, replace, &word, flags & ~DD_CAS_STATUS);
	if (flags & DD_CAS_STATUS)
		word = word == (len == sizeof(half) ? (uint32_t)expect : expect) ? 1 : 2;
	half = word;
	if (!ret)
		memcpy(was, len == sizeof(half) ? (void *)&half : &word, len);
	return ret;
}

/* ---- by addresses that stand for an import -------------------------------------- */

#define NEAR_WORD	4ul

static uint32_t near_version = 1;	/* not that of a record that was never set */

void ddi_near_changed(void)
{
	__atomic_fetch_add(&near_version, 1, __ATOMIC_SEQ_CST);
}

void ddi_near_set(struct ddi_near *near, struct dd_mem *m, uintptr_t base, size_t len)
{
	ddi_store(&near->end, 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ddi_store(&near->mem, m);
	ddi_store(&near->base, base);
	ddi_store(&near->version, ddi_load(&near_version));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ddi_store(&near->end, base + len);
}

/*
 * Whether all @len bytes are in the import, and the place of the first one. A function of a note that
 * sets @near meanwhile has changed the version before. An import of a parent process has ended in the
 * child.
 */
static inline bool near_find(const struct ddi_near *near, const void *at, size_t len,
			     struct dd_mem **m, uint64_t *offset)
{
	uint32_t version = ddi_load_acquire(&near_version);
	uintptr_t end = ddi_load(&near->end), base = ddi_load(&near->base);

	*m = ddi_load(&near->mem);
	*offset = (uintptr_t)at - base;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return ddi_likely((uintptr_t)at >= base) && ddi_likely((uintptr_t)at + len <= end) &&
	       ddi_likely(ddi_load(&near->version) == version);
}

/* Of 4 bytes, as a request by words has it. */
static bool near_aligned(const void *local, const void *at)
{
	return !(((uintptr_t)local | (uintptr_t)at) % sizeof(uint32_t));
}

/*
 * Many words, or without a window; near_find() has found @m and @offset. @other finds out why
 * a request is refused. The parameters stay in their registers.
 */
static DDI_NOINLINE int near_put_any(void *local, void *at, uint32_t words, struct dd_mem *m,
				     ddi_near_fn other, uint64_t offset)
{
	return !words || !near_aligned(local, at) ||
	       put_long(m, local, words * NEAR_WORD, offset) ? other(local, at, words) : 0;
}

static DDI_NOINLINE int near_get_any(void *local, void *at, uint32_t words, struct dd_mem *m,
				     ddi_near_fn other, uint64_t offset)
{
	return !words || !near_aligned(local, at) ||
	       get_long(m, local, words * NEAR_WORD, offset) ? other(local, at, words) : 0;
}

/* Inlined twice: @get is constant. */
static DDI_INLINE int near_move(void *local, void *at, uint32_t words,
				const struct ddi_near *near, ddi_near_fn other, bool get)
{
	size_t len = words * NEAR_WORD;
	uint64_t offset;
	struct dd_mem *m;
	char *window;

	if (ddi_unlikely(!near_find(near, at, len, &m, &offset)))
		return other(local, at, words);
	window = ddi_load_acquire(get ? &m->get : &m->put);
	if (ddi_unlikely(!window) || !window_is_short(window + offset, local, len))
		return (get ? near_get_any : near_put_any)(local, at, words, m, other, offset);
	return (get ? get_words(m, window_now(m), local, window + offset, len) :
		      put_words(m, window_now(m), window + offset, local, len)) ?
	       0 : other(local, at, words);
}

DD_API int ddi_near_put(void *local, void *at, uint32_t words, const struct ddi_near *near,
			ddi_near_fn other)
{
	return near_move(local, at, words, near, other, false);
}

DD_API int ddi_near_get(void *local, void *at, uint32_t words, const struct ddi_near *near,
			ddi_near_fn other)
{
	return near_move(local, at, words, near, other, true);
}
