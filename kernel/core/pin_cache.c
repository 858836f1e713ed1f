// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pins of memory that requests have named by its address, kept for the next request.
 *
 * An entry is a region without id (dd_region_pin_watched()) of which the context keeps a
 * reference, and each request under way has another. A request uses it only while its pages
 * are what is mapped at the address (dd_region_look()), and then sends or stores the bytes of
 * these pages, whatever the process does with the address meanwhile.
 *
 * An entry leaves the cache when a page of it is unmapped or replaced, when the context ends,
 * when the user's limit is needed for other memory, or when there are too many. Whichever of
 * these claims it first (dd_spare_claim()) calls pin_free(), or has a worker call it.
 */
#include <linux/hugetlb.h>
#include <linux/interval_tree.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>

#include "compat/compat.h"
#include "core/charge.h"
#include "core/pin.h"
#include "core/pin_cache.h"
#include "core/region.h"
#include "core/spare.h"

#ifdef CONFIG_MMU_NOTIFIER

#define DD_PINS_MAX	1024	/* of a context: limits what a privileged user keeps */

/**
 * struct dd_pin - an entry
 * @node: addresses; in dd_spares.pins
 * @spare: in dd_spares.lru
 * @region: counted
 */
struct dd_pin {
	struct interval_tree_node node;
	struct dd_spare spare;
	struct dd_region *region;
};

/* Free an entry; the caller has claimed it. */
static void pin_free(struct dd_later *later)
{
	struct dd_pin *pin = container_of(later, struct dd_pin, spare.later);
	struct dd_spares *spares = &pin->region->obj.ctx->spares;

	spin_lock(&spares->lock);
	interval_tree_remove(&pin->node, &spares->pins);
	dd_spare_del(spares, &pin->spare);
	spin_unlock(&spares->lock);
	dd_region_put(pin->region);
	kfree(pin);
}

/* Remove the entry of a region, unless it was claimed. */
static void pin_forget(struct dd_region *region)
{
	struct dd_spare *spare = dd_spare_claim(&region->spare);

	if (spare)
		pin_free(&spare->later);
}

/* Find an entry that has all of [@first, @last], and get a reference to its region. */
static struct dd_region *pin_find(struct dd_spares *spares, unsigned long first,
				  unsigned long last)
{
	struct interval_tree_node *node;
	struct dd_region *region = NULL;
	struct dd_pin *pin;

	spin_lock(&spares->lock);
	for (node = interval_tree_iter_first(&spares->pins, first, last); node && !region;
	     node = interval_tree_iter_next(node, first, last)) {
		pin = container_of(node, struct dd_pin, node);
		if (node->start > first || node->last < last || !READ_ONCE(pin->region->spare))
			continue;
		region = pin->region;
		/* The entry, which is freed under the lock, holds a reference. */
		refcount_inc(&region->obj.users);
		list_move_tail(&pin->spare.entry, &spares->lru);
	}
	spin_unlock(&spares->lock);
	return region;
}

/* Keep a region for further requests, if there is room. The caller holds a reference. */
static void pin_keep(struct dd_ctx *ctx, struct dd_region *region)
{
	struct dd_spares *spares = &ctx->spares;
	struct dd_spare *oldest;
	struct dd_pin *pin;

	oldest = READ_ONCE(spares->count) < DD_PINS_MAX ? NULL : dd_spare_idle(ctx);
	if (oldest)
		oldest->later.free(&oldest->later);
	pin = kmalloc(sizeof(*pin), DD_GFP);
	if (!pin)
		return;
	pin->region = region;
	pin->node.start = region->start;
	pin->node.last = region->start + (region->npages << PAGE_SHIFT) - 1;
	pin->spare.users = &region->obj.users;
	pin->spare.pages = region->npages;
	pin->spare.claim = &region->spare;
	pin->spare.later.free = pin_free;
	if (!dd_spares_show(ctx))
		goto err_free;
	spin_lock(&spares->lock);
	/* dd_ctx.dead is set before dd_spares_end() looks at the list. */
	if (READ_ONCE(ctx->dead) || spares->count >= DD_PINS_MAX)
		goto err_unlock;
	refcount_inc(&region->obj.users);
	interval_tree_insert(&pin->node, &spares->pins);
	dd_spare_add(spares, &pin->spare);
	/* Pairs with the claim of pin_invalidate(): the caller looks at the mapping afterwards. */
	xchg(&region->spare, &pin->spare);
	spin_unlock(&spares->lock);
	return;

err_unlock:
	spin_unlock(&spares->lock);
err_free:
	kfree(pin);
}

