// SPDX-License-Identifier: GPL-2.0-only
/*
 * words.c - words in memory of another process, by VMMC
 *
 * Copyright (C) 2026 The dd authors
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "words.h"
#include "../common/tool.h"

struct exporter {
	vmmc_node_t node;
	vmmc_pid_t pid;
};

void words_must(vmmc_result_t code, const char *what)
{
	if (code)
		perf_fail(TOOL_FAILED, "%s: %s", what, vmmc_ErrorStr(code));
}

int32 *words_export(size_t size, uint32 flags, vmmc_exphandle_t *handle)
{
	static uint32 number;
	size_t len = perf_pages(size);
	int32 *memory = aligned_alloc(4096, len);

	if (!memory)
		perf_die("memory");
	memset(memory, 0, len);
	words_must(vmmc_ExportRecvBuf(memory, len / sizeof(int32), ++number, NULL, flags,
				      VMMC_PERM_ANY, handle), "vmmc_ExportRecvBuf");
	return memory;
}

static int32 *import(const struct exporter *from, uint32 number)
{
	vmmc_imphandle_t handle;
	uint32 nwords;
	int32 *proxy;

	words_must(vmmc_ImportRecvBuf(from->node, from->pid, number, &handle, &proxy, &nwords),
		   "vmmc_ImportRecvBuf");
	return proxy;
}

int32 *words_own(uint32 number)
{
	const struct exporter self = { vmmc_MyNode(), vmmc_MyPid() };

	return import(&self, number);
}

int32 *words_serve(const struct side *s, size_t size)
{
	const struct exporter self = { vmmc_MyNode(), vmmc_MyPid() };
	vmmc_exphandle_t handle;
	int32 *memory = words_export(size, BUF_READWRITE, &handle);

	pair_put(s, &self, sizeof(self));
	return memory;
}

int32 *words_find(const struct side *s)
{
	struct exporter other;

	pair_get(s, &other, sizeof(other));
	return import(&other, 1);
}

/* --- a method ------------------------------------------------------------- */

static int32 *inbox, *proxy;
static int32 sent, seen;

/* The first call of each side, which has nothing else to do with the control socket now. */
static void open_both(const struct side *s)
{
	inbox = words_serve(s, s->hello.size);
	proxy = words_find(s);
}

void words_put(struct side *s, size_t size)
{
	uint32 n = words_in(size);
	int32 *message = (int32 *)s->buffer;

	if (!inbox)
		open_both(s);
	message[n - 1] = ++sent;
	words_must(vmmc_SendData(message, proxy, n), "vmmc_SendData");
}

char *words_get(struct side *s, size_t size)
{
	uint32 n = words_in(size);

	if (!inbox)
		open_both(s);
	seen++;
	while (__atomic_load_n(&inbox[n - 1], __ATOMIC_ACQUIRE) != seen)
		if (s->hello.shared_cpu)
			sched_yield();
	return (char *)inbox;
}
