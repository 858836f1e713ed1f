/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * direct.h - sending by plain stores, to a process of the same node
 *
 * Copyright (C) 2026 The dd authors
 *
 * A connection sends directly from its first message on, or never, so that its
 * messages come by one ring and need no sorting. What the kernel says of the
 * direct path in its header is not repeated here.
 */
#ifndef _DD_DIRECT_H
#define _DD_DIRECT_H

#include <string.h>

#include "internal.h"

/**
 * struct ddi_lane - a ring of another process that this one writes to
 * @offset: where its slots are mapped from; names it
 * @notes: slots
 * @mask: their number minus 1
 * @state: what the receiver says
 * @tail: positions handed out
 * @users: connections; under dd.lane_lock
 * @next: all lanes of the handle; likewise
 */
struct ddi_lane {
	uint64_t offset;
	struct dd_ring_note *notes;
	uint32_t mask;
	const struct dd_ring_state *state;
	uint64_t tail;
	uint32_t users;
	struct ddi_lane *next;
};

/**
 * struct ddi_out - the direct way out of a connection; protected by its lock
 * @block: the peer's block
 * @size: its size in bytes, less than 2 GiB
 * @source: the own send block; where no block can be if there is none
 * @source_size: its size in bytes
 * @lane: ring for the notes
 * @peer: id of the connection there
 * @peer_block: its block number << 8, if it is a serving end
 * @window: unconsumed messages allowed there
 * @submitted: messages sent
 * @deposits: requests that the kernel has carried out
 * @head: the receiver's position, as it was seen last
 * @next: entry of @ends for the next message
 * @ends: position after the note of each of the last @window + 1 messages
 */
struct ddi_out {
	char *block;
	size_t size;
	uintptr_t source;
	size_t source_size;
	struct ddi_lane *lane;
	uint32_t peer;
	uint32_t peer_block;
	uint32_t window;
	uint64_t submitted;
	uint64_t deposits;
	uint64_t head;
	uint32_t next;
	uint64_t ends[];
};

/* Whether a connection, which is locked, sends directly. */
static inline bool ddi_is_direct(const struct ddi_conn *c)
{
	return c->out;
}

/* Likewise: messages it has sent. */
static inline uint64_t ddi_submitted(const struct ddi_conn *c)
{
	return ddi_is_direct(c) ? c->out->submitted :
				  ddi_load(&c->cell->submitted);
}

/**
 * ddi_out_full() - must the next message wait for the reader?
 * @out: the way out
 *
 * If so, the message before is not done: it is beyond the window.
 *
 * Return: whether it must.
 */
static DDI_INLINE bool ddi_out_full(struct ddi_out *out)
{
	if (ddi_likely(out->ends[out->next] <= out->head))
		return false;
	/* Pairs with the reader's release: it has done with the slot. */
	out->head = ddi_load_acquire(&out->lane->state->head);
	return out->ends[out->next] > out->head;
}

#define DDI_COPY_BULK	512	/* from here on memcpy() is faster */

uint64_t ddi_deposit_any(char *dst, const char *src, size_t len);

/* Not aliased with anything, so that words of any type can be copied. */
typedef uint64_t __attribute__((may_alias)) ddi_word;

/**
 * ddi_deposit() - put the bytes of a message in place
 * @dst: where to, in the peer's block
 * @src: where from
 * @len: bytes
 *
 * Aligned words by single stores, and what ends the message last, as the
 * kernel does it (kernel/copy.h): somebody may poll it.
 *
 * Return: the last aligned word of the message, or its tail.
 */
static DDI_INLINE uint64_t ddi_deposit(char *dst, const char *src, size_t len)
{
	ddi_word *to = (ddi_word *)dst;
	const ddi_word *from = (const ddi_word *)src;
	size_t n = len / 8 - 1;
	uint64_t word;

	if (ddi_unlikely(((uintptr_t)dst | (uintptr_t)src | len) & 7) ||
	    ddi_unlikely(len - 8 >= DDI_COPY_BULK))
		return ddi_deposit_any(dst, src, len);
	word = from[n];
	for (; n > 7; n -= 4, to += 4, from += 4) {
		ddi_store(&to[0], from[0]);
		ddi_store(&to[1], from[1]);
		ddi_store(&to[2], from[2]);
		ddi_store(&to[3], from[3]);
	}
	to += n;
	from += n;
	switch (n) {
	case 7:
		ddi_store(to - 7, from[-7]);
		/* fallthrough */
	case 6:
		ddi_store(to - 6, from[-6]);
		/* fallthrough */
	case 5:
		ddi_store(to - 5, from[-5]);
		/* fallthrough */
	case 4:
		ddi_store(to - 4, from[-4]);
		/* fallthrough */
	case 3:
		ddi_store(to - 3, from[-3]);
		/* fallthrough */
	case 2:
		ddi_store(to - 2, from[-2]);
		/* fallthrough */
	case 1:
		ddi_store(to - 1, from[-1]);
	}
	ddi_store_release(to, word);
	return word;
}

