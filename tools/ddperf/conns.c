// SPDX-License-Identifier: GPL-2.0-only
/*
 * conns.c - cost of a message while many connections are open
 *
 * A server offers two services: "one", with a single connection, and "many".
 * Client processes, all on one CPU, send to it as fast as it consumes, on its
 * own CPU; a figure is the time between consumptions. Nobody replies, so that
 * nobody waits for a process to be scheduled, however many there are.
 *
 * Copyright (C) 2026 The dd authors
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "many.h"
#include "net.h"
#include "../common/tool.h"

#define COUNT	100000
#define PARTS	20	/* of a round, of whose figures the median is taken */

enum phase { PHASE_ONE, PHASE_EACH, PHASE_RANDOM, PHASE_ROBIN, PHASES };

static const char * const phase_names[PHASES] = {
	"one", "one-each", "random", "round-robin",
};

static const char * const phase_texts[PHASES] = {
	"one connection of one process",
	"one connection of each process",
	"the active ones at random",
	"all of them in turn",
};

/**
 * struct setup - what a server on another node has to know
 * @group: of the coordinator's
 * @size: as in struct perf_options, like those that follow
 * @block: likewise
 * @connections: likewise
 * @active: likewise
 * @window: likewise
 * @touch: likewise
 * @cpu: CPU for the server
 * @processes: of clients
 */
struct setup {
	uint64_t group;
	uint64_t size;
	uint64_t block;
	uint32_t connections;
	uint32_t active;
	uint32_t window;
	uint32_t touch;
	int32_t cpu;
	uint32_t processes;
};

/* Tells the services of one coordinator from those of others. */
static uint64_t group;

/**
 * struct order - what the coordinator tells a process to do
 * @phase: enum phase
 * @count: messages to send, or to consume
 */
struct order {
	uint32_t phase;
	uint32_t count;
};

/**
 * struct answer - what a process says when it is done
 * @cost: nanoseconds per message (the server)
 * @refused: sends that found the window full
 * @switches: context switches, of either kind
 */
struct answer {
	double cost;
	uint64_t refused;
	uint64_t switches;
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
 * @h: handle, NULL with sockets
 * @lists: note list of each service, or set of sockets
 * @buffer: where sockets deliver
 */
struct server {
	struct dd *h;
	int lists[2];
	char *buffer;
};

/**
 * struct client - a sending process
 * @h: handle, NULL with sockets
 * @one: the connection to "one", or a socket
 * @conns: connections to "many", or sockets
 * @count: their number
 * @active: indices of those that are used at random
 * @active_count: their number
 * @next: of all, the next in turn
 * @random: state of the generator
 * @source: what is sent
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

static void die(const char *what)
{
	perf_fail(TOOL_FAILED, "%s: %s", what, strerror(errno));
}

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die("memory");
	return p;
}

static void put(int control, const void *p, size_t size)
{
	if (send(control, p, size, MSG_NOSIGNAL) != (ssize_t)size)
		die("another process of the test");
}

/* False at the end; a worker that failed has said why. */
static bool get(int control, void *p, size_t size)
{
	ssize_t n = recv(control, p, size, MSG_PEEK | MSG_WAITALL);

	/* The words of a server that failed stay where perf_lost() finds them. */
	if (n == (ssize_t)size && perf_is_failure(p, size))
		return false;
	return recv(control, p, size, MSG_WAITALL) == (ssize_t)size;
}

static void get_answer(const struct worker *w, struct answer *a)
{
	int status;

	if (get(w->control, a, sizeof(*a)))
		return;
	if (!w->pid)
		perf_lost(w->control);
	waitpid(w->pid, &status, 0);
	exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) :
							TOOL_PEER);
}

static uint64_t switches(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return ru.ru_nvcsw + ru.ru_nivcsw;
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
	/* As many messages on their way, whichever connections they take. */
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

	if (o->sockets) {
		many_consume(list, s->buffer, o->size, count);
		return;
	}
	while (count--) {
		must(s->h, dd_recv(s->h, list, &msg, DD_RECV_SPIN, DD_FOREVER),
		     "receiving");
		if (o->touch && msg.len >= 8)
			sink += *(uint64_t *)msg.addr;
	}
}

/* The median of parts: a stall of the whole machine does not count. */
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

static void open_server(struct server *s, const struct perf_options *o,
			unsigned int processes)
{
	int many;

	if (!o->sockets)
		s->h = perf_open();
	else
		s->buffer = allocate(o->size, 1);
	for (many = 0; many < 2; many++) {
		if (o->sockets)
			s->lists[many] = many_serve(many);
		else
			serve(s, o, many, processes);
	}
}

static void be_server(const struct perf_options *o, int control,
		      unsigned int processes)
{
	struct server s = {};
	struct answer a = {};
	struct order order;
	uint64_t before;

	pin(o->cpus[1]);
	open_server(&s, o, processes);
	put(control, &a, sizeof(a));
	while (get(control, &order, sizeof(order))) {
		before = switches();
		a.cost = consume(&s, o, &order);
		a.switches = switches() - before;
		put(control, &a, sizeof(a));
	}
	_exit(TOOL_OK);
}

