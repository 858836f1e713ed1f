/* SPDX-License-Identifier: GPL-2.0-only */
/* Wired memory: region.c. */
#ifndef _DD_REGION_H
#define _DD_REGION_H

#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/nospec.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <uapi/linux/dd_mem.h>

#include "core/ctx.h"

struct dd_spare;
struct dd_track;
struct folio;

/**
 * enum dd_region_kind - whose the pages of a region are
 * @DD_REGION_DRIVER: the driver has allocated them, and the owner maps them
 * @DD_REGION_PINNED: the owner had them before (pin.c). They cannot be mapped by the device;
 *	adjacent pages of the region need not be contiguous, even in a compound page
 * @DD_REGION_WATCHED: as %DD_REGION_PINNED, and dd_region.notifier is to be removed
 */
enum dd_region_kind {
	DD_REGION_DRIVER,
	DD_REGION_PINNED,
	DD_REGION_WATCHED
};

/**
 * struct dd_region - wired memory of a context
 * @obj: its id
 * @pages: addresses of @npages pages, constant for the life of the region
 * @npages: number of pages, charged to the user of dd_ctx.cred; of pinned memory, instead of
 *	pages of a large folio the folio is charged
 * @kind: changes only before the region is published
 * @start: user address of the first page, by which its owner has pinned or mapped it; or 0.
 *	Of memory of the driver: under mmap_lock; requests read it without a lock
 * @notifier: of memory of dd_region_pin(), counts changes of the mapping at @start
 * @seq: count at which @pages were what was mapped there
 * @spare: of memory of pins.c, until it is claimed: claimed when a page is unmapped; else NULL
 * @whole: of pinned memory, pages before this one whose large folios are charged whole
 * @track: which pages the process has stored to, for a tracked region; else NULL
 * @pgoff: mmap() offset, in pages; 0 of pinned memory
 * @lock: protects what follows up to @freed; innermost
 * @uses: slices used by services and connections, by offset
 * @segments: segments and redirections in it that have not ended
 * @freed: dd_region_free() has ended it
 * @later: frees the region if the last put is in atomic context
 * @rcu: see struct dd_obj
 */
struct dd_region {
	struct dd_obj obj;
	void **pages;
	unsigned long npages;
	enum dd_region_kind kind;
	unsigned long start;
	struct mmu_interval_notifier notifier;
	unsigned long seq;
	struct dd_spare *spare;
	unsigned long whole;
	struct dd_track *track;
	unsigned long pgoff;
	spinlock_t lock;	/* protects uses, segments, freed */
	struct rb_root uses;
	u32 segments;
	bool freed;
	struct dd_later later;
	struct rcu_head rcu;
};

struct dd_region *dd_region_new(struct dd_ctx *ctx, unsigned long n);
void dd_region_unnew(struct dd_region *region, unsigned long n);
int dd_region_publish(struct dd_region *region, u32 *id, u64 *offset);
int dd_region_alloc(struct dd_ctx *ctx, struct dd_region_alloc *arg);
unsigned long dd_region_run(const struct dd_region *region, unsigned long i,
			    struct folio **folio);
int dd_region_free(struct dd_ctx *ctx, u32 id);
int dd_region_dirty(struct dd_ctx *ctx, const struct dd_region_dirty *arg);
int dd_region_stored(struct dd_ctx *ctx, struct dd_region_stored *arg);
bool dd_region_use(struct dd_region *region);
void dd_region_unuse(struct dd_region *region);
int dd_region_mmap(struct dd_ctx *ctx, struct vm_area_struct *vma);

extern const struct dd_obj_ops dd_region_ops;

void dd_region_put_later(struct dd_region *region);

static inline bool dd_region_pinned(const struct dd_region *region)
{
	return region->kind != DD_REGION_DRIVER;
}

/* Drop a reference where the caller may sleep. */
static inline void dd_region_put(struct dd_region *region)
{
	dd_obj_put(&region->obj);
}

/**
 * struct dd_bytes - part of a region
 * @region: the region, or NULL for none
 * @offset: bytes
 * @length: bytes
 */
struct dd_bytes {
	struct dd_region *region;
	u64 offset;
	u64 length;
};

/**
 * struct dd_slice - use of a part of a region by an object
 * @bytes: the part, whose region is counted; NULL if unused
 * @node: in dd_region.uses; slices share no pages
 */
struct dd_slice {
	struct dd_bytes *bytes;
	struct rb_node node;
};

int dd_slice_get(struct dd_ctx *ctx, const struct dd_buf *buf, bool empty_ok,
		 struct dd_slice *slice, struct dd_bytes *bytes);
void dd_slice_put(struct dd_slice *slice);
void dd_bytes_describe(const struct dd_bytes *bytes, u64 offset, u64 length,
		       struct dd_buf *buf);

/*
 * Index of the page that contains byte @off, which is in bounds. User space chooses
 * offsets, so the index is clamped for speculative execution, too.
 */
static inline unsigned long dd_region_index(const struct dd_region *region,
					    u64 off)
{
	unsigned long index = off >> PAGE_SHIFT;

	return array_index_nospec(index, region->npages);
}

/* Kernel address of byte @off, and bytes left in its page. */
static inline void *dd_region_addr(const struct dd_region *region, u64 off,
				   size_t *left)
{
	*left = PAGE_SIZE - offset_in_page(off);
	return region->pages[dd_region_index(region, off)] + offset_in_page(off);
}

#endif /* _DD_REGION_H */
