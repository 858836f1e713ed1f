// SPDX-License-Identifier: LGPL-2.1-only
/*
 * send.c - requests to imported buffers
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <stddef.h>

#include "import.h"
#include "order.h"

#define WORD	sizeof(int32)

static DDI_TLS struct ddi_near near;

static vmmc_result_t request_code(int64_t ret)
{
	if (ret == -EDEADLK)
		return vmmcErr_BlockedNotifications;
	/* The rights, the end of the segment, or of the session with its node. */
	return ret > 0 ? vmmc_Success : vmmc_code(ret, vmmcErr_BadIbufState);
}

static vmmc_async_handle_t handle_of(const struct ddi_proxy *p, int64_t n, bool get)
{
	const struct vmmc_import *i = (const struct vmmc_import *)
		((const char *)p - offsetof(struct vmmc_import, proxy));
	uint64_t value = n > 0 ? n << 1 | get : 0;

	return (vmmc_async_handle_t){ .import = { i->slot.index, i->slot.use },
				      .low = value, .high = value >> 32 };
}

static vmmc_result_t request(const char *call, const int32 *local, const int32 *proxy,
			     uint32 nwords, unsigned int flags, bool get,
			     vmmc_async_handle_t *handle)
{
	struct ddi_request r = { .local = (char *)local, .remote = (const char *)proxy,
				 .len = (size_t)nwords * WORD, .flags = flags, .get = get,
				 .near = &near };
	struct ddi_proxy *p;
	vmmc_result_t code;
	int64_t ret;

	if (!nwords || nwords > VMMC_WORDS_MAX) {
		code = vmmcErr_BadSize;
	} else if (((uintptr_t)local | (uintptr_t)proxy) % WORD) {
		code = vmmcErr_BadAlignment;
	} else if (!(p = ddi_proxy_find(r.remote, r.len, VMMC_KEY))) {
		code = vmmcErr_BadProxyAddr;
	} else {
		ret = ddi_request(p, &r, handle);
		if (handle)
			*handle = handle_of(p, ret, get);
		code = request_code(ret);
	}
	return vmmc_result(call, code);
}

static int send_any(void *src, void *proxy, uint32_t nwords)
{
	return request("vmmc_SendData", src, proxy, nwords, 0, false, NULL);
}

static int get_any(void *dst, void *proxy, uint32_t nwords)
{
	return request("vmmc_GetData", dst, proxy, nwords, 0, true, NULL);
}

VMMC_API vmmc_result_t vmmc_SendData(const int32 *src, int32 *proxy, uint32 nwords)
{
	return ddi_near_put((void *)src, proxy, nwords, &near, send_any);
}

VMMC_API vmmc_result_t vmmc_GetData(int32 *dst, int32 *proxy, uint32 nwords)
{
	return ddi_near_get(dst, proxy, nwords, &near, get_any);
}

VMMC_API vmmc_result_t vmmc_SendDataNotify(const int32 *src, int32 *proxy, uint32 nwords)
{
	return request("vmmc_SendDataNotify", src, proxy, nwords, DD_PUT_NOTIFY, false, NULL);
}

static vmmc_result_t request_async(const char *call, const int32 *local, int32 *proxy,
				   uint32 nwords, unsigned int flags, bool get,
				   vmmc_async_handle_t *handle)
{
	return handle ? request(call, local, proxy, nwords, flags, get, handle) :
			vmmc_result(call, vmmcErr_BadArg);
}

VMMC_API vmmc_result_t vmmc_SendDataAsync(const int32 *src, int32 *proxy, uint32 nwords,
					  vmmc_async_handle_t *handle)
{
	return request_async("vmmc_SendDataAsync", src, proxy, nwords, 0, false, handle);
}

VMMC_API vmmc_result_t vmmc_SendDataAsyncNotify(const int32 *src, int32 *proxy, uint32 nwords,
						vmmc_async_handle_t *handle)
{
	return request_async("vmmc_SendDataAsyncNotify", src, proxy, nwords, DD_PUT_NOTIFY, false,
			     handle);
}

VMMC_API vmmc_result_t vmmc_GetDataAsync(int32 *dst, int32 *proxy, uint32 nwords,
					 vmmc_async_handle_t *handle)
{
	return request_async("vmmc_GetDataAsync", dst, proxy, nwords, 0, true, handle);
}

VMMC_API vmmc_result_t vmmc_AsyncStatus(const vmmc_async_handle_t *handle)
{
	struct vmmc_import *i;
	uint64_t value;
	int ret;

	if (!handle)
		return vmmcErr_BadArg;
	i = vmmc_import_find(handle->import);
	if (!i)
		return vmmcErr_BadAsyncHandle;
	value = (uint64_t)handle->high << 32 | handle->low;
	ret = value ? ddi_request_status(&i->proxy, value >> 1, value & 1) : 0;
	return ret == -EAGAIN ? vmmcErr_InProgress : request_code(ret);
}
