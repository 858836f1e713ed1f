/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * direct.h - sending by plain stores, to a process of the same node
 *
 * Copyright (C) 2026 The dd authors
 *
 * A connection sends directly, or by the kernel, and begins with either when all
 * that it has sent by the other has been read: so its messages need no sorting.
 * What the kernel says of the direct path in its header is not repeated here.
 */
#ifndef _DD_DIRECT_H
#define _DD_DIRECT_H

#include <string.h>

#include "internal.h"
#include "ring.h"

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

#define DDI_COPY_SHORT	64	/* bytes, up to which there is no loop */

/**
 * struct ddi_out - the direct way out of a connection; protected by its lock
 * @open: of the connection
 * @cell: the connection's cell
 * @head: head of the area
 * @source: the own send block, NULL if there is none
 * @submitted: messages sent
 * @limit: how many may be sent before the reader's position is looked at again;
 *	at most @submitted + @window + 1
 * @block: the peer's block
 * @lane: ring for the notes
 * @state: of @lane
 * @to: the connection's id there and its block number << 8, if it is a
 *	serving end: 8 bytes of a note
 * @mask: entries in @ends minus 1
 * @window: unconsumed messages allowed there
 * @size: bytes in @block, less than 2 GiB
 * @deposits: requests that the kernel has carried out
 * @source_room: of a message of 8, 16, ... DDI_COPY_SHORT bytes, the offset in the
 *	own send block must be less than this; 0 if there is none such
 * @room: likewise in the peer's block
 * @ends: position after the note of message n, counting from 0, is in entry
 *	n & @mask, for the last window + 1 of them at least
 */
struct ddi_out {
	uint64_t open;
	struct dd_cell *cell;
	const struct dd_area_head *head;
	const char *source;
	uint64_t submitted;
	uint64_t limit;
	char *block;
	struct ddi_lane *lane;
	const struct dd_ring_state *state;
	uint32_t to[2];
	uint32_t mask;
	uint32_t window;
	size_t size;
	uint64_t deposits;
	uint64_t source_room[DDI_COPY_SHORT / 8];
	uint64_t room[DDI_COPY_SHORT / 8];
	uint64_t ends[];
};

/* In place of one: a way that is never open. */
extern const struct ddi_out ddi_out_none;

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
 * ddi_out_drained() - has all been consumed that was sent?
 * @out: the way out, of which @limit was reached
 * @n: messages sent
 *
 * Message n may be sent when message n - window - 1, whose slot it gets, has been
 * consumed.
 *
 * Return: whether it has; then @limit is beyond message n.
 */
static DDI_INLINE bool ddi_out_drained(struct ddi_out *out, uint64_t n)
{
	/* Pairs with the reader's release: it has done with the slots. */
	uint64_t head = ddi_load_acquire(&out->state->head);

	if (ddi_unlikely(out->ends[(n - 1) & out->mask] > head))
		return false;
	out->limit = n + 1 + out->window;
	return true;
}

bool ddi_out_look(struct ddi_out *out);

/**
 * ddi_out_full() - must the next message wait for the reader?
 * @out: the way out
 *
 * If so, the message before is not done: it is beyond the window.
 *
 * Return: whether it must.
 */
static inline bool ddi_out_full(struct ddi_out *out)
{
	return out->submitted == out->limit && ddi_out_look(out);
}

/* Position after the note that the next message waits for, if it does. */
static inline uint64_t ddi_out_awaits(const struct ddi_out *out)
{
	return out->ends[(out->submitted - out->window - 1) & out->mask];
}

/*
 * What goes by the kernel may go directly later: that is asked at the last few of
 * so many messages, a power of two, since it cannot be while one is unread.
 */
#define DDI_ASK_EVERY	512
#define DDI_ASK_TIMES	16	/* a power of two, too */

/* Whether a connection that has sent so many messages may ask. */
static DDI_INLINE bool ddi_out_asks(uint64_t n)
{
	/* What is n % DDI_ASK_EVERY >= DDI_ASK_EVERY - DDI_ASK_TIMES, in less. */
	return ddi_unlikely(!((n + DDI_ASK_TIMES) &
			      (DDI_ASK_EVERY - DDI_ASK_TIMES)));
}

