// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions: wired memory that the driver allocates and its owner maps.
 *
 * Pages are charged to the owner's locked_vm until they are freed: after the id, all
 * mappings, and all services, connections and requests that use them are gone. Pages
 * that a process has pinned, for example in a pipe, are freed later (page.c).
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "core/bounds.h"
#include "core/charge.h"
#include "core/ctx.h"
#include "core/page.h"
#include "core/region.h"
#include "core/track.h"

/* Returns the number of pages allocated. */
static unsigned long fill_pages(void **pages, unsigned long n)
{
	unsigned long i, end;
	void *page;

	for (i = 0; i < n;) {
		page = fatal_signal_pending(current) ? NULL :
						       dd_pages_alloc(n - i);
		if (!page)
			break;
		for (end = i + compound_nr(virt_to_page(page)); i < end; i++, page += PAGE_SIZE)
			pages[i] = page;
		cond_resched();
	}
	return i;
}

/**
 * dd_region_run() - find pages of one folio in a pinned region
 * @region: the region
 * @i: first page
 * @folio: (out) its folio
 *
 * Return: the end of the run of pages from @i on that belong to @folio.
 */
unsigned long dd_region_run(const struct dd_region *region, unsigned long i,
			    struct folio **folio)
{
	unsigned long end = i + 1;

	*folio = virt_to_folio(region->pages[i]);
	while (folio_test_large(*folio) && end < region->npages &&
	       virt_to_folio(region->pages[end]) == *folio)
		end++;
	return end;
}

/* A run of pages in a large folio has been unpinned. */
static void folio_drop(struct dd_ctx *ctx, struct folio *folio)
{
	unsigned long runs;

	mutex_lock(&ctx->folio_lock);
	runs = xa_to_value(xa_load(&ctx->folios, folio_pfn(folio)));
	/* Neither needs memory. */
	if (runs > 1) {
		xa_store(&ctx->folios, folio_pfn(folio), xa_mk_value(runs - 1), 0);
	} else {
		xa_erase(&ctx->folios, folio_pfn(folio));
		dd_uncharge(ctx, folio_nr_pages(folio) << PAGE_SHIFT);
	}
	mutex_unlock(&ctx->folio_lock);
}

/* Unpin and uncharge the pages that pin.c has pinned; a second call does nothing. */
static void region_unpin(struct dd_region *region)
{
	struct dd_ctx *ctx = region->obj.ctx;
	unsigned long i, end;
	struct folio *folio;
	struct page *page;

	for (i = 0; i < region->npages; i = end) {
		end = dd_region_run(region, i, &folio);
		if (folio_test_large(folio) && i < region->whole)
			folio_drop(ctx, folio);
		else
			dd_uncharge(ctx, (end - i) << PAGE_SHIFT);
		for (; i < end; i++) {
			page = virt_to_page(region->pages[i]);
			/* Other nodes and processes have written to them. */
			unpin_user_pages_dirty_lock(&page, 1, true);
			cond_resched();
		}
	}
	region->npages = 0;
}

/* Free a region that has no user; may sleep. */
static void region_destroy(struct dd_region *region)
{
	struct dd_ctx *ctx = region->obj.ctx;
	unsigned long i = 0;

#ifdef CONFIG_MMU_NOTIFIER
	if (region->kind == DD_REGION_WATCHED)
		mmu_interval_notifier_remove(&region->notifier);
#endif
	if (dd_region_pinned(region))
		region_unpin(region);
	while (i < region->npages) {
		i += dd_page_release(ctx, region->pages[i]);
		cond_resched();
	}
	kvfree(region->track);
	kvfree(region->pages);
	kfree_rcu(region, rcu);
	dd_ctx_put(ctx);
}

static void region_free_later(struct dd_later *later)
{
	region_destroy(container_of(later, struct dd_region, later));
}

/*
 * The memory is free, and no longer charged, on return: the caller may allocate next. But other
 * processes do not wait for changes of the owner's mapping, which may take as long as it likes.
 */
static void region_release(struct dd_obj *obj)
{
	struct dd_region *region = container_of(obj, struct dd_region, obj);

	if (region->kind == DD_REGION_WATCHED && current->mm != obj->ctx->mm) {
		region_unpin(region);
		dd_ctx_later(obj->ctx, &region->later);
	} else {
		region_destroy(region);
	}
}

