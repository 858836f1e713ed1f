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
 * @dead: revoked: faults map the scratch page of @ctx; under
 *	dd_ctx.window_lock
 * @pages: addresses of the pages, valid while it is not dead
 * @rcu: delays freeing for look-ups
 * @own: storage for @pages, if no other object keeps the array
 */
struct dd_window {
	struct kref ref;
	struct dd_ctx *ctx;
	unsigned long pgoff;
	unsigned long npages;
	bool readonly;
	bool dead;
	void **pages;
	struct rcu_head rcu;
	void *own[];
};

int dd_window_init(void);
void dd_window_exit(void);
int dd_window_ctx_init(struct dd_ctx *ctx);
void dd_window_ctx_exit(struct dd_ctx *ctx);
struct dd_window *dd_window_create(struct dd_ctx *ctx, unsigned long npages,
				   bool own, bool readonly);
void dd_window_show(struct dd_window *win, void **pages, bool own);
void dd_window_revoke(struct dd_window *win);
int dd_window_mmap(struct dd_ctx *ctx, struct vm_area_struct *vma);

#endif /* _DD_WINDOW_H */
