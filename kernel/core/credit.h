/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credit of one channel at its note list: at most @window of its notes are unread at a
 * time. One more slot is reserved for a message that is withheld when its connection
 * closes. Every channel reserves window + 1 slots when it is attached, so the ring is
 * never full when a note is posted.
 *
 * A slot is represented by the position after its note; it is free again when the
 * reader's head has reached that position. Zero is a slot that was never used.
 */
#ifndef _DD_CREDIT_H
#define _DD_CREDIT_H

#include <linux/slab.h>
#include <uapi/linux/dd.h>

/**
 * struct dd_credit - slots of a channel
 * @ends: ring of @window positions, the oldest at @next; &@one if @window is 1
 * @one: storage for a window of 1
 * @extra: position after the note in the additional slot
 * @seen: highest reader's position for which credit was returned to another node.
 *	Moving head backwards only costs the reader its own notes
 * @window: unread notes allowed
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

/* Bytes allocated by dd_credit_init(). */
static inline size_t dd_credit_size(u32 window)
{
	return window == 1 ? 0 : window * sizeof(u64);
}

/* Slots to reserve in a list for a channel with this window. */
static inline u32 dd_credit_slots(u32 window)
{
	return window + 1;
}

/* Reader's position from which on the next note may be posted. */
static inline u64 dd_credit_need(const struct dd_credit *c)
{
	return c->ends[c->next];
}

static inline bool dd_credit_ok(const struct dd_credit *c, u64 head)
{
	return dd_credit_need(c) <= head;
}

static inline void dd_credit_get(struct dd_credit *c, u64 pos)
{
	c->ends[c->next] = pos + 1;
	if (++c->next == c->window)
		c->next = 0;
}

/* Position after the channel's last note; 0 if there was none. */
static inline u64 dd_credit_last(const struct dd_credit *c)
{
	u64 last = c->ends[c->next ? c->next - 1 : c->window - 1];

	return max(last, c->extra);
}

#endif /* _DD_CREDIT_H */
