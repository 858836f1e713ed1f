// SPDX-License-Identifier: LGPL-2.1-only
/*
 * common.c - the handle of the process, and records that handles name
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hosts.h"
#include "shared.h"
#include "common.h"

pthread_mutex_t vmmc_lock = PTHREAD_MUTEX_INITIALIZER;

static struct dd *present;	/* handle by which this process is known */
static vmmc_pid_t own_pid;

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

void vmmc_key(void *key, vmmc_pid_t pid, uint32_t number, char kind)
{
	unsigned char *k = key;

	memset(k, 0, DD_KEY_SIZE);
	for (int i = 0; i < 4; i++) {
		k[i] = (uint32_t)pid >> 8 * i;
		k[4 + i] = number >> 8 * i;
	}
	k[8] = kind;
}

/*
 * Export a word that each importer of a buffer imports first: if that is refused, there is no such
 * process, and when it ends, the process has ended.
 */
static int presence(struct dd *h)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .len = sizeof(uint32_t), .key_class = DD_KEY_BUFFER,
		.rights = DD_CAN_GET, .notify = DD_NOTIFY_NEVER, .users = DD_FOR_ANY,
		.importers = 65536, .flags = DD_EXPORT_NODIRECT,
	};
	uint64_t segment;
	int ret;

	own_pid = dd_pid(h);
	if (own_pid < 0)
		return own_pid;
	ret = dd_alloc(h, attr.len, &attr.addr);
	if (ret)
		return ret;
	vmmc_key(attr.key, own_pid, 0, VMMC_KEY_PRESENCE);
	ret = dd_export(h, &attr, &segment);
	if (ret)
		dd_free(h, attr.addr);
	return ret;
}

static void in_child(void)
{
	pthread_mutex_init(&vmmc_lock, NULL);
	present = NULL;
}

/* Have a child of fork() call a function; *@done says that it was done. */
void vmmc_at_fork(bool *done, void (*in_the_child)(void))
{
	if (!*done)
		*done = !pthread_atfork(NULL, NULL, in_the_child);
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

vmmc_result_t vmmc_handle(struct dd **h)
{
	static bool watching, named;
	int ret = 0;

	*h = ddi_load_acquire(&present);
	if (*h)
		return vmmc_Success;
	vmmc_enter();
	*h = present;
	if (!*h) {
		ret = ddi_shared(h);
		vmmc_at_fork(&watching, in_child);
		if (!ret && !named) {
			vmmc_hosts_read(dd_node(*h));
			named = true;
		}
		if (!ret)
			ret = presence(*h);
		if (!ret)
			ddi_store_release(&present, *h);
	}
	vmmc_leave();
	return ret ? handle_code(ret) : vmmc_Success;
}

VMMC_API vmmc_pid_t vmmc_MyPid(void)
{
	struct dd *h;

	return vmmc_handle(&h) ? getpid() : own_pid;
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

VMMC_API vmmc_result_t vmmc_Spawn(const char *execfile, char **argv, vmmc_node_t node,
				  vmmc_pid_t *pid)
{
	(void)execfile;
	(void)argv;
	(void)node;
	(void)pid;
	return vmmc_result("vmmc_Spawn", vmmcErr_NotImplemented);
}

VMMC_API vmmc_result_t vmmc_Parent(vmmc_node_t *node, vmmc_pid_t *pid)
{
	(void)node;
	(void)pid;
	return vmmc_result("vmmc_Parent", vmmcErr_NoParent);
}
