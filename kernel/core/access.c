// SPDX-License-Identifier: GPL-2.0-only
/*
 * Importers of exported segments. Exporter and importer may each end the access at any time:
 * the first one that finds the channel alive frees what the access reserves of the exporter.
 */
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>

#include "core/access.h"
#include "core/area.h"
#include "core/bounds.h"
#include "core/charge.h"
#include "core/export.h"
#include "core/hooks.h"
#include "core/local.h"
#include "core/notelist.h"
#include "core/trace.h"
#include "core/window.h"

/* Allocate what the exporter pays for: dd_access_exit() and dd_export_leave() free it. */
static int dd_access_alloc(struct dd_access *a)
{
	struct dd_ctx *ctx = a->exp->obj.ctx;
	struct dd_export_left *left = dd_zalloc(ctx, sizeof(*left));

	if (IS_ERR(left))
		return PTR_ERR(left);
	a->left = left;
	return dd_credit_make(ctx, &a->credit, a->exp->window);
}

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
	err = dd_access_alloc(a);
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
 * dd_access_grant() - prepare the access of an importer; its channel is not alive yet
 * @a: the access, initialised, with the importer
 * @exp: the segment, of which the caller holds a reference
 *
 * The caller sets link and importer of the channel, and calls dd_export_join() or
 * dd_access_ungrant(). At last it calls dd_access_exit(), also after an error of this function.
 *
 * Return: 0; %-ECONNREFUSED if the segment has ended; %-EUSERS; %-ENOBUFS; %-ENOMEM;
 * %-ENOSPC.
 */
int dd_access_grant(struct dd_access *a, struct dd_export *exp)
{
	int err;

	refcount_inc(&exp->mem);
	a->exp = exp;
	a->chan.seg = &exp->seg;
	dd_channel_open(&a->chan, a->id.rights, a->id.node);
	a->chan.credit = &a->credit;
	err = dd_export_admit(exp, a);
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

/* ---- windows, of importers of this node ---------------------------------- */

/*
 * Store in the importer's cell the number of the windows that are shown, or 0 if none is shown.
 * Once the channel is dead, the cell may belong to another object.
 */
static void dd_access_number(struct dd_access *a, u32 number)
{
	struct dd_channel *ch = &a->chan;
	struct dd_import *imp = ch->importer;

	spin_lock(&ch->lock);
	if (!ch->dead)
		/* Release: a process that reads the number finds no spare page in the windows. */
		smp_store_release(&imp->cell->ring, number);
	spin_unlock(&ch->lock);
}

static void dd_access_show(struct dd_access *a)
{
	const struct dd_bytes *mem = &a->exp->seg.mem;
	void **pages = mem->region->pages + (mem->offset >> PAGE_SHIFT);

	dd_window_show(a->block, pages);
	if (a->cas)
		dd_window_show(a->cas, pages);
	/* Skip 0, which means that no window is shown. */
	a->shown += a->shown == U32_MAX ? 2 : 1;
	dd_access_number(a, a->shown);
}

/*
 * A process stores by a window, executes a full barrier, and reads the number again. If the
 * number has not changed, the bytes are in the segment, because this function clears the number
 * before it hides the windows.
 */
static void dd_access_hide(struct dd_access *a)
{
	dd_access_number(a, 0);
	/* Orders the number before the windows. Pairs with the barrier of the process. */
	smp_mb();
	dd_window_hide(a->block);
	if (a->cas)
		dd_window_hide(a->cas);
}

/**
 * dd_access_update() - show or hide the windows of an import
 * @a: the access; inhibition or policy of its segment may have changed
 *
 * If the call hides the windows, no byte arrives by them after it has returned.
 */
void dd_access_update(struct dd_access *a)
{
	const struct dd_segment *seg = &a->exp->seg;
	bool open = !seg->inhibit && seg->policy != DD_POLICY_ALWAYS;

	lockdep_assert_held(&a->exp->lock);
	if (!a->block || open != a->block->dead)
		return;
	if (open)
		dd_access_show(a);
	else
		dd_access_hide(a);
}

/*
 * Revoke the windows: afterwards no byte arrives by them. Exporter and importer may both end
 * the access: the second one waits here for the first one.
 */
static void dd_access_close(struct dd_access *a)
{
	mutex_lock(&a->exp->lock);
	a->closed = true;
	if (a->block && !a->block->dead)
		dd_access_hide(a);
	dd_window_revoke(a->block);
	dd_window_revoke(a->cas);
	a->block = NULL;
	a->cas = NULL;
	mutex_unlock(&a->exp->lock);
}

/**
 * dd_access_revoke() - end the access of an importer
 * @a: the access, of which the caller holds a reference
 * @error: errno for the importer, unless the access has ended before; or 0
 *
 * When the call returns, no request or store reaches the segment, and none is being executed.
 */
void dd_access_revoke(struct dd_access *a, int error)
{
	struct dd_channel *ch = &a->chan;
	struct dd_list *list;
	u64 last;
	bool was;

	/* Revoke the windows first: an end that finds the channel dead relies on that. */
	dd_access_close(a);
	list = dd_channel_hold_list(ch);
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
		trace_dd_revoke(a->exp, ch->node, error);
		a->ops->revoked(a, error);
		last = list ? dd_credit_last(&a->credit) : 0;
		dd_export_leave(a->exp, a, last);
		if (list) {
			dd_list_wake(list);
			dd_list_detach(list, dd_credit_slots(a->credit.window), last);
			/* The slots are not used any more, and are charged to the exporter. */
			dd_credit_drop(a->exp->obj.ctx, &a->credit);
		}
	}
	if (list)
		dd_list_put(list);
}

