// SPDX-License-Identifier: GPL-2.0-only
/*
 * insn.c - the cost of one message for the processor, where no process waits
 *
 * One process holds both ends of a connection, on two handles: it sends, then
 * consumes the note. No process spins, sleeps or is switched to: one CPU is
 * enough, and in a guest whose clock counts instructions (QEMU -icount shift=0)
 * one nanosecond is one instruction, the same from run to run.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dd_mem.h"
#include "fedex.h"
#include "insn.h"
#include "pair.h"
#include "process.h"
#include "report.h"
#include "words.h"
#include "../common/tool.h"

#define COUNT		2000
#define CALIBRATION	1000
#define BATCH		16	/* messages at once, at most */

/**
 * struct documented - both ends, on the handle of the documented calls
 * @conn: connection
 * @list: note list of the service
 * @source: wired memory
 */
struct documented {
	connid_t conn;
	noteid_t list;
	address_t source;
};

/**
 * struct bench - both ends, and the controls
 * @size: bytes in a message
 * @from: handle of the sending end
 * @to: handle of the receiving end
 * @links: connections of @from, with note lists of @to
 * @batch: connections with a window of BATCH
 * @msgs: messages for each of @batch
 * @ddp: both ends, by the calls of <fedex.h>
 * @mem: imports of @from, of segments of @to: with a window, and without
 * @words: proxies of buffers of this process, by VMMC: one with a window, one redirectable
 * @buffer: the redirectable one
 * @target: where its messages are redirected to
 * @child: a process that does nothing
 * @memory: @size bytes, at the same address here and there
 */
struct bench {
	size_t size;
	struct dd *from;
	struct dd *to;
	struct link links[LINKS];
	struct link batch[LINKS];
	struct dd_send_msg msgs[LINKS][BATCH];
	struct documented ddp;
	struct dd_mem *mem[LINKS];
	int32 *words[2];
	vmmc_exphandle_t buffer;
	int32 *target;
	pid_t child;
	char *memory;
};

/**
 * struct step - two operations that are timed, one after the other
 * @name: for reports; an operation without one is not reported
 * @work: the operations
 * @messages: messages of an operation; the cost is that of one
 * @link: LINK_DD or LINK_KERNEL, of operations on a segment or on several messages; or an index
 *	of @words
 */
struct step {
	const char *name[2];
	void (*work[2])(struct bench *b, const struct step *s);
	int messages;
	int link;
};

static void do_nothing(struct bench *b, const struct step *s)
{
}

static inline void link_send(struct bench *b, const struct link *l)
{
	must(b->from, dd_send(b->from, l->conn, l->send, b->size, 0, 0, NULL, 0),
	     "dd_send");
}

static inline void link_recv(struct bench *b, const struct link *l)
{
	struct dd_msg msg;

	must(b->to, dd_recv(b->to, l->list, &msg, DD_RECV_SPIN, 0), "dd_recv");
}

static void do_send(struct bench *b, const struct step *s)
{
	link_send(b, &b->links[LINK_DD]);
}

static void do_recv(struct bench *b, const struct step *s)
{
	link_recv(b, &b->links[LINK_DD]);
}

static void do_kernel_send(struct bench *b, const struct step *s)
{
	link_send(b, &b->links[LINK_KERNEL]);
}

static void do_kernel_recv(struct bench *b, const struct step *s)
{
	link_recv(b, &b->links[LINK_KERNEL]);
}

/* Send @s->messages in one call, on the connection with a window of BATCH. */
static void do_sendv(struct bench *b, const struct step *s)
{
	int error;

	if (dd_sendv(b->from, b->msgs[s->link], s->messages, &error) != s->messages)
		must(b->from, error, "dd_sendv");
}

static void do_recvs(struct bench *b, const struct step *s)
{
	int i;

	for (i = 0; i < s->messages; i++)
		link_recv(b, &b->batch[s->link]);
}

static void need(int ret, const char *what)
{
	if (ret < 0)
		perf_fail(tool_exit_code(errno), "%s: %s", what, dd_strerror(errno));
}

static void do_ddsend(struct bench *b, const struct step *s)
{
	need(ddsend(b->ddp.conn, b->ddp.source, b->size, 0, SEND_NOOPTS),
	     "ddsend");
}

static void do_ddrecv(struct bench *b, const struct step *s)
{
	static ddrecv_desc_t desc;

	need(ddrecv(b->ddp.list, &desc, RECV_SPIN, 0), "ddrecv");
}

