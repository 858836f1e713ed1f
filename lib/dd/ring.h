/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * ring.h - the reader's side of a note list in the area
 *
 * Copyright (C) 2026 The dd authors
 *
 * No system call, no lock: ddi_list_next() lets one consumer in at a time.
 * Inline, since every message received comes this way.
 */
#ifndef _DD_RING_H
#define _DD_RING_H

#include <string.h>

#include "internal.h"

#define DDI_AREA_UNITS	(DD_AREA_SIZE / DD_UNIT)

/* The words of a note that carry something; the rest of its slot is spare. */
#define DDI_NOTE_BYTES	(offsetof(struct dd_note, meta) + \
				 sizeof(((struct dd_note *)0)->meta))

/*
 * The head is shared with a user program, which may scribble on it: a slot
 * outside of the area is no slot.
 */
static inline struct dd_note *ddi_ring_slot(char *area, uint64_t geometry,
					    uint64_t pos)
{
	uint64_t unit = geometry >> 32;
	uint32_t shift = geometry & 0xffffffff;

	if (shift > 30)
		return NULL;
	unit += pos & ((1ull << shift) - 1);
	if (unit >= DDI_AREA_UNITS)
		return NULL;
	return (struct dd_note *)(area + unit * DD_UNIT);
}

/**
 * ddi_ring_look() - copy the first unconsumed note
 * @area: the area
 * @lh: head of the list
 * @note: where to put it
 *
 * While the list grows, a slot may be read in the old ring although the notes
 * have moved: the geometry is looked at again after the slot, whether or not
 * it held a note.
 *
 * Return: 1 copied, 0 there is none.
 */
static inline int ddi_ring_look(char *area, struct dd_list_head *lh,
				struct dd_note *note)
{
	uint64_t pos = ddi_load(&lh->head);

	for (;;) {
		uint64_t geometry = ddi_load_acquire(&lh->geometry);
		struct dd_note *slot = ddi_ring_slot(area, geometry, pos);
		int found;

		if (!slot)
			return 0;
		found = ddi_load_acquire(&slot->seq) == pos + 1;
		if (found)
			memcpy(note, slot, DDI_NOTE_BYTES);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (ddi_load(&lh->geometry) == geometry)
			return found;
	}
}

/**
 * ddi_ring_pop() - consume the note just looked at
 * @lh: head of the list
 *
 * Return: whether a sender waits for the slot.
 */
static inline bool ddi_ring_pop(struct dd_list_head *lh)
{
	ddi_store_release(&lh->head, ddi_load(&lh->head) + 1);
	/* Pairs with the sender's: it sets the flag, then looks at the head. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return ddi_load(&lh->flags) & DD_LIST_NEED_KICK;
}

/**
 * ddi_ring_stirred() - is there a reason to stop waiting?
 * @area: the area
 * @lh: head of the list
 * @id: its id
 *
 * Return: whether a note is there, or the list is not.
 */
static inline bool ddi_ring_stirred(char *area, struct dd_list_head *lh,
				    uint32_t id)
{
	uint64_t pos = ddi_load(&lh->head);
	uint64_t geometry = ddi_load_acquire(&lh->geometry);
	struct dd_note *slot = ddi_ring_slot(area, geometry, pos);

	if (!slot || ddi_load(&lh->id) != id)
		return true;
	return ddi_load(&slot->seq) == pos + 1 ||
	       ddi_load(&lh->geometry) != geometry;
}

#endif /* _DD_RING_H */
