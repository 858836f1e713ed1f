// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned regions: wired memory that the owner had before.
 *
 * The pages stay while the region exists, whatever the process does with their
 * addresses: after munmap(), MADV_DONTNEED or mremap() the region has the same pages, and
 * the process may have others. A child gets copies of pinned pages at fork(). Only
 * anonymous, shared and huge memory is accepted: file systems do not expect pages of files
 * to be written at any time.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "core/charge.h"
#include "core/ctx.h"
#include "core/region.h"

#define DD_PIN_BATCH	512	/* pages between two looks for a signal */

static bool dd_pin_allowed(struct page *page)
{
	struct folio *folio = page_folio(page);

	/* Shared memory is swap-backed; anonymous memory may lose that (MADV_FREE). */
	return folio_test_anon(folio) || folio_test_swapbacked(folio) ||
	       folio_test_hugetlb(folio);
}

/* Pin the pages at @addr; on an error none stays pinned. */
static int dd_pin_pages(unsigned long addr, struct page **pages, unsigned long n)
{
	unsigned long done = 0, i;
	int got, err;

	while (done < n) {
		err = -EINTR;
		if (fatal_signal_pending(current))
			goto err_unpin;
		got = pin_user_pages_fast(addr + (done << PAGE_SHIFT),
					  min_t(unsigned long, n - done, DD_PIN_BATCH),
					  FOLL_WRITE | FOLL_LONGTERM, pages + done);
		err = got ?: -EFAULT;
		if (got <= 0)
			goto err_unpin;
		for (i = done, done += got; i < done; i++) {
			err = -EOPNOTSUPP;
			if (!dd_pin_allowed(pages[i]))
				goto err_unpin;
		}
		cond_resched();
	}
	return 0;

err_unpin:
	unpin_user_pages(pages, done);
	return err;
}

/**
 * dd_region_pin_user() - make a region without id of the caller's own memory
 * @ctx: the owner
 * @address: user address; the region begins with its page
 * @length: bytes, at least 1
 *
 * Return: the region; an error of dd_region_pin() as an error pointer, then nothing is
 * pinned or charged.
 */
struct dd_region *dd_region_pin_user(struct dd_ctx *ctx, u64 address, u64 length)
{
	unsigned long addr = untagged_addr(address) & PAGE_MASK, n, i;
	struct dd_region *region;
	struct page **pages;
	int err;

	if (!access_ok(u64_to_user_ptr(address), length))
		return ERR_PTR(-EFAULT);
	n = PFN_UP(offset_in_page(address) + length);
	if (n > totalram_pages())
		return ERR_PTR(-ENOMEM);
	region = dd_region_new(ctx, n);
	if (IS_ERR(region))
		return region;
	/* The array holds pages first, and then their addresses. */
	pages = (struct page **)region->pages;
	err = dd_pin_pages(addr, pages, n);
	if (err) {
		dd_region_unnew(region, 0);
		return ERR_PTR(err);
	}
	for (i = 0; i < n; i++)
		region->pages[i] = page_address(pages[i]);
	region->pinned = true;
	return region;
}

/**
 * dd_region_pin() - make a region of the caller's own memory
 * @ctx: the owner
 * @arg: argument of user space; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header; then nothing is pinned or charged.
 */
int dd_region_pin(struct dd_ctx *ctx, struct dd_region_pin *arg)
{
	struct dd_region *region;

	if (arg->flags || arg->region || arg->__reserved || arg->offset || !arg->length)
		return -EINVAL;
	region = dd_region_pin_user(ctx, arg->address, arg->length);
	if (IS_ERR(region))
		return PTR_ERR(region);
	arg->offset = offset_in_page(arg->address);
	return dd_region_publish(region, &arg->region, NULL);
}

/* Unpin and uncharge the pages of a region that dd_region_pin() has made. */
void dd_region_unpin(struct dd_region *region)
{
	unsigned long i;
	struct page *page;

	for (i = 0; i < region->npages; i++) {
		page = virt_to_page(region->pages[i]);
		/* Other nodes and processes have written to them. */
		unpin_user_pages_dirty_lock(&page, 1, true);
		cond_resched();
	}
	dd_uncharge(region->obj.ctx, region->npages << PAGE_SHIFT);
}
