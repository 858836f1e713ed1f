// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imports of segments of this node.
 */
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>

#include "core/area.h"
#include "core/charge.h"
#include "core/completion.h"
#include "core/exported.h"
#include "core/hooks.h"
#include "core/local.h"
#include "core/local_import.h"
#include "core/trace.h"

static struct kmem_cache *local_cache;

int dd_local_import_init(void)
{
	local_cache = KMEM_CACHE(dd_local_import, SLAB_ACCOUNT);
	return local_cache ? 0 : -ENOMEM;
}

void dd_local_import_exit(void)
{
	/* Imports are freed by RCU. */
	rcu_barrier();
	kmem_cache_destroy(local_cache);
}

static struct dd_local_import *dd_local_import(struct dd_obj *obj)
{
	return container_of(obj, struct dd_local_import, imp.obj);
}

static struct dd_import *local_of(struct dd_access *a)
{
	return &container_of(a, struct dd_local_import, a)->imp;
}

static bool local_get_ref(struct dd_access *a)
{
	return refcount_inc_not_zero(&local_of(a)->obj.users);
}

static void local_put_ref(struct dd_access *a)
{
	dd_obj_put(&local_of(a)->obj);
}

static void local_revoked(struct dd_access *a, int error)
{
	struct dd_import *imp = local_of(a);

	WRITE_ONCE(imp->cs->error, error);
	dd_ctx_wake(imp->obj.ctx);
}

static void local_describe(struct dd_access *a, struct dd_importer *to)
{
	const struct dd_import *imp = local_of(a);

	to->count = READ_ONCE(imp->submitted);
	to->pid = dd_ctx_pid(imp->obj.ctx, task_active_pid_ns(current));
	to->uid = from_kuid_munged(current_user_ns(), imp->uid);
}

static const struct dd_access_ops local_access_ops = {
	.get = local_get_ref,
	.put = local_put_ref,
	.revoked = local_revoked,
	.describe = local_describe,
};

static void local_free(struct rcu_head *rcu)
{
	kmem_cache_free(local_cache, container_of(rcu, struct dd_local_import, imp.rcu));
}

static void local_release(struct dd_obj *obj)
{
	struct dd_local_import *l = dd_local_import(obj);
	struct dd_ctx *ctx = obj->ctx;

	dd_area_free(&ctx->area, l->imp.unit, DD_IMPORT_UNITS);
	dd_access_exit(&l->a);
	dd_completions_free(&l->imp);
	call_rcu(&l->imp.rcu, local_free);
	dd_uncharge(ctx, sizeof(*l));
	dd_ctx_put(ctx);
}

/* The importer ends the access. The caller holds a reference; its context is locked. */
static void local_end(struct dd_obj *obj)
{
	struct dd_local_import *l = dd_local_import(obj);

	if (!dd_obj_remove(obj))
		return;
	if (l->imp.state == DD_IMPORT_PENDING) {
		dd_import_setup_stop(&l->setup, &l->imp);
		/* Otherwise local_work() finds the import ended and drops this reference. */
		if (dd_name_unpark(obj->ctx->node, &l->parked))
			dd_obj_put(obj);
	} else if (l->imp.state == DD_IMPORT_UP) {
		dd_event(obj, false);
		dd_access_revoke(&l->a, 0);
	}
	dd_completions_end(&l->imp);
	dd_obj_put(obj);
}

const struct dd_obj_ops dd_local_import_ops = {
	.stage = DD_STAGE_ACCESS,
	.import = true,
	.endable = true,
	.end = local_end,
	.release = local_release,
};

/* Whether the segment of an import is on this node. */
bool dd_local_import_is(const struct dd_import *imp)
{
	return imp->obj.ops == &dd_local_import_ops;
}

/**
 * dd_local_import_direct() - serve DD_IOC_DIRECT for an import
 * @imp: an import for which dd_local_import_is() is true; the caller holds a reference, and
 *	its context is locked
 * @arg: as passed by user space; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header.
 */
int dd_local_import_direct(struct dd_import *imp, struct dd_direct *arg)
{
	struct dd_local_import *l = dd_local_import(&imp->obj);

	if (arg->flags)
		return -EINVAL;
	if (imp->state != DD_IMPORT_UP)
		return dd_import_error(imp);
	return dd_access_direct(&l->a, imp, arg);
}

/* The access was granted: make the import. The importer's context is locked. */
static int local_join(struct dd_local_import *l)
{
	struct dd_export *exp = l->a.exp;
	int err;

	if (l->imp.state != DD_IMPORT_PENDING)
		return -ESTALE;
	l->imp.size = exp->seg.mem.length;
	l->imp.window = exp->seg.list ? exp->window : 0;
	err = dd_import_setup_found(&l->setup, &l->imp, l->a.chan.generation, exp->seg.uid) ?:
	      dd_export_join(exp, &l->a.member, &l->a.chan);
	if (err)
		return err;
	trace_dd_import(&l->imp, l->setup.node, l->a.chan.rights, l->a.chan.generation);
	dd_import_setup_end(&l->setup, &l->imp, 0);
	return 0;
}

