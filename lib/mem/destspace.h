/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * destspace.h - addresses that stand for memory of other processes
 *
 * Copyright (C) 2026 The dd authors
 *
 * A proxy is a range of addresses in a reserved part of the address space, without memory. It
 * begins at a page, and a page without a proxy follows it. A load from it raises SIGSEGV.
 */
#ifndef _DD_DESTSPACE_H
#define _DD_DESTSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A proxy. Its memory may be used for another one after ddi_dest_del(), but for nothing else:
 * threads may still compare an address with it. They load @len before and after @base, and find
 * both of one proxy, or a @len of 0.
 */
struct ddi_dest {
	uintptr_t base;
	size_t len;		/* 0: none */
};

int ddi_dest_add(struct ddi_dest *d, size_t len);
void ddi_dest_del(struct ddi_dest *d);
struct ddi_dest *ddi_dest_find(const void *addr);

/* The range that is reserved, or 0 and 0; set once. */
extern uintptr_t ddi_dest_range[2];

/* Whether memory overlaps the range: it is no source for a request. */
static inline bool ddi_dest_has(const void *addr, size_t len)
{
	return (uintptr_t)addr < ddi_dest_range[1] && (uintptr_t)addr + len > ddi_dest_range[0];
}

#endif /* _DD_DESTSPACE_H */
