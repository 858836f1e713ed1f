/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * table.h - records that handles name
 *
 * Copyright (C) 2026 The dd authors
 *
 * A handle is an address in memory of the table that can be read, and is zero. So a call may
 * accept a handle or its address: the value is a handle of the table, or else points to one.
 * Records are used again, but never freed.
 */
#ifndef _ST_TABLE_H
#define _ST_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ST_SPACE	((size_t)64 << 20)	/* bytes of handles of a table */
#define ST_SHIFT(max)	__builtin_ctzl(ST_SPACE / (max))

/**
 * struct st_name - the first member of a record
 * @value: the handle; 0 while there is none
 * @index: place in the table
 * @use: how often the record was taken
 * @next: of the free ones
 */
struct st_name {
	uintptr_t value;
	unsigned int index;
	unsigned int use;
	struct st_name *next;
};

/**
 * struct st_table - records of one kind
 * @size: bytes in a record
 * @shift: ST_SHIFT() of the number of records, which is a power of two
 * @record: array of as many; places are filled once
 * @base: first address of a handle; 0 until there is a record
 * @count: places in use
 * @free: the free record that was released first
 * @last: where the next one that is released is linked
 */
struct st_table {
	size_t size;
	unsigned int shift;
	struct st_name **record;
	uintptr_t base;
	unsigned int count;
	struct st_name *free;
	struct st_name **last;
};

/* A record without a handle, zeroed the first time; NULL: ENOMEM. */
struct st_name *st_table_take(struct st_table *t);
void st_table_release(struct st_table *t, struct st_name *name);

/* Give a record a handle, and take it away: false if another thread has done that. */
uintptr_t st_table_open(struct st_table *t, struct st_name *name);
bool st_table_close(struct st_name *name, uintptr_t value);

/* The record of the handle that @handle is or points to, and the handle; or NULL. @shift: that of @t. */
static inline struct st_name *st_table_find(const struct st_table *t, unsigned int shift,
					    const void *handle, uintptr_t *value)
{
	uintptr_t base = __atomic_load_n(&t->base, __ATOMIC_RELAXED), v = (uintptr_t)handle;
	struct st_name *name;

	if (v - base >= ST_SPACE) {
		if (!handle)
			return NULL;
		memcpy(&v, handle, sizeof(v));
		if (v - base >= ST_SPACE)
			return NULL;
	}
	name = __atomic_load_n(&t->record[(v - base) >> shift], __ATOMIC_ACQUIRE);
	*value = v;
	return name && __atomic_load_n(&name->value, __ATOMIC_SEQ_CST) == v ? name : NULL;
}

/* Lock out other threads, before fork() and while all records are walked. */
void st_table_lock(void);
void st_table_unlock(void);

/* In a child of fork(): no handle is valid, and all records are free. */
void st_table_child(struct st_table *t, void (*reset)(struct st_name *name));

#endif /* _ST_TABLE_H */
