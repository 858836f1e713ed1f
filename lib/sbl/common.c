// SPDX-License-Identifier: LGPL-2.1-only
/*
 * common.c - the handle of the process, its memory, and threads of the library
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <signal.h>

#include "common.h"
#include "hosts.h"
#include "peer.h"
#include "shared.h"

#define STACK_SIZE	(128u << 10)

pthread_mutex_t sbl_lock = PTHREAD_MUTEX_INITIALIZER;

static struct sbl_range *ranges;	/* sbl_lock */

static void in_child(void)
{
	pthread_mutex_init(&sbl_lock, NULL);
	ranges = NULL;
}

int sbl_range_add(struct sbl_range *r)
{
	for (const struct sbl_range *o = ranges; o; o = o->next)
		if (r->addr < o->addr + o->len && o->addr < r->addr + r->len)
			return SBL_EOverlappedBufs;
	r->next = ranges;
	ranges = r;
	return SBL_Success;
}

void sbl_range_del(struct sbl_range *r)
{
	struct sbl_range **link = &ranges;

	while (*link != r)
		link = &(*link)->next;
	*link = r->next;
}

static int handle_code(int ret)
{
	switch (dd_errno(ret)) {
	case 0:
		return SBL_Success;
	case EACCES:
	case EPERM:
		return SBL_EPermission;
	case EDQUOT:
	case ENOMEM:
	case ENOSPC:
		return SBL_ENoMem;
	case EINVAL:
		return SBL_EBadArg;
	}
	return SBL_ENoSuchNode;
}

/* The addresses of nodes are read before any function of a note can run. */
static void named_make(int own)
{
	static bool watching, named;

	if (ddi_load_acquire(&named))
		return;
	sbl_enter();
	ddi_at_fork(&watching, in_child);
	if (!named)
		sbl_hosts_read(own);
	ddi_store_release(&named, true);
	sbl_leave();
}

int sbl_handle(struct dd **h)
{
	int ret = ddi_present(h, NULL);

	if (!ret)
		named_make(dd_node(*h));
	return handle_code(ret);
}

int sbl_thread(void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int ret;

	ret = pthread_attr_init(&attr);
	if (ret)
		return ret;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return ret;
}
