// SPDX-License-Identifier: LGPL-2.1-only
/*
 * buffer_data.c - buffers of VMMC and SBL: exports, imports, and words that are sent
 *
 * Each test names the requirements of its interface that it shows. The exporter is another process,
 * of the other node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asleep.h"
#include "buffers.h"
#include "dd_mem.h"

static int send_word(int value, int *to)
{
	return buf_send(&value, to, 1);
}

/* ---- receive buffers ------------------------------------------------------------- */

PROMISE(VM_36_VM_46_2_VM_46_18, SBL_4, buffers_have_one_number_and_do_not_overlap)
{
	static int words[2 * WORDS];

	owner_start();
	check_eq(buf_export(words + 4, 8, RW(1), NULL), 0);
	check_eq(buf_export(words + 11, 8, RW(2), NULL), ERR(OverlappedBufs));
	check_eq(buf_export(words, 5, RW(2), NULL), ERR(OverlappedBufs));
	check_eq(buf_export(words, 100, RW(2), NULL), ERR(OverlappedBufs));
	check_eq(buf_export(words + 12, 8, RW(0xffffffff), NULL), 0);
	check_eq(buf_export(words, 4, RW(0), NULL), 0);
	check_eq(buf_unexport(1), 0);
	check_eq(buf_unexport(1), ERR(BadRbufState));
	check_eq(buf_export(words + 4, 8, RW(1), NULL), 0);
	check_eq(buf_export(words + 100, 8, RW(1), NULL), ERR(BufAlreadyExists));
	check_eq(buf_unexport(1), 0);
	check_eq(buf_unexport(0), 0);
	check_eq(buf_unexport(0xffffffff), 0);
	owner_end();
}

PROMISE(VM_46_1_VM_46_7_VM_46_8, SBL_4, memory_that_cannot_be_exported)
{
	static int words[16];
	int *hole = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	owner_start();
	check_eq(buf_export(NULL, 8, RW(1), NULL), ERR(BadArg));
	check_eq(buf_export(hole, 8, RW(1), NULL), ERR(BadArg));
	check_eq(buf_export((int *)constant, 3, RW(1), NULL), ERR(BadArg));
#ifndef OF_SBL
	check_eq(buf_export((int *)constant, 3, RO(1), NULL), ERR(BadArg));
#endif
	check_eq(buf_export((int *)((char *)words + 2), 4, RW(1), NULL), ERR(BadAlignment));
	check_eq(buf_export(words, 0, RW(1), NULL), ERR(BadSize));
	check_eq(buf_export(words, -1, RW(1), NULL), ERR(BadSize));
	check_eq(buf_export(words, 0x80000000, RW(1), NULL), ERR(BadSize));
	munmap(hole, PAGE);
	owner_end();
}

/* In another process: import, and send one word. */
static long job_send(long node, long from, long value)
{
	import_t i;
	int *at;

	if (buf_import(node, from, 1, &i, &at) || send_word(value, at + value))
		return -1;
	return buf_unimport(i);
}

PROMISE(VM_39, SBL_5, one_export_many_importers)
{
	struct worker *others[3];
	import_t first;
	int *at;

	owner_start_with(0, WORDS, RW(1));
	first = imp;
	at = proxy;
	check_eq(import_number(1), 0);
	check(at != proxy);
	check_eq(send_word(11, at), 0);
	check_eq(send_word(22, proxy + 1), 0);
	check(arrives(board, 11));
	check(arrives(board + 1, 22));
	for (int i = 0; i < 3; i++)
		others[i] = worker_new(i == 2 ? STRANGER : i);
	for (int i = 0; i < 3; i++)
		worker_begin(others[i], job_send, buf_there(), pid, 10 + i);
	for (int i = 0; i < 3; i++) {
		check_eq(worker_result(others[i]), 0);
		check(arrives(board + 10 + i, 10 + i));
		worker_end(others[i]);
	}
	check_eq(buf_unimport(first), 0);
	import_end();
}

