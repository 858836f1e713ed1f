// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_data.c - SBL: receive buffers, imports, and deliberate update
 *
 * Each test names the requirements that it shows. The exporter is another process, of the other
 * node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
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
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asleep.h"
#include "sb.h"

#define MANY	200

static struct worker *owner;
static SBL_Squid squid;		/* of the owner */
static Int32 *proxy;
static int nwords;

/* Export @words from word @at of the board. */
static long job_export(long at, long words, long id)
{
	return SBL_ExportRecvBuf(board + at, words, id, NULL, 0);
}

static long job_unexport(long id, long b, long c)
{
	return SBL_UnexportRecvBuf(id);
}

static long job_squid(long a, long b, long c)
{
	return SBL_MySquid();
}

static void begin(void)
{
	owner = worker_new(THERE);
	squid = worker_do(owner, job_squid, 0, 0, 0);
	memset(board, 0, BOARD * 4);
}

static void end(void)
{
	worker_end(owner);
}

static int import(unsigned int id)
{
	return SBL_ImportRecvBuf(node_there(), squid, id, &proxy, &nwords);
}

static void begin_with(long at, long words, long id)
{
	begin();
	check_eq(worker_do(owner, job_export, at, words, id), SBL_Success);
	check_eq(import(id), SBL_Success);
	check_eq(nwords, words);
}

static void end_import(void)
{
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	end();
}

static int send_word(Int32 value, Int32 *to)
{
	return SBL_SendMsg(&value, to, 1);
}

/* ---- nodes and processes ---------------------------------------------------------- */

#define CONF	"/etc/dd/cluster.conf"

/* Nodes by addresses; 3 and 4 share one, 5 has none of IPv4. */
static long job_hosts(long a, long b, long c)
{
	static const char *const known[] = { "10.77.0.1", "10.77.0.2", "0.0.0.3", "0.0.0.4",
					     "0.0.0.5" };
	NodeID *hosts, *again;
	bool mine = false;
	int n, m;

	if (SBL_Hosts(&n, &hosts) || SBL_Hosts(&m, &again) || m != n || again != hosts)
		return 1;
	for (int i = 0; i < 5; i++)
		if (hosts[i] != inet_addr(known[i]))
			return 10 + i;
	for (int i = 0; i < n; i++)
		mine = mine || hosts[i] == SBL_MyNode();
	return mine && (n == 5 || (n == 6 && hosts[5] == SBL_MyNode())) ? 0 : 3;
}

TEST(SBL_1_nodes_are_named_by_internet_addresses)
{
	check_eq(root_run("mkdir -p /etc/dd; ! [ -e " CONF " ] || mv " CONF " " CONF ".kept;"
			  "printf '%s\\n' '# The cluster' 'max 16' '1 10.77.0.1' '2 10.77.0.2:5000' "
			  "'3 10.77.0.3 5000' '4 10.77.0.3 5001' '5 [fd00::1]:56797' '1 10.77.0.9' "
			  "'x y' 9 >" CONF), 0);
	begin();
	check_eq(worker_do(owner, job_hosts, 0, 0, 0), 0);
	end();
	owner = worker_new(HERE);
	check_eq(worker_do(owner, job_hosts, 0, 0, 0), 0);
	end();
	check_eq(root_run("rm " CONF "; ! [ -e " CONF ".kept ] || mv " CONF ".kept " CONF), 0);
}

static long job_alone(long a, long b, long c)
{
	NodeID *hosts;
	int n;

	if (SBL_Hosts(&n, &hosts) || n != 1 || hosts[0] != SBL_MyNode())
		return 1;
	return SBL_Hosts(NULL, &hosts) == SBL_EBadArg && SBL_Hosts(&n, NULL) == SBL_EBadArg ? 0 : 2;
}

TEST(SBL_1_a_node_alone)
{
	begin();
	check_eq(worker_do(owner, job_alone, 0, 0, 0), 0);
	end();
}

