// SPDX-License-Identifier: GPL-2.0-only
/*
 * conns.c - cost of a message while many connections are open
 *
 * A server offers two services: "one", with a single connection, and "many".
 * Client processes, all on one CPU, send to it as fast as it consumes, on its
 * own CPU; a figure is the time between consumptions. There are no replies, so
 * that no process waits for another one to be scheduled.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conns.h"
#include "pair.h"
#include "process.h"
#include "report.h"
#include "../common/tool.h"

#define COUNT	100000
#define PARTS	20	/* of a round; its figure is their median */

enum phase { PHASE_ONE, PHASE_RANDOM, PHASE_ROBIN, PHASES };

static const char * const phase_names[PHASES] = { "one", "random", "round-robin" };

static const char * const phase_texts[PHASES] = {
	"one connection of one process",
	"the active connections at random",
	"all connections in turn",
};

/**
 * struct setup - what a server on another node needs
 * @group: of the coordinator's services
 * @o: the options, without pointers
 * @processes: number of client processes
 */
struct setup {
	uint64_t group;
	struct perf_options o;
	unsigned int processes;
};

/* Part of the service names: each coordinator has a random one. */
static uint64_t group;

/**
 * struct order - command of the coordinator to a process
 * @phase: enum phase
 * @count: messages to send, or to consume
 */
struct order {
	uint32_t phase;
	uint32_t count;
};

/**
 * struct worker - a server or a client, as the coordinator sees it
 * @pid: its process, 0 if it is on another node
 * @control: socket
 */
struct worker {
	pid_t pid;
	int control;
};

/**
 * struct server - the serving process
 * @h: handle
 * @lists: note list of each service
 */
struct server {
	struct dd *h;
	int lists[2];
};

/**
 * struct client - a sending process
 * @h: handle
 * @one: the connection to "one"
 * @conns: connections to "many"
 * @count: number of @conns
 * @active: indices of the connections that are used at random
 * @active_count: number of @active
 * @next: the next one in turn
 * @random: state of the generator
 * @source: the message
 */
struct client {
	struct dd *h;
	int one;
	int *conns;
	unsigned int count;
	unsigned int *active;
	unsigned int active_count;
	unsigned int next;
	uint64_t random;
	char *source;
};

static void put(int control, const void *p, size_t size)
{
	if (send(control, p, size, MSG_NOSIGNAL) != (ssize_t)size)
		perf_die("another process of the test");
}

/* False at the end; a worker that failed has printed a message. */
static bool get(int control, void *p, size_t size)
{
	ssize_t n = recv(control, p, size, MSG_PEEK | MSG_WAITALL);

	/* perf_lost() reads the message of a server that failed. */
	if (n == (ssize_t)size && perf_is_failure(p, size))
		return false;
	return recv(control, p, size, MSG_WAITALL) == (ssize_t)size;
}

/* Nanoseconds per message, of the server. */
static double get_cost(const struct worker *w)
{
	double cost;
	int status;

	if (get(w->control, &cost, sizeof(cost)))
		return cost;
	if (!w->pid)
		perf_lost(w->control);
	waitpid(w->pid, &status, 0);
	exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) :
							TOOL_PEER);
}

static void service_name(char *buf, size_t size, bool many)
{
	snprintf(buf, size, "ddperf.%llx.%s", (unsigned long long)group,
		 many ? "many" : "one");
}

/* --- the server ----------------------------------------------------------- */

static void serve(struct server *s, const struct perf_options *o, bool many,
		  unsigned int processes)
{
	/* The same number of messages in flight, whichever service they go to. */
	unsigned int window = many ? o->window : o->window * o->active;
	struct dd_serve_attr attr = {
		.size = sizeof(attr),
		.maxconn = many ? o->connections : processes,
		.window = window > 256 ? 256 : window,
	};
	char name[64];

	attr.recv_size = attr.maxconn * o->block;
	service_name(name, sizeof(name), many);
	must(s->h, dd_alloc(s->h, attr.recv_size, &attr.recv), "memory");
	must(s->h, dd_serve(s->h, name, &attr, &s->lists[many]), name);
}

