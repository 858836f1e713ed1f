/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic on numbers from user space. Pure, for unit tests in dd_kunit.ko.
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

/* Size of each of @n blocks in @len bytes, rounded down to a multiple of 8. */
static inline u64 dd_block_size(u64 len, u32 n)
{
	return n ? (len / n) & ~7ull : 0;
}

/* Units of the area for a struct dd_conn_state. */
#define DD_CONN_UNITS	DIV_ROUND_UP(sizeof(struct dd_conn_state), DD_UNIT)
#define DD_IMPORT_UNITS	DIV_ROUND_UP(sizeof(struct dd_mem_state), DD_UNIT)

/* Unit of the area that contains the slot of a position. */
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

/* Whether @name is not empty, terminated, and padded with zeros. */
static inline bool dd_name_ok(const u8 *name, size_t size)
{
	size_t len = strnlen((const char *)name, size);

	return len && len < size && !memchr_inv(name + len, 0, size - len);
}

#endif /* _DD_BOUNDS_H */