/*
 * Whether pins, which need write access, change nothing of what the process sees in a mapping.
 * A write fault would break the sharing of a private mapping of a file, mark pages of files
 * dirty, and be reported by userfaultfd.
 */
static bool vma_suits(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_WRITE) || userfaultfd_armed(vma))
		return false;
	return vma_is_anonymous(vma) || is_vm_hugetlb_page(vma) ||
	       (vma->vm_flags & VM_SHARED && vma->vm_file &&
		file_inode(vma->vm_file)->i_sb->s_magic == TMPFS_MAGIC);
}

static bool source_suits(unsigned long first, unsigned long last)
{
	struct vm_area_struct *vma;
	bool suits = true;

	if (mmap_read_lock_killable(current->mm))
		return false;
	while (suits && first <= last) {
		vma = find_vma(current->mm, first);
		suits = vma && vma->vm_start <= first && vma_suits(vma);
		if (suits)
			first = vma->vm_end;
	}
	mmap_read_unlock(current->mm);
	return suits;
}

/**
 * dd_pin_cache_get() - pin memory for a request, or find that an earlier request has pinned it
 * @ctx: the caller
 * @address: user address
 * @len: bytes, at least 1; access_ok() was checked
 * @write: the request stores to the memory
 * @off: (out) offset of @address in the region
 *
 * May sleep; the caller holds no lock.
 *
 * Return: a region of the pages that are mapped there, with a reference for the caller; NULL if
 * they cannot be pinned, or, without @write, are better copied.
 */
struct dd_region *dd_pin_cache_get(struct dd_ctx *ctx, u64 address, u64 len, bool write,
				   u64 *off)
{
	unsigned long first = untagged_addr(address), last = first + len - 1;
	struct dd_region *region = pin_find(&ctx->spares, first, last);

	if (region && dd_region_look(region, address, len, write, off))
		return region;
	if (region) {
		pin_forget(region);
		dd_region_put(region);
	}
	if (!write && !source_suits(first, last))
		return NULL;
	region = dd_region_pin_watched(ctx, address, len);
	if (IS_ERR(region))
		return NULL;
	pin_keep(ctx, region);
	if (dd_region_look(region, address, len, write, off))
		return region;
	pin_forget(region);
	dd_region_put(region);
	return NULL;
}

/* ---- the kernel needs memory ---------------------------------------------------- */

static struct shrinker *pin_shrinker;

static unsigned long pins_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	return dd_spare_count() ?: SHRINK_EMPTY;
}

static unsigned long pins_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	return dd_spare_reclaim(sc->nr_to_scan, dd_ctx_later) ?: SHRINK_STOP;
}

int dd_pin_cache_init(void)
{
	struct shrinker *s = dd_shrinker_alloc("dd-pins");
	int err;

	if (!s)
		return -ENOMEM;
	s->count_objects = pins_count;
	s->scan_objects = pins_scan;
	s->seeks = DEFAULT_SEEKS;
	err = dd_shrinker_register(s, "dd-pins");
	if (err)
		kfree(s);
	else
		pin_shrinker = s;
	return err;
}

/* There are no contexts. */
void dd_pin_cache_exit(void)
{
	dd_shrinker_del(pin_shrinker);
}

#else
/* Nothing would report that memory was unmapped, and pins would keep it. */
struct dd_region *dd_pin_cache_get(struct dd_ctx *ctx, u64 address, u64 len, bool write,
				   u64 *off)
{
	return NULL;
}

int dd_pin_cache_init(void) { return 0; }
void dd_pin_cache_exit(void) { }
#endif