static void do_put(struct bench *b, const struct step *s)
{
	must(b->from, dd_put(b->mem[s->link], b->links[0].send, b->size, 0, 0), "dd_put");
}

static void do_get(struct bench *b, const struct step *s)
{
	must(b->from, dd_get(b->mem[s->link], b->links[0].send, b->size, 0), "dd_get");
}

static void do_cas(struct bench *b, const struct step *s)
{
	static uint64_t was;

	must(b->from, dd_cas(b->mem[s->link], 0, sizeof(was), was, was + 1, &was, 0),
	     "dd_cas");
}

static void do_words_send(struct bench *b, const struct step *s)
{
	words_must(vmmc_SendData((int32 *)b->memory, b->words[s->link], words_in(b->size)),
		   "vmmc_SendData");
}

static void do_words_get(struct bench *b, const struct step *s)
{
	words_must(vmmc_GetData((int32 *)b->memory, b->words[s->link], words_in(b->size)),
		   "vmmc_GetData");
}

/* It replaces the last one, which a message has used. */
static void do_words_redirect(struct bench *b, const struct step *s)
{
	words_must(vmmc_PostRedir(b->buffer, 0, words_in(b->size), b->target),
		   "vmmc_PostRedir");
}

static void do_writev(struct bench *b, const struct step *s)
{
	struct iovec v = { b->memory, b->size };

	if (process_vm_writev(b->child, &v, 1, &v, 1, 0) != (ssize_t)b->size)
		perf_die("process_vm_writev");
}

static void do_getppid(struct bench *b, const struct step *s)
{
	syscall(SYS_getppid);
}

static void do_memcpy(struct bench *b, const struct step *s)
{
	memcpy(b->links[0].send, b->memory, b->size);
	__asm__ volatile("" ::: "memory");
}

#define ONE(...)	.work = { __VA_ARGS__ }, .messages = 1
#define ACCESS(w, l)	.work = { w, do_nothing }, .messages = 1, .link = l
#define SOME(w, n)	.work = { do_sendv, do_recvs }, .messages = n, .link = w

static const struct step steps[] = {
	{ { "dd-send", "dd-recv" }, ONE(do_send, do_recv) },
	{ { "ddsend", "ddrecv" }, ONE(do_ddsend, do_ddrecv) },
	{ { "vm-writev" }, ONE(do_writev, do_nothing) },
	{ { "getppid" }, ONE(do_getppid, do_nothing) },
	{ { "memcpy" }, ONE(do_memcpy, do_nothing) },
	{ { "dd-put" }, ACCESS(do_put, LINK_DD) },
	{ { "dd-get" }, ACCESS(do_get, LINK_DD) },
	{ { "dd-cas" }, ACCESS(do_cas, LINK_DD) },
	{ { "dd-put-kernel" }, ACCESS(do_put, LINK_KERNEL) },
	{ { "dd-get-kernel" }, ACCESS(do_get, LINK_KERNEL) },
	{ { "dd-cas-kernel" }, ACCESS(do_cas, LINK_KERNEL) },
	{ { "dd-send-kernel", "dd-recv-kernel" }, ONE(do_kernel_send, do_kernel_recv) },
	{ { "dd-sendv-4-kernel" }, SOME(LINK_KERNEL, 4) },
	{ { "dd-sendv-16-kernel" }, SOME(LINK_KERNEL, 16) },
	{ { "dd-sendv-16" }, SOME(LINK_DD, 16) },
	{ { "vmmc-send" }, ACCESS(do_words_send, 0) },
	{ { "vmmc-get" }, ACCESS(do_words_get, 0) },
	{ { "vmmc-send-redirectable" }, ACCESS(do_words_send, 1) },
	{ { "vmmc-redirect", "vmmc-send-redirected" },
	  .work = { do_words_redirect, do_words_send }, .messages = 1, .link = 1 },
};

#define STEPS	(sizeof(steps) / sizeof(steps[0]))

static address_t documented_memory(size_t size)
{
	address_t p = ddalloc(size);

	need(p ? 0 : -1, "ddalloc");
	return p;
}

static void open_documented(struct documented *d, char *name, size_t size)
{
	noteid_t list = 0;
	servid_t service;

	need(ddserve(name, SERVE_NOOPTS, 1, documented_memory(size), size, NULL,
		     0, &d->list, &service), name);
	d->source = documented_memory(size);
	need(ddconn(name, ddmynode(), TYPE_SSTREAM, CONN_NOOPTS, d->source, size,
		    documented_memory(size), size, &d->conn, &list), name);
}

