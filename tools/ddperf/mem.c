// SPDX-License-Identifier: GPL-2.0-only
/*
 * mem.c - kernel memory of an idle connection, both ends together
 *
 * The memory of the blocks is there before the first look, as it would be
 * whatever carried the messages. What the service itself takes comes after it
 * and counts, shared out among the connections.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"
#include "../common/tool.h"

#define BLOCK		64	/* bytes in a serving connection's block */
#define CACHES_MAX	512
#define CACHES_SHOWN	12

/* Lines of /proc/meminfo, in KiB there and in bytes here. */
enum line { MEM_TOTAL, MEM_FREE, MEM_BUFFERS, MEM_CACHED, MEM_ANON, MEM_SLAB,
	    MEM_KERNEL_STACK, MEM_PAGE_TABLES, MEM_VMALLOC, MEM_PERCPU, LINES };

static const char * const line_names[LINES] = {
	"MemTotal", "MemFree", "Buffers", "Cached", "AnonPages", "Slab",
	"KernelStack", "PageTables", "VmallocUsed", "Percpu",
};

struct cache {
	char name[64];
	double bytes;
};

/**
 * struct snapshot - memory of the machine
 * @lines: of /proc/meminfo, in bytes
 * @caches: of /proc/slabinfo, whole slabs
 * @count: number of caches; 0 where only root may look
 */
struct snapshot {
	double lines[LINES];
	struct cache caches[CACHES_MAX];
	unsigned int count;
};

static void read_meminfo(struct snapshot *s)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char name[64];
	double value;
	int i;

	if (!f) {
		tool_warn("/proc/meminfo: %s", strerror(errno));
		exit(TOOL_FAILED);
	}
	while (fscanf(f, "%63[^:]: %lf%*[^\n]\n", name, &value) == 2)
		for (i = 0; i < LINES; i++)
			if (!strcmp(name, line_names[i]))
				s->lines[i] = value * 1024;
	fclose(f);
}

static void read_slabinfo(struct snapshot *s)
{
	FILE *f = fopen("/proc/slabinfo", "r");
	unsigned long active, total, size, per_slab, pages;
	char line[512];

	s->count = 0;
	while (f && s->count < CACHES_MAX && fgets(line, sizeof(line), f)) {
		struct cache *c = &s->caches[s->count];

		if (sscanf(line, "%63s %lu %lu %lu %lu %lu", c->name, &active,
			   &total, &size, &per_slab, &pages) != 6 || !per_slab)
			continue;
		/* Whole slabs: what a half empty one takes is taken. */
		c->bytes = (double)total / per_slab * pages * sysconf(_SC_PAGESIZE);
		s->count++;
	}
	if (f)
		fclose(f);
}

/* Free pages that CPUs keep for themselves: "count:" of each pageset. */
static double cached_pages(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	unsigned long count, sum = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %lu", &count) == 1)
			sum += count;
	if (f)
		fclose(f);
	return (double)sum * sysconf(_SC_PAGESIZE);
}

static void take(struct snapshot *s)
{
	/* Freeing is put off by grace periods, and done by workers. */
	sleep(1);
	memset(s, 0, sizeof(*s));
	read_slabinfo(s);
	read_meminfo(s);
	s->lines[MEM_FREE] += cached_pages();
}

/* --- what is measured ----------------------------------------------------- */

/**
 * struct ends - both ends of the connections, in one process
 * @server: handle of the serving end
 * @client: handle of the connecting end
 * @list: note list of the service
 * @notes: note list of the connections
 * @service: service
 * @in: blocks of the server
 * @back: a page for each connection, for replies
 * @conns: connections
 */
struct ends {
	struct dd *server;
	struct dd *client;
	int list;
	int notes;
	int service;
	void *in;
	char *back;
	int *conns;
};

static void allocate(struct ends *e, unsigned int n)
{
	void *back;

	e->server = perf_open();
	e->client = perf_open();
	must(e->server, dd_alloc(e->server, (size_t)n * BLOCK, &e->in), "memory");
	must(e->client, dd_alloc(e->client, (size_t)n * sysconf(_SC_PAGESIZE), &back),
	     "memory");
	e->back = back;
	e->conns = calloc(n, sizeof(int));
	if (!e->conns) {
		tool_warn("out of memory");
		exit(TOOL_FAILED);
	}
	memset(e->conns, 0, n * sizeof(int));
	memset(e->back, 0, (size_t)n * sysconf(_SC_PAGESIZE));
	memset(e->in, 0, (size_t)n * BLOCK);
}

static void serve(struct ends *e, unsigned int n)
{
	struct dd_serve_attr attr = {
		.size = sizeof(attr),
		.maxconn = n,
		.recv = e->in,
		.recv_size = (size_t)n * BLOCK,
	};
	char name[32];

	snprintf(name, sizeof(name), "ddperf.%d", (int)getpid());
	e->service = must(e->server, dd_serve(e->server, name, &attr, &e->list), name);
}

static void connect_all(struct ends *e, unsigned int n)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct dd_connect_attr attr = {
		.size = sizeof(attr),
		.type = DD_TYPE_SPLIT,
		.recv_size = page,
	};
	char name[32];
	unsigned int i;

	snprintf(name, sizeof(name), "ddperf.%d", (int)getpid());
	for (i = 0; i < n; i++) {
		attr.recv = e->back + i * page;
		/* All on one list, as a program with that many has it. */
		attr.flags = i ? DD_ATTR_LIST : 0;
		attr.list = e->notes;
		e->conns[i] = must(e->client, dd_connect(e->client, name,
					dd_node(e->client), &attr, &e->notes), name);
	}
}

