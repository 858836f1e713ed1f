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
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/charge.h"
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

/* Memory for a tracked region of @npages, freed by kvfree(); or NULL. */
struct dd_track *dd_track_new(unsigned long npages)
{
	struct dd_track *track;

	track = kvzalloc(struct_size(track, dirty, BITS_TO_LONGS(npages)), DD_GFP);
	if (track)
		init_rwsem(&track->lock);
	return track;
}

/* Map @page, the page @index of the region, where @vmf has faulted. */
vm_fault_t dd_track_fault(struct dd_track *track, struct vm_fault *vmf, unsigned long index,
			  struct page *page)
{
	struct vm_area_struct *vma = vmf->vma;
	/* Read-only, since there is a pfn_mkwrite(). */
	pgprot_t prot = vma->vm_page_prot;
	vm_fault_t ret;

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
vm_fault_t dd_track_mkwrite(struct vm_fault *vmf)
{
	zap_vma_ptes(vmf->vma, vmf->address & PAGE_MASK, PAGE_SIZE);
	return VM_FAULT_NOPAGE;
}

/*
 * Move the bits of @n pages from @first on to @words, and unmap their pages, of which page 0 is
 * mapped at @pgoff. One range is unmapped, with one flush of the TLBs: pages between them that
 * were not stored to fault once more.
 */
static void track_collect(struct dd_track *track, struct address_space *mapping,
			  unsigned long pgoff, unsigned long first, unsigned long n, u64 *words)
{
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
		unmap_mapping_range(mapping, (loff_t)(pgoff + from) << PAGE_SHIFT,
				    (loff_t)(to - from) << PAGE_SHIFT, 1);
}

/* The caller has not got @words: the next fetch reports their pages. */
static void track_restore(struct dd_track *track, unsigned long first, unsigned long n,
			  const u64 *words)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		if (words[i / 64] & BIT_ULL(i % 64))
			set_bit(first + i, track->dirty);
}

/**
 * dd_track_fetch() - fetch and clear which pages were stored to
 * @track: the pages of a region
 * @mapping: holds all mappings of the region
 * @pgoff: offset in @mapping of its first page
 * @first: first page of interest
 * @n: number of pages of interest
 * @bitmap: (out) a bit for each of them, in words of 64
 *
 * Return: 0; or %-ENOMEM or %-EFAULT, then no page is reported.
 */
int dd_track_fetch(struct dd_track *track, struct address_space *mapping, unsigned long pgoff,
		   unsigned long first, unsigned long n, void __user *bitmap)
{
	size_t count = DIV_ROUND_UP(n, 64);
	u64 *words = kvcalloc(count, sizeof(*words), DD_GFP);
	int err = 0;

	if (!words)
		return -ENOMEM;
	track_collect(track, mapping, pgoff, first, n, words);
	if (copy_to_user(bitmap, words, count * sizeof(*words))) {
		track_restore(track, first, n, words);
		err = -EFAULT;
	}
	kvfree(words);
	return err;
}
