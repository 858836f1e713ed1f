/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * internal.h - what the files of libdd share
 *
 * Copyright (C) 2026 The dd authors
 *
 * Locks, outermost first:
 *	ddi_conn.call_lock	one dd_call() at a time on a connection
 *	ddi_list.lock		one consumer at a time in a ring
 *	dd.lock			creation and binding: the tables and the pools
 *	ddi_conn.lock		one submitter at a time in a send queue
 * ddi_list.lock of a record that is bound to nothing is taken with dd.lock held: its
 * holder finds that out, and takes no other lock.
 * dd.region_lock, dd.lane_lock and dd.reason_lock are leaves; the kernel is asked for a
 * ring with lane_lock held. No lock is held while a thread waits for a message, except
 * call_lock.
 *
 * Records of lists, services and connections are never freed before the
 * handle is: they are bound to an id, unbound, and bound to another one. So a
 * thread may follow a pointer that another one is about to make stale; it
 * then finds an id in the record, or in the area, that is not the one it
 * looks for, and gives up. Records of connections are bound to a serial, which
 * no other connection of the handle ever has; programs use its lower half, the
 * id.
 */
#ifndef _DD_INTERNAL_H
#define _DD_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/dd.h>

#include "dd.h"
#include "lock.h"

#define DD_API		__attribute__((visibility("default")))
/* For what the compiler thinks is too large, on the path of every message. */
#define DDI_INLINE	inline __attribute__((always_inline))

#define ddi_load(p)		__atomic_load_n((p), __ATOMIC_RELAXED)
#define ddi_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ddi_store(p, v)		__atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ddi_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* And a full barrier, after which all that was stored is seen before any load. */
#if defined(__x86_64__) || defined(__i386__)
#define ddi_store_mb(p, v)	((void)__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST))
#else
#define ddi_store_mb(p, v)						\
	({								\
		ddi_store_release(p, v);				\
		__atomic_thread_fence(__ATOMIC_SEQ_CST);		\
	})
#endif

/*
 * ddi_equals() - compare a word that others write, once
 * ddi_test() - the same of a bit
 *
 * ddi_equals() has acquire semantics if it is equal. What compares in memory
 * saves an instruction; compilers do not make that of an atomic load. Nor does
 * ThreadSanitizer take it for one.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define ddi_fence_compiler()	__asm__ volatile("" : : : "memory")
#define ddi_test(p, bits)	({ ddi_fence_compiler(); *(p) & (bits); })
#define ddi_equals(p, v)					\
({								\
	bool equal_;						\
	ddi_fence_compiler();					\
	equal_ = *(p) == (v);					\
	if (equal_)						\
		ddi_fence_compiler();				\
	equal_;							\
})
#else
#define ddi_test(p, bits)	(ddi_load(p) & (bits))
#define ddi_equals(p, v)	(ddi_load_acquire(p) == (v))
#endif

#define ddi_likely(x)		__builtin_expect(!!(x), 1)
#define ddi_unlikely(x)		__builtin_expect(!!(x), 0)

struct ddi_batch;
struct ddi_in;
struct ddi_lane;
struct ddi_out;

#define DDI_LINE		64	/* bytes, so that neighbours do not meet */

/**
 * struct ddi_spin - what was learned about waiting somewhere
 * @budget: nanoseconds worth spinning
 * @skip: waits not to spin in at all
 * @shift: log2 of @skip when spinning next proves wrong
 *
 * A guess for the next wait and nothing else, so threads may race for it.
 */
struct ddi_spin {
	uint32_t budget;
	uint16_t skip;
	uint16_t shift;
};

/**
 * struct ddi_wish - what is asked for when a message is received
 * @timeout: as to dd_recv()
 * @ticks: as to ddrecv()
 * @options: as to either
 * @id: the list
 *
 * Kept here by who has no register left for it on the short way.
 */
