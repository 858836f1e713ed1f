// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: pages of one process mapped into another.
 *
 * Pages are mapped by page frame number, so that they cannot be pinned, and only by
 * the fault handler. It checks under dd_windows.lock whether the window is shown, and
 * allocates nothing: mmap() has allocated the page tables. Revocation takes the lock
 * for writing and then unmaps all pages, so none is mapped again; later faults map a
 * spare page of the faulting process. Pages are unmapped by their offset in an inode
 * of its windows, without the mmap_lock of another process.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/nospec.h>
#include <linux/pseudo_fs.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <uapi/linux/dd_mem.h>

#include "compat/compat.h"
#include "core/page.h"
#include "core/window.h"

#define DD_FS_MAGIC	0x44446673

static struct vfsmount *mnt;

static int fs_init_context(struct fs_context *fc)
{
	return init_pseudo(fc, DD_FS_MAGIC) ? 0 : -ENOMEM;
}

/* No owner: the only mount is the module's own, undone when it is unloaded. */
static struct file_system_type dd_fs = {
	.name = "dd",
	.init_fs_context = fs_init_context,
	.kill_sb = kill_anon_super,
};

int dd_window_init(void)
{
	mnt = kern_mount(&dd_fs);
	return PTR_ERR_OR_ZERO(mnt);
}

void dd_window_exit(void)
{
	kern_unmount(mnt);
}

int dd_windows_init(struct dd_windows *ws)
{
	init_rwsem(&ws->lock);
	xa_init_flags(&ws->all, XA_FLAGS_ACCOUNT);
	ws->inode = alloc_anon_inode(mnt->mnt_sb);
	return PTR_ERR_OR_ZERO(ws->inode);
}

void dd_windows_exit(struct dd_windows *ws)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ws->spare); i++)
		if (ws->spare[i])
			dd_page_free(ws->spare[i]);
	xa_destroy(&ws->all);
	iput(ws->inode);
}

static void window_put(struct dd_window *win)
{
	if (refcount_dec_and_test(&win->ref))
		kfree_rcu(win, rcu);
}

/* The page that a window shows while it is hidden. */
static void *window_spare(struct dd_windows *ws, unsigned int flags)
{
	bool marked = flags & DD_WINDOW_MARKED;
	void **page = &ws->spare[marked];

	if (*page)
		return *page;
	*page = dd_page_alloc(GFP_KERNEL_ACCOUNT);
	if (*page && marked)
		memset64(*page, DD_DIRECT_GONE, PAGE_SIZE / sizeof(u64));
	return *page;
}

/**
 * dd_window_create() - create a window without pages
 * @ws: the windows of the process that may map it; no other thread creates one
 * @pgoff: offset where it can be mapped, in pages
 * @npages: number of pages that it will show
 * @flags: DD_WINDOW_*
 *
 * Return: the window, hidden until dd_window_show(), to be ended by
 * dd_window_revoke(); or %-ENOMEM as an error pointer.
 */
struct dd_window *dd_window_create(struct dd_windows *ws, unsigned long pgoff,
				   unsigned long npages, unsigned int flags)
{
	struct dd_window *win = kzalloc(sizeof(*win), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!win)
		return ERR_PTR(-ENOMEM);
	refcount_set(&win->ref, 1);
	win->windows = ws;
	win->pgoff = pgoff;
	win->npages = npages;
	win->flags = flags;
	win->spare = window_spare(ws, flags);
	if (win->spare)
		err = xa_insert(&ws->all, pgoff, win, GFP_KERNEL);
	if (!err)
		return win;
	kfree(win);
	return ERR_PTR(err);
}

static void window_unmap(const struct dd_window *win)
{
	unmap_mapping_range(win->windows->inode->i_mapping,
			    (loff_t)win->pgoff << PAGE_SHIFT,
			    (loff_t)win->npages << PAGE_SHIFT, 1);
}

/**
 * dd_window_show() - show pages in a window
 * @win: the window, hidden
 * @pages: addresses of its pages; array and pages stay valid until it is hidden or revoked
 *
 * On return no process has the spare page mapped there.
 */
void dd_window_show(struct dd_window *win, void **pages)
{
	down_write(&win->windows->lock);
	win->pages = pages;
	up_write(&win->windows->lock);
	window_unmap(win);
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
	/* A fault holds this from its look at @pages until the page is mapped. */
	down_write(&win->windows->lock);
	win->pages = NULL;
	up_write(&win->windows->lock);
	window_unmap(win);
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
	xa_erase(&win->windows->all, win->pgoff);
	window_put(win);
}

