// SPDX-License-Identifier: LGPL-2.1-only
/*
 * import.c - imported buffers
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>

#include "import.h"
#include "shared.h"

static struct vmmc_slots imports;

struct vmmc_import *vmmc_import_find(vmmc_imphandle_t handle)
{
	return (struct vmmc_import *)vmmc_slot_get(&imports, handle.slot, handle.use);
}

static void in_child(void)
{
	for (unsigned int i = 0; i < imports.count; i++)
		ddi_proxy_forget(&((struct vmmc_import *)imports.slot[i])->proxy);
	vmmc_slots_reset(&imports);
}

/* Success if the import is made, InProgress, or the error with which it has failed. */
static vmmc_result_t import_poll(struct vmmc_import *i)
{
	int ret = ddi_proxy_poll(&i->proxy);

	return ret == -EAGAIN ? vmmcErr_InProgress : vmmc_import_code(ret);
}

/* The record has neither a name nor addresses; no request uses it. */
static void import_cancel(struct vmmc_import *i)
{
	ddi_proxy_end(&i->proxy);
	vmmc_slot_free(&imports, &i->slot);
}

static vmmc_result_t import_new(vmmc_node_t node, vmmc_pid_t pid, uint32_t number,
				struct vmmc_import **new)
{
	static bool watching;
	struct vmmc_import *i;
	int ret;

	ddi_at_fork(&watching, in_child);
	if (node.number < 0)
		return vmmcErr_NoSuchNode;
	if (pid <= 0)
		return vmmcErr_NoSuchProcess;
	i = (struct vmmc_import *)vmmc_slot_new(&imports, sizeof(*i));
	if (!i)
		return vmmcErr_NoMem;
	i->state = VMMC_PENDING;
	ret = ddi_proxy_begin(&i->proxy, node.number, pid, number, VMMC_KEY);
	if (ret) {
		vmmc_slot_free(&imports, &i->slot);
		return vmmc_import_code(ret);
	}
	*new = i;
	return vmmc_Success;
}

static void import_report(struct vmmc_import *i, int32 **proxy, uint32 *nwords)
{
	i->state = VMMC_MADE;
	*proxy = (int32 *)i->proxy.dest.base;
	*nwords = i->proxy.dest.len / sizeof(**proxy);
}

static vmmc_result_t import_now(vmmc_node_t node, vmmc_pid_t pid, uint32 rbufid,
				vmmc_imphandle_t *handle, int32 **proxy, uint32 *nwords)
{
	struct vmmc_import *i;
	vmmc_result_t code;

	code = import_new(node, pid, rbufid, &i);
	if (code)
		return code;
	while ((code = import_poll(i)) == vmmcErr_InProgress) {
		/* Handlers may run meanwhile. */
		vmmc_leave();
		ddi_proxy_wait(&i->proxy);
		vmmc_enter();
	}
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
		code = import_now(node, pid, rbufid, handle, proxy, nwords);
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
		code = import_new(node, pid, rbufid, &i);
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
	if (i->state == VMMC_MADE)
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
	ddi_proxy_hide(&i->proxy);
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
	ddi_proxy_end(&i->proxy);
	vmmc_enter();
	vmmc_slot_free(&imports, &i->slot);
	vmmc_leave();
	return vmmc_result("vmmc_UnimportRecvBuf", vmmc_Success);
}