/* Export a MiB with 64 KiB left. */
static long job_out_of_memory(long a, long b, long c)
{
	const struct rlimit l = { .rlim_cur = 64 << 10, .rlim_max = 64 << 10 };

	setrlimit(RLIMIT_MEMLOCK, &l);
	return job_export(0, 256 * WORDS, RW(1));
}

PROMISE(VM_46_14, SBL_6, exporting_pins_pages)
{
	struct worker *stranger;

	owner_start();
	stranger = worker_new(STRANGER);
	check_eq(worker_do(stranger, job_out_of_memory, 0, 0, 0), ERR(NoMem));
	worker_end(stranger);
	owner_end();
}

/* ---- imports ---------------------------------------------------------------------- */

/* A buffer belongs to a process of a node: others have the same number. */
PROMISE(VM_34_VM_35_VM_38_VM_69, SBL_2_SBL_9, buffers_of_one_number)
{
	struct worker *others[2];
	import_t imports[3];
	int own = 0, *to[3];

	owner_start_with(0, WORDS, RW(1));
	imports[2] = imp;
	to[2] = proxy;
	check_eq(buf_me(), getpid());
	check_eq(buf_export(&own, 1, RW(1), NULL), 0);
	for (int i = 0; i < 2; i++) {
		/* On this node too, whatever the other one is. */
		others[i] = worker_new(i ? HERE : THERE);
		check_eq(worker_do(others[i], job_pid, 0, 0, 0), worker_pid(others[i]));
		check_eq(worker_do(others[i], job_export, (i + 1) * WORDS, WORDS, RW(1)), 0);
		check_eq(buf_import(i ? buf_here() : buf_there(), worker_pid(others[i]), 1,
				    &imports[i], &to[i]), 0);
	}
	for (int i = 0; i < 3; i++) {
		check_eq(send_word(5 + i, to[i]), 0);
		check(arrives(board + (i + 1) % 3 * WORDS, 5 + i));
		check_eq(buf_unimport(imports[i]), 0);
	}
	check_eq(own, 0);
	check_eq(buf_unexport(1), 0);
	for (int i = 0; i < 2; i++)
		worker_end(others[i]);
	owner_end();
}

/* Export when the importer sleeps. */
static long job_export_late(long importer, long words, long as)
{
	while (!asleep_in(importer, SYS_ioctl))
		usleep(1000);
	return job_export(0, words, as);
}

PROMISE(VM_37_VM_64, SBL_7, an_import_waits_for_the_export)
{
	owner_start();
	worker_begin(owner, job_export_late, getpid(), WORDS, RW(9));
	check_eq(import_number(9), 0);
	check_eq(worker_result(owner), 0);
	check_eq(nwords, WORDS);
	check_eq(send_word(33, proxy + WORDS - 1), 0);
	check(arrives(board + WORDS - 1, 33));
	import_end();
}

static long job_exit_late(long importer, long b, long c)
{
	while (!asleep_in(importer, SYS_ioctl))
		usleep(1000);
	_exit(0);
}

PROMISE(VM_46_16, SBL_7, an_import_ends_with_the_process)
{
	owner = worker_new(THERE);
	pid = worker_pid(owner);
	/* It does not use the interface yet. */
	check_eq(import_number(9), ERR(NoSuchProcess));
	worker_do(owner, job_pid, 0, 0, 0);
	worker_begin(owner, job_exit_late, getpid(), 0, 0);
	check_eq(import_number(9), ERR(NoSuchProcess));
	check_eq(import_number(9), ERR(NoSuchProcess));
	worker_forget(owner);
	/* None of these ever existed. */
	check_eq(buf_import(buf_there(), 999999, 1, &imp, &proxy), ERR(NoSuchProcess));
	check_eq(buf_import(buf_there(), 0, 1, &imp, &proxy), ERR(NoSuchProcess));
	check_eq(buf_import(buf_there(), -5, 1, &imp, &proxy), ERR(NoSuchProcess));
}

