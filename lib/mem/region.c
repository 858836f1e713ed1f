// SPDX-License-Identifier: LGPL-2.1-only
/*
 * region.c - memory of the program, and memory that records writes
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <linux/dd_mem.h>

#include "dd_mem.h"
#include "dev.h"
#include "error.h"
#include "region.h"

DD_API int dd_pin(struct dd *h, void *addr, size_t len)
{
	struct dd_region_pin p = { .size = sizeof(p), .address = (uintptr_t)addr,
				   .length = len };
	struct ddi_region r = { .addr = addr, .size = len, .pinned = true };
	char what[64];
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	ddi_reason_clear(h);
	ret = ddi_ioctl(h, DD_IOC_REGION_PIN, &p);
	if (ret == -EDQUOT) {
		snprintf(what, sizeof(what), "%zu KiB, with the huge pages that they are in,",
			 (len + 1023) / 1024);
		ddi_memlock_reason(h, what);
	}
	if (ret < 0)
		return ret;
	r.id = p.region;
	r.offset = p.offset;
	return ddi_region_add(h, &r);
}

DD_API int dd_unpin(struct dd *h, void *addr)
{
	return ddi_region_free(h, addr, true);
}

DD_API int dd_alloc_tracked(struct dd *h, size_t size, void **addr)
{
	return ddi_region_alloc(h, size, DD_REGION_TRACK, addr);
}

DD_API int dd_dirty(struct dd *h, const void *addr, size_t len, uint64_t *bitmap)
{
	struct dd_region_dirty d = { .size = sizeof(d), .length = len,
				     .bitmap = (uintptr_t)bitmap };
	struct dd_buf buf;

	if (!ddi_alive(h))
		return -ESTALE;
	if (!bitmap || !ddi_region_find(h, addr, len, &buf))
		return -EINVAL;
	d.region = buf.region;
	d.offset = buf.offset;
	return ddi_ioctl(h, DD_IOC_REGION_DIRTY, &d);
}