struct ddi_wish {
	union {
		int64_t timeout;
		int32_t ticks;
	};
	uint32_t options;
	uint32_t id;
};

/**
 * struct ddi_list - a note list of this handle
 * @lock: one consumer at a time
 * @id: its id
 * @head: its head in the area, never NULL
 * @state: of the direct ring to look at first, NULL for the list's own ring
 * @in_mask: of that, number of slots minus 1
 * @in_unit: of that, unit number of @state
 * @wish: of who holds @lock
 * @geometry: what @ring and @mask were worked out from; they depend on
 *	nothing else, so they are never wrong, only out of date
 * @ring: slot 0
 * @mask: number of slots minus 1
 * @rings: direct rings that are known, of @in
 * @cur: the direct ring of @state, for who has not locked the list; NULL for none
 * @stop: position in the list's own ring before which all have a look
 * @turn: where to look first then: 0 the list's own, else one of @in, from 1
 * @in: direct rings; NULL before there is any, then it stays
 * @rest_of: number of the close note that @rest is about
 * @rest: position in the closed connection's ring before which all was taken
 * @spin: how waiting for it went
 * @bucket: where it is in ddi_board.lists
 * @chain: next record of that bucket
 * @next: all records of the handle
 * @free: unbound records
 */
struct ddi_list {
	struct ddi_lock lock;
	uint32_t id;
	struct dd_list_head *head;
	struct dd_ring_state *state;
	uint32_t in_mask;
	uint32_t in_unit;
	struct ddi_wish wish;
	uint64_t geometry;
	struct dd_note *ring;
	uint32_t mask;
	uint32_t rings;
	struct ddi_in *cur;
	uint64_t stop;
	uint32_t turn;
	struct ddi_in *in;
	uint64_t rest_of;
	uint64_t rest;
	struct ddi_spin spin;
	uint32_t bucket;
	struct ddi_list *chain;
	struct ddi_list *next;
	struct ddi_list *free;
} __attribute__((aligned(DDI_LINE)));

#define DDI_NEVER_OPEN	(~0ull)

/*
 * In place of a serial. No id has this bit, so that no id that a program makes
 * up finds a record which is bound to nothing.
 */
#define DDI_UNBOUND	0x80000000u

/*
 * In ddi_conn.tracked: the serving end of DD_TYPE_RPC, the connecting end of
 * DD_TYPE_SPLIT; any end of which somebody has asked how many messages have come
 * directly.
 */
#define DDI_TRACKED	1
#define DDI_COUNTED	2

/**
 * struct ddi_conn - one end of a connection
 * @lock: send queue of @cell, and all of this while it is bound
 * @consumed: with DDI_TRACKED, the number of the last message consumed, for the
 *	tag of a reply; else 0
 * @serial: its serial, DDI_UNBOUND or 0 while bound to none; written last but
 *	@plain
 * @cell: its cell in the area
 * @plain: the word of a direct note for it that holds its id, block and number of
 *	metadata, if there are none of these; 0 while it is @tracked or bound to no id, which
 *	is in no note that leads here: no id has the index 0
 * @recv: own receive buffer
 * @recv_size: its size in bytes
 * @way: @out, or &ddi_out_none if the type restricts what may be sent; @lock
 * @id: lower half of @serial, written before it
 * @service_id: id of @service, 0 at the connecting end; next to @id, as in results
 * @send: own send buffer
 * @send_size: its size in bytes
 * @open: @serial; DDI_NEVER_OPEN, which no serial is, if its type restricts what
 *	may be sent, or @out_known is not set
 * @cookie: what the kernel's notes for it say: @service_id | the block number of a
 *	serving end << 32
 * @type: DD_TYPE_*
 * @tracked: consuming a message here has consequences: DDI_TRACKED, DDI_COUNTED
 * @guarded: the type restricts what may be sent: connecting ends of both
 * @outstanding: DD_TYPE_SPLIT, connecting end: a request whose reply has not
 *	been consumed
 * @out: how it sends directly, or NULL; @lock
 * @service: its service, NULL at the connecting end
 * @out_known: it is known whether it does; @lock
 * @out_again: if it does not, it may be asked for again; @lock
 * @dead: serial of the connection that was closed here last, or is being closed; what
 *	a serving end left unread is not delivered any more
 * @closing: @dead is being closed; dd.lock
 * @got: with DDI_COUNTED, number of the last message consumed from a direct ring
 * @list: id of its note list, if @described or at the connecting end
 * @most: messages that may be on their way, however large the window is there
 * @described: this and the fields below are known
 * @node: peer's node
 * @pid: peer's process id
 * @uid: peer's user id
 * @window: unconsumed messages the peer may have here
 * @send_window: unconsumed messages allowed there
 * @batched: messages of it that are in @batch
 * @asked: it is not asked whether it may send directly before it has sent more
 *	messages than these
 * @base: with DDI_COUNTED, messages that had come when it became that
 * @batch: the batch that has it locked
 * @spin: how waiting for its counters went
 * @bucket: where it is in ddi_board.conns
 * @chain: next record of that bucket
 * @next: pool of unbound records of connecting ends
 *
 * The first cache line is what a message needs that goes directly.
 */
