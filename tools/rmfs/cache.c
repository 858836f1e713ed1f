// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache.c - the caches of the server: tables in a segment that clerks read
 *
 * Copyright (C) 2026 The dd authors
 */
#include "cache.h"
#include "common.h"
#include "table.h"

static struct head *head;	/* of the segment with the tables */
static void (*changed)(const struct entry *e, size_t len);

struct head *cache_new(uint64_t size, void (*report)(const struct entry *e, size_t len))
{
	uint64_t blocks = size / (sizeof(struct entry) + RMFS_BLOCK);
	struct head first = {
		.magic = RMFS_MAGIC,
		.slots = {
			[TABLE_ATTR] = 4 * blocks, [TABLE_NAME] = 4 * blocks, [TABLE_DATA] = blocks,
			[TABLE_LINK] = blocks / 8, [TABLE_DIR] = blocks / 4, [TABLE_FS] = 1,
		},
	};

	head = memory(tables_size(&first));
	*head = first;
	changed = report;
	return head;
}

struct entry *cache_entry(enum rmfs_table table, uint64_t handle, uint64_t block)
{
	return (struct entry *)((char *)head + entry_at(head, table, handle, block));
}

static void entry_invalidate(struct entry *e)
{
	slot_clear(&e->slot, 0);
	changed(e, sizeof(e->slot.state));
}

struct entry *cache_begin(enum rmfs_table table, uint64_t handle, uint64_t block)
{
	struct entry *e = cache_entry(table, handle, block);

	if (e->slot.state)
		entry_invalidate(e);
	e->handle = handle;
	e->block = block;
	return e;
}

void cache_end(struct entry *e, uint32_t len)
{
	e->len = len;
	slot_publish(&e->slot, ENTRY_VALID, sizeof(*e) - sizeof(e->slot) + len);
	changed(e, sizeof(*e) + len);
}

/* The entry with a key; NULL if it is not there. For a name @block is its hash. */
struct entry *cache_find(enum rmfs_table table, uint64_t handle, uint64_t block)
{
	struct entry *e = cache_entry(table, handle, block);

	return e->slot.state && e->handle == handle && e->block == block ? e : NULL;
}

/* Drop the entries of a file, from @block to @end: all if that is as large as the table. */
void cache_drop(enum rmfs_table table, uint64_t handle, uint64_t block, uint64_t end)
{
	uint32_t slots = head->slots[table];
	struct entry *e;

	if (block < end && end - block > slots)
		end = block + slots;
	for (; block < end; block++) {
		e = cache_entry(table, handle, block);
		if (e->slot.state && e->handle == handle)
			entry_invalidate(e);
	}
}

/* Drop the names that lead to a file. */
void cache_drop_names(uint64_t handle)
{
	struct entry *e;
	uint32_t i;

	for (i = 0; i < head->slots[TABLE_NAME]; i++) {
		e = cache_entry(TABLE_NAME, 0, i);
		if (e->slot.state && ((struct found *)e->data)->handle == handle)
			entry_invalidate(e);
	}
}
