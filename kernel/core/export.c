// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports: segments that processes of this node import by class and key.
 *
 * An export ends with DD_IOC_END or with its context. Then it is removed from the names,
 * and each importer's channel is revoked, one at a time: after that nothing reaches the
 * memory. Importers keep the memory of the structure only.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "compat/compat.h"
#include "core/access.h"
#include "core/area.h"
#include "core/bounds.h"
#include "core/export.h"
#include "core/hooks.h"
#include "core/notelist.h"
#include "core/region.h"
#include "core/registrar.h"
#include "core/trace.h"

static struct dd_access *export_finishing(struct dd_export *exp)
{
	struct dd_access *a;

	mutex_lock(&exp->lock);
	a = list_first_entry_or_null(&exp->finishing, struct dd_access, finishing);
	if (a)
		list_del(&a->finishing);
	mutex_unlock(&exp->lock);
	return a;
}

static void export_release(struct dd_obj *obj)
{
	struct dd_export *exp = container_of(obj, struct dd_export, obj);
	struct dd_access *a;

	while ((a = export_finishing(exp)))
		a->ops->put(a);
	dd_export_clear(exp);
	if (exp->registered)
		dd_registered_free(obj->ctx, exp->registered);
	if (exp->seg.list)
		dd_list_detach(exp->seg.list, 0, 0);
	if (exp->seg.mem.region)
		dd_region_put(exp->seg.mem.region);
	/* No channel is alive, so nothing is placed there any more. */
	if (exp->redir.mem.region)
		dd_region_put(exp->redir.mem.region);
	dd_area_free(&obj->ctx->area, exp->unit, 1);
	dd_export_mem_put(exp);
}

/* ---- export ------------------------------------------------------------- */

/* Check the key, or choose it. */
static int export_key(struct dd_export *exp, struct dd_segment_make *arg)
{
	struct dd_registered *registered;
	const u8 *key = arg->key;
	size_t used;
	u32 pid;

	switch (arg->key_class) {
	case DD_SEGMENT_NAME:
		return dd_name_ok(key, sizeof(arg->key)) ? 0 : -EINVAL;
	case DD_SEGMENT_REGISTERED:
		registered = dd_registered_new(exp->obj.ctx, arg, exp->seg.generation);
		if (IS_ERR(registered))
			return PTR_ERR(registered);
		exp->registered = registered;
		return 0;
	case DD_SEGMENT_ID:
		if (memchr_inv(key, 0, sizeof(arg->key)))
			return -EINVAL;
		put_unaligned_le64(exp->seg.generation, arg->key);
		return 0;
	case DD_SEGMENT_BUFFER:
		pid = dd_ctx_pid(exp->obj.ctx, exp->obj.ctx->node->pid_ns);
		if (!pid)
			return -ESRCH;
		if (get_unaligned_le32(key) != pid)
			return -EINVAL;
		used = 12;
		break;
	case DD_SEGMENT_WELL_KNOWN:
		if (key[0] >= DD_WELL_KNOWN_MAX)
			return -EINVAL;
		if (!ns_capable(exp->obj.ctx->node->net->user_ns, CAP_NET_ADMIN))
			return -EPERM;
		used = 1;
		break;
	default:
		return -EINVAL;
	}
	return memchr_inv(key + used, 0, sizeof(arg->key) - used) ? -EINVAL : 0;
}

static int export_check_args(const struct dd_segment_make *arg)
{
	if (arg->flags & ~DD_SEGMENT_FLAGS || arg->segment || arg->generation ||
	    arg->state_unit || arg->__reserved ||
	    !arg->length || (arg->offset | arg->length) & 3 ||
	    !arg->rights || arg->rights & ~DD_RIGHTS ||
	    arg->policy > DD_POLICY_NEVER || arg->permission > DD_PERMIT_LISTED ||
	    !arg->importers || arg->importers > DD_IMPORTERS_MAX)
		return -EINVAL;
	if (!arg->list)
		return arg->window > DD_DEPTH_MAX || arg->policy != DD_POLICY_NEVER ?
		       -EINVAL : 0;
	return arg->window && arg->window <= DD_WINDOW_MAX ? 0 : -EINVAL;
}

