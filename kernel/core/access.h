/* SPDX-License-Identifier: GPL-2.0-only */
/* Importers of exported segments: access.c. */
#ifndef _DD_ACCESS_H
#define _DD_ACCESS_H

#include <linux/ktime.h>
#include <linux/list.h>

#include "core/channel.h"
#include "core/credit.h"
#include "core/exported.h"

struct dd_access;
struct dd_direct;
struct dd_importer;

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
 * struct dd_access - access of one importer to an exported segment
 * @chan: the channel; its slots in the list of the segment are reserved until it is dead
 * @credit: the reserved slots
 * @member: the importer; its id and the user of its place are set before dd_access_grant()
 * @exp: the segment; the access holds a reference to its memory
 * @finishing: in dd_export.finishing
 * @ops: operations for the node of the importer
 * @block: window on the segment, or NULL; this and the following fields under dd_export.lock
 * @cas: window for CAS, with DD_WINDOW_MARKED, or NULL
 * @shown: number of times that the windows were shown; names the windows that are shown now
 * @closed: the access is being ended; no window is added
 */
struct dd_access {
	struct dd_channel chan;
	struct dd_credit credit;
	struct dd_export_member member;
	struct dd_export *exp;
	struct list_head finishing;
	const struct dd_access_ops *ops;
	struct dd_window *block;
	struct dd_window *cas;
	u32 shown;
	bool closed;
};

int dd_access_grant(struct dd_access *a, struct dd_export *exp);
void dd_access_ungrant(struct dd_access *a);
void dd_access_revoke(struct dd_access *a, int error);
void dd_access_exit(struct dd_access *a);
void dd_access_update(struct dd_access *a);
int dd_access_direct(struct dd_access *a, struct dd_import *imp, struct dd_direct *arg);

/**
 * dd_access_init() - initialise an access, whose channel is dead
 * @a: the access, zeroed
 * @ops: operations for the node of the importer
 */
static inline void dd_access_init(struct dd_access *a, const struct dd_access_ops *ops)
{
	a->ops = ops;
	dd_channel_init(&a->chan, NULL);
	INIT_LIST_HEAD(&a->member.entry);
}

#endif /* _DD_ACCESS_H */