PROMISE(VM_65_VM_66, SBL_8, imports_that_are_made_later)
{
	struct request r, cancelled;
	int code;

	owner_start();
	check_eq(request_new(&r, pid, 5), 0);
	check_eq(request_new(&cancelled, pid, 6), 0);
	check(!request_done(&r, &code));
#ifdef OF_SBL
	/* What names a request is no address to send to. */
	check(r.at != cancelled.at);
	check_eq(send_word(1, r.at), SBL_EBadProxyAddr);
#endif
	check_eq(worker_do(owner, job_export, 0, WORDS, RW(5)), 0);
	check_eq(request_wait(&r), 0);
	check_eq(r.words, WORDS);
	check_eq(send_word(7, r.at + 3), 0);
	check(arrives(board + 3, 7));
	check_eq(request_end(&r), 0);
	check(!request_done(&cancelled, &code));
	check_eq(request_end(&cancelled), 0);
	check(request_end(&cancelled) < 0);
	/* One that is made at once; nothing is stored of the cancelled one. */
	check_eq(worker_do(owner, job_export, WORDS, WORDS, RW(6)), 0);
	check_eq(request_new(&r, pid, 6), 0);
	check_eq(request_wait(&r), 0);
	check_eq(request_end(&r), 0);
#ifdef OF_SBL
	check_eq(cancelled.words, 0);
#endif
	/* The process ends before its export. */
	check_eq(request_new(&r, pid, 7), 0);
	check(!request_done(&r, &code));
	owner_end();
	check_eq(request_wait(&r), ERR(NoSuchProcess));
	check(request_end(&r) < 0);
}

#define MANY	200

/* Export @many buffers of two words. */
static long job_export_many(long many, long b, long c)
{
	for (int i = 0; i < many; i++)
		if (job_export(4 * i, 2, RW(1000 + i)))
			return i + 1;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;

	return (x > y) - (x < y);
}

PROMISE(VM_40, SBL_10_SBL_11, destspace)
{
	static int *at[MANY], *sorted[MANY];
	static import_t imports[MANY];
	volatile int *load;
	int status;
	pid_t child;

	owner_start();
	check_eq(worker_do(owner, job_export_many, MANY, 0, 0), 0);
	for (int i = 0; i < MANY; i++) {
		check_eq(buf_import(buf_there(), pid, 1000 + i, &imports[i], &at[i]), 0);
		check_eq(nwords, 2);
	}
	memcpy(sorted, at, sizeof(at));
	qsort(sorted, MANY, sizeof(sorted[0]), by_address);
	/* An address belongs to one import, with a page between them. */
	for (int i = 1; i < MANY; i++)
		check((char *)sorted[i] - (char *)sorted[i - 1] >= 2 * PAGE);
	for (int i = 0; i < MANY; i++)
		check_eq(send_word(i + 1, at[i] + 1), 0);
	for (int i = 0; i < MANY; i++)
		check(arrives(board + 4 * i + 1, i + 1));
	for (int i = 0; i < MANY; i += 2)
		check_eq(buf_unimport(imports[i]), 0);
	check_eq(send_word(1, at[0]), ERR(BadProxyAddr));
	for (int i = 1; i < MANY; i += 2)
		check_eq(send_word(i, at[i]), 0);
	/* There is no memory behind an address. */
	load = at[1];
	child = fork();
	if (!child)
		_exit(*load & 1);
	check_eq(waitpid(child, &status, 0), child);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	for (int i = 1; i < MANY; i += 2)
		check_eq(buf_unimport(imports[i]), 0);
	owner_end();
}

