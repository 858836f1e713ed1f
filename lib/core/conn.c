// SPDX-License-Identifier: LGPL-2.1-only
/*
 * conn.c - connections of this handle, at either end
 *
 * Copyright (C) 2026 The dd authors
 *
 * A serving end comes into being without a call of its own: its record is
 * bound when its first message is consumed, or when its id is first used.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "internal.h"

static struct dd_cell *block_cell(const struct ddi_service *s, uint32_t block)
{
	return (struct dd_cell *)(s->cells + block * s->cell_size);
}

/* Unconsumed messages that a client of this type may have here, as in the kernel. */
static uint32_t own_window(const struct ddi_service *s, uint8_t type)
{
	if (s->window)
		return s->window;
	return type == DD_TYPE_STREAM ? DD_WINDOW_STREAM : 1;
}

/* What the type of a connection asks of this end of it. */
static void conn_set_type(struct ddi_conn *c, uint8_t type)
{
	c->type = type;
	c->tracked = type == (c->service ? DD_TYPE_RPC : DD_TYPE_SPLIT) ?
		     DDI_TRACKED : 0;
	c->guarded = !c->service && type != DD_TYPE_STREAM;
	c->outstanding = 0;
	c->consumed = 0;
	c->got = 0;
}

/* The connection is locked; nothing can have been read before it has an id. */
static uint64_t plain_note(const struct ddi_conn *c, uint64_t serial)
{
	uint32_t block = ddi_conn_block(c);
	const struct dd_ring_note note = {
		.conn = DD_SERIAL_ID(serial),
		.block = { block, block >> 8, block >> 16 },
	};
	uint64_t word;

	memcpy(&word, &note.conn, sizeof(word));
	return c->tracked ? 0 : word;
}

static void conn_publish(struct dd *h, struct ddi_conn *c, uint64_t serial)
{
	ddi_store(&c->dead, 0);
	ddi_store(&c->closing, false);
	ddi_store(&c->id, DD_SERIAL_ID(serial));
	ddi_store_release(&c->serial, serial);
	ddi_store_release(&c->plain, plain_note(c, serial));
	ddi_table_put(h->board.conns, serial, c);
}