/* This node and the other one, by an address of each. */
TEST(SBL_1_an_address_of_a_node)
{
	const char *family = getenv("DDP_FAMILY");
	NodeID there = htonl(INADDR_LOOPBACK);
	char address[32];

	if (far) {
		snprintf(address, sizeof(address), "10.9.0.%s", getenv("DDP_PEER_NODE"));
		there = family && atoi(family) == 6 ? node_there() : inet_addr(address);
	}
	begin_with(0, WORDS, 1);
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	check_eq(SBL_ImportRecvBuf(there, squid, 1, &proxy, &nwords), SBL_Success);
	check_eq(send_word(4, proxy), SBL_Success);
	check(arrives(board, 4));
	check_eq(SBL_ImportRecvBuf(inet_addr("192.0.2.1"), squid, 1, &proxy, &nwords),
		 SBL_ENoSuchNode);
	check_eq(SBL_ImportRecvBuf(htonl(4095), squid, 1, &proxy, &nwords), SBL_ENoSuchNode);
	check_eq(SBL_ImportRecvBuf(0xffffffff, squid, 1, &proxy, &nwords), SBL_ENoSuchNode);
	end();
}

TEST(SBL_2_a_process_is_a_node_and_a_number)
{
	struct worker *other;
	SBL_Squid its;

	begin_with(0, WORDS, 1);
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	other = worker_new(THERE);
	its = worker_do(other, job_squid, 0, 0, 0);
	check_eq(its, worker_pid(other));
	check_eq(worker_do(other, job_export, WORDS, WORDS, 1), SBL_Success);
	check_eq(import(1), SBL_Success);
	check_eq(send_word(5, proxy), SBL_Success);
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	check_eq(SBL_ImportRecvBuf(node_there(), its, 1, &proxy, &nwords), SBL_Success);
	check_eq(send_word(6, proxy), SBL_Success);
	check(arrives(board, 5));
	check(arrives(board + WORDS, 6));
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	worker_end(other);
	end();
}

TEST(SBL_3_pages_and_words)
{
	check_eq(SBL_PageSize(), 4096);
	check_eq(SBL_PageSize() % sysconf(_SC_PAGESIZE), 0);
	check_eq(SBL_WordSize(), sizeof(Int32));
	check_eq(SBL_PageSize() % SBL_WordSize(), 0);
}

/* ---- receive buffers ------------------------------------------------------------- */

TEST(SBL_4_buffers_have_one_number_and_do_not_overlap)
{
	static Int32 words[2 * WORDS];
	static const Int32 constant = 1;
	Int32 *hole = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin();
	check_eq(SBL_ExportRecvBuf(words + 4, 8, 1, NULL, 0), SBL_Success);
	check_eq(SBL_ExportRecvBuf(words + 100, 8, 1, NULL, 0), SBL_EBufAlreadyExists);
	check_eq(SBL_ExportRecvBuf(words + 11, 8, 2, NULL, 0), SBL_EOverlappedBufs);
	check_eq(SBL_ExportRecvBuf(words, 5, 2, NULL, 0), SBL_EOverlappedBufs);
	check_eq(SBL_ExportRecvBuf(words, 100, 2, NULL, 0), SBL_EOverlappedBufs);
	check_eq(SBL_ExportRecvBuf(words + 12, 8, 0xffffffff, NULL, 0), SBL_Success);
	check_eq(SBL_ExportRecvBuf(words, 4, 0, NULL, 0), SBL_Success);
	check_eq(SBL_UnexportRecvBuf(1), SBL_Success);
	check_eq(SBL_ExportRecvBuf(words + 4, 8, 1, NULL, 0), SBL_Success);
	check_eq(SBL_UnexportRecvBuf(1), SBL_Success);
	check_eq(SBL_UnexportRecvBuf(0), SBL_Success);
	check_eq(SBL_UnexportRecvBuf(0xffffffff), SBL_Success);
	check_eq(SBL_UnexportRecvBuf(1), SBL_EBadRbufState);
	/* Arguments that are not valid. */
	check_eq(SBL_ExportRecvBuf(NULL, 8, 1, NULL, 0), SBL_EBadArg);
	check_eq(SBL_ExportRecvBuf(words, 8, 1, NULL, 1), SBL_EBadArg);
	check_eq(SBL_ExportRecvBuf((Int32 *)((char *)words + 2), 8, 1, NULL, 0), SBL_EBadAlignment);
	check_eq(SBL_ExportRecvBuf(words, 0, 1, NULL, 0), SBL_EBadSize);
	check_eq(SBL_ExportRecvBuf(words, -1, 1, NULL, 0), SBL_EBadSize);
	check_eq(SBL_ExportRecvBuf(hole, 8, 1, NULL, 0), SBL_EBadArg);
	check_eq(SBL_ExportRecvBuf((Int32 *)&constant, 1, 1, NULL, 0), SBL_EBadArg);
	munmap(hole, PAGE);
	end();
}

