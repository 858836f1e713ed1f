// SPDX-License-Identifier: LGPL-2.1-only
/*
 * vm_process.c - VMMC: processes that do not exist, that end, and their nodes
 *
 * Each test names the requirements that it shows. Workers are at the other node if the program is
 * run by across.sh.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffers.h"

static vmmc_result_t import(vmmc_node_t node, vmmc_pid_t pid)
{
	return vmmc_ImportRecvBuf(node, pid, 1, &imp, &proxy, &nwords);
}

TEST(VM_46_15_no_such_node)
{
	vmmc_node_t none = { -1 }, high = { 4095 }, empty = { 0 };
	vmmc_imphandle_t h;

	owner = worker_new(THERE);
	check_eq(import(none, 1), vmmcErr_NoSuchNode);
	check_eq(import(high, 1), vmmcErr_NoSuchNode);
	check_eq(vmmc_ImportRecvBufAsync(high, 1, 1, &h), vmmcErr_NoSuchNode);
	/* Between nodes, 0 is configured on neither of them. */
	if (far)
		check_eq(import(empty, 1), vmmcErr_NoSuchNode);
	worker_end(owner);
}

static long job_export_shortly(long id, long b, long c)
{
	long ret = job_export(0, WORDS, RW(id));

	return ret ? ret : vmmc_UnexportRecvBuf(exported[id]);
}

/* It is woken by an export that has ended when it looks. */
TEST(VM_37_an_import_waits_for_the_next_export)
{
	struct request r;
	int code;

	owner_start();
	check_eq(request_new(&r, pid, 1), vmmc_Success);
	for (int i = 0; i < 10; i++)
		check_eq(worker_do(owner, job_export_shortly, 1, 0, 0), vmmc_Success);
	check(!request_done(&r, &code));
	check_eq(worker_do(owner, job_export, 0, WORDS, RW(1)), vmmc_Success);
	check_eq(request_wait(&r), vmmc_Success);
	check_eq(vmmc_SendData(constant, r.at, 3), vmmc_Success);
	check_eq(request_end(&r), vmmc_Success);
	owner_end();
}

static long job_send_and_exit(long node, long pid, long n)
{
	static int32 message[4 * WORDS];
	vmmc_node_t there = { node };
	vmmc_imphandle_t h;
	int32 *at;
	uint32 size;

	if (vmmc_ImportRecvBuf(there, pid, 2, &h, &at, &size))
		return 1;
	for (long i = 0; i < n; i++) {
		message[0] = message[4 * WORDS - 1] = i + 1;
		if (vmmc_SendData(message, at + 4 * WORDS * i, 4 * WORDS))
			return 2;
	}
	/* What the test has not printed yet. */
	__fpurge(stdout);
	exit(0);
}

/* The link is slow, so that the sender ends before the other node has the bytes. */
TEST(VM_32_what_a_process_has_sent_arrives_after_its_exit)
{
	const int n = 32;

	owner = worker_new(THERE);
	memset(board, 0, BOARD * sizeof(*board));
	check_eq(vmmc_ExportRecvBuf(board, n * 4 * WORDS, 2, NULL, BUF_READWRITE, VMMC_PERM_ANY,
				    &exported[1]), vmmc_Success);
	link_shape("delay 30ms");
	worker_begin(owner, job_send_and_exit, vmmc_MyNode().number, vmmc_MyPid(), n);
	check_eq(worker_end_result(owner), 1000);
	for (int i = 0; i < n; i++) {
		check_eq(board[4 * WORDS * i], i + 1);
		check_eq(board[4 * WORDS * (i + 1) - 1], i + 1);
	}
	link_shape(NULL);
	check_eq(vmmc_UnexportRecvBuf(exported[1]), vmmc_Success);
}

/* ---- nodes ----------------------------------------------------------------------------- */

#define CLUSTER_PEER	"10.9.0.2"	/* see selftests/net/cluster.sh */

/* Two names, an address, and lines that are not those of nodes. */
static long job_hosts(long mode, long b, long c)
{
	vmmc_node_t *all, *session, *again, mine;
	uint32 n, m, k;

	if (mode == 1)
		unsetenv("VMMCHOSTS");
	else
		setenv("VMMCHOSTS", mode == 2 ? "fedex1.example.org  fedex2\t10.9.0.7 127.0.0.1" : "fedex1 unknown", 1);
	mine = vmmc_MyNode();
	if (vmmc_AllHosts(&n, &all) || vmmc_AllHosts(&k, &again) || k != n || all != again)
		return 1;
	if (mode == 3)
		return vmmc_SessionHosts(&m, &session) == vmmcErr_NoSuchNode ? 0 : 2;
	if (vmmc_SessionHosts(&m, &session))
		return 3;
	if (mode == 1)
		return m == 1 && vmmc_EqualNodes(session[0], mine) ? 0 : 4;
	if (n != 3 + (mine.number != 1 && mine.number != 2) || m != 4)
		return 5;
	if (!vmmc_EqualNodes(session[0], vmmc_NameToNode("fedex1.example.org")) ||
	    !vmmc_EqualNodes(session[1], vmmc_NameToNode("fedex2.example.org")) ||
	    !vmmc_EqualNodes(session[2], vmmc_NameToNode("10.9.0.7")) ||
	    !vmmc_EqualNodes(session[3], mine) ||
	    !vmmc_EqualNodes(session[0], all[0]) || vmmc_EqualNodes(session[0], session[1]))
		return 6;
	if (strcmp(vmmc_NodeToName(session[1]), "fedex2.example.org") ||
	    strcmp(vmmc_NodeToName(session[2]), "10.9.0.7"))
		return 7;
	if (vmmc_EqualNodes(vmmc_NameToNode("nothing"), mine) ||
	    vmmc_NodeToName(vmmc_NameToNode("nothing")) || vmmc_NodeToName(vmmc_NameToNode(NULL)))
		return 8;
	if (!vmmc_EqualNodes(vmmc_NameToNode(vmmc_MyHostName()), mine) ||
	    !vmmc_EqualNodes(vmmc_NameToNode("localhost"), mine))
		return 9;
	/* Names that the file has not, but the resolver. */
	if (!vmmc_EqualNodes(vmmc_NameToNode("127.0.0.1"), mine) ||
	    vmmc_NameToNode("198.51.100.1").number >= 0)
		return 10;
	if (getenv("DDP_PEER_NODE") &&
	    vmmc_NameToNode(CLUSTER_PEER).number != atoi(getenv("DDP_PEER_NODE")))
		return 11;
	return 0;
}

