// SPDX-License-Identifier: GPL-2.0-only
/*
 * share.c - what flows that run at the same time get of a link
 *
 * Each flow is a process, with a server of its own, which counts what arrives
 * within the time, from its first message on.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "method.h"
#include "net.h"
#include "../common/tool.h"

#define FLOWS_MAX	8
#define END_SIZE	8	/* of the message of ours that ends a flow */
#define SECONDS		60

/**
 * struct flow - one of them
 * @method: how it sends
 * @pid: its process
 * @control: socket to it
 * @rate: 10^6 bytes per second
 */
struct flow {
	const struct method *method;
	pid_t pid;
	int control;
	double rate;
};

/* --- the server ----------------------------------------------------------- */

/* Bytes that have arrived, 0 at the end. */
static size_t take_dd(struct side *s)
{
	struct dd_msg msg;

	must(s->h, dd_recv(s->h, s->ways[WAY_DD].list, &msg, DD_RECV_SLEEP, DD_FOREVER),
	     "receiving");
	return msg.len == END_SIZE ? 0 : msg.len;
}

static size_t take_tcp(struct side *s)
{
	ssize_t n = recv(s->tcp, s->buffer, s->hello.size, 0);

	if (n >= 0)
		return n;
	perf_fail(TOOL_FAILED, "recv: %s", strerror(errno));
}

static bool is_dd(const struct method *m)
{
	return m == &methods[0];
}

/* @c->count is the time in nanoseconds. */
void share_answer(struct side *s, const struct command *c)
{
	bool dd = is_dd(&methods[c->method]);
	uint64_t begin = 0, bytes = 0;
	double rate;
	size_t n;

	while ((n = dd ? take_dd(s) : take_tcp(s))) {
		if (!begin)
			begin = tool_now();
		else if (tool_now() - begin < c->count)
			bytes += n;
	}
	rate = bytes * 1e3 / c->count;
	pair_put(s, &rate, sizeof(rate));
}

/* --- a flow --------------------------------------------------------------- */

static void fill(struct side *s, const struct method *m, size_t size,
		 uint64_t duration)
{
	uint64_t begin = tool_now();

	/* Longer than it is counted, as the server begins later. */
	while (tool_now() - begin < duration + duration / 20)
		m->send(s, size);
	if (is_dd(m))
		m->send(s, END_SIZE);
	else
		shutdown(s->tcp, SHUT_WR);
}

static void be_flow(const struct perf_options *o, const struct flow *f,
		    bool first, int control)
{
	struct command c = {
		.test = TEST_SHARE,
		.method = f->method - methods,
		.size = o->size,
		.count = o->duration * 1e9,
	};
	struct side s;
	char go = 0;
	double rate;

	pair_open(&s, o, o->size, o->window);
	if (first && !o->json)
		path_report(&s, NULL);
	if (write(control, &go, 1) != 1 || read(control, &go, 1) != 1)
		_exit(TOOL_FAILED);
	pair_put(&s, &c, sizeof(c));
	fill(&s, f->method, o->size, c.count);
	pair_get(&s, &rate, sizeof(rate));
	_exit(write(control, &rate, sizeof(rate)) == sizeof(rate) ? TOOL_OK :
								    TOOL_FAILED);
}

/* --- all of them ---------------------------------------------------------- */

static void die(const char *what)
{
	tool_warn("%s: %s", what, strerror(errno));
	exit(TOOL_FAILED);
}

/* A flow that failed has said why. */
static void get(const struct flow *f, void *p, size_t size)
{
	int status;

	if (recv(f->control, p, size, MSG_WAITALL) == (ssize_t)size)
		return;
	waitpid(f->pid, &status, 0);
	exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) :
							TOOL_FAILED);
}

static const struct method *find_method(const char *name)
{
	unsigned int i;

	for (i = 0; i < method_count; i++)
		if (methods[i].tests & 1u << TEST_SHARE &&
		    !strcmp(name, methods[i].name))
			return &methods[i];
	tool_usage("--flows: '%s': dd or tcp-block?", name);
}

static unsigned int parse_flows(struct flow *flows, const char *text)
{
	char *copy = strdup(text), *word;
	unsigned int n = 0;

	if (!copy)
		die("memory");
	for (word = strtok(copy, ","); word; word = strtok(NULL, ",")) {
		if (n == FLOWS_MAX)
			tool_usage("--flows: at most %d", FLOWS_MAX);
		flows[n++] = (struct flow) { .method = find_method(word) };
	}
	free(copy);
	if (!n)
		tool_usage("--flows: names of methods");
	return n;
}

static void start(struct flow *f, const struct perf_options *o, bool first)
{
	int pair[2];
	char ready;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	f->pid = fork();
	if (f->pid < 0)
		die("fork");
	if (!f->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		be_flow(o, f, first, pair[1]);
	}
	close(pair[1]);
	f->control = pair[0];
	get(f, &ready, 1);
}

static double all_rates(const struct flow *flows, unsigned int n)
{
	double sum = 0;

	while (n)
		sum += flows[--n].rate;
	return sum;
}

static void print_table(const struct perf_options *o, const struct flow *flows,
			unsigned int n)
{
	double sum = all_rates(flows, n);
	unsigned int i;

	printf("\n%u flow%s at the same time for %g s, messages of %zu byte%s\n"
	       "%-12s %9s %9s\n", n, tool_s(n), o->duration, o->size,
	       tool_s(o->size), "", "MB/s", "share");
	for (i = 0; i < n; i++)
		printf("%-12s %9.4g %9.3f\n", flows[i].method->name,
		       flows[i].rate, flows[i].rate / sum);
}

static void print_json(const struct perf_options *o, const struct flow *flows,
		       unsigned int n)
{
	struct json_object *j = report_json("net share", o);
	struct json_object *a = json_object_new_array(), *one;
	double sum = all_rates(flows, n);
	unsigned int i;

	for (i = 0; i < n; i++) {
		one = json_object_new_object();
		json_object_object_add(one, "name",
			json_object_new_string(flows[i].method->name));
		json_object_object_add(one, "rate", json_object_new_double(flows[i].rate));
		json_object_object_add(one, "share",
				       json_object_new_double(flows[i].rate / sum));
		json_object_array_add(a, one);
	}
	json_object_object_add(j, "unit", json_object_new_string("MB/s"));
	json_object_object_add(j, "seconds", json_object_new_double(o->duration));
	json_object_object_add(j, "size", json_object_new_uint64(o->size));
	json_object_object_add(j, "flows", a);
	report_print_json(j);
}

int perf_share(const struct perf_options *options)
{
	struct perf_options o = *options;
	struct flow flows[FLOWS_MAX];
	unsigned int i, n;

	n = parse_flows(flows, o.flows ? o.flows : "dd,tcp-block");
	choose_cpus(&o);
	o.sleep = true;
	if (!o.window)
		o.window = 8;
	if (!(o.duration > 0))
		o.duration = SECONDS;
	if (!o.json)
		report_head("shares of a link", &o);
	for (i = 0; i < n; i++)
		start(&flows[i], &o, i == 0);
	for (i = 0; i < n; i++)
		if (write(flows[i].control, "", 1) != 1)
			die("flow");
	for (i = 0; i < n; i++)
		get(&flows[i], &flows[i].rate, sizeof(flows[i].rate));
	if (!(all_rates(flows, n) > 0)) {
		tool_warn("no message got through in %g s; a longer --duration, or a smaller --size?",
			  o.duration);
		return TOOL_FAILED;
	}
	if (o.json)
		print_json(&o, flows, n);
	else
		print_table(&o, flows, n);
	return TOOL_OK;
}