/* In another process: import, and send one word. */
static long job_send(long node, long from, long value)
{
	Int32 *at;
	int size;

	if (SBL_ImportRecvBuf(node, from, 1, &at, &size) || send_word(value, at + value))
		return -1;
	return SBL_UnimportRecvBuf(at);
}

TEST(SBL_5_one_export_many_importers)
{
	struct worker *others[3];
	Int32 *first;

	begin_with(0, WORDS, 1);
	first = proxy;
	check_eq(import(1), SBL_Success);
	check(first != proxy);
	check_eq(send_word(11, first), SBL_Success);
	check_eq(send_word(22, proxy + 1), SBL_Success);
	check(arrives(board, 11));
	check(arrives(board + 1, 22));
	for (int i = 0; i < 3; i++)
		others[i] = worker_new(i == 2 ? STRANGER : i);
	for (int i = 0; i < 3; i++)
		worker_begin(others[i], job_send, node_there(), squid, 10 + i);
	for (int i = 0; i < 3; i++) {
		check_eq(worker_result(others[i]), SBL_Success);
		check(arrives(board + 10 + i, 10 + i));
		worker_end(others[i]);
	}
	check_eq(SBL_UnimportRecvBuf(first), SBL_Success);
	end_import();
}

/* Export a MiB with 64 KiB left. */
static long job_out_of_memory(long a, long b, long c)
{
	const struct rlimit l = { .rlim_cur = 64 << 10, .rlim_max = 64 << 10 };

	setrlimit(RLIMIT_MEMLOCK, &l);
	return job_export(0, 256 * WORDS, 1);
}

TEST(SBL_6_exporting_pins_pages)
{
	struct worker *stranger;

	begin();
	stranger = worker_new(STRANGER);
	check_eq(worker_do(stranger, job_out_of_memory, 0, 0, 0), SBL_ENoMem);
	worker_end(stranger);
	end();
}

/* ---- imports ---------------------------------------------------------------------- */

/* Export when the importer sleeps. */
static long job_export_late(long importer, long words, long id)
{
	while (!asleep_in(importer, SYS_ioctl))
		usleep(1000);
	return job_export(0, words, id);
}

TEST(SBL_7_an_import_waits_for_the_export)
{
	begin();
	worker_begin(owner, job_export_late, getpid(), WORDS, 9);
	check_eq(import(9), SBL_Success);
	check_eq(worker_result(owner), SBL_Success);
	check_eq(nwords, WORDS);
	check_eq(send_word(33, proxy + WORDS - 1), SBL_Success);
	check(arrives(board + WORDS - 1, 33));
	check_eq(SBL_ImportRecvBuf(node_there(), squid, 9, NULL, &nwords), SBL_EBadArg);
	check_eq(SBL_ImportRecvBuf(node_there(), squid, 9, &proxy, NULL), SBL_EBadArg);
	end();
}

static long job_exit_late(long importer, long b, long c)
{
	while (!asleep_in(importer, SYS_ioctl))
		usleep(1000);
	_exit(0);
}

TEST(SBL_7_an_import_ends_with_the_process)
{
	begin();
	worker_begin(owner, job_exit_late, getpid(), 0, 0);
	check_eq(import(9), SBL_ENoSuchProcess);
	check_eq(import(9), SBL_ENoSuchProcess);
	check_eq(SBL_ImportRecvBuf(node_there(), 0, 1, &proxy, &nwords), SBL_ENoSuchProcess);
	check_eq(SBL_ImportRecvBuf(node_there(), -5, 1, &proxy, &nwords), SBL_ENoSuchProcess);
	worker_forget(owner);
}

static Int32 *request_at[8];
static volatile int request_size[8];

static int request(int i, SBL_Squid of, unsigned int id)
{
	request_size[i] = 99;
	return SBL_ImportRecvBufReq(node_there(), of, id, &request_at[i], (int *)&request_size[i], 0);
}

static bool first_done(void)
{
	return __atomic_load_n(&request_size[0], __ATOMIC_ACQUIRE) != 0;
}

