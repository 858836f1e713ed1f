// SPDX-License-Identifier: LGPL-2.1-only
/*
 * export.c - receive buffers, their redirection and their notifications
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stdlib.h>

#include "buffer.h"
#include "common.h"
#include "peer.h"
#include "shared.h"

/**
 * struct export - a receive buffer
 * @slot: names it
 * @buffer: its memory, handler, and segment of libdd
 * @number: chosen by the program
 * @state: of a redirectable buffer, else NULL
 * @redir: where a message is redirected to; pinned until vmmc_EndRedir(). NULL if none is
 */
struct export {
	struct vmmc_slot slot;
	struct ddi_buffer buffer;
	uint32_t number;
	struct dd_export_state *state;
	void *redir;
};

static struct vmmc_slots exports;

static struct export *export_find(vmmc_exphandle_t handle)
{
	return (struct export *)vmmc_slot_get(&exports, handle.slot, handle.use);
}

static struct export *export_redirectable(vmmc_exphandle_t handle)
{
	struct export *e = export_find(handle);

	return e && e->state ? e : NULL;
}

static void in_child(void)
{
	vmmc_slots_reset(&exports);
}

static vmmc_result_t flags_check(uint32 flags, vmmc_perm_t perm)
{
	const uint32 kinds = BUF_REDIRECTABLE | BUF_GLOBAL_SPACE;

	if (flags & ~(BUF_READWRITE | kinds) || !(flags & BUF_READWRITE) ||
	    (flags & kinds) == kinds || perm > VMMC_PERM_ONE)
		return vmmcErr_BadArg;
	return vmmc_Success;
}

static vmmc_result_t export_check(const int32 *buf, uint32 nwords)
{
	if (!buf)
		return vmmcErr_BadArg;
	if ((uintptr_t)buf % sizeof(*buf))
		return vmmcErr_BadAlignment;
	return nwords && nwords <= VMMC_WORDS_MAX ? vmmc_Success : vmmcErr_BadSize;
}

/* Whether a buffer may be exported beside the others. */
static vmmc_result_t export_fits(const char *addr, size_t len, uint32_t number)
{
	for (unsigned int i = 0; i < exports.count; i++) {
		const struct export *e = (const struct export *)exports.slot[i];

		if (!e->slot.taken)
			continue;
		if (e->number == number)
			return vmmcErr_BufAlreadyExists;
		if (addr < e->buffer.addr + e->buffer.len && e->buffer.addr < addr + len)
			return vmmcErr_OverlappedBufs;
	}
	return vmmc_Success;
}

/*
 * Rights of importers: they write with BUF_WRITE_ONLY, and read with BUF_READ_ONLY. Those of other
 * users may have windows, too, since these show nothing but the buffer.
 */
static void export_attr(const struct export *e, uint32 flags, vmmc_perm_t perm,
			struct dd_export_attr *a)
{
	*a = (struct dd_export_attr){
		.size = sizeof(*a),
		.rights = (flags & BUF_WRITE_ONLY ? DD_CAN_PUT : 0) |
			  (flags & BUF_READ_ONLY ? DD_CAN_GET : 0),
		.users = perm == VMMC_PERM_SAMEUSER ? DD_FOR_USER : DD_FOR_ANY,
		.importers = perm == VMMC_PERM_ONE ? 1 : e->buffer.fn ? VMMC_NOTIFIERS : 65536,
		.flags = flags & BUF_REDIRECTABLE ? DD_EXPORT_REDIRECT : DD_EXPORT_DIRECT_ANY,
	};
	ddi_key(a->key, dd_pid(e->buffer.h), e->number, VMMC_KEY);
}

/* The program may have exported the number by libdd. */
static vmmc_result_t export_code(int ret)
{
	return ret == -EEXIST ? vmmcErr_BufAlreadyExists : vmmc_code(ret, vmmcErr_NoSuchNode);
}

static vmmc_result_t export_open(struct export *e, uint32 flags, vmmc_perm_t perm)
{
	struct dd_export_attr a;
	int ret;

	export_attr(e, flags, perm, &a);
	ret = ddi_buffer_export(&e->buffer, &a);
	e->state = a.state;
	return ret ? export_code(ret) : vmmc_Success;
}

static vmmc_result_t export_buf(struct dd *h, int32 *buf, uint32 nwords, uint32 rbufid,
				vmmc_callback_t proc, uint32 flags, vmmc_perm_t perm,
				vmmc_exphandle_t *handle)
{
	static bool watching;
	size_t len = (size_t)nwords * sizeof(*buf);
	struct export *e;
	vmmc_result_t code = export_fits((char *)buf, len, rbufid);

	if (code)
		return code;
	ddi_at_fork(&watching, in_child);
	e = (struct export *)vmmc_slot_new(&exports, sizeof(*e));
	if (!e)
		return vmmcErr_NoMem;
	e->buffer = (struct ddi_buffer){ .h = h, .addr = (char *)buf, .len = len, .fn = proc };
	e->number = rbufid;
	e->redir = NULL;
	code = export_open(e, flags, perm);
	if (code) {
		vmmc_slot_free(&exports, &e->slot);
		return code;
	}
	vmmc_slot_open(&e->slot);
	*handle = (vmmc_exphandle_t){ e->slot.index, e->slot.use };
	return vmmc_Success;
}

