/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache.h - the caches of the server
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMFS_CACHE_H
#define _RMFS_CACHE_H

#include "format.h"

/*
 * Make caches for @size bytes of file data; returns the segment for them. @changed is called
 * with each entry that has changed, and the bytes of it that have.
 */
struct head *cache_new(uint64_t size, void (*changed)(const struct entry *e, size_t len));

/* The place of a key. */
struct entry *cache_entry(enum rmfs_table table, uint64_t handle, uint64_t block);

struct entry *cache_begin(enum rmfs_table table, uint64_t handle, uint64_t block);
void cache_end(struct entry *e, uint32_t len);
struct entry *cache_find(enum rmfs_table table, uint64_t handle, uint64_t block);
void cache_drop(enum rmfs_table table, uint64_t handle, uint64_t block, uint64_t end);
void cache_drop_names(uint64_t handle);

#endif /* _RMFS_CACHE_H */
