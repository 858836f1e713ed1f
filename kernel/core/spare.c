// SPDX-License-Identifier: GPL-2.0-only
/*
 * Charged memory that contexts keep only to save work. What nothing uses is freed, the one
 * that was used last at the end, when the user reaches its limit, when the kernel needs
 * memory, and with the context.
 *
 * A spare is freed by the one caller that claims it. A claim frees nothing by itself, so it is
 * possible in any context.
 */
#include <linux/sched/user.h>

#include "core/ctx.h"
#include "core/spare.h"

static DEFINE_SPINLOCK(dd_spares_lock);	/* protects the list; taken around dd_spares.lock */
static LIST_HEAD(dd_spares_all);
static atomic_long_t dd_spare_pages;

void dd_spares_init(struct dd_spares *spares)
{
	INIT_LIST_HEAD(&spares->entry);
	spin_lock_init(&spares->lock);
	INIT_LIST_HEAD(&spares->lru);
	spares->pins = RB_ROOT_CACHED;
}

/* Let others find what a context keeps; false if it has ended. */
bool dd_spares_show(struct dd_ctx *ctx)
{
	bool alive;

	spin_lock(&dd_spares_lock);
	alive = !READ_ONCE(ctx->dead);
	if (alive && list_empty(&ctx->spares.entry))
		list_add_tail(&ctx->spares.entry, &dd_spares_all);
	spin_unlock(&dd_spares_lock);
	return alive;
}

void dd_spare_add(struct dd_spares *spares, struct dd_spare *spare)
{
	lockdep_assert_held(&spares->lock);
	list_add_tail(&spare->entry, &spares->lru);
	WRITE_ONCE(spares->count, spares->count + 1);
	atomic_long_add(spare->pages, &dd_spare_pages);
}

void dd_spare_del(struct dd_spares *spares, struct dd_spare *spare)
{
	lockdep_assert_held(&spares->lock);
	list_del(&spare->entry);
	WRITE_ONCE(spares->count, spares->count - 1);
	atomic_long_sub(spare->pages, &dd_spare_pages);
}

/* Claim what was not used for the longest time: nothing uses it, or @any. */
static struct dd_spare *spare_pick(struct dd_spares *spares, bool any)
{
	struct dd_spare *spare, *found = NULL;

	spin_lock(&spares->lock);
	list_for_each_entry(spare, &spares->lru, entry) {
		/* A use takes its reference under the lock. */
		if (any || refcount_read(spare->users) == 1)
			found = dd_spare_claim(spare->claim);
		if (found)
			break;
	}
	spin_unlock(&spares->lock);
	return found;
}

/* Claim what a context has not used for the longest time; NULL if all is in use. */
struct dd_spare *dd_spare_idle(struct dd_ctx *ctx)
{
	return spare_pick(&ctx->spares, false);
}

/* The context has ended: free what it has. */
void dd_spares_end(struct dd_ctx *ctx)
{
	struct dd_spare *spare;

	spin_lock(&dd_spares_lock);
	list_del_init(&ctx->spares.entry);
	spin_unlock(&dd_spares_lock);
	while ((spare = spare_pick(&ctx->spares, true)))
		spare->later.free(&spare->later);
}

/**
 * dd_spare_evict() - free memory that a context of the same user keeps only to save work
 * @ctx: the context that needs memory; its own is freed before that of others
 *
 * May sleep, under any mutex of dd but dd_ctx.folio_lock; waits for no other process.
 *
 * Return: whether there was any.
 */
bool dd_spare_evict(struct dd_ctx *ctx)
{
	struct dd_spare *spare = dd_spare_idle(ctx);
	struct dd_ctx *other;

	might_sleep();
	if (!spare) {
		spin_lock(&dd_spares_lock);
		/* Those on the list live: a context leaves it before it is released. */
		list_for_each_entry(other, &dd_spares_all, spares.entry) {
			if (other->cred->user == ctx->cred->user)
				spare = dd_spare_idle(other);
			if (spare)
				break;
		}
		spin_unlock(&dd_spares_lock);
	}
	if (spare)
		spare->later.free(&spare->later);
	return spare;
}

/* Pages that contexts keep. */
unsigned long dd_spare_count(void)
{
	return atomic_long_read(&dd_spare_pages);
}

/**
 * dd_spare_reclaim() - give up memory that nothing uses, where the caller may not sleep
 * @pages: how much
 * @later: dd_ctx_later()
 *
 * Return: pages that will be freed.
 */
unsigned long dd_spare_reclaim(unsigned long pages,
			       void (*later)(struct dd_ctx *ctx, struct dd_later *later))
{
	unsigned long claimed = 0;
	struct dd_spare *spare;
	struct dd_ctx *ctx;

	spin_lock(&dd_spares_lock);
	list_for_each_entry(ctx, &dd_spares_all, spares.entry)
		while (claimed < pages && (spare = dd_spare_idle(ctx))) {
			claimed += spare->pages;
			later(ctx, &spare->later);
		}
	spin_unlock(&dd_spares_lock);
	return claimed;
}
