/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credits of one channel at the note list it ends in: at most @window of its
 * notes are unconsumed at a time, and one slot beside is kept for the message
 * that waits when its connection closes. Since every channel reserves
 * window + 1 slots when it is attached, no note can ever meet a full ring.
 *
 * A slot is remembered by the position after its note; it is free again when
 * the reader's head has reached that. Zero is a slot that was never used.
 */
#ifndef _DD_CREDIT_H
#define _DD_CREDIT_H

#include <linux/slab.h>
#include <uapi/linux/dd.h>

/**
 * struct dd_credit - what a channel knows of its slots
 * @ends: ring of @window positions, the oldest at @next; &@one if @window is 1
 * @one: storage for the common case
 * @extra: position after the note in the slot beside
 * @seen: the reader's position that another node was given credit for; a reader
 *	who goes back behind it does so at the expense of his own notes
 * @window: unconsumed notes allowed
 * @next: entry of @ends to use next
 */
struct dd_credit {
	u64 *ends;
	u64 one;
	u64 extra;
	u64 seen;
	u32 window;
	u32 next;
};

/* The window of an end that asks for @window, 0 for what its type has. */
static inline u32 dd_credit_window(u32 window, u32 type)
{
	if (window)
		return window;
	return type == DD_CONN_STREAM ? DD_WINDOW_STREAM : 1;
}

static inline int dd_credit_init(struct dd_credit *c, u32 window, gfp_t gfp)
{
	c->ends = &c->one;
	c->one = 0;
	c->extra = 0;
	c->seen = 0;
	c->window = window;
	c->next = 0;
	if (window == 1)
		return 0;
	c->ends = kcalloc(window, sizeof(*c->ends), gfp);
	return c->ends ? 0 : -ENOMEM;
}

static inline void dd_credit_exit(struct dd_credit *c)
{
	if (c->ends != &c->one)
		kfree(c->ends);
	c->ends = &c->one;
}

/* Bytes that dd_credit_init() allocates. */
static inline size_t dd_credit_size(u32 window)
{
	return window == 1 ? 0 : window * sizeof(u64);
}

/* Slots to reserve in a list for a channel with this window. */
static inline u32 dd_credit_slots(u32 window)
{
	return window + 1;
}

/* The head at which the next note may be posted. */
static inline u64 dd_credit_need(const struct dd_credit *c)
{
	return c->ends[c->next];
}

static inline bool dd_credit_ok(const struct dd_credit *c, u64 head)
{
	return dd_credit_need(c) <= head;
}

static inline void dd_credit_take(struct dd_credit *c, u64 pos)
{
	c->ends[c->next] = pos + 1;
	if (++c->next == c->window)
		c->next = 0;
}

/* The position after this channel's last note; 0 if it has had none. */
static inline u64 dd_credit_last(const struct dd_credit *c)
{
	u64 last = c->ends[c->next ? c->next - 1 : c->window - 1];

	return max(last, c->extra);
}

#endif /* _DD_CREDIT_H */
