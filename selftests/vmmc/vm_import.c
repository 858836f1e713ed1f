// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_import.c - VMMC: imports and their addresses
 *
 * Each test names the requirements that it shows. The exporter is another process, of the other
 * node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asleep.h"
#include "owner.h"

TEST(VM_34_on_one_machine_and_between_two)
{
	struct worker *near;
	vmmc_pid_t its;
	int32 *at;

	owner_start_with(0, WORDS, RW(1));
	near = worker_new(HERE);
	its = worker_do(near, job_pid, 0, 0, 0);
	check_eq(worker_do(near, job_export, WORDS, WORDS, RW(1)), 0);
	check_eq(vmmc_ImportRecvBuf(vmmc_MyNode(), its, 1, &imp, &at, &nwords), vmmc_Success);
	check_eq(vmmc_SendData(constant, proxy, 3), vmmc_Success);
	check_eq(vmmc_SendData(constant, at, 2), vmmc_Success);
	arrived(proxy);
	arrived(at);
	check_eq(board[2], 33);
	check_eq(board[WORDS + 1], 22);
	check_eq(board[WORDS + 2], 0);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	worker_end(near);
	owner_end();
}

TEST(VM_35_a_process_is_a_node_and_a_pid)
{
	struct worker *other;
	vmmc_pid_t its;
	int32 word;

	owner_start_with(0, WORDS, RW(1));
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	other = worker_new(THERE);
	its = worker_do(other, job_pid, 0, 0, 0);
	check_eq(worker_do(other, job_export, WORDS, WORDS, RW(1)), 0);
	board[0] = 5;
	board[WORDS] = 6;
	check_eq(import_number(1), vmmc_Success);
	check_eq(vmmc_GetData(&word, proxy, 1), vmmc_Success);
	check_eq(word, 5);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(vmmc_ImportRecvBuf(node_there(), its, 1, &imp, &proxy, &nwords), vmmc_Success);
	check_eq(vmmc_GetData(&word, proxy, 1), vmmc_Success);
	check_eq(word, 6);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	worker_end(other);
	owner_end();
}

/* Export when the importer sleeps. */
static long job_export_late(long importer, long words, long as)
{
	while (!asleep_in(importer, SYS_ioctl))
		usleep(1000);
	return job_export(0, words, as);
}

TEST(VM_37_VM_64_an_import_waits_for_the_export)
{
	owner_start();
	worker_begin(owner, job_export_late, getpid(), WORDS, RW(9));
	check_eq(import_number(9), vmmc_Success);
	check_eq(worker_result(owner), 0);
	check_eq(nwords, WORDS);
	check_eq(vmmc_SendData(constant, proxy + WORDS - 3, 3), vmmc_Success);
	arrived(proxy);
	check_eq(board[WORDS - 1], 33);
	import_end();
}

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
	arrived(proxy);
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

TEST(VM_38_exports_and_imports_have_names_of_their_own)
{
	static int32 words[4];
	vmmc_exphandle_t own;

	owner_start_with(0, WORDS, RW(1));
	check_eq(vmmc_ExportRecvBuf(words, 4, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &own),
		 vmmc_Success);
	check_eq(vmmc_SendData(constant, proxy, 3), vmmc_Success);
	arrived(proxy);
	check_eq(board[0], 11);
	check_eq(words[0], 0);
	check_eq(vmmc_UnexportRecvBuf(own), vmmc_Success);
	import_end();
}

/* In another process: import, and send one word. */
static long job_send(long node, long from, long value)
{
	vmmc_node_t n = { node };
	vmmc_imphandle_t h;
	int32 *at, word = value;
	uint32 size;

	if (vmmc_ImportRecvBuf(n, from, 1, &h, &at, &size) || vmmc_SendData(&word, at + value, 1) ||
	    vmmc_GetData(&word, at + value, 1) || vmmc_UnimportRecvBuf(h))
		return -1;
	return word;
}

TEST(VM_39_one_export_many_importers)
{
	struct worker *others[3];
	vmmc_imphandle_t first;
	int32 *at;

	owner_start_with(0, WORDS, RW(1));
	first = imp;
	at = proxy;
	check_eq(import_number(1), vmmc_Success);
	check(at != proxy);
	check_eq(vmmc_SendData(constant, at, 1), vmmc_Success);
	check_eq(vmmc_SendData(constant + 1, proxy + 1, 1), vmmc_Success);
	arrived(proxy);
	check_eq(board[0], 11);
	check_eq(board[1], 22);
	for (int i = 0; i < 3; i++)
		others[i] = worker_new(i == 2 ? STRANGER : i);
	for (int i = 0; i < 3; i++)
		worker_begin(others[i], job_send, node_there().number, pid, 10 + i);
	for (int i = 0; i < 3; i++) {
		check_eq(worker_result(others[i]), 10 + i);
		check_eq(board[10 + i], 10 + i);
		worker_end(others[i]);
	}
	check_eq(vmmc_UnimportRecvBuf(first), vmmc_Success);
	import_end();
}

