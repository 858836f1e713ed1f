/* SPDX-License-Identifier: GPL-2.0-only */
/* Which pages of a region were stored to: track.c. */
#ifndef _DD_TRACK_H
#define _DD_TRACK_H

#include <linux/mm_types.h>
#include <linux/wait.h>
#include <linux/xarray.h>

struct address_space;
struct dd_track;

/**
 * struct dd_stores - stores to tracked regions of a context
 * @regions: dd_ctx.regions, in which those with pages to fetch have %DD_TRACK_STORED
 * @wait: woken by each store that sets a bit; its lock protects what follows
 * @count: number of stores that have set a bit; read without the lock
 * @word: where the owner reads @count, in its area; NULL when the context has ended
 */
struct dd_stores {
	struct xarray *regions;
	wait_queue_head_t wait;
	u32 count;
	u32 *word;
};

#define DD_TRACK_STORED	XA_MARK_0

void dd_stores_init(struct dd_stores *stores, struct xarray *regions, u32 *word);
void dd_stores_end(struct dd_stores *stores);
struct dd_track *dd_track_new(struct dd_stores *stores, unsigned long npages);
int dd_track_copy(unsigned long address, void **pages, unsigned long npages);
int dd_track_access(struct dd_track *track, unsigned long pgoff, unsigned long index, void *mem,
		    void *buf, int len, int write);
vm_fault_t dd_track_fault(struct dd_track *track, struct vm_fault *vmf, unsigned long index,
			  struct page *page);
int dd_track_fetch(struct dd_track *track, struct address_space *mapping, unsigned long pgoff,
		   unsigned long first, unsigned long n, void __user *bitmap);

#endif /* _DD_TRACK_H */