struct ddi_conn {
	struct ddi_lock lock;
	uint32_t consumed;
	uint64_t serial;
	struct dd_cell *cell;
	uint64_t plain;
	char *recv;
	size_t recv_size;
	const struct ddi_out *way;
	uint32_t id;
	uint32_t service_id;
	uint8_t type;
	uint8_t tracked;
	bool guarded;
	uint8_t outstanding;
	bool out_known;
	bool out_again;
	bool described;
	bool closing;
	struct ddi_out *out;
	char *send;
	size_t send_size;
	uint64_t open;
	uint64_t cookie;
	uint64_t dead;
	uint32_t most;
	uint32_t bucket;
	struct ddi_conn *chain;
	struct ddi_service *service;
	uint32_t got;
	uint32_t list;
	uint32_t node;
	uint32_t pid;
	uint32_t uid;
	uint16_t window;
	uint16_t send_window;
	uint32_t batched;
	uint64_t asked;
	uint64_t base;
	struct ddi_batch *batch;
	struct ddi_spin spin;
	struct ddi_conn *next;
} __attribute__((aligned(DDI_LINE)));

/**
 * struct ddi_client - a connecting end
 * @conn: as above
 * @call_lock: one dd_call() at a time
 */
struct ddi_client {
	struct ddi_conn conn;
	pthread_mutex_t call_lock;
};

/**
 * struct ddi_service - a service of this handle
 * @id: its id, 0 while bound to none
 * @list: id of its note list
 * @maxconn: number of blocks
 * @capacity: entries in @blocks, a power of two
 * @window: unconsumed messages that a client may have here, as it was asked for: 0
 *	leaves it to the type of the connection
 * @cells: cell of block 0
 * @cell_size: bytes from one cell to the next
 * @recv: receive area
 * @recv_block: bytes in a block of it
 * @send: send area, NULL if none
 * @send_block: bytes in a block of it
 * @bucket: where it is in ddi_board.services
 * @chain: next record of that bucket
 * @next: all records of the handle
 * @blocks: one record per block; a record belongs to a block and not to a
 *	connection, so that its lock covers the send queue of the block's cell
 *	also while the block changes hands
 * @memory: what @blocks was aligned in
 */
struct ddi_service {
	uint32_t id;
	uint32_t list;
	uint32_t maxconn;
	uint32_t capacity;
	uint32_t window;
	char *cells;
	size_t cell_size;
	char *recv;
	size_t recv_block;
	char *send;
	size_t send_block;
	uint32_t bucket;
	struct ddi_service *chain;
	struct ddi_service *next;
	struct ddi_conn *blocks;
	void *memory;
};