static void close_all(struct ends *e, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		must(e->client, dd_close(e->client, e->conns[i]), "dd_close");
	must(e->server, dd_unserve(e->server, e->service), "dd_unserve");
}

/* --- what it has taken ---------------------------------------------------- */

/**
 * struct part - part of the difference
 * @name: of what
 * @bytes: by how much it has grown
 */
struct part {
	char name[80];
	double bytes;
};

#define PARTS_MAX	8

static double grown(const struct snapshot *a, const struct snapshot *b,
		    enum line l)
{
	return b->lines[l] - a->lines[l];
}

/* Of the kernel: neither programs' nor files'. */
static double kernel_memory(const struct snapshot *a, const struct snapshot *b)
{
	return -grown(a, b, MEM_FREE) - grown(a, b, MEM_ANON) -
		grown(a, b, MEM_CACHED) - grown(a, b, MEM_BUFFERS);
}

static unsigned int parts(const struct snapshot *a, const struct snapshot *b,
			  struct part *p)
{
	static const enum line lines[] = { MEM_SLAB, MEM_PAGE_TABLES, MEM_PERCPU,
					   MEM_KERNEL_STACK, MEM_VMALLOC };
	double rest = kernel_memory(a, b);
	unsigned int i, n = 0;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(p[n].name, sizeof(p[n].name), "%s", line_names[lines[i]]);
		p[n].bytes = grown(a, b, lines[i]);
		rest -= p[n++].bytes;
	}
	snprintf(p[n].name, sizeof(p[n].name), "whole pages, and the rest");
	p[n++].bytes = rest;
	return n;
}

static int more_bytes(const void *a, const void *b)
{
	double x = ((const struct cache *)a)->bytes, y = ((const struct cache *)b)->bytes;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Caches by growth; those that did not exist before have grown from nothing. */
static unsigned int slab_growth(const struct snapshot *a,
				const struct snapshot *b, struct cache *out)
{
	unsigned int i, k, n = 0;

	for (i = 0; i < b->count; i++) {
		out[n] = b->caches[i];
		for (k = 0; k < a->count; k++)
			if (!strcmp(a->caches[k].name, out[n].name))
				out[n].bytes -= a->caches[k].bytes;
		n += out[n].bytes > 0;
	}
	qsort(out, n, sizeof(*out), more_bytes);
	return n < CACHES_SHOWN ? n : CACHES_SHOWN;
}

struct result {
	unsigned int n;
	double total;
	double user;
	double left;
	struct part parts[PARTS_MAX];
	unsigned int part_count;
	struct cache caches[CACHES_MAX];
	unsigned int cache_count;
};

static void print_table(const struct result *r)
{
	unsigned int i;

	printf("\n%u idle connection%s, both ends, beside their blocks; bytes per connection\n",
	       r->n, tool_s(r->n));
	printf("%-28s %9.0f\n", "kernel memory", r->total / r->n);
	for (i = 0; i < r->part_count; i++)
		printf("  %-26s %9.0f\n", r->parts[i].name, r->parts[i].bytes / r->n);
	if (!r->cache_count)
		printf("  (slab caches by name: for root only)\n");
	for (i = 0; i < r->cache_count; i++)
		if (r->caches[i].bytes / r->n >= 1)
			printf("    slab %-21s %9.0f\n", r->caches[i].name,
			       r->caches[i].bytes / r->n);
	printf("%-28s %9.0f\n", "memory of the processes", r->user / r->n);
	printf("%-28s %9.0f\n", "kernel memory after closing", r->left / r->n);
}

static void print_json(const struct perf_options *o, const struct result *r)
{
	struct json_object *j = report_json("mem", o);
	struct json_object *p = json_object_new_object();
	struct json_object *c = json_object_new_object();
	unsigned int i;

	json_object_object_add(j, "unit", json_object_new_string("bytes per connection"));
	json_object_object_add(j, "connections", json_object_new_uint64(r->n));
	json_object_object_add(j, "kernel", json_object_new_double(r->total / r->n));
	for (i = 0; i < r->part_count; i++)
		json_object_object_add(p, r->parts[i].name,
				       json_object_new_double(r->parts[i].bytes / r->n));
	json_object_object_add(j, "parts", p);
	for (i = 0; i < r->cache_count; i++)
		json_object_object_add(c, r->caches[i].name,
				       json_object_new_double(r->caches[i].bytes / r->n));
	json_object_object_add(j, "slab", c);
	json_object_object_add(j, "processes", json_object_new_double(r->user / r->n));
	json_object_object_add(j, "kernel_after_closing",
			       json_object_new_double(r->left / r->n));
	report_print_json(j);
}

int perf_mem(const struct perf_options *o)
{
	static struct snapshot before, during, after;
	static struct result r;
	struct ends e = {};

	if (!o->json)
		report_head("memory of idle connections", o);
	tool_raise_memlock();
	r.n = o->connections;
	allocate(&e, r.n);
	take(&before);
	serve(&e, r.n);
	connect_all(&e, r.n);
	take(&during);
	close_all(&e, r.n);
	take(&after);

	r.total = kernel_memory(&before, &during);
	r.left = kernel_memory(&before, &after);
	r.user = grown(&before, &during, MEM_ANON);
	r.part_count = parts(&before, &during, r.parts);
	r.cache_count = slab_growth(&before, &during, r.caches);
	if (o->json)
		print_json(o, &r);
	else
		print_table(&r);
	dd_shutdown(e.client);
	dd_shutdown(e.server);
	free(e.conns);
	return TOOL_OK;
}
