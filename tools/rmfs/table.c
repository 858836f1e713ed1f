// SPDX-License-Identifier: GPL-2.0-only
/*
 * table.c - hash tables with one writer and readers anywhere
 *
 * An entry has one possible place: a reader fetches it and compares the key, without a lock. The
 * flag and the checksum show whether the entry is complete.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <string.h>

#include "table.h"

_Static_assert(sizeof(struct entry) == 32 && sizeof(struct header) == 64 &&
	       sizeof(struct head) <= RMFS_TABLES && sizeof(struct mirror) <= RMFS_TABLES &&
	       offsetof(struct inbox, boxes) % 8 == 0, "layout of the segments");

size_t entry_size(enum rmfs_table table)
{
	static const size_t data[TABLES] = {
		[TABLE_ATTR] = sizeof(struct attr),
		[TABLE_NAME] = sizeof(struct found) + RMFS_NAME + 1,
		[TABLE_DATA] = RMFS_BLOCK,
		[TABLE_LINK] = 4096,
		[TABLE_DIR] = RMFS_BLOCK,
		[TABLE_FS] = sizeof(struct fs),
	};

	return sizeof(struct entry) + data[table];
}

size_t table_at(const struct head *head, int table)
{
	size_t at = RMFS_TABLES;

	while (table-- > 0)
		at += head->slots[table] * entry_size(table);
	return at;
}

/* Bytes in the segment with the tables; 0 if the head is not one of a server. */
size_t tables_size(const struct head *head)
{
	int t;

	for (t = 0; t < TABLES; t++)
		if (!head->slots[t] || head->slots[t] > 8 * RMFS_DATA_SLOTS)
			return 0;
	return head->magic == RMFS_MAGIC ? rmfs_pages(table_at(head, TABLES)) : 0;
}

/* Blocks of a file have consecutive places; a hash of the handle gives the first one. */
size_t entry_at(const struct head *head, enum rmfs_table table, uint64_t handle, uint64_t block)
{
	uint64_t slots = head->slots[table];
	uint64_t first = (uint32_t)handle * 2654435769u * slots >> 32;

	return table_at(head, table) + (first + block) % slots * entry_size(table);
}

uint64_t name_hash(const void *name, size_t len)
{
	return XXH3_64bits(name, len) >> 1;
}

/* Whether an entry has this key. No other process writes to @e. */
enum entry_state entry_check(const struct entry *e, enum rmfs_table table, uint64_t handle,
			     uint64_t block, const void *name, size_t len)
{
	const struct found *f = (const void *)e->data;

	if (e->slot.state != ENTRY_VALID)
		return ENTRY_MISS;
	if (e->len > entry_size(table) - sizeof(*e) ||
	    !slot_whole(&e->slot, sizeof(*e) - sizeof(e->slot) + e->len))
		return ENTRY_TORN;
	if (e->handle != handle || e->block != block)
		return ENTRY_MISS;
	if (table == TABLE_NAME &&
	    (e->len != sizeof(*f) + len || memcmp(f + 1, name, len)))
		return ENTRY_MISS;
	return ENTRY_HIT;
}

/* The table that has the result of an operation, or -1. */
int op_table(uint32_t op)
{
	return op >= OP_GETATTR && op <= OP_STATFS ? (int)(op - OP_GETATTR) : -1;
}

/* Check the request of a client: 0 or an errno. */
uint32_t op_check(uint32_t op, uint64_t offset, const void *payload, uint32_t len)
{
	const char *name = payload;

	if (op >= OP_CLIENTS)
		return EOPNOTSUPP;
	if (op == OP_LOOKUP) {
		if (len > RMFS_NAME)
			return ENAMETOOLONG;
		if (!len || memchr(name, '/', len) || memchr(name, 0, len) ||
		    (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'))))
			return EINVAL;
		return offset ? EINVAL : 0;
	}
	if (op == OP_WRITE)
		return !len || len > RMFS_BLOCK ? EINVAL :
		       offset > RMFS_BLOCKS * RMFS_BLOCK - len ? EFBIG : 0;
	if (len || (offset && op != OP_READ && op != OP_READDIR))
		return EINVAL;
	return offset >= RMFS_BLOCKS ? EFBIG : 0;
}
