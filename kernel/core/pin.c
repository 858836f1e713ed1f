// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned regions: wired memory that the owner had before.
 *
 * The pages stay while the region exists, whatever the process does with their
 * addresses: after munmap(), MADV_DONTNEED or mremap() the region has the same pages, and
 * the process may have others. A child gets copies of pinned pages at fork(). Only
 * anonymous, shared and huge memory is accepted: file systems do not expect pages of files
 * to be written at any time.
 *
 * A request by address uses the region only while its pages are what is mapped there. An
 * MMU notifier counts the changes of the mapping, and dd_region.seq is the count at which
 * the pages were last seen in it. If the count has changed, the pages that are mapped are
 * compared with those of the region, where the caller may sleep.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "core/bounds.h"
#include "core/charge.h"
#include "core/ctx.h"
#include "core/page.h"
#include "core/pin.h"
#include "core/region.h"
#include "core/spare.h"

#define DD_PIN_BATCH	512	/* pages between two looks for a signal */

static bool pin_allowed(struct page *page)
{
	struct folio *folio = page_folio(page);

	/* Shared memory is swap-backed; anonymous memory may lose that (MADV_FREE). */
	return folio_test_anon(folio) || folio_test_swapbacked(folio) ||
	       folio_test_hugetlb(folio);
}

/* Pin at most @n pages at @addr, of which the first ones may have to be faulted in. */
static int pin_some(unsigned long addr, struct page **pages, unsigned long n)
{
	const unsigned int flags = FOLL_WRITE | FOLL_LONGTERM;
	unsigned long most;
	int got;

	got = pin_user_pages_fast(addr, min_t(unsigned long, n, DD_PIN_BATCH),
				  flags | FOLL_NOFAULT, pages);
	if (got > 0)
		return got;
	most = dd_pages_reclaim();
	if (!most)
		return -ENOMEM;
	return pin_user_pages_fast(addr, min(n, most), flags, pages) ?: -EFAULT;
}

/* Pin the pages at @addr; on an error none stays pinned. */
static int pin_pages(unsigned long addr, struct page **pages, unsigned long n)
{
	unsigned long done = 0, i;
	int got, err;

	while (done < n) {
		err = -EINTR;
		if (fatal_signal_pending(current))
			goto err_unpin;
		got = pin_some(addr + (done << PAGE_SHIFT), pages + done, n - done);
		err = got;
		if (got < 0)
			goto err_unpin;
		for (i = done, done += got; i < done; i++) {
			err = -EOPNOTSUPP;
			if (!pin_allowed(pages[i]))
				goto err_unpin;
		}
		cond_resched();
	}
	return 0;

err_unpin:
	unpin_user_pages(pages, done);
	return err;
}

/* ---- the mapping ---------------------------------------------------------- */

#ifdef CONFIG_MMU_NOTIFIER
/*
 * The mapping changes. Called in any context, inside locks that page faults take: only
 * count, and have a worker free what is kept for the next request. Protection of single
 * pages (fork(), soft-dirty bits) replaces no pinned page, nor does that of a mapping.
 */
static bool pin_invalidate(struct mmu_interval_notifier *notifier,
			   const struct mmu_notifier_range *range, unsigned long seq)
{
	struct dd_region *region = container_of(notifier, struct dd_region, notifier);
	struct dd_spare *spare;

	if (range->event == MMU_NOTIFY_PROTECTION_PAGE ||
	    range->event == MMU_NOTIFY_SOFT_DIRTY)
		return true;
	mmu_interval_set_seq(notifier, seq);
	/* The claim is a barrier: if it finds nothing, pin_keep()'s caller finds the change. */
	spare = range->event == MMU_NOTIFY_PROTECTION_VMA ? NULL :
							    dd_spare_claim(&region->spare);
	if (spare)
		dd_ctx_later(region->obj.ctx, &spare->later);
	return true;
}

static const struct mmu_interval_notifier_ops pin_ops = {
	.invalidate = pin_invalidate,
};

static int pin_watch(struct dd_region *region, unsigned long start)
{
	int err = mmu_interval_notifier_insert(&region->notifier, current->mm, start,
					       region->npages << PAGE_SHIFT, &pin_ops);

	if (err)
		return err;
	region->kind = DD_REGION_WATCHED;
	region->start = start;
	region->seq = mmu_interval_read_begin(&region->notifier);
	return 0;
}

