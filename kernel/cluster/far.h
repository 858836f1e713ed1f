/* SPDX-License-Identifier: GPL-2.0-only */
/* Imports of segments between nodes: far.c. */
#ifndef _DD_FAR_H
#define _DD_FAR_H

#include "cluster/remote.h"

struct dd_import_make;

/**
 * struct dd_far_import - an import of another node's segment
 * @imp: the import
 * @r: the access; NULL if there is none yet
 */
struct dd_far_import {
	struct dd_import imp;
	struct dd_remote *r;
};

extern const struct dd_obj_ops dd_far_import_ops;

int dd_far_import_make(struct dd_ctx *ctx, struct dd_import_make *arg);
void dd_far_init(void);

#endif /* _DD_FAR_H */
