/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic on numbers that came from user space. Pure, so that
 * dd_kunit.ko can try every edge.
 */
#ifndef _DD_BOUNDS_H
#define _DD_BOUNDS_H

#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/types.h>
#include <uapi/linux/dd.h>

/* Whether [@off, @off + @len) lies in [0, @size). */
static inline bool dd_in_bounds(u64 off, u64 len, u64 size)
{
	return off <= size && len <= size - off;
}

/* The largest multiple of 8 that @n blocks of @len bytes may each have. */
static inline u64 dd_block_size(u64 len, u32 n)
{
	return n ? (len / n) & ~7ull : 0;
}

/* Units of the area that a cell takes. */
#define DD_CELL_UNITS	DIV_ROUND_UP(sizeof(struct dd_cell), DD_UNIT)

/* A position's slot, as the unit of the area it lies in. */
static inline u32 dd_slot_unit(u64 geometry, u64 pos)
{
	u32 mask = (1u << (geometry & 31)) - 1;

	return upper_32_bits(geometry) + (lower_32_bits(pos) & mask);
}

static inline u64 dd_geometry(u32 unit, u32 order)
{
	return (u64)unit << 32 | order;
}

static inline u32 dd_geometry_slots(u64 geometry)
{
	return geometry ? 1u << (geometry & 31) : 0;
}

/* Whether @name holds a NUL, is not empty, and is padded with zeros. */
static inline bool dd_name_ok(const u8 *name, size_t size)
{
	size_t len = strnlen((const char *)name, size);

	return len && len < size && !memchr_inv(name + len, 0, size - len);
}

#endif /* _DD_BOUNDS_H */
