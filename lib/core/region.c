// SPDX-License-Identifier: LGPL-2.1-only
/*
 * region.c - wired memory, by address
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error.h"
#include "region.h"

/* Number of regions that start at @addr or before it; region_lock held. */
static size_t region_index(const struct dd *h, const char *addr)
{
	size_t low = 0, high = h->nr_regions;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if ((uintptr_t)h->regions[mid].addr <= (uintptr_t)addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The regions from index @i on have moved. */
static void region_reach(struct dd *h, size_t i)
{
	for (; i < h->nr_regions; i++) {
		struct ddi_region *r = &h->regions[i];

		r->reach = (uintptr_t)r->addr + r->size;
		if (i && r[-1].reach > r->reach)
			r->reach = r[-1].reach;
	}
}

/* Record a region of the kernel, or have it freed: 0 or -ENOMEM. */
int ddi_region_add(struct dd *h, const struct ddi_region *new)
{
	void *regions;
	int ret = -ENOMEM;
	size_t cap, i;

	pthread_rwlock_wrlock(&h->region_lock);
	if (h->nr_regions == h->cap_regions) {
		cap = h->cap_regions ? 2 * h->cap_regions : 16;
		regions = realloc(h->regions, cap * sizeof(*new));
		if (!regions)
			goto out;
		h->regions = regions;
		h->cap_regions = cap;
	}
	i = region_index(h, new->addr);
	memmove(&h->regions[i + 1], &h->regions[i],
		(h->nr_regions - i) * sizeof(*new));
	h->regions[i] = *new;
	h->nr_regions++;
	region_reach(h, i);
	ret = 0;
out:
	pthread_rwlock_unlock(&h->region_lock);
	if (ret)
		ddi_ioctl_id(h, DD_IOC_REGION_FREE, new->id);
	return ret;
}

/* ddi_region_find(), with region_lock held; unlocks. */
static bool find_unlock(struct dd *h, const char *addr, size_t len, struct dd_buf *buf)
{
	const struct ddi_region *r = &h->regions[region_index(h, addr)];
	bool found = false;

	while (!found && r-- != h->regions && r->reach > (uintptr_t)addr) {
		size_t at = addr - r->addr;

		found = at <= r->size && len <= r->size - at;
		if (found)
			*buf = (struct dd_buf){ .region = r->id, .length = len,
						.offset = r->offset + at };
	}
	pthread_rwlock_unlock(&h->region_lock);
	return found;
}

/* Returns whether all of [@addr, @addr + @len) lies in one region. */
bool ddi_region_find(struct dd *h, const void *addr, size_t len, struct dd_buf *buf)
{
	pthread_rwlock_rdlock(&h->region_lock);
	return find_unlock(h, addr, len, buf);
}

/* The same in a signal handler: false also if the regions are being changed. */
bool ddi_region_try(struct dd *h, const void *addr, size_t len, struct dd_buf *buf)
{
	return !pthread_rwlock_tryrdlock(&h->region_lock) && find_unlock(h, addr, len, buf);
}

/* Where a buffer is mapped; NULL if there is none. */
void *ddi_region_addr(struct dd *h, const struct dd_buf *buf)
{
	void *addr = NULL;

	pthread_rwlock_rdlock(&h->region_lock);
	for (size_t i = 0; buf->region && i < h->nr_regions && !addr; i++)
		if (h->regions[i].id == buf->region)
			addr = h->regions[i].addr + (buf->offset - h->regions[i].offset);
	pthread_rwlock_unlock(&h->region_lock);
	return addr;
}

/*
 * Convert a buffer of dd_serve() or dd_connect() for the kernel, which checks whether one
 * of 0 bytes will do.
 */
int ddi_region_check(struct dd *h, const char *what, const void *addr, size_t len,
		     struct dd_buf *buf)
{
	memset(buf, 0, sizeof(*buf));
	if (!len)
		return 0;
	if (!addr || !ddi_region_find(h, addr, len, buf)) {
		ddi_reason(h, -EINVAL, "%s buffer %p, %zu bytes: not inside one piece of memory of ddalloc()",
			   what, addr, len);
		return -EINVAL;
	}
	if (buf->offset % sysconf(_SC_PAGESIZE)) {
		ddi_reason(h, -EINVAL, "%s buffer %p: does not start at a page boundary",
			   what, addr);
		return -EINVAL;
	}
	return 0;
}

/* Explain EMEMLOCK: the limit, and how much of it is in use. */
void ddi_memlock_reason(struct dd *h, const char *what)
{
	struct dd_info info = { .size = sizeof(info) };

	if (ddi_ioctl(h, DD_IOC_INFO, &info) < 0)
		return;
	ddi_reason(h, -EDQUOT, "%s would exceed RLIMIT_MEMLOCK: limit %llu KiB, in use by this user %llu KiB; raise it with 'ulimit -l' or in /etc/security/limits.conf",
		   what, (unsigned long long)info.memlock_limit / 1024,
		   (unsigned long long)info.memlock_used / 1024);
}

int ddi_region_alloc(struct dd *h, size_t size, uint32_t flags, void **addr)
{
	struct dd_region_alloc ra = { .size = sizeof(ra), .flags = flags, .length = size };
	struct ddi_region r;
	char what[32];
	int ret;

	if (!ddi_alive(h))
		return -ESTALE;
	ddi_reason_clear(h);
	if (!size || !addr)
		return -EINVAL;

	ret = ddi_ioctl(h, DD_IOC_REGION_ALLOC, &ra);
	ddi_reason_kernel(h, ret);
	if (ret == -EDQUOT) {
		snprintf(what, sizeof(what), "%zu KiB more", (size + 1023) / 1024);
		ddi_memlock_reason(h, what);
	}
	if (ret < 0)
		return ret;
	r = (struct ddi_region){ .size = ra.length, .id = ra.region };
	r.addr = ddi_map(h, ra.offset, r.size, PROT_READ | PROT_WRITE);
	if (!r.addr) {
		ret = -errno;
		ddi_ioctl_id(h, DD_IOC_REGION_FREE, ra.region);
		return ret;
	}
	ret = ddi_region_add(h, &r);
	if (ret)
		munmap(r.addr, r.size);
	else
		*addr = r.addr;
	return ret;
}

int ddi_region_free(struct dd *h, const void *addr, bool pinned)
{
	struct ddi_region r;
	int ret = -EINVAL;
	size_t i;

	if (!ddi_alive(h))
		return -ESTALE;
	pthread_rwlock_wrlock(&h->region_lock);
	/* Of several that start there, the latest. */
	i = region_index(h, addr);
	if (!i-- || h->regions[i].addr != addr || h->regions[i].pinned != pinned)
		goto out;
	r = h->regions[i];
	ret = ddi_ioctl_id(h, DD_IOC_REGION_FREE, r.id);
	if (ret < 0)
		goto out;
	if (!pinned)
		munmap(r.addr, r.size);
	h->nr_regions--;
	memmove(&h->regions[i], &h->regions[i + 1],
		(h->nr_regions - i) * sizeof(r));
	region_reach(h, i);
	ret = 0;
out:
	pthread_rwlock_unlock(&h->region_lock);
	return ret;
}

DD_API int dd_alloc(struct dd *h, size_t size, void **addr)
{
	return ddi_error(ddi_region_alloc(h, size, 0, addr));
}

DD_API int dd_free(struct dd *h, void *addr)
{
	int ret = ddi_region_free(h, addr, false);

	return ret == -EBUSY ? ret : ddi_error(ret);
}

void ddi_region_release(struct dd *h)
{
	for (size_t i = 0; i < h->nr_regions; i++)
		if (!h->regions[i].pinned)
			munmap(h->regions[i].addr, h->regions[i].size);
	free(h->regions);
}
