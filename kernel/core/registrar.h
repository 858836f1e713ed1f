/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of segments that a process keeps for its node: registrar.c. */
#ifndef _DD_REGISTRAR_H
#define _DD_REGISTRAR_H

#include <linux/types.h>

struct dd_ctx;
struct dd_import_make;
struct dd_registered;
struct dd_segment_make;

int dd_registrar_open(struct dd_ctx *ctx);
int dd_registrar_lookup(struct dd_ctx *ctx, struct dd_import_make *arg);

struct dd_registered *dd_registered_new(struct dd_ctx *ctx,
					const struct dd_segment_make *arg, u64 generation);
int dd_registrar_add(struct dd_ctx *ctx, struct dd_registered *name);
void dd_registrar_delete(struct dd_ctx *ctx, struct dd_registered *name);
void dd_registered_free(struct dd_ctx *ctx, struct dd_registered *name);
const u8 *dd_registered_key(const struct dd_registered *name);

#endif /* _DD_REGISTRAR_H */
