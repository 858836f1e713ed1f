/* SPDX-License-Identifier: GPL-2.0-only */
/* Imports of segments of this node: local_import.c. */
#ifndef _DD_LOCAL_IMPORT_H
#define _DD_LOCAL_IMPORT_H

#include <linux/workqueue.h>

#include "core/access.h"
#include "core/import.h"
#include "core/names.h"
#include "core/node.h"

/**
 * struct dd_local_import - an import of a segment of this node
 * @imp: the import
 * @setup: how the import is made
 * @parked: the look-up of the segment
 * @work: looks it up again
 * @a: the access; while @imp is pending, used only by the thread that tries the import
 */
struct dd_local_import {
	struct dd_import imp;
	struct dd_import_setup setup;
	struct dd_parked parked;
	struct work_struct work;
	struct dd_access a;
};

extern const struct dd_obj_ops dd_local_import_ops;

int dd_local_import_init(void);
void dd_local_import_exit(void);
int dd_local_import_make(struct dd_ctx *ctx, struct dd_import_make *arg);
bool dd_local_import_is(const struct dd_import *imp);
int dd_local_import_direct(struct dd_import *imp, struct dd_direct *arg);

#endif /* _DD_LOCAL_IMPORT_H */
