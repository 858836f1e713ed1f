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

#endif /* _DD_DESTSPACE_H */
