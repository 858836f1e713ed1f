// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that are mapped into processes. They are counted, since kmemleak does
 * not look at pages: when the module goes, all must have come back.
 */
#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/printk.h>

#include "dd.h"

#define DD_PAGES_ORDER	6	/* of pages in a row; more would spare nothing */

/* For more than a single one nobody waits, and nothing is moved. */
#define DD_PAGES_GFP							\
	((GFP_KERNEL_ACCOUNT & ~__GFP_RECLAIM) |			\
	 __GFP_ZERO | __GFP_COMP | __GFP_NORETRY | __GFP_NOWARN)

static atomic_long_t dd_pages;

/* A zeroed page, charged to the memory cgroup of the caller. */
void *dd_page_alloc(void)
{
	unsigned long page = get_zeroed_page(GFP_KERNEL_ACCOUNT);

	if (page)
		atomic_long_inc(&dd_pages);
	return (void *)page;
}

/**
 * dd_pages_alloc() - as dd_page_alloc(), some pages that follow each other
 * @n: how many are wanted, at least 1
 * @got: (out) how many there are, at most @n
 *
 * They have one count of references, and go when nobody has any.
 *
 * Return: the first one's address, or NULL.
 */
void *dd_pages_alloc(unsigned long n, unsigned long *got)
{
	unsigned int order = min(ilog2(n), DD_PAGES_ORDER);
	struct page *page = NULL;

	while (order && !page) {
		page = alloc_pages(DD_PAGES_GFP, order);
		if (!page)
			order--;
	}
	*got = 1ul << order;
	if (!page)
		return dd_page_alloc();
	atomic_long_add(*got, &dd_pages);
	return page_address(page);
}

/**
 * dd_page_free() - give back what dd_page_alloc() or dd_pages_alloc() has given
 * @page: the address
 *
 * Return: how many pages that is.
 */
unsigned long dd_page_free(void *page)
{
	unsigned int order = compound_order(virt_to_page(page));

	atomic_long_sub(1ul << order, &dd_pages);
	free_pages((unsigned long)page, order);
	return 1ul << order;
}

/* Complain about pages that nobody has freed. */
void dd_page_exit(void)
{
	long left = atomic_long_read(&dd_pages);

	WARN(left, "dd: %ld pages are lost\n", left);
}
