// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts, and the ids of their objects.
 *
 * A context ends with its address space (when the last mapping of its area is closed)
 * or with the last close of its file. A child that inherited the descriptor does not
 * keep it alive. The context ends once; afterwards only its memory remains. What it is
 * charged for is free when munmap() and close(), or the exit of the process, are over.
 */
#include <linux/compat.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "core/area.h"
#include "core/charge.h"
#include "core/ctx.h"
#include "core/ids.h"
#include "core/node.h"
#include "core/spare.h"
#include "core/window.h"

struct workqueue_struct *dd_wq;

static void ctx_end_work(struct work_struct *work)
{
	struct dd_ctx *ctx = container_of(work, struct dd_ctx, end_work);

	dd_ctx_end(ctx);
	dd_ctx_put(ctx);
}

static void ctx_free_work(struct work_struct *work)
{
	struct dd_ctx *ctx = container_of(work, struct dd_ctx, free_work);

	dd_reap_all(ctx);
	dd_ctx_put(ctx);
}

/**
 * dd_ctx_later() - free memory soon; callable in any context
 * @ctx: the context, of which another reference exists
 * @later: the memory
 */
void dd_ctx_later(struct dd_ctx *ctx, struct dd_later *later)
{
	dd_ctx_get(ctx);
	/* The caller that finds the list empty queues the work, which empties it. */
	if (!llist_add(&later->node, &ctx->freed) || !queue_work(dd_wq, &ctx->free_work))
		dd_ctx_put(ctx);
}

/**
 * dd_ctx_finish() - finish what a worker was to do for a context
 * @ctx: the context, not locked; the caller holds a reference
 *
 * Work that has not begun is done here, so this waits for a worker only while that frees
 * objects of @ctx. Like dd_reap(), nothing is done in another process than the owner, which
 * may be exiting.
 */
void dd_ctx_finish(struct dd_ctx *ctx)
{
	bool queued;

	if (current->mm != ctx->mm && task_tgid(current) != ctx->pid)
		return;
	queued = cancel_work_sync(&ctx->end_work);
	/*
	 * While the work is being cancelled, the last unmapping of the area cannot queue it.
	 * Pairs with queue_work(): either that succeeds, or @area_maps is seen below 0.
	 */
	smp_mb();
	if (atomic_read(&ctx->area_maps) < 0)
		dd_ctx_end(ctx);
	if (queued)
		dd_ctx_put(ctx);
	dd_reap_now(ctx);
}

static int ctx_insert(struct dd_ctx *ctx)
{
	struct dd_area_head *head = dd_area_unit(&ctx->area, 0);
	struct dd_node *node = ctx->node;
	int err;

	mutex_lock(&node->lock);
	ctx->serial = ++node->opened;
	err = xa_insert(&node->ctxs, ctx->serial, ctx, GFP_KERNEL);
	/* Under the lock of the node, which also updates existing heads. */
	head->magic = DD_AREA_MAGIC;
	head->version = DD_ABI_VERSION;
	head->flags = DD_AREA_NEED_WAKEUP;
	head->node = node->id;
	head->maxnodes = node->max;
	head->node_up = node->up;
	mutex_unlock(&node->lock);
	return err;
}

/**
 * dd_ctx_create() - create a context for the current process
 * @node: node of the process
 *
 * Return: the context, with one reference, or an error pointer.
 */
struct dd_ctx *dd_ctx_create(struct dd_node *node)
{
	struct dd_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	int err;

	if (!ctx)
		return ERR_PTR(-ENOMEM);
	err = dd_windows_init(&ctx->windows);
	if (err) {
		kfree(ctx);
		return ERR_PTR(err);
	}
	refcount_set(&ctx->ref, 1);
	mutex_init(&ctx->lock);
	dd_ids_init(&ctx->ids);
	xa_init_flags(&ctx->regions, XA_FLAGS_ACCOUNT);
	xa_init_flags(&ctx->folios, XA_FLAGS_ACCOUNT);
	mutex_init(&ctx->folio_lock);
	dd_spares_init(&ctx->spares);
	atomic_set(&ctx->area_maps, 0);
	ctx->next_pgoff = DD_AREA_SIZE >> PAGE_SHIFT;
	init_waitqueue_head(&ctx->wait);
	INIT_WORK(&ctx->end_work, ctx_end_work);
	init_llist_head(&ctx->freed);
	INIT_WORK(&ctx->free_work, ctx_free_work);
	ctx->mm = current->mm;
	mmgrab(ctx->mm);
	ctx->cred = get_current_cred();
	ctx->pid = get_pid(task_tgid(current));
	get_net(node->net);
	ctx->node = node;