static void open_link(struct bench *b, struct link *l, int link, size_t size,
		     unsigned int window)
{
	struct dd_serve_attr serve = { .size = sizeof(serve), .maxconn = 1,
				       .window = window };
	struct dd_connect_attr attr = { .size = sizeof(attr),
					.type = DD_TYPE_STREAM };
	char name[48];

	snprintf(name, sizeof(name), "ddperf.%d.%d.%u", (int)getpid(), link, window);
	attr.flags = link == LINK_KERNEL ? DD_ATTR_NODIRECT : 0;
	serve.recv_size = attr.send_size = attr.recv_size = size;
	must(b->to, dd_alloc(b->to, size, &serve.recv), "memory");
	must(b->to, dd_serve(b->to, name, &serve, &l->list), name);
	must(b->from, dd_alloc(b->from, size, &attr.send), "memory");
	must(b->from, dd_alloc(b->from, size, &attr.recv), "memory");
	l->conn = must(b->from, dd_connect(b->from, name, dd_node(b->from), &attr,
					   NULL), name);
	l->send = attr.send;
}

static void open_links(struct bench *b, int link, size_t size)
{
	int i;

	open_link(b, &b->links[link], link, size, 1);
	open_link(b, &b->batch[link], link, size, BATCH);
	for (i = 0; i < BATCH; i++)
		b->msgs[link][i] = (struct dd_send_msg){
			.conn = b->batch[link].conn,
			.addr = b->batch[link].send,
			.len = b->size,
		};
}

static void open_segment(struct bench *b, int link, size_t size)
{
	struct dd_export_attr attr = {
		.size = sizeof(attr), .len = size, .key_class = DD_KEY_ID,
		.rights = DD_CAN_PUT | DD_CAN_GET | DD_CAN_CAS, .notify = DD_NOTIFY_NEVER,
		.importers = 1, .flags = link == LINK_KERNEL ? DD_EXPORT_NODIRECT : 0,
	};
	uint64_t segment;

	must(b->to, dd_alloc(b->to, size, &attr.addr), "memory");
	must(b->to, dd_export(b->to, &attr, &segment), "dd_export");
	must(b->from, dd_import(b->from, dd_node(b->from), attr.key_class, attr.key,
				attr.rights, &b->mem[link]), "dd_import");
}

static void open_bench(struct bench *b, size_t size)
{
	pid_t parent = getpid();
	char name[32];

	b->size = size;
	size = perf_pages(size);
	b->memory = allocate(1, size);
	b->target = allocate(1, size);
	b->child = fork();
	if (b->child < 0)
		perf_die("fork");
	if (!b->child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* A parent that ended before prctl() sends no signal. */
		while (getppid() == parent)
			pause();
		_exit(TOOL_OK);
	}
	b->from = perf_open();
	b->to = perf_open();
	open_links(b, LINK_DD, size);
	open_links(b, LINK_KERNEL, size);
	open_segment(b, LINK_DD, size);
	open_segment(b, LINK_KERNEL, size);
	words_export(size, BUF_READWRITE, &b->buffer);
	words_export(size, BUF_WRITE_ONLY | BUF_REDIRECTABLE, &b->buffer);
	b->words[0] = words_own(1);
	b->words[1] = words_own(2);
	snprintf(name, sizeof(name), "ddperf.%d.ddp", (int)getpid());
	open_documented(&b->ddp, name, size);
}

static void close_bench(struct bench *b)
{
	dd_shutdown(b->from);
	dd_shutdown(b->to);
	kill(b->child, SIGKILL);
	waitpid(b->child, NULL, 0);
	free(b->memory);
	free(b->target);
}

static void time_step(struct bench *b, const struct step *step, uint64_t count,
		      double *first, double *second)
{
	uint64_t i, t0, t1, t2;

	for (i = 0; i < count; i++) {
		t0 = tool_now();
		step->work[0](b, step);
		t1 = tool_now();
		step->work[1](b, step);
		t2 = tool_now();
		first[i] = t1 - t0;
		second[i] = t2 - t1;
	}
}

/* What reading the clock and the call of an operation add to each figure. */
static double clock_cost(struct bench *b)
{
	static const struct step nothing = { .work = { do_nothing, do_nothing } };
	/* volatile: the compiler must not inline this call either. */
	const struct step *volatile step = &nothing;
	static double first[CALIBRATION], second[CALIBRATION];
	struct spread s;

	time_step(b, step, CALIBRATION, first, second);
	spread_of(&s, first, CALIBRATION);
	return s.median;
}

