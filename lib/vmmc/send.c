// SPDX-License-Identifier: LGPL-2.1-only
/*
 * send.c - requests to imported buffers
 *
 * Copyright (C) 2026 The dd authors
 *
 * Requests of this process to one peer are executed in their order. libdd keeps the order of
 * those of one import. Before a request of another import than that of the last one, the last one
 * waits until no request is under way. A plain request on the same node is done when its call
 * returns, so if it is of the last import, it needs neither the peer's lock nor a mark.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "import.h"

#define SEND_PART	(1u << 30)	/* bytes of a request */
#define SEND_COPIED	(1u << 14)	/* up to which it is copied, not waited for */
#define BOUNCE_PART	(1u << 18)	/* and by memory of the library's */
#define HANDLER_NS	1000000000	/* how long a handler may wait for its peer */
#define WORD		sizeof(int32)

/*
 * What the thread's latest request on this node has found: a further one to the same import needs
 * only this while @version is vmmc_version. A handler that interrupts the thread may change it.
 */
static DDI_TLS struct {
	struct vmmc_import *import;
	struct dd_mem *mem;
	uintptr_t base;
	size_t len;
	uint32_t version;
} near;

/* What a call wants of a request. */
struct request {
	char *local;
	const char *proxy;
	size_t len;
	unsigned int flags;	/* DD_PUT_NOTIFY and DD_PUT_COPY */
	bool get;
};

static uint32_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * The import for a plain request that needs only libdd, and the place in it; else NULL. The
 * addresses are checked.
 */
static inline struct dd_mem *mem_near(uintptr_t at, uintptr_t local, size_t len, size_t *offset)
{
	struct vmmc_import *import = ddi_load(&near.import);
	size_t size = ddi_load_acquire(&near.len);
	struct dd_mem *mem = ddi_load(&near.mem);

	*offset = at - ddi_load(&near.base);
	/* Also if @len is 0. */
	if (ddi_unlikely(*offset >= size) || ddi_unlikely(len - 1 >= size - *offset) ||
	    ddi_unlikely((at | local) % WORD) ||
	    ddi_unlikely(ddi_load(&near.version) != ddi_load_acquire(&vmmc_version)) ||
	    ddi_unlikely(ddi_load(&near.import) != import))
		return NULL;
	return mem;
}

