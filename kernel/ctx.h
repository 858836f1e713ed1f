/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where everything lives: nodes, contexts with their ids and areas, regions.
 */
#ifndef _DD_CTX_H
#define _DD_CTX_H

#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/rhashtable-types.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <uapi/linux/dd.h>

#include "bounds.h"
#include "compat/compat.h"

#define DD_COPY_CHUNK		(64u << 10)	/* bytes copied under a lock */
#define DD_PACKET_SIZE		DD_COPY_CHUNK	/* of the local link */
#define DD_LEN_MAX		((u64)INT_MAX)	/* a message, as DDP's int */
#define DD_AREA_CHUNKS		128
#define DD_CHUNK_PAGES		512
#define DD_PAGE_UNITS		(PAGE_SIZE / DD_UNIT)
#define DD_AREA_UNITS		(DD_AREA_SIZE / DD_UNIT)

struct dd_ctx;
struct dd_peer_link_ops;
struct mem_cgroup;
struct dd_service;

/* ---- node.c: one network namespace ------------------------------------ */

/**
 * enum dd_stat - counters of a node
 * @DD_STAT_OPS: work requests executed
 * @DD_STAT_BYTES: bytes deposited
 * @DD_STAT_NOTES: notes posted
 * @DD_STAT_WITHHELD: notes that had to wait for their reader
 * @DD_STAT_WAKEUPS: times a sleeper was woken
 * @DD_STAT_REFUSED: work requests refused
 * @DD_STAT_CONNECTS: connections made
 * @DD_STAT_CLOSES: connections ended
 * @DD_STAT_STRANGERS: skbs from addresses that are no peer's
 * @DD_STAT_BAD_SUMS: skbs with a wrong UDP checksum
 * @DD_STAT_DIRECT: messages sent without the kernel, by their senders' account,
 *	on connections that are over
 * @DD_STAT_NO_ROOM: skbs that a socket had no room for
 * @DD_STAT_MAX: number of counters
 */
enum dd_stat {
	DD_STAT_OPS,
	DD_STAT_BYTES,
	DD_STAT_NOTES,
	DD_STAT_WITHHELD,
	DD_STAT_WAKEUPS,
	DD_STAT_REFUSED,
	DD_STAT_CONNECTS,
	DD_STAT_CLOSES,
	DD_STAT_STRANGERS,
	DD_STAT_BAD_SUMS,
	DD_STAT_DIRECT,
	DD_STAT_NO_ROOM,
	DD_STAT_MAX
};

struct dd_stats {
	u64 v[DD_STAT_MAX];
};

/**
 * struct dd_node - a network namespace as a node of the cluster
 * @net: the namespace; this lives in it
 * @lock: protects @ctxs, @opened, and changes of @id, @max, @port and @up
 * @id: node number, below @max; changes of this, @max and @port also take
 *	@peer_lock
 * @max: number of nodes
 * @port: UDP port; changes only while there are no peers
 * @up: whether this node serves
 * @services: by name; inserted and removed under the service's lock
 * @ctxs: every context by dd_ctx.serial
 * @opened: serial of the last context
 * @stats: per CPU, without a lock
 * @peer_lock: protects changes of @peers and of peers' configuration; taken
 *	before @lock
 * @peers: other nodes by number; looked up under RCU
 * @peers_open: peers can be added; under @peer_lock
 * @peer_link: how they are reached, or NULL; set before there is any
 */
struct dd_node {
	struct net *net;
	struct mutex lock;	/* of @ctxs; for changes of the rest */
	u32 id;
	u32 max;
	u16 port;
	bool up;
	struct rhashtable services;
	struct xarray ctxs;
	unsigned long opened;
	struct dd_stats __percpu *stats;
	struct mutex peer_lock;	/* of changes of @peers */
	struct xarray peers;
	bool peers_open;
	const struct dd_peer_link_ops *peer_link;
};

/**
 * struct dd_node_change - what is to change of a node; NULL leaves it
 * @id: see struct dd_node
 * @max: see there
 * @port: see there
 * @up: see there
 */
struct dd_node_change {
	const u32 *id;
	const u32 *max;
	const u16 *port;
	const bool *up;
};

/**
 * struct dd_refusal - why a configuration cannot be
 * @text: constant: what is wrong, and what to do
 * @attr: attribute that is to blame, DD_A_*, or 0
 */
struct dd_refusal {
	const char *text;
	int attr;
};

/* Refuse with @err; for use in a return statement. */
static inline int dd_refuse(struct dd_refusal *why, int err, int attr,
			    const char *text)
{
	why->text = text;
	why->attr = attr;
	return err;
}