PROMISE(VM_29_VM_58_VM_61, SBL_12, bounds_are_exact)
{
	int words[WORDS + 8];

	fill(words, WORDS + 8, 1);
	owner_start_with(3, 5, RW(1));
	board[2] = board[8] = 99;
	check_eq(buf_send(words, proxy, 5), 0);
	check_eq(buf_send(words, proxy, 6), ERR(BadProxyAddr));
	check_eq(buf_send(words, proxy + 1, 5), ERR(BadProxyAddr));
	check_eq(send_word(1, proxy + 5), ERR(BadProxyAddr));
	check_eq(send_word(1, proxy - 1), ERR(BadProxyAddr));
	check(buf_arrive(words, proxy, board + 3, 5));
	check_eq(board[2], 99);
	check_eq(board[8], 99);
	import_end();
	/* A buffer of whole pages. */
	owner_start_with(WORDS, WORDS, RW(1));
	check_eq(buf_send(words, proxy, WORDS), 0);
	check_eq(buf_send(words, proxy, WORDS + 1), ERR(BadProxyAddr));
	check(buf_arrive(words, proxy, board + WORDS, WORDS));
	check_eq(board[2 * WORDS], 0);
	import_end();
}

/* ---- a hostile importer ------------------------------------------------------------ */

#define FIRST	18		/* word of the board; the buffer begins in the middle of 8 bytes */
#define LAST	1000
#define SIZE	((LAST - FIRST + 1) * 4)
#define NOTED	(100 * WORDS)	/* number of calls of the handler, those that are not right */

static void note(int *where, int what)
{
	if (where != board + LAST || what != 0x22222222)
		store(&board[NOTED + 1], where - board);
	__atomic_add_fetch(&board[NOTED], 1, __ATOMIC_RELEASE);
}

static long job_export_noted(long a, long b, long c)
{
	return buf_export(board + FIRST, LAST - FIRST + 1, RW(1), note);
}

/* It uses libdd itself, with the process' number and that of the buffer. */
static struct dd_mem *import_by_libdd(struct dd **h)
{
	unsigned char key[DD_KEY_SIZE];
	struct dd_mem *mem = NULL;
	int node;

	buf_key(key, pid, 1);
	check_eq(dd_open(h), 0);
	node = far ? atoi(getenv("DDP_PEER_NODE")) : dd_node(*h);
	check_eq(dd_import(*h, node, DD_KEY_BUFFER, key, DD_CAN_PUT | DD_CAN_CAS, &mem), -EACCES);
	check_eq(dd_import(*h, node, DD_KEY_BUFFER, key, DD_CAN_PUT | DD_CAN_GET, &mem), 0);
	return mem;
}

/* But it reaches the buffer only. */
PROMISE(VM_42, SBL_21, notes_of_no_message_run_no_handler)
{
	static const struct { uint64_t offset; size_t len; } parts[] = {
		{ 0, 0 }, { 0, 1 }, { 0, 3 }, { 5, 4 }, { 8, 6 }, { SIZE - 1, 1 }, { SIZE, 0 },
	};
	static char bytes[PAGE];
	struct dd_mem *mem;
	struct dd *h;

	owner_start();
	memset(board, 0x11, 2 * PAGE);
	memset(bytes, 0x22, sizeof(bytes));
	check_eq(worker_do(owner, job_export_noted, 0, 0, 0), 0);
	mem = import_by_libdd(&h);
	for (size_t i = 0; mem && i < sizeof(parts) / sizeof(parts[0]); i++)
		check_eq(dd_put(mem, bytes, parts[i].len, parts[i].offset, DD_PUT_NOTIFY), 0);
	check(mem && !dd_note(mem, bytes, 64));
	check(mem && !dd_put(mem, bytes, SIZE, 0, DD_PUT_NOTIFY));
	check(arrives(board + NOTED, 1));
	check_eq(board[NOTED + 1], 0);
	for (int i = 0; i < 2 * WORDS; i++)
		check_eq(board[i], i < FIRST || i > LAST ? 0x11111111 : 0x22222222);
	check_eq(dd_shutdown(h), 0);
	owner_end();
}

/* ---- sending ----------------------------------------------------------------------- */