/* Take region and list, and publish; the context is locked. */
static int export_publish(struct dd_export *exp, struct dd_segment_make *arg)
{
	struct dd_ctx *ctx = exp->obj.ctx;
	struct dd_region *region;
	struct dd_list *list;
	int err;

	region = dd_obj_get(ctx, arg->region, &dd_region_ops);
	if (!region)
		return -ENOENT;
	exp->seg.mem = (struct dd_bytes){ region, arg->offset, arg->length };
	if (!dd_in_bounds(arg->offset, arg->length, (u64)region->npages << PAGE_SHIFT))
		return -ERANGE;
	if (arg->list) {
		/* Importers reserve their slots. */
		list = dd_list_attach(ctx, arg->list, true, 0, 0);
		if (IS_ERR(list))
			return PTR_ERR(list);
		exp->seg.list = list;
	}
	err = dd_obj_reserve(&exp->obj);
	if (err)
		return err;
	exp->seg.owner = dd_obj_serial(&exp->obj);
	exp->name.obj = &exp->obj;
	if (exp->registered) {
		exp->name.class = DD_SEGMENT_ID;
		put_unaligned_le64(exp->seg.generation, exp->name.key);
	} else {
		exp->name.class = arg->key_class;
		memcpy(exp->name.key, arg->key, sizeof(exp->name.key));
	}
	err = dd_name_add(ctx->node, &exp->name);
	if (err) {
		dd_obj_unreserve(&exp->obj);
		return err;
	}
	arg->state_unit = exp->unit;
	arg->segment = exp->seg.owner;
	arg->generation = exp->seg.generation;
	trace_dd_export(exp);
	/* It has an id, and the context is locked. */
	WARN_ON_ONCE(!dd_region_use(region));
	/* The table of ids takes over the reference. */
	dd_obj_publish(&exp->obj);
	dd_event(&exp->obj, true);
	return 0;
}

/* Give a segment that can be redirected its state. */
static int export_state(struct dd_export *exp)
{
	struct dd_area *area = &exp->obj.ctx->area;
	int err = dd_area_alloc(area, 1, &exp->unit);

	if (err)
		return err;
	exp->seg.state = dd_area_unit(area, exp->unit);
	*exp->seg.state = (struct dd_segment_state){};
	return 0;
}

/* Register a segment; end it if it is refused. */
static int export_register(struct dd_ctx *ctx, u64 segment)
{
	struct dd_export *exp = dd_obj_get_serial(ctx, segment, &dd_export_ops);
	int err;

	if (!exp)
		return -ESTALE;
	err = dd_registrar_add(ctx, exp->registered);
	dd_export_put(exp);
	if (err)
		dd_obj_end(ctx, segment);
	return err;
}

/**
 * dd_export_make() - export a segment
 * @ctx: the caller
 * @arg: argument of user space; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header; on error nothing has changed.
 */
int dd_export_make(struct dd_ctx *ctx, struct dd_segment_make *arg)
{
	struct dd_export *exp;
	int err;

	err = export_check_args(arg);
	if (err)
		return err;
	if (!READ_ONCE(ctx->node->up))
		return -ENETDOWN;
	exp = dd_export_alloc(ctx, &dd_export_ops, arg);
	if (IS_ERR(exp))
		return PTR_ERR(exp);
	err = export_key(exp, arg);
	if (!err && arg->flags & DD_SEGMENT_REDIRECT)
		err = export_state(exp);
	if (!err) {
		mutex_lock(&ctx->lock);
		err = ctx->dead ? -ESTALE : export_publish(exp, arg);
		mutex_unlock(&ctx->lock);
	}
	if (err)
		dd_export_put(exp);
	else if (arg->key_class == DD_SEGMENT_REGISTERED)
		err = export_register(ctx, arg->segment);
	return err;
}

/* ---- importers ---------------------------------------------------------- */

