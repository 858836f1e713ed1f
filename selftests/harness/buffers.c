// SPDX-License-Identifier: LGPL-2.1-only
/*
 * buffers.c - buffers of VMMC and of SBL, by the same names
 *
 * Copyright (C) 2026 The dd authors
 */
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffers.h"
#include "dd_mem.h"

struct worker *owner;
process_t pid;
import_t imp;
int *proxy;
words_t nwords;
const int constant[3] = { 11, 22, 33 };

#ifdef OF_SBL
int buf_export(int *at, long words, long as, buf_handler_t handler)
{
	return SBL_ExportRecvBuf(at, words, as, handler, 0);
}

int buf_import(long node, process_t of, unsigned int id, import_t *i, int **at)
{
	int code = SBL_ImportRecvBuf(node, of, id, at, &nwords);

	*i = *at;
	return code;
}

/* Nodes are named by their numbers where no file has their addresses. */
node_t node_there(void)
{
	return far ? htonl(atoi(getenv("DDP_PEER_NODE"))) : SBL_MyNode();
}

int request_new(struct request *r, process_t of, unsigned int id)
{
	r->words = 99;
	return SBL_ImportRecvBufReq(node_there(), of, id, &r->at, &r->words, 0);
}

bool request_done(struct request *r, int *code)
{
	int words = load(&r->words);

	*code = words < 0 ? words : 0;
	return words;
}

int request_end(struct request *r)
{
	return SBL_UnimportRecvBuf(r->at);
}

int buf_settle(int *at)
{
	return 0;
}
#else
vmmc_exphandle_t exported[256];

int buf_export(int *at, long words, long as, buf_handler_t handler)
{
	return vmmc_ExportRecvBuf(at, words, as, handler, as >> 32 & 255, as >> 40,
				  &exported[as & 255]);
}

int buf_import(long node, process_t of, unsigned int id, import_t *i, int **at)
{
	return vmmc_ImportRecvBuf((vmmc_node_t){ node }, of, id, i, at, &nwords);
}

node_t node_there(void)
{
	vmmc_node_t node = vmmc_MyNode();

	if (far)
		node.number = atoi(getenv("DDP_PEER_NODE"));
	return node;
}

int request_new(struct request *r, process_t of, unsigned int id)
{
	return vmmc_ImportRecvBufAsync(node_there(), of, id, &r->imp);
}

bool request_done(struct request *r, int *code)
{
	*code = vmmc_ImportRecvBufStatus(&r->imp, &r->at, &r->words);
	return *code != vmmcErr_InProgress;
}

int request_end(struct request *r)
{
	return vmmc_UnimportRecvBuf(r->imp);
}

vmmc_result_t finished(const vmmc_async_handle_t *h)
{
	vmmc_result_t code;

	while ((code = vmmc_AsyncStatus(h)) == vmmcErr_InProgress)
		sched_yield();
	/* A finished request may be asked for again. */
	check_eq(vmmc_AsyncStatus(h), code);
	return code;
}

/* A send returns before the data arrives: a fetch comes after it. */
int buf_settle(int *at)
{
	int word;

	return vmmc_GetData(&word, at, 1);
}
#endif

int request_wait(struct request *r)
{
	int code;

	while (!request_done(r, &code))
		sched_yield();
	return code;
}

bool buf_arrive(const int *words, int *at, const int *local, long n)
{
#ifndef OF_SBL
	int *got = malloc(n * sizeof(*got));
	bool good = !vmmc_GetData(got, at, n) && !memcmp(got, words, n * sizeof(*got));

	free(got);
	if (!good)
		return false;
#endif
	return arrives(local + n - 1, words[n - 1]) && !memcmp(local, words, n * sizeof(*local));
}

void buf_key(unsigned char *key, process_t of, unsigned char id)
{
	memset(key, 0, DD_KEY_SIZE);
	memcpy(key, &of, sizeof(of));
	key[4] = id;
	key[8] = KEY_LETTER;
}

long job_export(long at, long words, long as)
{
	return buf_export(board + at, words, as, NULL);
}

long job_unexport(long id, long b, long c)
{
	return buf_unexport(id);
}

long job_pid(long a, long b, long c)
{
	return buf_me();
}

long job_block(long block, long b, long c)
{
	if (block)
		buf_block();
	return block ? 0 : buf_unblock();
}

void owner_start(void)
{
	owner = worker_new(THERE);
	pid = worker_do(owner, job_pid, 0, 0, 0);
	memset(board, 0, BOARD * 4);
}

void owner_end(void)
{
	worker_end(owner);
}

int import_number(unsigned int id)
{
	return buf_import(buf_there(), pid, id, &imp, &proxy);
}

void owner_start_with(long at, long words, long as)
{
	owner_start();
	check_eq(worker_do(owner, job_export, at, words, as), 0);
	check_eq(import_number(as), 0);
	check_eq(nwords, words);
}

void import_end(void)
{
	check_eq(buf_unimport(imp), 0);
	owner_end();
}

long last_words(job_t job, long c)
{
	struct worker *w = worker_new(HERE);

	worker_begin(w, job, buf_there(), pid, c);
	return worker_end_result(w);
}

void said(void (*say)(void), char *to, size_t size)
{
	int ends[2], kept = dup(2);
	ssize_t n;

	check_eq(pipe(ends), 0);
	dup2(ends[1], 2);
	say();
	dup2(kept, 2);
	close(kept);
	close(ends[1]);
	n = read(ends[0], to, size - 1);
	to[n > 0 ? n : 0] = 0;
	close(ends[0]);
}

void link_shape(const char *netem)
{
	const char *loss = getenv("DDP_LOSS");
	char tc[256];

	if (!far)
		return;
	if (netem || loss)
		snprintf(tc, sizeof(tc), "tc -n dd2 qdisc replace dev eth0 root netem %s %s %s",
			 netem ? netem : "", loss ? "loss" : "", loss ? loss : "");
	else
		snprintf(tc, sizeof(tc), "tc -n dd2 qdisc del dev eth0 root");
	check_eq(root_run(tc), 0);
}

#define CONF	"/etc/dd/cluster.conf"

void conf_begin(const char *lines)
{
	char command[512];

	snprintf(command, sizeof(command), "mkdir -p /etc/dd; ! [ -e " CONF " ] || mv " CONF " " CONF
		 ".kept; printf '%s' >" CONF, lines);
	check_eq(root_run(command), 0);
}

void conf_end(void)
{
	check_eq(root_run("rm " CONF "; ! [ -e " CONF ".kept ] || mv " CONF ".kept " CONF), 0);
}

int *file_words(int prot, int flags)
{
	FILE *f = tmpfile();
	int *at;

	check_eq(fwrite(constant, sizeof(constant), 1, f), 1);
	check_eq(fflush(f), 0);
	at = mmap(NULL, PAGE, prot, flags, fileno(f), 0);
	check(at != MAP_FAILED);
	fclose(f);
	return at;
}
