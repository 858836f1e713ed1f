/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * region.h - wired memory, by address
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_REGION_H
#define _DD_REGION_H

#include "handle.h"

bool ddi_region_try(struct dd *h, const void *addr, size_t len, struct dd_buf *buf);
bool ddi_region_find(struct dd *h, const void *addr, size_t len,
		     struct dd_buf *buf);
void *ddi_region_addr(struct dd *h, const struct dd_buf *buf);
void ddi_memlock_reason(struct dd *h, const char *what);
int ddi_region_check(struct dd *h, const char *what, const void *addr,
		     size_t len, struct dd_buf *buf);
void ddi_region_release(struct dd *h);

#endif /* _DD_REGION_H */
