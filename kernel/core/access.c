// SPDX-License-Identifier: GPL-2.0-only
/*
 * Importers of exported segments. Exporter and importer may end the access, at any time:
 * the first one that finds the channel alive gives back what it holds of the exporter.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "core/access.h"
#include "core/area.h"
#include "core/charge.h"
#include "core/export.h"
#include "core/hooks.h"
#include "core/notelist.h"

/* Reserve the exporter's slots for the notes of this importer. */
static int dd_access_slots(struct dd_access *a)
{
	struct dd_export *exp = a->exp;
	struct dd_list *list = exp->seg.list;
	struct mem_cgroup *before;
	int err;

	if (!list)
		return 0;
	before = dd_owner_enter(exp->obj.ctx);
	err = dd_credit_make(exp->obj.ctx, &a->credit, exp->window);
	if (!err) {
		/* dd_list_detach() drops this reference. */
		refcount_inc(&list->obj.users);
		err = dd_list_reserve(list, dd_credit_slots(exp->window), 1);
		if (err)
			dd_list_put(list);
	}
	dd_owner_leave(before);
	if (err == -ENOENT)
		return -ECONNREFUSED;
	return err == -EDQUOT ? -ENOBUFS : err;
}

/**
 * dd_access_grant() - prepare the access of an importer, which is not alive yet
 * @a: the access, initialised
 * @exp: the segment, of which the caller holds a reference
 * @rights: DD_RIGHT_* that the segment grants this importer
 * @node: node of the importer
 *
 * The caller sets link and importer of the channel, and calls dd_export_join() or
 * dd_access_ungrant(); in any case, and after an error, dd_access_exit() at last.
 *
 * Return: 0; %-ECONNREFUSED if the segment has ended; %-EUSERS; %-ENOBUFS; %-ENOMEM;
 * %-ENOSPC.
 */
int dd_access_grant(struct dd_access *a, struct dd_export *exp, u8 rights, u16 node)
{
	int err;

	refcount_inc(&exp->mem);
	a->exp = exp;
	dd_channel_init(&a->chan, &exp->seg);
	dd_channel_open(&a->chan, rights, node);
	a->chan.credit = &a->credit;
	err = dd_export_admit(exp);
	if (err)
		return err;
	err = dd_access_slots(a);
	if (err)
		dd_export_leave(exp, a, 0);
	return err;
}

/* Undo dd_access_grant(), if no dd_export_join() has succeeded. */
void dd_access_ungrant(struct dd_access *a)
{
	struct dd_export *exp = a->exp;

	if (exp->seg.list)
		dd_list_detach(exp->seg.list, dd_credit_slots(exp->window), 0);
	dd_export_leave(exp, a, 0);
}

/**
 * dd_access_revoke() - end the access of an importer
 * @a: the access, of which the caller holds a reference
 * @error: errno for the importer, if it has not ended before; or 0
 *
 * When it returns, no request reaches the segment, and none is being executed.
 */
void dd_access_revoke(struct dd_access *a, int error)
{
	struct dd_channel *ch = &a->chan;
	struct dd_list *list = dd_channel_hold_list(ch);
	u64 last;
	bool was;

	if (list)
		mutex_lock(&list->lock);
	spin_lock_bh(&ch->lock);
	was = ch->dead;
	if (!was) {
		if (list)
			dd_channel_revoke(ch, NULL);
		ch->dead = true;
		WRITE_ONCE(a->error, error);
	}
	spin_unlock_bh(&ch->lock);
	if (list)
		mutex_unlock(&list->lock);
	if (!was) {
		a->ops->revoked(a, error);
		last = list ? dd_credit_last(&a->credit) : 0;
		dd_export_leave(a->exp, a, last);
		if (list) {
			dd_list_wake(list);
			dd_list_detach(list, dd_credit_slots(a->credit.window), last);
			/* Not used any more, and charged to the exporter. */
			dd_credit_drop(a->exp->obj.ctx, &a->credit);
		}
	}
	if (list)
		dd_list_put(list);
}

/* Drop what the access holds. It has no users, and its channel is dead. */
void dd_access_exit(struct dd_access *a)
{
	WARN_ON_ONCE(!a->chan.dead);
	if (!a->exp)
		return;
	dd_credit_drop(a->exp->obj.ctx, &a->credit);
	dd_export_mem_put(a->exp);
}

/* ---- importers of this node --------------------------------------------- */

static struct dd_local_import *dd_local_import(struct dd_obj *obj)
{
	return container_of(obj, struct dd_local_import, imp.obj);
}

static struct dd_import *dd_access_import(struct dd_access *a)
{
	return &container_of(a, struct dd_local_import, a)->imp;
}

static bool dd_local_get_ref(struct dd_access *a)
{
	return refcount_inc_not_zero(&dd_access_import(a)->obj.users);
}

static void dd_local_put_ref(struct dd_access *a)
{
	dd_obj_put(&dd_access_import(a)->obj);
}

static void dd_local_revoked(struct dd_access *a, int error)
{
	struct dd_import *imp = dd_access_import(a);

	WRITE_ONCE(imp->cell->error, error);
	dd_ctx_wake(imp->obj.ctx);
}

static void dd_local_describe(struct dd_access *a, struct dd_importer *to)
{
	const struct dd_import *imp = dd_access_import(a);

	to->count = READ_ONCE(imp->submitted);
	to->pid = pid_vnr(imp->obj.ctx->pid);
	to->uid = from_kuid_munged(current_user_ns(), imp->uid);
}

