/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the kernel that kernel/cluster and kernel/core use, for the simulator,
 * which has one thread. A lock that is taken twice, and a reference that is wrong, are
 * failures. What a dead node has queued does not run: see mem.c.
 */
#ifndef _KERNEL_USER_H
#define _KERNEL_USER_H

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "dd_user.h"

#define PAGE_SHIFT		12
#define PAGE_SIZE		4096ul
#define offset_in_page(p)	((unsigned long)(p) & (PAGE_SIZE - 1))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define IS_ALIGNED(x, a)	(!((x) & ((__typeof__(x))(a) - 1)))
#define PAGE_ALIGNED(x)		IS_ALIGNED(x, PAGE_SIZE)
#define PFN_UP(x)		DIV_ROUND_UP(x, PAGE_SIZE)
#define offsetofend(type, m)	(offsetof(type, m) + sizeof(((type *)NULL)->m))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define swap(a, b)		do { __auto_type _a = (a); (a) = (b); (b) = _a; } while (0)
#define put_unaligned_le64(v, p) (*(u64 *)(p) = (v))
#define get_unaligned_le32(p)	(*(const u32 *)(p))
#define KTIME_MAX		INT64_MAX
#define NSEC_PER_MSEC		1000000l
#define BIT_ULL(n)		(1ull << (n))
#define lower_32_bits(x)	((u32)(x))
#define upper_32_bits(x)	((u32)((u64)(x) >> 32))
#define likely(x)		(x)
#define unlikely(x)		(x)
#define __user
#define __percpu
#define __uninitialized
#define data_race(x)		(x)
#define get_unaligned(p)	({ const struct { __typeof__(*(p)) v; } __packed *_p = (void *)(p); \
	_p->v; })
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, v)	((x) = (v))
#define smp_load_acquire(p)	(*(p))
#define smp_store_release(p, v)	((void)(*(p) = (v)))
#define smp_mb()		do { } while (0)
#define smp_wmb()		do { } while (0)
#define array_index_nospec(i, n) (i)
#define lockdep_assert(x)	do { } while (0)
#define lockdep_assert_held(l)	assert(*(const bool *)(l))	/* or a mutex */
#define lockdep_set_class(l, k)	((void)(k))
#define cond_resched()		do { } while (0)
#define WARN_ON_ONCE(x)		({ bool _x = (x); assert(!_x); _x; })
#define cmpxchg(p, old, new) ({ __typeof__(*(p)) _was = *(p); \
	*(p) = _was == (__typeof__(*(p)))(old) ? (__typeof__(*(p)))(new) : _was; _was; })
#define xchg(p, new)		({ __typeof__(*(p)) _was = *(p); *(p) = (new); _was; })

typedef u32 gfp_t;
typedef s64 ktime_t;
typedef struct { u32 val; } kuid_t;
typedef struct { int counter; } atomic_t;
typedef struct { long counter; } atomic_long_t;
typedef struct { s64 counter; } atomic64_t;

struct xarray { void *xa_head; };
struct rb_node { };
struct rb_root { };
struct rb_root_cached { };
struct mmu_interval_notifier { };
struct rw_semaphore { };
struct net { void *user_ns; };
struct user_struct { atomic_long_t locked_vm; };
struct cred { struct user_struct *user; };
struct page;
struct pid;
struct vm_area_struct;
struct vm_fault;
typedef unsigned int vm_fault_t;
extern struct task_struct { void *mm; } *current;
struct lock_class_key { };
#define RB_CLEAR_NODE(n)	do { } while (0)
#define atomic_long_add_return(n, a)	((a)->counter += (n))
#define atomic_long_sub_return(n, a)	((a)->counter -= (n))
#define atomic_long_sub(n, a)	((void)((a)->counter -= (n)))
#define atomic64_read(a)	((a)->counter)
#define atomic64_inc(a)		((a)->counter++)
#define atomic64_inc_return(a)	(++(a)->counter)
#define atomic64_fetch_inc(a)	((a)->counter++)

/* ---- errors in pointers -------------------------------------------------- */

#define ERR_PTR(e)		((void *)(long)(e))
#define PTR_ERR(p)		((long)(p))
#define IS_ERR(p)		((unsigned long)(p) >= (unsigned long)-4095)

/* ---- memory -------------------------------------------------------------- */

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define GFP_ATOMIC		0
#define __GFP_RETRY_MAYFAIL	0
#define __GFP_NOWARN		0
#define __GFP_NORETRY		0

