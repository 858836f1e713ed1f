// SPDX-License-Identifier: LGPL-2.1-only
/*
 * conn.c - connections of this handle, at either end
 *
 * Copyright (C) 2026 The dd authors
 *
 * No call creates a serving end: its record is bound when its first message is consumed,
 * or when its id is used for the first time.
 */
#include <stdlib.h>
#include <string.h>

#include "deposit.h"
#include "direct_tx.h"
#include "error.h"
#include "list.h"
#include "region.h"

static struct dd_cell *block_cell(const struct ddi_service *s, uint32_t block)
{
	return (struct dd_cell *)(s->cells + block * s->cell_size);
}

/* Unread messages that a client of this type may have here, as in the kernel. */
static uint32_t own_window(const struct ddi_service *s, uint8_t type)
{
	if (s->window)
		return s->window;
	return type == DD_TYPE_STREAM ? DD_WINDOW_STREAM : 1;
}

/* What the type of a connection requires of this end. */
static void conn_set_type(struct ddi_conn *c, uint8_t type)
{
	c->type = type;
	c->guarded = !c->service && type != DD_TYPE_STREAM;
	c->got_mask = c->service && type == DD_TYPE_RPC ? ~0u : 0;
	c->outstanding = 0;
	c->got = 0;
}

static void conn_publish(struct dd *h, struct ddi_conn *c, uint32_t block,
			 uint64_t serial)
{
	c->simple = !c->guarded && c->send_size >= DDI_COPY_SHORT;
	/* A reader that sees the new serial sees no older word. */
	ddi_store(&c->note, DD_SERIAL_ID(serial) | (uint64_t)block << 40);
	ddi_store(&c->dead, 0);
	ddi_store(&c->closing, false);
	ddi_store_release(&c->serial, serial);
	ddi_table_put(h->board.conns, serial, c);
}

/* The connection is locked; from here on no serial finds it. */
static void conn_hide(struct ddi_conn *c)
{
	ddi_store_release(&c->serial, DDI_UNBOUND);
}

static bool conn_bound(const struct ddi_conn *c)
{
	return c->serial && c->serial != DDI_UNBOUND;
}

/* dd.lock is held. */
static void block_bind(struct dd *h, struct ddi_service *s, uint32_t block,
		       uint64_t serial)
{
	struct ddi_conn *c = &s->blocks[block];

	ddi_lock(&c->lock);
	if (c->serial != serial) {
		conn_hide(c);
		ddi_direct_close(h, c);
		c->service = s;
		c->service_id = s->id;
		c->cell = block_cell(s, block);
		conn_set_type(c, ddi_load(&c->cell->type));
		c->most = h->mutual ? own_window(s, c->type) : DD_WINDOW_MAX;
		ddi_store(&c->list, 0);
		c->described = false;
		c->recv = s->recv + block * s->recv_block;
		c->recv_size = s->recv_block;
		c->send = s->send ? s->send + block * s->send_block : NULL;
		c->send_size = s->send ? s->send_block : 0;
		conn_publish(h, c, block, serial);
	}
	ddi_unlock(&c->lock);
}

static struct ddi_conn *pool_get(struct dd *h)
{
	struct ddi_conn *c;

	if (!h->pool) {
		struct ddi_conn_chunk *chunk;

		chunk = aligned_alloc(DDI_LINE, sizeof(*chunk));
		if (!chunk)
			return NULL;
		memset(chunk, 0, sizeof(*chunk));
		chunk->next = h->chunks;
		h->chunks = chunk;
		for (size_t i = 0; i < DDI_POOL_CHUNK; i++) {
			c = &chunk->client[i].conn;
			c->serial = DDI_UNBOUND;
			pthread_mutex_init(&chunk->client[i].call_lock, NULL);
			c->next = h->pool;
			h->pool = c;
		}
	}
	c = h->pool;
	h->pool = c->next;
	return c;
}

/* Whether another thread is closing it; the kernel still knows it. dd.lock is held. */
static bool conn_closes(const struct ddi_conn *c, uint64_t serial)
{
	return c->closing && c->dead == serial;
}

/* dd.lock is held. */
static struct ddi_conn *client_bind(struct dd *h,
				    const struct dd_conn_info *info)
{
	struct ddi_conn *c = ddi_table_get(h->board.conns, info->conn);

	for (; c; c = c->chain) {
		if (c->serial == info->conn)
			return c;
		if (conn_closes(c, info->conn))
			return NULL;
	}
	c = pool_get(h);
	if (!c)
		return NULL;

	ddi_lock(&c->lock);
	conn_hide(c);
	ddi_direct_close(h, c);
	c->cell = (struct dd_cell *)(h->area +
				     (size_t)info->cell_unit * DD_UNIT);
	c->most = h->mutual ? info->window : DD_WINDOW_MAX;
	conn_set_type(c, info->type);
	c->recv = ddi_region_addr(h, &info->recv);
	c->recv_size = info->recv.length;
	c->send = ddi_region_addr(h, &info->send);
	c->send_size = info->send.length;
	memset(&c->spin, 0, sizeof(c->spin));
	conn_publish(h, c, 0, info->conn);
	ddi_unlock(&c->lock);
	return c;
}

