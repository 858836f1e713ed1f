/* SPDX-License-Identifier: GPL-2.0-only */
/* Imports of segments between nodes: far.c. */
#ifndef _DD_FAR_H
#define _DD_FAR_H

struct dd_ctx;
struct dd_import_make;

int dd_far_import_make(struct dd_ctx *ctx, struct dd_import_make *arg);
void dd_far_init(void);

#endif /* _DD_FAR_H */
