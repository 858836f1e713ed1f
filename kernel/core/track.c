// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracked regions: which pages their owner's process has stored to.
 *
 * Pages are mapped by number, so that they cannot be pinned and then written without a
 * fault. A store to a page that is not mapped writable faults. The handler sets the bit of
 * the page and maps it, both with the lock held; fetching clears bits with the lock held,
 * and then unmaps their pages. So a page is mapped writable only while its bit is set, or
 * until the fetch that has cleared it returns: a store is reported by that fetch, whose
 * caller looks at the page afterwards, or it faults, and the next fetch reports it.
 */
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/bounds.h"
#include "core/charge.h"
#include "core/ctx.h"
#include "core/region.h"
#include "core/track.h"

/**
 * struct dd_track - pages of a region that were stored to
 * @lock: held for reading from setting a bit to mapping the page; for writing to clear bits
 * @dirty: a bit for each page
 */
struct dd_track {
	struct rw_semaphore lock;	/* orders faults and fetches */
	unsigned long dirty[];
};

/* Make a region, which is not published, a tracked one. Returns 0 or -ENOMEM. */
int dd_track_init(struct dd_region *region)
{
	region->track = kvzalloc(struct_size(region->track, dirty,
					     BITS_TO_LONGS(region->npages)),
				 DD_GFP);
	if (!region->track)
		return -ENOMEM;
	init_rwsem(&region->track->lock);
	return 0;
}

vm_fault_t dd_track_vm_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct dd_region *region = vma->vm_private_data;
	unsigned long index = vmf->pgoff - region->pgoff;
	struct dd_track *track = region->track;
	/* Read-only, since there is a pfn_mkwrite(). */
	pgprot_t prot = vma->vm_page_prot;
	struct page *page;
	vm_fault_t ret;

	if (index >= region->npages)
		return VM_FAULT_SIGBUS;
	index = array_index_nospec(index, region->npages);
	page = virt_to_page(region->pages[index]);
	down_read(&track->lock);
	if (vmf->flags & FAULT_FLAG_WRITE) {
		set_bit(index, track->dirty);
		prot = vm_get_page_prot(vma->vm_flags);
	}
	ret = vmf_insert_pfn_prot(vma, vmf->address, page_to_pfn(page), prot);
	up_read(&track->lock);
	return ret;
}

/*
 * A store to a page that is mapped read-only. The kernel would map it writable after this
 * has returned, without the lock. Unmap it instead: the store faults again.
 */
vm_fault_t dd_track_vm_mkwrite(struct vm_fault *vmf)
{
	zap_vma_ptes(vmf->vma, vmf->address & PAGE_MASK, PAGE_SIZE);
	return VM_FAULT_NOPAGE;
}

/*
 * Move the bits of @n pages from @first on to @words, and unmap their pages in all mappings
 * of the region. One range is unmapped, with one flush of the TLBs: pages between them that
 * were not stored to fault once more.
 */
static void dd_track_collect(struct dd_region *region, unsigned long first,
			     unsigned long n, u64 *words)
{
	struct dd_track *track = region->track;
	unsigned long end = first + n, from, to, i;

	down_write(&track->lock);
	from = find_next_bit(track->dirty, end, first);
	to = from;
	for (i = from; i < end; i = find_next_bit(track->dirty, end, to)) {
		__clear_bit(i, track->dirty);
		words[(i - first) / 64] |= BIT_ULL((i - first) % 64);
		to = i + 1;
	}
	up_write(&track->lock);
	if (to > from)
		unmap_mapping_range(region->obj.ctx->windows.inode->i_mapping,
				    (loff_t)(region->pgoff + from) << PAGE_SHIFT,
				    (loff_t)(to - from) << PAGE_SHIFT, 1);
}

/* The caller has not got @words: the next fetch reports their pages. */
static void dd_track_restore(struct dd_track *track, unsigned long first,
			     unsigned long n, const u64 *words)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		if (words[i / 64] & BIT_ULL(i % 64))
			set_bit(first + i, track->dirty);
}

static int dd_track_fetch(struct dd_region *region, unsigned long first, unsigned long n,
			  void __user *bitmap)
{
	size_t count = DIV_ROUND_UP(n, 64);
	u64 *words = kvcalloc(count, sizeof(*words), DD_GFP);
	int err = 0;

	if (!words)
		return -ENOMEM;
	dd_track_collect(region, first, n, words);
	if (copy_to_user(bitmap, words, count * sizeof(*words))) {
		dd_track_restore(region->track, first, n, words);
		err = -EFAULT;
	}
	kvfree(words);
	return err;
}

/**
 * dd_region_dirty() - fetch which pages of a tracked region were stored to
 * @ctx: the owner
 * @arg: argument of user space
 *
 * Return: 0 or an error documented in the uapi header; then no page is reported.
 */
int dd_region_dirty(struct dd_ctx *ctx, const struct dd_region_dirty *arg)
{
	struct dd_region *region;
	int err = 0;

	if (!arg->length || !PAGE_ALIGNED(arg->offset | arg->length))
		return -EINVAL;
	region = dd_obj_get(ctx, arg->region, &dd_region_ops);
	if (!region)
		return -ENOENT;
	if (!region->track)
		err = -EOPNOTSUPP;
	else if (!dd_in_bounds(arg->offset, arg->length,
			       (u64)region->npages << PAGE_SHIFT))
		err = -ERANGE;
	if (!err)
		err = dd_track_fetch(region, arg->offset >> PAGE_SHIFT,
				     arg->length >> PAGE_SHIFT,
				     u64_to_user_ptr(arg->bitmap));
	dd_region_put(region);
	return err;
}
