// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that are mapped into processes. They are counted, since kmemleak does
 * not look at pages: when the module goes, all must have come back.
 */
#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/printk.h>

#include "dd.h"

static atomic_long_t dd_pages;

/* A zeroed page, charged to the memory cgroup of the caller. */
void *dd_page_alloc(void)
{
	unsigned long page = get_zeroed_page(GFP_KERNEL_ACCOUNT);

	if (page)
		atomic_long_inc(&dd_pages);
	return (void *)page;
}

void dd_page_free(void *page)
{
	atomic_long_dec(&dd_pages);
	free_page((unsigned long)page);
}

/* Complain about pages that nobody has freed. */
void dd_page_exit(void)
{
	long left = atomic_long_read(&dd_pages);

	WARN(left, "dd: %ld pages are lost\n", left);
}
