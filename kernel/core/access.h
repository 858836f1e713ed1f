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
#include "core/quota.h"

struct dd_access;
struct dd_direct;
struct dd_export;
struct dd_export_left;
struct dd_import;
struct dd_window;

/**
 * struct dd_access_ops - operations that differ between importers on this and on other nodes
 * @get: get a reference to the structure that contains the access; false if it has none
 * @put: drop it
 * @revoked: the channel is dead: store @error for the importer and wake it. Called once,
 *	by a caller with a reference
 * @finish: wait until the node of the importer has processed @revoked, at most for the dead
 *	time from @since on. Return 0 or %-EINTR. NULL for importers on this node
 * @describe: fill in @count, @pid and @uid. The export is locked
 */
struct dd_access_ops {
	bool (*get)(struct dd_access *a);
	void (*put)(struct dd_access *a);
	void (*revoked)(struct dd_access *a, int error);
	int (*finish)(struct dd_access *a, ktime_t since);
	void (*describe)(struct dd_access *a, struct dd_importer *to);
};

/**
 * struct dd_importer_id - by what a segment decides whether a process may import it
 * @uid: its user, as its node states it
 * @node: its node
 * @rights: DD_RIGHT_* that it needs
 * @guessed: it has named the segment by a generation, which it may have guessed
 */
struct dd_importer_id {
	kuid_t uid;
	u16 node;
	u8 rights;
	bool guessed;
};

/**
 * struct dd_access - access of one importer to an exported segment
 * @chan: the channel; its slots in the list of the segment are reserved until it is dead
 * @credit: the reserved slots
 * @id: the importer
 * @error: errno with which the segment ended the access, or 0
 * @exp: the segment; the access holds a reference to its memory
 * @place: in dd_export.places, until the channel is dead; set before dd_access_grant()
 * @left: for dd_export_leave(), if the segment has a list
 * @entry: in dd_export.importers
 * @synced: dd_export.changes that this access has taken part in; under dd_export.lock
 * @settling: in dd_export.settling
 * @ops: operations for the node of the importer
 * @block: window on the segment, or NULL; this and the following fields under dd_export.lock
 * @cas: window for CAS, with DD_WINDOW_MARKED, or NULL
 * @shown: number of times that the windows were shown; names the windows that are shown now
 * @closed: the access is being ended; no window is added
 */
struct dd_access {
	struct dd_channel chan;
	struct dd_credit credit;
	struct dd_importer_id id;
	int error;
	struct dd_export *exp;
	struct dd_quota_place place;
	struct dd_export_left *left;
	struct list_head entry;
	u32 synced;
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
 * @m: the making of the import
 * @parked: the look-up of the segment
 * @work: looks it up again
 * @a: the access; while @m is pending, used only by the thread that tries the import
 */
struct dd_local_import {
	struct dd_import imp;
	struct dd_making m;
	struct dd_parked parked;
	struct work_struct work;
	struct dd_access a;
};

extern const struct dd_obj_ops dd_local_import_ops;

int dd_access_grant(struct dd_access *a, struct dd_export *exp);
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
 * @ops: operations for the node of the importer
 */
static inline void dd_access_init(struct dd_access *a, const struct dd_access_ops *ops)
{
	a->ops = ops;
	dd_channel_init(&a->chan, NULL);
	INIT_LIST_HEAD(&a->entry);
}

#endif /* _DD_ACCESS_H */
