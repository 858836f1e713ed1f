/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slots of a ring that were reserved for somebody who has gone, and whose notes may
 * still be unread: they are free again when the reader has come that far.
 */
#ifndef _DD_LINGER_H
#define _DD_LINGER_H

#include <linux/types.h>

/**
 * struct dd_linger - the first of such slots, and all others
 * @pos: [0]: position after the last note of those who went first; [1]: of the rest
 * @slots: how many; [1] has none if [0] has none
 *
 * Who goes while others are there is added to the rest, so no list is needed, and
 * slots become free no later than when all that was unread has been read.
 */
struct dd_linger {
	u64 pos[2];
	u32 slots[2];
};

/* @slots are free when the reader has reached @pos. */
static inline void dd_linger_add(struct dd_linger *l, u32 slots, u64 pos)
{
	int i = l->slots[0] && pos > l->pos[0];

	l->slots[i] += slots;
	if (l->pos[i] < pos)
		l->pos[i] = pos;
}

/* Slots that are free now that the reader is at @head. */
static inline u32 dd_linger_reap(struct dd_linger *l, u64 head)
{
	u32 slots = 0;

	while (l->slots[0] && l->pos[0] <= head) {
		slots += l->slots[0];
		l->slots[0] = l->slots[1];
		l->pos[0] = l->pos[1];
		l->slots[1] = 0;
		l->pos[1] = 0;
	}
	return slots;
}

#endif /* _DD_LINGER_H */