/**
 * dd_region_put_later() - drop a reference in a context that may not sleep
 * @region: the region
 */
void dd_region_put_later(struct dd_region *region)
{
	if (refcount_dec_and_test(&region->obj.users))
		dd_ctx_later(region->obj.ctx, &region->later);
}

/**
 * dd_region_new() - allocate and charge a region without its pages
 * @ctx: the owner
 * @n: number of pages, at least 1
 *
 * Return: the region, to be completed by dd_region_publish() or freed by
 * dd_region_unnew(); or %-EDQUOT or %-ENOMEM as an error pointer.
 */
struct dd_region *dd_region_new(struct dd_ctx *ctx, unsigned long n)
{
	struct dd_region *region;
	int err;

	region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	if (!region)
		return ERR_PTR(-ENOMEM);
	err = dd_charge(ctx, n << PAGE_SHIFT);
	if (err)
		goto err_free;
	err = -ENOMEM;
	/* kvcalloc() warns about sizes above INT_MAX. */
	region->pages = kvcalloc(n, sizeof(*region->pages), DD_GFP);
	if (!region->pages)
		goto err_uncharge;
	region->npages = n;
	spin_lock_init(&region->lock);
	region->uses = RB_ROOT;
	region->later.free = region_free_later;
	dd_obj_init(&region->obj, ctx, &dd_region_ops);
	return region;

err_uncharge:
	dd_uncharge(ctx, n << PAGE_SHIFT);
err_free:
	kfree(region);
	return ERR_PTR(err);
}

/* Undo dd_region_new(); the region has got @n of its pages. */
void dd_region_unnew(struct dd_region *region, unsigned long n)
{
	dd_uncharge(region->obj.ctx, (region->npages - n) << PAGE_SHIFT);
	region->npages = n;
	region_destroy(region);
}

/**
 * dd_region_publish() - give a region its id
 * @region: the region, complete. Its reference passes to the table of ids; on an error
 *	it is dropped
 * @id: (out) its id
 * @offset: (out) where it can be mapped, in bytes; NULL if nowhere
 *
 * Another thread may free the region as soon as it is published.
 *
 * Return: 0; %-ESTALE; %-ENOMEM; %-ENOSPC.
 */
int dd_region_publish(struct dd_region *region, u32 *id, u64 *offset)
{
	struct dd_ctx *ctx = region->obj.ctx;
	int err;

	mutex_lock(&ctx->lock);
	err = ctx->dead ? -ESTALE : dd_obj_reserve(&region->obj);
	if (err)
		goto out;
	if (offset)
		err = dd_ctx_place(ctx, region->npages, &region->pgoff) ?:
		      xa_insert(&ctx->regions, region->pgoff, region, GFP_KERNEL);
	if (err) {
		dd_obj_unreserve(&region->obj);
		goto out;
	}
	*id = region->obj.id;
	if (offset)
		*offset = (u64)region->pgoff << PAGE_SHIFT;
	dd_obj_publish(&region->obj);
out:
	mutex_unlock(&ctx->lock);
	if (err)
		dd_region_put(region);
	return err;
}

/**
 * dd_region_alloc() - allocate wired, zeroed memory
 * @ctx: the owner
 * @arg: argument of user space; the results are filled in
 *
 * Return: 0 or an error; then nothing is allocated or charged.
 */
int dd_region_alloc(struct dd_ctx *ctx, struct dd_region_alloc *arg)
{
	struct dd_region *region;
	unsigned long n, done = 0;
	int err = -ENOMEM;

	if (arg->flags & ~DD_REGION_TRACK || arg->__reserved || !arg->length)
		return -EINVAL;
	if (arg->address && (!arg->flags || !PAGE_ALIGNED(arg->address)))
		return -EINVAL;
	/* Also prevents an overflow of the number of pages. */
	if (arg->length > (u64)totalram_pages() << PAGE_SHIFT)
		return -ENOMEM;
	n = PAGE_ALIGN(arg->length) >> PAGE_SHIFT;
	region = dd_region_new(ctx, n);
	if (IS_ERR(region))
		return PTR_ERR(region);
	if (arg->flags & DD_REGION_TRACK)
		region->track = dd_track_new(&ctx->stores, n);
	if (region->track || !(arg->flags & DD_REGION_TRACK))
		done = fill_pages(region->pages, n);
	if (done == n)
		err = arg->address ? dd_track_copy(arg->address, region->pages, n) : 0;
	if (err) {
		dd_region_unnew(region, done);
		return err;
	}
	arg->length = (u64)n << PAGE_SHIFT;
	return dd_region_publish(region, &arg->region, &arg->offset);
}

