// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exported segments: grants, and the places of importers. Importers keep the memory of the
 * structure only.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "core/channel.h"
#include "core/charge.h"
#include "core/ctx.h"
#include "core/exported.h"
#include "core/hooks.h"
#include "core/notelist.h"
#include "core/trace.h"

/**
 * struct dd_grant - permission of a user to import a segment
 * @entry: in dd_export.grants
 * @from: 0: on every node; n + 1: on node n
 * @uid: the user
 * @rights: DD_RIGHT_*
 */
struct dd_grant {
	struct list_head entry;
	u32 from;
	kuid_t uid;
	u8 rights;
};

static void export_refused(const struct dd_channel *ch, u8 right, int err)
{
	struct dd_export *exp = container_of(ch->seg, struct dd_export, seg);

	if (err == -ERANGE)
		atomic64_inc(&exp->refused[DD_REFUSED_BOUNDS]);
	else if (err == -EACCES && ch->rights & right)
		atomic64_inc(&exp->refused[DD_REFUSED_INHIBIT]);
	else if (err == -EACCES)
		atomic64_inc(&exp->refused[DD_REFUSED_RIGHTS]);
	else
		return;
	/* The channel is alive and locked: the segment has its region. */
	trace_dd_refused(ch, right, err);
}

static const struct dd_segment_ops export_segment_ops = {
	.refused = export_refused,
};

/**
 * dd_export_alloc() - allocate an export
 * @ctx: the exporter
 * @ops: type of the object
 * @arg: argument of user space, checked
 *
 * Return: the export, without id, region and list, and with one reference; or an error of
 * dd_zalloc().
 */
struct dd_export *dd_export_alloc(struct dd_ctx *ctx, const struct dd_obj_ops *ops,
				  const struct dd_segment_make *arg)
{
	struct dd_export *exp = dd_zalloc(ctx, sizeof(*exp));

	if (IS_ERR(exp))
		return exp;
	dd_obj_init(&exp->obj, ctx, ops);
	dd_segment_init(&exp->seg, ctx->node, arg->rights);
	exp->seg.policy = arg->policy;
	exp->seg.flags = arg->flags;
	if (arg->flags & DD_SEGMENT_REDIRECT || arg->offset % sizeof(u64))
		exp->seg.flags |= DD_SEGMENT_SPLIT;
	exp->seg.uid = current_euid();
	exp->seg.cookie = arg->cookie;
	exp->seg.ops = &export_segment_ops;
	exp->permission = arg->permission;
	exp->window = arg->window;
	exp->max = arg->importers;
	mutex_init(&exp->change);
	mutex_init(&exp->lock);
	dd_quota_init(&exp->places);
	INIT_LIST_HEAD(&exp->left);
	INIT_LIST_HEAD(&exp->importers);
	INIT_LIST_HEAD(&exp->finishing);
	INIT_LIST_HEAD(&exp->grants);
	refcount_set(&exp->mem, 1);
	return exp;
}

/* Drop a reference to the memory. */
void dd_export_mem_put(struct dd_export *exp)
{
	struct dd_ctx *ctx = exp->obj.ctx;

	if (!refcount_dec_and_test(&exp->mem))
		return;
	kfree_rcu(exp, rcu);
	dd_uncharge(ctx, sizeof(*exp));
	dd_ctx_put(ctx);
}

/* ---- grants -------------------------------------------------------------- */

static struct dd_grant *grant_find(struct dd_export *exp, u32 from, kuid_t uid)
{
	struct dd_grant *grant;

	lockdep_assert_held(&exp->lock);
	list_for_each_entry(grant, &exp->grants, entry)
		if (grant->from == from && uid_eq(grant->uid, uid))
			return grant;
	return NULL;
}

