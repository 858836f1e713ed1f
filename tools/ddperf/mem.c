// SPDX-License-Identifier: GPL-2.0-only
/*
 * mem.c - kernel memory of an idle connection, both ends together
 *
 * The memory of the blocks is allocated before the first reading: any carrier of
 * messages needs it. The memory of the service itself counts, shared out among
 * the connections.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem.h"
#include "process.h"
#include "report.h"
#include "../common/tool.h"

#define BLOCK		64	/* bytes in a serving connection's block */
/* Lines of /proc/meminfo, in KiB there and in bytes here. */
enum line { MEM_FREE, MEM_BUFFERS, MEM_CACHED, MEM_ANON, MEM_SLAB,
	    MEM_PAGE_TABLES, MEM_VMALLOC, MEM_PERCPU, LINES };

static const char * const line_names[LINES] = {
	"MemFree", "Buffers", "Cached", "AnonPages", "Slab", "PageTables",
	"VmallocUsed", "Percpu",
};

/* Memory of the machine by line, in bytes. */
struct snapshot {
	double lines[LINES];
};

static void read_meminfo(struct snapshot *s)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char name[64];
	double value;
	int i;

	if (!f)
		perf_die("/proc/meminfo");
	while (fscanf(f, "%63[^:]: %lf%*[^\n]\n", name, &value) == 2)
		for (i = 0; i < LINES; i++)
			if (!strcmp(name, line_names[i]))
				s->lines[i] = value * 1024;
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

static void snapshot_make(struct snapshot *s)
{
	/* Memory is freed after grace periods, by workers. */
	sleep(1);
	read_meminfo(s);
	s->lines[MEM_FREE] += cached_pages();
}

/* --- connections ---------------------------------------------------------- */

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

static void prepare(struct ends *e, unsigned int n)
{
	void *back;

	e->server = perf_open();
	e->client = perf_open();
	must(e->server, dd_alloc(e->server, (size_t)n * BLOCK, &e->in), "memory");
	must(e->client, dd_alloc(e->client, (size_t)n * sysconf(_SC_PAGESIZE), &back),
	     "memory");
	e->back = back;
	e->conns = allocate(n, sizeof(int));
	memset(e->conns, 0, n * sizeof(int));	/* touch its pages */
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
		/* All on one list, as in a program with many connections. */
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

/* --- the difference ------------------------------------------------------- */

static double grown(const struct snapshot *a, const struct snapshot *b,
		    enum line l)
{
	return b->lines[l] - a->lines[l];
}

/* What is neither free nor memory of a program or a file is the kernel's. */
static double kernel_memory(const struct snapshot *a, const struct snapshot *b)
{
	return -grown(a, b, MEM_FREE) - grown(a, b, MEM_ANON) -
		grown(a, b, MEM_CACHED) - grown(a, b, MEM_BUFFERS);
}

int perf_mem(const struct perf_options *o)
{
	static const enum line parts[] = { MEM_SLAB, MEM_PAGE_TABLES, MEM_VMALLOC,
					   MEM_PERCPU };
	struct snapshot before = {}, during = {}, after = {};
	unsigned int i, n = o->connections;
	struct json_object *j;
	struct ends e = {};

	if (!o->json)
		report_head("memory of idle connections", o);
	tool_raise_memlock();
	prepare(&e, n);
	snapshot_make(&before);
	serve(&e, n);
	connect_all(&e, n);
	snapshot_make(&during);
	close_all(&e, n);
	snapshot_make(&after);

	/* Counted in whole pages of the machine, shared out among the connections. */
	j = o->json ? report_json("mem", o) : json_object_new_object();
	json_text(j, "unit", "bytes per connection");
	json_count(j, "connections", n);
	json_number(j, "kernel", kernel_memory(&before, &during) / n);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		json_number(j, line_names[parts[i]], grown(&before, &during, parts[i]) / n);
	json_number(j, "processes", grown(&before, &during, MEM_ANON) / n);
	json_number(j, "kernel_after_closing", kernel_memory(&before, &after) / n);
	if (o->json) {
		report_print_json(j);
	} else {
		printf("\n");
		json_object_object_foreach(j, key, value) {
			if (json_object_is_type(value, json_type_double))
				printf("%-28s %9.0f\n", key, json_object_get_double(value));
			else
				printf("%-28s %s\n", key, json_object_get_string(value));
		}
		json_object_put(j);
	}
	dd_shutdown(e.client);
	dd_shutdown(e.server);
	free(e.conns);
	return TOOL_OK;
}