void *kzalloc(size_t size, gfp_t gfp);
void kfree(const void *p);
void kfree_later(void *p);
#define kvzalloc		kzalloc
#define kvcalloc(n, size, gfp)	kzalloc((size_t)(n) * (size), gfp)
#define kcalloc			kvcalloc
#define kvfree			kfree
#define kfree_rcu(p, rcu)	kfree_later(p)

/* No scenario copies from the memory of a process. */
#define alloc_page(gfp)		((struct page *)NULL)
#define page_address(page)	((void *)(page))
#define put_page(page)		do { } while (0)
static inline size_t copy_from_user(void *to, const void *from, size_t n)
{
	return n;
}

#define copy_to_user		copy_from_user
#define __copy_from_user_inatomic	copy_from_user
#define __get_user(x, p)	((x) = *(p), 0)
#define __put_user(x, p)	(*(p) = (x), 0)
#define u64_to_user_ptr(x)	((void *)(unsigned long)(x))
#define pagefault_disable()	do { } while (0)
#define pagefault_enable()	do { } while (0)
#define dd_page_left(p)		(PAGE_SIZE - offset_in_page(p))

/* ---- locks and references ------------------------------------------------- */

typedef bool spinlock_t;
typedef struct { u32 n; } refcount_t;

struct mutex { bool held; };

static inline void spin_lock(spinlock_t *l)
{
	assert(!*l);
	*l = true;
}

static inline void spin_unlock(spinlock_t *l)
{
	assert(*l);
	*l = false;
}

#define spin_lock_init(l)	(*(l) = false)
#define spin_lock_bh		spin_lock
#define spin_unlock_bh		spin_unlock
#define DEFINE_MUTEX(m)		struct mutex m
#define mutex_init(m)		((m)->held = false)
#define mutex_lock(m)		spin_lock(&(m)->held)
#define mutex_lock_killable(m)	(mutex_lock(m), 0)
#define mutex_unlock(m)		spin_unlock(&(m)->held)
#define local_bh_disable()	do { } while (0)
#define local_bh_enable()	do { } while (0)
#define rcu_read_lock()		do { } while (0)
#define rcu_read_unlock()	do { } while (0)

static inline void refcount_set(refcount_t *r, u32 n)
{
	r->n = n;
}

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	if (!r->n)
		return false;
	r->n++;
	return true;
}

static inline void refcount_inc(refcount_t *r)
{
	assert(r->n);
	r->n++;
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	assert(r->n);
	return !--r->n;
}

#define refcount_dec(r)		assert(!refcount_dec_and_test(r))

/* ---- work and waiting ------------------------------------------------------ */

struct rcu_head { void (*func)(struct rcu_head *rcu); };
struct work_struct { void (*func)(struct work_struct *work); void *boot; bool pending; };
struct delayed_work { struct work_struct work; struct delayed_work **event; };
struct rcu_work { };
struct llist_node { struct llist_node *next; };
struct llist_head { struct llist_node *first; };
typedef struct wait_queue_entry wait_queue_entry_t;
typedef int (*wait_queue_func_t)(wait_queue_entry_t *entry, unsigned int mode, int flags,
				 void *key);
struct wait_queue_entry { struct list_head entry; wait_queue_func_t func; };
typedef struct { struct list_head head; } wait_queue_head_t;
struct workqueue_struct;

void init_work(struct work_struct *work, void (*func)(struct work_struct *work));
bool queue_work(struct workqueue_struct *wq, struct work_struct *work);
bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
			unsigned long delay);
bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
		      unsigned long delay);
void call_rcu(struct rcu_head *rcu, void (*func)(struct rcu_head *rcu));
#define INIT_WORK		init_work
#define INIT_DELAYED_WORK(w, f)	init_work(&(w)->work, f)
#define jiffies			((unsigned long)(ktime_get_ns() / 1000000))
#define msecs_to_jiffies(ms)	((unsigned long)(ms))
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define flush_work(w)		do { } while (0)
#define cancel_work_sync(w)	false
#define llist_del_all(l)	xchg(&(l)->first, NULL)
#define llist_for_each_entry_safe(p, n, l, m) \
	for (p = n = NULL, (void)(l); p;)	/* empty: nothing is copied */

#define init_waitqueue_head(q)	INIT_LIST_HEAD(&(q)->head)
#define init_waitqueue_func_entry(e, f)	((e)->func = (f))
#define add_wait_queue_exclusive(q, e)	list_add_tail(&(e)->entry, &(q)->head)
#define remove_wait_queue(q, e)	list_del(&(e)->entry)
#define waitqueue_active(q)	false

#define TASK_NORMAL		0
#define wake_up_all(q)		__wake_up(q, TASK_NORMAL, 0, NULL)

