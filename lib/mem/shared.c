// SPDX-License-Identifier: LGPL-2.1-only
/*
 * shared.c - the handle and the note list that the libraries of a process share
 *
 * Copyright (C) 2026 The dd authors
 */
#include <unistd.h>

#include "handle.h"
#include "shared.h"
#include "upcall.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of what follows */
static struct dd *handle;
static int list;
static int list_fd = -1;

/* The child opens a handle of its own. The descriptor would keep the parent's list. */
static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	handle = NULL;
	list = 0;
	if (list_fd >= 0)
		close(list_fd);
	list_fd = -1;
	ddi_upcall_reset();
}

/* Open it at the first call: 0, or the error of dd_open(). The thread is marked. */
DD_API int ddi_shared(struct dd **h)
{
	static bool watching;
	struct dd *opened = ddi_load_acquire(&handle);
	int ret = 0;

	if (!opened) {
		pthread_mutex_lock(&lock);
		opened = handle;
		if (!opened)
			ret = dd_open(&opened);
		ddi_at_fork(&watching, in_child);
		if (!ret)
			ddi_store_release(&handle, opened);
		pthread_mutex_unlock(&lock);
	}
	*h = opened;
	return ret;
}

static int list_make(struct dd *h)
{
	int id = dd_list(h), fd, ret;

	if (id < 0)
		return id;
	fd = dd_list_fd(h, id);
	ret = fd < 0 ? fd : ddi_upcall_start(h, id, fd);
	if (!ret) {
		list = id;
		list_fd = fd;
		return id;
	}
	if (fd >= 0)
		close(fd);
	dd_list_end(h, id);
	return ret;
}

/* The list whose notes are handled by upcall.h: its id, or an error. The thread is marked. */
DD_API int ddi_shared_list(void)
{
	struct dd *h;
	int ret = ddi_shared(&h);

	if (ret)
		return ret;
	pthread_mutex_lock(&lock);
	ret = list ? list : list_make(h);
	pthread_mutex_unlock(&lock);
	return ret;
}
