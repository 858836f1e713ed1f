// SPDX-License-Identifier: GPL-2.0-only
/*
 * access.c - one-sided access: put, get and swap in the memory of another process
 *
 * The exporter takes no part: on one node it is a child that sleeps, on another node a
 * server that waits for its client to hang up.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access.h"
#include "dd_mem.h"
#include "insn.h"
#include "method.h"
#include "pair.h"
#include "process.h"
#include "report.h"
#include "words.h"
#include "../common/tool.h"

#define ROUND_BYTES	(64u << 20)
#define ROUND_MOST	100000
#define ROUND_FAR	500
#define METHODS_MAX	7

enum { DIRECT, KERNEL, SEGMENTS };

/**
 * struct access - the importer's side
 * @h: handle
 * @mem: imports of @count segments each: mapped if possible, and by the kernel
 * @count: number of segments, used in turn
 * @next: the one to be used
 * @local: wired memory of @size bytes that dd_alloc() has made, in large pages
 * @pinned: wired memory of @size bytes, wired by dd_pin()
 * @unwired: memory of @size bytes that is not wired
 * @shared: memory of both processes, at one address in both
 * @size: bytes of a request
 * @proxy: VMMC's address for memory of the exporter
 * @other: the exporter
 * @was: what the words had, of each method and segment
 */
struct access {
	struct dd *h;
	struct dd_mem **mem[SEGMENTS];
	unsigned int count, next;
	char *local;
	char *pinned;
	char *unwired;
	char *shared;
	size_t size;
	int32 *proxy;
	pid_t other;
	uint64_t *was[METHODS_MAX];
};

/* --- the exporter --------------------------------------------------------- */

/* Export @count pieces of memory of each kind, and send their keys. */
static void export_all(struct side *s, struct dd *h, size_t size, unsigned int count)
{
	uint64_t segment;
	unsigned int n;
	void *memory;
	int i;

	for (i = 0; i < SEGMENTS; i++) {
		struct dd_export_attr attr = {
			.size = sizeof(attr), .len = perf_pages(size), .key_class = DD_KEY_ID,
			.rights = DD_CAN_PUT | DD_CAN_GET | DD_CAN_CAS,
			.notify = DD_NOTIFY_NEVER, .importers = 1,
			.flags = i == KERNEL ? DD_EXPORT_NODIRECT : 0,
		};

		must(h, dd_alloc(h, count * attr.len, &memory), "memory");
		for (n = 0; n < count; n++) {
			attr.addr = (char *)memory + n * attr.len;
			memset(attr.key, 0, sizeof(attr.key));
			must(h, dd_export(h, &attr, &segment), "dd_export");
			pair_put(s, attr.key, sizeof(attr.key));
		}
	}
}

void access_answer(struct side *s)
{
	char end;

	if (s->net)
		pair_get(s, &s->hello, sizeof(s->hello));
	if (!s->hello.size || s->hello.size > SIZE_MAX_BYTES || !s->hello.window ||
	    s->hello.window > CONNECTIONS_MAX)
		perf_fail(TOOL_FAILED, "the client's size or number is out of range");
	if (!s->net)
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	tool_raise_memlock();
	export_all(s, perf_open(), s->hello.size, s->hello.window);
	words_serve(s, s->hello.size);
	pair_get(s, &end, sizeof(end));	/* exits when the client hangs up */
	_exit(TOOL_OK);
}

/* --- the importer --------------------------------------------------------- */

