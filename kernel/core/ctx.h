/* SPDX-License-Identifier: GPL-2.0-only */
/* Contexts, each one open of /dev/dd, and their objects: ctx.c. */
#ifndef _DD_CTX_H
#define _DD_CTX_H

#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "core/area.h"
#include "core/hooks.h"
#include "core/ids.h"
#include "core/track.h"
#include "core/window.h"

struct pid_namespace;

/**
 * struct dd_spares - charged memory that a context keeps only to save work (spare.c)
 * @entry: in the list of the contexts that may have some
 * @lock: protects what follows; innermost
 * @lru: struct dd_spare, the one that was used last at the end
 * @count: entries in @lru
 * @pins: by address, of pins.c
 */
struct dd_spares {
	struct list_head entry;
	spinlock_t lock;	/* protects lru, count, pins */
	struct list_head lru;
	unsigned int count;
	struct rb_root_cached pins;
};

/**
 * struct dd_obj - common part of all objects with an id
 * @ctx: context that owns it; counted in dd_ctx.ref
 * @id: handle in user space; may be reused for another object of the context
 * @epoch: with @id the object's serial, which is never reused within the context
 * @users: held by the id table and by each call that uses the object; @ops->release()
 *	runs when the last one is dropped
 * @endable: DD_IOC_END may end it; @ops->endable, or changed under dd_ctx.lock
 * @ops: its type
 *
 * The memory is freed by RCU, so that look-ups under rcu_read_lock() may read it.
 */
struct dd_obj {
	struct dd_ctx *ctx;
	u32 id;
	u32 epoch;
	refcount_t users;
	bool endable;
	const struct dd_obj_ops *ops;
};

/**
 * struct dd_ctx - one open of /dev/dd
 * @ref: held by the file and by every object; memory only
 * @node: network namespace of the opener, with a reference
 * @mm: address space of the opener, with a reference to its structure; only compared
 * @charged: bytes charged for this context
 * @limit: RLIMIT_MEMLOCK of the owner in pages, as of its last call that was charged
 * @cred: credentials of the opener, whose locked_vm is charged
 * @pid: thread group of the opener
 * @lock: protects creation and destruction of objects; taken before the locks of objects
 *	and dd_area.lock; user memory is not accessed under it
 * @dead: set under @lock when the context ends; nothing is created afterwards
 * @ids: ids of its objects
 * @area: memory shared with the owner
 * @area_maps: mappings of the area in @mm; the context ends with the last one, and then
 *	this is below 0
 * @next_pgoff: next unused mmap() offset, in pages; under @lock
 * @windows: windows that @mm may map; all mappings of this context are those of its inode
 * @regions: pgoff to struct dd_region
 * @folios: page frame number of each large folio that pinned regions keep, to the number of
 *	runs of their pages in it
 * @folio_lock: protects @folios; innermost of the mutexes
 * @spares: charged memory that it keeps only to save work
 * @stores: stores to tracked regions
 * @ring_pages: pages of @area used by direct rings
 * @wait: woken by every note and by advancing counters
 * @fasync: processes that get SIGIO
 * @serial: index in dd_node.ctxs; counts up and is never reused
 * @end_work: ends the context when its address space is gone
 * @freed: struct dd_later of the memory that @free_work frees
 * @free_work: frees what was given up where the caller may not sleep
 */
struct dd_ctx {
	refcount_t ref;
	struct dd_node *node;
	struct mm_struct *mm;
	atomic_long_t charged;
	unsigned long limit;
	const struct cred *cred;
	struct pid *pid;
	struct mutex lock;	/* protects creation and destruction */
	bool dead;
	struct dd_ids ids;
	struct dd_area area;
	atomic_t area_maps;
	unsigned long next_pgoff;
	struct dd_windows windows;
	struct xarray regions;
	struct xarray folios;
	struct mutex folio_lock;	/* protects folios */
	struct dd_spares spares;
	struct dd_stores stores;
	atomic_t ring_pages;
	wait_queue_head_t wait;
	struct fasync_struct *fasync;
	unsigned long serial;
	struct work_struct end_work;
	struct llist_head freed;
	struct work_struct free_work;
};

/**
 * struct dd_later - memory of a context that is freed where the caller may sleep
 * @node: in dd_ctx.freed
 * @free: frees it
 */
struct dd_later {
	struct llist_node node;
	void (*free)(struct dd_later *later);
};

struct dd_ctx *dd_ctx_create(struct dd_node *node);
void dd_ctx_put(struct dd_ctx *ctx);
void dd_ctx_end(struct dd_ctx *ctx);
void dd_ctx_later(struct dd_ctx *ctx, struct dd_later *later);
void dd_ctx_finish(struct dd_ctx *ctx);
void dd_ctx_wake(struct dd_ctx *ctx);
int dd_ctx_place(struct dd_ctx *ctx, unsigned long npages, unsigned long *pgoff);
struct dd_window *dd_ctx_window(struct dd_ctx *ctx, unsigned long npages, unsigned int flags);

bool dd_ctx_owned(const struct dd_ctx *ctx);
u32 dd_ctx_pid(const struct dd_ctx *ctx, struct pid_namespace *ns);

static inline struct dd_ctx *dd_ctx_get(struct dd_ctx *ctx)
{
	refcount_inc(&ctx->ref);
	return ctx;
}

/* Whether the current process may use @ctx: 0, or -ESTALE. */
static inline int dd_ctx_check(const struct dd_ctx *ctx)
{
	return current->mm == ctx->mm && !READ_ONCE(ctx->dead) ? 0 : -ESTALE;
}

void dd_obj_init(struct dd_obj *obj, struct dd_ctx *ctx,
		 const struct dd_obj_ops *ops);
int dd_obj_reserve(struct dd_obj *obj);
void dd_obj_publish(struct dd_obj *obj);
void dd_obj_unreserve(struct dd_obj *obj);
bool dd_obj_remove(struct dd_obj *obj);

/* Identifies an object within its context; never reused. */
static inline u64 dd_obj_serial(const struct dd_obj *obj)
{
	return (u64)obj->epoch << 32 | obj->id;
}

int dd_obj_end(struct dd_ctx *ctx, u64 serial);
void *dd_obj_get(struct dd_ctx *ctx, u32 id, const struct dd_obj_ops *ops);
void *dd_obj_get_serial(struct dd_ctx *ctx, u64 serial,
			const struct dd_obj_ops *ops);
void *dd_obj_next(struct dd_ctx *ctx, unsigned long *index,
		  const struct dd_obj_ops *ops);

/* Drop a reference. */
static inline void dd_obj_put(struct dd_obj *obj)
{
	if (refcount_dec_and_test(&obj->users))
		obj->ops->release(obj);
}

extern struct workqueue_struct *dd_wq;

#endif /* _DD_CTX_H */
