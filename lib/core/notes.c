// SPDX-License-Identifier: LGPL-2.1-only
/*
 * notes.c - notes of segments and imports, read from the ring of a list by a sibling library
 *
 * Copyright (C) 2026 The dd authors
 */
#include "deposit.h"
#include "dev.h"
#include "list.h"
#include "notes.h"

_Static_assert(sizeof(struct dd_note) % sizeof(ddi_word) == 0, "whole words");

/*
 * Copy the note at @pos; false if there is none. While the list grows, the notes move: the
 * geometry is compared again after the slot was read, whether or not it held a note.
 */
static bool note_copy(const struct ddi_list *l, uint64_t pos, struct dd_note *to)
{
	uint64_t geometry;
	bool there;

	do {
		geometry = ddi_load_acquire(&l->head->geometry);
		const struct dd_note *slot = ddi_list_slot(l, geometry, pos);

		there = slot && ddi_load_acquire(&slot->seq) == pos + 1;
		for (size_t i = 0; there && i < sizeof(*to) / sizeof(ddi_word); i++)
			((ddi_word *)to)[i] = ddi_load((const ddi_word *)slot + i);
		/* Orders the loads above before the next one. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (ddi_load(&l->head->geometry) != geometry);
	return there;
}

DD_API struct ddi_list *ddi_note_list(struct dd *h, int list)
{
	return ddi_alive(h) ? ddi_list_find(h, list) : NULL;
}

DD_API bool ddi_note_get(struct dd *h, struct ddi_list *l, struct dd_note *to)
{
	__u64 pos;

	if (!ddi_alive(h))
		return false;
	do {
		pos = ddi_load(&l->head->head);
		if (!note_copy(l, pos, to))
			return false;
		/*
		 * Fails if another reader has taken the note. Releases the slot after the copy;
		 * the full barrier orders it before the load of the flag: the kernel sets the
		 * flag and then loads the head.
		 */
	} while (!__atomic_compare_exchange_n(&l->head->head, &pos, pos + 1, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (ddi_load(&l->head->flags) & DD_LIST_NEED_KICK)
		ddi_ioctl_id(h, DD_IOC_LIST_KICK, ddi_load(&l->id));
	return true;
}

uint32_t ddi_note_slots(const struct dd *h, const struct ddi_list *l)
{
	return ddi_alive(h) ? 1u << (ddi_load_acquire(&l->head->geometry) & 31) : 0;
}

DD_API bool ddi_note_any(const struct dd *h, const struct ddi_list *l, uint64_t conn)
{
	struct dd_note note;
	uint64_t pos;

	if (!ddi_alive(h))
		return false;
	pos = ddi_load(&l->head->head);
	while (note_copy(l, pos++, &note))
		if (note.conn == conn)
			return true;
	return false;
}
