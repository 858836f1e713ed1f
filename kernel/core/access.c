// SPDX-License-Identifier: GPL-2.0-only
/*
 * Importers of exported segments. Exporter and importer may each end the access at any time:
 * the first one that finds the channel alive frees what the access reserves of the exporter.
 */
#include <linux/slab.h>

#include "core/access.h"
#include "core/charge.h"
#include "core/exported.h"
#include "core/hooks.h"
#include "core/import.h"
#include "core/notelist.h"
#include "core/trace.h"
#include "core/window.h"

/* Allocate what the exporter pays for: dd_access_exit() and dd_export_leave() free it. */
static int access_alloc(struct dd_access *a)
{
	struct dd_ctx *ctx = a->exp->obj.ctx;
	struct dd_export_left *left = dd_zalloc(ctx, sizeof(*left));

	if (IS_ERR(left))
		return PTR_ERR(left);
	a->member.left = left;
	return dd_credit_make(ctx, &a->credit, a->exp->window);
}

/* Reserve the exporter's slots for the notes of this importer. */
static int access_slots(struct dd_access *a)
{
	struct dd_export *exp = a->exp;
	struct dd_list *list = exp->seg.list;
	struct mem_cgroup *before;
	int err;

	if (!list)
		return 0;
	before = dd_owner_enter(exp->obj.ctx);
	err = access_alloc(a);
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
	dd_channel_open(&a->chan, a->member.id.rights, a->member.id.node);
	a->chan.credit = &a->credit;
	err = dd_export_admit(exp, &a->member);
	if (err)
		return err;
	err = access_slots(a);
	if (err)
		dd_export_leave(exp, &a->member, 0);
	return err;
}

/* Undo dd_access_grant(), if no dd_export_join() has succeeded. */
void dd_access_ungrant(struct dd_access *a)
{
	struct dd_export *exp = a->exp;

	if (exp->seg.list)
		dd_list_detach(exp->seg.list, dd_credit_slots(exp->window), 0);
	dd_export_leave(exp, &a->member, 0);
}

/* ---- windows, of importers of this node ---------------------------------- */

/*
 * Store in the importer's state the number of the windows that are shown, or 0 if none is shown.
 * Once the channel is dead, the connection state may belong to another object.
 */
static void access_number(struct dd_access *a, u32 number)
{
	struct dd_channel *ch = &a->chan;
	struct dd_import *imp = ch->importer;

	spin_lock(&ch->lock);
	if (!ch->dead)
		/* Release: a process that reads the number finds no spare page in the windows. */
		smp_store_release(&imp->cs->ring, number);
	spin_unlock(&ch->lock);
}

static void access_show(struct dd_access *a)
{
	const struct dd_bytes *mem = &a->exp->seg.mem;
	void **pages = mem->region->pages + (mem->offset >> PAGE_SHIFT);

	dd_window_show(a->block, pages);
	if (a->cas)
		dd_window_show(a->cas, pages);
	/* Skip 0, which means that no window is shown. */
	a->shown += a->shown == U32_MAX ? 2 : 1;
	access_number(a, a->shown);
}

/*
 * A process stores by a window, executes a full barrier, and reads the number again. If the
 * number has not changed, the bytes are in the segment, because this function clears the number
 * before it hides the windows.
 */
static void access_hide(struct dd_access *a)
{
	access_number(a, 0);
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
	bool open = !(seg->flags & DD_SEGMENT_INHIBITED) && seg->policy != DD_POLICY_ALWAYS;

	lockdep_assert_held(&a->exp->lock);
	if (!a->block || open == dd_window_shown(a->block))
		return;
	if (open)
		access_show(a);
	else
		access_hide(a);
}

static int access_permitted(const struct dd_access *a, kuid_t uid)
{
	const struct dd_segment *seg = &a->exp->seg;

	if (!(seg->flags & DD_SEGMENT_WHOLE_PAGES_OK) &&
	    !PAGE_ALIGNED(seg->mem.offset | seg->mem.length))
		return -EOPNOTSUPP;
	/* A window that can be written can be read as well. */
	if (seg->flags & (DD_SEGMENT_NODIRECT | DD_SEGMENT_REDIRECT) ||
	    !(a->chan.rights & DD_RIGHT_GET))
		return -EACCES;
	return uid_eq(uid, seg->uid) || seg->flags & DD_SEGMENT_DIRECT_ANY ? 0 : -EACCES;
}

/* Add the windows, which are hidden. If @a has windows, the caller keeps @block and @cas. */
static int access_join(struct dd_access *a, struct dd_window **block,
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
		arg->block = (u64)a->block->pgoff << PAGE_SHIFT;
		arg->block_size = (u64)a->block->npages << PAGE_SHIFT;
		arg->start = offset_in_page(a->exp->seg.mem.offset);
		arg->notes = a->cas ? (u64)a->cas->pgoff << PAGE_SHIFT : 0;
	}
	mutex_unlock(&a->exp->lock);
	return err;
}

/**
 * dd_access_direct() - let an importer of this node map its segment
 * @a: the access, which has been joined
 * @imp: the import, whose context is locked
 * @arg: (out) where the windows are
 *
 * While the segment is inhibited, or notifies of each request, the windows show nothing.
 *
 * Return: 0 or an error documented in the uapi header.
 */
int dd_access_direct(struct dd_access *a, struct dd_import *imp, struct dd_direct *arg)
{
	const struct dd_bytes *mem = &a->exp->seg.mem;
	unsigned long n = PFN_UP(offset_in_page(mem->offset) + mem->length);
	unsigned int flags = a->chan.rights & DD_RIGHT_PUT ? 0 : DD_WINDOW_READONLY;
	struct dd_window *block, *cas = NULL;
	int err = access_permitted(a, imp->uid);

	if (err)
		return err;
	block = dd_ctx_window(imp->obj.ctx, n, flags);
	if (IS_ERR(block))
		return PTR_ERR(block);
	if (a->chan.rights == DD_RIGHTS)
		cas = dd_ctx_window(imp->obj.ctx, n, DD_WINDOW_MARKED);
	if (IS_ERR(cas)) {
		err = PTR_ERR(cas);
		cas = NULL;
	} else {
		err = access_join(a, &block, &cas, arg);
	}
	dd_window_revoke(block);
	dd_window_revoke(cas);
	return err;
}

/*
 * Revoke the windows: afterwards no byte arrives by them. Exporter and importer may both end
 * the access: the second one waits here for the first one.
 */
static void access_close(struct dd_access *a)
{
	mutex_lock(&a->exp->lock);
	a->closed = true;
	if (a->block && dd_window_shown(a->block))
		access_hide(a);
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
	access_close(a);
	list = dd_channel_hold_list(ch);
	if (list)
		mutex_lock(&list->lock);
	spin_lock_bh(&ch->lock);
	was = ch->dead;
	if (!was) {
		if (list)
			dd_channel_revoke(ch, NULL);
		ch->dead = true;
	}
	spin_unlock_bh(&ch->lock);
	if (list)
		mutex_unlock(&list->lock);
	if (!was) {
		trace_dd_revoke(a->exp, ch->node, error);
		a->ops->revoked(a, error);
		last = list ? dd_credit_last(&a->credit) : 0;
		dd_export_leave(a->exp, &a->member, last);
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
