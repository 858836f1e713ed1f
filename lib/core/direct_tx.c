// SPDX-License-Identifier: LGPL-2.1-only
/*
 * direct_tx.c - sending by plain stores, to a process of the same node
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "deposit.h"
#include "direct_tx.h"
#include "error.h"
#include "region.h"

/*
 * Connections of a handle that send directly. Each takes a mapping, of which a process
 * has 65,530 by default; most of them are left to the program.
 */
#define DIRECT_MAX	16384

#define STATE_SIZE	4096	/* the kernel maps it by pages */

static void *map(struct dd *h, uint64_t offset, size_t size, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, h->fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

static size_t ring_size(const struct ddi_tx_ring *ring)
{
	return (ring->mask + 1ul) * sizeof(struct dd_ring_note);
}

static void ring_free(struct ddi_tx_ring *ring)
{
	if (ring->notes)
		munmap(ring->notes, ring_size(ring));
	if (ring->state)
		munmap((void *)ring->state, STATE_SIZE);
	free(ring);
}

static struct ddi_tx_ring *ring_new(struct dd *h, const struct dd_direct *d)
{
	struct ddi_tx_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return NULL;
	ring->offset = d->notes;
	ring->mask = d->slots - 1;
	ring->tail = d->start;
	ring->notes = map(h, d->notes, ring_size(ring), PROT_READ | PROT_WRITE);
	ring->state = map(h, d->state, STATE_SIZE, PROT_READ);
	if (ring->notes && ring->state) {
		ring->next = h->tx_rings;
		h->tx_rings = ring;
		return ring;
	}
	ring_free(ring);
	return NULL;
}

/* direct_lock is held, since before the kernel has granted the ring: see tx_get(). */
static struct ddi_tx_ring *ring_get(struct dd *h, const struct dd_direct *d)
{
	struct ddi_tx_ring *ring = h->tx_rings;

	while (ring && ring->offset != d->notes)
		ring = ring->next;
	if (!ring)
		ring = ring_new(h, d);
	if (ring)
		ring->users++;
	return ring;
}

/* Undo what tx_new() and tx_get() did. */
static void tx_free(struct dd *h, struct ddi_direct_tx *tx)
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
		ring_free(ring);
	}
	pthread_mutex_unlock(&h->direct_lock);
	free(tx);
}

static struct ddi_direct_tx *tx_new(struct dd *h, struct dd_cell *cell)
{
	uint32_t ends = 1, window = ddi_load(&cell->window);
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
	tx->submitted = ddi_load(&cell->submitted);
	tx->limit = tx->submitted;
	tx->deposits = tx->submitted;
	__atomic_fetch_add(&h->nr_direct, 1, __ATOMIC_RELAXED);
	return tx;
}

/* Get a direct path, and map it. */
static int tx_get(struct dd *h, const struct ddi_conn *c, struct ddi_direct_tx *tx)
{
	struct dd_direct d = { .size = sizeof(d), .conn = c->serial };
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
	tx->node_up = &((struct dd_area_head *)h->area)->node_up;
	if (tx->ring && d.block_size <= INT32_MAX)
		tx->block = map(h, d.block, d.block_size, PROT_READ | PROT_WRITE);
	if (tx->block) {
		/* The kernel shows this count in reports, and continues from it. */
		ddi_store((ddi_word *)c->cell->sq[0].meta, tx->submitted);
		return 0;
	}
	/* Before tx_free(): the next user of that ring starts with a new record. */
	d = (struct dd_direct){ .size = sizeof(d), .conn = c->serial,
				.flags = DD_DIRECT_DROP };
	ddi_ioctl(h, DD_IOC_DIRECT, &d);
	return -ENOMEM;
}

/**
 * ddi_direct_open() - send directly from now on, if that is possible
 * @h: handle
 * @c: connection, locked, for which ddi_direct_due()
 */
void ddi_direct_open(struct dd *h, struct ddi_conn *c)
{
	const struct dd_area_head *head = (void *)h->area;
	struct ddi_direct_tx *tx;
	int ret;

	c->tx_known = true;
	c->tx_again = false;
	c->tx_after = ddi_load(&c->cell->submitted);
	if (!h->direct || ddi_load(&h->nr_direct) >= DIRECT_MAX ||
	    ddi_load(&c->cell->node) != ddi_load(&head->node))
		return;
	tx = tx_new(h, c->cell);
	if (!tx)
		return;
	ret = tx_get(h, c, tx);
	if (!ret) {
		c->tx = tx;
		if (!c->guarded && c->send_size >= DDI_COPY_SHORT)
			c->tx_fast = tx;
		return;
	}
	tx_free(h, tx);
	c->tx_again = ret == -EBUSY || ret == -ENOSPC;
	if (ret == -ENOSPC)
		c->tx_after |= DDI_ASK_EVERY - 1;
}

