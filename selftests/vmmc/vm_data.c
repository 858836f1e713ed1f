// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_data.c - VMMC: receive buffers, imports, and data that is sent and fetched
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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asleep.h"
#include "dd_mem.h"
#include "vm.h"

/* ---- jobs of the exporter ------------------------------------------------------ */

static vmmc_exphandle_t exported[256];	/* by number of the buffer */

/* What a buffer is exported with: its number, BUF_* and VMMC_PERM_*. */
#define AS(id, flags, perm)	((id) | (flags) << 8 | (perm) << 16)
#define RW(id)	AS(id, BUF_READWRITE, VMMC_PERM_ANY)
#define RO(id)	AS(id, BUF_READ_ONLY, VMMC_PERM_ANY)
#define WO(id)	AS(id, BUF_WRITE_ONLY, VMMC_PERM_ANY)

/* Export @words from word @at of the board. */
static long job_export(long at, long words, long as)
{
	return vmmc_ExportRecvBuf(board + at, words, as & 255, NULL, as >> 8 & 255, as >> 16,
				  &exported[as & 255]);
}

static long job_unexport(long id, long b, long c)
{
	return vmmc_UnexportRecvBuf(exported[id]);
}

static long job_pid(long a, long b, long c)
{
	return vmmc_MyPid();
}

/* Export when the importer sleeps. */
static long job_export_late(long importer, long words, long as)
{
	while (!asleep_in(importer, SYS_ioctl))
		usleep(1000);
	return job_export(0, words, as);
}

static struct worker *owner;
static vmmc_pid_t pid;		/* of the owner */
static vmmc_imphandle_t imp;
static int32 *proxy;
static uint32 nwords;

static void begin(void)
{
	owner = worker_new(THERE);
	pid = worker_do(owner, job_pid, 0, 0, 0);
	memset(board, 0, BOARD * 4);
}

static void end(void)
{
	worker_end(owner);
}

static vmmc_result_t import(uint32 id)
{
	return vmmc_ImportRecvBuf(node_there(), pid, id, &imp, &proxy, &nwords);
}

/* The owner exports @words from @at, and this process imports them. */
static void begin_with(long at, long words, long as)
{
	begin();
	check_eq(worker_do(owner, job_export, at, words, as), 0);
	check_eq(import(as & 255), vmmc_Success);
}

static void end_import(void)
{
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	end();
}

/* A send returns before the data arrives: a fetch comes after it. */
static void arrived(int32 *at)
{
	int32 word;

	check_eq(vmmc_GetData(&word, at, 1), vmmc_Success);
}

static void fill(int32 *words, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++)
		words[i] = i * 2654435761u + seed;
}

/* ---- receive buffers ------------------------------------------------------------- */

TEST(VM_29_data_moves_only_with_permission)
{
	int32 words[4] = { 1, 2, 3, 4 };

	begin();
	board[7] = board[12] = 99;
	check_eq(worker_do(owner, job_export, 8, 4, RW(1)), 0);
	/* Before the import there is no address to send to. */
	check_eq(vmmc_SendData(words, board + 8, 1), vmmcErr_BadProxyAddr);
	check_eq(import(1), vmmc_Success);
	check_eq(vmmc_SendData(words, proxy, 4), vmmc_Success);
	check_eq(vmmc_SendData(words, proxy + 1, 4), vmmcErr_BadProxyAddr);
	check_eq(vmmc_SendData(words, proxy + 4, 1), vmmcErr_BadProxyAddr);
	check_eq(vmmc_SendData(words, proxy - 1, 1), vmmcErr_BadProxyAddr);
	arrived(proxy);
	check(!memcmp(board + 8, words, sizeof(words)));
	check_eq(board[7], 99);
	check_eq(board[12], 99);
	end_import();
}

/* The stranger is another user of this node; the owner's is root. */
/* An importer that uses libdd itself, with the process' pid and the number of the buffer. */
static struct dd_mem *import_by_libdd(struct dd **h, vmmc_pid_t theirs, char id)
{
	unsigned char key[DD_KEY_SIZE] = { [4] = id, [8] = 'V' };
	struct dd_mem *mem = NULL;

