// SPDX-License-Identifier: GPL-2.0-only
/*
 * group.c - the processes of a sample
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "group.h"

enum { CONTROL, DATA, BARRIER };	/* numbers of buffers */

/* What the master sends to a peer. */
struct control {
	int32 rank, count;
	int32 param[GROUP_PARAMS];
	struct member {
		vmmc_node_t node;
		vmmc_pid_t pid;
	} member[GROUP_MAX];
	int32 ready;
};

static struct control control __attribute__((aligned(4096)));
static int32 arrived[1024] __attribute__((aligned(4096)));
static int32 *barrier[GROUP_MAX];
static int32 *message;
static int32 epoch;

#define WORDS(x)	(sizeof(x) / sizeof(int32))

void group_check(vmmc_result_t code, const char *what)
{
	if (!code)
		return;
	vmmc_Error(code, what);
	exit(1);
}

double group_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

unsigned int group_random(unsigned int *state, unsigned int below)
{
	*state = *state * 1103515245 + 12345;
	return (*state >> 16) % below;
}

int32 group_number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || n < 1 || n > 0x3fffffff)
		errx(2, "'%s' is not a positive number", text);
	return n;
}

int group_pattern(const char *const *names, const char *name)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(names[i], name))
			return i;
	errx(2, "the name of this program is %s, not one of its names, such as %s", name, names[0]);
}

int group_is_worker(int argc, char **argv)
{
	return argc == 2 && !strcmp(argv[1], "worker");
}

static void await(const int32 *word, int32 value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

static void export_buf(int32 *buf, uint32 nwords, uint32 id)
{
	vmmc_exphandle_t handle;

	group_check(vmmc_ExportRecvBuf(buf, nwords, id, NULL, BUF_READWRITE, VMMC_PERM_SAMEUSER,
				       &handle), "export");
}

static int32 *import_buf(const struct member *m, uint32 id)
{
	vmmc_imphandle_t handle;
	uint32 nwords;
	int32 *proxy;

	group_check(vmmc_ImportRecvBuf(m->node, m->pid, id, &handle, &proxy, &nwords), "import");
	return proxy;
}

static void peer_parse(const char *text, struct member *m)
{
	char host[256];
	const char *colon = strrchr(text, ':');

	if (!colon || colon - text >= (int)sizeof(host))
		errx(2, "'%s' is not HOST:PID", text);
	memcpy(host, text, colon - text);
	host[colon - text] = 0;
	m->node = vmmc_NameToNode(host);
	m->pid = group_number(colon + 1);
}

static void take_control(struct group *g)
{
	g->rank = control.rank;
	g->count = control.count;
	memcpy(g->param, control.param, sizeof(g->param));
}

int group_peers(int argc, int first, int count)
{
	return argc == first || argc == first + count - 1;
}

/* On the nodes that follow, in a circle. Two processes may be on one node. */
static void spawn_all(char *program, int count)
{
	char *argv[] = { program, "worker", NULL };
	vmmc_node_t *hosts;
	uint32 n, own = 0;

	group_check(vmmc_SessionHosts(&n, &hosts), "hosts of the session");
	if (count > 2 && count > (int)n)
		errx(2, "%d processes, but the session has %u nodes", count, n);
	while (own < n && !vmmc_EqualNodes(hosts[own], vmmc_MyNode()))
		own++;
	for (int i = 1; i < count; i++) {
		control.member[i].node = hosts[(own + i) % n];
		group_check(vmmc_Spawn(program, argv, control.member[i].node,
				       &control.member[i].pid), "spawn");
	}
}

void group_make(struct group *g, const int32 *param, int params, int count, char *program,
		char **peers)
{
	int32 *proxy;

	if (count > GROUP_MAX)
		errx(2, "at most %d processes", GROUP_MAX);
	control.count = count;
	memcpy(control.param, param, params * sizeof(*param));
	control.member[0] = (struct member){ vmmc_MyNode(), vmmc_MyPid() };
	if (!*peers)
		spawn_all(program, count);
	for (int i = 1; i < count && *peers; i++)
		peer_parse(peers[i - 1], &control.member[i]);
	control.ready = 1;
	for (int i = 1; i < count; i++) {
		proxy = import_buf(&control.member[i], CONTROL);
		control.rank = i;
		/* In one message, whose last word comes last. */
		group_check(vmmc_SendData((int32 *)&control, proxy, WORDS(control)), "parameters");
	}
	control.rank = 0;
	take_control(g);
}

void group_join(struct group *g)
{
	export_buf((int32 *)&control, WORDS(control), CONTROL);
	printf("%s:%d\n", vmmc_MyHostName(), vmmc_MyPid());
	fflush(stdout);
	await(&control.ready, 1);
	take_control(g);
}

void group_buffers(struct group *g, uint32 nwords)
{
	size_t size = ((size_t)nwords * g->count * sizeof(int32) + 4095) & -4096ul;

	g->nwords = nwords;
	g->data = aligned_alloc(4096, size);
	message = aligned_alloc(4096, size);
	if (!g->data || !message)
		errx(1, "no memory");
	memset(g->data, 0, size);
	export_buf(g->data, size / sizeof(int32), DATA);
	export_buf(arrived, WORDS(arrived), BARRIER);
	for (int i = 0; i < g->count; i++) {
		if (i == g->rank)
			continue;
		g->proxy[i] = import_buf(&control.member[i], DATA);
		barrier[i] = import_buf(&control.member[i], BARRIER);
	}
	group_barrier(g);
}

void group_barrier(struct group *g)
{
	epoch++;
	if (g->rank) {
		group_check(vmmc_SendData(&epoch, barrier[0] + g->rank, 1), "barrier");
		await(&arrived[0], epoch);
		return;
	}
	for (int i = 1; i < g->count; i++)
		await(&arrived[i], epoch);
	for (int i = 1; i < g->count; i++)
		group_check(vmmc_SendData(&epoch, barrier[i], 1), "barrier");
}

void group_send(struct group *g, int to, uint32 nwords, int32 value)
{
	for (uint32 i = 0; i < nwords; i++)
		message[i] = value;
	group_check(vmmc_SendData(message, g->proxy[to] + (size_t)g->rank * g->nwords, nwords),
		    "send");
}

void group_wait(struct group *g, int from, uint32 nwords, int32 value)
{
	const int32 *part = g->data + (size_t)from * g->nwords;

	await(&part[nwords - 1], value);
	for (uint32 i = 0; i < nwords; i++)
		if (part[i] != value)
			errx(1, "word %u from process %d is %d, not %d", i, from, part[i], value);
}