/* Whether the mapping has changed since the pages were seen in it. */
static bool pin_changed(struct dd_region *region)
{
	return mmu_interval_check_retry(&region->notifier, READ_ONCE(region->seq));
}

static unsigned long pin_begin(struct dd_region *region)
{
	return mmu_interval_read_begin(&region->notifier);
}
#else
/* Without notifiers, each request by address compares the pages. */
static int pin_watch(struct dd_region *region, unsigned long start)
{
	region->start = start;
	return 0;
}

static bool pin_changed(struct dd_region *region) { return true; }
static unsigned long pin_begin(struct dd_region *region) { return 0; }
#endif

/* Whether pages [@i, @end) of a region are those that are mapped now; may sleep. */
static bool pin_same(struct dd_region *region, unsigned long i, unsigned long end,
		     unsigned int flags)
{
	struct page *pages[16];
	int n, got, j;
	bool same;

	for (same = true; same && i < end; i += n) {
		n = min_t(unsigned long, end - i, ARRAY_SIZE(pages));
		got = get_user_pages_fast(region->start + (i << PAGE_SHIFT), n, flags, pages);
		same = got == n;
		for (j = 0; j < got; j++) {
			same = same && page_address(pages[j]) == region->pages[i + j];
			put_page(pages[j]);
		}
		cond_resched();
	}
	return same;
}

/*
 * Compare the pages of [@off, @off + @len). If these are all pages, and they may be stored
 * to, the region can be used again without comparing.
 */
static bool pin_look(struct dd_region *region, u64 off, u64 len, bool write)
{
	unsigned long i = off >> PAGE_SHIFT, end = PFN_UP(off + len);
	unsigned long seq = pin_begin(region);

	if (!pin_same(region, i, end, write ? FOLL_WRITE : 0))
		return false;
	/* The pages are pinned, so this write access replaces none. */
	if (!i && end == region->npages && pin_same(region, 0, end, FOLL_WRITE))
		WRITE_ONCE(region->seq, seq);
	return true;
}

static bool region_covers(const struct dd_region *region, u64 address, u64 len, u64 *off)
{
	unsigned long start = READ_ONCE(region->start);

	*off = untagged_addr(address) - start;
	return start && dd_in_bounds(*off, len, (u64)region->npages << PAGE_SHIFT);
}

/**
 * dd_region_mapped() - whether memory of the caller is known to be that of a region
 * @region: a region of the caller
 * @address: user address
 * @len: bytes
 * @off: (out) offset of @address in the region
 *
 * In any context. If this returns false, dd_region_look() may return true.
 */
bool dd_region_mapped(struct dd_region *region, u64 address, u64 len, u64 *off)
{
	return region_covers(region, address, len, off) &&
	       !(dd_region_pinned(region) && pin_changed(region));
}

/**
 * dd_region_look() - whether memory of the caller is that of a region
 * @region: a region of the caller
 * @address: user address
 * @len: bytes
 * @write: the memory must be writable by its address
 * @off: (out) offset of @address in the region
 *
 * May sleep; the caller holds no lock.
 */
bool dd_region_look(struct dd_region *region, u64 address, u64 len, bool write, u64 *off)
{
	if (!region_covers(region, address, len, off))
		return false;
	return !dd_region_pinned(region) || !pin_changed(region) ||
	       pin_look(region, *off, len, write);
}

/**
 * dd_region_check() - check that an address still is memory of a region
 * @ctx: the owner
 * @arg: argument of user space
 *
 * Return: 0 or an error documented in the uapi header.
 */
int dd_region_check(struct dd_ctx *ctx, const struct dd_region_check *arg)
{
	struct dd_region *region;
	int err = 0;
	u64 off;

	if (!arg->length)
		return -EINVAL;
	region = dd_obj_get(ctx, arg->region, &dd_region_ops);
	if (!region)
		return -ENOENT;
	if (!dd_region_look(region, arg->address, arg->length, false, &off))
		err = -EFAULT;
	dd_region_put(region);
	return err;
}

/* ---- the pages ------------------------------------------------------------ */

/*
 * A pin of one page keeps a whole large folio, which is not split while it is pinned. It
 * is charged once for a context, when it gets the first of the runs of pages in it: @n
 * pages that are charged themselves. Undone by folio_drop() of region.c.
 */