TEST(SBL_8_requests_for_imports)
{
	Int32 *name;

	begin();
	check_eq(request(0, squid, 5), SBL_Success);
	check_eq(request_size[0], 0);
	check_eq(request(1, squid, 6), SBL_Success);
	check(request_at[0] != request_at[1]);
	name = request_at[0];
	/* What names a request is no address to send to. */
	check_eq(send_word(1, name), SBL_EBadProxyAddr);
	check_eq(worker_do(owner, job_export, 0, WORDS, 5), SBL_Success);
	check(soon(first_done));
	check_eq(request_size[0], WORDS);
	check(request_at[0] != name);
	check_eq(send_word(7, request_at[0] + 3), SBL_Success);
	check(arrives(board + 3, 7));
	check_eq(request_size[1], 0);
	/* A request is cancelled: nothing is stored any more. */
	check_eq(SBL_UnimportRecvBuf(request_at[1]), SBL_Success);
	check_eq(SBL_UnimportRecvBuf(request_at[1]), SBL_EBadProxyAddr);
	check_eq(worker_do(owner, job_export, WORDS, WORDS, 6), SBL_Success);
	/* One that is complete at once; the cancelled one stays. */
	check_eq(SBL_UnimportRecvBuf(request_at[0]), SBL_Success);
	check_eq(request(0, squid, 6), SBL_Success);
	check(soon(first_done));
	check_eq(request_size[0], WORDS);
	check_eq(request_size[1], 0);
	check_eq(SBL_UnimportRecvBuf(request_at[0]), SBL_Success);
	check_eq(SBL_ImportRecvBufReq(node_there(), squid, 6, NULL, &nwords, 0), SBL_EBadArg);
	check_eq(SBL_ImportRecvBufReq(node_there(), squid, 6, &proxy, NULL, 0), SBL_EBadArg);
	check_eq(SBL_ImportRecvBufReq(node_there(), squid, 6, &proxy, &nwords, 1), SBL_EBadArg);
	end();
}

TEST(SBL_8_a_request_fails_later)
{
	begin();
	check_eq(request(0, squid, 5), SBL_Success);
	check_eq(request_size[0], 0);
	worker_end(owner);
	check(soon(first_done));
	check_eq(request_size[0], SBL_ENoSuchProcess);
	check_eq(SBL_UnimportRecvBuf(request_at[0]), SBL_EBadProxyAddr);
}

static int requested;

static bool all_done(void)
{
	for (int i = 0; i < requested; i++)
		if (!__atomic_load_n(&request_size[i], __ATOMIC_ACQUIRE))
			return false;
	return true;
}

/* Notifications that are blocked do not keep a request from being complete. */
TEST(SBL_8_several_requests_while_notifications_are_blocked)
{
	begin();
	requested = 8;
	SBL_BlockNotifications();
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < 8; i++)
			check_eq(request(i, squid, 10 * turn + i), SBL_Success);
		for (int i = 7; i >= 0; i--)
			check_eq(worker_do(owner, job_export, 64 * (8 * turn + i), i + 1,
					   10 * turn + i), SBL_Success);
		check(soon(all_done));
		for (int i = 0; i < 8; i++) {
			check_eq(request_size[i], i + 1);
			check_eq(SBL_UnimportRecvBuf(request_at[i]), SBL_Success);
		}
	}
	check_eq(SBL_UnblockNotifications(), 1);
	end();
}

TEST(SBL_9_exports_and_imports_have_numbers_of_their_own)
{
	static Int32 words[4];
	struct worker *other;
	Int32 *first;

	begin_with(0, WORDS, 1);
	first = proxy;
	check_eq(SBL_ExportRecvBuf(words, 4, 1, NULL, 0), SBL_Success);
	other = worker_new(THERE);
	check_eq(worker_do(other, job_export, WORDS, WORDS, 1), SBL_Success);
	check_eq(SBL_ImportRecvBuf(node_there(), worker_pid(other), 1, &proxy, &nwords),
		 SBL_Success);
	check_eq(send_word(11, first), SBL_Success);
	check_eq(send_word(12, proxy), SBL_Success);
	check(arrives(board, 11));
	check(arrives(board + WORDS, 12));
	check_eq(words[0], 0);
	check_eq(SBL_UnexportRecvBuf(1), SBL_Success);
	check_eq(SBL_UnimportRecvBuf(first), SBL_Success);
	worker_end(other);
	end_import();
}

/* Export @many buffers of two words. */
static long job_export_many(long many, long b, long c)
{
	for (int i = 0; i < many; i++)
		if (SBL_ExportRecvBuf(board + 4 * i, 2, 1000 + i, NULL, 0))
			return i + 1;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;

	return (x > y) - (x < y);
}

