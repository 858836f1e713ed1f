// SPDX-License-Identifier: LGPL-2.1-only
/*
 * import.c - imported buffers
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>

#include "import.h"

static struct vmmc_slots imports;
uint32_t vmmc_version;

struct vmmc_import *vmmc_import_find(vmmc_imphandle_t handle)
{
	return (struct vmmc_import *)vmmc_slot_get(&imports, handle.slot, handle.use);
}

static void in_child(void)
{
	for (unsigned int i = 0; i < imports.count; i++)
		((struct vmmc_import *)imports.slot[i])->dest.len = 0;
	vmmc_slots_reset(&imports);
	vmmc_changed();
}

static int import_begin(struct vmmc_import *i, uint32_t number)
{
	struct dd_import_attr attr = {
		.size = sizeof(attr), .node = i->peer->node, .key_class = DD_KEY_BUFFER,
		.rights = DD_CAN_PUT | DD_CAN_GET, .depth = VMMC_DEPTH,
		.flags = DD_IMPORT_WHEN_EXPORTED | DD_IMPORT_MAY,
	};

	vmmc_key(attr.key, i->peer->pid, number, VMMC_KEY_BUFFER);
	return dd_import_begin(i->peer->h, &attr, &i->mem);
}

/* The buffer is imported: give it a proxy. */
static vmmc_result_t import_made(struct vmmc_import *i)
{
	if (ddi_dest_add(&i->dest, dd_mem_size(i->mem)))
		return vmmcErr_NoVirtDestSpace;
	i->state = VMMC_MADE;
	return vmmc_Success;
}

/* Success if the import is made, InProgress, or the error with which it has failed. */
static vmmc_result_t import_poll(struct vmmc_import *i)
{
	int ret = dd_import_wait(i->mem, 0);

	if (!ret)
		return import_made(i);
	if (ret == -EAGAIN || ret == -ETIMEDOUT || ret == -EINTR) {
		vmmc_result_t code = vmmc_peer_state(i->peer);

		return code ? code : vmmcErr_InProgress;
	}
	return vmmc_import_code(ret);
}

/* The record has neither a name nor a proxy; no request uses it. */
static void import_free(struct vmmc_import *i)
{
	vmmc_peer_put(i->peer);
	vmmc_slot_free(&imports, &i->slot);
}

static void import_cancel(struct vmmc_import *i)
{
	dd_unimport(i->mem);
	import_free(i);
}

static vmmc_result_t import_new(struct dd *h, vmmc_node_t node, vmmc_pid_t pid, uint32_t number,
				struct vmmc_import **new)
{
	static bool watching;
	struct vmmc_import *i;
	vmmc_result_t code;
	int ret;

	vmmc_at_fork(&watching, in_child);
	if (node.number < 0)
		return vmmcErr_NoSuchNode;
	if (pid <= 0)
		return vmmcErr_NoSuchProcess;
	i = (struct vmmc_import *)vmmc_slot_new(&imports, sizeof(*i));
	if (!i)
		return vmmcErr_NoMem;
	i->state = VMMC_PENDING;
	i->local = node.number == dd_node(h);
	i->peer = vmmc_peer_get(h, node.number, pid, &code);
	if (!i->peer) {
		vmmc_slot_free(&imports, &i->slot);
		return code;
	}
	ret = import_begin(i, number);
	if (ret) {
		import_free(i);
		return vmmc_import_code(ret);
	}
	*new = i;
	return vmmc_Success;
}

/* The signal handler of the library may run meanwhile. */
static void import_wait(struct vmmc_import *i)
{
	struct dd_mem *mem = vmmc_peer_state(i->peer) ? i->peer->presence : i->mem;

	vmmc_leave();
	dd_import_wait(mem, VMMC_SLICE_NS);
	vmmc_enter();
}

static void import_report(struct vmmc_import *i, int32 **proxy, uint32 *nwords)
{
	i->state = VMMC_REPORTED;
	*proxy = (int32 *)i->dest.base;
	*nwords = i->dest.len / sizeof(**proxy);
}

static vmmc_result_t import_now(struct dd *h, vmmc_node_t node, vmmc_pid_t pid, uint32 rbufid,
				vmmc_imphandle_t *handle, int32 **proxy, uint32 *nwords)
{
	struct vmmc_import *i;
	vmmc_result_t code;

	code = import_new(h, node, pid, rbufid, &i);
	if (code)
		return code;
	while ((code = import_poll(i)) == vmmcErr_InProgress)
		import_wait(i);
	if (code) {
		import_cancel(i);
		return code;
	}
	vmmc_slot_open(&i->slot);
	*handle = (vmmc_imphandle_t){ i->slot.index, i->slot.use };
	import_report(i, proxy, nwords);
	return vmmc_Success;
}

