// SPDX-License-Identifier: LGPL-2.1-only
/*
 * destspace.c - addresses that stand for memory of other processes
 *
 * Copyright (C) 2026 The dd authors
 *
 * Proxies are found by a sorted array at the begin of the reserved range, whose pages get memory as
 * they are needed: it never moves. One thread changes it at a time; the others, and functions of
 * notes that interrupt them, look a proxy up without a lock, and again if @sequence says that the
 * array was changed meanwhile. So a thread that changes it marks itself, see upcall.h.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "atomic.h"
#include "destspace.h"
#include "handle.h"

#define DEST_MAX	(1u << 20)	/* proxies */
#define SPACE_MAX	(1ul << (sizeof(long) > 4 ? 40 : 28))
#define SPACE_MIN	(1ul << 20)

struct entry {
	uintptr_t base;
	struct ddi_dest *dest;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of what follows */
static struct entry *entries;
static uint32_t count, room, most;	/* proxies; entries that have memory; that may have */
static uint32_t sequence;		/* odd while the array is being changed */
static uintptr_t start, end, cursor;	/* of the range; where the next proxy is tried */
static size_t page;
DD_API uintptr_t ddi_dest_range[2];

/* A child of fork() has no proxies, but the addresses. */
static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	count = 0;
	sequence = 0;
}

/*
 * Less address space will do where it is limited. mlockall() counts it, although there is nothing
 * to lock.
 */
static int space_reserve(void)
{
	size_t size = SPACE_MAX, table;
	void *at;

	if (start)
		return 0;
	page = sysconf(_SC_PAGESIZE);
	do {
		at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	} while (at == MAP_FAILED && (size /= 2) >= SPACE_MIN);
	if (at == MAP_FAILED)
		return -ENOMEM;
	munlock(at, size);
	pthread_atfork(NULL, NULL, in_child);
	/* A proxy has two pages at least. */
	most = size / page / 2 < DEST_MAX ? size / page / 2 : DEST_MAX;
	table = (most * sizeof(*entries) + page - 1) & -page;
	entries = at;
	start = (uintptr_t)at + table + page;
	end = (uintptr_t)at + size;
	cursor = start;
	ddi_dest_range[0] = start;
	ddi_dest_range[1] = end;
	return 0;
}

/* Give memory to one more page of the array, if it is full. */
static int table_grow(void)
{
	if (count == most)
		return -ENOSPC;
	if (count < room)
		return 0;
	if (mprotect(entries + room, page, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	room += page / sizeof(*entries);
	return 0;
}

/* Number of proxies that begin at @addr or before. */
static uint32_t entry_index(uintptr_t addr)
{
	uint32_t low = 0, high = ddi_load(&count);

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (ddi_load(&entries[mid].base) <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The page behind a proxy belongs to it. */
static uintptr_t entry_end(uint32_t i)
{
	return (entries[i].base + entries[i].dest->len + 2 * page - 1) & -page;
}

/*
 * Find room behind the latest proxy, so that addresses are used again late. Returns the place in
 * the array, and the address in @cursor; DEST_MAX if there is none.
 */
static uint32_t space_find(size_t need)
{
	for (int turn = 0; turn < 2; turn++, cursor = start) {
		uint32_t i = entry_index(cursor);

		if (i && entry_end(i - 1) > cursor)
			cursor = entry_end(i - 1);
		for (; i < count; cursor = entry_end(i++))
			if (entries[i].base - cursor >= need)
				return i;
		if (end - cursor >= need)
			return i;
	}
	return DEST_MAX;
}

/* Other threads may look at both entries: of the addresses that they find, none is made of two. */
static void entry_move(uint32_t to, uint32_t from)
{
	ddi_store(&entries[to].base, entries[from].base);
	ddi_store(&entries[to].dest, entries[from].dest);
}

static void change_begin(void)
{
	__atomic_store_n(&sequence, sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void change_end(void)
{
	__atomic_store_n(&sequence, sequence + 1, __ATOMIC_RELEASE);
}

static int dest_add(struct ddi_dest *d, size_t len)
{
	uint32_t i;
	int ret;

	if (space_reserve())
		return -ENOMEM;
	ret = table_grow();
	if (ret)
		return ret;
	i = len > end - start ? DEST_MAX : space_find(((len + page - 1) & -page) + page);
	if (i == DEST_MAX)
		return -ENOSPC;
	change_begin();
	for (uint32_t j = count; j > i; j--)
		entry_move(j, j - 1);
	ddi_store(&entries[i].base, cursor);
	ddi_store(&entries[i].dest, d);
	ddi_store(&count, count + 1);
	ddi_store_release(&d->base, cursor);
	ddi_store_release(&d->len, len);
	change_end();
	cursor = entry_end(i);
	return 0;
}

/* Find addresses for @len bytes: 0, -ENOSPC or -ENOMEM (none could be reserved). @d has none. */
DD_API int ddi_dest_add(struct ddi_dest *d, size_t len)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = dest_add(d, len);
	pthread_mutex_unlock(&lock);
	return ret;
}

DD_API void ddi_dest_del(struct ddi_dest *d)
{
	uint32_t i;

	pthread_mutex_lock(&lock);
	i = entry_index(d->base) - 1;
	change_begin();
	ddi_store(&d->len, 0);
	ddi_store(&count, count - 1);
	for (; i < count; i++)
		entry_move(i, i + 1);
	change_end();
	pthread_mutex_unlock(&lock);
}

/* The proxy that an address is in, or NULL. */
DD_API struct ddi_dest *ddi_dest_find(const void *addr)
{
	uintptr_t at = (uintptr_t)addr;
	struct ddi_dest *d;
	uint32_t before, i;

	do {
		before = ddi_load_acquire(&sequence);
		i = entry_index(at);
		d = i ? ddi_load(&entries[i - 1].dest) : NULL;
		if (d && at - ddi_load(&entries[i - 1].base) >= ddi_load(&d->len))
			d = NULL;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (before & 1 || ddi_load(&sequence) != before);
	return d;
}
