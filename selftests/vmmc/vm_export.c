// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_export.c - VMMC: users, directions and flags of buffers
 *
 * Each test names the requirements that it shows. The exporter is another process, of the other
 * node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "dd_mem.h"
#include "buffers.h"

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

/* A program may use libdd as well. */
TEST(VM_46_2_a_number_that_libdd_has)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .len = PAGE, .key_class = DD_KEY_BUFFER, .importers = 1,
		.rights = DD_CAN_PUT, .notify = DD_NOTIFY_NEVER, .users = DD_FOR_ANY,
	};
	vmmc_exphandle_t e;
	uint64_t segment;
	struct dd *h;

	owner_start();
	buf_key(attr.key, getpid(), 5);
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
	check_eq(vmmc_ExportRecvBuf(board, 4, 1, NULL, BUF_READWRITE, VMMC_PERM_ANY, NULL),
		 vmmcErr_BadArg);
	check_eq(vmmc_ImportRecvBuf(vmmc_MyNode(), pid, 1, NULL, &proxy, &nwords), vmmcErr_BadArg);
	check_eq(vmmc_ImportRecvBuf(vmmc_MyNode(), pid, 1, &imp, NULL, &nwords), vmmcErr_BadArg);
	check_eq(vmmc_ImportRecvBuf(vmmc_MyNode(), pid, 1, &imp, &proxy, NULL), vmmcErr_BadArg);
	check_eq(vmmc_ImportRecvBufAsync(vmmc_MyNode(), pid, 1, NULL), vmmcErr_BadArg);
	owner_end();
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