static const struct dd_access_ops dd_local_access_ops = {
	.get = dd_local_get_ref,
	.put = dd_local_put_ref,
	.revoked = dd_local_revoked,
	.describe = dd_local_describe,
};

static void dd_local_release(struct dd_obj *obj)
{
	struct dd_local_import *l = dd_local_import(obj);
	struct dd_ctx *ctx = obj->ctx;

	if (l->imp.unit)
		dd_area_free(&ctx->area, l->imp.unit, DD_CELL_UNITS);
	dd_access_exit(&l->a);
	kfree_rcu(l, imp.rcu);
	dd_uncharge(ctx, sizeof(*l));
	dd_ctx_put(ctx);
}

/* The importer ends the access. The caller holds a reference; its context is locked. */
static void dd_local_end(struct dd_obj *obj)
{
	if (!dd_obj_remove(obj))
		return;
	dd_access_revoke(&dd_local_import(obj)->a, 0);
	dd_event(obj, false);
	dd_obj_put(obj);
}

const struct dd_obj_ops dd_local_import_ops = {
	.stage = DD_STAGE_ACCESS,
	.import = true,
	.all_ops = true,
	.endable = true,
	.gone = ESTALE,
	.end = dd_local_end,
	.release = dd_local_release,
};

/* With the importer's context locked: give the import its id. */
static int dd_local_publish(struct dd_local_import *l, struct dd_import_make *arg)
{
	struct dd_ctx *ctx = l->imp.obj.ctx;
	struct dd_cell *cell = l->imp.cell;
	u64 serial;
	int err;

	if (ctx->dead)
		return -ESTALE;
	err = dd_obj_reserve(&l->imp.obj);
	if (err)
		return err;
	serial = dd_obj_serial(&l->imp.obj);
	memset(cell, 0, sizeof(*cell));
	cell->node = l->a.chan.node;
	cell->peer_size = l->imp.size;
	cell->window = l->imp.window;
	cell->conn = serial;
	err = dd_export_join(l->a.exp, &l->a);
	if (err) {
		dd_obj_unreserve(&l->imp.obj);
		return err;
	}
	arg->import = serial;
	arg->cell_unit = l->imp.unit;
	arg->length = l->imp.size;
	arg->generation = l->a.chan.generation;
	dd_obj_publish(&l->imp.obj);
	dd_event(&l->imp.obj, true);
	return 0;
}

/* Fill in an import of @exp; the caller drops what it holds by dd_local_release(). */
static int dd_local_setup(struct dd_local_import *l, struct dd_export *exp,
			  struct dd_import_make *arg)
{
	struct dd_import *imp = &l->imp;
	struct dd_ctx *ctx = imp->obj.ctx;
	int err;

	err = dd_area_alloc(&ctx->area, DD_CELL_UNITS, &imp->unit);
	if (err)
		return err;
	imp->cell = dd_area_unit(&ctx->area, imp->unit);
	imp->chan = &l->a.chan;
	imp->uid = current_euid();
	imp->nodirect = true;
	imp->size = exp->seg.mem.length;
	imp->window = exp->window;
	err = dd_access_grant(&l->a, exp, arg->rights, ctx->node->id);
	if (err)
		return err;
	l->a.chan.link = &dd_link_local;
	l->a.chan.importer = imp;
	mutex_lock(&ctx->lock);
	err = dd_local_publish(l, arg);
	mutex_unlock(&ctx->lock);
	if (err)
		dd_access_ungrant(&l->a);
	return err;
}

static int dd_local_open(struct dd_ctx *ctx, struct dd_export *exp,
			 struct dd_import_make *arg)
{
	struct dd_local_import *l;
	int err;

	if (arg->rights & ~dd_export_rights(exp, current_euid()))
		return -EACCES;
	if (dd_charge(ctx, sizeof(*l)))
		return -EDQUOT;
	l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	if (!l) {
		dd_uncharge(ctx, sizeof(*l));
		return -ENOMEM;
	}
	dd_obj_init(&l->imp.obj, ctx, &dd_local_import_ops);
	dd_access_init(&l->a, &dd_local_access_ops);
	err = dd_local_setup(l, exp, arg);
	if (err)
		dd_obj_put(&l->imp.obj);
	return err;
}

/**
 * dd_access_make() - import a segment
 * @ctx: the caller
 * @arg: argument of user space; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header; on error nothing has changed.
 */
int dd_access_make(struct dd_ctx *ctx, struct dd_import_make *arg)
{
	struct dd_node *node = ctx->node;
	struct dd_export *exp;
	int err;

	if (arg->flags || arg->cell_unit || arg->import || arg->length ||
	    arg->generation || !arg->rights || arg->rights & ~DD_RIGHTS ||
	    arg->key_class < DD_SEGMENT_NAME || arg->key_class > DD_SEGMENT_WELL_KNOWN)
		return -EINVAL;
	if (!READ_ONCE(node->up))
		return -ENETDOWN;
	if (arg->node != READ_ONCE(node->id))
		return xa_load(&node->peers, arg->node) ? -EOPNOTSUPP : -ENONET;
	exp = dd_export_get(node, arg->key_class, arg->key);
	if (!exp)
		return -ECONNREFUSED;
	err = dd_local_open(ctx, exp, arg);
	dd_export_put(exp);
	return err;
}
