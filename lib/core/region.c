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
#include <linux/dd_mem.h>

#include "dev.h"
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

/*
 * The next region before @r that has all of [@addr, @addr + @len), or NULL; region_lock
 * held. Begin with the first region that starts behind @addr.
 */
static const struct ddi_region *region_before(struct dd *h, const struct ddi_region *r,
					      const char *addr, size_t len)
{
	while (r-- != h->regions && r->reach > (uintptr_t)addr) {
		size_t at = addr - r->addr;

		if (at <= r->size && len <= r->size - at)
			return r;
	}
	return NULL;
}

/* Whether a region still is what is mapped at an address. */
static bool region_mapped(struct dd *h, const struct ddi_region *r, const char *addr,
			  size_t len)
{
	struct dd_region_check c = { .size = sizeof(c), .region = r->id,
				     .address = (uintptr_t)addr, .length = len };

	/* Only dd_free() removes a mapping of the library where the program has no memory. */
	return r->kind == DDI_REGION_DRIVER || ddi_ioctl(h, DD_IOC_REGION_CHECK, &c) >= 0;
}

/*
 * Returns whether all of [@addr, @addr + @len) lies in one region. The program may have
 * unmapped pinned memory, and mapped or pinned other memory there since.
 */
bool ddi_region_find(struct dd *h, const void *addr, size_t len, struct dd_buf *buf)
{
	const struct ddi_region *r;

	pthread_rwlock_rdlock(&h->region_lock);
	r = &h->regions[region_index(h, addr)];
	do {
		r = region_before(h, r, addr, len);
	} while (r && !region_mapped(h, r, addr, len));
	if (r)
		*buf = (struct dd_buf){ .region = r->id, .length = len,
					.offset = r->offset + ((char *)addr - r->addr) };
	pthread_rwlock_unlock(&h->region_lock);
	return r;
}

/* Whether there is a region at any of these bytes. */
bool ddi_region_overlaps(struct dd *h, const void *addr, size_t len)
{
	bool overlaps;
	size_t n;

	pthread_rwlock_rdlock(&h->region_lock);
	n = region_index(h, (const char *)addr + len - 1);
	overlaps = n && h->regions[n - 1].reach > (uintptr_t)addr;
	pthread_rwlock_unlock(&h->region_lock);
	return overlaps;
}

/*
 * The id of a region for DD_SQE_UNWIRED | DD_SQE_REGION, or 0. The kernel checks whether
 * it is what is mapped there. In a signal handler do not @wait: 0 also if the regions are
 * being changed.
 */
uint32_t ddi_region_hint(struct dd *h, const void *addr, size_t len, bool wait)
{
	const struct ddi_region *r;
	uint32_t id;

	if (wait)
		pthread_rwlock_rdlock(&h->region_lock);
	else if (pthread_rwlock_tryrdlock(&h->region_lock))
		return 0;
	r = region_before(h, &h->regions[region_index(h, addr)], addr, len);
	id = r ? r->id : 0;
	pthread_rwlock_unlock(&h->region_lock);
	return id;
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

/* ---- memory in place of the program's ---------------------------------------- */

/* Ordinary memory, or NULL and errno. */
static void *own_alloc(size_t size)
{
	void *own = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return own == MAP_FAILED ? NULL : own;
}

/* Map @own, with the bytes of @from, at @addr. No thread sees a moment without memory. */
static int own_place(void *own, void *addr, const void *from, size_t size)
{
	int ret = 0;

	memcpy(own, from, size);
	if (mremap(own, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, addr) == MAP_FAILED) {
		ret = -errno;
		munmap(own, size);
	}
	return ret;
}

/* Give the program memory with the bytes of @from at @addr. */
static void own_restore(void *addr, const void *from, size_t size)
{
	void *own = own_alloc(size);

	if (own)
		own_place(own, addr, from, size);
}

/*
 * Map a region in place of the memory that it is a copy of. If that fails, the kernel may have
 * unmapped this memory before: then the copy is all there is.
 */
static void *map_in_place(struct dd *h, uint64_t offset, size_t size, void *place)
{
	void *at = mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, h->fd, offset);
	int error = errno;
	void *copy;

	if (at != MAP_FAILED)
		return at;
	copy = ddi_map(h, offset, size, PROT_READ);
	if (copy) {
		own_restore(place, copy, size);
		munmap(copy, size);
	}
	errno = error;
	return NULL;
}

