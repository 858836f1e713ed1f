// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_data.c - VMMC: words that are sent and fetched
 *
 * Each test names the requirements that it shows. The exporter is another process, of the other
 * node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "owner.h"

static int32 *file_words(int prot, int flags)
{
	FILE *f = tmpfile();
	int32 *at;

	check_eq(fwrite(constant, sizeof(constant), 1, f), 1);
	check_eq(fflush(f), 0);
	at = mmap(NULL, PAGE, prot, flags, fileno(f), 0);
	check(at != MAP_FAILED);
	fclose(f);
	return at;
}

TEST(VM_31_from_any_memory_that_can_be_read)
{
	int32 *heap = malloc(sizeof(constant)), stack[3], zero[3] = { 0 };
	int32 *shared = file_words(PROT_READ, MAP_SHARED);
	int32 *private = file_words(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	const int32 *sources[] = { constant, heap, stack, shared, private, NULL };

	owner_start_with(0, WORDS, RW(1));
	sources[5] = board + 4 * WORDS;
	memcpy(heap, constant, sizeof(constant));
	memcpy(stack, constant, sizeof(constant));
	memcpy(board + 4 * WORDS, constant, sizeof(constant));
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		check_eq(vmmc_SendData(sources[i], proxy + 1, 3), vmmc_Success);
		arrived(proxy);
		check(!memcmp(board + 1, constant, sizeof(constant)));
		check_eq(vmmc_SendData(zero, proxy + 1, 3), vmmc_Success);
	}
	munmap(shared, PAGE);
	munmap(private, PAGE);
	free(heap);
	import_end();
}

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

TEST(VM_83_sizes)
{
	static int32 words[64 * WORDS], got[64 * WORDS];
	static const uint32 sizes[] = { 1, 2, 3, 7, 16, 17, 127, 128, 1023, 1024, 1025, 16 * WORDS,
					63 * WORDS + 1 };

	owner_start_with(1, 64 * WORDS, RW(1));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill(words, sizes[i], i);
		check_eq(vmmc_SendData(words, proxy + i, sizes[i]), vmmc_Success);
		/* The source may be used again. */
		memset(words, 0, sizeof(words));
		check_eq(vmmc_GetData(got, proxy + i, sizes[i]), vmmc_Success);
		fill(words, sizes[i], i);
		check(!memcmp(words, got, 4 * sizes[i]));
		check(!memcmp(words, board + 1 + i, 4 * sizes[i]));
	}
	import_end();
}

#define ROUNDS	100
#define BULK	(8 * WORDS)
#define FLAG	(2 * BULK)
#define DONE	(FLAG + WORDS)

/* Wait for each flag, and look at the words that were sent before. */
static long job_follow(long a, long b, long c)
{
	for (int32 n = 1; n <= ROUNDS; n++) {
		while (__atomic_load_n(&board[FLAG], __ATOMIC_ACQUIRE) < n)
			sched_yield();
		if (board[0] < n || board[BULK / 2] < n || board[BULK - 1] < n)
			return n;
		__atomic_store_n(&board[DONE], n, __ATOMIC_RELEASE);
	}
	return 0;
}

TEST(VM_32_in_order_over_all_buffers)
{
	static int32 bulk[BULK];
	vmmc_imphandle_t data, flag;
	int32 *to, *flags;

	owner_start();
	check_eq(worker_do(owner, job_export, 0, BULK, RW(1)), 0);
	check_eq(worker_do(owner, job_export, FLAG, WORDS, RW(2)), 0);
	check_eq(import_number(1), vmmc_Success);
	data = imp;
	to = proxy;
	check_eq(import_number(2), vmmc_Success);
	flag = imp;
	flags = proxy;
	worker_begin(owner, job_follow, 0, 0, 0);
	for (int32 n = 1; n <= ROUNDS; n++) {
		vmmc_async_handle_t h;
		uint32 size = n % 3 ? BULK : 64;

		for (int i = 0; i < BULK; i++)
			bulk[i] = n;
		/* The next round may not overwrite what the owner has not looked at. */
		while (__atomic_load_n(&board[DONE], __ATOMIC_ACQUIRE) < n - 1)
			sched_yield();
		if (n % 2)
			check_eq(vmmc_SendData(bulk, to, BULK), vmmc_Success);
		else
			check_eq(vmmc_SendDataAsync(bulk, to, BULK, &h), vmmc_Success);
		check_eq(vmmc_SendData(bulk, to, size), vmmc_Success);
		check_eq(vmmc_SendData(&n, flags, 1), vmmc_Success);
	}
	check_eq(worker_result(owner), 0);
	check_eq(vmmc_UnimportRecvBuf(data), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(flag), vmmc_Success);
	owner_end();
}

TEST(VM_33_the_receiver_need_not_run)
{
	int32 got[3];

	owner_start_with(0, WORDS, RW(1));
	worker_signal(owner, SIGSTOP);
	check_eq(vmmc_SendData(constant, proxy + 2, 3), vmmc_Success);
	check_eq(vmmc_GetData(got, proxy + 2, 3), vmmc_Success);
	check(!memcmp(got, constant, sizeof(got)));
	check(!memcmp(board + 2, constant, sizeof(got)));
	worker_signal(owner, SIGCONT);
	import_end();
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
	arrived(proxy);
	check_eq(board[0], 0);
	check_eq(board[4], 0);
	import_end();
}

/*
 * In strict mode, a thread is killed by any system call but that which ends it. The kernel
 * of User-Mode Linux does not have that mode.
 */
static void *silent_requests(void *arg)
{
	static int32 words[2 * WORDS];
	bool good = true;

	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) || errno == EINVAL) {
		for (int i = 0; i < 100; i++) {
			good = good && !vmmc_SendData(words, proxy, 16) &&
			       !vmmc_SendData(words + 1, proxy + 1, 999) &&
			       !vmmc_SendData(words, proxy, 2 * WORDS) &&
			       !vmmc_GetData(words, proxy + 3, 77);
			vmmc_BlockNotifications();
			good = good && vmmc_UnblockNotifications() > 0;
		}
		__atomic_store_n((bool *)arg, good, __ATOMIC_RELAXED);
	}
	syscall(SYS_exit, 0);
	return NULL;
}

TEST(VM_89_no_system_call)
{
	bool silent = false;
	int32 word = 0;
	pthread_t t;

	owner_start_with(0, 2 * WORDS, RW(1));
	/* The first request may need one. */
	check_eq(vmmc_SendData(&word, proxy, 1), vmmc_Success);
	if (!far) {
		check_eq(pthread_create(&t, NULL, silent_requests, &silent), 0);
		check_eq(pthread_join(t, NULL), 0);
		check(silent);
	}
	import_end();
}
