// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_export.c - VMMC: receive buffers, and their protection
 *
 * Each test names the requirements that it shows. The exporter is another process, of the other
 * node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dd_mem.h"
#include "owner.h"

TEST(VM_29_data_moves_only_with_permission)
{
	int32 words[4] = { 1, 2, 3, 4 };

	owner_start();
	board[7] = board[12] = 99;
	check_eq(worker_do(owner, job_export, 8, 4, RW(1)), 0);
	/* Before the import there is no address to send to. */
	check_eq(vmmc_SendData(words, board + 8, 1), vmmcErr_BadProxyAddr);
	check_eq(import_number(1), vmmc_Success);
	check_eq(vmmc_SendData(words, proxy, 4), vmmc_Success);
	check_eq(vmmc_SendData(words, proxy + 1, 4), vmmcErr_BadProxyAddr);
	check_eq(vmmc_SendData(words, proxy + 4, 1), vmmcErr_BadProxyAddr);
	check_eq(vmmc_SendData(words, proxy - 1, 1), vmmcErr_BadProxyAddr);
	arrived(proxy);
	check(!memcmp(board + 8, words, sizeof(words)));
	check_eq(board[7], 99);
	check_eq(board[12], 99);
	import_end();
}

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

	owner_start();
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
	owner_end();
}

TEST(VM_30_VM_60_VM_46_24_the_exporter_says_which_users_import)
{
	vmmc_imphandle_t h;
	struct worker *stranger;
	vmmc_perm_t perm = 0;
	vmmc_exphandle_t e;
	vmmc_pid_t theirs;

	owner_start();
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
	check_eq(import_number(3), vmmc_Success);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	/* The permissions of the document's programs: a variable, or 0. */
	check_eq(vmmc_ExportRecvBuf(board, 1, 7, NULL, BUF_READWRITE, perm, &e), vmmc_Success);
	check_eq(vmmc_UnexportRecvBuf(e), vmmc_Success);
	check_eq(vmmc_ExportRecvBuf(board, 1, 7, NULL, BUF_READWRITE, VMMC_PERM_ONE + 1, &e),
		 vmmcErr_BadArg);
	worker_end(stranger);
	owner_end();
}

TEST(VM_46_12_one_importer_at_a_time)
{
	vmmc_imphandle_t second;

	owner_start_with(0, WORDS, AS(1, BUF_READWRITE, VMMC_PERM_ONE));
	check_eq(vmmc_ImportRecvBuf(node_there(), pid, 1, &second, &proxy, &nwords),
		 vmmcErr_NoPhysDestSpace);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(import_number(1), vmmc_Success);
	import_end();
}

TEST(VM_36_VM_46_2_VM_46_18_buffers_have_one_number_and_do_not_overlap)
{
	static int32 words[2 * WORDS];
	vmmc_exphandle_t a, b, c;
	vmmc_perm_t any = VMMC_PERM_ANY;

	owner_start();
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
	owner_end();
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

	owner_start();
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
	owner_end();
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

	owner_start();
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
	owner_end();
}

TEST(VM_58_VM_61_VM_46_1_VM_46_7_a_buffer_is_words_of_the_program)
{
	static int32 words[16];
	char *odd = (char *)words + 2;
	vmmc_exphandle_t e;

	owner_start();
	check_eq(vmmc_ExportRecvBuf((int32 *)odd, 4, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmcErr_BadAlignment);
	check_eq(vmmc_ExportRecvBuf(words, 0, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmcErr_BadSize);
	check_eq(vmmc_ExportRecvBuf(words, 0x80000000, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmcErr_BadSize);
	check_eq(worker_do(owner, job_export, 3, 5, RW(1)), 0);
	check_eq(import_number(1), vmmc_Success);
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
	import_end();
}

TEST(VM_59_VM_46_3_directions)
{
	int32 word;

	owner_start();
	check_eq(worker_do(owner, job_export, 0, WORDS, WO(1)), 0);
	check_eq(worker_do(owner, job_export, WORDS, WORDS, RO(2)), 0);
	check_eq(import_number(1), vmmc_Success);
	check_eq(vmmc_SendData(constant, proxy, 3), vmmc_Success);
	check_eq(vmmc_GetData(&word, proxy, 1), vmmcErr_BadIbufState);
	check_eq(vmmc_UnimportRecvBuf(imp), vmmc_Success);
	check_eq(board[2], 33);
	check_eq(import_number(2), vmmc_Success);
	check_eq(vmmc_SendData(constant, proxy, 3), vmmcErr_BadIbufState);
	board[WORDS + 5] = 55;
	check_eq(vmmc_GetData(&word, proxy + 5, 1), vmmc_Success);
	check_eq(word, 55);
	check_eq(board[WORDS], 0);
	import_end();
}

TEST(VM_87_VM_46_4_unexport_breaks_all_links)
{
	vmmc_exphandle_t none = { 0, 0 };
	int32 word = 1;

	owner_start_with(0, WORDS, RW(1));
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
	owner_end();
}

TEST(VM_46_8_VM_46_9_memory_that_cannot_be_exported)
{
	int32 *hole = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	vmmc_exphandle_t e;
	char path[] = "/var/tmp/vmmcXXXXXX";
	int fd = mkstemp(path);
	int32 *at;

	owner_start();
	check_eq(vmmc_ExportRecvBuf(hole, 4, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, &e),
		 vmmcErr_BadArg);
	check_eq(vmmc_ExportRecvBuf((int32 *)constant, 3, 1, NULL, BUF_READ_ONLY, VMMC_PERM_ANY, &e),
		 vmmcErr_BadArg);
	check_eq(vmmc_Spawn("/bin/true", NULL, vmmc_MyNode(), &pid), vmmcErr_BadArg);
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
	owner_end();
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

	owner_start();
	stranger = worker_new(STRANGER);
	check_eq(worker_do(stranger, job_out_of_memory, 0, 0, 0), vmmcErr_NoMem);
	worker_end(stranger);
	owner_end();
}
