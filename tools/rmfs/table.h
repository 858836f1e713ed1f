/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table.h - the tables, for both sides
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMFS_TABLE_H
#define _RMFS_TABLE_H

#include "format.h"

size_t entry_size(enum rmfs_table table);
size_t table_at(const struct head *head, int table);
size_t tables_size(const struct head *head);
size_t entry_at(const struct head *head, enum rmfs_table table, uint64_t handle, uint64_t block);
uint64_t name_hash(const void *name, size_t len);

enum entry_state { ENTRY_MISS, ENTRY_HIT, ENTRY_TORN };
enum entry_state entry_check(const struct entry *e, enum rmfs_table table, uint64_t handle,
			     uint64_t block, const void *name, size_t len);
int op_table(uint32_t op);
uint32_t op_check(uint32_t op, uint64_t offset, const void *payload, uint32_t len);

#endif /* _RMFS_TABLE_H */