	err = dd_area_init(&ctx->area);
	if (!err) {
		dd_stores_init(&ctx->stores, &ctx->regions,
			       &((struct dd_area_head *)dd_area_unit(&ctx->area, 0))->stores);
		err = ctx_insert(ctx);
	}
	if (!err)
		return ctx;
	dd_ctx_put(ctx);
	return ERR_PTR(err);
}

static void ctx_release(struct dd_ctx *ctx)
{
	WARN_ON_ONCE(!dd_ids_unused(&ctx->ids));
	xa_destroy(&ctx->ids.xa);
	xa_destroy(&ctx->regions);
	WARN_ON_ONCE(!xa_empty(&ctx->folios));
	dd_windows_exit(&ctx->windows);
	dd_area_exit(&ctx->area);
	WARN_ON_ONCE(atomic_long_read(&ctx->charged));
	put_net(ctx->node->net);
	put_pid(ctx->pid);
	put_cred(ctx->cred);
	mmdrop(ctx->mm);
	kfree(ctx);
}

void dd_ctx_put(struct dd_ctx *ctx)
{
	if (refcount_dec_and_test(&ctx->ref))
		ctx_release(ctx);
}

/**
 * dd_ctx_end() - end a context: release its objects and notify their peers
 * @ctx: the context; a second call waits for the first one
 */
void dd_ctx_end(struct dd_ctx *ctx)
{
	enum dd_stage stage;
	unsigned long index;
	struct dd_obj *obj;

	mutex_lock(&ctx->lock);
	if (!ctx->dead) {
		WRITE_ONCE(ctx->dead, true);
		for (stage = 0; stage < DD_STAGES; stage++)
			for (index = 0; (obj = dd_obj_next(ctx, &index, NULL));) {
				if (obj->ops->stage == stage)
					obj->ops->end(obj);
				dd_obj_put(obj);
				cond_resched();
			}
		dd_spares_end(ctx);
		mutex_lock(&ctx->node->lock);
		xa_erase(&ctx->node->ctxs, ctx->serial);
		mutex_unlock(&ctx->node->lock);
		dd_ctx_wake(ctx);
		/* For pollers that wait only for the end. */
		wake_up_interruptible_poll(&ctx->wait, EPOLLHUP | EPOLLERR);
		dd_stores_end(&ctx->stores);
		dd_area_close(&ctx->area);
	}
	mutex_unlock(&ctx->lock);
}

/**
 * dd_ctx_owned() - whether the process that has opened a context still exists
 * @ctx: the context
 *
 * A process that shares the address space may keep a context after its opener has exited or has
 * executed another program. The first thread of the opener may have exited before the others.
 */
bool dd_ctx_owned(const struct dd_ctx *ctx)
{
	struct task_struct *leader, *task;
	struct mm_struct *mm = NULL;

	rcu_read_lock();
	leader = pid_task(ctx->pid, PIDTYPE_TGID);
	if (leader)
		for_each_thread(leader, task) {
			/* All threads have the same, except those that have exited. */
			mm = READ_ONCE(task->mm);
			if (mm)
				break;
		}
	rcu_read_unlock();
	return mm == ctx->mm;
}

/**
 * dd_ctx_pid() - the process that has opened a context
 * @ctx: the context
 * @ns: namespace of the reader
 *
 * Return: its number in @ns; 0 if @ns does not see it, or if it has ended.
 */
u32 dd_ctx_pid(const struct dd_ctx *ctx, struct pid_namespace *ns)
{
	return dd_ctx_owned(ctx) ? pid_nr_ns(ctx->pid, ns) : 0;
}

/* Wake threads that wait for any list, or for a counter, of this context. */
void dd_ctx_wake(struct dd_ctx *ctx)
{
	if (wq_has_sleeper(&ctx->wait))
		wake_up_interruptible_poll(&ctx->wait, EPOLLIN | EPOLLRDNORM);
	if (READ_ONCE(ctx->fasync))
		kill_fasync(&ctx->fasync, SIGIO, POLL_IN);
}

/**
 * dd_ctx_place() - choose where memory of a context can be mapped
 * @ctx: the context, locked
 * @npages: number of pages
 * @pgoff: (out) mmap() offset, in pages, that nothing else gets
 *
 * Return: 0, or %-ENOSPC: a 32-bit caller must be able to pass the offset.
 */
int dd_ctx_place(struct dd_ctx *ctx, unsigned long npages, unsigned long *pgoff)
{
	unsigned long max = in_compat_syscall() ? U32_MAX : LONG_MAX;

	lockdep_assert_held(&ctx->lock);
	if (npages > max - ctx->next_pgoff)
		return -ENOSPC;
	*pgoff = ctx->next_pgoff;
	/* One page between, so that no mapping can span two. */
	ctx->next_pgoff += npages + 1;
	return 0;
}