static void consume_some(const struct server *s, const struct perf_options *o,
			 int list, uint32_t count)
{
	static volatile uint64_t sink;
	struct dd_msg msg;

	while (count--) {
		must(s->h, dd_recv(s->h, list, &msg, DD_RECV_SPIN, DD_FOREVER),
		     "receiving");
		if (o->touch && msg.len >= 8)
			sink += *(uint64_t *)msg.addr;
	}
}

/* The median of parts: a stall of the whole machine changes few of them. */
static double consume(const struct server *s, const struct perf_options *o,
		      const struct order *order)
{
	int list = s->lists[order->phase >= PHASE_RANDOM];
	uint32_t part = order->count / PARTS, first = order->count % PARTS + 1;
	uint64_t before, now;
	double v[PARTS];
	struct spread spread;
	int i;

	/* Time begins with a message, not with the order for it. */
	consume_some(s, o, list, first);
	before = tool_now();
	for (i = 0; i < PARTS; i++) {
		uint32_t n = part - (i == PARTS - 1);

		consume_some(s, o, list, n);
		now = tool_now();
		v[i] = (double)(now - before) / n;
		before = now;
	}
	spread_of(&spread, v, PARTS);
	return spread.median;
}

static void be_server(const struct perf_options *o, int control,
		      unsigned int processes)
{
	struct server s = {};
	struct order order;
	double cost = 0;

	pin(o->cpus[1]);
	s.h = perf_open();
	serve(&s, o, false, processes);
	serve(&s, o, true, processes);
	put(control, &cost, sizeof(cost));
	while (get(control, &order, sizeof(order))) {
		cost = consume(&s, o, &order);
		put(control, &cost, sizeof(cost));
	}
	_exit(TOOL_OK);
}

void conns_answer(struct side *s)
{
	struct setup setup;
	const struct perf_options *o = &setup.o;

	if (!get(s->control, &setup, sizeof(setup)) || !o->size || o->block > SIZE_MAX_BYTES ||
	    o->block < o->size || o->block % 8 || !o->connections ||
	    o->connections > CONNECTIONS_MAX || !setup.processes ||
	    setup.processes > PROCESSES_MAX)
		_exit(TOOL_FAILED);
	group = setup.group;
	be_server(o, s->control, setup.processes);
}

/* --- a client ------------------------------------------------------------- */

static uint64_t roll(struct client *c)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return c->random;
}

static int open_one(struct client *c, int node, bool many, void *back, int *list)
{
	struct dd_connect_attr attr = {
		.size = sizeof(attr),
		.type = DD_TYPE_STREAM,
		.recv = back,
		.recv_size = sysconf(_SC_PAGESIZE),
		.flags = *list ? DD_ATTR_LIST : 0,
		.list = *list,
	};
	char name[64];

	service_name(name, sizeof(name), many);
	return must(c->h, dd_connect(c->h, name, node, &attr, list), name);
}

static void open_all(struct client *c, const struct perf_options *o)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *back, *source;
	unsigned int i;
	int list = 0, node = o->node < 0 ? dd_node(c->h) : o->node;

	must(c->h, dd_alloc(c->h, (c->count + 1) * page, &back), "memory");
	must(c->h, dd_alloc(c->h, o->size, &source), "memory");
	c->source = memset(source, 1, o->size);
	c->conns = allocate(c->count, sizeof(int));
	for (i = 0; i < c->count; i++)
		c->conns[i] = open_one(c, node, true, (char *)back + i * page, &list);
	c->one = open_one(c, node, false, (char *)back + i * page, &list);
}

/* A choice without repetition. */
static void choose_active(struct client *c, unsigned int n)
{
	unsigned int *all = allocate(c->count, sizeof(int)), i, k, t;

	for (i = 0; i < c->count; i++)
		all[i] = i;
	c->active_count = n < c->count ? n : c->count;
	for (i = 0; i < c->active_count; i++) {
		k = i + roll(c) % (c->count - i);
		t = all[i];
		all[i] = all[k];
		all[k] = t;
	}
	c->active = all;
}

