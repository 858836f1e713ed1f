/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes, contexts with their ids and areas, and regions.
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

#define DD_COPY_CHUNK		(64u << 10)	/* bytes copied with a lock held */
#define DD_PACKET_SIZE		DD_COPY_CHUNK	/* of the local link */
#define DD_LEN_MAX		((u64)INT_MAX)	/* longest message: DDP uses int */
#define DD_AREA_CHUNKS		128
#define DD_CHUNK_PAGES		512
#define DD_PAGE_UNITS		(PAGE_SIZE / DD_UNIT)
#define DD_AREA_UNITS		(DD_AREA_SIZE / DD_UNIT)

struct dd_ctx;
struct dd_peer_link_ops;
struct mem_cgroup;
struct dd_service;

/* node.c: one network namespace */

/**
 * enum dd_stat - counters of a node
 * @DD_STAT_OPS: work requests executed
 * @DD_STAT_BYTES: bytes deposited
 * @DD_STAT_NOTES: notes posted
 * @DD_STAT_WITHHELD: notes that had to wait for a free slot
 * @DD_STAT_WAKEUPS: wake-ups of a sleeping reader
 * @DD_STAT_REFUSED: work requests refused
 * @DD_STAT_CONNECTS: connections made
 * @DD_STAT_CLOSES: connections ended
 * @DD_STAT_UNKNOWN_PEER: skbs from addresses that belong to no peer
 * @DD_STAT_BAD_SUMS: skbs with a wrong UDP checksum
 * @DD_STAT_DIRECT: messages sent without the kernel on connections that have ended,
 *	as counted by their senders
 * @DD_STAT_NO_ROOM: skbs dropped because the receive buffer of a socket was full
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
	DD_STAT_UNKNOWN_PEER,
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
 * @net: the namespace, which contains this structure
 * @lock: protects @ctxs, @opened, and changes of @id, @max, @port and @up
 * @id: node number, below @max; changes of this, @max and @port also take
 *	@peer_lock
 * @max: number of nodes
 * @port: UDP port; changes only while there are no peers
 * @up: the node accepts work
 * @services: by name; changed under the lock of the service
 * @ctxs: all contexts, by dd_ctx.serial
 * @opened: serial of the last context
 * @stats: per-CPU counters
 * @peer_lock: protects changes of @peers and of their configuration; taken before
 *	@lock
 * @peers: other nodes by number; looked up under RCU
 * @peers_open: peers may be added; under @peer_lock
 * @peer_link: link to the peers, or NULL; set before the first one is added
 */
struct dd_node {
	struct net *net;
	struct mutex lock;	/* protects ctxs and changes of the rest */
	u32 id;
	u32 max;
	u16 port;
	bool up;
	struct rhashtable services;
	struct xarray ctxs;
	unsigned long opened;
	struct dd_stats __percpu *stats;
	struct mutex peer_lock;	/* protects changes of peers */
	struct xarray peers;
	bool peers_open;
	const struct dd_peer_link_ops *peer_link;
};

/**
 * struct dd_node_change - changes of a node's configuration; NULL keeps a value
 * @id: see struct dd_node
 * @max: see struct dd_node
 * @port: see struct dd_node
 * @up: see struct dd_node
 */
struct dd_node_change {
	const u32 *id;
	const u32 *max;
	const u16 *port;
	const bool *up;
};

/**
 * struct dd_refusal - why a configuration is invalid
 * @text: constant text: what is wrong, and what to do
 * @attr: the invalid attribute, DD_A_*, or 0
 */
struct dd_refusal {
	const char *text;
	int attr;
};

/* Fill in @why and return @err. */
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

/* page.c */

void *dd_page_alloc(gfp_t gfp);
void *dd_pages_alloc(unsigned long n, unsigned long *got);
unsigned long dd_page_free(void *page);
unsigned long dd_page_release(struct dd_ctx *ctx, void *addr);
void dd_page_exit(void);

/* Bytes from @p to the end of the pages that dd_pages_alloc() returned as one. */
static inline size_t dd_page_left(const void *p)
{
	struct page *page = virt_to_head_page(p);

	return page_address(page) + page_size(page) - p;
}

/* charge.c: accounting */

int dd_charge(struct dd_ctx *ctx, size_t bytes);
void dd_uncharge(struct dd_ctx *ctx, size_t bytes);
struct user_struct *dd_charge_keep(struct dd_ctx *ctx, unsigned long pages);
void dd_charge_end(struct user_struct *user, unsigned long pages);
gfp_t dd_gfp(const struct dd_ctx *ctx);
struct mem_cgroup *dd_owner_enter(const struct dd_ctx *ctx);
void dd_owner_leave(struct mem_cgroup *before);

/* area.c: memory shared with the owner of a context */

/**
 * struct dd_area - area of a context
 * @lock: protects @map, @bits and @hint
 * @map: bitmap of the units in use
 * @bits: length of @map
 * @hint: unit to start searching at
 * @chunks: addresses of pages, in arrays of DD_CHUNK_PAGES; published with release
 *	semantics and not removed before the context is freed, so read without a lock
 */
