/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * files.h - files of the server; results are 0 or an errno
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMFS_FILES_H
#define _RMFS_FILES_H

#include "format.h"

uint32_t files_open(const char *directory, uint64_t *root);
uint32_t files_load(enum rmfs_table table, uint64_t handle, uint64_t block, const char *name,
		    uint32_t len);
uint32_t files_write(uint64_t handle, uint64_t offset, const void *data, uint32_t len);
void files_flush(void);
uint32_t files_check(uint32_t i, uint32_t max);

#endif /* _RMFS_FILES_H */