static void conn_describe(struct ddi_conn *c, const struct dd_conn_info *info)
{
	ddi_lock(&c->lock);
	if (c->serial == info->conn) {
		ddi_store(&c->list, info->list);
		c->node = info->node;
		c->pid = info->pid;
		c->uid = info->uid;
		c->window = info->window;
		c->send_window = info->send_window;
		c->described = true;
	}
	ddi_unlock(&c->lock);
}

static struct ddi_conn *conn_bind(struct dd *h, const struct dd_conn_info *info)
{
	struct ddi_service *s;

	if (!info->service)
		return client_bind(h, info);
	s = ddi_table_get(h->board.services, info->service);
	if (!s || s->id != info->service || info->block >= s->maxconn ||
	    conn_closes(&s->blocks[info->block], info->conn))
		return NULL;
	block_bind(h, s, info->block, info->conn);
	return &s->blocks[info->block];
}

/*
 * Bind what the kernel reports for a serial, or for an id; NULL if there is no such
 * connection. dd.lock is held meanwhile, so that a later connection with the same block
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
	if (c)
		conn_describe(c, &info);
	pthread_mutex_unlock(&h->lock);
	return c;
}

/* A connection that is not the first one of its bucket, which it becomes. */
static struct ddi_conn *conn_behind(struct dd *h, uint32_t id)
{
	struct ddi_conn *c;

	pthread_mutex_lock(&h->lock);
	for (c = ddi_table_get(h->board.conns, id); c; c = c->chain)
		if (DD_SERIAL_ID(c->serial) == id && ddi_conn_is(c, id))
			break;
	if (c)
		ddi_table_put(h->board.conns, id, c);
	pthread_mutex_unlock(&h->lock);
	return c;
}

/* As ddi_conn_find(), for one that is new, gone, or not the first of its bucket. */
struct ddi_conn *ddi_conn_find_slow(struct dd *h, uint32_t id)
{
	struct ddi_conn *c = conn_behind(h, id);

	return c ? c : ddi_conn_load(h, id);
}

/* As ddi_conn_lock(), of the same connections. */
struct ddi_conn *ddi_conn_lock_slow(struct dd *h, uint32_t id)
{
	struct ddi_conn *c = ddi_conn_find_slow(h, id);

	if (!c)
		return NULL;
	ddi_lock(&c->lock);
	if (ddi_conn_is(c, id))
		return c;
	ddi_unlock(&c->lock);
	return NULL;
}

/* Whether a block belongs to a connection that has not been closed here. */
static bool block_has(struct ddi_service *s, uint32_t block, uint64_t serial)
{
	return ddi_load_acquire(&block_cell(s, block)->conn) == serial &&
	       ddi_load(&s->blocks[block].dead) != serial;
}

/*
 * Bind the serving end of its first note; NULL if the note is void by now: the service
 * was withdrawn, or another client has the block. dd_serve() holds the lock until it has
 * recorded the service.
 */
static struct ddi_conn *note_bind(struct dd *h, const struct dd_note *note)
{
	uint32_t block = note->cookie >> 32;
	struct ddi_conn *c = NULL;
	struct ddi_service *s;

	pthread_mutex_lock(&h->lock);
	s = ddi_service_lookup(h, note->cookie);
	if (note->conn && s && block < s->maxconn && block_has(s, block, note->conn)) {
		block_bind(h, s, block, note->conn);
		c = &s->blocks[block];
	}
	pthread_mutex_unlock(&h->lock);
	return c && ddi_conn_has(c, note->conn) ? c : NULL;
}

/*
 * The connection of a note, or NULL if it is gone. A serving end that its client has
 * closed keeps its cell until another client gets the block, so the client's last
 * messages are still found.
 */
struct ddi_conn *ddi_conn_of_note(struct dd *h, const struct dd_note *note)
{
	struct ddi_conn *c = ddi_table_get(h->board.conns, note->conn);

	if (c && ddi_conn_has(c, note->conn))
		return c;
	c = conn_behind(h, DD_SERIAL_ID(note->conn));
	if (c && ddi_conn_has(c, note->conn))
		return c;
	return (uint32_t)note->cookie ? note_bind(h, note) :
					ddi_conn_load(h, note->conn);
}

/**
 * ddi_conn_end() - hide a connection that is to be closed
 * @c: connection; dd.lock is held
 *
 * Its cell and its list may belong to another connection as soon as the kernel has
 * closed it. So from here on no thread finds it by its id, and a thread that sends on
 * it has left its lock.
 *
 * Return: whether it was there.
 */
bool ddi_conn_end(struct ddi_conn *c)
{
	bool bound;

	ddi_lock(&c->lock);
	bound = conn_bound(c);
	if (bound) {
		ddi_store(&c->dead, c->serial);
		ddi_store(&c->closing, true);
		conn_hide(c);
	}
	ddi_unlock(&c->lock);
	return bound;
}

