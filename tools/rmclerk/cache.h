/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache.h - names of other nodes that were looked up
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMCLERK_CACHE_H
#define _RMCLERK_CACHE_H

#include <stdbool.h>

#include "registry.h"

bool cache_find(int node, const char *name, struct record *found);
void cache_add(int node, const char *name, const struct record *r);
void cache_refresh(void);

#endif /* _RMCLERK_CACHE_H */
