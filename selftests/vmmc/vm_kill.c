// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_kill.c - VMMC: what a process does until it is killed
 *
 * It exports, imports, sends, fetches, notifies, redirects and ends all that.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

#include "buffer_kill.h"

static int32 other[4 * WORDS] __attribute__((aligned(PAGE)));

/* One step of an importer; true while the import is good. */
static bool use(int32 *at, int what, vmmc_result_t *code)
{
	vmmc_async_handle_t h;
	int32 got[64];

	switch (what % 6) {
	case 0:
		*code = vmmc_SendData(words, at, 1 + what % WORDS);
		break;
	case 1:
		*code = vmmc_SendDataNotify(words, at + 1, 1);
		break;
	case 2:
		*code = vmmc_GetData(got, at + 2, 64);
		break;
	case 3:
		*code = vmmc_SendDataAsync(words, at, WORDS / 2, &h);
		break;
	case 4:
		*code = vmmc_SendDataAsyncNotify(words, at + 3, 5, &h);
		break;
	default:
		*code = vmmc_GetDataAsync(other + WORDS, at, WORDS / 2, &h);
		/* The memory is used until it is done. */
		while (!*code && (*code = vmmc_AsyncStatus(&h)) == vmmcErr_InProgress) {
			*code = 0;
			sched_yield();
		}
	}
	return !*code;
}

int live_once(long node, process_t of, int seed)
{
	uint32 flags = BUF_READWRITE | (seed % 2 ? BUF_REDIRECTABLE : 0), n, first;
	vmmc_result_t code;
	import_t h;
	int32 *at;

	code = buf_export(other, WORDS, AS(1, flags, VMMC_PERM_ANY), note);
	if (!code)
		code = buf_import(node, of, 2, &h, &at);
	if (code)
		return code;
	for (int i = rand() % 50; i > 0; i--) {
		if (!use(at, rand(), &code))
			return code;
		if (flags & BUF_REDIRECTABLE && i % 7 == 0)
			vmmc_PostRedir(exported[1], 0, WORDS, other + 2 * WORDS);
		if (flags & BUF_REDIRECTABLE && i % 11 == 0)
			vmmc_EndRedir(exported[1], &n, &first);
	}
	code = buf_unimport(h);
	return code ? code : buf_unexport(1);
}

bool request_and_use(process_t of, int steps)
{
	vmmc_imphandle_t h;
	vmmc_result_t code;
	int32 *at;
	uint32 n;

	code = vmmc_ImportRecvBufAsync(node_there(), of, 1, &h);
	while (!code && (code = vmmc_ImportRecvBufStatus(&h, &at, &n)) == vmmcErr_InProgress) {
		if (--steps < 0)
			return !vmmc_UnimportRecvBuf(h);
		code = 0;
		sched_yield();
	}
	if (code)
		return is_end(code);
	while (--steps > 0 && use(at, rand(), &code))
		;
	return (!code || is_end(code)) && !vmmc_UnimportRecvBuf(h);
}