/* VMMC's fetched words go to any memory that can be written. */
PROMISE(VM_31_VM_62, SBL_13, from_any_memory_that_can_be_read)
{
	int *heap = malloc(sizeof(constant)), stack[3];
	int *file = file_words(PROT_READ, MAP_SHARED);
	int *shared = file_words(PROT_READ | PROT_WRITE, MAP_SHARED);
	int *private = file_words(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	int *places[] = { (int *)constant, file, heap, stack, shared, private, board + 4 * WORDS };

	owner_start_with(0, WORDS, RW(1));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		/* The first two are read-only. */
		if (i > 1)
			memcpy(places[i], constant, sizeof(constant));
		memset(board, 0, PAGE);
		check_eq(buf_send(places[i], proxy + 1, 3), 0);
		check(buf_arrive(constant, proxy + 1, board + 1, 3));
#ifndef OF_SBL
		if (i < 2)
			continue;
		memset(places[i], 0, sizeof(constant));
		check_eq(vmmc_GetData(places[i], proxy + 1, 3), vmmc_Success);
		check(!memcmp(places[i], constant, sizeof(constant)));
#endif
	}
	munmap(file, PAGE);
	munmap(shared, PAGE);
	munmap(private, PAGE);
	free(heap);
	import_end();
}

PROMISE(VM_83, SBL_13, sizes)
{
	static int words[64 * WORDS], sent[64 * WORDS];
	static const int sizes[] = { 1, 2, 3, 7, 16, 17, 127, 128, 1023, 1024, 1025, 16 * WORDS,
				     63 * WORDS + 1 };

	owner_start_with(1, 64 * WORDS, RW(1));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill(words, sizes[i], i + 1);
		memcpy(sent, words, sizeof(sent));
		check_eq(buf_send(words, proxy + i, sizes[i]), 0);
		/* The source may be used again. */
		memset(words, 0, sizeof(words));
		check(buf_arrive(sent, proxy + i, board + 1 + i, sizes[i]));
	}
	import_end();
}

PROMISE(VM_46_1_VM_46_6_VM_46_7, SBL_13, addresses_and_sizes_that_are_not_valid)
{
	int words[8] = { 0 }, *odd = (int *)((char *)words + 2), *low, *hole;
	import_t first;

	owner_start();
	check_eq(worker_do(owner, job_export, 0, WORDS, RW(1)), 0);
	check_eq(worker_do(owner, job_export, WORDS, WORDS, RW(2)), 0);
	check_eq(buf_send(words, board, 1), ERR(BadProxyAddr));
	check_eq(import_number(1), 0);
	first = imp;
	low = proxy;
	check_eq(import_number(2), 0);
	check_eq(buf_send(odd, proxy, 1), ERR(BadAlignment));
	check_eq(buf_send(words, (int *)((char *)proxy + 1), 1), ERR(BadAlignment));
	check_eq(buf_send(words, proxy, 0), ERR(BadSize));
	check_eq(buf_send_notify(words, proxy, 0), ERR(BadSize));
	check_eq(buf_send(words, proxy, -1), ERR(BadSize));
	check_eq(buf_send(words, proxy, 0x7fffffff), ERR(BadProxyAddr));
	check_eq(buf_send(words, words, 1), ERR(BadProxyAddr));
	check_eq(buf_send(words, NULL, 1), ERR(BadProxyAddr));
	/* The first word in one import, the last one behind it, or in another one. */
	check_eq(buf_send(words, low + WORDS - 1, 2), ERR(BadProxyAddr));
	check_eq(buf_send(words, low + WORDS, 1), ERR(BadProxyAddr));
	check_eq(buf_send(words, low, 2 * WORDS + 1), ERR(BadProxyAddr));
#ifndef OF_SBL
	check_eq(vmmc_GetData(odd, proxy, 1), vmmcErr_BadAlignment);
	check_eq(vmmc_GetData(words, (int *)((char *)proxy + 2), 1), vmmcErr_BadAlignment);
	check_eq(vmmc_GetData(words, proxy, 0), vmmcErr_BadSize);
	check_eq(vmmc_GetData(words, words + 1, 1), vmmcErr_BadProxyAddr);
	check_eq(vmmc_GetData(words, low + WORDS - 1, 2), vmmcErr_BadProxyAddr);
#endif
	/* From addresses without memory, also after a good message. VMMC may send SIGSEGV instead. */
	check_eq(send_word(1, proxy), 0);
#ifndef OF_SBL
	if (far)
#endif
	{
		check_eq(buf_send(low, proxy, 1), ERR(BadArg));
		check_eq(buf_send(proxy, low, 8), ERR(BadArg));
		check_eq(buf_send(low + 2 * WORDS, proxy, 1), ERR(BadArg));
		check_eq(buf_send_notify(low, proxy, 1), ERR(BadArg));
	}
	hole = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (far)
		check_eq(buf_send(hole, proxy, 3), ERR(BadArg));
	munmap(hole, PAGE);
	check_eq(buf_unimport(first), 0);
	import_end();
}