	memcpy(key, &theirs, sizeof(theirs));
	check_eq(dd_open(h), 0);
	check_eq(dd_import(*h, node_there().number, DD_KEY_BUFFER, key,
			   DD_CAN_PUT | DD_CAN_GET | DD_CAN_CAS, &mem), -EACCES);
	check_eq(dd_import(*h, node_there().number, DD_KEY_BUFFER, key, DD_CAN_PUT | DD_CAN_GET,
			   &mem), 0);
	return mem;
}

#define FIRST	18	/* word of the board; the buffer begins in the middle of 8 bytes */
#define LAST	1000

TEST(VM_29_a_hostile_importer_reaches_nothing_beside_the_buffer)
{
	const size_t size = (LAST - FIRST + 1) * 4;
	const struct { uint64_t offset; size_t len; } bad[] = {
		{ size, 1 }, { size - 1, 2 }, { 0, size + 1 }, { -1ull, 1 }, { -4ull, 8 },
		{ 1ull << 63, 4 }, { size - 4, 8 }, { -(uint64_t)FIRST * 4, 4 },
	};
	static char bytes[PAGE + 64], was[PAGE + 64];
	struct dd_mem *mem;
	struct dd *h;

	begin();
	memset(board, 0x11, 2 * PAGE);
	memset(bytes, 0x22, sizeof(bytes));
	memcpy(was, bytes, sizeof(bytes));
	check_eq(worker_do(owner, job_export, FIRST, LAST - FIRST + 1, RW(1)), 0);
	mem = import_by_libdd(&h, pid, 1);
	for (size_t i = 0; mem && i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_eq(dd_put(mem, bytes, bad[i].len, bad[i].offset, 0), -ERANGE);
		check_eq(dd_put(mem, bytes, bad[i].len, bad[i].offset, DD_PUT_NOTIFY), -ERANGE);
		check(dd_put_async(mem, bytes, bad[i].len, bad[i].offset, DD_PUT_COPY, 0) ==
		      -ERANGE);
		check_eq(dd_get(mem, bytes, bad[i].len, bad[i].offset), -ERANGE);
	}
	check(!memcmp(bytes, was, sizeof(bytes)));
	if (mem)
		check_eq(dd_put(mem, bytes, size, 0, 0), 0);
	for (int i = 0; i < 2 * WORDS; i++)
		check_eq(board[i], i < FIRST || i > LAST ? 0x11111111 : 0x22222222);
	check_eq(dd_shutdown(h), 0);
	end();
}

TEST(VM_30_VM_60_VM_46_24_the_exporter_says_which_users_import)
{
	vmmc_imphandle_t h;
	struct worker *stranger;
	vmmc_perm_t perm = 0;
	vmmc_exphandle_t e;
	vmmc_pid_t theirs;

	begin();
	stranger = worker_new(STRANGER);
	theirs = worker_do(stranger, job_pid, 0, 0, 0);
	check_eq(worker_do(stranger, job_export, 0, WORDS,
			   AS(1, BUF_READWRITE, VMMC_PERM_SAMEUSER)), 0);
	check_eq(worker_do(stranger, job_export, WORDS, WORDS, RW(2)), 0);
	check_eq(vmmc_ImportRecvBuf(vmmc_MyNode(), theirs, 1, &h, &proxy, &nwords),
		 vmmcErr_Permission);
	check_eq(vmmc_ImportRecvBuf(vmmc_MyNode(), theirs, 2, &h, &proxy, &nwords), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(h), vmmc_Success);
	check_eq(worker_do(owner, job_export, 2 * WORDS, WORDS,
			   AS(3, BUF_READWRITE, VMMC_PERM_SAMEUSER)), 0);
	check_eq(import(3), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	/* The permissions of the document's programs: a variable, or 0. */
	check_eq(vmmc_ExportRecvBuf(board, 1, 7, NULL, BUF_READWRITE, perm, &e), vmmc_Success);
	check_eq(vmmc_UnexportRecvBuf(e), vmmc_Success);
	check_eq(vmmc_ExportRecvBuf(board, 1, 7, NULL, BUF_READWRITE, VMMC_PERM_ONE + 1, &e),
		 vmmcErr_BadArg);
	worker_end(stranger);
	end();
}

TEST(VM_46_12_one_importer_at_a_time)
{
	vmmc_imphandle_t second;

	begin_with(0, WORDS, AS(1, BUF_READWRITE, VMMC_PERM_ONE));
	check_eq(vmmc_ImportRecvBuf(node_there(), pid, 1, &second, &proxy, &nwords),
		 vmmcErr_NoPhysDestSpace);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(import(1), vmmc_Success);
	end_import();
}

static const int32 constant[3] = { 11, 22, 33 };

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
	const int32 *sources[] = { constant, heap, stack, shared, private, board + 4 * WORDS };

	begin_with(0, WORDS, RW(1));
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
	end_import();
}