int dd_node_init(void);
void dd_node_exit(void);
struct dd_node *dd_node_of(const struct net *net);
int dd_node_set(struct dd_node *node, const struct dd_node_change *change,
		struct dd_refusal *why);
struct dd_ctx *dd_node_ctx(struct dd_node *node, unsigned long from);
void dd_node_stats(struct dd_node *node, struct dd_stats *sum);
int dd_node_service_add(struct dd_node *node, struct dd_service *svc);
void dd_node_service_del(struct dd_node *node, struct dd_service *svc);
struct dd_service *dd_node_service_get(struct dd_node *node, const u8 *name);

#define dd_stat_add(node, stat, n) \
	this_cpu_add((node)->stats->v[stat], n)
#define dd_stat_inc(node, stat)	dd_stat_add(node, stat, 1)

/* ---- page.c ----------------------------------------------------------- */

void *dd_page_alloc(gfp_t gfp);
void *dd_pages_alloc(unsigned long n, unsigned long *got);
unsigned long dd_page_free(void *page);
unsigned long dd_page_release(struct dd_ctx *ctx, void *addr);
void dd_page_exit(void);

/* Bytes from @p on in the pages that dd_pages_alloc() has given as one. */
static inline size_t dd_page_left(const void *p)
{
	struct page *page = virt_to_head_page(p);

	return page_address(page) + page_size(page) - p;
}

/* ---- charge.c: who pays ----------------------------------------------- */

int dd_charge(struct dd_ctx *ctx, size_t bytes);
void dd_uncharge(struct dd_ctx *ctx, size_t bytes);
struct user_struct *dd_charge_keep(struct dd_ctx *ctx, unsigned long pages);
void dd_charge_end(struct user_struct *user, unsigned long pages);
gfp_t dd_gfp(const struct dd_ctx *ctx);
struct mem_cgroup *dd_owner_enter(const struct dd_ctx *ctx);
void dd_owner_leave(struct mem_cgroup *before);

/* ---- area.c: memory shared with the owner of a context ---------------- */

/**
 * struct dd_area - pages in use of a context's area
 * @lock: protects allocation: @map, @bits, @hint
 * @map: a bit for each unit in use
 * @bits: length of @map
 * @hint: where to look first
 * @chunks: addresses of pages, by DD_CHUNK_PAGES; published with release,
 *	never removed before the context is freed, and so read without a lock
 */
struct dd_area {
	struct mutex lock;	/* of allocation */
	unsigned long *map;
	unsigned int bits;
	unsigned int hint;
	void **chunks[DD_AREA_CHUNKS];
};

int dd_area_init(struct dd_area *area);
void dd_area_exit(struct dd_area *area);
int dd_area_alloc(struct dd_area *area, u32 units, u32 *unit);
int dd_area_alloc_pages(struct dd_area *area, u32 pages, u32 *unit);
int dd_area_alloc_room(struct dd_area *area, u32 units, u32 room, u32 *unit);
int dd_area_extend(struct dd_area *area, u32 unit, u32 units, u32 more);
void dd_area_free(struct dd_area *area, u32 unit, u32 units);
struct page *dd_area_page(struct dd_area *area, unsigned long index);

/* The kernel's address of an allocated unit. */
static inline void *dd_area_unit(const struct dd_area *area, u32 unit)
{
	u32 index = unit / DD_PAGE_UNITS;

	return area->chunks[index / DD_CHUNK_PAGES][index % DD_CHUNK_PAGES] +
	       unit % DD_PAGE_UNITS * DD_UNIT;
}

/* ---- ctx.c: one open of the device, and ids --------------------------- */

/**
 * struct dd_ids - objects of a context by their ids
 * @xa: id to object, from 1 to %S32_MAX; look-ups under RCU
 * @lock: one allocation at a time: __xa_alloc_cyclic() drops the lock of @xa
 *	to allocate memory, and @next must not go back meanwhile
 * @next: next id to be tried
 * @epoch: from 1 on, incremented each time the ids begin again
 */
struct dd_ids {
	struct xarray xa;
	struct mutex lock;	/* of allocation */
	u32 next;
	u32 epoch;
};

void dd_ids_init(struct dd_ids *ids);
int dd_ids_reserve(struct dd_ids *ids, u32 *id, u32 *epoch, gfp_t gfp);

/**
 * dd_ids_find() - look up an id
 * @ids: the ids
 * @id: any number
 *
 * As xa_load(), which is called for every message, but inline and for a caller
 * that is in an RCU read section of any kind. No id is 0, so that the head is a
 * node if there is any entry, and each entry has one index, so that objects are in
 * nodes without a shift only. What is no object there is left to xa_load(): a
 * reserved id, or the mark of a node that another CPU has just freed.
 *
 * Return: what is stored there, or NULL.
 */
