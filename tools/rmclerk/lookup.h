/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lookup.h - look-ups on other nodes
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _RMCLERK_LOOKUP_H
#define _RMCLERK_LOOKUP_H

#include <stdbool.h>
#include <linux/dd_mem.h>

/* @serve_start starts another thread that reads calls; it returns 0 or an errno. */
bool lookups_init(int (*serve_start)(void));
void lookup(const struct dd_registrar_call *call);

#endif /* _RMCLERK_LOOKUP_H */
