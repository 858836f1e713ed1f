// SPDX-License-Identifier: LGPL-2.1-only
/*
 * sb_data.c - SBL: what VMMC does not have: addresses of nodes, requests for imports, importers
 *
 * Each test names the requirements that it shows. The exporter is another process, of the other
 * node if the program is run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffers.h"

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
	owner_start();
	check_eq(worker_do(owner, job_hosts, 0, 0, 0), 0);
	owner_end();
	owner = worker_new(HERE);
	check_eq(worker_do(owner, job_hosts, 0, 0, 0), 0);
	owner_end();
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
	owner_start();
	check_eq(worker_do(owner, job_alone, 0, 0, 0), 0);
	owner_end();
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
	owner_start_with(0, WORDS, 1);
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	check_eq(SBL_ImportRecvBuf(there, pid, 1, &proxy, &nwords), SBL_Success);
	check_eq(send_word(4, proxy), SBL_Success);
	check(arrives(board, 4));
	check_eq(SBL_ImportRecvBuf(inet_addr("192.0.2.1"), pid, 1, &proxy, &nwords),
		 SBL_ENoSuchNode);
	check_eq(SBL_ImportRecvBuf(htonl(4095), pid, 1, &proxy, &nwords), SBL_ENoSuchNode);
	check_eq(SBL_ImportRecvBuf(0xffffffff, pid, 1, &proxy, &nwords), SBL_ENoSuchNode);
	owner_end();
}

TEST(SBL_3_pages_and_words)
{
	check_eq(SBL_PageSize(), 4096);
	check_eq(SBL_PageSize() % sysconf(_SC_PAGESIZE), 0);
	check_eq(SBL_WordSize(), sizeof(Int32));
	check_eq(SBL_PageSize() % SBL_WordSize(), 0);
}

/* ---- imports ---------------------------------------------------------------------- */

static Int32 *request_at[8];
static volatile int request_size[8];

static int request(int i, process_t of, unsigned int id)
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

	owner_start();
	check_eq(request(0, pid, 5), SBL_Success);
	check_eq(request_size[0], 0);
	check_eq(request(1, pid, 6), SBL_Success);
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
	check_eq(request(0, pid, 6), SBL_Success);
	check(soon(first_done));
	check_eq(request_size[0], WORDS);
	check_eq(request_size[1], 0);
	check_eq(SBL_UnimportRecvBuf(request_at[0]), SBL_Success);
	check_eq(SBL_ImportRecvBufReq(node_there(), pid, 6, NULL, &nwords, 0), SBL_EBadArg);
	check_eq(SBL_ImportRecvBufReq(node_there(), pid, 6, &proxy, NULL, 0), SBL_EBadArg);
	check_eq(SBL_ImportRecvBufReq(node_there(), pid, 6, &proxy, &nwords, 1), SBL_EBadArg);
	owner_end();
}

TEST(SBL_8_a_request_fails_later)
{
	owner_start();
	check_eq(request(0, pid, 5), SBL_Success);
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
	owner_start();
	requested = 8;
	SBL_BlockNotifications();
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < 8; i++)
			check_eq(request(i, pid, 10 * turn + i), SBL_Success);
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
	owner_end();
}

TEST(SBL_4_SBL_7_SBL_27_arguments_that_are_not_valid)
{
	Int32 words[8];
	int n;

	owner_start_with(0, WORDS, 1);
	check_eq(SBL_ExportRecvBuf(words, 8, 1, NULL, 1), SBL_EBadArg);
	check_eq(SBL_ImportRecvBuf(node_there(), pid, 1, NULL, &n), SBL_EBadArg);
	check_eq(SBL_ImportRecvBuf(node_there(), pid, 1, &proxy, NULL), SBL_EBadArg);
	check_eq(SBL_UnimportRecvBuf(proxy + 1), SBL_EBadProxyAddr);
	check_eq(SBL_UnimportRecvBuf(words), SBL_EBadProxyAddr);
	check_eq(SBL_UnimportRecvBuf(NULL), SBL_EBadProxyAddr);
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_Success);
	check_eq(SBL_UnimportRecvBuf(proxy), SBL_EBadProxyAddr);
	owner_end();
}

TEST(SBL_14_two_names_of_one_call)
{
	Int32 word = 3;

	owner_start_with(0, WORDS, 1);
	check_eq(SBL_SendMesg(&word, proxy + 9, 1), SBL_Success);
	check(arrives(board + 9, 3));
	check_eq(SBL_SendMesg(&word, proxy, 0), SBL_EBadSize);
	import_end();
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

	owner_start_with(0, WORDS, 1);
	check_eq(worker_do(owner, job_importers, 1, getpid(), SBL_MyNode()), 101);
	for (int i = 0; i < 20; i++)
		check_eq(SBL_ImportRecvBuf(node_there(), pid, 1, &more[i], &nwords), SBL_Success);
	check_eq(worker_do(owner, job_importers, 1, getpid(), SBL_MyNode()), 2121);
	for (int i = 0; i < 20; i++)
		check_eq(SBL_UnimportRecvBuf(more[i]), SBL_Success);
	check_eq(worker_do(owner, job_importers, 7, 0, 0), SBL_EBadRbufState);
	check_eq(SBL_Importers(1, NULL, &squids, &nodes), SBL_EBadArg);
	check_eq(SBL_Importers(1, &n, NULL, &nodes), SBL_EBadArg);
	check_eq(SBL_Importers(1, &n, &squids, NULL), SBL_EBadArg);
	import_end();
}

TEST(SBL_31_spawn_without_a_session)
{
	char *argv[] = { "true", NULL };
	SBL_Squid child;

	check_eq(SBL_Spawn("/bin/true", argv, SBL_MyNode(), &child), SBL_ENoSuchNode);
	check_eq(SBL_Spawn("/bin/true", NULL, SBL_MyNode(), &child), SBL_EBadArg);
}
