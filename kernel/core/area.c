// SPDX-License-Identifier: GPL-2.0-only
/*
 * The area: memory shared between the kernel and the owner of a context, in units of
 * 128 bytes. Pages are added on demand and stay until the context has ended and no unit
 * is in use, so no pointer to a unit in use becomes stale. They are allocated without the
 * lock of the area and charged to the context.
 */
#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "core/area.h"
#include "core/charge.h"
#include "core/ctx.h"
#include "core/page.h"

#define DD_AREA_MIN_BITS	4096u

static struct dd_ctx *area_ctx(struct dd_area *area)
{
	return container_of(area, struct dd_ctx, area);
}

static size_t area_map_size(unsigned int bits)
{
	return BITS_TO_LONGS(bits) * sizeof(long);
}

/* Allocate a bitmap of @bits, charged to the context; or an error pointer. */
static unsigned long *area_map_alloc(struct dd_ctx *ctx, unsigned int bits)
{
	unsigned long *map;

	if (bits > DD_AREA_UNITS)
		return ERR_PTR(-ENOSPC);
	if (dd_charge(ctx, area_map_size(bits)))
		return ERR_PTR(-EDQUOT);
	map = kvcalloc(BITS_TO_LONGS(bits), sizeof(long), dd_gfp(ctx));
	if (map)
		return map;
	dd_uncharge(ctx, area_map_size(bits));
	return ERR_PTR(-ENOMEM);
}

static void area_map_free(struct dd_ctx *ctx, unsigned long *map, unsigned int bits)
{
	if (!map)
		return;
	kvfree(map);
	dd_uncharge(ctx, area_map_size(bits));
}

/* The caller calls dd_area_exit() also after an error. */
int dd_area_init(struct dd_area *area)
{
	unsigned long *map;
	u32 unit;

	mutex_init(&area->lock);
	map = area_map_alloc(area_ctx(area), DD_AREA_MIN_BITS);
	if (IS_ERR(map))
		return PTR_ERR(map);
	area->map = map;
	area->bits = DD_AREA_MIN_BITS;
	/* Unit 0 is the head, so no object is at unit 0. */
	return dd_area_alloc(area, 1, &unit);
}

/* Free all memory; no unit is in use. */
void dd_area_exit(struct dd_area *area)
{
	struct dd_ctx *ctx = area_ctx(area);
	unsigned int i, j;

	for (i = 0; i < DD_AREA_CHUNKS; i++) {
		for (j = 0; area->chunks[i] && j < DD_CHUNK_PAGES; j++)
			if (area->chunks[i][j]) {
				dd_page_free(area->chunks[i][j]);
				dd_uncharge(ctx, PAGE_SIZE);
			}
		kfree(area->chunks[i]);
		area->chunks[i] = NULL;
	}
	area_map_free(ctx, area->map, area->bits);
	area->map = NULL;
}

/* The last unit that is freed takes the memory with it. */
static void area_unuse(struct dd_area *area, u32 units)
{
	lockdep_assert_held(&area->lock);
	area->used -= units;
	if (!area->used)
		dd_area_exit(area);
}

/**
 * dd_area_close() - free the head, and with it the memory, unless another unit is in use
 * @area: area of a context that has ended; it is not mapped, and will not be
 */
void dd_area_close(struct dd_area *area)
{
	mutex_lock(&area->lock);
	area_unuse(area, 1);
	mutex_unlock(&area->lock);
}

/* Find free units. @align: mask of the bits that must be zero in the number of the first one. */
static bool area_find(struct dd_area *area, u32 units, u32 align, u32 *unit)
{
	unsigned long at;

	lockdep_assert_held(&area->lock);
	at = bitmap_find_next_zero_area(area->map, area->bits, area->hint, units, align);
	if (at >= area->bits)
		at = bitmap_find_next_zero_area(area->map, area->bits, 0, units, align);
	*unit = at;
	return at < area->bits;
}

/*
 * Reserve units, which may have no pages yet. A larger bitmap is allocated without the
 * lock, because a thread that frees an object takes the lock.
 */
static int area_reserve(struct dd_area *area, u32 units, u32 span, u32 align,
			u32 *unit)
{
	struct dd_ctx *ctx = area_ctx(area);
	unsigned long *map = NULL;
	unsigned int bits = 0;
	bool found;

	for (;;) {
		mutex_lock(&area->lock);
		if (!area->map)
			break;
		if (bits > area->bits) {
			bitmap_copy(map, area->map, area->bits);
			area->hint = area->bits;
			swap(map, area->map);
			swap(bits, area->bits);
		}
		found = area_find(area, span, align, unit);
		/* If the bitmap cannot grow, accept units that cannot be extended. */
		if (!found && area->bits == DD_AREA_UNITS && span > units)
			found = area_find(area, units, align, unit);
		if (found) {
			bitmap_set(area->map, *unit, units);
			area->used += units;
			/* Keep the hint: an aligned allocation leaves a gap. */
			if (!align)
				area->hint = *unit + span < area->bits ?
					     *unit + span : 0;
		}
		/* Free the previous map, or a map that another thread has made unnecessary. */
		area_map_free(ctx, map, bits);
		bits = area->bits * 2;
		mutex_unlock(&area->lock);
		if (found)
			return 0;
		map = area_map_alloc(ctx, bits);
		if (IS_ERR(map))
			return PTR_ERR(map);
	}
	mutex_unlock(&area->lock);
	area_map_free(ctx, map, bits);
	return -ESTALE;
}

