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

#include "internal.h"

#define DDI_AREA_UNITS	(DD_AREA_SIZE / DD_UNIT)

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

/* The list is locked. False if not all of the ring lies in the area. */
bool ddi_ring_locate(char *area, struct ddi_list *l, uint64_t geometry);

/* What is where; a fence follows. */
static DDI_INLINE void ddi_note_copy(struct dd_note *to,
				     const struct dd_note *slot)
{
	to->cookie = ddi_load(&slot->cookie);
	to->offset = ddi_load(&slot->offset);
	to->len = ddi_load(&slot->len);
}

/* What not everybody asks for; likewise. */
static DDI_INLINE void ddi_note_copy_rest(struct dd_note *to,
					  const struct dd_note *slot)
{
	to->word = ddi_load(&slot->word);
	to->msgid = ddi_load(&slot->msgid);
	to->tag = ddi_load(&slot->tag);
}

/* Of this only so many words are looked at as there are. */
static inline void ddi_note_copy_meta(__u32 *to, const __u32 *from)
{
	for (int i = 0; i < DD_META_WORDS; i++)
		to[i] = ddi_load(&from[i]);
}

/**
 * ddi_ring_look() - copy the first unconsumed note
 * @area: the area
 * @l: list, locked
 * @lh: its head
 * @note: where to put it
 *
 * While the list grows, a slot may be read in the old ring although the notes
 * have moved: the geometry is looked at again after the slot, whether or not
 * it held a note.
 *
 * Return: whether there is one.
 */
static inline bool ddi_ring_look(char *area, struct ddi_list *l,
				     struct dd_list_head *lh,
				     struct dd_note *note)
{
	uint64_t pos = ddi_load(&lh->head);

	for (;;) {
		uint64_t geometry = ddi_load_acquire(&lh->geometry);
		const struct dd_note *slot;

		if (ddi_unlikely(geometry != l->geometry) &&
		    !ddi_ring_locate(area, l, geometry))
			return false;
		slot = l->ring + (pos & l->mask);
		note->seq = pos + 1;
		if (ddi_unlikely(ddi_load_acquire(&slot->seq) != note->seq)) {
			if (ddi_load(&lh->geometry) == geometry)
				return false;
			continue;
		}
		note->conn = ddi_load(&slot->conn);
		note->type = ddi_load(&slot->type);
		note->meta_count = ddi_load(&slot->meta_count);
		ddi_note_copy(note, slot);
		ddi_note_copy_rest(note, slot);
		ddi_note_copy_meta(note->meta, slot->meta);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (ddi_likely(ddi_load(&lh->geometry) == geometry))
			return true;
	}
}

/*
 * Consume the note at @pos, just looked at. What follows is a full barrier, pairing
 * with the sender's, and then ddi_ring_wanted(): the sender sets the flag,
 * then looks at the head.
 */
static inline void ddi_ring_pop(struct dd_list_head *lh, uint64_t pos)
{
	ddi_store_release(&lh->head, pos + 1);
}

/* Does a sender wait for the slot? */
static inline bool ddi_ring_wanted(const struct dd_list_head *lh)
{
	return ddi_unlikely(ddi_test(&lh->flags, DD_LIST_NEED_KICK));
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