TEST(SBL_10_SBL_11_destspace)
{
	static Int32 *at[MANY], *sorted[MANY];
	volatile Int32 *load;
	int status;
	pid_t child;

	begin();
	check_eq(worker_do(owner, job_export_many, MANY, 0, 0), 0);
	for (int i = 0; i < MANY; i++) {
		check_eq(SBL_ImportRecvBuf(node_there(), squid, 1000 + i, &at[i], &nwords),
			 SBL_Success);
		check_eq(nwords, 2);
	}
	memcpy(sorted, at, sizeof(at));
	qsort(sorted, MANY, sizeof(sorted[0]), by_address);
	/* An address belongs to one import. */
	for (int i = 1; i < MANY; i++)
		check(sorted[i] - sorted[i - 1] >= nwords);
	for (int i = 0; i < MANY; i++)
		check_eq(send_word(i + 1, at[i] + 1), SBL_Success);
	for (int i = 0; i < MANY; i++)
		check(arrives(board + 4 * i + 1, i + 1));
	for (int i = 0; i < MANY; i += 2)
		check_eq(SBL_UnimportRecvBuf(at[i]), SBL_Success);
	check_eq(send_word(1, at[0]), SBL_EBadProxyAddr);
	for (int i = 1; i < MANY; i += 2)
		check_eq(send_word(i, at[i]), SBL_Success);
	/* There is no memory behind an address. */
	load = at[1];
	child = fork();
	if (!child)
		_exit(*load & 1);
	check_eq(waitpid(child, &status, 0), child);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	for (int i = 1; i < MANY; i += 2)
		check_eq(SBL_UnimportRecvBuf(at[i]), SBL_Success);
	end();
}

TEST(SBL_12_bounds_are_exact)
{
	Int32 words[WORDS + 8];

	fill(words, WORDS + 8, 1);
	begin_with(3, 5, 1);
	board[2] = board[8] = 99;
	check_eq(SBL_SendMsg(words, proxy, 5), SBL_Success);
	check_eq(SBL_SendMsg(words, proxy, 6), SBL_EBadProxyAddr);
	check_eq(SBL_SendMsg(words, proxy + 1, 5), SBL_EBadProxyAddr);
	check_eq(send_word(1, proxy + 5), SBL_EBadProxyAddr);
	check_eq(send_word(1, proxy - 1), SBL_EBadProxyAddr);
	check(arrives(board + 7, words[4]));
	check(!memcmp(board + 3, words, 20));
	check_eq(board[2], 99);
	check_eq(board[8], 99);
	end_import();
	/* A buffer of whole pages. */
	begin_with(WORDS, WORDS, 1);
	check_eq(SBL_SendMsg(words, proxy, WORDS), SBL_Success);
	check_eq(SBL_SendMsg(words, proxy, WORDS + 1), SBL_EBadProxyAddr);
	check(arrives(board + 2 * WORDS - 1, words[WORDS - 1]));
	check(!memcmp(board + WORDS, words, PAGE));
	check_eq(board[2 * WORDS], 0);
	end_import();
}

/* ---- deliberate update --------------------------------------------------------------- */

static Int32 *file_words(int prot, int flags)
{
	static const Int32 in_file[3] = { 11, 22, 33 };
	FILE *f = tmpfile();
	Int32 *at;

	check_eq(fwrite(in_file, sizeof(in_file), 1, f), 1);
	check_eq(fflush(f), 0);
	at = mmap(NULL, PAGE, prot, flags, fileno(f), 0);
	check(at != MAP_FAILED);
	fclose(f);
	return at;
}

TEST(SBL_13_from_any_memory_that_can_be_read)
{
	static const Int32 constant[3] = { 11, 22, 33 };
	Int32 *heap = malloc(sizeof(constant)), stack[3], zero[3] = { 0 };
	Int32 *shared = file_words(PROT_READ, MAP_SHARED);
	const Int32 *sources[] = { constant, heap, stack, shared, board + 4 * WORDS };

	begin_with(0, WORDS, 1);
	memcpy(heap, constant, sizeof(constant));
	memcpy(stack, constant, sizeof(constant));
	memcpy(board + 4 * WORDS, constant, sizeof(constant));
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		check_eq(SBL_SendMsg(sources[i], proxy + 1, 3), SBL_Success);
		check(arrives(board + 3, 33));
		check(!memcmp(board + 1, constant, sizeof(constant)));
		check_eq(SBL_SendMsg(zero, proxy + 1, 3), SBL_Success);
		check(arrives(board + 3, 0));
	}
	munmap(shared, PAGE);
	free(heap);
	end_import();
}

