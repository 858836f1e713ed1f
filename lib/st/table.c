// SPDX-License-Identifier: LGPL-2.1-only
/*
 * table.c - records that handles name
 *
 * Copyright (C) 2026 The dd authors
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "table.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Bytes between the handles of two records; a record has a handle at every eighth, in turn. */
static size_t stride(const struct st_table *t)
{
	return (size_t)1 << t->shift;
}

static unsigned int max(const struct st_table *t)
{
	return ST_SPACE >> t->shift;
}

static bool table_make(struct st_table *t)
{
	void *base;

	base = mmap(NULL, ST_SPACE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return false;
	t->last = &t->free;
	__atomic_store_n(&t->base, (uintptr_t)base, __ATOMIC_RELAXED);
	return true;
}

static struct st_name *table_free(struct st_table *t)
{
	struct st_name *name = t->free;

	if (name) {
		t->free = name->next;
		if (!t->free)
			t->last = &t->free;
		name->next = NULL;
	}
	return name;
}

static struct st_name *table_grow(struct st_table *t)
{
	struct st_name *name = t->count < max(t) ? calloc(1, t->size) : NULL;

	if (name) {
		name->index = t->count;
		__atomic_store_n(&t->record[t->count++], name, __ATOMIC_RELEASE);
	}
	return name;
}

struct st_name *st_table_take(struct st_table *t)
{
	struct st_name *name = NULL;

	pthread_mutex_lock(&lock);
	if (t->base || table_make(t))
		name = table_free(t);
	if (t->base && !name)
		name = table_grow(t);
	pthread_mutex_unlock(&lock);
	return name;
}

static void release(struct st_table *t, struct st_name *name)
{
	*t->last = name;
	t->last = &name->next;
}

void st_table_release(struct st_table *t, struct st_name *name)
{
	pthread_mutex_lock(&lock);
	release(t, name);
	pthread_mutex_unlock(&lock);
}

uintptr_t st_table_open(struct st_table *t, struct st_name *name)
{
	size_t uses = stride(t) / sizeof(uint64_t);
	uintptr_t value = t->base + name->index * stride(t) +
			  name->use++ % uses * sizeof(uint64_t);

	__atomic_store_n(&name->value, value, __ATOMIC_RELEASE);
	return value;
}

bool st_table_close(struct st_name *name, uintptr_t value)
{
	return __atomic_compare_exchange_n(&name->value, &value, 0, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

void st_table_lock(void)
{
	pthread_mutex_lock(&lock);
}

void st_table_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void st_table_child(struct st_table *t, void (*reset)(struct st_name *name))
{
	pthread_mutex_init(&lock, NULL);
	t->free = NULL;
	t->last = &t->free;
	for (unsigned int i = 0; i < t->count; i++) {
		struct st_name *name = t->record[i];

		name->value = 0;
		name->next = NULL;
		reset(name);
		release(t, name);
	}
}
