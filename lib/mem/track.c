// SPDX-License-Identifier: LGPL-2.1-only
/*
 * track.c - memory whose changed pages are recorded
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <linux/dd_mem.h>

#include "dd_mem.h"
#include "dev.h"
#include "region.h"
#include "track.h"

DD_API int dd_alloc_tracked(struct dd *h, size_t size, void **addr)
{
	return ddi_region_alloc(h, size, DD_REGION_TRACK, NULL, addr);
}

DD_API int ddi_track(struct dd *h, void *addr, size_t len)
{
	struct dd_buf buf;
	int ret;

	if (!addr || !ddi_alive(h))
		return addr ? -ESTALE : -EINVAL;
	if (ddi_region_overlaps(h, addr, len))
		return -EBUSY;
	ret = ddi_region_alloc(h, len, DD_REGION_TRACK, addr, &addr);
	if (!ret && ddi_region_find(h, addr, len, &buf))
		ret = buf.region;
	return ret;
}

DD_API int ddi_untrack(struct dd *h, void *addr)
{
	return ddi_region_free(h, addr, DDI_REGION_IN_PLACE);
}

DD_API uint32_t ddi_stores(const struct dd *h)
{
	/* Acquire: the stores that the caller fetches next are those up to this number. */
	return ddi_load_acquire(&ddi_head(h)->stores);
}

DD_API int ddi_stored(struct dd *h, int region, uint64_t timeout)
{
	struct dd_region_stored s = { .size = sizeof(s), .region = region, .timeout = timeout };
	int ret = ddi_ioctl(h, DD_IOC_REGION_STORED, &s);

	if (!ret)
		return s.region;
	return ret == -EAGAIN || ret == -ETIMEDOUT ? 0 : ret;
}

DD_API int ddi_dirty(struct dd *h, int region, size_t offset, size_t len, uint64_t *bitmap)
{
	const struct dd_region_dirty d = { .size = sizeof(d), .region = region, .offset = offset,
					   .length = len, .bitmap = (uintptr_t)bitmap };

	return ddi_ioctl(h, DD_IOC_REGION_DIRTY, (void *)&d);
}

DD_API int dd_dirty(struct dd *h, const void *addr, size_t len, uint64_t *bitmap)
{
	struct dd_buf buf;

	if (!ddi_alive(h))
		return -ESTALE;
	if (!bitmap || !ddi_region_find(h, addr, len, &buf))
		return -EINVAL;
	return ddi_dirty(h, buf.region, buf.offset, len, bitmap);
}