/* Each phase makes the same choices: only the connections differ. */
static int pick(struct client *c, enum phase phase)
{
	uint32_t chosen = ((roll(c) >> 32) * c->active_count) >> 32;

	if (++c->next >= c->count)
		c->next = 0;
	switch (phase) {
	case PHASE_ONE:
		return c->one;
	case PHASE_RANDOM:
		return c->conns[c->active[chosen]];
	default:
		return c->conns[c->next];
	}
}

static void produce(struct client *c, const struct perf_options *o,
		    const struct order *order)
{
	int conn, ret;
	uint32_t i;

	for (i = 0; i < order->count; i++) {
		conn = pick(c, order->phase);
		while ((ret = dd_send(c->h, conn, c->source, o->size, 0,
				      DD_SEND_DMA, NULL, 0)) == -ENOTREADY)
			must(c->h, dd_done(c->h, conn, DD_DONE_PLACED, DD_FOREVER),
			     "waiting");
		must(c->h, ret, "sending");
	}
}

static void be_client(const struct perf_options *o, int control,
		      unsigned int index, unsigned int processes)
{
	struct client c = {
		.h = perf_open(),
		.count = o->connections / processes +
			(index < o->connections % processes),
		.random = 0x9e3779b97f4a7c15ull * (index + 1),
	};
	unsigned int active = o->active / processes;
	struct order order;
	double done = 0;

	pin(o->cpus[0]);
	open_all(&c, o);
	choose_active(&c, active ? active : 1);
	put(control, &done, sizeof(done));
	while (get(control, &order, sizeof(order))) {
		produce(&c, o, &order);
		put(control, &done, sizeof(done));
	}
	_exit(TOOL_OK);
}

/* --- the coordinator ------------------------------------------------------ */

static void start_remote(struct worker *w, const struct perf_options *o,
		      unsigned int processes)
{
	struct setup setup = { .group = group, .o = *o, .processes = processes };

	setup.o.argv = NULL;
	setup.o.methods = NULL;
	w->pid = 0;
	w->control = net_connect(o, NET_CONNS);
	put(w->control, &setup, sizeof(setup));
	get_cost(w);
}

/* @index -1 is the server. */
static void start(struct worker *w, const struct perf_options *o, int index,
		  unsigned int processes)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		perf_die("socketpair");
	w->pid = fork();
	if (w->pid < 0)
		perf_die("fork");
	if (!w->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		if (index < 0)
			be_server(o, pair[1], processes);
		be_client(o, pair[1], index, processes);
	}
	close(pair[1]);
	w->control = pair[0];
	get_cost(w);
}

static void stop(struct worker *w)
{
	/* Later workers hold a copy of the socket: closing it is not enough. */
	shutdown(w->control, SHUT_RDWR);
	close(w->control);
	if (w->pid)
		waitpid(w->pid, NULL, 0);
}

/* Nanoseconds per message. */
static double run(const struct worker *server, const struct worker *clients,
		  unsigned int processes, enum phase phase, uint32_t count)
{
	unsigned int i, n = phase == PHASE_ONE ? 1 : processes;
	struct order order = { phase, count / n }, all = { phase, order.count * n };

	put(server->control, &all, sizeof(all));
	for (i = 0; i < n; i++)
		put(clients[i].control, &order, sizeof(order));
	for (i = 0; i < n; i++)
		get_cost(&clients[i]);
	return get_cost(server);
}

/**
 * struct outcome - figures of one number of processes
 * @processes: that number
 * @cost: ns per message
 * @ratio: to the cost with one connection, in the same round
 */
struct outcome {
	unsigned int processes;
	struct spread cost[PHASES];
	struct spread ratio[PHASES];
};

static void evaluate(struct outcome *out, double *v[PHASES], unsigned int rounds)
{
	int p;

	for (p = PHASES - 1; p >= 0; p--) {
		spread_of_ratio(&out->ratio[p], v[p], v[PHASE_ONE], rounds);
		spread_of(&out->cost[p], v[p], rounds);
	}
}

static void measure(const struct perf_options *o, unsigned int processes,
		    struct outcome *out)
{
	uint32_t count = o->iterations ? o->iterations : COUNT;
	struct worker server, clients[PROCESSES_MAX];
	double *v[PHASES];
	unsigned int i, r, p;