static int folio_hold(struct dd_ctx *ctx, struct folio *folio, unsigned long n)
{
	unsigned long runs, whole;
	int err = 0;

	mutex_lock(&ctx->folio_lock);
	runs = xa_to_value(xa_load(&ctx->folios, folio_pfn(folio)));
	whole = runs ? 0 : folio_nr_pages(folio);
	if (whole > n)
		err = dd_charge_try(ctx, (whole - n) << PAGE_SHIFT);
	if (!err) {
		err = xa_err(xa_store(&ctx->folios, folio_pfn(folio), xa_mk_value(runs + 1),
				      dd_gfp(ctx)));
		if (err && whole > n)
			dd_uncharge(ctx, (whole - n) << PAGE_SHIFT);
		if (!err && whole < n)
			dd_uncharge(ctx, (n - whole) << PAGE_SHIFT);
	}
	mutex_unlock(&ctx->folio_lock);
	return err;
}

/* Charge large folios whole, instead of their pages. Undone by region_unpin() of region.c. */
static int pin_charge(struct dd_region *region)
{
	struct dd_ctx *ctx = region->obj.ctx;
	struct folio *folio;
	unsigned long end;
	int err = 0;

	while (!err && region->whole < region->npages) {
		end = dd_region_run(region, region->whole, &folio);
		if (folio_test_large(folio))
			err = folio_hold(ctx, folio, end - region->whole);
		/* Freeing pinned regions takes the lock. */
		if (err == -EDQUOT) {
			dd_reap(ctx);
			err = folio_hold(ctx, folio, end - region->whole);
		}
		while (err == -EDQUOT && dd_spare_evict(ctx))
			err = folio_hold(ctx, folio, end - region->whole);
		if (!err)
			region->whole = end;
		cond_resched();
	}
	return err;
}

/* Make a region without id of the caller's memory; its pages are not pinned yet. */
static struct dd_region *pin_new(struct dd_ctx *ctx, u64 address, u64 length)
{
	struct dd_region *region;
	unsigned long n;

	if (!access_ok(u64_to_user_ptr(address), length))
		return ERR_PTR(-EFAULT);
	n = PFN_UP(offset_in_page(address) + length);
	if (n > totalram_pages())
		return ERR_PTR(-ENOMEM);
	region = dd_region_new(ctx, n);
	if (!IS_ERR(region))
		region->kind = DD_REGION_PINNED;
	return region;
}

/* Pin the pages; on an error, the region is freed. */
static int pin_fill(struct dd_region *region, unsigned long start)
{
	/* The array holds pages first, and then their addresses. */
	struct page **pages = (struct page **)region->pages;
	unsigned long i;
	int err;

	err = pin_pages(start, pages, region->npages);
	if (err) {
		dd_region_unnew(region, 0);
		return err;
	}
	for (i = 0; i < region->npages; i++)
		region->pages[i] = page_address(pages[i]);
	err = pin_charge(region);
	if (err)
		dd_region_unnew(region, region->npages);
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
	struct dd_region *region = pin_new(ctx, address, length);
	int err;

	if (IS_ERR(region))
		return region;
	err = pin_fill(region, untagged_addr(address) & PAGE_MASK);
	return err ? ERR_PTR(err) : region;
}

/* Like dd_region_pin_user(), and notice changes of the mapping from here on. */
struct dd_region *dd_region_pin_watched(struct dd_ctx *ctx, u64 address, u64 length)
{
	unsigned long start = untagged_addr(address) & PAGE_MASK;
	struct dd_region *region = pin_new(ctx, address, length);
	int err;

	if (IS_ERR(region))
		return region;
	/* Watch first: what changes from here on is noticed. */
	err = pin_watch(region, start);
	if (err) {
		dd_region_unnew(region, 0);
		return ERR_PTR(err);
	}
	err = pin_fill(region, start);
	if (err)
		return ERR_PTR(err);
	/* The pin itself changes the mapping where it replaces the zero page. */
	if (pin_changed(region))
		pin_look(region, 0, (u64)region->npages << PAGE_SHIFT, true);
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
	region = dd_region_pin_watched(ctx, arg->address, arg->length);
	if (IS_ERR(region))
		return PTR_ERR(region);
	arg->offset = offset_in_page(arg->address);
	return dd_region_publish(region, &arg->region, NULL);
}
