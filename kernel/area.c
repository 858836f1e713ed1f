// SPDX-License-Identifier: GPL-2.0-only
/*
 * The area: memory shared between the kernel and the owner of a context, in
 * units of 128 bytes. Pages come as they are needed and stay as long as the
 * context, so that no pointer into the area is ever stale. They are allocated
 * with no lock of the area held, and charged to the context.
 */
#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dd.h"

#define DD_AREA_MIN_BITS	4096u

static struct dd_ctx *dd_area_ctx(struct dd_area *area)
{
	return container_of(area, struct dd_ctx, area);
}

static size_t dd_area_map_size(unsigned int bits)
{
	return BITS_TO_LONGS(bits) * sizeof(long);
}

/* A map of @bits, charged; or an error pointer. */
static unsigned long *dd_area_map_alloc(struct dd_ctx *ctx, unsigned int bits)
{
	unsigned long *map;

	if (bits > DD_AREA_UNITS)
		return ERR_PTR(-ENOSPC);
	if (dd_charge(ctx, dd_area_map_size(bits)))
		return ERR_PTR(-EDQUOT);
	map = kvcalloc(BITS_TO_LONGS(bits), sizeof(long), dd_gfp(ctx));
	if (map)
		return map;
	dd_uncharge(ctx, dd_area_map_size(bits));
	return ERR_PTR(-ENOMEM);
}

static void dd_area_map_free(struct dd_ctx *ctx, unsigned long *map,
			     unsigned int bits)
{
	if (!map)
		return;
	kvfree(map);
	dd_uncharge(ctx, dd_area_map_size(bits));
}

int dd_area_init(struct dd_area *area)
{
	u32 unit;
	int err;

	mutex_init(&area->lock);
	area->map = dd_area_map_alloc(dd_area_ctx(area), DD_AREA_MIN_BITS);
	if (IS_ERR(area->map))
		return PTR_ERR(area->map);
	area->bits = DD_AREA_MIN_BITS;
	/* Unit 0 is the head, so that no object is ever named 0. */
	err = dd_area_alloc(area, 1, &unit);
	if (err)
		dd_area_exit(area);
	return err;
}

void dd_area_exit(struct dd_area *area)
{
	struct dd_ctx *ctx = dd_area_ctx(area);
	unsigned int i, j;

	for (i = 0; i < DD_AREA_CHUNKS; i++) {
		for (j = 0; area->chunks[i] && j < DD_CHUNK_PAGES; j++)
			if (area->chunks[i][j]) {
				dd_page_free(area->chunks[i][j]);
				dd_uncharge(ctx, PAGE_SIZE);
			}
		kfree(area->chunks[i]);
	}
	dd_area_map_free(ctx, area->map, area->bits);
}

/* @align: mask of the bits that must be zero in the first one's number. */
static bool dd_area_find(struct dd_area *area, u32 units, u32 align, u32 *unit)
{
	unsigned long at;

	lockdep_assert_held(&area->lock);
	at = bitmap_find_next_zero_area(area->map, area->bits, area->hint,
					units, align);
	if (at >= area->bits)
		at = bitmap_find_next_zero_area(area->map, area->bits, 0,
						units, align);
	*unit = at;
	return at < area->bits;
}

/*
 * Reserve units; that they have no pages yet shows to no other object. A larger
 * map is allocated with the lock released: it is taken when objects are freed.
 */
static int dd_area_reserve(struct dd_area *area, u32 units, u32 room, u32 align,
			   u32 *unit)
{
	struct dd_ctx *ctx = dd_area_ctx(area);
	unsigned long *map = NULL;
	unsigned int bits = 0;
	bool found;

	for (;;) {
		mutex_lock(&area->lock);
		if (bits > area->bits) {
			bitmap_copy(map, area->map, area->bits);
			area->hint = area->bits;
			swap(map, area->map);
			swap(bits, area->bits);
		}
		found = dd_area_find(area, room, align, unit);
		/* Better without room than not at all. */
		if (!found && area->bits == DD_AREA_UNITS && room > units)
			found = dd_area_find(area, units, align, unit);
		if (found) {
			bitmap_set(area->map, *unit, units);
			/* What is aligned leaves gaps for what is not. */
			if (!align)
				area->hint = *unit + room < area->bits ?
					     *unit + room : 0;
		}
		/* The old one, or one that another thread made unnecessary. */
		dd_area_map_free(ctx, map, bits);
		bits = area->bits * 2;
		mutex_unlock(&area->lock);
		if (found)
			return 0;
		map = dd_area_map_alloc(ctx, bits);
		if (IS_ERR(map))
			return PTR_ERR(map);
	}
}