/**
 * ddi_out_post() - a message is in place: tell of it
 * @out: the way out, not full
 * @cell: the connection's cell
 * @id: its id
 * @rq: the message; constant, and inlined
 * @word: what ddi_deposit() returned
 *
 * Return: whether ddi_out_after() is due.
 */
static DDI_INLINE bool ddi_out_post(struct ddi_out *out, struct dd_cell *cell,
				    uint32_t id, const struct ddi_request *rq,
				    uint64_t word)
{
	struct ddi_lane *lane = out->lane;
	uint64_t pos = __atomic_fetch_add(&lane->tail, 1, __ATOMIC_RELAXED);
	struct dd_ring_note *note = &lane->notes[pos & lane->mask];
	ddi_word *count = (ddi_word *)cell->sq[0].meta;
	const __u32 head[2] = { out->peer, out->peer_block | rq->metacount };

	memcpy(&note->conn, head, sizeof(head));
	note->offset = rq->roffset;
	note->len = rq->len;
	note->word = word;
	note->msgid = ++out->submitted;
	note->tag = rq->tag;
	for (size_t i = 0; i < rq->metacount; i++)
		note->meta[i] = rq->meta[i];
	out->ends[out->next] = pos + 1;
	out->next = out->next == out->window ? 0 : out->next + 1;
	/* For reports; nobody relies on it. */
	ddi_store(count, out->submitted);
	/* All of it is seen before anything is loaded below. */
	__atomic_exchange_n(&note->seq, pos + 1, __ATOMIC_SEQ_CST);
#if !defined(__x86_64__) && !defined(__i386__)
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	return ddi_load(&lane->state->need_wake) | ddi_load(&cell->error) ||
	       ddi_load(&cell->id) != id;
}

/* direct.c */
void ddi_out_open(struct dd *h, struct ddi_conn *c);
void ddi_out_close(struct dd *h, struct ddi_conn *c);
int ddi_out_after(struct dd *h, struct ddi_conn *c, uint32_t id);
int ddi_out_send(struct dd *h, struct ddi_conn *c, const struct ddi_request *rq);
int ddi_out_wait(struct dd *h, struct ddi_conn *c, uint32_t id, uint64_t n,
		 int64_t deadline);
void ddi_out_release(struct dd *h);

/* ---- receiving ----------------------------------------------------------- */

/**
 * struct ddi_in - a direct ring that another process writes to
 * @state: what this end says, in the area
 * @notes: slots, written by a stranger
 * @mask: their number minus 1
 * @unit: unit number of @state, by which cells name the ring
 */
struct ddi_in {
	struct dd_ring_state *state;
	const struct dd_ring_note *notes;
	uint32_t mask;
	uint32_t unit;
};

/* The slot of the first unconsumed note. */
static DDI_INLINE const struct dd_ring_note *
ddi_in_slot(const struct ddi_in *in, uint64_t pos)
{
	return &in->notes[pos & in->mask];
}

static inline bool ddi_in_ready(const struct ddi_in *in)
{
	uint64_t pos = ddi_load(&in->state->head);

	return ddi_load_acquire(&ddi_in_slot(in, pos)->seq) == pos + 1;
}

/* Whether a note of that ring, for that connection, can be what it says. */
static DDI_INLINE bool ddi_in_valid(const struct ddi_in *in,
				    const struct ddi_conn *c, uint64_t offset,
				    uint64_t len)
{
	return ddi_likely(ddi_load(&c->cell->ring) == in->unit) &&
	       ddi_likely(offset <= c->recv_size) &&
	       ddi_likely(len <= c->recv_size - offset);
}

/* The cookie that the kernel would have put in a note. */
static DDI_INLINE uint64_t ddi_in_cookie(const struct ddi_conn *c)
{
	return c->service ? ddi_load(&c->service->id) : 0;
}

bool ddi_in_refresh(struct dd *h, struct ddi_list *l, struct dd_list_head *lh);

#endif /* _DD_DIRECT_H */