/* Fetched words go to any memory that can be written. */
TEST(VM_62_into_any_memory_that_can_be_written)
{
	int32 *heap = malloc(sizeof(constant)), stack[3];
	int32 *shared = file_words(PROT_READ | PROT_WRITE, MAP_SHARED);
	int32 *private = file_words(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	int32 *places[] = { heap, stack, shared, private };

	begin_with(0, WORDS, RW(1));
	memcpy(board + 5, constant, sizeof(constant));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		memset(places[i], 0, sizeof(constant));
		check_eq(vmmc_GetData(places[i], proxy + 5, 3), vmmc_Success);
		check(!memcmp(places[i], constant, sizeof(constant)));
	}
	munmap(shared, PAGE);
	munmap(private, PAGE);
	free(heap);
	end_import();
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

	begin();
	check_eq(worker_do(owner, job_export, 0, BULK, RW(1)), 0);
	check_eq(worker_do(owner, job_export, FLAG, WORDS, RW(2)), 0);
	check_eq(import(1), vmmc_Success);
	data = imp;
	to = proxy;
	check_eq(import(2), vmmc_Success);
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
	end();
}

TEST(VM_33_the_receiver_need_not_run)
{
	int32 got[3];

	begin_with(0, WORDS, RW(1));
	worker_signal(owner, SIGSTOP);
	check_eq(vmmc_SendData(constant, proxy + 2, 3), vmmc_Success);
	check_eq(vmmc_GetData(got, proxy + 2, 3), vmmc_Success);
	check(!memcmp(got, constant, sizeof(got)));
	check(!memcmp(board + 2, constant, sizeof(got)));
	worker_signal(owner, SIGCONT);
	end_import();
}

TEST(VM_34_on_one_machine_and_between_two)
{
	struct worker *near;
	vmmc_pid_t its;
	int32 *at;

	begin_with(0, WORDS, RW(1));
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
	end();
}

TEST(VM_35_a_process_is_a_node_and_a_pid)
{
	struct worker *other;
	vmmc_pid_t its;
	int32 word;

	begin_with(0, WORDS, RW(1));
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	other = worker_new(THERE);
	its = worker_do(other, job_pid, 0, 0, 0);
	check_eq(worker_do(other, job_export, WORDS, WORDS, RW(1)), 0);
	board[0] = 5;
	board[WORDS] = 6;
	check_eq(import(1), vmmc_Success);
	check_eq(vmmc_GetData(&word, proxy, 1), vmmc_Success);
	check_eq(word, 5);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(vmmc_ImportRecvBuf(node_there(), its, 1, &imp, &proxy, &nwords), vmmc_Success);
	check_eq(vmmc_GetData(&word, proxy, 1), vmmc_Success);
	check_eq(word, 6);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	worker_end(other);
	end();
}

TEST(VM_36_VM_46_2_VM_46_18_buffers_have_one_number_and_do_not_overlap)
{
	static int32 words[2 * WORDS];
	vmmc_exphandle_t a, b, c;
	vmmc_perm_t any = VMMC_PERM_ANY;

	begin();
	check_eq(vmmc_ExportRecvBuf(words + 4, 8, 1, NULL, BUF_READWRITE, any, &a), vmmc_Success);
	check_eq(vmmc_ExportRecvBuf(words + 100, 8, 1, NULL, BUF_READWRITE, any, &b),
		 vmmcErr_BufAlreadyExists);
	check_eq(vmmc_ExportRecvBuf(words + 11, 8, 2, NULL, BUF_READWRITE, any, &b),
		 vmmcErr_OverlappedBufs);
	check_eq(vmmc_ExportRecvBuf(words, 5, 2, NULL, BUF_READWRITE, any, &b),
		 vmmcErr_OverlappedBufs);
	check_eq(vmmc_ExportRecvBuf(words, 100, 2, NULL, BUF_READWRITE, any, &b),
		 vmmcErr_OverlappedBufs);
	check_eq(vmmc_ExportRecvBuf(words + 12, 8, 0xffffffff, NULL, BUF_READWRITE, any, &b),
		 vmmc_Success);
	check_eq(vmmc_ExportRecvBuf(words, 4, 0, NULL, BUF_READWRITE, any, &c), vmmc_Success);
	check_eq(vmmc_UnexportRecvBuf(a), vmmc_Success);
	check_eq(vmmc_ExportRecvBuf(words + 4, 8, 1, NULL, BUF_READWRITE, any, &a), vmmc_Success);
	check_eq(vmmc_UnexportRecvBuf(a), vmmc_Success);
	check_eq(vmmc_UnexportRecvBuf(b), vmmc_Success);
	check_eq(vmmc_UnexportRecvBuf(c), vmmc_Success);
	end();
}

