/* SPDX-License-Identifier: GPL-2.0-only */
/* Importers of exported segments: access.c. */
#ifndef _DD_ACCESS_H
#define _DD_ACCESS_H

#include <linux/ktime.h>
#include <linux/list.h>
#include <uapi/linux/dd_mem.h>

#include "core/channel.h"
#include "core/credit.h"
#include "core/import.h"

struct dd_access;
struct dd_direct;
struct dd_export;
struct dd_import;
struct dd_window;

/**
 * struct dd_access_ops - operations that differ between importers of this and of other nodes
 * @get: get a reference to the structure that contains the access; false if it has none
 * @put: drop it
 * @revoked: the channel is dead: store @error for the importer and wake it. Called once,
 *	by a caller with a reference
 * @settle: wait until the node of the importer has processed @revoked, at most for the dead
 *	time from @since on. Return 0 or %-EINTR. NULL on this node
 * @describe: fill in @count, @pid and @uid. The export is locked
 */
struct dd_access_ops {
	bool (*get)(struct dd_access *a);
	void (*put)(struct dd_access *a);
	void (*revoked)(struct dd_access *a, int error);
	int (*settle)(struct dd_access *a, ktime_t since);
	void (*describe)(struct dd_access *a, struct dd_importer *to);
};

/**
 * struct dd_access - access of one importer to an exported segment
 * @chan: the channel; its slots in the list of the segment are reserved until it is dead
 * @credit: these slots
 * @error: errno with which the segment ended the access, or 0
 * @exp: the segment; its memory is counted
 * @entry: in dd_export.importers
 * @settling: in dd_export.settling
 * @ops: see there
 * @block: window on the segment, or NULL; it and what follows under dd_export.lock
 * @cas: the same for CAS, with DD_WINDOW_MARKED, or NULL
 * @shown: times that the windows were shown, which numbers them
 * @closed: the access ends; no window is added
 */
struct dd_access {
	struct dd_channel chan;
	struct dd_credit credit;
	int error;
	struct dd_export *exp;
	struct list_head entry;
	struct list_head settling;
	const struct dd_access_ops *ops;
	struct dd_window *block;
	struct dd_window *cas;
	u32 shown;
	bool closed;
};

/**
 * struct dd_local_import - an import of a segment of this node
 * @imp: the import
 * @m: its making
 * @parked: the look-up
 * @a: the access; while @m is pending, used only by the thread that tries the import
 */
struct dd_local_import {
	struct dd_import imp;
	struct dd_making m;
	struct dd_parked parked;
	struct dd_access a;
};

extern const struct dd_obj_ops dd_local_import_ops;

int dd_access_grant(struct dd_access *a, struct dd_export *exp, u8 rights, u16 node);
void dd_access_ungrant(struct dd_access *a);
void dd_access_revoke(struct dd_access *a, int error);
void dd_access_exit(struct dd_access *a);
void dd_access_update(struct dd_access *a);

int dd_access_check_args(const struct dd_import_make *arg);
int dd_access_make(struct dd_ctx *ctx, struct dd_import_make *arg);
bool dd_access_is(const struct dd_import *imp);
int dd_access_direct(struct dd_import *imp, struct dd_direct *arg);

/**
 * dd_access_init() - initialise an access, whose channel is dead
 * @a: the access, zeroed
 * @ops: what depends on the importer
 */
static inline void dd_access_init(struct dd_access *a, const struct dd_access_ops *ops)
{
	a->ops = ops;
	dd_channel_init(&a->chan, NULL);
	INIT_LIST_HEAD(&a->entry);
}

#endif /* _DD_ACCESS_H */