struct dd_area {
	struct mutex lock;	/* protects allocation */
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

/* Kernel address of an allocated unit. */
static inline void *dd_area_unit(const struct dd_area *area, u32 unit)
{
	u32 index = unit / DD_PAGE_UNITS;

	return area->chunks[index / DD_CHUNK_PAGES][index % DD_CHUNK_PAGES] +
	       unit % DD_PAGE_UNITS * DD_UNIT;
}

/* ctx.c: one open of the device, and ids */

/**
 * struct dd_ids - ids of the objects of a context
 * @xa: id to object, from 1 to %S32_MAX; looked up under RCU
 * @lock: serialises allocations: __xa_alloc_cyclic() may drop the lock of @xa to
 *	allocate memory, and meanwhile @next must not change
 * @next: next id to try
 * @epoch: from 1, incremented each time the ids wrap around
 */
struct dd_ids {
	struct xarray xa;
	struct mutex lock;	/* protects allocation */
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
 * An inlined xa_load(), as this is called for every message. The caller is in an RCU
 * read-side section of any flavour. Id 0 is never used, so if there is an entry the
 * head is a node; each entry has one index, so objects are only in nodes without a
 * shift. Anything that is not an object is left to xa_load(): a reserved id, or the
 * retry mark of a node that another CPU has just freed.
 *
 * Return: the entry, or NULL.
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
	/* Keeps the mask below, which limits speculative execution. */
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
	/* In a pointer to an object these bits are clear. */
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
 * struct dd_obj - common part of all objects with an id
 * @ctx: context that owns it; counted in dd_ctx.ref
 * @id: handle in user space; may be reused for another object of the context
 * @epoch: with @id the object's serial, which is never reused within the context
 * @users: held by the id table and by each call that uses the object; the release
 *	function of its type runs when the last one is dropped, in process context
 * @type: enum dd_obj_type
 *
 * The memory is freed by RCU, so that look-ups under rcu_read_lock() may read it.
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
 * @node: network namespace of the opener, with a reference
 * @mm: address space of the opener; only compared
 * @user: user whose locked_vm is charged
 * @charged: bytes charged for this context
 * @limit: RLIMIT_MEMLOCK of the owner in pages, as of its last call that was charged
 * @cred: credentials of the opener
 * @pid: thread group of the opener
 * @lock: protects creation and destruction of objects; taken before dd_service.lock
 *	and dd_area.lock; user memory is not accessed under it
 * @dead: set under @lock when the context ends; nothing is created afterwards
 * @ids: ids of its objects
 * @area: memory shared with the owner
 * @area_maps: mappings of the area in @mm; the context ends with the last one
 * @next_pgoff: next unused mmap() offset, in pages; under @lock
 * @regions: pgoff to struct dd_region
 * @inode: its mapping holds all mappings of this context; windows are unmapped by their
 *	offset in it
 * @windows: pgoff to struct dd_window
 * @window_lock: protects dd_window.dead; held for reading, inside mmap_lock, while
 *	pages of a window are mapped
 * @scratch: page that replaces those of dead windows; allocated with the first window
 * @ring_pages: pages of @area used by direct rings
 * @wait: woken by every note and by advancing counters
 * @fasync: processes that get SIGIO
 * @serial: index in dd_node.ctxs; counts up and is never reused
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
	struct mutex lock;	/* protects creation and destruction */
	bool dead;
	struct dd_ids ids;
	struct dd_area area;
	atomic_t area_maps;
	unsigned long next_pgoff;
	struct xarray regions;
	struct inode *inode;
	struct xarray windows;
	struct rw_semaphore window_lock;	/* protects dd_window.dead */
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

/* Whether the current process may use @ctx: 0, or -ESTALE. */
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
 * @id: id from user space
 * @type: expected type
 *
 * Return: the object, or NULL. Its memory is valid within the caller's RCU read-side
 * section; the caller has to check whether it is still alive.
 */
static inline void *dd_obj_find(const struct dd_ctx *ctx, u32 id, u8 type)
{
	/* xa_store() publishes the initialised object. */
	struct dd_obj *obj = dd_ids_find(&ctx->ids, id);

	return obj && obj->type == type ? obj : NULL;
}

/* Identifies an object within its context; never reused. */
static inline u64 dd_obj_serial(const struct dd_obj *obj)
{
	return (u64)obj->epoch << 32 | obj->id;
}

/* Like dd_obj_find(), by serial. */
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

/* region.c: wired memory */

/**
 * struct dd_region - wired memory of a context
 * @obj: its id
 * @pages: addresses of @npages pages, constant for the life of the region
 * @npages: number of pages, charged to dd_ctx.user
 * @pgoff: mmap() offset, in pages
 * @lock: protects @uses; innermost
 * @uses: slices used by services and connections, by offset
 * @free_work: frees the region, as the last put may be in atomic context
 * @rcu: see struct dd_obj
 */
struct dd_region {
	struct dd_obj obj;
	void **pages;
	unsigned long npages;
	unsigned long pgoff;
	spinlock_t lock;	/* protects uses */
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
 * struct dd_slice - use of a part of a region by an object
 * @bytes: the part, whose region is counted; NULL if unused
 * @node: in dd_region.uses; slices share no pages
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
 * Index of the page that contains byte @off, which is in bounds. User space chooses
 * offsets, so the index is clamped for speculative execution, too.
 */
static inline unsigned long dd_region_index(const struct dd_region *region,
					    u64 off)
{
	unsigned long index = off >> PAGE_SHIFT;

	return array_index_nospec(index, region->npages);
}

/* Kernel address of byte @off, and bytes left in its page. */
static inline void *dd_region_addr(const struct dd_region *region, u64 off,
				   size_t *left)
{
	*left = PAGE_SIZE - offset_in_page(off);
	return region->pages[dd_region_index(region, off)] + offset_in_page(off);
}

#endif /* _DD_CTX_H */