TEST(SBL_13_sizes)
{
	static Int32 words[64 * WORDS], sent[64 * WORDS];
	static const int sizes[] = { 1, 2, 3, 7, 16, 17, 127, 128, 1023, 1024, 1025, 16 * WORDS,
				     63 * WORDS + 1 };

	begin_with(1, 64 * WORDS, 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill(words, sizes[i], i + 1);
		memcpy(sent, words, sizeof(sent));
		check_eq(SBL_SendMsg(words, proxy + i, sizes[i]), SBL_Success);
		/* The source may be used again. */
		memset(words, 0, sizeof(words));
		check(arrives(board + i + sizes[i], sent[sizes[i] - 1]));
		check(!memcmp(sent, board + 1 + i, 4 * sizes[i]));
	}
	end_import();
}

TEST(SBL_13_arguments_that_are_not_valid)
{
	Int32 words[8] = { 0 }, *odd = (Int32 *)((char *)words + 2), *low, *hole;

	begin();
	check_eq(worker_do(owner, job_export, 0, WORDS, 1), SBL_Success);
	check_eq(worker_do(owner, job_export, WORDS, WORDS, 2), SBL_Success);
	check_eq(import(1), SBL_Success);
	low = proxy;
	check_eq(import(2), SBL_Success);
	check_eq(SBL_SendMsg(odd, proxy, 1), SBL_EBadAlignment);
	check_eq(SBL_SendMsg(words, (Int32 *)((char *)proxy + 1), 1), SBL_EBadAlignment);
	check_eq(SBL_SendMsg(words, proxy, 0), SBL_EBadSize);
	check_eq(SBL_SendMsg(words, proxy, -1), SBL_EBadSize);
	check_eq(SBL_SendMsg(words, proxy, 0x7fffffff), SBL_EBadProxyAddr);
	check_eq(SBL_SendMsg(words, words, 1), SBL_EBadProxyAddr);
	check_eq(SBL_SendMsg(words, NULL, 1), SBL_EBadProxyAddr);
	check_eq(SBL_SendMsg(words, low + WORDS - 1, 2), SBL_EBadProxyAddr);
	/* From DestSpace, in part, also after a good message. */
	check_eq(SBL_SendMsg(words, proxy, 1), SBL_Success);
	check_eq(SBL_SendMsg(low, proxy, 1), SBL_EBadArg);
	check_eq(SBL_SendMsg(proxy, low, 8), SBL_EBadArg);
	check_eq(SBL_SendMsg(low + 2 * WORDS, proxy, 1), SBL_EBadArg);
	check_eq(SBL_SendMsgWithNotify(low, proxy, 1), SBL_EBadArg);
	hole = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (far)
		check_eq(SBL_SendMsg(hole, proxy, 3), SBL_EBadArg);
	check_eq(SBL_UnimportRecvBuf(low + 1), SBL_EBadProxyAddr);
	check_eq(SBL_UnimportRecvBuf(words), SBL_EBadProxyAddr);
	check_eq(SBL_UnimportRecvBuf(NULL), SBL_EBadProxyAddr);
	check_eq(SBL_UnimportRecvBuf(low), SBL_Success);
	check_eq(SBL_UnimportRecvBuf(low), SBL_EBadProxyAddr);
	munmap(hole, PAGE);
	end_import();
}

/*
 * In strict mode, a thread is killed by any system call but that which ends it. The kernel
 * of User-Mode Linux does not have that mode.
 */
static void *silent_requests(void *arg)
{
	static Int32 words[2 * WORDS];
	bool good = true;

	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) || errno == EINVAL) {
		for (int i = 0; i < 100; i++) {
			good = good && !SBL_SendMsg(words, proxy, 16) &&
			       !SBL_SendMsg(words + 1, proxy + 1, 999) &&
			       !SBL_SendMesg(words, proxy, 2 * WORDS);
			SBL_BlockNotifications();
			good = good && SBL_UnblockNotifications() > 0;
		}
		__atomic_store_n((bool *)arg, good, __ATOMIC_RELAXED);
	}
	syscall(SYS_exit, 0);
	return NULL;
}

