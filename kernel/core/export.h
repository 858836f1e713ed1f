/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of the owner of an exported segment: export.c. */
#ifndef _DD_EXPORT_H
#define _DD_EXPORT_H

struct dd_ctx;
struct dd_obj_ops;
struct dd_segment_ctl;
struct dd_segment_info;
struct dd_segment_make;

extern const struct dd_obj_ops dd_export_ops;

int dd_export_make(struct dd_ctx *ctx, struct dd_segment_make *arg);
int dd_export_ctl(struct dd_ctx *ctx, const struct dd_segment_ctl *arg);
int dd_export_info(struct dd_ctx *ctx, struct dd_segment_info *arg);

#endif /* _DD_EXPORT_H */
