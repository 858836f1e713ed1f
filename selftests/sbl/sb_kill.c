// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_kill.c - SBL: what a process does until it is killed
 *
 * It exports, imports, sends, maps, stores, notifies and ends all that.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

#include "buffer_kill.h"

static Int32 other[PAGES * WORDS] __attribute__((aligned(PAGE)));
static Int32 mapped[PAGES * WORDS] __attribute__((aligned(PAGE)));

/* One step of an importer with a mapping. */
static int use(Int32 *at, int what)
{
	switch (what % 4) {
	case 0:
		return SBL_SendMsg(words, at, 1 + what % WORDS);
	case 1:
		return SBL_SendMsgWithNotify(words, at + 1, 1);
	default:
		__atomic_store_n(mapped + what % (PAGES * WORDS), what, __ATOMIC_RELAXED);
		return SBL_Success;
	}
}

/* Import a buffer, map memory to it, and use both. */
static int use_all(NodeID node, SBL_Squid squid, unsigned int id, int steps)
{
	int n, code, end;
	Int32 *at;

	code = SBL_ImportRecvBuf(node, squid, id, &at, &n);
	if (code)
		return code;
	code = SBL_Map(mapped, at, PAGES * WORDS, steps % 2);
	if (!code) {
		while (steps-- > 0 && !code)
			code = use(at, rand());
		end = SBL_Unmap(mapped);
		code = code ? code : end;
	}
	end = SBL_UnimportRecvBuf(at);
	return code ? code : end;
}

int live_once(long node, process_t of, int seed)
{
	int code = buf_export(other, PAGES * WORDS, 1, note);

	if (!code)
		code = use_all(node, of, 2, rand() % 50);
	return code ? code : buf_unexport(1);
}

static volatile int request_size;
static Int32 *request_at;

/* It may never export it again. */
bool request_and_use(process_t squid, int steps)
{
	int code = SBL_ImportRecvBufReq(node_there(), squid, 1, &request_at, (int *)&request_size, 0);

	if (code)
		return is_end(code);
	while (!__atomic_load_n(&request_size, __ATOMIC_ACQUIRE) && steps-- > 0)
		sched_yield();
	code = __atomic_load_n(&request_size, __ATOMIC_ACQUIRE);
	if (code >= 0) {
		/* It may be complete, or fail, meanwhile. */
		code = SBL_UnimportRecvBuf(request_at);
		if (code == SBL_EBadProxyAddr)
			code = SBL_UnimportRecvBuf(request_at);
		return !code || code == SBL_EBadProxyAddr;
	}
	return is_end(code);
}