/* May be used for words of any type. */
typedef uint64_t __attribute__((may_alias)) ddi_word;

/* Whether the connection of a cell is open. */
static DDI_INLINE bool ddi_cell_goes_on(const struct dd_cell *cell)
{
	return ddi_likely(ddi_equals(&cell->error, 0));
}

/* Whether a cell still belongs to a connection, and that is open. */
static DDI_INLINE bool ddi_cell_is_open(const struct dd_cell *cell, uint64_t open)
{
	return ddi_likely(ddi_equals(&cell->conn, open)) &&
	       ddi_cell_goes_on(cell);
}

static DDI_INLINE bool ddi_out_is_open(const struct ddi_out *out)
{
	return ddi_cell_is_open(out->cell, out->open);
}

#define DDI_COPY_BULK	512	/* from here on memcpy() is faster */

/* Two words, for processors that move them at once. */
typedef uint64_t ddi_pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint64_t ddi_any_word __attribute__((aligned(1), may_alias));
typedef uint64_t ddi_any_pair __attribute__((vector_size(16), aligned(1), may_alias));

static DDI_INLINE void ddi_move_pair(char *dst, const char *src)
{
	*(ddi_pair *)dst = *(const ddi_any_pair *)src;
}

/**
 * ddi_deposit_short() - put the bytes of a message in place
 * @dst: where to, in the peer's block; a multiple of 8, as is @len
 * @src: where from
 * @len: bytes, 8..DDI_COPY_SHORT
 *
 * Some words are stored twice. What ends the message is stored last, by a
 * single store, as the kernel does it (kernel/copy.h): somebody may poll it.
 *
 * Return: the last word of the message.
 */
static DDI_INLINE uint64_t ddi_deposit_short(char *dst, const char *src,
					     size_t len)
{
	uint64_t word = *(const ddi_any_word *)(src + len - 8);

	if (ddi_likely(len >= 8 + 32)) {
		ddi_move_pair(dst, src);
		ddi_move_pair(dst + 16, src + 16);
		ddi_move_pair(dst + len - 40, src + len - 40);
		ddi_move_pair(dst + len - 24, src + len - 24);
	} else if (len >= 8 + 16) {
		ddi_move_pair(dst, src);
		ddi_move_pair(dst + len - 24, src + len - 24);
	} else if (len > 8) {
		ddi_store((ddi_word *)dst, *(const ddi_any_word *)src);
	}
	ddi_store_release((ddi_word *)(dst + len - 8), word);
	return word;
}

uint64_t ddi_deposit(char *dst, const char *src, size_t len);

/**
 * ddi_out_post() - a message is in place: tell of it
 * @out: the way out, not full
 * @rq: the message, but its tag; constant, and inlined
 * @tag: that
 * @word: what ddi_deposit() returned
 * @alone: as ddi_alone(); constant
 *
 * A full barrier: then ddi_out_is_open() and ddi_out_awaited() say whether
 * ddi_out_after() is due.
 */
static DDI_INLINE void ddi_out_post(struct ddi_out *out,
				    const struct ddi_request *rq,
				    const uint32_t *tag, uint64_t word,
				    bool alone)
{
	struct ddi_lane *lane = out->lane;
	/* Several connections share it, each with a lock of its own. */
	uint64_t pos = alone ? lane->tail++ :
		       __atomic_fetch_add(&lane->tail, 1, __ATOMIC_RELAXED);
	struct dd_ring_note *note = &lane->notes[pos & lane->mask];
	uint64_t n = out->submitted;
	__u32 head[2];

	note->word = word;
	note->offset = rq->roffset;
	note->len = rq->len;
	head[0] = out->to[0];
	head[1] = out->to[1] | rq->metacount;
	memcpy(&note->conn, head, sizeof(head));
	out->ends[n & out->mask] = pos + 1;
	out->submitted = ++n;
	note->msgid = n;
	note->tag = ddi_load(tag);
	for (size_t i = 0; i < rq->metacount; i++)
		note->meta[i] = rq->meta[i];
	/* For reports; nobody relies on it. */
	ddi_store((ddi_word *)out->cell->sq[0].meta, n);
	/* All of it is seen before anything is loaded below. */
	ddi_store_mb(&note->seq, pos + 1);
}

