/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * import.h - imported buffers and their exporters
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _VMMC_IMPORT_H
#define _VMMC_IMPORT_H

#include "destspace.h"
#include "common.h"

struct vmmc_import;

/**
 * struct vmmc_peer - a process that exports buffers
 * @h: handle of libdd
 * @node: its node
 * @pid: the process
 * @presence: import of its presence
 * @lock: protects @last, and orders requests to another node
 * @last: the import of the last request, or NULL: those of the others are done
 * @users: imports of this process
 * @next: in the list of peers
 */
struct vmmc_peer {
	struct dd *h;
	int node;
	vmmc_pid_t pid;
	struct dd_mem *presence;
	pthread_mutex_t lock;
	struct vmmc_import *last;
	unsigned int users;
	struct vmmc_peer *next;
};

/*
 * State of an import: VMMC_PENDING until it is made and has a proxy, VMMC_MADE until that was
 * reported.
 */
enum vmmc_import_state {
	VMMC_PENDING,
	VMMC_MADE,
	VMMC_REPORTED,
};

/**
 * struct vmmc_import - an imported buffer
 * @slot: names it
 * @dest: its proxy
 * @state: see above; under vmmc_lock
 * @peer: the exporter
 * @mem: import of libdd
 * @local: the exporter is on this node
 */
struct vmmc_import {
	struct vmmc_slot slot;
	struct ddi_dest dest;
	enum vmmc_import_state state;
	struct vmmc_peer *peer;
	struct dd_mem *mem;
	bool local;
};

struct vmmc_peer *vmmc_peer_get(struct dd *h, int node, vmmc_pid_t pid, vmmc_result_t *code);
void vmmc_peer_put(struct vmmc_peer *p);
vmmc_result_t vmmc_peer_state(struct vmmc_peer *p);

/* Counts imports that end, and changes of @last of all peers. */
extern uint32_t vmmc_version;

static inline void vmmc_changed(void)
{
	__atomic_fetch_add(&vmmc_version, 1, __ATOMIC_SEQ_CST);
}

struct vmmc_import *vmmc_import_find(vmmc_imphandle_t handle);

#endif /* _VMMC_IMPORT_H */