/* A program may use libdd as well. */
TEST(VM_46_2_a_number_that_libdd_has)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .len = PAGE, .key_class = DD_KEY_BUFFER, .importers = 1,
		.rights = DD_CAN_PUT, .notify = DD_NOTIFY_NEVER, .users = DD_FOR_ANY,
	};
	vmmc_pid_t me = getpid();
	vmmc_exphandle_t e;
	uint64_t segment;
	struct dd *h;

	begin();
	memcpy(attr.key, &me, sizeof(me));
	attr.key[4] = 5;
	attr.key[8] = 'V';
	check_eq(dd_open(&h), 0);
	check_eq(dd_alloc(h, attr.len, &attr.addr), 0);
	check_eq(dd_export(h, &attr, &segment), 0);
	check_eq(vmmc_ExportRecvBuf(board, WORDS, 5, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmcErr_BufAlreadyExists);
	check_eq(dd_shutdown(h), 0);
	check_eq(vmmc_ExportRecvBuf(board, WORDS, 5, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmc_Success);
	check_eq(vmmc_UnexportRecvBuf(e), vmmc_Success);
	end();
}

TEST(VM_37_VM_64_an_import_waits_for_the_export)
{
	begin();
	worker_begin(owner, job_export_late, getpid(), WORDS, RW(9));
	check_eq(import(9), vmmc_Success);
	check_eq(worker_result(owner), 0);
	check_eq(nwords, WORDS);
	check_eq(vmmc_SendData(constant, proxy + WORDS - 3, 3), vmmc_Success);
	arrived(proxy);
	check_eq(board[WORDS - 1], 33);
	end_import();
}

TEST(VM_38_exports_and_imports_have_names_of_their_own)
{
	static int32 words[4];
	vmmc_exphandle_t own;

	begin_with(0, WORDS, RW(1));
	check_eq(vmmc_ExportRecvBuf(words, 4, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &own),
		 vmmc_Success);
	check_eq(vmmc_SendData(constant, proxy, 3), vmmc_Success);
	arrived(proxy);
	check_eq(board[0], 11);
	check_eq(words[0], 0);
	check_eq(vmmc_UnexportRecvBuf(own), vmmc_Success);
	end_import();
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

	begin_with(0, WORDS, RW(1));
	first = imp;
	at = proxy;
	check_eq(import(1), vmmc_Success);
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
	end_import();
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

	begin();
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
	end();
}

/* ---- sending and fetching ------------------------------------------------------- */

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
	const int many = far ? IMPORTS / 10 : IMPORTS;
	long before, each;

	begin_with(0, WORDS, RW(1));
	before = meminfo("Slab:") + meminfo("VmallocUsed:");
	for (int i = 0; i < many && !test_failed; i++)
		check_eq(vmmc_ImportRecvBuf(node_there(), pid, 1, &handles[i], &proxies[i],
					    &nwords), vmmc_Success);
	each = (meminfo("Slab:") + meminfo("VmallocUsed:") - before) / many;
	printf("# %ld bytes of the kernel for each import\n", each);
	/* Between nodes, both have a queue of 64. Kernels with checks need twice as much. */
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
	end_import();
}

TEST(VM_83_sizes)
{
	static int32 words[64 * WORDS], got[64 * WORDS];
	static const uint32 sizes[] = { 1, 2, 3, 7, 16, 17, 127, 128, 1023, 1024, 1025, 16 * WORDS,
					63 * WORDS + 1 };

	begin_with(1, 64 * WORDS, RW(1));
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
	end_import();
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

	begin_with(0, 100 * WORDS, RW(1));
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
	end_import();
}

