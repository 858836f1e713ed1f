// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: pages of one context mapped into the process of another.
 *
 * Pages are mapped by page frame number, so that they cannot be pinned, and only by
 * the fault handler. It checks under window_lock whether the window is alive, and
 * allocates nothing: mmap() has allocated the page tables. Revocation takes the lock
 * for writing and then unmaps all pages, so none is mapped again; later faults map a
 * spare page of the faulting context. Pages are unmapped by their offset in an inode
 * of the context, without the mmap_lock of another process.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/nospec.h>
#include <linux/pseudo_fs.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <uapi/linux/dd_mem.h>

#include "compat/compat.h"
#include "core/ctx.h"
#include "core/page.h"
#include "core/window.h"

#define DD_FS_MAGIC	0x44446673

static struct vfsmount *dd_mnt;

static int dd_fs_init_context(struct fs_context *fc)
{
	return init_pseudo(fc, DD_FS_MAGIC) ? 0 : -ENOMEM;
}

/* No owner: the only mount is the module's own, undone when it is unloaded. */
static struct file_system_type dd_fs = {
	.name = "dd",
	.init_fs_context = dd_fs_init_context,
	.kill_sb = kill_anon_super,
};

int dd_window_init(void)
{
	dd_mnt = kern_mount(&dd_fs);
	return PTR_ERR_OR_ZERO(dd_mnt);
}

void dd_window_exit(void)
{
	kern_unmount(dd_mnt);
}

int dd_window_ctx_init(struct dd_ctx *ctx)
{
	init_rwsem(&ctx->window_lock);
	xa_init_flags(&ctx->windows, XA_FLAGS_ACCOUNT);
	ctx->inode = alloc_anon_inode(dd_mnt->mnt_sb);
	return PTR_ERR_OR_ZERO(ctx->inode);
}

void dd_window_ctx_exit(struct dd_ctx *ctx)
{
	if (ctx->scratch)
		dd_page_free(ctx->scratch);
	if (ctx->marked)
		dd_page_free(ctx->marked);
	xa_destroy(&ctx->windows);
	iput(ctx->inode);
}

static void dd_window_free(struct kref *ref)
{
	struct dd_window *win = container_of(ref, struct dd_window, ref);

	dd_ctx_put(win->ctx);
	kfree_rcu(win, rcu);
}

static void dd_window_put(struct dd_window *win)
{
	kref_put(&win->ref, dd_window_free);
}

/* The page that dead windows of a context show, allocated with the first of them. */
static void *dd_window_spare(struct dd_ctx *ctx, bool marked)
{
	void **page = marked ? &ctx->marked : &ctx->scratch;

	if (*page)
		return *page;
	*page = dd_page_alloc(GFP_KERNEL_ACCOUNT);
	if (*page && marked)
		memset64(*page, DD_DIRECT_GONE, PAGE_SIZE / sizeof(u64));
	return *page;
}

/**
 * dd_window_create() - create a window without pages
 * @ctx: the context that may map it, locked and not dead
 * @npages: number of pages that it will show
 * @flags: DD_WINDOW_*
 *
 * Return: the window, dead until dd_window_show(), to be ended by
 * dd_window_revoke(); or an error pointer.
 */
struct dd_window *dd_window_create(struct dd_ctx *ctx, unsigned long npages,
				   unsigned int flags)
{
	unsigned long max = in_compat_syscall() ? U32_MAX : LONG_MAX;
	struct dd_window *win;
	int err = -ENOSPC;

	lockdep_assert_held(&ctx->lock);
	if (npages > max - ctx->next_pgoff)
		return ERR_PTR(-ENOSPC);
	win = kzalloc(sizeof(*win), GFP_KERNEL_ACCOUNT);
	if (!win)
		return ERR_PTR(-ENOMEM);
	err = -ENOMEM;
	win->spare = dd_window_spare(ctx, flags & DD_WINDOW_MARKED);
	if (!win->spare)
		goto err_free;
	kref_init(&win->ref);
	win->pgoff = ctx->next_pgoff;
	win->npages = npages;
	win->readonly = flags & DD_WINDOW_READONLY;
	win->dead = true;
	win->ctx = dd_ctx_get(ctx);
	err = xa_insert(&ctx->windows, win->pgoff, win, GFP_KERNEL);
	if (err)
		goto err_put;
	ctx->next_pgoff += npages + 1;
	return win;

err_put:
	dd_ctx_put(ctx);
err_free:
	kfree(win);
	return ERR_PTR(err);
}

static void dd_window_unmap(const struct dd_window *win)
{
	unmap_mapping_range(win->ctx->inode->i_mapping,
			    (loff_t)win->pgoff << PAGE_SHIFT,
			    (loff_t)win->npages << PAGE_SHIFT, 1);
}

/**
 * dd_window_show() - show pages in a window
 * @win: the window, dead
 * @pages: addresses of its pages; array and pages stay valid until it is hidden or revoked
 *
 * On return no process has the spare page mapped there.
 */
void dd_window_show(struct dd_window *win, void **pages)
{
	down_write(&win->ctx->window_lock);
	win->pages = pages;
	win->dead = false;
	up_write(&win->ctx->window_lock);
	dd_window_unmap(win);
}