/* The connection is locked, and from here on that of no serial. */
static void conn_hide(struct ddi_conn *c)
{
	ddi_store(&c->plain, 0);
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
		ddi_out_close(h, c);
		c->service = s;
		c->service_id = s->id;
		c->cookie = s->id | (uint64_t)block << 32;
		c->cell = block_cell(s, block);
		conn_set_type(c, ddi_load(&c->cell->type));
		c->most = h->mutual ? own_window(s, c->type) : DD_WINDOW_MAX;
		ddi_store(&c->list, 0);
		c->described = false;
		c->recv = s->recv + block * s->recv_block;
		c->recv_size = s->recv_block;
		c->send = s->send ? s->send + block * s->send_block : NULL;
		c->send_size = s->send ? s->send_block : 0;
		conn_publish(h, c, serial);
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

/* Another thread closes it: the kernel knows it for a moment yet. dd.lock is held. */
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
	ddi_out_close(h, c);
	c->cell = (struct dd_cell *)(h->area +
				     (size_t)info->cell_unit * DD_UNIT);
	c->most = h->mutual ? info->window : DD_WINDOW_MAX;
	conn_set_type(c, info->type);
	c->recv = ddi_region_addr(h, &info->recv);
	c->recv_size = info->recv.length;
	c->send = ddi_region_addr(h, &info->send);
	c->send_size = info->send.length;
	memset(&c->spin, 0, sizeof(c->spin));
	conn_publish(h, c, info->conn);
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
 * What the kernel knows of a serial, or of an id; NULL if it is no connection of
 * ours. It is asked under the lock: a connection that has the block afterwards is
 * bound afterwards.
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

/* As ddi_conn_find(), for one that has just come, is gone, or not the first. */
struct ddi_conn *ddi_conn_find_slow(struct dd *h, uint32_t id)
{
	struct ddi_conn *c = conn_behind(h, id);

	return c ? c : ddi_conn_load(h, id);
}

/* Likewise, as ddi_conn_lock(). */
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

/* Whether a block is that connection's, which has not been closed here. */
static bool block_has(struct ddi_service *s, uint32_t block, uint64_t serial)
{
	return ddi_load_acquire(&block_cell(s, block)->conn) == serial &&
	       ddi_load(&s->blocks[block].dead) != serial;
}

/* The first note of a serving end, or one that means nothing any more. */
static struct ddi_conn *note_bind(struct dd *h, const struct dd_note *note)
{
	struct ddi_service *s = ddi_service_await(h, note->cookie);
	uint32_t block = note->cookie >> 32;
	struct ddi_conn *c;

	if (!note->conn || !s || block >= s->maxconn ||
	    !block_has(s, block, note->conn))
		return NULL;
	c = &s->blocks[block];
	pthread_mutex_lock(&h->lock);
	/* Under the lock again: a newer one may have been bound meanwhile. */
	if (s->id == (uint32_t)note->cookie && block_has(s, block, note->conn))
		block_bind(h, s, block, note->conn);
	pthread_mutex_unlock(&h->lock);
	/* Not so if the service was withdrawn, or the block given away. */
	return ddi_conn_has(c, note->conn) ? c : NULL;
}

/*
 * The connection that a note came on, or NULL if it is gone. A serving end
 * that is closed by its client keeps its cell until the block is given away,
 * so the messages of a client that has left are still found.
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
 * ddi_conn_end() - keep everybody from a connection that is to be closed
 * @c: connection; dd.lock is held
 *
 * Its cell and its list are the next one's as soon as the kernel has closed it, so
 * nobody may be at either then. Who comes from here on does not find it.
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

/* The kernel has closed it: it sends no more, see out_grant(). dd.lock is held. */
void ddi_conn_unbind(struct dd *h, struct ddi_conn *c)
{
	ddi_lock(&c->lock);
	ddi_store(&c->closing, false);
	conn_hide(c);
	ddi_out_close(h, c);
	ddi_unlock(&c->lock);
}

/* Unless its block is another one's already, or its service was withdrawn. */
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
 * ddi_conn_drain() - wait for what was accepted for another node to be on its way
 * @h: handle
 * @c: connection, which ddi_conn_end() has ended
 * @serial: its serial
 * @deadline: not after this
 *
 * The kernel would when it closes, but here no lock is held: it may take as long as
 * such a node is waited for. The kernel knows since when that is.
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
 * @c: connection, which ddi_conn_end() has ended
 * @serial: its serial
 *
 * Its list may go with it: then nobody may be consuming.
 *
 * Return: 0, or a negative errno.
 */
int ddi_conn_close(struct dd *h, const struct ddi_conn *c, uint64_t serial)
{
	/* Its block may be another client's already, which has another serial. */
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
	/* Another thread may have been quicker. */
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

static uint32_t connect_flags(const struct dd *h, unsigned int flags)
{
	uint32_t ret = 0;

	if (!h->direct || flags & DD_ATTR_NODIRECT)
		ret |= DD_CONNECT_NODIRECT;
	if (flags & DD_ATTR_DIRECT_ANY)
		ret |= DD_CONNECT_DIRECT_ANY;
	return ret;
}

/* Without @timeout. */
#define CONNECT_ATTR_SIZE0	offsetof(struct dd_connect_attr, timeout)

static int connect_prepare(struct dd *h, const char *name, int node,
			   const struct dd_connect_attr *attr,
			   struct dd_connect *cn)
{
	int ret;

	if (!attr || (attr->size != sizeof(*attr) &&
		      (attr->size != CONNECT_ATTR_SIZE0 ||
		       attr->flags & DD_ATTR_TIMEOUT)) ||
	    attr->flags & ~(DD_ATTR_LIST | DD_ATTR_ANON | DD_ATTR_TIMEOUT |
			    DDI_ATTR_DIRECT) ||
	    attr->type < DD_TYPE_RPC || attr->type > DD_TYPE_STREAM ||
	    attr->window > DD_WINDOW_MAX)
		return -EINVAL;
	cn->type = attr->type;
	cn->window = attr->window;
	cn->flags = connect_flags(h, attr->flags);
	if (attr->type == DD_TYPE_RPC || attr->flags & DD_ATTR_ANON) {
		cn->flags |= DD_CONNECT_ANON;
	} else {
		cn->list = attr->list;
		if (attr->flags & DD_ATTR_LIST) {
			if (attr->list <= 0)
				return -EBADID;
			cn->flags |= DD_CONNECT_LIST;
		}
	}
	ret = ddi_name_copy(cn->name, name);
	if (!ret)
		ret = ddi_region_check(h, "send", attr->send, attr->send_size,
				       &cn->send);
	if (!ret)
		ret = ddi_region_check(h, "receive", attr->recv,
				       attr->recv_size, &cn->recv);
	if (!ret && (node < 0 || node >= dd_max_nodes(h))) {
		ret = -EBADSERVER;
		ddi_reason(h, ret, "there is no node %d, only 0 to %d", node,
			   dd_max_nodes(h) - 1);
	}
	cn->node = node;
	return ret;
}

static int connect_bind(struct dd *h, const struct dd_connect *cn)
{
	struct ddi_list *l;

	pthread_mutex_lock(&h->lock);
	l = ddi_list_bind(h, cn->list, cn->list_unit);
	pthread_mutex_unlock(&h->lock);
	/* Its reply may have been consumed already, which bound it. */
	if (!l || !ddi_conn_load(h, cn->conn)) {
		ddi_ioctl_conn(h, DD_IOC_CLOSE, cn->conn);
		return -ENOMEM;
	}
	return 0;
}

/* What the error number does not say. */
static void connect_reason(struct dd *h, int ret, const char *name, int node)
{
	ddi_reason_kernel(h, ret);
	switch (-ret) {
	case EUSERS:
		ddi_reason(h, ret, "service '%.63s' on node %d has no block for this user: each has a connection, or messages unread, or another user's requests without a reply; one has to close, or the server to go on",
			   name, node);
		break;
	case ENOBUFS:
		ddi_reason(h, ret, "service '%.63s' on node %d cannot accept: its server has reached its limit of locked memory (RLIMIT_MEMLOCK)%s",
			   name, node, node == dd_node(h) ? "" :
			   ", or that node is out of memory");
		break;
	case EDQUOT:
		ddi_memlock_reason(h, "this connection");
		break;
	case EACCES:
		ddi_reason(h, ret, "service '%.63s' on node %d does not let this user connect",
			   name, node);
		break;
	case ECONNREFUSED:
		ddi_reason(h, ret, "node %d has no service '%.63s': 'ddctl service' there lists those it has",
			   node, name);
		break;
	case ENONET:
		ddi_reason(h, ret, "node %d is no peer of this one, node %d: see 'ddctl peer'",
			   node, dd_node(h));
		break;
	case EHOSTUNREACH:
		ddi_reason(h, ret, "node %d does not answer: 'ddctl peer show %d' may say why",
			   node, node);
		break;
	case ETIMEDOUT:
		ddi_reason(h, ret, "node %d has not answered in time: 'ddctl peer show %d' may say why",
			   node, node);
		break;
	case EAGAIN:
		ddi_reason(h, ret, "node %d is another one, whose answer has to be waited for: give a timeout that is not 0",
			   node);
		break;
	case EPROTONOSUPPORT:
		ddi_reason(h, ret, "node %d speaks no version of the protocol that this one speaks",
			   node);
		break;
	case EPROTO:
		ddi_reason(h, ret, "node %d and this one do not understand each other: 'ddctl peer show %d' may say why",
			   node, node);
		break;
	}
}

static int connect_wait(struct dd *h, const struct dd_connect_attr *attr,
			struct dd_connect *cn)
{
	int64_t deadline = DD_FOREVER;
	int ret;

	if (attr->flags & DD_ATTR_TIMEOUT)
		deadline = attr->timeout ? ddi_deadline(attr->timeout) : 0;
	do {
		if (deadline >= 0) {
			cn->flags |= DD_CONNECT_TIMEOUT;
			cn->timeout = ddi_remaining(deadline);
		}
		ret = ddi_ioctl(h, DD_IOC_CONNECT, cn);
	} while (ret == -EINTR);
	/* It had begun to wait before. */
	return ret == -EAGAIN && deadline ? -ETIMEDOUT : ret;
}

DD_API int dd_connect(struct dd *h, const char *name, int node,
		      const struct dd_connect_attr *attr, int *list)
{
	struct dd_connect cn = { .size = sizeof(cn) };
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	ddi_reason_clear(h);
	ret = connect_prepare(h, name, node, attr, &cn);
	if (ret)
		return ret;

	ret = connect_wait(h, attr, &cn);
	connect_reason(h, ret, name, node);
	if (ret >= 0)
		ret = connect_bind(h, &cn);
	if (ret < 0)
		return ddi_error(ret);
	if (list)
		*list = attr->type == DD_TYPE_RPC ? 0 : cn.list;
	return DD_SERIAL_ID(cn.conn);
}

/* What the kernel does not count. */
static void conn_desc_direct(struct dd *h, struct ddi_conn *c,
			     struct dd_conn_desc *desc)
{
	struct dd_conn_info info = { .size = sizeof(info), .conn = c->serial };

	/* What comes from here on is counted, what has come the kernel knows. */
	if (!ddi_in_count(h, c, &desc->received)) {
		ddi_store(&c->tracked, c->tracked | DDI_COUNTED);
		ddi_store(&c->plain, 0);
		if (!ddi_ioctl(h, DD_IOC_CONN_INFO, &info))
			c->base = desc->received = info.received;
	}
	if (!ddi_is_direct(c))
		return;
	desc->submitted = c->out->submitted;
	desc->sent = desc->submitted;
	desc->done = desc->submitted -
		     (!desc->closed && ddi_out_full(c->out));
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
}

DD_API int dd_conn_info(struct dd *h, int conn, struct dd_conn_desc *desc)
{
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
	conn_desc_direct(h, c, desc);
	ddi_unlock(&c->lock);
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