/* Rights that an importer may have now: DD_RIGHT_*, 0 for none. */
static u8 export_rights(struct dd_export *exp, const struct dd_importer_id *id)
{
	struct dd_grant *grant;
	u8 rights = 0;

	if (exp->permission == DD_PERMIT_ANY ||
	    (exp->permission == DD_PERMIT_USER && uid_eq(id->uid, exp->seg.uid)))
		return exp->seg.rights;
	grant = grant_find(exp, 0, id->uid);
	if (grant)
		rights = grant->rights;
	grant = grant_find(exp, id->node + 1, id->uid);
	if (grant)
		rights |= grant->rights;
	return rights & exp->seg.rights;
}

/* Decide whether an importer may have the segment now. */
static int export_decide(struct dd_export *exp, const struct dd_importer_id *id)
{
	u8 rights;

	lockdep_assert_held(&exp->lock);
	if (exp->dead || !dd_name_valid(&exp->name))
		return -ECONNREFUSED;
	rights = export_rights(exp, id);
	if (id->may ? id->rights & rights : !(id->rights & ~rights))
		return 0;
	/* Users that may not import a segment do not find out its number by trying. */
	return rights || !id->guessed ? -EACCES : -ECONNREFUSED;
}

/**
 * dd_export_permit() - decide whether an importer may have a segment
 * @exp: the segment, of which the caller holds a reference
 * @id: the importer
 *
 * The caller may then reserve memory of the owner; dd_export_join() decides again.
 *
 * Return: 0; %-ECONNREFUSED if the segment has ended; %-EACCES.
 */
int dd_export_permit(struct dd_export *exp, const struct dd_importer_id *id)
{
	int err;

	mutex_lock(&exp->lock);
	err = export_decide(exp, id);
	mutex_unlock(&exp->lock);
	return err;
}

/**
 * dd_export_grant() - permit a user to import a segment
 * @exp: the segment, of which the caller holds a reference
 * @from: 0: on every node; n + 1: on node n
 * @uid: the user
 * @rights: DD_RIGHT_*, which replace those of an earlier grant
 *
 * Return: 0; %-ENOENT if the segment has ended; %-ENOSPC; %-EDQUOT; %-ENOMEM.
 */
int dd_export_grant(struct dd_export *exp, u32 from, kuid_t uid, u8 rights)
{
	/* Allocated without the lock, which the exit of an importer takes. */
	struct dd_grant *old, *grant = dd_zalloc(exp->obj.ctx, sizeof(*grant));
	int err = 0;

	if (IS_ERR(grant))
		return PTR_ERR(grant);
	*grant = (struct dd_grant){ .from = from, .uid = uid, .rights = rights };
	mutex_lock(&exp->lock);
	old = grant_find(exp, from, uid);
	if (exp->dead) {
		err = -ENOENT;
	} else if (old) {
		old->rights = rights;
	} else if (exp->ngrants == DD_GRANTS_MAX) {
		err = -ENOSPC;
	} else {
		list_add(&grant->entry, &exp->grants);
		exp->ngrants++;
		grant = NULL;
	}
	mutex_unlock(&exp->lock);
	if (grant)
		dd_zfree(exp->obj.ctx, grant, sizeof(*grant));
	return err;
}

/**
 * dd_export_withdraw() - withdraw the grant of a user
 * @exp: the segment, of which the caller holds a reference
 * @from: as of dd_export_grant()
 * @uid: the user
 *
 * Imports that were made stay.
 *
 * Return: 0; %-ENOENT.
 */
int dd_export_withdraw(struct dd_export *exp, u32 from, kuid_t uid)
{
	struct dd_grant *grant;

	mutex_lock(&exp->lock);
	grant = exp->dead ? NULL : grant_find(exp, from, uid);
	if (grant) {
		list_del(&grant->entry);
		exp->ngrants--;
	}
	mutex_unlock(&exp->lock);
	if (!grant)
		return -ENOENT;
	dd_zfree(exp->obj.ctx, grant, sizeof(*grant));
	return 0;
}

/* ---- importers ------------------------------------------------------------ */