/*
 * Drop what the access holds. The access has no users, its channel is dead, and it may be
 * granted again.
 */
void dd_access_exit(struct dd_access *a)
{
	WARN_ON_ONCE(!a->chan.dead);
	if (!a->exp)
		return;
	dd_credit_drop(a->exp->obj.ctx, &a->credit);
	dd_export_mem_put(a->exp);
	a->exp = NULL;
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
	to->pid = dd_ctx_pid(imp->obj.ctx, task_active_pid_ns(current));
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

	dd_area_free(&ctx->area, l->imp.unit, DD_IMPORT_UNITS);
	dd_access_exit(&l->a);
	dd_self_free(&l->imp);
	kfree_rcu(l, imp.rcu);
	dd_uncharge(ctx, sizeof(*l));
	dd_ctx_put(ctx);
}

/* The importer ends the access. The caller holds a reference; its context is locked. */
static void dd_local_end(struct dd_obj *obj)
{
	struct dd_local_import *l = dd_local_import(obj);

	if (!dd_obj_remove(obj))
		return;
	if (l->m.pending) {
		dd_making_stop(&l->m, &l->imp);
		/* Otherwise dd_local_work() finds the import ended and drops this reference. */
		if (dd_name_unpark(obj->ctx->node, &l->parked))
			dd_obj_put(obj);
	} else if (l->m.up) {
		dd_access_revoke(&l->a, 0);
		dd_event(obj, false);
	}
	dd_self_end(&l->imp);
	dd_obj_put(obj);
}

const struct dd_obj_ops dd_local_import_ops = {
	.stage = DD_STAGE_ACCESS,
	.import = true,
	.all_ops = true,
	.endable = true,
	.end = dd_local_end,
	.release = dd_local_release,
};

static int dd_access_permitted(const struct dd_access *a, kuid_t uid)
{
	const struct dd_segment *seg = &a->exp->seg;

	if (!seg->whole_pages &&
	    !PAGE_ALIGNED(seg->mem.offset | seg->mem.length))
		return -EOPNOTSUPP;
	/* A window that can be written can be read as well. */
	if (seg->nodirect || !(a->chan.rights & DD_RIGHT_GET))
		return -EACCES;
	return uid_eq(uid, seg->uid) || seg->direct_any ? 0 : -EACCES;
}

static void dd_access_describe(const struct dd_access *a, struct dd_direct *arg)
{
	arg->block = (u64)a->block->pgoff << PAGE_SHIFT;
	arg->block_size = (u64)a->block->npages << PAGE_SHIFT;
	arg->start = offset_in_page(a->exp->seg.mem.offset);
	arg->notes = a->cas ? (u64)a->cas->pgoff << PAGE_SHIFT : 0;
}

/* Add the windows, which are hidden. If @a has windows, the caller keeps @block and @cas. */
static int dd_access_join(struct dd_access *a, struct dd_window **block,
			  struct dd_window **cas, struct dd_direct *arg)
{
	int err = mutex_lock_killable(&a->exp->lock);