/* Messages to an import of this process, and what waits for them. */
static long job_send_many(long times, long b, long c)
{
	static int words[2 * WORDS];
	int ret = send_word(0, proxy);

	/* The first one may need a system call. */
	raise(SIGUSR1);
	for (; times > 0 && !ret; times--) {
		ret = buf_send(words, proxy, 16) || buf_send(words + 1, proxy + 1, 999) ||
		      buf_send(words, proxy, 2 * WORDS) || buf_settle(proxy + 3);
		buf_block();
		ret = ret || buf_unblock() <= 0;
	}
	raise(SIGUSR2);
	return ret;
}

static long job_import(long node, long of, long id)
{
	return buf_import(node, of, id, &imp, &proxy);
}

PROMISE(VM_89, SBL_13_SBL_30, no_system_call)
{
	struct worker *w;

	owner_start_with(0, 2 * WORDS, RW(1));
	w = worker_new(HERE);
	check_eq(worker_do(w, job_import, buf_there(), pid, 1), 0);
	if (!far)
		check_eq(worker_syscalls(w, job_send_many, 100, 0, 0),
			 worker_syscalls(w, job_send_many, 1, 0, 0));
	worker_end(w);
	import_end();
}

PROMISE(VM_33, SBL_15, the_receiver_need_not_run)
{
	owner_start_with(0, WORDS, RW(1));
	worker_signal(owner, SIGSTOP);
	check_eq(buf_send(constant, proxy + 2, 3), 0);
	check(buf_arrive(constant, proxy + 2, board + 2, 3));
	worker_signal(owner, SIGCONT);
	import_end();
}

#define ROUNDS	100
#define BULK	(8 * WORDS)
#define FLAG	(2 * BULK)
#define DONE	(FLAG + WORDS)

/* Wait for each flag, and look at the words that were sent before. */
static long job_follow(long a, long b, long c)
{
	for (int n = 1; n <= ROUNDS; n++) {
		while (load(&board[FLAG]) < n)
			sched_yield();
		if (board[0] < n || board[BULK / 2] < n || board[BULK - 1] < n)
			return n;
		store(&board[DONE], n);
	}
	return 0;
}

static int send_bulk(const int *bulk, int *to, int n)
{
#ifndef OF_SBL
	vmmc_async_handle_t h;

	if (n % 2 == 0)
		return vmmc_SendDataAsync(bulk, to, BULK, &h);
#endif
	return buf_send(bulk, to, BULK);
}

PROMISE(VM_32, SBL_13, in_order_over_all_buffers)
{
	static int bulk[BULK];
	import_t data;
	int *to;

	owner_start();
	check_eq(worker_do(owner, job_export, 0, BULK, RW(1)), 0);
	check_eq(worker_do(owner, job_export, FLAG, WORDS, RW(2)), 0);
	check_eq(import_number(1), 0);
	data = imp;
	to = proxy;
	check_eq(import_number(2), 0);
	worker_begin(owner, job_follow, 0, 0, 0);
	for (int n = 1; n <= ROUNDS; n++) {
		for (int i = 0; i < BULK; i++)
			bulk[i] = n;
		/* The next round may not overwrite what the owner has not looked at. */
		while (load(&board[DONE]) < n - 1)
			sched_yield();
		check_eq(send_bulk(bulk, to, n), 0);
		check_eq(buf_send(bulk, to, n % 3 ? BULK : 64), 0);
		check_eq(send_word(n, proxy), 0);
	}
	check_eq(worker_result(owner), 0);
	check_eq(buf_unimport(data), 0);
	import_end();
}

