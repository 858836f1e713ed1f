/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * region.h - wired memory, by address
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_REGION_H
#define _DD_REGION_H

#include "handle.h"

/* Whose memory a region is, and what is mapped at its address. */
enum ddi_region_kind {
	DDI_REGION_DRIVER,	/* of the driver, mapped where there was nothing */
	DDI_REGION_IN_PLACE,	/* of the driver, mapped in place of memory of the program */
	DDI_REGION_PINNED,	/* of the program, not mapped here; may overlap others */
};

struct ddi_region {
	char *addr;
	size_t size;
	uint64_t offset;	/* of @addr in the kernel's region */
	uint32_t id;
	uintptr_t reach;	/* end of the last byte of this region and those before it */
	enum ddi_region_kind kind;
};

uint32_t ddi_region_hint(struct dd *h, const void *addr, size_t len, bool wait);
bool ddi_region_find(struct dd *h, const void *addr, size_t len, struct dd_buf *buf);
bool ddi_region_overlaps(struct dd *h, const void *addr, size_t len);
void *ddi_region_addr(struct dd *h, const struct dd_buf *buf);
void ddi_memlock_reason(struct dd *h, const char *what);
int ddi_region_check(struct dd *h, const char *what, const void *addr, size_t len,
		     struct dd_buf *buf);
int ddi_region_add(struct dd *h, const struct ddi_region *new);
int ddi_region_alloc(struct dd *h, size_t size, uint32_t flags, void *place, void **addr);
int ddi_region_free(struct dd *h, const void *addr, enum ddi_region_kind kind);
void ddi_region_release(struct dd *h);

#endif /* _DD_REGION_H */