/* Give back the places of ended importers whose notes have been read, up to position @head. */
static void export_reap(struct dd_export *exp, u64 head)
{
	struct dd_export_left *left, *next;

	lockdep_assert_held(&exp->lock);
	list_for_each_entry_safe(left, next, &exp->left, entry) {
		if (left->last > head)
			continue;
		list_del(&left->entry);
		exp->nleft--;
		dd_quota_put(&exp->places, &left->place);
		dd_zfree(exp->obj.ctx, left, sizeof(*left));
	}
}

/**
 * dd_export_clear() - free the grants, and what is kept of ended importers
 * @exp: the export, which has no users
 */
void dd_export_clear(struct dd_export *exp)
{
	struct dd_grant *grant, *next;

	mutex_lock(&exp->lock);
	export_reap(exp, U64_MAX);
	mutex_unlock(&exp->lock);
	list_for_each_entry_safe(grant, next, &exp->grants, entry)
		dd_zfree(exp->obj.ctx, grant, sizeof(*grant));
}

/**
 * dd_export_admit() - count an importer, before anything is reserved for it
 * @exp: the segment, of which the caller holds a reference
 * @m: the importer
 *
 * The place of an ended importer stays that of its user while its notes are unread.
 *
 * Return: 0, and dd_export_leave() undoes it; %-ECONNREFUSED if the segment has ended;
 * %-EUSERS.
 */
int dd_export_admit(struct dd_export *exp, struct dd_export_member *m)
{
	int err = -ECONNREFUSED;

	mutex_lock(&exp->lock);
	/* While most places are free, nothing depends on those of ended importers. */
	if (exp->nleft && 2 * exp->places.count >= exp->max)
		export_reap(exp, dd_list_head_pos(exp->seg.list));
	if (!exp->dead)
		err = dd_quota_get(&exp->places, &m->place, exp->max, exp->seg.uid);
	mutex_unlock(&exp->lock);
	return err;
}

/**
 * dd_export_join() - add an importer
 * @exp: the segment, of which the caller holds a reference
 * @m: the importer, admitted
 * @ch: its channel, open but dead; alive afterwards
 *
 * The importer may have slept since dd_export_permit(). If a grant was withdrawn meanwhile, the
 * importer is refused here; otherwise it is on the list of importers when the withdrawal returns.
 *
 * Return: 0; %-ECONNREFUSED if the segment has ended; %-EACCES.
 */
int dd_export_join(struct dd_export *exp, struct dd_export_member *m,
		   struct dd_channel *ch)
{
	int err;

	mutex_lock(&exp->lock);
	err = export_decide(exp, &m->id);
	if (!err) {
		m->id.rights &= export_rights(exp, &m->id);
		ch->rights = m->id.rights;
		list_add_tail(&m->entry, &exp->importers);
		m->synced = exp->changes;
		dd_channel_live(ch);
	}
	mutex_unlock(&exp->lock);
	return err;
}

/**
 * dd_export_leave() - undo dd_export_admit() and dd_export_join(), once
 * @exp: the segment, of which memory and list are valid
 * @m: the importer, whose channel is dead
 * @last: position after its last note, or 0
 */
void dd_export_leave(struct dd_export *exp, struct dd_export_member *m, u64 last)
{
	struct dd_export_left *left = m->left;

	m->left = NULL;
	mutex_lock(&exp->lock);
	list_del_init(&m->entry);
	if (last && last > dd_list_head_pos(exp->seg.list) && !exp->dead) {
		left->place = m->place;
		list_replace_init(&m->place.entry, &left->place.entry);
		left->last = last;
		list_add_tail(&left->entry, &exp->left);
		exp->nleft++;
		left = NULL;
	} else {
		dd_quota_put(&exp->places, &m->place);
	}
	mutex_unlock(&exp->lock);
	if (left)
		dd_zfree(exp->obj.ctx, left, sizeof(*left));
}