#define MANY	200

/* Export @many buffers of two words. */
static long job_export_many(long many, long b, long c)
{
	static vmmc_exphandle_t h[MANY];

	for (int i = 0; i < many; i++)
		if (vmmc_ExportRecvBuf(board + 4 * i, 2, 1000 + i, NULL, BUF_READWRITE,
				       VMMC_PERM_ANY, &h[i]))
			return i + 1;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;

	return (x > y) - (x < y);
}

TEST(VM_40_destspace)
{
	static vmmc_imphandle_t h[MANY];
	static int32 *at[MANY], *sorted[MANY];
	volatile int32 *load;
	int status;
	pid_t child;

	owner_start();
	check_eq(worker_do(owner, job_export_many, MANY, 0, 0), 0);
	for (int i = 0; i < MANY; i++)
		check_eq(vmmc_ImportRecvBuf(node_there(), pid, 1000 + i, &h[i], &at[i], &nwords),
			 vmmc_Success);
	memcpy(sorted, at, sizeof(at));
	qsort(sorted, MANY, sizeof(sorted[0]), by_address);
	/* An address belongs to one proxy, with a page between them. */
	for (int i = 1; i < MANY; i++)
		check((char *)sorted[i] - (char *)sorted[i - 1] >= 2 * PAGE);
	for (int32 i = 0; i < MANY; i++)
		check_eq(vmmc_SendData(&i, at[i] + 1, 1), vmmc_Success);
	for (int i = 0; i < MANY; i++) {
		arrived(at[i]);
		check_eq(board[4 * i + 1], i);
	}
	for (int i = 0; i < MANY; i += 2)
		check_eq(vmmc_UnimportRecvBuf(h[i]), vmmc_Success);
	check_eq(vmmc_SendData(constant, at[0], 1), vmmcErr_BadProxyAddr);
	for (int32 i = 1; i < MANY; i += 2)
		check_eq(vmmc_SendData(&i, at[i], 1), vmmc_Success);
	/* There is no memory behind an address. */
	load = at[1];
	child = fork();
	if (!child)
		_exit(*load & 1);
	check_eq(waitpid(child, &status, 0), child);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	for (int i = 1; i < MANY; i += 2)
		check_eq(vmmc_UnimportRecvBuf(h[i]), vmmc_Success);
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

TEST(VM_46_6_proxy_addresses)
{
	vmmc_imphandle_t other;
	int32 words[8] = { 0 }, *low;

	owner_start();
	check_eq(worker_do(owner, job_export, 0, WORDS, RW(1)), 0);
	check_eq(worker_do(owner, job_export, WORDS, WORDS, RW(2)), 0);
	check_eq(import_number(1), vmmc_Success);
	other = imp;
	low = proxy;
	check_eq(import_number(2), vmmc_Success);
	check_eq(vmmc_SendData(words, words, 1), vmmcErr_BadProxyAddr);
	check_eq(vmmc_SendData(words, NULL, 1), vmmcErr_BadProxyAddr);
	check_eq(vmmc_GetData(words, words + 1, 1), vmmcErr_BadProxyAddr);
	/* The first word in one import, the last one in another. */
	check_eq(vmmc_SendData(words, low + WORDS - 1, 2), vmmcErr_BadProxyAddr);
	check_eq(vmmc_SendData(words, low, 2 * WORDS + 1), vmmcErr_BadProxyAddr);
	check_eq(vmmc_SendData(words, low, 0x7fffffff), vmmcErr_BadProxyAddr);
	check_eq(vmmc_GetData(words, low + WORDS - 1, 2), vmmcErr_BadProxyAddr);
	check_eq(vmmc_SendData(words, low + WORDS, 1), vmmcErr_BadProxyAddr);
	check_eq(vmmc_SendData(words, low + WORDS - 1, 1), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(other), vmmc_Success);
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

TEST(VM_88_unimport_ends_the_proxy)
{
	vmmc_imphandle_t old;
	int32 *before;

	owner_start_with(0, WORDS, RW(1));
	old = imp;
	before = proxy;
	check_eq(vmmc_SendData(constant, proxy, 1), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(board[0], 11);
	check_eq(vmmc_SendData(constant, before, 1), vmmcErr_BadProxyAddr);
	check_eq(vmmc_GetData(board, before, 1), vmmcErr_BadProxyAddr);
	check_eq(import_number(1), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(old), vmmcErr_BadIbufState);
	check_eq(vmmc_SendData(constant + 1, proxy, 1), vmmc_Success);
	arrived(proxy);
	check_eq(board[0], 22);
	import_end();
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
