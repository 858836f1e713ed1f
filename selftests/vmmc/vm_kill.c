// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_kill.c - VMMC: what a process does with an import until it is killed
 *
 * It sends, fetches, notifies, and redirects what is sent to itself.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

#include "buffer_kill.h"

static int32 other[2 * WORDS] __attribute__((aligned(PAGE)));

/* The memory is used until the fetch is done. */
static vmmc_result_t fetch(int32 *at)
{
	vmmc_async_handle_t h;
	vmmc_result_t code = vmmc_GetDataAsync(other + WORDS, at, WORDS / 2, &h);

	while (!code && (code = vmmc_AsyncStatus(&h)) == vmmcErr_InProgress) {
		code = vmmc_Success;
		sched_yield();
	}
	return code;
}

static vmmc_result_t step(int32 *at, int what)
{
	vmmc_async_handle_t h;
	int32 got[64];

	switch (what % 6) {
	case 0:
		return vmmc_SendData(words, at, 1 + what % WORDS);
	case 1:
		return vmmc_SendDataNotify(words, at + 1, 1);
	case 2:
		return vmmc_GetData(got, at + 2, 64);
	case 3:
		return vmmc_SendDataAsync(words, at, WORDS / 2, &h);
	case 4:
		return vmmc_SendDataAsyncNotify(words, at + 3, 5, &h);
	default:
		return fetch(at);
	}
}

int use(int32 *at, int steps)
{
	vmmc_result_t code = vmmc_Success;
	uint32 n, first;

	for (; steps > 0 && !code; steps--) {
		code = step(at, rand());
		/* If it is redirectable. */
		if (steps % 7 == 0)
			vmmc_PostRedir(exported[1], 0, WORDS, other);
		if (steps % 11 == 0)
			vmmc_EndRedir(exported[1], &n, &first);
	}
	return code;
}