static inline void *dd_ids_find(const struct dd_ids *ids, u32 id)
{
	const struct xa_node *node;
	u32 shift, index;
	void *entry;

	entry = rcu_dereference_check(ids->xa.xa_head,
				      rcu_read_lock_sched_held());
	if (unlikely(!entry))
		return NULL;
	node = xa_to_node(entry);
	shift = node->shift;
	index = id >> shift;
	if (unlikely(index > XA_CHUNK_MASK))
		return NULL;
	/* Keeps the mask below, which is for a CPU that speculates. */
	OPTIMIZER_HIDE_VAR(index);
	for (;;) {
		entry = rcu_dereference_check(node->slots[index & XA_CHUNK_MASK],
					      rcu_read_lock_sched_held());
		if (likely(!shift) || unlikely(!xa_is_node(entry)))
			break;
		node = xa_to_node(entry);
		shift = node->shift;
		index = id >> shift;
	}
	/* An object is a pointer with these bits clear. */
	if (unlikely((unsigned long)entry & 3))
		return xa_load((struct xarray *)&ids->xa, id);
	return entry;
}

enum dd_obj_type {
	DD_OBJ_REGION,
	DD_OBJ_LIST,
	DD_OBJ_SERVICE,
	DD_OBJ_CONN,
};

/**
 * struct dd_obj - what every object with an id starts with
 * @ctx: the context that owns it; counted in dd_ctx.ref
 * @id: as user space names it; another object of the context may have it later
 * @epoch: with @id the object's serial, which no other object of the context
 *	ever has
 * @users: held by the id table and by every call that uses the object; the
 *	type's release function runs, in a context that may sleep, when the
 *	last is gone
 * @type: enum dd_obj_type
 *
 * Its memory outlives look-ups under rcu_read_lock(): each type has an
 * rcu_head for that.
 */
struct dd_obj {
	struct dd_ctx *ctx;
	u32 id;
	u32 epoch;
	refcount_t users;
	u8 type;
};

/**
 * struct dd_ctx - one open of /dev/dd
 * @ref: held by the file and by every object; memory only
 * @node: the opener's network namespace, whose reference is held
 * @mm: the opener's address space; compared, never used
 * @user: whose locked_vm is charged
 * @charged: bytes charged to it for this context
 * @limit: RLIMIT_MEMLOCK of the owner in pages, at its last call that was charged
 * @cred: the opener's credentials
 * @pid: the opener's thread group
 * @lock: creation and destruction of objects; taken before dd_service.lock
 *	and dd_area.lock; no user memory is touched under it
 * @dead: set under @lock when the context ends; nothing is created then
 * @ids: its objects
 * @area: see there
 * @area_maps: mappings of the area in @mm; the context ends with the last
 * @next_pgoff: next unused mmap() offset, in pages; under @lock
 * @regions: pgoff to struct dd_region
 * @inode: whose mapping holds all of this context's; windows are unmapped by
 *	offset in it
 * @windows: pgoff to struct dd_window
 * @window_lock: whether a window is dead; held for reading while its pages are
 *	being mapped, under mmap_lock
 * @scratch: page that dead windows show; there from the first window on
 * @ring_pages: pages of @area that direct rings have
 * @wait: woken by any note in any list, and by counters that advance
 * @fasync: SIGIO receivers
 * @serial: its index in dd_node.ctxs; counts up, and is never used again
 * @end_work: ends the context when its address space is gone
 */
struct dd_ctx {
	struct kref ref;
	struct dd_node *node;
	struct mm_struct *mm;
	struct user_struct *user;
	atomic_long_t charged;
	unsigned long limit;
	const struct cred *cred;
	struct pid *pid;
	struct mutex lock;	/* of creation and destruction */
	bool dead;
	struct dd_ids ids;
	struct dd_area area;
	atomic_t area_maps;
	unsigned long next_pgoff;
	struct xarray regions;
	struct inode *inode;
	struct xarray windows;
	struct rw_semaphore window_lock;	/* of dd_window.dead */
	void *scratch;
	atomic_t ring_pages;
	wait_queue_head_t wait;
	struct fasync_struct *fasync;
	unsigned long serial;
	struct work_struct end_work;
};

struct dd_ctx *dd_ctx_create(struct net *net);
void dd_ctx_put(struct dd_ctx *ctx);
void dd_ctx_end(struct dd_ctx *ctx);
void dd_ctx_wake(struct dd_ctx *ctx);

static inline struct dd_ctx *dd_ctx_get(struct dd_ctx *ctx)
{
	kref_get(&ctx->ref);
	return ctx;
}