static int local_open(struct dd_local_import *l, struct dd_export *exp)
{
	struct dd_ctx *ctx = l->imp.obj.ctx;
	int err;

	err = dd_export_permit(exp, &l->a.member.id);
	if (err)
		return err;
	err = dd_access_grant(&l->a, exp);
	if (!err) {
		mutex_lock(&ctx->lock);
		err = local_join(l);
		mutex_unlock(&ctx->lock);
		if (err)
			dd_access_ungrant(&l->a);
	}
	if (err)
		dd_access_exit(&l->a);
	return err;
}

/*
 * Look the segment up, and import it or wait for it. Returns 0 if the import was made,
 * -EINPROGRESS if it waits, with a reference for local_work(), or an error.
 */
static int local_try(struct dd_local_import *l)
{
	struct dd_ctx *ctx = l->imp.obj.ctx;
	struct dd_export *exp;
	int err = -ECONNREFUSED;

	exp = dd_export_get(ctx->node, l->parked.class, l->parked.key);
	if (exp) {
		err = local_open(l, exp);
		dd_export_put(exp);
	}
	if (err != -ECONNREFUSED || l->setup.park != DD_PARK_MAY)
		return err;
	/* local_end(), which ends the wait, is called with the context locked. */
	mutex_lock(&ctx->lock);
	if (l->imp.state != DD_IMPORT_PENDING) {
		err = -ESTALE;
	} else {
		refcount_inc(&l->imp.obj.users);
		err = dd_name_park(ctx->node, &l->parked) ?: -EINPROGRESS;
		/* The caller has another reference. */
		if (err != -EINPROGRESS)
			dd_obj_put(&l->imp.obj);
	}
	mutex_unlock(&ctx->lock);
	return err;
}

static void local_wake(struct dd_parked *p)
{
	struct dd_local_import *l = container_of(p, struct dd_local_import, parked);

	/* local_work() drops the reference of local_try(). */
	queue_work(dd_wq, &l->work);
}

static void local_work(struct work_struct *work)
{
	struct dd_local_import *l = container_of(work, struct dd_local_import, work);
	struct dd_ctx *ctx = l->imp.obj.ctx;
	int err;

	l->setup.park = DD_PARK_WOKEN;
	err = local_try(l);
	mutex_lock(&ctx->lock);
	if (err && l->imp.state == DD_IMPORT_PENDING)
		dd_import_setup_end(&l->setup, &l->imp, err);
	mutex_unlock(&ctx->lock);
	dd_obj_put(&l->imp.obj);
}

static struct dd_local_import *local_alloc(struct dd_ctx *ctx,
					   const struct dd_import_make *arg)
{
	struct dd_local_import *l;
	int err;

	if (dd_charge(ctx, sizeof(*l)))
		return ERR_PTR(-EDQUOT);
	l = kmem_cache_zalloc(local_cache, dd_gfp(ctx));
	if (!l) {
		dd_uncharge(ctx, sizeof(*l));
		return ERR_PTR(-ENOMEM);
	}
	dd_obj_init(&l->imp.obj, ctx, &dd_local_import_ops);
	dd_access_init(&l->a, &local_access_ops);
	l->a.chan.link = &dd_link_local;
	l->a.chan.importer = &l->imp;
	l->imp.chan = &l->a.chan;
	l->imp.uid = current_euid();
	l->a.member.id = (struct dd_importer_id){
		.uid = l->imp.uid, .node = arg->node, .rights = arg->rights,
		.may = arg->flags & DD_IMPORT_MAY, .guessed = arg->key_class == DD_SEGMENT_ID,
	};
	l->a.member.place.uid = l->imp.uid;
	INIT_WORK(&l->work, local_work);
	INIT_LIST_HEAD(&l->parked.place.entry);
	l->parked.place.uid = l->imp.uid;
	l->parked.class = dd_import_class(arg);
	memcpy(l->parked.key, arg->key, sizeof(l->parked.key));
	l->parked.wake = local_wake;
	err = dd_area_alloc_piece(&ctx->area, DD_IMPORT_UNITS, &l->imp.unit);
	if (!err) {
		l->imp.cs = dd_area_unit(&ctx->area, l->imp.unit);
		return l;
	}
	dd_obj_put(&l->imp.obj);
	return ERR_PTR(err);
}

/**
 * dd_local_import_make() - import a segment of this node
 * @ctx: the caller
 * @arg: argument of user space, checked; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header; on error nothing has changed.
 */
int dd_local_import_make(struct dd_ctx *ctx, struct dd_import_make *arg)
{
	struct dd_local_import *l = local_alloc(ctx, arg);
	struct dd_import *imp;
	int err;

	if (IS_ERR(l))
		return PTR_ERR(l);
	imp = &l->imp;
	/* The id table and this function hold a reference each. */
	refcount_inc(&imp->obj.users);
	mutex_lock(&ctx->lock);
	err = dd_import_setup_begin(&l->setup, imp, arg);
	mutex_unlock(&ctx->lock);
	if (err)
		dd_obj_put(&imp->obj);
	else
		err = dd_import_finish(imp, arg, local_try(l));
	dd_obj_put(&imp->obj);
	return err;
}
