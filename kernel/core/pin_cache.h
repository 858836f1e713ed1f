/* SPDX-License-Identifier: GPL-2.0-only */
/* Pins of memory that requests have named by its address: pin_cache.c. */
#ifndef _DD_PIN_CACHE_H
#define _DD_PIN_CACHE_H

#include <linux/types.h>

#define DD_PIN_CACHE_MIN	(16u << 10)	/* bytes of a request; fewer are copied faster */

struct dd_ctx;
struct dd_region;

struct dd_region *dd_pin_cache_get(struct dd_ctx *ctx, u64 address, u64 len, bool write,
				   u64 *off);
int dd_pin_cache_init(void);
void dd_pin_cache_exit(void);

#endif /* _DD_PIN_CACHE_H */
