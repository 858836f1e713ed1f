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
 * dd.region_lock, dd.direct_lock and dd.reason_lock are leaves; DD_IOC_DIRECT is called
 * with direct_lock held, DD_IOC_REGION_CHECK and _FREE with region_lock. A thread that
 * waits for a message holds no lock but call_lock.
 *
 * Records of lists and connections are freed with the handle only. They are found
 * without a lock. A thread may therefore follow a pointer that another thread is about
 * to make stale: it compares the id in the record, or in the area, with the one that it
 * looks for, and gives up if they differ. Records of connections are bound to a serial,
 * which never repeats within a handle; programs use its lower half, the id.
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
/* On the path of every message: such functions are next to each other, on few pages. */
#define DDI_HOT		__attribute__((hot))
/* For what the compiler thinks too large, on the path of each message. */
#define DDI_INLINE	inline __attribute__((always_inline))

#define DDI_LINE	64	/* bytes in a cache line */
#define DDI_PAGE_MAX	65536	/* the largest page size of any architecture */

#define DDI_RELEASES	4	/* folders above that have state in a handle */

#define DDI_BUCKETS	(1u << 18)
#define DDI_BUCKET(id)	((uint32_t)(id) % DDI_BUCKETS)
#define DDI_UNIT_BUCKETS	(1u << 16)
#define DDI_UNIT_BUCKET(unit)	((unit) % DDI_UNIT_BUCKETS)

/*
 * Where records are found: 5 MiB of address space, of which only pages with a record are
 * touched. A child of fork() reads zeros here. Writers hold dd.lock.
 *
 * By the lower part of their ids, the ones used last. Readers take no lock, compare the
 * id, and ask the kernel if it differs. The kernel assigns ids in ascending order, so two
 * of a bucket are rarely in use at the same time.
 *
 * By the unit of their head or state in the area, all of them, with dd.lock.
 */
struct ddi_board {
	uint32_t alive;		/* 1 in the process that opened the handle */
	struct ddi_list *lists[DDI_BUCKETS] __attribute__((aligned(DDI_LINE)));
	struct ddi_conn *conns[DDI_BUCKETS];
	struct ddi_list *heads[DDI_UNIT_BUCKETS];
	struct ddi_conn *states[DDI_UNIT_BUCKETS];
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
			/* by dd_shutdown(); NULL behind the last one */
			void (*releases[DDI_RELEASES + 1])(struct dd *h);
			struct ddi_list *all_lists;
			struct ddi_service *services;
			struct ddi_conn *conns;		/* all records */
			struct dd_mem *mems;		/* imports of segments */
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

/* What the kernel shares at a unit of the area; its head is at unit 0. */
static inline void *ddi_unit(const struct dd *h, uint32_t unit)
{
	return h->area + (size_t)unit * DD_UNIT;
}

static inline const struct dd_area_head *ddi_head(const struct dd *h)
{
	return ddi_unit(h, 0);
}

/* The record of a bucket; it may be bound to another id by now. */
#define ddi_table_get(table, id)	ddi_load_acquire(&(table)[DDI_BUCKET(id)])

#endif /* _DD_HANDLE_H */
