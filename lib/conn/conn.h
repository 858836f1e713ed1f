/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * conn.h - connections and services of a handle
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_CONN_H
#define _DD_CONN_H

#include "direct_tx.h"
#include "lock.h"
#include "wait.h"

/*
 * In place of a serial. No id has this bit, so that no id that a program makes up
 * finds an unbound record.
 */
#define DDI_UNBOUND	0x80000000u

/*
 * One end of a connection: the record of its state, which later connections in that state
 * use as well. The first two cache lines are those of each message.
 */
struct ddi_conn {
	struct ddi_lock lock;	/* of the send queue, and of all of this while bound */
	uint32_t got;		/* number to tag the next message with, or 0 */
	uint64_t serial;	/* DDI_UNBOUND while unbound; written last */
	struct dd_conn_state *cs;	/* in the area */
	struct ddi_direct_tx *tx;	/* direct path, or NULL; @lock */
	uint64_t note;		/* first word of a direct note for this end: id, block */
	uint32_t got_mask;	/* RPC server: ~0, to keep message numbers in @got; else 0 */
	uint32_t service;	/* id, 0 at the connecting end */
	char *recv;
	size_t recv_size;
	char *send;
	size_t send_size;
	uint64_t tx_ask;	/* messages sent before it asks for a direct path; @lock */
	struct ddi_batch *batch;	/* the batch that has locked it */
	uint32_t most;		/* limit of messages in flight, whatever the window is */
	bool guarded;		/* RPC or SPLIT client: the type restricts sending */
	uint8_t outstanding;	/* SPLIT client: a request has no reply yet */
	uint8_t type;		/* DD_TYPE_* */
	struct ddi_spin spin;	/* for waits for its counters */
	uint64_t dead;		/* serial of the connection that is being closed, or 0 */
	struct ddi_list *list;	/* the note list; NULL while unbound */
	uint32_t list_id;
	struct ddi_conn *same;	/* next record of the bucket in ddi_board.states */
	struct ddi_conn *next;	/* in dd.conns */
	struct ddi_lock call_lock;	/* one dd_call() at a time */
} __attribute__((aligned(DDI_LINE)));

struct ddi_service {
	uint32_t id;
	struct ddi_list *list;
	bool dying;		/* being withdrawn: its connections are unknown */
	struct ddi_service *next;	/* in dd.services; dd.lock */
};

struct ddi_conn *ddi_conn_load(struct dd *h, uint64_t name);
struct ddi_conn *ddi_conn_find(struct dd *h, uint32_t id);
struct ddi_conn *ddi_conn_lock(struct dd *h, uint32_t id);
struct ddi_conn *ddi_conn_of(struct dd *h, uint64_t serial);
bool ddi_conn_end(struct ddi_conn *c);
void ddi_conn_drain(struct dd *h, const struct ddi_conn *c, uint64_t serial,
		    int64_t deadline);
int ddi_conn_close(struct dd *h, const struct ddi_conn *c, uint64_t serial);
void ddi_conn_unbind(struct dd *h, struct ddi_conn *c);
void ddi_conn_release(struct dd *h);
struct ddi_service *ddi_service_find(struct dd *h, uint32_t id);

/* Whether the record is bound to connection @id, and that exists. */
static inline bool ddi_conn_is(const struct ddi_conn *c, uint32_t id)
{
	uint64_t serial = ddi_load_acquire(&c->serial);

	return ddi_likely(DD_SERIAL_ID(serial) == id) &&
	       ddi_likely(ddi_load_acquire(&c->cs->conn) == serial);
}

static inline bool ddi_conn_has(const struct ddi_conn *c, uint64_t serial)
{
	return ddi_likely(ddi_load_acquire(&c->serial) == serial) &&
	       ddi_likely(ddi_load_acquire(&c->cs->conn) == serial);
}

/* Whether a locked connection sends by the kernel and is to ask for a direct path now. */
static inline bool ddi_direct_due(const struct ddi_conn *c)
{
	return !c->tx && ddi_unlikely(ddi_load(&c->cs->submitted) >= c->tx_ask);
}

/* Messages that a locked connection has sent. */
static inline uint64_t ddi_submitted(const struct ddi_conn *c)
{
	return c->tx ? c->tx->submitted : ddi_load(&c->cs->submitted);
}

#endif /* _DD_CONN_H */