static void access_open(struct access *a, const struct perf_options *o, size_t size)
{
	struct side s = {
		.net = o->node >= 0, .node = o->node, .hello.size = size,
		.hello.window = o->connections,
	};
	unsigned char key[DD_KEY_SIZE];
	unsigned int n;
	int i;

	*a = (struct access){ .size = size, .count = o->connections };
	a->shared = mmap(NULL, perf_pages(size), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (a->shared == MAP_FAILED)
		perf_die("memory");
	tool_raise_memlock();
	if (s.net) {
		s.control = net_connect(o, NET_ACCESS);
		pair_put(&s, &s.hello, sizeof(s.hello));
	} else {
		a->other = pair_fork(&s, access_answer);
	}
	pin(o->cpus[0]);
	a->h = perf_open();
	must(a->h, dd_alloc(a->h, perf_pages(size), (void **)&a->local), "memory");
	memset(a->local, 1, size);
	a->pinned = allocate(1, perf_pages(size));
	memset(a->pinned, 1, size);
	must(a->h, dd_pin(a->h, a->pinned, perf_pages(size)), "dd_pin");
	a->unwired = allocate(1, size);
	memset(a->unwired, 1, size);
	for (i = 0; i < METHODS_MAX; i++)
		a->was[i] = allocate(a->count, sizeof(*a->was[i]));
	for (i = 0; i < SEGMENTS; i++) {
		a->mem[i] = allocate(a->count, sizeof(*a->mem[i]));
		for (n = 0; n < a->count; n++) {
			pair_get(&s, key, sizeof(key));
			must(a->h, dd_import(a->h, s.net ? s.node : dd_node(a->h), DD_KEY_ID,
					     key, DD_CAN_PUT | DD_CAN_GET | DD_CAN_CAS,
					     &a->mem[i][n]), "dd_import");
		}
	}
	a->proxy = words_find(&s);
}

/* --- requests ------------------------------------------------------------- */

static void dd_put_by(struct access *a, int i)
{
	must(a->h, dd_put(a->mem[i][a->next], a->local, a->size, 0, 0), "dd_put");
}

static void pinned_put_by(struct access *a, int i)
{
	(void)i;
	must(a->h, dd_put(a->mem[KERNEL][a->next], a->pinned, a->size, 0, 0), "dd_put");
}

static void unwired_put_by(struct access *a, int i)
{
	(void)i;
	must(a->h, dd_put(a->mem[KERNEL][a->next], a->unwired, a->size, 0, 0), "dd_put");
}

static void dd_get_by(struct access *a, int i)
{
	must(a->h, dd_get(a->mem[i][a->next], a->local, a->size, 0), "dd_get");
}

static void dd_cas_by(struct access *a, int i)
{
	uint64_t *was = &a->was[i][a->next];

	must(a->h, dd_cas(a->mem[i][a->next], 0, 8, *was, *was + 1, was, 0), "dd_cas");
}

static void words_put_by(struct access *a, int i)
{
	(void)i;
	words_must(vmmc_SendData((int32 *)a->unwired, a->proxy, words_in(a->size)),
		   "vmmc_SendData");
}

static void words_get_by(struct access *a, int i)
{
	(void)i;
	words_must(vmmc_GetData((int32 *)a->unwired, a->proxy, words_in(a->size)),
		   "vmmc_GetData");
}

static void shm_put(struct access *a, int i)
{
	(void)i;
	memcpy(a->shared, a->local, a->size);
	__asm__ volatile("" ::: "memory");
}

static void shm_get(struct access *a, int i)
{
	(void)i;
	memcpy(a->local, a->shared, a->size);
	__asm__ volatile("" ::: "memory");
}

static void shm_cas(struct access *a, int i)
{
	__atomic_compare_exchange_n((uint64_t *)a->shared, a->was[i], *a->was[i] + 1, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void vm_put(struct access *a, int i)
{
	struct iovec from = { a->local, a->size }, to = { a->shared, a->size };

	(void)i;
	if (process_vm_writev(a->other, &from, 1, &to, 1, 0) != (ssize_t)a->size)
		perf_die("process_vm_writev");
}

static void vm_get(struct access *a, int i)
{
	struct iovec to = { a->local, a->size }, from = { a->shared, a->size };

	(void)i;
	if (process_vm_readv(a->other, &to, 1, &from, 1, 0) != (ssize_t)a->size)
		perf_die("process_vm_readv");
}

static const struct {
	const char *verb;
	const char *title;
	struct {
		const char *name;
		void (*run)(struct access *a, int i);
		int where;	/* HERE, NET or both */
	} methods[METHODS_MAX];
} verbs[] = {
	{ "put", "write to another process",
	  { { "dd", dd_put_by, HERE | NET }, { "dd-kernel", dd_put_by, HERE },
	    { "memcpy", shm_put, HERE }, { "vm-writev", vm_put, HERE },
	    { "vmmc", words_put_by, HERE | NET }, { "dd-pinned", pinned_put_by, NET },
	    { "dd-unwired", unwired_put_by, NET } } },
	{ "get", "read from another process",
	  { { "dd", dd_get_by, HERE | NET }, { "dd-kernel", dd_get_by, HERE },
	    { "memcpy", shm_get, HERE }, { "vm-readv", vm_get, HERE },
	    { "vmmc", words_get_by, HERE | NET } } },
	{ "cas", "compare and swap a word of another process",
	  { { "dd", dd_cas_by, HERE | NET }, { "dd-kernel", dd_cas_by, HERE },
	    { "cmpxchg", shm_cas, HERE } } },
};

static bool takes_part(const struct perf_options *o, int verb, int m)
{
	return verbs[verb].methods[m].where & (o->node < 0 ? HERE : NET);
}

/* --- rounds and report ---------------------------------------------------- */

static uint64_t round_count(const struct perf_options *o)
{
	uint64_t n = ROUND_BYTES / o->size;

	if (o->iterations)
		return o->iterations;
	return n > ROUND_MOST ? o->node >= 0 ? ROUND_FAR : ROUND_MOST : n;
}

static void report(const struct perf_options *o, int verb, uint64_t count,
		   double rounds[METHODS_MAX][10000])
{
	struct json_object *j = o->json ? report_json(verbs[verb].verb, o) : NULL;
	struct json_object *array = json_object_new_array(), *one;
	struct spread s, ratio;
	int m;

	if (!o->json) {
		printf("\n%s, %zu byte%s; ns, %u round%s of %llu\n", verbs[verb].title, o->size,
		       tool_s(o->size), o->rounds, tool_s(o->rounds), (unsigned long long)count);
		print_spread(12, NULL, 0, NULL);
		printf(" %9s %9s\n", "MB/s", "dd/this");
	}
	for (m = 0; m < METHODS_MAX; m++) {
		if (!takes_part(o, verb, m))
			continue;
		spread_of_ratio(&s, rounds[m], NULL, o->rounds);
		spread_of_ratio(&ratio, rounds[0], rounds[m], o->rounds);
		if (!o->json) {
			print_spread(12, verbs[verb].methods[m].name, 5, &s);
			printf(" %9.4g %9.3f\n", o->size * 1e3 / s.median, ratio.median);
			continue;
		}
		one = json_object_new_object();
		json_text(one, "name", verbs[verb].methods[m].name);
		json_spread(one, "rounds", &s);
		json_spread(one, "ratio", &ratio);
		json_object_array_add(array, one);
	}
	if (!o->json) {
		json_object_put(array);
		return;
	}
	json_count(j, "size", o->size);
	json_count(j, "iterations", count);
	json_text(j, "unit", clock_counts_instructions() ? "instructions" : "ns");
	json_object_object_add(j, "results", array);
	report_print_json(j);
}

static int perf_access(int verb, const struct perf_options *options)
{
	static double rounds[METHODS_MAX][10000];
	struct perf_options o = *options;
	uint64_t count = round_count(&o), i, before;
	struct access a;
	unsigned int r;
	int m;

	choose_cpus(&o);
	if (!o.json)
		report_head(verbs[verb].verb, &o);
	access_open(&a, &o, o.size);
	/* The first round does not count. */
	for (r = 0; r <= o.rounds; r++) {
		for (m = 0; m < METHODS_MAX; m++) {
			void (*run)(struct access *a, int i) = verbs[verb].methods[m].run;

			if (!takes_part(&o, verb, m))
				continue;
			before = tool_now();
			for (i = 0; i < count; i++) {
				run(&a, m);
				if (++a.next == a.count)
					a.next = 0;
			}
			if (r)
				rounds[m][r - 1] = (double)(tool_now() - before) / count;
		}
	}
	report(&o, verb, count, rounds);
	dd_shutdown(a.h);
	if (a.other > 0) {
		kill(a.other, SIGKILL);
		waitpid(a.other, NULL, 0);
	}
	return TOOL_OK;
}

int perf_put(const struct perf_options *o)
{
	return perf_access(0, o);
}

int perf_get(const struct perf_options *o)
{
	return perf_access(1, o);
}

int perf_cas(const struct perf_options *o)
{
	return perf_access(2, o);
}
