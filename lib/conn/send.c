// SPDX-License-Identifier: LGPL-2.1-only
/*
 * send.c - the send path: by plain stores, or by the send queue and its doorbell
 *
 * Copyright (C) 2026 The dd authors
 */
#include <endian.h>

#include "deposit.h"
#include "dev.h"
#include "error.h"
#include "region.h"
#include "send.h"

#define SEND_OPTIONS	(DD_SEND_BLOCK | DD_SEND_UNWIRED | DD_SEND_DMA)

/* Check what does not depend on the connection. */
int ddi_send_check(const struct ddi_request *rq)
{
	const unsigned int both = DD_SEND_UNWIRED | DD_SEND_DMA;

	if (rq->options & ~SEND_OPTIONS || (rq->options & both) == both ||
	    rq->metacount > DD_META_WORDS || (rq->metacount && !rq->meta))
		return -EINVAL;
	return 0;
}

static inline bool inside(size_t offset, size_t len, size_t size)
{
	return offset <= size && len <= size - offset;
}

/* Whether the source is inside the connection's own send buffer. */
static inline bool own_source(const struct ddi_conn *c, const void *addr, size_t len)
{
	return inside((uintptr_t)addr - (uintptr_t)c->send, len, c->send_size);
}

/* Execute the request in the queue. Returns 0, or why it was refused. */
static int doorbell(struct dd *h, const struct ddi_conn *c)
{
	int ret;

	do {
		ret = ddi_ioctl_conn(h, DD_IOC_DOORBELL, c->serial);
	} while (ddi_unlikely(ret == -EINTR));
	if (ddi_likely(ret > 0))
		return 0;
	return ret ? ddi_error(ret) : -EIO;
}

/*
 * A message is refused because the other end has closed. The kernel counts refused
 * replies: no other user's client gets the block of a request before the server has
 * replied to it or has closed.
 */
static int send_closed(struct dd *h, const struct ddi_conn *c)
{
	if (c->service)
		doorbell(h, c);
	return -ECONNCLOSE;
}

/*
 * Make a queue entry for the kernel, but for its number. The connection is locked, the
 * request has passed ddi_send_check(). Returns -EBADRANGE if the source is not where it
 * has to be.
 */
DDI_INLINE int ddi_send_fill(struct dd *h, const struct ddi_conn *c,
			     const struct ddi_request *rq, uint8_t flags, struct dd_sqe *sqe)
{
	uint32_t region = 0;

	/* The kernel checks that an offset is inside the connection's send buffer. */
	sqe->src = (uintptr_t)rq->addr - (uintptr_t)c->send;
	if (rq->options & DD_SEND_UNWIRED) {
		flags |= DD_SQE_UNWIRED;
		sqe->src = (uintptr_t)rq->addr;
	} else if (rq->options & DD_SEND_DMA) {
		region = ddi_region_hint(h, rq->addr, rq->len, true);
		if (!region)
			return -EBADRANGE;
		flags |= DD_SQE_UNWIRED | DD_SQE_REGION;
		sqe->src = (uintptr_t)rq->addr;
	}
	/* @opcode, @flags and @meta_count with one store */
	*(ddi_word *)&sqe->opcode = htole64(DD_OP_PUT | flags << 8 | rq->metacount << 16);
	sqe->dst = rq->roffset;
	sqe->len = rq->len;
	sqe->region = region;
	sqe->tag = rq->tag;
	for (size_t i = 0; i < rq->metacount; i++)
		sqe->meta[i] = rq->meta[i];
	return 0;
}

