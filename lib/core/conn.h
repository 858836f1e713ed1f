/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * conn.h - connections and services of a handle
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_CONN_H
#define _DD_CONN_H

#include "handle.h"
#include "lock.h"
#include "wait.h"

struct ddi_batch;
struct ddi_direct_tx;

/*
 * In place of a serial. No id has this bit, so that no id that a program makes up
 * finds an unbound record.
 */
#define DDI_UNBOUND	0x80000000u

/* One end of a connection. The first cache line and a half are those of each message. */
struct ddi_conn {
	struct ddi_lock lock;	/* of the send queue, and of all of this while bound */
	uint32_t got;		/* number to tag the next message with, or 0 */
	uint64_t serial;	/* DDI_UNBOUND or 0 while unbound; written last */
	struct dd_cell *cell;	/* in the area */
	struct ddi_direct_tx *tx;	/* direct path, or NULL; @lock */
	uint64_t note;		/* first word of a direct note for this end: id, block */
	uint32_t got_mask;	/* RPC server: ~0, to keep message numbers in @got; else 0 */
	uint32_t service_id;	/* 0 at the connecting end */
	char *recv;
	size_t recv_size;
	char *send;
	size_t send_size;
	uint32_t most;		/* limit of messages in flight, whatever the window is */
	bool guarded;		/* RPC or SPLIT client: the type restricts sending */
	bool simple;		/* it is not, and @send_size is at least DDI_COPY_SHORT */
	uint8_t outstanding;	/* SPLIT client: a request has no reply yet */
	uint8_t type;		/* DD_TYPE_* */
	bool closing;		/* @dead is being closed; dd.lock */
	bool described;		/* @list and below are known */
	uint64_t tx_ask;	/* messages sent before it asks for a direct path; @lock */
	uint64_t dead;		/* serial of the last connection closed here: what it
				 * left unread is not delivered
				 */
	struct ddi_service *service;	/* NULL at the connecting end */
	uint32_t list;		/* id of the note list */
	uint32_t node;		/* of the other end, as @pid and @uid */
	uint32_t pid;
	uint32_t uid;
	uint16_t window;	/* unread messages allowed here */
	uint16_t send_window;	/* unread messages allowed at the other end */
	struct ddi_batch *batch;	/* the batch that has locked it */
	struct ddi_spin spin;	/* for waits for its counters */
	uint32_t bucket;	/* in ddi_board.conns */
	struct ddi_conn *chain;	/* next record of the bucket */
	struct ddi_conn *next;	/* in dd.pool */
} __attribute__((aligned(DDI_LINE)));

/* A connecting end. */
struct ddi_client {
	struct ddi_conn conn;
	pthread_mutex_t call_lock;	/* one dd_call() at a time */
};

#define DDI_POOL_CHUNK	32

struct ddi_conn_chunk {
	struct ddi_client client[DDI_POOL_CHUNK];
	struct ddi_conn_chunk *next;
};

struct ddi_service {
	uint32_t id;		/* 0 while unbound */
	uint32_t list;
	uint32_t maxconn;	/* number of blocks */
	uint32_t capacity;	/* entries in @blocks, a power of two */
	uint32_t window;	/* as requested; 0: the default of the type */
	char *cells;		/* cell of block 0 */
	size_t cell_size;	/* bytes from one cell to the next */
	char *recv;
	size_t recv_block;	/* bytes in a block of @recv */
	char *send;		/* NULL if none */
	size_t send_block;
	uint32_t bucket;	/* in ddi_board.services */
	struct ddi_service *chain;	/* next record of the bucket */
	struct ddi_service *next;	/* in dd.all_services */
	struct ddi_conn *blocks;	/* one per block, not per connection: its lock covers
					 * the cell also while the block changes hands
					 */
	void *memory;		/* what @blocks is aligned in */
};

struct ddi_conn *ddi_conn_load(struct dd *h, uint64_t name);
struct ddi_conn *ddi_conn_find_slow(struct dd *h, uint32_t id);
struct ddi_conn *ddi_conn_lock_slow(struct dd *h, uint32_t id);
struct ddi_conn *ddi_conn_of_note(struct dd *h, const struct dd_note *note);
bool ddi_conn_end(struct ddi_conn *c);
void ddi_conn_drain(struct dd *h, const struct ddi_conn *c, uint64_t serial,
		    int64_t deadline);
int ddi_conn_close(struct dd *h, const struct ddi_conn *c, uint64_t serial);
void ddi_conn_unbind(struct dd *h, struct ddi_conn *c);
void ddi_conn_release(struct dd *h);

struct ddi_service *ddi_service_lookup(struct dd *h, uint32_t id);
struct ddi_service *ddi_service_new(struct dd *h, uint32_t maxconn);
void ddi_service_release(struct dd *h);

/* Whether the record is bound to connection @id, and that exists. */
static inline bool ddi_conn_is(const struct ddi_conn *c, uint32_t id)
{
	uint64_t serial = ddi_load_acquire(&c->serial);

	return ddi_likely(DD_SERIAL_ID(serial) == id) &&
	       ddi_likely(ddi_load_acquire(&c->cell->conn) == serial);
}

static inline bool ddi_conn_has(const struct ddi_conn *c, uint64_t serial)
{
	return ddi_likely(ddi_load_acquire(&c->serial) == serial) &&
	       ddi_likely(ddi_load_acquire(&c->cell->conn) == serial);
}

/* A connection that exists, or NULL. */
static inline struct ddi_conn *ddi_conn_find(struct dd *h, uint32_t id)
{
	struct ddi_conn *c = ddi_table_get(h->board.conns, id);

	return c && ddi_conn_is(c, id) ? c : ddi_conn_find_slow(h, id);
}

/* The same, locked. */
static inline struct ddi_conn *ddi_conn_lock(struct dd *h, uint32_t id)
{
	struct ddi_conn *c = ddi_table_get(h->board.conns, id);

	if (ddi_likely(c)) {
		ddi_lock(&c->lock);
		if (ddi_conn_is(c, id))
			return c;
		ddi_unlock(&c->lock);
	}
	return ddi_conn_lock_slow(h, id);
}

#endif /* _DD_CONN_H */