	if (err)
		return err;
	if (a->closed) {
		err = -ESTALE;
	} else {
		if (!a->block) {
			swap(a->block, *block);
			swap(a->cas, *cas);
			dd_access_update(a);
		}
		dd_access_describe(a, arg);
	}
	mutex_unlock(&a->exp->lock);
	return err;
}

/* Whether the segment of an import is on this node. */
bool dd_access_is(const struct dd_import *imp)
{
	return imp->obj.ops == &dd_local_import_ops;
}

/**
 * dd_access_direct() - serve DD_IOC_DIRECT for an import
 * @imp: an import for which dd_access_is() is true; the caller holds a reference, and its
 *	context is locked
 * @arg: as passed by user space; the results are filled in
 *
 * While the segment is inhibited, or notifies of each request, the windows show nothing.
 *
 * Return: 0 or an error documented in the uapi header.
 */
int dd_access_direct(struct dd_import *imp, struct dd_direct *arg)
{
	struct dd_local_import *l = dd_local_import(&imp->obj);
	struct dd_window *block, *cas = NULL;
	struct dd_access *a = &l->a;
	const struct dd_bytes *mem;
	unsigned int flags;
	unsigned long n;
	int err;

	if (arg->flags)
		return -EINVAL;
	if (!l->m.up)
		return -(int)imp->gone;
	mem = &a->exp->seg.mem;
	n = PFN_UP(offset_in_page(mem->offset) + mem->length);
	flags = a->chan.rights & DD_RIGHT_PUT ? 0 : DD_WINDOW_READONLY;
	err = dd_access_permitted(a, imp->uid);
	if (err)
		return err;
	block = dd_window_create(imp->obj.ctx, n, flags);
	if (IS_ERR(block))
		return PTR_ERR(block);
	if (a->chan.rights == DD_RIGHTS)
		cas = dd_window_create(imp->obj.ctx, n, DD_WINDOW_MARKED);
	if (IS_ERR(cas)) {
		err = PTR_ERR(cas);
		cas = NULL;
	} else {
		err = dd_access_join(a, &block, &cas, arg);
	}
	dd_window_revoke(block);
	dd_window_revoke(cas);
	return err;
}

/* The access was granted: make the import. The importer's context is locked. */
static int dd_local_join(struct dd_local_import *l)
{
	struct dd_export *exp = l->a.exp;
	int err;

	if (!l->m.pending)
		return -ESTALE;
	l->imp.size = exp->seg.mem.length;
	l->imp.window = exp->seg.list ? exp->window : 0;
	err = dd_making_found(&l->m, &l->imp, l->a.chan.generation, exp->seg.uid) ?:
	      dd_export_join(exp, &l->a);
	if (err)
		return err;
	trace_dd_import(&l->imp, l->m.node, l->m.rights, l->a.chan.generation);
	dd_making_over(&l->m, &l->imp, 0);
	return 0;
}

