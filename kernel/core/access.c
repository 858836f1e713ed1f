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
#include "core/trace.h"
#include "core/window.h"

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

/* ---- windows, of importers of this node ---------------------------------- */

/* Which window there is: the cell is written as long as requests may come. */
static void dd_access_number(struct dd_access *a, u32 number)
{
	struct dd_channel *ch = &a->chan;
	struct dd_import *imp = ch->importer;

	spin_lock(&ch->lock);
	if (!ch->dead)
		/* Release: a process that sees the number sees no spare page. */
		smp_store_release(&imp->cell->ring, number);
	spin_unlock(&ch->lock);
}

static void dd_access_show(struct dd_access *a)
{
	const struct dd_bytes *mem = &a->exp->seg.mem;
	void **pages = mem->region->pages + (mem->offset >> PAGE_SHIFT);

	dd_window_show(a->block, pages, false);
	if (a->cas)
		dd_window_show(a->cas, pages, false);
	a->open = true;
	/* 0 means that there is none. */
	a->shown += a->shown == U32_MAX ? 2 : 1;
	dd_access_number(a, a->shown);
}

/*
 * A process that still finds the number after it has stored, and executed a full barrier,
 * knows that its bytes are in the segment: they were stored before what follows.
 */
static void dd_access_hide(struct dd_access *a)
{
	a->open = false;
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
 * If they are to be hidden, no byte arrives by them any more when it returns.
 */
void dd_access_update(struct dd_access *a)
{
	const struct dd_segment *seg = &a->exp->seg;
	bool open = !seg->inhibit && seg->policy != DD_POLICY_ALWAYS;

	lockdep_assert_held(&a->exp->lock);
	if (!a->block || open == a->open)
		return;
	if (open)
		dd_access_show(a);
	else
		dd_access_hide(a);
}

/*
 * No byte arrives by a window any more. Exporter and importer may both end the access:
 * the second one waits here for the first one.
 */
static void dd_access_close(struct dd_access *a)
{
	mutex_lock(&a->exp->lock);
	a->closed = true;
	if (a->open)
		dd_access_hide(a);
	if (a->block)
		dd_window_revoke(a->block);
	if (a->cas)
		dd_window_revoke(a->cas);
	a->block = NULL;
	a->cas = NULL;
	mutex_unlock(&a->exp->lock);
}

/**
 * dd_access_revoke() - end the access of an importer
 * @a: the access, of which the caller holds a reference
 * @error: errno for the importer, if it has not ended before; or 0
 *
 * When it returns, no request or store reaches the segment, and none is being executed.
 */
void dd_access_revoke(struct dd_access *a, int error)
{
	struct dd_channel *ch = &a->chan;
	struct dd_list *list;
	u64 last;
	bool was;

	/* First: the other end relies on it when it finds the channel dead. */
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
		dd_area_free(&ctx->area, l->imp.unit, DD_IMPORT_UNITS);
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
	.end = dd_local_end,
	.release = dd_local_release,
};

static int dd_access_permitted(const struct dd_access *a, kuid_t uid)
{
	const struct dd_segment *seg = &a->exp->seg;

	if (!seg->whole_pages &&
	    !PAGE_ALIGNED(seg->mem.offset | seg->mem.length))
		return -EOPNOTSUPP;
	/* What can be written in a window can be read as well. */
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

/* Add windows that show nothing yet, unless there are some: then @block and @cas stay. */
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

/* Whether an import is of a segment of this node. */
bool dd_access_is(const struct dd_import *imp)
{
	return imp->obj.ops == &dd_local_import_ops;
}

/**
 * dd_access_direct() - serve DD_IOC_DIRECT for an import
 * @imp: the import, dd_access_is(), of which the caller holds a reference; its context is
 *	locked
 * @arg: as passed by user space; the results are filled in
 *
 * While the segment is inhibited, or notifies of each request, the windows show nothing.
 *
 * Return: 0 or an error documented in the uapi header.
 */
int dd_access_direct(struct dd_import *imp, struct dd_direct *arg)
{
	struct dd_access *a = &dd_local_import(&imp->obj)->a;
	const struct dd_bytes *mem = &a->exp->seg.mem;
	unsigned long n = PFN_UP(offset_in_page(mem->offset) + mem->length);
	unsigned int flags = a->chan.rights & DD_RIGHT_PUT ? 0 : DD_WINDOW_READONLY;
	struct dd_window *block, *cas = NULL;
	int err;

	if (arg->flags)
		return -EINVAL;
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
	if (block)
		dd_window_revoke(block);
	if (cas)
		dd_window_revoke(cas);
	return err;
}

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
	memset(cell, 0, sizeof(struct dd_import_cell));
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
	trace_dd_import(&l->imp, cell->node, arg->rights, arg->generation);
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

	err = dd_area_alloc_piece(&ctx->area, DD_IMPORT_UNITS, &imp->unit);
	if (err)
		return err;
	imp->cell = dd_area_unit(&ctx->area, imp->unit);
	imp->chan = &l->a.chan;
	imp->uid = current_euid();
	imp->gone = ESTALE;
	imp->size = exp->seg.mem.length;
	imp->window = exp->window;
	err = dd_access_grant(&l->a, exp, arg->rights, ctx->node->id);
	if (err)
		return err;
	l->a.chan.link = exp->seg.state ? &dd_link_redir : &dd_link_local;
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
 * dd_access_check_args() - check the argument of an import
 * @arg: argument of user space
 *
 * Return: 0 or %-EINVAL.
 */
int dd_access_check_args(const struct dd_import_make *arg)
{
	if (arg->flags || arg->cell_unit || arg->import || arg->length || arg->__reserved ||
	    arg->generation || !arg->rights || arg->rights & ~DD_RIGHTS ||
	    arg->depth > DD_DEPTH_MAX ||
	    arg->key_class < DD_SEGMENT_NAME || arg->key_class > DD_SEGMENT_WELL_KNOWN)
		return -EINVAL;
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
	struct dd_export *exp;
	int err;

	exp = dd_export_get(ctx->node, arg->key_class, arg->key);
	if (!exp)
		return -ECONNREFUSED;
	err = dd_local_open(ctx, exp, arg);
	dd_export_put(exp);
	return err;
}
