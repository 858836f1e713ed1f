// SPDX-License-Identifier: LGPL-2.1-only
/*
 * peer.c - processes that export buffers, and whether they exist
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>

#include "import.h"

static struct vmmc_peer *peers;		/* vmmc_lock */

/* The records are the parent's. */
static void in_child(void)
{
	struct vmmc_peer *p;

	while ((p = peers)) {
		peers = p->next;
		free(p);
	}
}

static int presence_begin(struct vmmc_peer *p)
{
	struct dd_import_attr attr = {
		.size = sizeof(attr), .node = p->node, .key_class = DD_KEY_BUFFER,
		.rights = DD_CAN_GET, .depth = 1,
	};

	vmmc_key(attr.key, p->pid, 0, VMMC_KEY_PRESENCE);
	return dd_import_begin(p->h, &attr, &p->presence);
}

/* Whether the process exists: Success, InProgress if that is not known yet, or an error. */
vmmc_result_t vmmc_peer_state(struct vmmc_peer *p)
{
	int ret = dd_import_wait(p->presence, 0);

	if (ret == -EAGAIN || ret == -ETIMEDOUT || ret == -EINTR)
		return vmmcErr_InProgress;
	return ret == -ESTALE ? vmmcErr_NoSuchProcess : vmmc_import_code(ret);
}

/* A process that has ended may have given its number to another one. */
static struct vmmc_peer *peer_find(int node, vmmc_pid_t pid)
{
	struct vmmc_peer *p = peers;
	vmmc_result_t code;

	for (; p; p = p->next) {
		if (p->node != node || p->pid != pid)
			continue;
		code = vmmc_peer_state(p);
		if (!code || code == vmmcErr_InProgress)
			return p;
	}
	return NULL;
}

/* The process, with one more user; NULL with *@code set. */
struct vmmc_peer *vmmc_peer_get(struct dd *h, int node, vmmc_pid_t pid, vmmc_result_t *code)
{
	struct vmmc_peer *p = peer_find(node, pid);
	static bool watching;

	vmmc_at_fork(&watching, in_child);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p) {
			*code = vmmcErr_NoMem;
			return NULL;
		}
		*p = (struct vmmc_peer){ .h = h, .node = node, .pid = pid,
					 .lock = PTHREAD_MUTEX_INITIALIZER };
		*code = vmmc_import_code(presence_begin(p));
		if (*code) {
			free(p);
			return NULL;
		}
		p->next = peers;
		peers = p;
	}
	p->users++;
	return p;
}

void vmmc_peer_put(struct vmmc_peer *p)
{
	struct vmmc_peer **link = &peers;

	if (--p->users)
		return;
	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	dd_unimport(p->presence);
	free(p);
}