/* The connection is locked, and bound to nothing any more. */
void ddi_direct_close(struct dd *h, struct ddi_conn *c)
{
	struct ddi_direct_tx *tx = c->tx;

	c->tx_known = false;
	c->tx_again = false;
	c->tx = NULL;
	c->tx_fast = NULL;
	if (tx)
		tx_free(h, tx);
}

void ddi_direct_release(struct dd *h)
{
	struct ddi_conn_chunk *chunk;
	struct ddi_service *s;

	for (chunk = h->chunks; chunk; chunk = chunk->next)
		for (int i = 0; i < DDI_POOL_CHUNK; i++)
			ddi_direct_close(h, &chunk->client[i].conn);
	for (s = h->all_services; s; s = s->next)
		for (uint32_t i = 0; i < s->capacity; i++)
			if (s->blocks[i].tx)
				ddi_direct_close(h, &s->blocks[i]);
}

/* Position after the note of a message, from 0. */
static uint64_t end_of(const struct ddi_direct_tx *tx, uint64_t n)
{
	return tx->ends[n & tx->mask];
}

/*
 * Whether the reader has consumed all messages. Message n may be sent when message
 * n - window - 1, whose slot it takes, has been consumed.
 */
static inline bool tx_drained(struct ddi_direct_tx *tx)
{
	uint64_t n = tx->submitted;

	/* Pairs with the reader's release: it has finished with the slots before. */
	if (ddi_unlikely(end_of(tx, n - 1) >
			 ddi_load_acquire(&tx->ring->state->head)))
		return false;
	tx->limit = n + 1 + tx->window;
	return true;
}

/* Load the reader's position again. Returns whether the next message must wait. */
static bool tx_look(struct ddi_direct_tx *tx)
{
	uint64_t n = tx->submitted, window = tx->window, head, end;

	if (tx_drained(tx))
		return false;
	head = ddi_load_acquire(&tx->ring->state->head);
	end = end_of(tx, n - 1);
	/* At most as many messages are unread as there are notes before @end. */
	if (end > head && end - head <= window) {
		tx->limit = n + 1 + window - (end - head);
		return false;
	}
	while (tx->limit <= n + window &&
	       end_of(tx, tx->limit - window - 1) <= head)
		tx->limit++;
	return n == tx->limit;
}

/*
 * Whether the next message must wait for the reader. If so, the one before is not
 * done: it is beyond the window.
 */
bool ddi_direct_full(struct ddi_direct_tx *tx)
{
	return tx->submitted == tx->limit && tx_look(tx);
}

/* Have the kernel copy from memory on which this process might fault. */
static int kernel_deposits(struct dd *h, struct ddi_conn *c,
			   const struct ddi_request *rq, uint64_t *word)
{
	struct ddi_direct_tx *tx = c->tx;
	struct dd_sqe *sqe = &c->cell->sq[0];
	int ret;

	ddi_sqe_open(sqe);
	ddi_sqe_head(sqe, DD_SQE_UNWIRED, 0);
	sqe->src = (uintptr_t)rq->addr;
	sqe->region = 0;
	sqe->dst = rq->roffset;
	sqe->len = rq->len;
	sqe->tag = 0;
	ddi_store_release(&sqe->seq, tx->deposits + 1);
	ret = ddi_doorbell(h, c);
	if (ret)
		return ret;
	tx->deposits++;
	*word = ddi_last_word(tx->block + rq->roffset, rq->len);
	return 0;
}

/*
 * The message is in place: post its note, followed by a full barrier. Returns whether
 * the connection has ended or its receiver sleeps: then posted() is called.
 */
static DDI_INLINE bool post(struct ddi_conn *c, struct ddi_direct_tx *tx, size_t len,
			size_t roffset, uint64_t word, const uint32_t *tag,
			const unsigned int *meta, size_t metacount)
{
	struct ddi_tx_ring *ring = tx->ring;
	/* Connections with locks of their own share the ring. */
	uint64_t pos = ddi_alone() ? ring->tail++ :
		       __atomic_fetch_add(&ring->tail, 1, __ATOMIC_RELAXED);
	struct dd_ring_note *note = &ring->notes[pos & ring->mask];
	uint64_t n = tx->submitted;
	struct dd_cell *cell;

	note->word = word;
	note->offset = roffset;
	note->len = len;
	*(ddi_word *)&note->conn = tx->to | (uint64_t)metacount << 32;
	note->msgid = n + 1;
	note->tag = ddi_load(tag);
	for (size_t i = 0; i < metacount; i++)
		note->meta[i] = meta[i];
	/*
	 * Orders the note before the loads of @error and @need_wake that follow. Pairs
	 * with the kernel's barriers when it closes and when the receiver goes to sleep.
	 */
	ddi_store_mb(&note->seq, pos + 1);
	tx->ends[n & tx->mask] = pos + 1;
	tx->submitted = n + 1;
	cell = c->cell;
	/* For reports only. */
	ddi_store((ddi_word *)cell->sq[0].meta, n + 1);
	return !ddi_equals(&ring->state->need_wake, 0) ||
	       !ddi_equals(&cell->error, 0) || !ddi_equals(&cell->conn, c->serial);
}

