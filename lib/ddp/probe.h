/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * probe.h - find out whether memory can be accessed, without accessing it
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_PROBE_H
#define _DD_PROBE_H

#include <stdbool.h>
#include <stddef.h>

bool ddi_readable(const void *addr, size_t len);
bool ddi_writable(void *addr, size_t len);

#endif /* _DD_PROBE_H */
