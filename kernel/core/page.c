// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that are mapped into processes. They are counted, because kmemleak does not
 * track pages: at module exit all must have been freed.
 *
 * A process may have pinned pages of a region, for example in a pipe. Pages allocated
 * together are freed together, so one pinned byte keeps up to 64 of them. Pages that are
 * pinned when their region is freed stay charged to the user, on a list that is checked
 * every second.
 */
#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "core/charge.h"
#include "core/ctx.h"
#include "core/page.h"

#define DD_PAGES_ORDER	6	/* higher orders save nothing more */
#define DD_TABLES_ORDER	3	/* a page, and a page table of each level or two */

/* Higher orders are optional: no reclaim, no compaction. */
#define DD_PAGES_GFP							\
	((GFP_KERNEL_ACCOUNT & ~__GFP_RECLAIM) |			\
	 __GFP_COMP | __GFP_NORETRY | __GFP_NOWARN)

static atomic_long_t dd_pages;

/* Allocate a zeroed page, charged to the active memory cgroup. */
void *dd_page_alloc(gfp_t gfp)
{
	unsigned long page = get_zeroed_page(gfp);

	if (page)
		atomic_long_inc(&dd_pages);
	return (void *)page;
}

/* Allocate a compound page, of as high an order from @order to @least as possible. */
static struct page *pages_try(unsigned int order, unsigned int least, gfp_t zero)
{
	struct page *page;

	for (; order > least; order--) {
		page = alloc_pages(DD_PAGES_GFP | zero, order);
		if (page)
			return page;
	}
	return alloc_pages(DD_GFP | __GFP_COMP | zero, least);
}

/**
 * dd_pages_alloc() - allocate contiguous zeroed pages
 * @n: number of pages wanted, at least 1
 *
 * The pages, at most @n, form a compound page, with one reference count.
 *
 * Return: address of the first one, or NULL.
 */
void *dd_pages_alloc(unsigned long n)
{
	struct page *page = pages_try(min(ilog2(n), DD_PAGES_ORDER), 0, __GFP_ZERO);

	if (!page)
		return NULL;
	atomic_long_add(compound_nr(page), &dd_pages);
	return page_address(page);
}

/**
 * dd_pages_reclaim() - free memory for page faults
 *
 * A page fault in the kernel waits for the OOM killer if the memory cgroup of the process, or
 * the machine, has no page for it. An allocation that may fail reclaims memory instead, and its
 * pages are freed for the faults. Other processes of the cgroup may take them first.
 *
 * Return: number of pages that faults may allocate, beside their page tables; 0 if there is
 * no memory.
 */
unsigned long dd_pages_reclaim(void)
{
	struct page *page = pages_try(DD_PAGES_ORDER, DD_TABLES_ORDER, 0);
	unsigned int order;

	if (!page)
		return 0;
	order = compound_order(page);
	__free_pages(page, order);
	return (1ul << order) - (1ul << DD_TABLES_ORDER) + 1;
}

/**
 * dd_page_free() - free the result of dd_page_alloc() or dd_pages_alloc()
 * @page: its address
 *
 * Return: number of pages freed.
 */
unsigned long dd_page_free(void *page)
{
	unsigned int order = compound_order(virt_to_page(page));

	atomic_long_sub(1ul << order, &dd_pages);
	free_pages((unsigned long)page, order);
	return 1ul << order;
}

/* Linked by page->lru of the head; page_private() is the charged user. */
static LIST_HEAD(dd_pinned);
static DEFINE_SPINLOCK(dd_pinned_lock);

static void pinned_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(dd_pinned_again, pinned_work);

static void pinned_free(struct page *page)
{
	struct user_struct *user = (struct user_struct *)page_private(page);

	list_del(&page->lru);
	set_page_private(page, 0);
	dd_charge_end(user, dd_page_free(page_address(page)));
}

static void pinned_work(struct work_struct *work)
{
	struct page *page, *next;
	LIST_HEAD(list);
	bool left;

	spin_lock(&dd_pinned_lock);
	list_splice_init(&dd_pinned, &list);
	spin_unlock(&dd_pinned_lock);
	list_for_each_entry_safe(page, next, &list, lru) {
		/* The last reference is that of the list: no other can be taken. */
		if (page_count(page) == 1)
			pinned_free(page);
		cond_resched();
	}
	spin_lock(&dd_pinned_lock);
	list_splice(&list, &dd_pinned);
	left = !list_empty(&dd_pinned);
	spin_unlock(&dd_pinned_lock);
	if (left)
		schedule_delayed_work(&dd_pinned_again, HZ);
}

/**
 * dd_page_release() - free pages of a region that has ended
 * @ctx: context that is charged for them
 * @addr: address returned by dd_pages_alloc(); not mapped any more
 *
 * Pages that are pinned are freed and uncharged when the pins are gone.
 *
 * Return: number of pages.
 */
unsigned long dd_page_release(struct dd_ctx *ctx, void *addr)
{
	struct page *page = virt_to_page(addr);
	unsigned long n = compound_nr(page);

	if (page_count(page) == 1) {
		dd_uncharge(ctx, n << PAGE_SHIFT);
		return dd_page_free(addr);
	}
	set_page_private(page, (unsigned long)dd_charge_keep(ctx, n));
	spin_lock(&dd_pinned_lock);
	list_add(&page->lru, &dd_pinned);
	spin_unlock(&dd_pinned_lock);
	schedule_delayed_work(&dd_pinned_again, HZ);
	return n;
}

/* Report pages that were not freed. */
void dd_page_exit(void)
{
	struct page *page, *next;
	long left;

	cancel_delayed_work_sync(&dd_pinned_again);
	/* Drop the list's references: the last unpin frees the pages. */
	list_for_each_entry_safe(page, next, &dd_pinned, lru)
		pinned_free(page);
	left = atomic_long_read(&dd_pages);
	WARN(left, "dd: %ld pages are lost\n", left);
}