/* The importer of a channel, with a reference; or NULL. */
static struct dd_access *importer_get(struct dd_export *exp, u64 channel)
{
	struct dd_access *a, *found = NULL;

	mutex_lock(&exp->lock);
	list_for_each_entry(a, &exp->importers, member.entry)
		if (a->chan.id == channel && a->ops->get(a)) {
			found = a;
			break;
		}
	mutex_unlock(&exp->lock);
	return found;
}

/* Remove an importer from the list, so that each is visited once even if it is leaving. */
static struct dd_access *importer_pop(struct dd_export *exp)
{
	struct dd_access *a, *found = NULL;

	mutex_lock(&exp->lock);
	list_for_each_entry(a, &exp->importers, member.entry)
		/* One without references has revoked its channel itself. */
		if (a->ops->get(a)) {
			list_del_init(&a->member.entry);
			found = a;
			break;
		}
	mutex_unlock(&exp->lock);
	return found;
}

/* Keep the reference to one importer of each other node, for export_finish(). */
static bool export_keep(struct dd_export *exp, struct dd_access *a)
{
	bool keep = a->ops->finish;
	struct dd_access *other;

	mutex_lock(&exp->lock);
	list_for_each_entry(other, &exp->finishing, finishing)
		if (other->chan.node == a->chan.node)
			keep = false;
	if (keep)
		list_add_tail(&a->finishing, &exp->finishing);
	mutex_unlock(&exp->lock);
	return keep;
}

/* Revoke a segment. The caller holds a reference; its context is locked. */
static void export_end(struct dd_obj *obj)
{
	struct dd_export *exp = container_of(obj, struct dd_export, obj);
	struct dd_access *a;
	bool was;

	/* The end takes importers from the list: export_sync() would miss them. */
	mutex_lock(&exp->change);
	mutex_lock(&exp->lock);
	was = exp->dead;
	exp->dead = true;
	mutex_unlock(&exp->lock);
	mutex_unlock(&exp->change);
	if (was)
		return;
	dd_name_del(obj->ctx->node, &exp->name);
	while ((a = importer_pop(exp))) {
		dd_access_revoke(a, ESTALE);
		if (!export_keep(exp, a))
			a->ops->put(a);
		cond_resched();
	}
	/* No channel is alive, and the segment cannot be redirected any more. */
	dd_region_unuse(exp->seg.mem.region);
	if (exp->redir.mem.region)
		dd_region_unuse(exp->redir.mem.region);
	dd_event(obj, false);
	/* After the event, which reports the name. */
	if (exp->registered)
		dd_registrar_delete(obj->ctx, exp->registered);
	if (!WARN_ON_ONCE(!dd_obj_remove(obj)))
		dd_obj_put(obj);
}

/* Each node has been notified before the first wait. */
static int export_finish(struct dd_obj *obj)
{
	struct dd_export *exp = container_of(obj, struct dd_export, obj);
	ktime_t since = ktime_get();
	struct dd_access *a;
	int err = 0;

	while (!err && (a = export_finishing(exp))) {
		err = a->ops->finish(a, since);
		a->ops->put(a);
	}
	return err;
}

const struct dd_obj_ops dd_export_ops = {
	.stage = DD_STAGE_NAMES,
	.endable = true,
	.end = export_end,
	.finish = export_finish,
	.release = export_release,
};

/* ---- changes and reports ------------------------------------------------ */

/*
 * Wait for all requests that have seen the previous state, and show or hide the windows of
 * importers. The lock is released after each importer, so that others can join or leave. Each
 * one that has taken part is moved to the tail, where new ones are added: the others are in front
 * of them.
 */
static void export_sync(struct dd_export *exp)
{
	struct dd_access *a;

	lockdep_assert_held(&exp->change);
	lockdep_assert_held(&exp->lock);
	exp->changes++;
	for (;;) {
		a = list_first_entry_or_null(&exp->importers, struct dd_access, member.entry);
		if (!a || a->member.synced == exp->changes)
			return;
		a->member.synced = exp->changes;
		list_move_tail(&a->member.entry, &exp->importers);
		spin_lock_bh(&a->chan.lock);
		spin_unlock_bh(&a->chan.lock);
		dd_access_update(a);
		mutex_unlock(&exp->lock);
		cond_resched();
		mutex_lock(&exp->lock);
	}
}