void conns_answer(int control)
{
	struct perf_options o = {};
	struct setup setup;

	perf_serves(control, false);
	if (!get(control, &setup, sizeof(setup)) ||
	    !setup.size || setup.block > SIZE_MAX_BYTES ||
	    setup.block < setup.size || setup.block % 8 ||
	    !setup.connections || setup.connections > CONNECTIONS_MAX ||
	    !setup.processes || setup.processes > PROCESSES_MAX)
		_exit(TOOL_FAILED);
	group = setup.group;
	o.size = setup.size;
	o.block = setup.block;
	o.connections = setup.connections;
	o.active = setup.active;
	o.window = setup.window;
	o.touch = setup.touch;
	o.cpus[1] = setup.cpu;
	be_server(&o, control, setup.processes);
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

/* Of all sockets, every one in turn is another process'. */
static void take_sockets(struct client *c, const struct perf_options *o,
			 unsigned int index, unsigned int processes)
{
	unsigned int i;

	c->source = memset(allocate(o->size, 1), 1, o->size);
	c->conns = allocate(c->count, sizeof(int));
	for (i = 0; i < c->count; i++)
		c->conns[i] = many_sending(true, i * processes + index);
	c->one = many_sending(false, index);
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

/* One phase makes no more choices than another one: what differs is where. */
static int pick(struct client *c, enum phase phase)
{
	uint32_t chosen = ((roll(c) >> 32) * c->active_count) >> 32;

	if (++c->next >= c->count)
		c->next = 0;
	switch (phase) {
	case PHASE_ONE:
	case PHASE_EACH:
		return c->one;
	case PHASE_RANDOM:
		return c->conns[c->active[chosen]];
	default:
		return c->conns[c->next];
	}
}

static void produce(struct client *c, const struct perf_options *o,
		    const struct order *order, struct answer *a)
{
	int conn, ret;
	uint32_t i;

	for (i = 0; i < order->count; i++) {
		conn = pick(c, order->phase);
		if (o->sockets) {
			many_send(conn, c->source, o->size);
			continue;
		}
		while ((ret = dd_send(c->h, conn, c->source, o->size, 0,
				      DD_SEND_DMA, NULL, 0)) == -ENOTREADY) {
			a->refused++;
			must(c->h, dd_done(c->h, conn, DD_DONE_PLACED, DD_FOREVER),
			     "waiting");
		}
		must(c->h, ret, "sending");
	}
}

static void be_client(const struct perf_options *o, int control,
		      unsigned int index, unsigned int processes)
{
	struct client c = {
		.h = o->sockets ? NULL : perf_open(),
		.count = o->connections / processes +
			(index < o->connections % processes),
		.random = 0x9e3779b97f4a7c15ull * (index + 1),
	};
	unsigned int active = o->active / processes;
	struct answer a = {};
	struct order order;
	uint64_t before;

	pin(o->cpus[0]);
	if (o->sockets)
		take_sockets(&c, o, index, processes);
	else
		open_all(&c, o);
	choose_active(&c, active ? active : 1);
	put(control, &a, sizeof(a));
	while (get(control, &order, sizeof(order))) {
		before = switches();
		a = (struct answer) {};
		produce(&c, o, &order, &a);
		a.switches = switches() - before;
		put(control, &a, sizeof(a));
	}
	_exit(TOOL_OK);
}

/* --- the coordinator ------------------------------------------------------ */

static void start_far(struct worker *w, const struct perf_options *o,
		      unsigned int processes)
{
	struct setup setup = {
		.group = group,
		.size = o->size,
		.block = o->block,
		.connections = o->connections,
		.active = o->active,
		.window = o->window,
		.touch = o->touch,
		.cpu = o->cpus[1],
		.processes = processes,
	};
	struct answer ready;

	w->pid = 0;
	w->control = net_connect(o, NET_CONNS);
	put(w->control, &setup, sizeof(setup));
	get_answer(w, &ready);
}

/* @index -1 is the server. */
static void start(struct worker *w, const struct perf_options *o, int index,
		  unsigned int processes)
{
	struct answer ready;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	w->pid = fork();
	if (w->pid < 0)
		die("fork");
	if (!w->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		if (index < 0)
			be_server(o, pair[1], processes);
		be_client(o, pair[1], index, processes);
	}
	close(pair[1]);
	w->control = pair[0];
	get_answer(w, &ready);
}

static void stop(struct worker *w)
{
	/* Later workers hold a copy of the socket: closing it is not enough. */
	shutdown(w->control, SHUT_RDWR);
	close(w->control);
	if (w->pid)
		waitpid(w->pid, NULL, 0);
}

/**
 * struct tally - of one phase, all rounds together
 * @messages: sent
 * @refused: sends that found the window full
 * @switches: context switches of the clients
 * @server_switches: context switches of the server
 */
struct tally {
	uint64_t messages;
	uint64_t refused;
	uint64_t switches;
	uint64_t server_switches;
};

/* Nanoseconds per message. */
static double run(const struct worker *server, const struct worker *clients,
		  unsigned int processes, enum phase phase, uint32_t count,
		  struct tally *tally)
{
	unsigned int i, n = phase == PHASE_ONE ? 1 : processes;
	struct order order = { phase, count / n }, all = { phase, order.count * n };
	struct answer a;

	put(server->control, &all, sizeof(all));
	for (i = 0; i < n; i++)
		put(clients[i].control, &order, sizeof(order));
	for (i = 0; i < n; i++) {
		get_answer(&clients[i], &a);
		tally->refused += a.refused;
		tally->switches += a.switches;
	}
	get_answer(server, &a);
	tally->server_switches += a.switches;
	tally->messages += all.count;
	return a.cost;
}

/**
 * struct outcome - figures of one number of processes
 * @processes: that number
 * @cost: ns per message
 * @ratio: to that of one connection, in the same round
 * @tally: what happened besides
 */
struct outcome {
	unsigned int processes;
	struct spread cost[PHASES];
	struct spread ratio[PHASES];
	struct tally tally[PHASES];
};

static void evaluate(struct outcome *out, double *v[PHASES], unsigned int rounds)
{
	double *ratio = allocate(rounds, sizeof(double));
	unsigned int r;
	int p;

	for (p = PHASES - 1; p >= 0; p--) {
		for (r = 0; r < rounds; r++)
			ratio[r] = v[p][r] / v[PHASE_ONE][r];
		spread_of(&out->ratio[p], ratio, rounds);
		spread_of(&out->cost[p], v[p], rounds);
	}
	free(ratio);
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
	if (o->sockets)
		many_open(processes, o->connections);
	if (o->node < 0)
		start(&server, o, -1, processes);
	else
		start_far(&server, o, processes);
	for (i = 0; i < processes; i++)
		start(&clients[i], o, i, processes);
	for (p = 0; p < PHASES; p++)
		run(&server, clients, processes, p, count, &out->tally[p]);
	memset(out->tally, 0, sizeof(out->tally));
	for (r = 0; r < o->rounds; r++)
		for (i = 0; i < PHASES; i++) {
			p = (i + r) % PHASES;
			v[p][r] = run(&server, clients, processes, p, count,
				      &out->tally[p]);
		}
	for (i = 0; i < processes; i++)
		stop(&clients[i]);
	stop(&server);
	if (o->sockets)
		many_close();
	out->processes = processes;
	evaluate(out, v, o->rounds);
	for (p = 0; p < PHASES; p++)
		free(v[p]);
}

static double per_thousand(const struct tally *t, uint64_t n)
{
	return t->messages ? 1e3 * n / t->messages : 0;
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
	printf("%-12s %9s %9s %9s %9s %9s %9s %9s  by one (min..max)\n", "", "min",
	       "p25", "median", "p75", "max", "refused/k", "switch/k");
	for (p = 0; p < PHASES; p++)
		printf("%-12s %9.0f %9.0f %9.0f %9.0f %9.0f %9.3g %9.3g  %.3f (%.3f..%.3f)\n",
		       phase_names[p], out->cost[p].min, out->cost[p].p25,
		       out->cost[p].median, out->cost[p].p75, out->cost[p].max,
		       per_thousand(&out->tally[p], out->tally[p].refused),
		       per_thousand(&out->tally[p], out->tally[p].switches),
		       out->ratio[p].median, out->ratio[p].min, out->ratio[p].max);
	fflush(stdout);
}

static struct json_object *outcome_json(const struct outcome *out)
{
	struct json_object *j = json_object_new_object();
	struct json_object *a = json_object_new_array(), *one;
	int p;

	json_object_object_add(j, "processes", json_object_new_uint64(out->processes));
	for (p = 0; p < PHASES; p++) {
		one = json_object_new_object();
		json_object_object_add(one, "name", json_object_new_string(phase_names[p]));
		json_object_object_add(one, "what", json_object_new_string(phase_texts[p]));
		json_object_object_add(one, "cost", spread_json(&out->cost[p]));
		json_object_object_add(one, "by_one", spread_json(&out->ratio[p]));
		json_object_object_add(one, "messages",
				       json_object_new_uint64(out->tally[p].messages));
		json_object_object_add(one, "refused",
				       json_object_new_uint64(out->tally[p].refused));
		json_object_object_add(one, "client_switches",
				       json_object_new_uint64(out->tally[p].switches));
		json_object_object_add(one, "server_switches",
				       json_object_new_uint64(out->tally[p].server_switches));
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
	if (getrandom(&group, sizeof(group), 0) != sizeof(group))
		die("random number");
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
		json_object_object_add(j, "unit", json_object_new_string("ns per message"));
		json_object_object_add(j, "carrier",
			json_object_new_string(o.sockets ? "unix" : "dd"));
		json_object_object_add(j, "connections", json_object_new_uint64(o.connections));
		json_object_object_add(j, "active", json_object_new_uint64(o.active));
		json_object_object_add(j, "size", json_object_new_uint64(o.size));
		json_object_object_add(j, "block", json_object_new_uint64(o.block));
		json_object_object_add(j, "window", json_object_new_uint64(o.window));
		json_object_object_add(j, "rounds", json_object_new_uint64(o.rounds));
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