/* The kernel has closed it, so its ring is not in use: see tx_get(). dd.lock is held. */
void ddi_conn_unbind(struct dd *h, struct ddi_conn *c)
{
	ddi_lock(&c->lock);
	ddi_store(&c->closing, false);
	conn_hide(c);
	ddi_direct_close(h, c);
	ddi_unlock(&c->lock);
}

/* Unless another client has its block already, or its service was withdrawn. */
static void conn_forget(struct dd *h, struct ddi_conn *c, uint64_t serial)
{
	pthread_mutex_lock(&h->lock);
	if (conn_closes(c, serial)) {
		ddi_conn_unbind(h, c);
		if (!c->service) {
			c->next = h->pool;
			h->pool = c;
		}
	}
	pthread_mutex_unlock(&h->lock);
}

/**
 * ddi_conn_drain() - wait until accepted messages to another node have been sent
 * @h: handle
 * @c: connection, after ddi_conn_end()
 * @serial: its serial
 * @deadline: when to give up
 *
 * The kernel would wait for them when it closes; here no lock is held. It may take as
 * long as the other node's dead time, which the kernel bounds.
 */
void ddi_conn_drain(struct dd *h, const struct ddi_conn *c, uint64_t serial,
		    int64_t deadline)
{
	const struct dd_area_head *head = (void *)h->area;
	const struct dd_cell *cell = c->cell;

	if (ddi_load(&cell->sent) < ddi_load(&cell->submitted) &&
	    ddi_load(&cell->node) != ddi_load(&head->node))
		ddi_conn_wait(h, serial, DD_WAIT_CLOSE, 0, deadline);
}

/**
 * ddi_conn_close() - have the kernel close a connection
 * @h: handle
 * @c: connection, after ddi_conn_end()
 * @serial: its serial
 *
 * The kernel may free its list, so no thread may be reading it.
 *
 * Return: 0, or a negative errno.
 */
int ddi_conn_close(struct dd *h, const struct ddi_conn *c, uint64_t serial)
{
	/* Another client may have its block already, with another serial. */
	uint32_t list = ddi_load(&c->list);
	struct ddi_list *l = ddi_list_bound(h, list);
	int ret;

	if (l)
		ddi_lock(&l->lock);
	do {
		ret = ddi_ioctl_conn(h, DD_IOC_CLOSE, serial);
	} while (ret == -EINTR);
	if (l)
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
	conn_forget(h, c, serial);
	return ret < 0 ? ddi_error(ret) : 0;
}

static void conn_desc(const struct ddi_conn *c, struct dd_conn_desc *desc)
{
	const struct dd_cell *cell = c->cell;
	bool anonymous = !c->service && c->type == DD_TYPE_RPC;

	*desc = (struct dd_conn_desc){
		.type = c->type,
		.service = c->service ? (int)ddi_load(&c->service->id) : 0,
		.list = anonymous ? 0 : c->list,
		.closed = ddi_load(&cell->error) != 0,
		.node = c->node,
		.pid = c->pid,
		.uid = c->uid,
		.window = c->window,
		.send_window = c->send_window,
		.send = c->send,
		.send_size = c->send_size,
		.recv = c->recv,
		.recv_size = c->recv_size,
		.peer_size = ddi_load(&cell->peer_size),
		.submitted = ddi_load(&cell->submitted),
		.sent = ddi_load(&cell->sent),
		.done = ddi_load(&cell->done),
		.received = ddi_load(&cell->received),
		.serial = c->serial,
	};
	if (!c->tx)
		return;
	/* The cell does not count what is sent directly. */
	desc->submitted = c->tx->submitted;
	desc->sent = desc->submitted;
	desc->done = desc->submitted - (!desc->closed && ddi_direct_full(c->tx));
}

DD_API int dd_conn_info(struct dd *h, int conn, struct dd_conn_desc *desc)
{
	struct dd_conn_info info = { .size = sizeof(info) };
	struct ddi_conn *c;

	if (!ddi_alive(h))
		return -EBADID;
	if (!desc)
		return -EINVAL;
	c = ddi_conn_lock(h, conn);
	if (c && !c->described) {
		ddi_unlock(&c->lock);
		c = ddi_conn_load(h, conn) ? ddi_conn_lock(h, conn) : NULL;
	}
	if (!c)
		return -EBADID;
	conn_desc(c, desc);
	ddi_unlock(&c->lock);
	/* Only the kernel knows the count of messages that came directly. */
	info.conn = desc->serial;
	if (ddi_ioctl(h, DD_IOC_CONN_INFO, &info) >= 0)
		desc->received = info.received;
	return 0;
}

void ddi_conn_release(struct dd *h)
{
	while (h->chunks) {
		struct ddi_conn_chunk *chunk = h->chunks;

		h->chunks = chunk->next;
		free(chunk);
	}
}