static int dd_area_populate(struct dd_area *area, u32 index)
{
	void ***chunk = &area->chunks[index / DD_CHUNK_PAGES];
	struct dd_ctx *ctx = dd_area_ctx(area);
	void **slot, *page;
	int err;

	if (!READ_ONCE(*chunk)) {
		void **pages = kcalloc(DD_CHUNK_PAGES, sizeof(*pages),
				       dd_gfp(ctx));

		if (!pages)
			return -ENOMEM;
		/* Pairs with dd_area_page(). Another thread may be first. */
		if (cmpxchg(chunk, NULL, pages))
			kfree(pages);
	}
	slot = &READ_ONCE(*chunk)[index % DD_CHUNK_PAGES];
	if (READ_ONCE(*slot))
		return 0;
	err = dd_charge(ctx, PAGE_SIZE);
	if (err)
		return err;
	page = dd_page_alloc(dd_gfp(ctx));
	/* Pairs with dd_area_page(). As above. */
	if (page && !cmpxchg(slot, NULL, page))
		return 0;
	dd_uncharge(ctx, PAGE_SIZE);
	if (!page)
		return -ENOMEM;
	dd_page_free(page);
	return 0;
}

/* Give reserved units their pages, and zero them. If that fails they are free. */
static int dd_area_fill(struct dd_area *area, u32 unit, u32 units)
{
	u32 index, i;
	int err = 0;

	for (index = unit / DD_PAGE_UNITS;
	     !err && index <= (unit + units - 1) / DD_PAGE_UNITS; index++) {
		err = dd_area_populate(area, index);
		cond_resched();
	}
	if (err) {
		dd_area_free(area, unit, units);
		return err;
	}
	for (i = 0; i < units; i++)
		memset(dd_area_unit(area, unit + i), 0, DD_UNIT);
	return 0;
}

/* @unit is 0 on failure: the caller's release looks whether there is one. */
static int dd_area_get(struct dd_area *area, u32 units, u32 room, u32 align,
		       u32 *unit)
{
	int err = dd_area_reserve(area, units, room, align, unit);

	if (!err)
		err = dd_area_fill(area, *unit, units);
	if (err)
		*unit = 0;
	return err;
}

/**
 * dd_area_alloc_room() - allocate consecutive units, with room to grow
 * @area: the area
 * @units: how many
 * @room: how many should be free from the first on; others may come to take
 *	them, but not soon
 * @unit: (out) number of the first; 0 on failure
 *
 * Return: 0, %-ENOMEM, %-EDQUOT, or %-ENOSPC when the area is full.
 */
int dd_area_alloc_room(struct dd_area *area, u32 units, u32 room, u32 *unit)
{
	return dd_area_get(area, units, room, 0, unit);
}

/* The same without room. */
int dd_area_alloc(struct dd_area *area, u32 units, u32 *unit)
{
	return dd_area_alloc_room(area, units, units, unit);
}

/**
 * dd_area_alloc_pages() - allocate whole pages, which hold nothing else
 * @area: the area
 * @pages: how many
 * @unit: (out) number of their first unit
 *
 * Return: as dd_area_alloc_room().
 */
int dd_area_alloc_pages(struct dd_area *area, u32 pages, u32 *unit)
{
	u32 units = pages * DD_PAGE_UNITS;

	return dd_area_get(area, units, units, DD_PAGE_UNITS - 1, unit);
}

/* Allocate the units that follow some: 0, or an error if they are not free. */
int dd_area_extend(struct dd_area *area, u32 unit, u32 units, u32 more)
{
	u32 next = unit + units;
	bool found;

	mutex_lock(&area->lock);
	found = next + more <= area->bits &&
		find_next_bit(area->map, next + more, next) == next + more;
	if (found)
		bitmap_set(area->map, next, more);
	mutex_unlock(&area->lock);
	return found ? dd_area_fill(area, next, more) : -ENOSPC;
}

void dd_area_free(struct dd_area *area, u32 unit, u32 units)
{
	mutex_lock(&area->lock);
	bitmap_clear(area->map, unit, units);
	/* What has pages already is to be used before what has none. */
	area->hint = min(area->hint, unit);
	mutex_unlock(&area->lock);
}

/* The page at @index, or NULL; for a fault handler, which holds no lock. */
struct page *dd_area_page(struct dd_area *area, unsigned long index)
{
	void **chunk, *page;

	if (index >= DD_AREA_CHUNKS * DD_CHUNK_PAGES)
		return NULL;
	index = array_index_nospec(index, DD_AREA_CHUNKS * DD_CHUNK_PAGES);
	/* Both pair with dd_area_populate(): what is found is whole. */
	chunk = smp_load_acquire(&area->chunks[index / DD_CHUNK_PAGES]);
	if (!chunk)
		return NULL;
	/* As above. */
	page = smp_load_acquire(&chunk[index % DD_CHUNK_PAGES]);
	return page ? virt_to_page(page) : NULL;
}