/**
 * dd_ctx_window() - create a window that a context may map
 * @ctx: the context, locked and not dead; referenced until the window is revoked
 * @npages: number of pages
 * @flags: DD_WINDOW_*
 *
 * Return: as dd_window_create(), or %-ENOSPC.
 */
struct dd_window *dd_ctx_window(struct dd_ctx *ctx, unsigned long npages, unsigned int flags)
{
	unsigned long pgoff;
	int err = dd_ctx_place(ctx, npages, &pgoff);

	return err ? ERR_PTR(err) : dd_window_create(&ctx->windows, pgoff, npages, flags);
}

void dd_obj_init(struct dd_obj *obj, struct dd_ctx *ctx,
		 const struct dd_obj_ops *ops)
{
	obj->ctx = dd_ctx_get(ctx);
	obj->ops = ops;
	obj->endable = ops->endable;
	refcount_set(&obj->users, 1);
}

/**
 * dd_obj_reserve() - allocate an id for an object that is not visible yet
 * @obj: the object
 *
 * Return: 0, %-ENOMEM, or %-ENOSPC when all ids are in use.
 */
int dd_obj_reserve(struct dd_obj *obj)
{
	return dd_ids_reserve(&obj->ctx->ids, &obj->id, &obj->epoch,
			      dd_gfp(obj->ctx));
}

/* Remove the id of an object; true for the one caller that removed it. */
bool dd_obj_remove(struct dd_obj *obj)
{
	return xa_cmpxchg(&obj->ctx->ids.xa, obj->id, obj, NULL, 0) == obj;
}

/* Make an object with a reserved id visible; the table takes over a reference. */
void dd_obj_publish(struct dd_obj *obj)
{
	/* Needs no memory: the entry is reserved. */
	WARN_ON_ONCE(xa_err(xa_store(&obj->ctx->ids.xa, obj->id, obj, 0)));
}

/* Release the id of an object that was not published. */
void dd_obj_unreserve(struct dd_obj *obj)
{
	xa_release(&obj->ctx->ids.xa, obj->id);
}

/**
 * dd_obj_get() - get a reference to an object by its id
 * @ctx: the context
 * @id: id from user space
 * @ops: expected type
 *
 * Return: the object, or NULL. The caller drops the reference by dd_obj_put().
 */
void *dd_obj_get(struct dd_ctx *ctx, u32 id, const struct dd_obj_ops *ops)
{
	struct dd_obj *obj;

	rcu_read_lock();
	/* xa_store() publishes the initialised object. */
	obj = dd_ids_find(&ctx->ids, id);
	if (obj && (obj->ops != ops || !refcount_inc_not_zero(&obj->users)))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

/* Like dd_obj_get(), by serial; with @ops NULL of any type. */
void *dd_obj_get_serial(struct dd_ctx *ctx, u64 serial,
			const struct dd_obj_ops *ops)
{
	struct dd_obj *obj;

	rcu_read_lock();
	obj = dd_ids_find(&ctx->ids, lower_32_bits(serial));
	if (obj && (dd_obj_serial(obj) != serial || (ops && obj->ops != ops) ||
		    !refcount_inc_not_zero(&obj->users)))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

/**
 * dd_obj_end() - end an object that DD_IOC_END may end
 * @ctx: the context
 * @serial: serial from user space
 *
 * Return: 0, also if the object was ended meanwhile; %-ENOENT; %-EINTR, before or after the
 * end.
 */
int dd_obj_end(struct dd_ctx *ctx, u64 serial)
{
	struct dd_obj *obj = dd_obj_get_serial(ctx, serial, NULL);
	int err = -ENOENT;

	if (!obj)
		return -ENOENT;
	if (obj->endable) {
		err = obj->ops->drain ? obj->ops->drain(obj) : 0;
		if (!err) {
			mutex_lock(&ctx->lock);
			obj->ops->end(obj);
			mutex_unlock(&ctx->lock);
			err = obj->ops->finish ? obj->ops->finish(obj) : 0;
		}
	}
	dd_obj_put(obj);
	return err;
}

/**
 * dd_obj_next() - walk the objects of a context
 * @ctx: the context
 * @index: (in, out) index to continue at
 * @ops: type of the objects, or NULL for all
 *
 * Return: the next object, with a reference, or NULL at the end. Objects that are
 * created or removed during the walk may or may not be returned.
 */
void *dd_obj_next(struct dd_ctx *ctx, unsigned long *index,
		  const struct dd_obj_ops *ops)
{
	XA_STATE(xas, &ctx->ids.xa, *index);
	struct dd_obj *obj;

	rcu_read_lock();
	xas_for_each(&xas, obj, S32_MAX) {
		if (!xas_retry(&xas, obj) && (!ops || obj->ops == ops) &&
		    refcount_inc_not_zero(&obj->users))
			break;
	}
	rcu_read_unlock();
	*index = xas.xa_index + 1;
	return obj;
}
