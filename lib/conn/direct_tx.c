// SPDX-License-Identifier: LGPL-2.1-only
/*
 * direct_tx.c - windows for sending by plain stores, to a process of the same node
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "deposit.h"
#include "dev.h"
#include "direct_tx.h"
#include "list.h"

/*
 * Connections of a handle that send directly. Each takes a mapping, of which a process
 * has 65,530 by default; most of them are left to the program.
 */
#define DIRECT_MAX	16384

/* Messages after which a connection asks again for a direct path. */
#define ASK_BUSY	127	/* a message was unread */
#define ASK_FULL	512	/* the receiver's list has no ring left */

static size_t ring_size(const struct ddi_tx_ring *ring)
{
	return (ring->mask + 1ul) * sizeof(struct dd_ring_note);
}

/* Drop a reference to the memory of a ring. */
void ddi_ring_put(struct ddi_tx_ring *ring)
{
	if (__atomic_sub_fetch(&ring->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (ring->notes)
		munmap(ring->notes, ring_size(ring));
	if (ring->state)
		munmap((void *)ring->state, DDI_STATE_SIZE);
	free(ring);
}

/* direct_lock is held, since before the kernel has granted the ring: see tx_get(). */
static struct ddi_tx_ring *ring_get(struct dd *h, const struct dd_direct *d)
{
	struct ddi_tx_ring *ring;

	for (ring = h->tx_rings; ring; ring = ring->next) {
		if (ring->offset == d->notes) {
			ring->users++;
			return ring;
		}
	}
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	ring->offset = d->notes;
	ring->mask = d->slots - 1;
	ring->users = 1;
	ring->refs = 1;
	ring->tail = d->start;
	ring->notes = ddi_map(h, d->notes, ring_size(ring), PROT_READ | PROT_WRITE);
	ring->state = ddi_map(h, d->state, DDI_STATE_SIZE, PROT_READ);
	if (!ring->notes || !ring->state) {
		ddi_ring_put(ring);
		return NULL;
	}
	ring->next = h->tx_rings;
	h->tx_rings = ring;
	return ring;
}

/* Undo what tx_new() and tx_get() did. */
void ddi_direct_close(struct dd *h, struct ddi_direct_tx *tx)
{
	struct ddi_tx_ring *ring = tx->ring, **link = &h->tx_rings;

	if (tx->block)
		munmap(tx->block, tx->size);
	__atomic_fetch_sub(&h->nr_direct, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&h->direct_lock);
	if (ring && !--ring->users) {
		while (*link != ring)
			link = &(*link)->next;
		*link = ring->next;
		ddi_ring_put(ring);
	}
	pthread_mutex_unlock(&h->direct_lock);
	free(tx);
}

static struct ddi_direct_tx *tx_new(struct dd *h, struct dd_conn_state *cs)
{
	uint32_t ends = 1, window = ddi_load(&cs->window);
	struct ddi_direct_tx *tx;

	if (!window || window > DD_WINDOW_MAX)
		return NULL;
	while (ends < window + 1)
		ends *= 2;
	tx = calloc(1, sizeof(*tx) + ends * sizeof(*tx->ends));
	if (!tx)
		return NULL;
	tx->mask = ends - 1;
	tx->window = window;
	tx->submitted = tx->limit = ddi_load(&cs->submitted);
	__atomic_fetch_add(&h->nr_direct, 1, __ATOMIC_RELAXED);
	return tx;
}

/* Get a direct path, and map it. */
static int tx_get(struct dd *h, struct dd_conn_state *cs, uint64_t serial, struct ddi_direct_tx *tx)
{
	struct dd_direct d = { .size = sizeof(d), .conn = serial };
	int ret;

	/*
	 * The kernel keeps a connection on a ring at least as long as the ring's record
	 * has a user for it. So a connection that is granted a ring in use finds its
	 * record, and continues at its tail.
	 */
	pthread_mutex_lock(&h->direct_lock);
	ret = ddi_ioctl(h, DD_IOC_DIRECT, &d);
	if (ret >= 0)
		tx->ring = ring_get(h, &d);
	pthread_mutex_unlock(&h->direct_lock);
	if (ret < 0)
		return ret;
	tx->size = d.block_size;
	tx->to = d.peer_conn | (uint64_t)d.peer_block << 40;
	if (tx->ring && d.block_size <= INT32_MAX)
		tx->block = ddi_map(h, d.block, d.block_size, PROT_READ | PROT_WRITE);
	if (tx->block) {
		/* The kernel shows this count in reports, and continues from it. */
		ddi_store((ddi_word *)cs->sq[0].meta, tx->submitted);
		return 0;
	}
	/* Before ddi_direct_close(): the next user of that ring starts with a new record. */
	d = (struct dd_direct){ .size = sizeof(d), .conn = serial, .flags = DD_DIRECT_DROP };
	ddi_ioctl(h, DD_IOC_DIRECT, &d);
	return -ENOMEM;
}

/*
 * The direct path of a connection, or NULL. The connection is locked and sends by the
 * kernel, which refuses while a message is unread. So a connection asks again, after *@ask
 * messages: not with each message, and not with each n-th for an n that bursts of messages
 * may have.
 */
struct ddi_direct_tx *ddi_direct_open(struct dd *h, struct dd_conn_state *cs, uint64_t serial,
				      uint64_t *ask)
{
	struct ddi_direct_tx *tx;
	int ret;

	*ask = UINT64_MAX;
	if (!h->direct || ddi_load(&h->nr_direct) >= DIRECT_MAX ||
	    ddi_load(&cs->node) != ddi_load(&ddi_head(h)->node))
		return NULL;
	tx = tx_new(h, cs);
	if (!tx)
		return NULL;
	ret = tx_get(h, cs, serial, tx);
	if (!ret)
		return tx;
	if (ret == -EBUSY || ret == -ENOSPC)
		*ask = tx->submitted + (ret == -EBUSY ? ASK_BUSY : ASK_FULL);
	ddi_direct_close(h, tx);
	return NULL;
}

/*
 * Load the reader's position again. Message n may be sent when message n - window - 1,
 * whose slot it takes, has been consumed. Returns whether the next one may be sent.
 */
bool ddi_direct_look(struct ddi_direct_tx *tx)
{
	uint64_t n = tx->submitted, head;

	if (ddi_direct_drained(tx))
		return true;
	head = ddi_load_acquire(&tx->ring->state->head);
	while (tx->limit <= n + tx->window &&
	       tx->ends[(tx->limit - tx->window - 1) & tx->mask] <= head)
		tx->limit++;
	return n != tx->limit;
}
