// SPDX-License-Identifier: LGPL-2.1-only
/*
 * conn.c - connections of this handle, at either end
 *
 * Copyright (C) 2026 The dd authors
 *
 * A record is bound to a connection when that is made here or, at a serving end, when
 * its first message is consumed or its id is used for the first time. What it is bound
 * to the kernel describes.
 */
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "dev.h"
#include "error.h"
#include "list.h"
#include "open.h"
#include "region.h"

/* dd.lock is held. */
struct ddi_service *ddi_service_find(struct dd *h, uint32_t id)
{
	struct ddi_service *s = h->services;

	while (s && s->id != id)
		s = s->next;
	return s;
}

/* The record of a connection state, or NULL; dd.lock is held. */
static struct ddi_conn *conn_of_state(struct dd *h, uint32_t unit)
{
	struct ddi_conn **bucket = &h->board.states[DDI_UNIT_BUCKET(unit)], *c;
	struct dd_conn_state *cs = ddi_unit(h, unit);

	for (c = *bucket; c; c = c->same)
		if (c->cs == cs)
			return c;
	c = aligned_alloc(DDI_LINE, sizeof(*c));
	if (!c)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->serial = DDI_UNBOUND;
	c->cs = cs;
	c->same = *bucket;
	*bucket = c;
	c->next = h->conns;
	ddi_at_shutdown(h, ddi_conn_release);
	ddi_store_release(&h->conns, c);
	return c;
}

/* The connection is locked, and bound to no serial. */
static void direct_close(struct dd *h, struct ddi_conn *c)
{
	struct ddi_direct_tx *tx = c->tx;

	c->tx_ask = 0;
	ddi_store(&c->tx, NULL);
	if (tx)
		ddi_direct_close(h, tx);
}

/* The connection is locked, and no serial finds it. */
static void conn_fill(struct dd *h, struct ddi_conn *c, struct ddi_list *l,
		      const struct dd_conn_info *info)
{
	direct_close(h, c);
	c->got = 0;
	c->got_mask = info->service && info->type == DD_TYPE_RPC ? ~0u : 0;
	c->service = info->service;
	c->recv = ddi_region_addr(h, &info->recv);
	c->recv_size = info->recv.length;
	c->send = ddi_region_addr(h, &info->send);
	c->send_size = info->send.length;
	c->most = h->mutual ? info->window : DD_WINDOW_MAX;
	c->guarded = !info->service && info->type != DD_TYPE_STREAM;
	c->outstanding = 0;
	c->type = info->type;
	memset(&c->spin, 0, sizeof(c->spin));
	ddi_store(&c->list, l);
	ddi_store(&c->list_id, info->list);
	ddi_store(&c->dead, 0);
	ddi_store(&c->note, DD_SERIAL_ID(info->conn) | (uint64_t)info->block << 40);
}

/*
 * Not what another thread is closing, as the kernel still knows it, nor connections of a
 * service that is being withdrawn. dd_serve() holds the lock until it has recorded the
 * service. dd.lock is held.
 */
static struct ddi_conn *conn_bind(struct dd *h, const struct dd_conn_info *info)
{
	struct ddi_conn *c = conn_of_state(h, info->state_unit);
	struct ddi_list *l = ddi_list_bind(h, info->list, info->list_unit);
	struct ddi_service *s = ddi_service_find(h, info->service);

	if (!c || !l || c->dead == info->conn ||
	    (info->service && (!s || s->dying)))
		return NULL;
	ddi_lock(&c->lock);
	if (c->serial != info->conn) {
		ddi_store_release(&c->serial, DDI_UNBOUND);
		conn_fill(h, c, l, info);
		/* A reader that sees the new serial sees no older word. */
		ddi_store_release(&c->serial, info->conn);
	}
	ddi_unlock(&c->lock);
	ddi_store_release(&h->board.conns[DDI_BUCKET(info->conn)], c);
	return c;
}

/*
 * Bind what the kernel reports for a serial, or for an id; NULL if there is no such
 * connection. dd.lock is held meanwhile, so that a later connection with the same state
 * is bound later.
 */
struct ddi_conn *ddi_conn_load(struct dd *h, uint64_t name)
{
	struct dd_conn_info info = { .size = sizeof(info), .conn = name };
	struct ddi_conn *c = NULL;

	if (!DD_SERIAL_ID(name) || DD_SERIAL_ID(name) > DD_ID_MAX)
		return NULL;
	pthread_mutex_lock(&h->lock);
	if (ddi_ioctl(h, DD_IOC_CONN_INFO, &info) >= 0)
		c = conn_bind(h, &info);
	pthread_mutex_unlock(&h->lock);
	return c;
}

/* A connection that exists, or NULL. */
struct ddi_conn *ddi_conn_find(struct dd *h, uint32_t id)
{
	struct ddi_conn *c = ddi_table_get(h->board.conns, id);

	return c && ddi_conn_is(c, id) ? c : ddi_conn_load(h, id);
}

/* The same, locked. */
struct ddi_conn *ddi_conn_lock(struct dd *h, uint32_t id)
{
	struct ddi_conn *c = ddi_conn_find(h, id);

	if (!c)
		return NULL;
	ddi_lock(&c->lock);
	if (ddi_conn_is(c, id))
		return c;
	ddi_unlock(&c->lock);
	return NULL;
}

/*
 * The connection with this serial, or NULL if it is gone. A serving end that its client has
 * closed keeps its state until another client gets the block, so the client's last
 * messages are still found.
 */