static int export_change_grant(struct dd_export *exp, const struct dd_segment_ctl *arg)
{
	kuid_t uid = make_kuid(current_user_ns(), arg->uid);

	if (arg->value > READ_ONCE(exp->obj.ctx->node->max) || arg->rights & ~DD_RIGHTS ||
	    !uid_valid(uid))
		return -EINVAL;
	return arg->rights ? dd_export_grant(exp, arg->value, uid, arg->rights) :
			     dd_export_withdraw(exp, arg->value, uid);
}

/* End the redirection. Returns -ENOENT if there is none. */
static int export_redirect_end(struct dd_export *exp)
{
	struct dd_redir *redir = &exp->redir;
	struct dd_segment_state *state = exp->seg.state;

	if (!exp->seg.redir)
		return -ENOENT;
	WRITE_ONCE(exp->seg.redir, NULL);
	export_sync(exp);
	WRITE_ONCE(state->first, redir->first);
	WRITE_ONCE(state->count, redir->count);
	dd_region_unuse(redir->mem.region);
	/* Importers may wait for the lock. */
	dd_region_put_later(redir->mem.region);
	redir->mem.region = NULL;
	return 0;
}

static int export_redirect(struct dd_export *exp, const struct dd_segment_ctl *arg)
{
	struct dd_segment *seg = &exp->seg;
	struct dd_region *region;

	if (!seg->state)
		return -EOPNOTSUPP;
	if (!arg->length || (arg->value | arg->offset | arg->length) & 3)
		return -EINVAL;
	if (!dd_in_bounds(arg->value, arg->length, seg->mem.length))
		return -ERANGE;
	if (seg->redir && READ_ONCE(seg->redir->state) != DD_REDIR_OVER)
		return -EBUSY;
	region = dd_obj_get(exp->obj.ctx, arg->region, &dd_region_ops);
	if (!region)
		return -ENOENT;
	if (!dd_in_bounds(arg->offset, arg->length, (u64)region->npages << PAGE_SHIFT)) {
		dd_region_put_later(region);
		return -ERANGE;
	}
	if (!dd_region_use(region)) {
		dd_region_put_later(region);
		return -ENOENT;
	}
	export_redirect_end(exp);
	exp->redir = (struct dd_redir){
		.mem = { region, arg->offset, arg->length }, .at = arg->value };
	/* Release: publishes what is set above. */
	smp_store_release(&seg->redir, &exp->redir);
	return 0;
}

static int export_change(struct dd_export *exp, const struct dd_segment_ctl *arg)
{
	struct dd_segment *seg = &exp->seg;

	lockdep_assert_held(&exp->lock);
	/* Importers that are being revoked are not on the list any more. */
	if (exp->dead)
		return -ENOENT;
	switch (arg->what) {
	case DD_SEGMENT_INHIBIT:
		if (arg->value > 1)
			return -EINVAL;
		WRITE_ONCE(seg->flags, (seg->flags & ~DD_SEGMENT_INHIBITED) |
				       (arg->value ? DD_SEGMENT_INHIBITED : 0));
		break;
	case DD_SEGMENT_POLICY:
		if (arg->value > DD_POLICY_NEVER ||
		    (!seg->list && arg->value != DD_POLICY_NEVER))
			return -EINVAL;
		WRITE_ONCE(seg->policy, arg->value);
		break;
	case DD_SEGMENT_REDIRECT_TO:
		return export_redirect(exp, arg);
	case DD_SEGMENT_REDIRECT_END:
		return arg->value ? -EINVAL : export_redirect_end(exp);
	default:
		return -EINVAL;
	}
	export_sync(exp);
	return 0;
}

