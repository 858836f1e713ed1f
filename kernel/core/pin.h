/* SPDX-License-Identifier: GPL-2.0-only */
/* Regions of memory that the owner had before: pin.c. */
#ifndef _DD_PIN_H
#define _DD_PIN_H

#include <linux/types.h>

struct dd_ctx;
struct dd_region;
struct dd_region_check;
struct dd_region_pin;

struct dd_region *dd_region_pin_user(struct dd_ctx *ctx, u64 address, u64 length);
struct dd_region *dd_region_pin_watched(struct dd_ctx *ctx, u64 address, u64 length);
int dd_region_pin(struct dd_ctx *ctx, struct dd_region_pin *arg);
bool dd_region_mapped(struct dd_region *region, u64 address, u64 len, u64 *off);
bool dd_region_look(struct dd_region *region, u64 address, u64 len, bool write, u64 *off);
int dd_region_check(struct dd_ctx *ctx, const struct dd_region_check *arg);

#endif /* _DD_PIN_H */