/* Whether the program's memory has to be put back: the program may have unmapped it. */
static bool region_in_place(struct dd *h, const struct ddi_region *r)
{
	return r->kind == DDI_REGION_IN_PLACE && region_mapped(h, r, r->addr, r->size);
}

/* Allocate a region, and map it in @place of memory whose bytes it then has, unless that is NULL. */
int ddi_region_alloc(struct dd *h, size_t size, uint32_t flags, void *place, void **addr)
{
	struct dd_region_alloc ra = { .size = sizeof(ra), .flags = flags, .length = size,
				      .address = (uintptr_t)place };
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
	r = (struct ddi_region){ .size = ra.length, .id = ra.region,
				 .kind = place ? DDI_REGION_IN_PLACE : DDI_REGION_DRIVER };
	r.addr = place ? map_in_place(h, ra.offset, r.size, place) :
			 ddi_map(h, ra.offset, r.size, PROT_READ | PROT_WRITE);
	if (!r.addr) {
		ret = -errno;
		ddi_ioctl_id(h, DD_IOC_REGION_FREE, ra.region);
		return ret;
	}
	ret = ddi_region_add(h, &r);
	if (!ret)
		*addr = r.addr;
	else if (place)
		own_restore(place, place, r.size);
	else
		munmap(r.addr, r.size);
	return ret;
}

int ddi_region_free(struct dd *h, const void *addr, enum ddi_region_kind kind)
{
	struct ddi_region r;
	void *own = NULL;
	int ret = -EINVAL;
	size_t i;

	if (!ddi_alive(h))
		return -ESTALE;
	pthread_rwlock_wrlock(&h->region_lock);
	/*
	 * Of several that start there, the latest. The program may have unmapped pinned
	 * memory, where dd_alloc() has then mapped other memory.
	 */
	i = region_index(h, addr);
	do {
		if (!i-- || h->regions[i].addr != addr)
			goto out;
	} while (h->regions[i].kind != kind);
	r = h->regions[i];
	if (region_in_place(h, &r)) {
		own = own_alloc(r.size);
		if (!own) {
			ret = -errno;
			goto out;
		}
	}
	ret = ddi_ioctl_id(h, DD_IOC_REGION_FREE, r.id);
	if (ret < 0) {
		if (own)
			munmap(own, r.size);
		goto out;
	}
	/* If that fails, the bytes stay in the mapping, which keeps its pages without an id. */
	if (own)
		ret = own_place(own, r.addr, r.addr, r.size);
	else if (kind == DDI_REGION_DRIVER)
		munmap(r.addr, r.size);
	h->nr_regions--;
	memmove(&h->regions[i], &h->regions[i + 1],
		(h->nr_regions - i) * sizeof(r));
	region_reach(h, i);
out:
	pthread_rwlock_unlock(&h->region_lock);
	return ret;
}

DD_API int dd_alloc(struct dd *h, size_t size, void **addr)
{
	return ddi_error(ddi_region_alloc(h, size, 0, NULL, addr));
}

DD_API int dd_free(struct dd *h, void *addr)
{
	int ret = ddi_region_free(h, addr, DDI_REGION_DRIVER);

	return ret == -EBUSY ? ret : ddi_error(ret);
}

void ddi_region_release(struct dd *h)
{
	const struct ddi_region *r;

	for (r = h->regions; r != h->regions + h->nr_regions; r++)
		if (region_in_place(h, r))
			own_restore(r->addr, r->addr, r->size);
		else if (r->kind == DDI_REGION_DRIVER)
			munmap(r->addr, r->size);
	free(h->regions);
}