TEST(SBL_13_SBL_30_sending_is_a_user_level_operation)
{
	bool silent = false;
	pthread_t t;

	begin_with(0, 2 * WORDS, 1);
	/* The first one may need a system call. */
	check_eq(send_word(0, proxy), SBL_Success);
	if (!far) {
		check_eq(pthread_create(&t, NULL, silent_requests, &silent), 0);
		check_eq(pthread_join(t, NULL), 0);
		check(silent);
	}
	end_import();
}

TEST(SBL_14_two_names_of_one_call)
{
	Int32 word = 3;

	begin_with(0, WORDS, 1);
	check_eq(SBL_SendMesg(&word, proxy + 9, 1), SBL_Success);
	check(arrives(board + 9, 3));
	check_eq(SBL_SendMesg(&word, proxy, 0), SBL_EBadSize);
	end_import();
}

TEST(SBL_15_the_receiver_need_not_run)
{
	begin_with(0, WORDS, 1);
	worker_signal(owner, SIGSTOP);
	check_eq(send_word(5, proxy + 2), SBL_Success);
	check(arrives(board + 2, 5));
	worker_signal(owner, SIGCONT);
	end_import();
}

#define ROUNDS	100
#define BULK	(8 * WORDS)
#define FLAG	(2 * BULK)
#define DONE	(FLAG + WORDS)

/* Wait for each flag, and look at the words that were sent before. */
static long job_follow(long a, long b, long c)
{
	for (Int32 n = 1; n <= ROUNDS; n++) {
		while (__atomic_load_n(&board[FLAG], __ATOMIC_ACQUIRE) < n)
			sched_yield();
		if (board[0] < n || board[BULK / 2] < n || board[BULK - 1] < n)
			return n;
		__atomic_store_n(&board[DONE], n, __ATOMIC_RELEASE);
	}
	return 0;
}

TEST(SBL_13_in_order_over_all_buffers)
{
	static Int32 bulk[BULK];
	Int32 *data;

	begin();
	check_eq(worker_do(owner, job_export, 0, BULK, 1), SBL_Success);
	check_eq(worker_do(owner, job_export, FLAG, WORDS, 2), SBL_Success);
	check_eq(import(1), SBL_Success);
	data = proxy;
	check_eq(import(2), SBL_Success);
	worker_begin(owner, job_follow, 0, 0, 0);
	for (Int32 n = 1; n <= ROUNDS; n++) {
		for (int i = 0; i < BULK; i++)
			bulk[i] = n;
		/* The next round may not overwrite what the owner has not looked at. */
		while (__atomic_load_n(&board[DONE], __ATOMIC_ACQUIRE) < n - 1)
			sched_yield();
		check_eq(SBL_SendMsg(bulk, data, BULK), SBL_Success);
		check_eq(SBL_SendMsg(&n, proxy, 1), SBL_Success);
	}
	check_eq(worker_result(owner), 0);
	check_eq(SBL_UnimportRecvBuf(data), SBL_Success);
	end_import();
}

/* ---- the end of links ------------------------------------------------------------------ */

TEST(SBL_27_unimport_ends_the_link)
{
	Int32 *before;

	begin_with(0, WORDS, 1);
	before = proxy;
	check_eq(send_word(11, proxy), SBL_Success);
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	check(arrives(board, 11));
	check_eq(send_word(12, before), SBL_EBadProxyAddr);
	check_eq(SBL_UnimportRecvBuf(before), SBL_EBadProxyAddr);
	check_eq(import(1), SBL_Success);
	check_eq(send_word(22, proxy), SBL_Success);
	check(arrives(board, 22));
	end_import();
}

TEST(SBL_28_unexport_breaks_all_links)
{
	begin_with(0, WORDS, 1);
	check_eq(send_word(1, proxy), SBL_Success);
	check(arrives(board, 1));
	check_eq(worker_do(owner, job_unexport, 1, 0, 0), SBL_Success);
	check_eq(send_word(2, proxy), SBL_EBadIbufState);
	check_eq(SBL_SendMsgWithNotify(board + WORDS, proxy, 1), SBL_EBadIbufState);
	check_eq(board[0], 1);
	check_eq(worker_do(owner, job_unexport, 1, 0, 0), SBL_EBadRbufState);
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	/* Not available for further imports, until it is exported again. */
	check_eq(request(0, squid, 1), SBL_Success);
	usleep(20000);
	check_eq(request_size[0], 0);
	check_eq(worker_do(owner, job_export, 0, WORDS, 1), SBL_Success);
	check(soon(first_done));
	check_eq(request_size[0], WORDS);
	check_eq(SBL_UnimportRecvBuf(request_at[0]), SBL_Success);
	end();
}

