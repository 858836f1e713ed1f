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

static struct st_slot *compose(struct st_end *e)
{
	return e->far ? far_slot(e) : e->out;
}

static DDI_NOINLINE int far_send(struct st_end *e, const struct st_slot *slot, unsigned int len)
{
	int ret = dd_send(e->h, e->conn, slot, len, e->place, e->sources ? 0 : DD_SEND_UNWIRED,
			  NULL, 0);

	if (!ret && e->sources)
		e->sources--;
	return ret;
}

static DDI_INLINE int attempt(struct st_end *e, const struct st_slot *slot, unsigned int len)
{
	return e->far ? far_send(e, slot, len) :
			ddi_send(e->h, e->conn, (const char *)slot, len, e->place);
}

/* The window is full, or the connection has ended: 0 or an error. */
static DDI_NOINLINE int again(struct st_end *e, const struct st_slot *slot, unsigned int len, int ret)
{
	if (ret == -ENOTREADY && e->busy)
		return EWOULDBLOCK;
	while (ret == -ENOTREADY) {
		/* st_close() closes the connection, which ends this wait. */
		ret = dd_done(e->h, e->conn, DD_DONE_PLACED, DD_FOREVER);
		if (ret < 0 || st_state(e) == ST_CLOSING)
			return ECONNRESET;
		ret = attempt(e, slot, len);
	}
	return ret ? st_errno(ret) : 0;
}

static DDI_INLINE int transfer(struct st_end *e, const struct st_slot *slot, unsigned int len)
{
	int ret = attempt(e, slot, len);

	if (ret)
		ret = again(e, slot, len, ret);
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

static DDI_INLINE struct st_slot *compose_header(struct st_end *e, const st_header_t *hdr)
{
	struct st_slot *slot = compose(e);

	slot->hdr = *hdr;
	if (!st_option(e, ST_OPT_LITERAL))
		fill(e, &slot->hdr);
	return slot;
}

int st_message_header(struct st_end *e, const st_header_t *hdr, const void *pay)
{
	struct st_slot *slot = compose_header(e, hdr);
	unsigned int len = ST_SLOT_SHORT;

	if (pay) {
		memcpy(slot->pay, pay, ST_PAYLOAD);
		len = ST_SLOT_SIZE;
	}
	return transfer(e, slot, len);
}

int st_message_data(struct st_end *e, const st_header_t *hdr, uint64_t request)
{
	struct st_slot *slot = compose_header(e, hdr);

	slot->request = request;
	return transfer(e, slot, ST_SLOT_DATA);
}

int st_message_hello(struct st_end *e, const struct st_hello *hello)
{
	struct st_slot *slot = compose(e);

	return transfer(e, slot, st_pack_hello(slot, hello));
}
