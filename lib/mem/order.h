/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * order.h - requests to proxies, in the order of their peers
 *
 * Copyright (C) 2026 The dd authors
 *
 * Requests of this process to one peer are executed in their order, whatever proxies and
 * libraries they use. Functions of notes may make requests, and may run while a request waits.
 */
#ifndef _DD_ORDER_H
#define _DD_ORDER_H

#include "proxy.h"
#include "upcall.h"

/**
 * struct ddi_near - what a thread's latest request on this node has found
 * @proxy: where it was
 * @mem: of @proxy
 * @base: of @proxy
 * @len: of @proxy
 * @version: a further request to @proxy needs only this while it is ddi_proxy_version
 *
 * Each library has one for each thread. A function of a note that interrupts the thread may
 * change it.
 */
struct ddi_near {
	struct ddi_proxy *proxy;
	struct dd_mem *mem;
	uintptr_t base;
	size_t len;
	uint32_t version;
};

/* What a call wants of a request. */
struct ddi_request {
	char *local;
	const char *remote;	/* of the proxy */
	size_t len;
	unsigned int flags;	/* DD_PUT_NOTIFY */
	bool get;
	struct ddi_near *near;	/* of the library and this thread */
};

/*
 * The import for a plain request that needs only libdd, and the place in it; else NULL. The
 * addresses are checked, multiples of @word.
 */
static inline struct dd_mem *ddi_near_find(struct ddi_near *near, uintptr_t at, uintptr_t local,
					   size_t len, size_t word, size_t *offset)
{
	struct ddi_proxy *proxy = ddi_load(&near->proxy);
	size_t size = ddi_load_acquire(&near->len);
	struct dd_mem *mem = ddi_load(&near->mem);

	*offset = at - ddi_load(&near->base);
	/* Also if @len is 0. */
	if (ddi_unlikely(*offset >= size) || ddi_unlikely(len - 1 >= size - *offset) ||
	    ddi_unlikely((at | local) % word) ||
	    ddi_unlikely(ddi_load(&near->version) != ddi_load_acquire(&ddi_proxy_version)) ||
	    ddi_unlikely(ddi_load(&near->proxy) != proxy))
		return NULL;
	return mem;
}

/*
 * Execute a request, in pieces if it is long, and without @async wait until its source may be
 * used again, or the bytes that were fetched are in place. Returns its number, 0 if it is done, or
 * an error of libdd; -EDEADLK in a function of a note whose peer waits, too.
 */
int64_t ddi_request(struct ddi_proxy *p, struct ddi_request *r, bool async);

/*
 * Whether that request is done: 0, -EAGAIN, or why it has failed, also if its source may be used
 * again.
 */
int ddi_request_status(struct ddi_proxy *p, int64_t n, bool get);

#endif /* _DD_ORDER_H */
