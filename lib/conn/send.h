/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * send.h - the send path
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_SEND_H
#define _DD_SEND_H

#include "conn.h"

/* A message to send: the arguments of dd_send(). */
struct ddi_request {
	const void *addr;
	size_t len;
	size_t roffset;
	unsigned int options;	/* DD_SEND_* */
	const unsigned int *meta;
	size_t metacount;	/* words */
	uint32_t tag;		/* request that this replies to, or number of this request */
};

int ddi_send(struct dd *h, int conn, const char *addr, size_t len, size_t roffset);
int ddi_send_check(const struct ddi_request *rq);
int ddi_send_fill(struct dd *h, const struct ddi_conn *c, const struct ddi_request *rq,
		  uint8_t flags, struct dd_sqe *sqe);
int ddi_send_locked(struct dd *h, struct ddi_conn *c, const struct ddi_request *rq);
int ddi_send_wait(struct dd *h, struct ddi_conn *c, unsigned int what, uint64_t n,
		  int64_t timeout);

/* As dd_done() with DD_DONE_PLACED, of the message with this number, which was sent. */
int ddi_placed(struct dd *h, int conn, uint64_t n, int64_t timeout);

#endif /* _DD_SEND_H */