/*
 * Finish a message after post(); the connection is locked, if not
 * ddi_alone(). If the other end has closed, it may have read the last message before:
 * the kernel reports the position up to which notes were delivered, and the message
 * counts only if its note is before that.
 */
static int posted(struct dd *h, struct ddi_conn *c)
{
	struct ddi_direct_tx *tx = c->tx;
	uint64_t end = end_of(tx, tx->submitted - 1);
	struct dd_direct d = { .size = sizeof(d), .conn = c->serial,
			       .flags = DD_DIRECT_DROP, .start = end };

	if (ddi_load(&c->cell->conn) != c->serial || ddi_load(&c->cell->error)) {
		if (ddi_ioctl(h, DD_IOC_DIRECT, &d) >= 0 && end <= d.start)
			return 0;
		tx->submitted--;
		return -ECONNCLOSE;
	}
	/* A close meanwhile has woken the receiver. */
	if (ddi_load(&tx->ring->state->need_wake))
		ddi_ioctl_conn(h, DD_IOC_WAKE, c->serial);
	return 0;
}

static inline bool inside(size_t offset, size_t len, size_t size)
{
	return offset <= size && len <= size - offset;
}

/* Whether the source is inside the connection's own send buffer. */
static inline bool own_source(const struct ddi_conn *c, const char *addr, size_t len)
{
	return inside((uintptr_t)addr - (uintptr_t)c->send, len, c->send_size);
}

/* The source of a request that the library copies. */
static bool source_good(struct dd *h, const struct ddi_conn *c,
			const struct ddi_request *rq)
{
	struct dd_buf buf;

	if (rq->options & DD_SEND_DMA)
		return ddi_region_find(h, rq->addr, rq->len, &buf);
	return rq->options & DD_SEND_UNWIRED || own_source(c, rq->addr, rq->len);
}

/**
 * ddi_direct_send() - send directly, whatever it is
 * @h: handle
 * @c: connection with a direct path, locked
 * @rq: request, which has passed ddi_send_check()
 *
 * Return: as dd_send(): the errors that the kernel would return, in its order.
 */
int ddi_direct_send(struct dd *h, struct ddi_conn *c,
		    const struct ddi_request *rq)
{
	struct ddi_direct_tx *tx = c->tx;
	bool full = ddi_direct_full(tx);
	uint64_t word;
	int ret;

	if (ddi_load(&c->cell->error))
		return ddi_send_closed(h, c);
	if (full && (tx->window == 1 || c->most == 1))
		return -ENOTREADY;
	if (!source_good(h, c, rq))
		return -EBADRANGE;
	if (!ddi_load(tx->node_up))
		return -ENOCMP;
	if (!inside(rq->roffset, rq->len, tx->size))
		return -EBADRANGE;
	if (full)
		return -ENOTREADY;
	if (rq->options & DD_SEND_UNWIRED) {
		ret = kernel_deposits(h, c, rq, &word);
		if (ret)
			return ret;
	} else {
		word = ddi_deposit(tx->block + rq->roffset, rq->addr, rq->len);
	}
	return post(c, tx, rq->len, rq->roffset, word, &rq->tag, rq->meta,
		    rq->metacount) ? posted(h, c) : 0;
}

/* Unlock a connection on which a message was posted. */
static DDI_NOINLINE int posted_slow(struct dd *h, struct ddi_conn *c)
{
	int ret = posted(h, c);

	if (!ddi_alone())
		ddi_unlock(&c->lock);
	return ret;
}

static DDI_NOINLINE int posted_wake(struct ddi_conn *c)
{
	ddi_lock_wake(&c->lock);
	return 0;
}

/* The message is in place: post its note. The order of arguments saves moves. */
static DDI_NOINLINE int send_post(struct dd *h, struct ddi_conn *c, uint64_t word,
				  size_t len, size_t roffset)
{
	if (ddi_unlikely(post(c, c->tx_fast, len, roffset, word, &c->got, NULL, 0)))
		return posted_slow(h, c);
	if (!ddi_alone() && ddi_unlikely(ddi_lock_leave(&c->lock)))
		return posted_wake(c);
	return 0;
}

