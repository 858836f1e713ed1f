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
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "buffers.h"

/* Fetched words go to any memory that can be written. */
TEST(VM_62_into_any_memory_that_can_be_written)
{
	int32 *heap = malloc(sizeof(constant)), stack[3];
	int32 *shared = file_words(PROT_READ | PROT_WRITE, MAP_SHARED);
	int32 *private = file_words(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	int32 *places[] = { heap, stack, shared, private };

	owner_start_with(0, WORDS, RW(1));
	memcpy(board + 5, constant, sizeof(constant));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		memset(places[i], 0, sizeof(constant));
		check_eq(vmmc_GetData(places[i], proxy + 5, 3), vmmc_Success);
		check(!memcmp(places[i], constant, sizeof(constant)));
	}
	munmap(shared, PAGE);
	munmap(private, PAGE);
	free(heap);
	import_end();
}

TEST(VM_46_1_VM_46_6_VM_46_7_fetches_that_are_not_valid)
{
	int32 words[8], *before;

	owner_start_with(0, WORDS, RW(1));
	check_eq(vmmc_GetData((int32 *)((char *)words + 2), proxy, 1), vmmcErr_BadAlignment);
	check_eq(vmmc_GetData(words, (int32 *)((char *)proxy + 2), 1), vmmcErr_BadAlignment);
	check_eq(vmmc_GetData(words, proxy, 0), vmmcErr_BadSize);
	check_eq(vmmc_GetData(words, words + 1, 1), vmmcErr_BadProxyAddr);
	check_eq(vmmc_GetData(words, proxy + WORDS - 1, 2), vmmcErr_BadProxyAddr);
	before = proxy;
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(vmmc_GetData(words, before, 1), vmmcErr_BadProxyAddr);
	owner_end();
}

static vmmc_result_t finished(const vmmc_async_handle_t *h)
{
	vmmc_async_handle_t copy = *h;
	vmmc_result_t code;

	while ((code = vmmc_AsyncStatus(&copy)) == vmmcErr_InProgress)
		sched_yield();
	/* It may be asked again. */
	check_eq(vmmc_AsyncStatus(h), code);
	return code;
}

TEST(VM_85_VM_63_VM_50_asynchronous_requests)
{
	static int32 words[100][WORDS], got[WORDS];
	static vmmc_async_handle_t h[100], fetch;

	owner_start_with(0, 100 * WORDS, RW(1));
	for (int i = 0; i < 100; i++) {
		fill(words[i], WORDS, i);
		check_eq(vmmc_SendDataAsync(words[i], proxy + i * WORDS, WORDS, &h[i]),
			 vmmc_Success);
	}
	check_eq(vmmc_GetDataAsync(got, proxy + 99 * WORDS, WORDS, &fetch), vmmc_Success);
	check_eq(finished(&fetch), vmmc_Success);
	check(!memcmp(got, words[99], sizeof(got)));
	for (int i = 0; i < 100; i++)
		check_eq(finished(&h[i]), vmmc_Success);
	check(!memcmp(board, words, sizeof(words)));
	import_end();
}

/* A program may keep a handle, and ask after hundreds of later requests. */
TEST(VM_50_handles_are_values)
{
	static int32 words[8];
	vmmc_async_handle_t first, h;

	owner_start_with(0, WORDS, RW(1));
	check_eq(vmmc_SendDataAsync(words, proxy, 8, &first), vmmc_Success);
	for (int i = 0; i < 300; i++)
		check_eq(vmmc_SendDataAsync(words, proxy, 8, &h), vmmc_Success);
	check_eq(finished(&h), vmmc_Success);
	check_eq(vmmc_AsyncStatus(&first), vmmc_Success);
	check_eq(worker_do(owner, job_unexport, 1, 0, 0), vmmc_Success);
	check_eq(vmmc_SendDataAsync(words, proxy, 8, &h), vmmcErr_BadIbufState);
	check_eq(vmmc_AsyncStatus(&first), vmmc_Success);
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

TEST(VM_65_VM_66_VM_46_19_VM_46_22_asynchronous_imports)
{
	vmmc_imphandle_t h, cancelled;
	vmmc_result_t code;

	owner_start();
	check_eq(vmmc_ImportRecvBufAsync(node_there(), pid, 5, &h), vmmc_Success);
	check_eq(vmmc_ImportRecvBufAsync(node_there(), pid, 6, &cancelled), vmmc_Success);
	check_eq(vmmc_ImportRecvBufStatus(&h, &proxy, &nwords), vmmcErr_InProgress);
	check_eq(worker_do(owner, job_export, 0, WORDS, RW(5)), vmmc_Success);
	while ((code = vmmc_ImportRecvBufStatus(&h, &proxy, &nwords)) == vmmcErr_InProgress)
		sched_yield();
	check_eq(code, vmmc_Success);
	check_eq(nwords, WORDS);
	check_eq(vmmc_ImportRecvBufStatus(&h, &proxy, &nwords), vmmcErr_StateHandle);
	check_eq(vmmc_SendData(constant, proxy, 3), vmmc_Success);
	check_eq(buf_settle(proxy), 0);
	check_eq(board[1], 22);
	check_eq(vmmc_UnimportRecvBuf(h), vmmc_Success);
	check_eq(vmmc_ImportRecvBufStatus(&cancelled, &proxy, &nwords), vmmcErr_InProgress);
	check_eq(vmmc_UnimportRecvBuf(cancelled), vmmc_Success);
	check_eq(worker_do(owner, job_export, WORDS, WORDS, RW(6)), vmmc_Success);
	check_eq(vmmc_ImportRecvBufStatus(&cancelled, &proxy, &nwords), vmmcErr_BadAsyncHandle);
	/* One that is made already. */
	check_eq(import_number(6), vmmc_Success);
	check_eq(vmmc_ImportRecvBufStatus(&imp, &proxy, &nwords), vmmcErr_StateHandle);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	owner_end();
}

/* A line of /proc/meminfo, in bytes. */
static long meminfo(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			kib = atol(line + strlen(name));
	if (f)
		fclose(f);
	return kib << 10;
}

#define IMPORTS	10000

TEST(VM_40_ten_thousand_imports)
{
	static vmmc_imphandle_t handles[IMPORTS];
	static int32 *proxies[IMPORTS];
	long before, each;
	int many = IMPORTS;

	owner_start_with(0, WORDS, RW(1));
	/* Those to another node have a queue of 64; an ordinary user has 8 MiB for both ends. */
	if (far)
		many /= 10;
	if (getenv("WORKER_USER"))
		many /= 10;
	before = meminfo("Slab:") + meminfo("VmallocUsed:");
	for (int i = 0; i < many && !test_failed; i++)
		check_eq(vmmc_ImportRecvBuf(node_there(), pid, 1, &handles[i], &proxies[i],
					    &nwords), vmmc_Success);
	each = (meminfo("Slab:") + meminfo("VmallocUsed:") - before) / many;
	printf("# %ld bytes of the kernel for each import\n", each);
	/* Kernels with checks need twice as much. */
	check(each > 0 && (far || each < PAGE));
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
