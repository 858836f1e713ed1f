// SPDX-License-Identifier: LGPL-2.1-only
/*
 * region.c - memory of the program
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
	struct ddi_region r = { .addr = addr, .size = len, .kind = DDI_REGION_PINNED };
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
	return ddi_region_free(h, addr, DDI_REGION_PINNED);
}