static DDI_INLINE bool ddi_out_awaited(const struct ddi_out *out)
{
	return ddi_test(&out->state->need_wake, 1);
}

/* direct.c */
void ddi_out_open(struct dd *h, struct ddi_conn *c);
void ddi_out_close(struct dd *h, struct ddi_conn *c);
int ddi_out_after(struct dd *h, struct ddi_conn *c);
int ddi_out_send(struct dd *h, struct ddi_conn *c, const struct ddi_request *rq);
int ddi_out_wait(struct dd *h, struct ddi_conn *c, uint64_t serial, uint64_t n,
		 int64_t deadline);
void ddi_out_release(struct dd *h);

/* ---- receiving ----------------------------------------------------------- */

#define DDI_STATE_SIZE	4096	/* the kernel shows it by pages */

/**
 * struct ddi_in - a direct ring that another process writes to
 * @state: what this end says, in the area; the slots are behind it
 * @mask: their number minus 1
 * @unit: unit number of @state, by which cells name the ring
 */
struct ddi_in {
	struct dd_ring_state *state;
	uint32_t mask;
	uint32_t unit;
};

/* A slot, which a stranger writes. */
static DDI_INLINE const struct dd_ring_note *
ddi_in_slot_of(const struct dd_ring_state *state, uint32_t mask, uint64_t pos)
{
	const void *notes = (const char *)state + DDI_STATE_SIZE;

	return (const struct dd_ring_note *)notes + (pos & mask);
}

static inline const struct dd_ring_note *ddi_in_slot(const struct ddi_in *in,
						     uint64_t pos)
{
	return ddi_in_slot_of(in->state, in->mask, pos);
}

static inline bool ddi_in_ready(const struct ddi_in *in)
{
	uint64_t pos = ddi_load(&in->state->head);

	return ddi_load_acquire(&ddi_in_slot(in, pos)->seq) == pos + 1;
}

/*
 * Whether a sender sleeps until the ring has been read. Called after a full barrier
 * that follows the store of @head; the sender sets @need_kick before it reads @head.
 */
static inline bool ddi_in_wanted(const struct dd_ring_state *state)
{
	return ddi_unlikely(ddi_test(&state->need_kick, 1));
}

/* Whether a note of a ring can be for a connection. */
static DDI_INLINE bool ddi_in_of(uint32_t unit, const struct dd_cell *cell)
{
	return ddi_likely(ddi_equals(&cell->ring, unit));
}

/* Whether there can be a message where a note says. */
static DDI_INLINE bool ddi_in_valid(const struct ddi_conn *c, uint64_t offset,
				    uint64_t len)
{
	uint64_t end = offset + len;

	/* Compare, rather than make a number of the carry. */
	__asm__("" : "+r" (end));
	return ddi_likely(end >= offset) && ddi_likely(end <= c->recv_size);
}

/* Consume a note that need not be the first one: there is none for anybody then. */
static inline void ddi_in_drop(struct ddi_in *in, uint64_t pos)
{
	if (pos == ddi_load(&in->state->head))
		ddi_store_release(&in->state->head, pos + 1);
	else
		ddi_store((__u32 *)&ddi_in_slot(in, pos)->conn, 0);
}

/* The ring that cells name like this, or NULL. */
static inline struct ddi_in *ddi_in_named(const struct ddi_list *l, uint32_t unit)
{
	for (uint32_t i = 0; unit && i < l->rings; i++)
		if (l->in[i].unit == unit)
			return &l->in[i];
	return NULL;
}

bool ddi_in_refresh(struct dd *h, struct ddi_list *l, struct dd_list_head *lh);
bool ddi_in_first(const struct ddi_in *in, uint32_t id, uint64_t start,
		  uint64_t end, uint64_t *pos);
bool ddi_in_count(struct dd *h, const struct ddi_conn *c, uint64_t *n);

#endif /* _DD_DIRECT_H */
