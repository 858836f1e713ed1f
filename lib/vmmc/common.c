// SPDX-License-Identifier: LGPL-2.1-only
/*
 * common.c - the handle of the process, and records that handles name
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>
#include <unistd.h>

#include "hosts.h"
#include "shared.h"
#include "common.h"

pthread_mutex_t vmmc_lock = PTHREAD_MUTEX_INITIALIZER;

struct vmmc_slot *vmmc_slot_new(struct vmmc_slots *t, size_t size)
{
	struct vmmc_slot *s = t->free;

	if (s) {
		t->free = s->next;
	} else {
		s = t->count < VMMC_MAX ? calloc(1, size) : NULL;
		if (!s)
			return NULL;
		s->index = t->count;
		__atomic_store_n(&t->slot[t->count], s, __ATOMIC_RELEASE);
		/* Another thread may fork(): the child looks at the records that are counted. */
		__atomic_store_n(&t->count, t->count + 1, __ATOMIC_RELEASE);
	}
	s->taken = true;
	return s;
}

/* Handles may name the record from now on. */
void vmmc_slot_open(struct vmmc_slot *s)
{
	if (!++s->uses)
		s->uses = 1;
	__atomic_store_n(&s->use, s->uses, __ATOMIC_RELEASE);
}

void vmmc_slot_free(struct vmmc_slots *t, struct vmmc_slot *s)
{
	__atomic_store_n(&s->use, 0, __ATOMIC_RELAXED);
	s->taken = false;
	s->next = t->free;
	t->free = s;
}

/* In a child of fork(): all records are free. */
void vmmc_slots_reset(struct vmmc_slots *t)
{
	for (unsigned int i = 0; i < t->count; i++)
		if (t->slot[i]->taken)
			vmmc_slot_free(t, t->slot[i]);
}

static vmmc_result_t handle_code(int ret)
{
	switch (dd_errno(ret)) {
	case EACCES:
	case EPERM:
		return vmmcErr_Permission;
	case EDQUOT:
	case ENOMEM:
	case ENOSPC:
		return vmmcErr_NoMem;
	case EINVAL:
		return vmmcErr_BadArg;
	}
	return vmmcErr_NoSuchNode;
}

static void in_child(void)
{
	pthread_mutex_init(&vmmc_lock, NULL);
}

/* The names of nodes are read before any function of a note can run. */
static void named_make(struct dd *h)
{
	static bool watching, named;

	if (ddi_load_acquire(&named))
		return;
	vmmc_enter();
	ddi_at_fork(&watching, in_child);
	if (!named)
		vmmc_hosts_read(h);
	ddi_store_release(&named, true);
	vmmc_leave();
}

vmmc_result_t vmmc_handle(struct dd **h)
{
	int ret = ddi_present(h, NULL);

	if (ret)
		return handle_code(ret);
	named_make(*h);
	return vmmc_Success;
}

VMMC_API vmmc_pid_t vmmc_MyPid(void)
{
	struct dd *h;
	int pid;

	return ddi_present(&h, &pid) ? getpid() : pid;
}

VMMC_API int vmmc_PageSize(void)
{
	long size = sysconf(_SC_PAGESIZE);

	return size % 4096 ? size : 4096;
}

VMMC_API int vmmc_WordSize(void)
{
	return sizeof(int32);
}

VMMC_API void vmmc_Version(uint32 *major, uint32 *minor)
{
	*major = 2;
	*minor = 0;
}