TEST(VM_47_VM_48_VM_49_VM_56_VM_67_VM_68_VM_70_VM_71_hosts)
{
	conf_begin("# The cluster\\nmax 16\\ndead-time 5000\\n1 fedex1.example.org\\n"
		   "2 fedex2.example.org:5000 # a port\\n7 [10.9.0.7]:56797\\n1 twice\\nx y\\n9\\n");
	for (int mode = 1; mode <= 3; mode++) {
		for (int where = THERE; where <= HERE; where++) {
			owner = worker_new(where);
			check_eq(worker_do(owner, job_hosts, mode, 0, 0), 0);
			worker_end(owner);
		}
	}
	conf_end();
}

static long job_no_conf(long a, long b, long c)
{
	vmmc_node_t *all;
	uint32 n;

	unsetenv("VMMCHOSTS");
	if (vmmc_AllHosts(&n, &all) || n != 1 || !vmmc_EqualNodes(all[0], vmmc_MyNode()))
		return 1;
	if (!vmmc_MyHostName()[0] || strcmp(vmmc_MyHostName(), vmmc_NodeToName(vmmc_MyNode())))
		return 2;
	return vmmc_AllHosts(NULL, &all) == vmmcErr_BadArg &&
	       vmmc_SessionHosts(&n, NULL) == vmmcErr_BadArg ? 0 : 3;
}

TEST(VM_47_VM_67_a_node_alone)
{
	owner = worker_new(THERE);
	check_eq(worker_do(owner, job_no_conf, 0, 0, 0), 0);
	worker_end(owner);
}

TEST(VM_57_VM_46_5_VM_46_10_VM_46_23_calls_and_texts_that_say_nothing)
{
	vmmc_node_t node = vmmc_MyNode();
	vmmc_pid_t pid;

	check(!strcmp(vmmc_ErrorStr(vmmcErr_NoSuchError), "no data"));
	check_eq(vmmcErr_BadProxyExtension, -5);
	check_eq(vmmcErr_UnblockedNotifications, -10);
	check_eq(vmmcErr_StaleHandle, vmmcErr_StateHandle);
	check_eq(vmmc_Parent(&node, &pid), vmmcErr_NoParent);
	check_eq(vmmc_Spawn("x", NULL, node, &pid), vmmcErr_BadArg);
}

TEST(VM_72_VM_73_VM_74_constants)
{
	uint32 major = 9, minor = 9;

	check_eq(vmmc_PageSize(), 4096);
	check_eq(vmmc_WordSize(), 4);
	vmmc_Version(&major, &minor);
	check_eq(major, 2);
	check_eq(minor, 0);
}

static int level;

/* Calls that fail, and one that does not. */
static void say(void)
{
	static int32 word;

	vmmc_SetDebugLevel(level);
	vmmc_SendData(board, board, 1);
	vmmc_SendData(board, board, 0);
	buf_export(&word, 1, RW(7), NULL);
	vmmc_Error(vmmcErr_BadSize, level ? "loud" : "silent");
	vmmc_SetDebugLevel(0);
	vmmc_SendData(board, board, 1);
	buf_unexport(7);
}

TEST(VM_75_debug_level)
{
	char text[2][4096];

	owner_start();
	for (level = 0; level < 2; level++)
		said(say, text[level], sizeof(text[level]));
	check(!strncmp(text[0], "silent: ", 8));
	check(!strchr(strchr(text[0], '\n') + 1, '\n'));
	check(strstr(text[1], "vmmc_SendData: not all words"));
	check(strstr(text[1], "vmmc_SendData: the number of words"));
	check(!strstr(text[1], "success"));
	check(strstr(text[1], "loud: the number of words"));
	owner_end();
}

static int mute[2];

/* Holds the lock of stderr for as long as the process exists. */
static void *hold_stderr(void *arg)
{
	flockfile(stderr);
	if (write(mute[1], "x", 1) != 1)
		abort();
	pause();
	return arg;
}

static long job_say_beside(long a, long b, long c)
{
	pthread_t t;
	char byte;

	if (pipe(mute) || dup2(mute[1], 2) != 2 || pthread_create(&t, NULL, hold_stderr, NULL) ||
	    read(mute[0], &byte, 1) != 1)
		return -1;
	alarm(20);
	vmmc_Error(vmmcErr_BadArg, "beside");
	return read(mute[0], board, PAGE);
}

/* A handler may interrupt a thread that prints. */
TEST(VM_45_a_text_is_printed_without_a_lock)
{
	const char line[] = "beside: an argument is not valid\n";
	struct worker *w = worker_new(HERE);

	worker_begin(w, job_say_beside, 0, 0, 0);
	check_eq(worker_end_result(w), sizeof(line) - 1);
	check(!memcmp(board, line, sizeof(line) - 1));
}
