/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * send.h - the send path
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_SEND_H
#define _DD_SEND_H

#include "conn.h"

/**
 * struct ddi_request - a message to send
 * @addr: source, as of dd_send(), as all of the following
 * @len: bytes
 * @roffset: where to
 * @options: DD_SEND_*
 * @meta: metadata
 * @metacount: words of it
 * @tag: request that this is the reply to, or number of this request
 */
struct ddi_request {
	const void *addr;
	size_t len;
	size_t roffset;
	unsigned int options;
	const unsigned int *meta;
	size_t metacount;
	uint32_t tag;
};

int ddi_send(struct dd *h, int conn, const char *addr, size_t len, size_t roffset);
int ddi_send_check(const struct ddi_request *rq);
int ddi_send_fill(struct dd *h, const struct ddi_conn *c, const struct ddi_request *rq,
		  struct dd_sqe *sqe);
int ddi_send_locked(struct dd *h, struct ddi_conn *c, const struct ddi_request *rq);
int ddi_send_wait(struct dd *h, struct ddi_conn *c, unsigned int what, uint64_t n,
		  int64_t timeout);

#endif /* _DD_SEND_H */