/* Have the kernel execute a request. */
static DDI_INLINE int send_kernel(struct dd *h, struct ddi_conn *c,
				  const struct ddi_request *rq, uint8_t flags)
{
	struct dd_sqe *sqe = c->cs->sq;
	int ret;

	/* A refused request may have left its number there. */
	ddi_store(&sqe->seq, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	ret = ddi_send_fill(h, c, rq, flags, sqe);
	if (ret)
		return ret;
	ddi_store_release(&sqe->seq, ddi_load(&c->cs->submitted) + 1);
	return doorbell(h, c);
}

/*
 * Send by the kernel. As many messages as fit the other end's list may be in flight, but
 * at least one. The kernel would refuse more as well; this saves a system call.
 */
static DDI_INLINE int send_queue(struct dd *h, struct ddi_conn *c,
				 const struct ddi_request *rq)
{
	const struct dd_conn_state *cs = c->cs;
	uint64_t pending = ddi_load(&cs->submitted) - ddi_load(&cs->done);

	if (ddi_unlikely(ddi_load(&cs->error)))
		return send_closed(h, c);
	if (pending && (pending >= ddi_load(&cs->window) || pending >= c->most))
		return -ENOTREADY;
	return send_kernel(h, c, rq, DD_SQE_NOTIFY);
}

/*
 * Finish a message after post() on a locked connection. If the other end has closed, it
 * may have read the last message before: the kernel reports the position up to which
 * notes were delivered, and the message counts only if its note is before that.
 */
static int posted(struct dd *h, struct ddi_conn *c)
{
	struct ddi_direct_tx *tx = c->tx;
	uint64_t end = tx->ends[(tx->submitted - 1) & tx->mask];
	struct dd_direct d = { .size = sizeof(d), .conn = c->serial,
			       .flags = DD_DIRECT_DROP, .start = end };

	if (ddi_load(&c->cs->conn) != c->serial || ddi_load(&c->cs->error)) {
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
	struct dd_conn_state *cs;

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
	cs = c->cs;
	/* For reports only. */
	ddi_store((ddi_word *)cs->sq[0].meta, n + 1);
	return ddi_load(&ring->state->need_wake) || ddi_load(&cs->error) ||
	       ddi_load(&cs->conn) != c->serial;
}

/* Send directly. Errors are those that the kernel would return, in its order. */
static int send_direct(struct dd *h, struct ddi_conn *c, const struct ddi_request *rq)
{
	struct ddi_direct_tx *tx = c->tx;
	bool full = ddi_direct_full(tx), good;
	char *to = tx->block + rq->roffset;
	uint64_t word;
	int ret;

	if (ddi_load(&c->cs->error))
		return send_closed(h, c);
	if (full && (tx->window == 1 || c->most == 1))
		return -ENOTREADY;
	if (rq->options & DD_SEND_DMA)
		good = ddi_region_hint(h, rq->addr, rq->len, true);
	else
		good = rq->options & DD_SEND_UNWIRED || own_source(c, rq->addr, rq->len);
	if (!good)
		return -EBADRANGE;
	if (!ddi_load(&ddi_head(h)->node_up))
		return -ENOCMP;
	if (!inside(rq->roffset, rq->len, tx->size))
		return -EBADRANGE;
	if (full)
		return -ENOTREADY;
	if (rq->options & DD_SEND_UNWIRED) {
		/* The kernel copies memory on which this process might fault. */
		ret = send_kernel(h, c, &(struct ddi_request){
			.addr = rq->addr, .len = rq->len, .roffset = rq->roffset,
			.options = DD_SEND_UNWIRED }, 0);
		if (ret)
			return ret;
		word = ddi_last_word(to, rq->len);
	} else {
		word = ddi_deposit_any(to, rq->addr, rq->len);
	}
	return post(c, tx, rq->len, rq->roffset, word, &rq->tag, rq->meta,
		    rq->metacount) ? posted(h, c) : 0;
}

/*
 * Send one message, whatever the type of the locked connection allows; the request has
 * passed ddi_send_check(). Returns as dd_send().
 */
DDI_HOT int ddi_send_locked(struct dd *h, struct ddi_conn *c, const struct ddi_request *rq)
{
	if (ddi_direct_due(c))
		ddi_store(&c->tx, ddi_direct_open(h, c->cs, c->serial, &c->tx_ask));
	return c->tx ? send_direct(h, c, rq) : send_queue(h, c, rq);
}

/*
 * Send on a locked connection what its type allows, and unlock it. A request of SPLIT
 * counts as outstanding before it is sent: another thread may consume its reply before
 * the system call returns. A close of the other end is reported in any case.
 */
DDI_HOT static int send_unlock(struct dd *h, struct ddi_conn *c, const struct ddi_request *rq)
{
	int ret = 0;

	if (c->guarded && c->type == DD_TYPE_RPC)
		ret = -EBADTYPE;
	else if (c->guarded && ddi_load_acquire(&c->outstanding) &&
		 !ddi_load(&c->cs->error))
		ret = -ESLOTBUSY;
	if (!ret) {
		ddi_store(&c->outstanding, c->guarded);
		ret = ddi_send_locked(h, c, rq);
		if (ret)
			ddi_store(&c->outstanding, 0);
	}
	if (!ret && rq->options & DD_SEND_BLOCK) {
		ret = ddi_send_wait(h, c, DD_DONE_SENT, ddi_submitted(c), DD_FOREVER);
		return ret < 0 ? ret : 0;
	}
	ddi_unlock(&c->lock);
	return ret;
}

/* A plain message that does not go directly, or cannot be sent. */
static DDI_NOINLINE int send_other(struct dd *h, struct ddi_conn *c, const char *addr,
				   size_t len, size_t roffset)
{
	const struct ddi_request rq = {
		.addr = addr, .len = len, .roffset = roffset, .tag = ddi_load(&c->got),
	};
	int ret;

	if (c->guarded || c->tx || ddi_direct_due(c)) {
		/* A copy, so that the compiler knows @rq below. */
		const struct ddi_request any = rq;

		return send_unlock(h, c, &any);
	}
	ret = send_queue(h, c, &rq);
	ddi_unlock(&c->lock);
	return ret;
}

/*
 * The same, of a connection that has to be searched or waited for; @locked is NULL or
 * a connection to unlock first.
 */
static DDI_NOINLINE int send_slow(struct dd *h, int conn, const char *addr, size_t len,
				  size_t roffset, struct ddi_conn *locked)
{
	struct ddi_conn *c;

	if (locked)
		ddi_unlock(&locked->lock);
	c = ddi_alive(h) ? ddi_conn_lock(h, conn) : NULL;
	return c ? send_other(h, c, addr, len, roffset) : -EBADID;
}

static DDI_NOINLINE int posted_unlock(struct dd *h, struct ddi_conn *c)
{
	int ret = posted(h, c);

	ddi_unlock(&c->lock);
	return ret;
}

/* The message is in place: post its note. */
static DDI_INLINE int send_post(struct dd *h, struct ddi_conn *c, struct ddi_direct_tx *tx,
				uint64_t word, size_t len, size_t roffset)
{
	if (ddi_unlikely(post(c, tx, len, roffset, word, &c->got, NULL, 0)))
		return posted_unlock(h, c);
	return ddi_unlock(&c->lock);
}

static DDI_NOINLINE int send_long(struct dd *h, struct ddi_conn *c, const char *addr,
				  size_t len, size_t roffset)
{
	uint64_t word = ddi_deposit_any(c->tx->block + roffset, addr, len);

	return send_post(h, c, c->tx, word, len, roffset);
}

/*
 * dd_send() without options and metadata; the handle may be NULL, and a child of fork()
 * finds no connection. A message that can go directly does so. All functions are called
 * last, so that this one saves few registers.
 */
DDI_HOT DD_API int ddi_send(struct dd *h, int conn, const char *addr, size_t len, size_t roffset)
{
	struct ddi_conn *c = ddi_likely(h) ? ddi_table_get(h->board.conns, conn) : NULL;
	struct ddi_direct_tx *tx;

	if (ddi_unlikely(!c) || ddi_unlikely(!ddi_trylock(&c->lock)))
		return send_slow(h, conn, addr, len, roffset, NULL);
	if (ddi_unlikely(DD_SERIAL_ID(c->serial) != (uint32_t)conn))
		return send_slow(h, conn, addr, len, roffset, c);
	tx = c->tx;
	if (!tx || ddi_unlikely(c->guarded) || ddi_unlikely(ddi_load(&c->cs->error)) ||
	    ddi_unlikely(!ddi_load(&ddi_head(h)->node_up)) ||
	    ddi_unlikely(!own_source(c, addr, len)) ||
	    ddi_unlikely(!inside(roffset, len, tx->size)) ||
	    (tx->submitted == tx->limit && ddi_unlikely(!ddi_direct_drained(tx))))
		return send_other(h, c, addr, len, roffset);
	if (!ddi_is_short(len, roffset))
		return send_long(h, c, addr, len, roffset);
	return send_post(h, c, tx, ddi_deposit_short(tx->block + roffset, addr, len), len,
			 roffset);
}

/*
 * @serial: of the connection of the message that is replied to, whose number is the
 * tag of @rq; or 0.
 */
static int send_request(struct dd *h, int conn, struct ddi_request *rq, uint64_t serial)
{
	struct ddi_conn *c;
	int ret;

	if (!ddi_alive(h))
		return -EBADID;
	ret = ddi_send_check(rq);
	if (ret)
		return ret;
	c = ddi_conn_lock(h, conn);
	if (!c)
		return -EBADID;
	if (serial && c->serial != serial) {
		/* The id names another connection by now. */
		ddi_unlock(&c->lock);
		return -EBADID;
	}
	if (!serial)
		rq->tag = ddi_load(&c->got);
	return send_unlock(h, c, rq);
}

static DDI_NOINLINE int send_more(struct dd *h, int conn, const void *addr, size_t len,
				  size_t roffset, unsigned int options,
				  const unsigned int *meta, size_t metacount)
{
	struct ddi_request rq = { addr, len, roffset, options, meta, metacount, 0 };

	return send_request(h, conn, &rq, 0);
}

DDI_HOT DD_API int dd_send(struct dd *h, int conn, const void *addr, size_t len,
			   size_t roffset, unsigned int options,
			   const unsigned int *meta, size_t metacount)
{
	if (ddi_unlikely(options | metacount))
		return send_more(h, conn, addr, len, roffset, options, meta, metacount);
	return ddi_send(h, conn, addr, len, roffset);
}

DD_API int dd_reply(struct dd *h, const struct dd_msg *msg, const void *addr,
		    size_t len, size_t roffset, unsigned int options)
{
	struct ddi_request rq = { addr, len, roffset, options, NULL, 0, 0 };

	if (!ddi_alive(h))
		return -EBADID;
	if (!msg || msg->type != DD_MSG_DATA)
		return -EINVAL;
	if (DD_SERIAL_ID(msg->serial) != (uint32_t)msg->conn)
		return -EBADID;
	rq.tag = msg->msgid;
	return send_request(h, msg->conn, &rq, msg->serial);
}

/*
 * Wait until message @n, which the locked connection has sent, is sent or done (@what is
 * DD_DONE_*); unlocks the connection. Returns as dd_done().
 */
int ddi_send_wait(struct dd *h, struct ddi_conn *c, unsigned int what, uint64_t n,
		  int64_t timeout)
{
	bool placed = what == DD_DONE_PLACED, direct = placed && c->tx;
	const struct dd_conn_state *cs = c->cs;
	const __u64 *word = placed ? &cs->done : &cs->sent;
	struct ddi_limit limit = { .timeout = timeout };
	struct ddi_tx_ring *ring = NULL;
	struct ddi_direct_tx *tx = c->tx;
	uint64_t serial = c->serial;
	int ret;

	/* Sent directly, all but the last one are within the window. */
	if (direct)
		ret = n != tx->submitted || !ddi_direct_full(tx);
	else
		ret = tx || ddi_load_acquire(word) >= n;
	/* A close puts in place what was sent directly. */
	if (!ret && ddi_load(&cs->error))
		ret = direct ? 1 : -ECONNCLOSE;
	if (!ret && timeout && direct) {
		ring = ddi_ring_hold(tx->ring);
		word = &ring->state->head;
		n = tx->ends[(n - tx->window - 1) & tx->mask];
	}
	ddi_unlock(&c->lock);
	if (ret || !timeout)
		return ret;
	do {
		ret = ddi_state_await(h, &c->spin, cs, serial, direct ? DD_WAIT_RING :
				      placed ? DD_WAIT_DONE : DD_WAIT_SENT, word, n, &limit);
	} while (ret == -EINTR);
	if (ring)
		ddi_ring_put(ring);
	ret = ddi_error(ret);
	return !ret || (direct && ret == -ECONNCLOSE) ? 1 : ret;
}

DD_API int dd_done(struct dd *h, int conn, unsigned int what, int64_t timeout)
{
	struct ddi_conn *c;

	if (!ddi_alive(h))
		return -EBADID;
	if (what > DD_DONE_PLACED)
		return -EINVAL;
	c = ddi_conn_lock(h, conn);
	return c ? ddi_send_wait(h, c, what, ddi_submitted(c), timeout) : -EBADID;
}

DD_API int ddi_placed(struct dd *h, int conn, uint64_t n, int64_t timeout)
{
	struct ddi_conn *c = ddi_alive(h) ? ddi_conn_lock(h, conn) : NULL;

	return c ? ddi_send_wait(h, c, DD_DONE_PLACED, n, timeout) : -EBADID;
}