/* Whether all fields that the change does not use are zero. */
static bool export_ctl_ok(const struct dd_segment_ctl *arg)
{
	if (arg->what != DD_SEGMENT_GRANT && (arg->uid || arg->rights))
		return false;
	if (arg->what != DD_SEGMENT_REDIRECT_TO &&
	    (arg->region || arg->offset || arg->length))
		return false;
	return !arg->__reserved;
}

static int export_deny(struct dd_export *exp, u64 channel)
{
	struct dd_access *a = importer_get(exp, channel);

	if (!a)
		return -ENOENT;
	dd_access_revoke(a, ESTALE);
	a->ops->put(a);
	return 0;
}

/**
 * dd_export_ctl() - change a segment
 * @ctx: the caller
 * @arg: argument of user space
 *
 * Return: 0 or an error documented in the uapi header; on error nothing has changed.
 */
int dd_export_ctl(struct dd_ctx *ctx, const struct dd_segment_ctl *arg)
{
	struct dd_export *exp;
	int err;

	if (!export_ctl_ok(arg))
		return -EINVAL;
	exp = dd_obj_get_serial(ctx, arg->segment, &dd_export_ops);
	if (!exp)
		return -ENOENT;
	if (arg->what == DD_SEGMENT_DENY) {
		err = export_deny(exp, arg->value);
	} else if (arg->what == DD_SEGMENT_GRANT) {
		err = export_change_grant(exp, arg);
	} else {
		mutex_lock(&exp->change);
		mutex_lock(&exp->lock);
		err = export_change(exp, arg);
		mutex_unlock(&exp->lock);
		mutex_unlock(&exp->change);
	}
	dd_export_put(exp);
	return err;
}

static void export_describe(struct dd_export *exp, struct dd_importer *to, u32 max,
			    struct dd_segment_info *arg)
{
	struct dd_access *a;
	u32 n = 0;

	mutex_lock(&exp->lock);
	list_for_each_entry(a, &exp->importers, member.entry) {
		if (n == max)
			break;
		to[n] = (struct dd_importer){
			.channel = a->chan.id,
			.node = a->chan.node,
			.rights = a->chan.rights,
		};
		a->ops->describe(a, &to[n++]);
		cond_resched();
	}
	arg->count = n;
	arg->total = exp->places.count - exp->nleft;
	arg->inhibit = !!(exp->seg.flags & DD_SEGMENT_INHIBITED);
	arg->policy = exp->seg.policy;
	mutex_unlock(&exp->lock);
	arg->generation = exp->seg.generation;
	arg->length = exp->seg.mem.length;
	arg->refused_rights = atomic64_read(&exp->refused[DD_REFUSED_RIGHTS]);
	arg->refused_inhibit = atomic64_read(&exp->refused[DD_REFUSED_INHIBIT]);
	arg->refused_bounds = atomic64_read(&exp->refused[DD_REFUSED_BOUNDS]);
}

/**
 * dd_export_info() - describe a segment and its importers
 * @ctx: the caller
 * @arg: argument of user space; the results are filled in
 *
 * Return: 0; %-EINVAL; %-ENOENT; %-EFAULT; %-ENOMEM.
 */
int dd_export_info(struct dd_ctx *ctx, struct dd_segment_info *arg)
{
	struct dd_importer *importers = NULL;
	struct dd_export *exp;
	int err = 0;
	u32 max;

	if (arg->__reserved || !arg->count != !arg->importers)
		return -EINVAL;
	exp = dd_obj_get_serial(ctx, arg->segment, &dd_export_ops);
	if (!exp)
		return -ENOENT;
	max = min(arg->count, READ_ONCE(exp->places.count));
	if (max) {
		importers = kvcalloc(max, sizeof(*importers), GFP_KERNEL_ACCOUNT);
		err = importers ? 0 : -ENOMEM;
	}
	if (!err) {
		export_describe(exp, importers, max, arg);
		if (copy_to_user(u64_to_user_ptr(arg->importers), importers,
				 arg->count * sizeof(*importers)))
			err = -EFAULT;
	}
	kvfree(importers);
	dd_export_put(exp);
	return err;
}
