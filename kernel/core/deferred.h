/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slots of a ring reserved by detached channels whose notes may still be unread. They are
 * free again when the reader has reached the position after the last of these notes.
 */
#ifndef _DD_DEFERRED_H
#define _DD_DEFERRED_H

#include <linux/types.h>

/**
 * struct dd_deferred_slots - slots to be freed at two positions
 * @pos: position after the last note: [0] of the first slots, [1] of all others
 * @slots: number of slots; [1] is 0 if [0] is 0
 *
 * Slots deferred while others are pending are added to [1], so no list is needed. All
 * slots are freed at the latest when all notes unread at that time have been read.
 */
struct dd_deferred_slots {
	u64 pos[2];
	u32 slots[2];
};

/* @slots are free when the reader has reached @pos. */
static inline void dd_deferred_add(struct dd_deferred_slots *l, u32 slots, u64 pos)
{
	int i = l->slots[0] && pos > l->pos[0];

	l->slots[i] += slots;
	if (l->pos[i] < pos)
		l->pos[i] = pos;
}

/* Slots that are free now that the reader is at @head. */
static inline u32 dd_deferred_reap(struct dd_deferred_slots *l, u64 head)
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

#endif /* _DD_DEFERRED_H */