static inline void __wake_up(wait_queue_head_t *q, unsigned int mode, int nr, void *key)
{
	wait_queue_entry_t *e, *next;

	list_for_each_entry_safe(e, next, &q->head, entry)
		e->func(e, mode, 0, key);
}

/* The simulator has no thread that could sleep. */
#define wait_event_interruptible_hrtimeout(q, cond, left) \
	((void)(q), (void)(left), (cond) ? 0 : -ETIME)
#define ktime_get()		((ktime_t)ktime_get_ns())
#define ktime_sub(a, b)		((a) - (b))
#define ktime_add_ms(a, ms)	((a) + (ktime_t)(ms) * 1000000)
u64 ktime_get_ns(void);

/* ---- hash tables -------------------------------------------------------------- */

struct rhash_head { struct rhash_head *next; };
struct rhashtable { struct rhash_head *bucket[64]; };
struct rhashtable_params {
	u16 key_len, key_offset, head_offset;
	u32 (*hashfn)(const void *key, u32 len, u32 seed);
	bool automatic_shrinking;
};

static inline struct rhash_head **rhashtable_at(struct rhashtable *t, const void *key,
						const struct rhashtable_params p)
{
	struct rhash_head **h = &t->bucket[crc32c(0, key, p.key_len) % 64];

	while (*h && memcmp((char *)*h - p.head_offset + p.key_offset, key, p.key_len))
		h = &(*h)->next;
	return h;
}

#define rhashtable_lookup	rhashtable_lookup_fast
static inline void *rhashtable_lookup_fast(struct rhashtable *t, const void *key,
					   const struct rhashtable_params p)
{
	struct rhash_head *h = *rhashtable_at(t, key, p);

	return h ? (char *)h - p.head_offset : NULL;
}

static inline int rhashtable_lookup_insert_fast(struct rhashtable *t, struct rhash_head *n,
						const struct rhashtable_params p)
{
	struct rhash_head **h = rhashtable_at(t, (char *)n - p.head_offset + p.key_offset, p);

	if (*h)
		return -EEXIST;
	n->next = NULL;
	*h = n;
	return 0;
}

static inline int rhashtable_remove_fast(struct rhashtable *t, struct rhash_head *n,
					 const struct rhashtable_params p)
{
	struct rhash_head **h = rhashtable_at(t, (char *)n - p.head_offset + p.key_offset, p);

	if (*h != n)
		return -ENOENT;
	*h = n->next;
	return 0;
}

static inline int rhashtable_init(struct rhashtable *t, const struct rhashtable_params *p)
{
	memset(t, 0, sizeof(*t));
	return 0;
}

/* No name is shared. */
#define rhashtable_replace_fast(t, old, n, p)	((void)(old), (void)(n))
#define rhashtable_destroy(t)	do { } while (0)

/* ---- processes and users ------------------------------------------------------ */

#define current_euid()		((kuid_t){ 0 })
#define make_kuid(ns, uid)	((kuid_t){ uid })
#define from_kuid_munged(ns, uid) ((uid).val)
#define uid_eq(a, b)		((a).val == (b).val)
#define INVALID_UID		((kuid_t){ -1 })
#define uid_valid(u)		((u).val != INVALID_UID.val)
#define fatal_signal_pending(t)	false
#define ns_capable(ns, cap)	true
#define ns_capable_noaudit	ns_capable
#define rlimit(limit)		ULONG_MAX
#define get_uid(user)		(user)
#define free_uid(user)		((void)(user))
#define get_mem_cgroup_from_mm(mm)	NULL
#define set_active_memcg(group)	((struct mem_cgroup *)(group))
#define mem_cgroup_put(group)	((void)(group))

u64 get_random_u64(void);

/* ---- headers of the module that are replaced --------------------------------------- */

struct dd_channel;
struct dd_ids { };

static inline void *dd_ids_find(const struct dd_ids *ids, u32 id)
{
	return NULL;
}

/* A request was executed. */
void mem_arrival(const struct dd_channel *ch, u64 msgid);
#define trace_dd_arrival(ch, peer, dst, len, msgid)	mem_arrival(ch, msgid)
#define trace_dd_export(exp)		do { } while (0)
#define trace_dd_import(...)		do { } while (0)
#define trace_dd_refused(...)		do { } while (0)
#define trace_dd_revoke(...)		do { } while (0)
#define DECLARE_TRACEPOINT(name)	struct dd_ids
#define tracepoint_enabled(name)	false
#define this_cpu_add(v, n)		((void)(n))

#endif /* _KERNEL_USER_H */
