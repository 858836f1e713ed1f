/* SPDX-License-Identifier: GPL-2.0-only */
/* Which pages of a region were stored to: track.c. */
#ifndef _DD_TRACK_H
#define _DD_TRACK_H

#include <linux/mm_types.h>

struct dd_ctx;
struct dd_region;
struct dd_region_dirty;

int dd_track_init(struct dd_region *region);
vm_fault_t dd_track_vm_fault(struct vm_fault *vmf);
vm_fault_t dd_track_vm_mkwrite(struct vm_fault *vmf);
int dd_region_dirty(struct dd_ctx *ctx, const struct dd_region_dirty *arg);

#endif /* _DD_TRACK_H */
