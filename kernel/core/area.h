/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory shared with the owner of a context: area.c. */
#ifndef _DD_AREA_H
#define _DD_AREA_H

#include <linux/mutex.h>
#include <uapi/linux/dd.h>

#define DD_AREA_CHUNKS		128
#define DD_CHUNK_PAGES		512
#define DD_PAGE_UNITS		(PAGE_SIZE / DD_UNIT)
#define DD_AREA_UNITS		(DD_AREA_SIZE / DD_UNIT)

/**
 * struct dd_area - area of a context
 * @lock: protects @map, @bits, @used and @hint
 * @map: bitmap of the units in use; NULL after the area was freed
 * @bits: length of @map
 * @used: number of units in use; the head is one until the context has ended
 * @hint: unit to start searching at
 * @chunks: addresses of pages, in arrays of DD_CHUNK_PAGES; published with release
 *	semantics and not removed while a unit is in use, so read without a lock
 */
struct dd_area {
	struct mutex lock;	/* protects allocation */
	unsigned long *map;
	unsigned int bits;
	unsigned int used;
	unsigned int hint;
	void **chunks[DD_AREA_CHUNKS];
};

int dd_area_init(struct dd_area *area);
void dd_area_exit(struct dd_area *area);
void dd_area_close(struct dd_area *area);
int dd_area_alloc(struct dd_area *area, u32 units, u32 *unit);
int dd_area_alloc_piece(struct dd_area *area, u32 units, u32 *unit);
int dd_area_alloc_span(struct dd_area *area, u32 units, u32 span, u32 align, u32 *unit);
int dd_area_extend(struct dd_area *area, u32 unit, u32 units, u32 more);
void dd_area_free(struct dd_area *area, u32 unit, u32 units);
struct page *dd_area_page(struct dd_area *area, unsigned long index);

/* Kernel address of an allocated unit. */
static inline void *dd_area_unit(const struct dd_area *area, u32 unit)
{
	u32 index = unit / DD_PAGE_UNITS;

	return area->chunks[index / DD_CHUNK_PAGES][index % DD_CHUNK_PAGES] +
	       unit % DD_PAGE_UNITS * DD_UNIT;
}

#endif /* _DD_AREA_H */