#if defined(__x86_64__)
static double loop_time(uint64_t n, bool slow)
{
	uint64_t begin = tool_now(), x = 3;

	if (slow)
		__asm__ volatile("1: imul %1, %1; imul %1, %1; imul %1, %1\n\t"
				 "imul %1, %1; dec %0; jnz 1b"
				 : "+r"(n), "+r"(x) : : "cc");
	else
		__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
	return tool_now() - begin;
}

/*
 * Two loops execute the same number of instructions, but a real processor needs very
 * different times for them: only a clock that counts instructions finds them equal.
 */
bool clock_counts_instructions(void)
{
	const uint64_t n = 1200000;
	double fast = INFINITY, slow = INFINITY;
	int i;

	/* The shortest of some: ticks take instructions too. */
	for (i = 0; i < 5; i++) {
		fast = fmin(fast, loop_time(n / 2, false) / n);
		slow = fmin(slow, loop_time(n / 6, true) / n);
	}
	return fast > 0.99 && fast < 1.03 && slow > 0.99 && slow < 1.03;
}
#else
bool clock_counts_instructions(void)
{
	return false;
}
#endif

struct cost {
	const char *name;
	struct spread spread;
};

static unsigned int measure(struct bench *b, uint64_t count, double overhead,
			    struct cost *costs)
{
	double *v[2];
	unsigned int i, k, n = 0;
	uint64_t m;

	v[0] = allocate(count, sizeof(double));
	v[1] = allocate(count, sizeof(double));
	for (i = 0; i < STEPS; i++) {
		/* The first measurement fills caches and is dropped. */
		time_step(b, &steps[i], count < 100 ? count : 100, v[0], v[1]);
		time_step(b, &steps[i], count, v[0], v[1]);
		for (k = 0; k < 2 && steps[i].name[k]; k++) {
			for (m = 0; m < count; m++)
				v[k][m] = (v[k][m] - overhead) /
					  steps[i].messages;
			costs[n].name = steps[i].name[k];
			spread_of(&costs[n++].spread, v[k], count);
		}
	}
	free(v[0]);
	free(v[1]);
	return n;
}

static void print_json(const struct perf_options *o, size_t size, uint64_t count,
		       const char *unit, double overhead,
		       const struct cost *costs, unsigned int n)
{
	struct json_object *j = report_json("insn", o);
	struct json_object *a = json_object_new_array(), *one;
	unsigned int i;

	json_count(j, "size", size);
	json_count(j, "iterations", count);
	json_text(j, "unit", unit);
	json_number(j, "clock_overhead", overhead);
	for (i = 0; i < n; i++) {
		one = json_object_new_object();
		json_text(one, "name", costs[i].name);
		json_spread(one, "cost", &costs[i].spread);
		json_object_array_add(a, one);
	}
	json_object_object_add(j, "results", a);
	report_print_json(j);
}

static void print_table(size_t size, uint64_t count, const char *unit,
			double overhead, const struct cost *costs, unsigned int n)
{
	unsigned int i;

	printf("\none message of %zu byte%s within one process, %llu time%s; %s,\n"
	       "reading the clock (%.0f) taken off\n", size, tool_s(size),
	       (unsigned long long)count, tool_s(count), unit, overhead);
	print_spread(22, NULL, 0, NULL);
	for (i = 0; i < n; i++) {
		putchar('\n');
		print_spread(22, costs[i].name, 0, &costs[i].spread);
	}
	putchar('\n');
}

int perf_insn(const struct perf_options *options)
{
	struct perf_options o = *options;
	uint64_t count = o.iterations ? o.iterations : COUNT;
	struct cost costs[2 * STEPS];
	const char *unit;
	struct bench b;
	double overhead;
	unsigned int n;

	choose_cpus(&o);
	if (!o.json)
		report_head("cost of a message", &o);
	tool_raise_memlock();
	pin(o.cpus[0]);
	open_bench(&b, o.size);
	unit = clock_counts_instructions() ? "instructions" : "ns";
	overhead = clock_cost(&b);
	n = measure(&b, count, overhead, costs);
	if (o.json)
		print_json(&o, b.size, count, unit, overhead, costs, n);
	else
		print_table(b.size, count, unit, overhead, costs, n);
	close_bench(&b);
	return TOOL_OK;
}
