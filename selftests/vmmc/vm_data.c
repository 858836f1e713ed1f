// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_data.c - VMMC: asynchronous requests and imports, and words that are fetched
 *
 * Each test names the requirements that it shows. The exporter is another process, of the other
 * node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "buffers.h"

TEST(VM_85_VM_63_VM_50_asynchronous_requests)
{
	static int32 words[100][WORDS], got[WORDS];
	static vmmc_async_handle_t h[100], later, fetch;

	owner_start_with(0, 100 * WORDS, RW(1));
	for (int i = 0; i < 100; i++) {
		fill(words[i], WORDS, i);
		check_eq(vmmc_SendDataAsync(words[i], proxy + i * WORDS, WORDS, &h[i]),
			 vmmc_Success);
	}
	check_eq(vmmc_GetDataAsync(got, proxy + 99 * WORDS, WORDS, &fetch), vmmc_Success);
	check_eq(finished(&fetch), vmmc_Success);
	check(!memcmp(got, words[99], sizeof(got)));
	check(!memcmp(board, words, sizeof(words)));
	/* A program may keep handles, and ask after hundreds of later requests. */
	for (int i = 0; i < 300; i++)
		check_eq(vmmc_SendDataAsync(words[0], proxy, 8, &later), vmmc_Success);
	check_eq(finished(&later), vmmc_Success);
	check_eq(worker_do(owner, job_unexport, 1, 0, 0), vmmc_Success);
	check_eq(vmmc_SendDataAsync(words[0], proxy, 8, &later), vmmcErr_BadIbufState);
	for (int i = 0; i < 100; i++)
		check_eq(finished(&h[i]), vmmc_Success);
	import_end();
}

/* Send from, or fetch to, an address without memory: a code other than Success, or SIGSEGV. */
static long job_bad_memory(long node, long from, long get)
{
	vmmc_node_t n = { node };
	int32 *hole = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;
	vmmc_imphandle_t h;
	uint32 size;

	if (vmmc_ImportRecvBuf(n, from, 1, &h, &at, &size))
		return -1;
	return get ? vmmc_GetData(hole, at, 5) : vmmc_SendData(hole, at, 5);
}

TEST(VM_91_addresses_without_memory)
{
	long ret;

	owner_start_with(0, WORDS, RW(1));
	for (int get = 0; get < 2; get++) {
		ret = last_words(job_bad_memory, get);
		check(ret == vmmcErr_BadArg || ret == 1000);
	}
	check_eq(buf_settle(proxy), 0);
	check_eq(board[0], 0);
	check_eq(board[4], 0);
	import_end();
}

/* ---- imports ---------------------------------------------------------------------- */

/* A result is reported once. */
TEST(VM_66_VM_46_19_VM_46_22_the_status_of_an_import)
{
	struct request r;

	owner_start();
	check_eq(request_new(&r, pid, 5), vmmc_Success);
	check_eq(vmmc_ImportRecvBufStatus(&r.imp, &proxy, &nwords), vmmcErr_InProgress);
	check_eq(worker_do(owner, job_export, 0, WORDS, RW(5)), vmmc_Success);
	check_eq(request_wait(&r), vmmc_Success);
	check_eq(request_wait(&r), vmmcErr_StateHandle);
	check_eq(request_end(&r), vmmc_Success);
	/* One that is made already. */
	check_eq(import_number(5), vmmc_Success);
	check_eq(vmmc_ImportRecvBufStatus(&imp, &proxy, &nwords), vmmcErr_StateHandle);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	/* One that is cancelled, and one that fails. */
	check_eq(request_new(&r, pid, 6), vmmc_Success);
	check_eq(request_end(&r), vmmc_Success);
	check_eq(request_wait(&r), vmmcErr_BadAsyncHandle);
	check_eq(request_new(&r, pid, 7), vmmc_Success);
	owner_end();
	check_eq(request_wait(&r), vmmcErr_NoSuchProcess);
	check_eq(request_wait(&r), vmmcErr_BadAsyncHandle);
}

#define IMPORTS	10000

TEST(VM_40_ten_thousand_imports)
{
	static vmmc_imphandle_t handles[IMPORTS];
	static int32 *proxies[IMPORTS];
	/* Those to another node have a queue of 64; an ordinary user has 8 MiB for both ends. */
	const int many = IMPORTS / (far ? 10 : 1) / (getenv("WORKER_USER") ? 10 : 1);

	owner_start_with(0, WORDS, RW(1));
	for (int i = 0; i < many && !test_failed; i++)
		check_eq(buf_import(buf_there(), pid, 1, &handles[i], &proxies[i]), vmmc_Success);
	for (int i = 0; i < many && !test_failed; i += many / 8 - 1) {
		int32 word = i + 1;

		check_eq(vmmc_SendData(&word, proxies[i] + WORDS - 1, 1), vmmc_Success);
		check_eq(vmmc_GetData(&word, proxies[i] + WORDS - 1, 1), vmmc_Success);
		check_eq(word, i + 1);
		check_eq(vmmc_SendData(&word, proxies[i] + WORDS, 1), vmmcErr_BadProxyAddr);
	}
	for (int i = 0; i < many && !test_failed; i++)
		check_eq(vmmc_UnimportRecvBuf(handles[i]), vmmc_Success);
	import_end();
}

TEST(VM_46_21_handles_of_imports_that_have_ended)
{
	vmmc_async_handle_t h;
	vmmc_imphandle_t none = { 0, 0 };

	owner_start_with(0, WORDS, RW(1));
	check_eq(vmmc_SendDataAsync(constant, proxy, 3, &h), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(vmmc_AsyncStatus(&h), vmmcErr_BadAsyncHandle);
	check_eq(vmmc_ImportRecvBufStatus(&imp, &proxy, &nwords), vmmcErr_BadAsyncHandle);
	check_eq(vmmc_ImportRecvBufStatus(&none, &proxy, &nwords), vmmcErr_BadAsyncHandle);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmcErr_BadIbufState);
	check_eq(vmmc_AsyncStatus(NULL), vmmcErr_BadArg);
	check_eq(vmmc_SendDataAsync(constant, proxy, 3, NULL), vmmcErr_BadArg);
	check_eq(vmmc_GetDataAsync(board, proxy, 3, NULL), vmmcErr_BadArg);
	owner_end();
}

static long job_no_addresses(long node, long from, long c)
{
	vmmc_node_t n = { node };
	vmmc_imphandle_t h;
	struct rlimit l;
	unsigned long pages = 0;
	uint32 size;
	int32 *at;
	FILE *f;

	if (vmmc_MyPid() < 0)
		return -1;
	f = fopen("/proc/self/statm", "re");
	if (fscanf(f, "%lu", &pages) != 1)
		return -1;
	fclose(f);
	l.rlim_cur = l.rlim_max = (pages + 200) * PAGE;
	setrlimit(RLIMIT_AS, &l);
	return vmmc_ImportRecvBuf(n, from, 1, &h, &at, &size);
}

TEST(VM_46_13_no_addresses)
{
	owner_start_with(0, WORDS, RW(1));
	check_eq(last_words(job_no_addresses, 0), vmmcErr_NoVirtDestSpace);
	import_end();
}
