/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * message.h - messages of the connection
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _ST_MESSAGE_H
#define _ST_MESSAGE_H

#include "end.h"
#include "recv.h"

/*
 * Send a header with an optional payload, or with the number of the request of its Data, or a hello.
 * That waits while the other end's window is full. If Data is under way, it does not: EWOULDBLOCK, and
 * st_settle() comes first. 0, ECONNRESET or another error. The caller holds st_end.order, or no other
 * thread sends. Fields of the header that the library knows are filled in, without ST_OPT_LITERAL.
 */
int st_message_header(struct st_end *e, const st_header_t *hdr, const void *pay);
int st_message_data(struct st_end *e, const st_header_t *hdr, uint64_t request);
int st_message_hello(struct st_end *e, const struct st_hello *hello);

/*
 * Receive the next message: 0; -EWOULDBLOCK: there is none; another error: the other end has
 * closed. The length is -1 for a new connection. The other end may change the bytes at any time: use
 * a copy.
 */
static inline int st_message_receive(struct st_end *e, struct ddi_brief *msg)
{
	return ddi_recv(e->h, e->list, msg, DDI_RECV_BRIEF, 0);
}

#endif /* _ST_MESSAGE_H */
