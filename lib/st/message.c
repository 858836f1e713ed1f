// SPDX-License-Identifier: LGPL-2.1-only
/*
 * message.c - messages of the connection
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>

#include "message.h"

/*
 * The kernel sends a slot to another node as it is, and perhaps again later. So each one is used once,
 * from the last one on, and all are used again when no message is under way. When only the first one
 * is left, the kernel sends a copy of that.
 */
struct st_slot *st_message_slot(struct st_end *e)
{
	if (e->far && !e->sources && dd_done(e->h, e->conn, DD_DONE_SENT, 0) == 1)
		e->sources = ST_SOURCES;
	return &e->out[e->sources];
}

int st_message_send(struct st_end *e, unsigned int len)
{
	unsigned int options = e->far && !e->sources ? DD_SEND_UNWIRED : 0;
	size_t to = e->slot * ST_SLOT_SIZE;
	int ret;

	while ((ret = dd_send(e->h, e->conn, &e->out[e->sources], len, to, options, NULL, 0)) ==
	       -ENOTREADY) {
		/* st_close() closes the connection, which ends this wait. */
		ret = dd_done(e->h, e->conn, DD_DONE_PLACED, DD_FOREVER);
		if (ret < 0 || st_state(e) == ST_CLOSING)
			return ECONNRESET;
	}
	if (ret)
		return st_errno(ret);
	if (e->sources)
		e->sources--;
	if (++e->slot == e->slots)
		e->slot = 0;
	return 0;
}

int st_message_receive(struct st_end *e, int list, struct st_slot *slot, int *conn)
{
	struct dd_msg msg;
	int ret;

	ret = dd_recv(e->h, list, &msg, 0, 0);
	if (ret == -EWOULDBLOCK)
		return -EAGAIN;
	if (ret)
		return -ECONNRESET;
	if (msg.type == DD_MSG_CONN)
		*conn = msg.conn;
	if (msg.type != DD_MSG_DATA || (msg.len != ST_SLOT_SIZE && msg.len != ST_SLOT_SHORT))
		return 0;
	/* The other end may change the bytes at any time: use a copy. */
	memcpy(slot, msg.addr, msg.len);
	return msg.len;
}