static void window_vm_open(struct vm_area_struct *vma)
{
	struct dd_window *win = vma->vm_private_data;

	refcount_inc(&win->ref);
	win->maps++;
}

static void window_vm_close(struct vm_area_struct *vma)
{
	struct dd_window *win = vma->vm_private_data;

	win->maps--;
	window_put(win);
}

static vm_fault_t window_vm_fault(struct vm_fault *vmf)
{
	struct dd_window *win = vmf->vma->vm_private_data;
	unsigned long index = vmf->pgoff - win->pgoff;
	struct dd_windows *ws = win->windows;
	vm_fault_t ret;
	void *page;

	if (index >= win->npages)
		return VM_FAULT_SIGBUS;
	index = array_index_nospec(index, win->npages);
	down_read(&ws->lock);
	page = win->pages ? win->pages[index] : win->spare;
	ret = vmf_insert_pfn(vmf->vma, vmf->address,
			     page_to_pfn(virt_to_page(page)));
	up_read(&ws->lock);
	return ret;
}

static struct dd_window *window_get(struct dd_windows *ws, unsigned long pgoff)
{
	struct dd_window *win;

	rcu_read_lock();
	win = xa_load(&ws->all, pgoff);
	if (win && !refcount_inc_not_zero(&win->ref))
		win = NULL;
	rcu_read_unlock();
	return win;
}

/*
 * Moving is refused: the new place has no page tables, see window_tables(). The
 * caller moves the entries back.
 */
static int window_vm_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct window_vm_ops = {
	.open = window_vm_open,
	.close = window_vm_close,
	.may_split = dd_vm_may_split,
	.mremap = window_vm_mremap,
	.fault = window_vm_fault,
};

/*
 * Allocate the page tables of a new mapping. The fault handler must not allocate: it
 * holds dd_windows.lock, which the other process needs to end its connection, and a
 * process over its memory.high sleeps when it allocates. The spare page is mapped
 * once in each table and unmapped; no thread can access the mapping yet.
 */
static int window_tables(const struct dd_window *win, struct vm_area_struct *vma)
{
	unsigned long pfn = page_to_pfn(virt_to_page(win->spare));
	unsigned long addr = vma->vm_start;

	do {
		if (vmf_insert_pfn(vma, addr, pfn) != VM_FAULT_NOPAGE)
			return -ENOMEM;
		zap_special_vma_range(vma, addr, PAGE_SIZE);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		addr = (addr & PMD_MASK) + PMD_SIZE;
	} while (addr < vma->vm_end);
	return 0;
}

/**
 * dd_window_mmap() - map a window, whole
 * @ws: the windows of the caller
 * @vma: the mapping, shared; its offset names the window
 *
 * A process that hides the window unmaps each mapping of it, hence the limit.
 *
 * Return: 0; %-EINVAL if @vma is not exactly a window; %-EACCES for write access to
 * a read-only window; %-ENOMEM, also if it is mapped %DD_WINDOW_MAPS times; %-EINTR if the
 * caller is killed.
 */
int dd_window_mmap(struct dd_windows *ws, struct vm_area_struct *vma)
{
	struct dd_window *win = window_get(ws, vma->vm_pgoff);
	int err = -EINVAL;

	if (!win)
		return -EINVAL;
	if (vma_pages(vma) != win->npages)
		goto err_put;
	err = -EACCES;
	if (win->flags & DD_WINDOW_READONLY && vma->vm_flags & VM_WRITE)
		goto err_put;
	err = -ENOMEM;
	if (win->maps == DD_WINDOW_MAPS)
		goto err_put;
	/* PFNMAP and IO prevent GUP, and so pinning; DONTCOPY excludes children. */
	vm_flags_mod(vma, VM_PFNMAP | VM_IO | VM_DONTCOPY | VM_DONTEXPAND |
		     VM_DONTDUMP,
		     VM_MAYEXEC | (win->flags & DD_WINDOW_READONLY ? VM_MAYWRITE : 0));
	err = window_tables(win, vma);
	if (err)
		goto err_put;
	win->maps++;
	vma->vm_private_data = win;
	vma->vm_ops = &window_vm_ops;
	return 0;

err_put:
	window_put(win);
	return err;
}