/* A program may keep a handle, and ask after hundreds of later requests. */
TEST(VM_50_handles_are_values)
{
	static int32 words[8];
	vmmc_async_handle_t first, h;

	begin_with(0, WORDS, RW(1));
	check_eq(vmmc_SendDataAsync(words, proxy, 8, &first), vmmc_Success);
	for (int i = 0; i < 300; i++)
		check_eq(vmmc_SendDataAsync(words, proxy, 8, &h), vmmc_Success);
	check_eq(finished(&h), vmmc_Success);
	check_eq(vmmc_AsyncStatus(&first), vmmc_Success);
	check_eq(worker_do(owner, job_unexport, 1, 0, 0), vmmc_Success);
	check_eq(vmmc_SendDataAsync(words, proxy, 8, &h), vmmcErr_BadIbufState);
	check_eq(vmmc_AsyncStatus(&first), vmmc_Success);
	end_import();
}

TEST(VM_46_21_handles_of_imports_that_have_ended)
{
	vmmc_async_handle_t h;
	vmmc_imphandle_t none = { 0, 0 };

	begin_with(0, WORDS, RW(1));
	check_eq(vmmc_SendDataAsync(constant, proxy, 3, &h), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(vmmc_AsyncStatus(&h), vmmcErr_BadAsyncHandle);
	check_eq(vmmc_ImportRecvBufStatus(&imp, &proxy, &nwords), vmmcErr_BadAsyncHandle);
	check_eq(vmmc_ImportRecvBufStatus(&none, &proxy, &nwords), vmmcErr_BadAsyncHandle);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmcErr_BadIbufState);
	check_eq(vmmc_AsyncStatus(NULL), vmmcErr_BadArg);
	check_eq(vmmc_SendDataAsync(constant, proxy, 3, NULL), vmmcErr_BadArg);
	check_eq(vmmc_GetDataAsync(board, proxy, 3, NULL), vmmcErr_BadArg);
	end();
}

TEST(VM_65_VM_66_VM_46_19_VM_46_22_asynchronous_imports)
{
	vmmc_imphandle_t h, cancelled;
	vmmc_result_t code;

	begin();
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
	check_eq(import(6), vmmc_Success);
	check_eq(vmmc_ImportRecvBufStatus(&imp, &proxy, &nwords), vmmcErr_StateHandle);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	end();
}

TEST(VM_59_VM_46_3_directions)
{
	int32 word;

	begin();
	check_eq(worker_do(owner, job_export, 0, WORDS, WO(1)), 0);
	check_eq(worker_do(owner, job_export, WORDS, WORDS, RO(2)), 0);
	check_eq(import(1), vmmc_Success);
	check_eq(vmmc_SendData(constant, proxy, 3), vmmc_Success);
	check_eq(vmmc_GetData(&word, proxy, 1), vmmcErr_BadIbufState);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(board[2], 33);
	check_eq(import(2), vmmc_Success);
	check_eq(vmmc_SendData(constant, proxy, 3), vmmcErr_BadIbufState);
	board[WORDS + 5] = 55;
	check_eq(vmmc_GetData(&word, proxy + 5, 1), vmmc_Success);
	check_eq(word, 55);
	check_eq(board[WORDS], 0);
	end_import();
}

