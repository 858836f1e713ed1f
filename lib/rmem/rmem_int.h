/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * rmem_int.h - segments and descriptors of remote memory
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMEM_INT_H
#define _RMEM_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "dd_mem.h"
#include "rmem.h"

#define RM_API		__attribute__((visibility("default")))
#define RM_MAX		65536		/* segments, and descriptors */
#define RM_IMPORTERS	1024		/* of a segment */
#define RM_WINDOW	16		/* unread notes of each */
#define RM_DEPTH	64		/* operations under way */

/**
 * struct rm_segment - a segment of this process
 * @h: the handle
 * @attr: how it is exported
 * @number: of dd_export(); 0 while it is not pinned
 * @fd: descriptor of its list, or -1
 */
struct rm_segment {
	struct dd *h;
	struct dd_export_attr attr;
	uint64_t number;
	int fd;
};

/* Fails with errno set. */
struct dd *rm_handle(void);
int rm_error(int ret);
struct rm_segment *rm_segment(rm_seg_t seg);
int rm_name(const char *name, void *key);	/* as a key of libdd */

/*
 * Tables of segments and descriptors: slots are published with release semantics, and looked
 * up without a lock.
 */
int rm_slot_new(void **table, void *entry);
void *rm_slot_get(void **table, int i);
void *rm_slot_take(void **table, int i);

/*
 * Whether to repeat a call of libdd that asks the name clerk: while there is no clerk, for up
 * to three seconds or until a signal comes. @end is 0 before the first call.
 */
bool rm_again(int ret, int64_t *end);

#endif /* _RMEM_INT_H */