/* Remove the id and the mmap() offset of a region; its context is locked. */
static void region_end(struct dd_obj *obj)
{
	struct dd_region *region = container_of(obj, struct dd_region, obj);

	lockdep_assert_held(&obj->ctx->lock);
	if (!dd_obj_remove(obj))
		return;
	if (!dd_region_pinned(region))
		xa_erase(&obj->ctx->regions, region->pgoff);
	dd_obj_put(obj);
}

const struct dd_obj_ops dd_region_ops = {
	.stage = DD_STAGE_MEMORY,
	.end = region_end,
	.release = region_release,
};

/**
 * dd_region_free() - end a region
 * @ctx: the owner
 * @id: the region
 *
 * Its memory is free and no longer charged when this returns, unless something still
 * uses it: then the last user's end frees it.
 *
 * Return: 0; %-ENOENT; %-EBUSY if a service or connection is in it, or the driver has allocated
 * it and a segment or redirection is. Requests keep the memory, and segments pinned memory.
 */
int dd_region_free(struct dd_ctx *ctx, u32 id)
{
	struct dd_region *region = dd_obj_get(ctx, id, &dd_region_ops);
	bool busy;

	if (!region)
		return -ENOENT;
	mutex_lock(&ctx->lock);
	spin_lock(&region->lock);
	busy = !RB_EMPTY_ROOT(&region->uses) || (region->segments && !dd_region_pinned(region));
	region->freed |= !busy;
	spin_unlock(&region->lock);
	if (!busy)
		region_end(&region->obj);
	mutex_unlock(&ctx->lock);
	dd_region_put(region);
	return busy ? -EBUSY : 0;
}

/**
 * dd_region_use() - count a segment or redirection in a region
 * @region: the region; the caller holds a reference
 *
 * Return: true, and dd_region_unuse() must be called; false if dd_region_free() was faster.
 */
bool dd_region_use(struct dd_region *region)
{
	bool used;

	spin_lock(&region->lock);
	used = !region->freed;
	region->segments += used;
	spin_unlock(&region->lock);
	return used;
}

/* The segment or redirection has ended: its memory may be freed. */
void dd_region_unuse(struct dd_region *region)
{
	spin_lock(&region->lock);
	region->segments--;
	spin_unlock(&region->lock);
}

static void region_vm_open(struct vm_area_struct *vma)
{
	struct dd_region *region = vma->vm_private_data;

	refcount_inc(&region->obj.users);
}

static void region_vm_close(struct vm_area_struct *vma)
{
	struct dd_region *region = vma->vm_private_data;

	/* Mappings are not split. After mremap(), the address is not known. */
	if (region->start == vma->vm_start)
		WRITE_ONCE(region->start, 0);
	dd_region_put(region);
}

