/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * order.h - requests to proxies, in the order of their peers
 *
 * Copyright (C) 2026 The dd authors
 *
 * Requests of this process to one peer are executed in their order, whatever proxies and
 * libraries they use. Functions of notes may make requests, and may run while a request waits.
 * A plain request on the same node is done when its call returns, so if it is of the last import,
 * ddi_near_put() and ddi_near_get() do.
 */
#ifndef _DD_ORDER_H
#define _DD_ORDER_H

#include "proxy.h"
#include "put.h"
#include "upcall.h"

/* What a call wants of a request. */
struct ddi_request {
	char *local;
	const char *remote;	/* of the proxy */
	size_t len;
	unsigned int flags;	/* DD_PUT_NOTIFY; for ddi_request_try() also DD_PUT_COPY */
	bool get;
	struct ddi_near *near;	/* of the library and this thread */
};

/*
 * Execute a request, in pieces if it is long, and without @async wait until its source may be
 * used again, or the bytes that were fetched are in place. Returns its number, 0 if it is done, or
 * an error of libdd; -EDEADLK in a function of a note that has waited for a second: its peer may
 * wait, too.
 */
int64_t ddi_request(struct ddi_proxy *p, const struct ddi_request *r, bool async);

/* Begin a request of less than 2 GiB, or -EBUSY: the peer has others that are waited for. */
int64_t ddi_request_try(struct ddi_proxy *p, const struct ddi_request *r);

/*
 * Whether that request is done: 0, -EAGAIN, or why it has failed, also if its source may be used
 * again.
 */
int ddi_request_status(struct ddi_proxy *p, int64_t n, bool get);

#endif /* _DD_ORDER_H */