/* ---- errors, importers, spawn ------------------------------------------------------------ */

/* What SBL_Error() prints of a code. */
static void printed(int code, const char *text, char *to, size_t size)
{
	int ends[2], kept = dup(2);
	ssize_t n;

	check_eq(pipe(ends), 0);
	dup2(ends[1], 2);
	SBL_Error(code, text);
	dup2(kept, 2);
	close(kept);
	close(ends[1]);
	n = read(ends[0], to, size - 1);
	to[n > 0 ? n : 0] = 0;
	close(ends[0]);
}

TEST(SBL_29_codes_and_their_texts)
{
	static const int codes[] = { SBL_Success, SBL_EBadAlignment, SBL_EBufAlreadyExists,
		SBL_EBadIbufState, SBL_EBadRbufState, SBL_EBadProxyAddr, SBL_EBadSize, SBL_EBadArg,
		SBL_ENotImplemented, SBL_EBlockedNotifications, SBL_ENoPhysDestSpace,
		SBL_ENoVirtDestSpace, SBL_ENoMem, SBL_ENoSuchNode, SBL_ENoSuchProcess,
		SBL_ENotInHandler, SBL_EOverlappedBufs, SBL_EPermission };
	const int n = sizeof(codes) / sizeof(codes[0]);
	static char line[32][200];

	for (int i = 0; i < n; i++) {
		check(i ? codes[i] < 0 : !codes[i]);
		printed(codes[i], "here", line[i], sizeof(line[i]));
		check(!strncmp(line[i], "here: ", 6));
		check(strlen(line[i]) > 12);
		check_eq(line[i][strlen(line[i]) - 1], '\n');
		for (int j = 0; j < i; j++)
			check(strcmp(line[i], line[j]));
	}
	for (int i = 0; i < 4; i++) {
		printed((int[]){ 1, -5, -99, -0x7fffffff - 1 }[i], NULL, line[i], sizeof(line[i]));
		check(!strcmp(line[i], "sbl: unknown code\n"));
	}
}

static long job_importers(long id, long mine, long node)
{
	SBL_Squid *squids;
	NodeID *nodes;
	int n = -1, code = SBL_Importers(id, &n, &squids, &nodes);
	long found = 0;

	if (code)
		return code;
	for (int i = 0; i < n; i++)
		found += squids[i] == mine && nodes[i] == (NodeID)node;
	free(squids);
	free(nodes);
	return 100 * n + found;
}

TEST(SBL_31_importers)
{
	Int32 *more[20];
	SBL_Squid *squids;
	NodeID *nodes;
	int n;

	begin_with(0, WORDS, 1);
	check_eq(worker_do(owner, job_importers, 1, getpid(), SBL_MyNode()), 101);
	for (int i = 0; i < 20; i++)
		check_eq(SBL_ImportRecvBuf(node_there(), squid, 1, &more[i], &nwords), SBL_Success);
	check_eq(worker_do(owner, job_importers, 1, getpid(), SBL_MyNode()), 2121);
	for (int i = 0; i < 20; i++)
		check_eq(SBL_UnimportRecvBuf(more[i]), SBL_Success);
	check_eq(worker_do(owner, job_importers, 7, 0, 0), SBL_EBadRbufState);
	check_eq(SBL_Importers(1, NULL, &squids, &nodes), SBL_EBadArg);
	check_eq(SBL_Importers(1, &n, NULL, &nodes), SBL_EBadArg);
	check_eq(SBL_Importers(1, &n, &squids, NULL), SBL_EBadArg);
	end_import();
}

TEST(SBL_31_spawn_without_a_session)
{
	char *argv[] = { "true", NULL };
	SBL_Squid child;

	check_eq(SBL_Spawn("/bin/true", argv, SBL_MyNode(), &child), SBL_ENoSuchNode);
	check_eq(SBL_Spawn("/bin/true", NULL, SBL_MyNode(), &child), SBL_EBadArg);
}
