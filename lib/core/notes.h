/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * notes.h - notes of segments and imports, read from the ring of a list by a sibling library
 *
 * Copyright (C) 2026 The dd authors
 *
 * The reader owns the list: no connection or service uses it, and nothing else reads it but
 * these calls. They take no lock, so several threads, and a signal handler that interrupts one of
 * them, may read at once: each note is returned once.
 */
#ifndef _DD_NOTES_H
#define _DD_NOTES_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/dd.h>

struct dd;
struct ddi_list;

/* The list with this id, of dd_list(); NULL if there is none. Not async-signal-safe. */
struct ddi_list *ddi_note_list(struct dd *h, int list);

/*
 * Take the first note, of any type and any serial; false if there is none, also in a child of
 * fork(). Calls the kernel only if a sender waits for the slot. Async-signal-safe.
 */
bool ddi_note_get(struct dd *h, struct ddi_list *l, struct dd_note *to);

/* How many notes the list has room for at present; 0 in a child of fork(). Async-signal-safe. */
uint32_t ddi_note_slots(const struct dd *h, const struct ddi_list *l);

/* Whether there is an unread note with this @conn. Async-signal-safe. */
bool ddi_note_any(const struct dd *h, const struct ddi_list *l, uint64_t conn);

#endif /* _DD_NOTES_H */
