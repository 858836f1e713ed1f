/* SPDX-License-Identifier: GPL-2.0-only */
/* Windows, in which a process sees memory of another process: window.c. */
#ifndef _DD_WINDOW_H
#define _DD_WINDOW_H

#include <linux/kref.h>
#include <linux/types.h>

struct dd_ctx;
struct vm_area_struct;

/**
 * struct dd_window - pages that a context may map
 * @ref: held by the creator and by each mapping
 * @ctx: the context that may map it, of which a reference is held
 * @pgoff: offset in the device where it is mapped, in pages
 * @npages: number of pages
 * @readonly: write access is refused
 * @maps: mappings, at most %DD_WINDOW_MAPS; under the mmap_lock of the process that owns @ctx
 * @dead: hidden or revoked: faults map @spare; under dd_ctx.window_lock
 * @spare: a page of @ctx
 * @pages: addresses of the pages, valid while it is not dead
 * @rcu: delays freeing for look-ups
 */
struct dd_window {
	struct kref ref;
	struct dd_ctx *ctx;
	unsigned long pgoff;
	unsigned long npages;
	u32 maps;
	bool readonly;
	bool dead;
	void *spare;
	void **pages;
	struct rcu_head rcu;
};

/* Mappings of a window at a time. */
#define DD_WINDOW_MAPS		8

#define DD_WINDOW_READONLY	0x1	/* write access is refused */
#define DD_WINDOW_MARKED	0x2	/* while it is dead, words are DD_DIRECT_GONE */

int dd_window_init(void);
void dd_window_exit(void);
int dd_window_ctx_init(struct dd_ctx *ctx);
void dd_window_ctx_exit(struct dd_ctx *ctx);
struct dd_window *dd_window_create(struct dd_ctx *ctx, unsigned long npages,
				   unsigned int flags);
void dd_window_show(struct dd_window *win, void **pages);
void dd_window_hide(struct dd_window *win);
void dd_window_revoke(struct dd_window *win);
int dd_window_mmap(struct dd_ctx *ctx, struct vm_area_struct *vma);

#endif /* _DD_WINDOW_H */
