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
 *
 * Setting a bit is counted, and wakes waiters, before the page is mapped writable: a waiter
 * that reads the count, and then finds no bit set, sleeps until the count changes; and a thread
 * that has stored reads another count than before the bit was set.
 */
#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat/compat.h"
#include "core/charge.h"
#include "core/track.h"

/**
 * struct dd_track - pages of a region that were stored to
 * @lock: held for reading from setting a bit to mapping the page; for writing to clear bits
 * @stores: of the context
 * @set: number of bits in @dirty; with @lock held for reading, under the lock of @stores
 * @dirty: a bit for each page
 */
struct dd_track {
	struct rw_semaphore lock;	/* orders faults and fetches */
	struct dd_stores *stores;
	unsigned long set;
	unsigned long dirty[];
};

void dd_stores_init(struct dd_stores *stores, struct xarray *regions, u32 *word)
{
	init_waitqueue_head(&stores->wait);
	stores->regions = regions;
	stores->word = word;
}

/* The context is dead: wake the waiters. The memory of the word may be freed afterwards. */
void dd_stores_end(struct dd_stores *stores)
{
	spin_lock_irq(&stores->wait.lock);
	stores->word = NULL;
	wake_up_locked(&stores->wait);
	spin_unlock_irq(&stores->wait.lock);
}

/**
 * dd_track_new() - allocate the record of a tracked region
 * @stores: of the context
 * @npages: pages of the region
 *
 * Return: the record, to be freed by kvfree(); or NULL.
 */
struct dd_track *dd_track_new(struct dd_stores *stores, unsigned long npages)
{
	struct dd_track *track;

	track = kvzalloc(struct_size(track, dirty, BITS_TO_LONGS(npages)), DD_GFP);
	if (track) {
		init_rwsem(&track->lock);
		track->stores = stores;
	}
	return track;
}

/*
 * Whether [@at, @end) of the caller can be replaced: no other process sees the memory, and the
 * process may load and store.
 */
static int track_replaceable(unsigned long at, unsigned long end)
{
	struct vm_area_struct *vma;
	int err = 0;

	if (mmap_read_lock_killable(current->mm))
		return -EINTR;
	for (; !err && at < end; at = vma->vm_end) {
		vma = find_vma(current->mm, at);
		if (!vma || vma->vm_start > at || ~vma->vm_flags & (VM_READ | VM_WRITE)) {
			err = -EFAULT;
			break;
		}
		if (vma->vm_flags & (VM_SHARED | VM_SPECIAL | VM_HUGETLB))
			err = -EOPNOTSUPP;
	}
	mmap_read_unlock(current->mm);
	return err;
}

/**
 * dd_track_copy() - copy memory of the caller that a tracked region is to replace
 * @address: a page of the caller
 * @pages: pages of the region
 * @npages: their number
 *
 * Return: 0; %-EFAULT, %-EOPNOTSUPP; %-EINTR.
 */
int dd_track_copy(unsigned long address, void **pages, unsigned long npages)
{
	unsigned long i, size = npages << PAGE_SHIFT;
	int err;

	if (size > ULONG_MAX - address)
		return -EFAULT;
	err = track_replaceable(address, address + size);
	for (i = 0; !err && i < npages; i++) {
		if (fatal_signal_pending(current))
			err = -EINTR;
		else if (copy_from_user(pages[i], (void __user *)address + (i << PAGE_SHIFT),
					PAGE_SIZE))
			err = -EFAULT;
		cond_resched();
	}
	return err;
}

/*
 * Record a store to page @index of a region at @pgoff. A bit that is set has been counted when
 * this returns: another thread that has set it may not have counted it yet, and has the lock.
 */
static void track_set(struct dd_track *track, unsigned long pgoff, unsigned long index)
{
	struct dd_stores *stores = track->stores;

	lockdep_assert_held(&track->lock);
	spin_lock_irq(&stores->wait.lock);
	if (!test_and_set_bit(index, track->dirty)) {
		/* No other region is ever at this offset; if the region has ended, none is. */
		if (!track->set++)
			xa_set_mark(stores->regions, pgoff, DD_TRACK_STORED);
		WRITE_ONCE(stores->count, stores->count + 1);
		if (stores->word)
			WRITE_ONCE(*stores->word, stores->count);
		wake_up_locked(&stores->wait);
	}
	spin_unlock_irq(&stores->wait.lock);
}

/*
 * Map @page, the page @index of the region, where @vmf has faulted. A page that is mapped
 * read-only is mapped anew: the kernel would make it writable after this has returned, without
 * the lock. It is not left unmapped: an instruction that loads from it and stores to it would
 * fault again and again.
 */
vm_fault_t dd_track_fault(struct dd_track *track, struct vm_fault *vmf, unsigned long index,
			  struct page *page)
{
	struct vm_area_struct *vma = vmf->vma;
	/* Read-only, since there is a pfn_mkwrite(). */
	pgprot_t prot = vma->vm_page_prot;
	vm_fault_t ret;

	down_read(&track->lock);
	if (vmf->flags & FAULT_FLAG_WRITE) {
		track_set(track, vmf->pgoff - index, index);
		prot = vm_get_page_prot(vma->vm_flags);
	}
	if (vmf->flags & FAULT_FLAG_MKWRITE)
		zap_special_vma_range(vma, vmf->address & PAGE_MASK, PAGE_SIZE);
	ret = vmf_insert_pfn_prot(vma, vmf->address, page_to_pfn(page), prot);
	up_read(&track->lock);
	return ret;
}

/*
 * A debugger loads, or stores, @len bytes at @mem of page @index. A fetch reports the bytes, or
 * waits until they are stored.
 */
int dd_track_access(struct dd_track *track, unsigned long pgoff, unsigned long index, void *mem,
		    void *buf, int len, int write)
{
	down_read(&track->lock);
	if (write)
		track_set(track, pgoff, index);
	memcpy(write ? mem : buf, write ? buf : mem, len);
	up_read(&track->lock);
	return len;
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
		if (!--track->set)
			xa_clear_mark(track->stores->regions, pgoff, DD_TRACK_STORED);
	}
	up_write(&track->lock);
	if (to > from)
		unmap_mapping_range(mapping, (loff_t)(pgoff + from) << PAGE_SHIFT,
				    (loff_t)(to - from) << PAGE_SHIFT, 1);
}

/* The caller has not got @words: the next fetch reports their pages. */
static void track_restore(struct dd_track *track, unsigned long pgoff, unsigned long first,
			  unsigned long n, const u64 *words)
{
	unsigned long i;

	down_read(&track->lock);
	for (i = 0; i < n; i++)
		if (words[i / 64] & BIT_ULL(i % 64))
			track_set(track, pgoff, first + i);
	up_read(&track->lock);
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
		track_restore(track, pgoff, first, n, words);
		err = -EFAULT;
	}
	kvfree(words);
	return err;
}