/**
 * struct ddi_region - a piece of wired memory
 * @addr: its address
 * @size: bytes
 * @id: its id
 */
struct ddi_region {
	char *addr;
	size_t size;
	uint32_t id;
};

#define DDI_POOL_CHUNK	32

struct ddi_conn_chunk {
	struct ddi_client client[DDI_POOL_CHUNK];
	struct ddi_conn_chunk *next;
};

#define DDI_BUCKETS	(1u << 18)
#define DDI_BUCKET(id)	((uint32_t)(id) % DDI_BUCKETS)

/**
 * struct ddi_board - what a call looks at first
 * @alive: 1 in the process that opened the handle
 * @lists: note lists, in buckets by the lower part of their ids
 * @services: services
 * @conns: connections
 *
 * A child of fork() has all of it wiped, and reads 0 in @alive. Readers of the
 * tables take no lock and compare the id in the record, or in the area; on the
 * short paths in the first record of a bucket only. Ids are given in ascending
 * order, so a bucket has a second one when something is there for as long as
 * DDI_BUCKETS further ids: the one that was last looked for is first. Writers
 * hold dd.lock. 6 MiB of address space, of which only pages that an id
 * leads to are ever touched.
 */
struct ddi_board {
	uint32_t alive;
	struct ddi_list *lists[DDI_BUCKETS] __attribute__((aligned(DDI_LINE)));
	struct ddi_service *services[DDI_BUCKETS];
	struct ddi_conn *conns[DDI_BUCKETS];
};

#define DDI_PAGE_MAX	65536	/* a page is not larger anywhere */

/**
 * struct dd - a handle, a mapping of its own
 * @fd: descriptor of /dev/dd
 * @mutual: of the windows of both ends the smaller one counts for each
 * @cpus: CPUs that a waiting thread may use, 0 unknown
 * @cpus_until: time from which @cpus must be found out again
 * @area: the mapping shared with the kernel
 * @lock: see above
 * @all_lists: every record
 * @free_lists: the unbound ones
 * @nr_lists: number of the others
 * @sweep_lists: when they are as many, those are looked for that are gone
 * @all_services: every record, bound or not
 * @chunks: every record of connecting ends
 * @pool: the unbound ones
 * @region_lock: the regions
 * @regions: regions by address
 * @nr_regions: their number
 * @cap_regions: entries in @regions
 * @direct: processes of this node are sent to directly
 * @lane_lock: @lanes, @outs
 * @lanes: rings of other processes that this one writes to
 * @outs: connections that send directly
 * @reason_lock: @reason and @reason_error
 * @reason: text for dd_last_error()
 * @reason_error: what it is the reason of, negative
 * @board: whole pages, so that a fork() wipes nothing else
 */
struct dd {
	union {
		struct {
			int fd;
			bool mutual;
			uint32_t cpus;
			int64_t cpus_until;
			char *area;
			pthread_mutex_t lock;
			struct ddi_list *all_lists;
			struct ddi_list *free_lists;
			uint32_t nr_lists;
			uint32_t sweep_lists;
			struct ddi_service *all_services;
			struct ddi_conn_chunk *chunks;
			struct ddi_conn *pool;
			pthread_rwlock_t region_lock;
			struct ddi_region *regions;
			size_t nr_regions;
			size_t cap_regions;
			bool direct;
			pthread_mutex_t lane_lock;
			struct ddi_lane *lanes;
			uint32_t outs;
			pthread_mutex_t reason_lock;
			char reason[256];
			int reason_error;
		};
		char page[DDI_PAGE_MAX];
	};
	struct ddi_board board;
};

/* In a forked child only this test separates the caller from a fault. */
static inline bool ddi_alive(const struct dd *h)
{
	return ddi_likely(h) && ddi_likely(ddi_load(&h->board.alive));
}

#define DDI_ATTR_DIRECT	(DD_ATTR_NODIRECT | DD_ATTR_DIRECT_ANY)