static vm_fault_t region_vm_fault(struct vm_fault *vmf)
{
	struct dd_region *region = vmf->vma->vm_private_data;
	unsigned long index = vmf->pgoff - region->pgoff;
	struct page *page;

	if (index >= region->npages)
		return VM_FAULT_SIGBUS;
	index = array_index_nospec(index, region->npages);
	page = virt_to_page(region->pages[index]);
	if (region->track)
		return dd_track_fault(region->track, vmf, index, page);
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct region_vm_ops = {
	.open = region_vm_open,
	.close = region_vm_close,
	.may_split = dd_vm_may_split,
	.fault = region_vm_fault,
};

/* For ptrace() and /proc/pid/mem, which cannot get such pages. */
static int track_vm_access(struct vm_area_struct *vma, unsigned long addr, void *buf, int len,
			   int write)
{
	struct dd_region *region = vma->vm_private_data;
	u64 off = addr - vma->vm_start;
	size_t left;
	void *mem = dd_region_addr(region, off, &left);

	if (write && !(vma->vm_flags & VM_WRITE))
		return -EACCES;
	return dd_track_access(region->track, region->pgoff, dd_region_index(region, off), mem, buf,
			       min_t(size_t, len, left), write);
}

static const struct vm_operations_struct track_vm_ops = {
	.open = region_vm_open,
	.close = region_vm_close,
	.may_split = dd_vm_may_split,
	.fault = region_vm_fault,
	.pfn_mkwrite = region_vm_fault,
	.access = track_vm_access,
};

/**
 * dd_region_mmap() - map a whole region
 * @ctx: the owner
 * @vma: the mapping; its offset identifies the region
 *
 * Return: 0, or %-EINVAL if offset and size do not match a region.
 */
int dd_region_mmap(struct dd_ctx *ctx, struct vm_area_struct *vma)
{
	struct dd_region *region;

	rcu_read_lock();
	region = xa_load(&ctx->regions, vma->vm_pgoff);
	if (region && !refcount_inc_not_zero(&region->obj.users))
		region = NULL;
	rcu_read_unlock();
	if (!region)
		return -EINVAL;
	if (vma_pages(vma) != region->npages) {
		dd_region_put(region);
		return -EINVAL;
	}
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
		     VM_MAYEXEC);
	vma->vm_private_data = region;
	WRITE_ONCE(region->start, vma->vm_start);
	vma->vm_ops = &region_vm_ops;
	if (region->track) {
		/* PFNMAP and IO prevent GUP: no page is written without a fault. */
		vm_flags_mod(vma, VM_PFNMAP | VM_IO, 0);
		vma->vm_ops = &track_vm_ops;
	}
	return 0;
}

/**
 * dd_region_dirty() - fetch which pages of a tracked region were stored to
 * @ctx: the owner
 * @arg: argument of user space
 *
 * Return: 0 or an error documented in the uapi header; then no page is reported.
 */
int dd_region_dirty(struct dd_ctx *ctx, const struct dd_region_dirty *arg)
{
	struct dd_region *region;
	int err;

	if (!arg->length || !PAGE_ALIGNED(arg->offset | arg->length))
		return -EINVAL;
	region = dd_obj_get(ctx, arg->region, &dd_region_ops);
	if (!region)
		return -ENOENT;
	if (!region->track)
		err = -EOPNOTSUPP;
	else if (!dd_in_bounds(arg->offset, arg->length, (u64)region->npages << PAGE_SHIFT))
		err = -ERANGE;
	else
		err = dd_track_fetch(region->track, ctx->windows.inode->i_mapping, region->pgoff,
				     arg->offset >> PAGE_SHIFT, arg->length >> PAGE_SHIFT,
				     u64_to_user_ptr(arg->bitmap));
	dd_region_put(region);
	return err;
}

/* The id of the first region at @pgoff or behind it that was stored to; or 0. */
static u32 region_stored(struct dd_ctx *ctx, unsigned long pgoff)
{
	struct dd_region *region;
	u32 id = 0;

	rcu_read_lock();
	region = xa_find(&ctx->regions, &pgoff, ULONG_MAX, DD_TRACK_STORED);
	if (region)
		id = region->obj.id;
	rcu_read_unlock();
	return id;
}

/**
 * dd_region_stored() - find a tracked region that was stored to
 * @ctx: the owner
 * @arg: argument of user space; @region is filled in
 *
 * Return: 0 or an error documented in the uapi header.
 */