/* Its peer's lock is held, or the turn cannot change: no other import has requests under way. */
static void set_near(struct vmmc_import *i)
{
	ddi_store(&near.len, 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ddi_store(&near.import, i);
	ddi_store(&near.mem, i->mem);
	ddi_store(&near.base, i->dest.base);
	ddi_store(&near.version, ddi_load(&vmmc_version));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ddi_store(&near.len, i->dest.len);
}

static struct vmmc_import *import_at(const char *proxy, size_t len)
{
	struct ddi_dest *d = ddi_dest_find(proxy);

	if (!d || len > d->len - ((uintptr_t)proxy - d->base))
		return NULL;
	return (struct vmmc_import *)((char *)d - offsetof(struct vmmc_import, dest));
}

/* Make @i the import of the next request of its peer, or return the one that has some under way. */
static struct vmmc_import *peer_turn(struct vmmc_import *i)
{
	struct vmmc_import *last = i->peer->last;

	if (last && last != i && dd_fence(last->mem, 0) == -EAGAIN)
		return last;
	if (last != i) {
		i->peer->last = i;
		vmmc_changed();
	}
	if (i->local)
		set_near(i);
	return NULL;
}

static int64_t request_start(struct vmmc_import *i, const struct request *r)
{
	uint64_t offset = (uintptr_t)r->proxy - i->dest.base;

	return r->get ? dd_get_async(i->mem, r->local, r->len, offset, 0) :
			dd_put_async(i->mem, r->local, r->len, offset, r->flags, 0);
}

/*
 * Begin a request. Returns its number, 0 if it is done, or an error; -EBUSY with *@busy set to the
 * import that has to be waited for. On this node, the memory of the caller may fault, and handlers
 * may run, while the words are copied.
 */
static int64_t request_try(struct vmmc_import *i, const struct request *r,
			   struct vmmc_import **busy)
{
	int64_t ret = -EBUSY;

	ddi_upcall_enter();
	pthread_mutex_lock(&i->peer->lock);
	*busy = peer_turn(i);
	if (!*busy && !i->local)
		ret = request_start(i, r);
	pthread_mutex_unlock(&i->peer->lock);
	ddi_upcall_leave();
	if (*busy)
		return ret;
	if (i->local)
		ret = request_start(i, r);
	*busy = i;
	return ret;
}

static int64_t request_begin(struct vmmc_import *i, const struct request *r)
{
	uint32_t since = vmmc_in_handler() ? now_ms() : 0;
	struct vmmc_import *busy;
	int64_t ret;

	while ((ret = request_try(i, r, &busy)) == -EBUSY) {
		/* The peer may wait for this process to handle notifications. */
		if (vmmc_in_handler() && now_ms() - since > HANDLER_NS / 1000000)
			return -EDEADLK;
		if (!dd_fence(busy->mem, VMMC_SLICE_NS))
			sched_yield();
	}
	return ret;
}

/* Until the source may be used again, or the words that were fetched are in place. */
static int request_wait(struct vmmc_import *i, int64_t n, bool get)
{
	int ret;

	do {
		ret = get ? dd_wait(i->mem, n, VMMC_SLICE_NS) : dd_sent(i->mem, n, VMMC_SLICE_NS);
	} while (ret == -ETIMEDOUT || ret == -EINTR);
	/* Other threads have begun 64 since, so this one was done. */
	return ret == -EINVAL ? 0 : ret;
}

/* Fetch into memory that cannot be pinned, such as a mapping of a file. */
static int request_bounce(struct vmmc_import *i, const struct request *r)
{
	char *at = mmap(NULL, BOUNCE_PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct request part = *r;
	int64_t ret = 0;

	if (at == MAP_FAILED)
		return -ENOMEM;
	part.local = at;
	for (size_t done = 0; done < r->len && !ret; done += part.len) {
		part.proxy = r->proxy + done;
		part.len = r->len - done < BOUNCE_PART ? r->len - done : BOUNCE_PART;
		ret = request_begin(i, &part);
		if (ret > 0)
			ret = request_wait(i, ret, true);
		if (!ret)
			memcpy(r->local + done, at, part.len);
	}
	munmap(at, BOUNCE_PART);
	return ret;
}

static vmmc_result_t request_code(int64_t ret)
{
	if (ret == -EDEADLK)
		return vmmcErr_BlockedNotifications;
	return ret > 0 ? vmmc_Success : vmmc_code(ret);
}

static vmmc_async_handle_t handle_of(const struct vmmc_import *i, int64_t n, bool get)
{
	uint64_t value = n > 0 ? n << 1 | get : 0;

	return (vmmc_async_handle_t){ .import = { i->slot.index, i->slot.use },
				      .low = value, .high = value >> 32 };
}

/* Execute a request in pieces, and wait for the last one if there is no @handle. */
static vmmc_result_t request_run(struct vmmc_import *i, struct request *r,
				 vmmc_async_handle_t *handle)
{
	const bool copied = !handle && !r->get && r->len <= SEND_COPIED;
	const unsigned int flags = r->flags | (copied ? DD_PUT_COPY : 0);
	const size_t len = r->len;
	int64_t ret = 0;

	for (size_t left = len; left && ret >= 0; left -= r->len) {
		r->len = left < SEND_PART ? left : SEND_PART;
		r->flags = left > r->len ? 0 : flags;
		ret = request_begin(i, r);
		r->local += r->len;
		r->proxy += r->len;
	}
	if (r->get && (ret == -EOPNOTSUPP || ret == -EFAULT) && len <= SEND_PART) {
		r->local -= len;
		r->proxy -= len;
		ret = request_bounce(i, r);
	}
	if (ret > 0 && !handle && !copied)
		ret = request_wait(i, ret, r->get);
	if (handle)
		*handle = handle_of(i, ret, r->get);
	return request_code(ret);
}

static vmmc_result_t request(const char *call, const int32 *local, const int32 *proxy,
			     uint32 nwords, unsigned int flags, bool get,
			     vmmc_async_handle_t *handle)
{
	struct request r = { .local = (char *)local, .proxy = (const char *)proxy,
			     .len = (size_t)nwords * WORD, .flags = flags, .get = get };
	struct vmmc_import *i;
	vmmc_result_t code;

	if (!nwords || nwords > VMMC_WORDS_MAX)
		code = vmmcErr_BadSize;
	else if (((uintptr_t)local | (uintptr_t)proxy) % WORD)
		code = vmmcErr_BadAlignment;
	else if (!(i = import_at(r.proxy, r.len)))
		code = vmmcErr_BadProxyAddr;
	else
		code = request_run(i, &r, handle);
	return vmmc_result(call, code);
}

VMMC_API vmmc_result_t vmmc_SendData(const int32 *src, int32 *proxy, uint32 nwords)
{
	size_t offset, len = (size_t)nwords * WORD;
	struct dd_mem *mem = mem_near((uintptr_t)proxy, (uintptr_t)src, len, &offset);

	if (ddi_likely(mem) && ddi_likely(!dd_put(mem, src, len, offset, 0)))
		return vmmc_Success;
	return request("vmmc_SendData", src, proxy, nwords, 0, false, NULL);
}

VMMC_API vmmc_result_t vmmc_GetData(int32 *dst, int32 *proxy, uint32 nwords)
{
	size_t offset, len = (size_t)nwords * WORD;
	struct dd_mem *mem = mem_near((uintptr_t)proxy, (uintptr_t)dst, len, &offset);

	if (ddi_likely(mem) && ddi_likely(!dd_get(mem, dst, len, offset)))
		return vmmc_Success;
	return request("vmmc_GetData", dst, proxy, nwords, 0, true, NULL);
}

VMMC_API vmmc_result_t vmmc_SendDataNotify(const int32 *src, int32 *proxy, uint32 nwords)
{
	return request("vmmc_SendDataNotify", src, proxy, nwords, DD_PUT_NOTIFY, false, NULL);
}

static vmmc_result_t request_async(const char *call, const int32 *local, int32 *proxy,
				   uint32 nwords, unsigned int flags, bool get,
				   vmmc_async_handle_t *handle)
{
	return handle ? request(call, local, proxy, nwords, flags, get, handle) :
			vmmc_result(call, vmmcErr_BadArg);
}

VMMC_API vmmc_result_t vmmc_SendDataAsync(const int32 *src, int32 *proxy, uint32 nwords,
					  vmmc_async_handle_t *handle)
{
	return request_async("vmmc_SendDataAsync", src, proxy, nwords, 0, false, handle);
}

VMMC_API vmmc_result_t vmmc_SendDataAsyncNotify(const int32 *src, int32 *proxy, uint32 nwords,
						vmmc_async_handle_t *handle)
{
	return request_async("vmmc_SendDataAsyncNotify", src, proxy, nwords, DD_PUT_NOTIFY, false,
			     handle);
}

VMMC_API vmmc_result_t vmmc_GetDataAsync(int32 *dst, int32 *proxy, uint32 nwords,
					 vmmc_async_handle_t *handle)
{
	return request_async("vmmc_GetDataAsync", dst, proxy, nwords, 0, true, handle);
}

/* 0, -EAGAIN, or why the request has failed, also if its source may be used again. */
static int request_status(struct vmmc_import *i, int64_t n, bool get)
{
	int ret = dd_wait(i->mem, n, 0);

	return ret == -EAGAIN && !get ? dd_sent(i->mem, n, 0) : ret;
}

VMMC_API vmmc_result_t vmmc_AsyncStatus(const vmmc_async_handle_t *handle)
{
	struct vmmc_import *i;
	uint64_t value;
	int ret;

	if (!handle)
		return vmmcErr_BadArg;
	i = vmmc_import_find(handle->import);
	if (!i)
		return vmmcErr_BadAsyncHandle;
	value = (uint64_t)handle->high << 32 | handle->low;
	ret = value ? request_status(i, value >> 1, value & 1) : 0;
	if (ret == -EAGAIN || ret == -EINTR)
		return vmmcErr_InProgress;
	/* The request was done before the 64 after it could begin. */
	return ret == -EINVAL ? vmmc_Success : vmmc_code(ret);
}