TEST(VM_59_VM_46_8_flags)
{
	static const uint32 bad[] = { 0, BUF_REDIRECTABLE, BUF_GLOBAL_SPACE, 16, 16 | BUF_READWRITE,
				      BUF_READWRITE | BUF_REDIRECTABLE | BUF_GLOBAL_SPACE };
	static const uint32 good[] = { BUF_READ_ONLY, BUF_WRITE_ONLY, BUF_READWRITE,
				       BUF_WRITE_ONLY | BUF_REDIRECTABLE,
				       BUF_READWRITE | BUF_REDIRECTABLE,
				       BUF_READWRITE | BUF_GLOBAL_SPACE };
	vmmc_exphandle_t e;

	begin();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_eq(vmmc_ExportRecvBuf(board, 4, 1, NULL, bad[i], VMMC_PERM_ANY, &e),
			 vmmcErr_BadArg);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		check_eq(vmmc_ExportRecvBuf(board, 4, 1, NULL, good[i], VMMC_PERM_ANY, &e),
			 vmmc_Success);
		check_eq(vmmc_UnexportRecvBuf(e), vmmc_Success);
	}
	check_eq(vmmc_ExportRecvBuf(NULL, 4, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmcErr_BadArg);
	check_eq(vmmc_ExportRecvBuf(board, 4, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, NULL),
		 vmmcErr_BadArg);
	check_eq(vmmc_ImportRecvBuf(vmmc_MyNode(), pid, 1, NULL, &proxy, &nwords), vmmcErr_BadArg);
	check_eq(vmmc_ImportRecvBuf(vmmc_MyNode(), pid, 1, &imp, NULL, &nwords), vmmcErr_BadArg);
	check_eq(vmmc_ImportRecvBuf(vmmc_MyNode(), pid, 1, &imp, &proxy, NULL), vmmcErr_BadArg);
	check_eq(vmmc_ImportRecvBufAsync(vmmc_MyNode(), pid, 1, NULL), vmmcErr_BadArg);
	end();
}

