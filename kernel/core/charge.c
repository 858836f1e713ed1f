// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accounting: memory that belongs to a context is charged to the locked_vm of its
 * user, limited by RLIMIT_MEMLOCK, and to the memory cgroup of its owner, whichever
 * process causes the allocation.
 */
#include <linux/capability.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>

#include "core/charge.h"
#include "core/credit.h"
#include "core/ctx.h"
#include "core/spare.h"

/*
 * The limit in pages. Calls of the owner update it; calls of other processes and of
 * kernel threads use the last value.
 */
static unsigned long dd_limit(struct dd_ctx *ctx)
{
	if (current->mm == ctx->mm)
		WRITE_ONCE(ctx->limit,
			   ns_capable_noaudit(&init_user_ns, CAP_IPC_LOCK) ?
			   ULONG_MAX : rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT);
	return READ_ONCE(ctx->limit);
}

/* Free the memory of dd_ctx_later(). */
void dd_reap_all(struct dd_ctx *ctx)
{
	struct dd_later *later, *next;

	llist_for_each_entry_safe(later, next, llist_del_all(&ctx->freed), node)
		later->free(later);
}

/* Like dd_reap_all(), or wait for a worker that has begun. The caller holds a reference. */
void dd_reap_now(struct dd_ctx *ctx)
{
	bool queued = cancel_work_sync(&ctx->free_work);

	/* Not queued: while that waited for a worker, queue_work() has failed for other memory. */
	dd_reap_all(ctx);
	/* The reference of the work; not the last one. */
	if (queued)
		refcount_dec(&ctx->ref);
}

/**
 * dd_reap() - free the memory of dd_ctx_later()
 * @ctx: the context, of which the caller holds a reference
 *
 * On return it is free and not charged, also if a worker has begun to free it. Freeing may wait
 * for threads of the owner, so in another process this does nothing.
 */
void dd_reap(struct dd_ctx *ctx)
{
	if (current->mm == ctx->mm)
		dd_reap_now(ctx);
}

/* Like dd_charge(), under a lock that dd_reap() takes: does not call that. */
int dd_charge_try(struct dd_ctx *ctx, size_t bytes)
{
	unsigned long now = atomic_long_add_return(bytes, &ctx->charged);
	unsigned long pages = PFN_UP(now) - PFN_UP(now - bytes);

	if (!pages)
		return 0;
	if (atomic_long_add_return(pages, &ctx->cred->user->locked_vm) <= dd_limit(ctx))
		return 0;
	dd_uncharge(ctx, bytes);
	return -EDQUOT;
}

/**
 * dd_charge() - charge memory to the user of a context
 * @ctx: context that owns the memory
 * @bytes: number of bytes; the sum of a context's charges is rounded up to pages
 *
 * Memory that the context has given up, and that a worker frees, does not count if the owner
 * calls. Nor does what contexts of the user keep only to save work.
 *
 * Return: 0, or %-EDQUOT if the user's RLIMIT_MEMLOCK would be exceeded.
 */
int dd_charge(struct dd_ctx *ctx, size_t bytes)
{
	int err;

	if (!dd_charge_try(ctx, bytes))
		return 0;
	dd_reap(ctx);
	while ((err = dd_charge_try(ctx, bytes)))
		if (bytes >> PAGE_SHIFT > READ_ONCE(ctx->limit) || !dd_spare_evict(ctx))
			break;
	return err;
}

void dd_uncharge(struct dd_ctx *ctx, size_t bytes)
{
	unsigned long now = atomic_long_sub_return(bytes, &ctx->charged);

	atomic_long_sub(PFN_UP(now + bytes) - PFN_UP(now), &ctx->cred->user->locked_vm);
}

/**
 * dd_zalloc() - allocate zeroed memory that is charged to the user of a context
 * @ctx: the context
 * @size: bytes
 *
 * Return: the memory, to be freed by dd_zfree(); %-EDQUOT or %-ENOMEM as an error pointer.
 */
void *dd_zalloc(struct dd_ctx *ctx, size_t size)
{
	void *p;

	if (dd_charge(ctx, size))
		return ERR_PTR(-EDQUOT);
	p = kzalloc(size, dd_gfp(ctx));
	if (p)
		return p;
	dd_uncharge(ctx, size);
	return ERR_PTR(-ENOMEM);
}

/**
 * dd_zfree() - free memory of dd_zalloc()
 * @ctx: the context that is charged
 * @p: the memory
 * @size: its bytes
 */
void dd_zfree(struct dd_ctx *ctx, void *p, size_t size)
{
	kfree(p);
	dd_uncharge(ctx, size);
}

/**
 * dd_charge_keep() - keep a charge for pages that outlive their context
 * @ctx: the context
 * @pages: number of pages
 *
 * Return: the charged user, for dd_charge_end().
 */
struct user_struct *dd_charge_keep(struct dd_ctx *ctx, unsigned long pages)
{
	/* Whole pages: the rounding of the other charges does not change. */
	atomic_long_sub(pages << PAGE_SHIFT, &ctx->charged);
	return get_uid(ctx->cred->user);
}

void dd_charge_end(struct user_struct *user, unsigned long pages)
{
	atomic_long_sub(pages, &user->locked_vm);
	free_uid(user);
}

/**
 * dd_gfp() - flags for allocations on behalf of a context
 * @ctx: the context
 *
 * Return: flags with which the allocation fails rather than have the OOM killer kill a
 * process of the owner's memory cgroup. Only the owner waits until memory was reclaimed.
 */
gfp_t dd_gfp(const struct dd_ctx *ctx)
{
	if (current->mm == ctx->mm)
		return DD_GFP;
	return GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN;
}

/**
 * dd_owner_enter() - charge allocations to the memory cgroup of a context's owner
 * @ctx: the context
 *
 * Return: the previous memory cgroup, for dd_owner_leave().
 */
struct mem_cgroup *dd_owner_enter(const struct dd_ctx *ctx)
{
	return set_active_memcg(get_mem_cgroup_from_mm(ctx->mm));
}

void dd_owner_leave(struct mem_cgroup *before)
{
	mem_cgroup_put(set_active_memcg(before));
}

/**
 * dd_credit_make() - initialise and charge a credit
 * @ctx: owner of the list
 * @c: (out) the credit
 * @window: unread notes allowed
 *
 * Return: 0, %-EDQUOT or %-ENOMEM.
 */
int dd_credit_make(struct dd_ctx *ctx, struct dd_credit *c, u32 window)
{
	int err = dd_charge(ctx, dd_credit_size(window));

	if (err)
		return err;
	err = dd_credit_init(c, window, dd_gfp(ctx));
	if (err)
		dd_uncharge(ctx, dd_credit_size(window));
	return err;
}

/* Undo dd_credit_make() if it has succeeded. */
void dd_credit_drop(struct dd_ctx *ctx, struct dd_credit *c)
{
	if (c->ends && c->ends != &c->one)
		dd_uncharge(ctx, dd_credit_size(c->window));
	dd_credit_exit(c);
}