/* open.c */
int ddi_ioctl(struct dd *h, unsigned long request, void *arg);
int ddi_ioctl_id(struct dd *h, unsigned long request, uint32_t id);
int ddi_ioctl_conn(struct dd *h, unsigned long request, uint64_t serial);

/* First of a bucket; what is found may be bound to another id by now. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
/* Every load is one with acquire semantics there; this one is one instruction. */
#define ddi_table_get(table, id)						\
({										\
	ddi_fence_compiler();							\
	typeof(*(table)) entry_ = (table)[DDI_BUCKET(id)];			\
	ddi_fence_compiler();							\
	entry_;									\
})
#else
#define ddi_table_get(table, id) \
	ddi_load_acquire(&(table)[DDI_BUCKET(id)])
#endif

/*
 * Take a record out of its bucket. A reader that is at it goes on behind it, in
 * this bucket or in the one that it is put in next: what it misses, it looks for
 * with the lock. dd.lock is held.
 */
#define ddi_table_del(table, record)					\
do {									\
	typeof(*(table)) *at_ = &(table)[(record)->bucket];		\
									\
	while (*at_ && *at_ != (record))				\
		at_ = &(*at_)->chain;					\
	if (*at_)							\
		ddi_store_release(at_, (record)->chain);		\
} while (0)

/* Make a record the first one of the bucket of an id, wherever it was. */
#define ddi_table_put(table, id, record)				\
do {									\
	typeof(*(table)) *to_ = &(table)[DDI_BUCKET(id)];		\
									\
	if (*to_ != (record)) {						\
		ddi_table_del(table, record);				\
		(record)->bucket = DDI_BUCKET(id);			\
		ddi_store(&(record)->chain, *to_);			\
		ddi_store_release(to_, record);				\
	}								\
} while (0)

/* error.c */
int ddi_error(int error);
void ddi_reason(struct dd *h, int error, const char *format, ...)
	__attribute__((__format__(__printf__, 3, 4)));
void ddi_reason_clear(struct dd *h);
void ddi_reason_kernel(struct dd *h, int error);
bool ddi_reason_of(struct dd *h, int error, char *buf, size_t size);

/* region.c */
bool ddi_region_find(struct dd *h, const void *addr, size_t len,
		     struct dd_buf *buf);
void *ddi_region_addr(struct dd *h, const struct dd_buf *buf);
void ddi_memlock_reason(struct dd *h, const char *what);
int ddi_region_check(struct dd *h, const char *what, const void *addr,
		     size_t len, struct dd_buf *buf);
void ddi_region_release(struct dd *h);

/* list.c */
struct ddi_list *ddi_list_find(struct dd *h, uint32_t id);
struct ddi_list *ddi_list_bound(struct dd *h, uint32_t id);
struct ddi_list *ddi_list_bind(struct dd *h, uint32_t id, uint32_t unit);
void ddi_list_release(struct dd *h);
int ddi_list_next(struct dd *h, struct ddi_list *l, uint32_t id, bool consume,
		  struct dd_msg *msg);

/* service.c */
int ddi_name_copy(unsigned char *to, const char *name);
struct ddi_service *ddi_service_await(struct dd *h, uint32_t id);
void ddi_service_release(struct dd *h);

/* conn.c */
struct ddi_conn *ddi_conn_load(struct dd *h, uint64_t name);
struct ddi_conn *ddi_conn_find_slow(struct dd *h, uint32_t id);
struct ddi_conn *ddi_conn_lock_slow(struct dd *h, uint32_t id);
struct ddi_conn *ddi_conn_of_note(struct dd *h, const struct dd_note *note);
bool ddi_conn_end(struct ddi_conn *c);
void ddi_conn_drain(struct dd *h, const struct ddi_conn *c, uint64_t serial,
		    int64_t deadline);
int ddi_conn_close(struct dd *h, const struct ddi_conn *c, uint64_t serial);
void ddi_conn_unbind(struct dd *h, struct ddi_conn *c);
void ddi_conn_release(struct dd *h);

