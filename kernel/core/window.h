/* SPDX-License-Identifier: GPL-2.0-only */
/* Windows, in which a process sees memory of another process: window.c. */
#ifndef _DD_WINDOW_H
#define _DD_WINDOW_H

#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct inode;
struct vm_area_struct;

/**
 * struct dd_windows - the windows that a process may map
 * @inode: its mapping holds the mappings of all windows, by whose offset they are unmapped
 * @all: pgoff to struct dd_window
 * @lock: protects dd_window.pages; held for reading, inside mmap_lock, while pages of a window
 *	are mapped
 * @spare: pages that hidden windows show, [1] with DD_WINDOW_MARKED; allocated with the first
 *	such window
 */
struct dd_windows {
	struct inode *inode;
	struct xarray all;
	struct rw_semaphore lock;	/* protects dd_window.pages */
	void *spare[2];
};

/**
 * struct dd_window - pages that a process may map
 * @ref: held by the creator and by each mapping
 * @maps: mappings, at most %DD_WINDOW_MAPS; under the mmap_lock of the process
 * @flags: DD_WINDOW_*
 * @windows: of the process that may map it. Valid: the creator refers to it until it has revoked
 *	the window, and each mapping does by its file
 * @pgoff: offset in the device where it is mapped, in pages
 * @npages: number of pages
 * @spare: of dd_windows.spare
 * @pages: addresses of the pages; NULL if it is hidden or revoked: faults map @spare
 * @rcu: delays freeing for look-ups
 */
struct dd_window {
	refcount_t ref;
	u16 maps;
	u16 flags;
	struct dd_windows *windows;
	unsigned long pgoff;
	unsigned long npages;
	void *spare;
	void **pages;
	struct rcu_head rcu;
};

/* Mappings of a window at a time. */
#define DD_WINDOW_MAPS		8

#define DD_WINDOW_READONLY	0x1	/* write access is refused */
#define DD_WINDOW_MARKED	0x2	/* while it is hidden, words are DD_DIRECT_GONE */

int dd_window_init(void);
void dd_window_exit(void);
int dd_windows_init(struct dd_windows *ws);
void dd_windows_exit(struct dd_windows *ws);
struct dd_window *dd_window_create(struct dd_windows *ws, unsigned long pgoff,
				   unsigned long npages, unsigned int flags);
void dd_window_show(struct dd_window *win, void **pages);
void dd_window_hide(struct dd_window *win);
void dd_window_revoke(struct dd_window *win);
int dd_window_mmap(struct dd_windows *ws, struct vm_area_struct *vma);

/* Whether a window is shown; the caller excludes its changes. */
static inline bool dd_window_shown(const struct dd_window *win)
{
	return win->pages;
}

#endif /* _DD_WINDOW_H */
