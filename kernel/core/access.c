// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imports of segments of this node. Import and channel are one structure, which belongs to
 * the importer. Either side may end the access, at any time: the first one that finds the
 * channel alive gives back what the channel holds of the exporter.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "core/access.h"
#include "core/area.h"
#include "core/charge.h"
#include "core/export.h"
#include "core/hooks.h"
#include "core/notelist.h"

static void dd_access_release(struct dd_obj *obj)
{
	struct dd_access *a = container_of(obj, struct dd_access, imp.obj);
	struct dd_ctx *ctx = obj->ctx;

	WARN_ON_ONCE(!a->chan.dead);
	if (a->imp.unit)
		dd_area_free(&ctx->area, a->imp.unit, DD_CELL_UNITS);
	if (a->exp) {
		dd_credit_drop(a->exp->obj.ctx, &a->credit);
		dd_export_mem_put(a->exp);
	}
	kfree_rcu(a, imp.rcu);
	dd_uncharge(ctx, sizeof(*a));
	dd_ctx_put(ctx);
}

/**
 * dd_access_revoke() - end the access of an importer
 * @a: the access, of which the caller holds a reference
 * @error: errno to be stored in the importer's cell, if it has not ended before; or 0
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
	spin_lock(&ch->lock);
	was = ch->dead;
	if (!was) {
		if (list)
			dd_channel_revoke(ch, NULL);
		ch->dead = true;
		WRITE_ONCE(a->imp.cell->error, error);
	}
	spin_unlock(&ch->lock);
	if (list)
		mutex_unlock(&list->lock);
	if (!was) {
		last = list ? dd_credit_last(&a->credit) : 0;
		dd_export_leave(a->exp, a, last);
		if (list) {
			dd_list_wake(list);
			dd_list_detach(list, dd_credit_slots(a->credit.window), last);
			/* Not used any more, and charged to the exporter. */
			dd_credit_drop(a->exp->obj.ctx, &a->credit);
		}
		dd_ctx_wake(a->imp.obj.ctx);
	}
	if (list)
		dd_list_put(list);
}

/* The importer ends the access. The caller holds a reference; its context is locked. */
static void dd_access_end(struct dd_obj *obj)
{
	struct dd_access *a = container_of(obj, struct dd_access, imp.obj);

	if (!dd_obj_remove(obj))
		return;
	dd_access_revoke(a, 0);
	dd_obj_put(obj);
}

const struct dd_obj_ops dd_access_ops = {
	.stage = DD_STAGE_ACCESS,
	.import = true,
	.all_ops = true,
	.endable = true,
	.gone = ESTALE,
	.end = dd_access_end,
	.release = dd_access_release,
};

/* Reserve the exporter's slots for the notes of this importer. */
static int dd_access_slots(struct dd_access *a, struct dd_export *exp)
{
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

/* With the importer's context locked: give the import its id. */
static int dd_access_publish(struct dd_access *a, struct dd_import_make *arg)
{
	struct dd_ctx *ctx = a->imp.obj.ctx;
	struct dd_cell *cell = a->imp.cell;
	u64 serial;
	int err;

	if (ctx->dead)
		return -ESTALE;
	err = dd_obj_reserve(&a->imp.obj);
	if (err)
		return err;
	serial = dd_obj_serial(&a->imp.obj);
	memset(cell, 0, sizeof(*cell));
	cell->node = a->chan.node;
	cell->peer_size = a->imp.size;
	cell->window = a->imp.window;
	cell->conn = serial;
	err = dd_export_join(a->exp, a);
	if (err) {
		dd_obj_unreserve(&a->imp.obj);
		return err;
	}
	arg->import = serial;
	arg->cell_unit = a->imp.unit;
	arg->length = a->imp.size;
	arg->generation = a->chan.generation;
	dd_obj_publish(&a->imp.obj);
	return 0;
}

/* Fill in an access to @exp; the caller drops what it holds by dd_access_release(). */
static int dd_access_setup(struct dd_access *a, struct dd_export *exp,
			   struct dd_import_make *arg)
{
	struct dd_ctx *ctx = a->imp.obj.ctx;
	int err;

	err = dd_area_alloc(&ctx->area, DD_CELL_UNITS, &a->imp.unit);
	if (err)
		return err;
	a->imp.cell = dd_area_unit(&ctx->area, a->imp.unit);
	a->imp.chan = &a->chan;
	a->imp.uid = current_euid();
	a->imp.nodirect = true;
	a->imp.size = exp->seg.mem.length;
	a->imp.window = exp->window;
	refcount_inc(&exp->mem);
	a->exp = exp;
	dd_channel_init(&a->chan, &exp->seg);
	dd_channel_open(&a->chan, arg->rights, ctx->node->id);
	a->chan.link = &dd_link_local;
	a->chan.importer = &a->imp;
	a->chan.credit = &a->credit;
	err = dd_export_admit(exp);
	if (err)
		return err;
	err = dd_access_slots(a, exp);
	if (err)
		goto err_leave;
	mutex_lock(&ctx->lock);
	err = dd_access_publish(a, arg);
	mutex_unlock(&ctx->lock);
	if (!err)
		return 0;
	if (exp->seg.list)
		dd_list_detach(exp->seg.list, dd_credit_slots(exp->window), 0);
err_leave:
	dd_export_leave(exp, a, 0);
	return err;
}

static int dd_access_open(struct dd_ctx *ctx, struct dd_export *exp,
			  struct dd_import_make *arg)
{
	struct dd_access *a;
	int err;

	if (arg->rights & ~dd_export_rights(exp, current_euid()))
		return -EACCES;
	if (dd_charge(ctx, sizeof(*a)))
		return -EDQUOT;
	a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a) {
		dd_uncharge(ctx, sizeof(*a));
		return -ENOMEM;
	}
	dd_obj_init(&a->imp.obj, ctx, &dd_access_ops);
	INIT_LIST_HEAD(&a->entry);
	a->chan.dead = true;
	err = dd_access_setup(a, exp, arg);
	if (err)
		dd_obj_put(&a->imp.obj);
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
	err = dd_access_open(ctx, exp, arg);
	dd_export_put(exp);
	return err;
}
