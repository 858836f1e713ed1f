// SPDX-License-Identifier: LGPL-2.1-only
/*
 * common.c - what segments and descriptors share: the handle, errors, tables, patience
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "rmem_int.h"

#define CLERK_NS	3000000000ll	/* for a clerk that is being started again */
#define CLERK_PAUSE_NS	10000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dd *handle;

/* Convert a result of libdd. */
int rm_error(int ret)
{
	if (ret >= 0)
		return ret;
	errno = dd_errno(ret);
	if (errno == EBUSY)
		errno = EAGAIN;
	return -1;
}

/* The child opens a handle of its own; segments and descriptors stay the parent's. */
static void in_child(void)
{
	handle = NULL;
	pthread_mutex_init(&lock, NULL);
}

struct dd *rm_handle(void)
{
	static bool watching;
	struct dd *h = __atomic_load_n(&handle, __ATOMIC_ACQUIRE);
	int ret;

	if (h)
		return h;
	pthread_mutex_lock(&lock);
	h = handle;
	ret = h ? 0 : dd_open(&h);
	if (!watching)
		watching = !pthread_atfork(NULL, NULL, in_child);
	if (!ret)
		__atomic_store_n(&handle, h, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	return rm_error(ret) ? NULL : h;
}

int rm_slot_new(void **table, void *entry)
{
	int i, found = -1;

	pthread_mutex_lock(&lock);
	for (i = 0; i < RM_MAX && found < 0; i++)
		if (!table[i])
			found = i;
	if (found >= 0)
		__atomic_store_n(&table[found], entry, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	if (found < 0)
		errno = EMFILE;
	return found;
}

void *rm_slot_get(void **table, int i)
{
	void *entry = i < 0 || i >= RM_MAX ? NULL :
					     __atomic_load_n(&table[i], __ATOMIC_ACQUIRE);

	if (!entry)
		errno = EBADF;
	return entry;
}

void *rm_slot_own(void **table, int i)
{
	struct dd **entry = rm_slot_get(table, i);

	if (!entry || dd_node(*entry) >= 0)
		return entry;
	errno = ESTALE;
	return NULL;
}

void *rm_slot_remove(void **table, int i)
{
	struct dd **entry = i < 0 || i >= RM_MAX ? NULL :
			    __atomic_exchange_n(&table[i], NULL, __ATOMIC_ACQ_REL);
	void *none = NULL;

	/* Of several threads, one takes it, before it looks into what another one may free. */
	if (!entry) {
		errno = EBADF;
	} else if (dd_node(*entry) < 0) {
		/* The parent's. It is not needed if another thread has used the place meanwhile. */
		__atomic_compare_exchange_n(&table[i], &none, (void *)entry, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		errno = ESTALE;
		entry = NULL;
	}
	return entry;
}

bool rm_again(int ret, int64_t *end)
{
	const struct timespec pause = { .tv_nsec = CLERK_PAUSE_NS };
	struct timespec t;
	int64_t now;

	if (ret != -EINTR && ret != -EHOSTDOWN)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &t);
	now = t.tv_sec * 1000000000ll + t.tv_nsec;
	if (!*end)
		*end = now + CLERK_NS;
	if (now >= *end)
		return false;
	if (ret == -EHOSTDOWN)
		nanosleep(&pause, NULL);
	return true;
}