/* Whether it is bound to the connection of that id, which is there. */
static inline bool ddi_conn_is(const struct ddi_conn *c, uint32_t id)
{
	uint64_t serial = ddi_load_acquire(&c->serial);

	return ddi_likely(DD_SERIAL_ID(serial) == id) &&
	       ddi_likely(ddi_equals(&c->cell->conn, serial));
}

/* Likewise, of that serial. */
static inline bool ddi_conn_has(const struct ddi_conn *c, uint64_t serial)
{
	return ddi_likely(ddi_equals(&c->serial, serial)) &&
	       ddi_likely(ddi_equals(&c->cell->conn, serial));
}

/* Its block number, if it is a serving end; else 0. */
static inline uint32_t ddi_conn_block(const struct ddi_conn *c)
{
	return c->cookie >> 32;
}

/* A connection that is there, or NULL. */
static inline struct ddi_conn *ddi_conn_find(struct dd *h, uint32_t id)
{
	struct ddi_conn *c = ddi_table_get(h->board.conns, id);

	return c && ddi_conn_is(c, id) ? c : ddi_conn_find_slow(h, id);
}

/* A connection that is there, locked, or NULL. */
static DDI_INLINE struct ddi_conn *ddi_conn_lock(struct dd *h, uint32_t id)
{
	struct ddi_conn *c = ddi_table_get(h->board.conns, id);

	if (ddi_likely(c)) {
		ddi_lock(&c->lock);
		if (ddi_conn_is(c, id))
			return c;
		ddi_unlock(&c->lock);
	}
	return ddi_conn_lock_slow(h, id);
}

/* send.c */
struct ddi_request {
	const void *addr;
	size_t len;
	size_t roffset;
	unsigned int options;
	const unsigned int *meta;
	size_t metacount;
	uint32_t tag;
};

int ddi_send_check(const struct ddi_request *rq);
bool ddi_send_fills(const struct ddi_conn *c);
int ddi_send_fill(struct dd *h, const struct ddi_conn *c,
		  const struct ddi_request *rq, struct dd_sqe *sqe);
int ddi_send_closed(struct dd *h, const struct ddi_conn *c);
int ddi_send_locked(struct dd *h, struct ddi_conn *c,
		    const struct ddi_request *rq);

/* wait.c */
/**
 * struct ddi_look - what a spinning thread looks at
 * @word: something that changes
 * @value: the waiting is over when @word is this
 * @over: tells of other reasons to stop waiting; called now and then
 * @area: for @over: the area
 * @place: likewise: list head or cell
 * @list: likewise: the list
 * @id: likewise: its id, or the serial of the connection
 */
struct ddi_look {
	const __u64 *word;
	uint64_t value;
	bool (*over)(const struct ddi_look *look);
	char *area;
	void *place;
	struct ddi_list *list;
	uint64_t id;
};

int64_t ddi_now(void);
int64_t ddi_deadline(int64_t timeout);
bool ddi_passed(int64_t deadline);
int64_t ddi_remaining(int64_t deadline);
bool ddi_spin(struct dd *h, struct ddi_spin *spin, int64_t deadline,
	      const struct ddi_look *look, int64_t *start);
bool ddi_glance(struct dd *h, struct ddi_spin *spin, const __u64 *count,
		uint64_t value);
void ddi_spin_slept(struct ddi_spin *spin, int64_t since);
int ddi_list_wait(struct dd *h, struct ddi_list *l, uint32_t id,
		  unsigned int options, int64_t deadline);
int ddi_conn_wait(struct dd *h, uint64_t serial, uint32_t what, uint64_t value,
		  int64_t deadline);

/* recv.c */
int ddi_recv_round(struct dd *h, int list, struct dd_msg *msg,
		   unsigned int options, int64_t timeout, int64_t *deadline);

#endif /* _DD_INTERNAL_H */
