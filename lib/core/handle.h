/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * handle.h - a handle and its tables
 *
 * Copyright (C) 2026 The dd authors
 *
 * Locks, outermost first:
 *	ddi_conn.call_lock	one dd_call() at a time on a connection
 *	ddi_list.lock		one consumer at a time of a note list
 *	dd.lock			creation and binding: the tables and the pools
 *	ddi_conn.lock		one sender at a time on a connection
 * The lock of a list record that is bound to no list is taken with dd.lock held: the
 * holder sees that the record is unbound and takes no other lock. dd.region_lock,
 * dd.direct_lock and dd.reason_lock are leaves; DD_IOC_DIRECT is called with direct_lock
 * held. A thread that waits for a message holds no lock but call_lock.
 *
 * Records of lists, services and connections are freed with the handle only. They are
 * bound to an id, unbound, and bound to another id. A thread may therefore follow a
 * pointer that another thread is about to make stale: it compares the id in the record,
 * or in the area, with the one that it looks for, and gives up if they differ. Records
 * of connections are bound to a serial, which never repeats within a handle; programs
 * use its lower half, the id.
 */
#ifndef _DD_HANDLE_H
#define _DD_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/dd_ddp.h>

#include "atomic.h"
#include "dd.h"

#define DD_API		__attribute__((visibility("default")))
#define DDI_NOINLINE	__attribute__((noinline))
/* For what the compiler thinks too large, on the path of each message. */
#define DDI_INLINE	inline __attribute__((always_inline))

#define DDI_LINE	64	/* bytes in a cache line */
#define DDI_PAGE_MAX	65536	/* the largest page size of any architecture */

struct ddi_conn;
struct ddi_conn_chunk;
struct ddi_list;
struct ddi_region;
struct ddi_service;
struct ddi_tx_ring;

#define DDI_BUCKETS	(1u << 18)
#define DDI_BUCKET(id)	((uint32_t)(id) % DDI_BUCKETS)

/*
 * Tables of records in buckets by the lower part of the id: 6 MiB of address space, of
 * which only pages with a record are touched. A child of fork() reads zeros here.
 * Readers take no lock, look at the first record of a bucket only and compare its id.
 * The kernel assigns ids in ascending order, so a bucket has a second record only if
 * one lives for DDI_BUCKETS further ids; the record used last is the first. Writers
 * hold dd.lock.
 */
struct ddi_board {
	uint32_t alive;		/* 1 in the process that opened the handle */
	struct ddi_list *lists[DDI_BUCKETS] __attribute__((aligned(DDI_LINE)));
	struct ddi_service *services[DDI_BUCKETS];
	struct ddi_conn *conns[DDI_BUCKETS];
};

struct dd {
	union {
		struct {
			int fd;			/* of /dev/dd */
			bool mutual;		/* the smaller window of both ends counts */
			bool direct;		/* direct paths are allowed */
			uint32_t cpus;		/* CPUs a thread may use, 0 unknown */
			int64_t cpus_until;	/* when @cpus expires */
			char *area;		/* mapping shared with the kernel */
			pthread_mutex_t lock;
			struct ddi_list *all_lists;
			struct ddi_list *free_lists;
			uint32_t nr_lists;	/* bound ones */
			uint32_t sweep_lists;	/* @nr_lists at which to unbind stale ones */
			struct ddi_service *all_services;
			struct ddi_conn_chunk *chunks;	/* all records of clients */
			struct ddi_conn *pool;		/* the unbound ones */
			pthread_rwlock_t region_lock;	/* of the next three */
			struct ddi_region *regions;	/* sorted by address */
			size_t nr_regions;
			size_t cap_regions;
			pthread_mutex_t direct_lock;	/* of @tx_rings */
			struct ddi_tx_ring *tx_rings;
			uint32_t nr_direct;	/* connections that send directly */
			pthread_mutex_t reason_lock;	/* of the next two */
			char reason[256];	/* for dd_last_error() */
			int reason_error;	/* negative errno that @reason explains */
		};
		char page[DDI_PAGE_MAX];	/* fork() wipes whole pages of the board only */
	};
	struct ddi_board board;
};

/* In a child of fork() the area is not mapped: without this test, it would fault. */
static inline bool ddi_alive(const struct dd *h)
{
	return ddi_likely(h) && ddi_likely(ddi_load(&h->board.alive));
}

/* The first record of a bucket; it may be bound to another id by now. */
#define ddi_table_get(table, id)	ddi_load_acquire(&(table)[DDI_BUCKET(id)])

/*
 * Unlink a record from its bucket; dd.lock is held. A reader at this record continues
 * behind it, in this bucket or in the next one that the record is linked in. A reader
 * that misses a record searches again with the lock.
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

/* Make a record the first of the bucket of @id, wherever it was linked before. */
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

/* These return what the kernel returned, or the kernel's -errno. */
int ddi_ioctl(struct dd *h, unsigned long request, void *arg);
int ddi_ioctl_id(struct dd *h, unsigned long request, uint32_t id);
int ddi_ioctl_conn(struct dd *h, unsigned long request, uint64_t serial);

#endif /* _DD_HANDLE_H */
