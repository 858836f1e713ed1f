/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * error.h - error numbers and their reasons
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_ERROR_H
#define _DD_ERROR_H

#include <errno.h>

#include "handle.h"

int ddi_error(int error);
void ddi_reason(struct dd *h, int error, const char *format, ...)
	__attribute__((__format__(__printf__, 3, 4)));
#define ddi_reason_clear(h)	ddi_reason(h, 0, "%s", "")
void ddi_reason_kernel(struct dd *h, int error);
int ddi_unopened(int error, const char *text);
bool ddi_reason_of(struct dd *h, int error, char *buf, size_t size);

#endif /* _DD_ERROR_H */
