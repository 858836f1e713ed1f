/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * rmem_int.h - segments and descriptors of remote memory
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMEM_INT_H
#define _RMEM_INT_H

#include <pthread.h>
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
 * @h: the handle; first, for rm_slot_own()
 * @attr: how it is exported, also by the next rm_pin(). Its policy and inhibition may change
 * @number: of dd_export(); 0 while it is not pinned
 * @fd: descriptor of its list, or -1
 * @lock: protects @number and what may change of @attr, so that no change is lost that is made
 *	while another thread pins or unpins the segment
 */
struct rm_segment {
	struct dd *h;
	struct dd_export_attr attr;
	uint64_t number;
	int fd;
	pthread_mutex_t lock;
};

/* Fails with errno set. */
struct dd *rm_handle(void);
int rm_error(int ret);
struct rm_segment *rm_segment(rm_seg_t seg);
int rm_name(const char *name, void *key);	/* as a key of libdd */

/*
 * Tables of segments and descriptors: slots are published with release semantics, and looked
 * up without a lock. An entry begins with its handle. In a child of fork(), rm_slot_get() finds
 * the entries of the parent as well: libdd refuses their use. The others fail with ESTALE.
 */
int rm_slot_new(void **table, void *entry);
void *rm_slot_get(void **table, int i);
void *rm_slot_own(void **table, int i);
void *rm_slot_remove(void **table, int i);

/*
 * Whether to repeat a call of libdd that asks the name clerk: while there is no clerk or signals
 * come, for up to three seconds. @end is 0 before the first call.
 */
bool rm_again(int ret, int64_t *end);

#endif /* _RMEM_INT_H */