struct ddi_conn *ddi_conn_of(struct dd *h, uint64_t serial)
{
	struct ddi_conn *c = ddi_table_get(h->board.conns, serial);

	if (!c || !ddi_conn_has(c, serial))
		c = ddi_conn_load(h, serial);
	return c && ddi_conn_has(c, serial) ? c : NULL;
}

/*
 * Hide a connection that is to be closed; dd.lock is held. Its state and its list may
 * belong to another connection as soon as the kernel has closed it. So from here on no
 * thread finds it by its id, and a thread that sends on it has left its lock. Returns
 * whether it was there.
 */
bool ddi_conn_end(struct ddi_conn *c)
{
	bool bound;

	ddi_lock(&c->lock);
	bound = c->serial != DDI_UNBOUND;
	if (bound) {
		ddi_store(&c->dead, c->serial);
		ddi_store_release(&c->serial, DDI_UNBOUND);
	}
	ddi_unlock(&c->lock);
	return bound;
}

/* The kernel has closed it, so its ring is not in use: see tx_get(). dd.lock is held. */
void ddi_conn_unbind(struct dd *h, struct ddi_conn *c)
{
	ddi_lock(&c->lock);
	ddi_store(&c->dead, 0);
	ddi_store_release(&c->serial, DDI_UNBOUND);
	direct_close(h, c);
	ddi_unlock(&c->lock);
}

/*
 * Wait until messages accepted for another node have been sent, after ddi_conn_end(). The
 * kernel would wait for them when it closes; here no lock is held. It may take as long as
 * the other node's dead time, which the kernel bounds.
 */
void ddi_conn_drain(struct dd *h, const struct ddi_conn *c, uint64_t serial,
		    int64_t deadline)
{
	const struct dd_conn_state *cs = c->cs;

	if (ddi_load(&cs->sent) < ddi_load(&cs->submitted) &&
	    ddi_load(&cs->node) != ddi_load(&ddi_head(h)->node))
		ddi_conn_wait(h, serial, DD_WAIT_CLOSE, 0, deadline);
}

/*
 * Have the kernel close a connection, after ddi_conn_end(). The kernel may free its list,
 * so no thread may be reading it. Returns 0, or a negative errno of the kernel.
 */
int ddi_conn_close(struct dd *h, const struct ddi_conn *c, uint64_t serial)
{
	/* Another client may have its block already, with another serial. */
	struct ddi_list *l = ddi_load(&c->list);
	int ret;

	ddi_lock(&l->lock);
	do {
		ret = ddi_ioctl_conn(h, DD_IOC_CLOSE, serial);
	} while (ret == -EINTR);
	ddi_unlock(&l->lock);
	return ret;
}

DD_API int dd_close(struct dd *h, int conn)
{
	struct ddi_conn *c;
	uint64_t serial;
	bool ours;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	c = ddi_conn_find(h, conn);
	if (!c)
		return -EBADID;
	pthread_mutex_lock(&h->lock);
	/* Another thread may close it first. */
	serial = c->serial;
	ours = DD_SERIAL_ID(serial) == (uint32_t)conn && ddi_conn_end(c);
	pthread_mutex_unlock(&h->lock);
	if (!ours)
		return -EBADID;

	ddi_conn_drain(h, c, serial, DD_FOREVER);
	ret = ddi_conn_close(h, c, serial);
	pthread_mutex_lock(&h->lock);
	/* Unless its state has another connection, or its service was withdrawn. */
	if (c->dead == serial)
		ddi_conn_unbind(h, c);
	pthread_mutex_unlock(&h->lock);
	return ret < 0 ? ddi_error(ret) : 0;
}

DD_API int dd_conn_info(struct dd *h, int conn, struct dd_conn_desc *desc)
{
	struct dd_conn_info info = { .size = sizeof(info) };
	const struct dd_conn_state *cs;
	struct ddi_conn *c;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	if (!desc)
		return -EINVAL;
	c = ddi_conn_lock(h, conn);
	if (!c)
		return -EBADID;
	cs = c->cs;
	info.conn = c->serial;
	ret = ddi_ioctl(h, DD_IOC_CONN_INFO, &info);
	*desc = (struct dd_conn_desc){
		.type = c->type,
		.service = c->service,
		.list = !c->service && c->type == DD_TYPE_RPC ? 0 : c->list_id,
		.closed = ddi_load(&cs->error) != 0,
		.node = info.node,
		.pid = info.pid,
		.uid = info.uid,
		.window = info.window,
		.send_window = info.send_window,
		.send = c->send,
		.send_size = c->send_size,
		.recv = c->recv,
		.recv_size = c->recv_size,
		.peer_size = ddi_load(&cs->peer_size),
		.submitted = ddi_submitted(c),
		.sent = ddi_load(&cs->sent),
		.done = ddi_load(&cs->done),
		.received = info.received,
		.serial = c->serial,
	};
	/* The state does not count what is sent directly. */
	if (c->tx) {
		desc->sent = desc->submitted;
		desc->done = desc->submitted - (!desc->closed && ddi_direct_full(c->tx));
	}
	ddi_unlock(&c->lock);
	return ret < 0 ? ddi_error(ret) : 0;
}

void ddi_conn_release(struct dd *h)
{
	struct ddi_conn *c;
	struct ddi_service *s;

	while ((c = h->conns)) {
		h->conns = c->next;
		direct_close(h, c);
		free(c);
	}
	while ((s = h->services)) {
		h->services = s->next;
		free(s);
	}
}