/**
 * dd_window_hide() - undo dd_window_show()
 * @win: the window
 *
 * On return its pages are mapped in no process and no CPU has a translation for
 * them, so they may be reused.
 */
void dd_window_hide(struct dd_window *win)
{
	/* A fault holds this from its check of @dead until the page is mapped. */
	down_write(&win->ctx->window_lock);
	win->dead = true;
	up_write(&win->ctx->window_lock);
	dd_window_unmap(win);
}

/**
 * dd_window_revoke() - hide a window forever
 * @win: the window, or NULL; the caller's reference is dropped
 */
void dd_window_revoke(struct dd_window *win)
{
	if (!win)
		return;
	dd_window_hide(win);
	xa_erase(&win->ctx->windows, win->pgoff);
	dd_window_put(win);
}

static void dd_window_vm_open(struct vm_area_struct *vma)
{
	struct dd_window *win = vma->vm_private_data;

	kref_get(&win->ref);
	win->maps++;
}

static void dd_window_vm_close(struct vm_area_struct *vma)
{
	struct dd_window *win = vma->vm_private_data;

	win->maps--;
	dd_window_put(win);
}

static vm_fault_t dd_window_vm_fault(struct vm_fault *vmf)
{
	struct dd_window *win = vmf->vma->vm_private_data;
	unsigned long index = vmf->pgoff - win->pgoff;
	struct dd_ctx *ctx = win->ctx;
	vm_fault_t ret;
	void *page;

	if (index >= win->npages)
		return VM_FAULT_SIGBUS;
	index = array_index_nospec(index, win->npages);
	down_read(&ctx->window_lock);
	page = win->dead ? win->spare : win->pages[index];
	ret = vmf_insert_pfn(vmf->vma, vmf->address,
			     page_to_pfn(virt_to_page(page)));
	up_read(&ctx->window_lock);
	return ret;
}

static struct dd_window *dd_window_get(struct dd_ctx *ctx, unsigned long pgoff)
{
	struct dd_window *win;

	rcu_read_lock();
	win = xa_load(&ctx->windows, pgoff);
	if (win && !kref_get_unless_zero(&win->ref))
		win = NULL;
	rcu_read_unlock();
	return win;
}

/*
 * Moving is refused: the new place has no page tables, see dd_window_tables(). The
 * caller moves the entries back.
 */
static int dd_window_vm_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct dd_window_vm_ops = {
	.open = dd_window_vm_open,
	.close = dd_window_vm_close,
	.may_split = dd_vm_may_split,
	.mremap = dd_window_vm_mremap,
	.fault = dd_window_vm_fault,
};

/*
 * Allocate the page tables of a new mapping. The fault handler must not allocate: it
 * holds @window_lock, which the other process needs to end its connection, and a
 * process over its memory.high sleeps when it allocates. The spare page is mapped
 * once in each table and unmapped; no thread can access the mapping yet.
 */
static int dd_window_tables(const struct dd_window *win,
			    struct vm_area_struct *vma)
{
	unsigned long pfn = page_to_pfn(virt_to_page(win->spare));
	unsigned long addr = vma->vm_start;

	do {
		if (vmf_insert_pfn(vma, addr, pfn) != VM_FAULT_NOPAGE)
			return -ENOMEM;
		zap_vma_ptes(vma, addr, PAGE_SIZE);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		addr = (addr & PMD_MASK) + PMD_SIZE;
	} while (addr < vma->vm_end);
	return 0;
}

/**
 * dd_window_mmap() - map a window, whole
 * @ctx: the caller's context
 * @vma: the mapping, shared; its offset names the window
 *
 * A process that hides the window unmaps each mapping of it, hence the limit.
 *
 * Return: 0; %-EINVAL if @vma is not exactly a window; %-EACCES for write access to
 * a read-only window; %-ENOMEM, also if it is mapped %DD_WINDOW_MAPS times; %-EINTR if the
 * caller is killed.
 */
int dd_window_mmap(struct dd_ctx *ctx, struct vm_area_struct *vma)
{
	struct dd_window *win = dd_window_get(ctx, vma->vm_pgoff);
	int err = -EINVAL;

	if (!win)
		return -EINVAL;
	if (vma_pages(vma) != win->npages)
		goto err_put;
	err = -EACCES;
	if (win->readonly && vma->vm_flags & VM_WRITE)
		goto err_put;
	err = -ENOMEM;
	if (win->maps == DD_WINDOW_MAPS)
		goto err_put;
	/* PFNMAP and IO prevent GUP, and so pinning; DONTCOPY excludes children. */
	vm_flags_mod(vma, VM_PFNMAP | VM_IO | VM_DONTCOPY | VM_DONTEXPAND |
		     VM_DONTDUMP,
		     VM_MAYEXEC | (win->readonly ? VM_MAYWRITE : 0));
	err = dd_window_tables(win, vma);
	if (err)
		goto err_put;
	win->maps++;
	vma->vm_private_data = win;
	vma->vm_ops = &dd_window_vm_ops;
	return 0;

err_put:
	dd_window_put(win);
	return err;
}
