/* SPDX-License-Identifier: GPL-2.0-only */
/* Imports of exported segments: access.c. */
#ifndef _DD_ACCESS_H
#define _DD_ACCESS_H

#include <linux/list.h>
#include <uapi/linux/dd_mem.h>

#include "core/channel.h"
#include "core/import.h"

struct dd_export;

/**
 * struct dd_access - an import of a segment of this node, with its channel
 * @imp: the import
 * @chan: the channel; its slots in the list of the segment are reserved until it is dead
 * @credit: these slots
 * @exp: the segment; its memory is counted
 * @entry: in dd_export.importers
 */
struct dd_access {
	struct dd_import imp;
	struct dd_channel chan;
	struct dd_credit credit;
	struct dd_export *exp;
	struct list_head entry;
};

int dd_access_make(struct dd_ctx *ctx, struct dd_import_make *arg);
void dd_access_revoke(struct dd_access *a, int error);

extern const struct dd_obj_ops dd_access_ops;

#endif /* _DD_ACCESS_H */