VMMC_API vmmc_result_t vmmc_ExportRecvBuf(int32 *buf, uint32 nwords, uint32 rbufid,
					  vmmc_callback_t proc, uint32 flags, vmmc_perm_t perm,
					  vmmc_exphandle_t *handle)
{
	vmmc_result_t code;
	struct dd *h;

	if (vmmc_in_handler())
		code = vmmcErr_NotInHandler;
	else if (!handle)
		code = vmmcErr_BadArg;
	else if (!(code = export_check(buf, nwords)) && !(code = flags_check(flags, perm)) &&
		 !(code = vmmc_handle(&h))) {
		vmmc_enter();
		code = export_buf(h, buf, nwords, rbufid, proc, flags, perm, handle);
		vmmc_leave();
	}
	return vmmc_result("vmmc_ExportRecvBuf", code);
}

/* ---- the end ----------------------------------------------------------------- */

/* No call finds the buffer any more. Its pending notifications are not blocked, or there are none. */
static vmmc_result_t unexport_begin(vmmc_exphandle_t handle, struct export **found)
{
	struct export *e = export_find(handle);

	if (!e)
		return vmmcErr_BadRbufState;
	if (ddi_buffer_blocked(&e->buffer))
		return vmmcErr_BlockedNotifications;
	__atomic_store_n(&e->slot.use, 0, __ATOMIC_RELAXED);
	*found = e;
	return vmmc_Success;
}

static void unexport_end(struct export *e)
{
	if (e->redir)
		dd_unpin(e->buffer.h, e->redir);
	vmmc_slot_free(&exports, &e->slot);
}

VMMC_API vmmc_result_t vmmc_UnexportRecvBuf(vmmc_exphandle_t handle)
{
	vmmc_result_t code;
	struct export *e;

	if (vmmc_in_handler())
		return vmmc_result("vmmc_UnexportRecvBuf", vmmcErr_NotInHandler);
	vmmc_enter();
	code = unexport_begin(handle, &e);
	vmmc_leave();
	if (!code) {
		ddi_buffer_end(&e->buffer);
		vmmc_enter();
		unexport_end(e);
		vmmc_leave();
	}
	return vmmc_result("vmmc_UnexportRecvBuf", code);
}

/* ---- redirection --------------------------------------------------------------- */

VMMC_API int vmmc_DataEnd(vmmc_exphandle_t handle)
{
	struct export *e = export_redirectable(handle);
	uint64_t end;

	if (!e)
		return vmmcErr_BadRbufState;
	end = ddi_load_acquire(&e->state->data_end);
	/* An importer that uses libdd may have ended it in a word. */
	return end ? (int)((end - 1) / sizeof(int32)) : vmmcErr_NoSuchError;
}

VMMC_API void vmmc_ClearDataEnd(vmmc_exphandle_t handle)
{
	struct export *e = export_redirectable(handle);

	if (e)
		ddi_store(&e->state->data_end, 0);
}

static vmmc_result_t redir_post(struct export *e, size_t offset, size_t len, void *to)
{
	int ret;

	if (offset > e->buffer.len || len > e->buffer.len - offset)
		return vmmcErr_BadArg;
	ret = dd_pin(e->buffer.h, to, len);
	if (ret)
		return vmmc_code(ret, vmmcErr_BadRbufState);
	ret = dd_redirect(e->buffer.h, e->buffer.segment, offset, to, len);
	if (ret) {
		dd_unpin(e->buffer.h, to);
		return vmmc_code(ret, vmmcErr_BadRbufState);
	}
	/* That of a message that has arrived. */
	if (e->redir)
		dd_unpin(e->buffer.h, e->redir);
	e->redir = to;
	return vmmc_Success;
}

VMMC_API vmmc_result_t vmmc_PostRedir(vmmc_exphandle_t handle, uint32 offset, uint32 nwords,
				      int32 *to)
{
	vmmc_result_t code;
	struct export *e;

	if (vmmc_in_handler())
		return vmmc_result("vmmc_PostRedir", vmmcErr_NotInHandler);
	code = export_check(to, nwords);
	if (!code) {
		vmmc_enter();
		e = export_redirectable(handle);
		code = e ? redir_post(e, (size_t)offset * sizeof(*to), (size_t)nwords * sizeof(*to),
				      to) : vmmcErr_BadRbufState;
		vmmc_leave();
	}
	return vmmc_result("vmmc_PostRedir", code);
}

static vmmc_result_t redir_end(struct export *e, uint32 *nwords, uint32 *first)
{
	int ret;

	if (!e || !e->redir)
		return vmmcErr_BadRbufState;
	ret = dd_redirect_end(e->buffer.h, e->buffer.segment);
	if (ret)
		return vmmcErr_BadRbufState;
	*nwords = e->state->count / sizeof(int32);
	*first = e->state->first / sizeof(int32);
	dd_unpin(e->buffer.h, e->redir);
	e->redir = NULL;
	return vmmc_Success;
}

VMMC_API vmmc_result_t vmmc_EndRedir(vmmc_exphandle_t handle, uint32 *nwords, uint32 *first)
{
	vmmc_result_t code;

	if (vmmc_in_handler()) {
		code = vmmcErr_NotInHandler;
	} else if (!nwords || !first) {
		code = vmmcErr_BadArg;
	} else {
		vmmc_enter();
		code = redir_end(export_redirectable(handle), nwords, first);
		vmmc_leave();
	}
	return vmmc_result("vmmc_EndRedir", code);
}