/* ---- the end of links ------------------------------------------------------------------ */

PROMISE(VM_88, SBL_27, unimport_ends_the_link)
{
	import_t old;
	int *before;

	owner_start_with(0, WORDS, RW(1));
	old = imp;
	before = proxy;
	check_eq(send_word(11, proxy), 0);
	check_eq(buf_unimport(imp), 0);
	check(arrives(board, 11));
	check_eq(send_word(12, before), ERR(BadProxyAddr));
#ifndef OF_SBL
	check_eq(vmmc_GetData((int[1]){ 0 }, before, 1), vmmcErr_BadProxyAddr);
#endif
	check(buf_unimport(old) < 0);
	check_eq(import_number(1), 0);
	check_eq(send_word(22, proxy), 0);
	check(arrives(board, 22));
	import_end();
}

PROMISE(VM_87_VM_46_4, SBL_28, unexport_breaks_all_links)
{
	owner_start_with(0, WORDS, RW(1));
	check_eq(send_word(1, proxy), 0);
	check(arrives(board, 1));
	check_eq(worker_do(owner, job_unexport, 1, 0, 0), 0);
	check_eq(send_word(2, proxy), ERR(BadIbufState));
	check_eq(buf_send_notify(constant, proxy, 1), ERR(BadIbufState));
#ifndef OF_SBL
	check_eq(buf_settle(proxy), vmmcErr_BadIbufState);
#endif
	check_eq(board[0], 1);
	check_eq(worker_do(owner, job_unexport, 1, 0, 0), ERR(BadRbufState));
	check_eq(buf_unimport(imp), 0);
	/* Not available for further imports, until it is exported again. */
	worker_begin(owner, job_export_late, getpid(), WORDS, RW(1));
	check_eq(import_number(1), 0);
	check_eq(worker_result(owner), 0);
	import_end();
}

/* ---- codes ---------------------------------------------------------------------------- */

static int code;
static const char *text;

static void say_code(void)
{
	buf_error(code, text);
}

PROMISE(VM_57_VM_46_5_VM_46_10_VM_46_23_VM_46_9, SBL_29, codes_have_texts)
{
	static const int codes[] = { 0, ERR(BadAlignment), ERR(BufAlreadyExists), ERR(BadIbufState),
		ERR(BadRbufState), ERR(BadProxyAddr), ERR(BadSize), ERR(BadArg), ERR(NotImplemented),
		ERR(BlockedNotifications), ERR(NoPhysDestSpace), ERR(NoVirtDestSpace), ERR(NoMem),
		ERR(NoSuchNode), ERR(NoSuchProcess), ERR(NotInHandler), ERR(OverlappedBufs),
		ERR(Permission),
#ifndef OF_SBL
		vmmcErr_BadProxyExtension, vmmcErr_UnblockedNotifications, vmmcErr_InProgress,
		vmmcErr_NoSuchError, vmmcErr_BadAsyncHandle, vmmcErr_StateHandle, vmmcErr_NoParent,
#endif
	}, unknown[] = { 1, -25, -99, -0x7fffffff - 1 };
	const size_t n = sizeof(codes) / sizeof(codes[0]);
	static char line[26][100], other[100];

	text = "here";
	for (size_t i = 0; i <= n; i++) {
		code = i < n ? codes[i] : unknown[0];
		said(say_code, line[i], sizeof(line[i]));
		check(!strncmp(line[i], "here: ", 6) && strlen(line[i]) > 12);
		check_eq(line[i][strlen(line[i]) - 1], '\n');
		for (size_t j = 0; j < i; j++)
			check(strcmp(line[i], line[j]));
	}
	text = NULL;
	for (size_t i = 1; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		code = unknown[i];
		said(say_code, other, sizeof(other));
		check(!strcmp(strchr(other, ':'), strchr(line[n], ':')));
	}
}