TEST(VM_58_VM_61_VM_46_1_VM_46_7_a_buffer_is_words_of_the_program)
{
	static int32 words[16];
	char *odd = (char *)words + 2;
	vmmc_exphandle_t e;

	begin();
	check_eq(vmmc_ExportRecvBuf((int32 *)odd, 4, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmcErr_BadAlignment);
	check_eq(vmmc_ExportRecvBuf(words, 0, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmcErr_BadSize);
	check_eq(vmmc_ExportRecvBuf(words, 0x80000000, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmcErr_BadSize);
	check_eq(worker_do(owner, job_export, 3, 5, RW(1)), 0);
	check_eq(import(1), vmmc_Success);
	check_eq(nwords, 5);
	fill(words, 5, 1);
	check_eq(vmmc_SendData(words, proxy, 5), vmmc_Success);
	check_eq(vmmc_SendData((int32 *)odd, proxy, 1), vmmcErr_BadAlignment);
	check_eq(vmmc_SendData(words, (int32 *)((char *)proxy + 1), 1), vmmcErr_BadAlignment);
	check_eq(vmmc_GetData((int32 *)odd, proxy, 1), vmmcErr_BadAlignment);
	check_eq(vmmc_SendData(words, proxy, 0), vmmcErr_BadSize);
	check_eq(vmmc_SendData(words, proxy, -1), vmmcErr_BadSize);
	check_eq(vmmc_GetData(words, proxy, 0), vmmcErr_BadSize);
	check_eq(vmmc_SendDataNotify(words, proxy, 0), vmmcErr_BadSize);
	arrived(proxy);
	/* The words beside it are not the buffer's. */
	check(!memcmp(board + 3, words, 20));
	check_eq(board[2], 0);
	check_eq(board[8], 0);
	end_import();
}

TEST(VM_46_6_proxy_addresses)
{
	vmmc_imphandle_t other;
	int32 words[8] = { 0 }, *low;

	begin();
	check_eq(worker_do(owner, job_export, 0, WORDS, RW(1)), 0);
	check_eq(worker_do(owner, job_export, WORDS, WORDS, RW(2)), 0);
	check_eq(import(1), vmmc_Success);
	other = imp;
	low = proxy;
	check_eq(import(2), vmmc_Success);
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
	end_import();
}

TEST(VM_87_VM_46_4_unexport_breaks_all_links)
{
	vmmc_exphandle_t none = { 0, 0 };
	int32 word = 1;

	begin_with(0, WORDS, RW(1));
	check_eq(vmmc_SendData(&word, proxy, 1), vmmc_Success);
	check_eq(worker_do(owner, job_unexport, 1, 0, 0), vmmc_Success);
	word = 2;
	check_eq(vmmc_SendData(&word, proxy, 1), vmmcErr_BadIbufState);
	check_eq(vmmc_SendDataNotify(&word, proxy, 1), vmmcErr_BadIbufState);
	check_eq(vmmc_GetData(&word, proxy, 1), vmmcErr_BadIbufState);
	check_eq(board[0], 1);
	check_eq(worker_do(owner, job_unexport, 1, 0, 0), vmmcErr_BadRbufState);
	check_eq(vmmc_UnexportRecvBuf(none), vmmcErr_BadRbufState);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	/* Not available for further imports, until it is exported again. */
	check_eq(vmmc_ImportRecvBufAsync(node_there(), pid, 1, &imp), vmmc_Success);
	check_eq(vmmc_ImportRecvBufStatus(&imp, &proxy, &nwords), vmmcErr_InProgress);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	end();
}

TEST(VM_88_unimport_ends_the_proxy)
{
	vmmc_imphandle_t old;
	int32 *before;

	begin_with(0, WORDS, RW(1));
	old = imp;
	before = proxy;
	check_eq(vmmc_SendData(constant, proxy, 1), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(board[0], 11);
	check_eq(vmmc_SendData(constant, before, 1), vmmcErr_BadProxyAddr);
	check_eq(vmmc_GetData(board, before, 1), vmmcErr_BadProxyAddr);
	check_eq(import(1), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(old), vmmcErr_BadIbufState);
	check_eq(vmmc_SendData(constant + 1, proxy, 1), vmmc_Success);
	arrived(proxy);
	check_eq(board[0], 22);
	end_import();
}

/* ---- bad memory ------------------------------------------------------------------ */

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

/* The code of a job, or 1000 if it has ended its process. */
static long last_words(job_t job, long c)
{
	struct worker *w = worker_new(HERE);
	long ret;

	worker_begin(w, job, node_there().number, pid, c);
	ret = worker_end_result(w);
	return ret;
}

TEST(VM_91_addresses_without_memory)
{
	long ret;

	begin_with(0, WORDS, RW(1));
	for (int get = 0; get < 2; get++) {
		ret = last_words(job_bad_memory, get);
		check(ret == vmmcErr_BadArg || ret == 1000);
	}
	arrived(proxy);
	check_eq(board[0], 0);
	check_eq(board[4], 0);
	end_import();
}

TEST(VM_46_8_VM_46_9_memory_that_cannot_be_exported)
{
	int32 *hole = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	vmmc_exphandle_t e;
	char path[] = "/root/vmmcXXXXXX";
	int fd = mkstemp(path);
	int32 *at;

	begin();
	check_eq(vmmc_ExportRecvBuf(hole, 4, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmcErr_BadArg);
	check_eq(vmmc_ExportRecvBuf((int32 *)constant, 3, 1, NULL, BUF_READ_ONLY, VMMC_PERM_ANY, &e),
		 vmmcErr_BadArg);
	check_eq(vmmc_Spawn("/bin/true", NULL, vmmc_MyNode(), &pid), vmmcErr_NotImplemented);
	check(fd >= 0);
	check_eq(ftruncate(fd, PAGE), 0);
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(at != MAP_FAILED);
	/* The root of some guests is in memory, which can be pinned. */
	if (!vmmc_ExportRecvBuf(at, 4, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e))
		check_eq(vmmc_UnexportRecvBuf(e), vmmc_Success);
	munmap(at, PAGE);
	munmap(hole, PAGE);
	close(fd);
	unlink(path);
	end();
}

/* Export a MiB with 64 KiB left. */
static long job_out_of_memory(long a, long b, long c)
{
	const struct rlimit l = { .rlim_cur = 64 << 10, .rlim_max = 64 << 10 };

	setrlimit(RLIMIT_MEMLOCK, &l);
	return job_export(0, 256 * WORDS, RW(1));
}

TEST(VM_46_14_no_memory)
{
	struct worker *stranger;

	begin();
	stranger = worker_new(STRANGER);
	check_eq(worker_do(stranger, job_out_of_memory, 0, 0, 0), vmmcErr_NoMem);
	worker_end(stranger);
	end();
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
	begin_with(0, WORDS, RW(1));
	check_eq(last_words(job_no_addresses, 0), vmmcErr_NoVirtDestSpace);
	end_import();
}

/* ---- no system call ----------------------------------------------------------------- */

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

	begin_with(0, 2 * WORDS, RW(1));
	/* The first request may need one. */
	check_eq(vmmc_SendData(&word, proxy, 1), vmmc_Success);
	if (!far) {
		check_eq(pthread_create(&t, NULL, silent_requests, &silent), 0);
		check_eq(pthread_join(t, NULL), 0);
		check(silent);
	}
	end_import();
}