static int area_populate(struct dd_area *area, u32 index)
{
	void ***chunk = &area->chunks[index / DD_CHUNK_PAGES];
	struct dd_ctx *ctx = area_ctx(area);
	void **slot, *page;
	int err;

	if (!READ_ONCE(*chunk)) {
		void **pages = kcalloc(DD_CHUNK_PAGES, sizeof(*pages), dd_gfp(ctx));

		if (!pages)
			return -ENOMEM;
		/* Pairs with dd_area_page(). Another thread may have been first. */
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
	/* Pairs with dd_area_page(). Another thread may have been first. */
	if (page && !cmpxchg(slot, NULL, page))
		return 0;
	dd_uncharge(ctx, PAGE_SIZE);
	if (!page)
		return -ENOMEM;
	dd_page_free(page);
	return 0;
}

/* Add pages to reserved units and zero the units; on failure, free the units. */
static int area_fill(struct dd_area *area, u32 unit, u32 units)
{
	u32 index, i;
	int err = 0;

	for (index = unit / DD_PAGE_UNITS;
	     !err && index <= (unit + units - 1) / DD_PAGE_UNITS; index++) {
		err = area_populate(area, index);
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

/**
 * dd_area_alloc_span() - allocate consecutive units that can be extended
 * @area: the area
 * @units: number of units
 * @span: number of units that should be free from the first one on, for
 *	dd_area_extend(); they are not reserved
 * @align: mask of the bits that must be zero in the number of the first one
 * @unit: (out) number of the first unit; 0 on failure, for which dd_area_free() does nothing
 *
 * Return: 0, %-ENOMEM, %-EDQUOT, or %-ENOSPC when the area is full.
 */
int dd_area_alloc_span(struct dd_area *area, u32 units, u32 span, u32 align, u32 *unit)
{
	int err = area_reserve(area, units, span, align, unit);

	if (!err)
		err = area_fill(area, *unit, units);
	if (err)
		*unit = 0;
	return err;
}

/* Like dd_area_alloc_span(), not to be extended. */
int dd_area_alloc(struct dd_area *area, u32 units, u32 *unit)
{
	return dd_area_alloc_span(area, units, units, 0, unit);
}

/*
 * Like dd_area_alloc(), for units that kernel code uses as one piece: a power of 2 within a page,
 * or whole pages.
 */
int dd_area_alloc_piece(struct dd_area *area, u32 units, u32 *unit)
{
	u32 align = min_t(u32, units, DD_PAGE_UNITS) - 1;

	return dd_area_alloc_span(area, units, units, align, unit);
}

/* Allocate the @more units behind an allocation; -ENOSPC if they are in use. */
int dd_area_extend(struct dd_area *area, u32 unit, u32 units, u32 more)
{
	u32 next = unit + units;
	bool found;

	mutex_lock(&area->lock);
	found = next + more <= area->bits &&
		find_next_bit(area->map, next + more, next) == next + more;
	if (found) {
		bitmap_set(area->map, next, more);
		area->used += more;
	}
	mutex_unlock(&area->lock);
	return found ? area_fill(area, next, more) : -ENOSPC;
}

/* Free units. Unit 0 is the head; as @unit, 0 means that there is nothing to free. */
void dd_area_free(struct dd_area *area, u32 unit, u32 units)
{
	if (!unit)
		return;
	mutex_lock(&area->lock);
	bitmap_clear(area->map, unit, units);
	/* Reuse units that have pages before those that have none. */
	area->hint = min(area->hint, unit);
	area_unuse(area, units);
	mutex_unlock(&area->lock);
}

/* Page at @index, or NULL. Called by the fault handler without a lock. */
struct page *dd_area_page(struct dd_area *area, unsigned long index)
{
	void **chunk, *page;

	if (index >= DD_AREA_CHUNKS * DD_CHUNK_PAGES)
		return NULL;
	index = array_index_nospec(index, DD_AREA_CHUNKS * DD_CHUNK_PAGES);
	/* Pairs with the first cmpxchg() in area_populate(): the array is read after this. */
	chunk = smp_load_acquire(&area->chunks[index / DD_CHUNK_PAGES]);
	if (!chunk)
		return NULL;
	/* Pairs with the second cmpxchg() there: the page is read after this. */
	page = smp_load_acquire(&chunk[index % DD_CHUNK_PAGES]);
	return page ? virt_to_page(page) : NULL;
}