VMMC_API vmmc_result_t vmmc_ImportRecvBuf(vmmc_node_t node, vmmc_pid_t pid, uint32 rbufid,
					  vmmc_imphandle_t *handle, int32 **proxy,
					  uint32 *nwords)
{
	vmmc_result_t code;
	struct dd *h;

	if (vmmc_in_handler()) {
		code = vmmcErr_NotInHandler;
	} else if (!handle || !proxy || !nwords) {
		code = vmmcErr_BadArg;
	} else if (!(code = vmmc_handle(&h))) {
		vmmc_enter();
		code = import_now(h, node, pid, rbufid, handle, proxy, nwords);
		vmmc_leave();
	}
	return vmmc_result("vmmc_ImportRecvBuf", code);
}

VMMC_API vmmc_result_t vmmc_ImportRecvBufAsync(vmmc_node_t node, vmmc_pid_t pid, uint32 rbufid,
					       vmmc_imphandle_t *handle)
{
	struct vmmc_import *i;
	vmmc_result_t code;
	struct dd *h;

	if (vmmc_in_handler()) {
		code = vmmcErr_NotInHandler;
	} else if (!handle) {
		code = vmmcErr_BadArg;
	} else if (!(code = vmmc_handle(&h))) {
		vmmc_enter();
		code = import_new(h, node, pid, rbufid, &i);
		if (!code) {
			vmmc_slot_open(&i->slot);
			*handle = (vmmc_imphandle_t){ i->slot.index, i->slot.use };
		}
		vmmc_leave();
	}
	return vmmc_result("vmmc_ImportRecvBufAsync", code);
}

static vmmc_result_t import_status(struct vmmc_import *i, int32 **proxy, uint32 *nwords)
{
	vmmc_result_t code;

	if (!i)
		return vmmcErr_BadAsyncHandle;
	if (i->state == VMMC_REPORTED)
		return vmmcErr_StateHandle;
	code = import_poll(i);
	if (!code)
		import_report(i, proxy, nwords);
	else if (code != vmmcErr_InProgress)
		import_cancel(i);
	return code;
}

VMMC_API vmmc_result_t vmmc_ImportRecvBufStatus(vmmc_imphandle_t *handle, int32 **proxy,
						uint32 *nwords)
{
	vmmc_result_t code;

	if (vmmc_in_handler()) {
		code = vmmcErr_NotInHandler;
	} else if (!handle || !proxy || !nwords) {
		code = vmmcErr_BadArg;
	} else {
		vmmc_enter();
		code = import_status(vmmc_import_find(*handle), proxy, nwords);
		vmmc_leave();
	}
	return vmmc_result("vmmc_ImportRecvBufStatus", code);
}

/* No call finds the import any more. */
static struct vmmc_import *unimport_begin(vmmc_imphandle_t handle)
{
	struct vmmc_import *i = vmmc_import_find(handle);

	if (!i)
		return NULL;
	__atomic_store_n(&i->slot.use, 0, __ATOMIC_RELAXED);
	if (i->state != VMMC_PENDING)
		ddi_dest_del(&i->dest);
	pthread_mutex_lock(&i->peer->lock);
	if (i->peer->last == i)
		i->peer->last = NULL;
	vmmc_changed();
	pthread_mutex_unlock(&i->peer->lock);
	return i;
}

VMMC_API vmmc_result_t vmmc_UnimportRecvBuf(vmmc_imphandle_t handle)
{
	struct vmmc_import *i;

	if (vmmc_in_handler())
		return vmmc_result("vmmc_UnimportRecvBuf", vmmcErr_NotInHandler);
	vmmc_enter();
	i = unimport_begin(handle);
	vmmc_leave();
	if (!i)
		return vmmc_result("vmmc_UnimportRecvBuf", vmmcErr_BadIbufState);
	/* Requests to another node are waited for; handlers may run. */
	dd_unimport(i->mem);
	vmmc_enter();
	import_free(i);
	vmmc_leave();
	return vmmc_result("vmmc_UnimportRecvBuf", vmmc_Success);
}