static int dd_local_open(struct dd_local_import *l, struct dd_export *exp)
{
	struct dd_ctx *ctx = l->imp.obj.ctx;
	int err;

	err = dd_export_permit(exp, &l->a.id);
	if (err)
		return err;
	err = dd_access_grant(&l->a, exp);
	if (!err) {
		mutex_lock(&ctx->lock);
		err = dd_local_join(l);
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
 * -EINPROGRESS if it waits, with a reference for dd_local_work(), or an error.
 */
static int dd_local_try(struct dd_local_import *l)
{
	struct dd_ctx *ctx = l->imp.obj.ctx;
	struct dd_export *exp;
	int err = -ECONNREFUSED;

	exp = dd_export_get(ctx->node, l->parked.class, l->parked.key);
	if (exp) {
		err = dd_local_open(l, exp);
		dd_export_put(exp);
	}
	if (err != -ECONNREFUSED || l->m.park != DD_PARK_MAY)
		return err;
	/* dd_local_end(), which ends the wait, is called with the context locked. */
	mutex_lock(&ctx->lock);
	if (!l->m.pending) {
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

static void dd_local_wake(struct dd_parked *p)
{
	struct dd_local_import *l = container_of(p, struct dd_local_import, parked);

	/* dd_local_work() drops the reference of dd_local_try(). */
	queue_work(dd_wq, &l->work);
}

static void dd_local_work(struct work_struct *work)
{
	struct dd_local_import *l = container_of(work, struct dd_local_import, work);
	struct dd_ctx *ctx = l->imp.obj.ctx;
	int err;

	l->m.park = DD_PARK_WOKEN;
	err = dd_local_try(l);
	mutex_lock(&ctx->lock);
	if (l->m.pending && err)
		dd_making_over(&l->m, &l->imp, err);
	mutex_unlock(&ctx->lock);
	dd_obj_put(&l->imp.obj);
}

static struct dd_local_import *dd_local_alloc(struct dd_ctx *ctx,
					      const struct dd_import_make *arg)
{
	struct dd_local_import *l = dd_zalloc(ctx, sizeof(*l));
	int err;

	if (IS_ERR(l))
		return l;
	dd_obj_init(&l->imp.obj, ctx, &dd_local_import_ops);
	dd_access_init(&l->a, &dd_local_access_ops);
	l->a.chan.link = &dd_link_local;
	l->a.chan.importer = &l->imp;
	l->imp.chan = &l->a.chan;
	l->imp.uid = current_euid();
	l->a.id = (struct dd_importer_id){
		.uid = l->imp.uid, .node = arg->node, .rights = arg->rights,
		.guessed = arg->key_class == DD_SEGMENT_ID,
	};
	l->a.place.uid = l->imp.uid;
	INIT_WORK(&l->work, dd_local_work);
	INIT_LIST_HEAD(&l->parked.place.entry);
	l->parked.place.uid = l->imp.uid;
	l->parked.class = dd_import_class(arg);
	memcpy(l->parked.key, arg->key, sizeof(l->parked.key));
	l->parked.wake = dd_local_wake;
	err = dd_area_alloc_piece(&ctx->area, DD_IMPORT_UNITS, &l->imp.unit);
	if (!err) {
		l->imp.cell = dd_area_unit(&ctx->area, l->imp.unit);
		return l;
	}
	dd_obj_put(&l->imp.obj);
	return ERR_PTR(err);
}

/**
 * dd_access_check_args() - check the argument of an import
 * @arg: argument of user space
 *
 * Return: 0 or %-EINVAL.
 */
int dd_access_check_args(const struct dd_import_make *arg)
{
	const u32 notes = arg->flags & (DD_IMPORT_NOWAIT | DD_IMPORT_NOTIFY);
	u32 flags = DD_IMPORT_NOTIFY | DD_IMPORT_UID;

	/* An import by a registered name waits for the registrar. */
	flags |= arg->key_class == DD_SEGMENT_REGISTERED ? DD_IMPORT_FRESH : DD_IMPORT_NOWAIT;
	/* The kernel chooses the numbers: none is known before the export. */
	if (arg->key_class != DD_SEGMENT_REGISTERED && arg->key_class != DD_SEGMENT_ID)
		flags |= DD_IMPORT_PARK;
	if (arg->flags & ~flags || arg->cell_unit || arg->__reserved ||
	    (arg->uid && !(arg->flags & DD_IMPORT_UID)) ||
	    arg->import || arg->length || arg->generation ||
	    (arg->list ? !notes : arg->cookie || notes & DD_IMPORT_NOTIFY) ||
	    !arg->rights || arg->rights & ~DD_RIGHTS || arg->depth > DD_DEPTH_MAX ||
	    arg->key_class < DD_SEGMENT_NAME || arg->key_class > DD_SEGMENT_REGISTERED)
		return -EINVAL;
	if (arg->key_class == DD_SEGMENT_NAME || arg->key_class == DD_SEGMENT_REGISTERED)
		return dd_name_ok(arg->key, sizeof(arg->key)) ? 0 : -EINVAL;
	return 0;
}

/**
 * dd_access_make() - import a segment of this node
 * @ctx: the caller
 * @arg: argument of user space, checked; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header; on error nothing has changed.
 */
int dd_access_make(struct dd_ctx *ctx, struct dd_import_make *arg)
{
	struct dd_local_import *l = dd_local_alloc(ctx, arg);
	struct dd_import *imp;
	int err;

	if (IS_ERR(l))
		return PTR_ERR(l);
	imp = &l->imp;
	/* The id table and this function hold a reference each. */
	refcount_inc(&imp->obj.users);
	mutex_lock(&ctx->lock);
	err = dd_making_begin(&l->m, imp, arg);
	mutex_unlock(&ctx->lock);
	if (err)
		dd_obj_put(&imp->obj);
	else
		err = dd_making_end(&l->m, imp, arg, dd_local_try(l));
	dd_obj_put(&imp->obj);
	return err;
}
