// SPDX-License-Identifier: LGPL-2.1-only
/*
 * send.c - deliberate update
 *
 * Copyright (C) 2026 The dd authors
 */
#include "common.h"
#include "map.h"
#include "order.h"

static DDI_TLS struct ddi_near near;

static int send_slow(const Int32 *from, const Int32 *to, int nwords, unsigned int flags)
{
	struct ddi_request r = { .local = (char *)from, .remote = (const char *)to,
				 .len = nwords * SBL_WORD, .flags = flags, .near = &near };
	struct ddi_proxy *p;
	int64_t ret = 0;

	if (nwords <= 0)
		return SBL_EBadSize;
	if (((uintptr_t)from | (uintptr_t)to) % SBL_WORD)
		return SBL_EBadAlignment;
	p = ddi_proxy_find(r.remote, r.len, SBL_KEY);
	if (!p)
		return SBL_EBadProxyAddr;
	if (ddi_dest_has(from, r.len))
		return SBL_EBadArg;
	if (ddi_load(&sbl_maps))
		ret = sbl_maps_send(p->peer);
	if (!ret)
		ret = ddi_request(p, &r, false);
	return sbl_send_code(ret);
}

static int send_any(void *from, void *to, uint32_t words)
{
	return send_slow(from, to, words, 0);
}

SBL_API int SBL_SendMsg(const Int32 *sendAddr, Int32 *destAddr, int nwords)
{
	if (ddi_unlikely(ddi_load(&sbl_maps) && !sbl_maps_clean()) ||
	    ddi_unlikely(ddi_dest_has(sendAddr, nwords * SBL_WORD)))
		return send_slow(sendAddr, destAddr, nwords, 0);
	return ddi_near_put((void *)sendAddr, destAddr, nwords, &near, send_any);
}

SBL_API int SBL_SendMesg(const Int32 *sendAddr, Int32 *destAddr, int nwords)
{
	return SBL_SendMsg(sendAddr, destAddr, nwords);
}

SBL_API int SBL_SendMsgWithNotify(const Int32 *sendAddr, Int32 *destAddr, int nwords)
{
	return send_slow(sendAddr, destAddr, nwords, DD_PUT_NOTIFY);
}