int dd_region_stored(struct dd_ctx *ctx, struct dd_region_stored *arg)
{
	ktime_t now = ktime_get(), end = ktime_add_safe(now, min_t(u64, arg->timeout, KTIME_MAX));
	struct dd_stores *stores = &ctx->stores;
	struct dd_region *region;
	unsigned long pgoff = 0;
	u32 id, count;
	int ret;

	if (arg->region) {
		region = dd_obj_get(ctx, arg->region, &dd_region_ops);
		if (!region)
			return -ENOENT;
		pgoff = region->pgoff + 1;
		dd_region_put(region);
	}
	for (;;) {
		count = READ_ONCE(stores->count);
		/* Pairs with the lock of a store: a mark set before @count is seen below. */
		smp_rmb();
		id = region_stored(ctx, pgoff);
		if (id)
			break;
		if (now >= end)
			return arg->timeout ? -ETIMEDOUT : -EAGAIN;
		ret = wait_event_interruptible_hrtimeout(stores->wait,
							 READ_ONCE(stores->count) != count ||
							 READ_ONCE(ctx->dead), end - now);
		if (READ_ONCE(ctx->dead))
			return -ESTALE;
		if (ret == -ERESTARTSYS)
			return -EINTR;
		now = ktime_get();
	}
	arg->region = id;
	return 0;
}

/* Order of slices by pages; slices that share a page compare equal. */
static int slice_cmp(struct rb_node *new, const struct rb_node *old)
{
	const struct dd_bytes *a = rb_entry(new, struct dd_slice, node)->bytes;
	const struct dd_bytes *b = rb_entry(old, struct dd_slice, node)->bytes;

	if (PAGE_ALIGN(a->offset + a->length) <= b->offset)
		return -1;
	return PAGE_ALIGN(b->offset + b->length) <= a->offset;
}

static bool slice_insert(struct dd_slice *slice)
{
	struct dd_region *region = slice->bytes->region;
	struct rb_node *found;

	spin_lock(&region->lock);
	found = rb_find_add(&slice->node, &region->uses, slice_cmp);
	spin_unlock(&region->lock);
	return !found;
}

/**
 * dd_slice_get() - use part of a region for a service or connection
 * @ctx: context of the caller, locked
 * @buf: argument of user space
 * @empty_ok: accept an empty @buf
 * @slice: (out) the use; must not be moved
 * @bytes: (out) the part; must not be moved
 *
 * Return: 0; %-EINVAL if @buf is malformed, unaligned, not inside the region or overlaps
 * a slice in use; %-ENOENT if there is no such region; %-EOPNOTSUPP if it is pinned
 * memory.
 */
int dd_slice_get(struct dd_ctx *ctx, const struct dd_buf *buf, bool empty_ok,
		 struct dd_slice *slice, struct dd_bytes *bytes)
{
	struct dd_region *region;
	int err;

	lockdep_assert_held(&ctx->lock);
	if (buf->__reserved)
		return -EINVAL;
	if (!buf->region)
		return empty_ok && !buf->offset && !buf->length ? 0 : -EINVAL;
	if (!buf->length || !PAGE_ALIGNED(buf->offset))
		return -EINVAL;
	region = dd_obj_get(ctx, buf->region, &dd_region_ops);
	if (!region)
		return -ENOENT;
	/* The UDP link stores runs of pages at a time. */
	err = -EOPNOTSUPP;
	if (dd_region_pinned(region))
		goto err_put;
	err = -EINVAL;
	if (!dd_in_bounds(buf->offset, buf->length,
			  (u64)region->npages << PAGE_SHIFT))
		goto err_put;
	*bytes = (struct dd_bytes){ region, buf->offset, buf->length };
	slice->bytes = bytes;
	if (!slice_insert(slice))
		goto err_clear;
	return 0;

err_clear:
	slice->bytes = NULL;
	bytes->region = NULL;
err_put:
	dd_region_put(region);
	return err;
}

/* End the use of a slice if dd_slice_get() has succeeded. */
void dd_slice_put(struct dd_slice *slice)
{
	struct dd_region *region;

	if (!slice->bytes)
		return;
	region = slice->bytes->region;
	spin_lock(&region->lock);
	rb_erase(&slice->node, &region->uses);
	spin_unlock(&region->lock);
	slice->bytes->region = NULL;
	slice->bytes = NULL;
	dd_region_put(region);
}

void dd_bytes_describe(const struct dd_bytes *bytes, u64 offset, u64 length,
		       struct dd_buf *buf)
{
	*buf = (struct dd_buf){};
	if (!bytes->region)
		return;
	buf->region = bytes->region->obj.id;
	buf->offset = offset;
	buf->length = length;
}
