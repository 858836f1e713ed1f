/* SPDX-License-Identifier: GPL-2.0-only */
/* Exported segments: exported.c. */
#ifndef _DD_EXPORTED_H
#define _DD_EXPORTED_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <uapi/linux/dd_mem.h>

#include "core/ctx.h"
#include "core/names.h"
#include "core/node.h"
#include "core/quota.h"
#include "core/segment.h"

struct dd_registered;

/* Reasons of refusals, in the order of struct dd_segment_info. */
enum dd_refused {
	DD_REFUSED_RIGHTS,
	DD_REFUSED_INHIBIT,
	DD_REFUSED_BOUNDS,
	DD_REFUSED_MAX
};

/**
 * struct dd_export_left - the place of an importer that has ended with notes unread
 * @place: the importer's place and user, in dd_export.places
 * @entry: in dd_export.left
 * @last: position after the last of its notes
 *
 * The exporter is charged. dd_export_member.left until the importer ends; so its end cannot fail.
 */
struct dd_export_left {
	struct dd_quota_place place;
	struct list_head entry;
	u64 last;
};

/**
 * struct dd_importer_id - by what a segment decides whether a process may import it
 * @uid: its user, as its node states it
 * @node: its node
 * @rights: DD_RIGHT_* that it needs; once it has joined, those that it has
 * @may: it takes those of @rights that the segment grants, at least one
 * @guessed: it has named the segment by a generation, which it may have guessed
 */
struct dd_importer_id {
	kuid_t uid;
	u16 node;
	u8 rights;
	bool may;
	bool guessed;
};

/**
 * struct dd_export_member - an importer of an export, or one that is being added
 * @id: the importer
 * @place: in dd_export.places, from dd_export_admit() to dd_export_leave()
 * @left: for dd_export_leave(), if the segment has a list
 * @entry: in dd_export.importers
 * @synced: dd_export.changes that it has taken part in; under dd_export.lock
 */
struct dd_export_member {
	struct dd_importer_id id;
	struct dd_quota_place place;
	struct dd_export_left *left;
	struct list_head entry;
	u32 synced;
};

/**
 * struct dd_export - a segment with an id and a name of its own
 * @obj: its id
 * @name: class and key
 * @registered: its name at the registrar, or NULL; set before it is published
 * @seg: the segment; region and list are counted until @obj has no users
 * @unit: unit of the state of a segment that can be redirected, or 0
 * @permission: enum dd_permission
 * @window: unread notes of each importer; without a list, requests under way of each
 *	importer on another node, or 0 for %DD_DEPTH_USUAL
 * @max: importers at a time
 * @change: serialises changes of the segment; taken before @lock
 * @lock: protects what follows; innermost but for spinlocks
 * @dead: revoked; no importer is added
 * @changes: number of changes that importers have to take part in
 * @places: of the importers, of those that are being added, and of those in @left; @max at most
 * @left: struct dd_export_left: importers that have ended with notes unread. Their slots are
 *	still reserved
 * @nleft: number of entries in @left
 * @importers: struct dd_export_member
 * @finishing: struct dd_access that have been revoked, one for each other node; with a reference
 * @ngrants: number of grants
 * @grants: struct dd_grant
 * @redir: the redirection, if @seg.redir is set
 * @refused: requests refused, by enum dd_refused
 * @mem: held by importers and, once, by all of @obj.users; memory only
 * @rcu: see struct dd_obj and struct dd_name
 */
struct dd_export {
	struct dd_obj obj;
	struct dd_name name;
	struct dd_registered *registered;
	struct dd_segment seg;
	u32 unit;
	u8 permission;
	u32 window;
	u32 max;
	struct mutex change;	/* serialises changes */
	struct mutex lock;	/* protects importers and grants */
	bool dead;
	u32 changes;
	struct dd_quota places;
	struct list_head left;
	u32 nleft;
	struct list_head importers;
	struct list_head finishing;
	u32 ngrants;
	struct list_head grants;
	struct dd_redir redir;
	atomic64_t refused[DD_REFUSED_MAX];
	refcount_t mem;
	struct rcu_head rcu;
};

struct dd_export *dd_export_alloc(struct dd_ctx *ctx, const struct dd_obj_ops *ops,
				  const struct dd_segment_make *arg);
void dd_export_clear(struct dd_export *exp);
void dd_export_mem_put(struct dd_export *exp);
int dd_export_grant(struct dd_export *exp, u32 from, kuid_t uid, u8 rights);
int dd_export_withdraw(struct dd_export *exp, u32 from, kuid_t uid);
int dd_export_permit(struct dd_export *exp, const struct dd_importer_id *id);
int dd_export_admit(struct dd_export *exp, struct dd_export_member *m);
int dd_export_join(struct dd_export *exp, struct dd_export_member *m, struct dd_channel *ch);
void dd_export_leave(struct dd_export *exp, struct dd_export_member *m, u64 last);

/* Get a reference to a segment by its name; @class is one of enum dd_segment_class. */
static inline struct dd_export *dd_export_get(struct dd_node *node, u8 class, const u8 *key)
{
	struct dd_obj *obj = dd_name_get(node, class, key);

	return obj ? container_of(obj, struct dd_export, obj) : NULL;
}

static inline void dd_export_put(struct dd_export *exp)
{
	dd_obj_put(&exp->obj);
}

#endif /* _DD_EXPORTED_H */