/* Nothing was done. The connection is locked, if not ddi_alone(). */
static DDI_NOINLINE int send_not(struct dd *h, int conn, const char *addr, size_t len,
				 size_t roffset, struct ddi_conn *c)
{
	if (!ddi_alone())
		ddi_unlock(&c->lock);
	return ddi_send_general(h, conn, addr, len, roffset, 0, NULL, 0);
}

/* The same, of a connection without @tx_fast. */
static DDI_NOINLINE int send_slow(struct dd *h, int conn, const char *addr, size_t len,
				  size_t roffset, struct ddi_conn *c)
{
	if (ddi_send_fills(c))
		return ddi_send_queue(h, c, addr, len, roffset);
	return send_not(h, conn, addr, len, roffset, c);
}

static DDI_NOINLINE int send_long(struct dd *h, int conn, const char *addr, size_t len,
				  size_t roffset, struct ddi_conn *c)
{
	struct ddi_direct_tx *tx = c->tx_fast;

	if (!own_source(c, addr, len) || !inside(roffset, len, tx->size))
		return send_not(h, conn, addr, len, roffset, c);
	return send_post(h, c, ddi_deposit(tx->block + roffset, addr, len), len,
			 roffset);
}

/**
 * ddi_send_fast() - send a message without options and metadata
 * @h: handle, may be NULL; a child of fork() finds no connection
 * @conn: as dd_send()
 * @addr: as dd_send()
 * @len: as dd_send()
 * @roffset: as dd_send()
 *
 * The path of a short message that goes directly on a connection whose type allows it.
 * Everything else is left to functions that are called last, so that this one saves few
 * registers.
 *
 * Return: as dd_send().
 */
int ddi_send_fast(struct dd *h, int conn, const char *addr, size_t len, size_t roffset)
{
	struct ddi_direct_tx *tx;
	struct ddi_conn *c;

	c = ddi_likely(h) ? ddi_table_get(h->board.conns, conn) : NULL;
	if (ddi_unlikely(!c) || (!ddi_alone() && !ddi_trylock(&c->lock)))
		return ddi_send_general(h, conn, addr, len, roffset, 0, NULL, 0);
	if (ddi_unlikely(DD_SERIAL_ID(c->serial) != (uint32_t)conn))
		return send_not(h, conn, addr, len, roffset, c);
	tx = c->tx_fast;
	if (!tx)
		return send_slow(h, conn, addr, len, roffset, c);
	if (ddi_unlikely(!ddi_equals(&c->cell->error, 0)) ||
	    ddi_unlikely(ddi_equals(tx->node_up, 0)) ||
	    (tx->submitted == tx->limit && ddi_unlikely(!tx_drained(tx))))
		return send_not(h, conn, addr, len, roffset, c);
	if (!ddi_is_short(len) || ddi_unlikely(roffset & 7))
		return send_long(h, conn, addr, len, roffset, c);
	/* Neither buffer is shorter than a short message. */
	if (ddi_unlikely((size_t)(addr - c->send) > c->send_size - len) ||
	    ddi_unlikely(roffset > tx->size - len))
		return send_not(h, conn, addr, len, roffset, c);
	return send_post(h, c, ddi_deposit_short(tx->block + roffset, addr, len), len,
			 roffset);
}

/**
 * ddi_direct_wait() - wait until messages are done
 * @h: handle
 * @c: connection with a direct path, locked; unlocked by this function
 * @n: number of the last of them, at most that of the last one sent
 * @deadline: when to give up
 *
 * Return: 0; -ETIMEDOUT, -ECONNCLOSE, -EBADID.
 */
int ddi_direct_wait(struct dd *h, struct ddi_conn *c, uint64_t n,
		    int64_t deadline)
{
	struct ddi_direct_tx *tx = c->tx;
	uint64_t serial = c->serial, end = 0;
	int ret;

	/* All but the last one are within the window. */
	if (n == tx->submitted && ddi_direct_full(tx))
		end = end_of(tx, n - tx->window - 1);
	/* A close puts in place what was waiting. */
	if (ddi_load(&c->cell->error))
		end = 0;
	/* A reader that is running is faster than this thread falls asleep. */
	if (end && ddi_poll_once(h, &c->spin, &tx->ring->state->head, end))
		end = 0;
	ddi_unlock(&c->lock);
	if (!end)
		return 0;
	ret = ddi_conn_wait(h, serial, DD_WAIT_RING, end, deadline);
	return ret == -ECONNCLOSE ? 0 : ret;
}
