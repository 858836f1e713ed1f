// SPDX-License-Identifier: GPL-2.0-only
/*
 * The area: memory shared between the kernel and the owner of a context, in
 * units of 128 bytes. Pages come as they are needed and stay as long as the
 * context, so that no pointer into the area is ever stale.
 */
#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dd.h"

#define DD_AREA_MIN_BITS	4096u

int dd_area_init(struct dd_area *area)
{
	u32 unit;
	int err;

	mutex_init(&area->lock);
	area->map = bitmap_zalloc(DD_AREA_MIN_BITS, GFP_KERNEL_ACCOUNT);
	if (!area->map)
		return -ENOMEM;
	area->bits = DD_AREA_MIN_BITS;
	/* Unit 0 is the head, so that no object is ever named 0. */
	err = dd_area_alloc(area, 1, &unit);
	if (err)
		dd_area_exit(area);
	return err;
}

void dd_area_exit(struct dd_area *area)
{
	unsigned int i, j;

	for (i = 0; i < DD_AREA_CHUNKS; i++) {
		for (j = 0; area->chunks[i] && j < DD_CHUNK_PAGES; j++)
			if (area->chunks[i][j])
				dd_page_free(area->chunks[i][j]);
		kfree(area->chunks[i]);
	}
	kvfree(area->map);
}

/* Double the map, up to the size of the area. */
static int dd_area_grow(struct dd_area *area)
{
	unsigned int bits = area->bits * 2;
	unsigned long *map;

	if (bits > DD_AREA_UNITS)
		return -ENOSPC;
	map = kvcalloc(BITS_TO_LONGS(bits), sizeof(long), GFP_KERNEL_ACCOUNT);
	if (!map)
		return -ENOMEM;
	bitmap_copy(map, area->map, area->bits);
	kvfree(area->map);
	area->map = map;
	area->hint = area->bits;
	area->bits = bits;
	return 0;
}

/* @align: mask of the bits that must be zero in the first one's number. */
static int dd_area_find(struct dd_area *area, u32 units, u32 align, u32 *unit)
{
	for (;;) {
		unsigned long at;
		int err;

		at = bitmap_find_next_zero_area(area->map, area->bits,
						area->hint, units, align);
		if (at >= area->bits)
			at = bitmap_find_next_zero_area(area->map, area->bits,
							0, units, align);
		if (at < area->bits) {
			*unit = at;
			return 0;
		}
		err = dd_area_grow(area);
		if (err) {
			area->hint = 0;
			return err;
		}
	}
}

static int dd_area_populate(struct dd_area *area, u32 index)
{
	void ***chunk = &area->chunks[index / DD_CHUNK_PAGES];
	void **slot, *page;

	if (!*chunk) {
		void **pages = kcalloc(DD_CHUNK_PAGES, sizeof(*pages),
				       GFP_KERNEL_ACCOUNT);

		if (!pages)
			return -ENOMEM;
		/* Pairs with dd_area_page(), which holds no lock. */
		smp_store_release(chunk, pages);
	}
	slot = &(*chunk)[index % DD_CHUNK_PAGES];
	if (*slot)
		return 0;
	page = dd_page_alloc();
	if (!page)
		return -ENOMEM;
	/* Pairs with dd_area_page(). */
	smp_store_release(slot, page);
	area->pages++;
	return 0;
}

/* Take units that are free: with pages, and zeroed. */
static int dd_area_take(struct dd_area *area, u32 unit, u32 units)
{
	u32 index, i;
	int err;

	for (index = unit / DD_PAGE_UNITS;
	     index <= (unit + units - 1) / DD_PAGE_UNITS; index++) {
		err = dd_area_populate(area, index);
		if (err)
			return err;
	}
	for (i = 0; i < units; i++)
		memset(dd_area_unit(area, unit + i), 0, DD_UNIT);
	bitmap_set(area->map, unit, units);
	return 0;
}

/**
 * dd_area_alloc_room() - allocate consecutive units, with room to grow
 * @area: the area
 * @units: how many
 * @room: how many should be free from the first on; others may come to take
 *	them, but not soon
 * @unit: (out) number of the first
 *
 * Return: 0, %-ENOMEM, or %-ENOSPC when the area is full.
 */
int dd_area_alloc_room(struct dd_area *area, u32 units, u32 room, u32 *unit)
{
	int err;

	mutex_lock(&area->lock);
	err = dd_area_find(area, room, 0, unit);
	/* Better without room than not at all. */
	if (err == -ENOSPC && room > units)
		err = dd_area_find(area, units, 0, unit);
	if (!err)
		err = dd_area_take(area, *unit, units);
	if (!err)
		area->hint = *unit + room < area->bits ? *unit + room : 0;
	mutex_unlock(&area->lock);
	return err;
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
	int err;

	mutex_lock(&area->lock);
	err = dd_area_find(area, units, DD_PAGE_UNITS - 1, unit);
	if (!err)
		err = dd_area_take(area, *unit, units);
	mutex_unlock(&area->lock);
	return err;
}

/* Allocate the units that follow some: 0, or an error if they are not free. */
int dd_area_extend(struct dd_area *area, u32 unit, u32 units, u32 more)
{
	u32 next = unit + units;
	int err = -ENOSPC;

	mutex_lock(&area->lock);
	if (next + more <= area->bits &&
	    find_next_bit(area->map, next + more, next) == next + more)
		err = dd_area_take(area, next, more);
	mutex_unlock(&area->lock);
	return err;
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
