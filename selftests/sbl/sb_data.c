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
#include <unistd.h>

#include "buffers.h"

static int send_word(Int32 value, Int32 *to)
{
	return SBL_SendMsg(&value, to, 1);
}

/* ---- nodes and processes ---------------------------------------------------------- */

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
	conf_begin("# The cluster\\nmax 16\\n1 10.77.0.1\\n2 10.77.0.2:5000\\n3 10.77.0.3 5000\\n"
		   "4 10.77.0.3 5001\\n5 [fd00::1]:56797\\n1 10.77.0.9\\nx y\\n9\\n");
	for (int where = THERE; where <= HERE; where++) {
		owner = worker_new(where);
		check_eq(worker_do(owner, job_hosts, 0, 0, 0), 0);
		owner_end();
	}
	conf_end();
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

/* Notifications that are blocked do not keep a request from being complete. */
TEST(SBL_8_several_requests_while_notifications_are_blocked)
{
	struct request r[8];

	owner_start();
	SBL_BlockNotifications();
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < 8; i++)
			check_eq(request_new(&r[i], pid, 10 * turn + i), SBL_Success);
		for (int i = 7; i >= 0; i--)
			check_eq(worker_do(owner, job_export, 64 * (8 * turn + i), i + 1,
					   10 * turn + i), SBL_Success);
		for (int i = 0; i < 8; i++) {
			check_eq(request_wait(&r[i]), SBL_Success);
			check_eq(r[i].words, i + 1);
			check_eq(request_end(&r[i]), SBL_Success);
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
	check_eq(SBL_ImportRecvBufReq(node_there(), pid, 1, NULL, &n, 0), SBL_EBadArg);
	check_eq(SBL_ImportRecvBufReq(node_there(), pid, 1, &proxy, NULL, 0), SBL_EBadArg);
	check_eq(SBL_ImportRecvBufReq(node_there(), pid, 1, &proxy, &n, 1), SBL_EBadArg);
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

/* ---- importers, spawn ------------------------------------------------------------ */

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