	for (p = 0; p < PHASES; p++)
		v[p] = allocate(o->rounds, sizeof(double));
	if (o->node < 0)
		start(&server, o, -1, processes);
	else
		start_remote(&server, o, processes);
	for (i = 0; i < processes; i++)
		start(&clients[i], o, i, processes);
	for (p = 0; p < PHASES; p++)
		run(&server, clients, processes, p, count);
	for (r = 0; r < o->rounds; r++)
		for (i = 0; i < PHASES; i++) {
			p = (i + r) % PHASES;
			v[p][r] = run(&server, clients, processes, p, count);
		}
	for (i = 0; i < processes; i++)
		stop(&clients[i]);
	stop(&server);
	out->processes = processes;
	evaluate(out, v, o->rounds);
	for (p = 0; p < PHASES; p++)
		free(v[p]);
}

static void print_outcome(const struct perf_options *o, const struct outcome *out)
{
	int p;

	printf("\n%u connection%s of %u process%s, %u active, %zu byte%s in blocks of %zu,\n"
	       "window %u, %u round%s; ns per message\n", o->connections,
	       tool_s(o->connections), out->processes,
	       out->processes == 1 ? "" : "es", o->active, o->size,
	       tool_s(o->size), o->block, o->window, o->rounds,
	       tool_s(o->rounds));
	print_spread(12, NULL, 0, NULL);
	printf("  by one (min..max)\n");
	for (p = 0; p < PHASES; p++) {
		print_spread(12, phase_names[p], 0, &out->cost[p]);
		printf("  %.3f (%.3f..%.3f)\n", out->ratio[p].median,
		       out->ratio[p].min, out->ratio[p].max);
	}
	fflush(stdout);
}

static struct json_object *outcome_json(const struct outcome *out)
{
	struct json_object *j = json_object_new_object();
	struct json_object *a = json_object_new_array(), *one;
	int p;

	json_count(j, "processes", out->processes);
	for (p = 0; p < PHASES; p++) {
		one = json_object_new_object();
		json_text(one, "name", phase_names[p]);
		json_text(one, "what", phase_texts[p]);
		json_spread(one, "cost", &out->cost[p]);
		json_spread(one, "by_one", &out->ratio[p]);
		json_object_array_add(a, one);
	}
	json_object_object_add(j, "phases", a);
	return j;
}

int perf_conns(const struct perf_options *options)
{
	struct perf_options o = *options;
	struct json_object *j = NULL, *a = NULL;
	struct outcome out;
	unsigned int i;

	choose_cpus(&o);
	/* Without waiting for entropy: the name need not be a secret. */
	if (getrandom(&group, sizeof(group), GRND_INSECURE) != sizeof(group))
		perf_die("random number");
	if (!o.window)
		o.window = 2;
	if (!o.block)
		o.block = (o.size + 7) / 8 * 8;
	if (o.block < o.size || o.block % 8)
		tool_usage("--block: a multiple of 8, and not below --size");
	for (i = 0; i < o.variants; i++)
		if (o.iterations && o.iterations < 4 * PARTS * o.processes[i])
			o.iterations = 4 * PARTS * o.processes[i];
	if (o.json) {
		j = report_json(o.node < 0 ? "conns" : "net conns", &o);
		a = json_object_new_array();
		json_text(j, "unit", "ns per message");
		json_count(j, "connections", o.connections);
		json_count(j, "active", o.active);
		json_count(j, "size", o.size);
		json_count(j, "block", o.block);
		json_count(j, "window", o.window);
		json_count(j, "rounds", o.rounds);
	} else {
		report_head("cost of a message with many connections", &o);
	}
	tool_raise_memlock();
	for (i = 0; i < o.variants; i++) {
		if (o.processes[i] > o.connections)
			tool_usage("--processes: more than connections");
		measure(&o, o.processes[i], &out);
		if (o.json)
			json_object_array_add(a, outcome_json(&out));
		else
			print_outcome(&o, &out);
	}
	if (o.json) {
		json_object_object_add(j, "results", a);
		report_print_json(j);
	}
	return TOOL_OK;
}
