/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * common.h - the handle of the process, and records that handles name
 *
 * Copyright (C) 2026 The dd authors
 *
 * vmmc_lock protects the tables of exports and imports. A thread that holds it, or a peer's, has
 * called ddi_upcall_enter(): a notification handler that interrupts it finds both free. Calls
 * that are permitted in a handler do not take vmmc_lock, since the thread that holds it may wait
 * for the handler.
 */
#ifndef _VMMC_COMMON_H
#define _VMMC_COMMON_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "peer.h"
#include "upcall.h"

#define VMMC_MAX	65536		/* exports; imports */
#define VMMC_NOTIFIERS	64		/* importers of a buffer with a handler: they cost memory */
#define VMMC_WORDS_MAX	0x7fffffffu
#define VMMC_KEY	'V'		/* kind of keys of buffers */

/**
 * struct vmmc_slot - a record that a handle names; it is used again, but never freed
 * @index: its place in the table
 * @use: what a handle has to match; 0 while no handle may name the record
 * @uses: the latest @use
 * @taken: the record is not free
 * @next: of the free ones
 */
struct vmmc_slot {
	unsigned int index;
	unsigned int use;
	unsigned int uses;
	bool taken;
	struct vmmc_slot *next;
};

struct vmmc_slots {
	struct vmmc_slot *slot[VMMC_MAX];
	unsigned int count;
	struct vmmc_slot *free;
};

extern pthread_mutex_t vmmc_lock;

struct vmmc_slot *vmmc_slot_new(struct vmmc_slots *t, size_t size);
void vmmc_slot_open(struct vmmc_slot *s);
void vmmc_slot_free(struct vmmc_slots *t, struct vmmc_slot *s);
void vmmc_slots_reset(struct vmmc_slots *t);

/* The record of a handle, or NULL. */
static inline struct vmmc_slot *vmmc_slot_get(const struct vmmc_slots *t, unsigned int index,
					      unsigned int use)
{
	struct vmmc_slot *s = index < VMMC_MAX ?
			      __atomic_load_n(&t->slot[index], __ATOMIC_ACQUIRE) : NULL;

	return s && use && __atomic_load_n(&s->use, __ATOMIC_ACQUIRE) == use ? s : NULL;
}

/* Calls that are not permitted in a handler begin and end with these. */
static inline void vmmc_enter(void)
{
	ddi_upcall_enter();
	pthread_mutex_lock(&vmmc_lock);
}

static inline void vmmc_leave(void)
{
	pthread_mutex_unlock(&vmmc_lock);
	ddi_upcall_leave();
}

static inline bool vmmc_in_handler(void)
{
	return ddi_load(&ddi_upcall_inside);
}

/* The handle of libdd. The first call makes this process known to importers, and takes vmmc_lock. */
vmmc_result_t vmmc_handle(struct dd **h);

#endif /* _VMMC_COMMON_H */