/* Whether the caller may use @ctx: 0, or -ESTALE. */
static inline int dd_ctx_check(const struct dd_ctx *ctx)
{
	return current->mm == ctx->mm && !READ_ONCE(ctx->dead) ? 0 : -ESTALE;
}

void dd_obj_init(struct dd_obj *obj, struct dd_ctx *ctx, u8 type);
int dd_obj_reserve(struct dd_obj *obj);
void dd_obj_publish(struct dd_obj *obj);
void dd_obj_unreserve(struct dd_obj *obj);
bool dd_obj_remove(struct dd_obj *obj);
/**
 * dd_obj_find() - look up an object of a context by its id
 * @ctx: the context
 * @id: any number
 * @type: kind of object the caller wants
 *
 * Return: the object, or NULL; its memory is there as long as the caller's
 * RCU read section, and whether it is still alive is for the caller to find
 * out.
 */
static inline void *dd_obj_find(const struct dd_ctx *ctx, u32 id, u8 type)
{
	/* Published by xa_store(), so that it is found complete. */
	struct dd_obj *obj = dd_ids_find(&ctx->ids, id);

	return obj && obj->type == type ? obj : NULL;
}

/* What identifies an object in its context, for all time. */
static inline u64 dd_obj_serial(const struct dd_obj *obj)
{
	return (u64)obj->epoch << 32 | obj->id;
}

/* As dd_obj_find(), by the serial of the object. */
static inline void *dd_obj_find_serial(const struct dd_ctx *ctx, u64 serial,
				       u8 type)
{
	struct dd_obj *obj = dd_ids_find(&ctx->ids, lower_32_bits(serial));

	return likely(obj) && likely(dd_obj_serial(obj) == serial) &&
	       likely(obj->type == type) ? obj : NULL;
}

void *dd_obj_get(struct dd_ctx *ctx, u32 id, u8 type);
void *dd_obj_get_serial(struct dd_ctx *ctx, u64 serial, u8 type);
void *dd_obj_next(struct dd_ctx *ctx, unsigned long *index, u8 type);
bool dd_obj_put(struct dd_obj *obj);

/* ---- region.c: wired memory ------------------------------------------- */

/**
 * struct dd_region - wired memory of a context
 * @obj: its id
 * @pages: addresses of @npages pages, there for the life of the region
 * @npages: charged to dd_ctx.user
 * @pgoff: where it is mapped in the device
 * @lock: protects @uses; innermost
 * @uses: slices given to services and connections, by offset
 * @free_work: the last put may come from where freeing is not possible
 * @rcu: see struct dd_obj
 */
struct dd_region {
	struct dd_obj obj;
	void **pages;
	unsigned long npages;
	unsigned long pgoff;
	spinlock_t lock;	/* of @uses */
	struct rb_root uses;
	struct work_struct free_work;
	struct rcu_head rcu;
};

int dd_region_alloc(struct dd_ctx *ctx, struct dd_region_alloc *arg);
int dd_region_free(struct dd_ctx *ctx, u32 id);
int dd_region_mmap(struct dd_ctx *ctx, struct vm_area_struct *vma);
void dd_region_end(struct dd_region *region);
void dd_region_put(struct dd_region *region);

/**
 * struct dd_bytes - part of a region
 * @region: the region, or NULL for none
 * @offset: bytes
 * @length: bytes
 */
struct dd_bytes {
	struct dd_region *region;
	u64 offset;
	u64 length;
};

/**
 * struct dd_slice - the use of part of a region by an object
 * @bytes: the part, whose region is counted; NULL for no use
 * @node: in dd_region.uses; slices do not share pages
 */
struct dd_slice {
	struct dd_bytes *bytes;
	struct rb_node node;
};

int dd_slice_take(struct dd_ctx *ctx, const struct dd_buf *buf, bool empty_ok,
		  struct dd_slice *slice, struct dd_bytes *bytes);
void dd_slice_drop(struct dd_slice *slice);
void dd_bytes_describe(const struct dd_bytes *bytes, u64 offset, u64 length,
		       struct dd_buf *buf);

/*
 * Index of the page of a region that byte @off lies in, which is in bounds; also
 * for a CPU that guesses that it is. Offsets are chosen by user space.
 */
static inline unsigned long dd_region_index(const struct dd_region *region,
					    u64 off)
{
	unsigned long index = off >> PAGE_SHIFT;

	return array_index_nospec(index, region->npages);
}

/* The kernel's address of byte @off of a region, and bytes left in its page. */
static inline void *dd_region_addr(const struct dd_region *region, u64 off,
				   size_t *left)
{
	*left = PAGE_SIZE - offset_in_page(off);
	return region->pages[dd_region_index(region, off)] + offset_in_page(off);
}

#endif /* _DD_CTX_H */
