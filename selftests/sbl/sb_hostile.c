// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_hostile.c - SBL: other processes that do not use libsbl, and do what they want
 *
 * They use libdd, with the keys of SBL. Run on one node, or by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dd_mem.h"
#include "buffers.h"

#define STOP	(101 * WORDS)	/* word of the board */

static Int32 memory[2 * WORDS] __attribute__((aligned(PAGE)));

/* ---- importers that send all the time -------------------------------------------------- */

static Int32 buffer[WORDS] __attribute__((aligned(PAGE)));
static int handled, disorder;
static Int32 last[2];

/* Words 0 and 1 are of two importers, which count. */
static void in_order(Int32 *where, Int32 what)
{
	int from = where - buffer;

	if (from < 0 || from > 1 || what <= last[from])
		disorder++;
	else
		last[from] = what;
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

static bool both_send(void)
{
	return __atomic_load_n(&last[0], __ATOMIC_RELAXED) && __atomic_load_n(&last[1], __ATOMIC_RELAXED);
}

/* Until the export ends. */
static long job_flood(long squid, long offset, long node)
{
	unsigned char key[DD_KEY_SIZE];
	struct dd_mem *mem;
	struct dd *h;
	long ret;

	buf_key(key, squid, 7);
	if (dd_open(&h))
		return -EBADF;
	ret = dd_import(h, node ? node : dd_node(h), DD_KEY_BUFFER, key, DD_CAN_PUT, &mem);
	for (int n = 1; !ret || ret == -EBUSY;) {
		ret = dd_put_async(mem, &n, 4, offset, DD_PUT_NOTIFY | DD_PUT_COPY, 0);
		if (ret >= 0) {
			ret = 0;
			n++;
		} else if (ret == -EBUSY) {
			sched_yield();
		}
	}
	dd_shutdown(h);
	return ret;
}

TEST(SBL_22_SBL_28_a_flood_does_not_stop_the_exporter)
{
	struct worker *floods[2] = { worker_new(THERE), worker_new(THERE) };
	static Int32 other[WORDS];
	int before;

	owner_start_with(0, WORDS, 3);
	check_eq(SBL_ExportRecvBuf(buffer, WORDS, 7, in_order, 0), SBL_Success);
	for (int i = 0; i < 2; i++)
		worker_begin(floods[i], job_flood, SBL_MySquid(), 4 * i,
			     far ? atoi(getenv("DDP_OWN_NODE")) : 0);
	check(soon(both_send));
	for (int i = 1; i <= 300; i++) {
		check_eq(SBL_SendMsg(&i, proxy + 1, 1), SBL_Success);
		if (i % 10 == 0) {
			check_eq(SBL_ExportRecvBuf(other, WORDS, 8, NULL, 0), SBL_Success);
			check_eq(SBL_UnexportRecvBuf(8), SBL_Success);
		}
	}
	check(arrives(board + 1, 300));
	check_eq(SBL_UnexportRecvBuf(7), SBL_Success);
	before = handled;
	for (int i = 0; i < 2; i++) {
		check_eq(worker_result(floods[i]), -ESTALE);
		worker_end(floods[i]);
	}
	check_eq(handled, before);
	check(handled > 0);
	check_eq(disorder, 0);
	import_end();
}

/* ---- exporters -------------------------------------------------------------------------- */

enum { READ_ONLY, INHIBITED, REDIRECTED, SHORT, SILENT, KINDS };

static struct dd *foreign;
static uint64_t segment;
static Int32 *exported;

/* Export a buffer that SBL would not. */
static long job_odd_export(long kind, long b, long c)
{
	struct dd_export_attr a = {
		.size = sizeof(a), .len = kind == SHORT ? 4 : PAGE, .key_class = DD_KEY_BUFFER,
		.rights = kind == READ_ONLY ? DD_CAN_GET : DD_CAN_PUT | DD_CAN_GET,
		.notify = kind == SILENT ? DD_NOTIFY_ALWAYS : DD_NOTIFY_NEVER,
		.users = DD_FOR_ANY, .importers = 4, .window = 1,
		.flags = kind == INHIBITED ? DD_EXPORT_INHIBITED :
			 kind == REDIRECTED ? DD_EXPORT_REDIRECT : 0,
	};
	void *at;

	buf_key(a.key, getpid(), 1);
	if (SBL_MyNode() == 0xffffffff || dd_open(&foreign) || dd_alloc(foreign, PAGE, &at))
		return -1;
	exported = at;
	a.addr = at;
	if (kind == SILENT)
		a.list = dd_list(foreign);
	return dd_export(foreign, &a, &segment);
}

static long job_word(long i, long b, long c)
{
	return exported[i];
}

static long job_inhibit(long on, long b, long c)
{
	return dd_export_inhibit(foreign, segment, on);
}

/* An honest process, to whose buffer the second page of @memory is mapped. */
static struct worker *honest;
static Int32 *good;

static void honest_start(void)
{
	honest = worker_new(THERE);
	memset(board, 0, BOARD * 4);
	check_eq(worker_do(honest, job_export, 0, WORDS, 2), SBL_Success);
	check_eq(buf_import(buf_there(), worker_pid(honest), 2, &imp, &good), SBL_Success);
	check_eq(SBL_Map(memory + WORDS, good, WORDS, 0), SBL_Success);
}

static void honest_end(void)
{
	check_eq(SBL_UnimportRecvBuf(good), SBL_Success);
	worker_end(honest);
}

/* What is sent to the honest process does not depend on the other one. */
static void others_go_on(Int32 n)
{
	store(memory + WORDS + 1, n);
	check(arrives(board + 1, n));
	check_eq(SBL_SendMsg(&n, good + 2, 1), SBL_Success);
	check(arrives(board + 2, n));
}

static void odd_start(int kind)
{
	owner_start();
	check_eq(worker_do(owner, job_odd_export, kind, 0, 0), 0);
	check_eq(import_number(1), SBL_Success);
}

TEST(SBL_13_SBL_16_exporters_that_are_no_processes_of_SBL)
{
	static const int sent[] = { SBL_EBadIbufState, SBL_EBadIbufState, SBL_Success, SBL_Success };

	honest_start();
	for (int kind = 0; kind < SILENT; kind++) {
		/* Another node finds out later that it is refused. */
		const int code = far && kind == INHIBITED ? SBL_Success : sent[kind];

		odd_start(kind);
		check_eq(nwords, kind == SHORT ? 1 : WORDS);
		check_eq(SBL_SendMsg(&(Int32){ 5 }, proxy, 1), code);
		check_eq(SBL_Map(memory, proxy, 2, 0), kind == SHORT ? SBL_EBadProxyAddr : SBL_Success);
		store(memory, 1 + kind);
		others_go_on(10 + kind);
		check_eq(SBL_Unmap(memory), kind == SHORT ? SBL_EBadArg : code);
		check_eq(memory[0], 1 + kind);
		import_end();
	}
	honest_end();
}

/* It lets one message through, and then reads no notes; or it refuses all of a sudden. */
TEST(SBL_16_SBL_27_an_exporter_that_stops_a_mapping)
{
	int code;

	honest_start();
	for (int kind = REDIRECTED; kind <= SILENT; kind += SILENT - REDIRECTED) {
		odd_start(kind);
		check_eq(SBL_Map(memory, proxy, WORDS, 0), SBL_Success);
		store(memory + 1, kind);
		while (worker_do(owner, job_word, 1, 0, 0) != kind)
			sched_yield();
		if (kind == REDIRECTED)
			check_eq(worker_do(owner, job_inhibit, 1, 0, 0), 0);
		for (int i = 2; i < 100; i += 2)
			store(memory + i, 100 * kind + i);
		for (int i = 1; i <= 20; i++)
			others_go_on(100 * kind + i);
		worker_end(owner);
		code = SBL_Unmap(memory);
		/* All may be under way to the other node. */
		check(code == SBL_EBadIbufState || (far && code == SBL_Success));
		check_eq(memory[98], 100 * kind + 98);
		check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	}
	honest_end();
}

/* Map memory to that exporter, store to it, and end in one of several ways. */
static long job_leave(long squid, long way, long c)
{
	Int32 *at;
	int n, code;

	code = SBL_ImportRecvBuf(node_there(), squid, 1, &at, &n);
	if (!code)
		code = SBL_Map(memory, at, WORDS, 0);
	if (code)
		return code;
	for (int i = 0; i < 100; i += 2)
		store(memory + i, 1 + i);
	switch (way) {
	case 0:
		__fpurge(stdout);
		exit(0);
	case 1:
		return SBL_Unmap(memory);
	default:
		return SBL_UnimportRecvBuf(at);
	}
}

/* After ten seconds, a thousand milliseconds of which are for the stores of an exit. */
TEST(SBL_16_SBL_27_an_importer_leaves_an_exporter_that_does_nothing)
{
	static const int codes[] = { 1000, SBL_EBadIbufState, SBL_Success };
	struct worker *leaving[3];

	/* Ten seconds are enough, once. */
	if (far)
		return;
	owner_start();
	check_eq(worker_do(owner, job_odd_export, SILENT, 0, 0), 0);
	for (int i = 0; i < 3; i++) {
		leaving[i] = worker_new(HERE);
		worker_begin(leaving[i], job_leave, worker_pid(owner), i, 0);
	}
	for (int i = 0; i < 3; i++)
		check_eq(worker_end_result(leaving[i]), codes[i]);
	worker_end(owner);
}

/* ---- signals ------------------------------------------------------------------------------ */

static long job_signals(long pid, long b, long c)
{
	for (long n = 0; !load(&board[STOP]); n++)
		if (kill(pid, n % 2 ? SIGURG : SIGCONT))
			return -errno;
	return 0;
}

TEST(SBL_23_SBL_26_signals_of_other_processes)
{
	struct worker *sender = worker_new(HERE);

	owner_start_with(0, WORDS, 1);
	check_eq(SBL_Map(memory, proxy, WORDS, 0), SBL_Success);
	worker_begin(sender, job_signals, getpid(), 0, 0);
	for (int i = 1; i <= 200; i++) {
		store(memory + 1, i);
		check_eq(SBL_SendMsg(&i, proxy + 2, 1), SBL_Success);
	}
	check(arrives(board + 2, 200));
	check_eq(board[1], 200);
	store(board + STOP, 1);
	check_eq(worker_result(sender), 0);
	worker_end(sender);
	import_end();
}
