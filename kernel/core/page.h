/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of wired memory: page.c. */
#ifndef _DD_PAGE_H
#define _DD_PAGE_H

#include <linux/mm.h>

struct dd_ctx;

void *dd_page_alloc(gfp_t gfp);
void *dd_pages_alloc(unsigned long n);
unsigned long dd_pages_reclaim(void);
unsigned long dd_page_free(void *page);
unsigned long dd_page_release(struct dd_ctx *ctx, void *addr);
void dd_page_exit(void);

/* Implements vm_operations_struct.may_split(): memory is mapped and unmapped as a whole. */
static inline int dd_vm_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

/* Bytes from @p to the end of the pages that dd_pages_alloc() returned as one. */
static inline size_t dd_page_left(const void *p)
{
	struct page *page = virt_to_head_page(p);

	return page_address(page) + page_size(page) - p;
}

#endif /* _DD_PAGE_H */
