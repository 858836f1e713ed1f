// SPDX-License-Identifier: LGPL-2.1-only
/*
 * message.c - messages of the connection
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>

#include "message.h"
#include "send.h"

/*
 * The kernel sends a slot to another node as it is, and perhaps again later. So each one is used once,
 * from the last one on, and all are used again when no message is under way. When only the first one
 * is left, the kernel sends a copy of that.
 */
static DDI_NOINLINE struct st_slot *far_slot(struct st_end *e)
{
	if (!e->sources && dd_done(e->h, e->conn, DD_DONE_SENT, 0) == 1)
		e->sources = ST_SOURCES;
	return &e->out[e->sources];
}

static DDI_NOINLINE int far_send(struct st_end *e, unsigned int len)
{
	int ret = dd_send(e->h, e->conn, &e->out[e->sources], len, e->place,
			  e->sources ? 0 : DD_SEND_UNWIRED, NULL, 0);

	if (!ret && e->sources)
		e->sources--;
	return ret;
}

static DDI_INLINE int attempt(struct st_end *e, unsigned int len, bool far)
{
	return far ? far_send(e, len) :
		     ddi_send(e->h, e->conn, (const char *)e->out, len, e->place);
}

/* The window is full, or the connection has ended: 0 or an error. */
static DDI_NOINLINE int again(struct st_end *e, unsigned int len, int ret)
{
	if (ret == -ENOTREADY && e->busy)
		return EWOULDBLOCK;
	while (ret == -ENOTREADY) {
		/* st_close() closes the connection, which ends this wait. */
		ret = dd_done(e->h, e->conn, DD_DONE_PLACED, DD_FOREVER);
		if (ret < 0 || st_state(e) == ST_CLOSING)
			return ECONNRESET;
		ret = attempt(e, len, e->far);
	}
	return ret ? st_errno(ret) : 0;
}

/* Send the first @len bytes of the slot that was composed. */
static DDI_INLINE int transfer(struct st_end *e, unsigned int len, bool far)
{
	int ret = attempt(e, len, far);

	if (ret)
		ret = again(e, len, ret);
	if (ret)
		return ret;
	e->place += ST_SLOT_SIZE;
	if (e->place == e->size)
		e->place = 0;
	return 0;
}

static void fill(const struct st_end *e, st_header_t *hdr)
{
	hdr->d_key = e->remote.key;
	if (e->remote.portlen == 1 || !st_port_of(&e->remote, hdr->d_port))
		hdr->d_port = e->remote.port;
	hdr->s_port = e->port;
}

static DDI_INLINE void compose(const struct st_end *e, struct st_slot *slot, const st_header_t *hdr)
{
	slot->hdr = *hdr;
	if (!st_option(e, ST_OPT_LITERAL))
		fill(e, &slot->hdr);
}

static DDI_INLINE int header(struct st_end *e, struct st_slot *slot, const st_header_t *hdr,
			     const void *pay, bool far)
{
	compose(e, slot, hdr);
	if (!pay)
		return transfer(e, ST_SLOT_SHORT, far);
	memcpy(slot->pay, pay, ST_PAYLOAD);
	return transfer(e, ST_SLOT_SIZE, far);
}

static DDI_NOINLINE int far_header(struct st_end *e, const st_header_t *hdr, const void *pay)
{
	return header(e, far_slot(e), hdr, pay, true);
}

int st_message_header(struct st_end *e, const st_header_t *hdr, const void *pay)
{
	return e->far ? far_header(e, hdr, pay) : header(e, e->out, hdr, pay, false);
}

int st_message_data(struct st_end *e, const st_header_t *hdr, uint64_t request)
{
	struct st_slot *slot = far_slot(e);

	compose(e, slot, hdr);
	slot->request = request;
	return transfer(e, ST_SLOT_DATA, true);
}

int st_message_hello(struct st_end *e, const struct st_hello *hello)
{
	struct st_slot *slot = e->far ? far_slot(e) : e->out;

	return transfer(e, st_pack_hello(slot, hello), e->far);
}
