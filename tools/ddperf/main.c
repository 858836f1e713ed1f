// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddperf - measures direct deposit beside controls that do the same work
 *
 * Copyright (C) 2026 The dd authors
 */
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "conns.h"
#include "flow.h"
#include "insn.h"
#include "mem.h"
#include "method.h"
#include "pair.h"
#include "process.h"
#include "../common/tool.h"

static const char usage[] =
"Usage: ddperf lat|bw|rate|insn|conns|mem|put|get|cas [OPTION]...\n"
"       ddperf net lat|bw|rate|insn|trip|conns|put|get|cas --node N [OPTION]...\n"
"       ddperf net serve [--port PORT]\n"
"Measures direct deposit, and controls that do the same work in the same run.\n"
"\n"
"  lat    round trip between two processes\n"
"  bw     one-way bandwidth\n"
"  rate   one-way message rate\n"
"  insn   cost of one message in a single process; instructions, where the\n"
"         clock counts them (QEMU -icount)\n"
"  conns  cost of a message while many connections are open\n"
"  mem    kernel memory of an idle connection\n"
"  put, get, cas  write to, read from, and swap a word of, memory of a process\n"
"         that takes no part\n"
"net: between this node and another one, beside TCP\n"
"  lat, bw, rate, conns, put, get, cas   as above\n"
"  insn   cost of a message in one direction, both nodes together; both must be\n"
"         network namespaces of one machine; instructions, as above\n"
"  trip   cost of a message of a round trip, both nodes together\n"
"  serve  the other side of all these\n"
"\n"
"  -s, --size BYTES      message size [64; bw: 1M]; lat, bw, rate: or several,\n"
"                        separated by commas\n"
"  -n, --iterations N    messages per round [by test and size]\n"
"  -c, --cpus A,B        CPU of either side [the first two allowed]\n"
"  -r, --rounds N        interleaved rounds of all methods [11]\n"
"  -t, --touch           the receiver reads every byte\n"
"  -j, --json            report as JSON\n"
"  -h, --help            this text\n"
"  -V, --version         version\n"
"lat, bw, rate:\n"
"      --sleep           wait asleep, not spinning\n"
"  -m, --methods LIST    beside direct deposit only these [all]\n"
"bw, rate, conns:\n"
"  -w, --window N        messages that may be unconsumed, per connection\n"
"                        [bw: 8, rate: 64, conns: 2]\n"
"conns, mem, put, get, cas:\n"
"  -N, --connections N   connections to open [10000], or segments to import [1],\n"
"                        which are used in turn\n"
"conns:\n"
"  -A, --active N        connections in use at random [64]\n"
"  -P, --processes LIST  numbers of client processes [1,16]\n"
"  -B, --block BYTES     of a connection; the sender deposits directly in blocks of\n"
"                        whole pages [the size, in whole words]\n"
"net:\n"
"      --node N          the other node, where \"ddperf net serve\" runs\n"
"      --port PORT       TCP port of its server [56798]\n"
"\n"
"Exit status: 0 measured, 1 failed, 2 wrong command line,\n"
"3 dd is not available, 4 the other side went away.\n";

/* Letters that are no short options. */
enum { OPT_SLEEP = 'Z', OPT_NODE = 'o', OPT_PORT = 'p' };

static const struct option long_options[] = {
	{ "size", required_argument, NULL, 's' },
	{ "iterations", required_argument, NULL, 'n' },
	{ "cpus", required_argument, NULL, 'c' },
	{ "rounds", required_argument, NULL, 'r' },
	{ "touch", no_argument, NULL, 't' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ "sleep", no_argument, NULL, OPT_SLEEP },
	{ "node", required_argument, NULL, OPT_NODE },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "methods", required_argument, NULL, 'm' },
	{ "window", required_argument, NULL, 'w' },
	{ "connections", required_argument, NULL, 'N' },
	{ "active", required_argument, NULL, 'A' },
	{ "processes", required_argument, NULL, 'P' },
	{ "block", required_argument, NULL, 'B' },
	{ }
};

#define COMMON	"hVj"
#define FLOW	COMMON "sncrtZm"
#define NET	"op"

static int serve(const struct perf_options *o)
{
	static pair_answer *const answers[NET_KINDS] = {
		[NET_PAIR] = flow_answer,
		[NET_CONNS] = conns_answer,
		[NET_ACCESS] = access_answer,
	};

	net_serve(o->port, answers);
}

/**
 * struct test_command - a test
 * @name: its name on the command line
 * @net: between nodes
 * @options: letters of its options
 * @size: default bytes in a message
 * @run: returns the exit code; NULL: perf_flow() measures @test
 * @test: what it measures
 */
static const struct test_command {
	const char *name;
	bool net;
	const char *options;
	size_t size;
	int (*run)(const struct perf_options *o);
	enum test test;
} commands[] = {
	{ "lat", false, FLOW, 64, NULL, TEST_LAT },
	{ "bw", false, FLOW "w", 1 << 20, NULL, TEST_BW },
	{ "rate", false, FLOW "w", 64, NULL, TEST_RATE },
	{ "insn", false, COMMON "snc", 64, .run = perf_insn },
	{ "conns", false, COMMON "sncrtwNAPB", 64, .run = perf_conns },
	{ "mem", false, COMMON "N", 64, .run = perf_mem },
	{ "put", false, COMMON "sncrN", 64, .run = perf_put },
	{ "get", false, COMMON "sncrN", 64, .run = perf_get },
	{ "cas", false, COMMON "ncrN", 8, .run = perf_cas },
	{ "lat", true, FLOW NET, 64, NULL, TEST_LAT },
	{ "bw", true, FLOW NET "w", 1 << 20, NULL, TEST_BW },
	{ "rate", true, FLOW NET "w", 64, NULL, TEST_RATE },
	{ "insn", true, COMMON NET "sncrtw", 64, NULL, TEST_INSN },
	{ "trip", true, COMMON NET "sncrt", 64, NULL, TEST_TRIP },
	{ "conns", true, COMMON NET "sncrtwNAPB", 64, .run = perf_conns },
	{ "put", true, COMMON NET "sncrN", 64, .run = perf_put },
	{ "get", true, COMMON NET "sncrN", 64, .run = perf_get },
	{ "cas", true, COMMON NET "ncrN", 8, .run = perf_cas },
	{ "serve", true, "hVp", 64, .run = serve },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void parse_cpus(struct perf_options *o, const char *text)
{
	char a[16], b[16] = "";

	if (sscanf(text, "%15[^,],%15s", a, b) < 1)
		tool_usage("--cpus: A,B");
	o->cpus[0] = tool_number("--cpus", a, 0, CPU_SETSIZE - 1);
	o->cpus[1] = b[0] ? (int)tool_number("--cpus", b, 0, CPU_SETSIZE - 1) :
			    o->cpus[0];
}

/*
 * The next of the words that commas separate, in a buffer of its own, since
 * reports show the command line as it was given; NULL at the end.
 */
static const char *next_word(const char **text)
{
	static char word[64];
	size_t len;

	if (!*text)
		return NULL;
	len = strcspn(*text, ",");
	snprintf(word, sizeof(word), "%.*s", (int)len, *text);
	*text = (*text)[len] ? *text + len + 1 : NULL;
	return word;
}

static void parse_processes(struct perf_options *o, const char *text)
{
	const char *word;

	o->variants = 0;
	while ((word = next_word(&text))) {
		if (o->variants == VARIANTS_MAX)
			tool_usage("--processes: at most %d numbers", VARIANTS_MAX);
		o->processes[o->variants++] =
			tool_number("--processes", word, 1, PROCESSES_MAX);
	}
}

static void parse_sizes(struct perf_options *o, const char *text)
{
	const char *word;

	o->size_count = 0;
	while ((word = next_word(&text))) {
		if (o->size_count == SIZES_MAX)
			tool_usage("--size: at most %d", SIZES_MAX);
		o->sizes[o->size_count++] =
			tool_number("--size", word, 1, SIZE_MAX_BYTES);
	}
	o->size = o->sizes[0];
}

/* A number, whose member has the name of its option. */
#define NUMBER(c, member, min, max)					\
	case c:								\
		o->member = tool_number("--" #member, optarg, min, max); \
		break
#define FLAG(c, member)							\
	case c:								\
		o->member = true;					\
		break

static void parse_one(struct perf_options *o, int c)
{
	switch (c) {
	NUMBER('n', iterations, 1, 1u << 30);
	NUMBER('r', rounds, 1, 10000);
	NUMBER('w', window, 1, 256);
	NUMBER('N', connections, 1, CONNECTIONS_MAX);
	NUMBER('A', active, 1, CONNECTIONS_MAX);
	NUMBER('B', block, 8, SIZE_MAX_BYTES);
	NUMBER(OPT_NODE, node, 0, 4095);
	NUMBER(OPT_PORT, port, 1, 65535);
	FLAG('t', touch);
	FLAG('j', json);
	FLAG(OPT_SLEEP, sleep);
	case 's':
		parse_sizes(o, optarg);
		break;
	case 'c':
		parse_cpus(o, optarg);
		break;
	case 'm':
		methods_check(optarg);
		o->methods = optarg;
		break;
	case 'P':
		parse_processes(o, optarg);
		break;
	}
}

static void parse(struct perf_options *o, const struct test_command *cmd,
		  int argc, char **argv)
{
	int c, index;

	while (index = -1, (c = getopt_long(argc, argv, "s:n:c:r:tjhVw:N:A:P:B:m:",
					    long_options, &index)) != -1) {
		if (c == '?')
			tool_bad_option(argv);
		if (c == 'h') {
			fputs(usage, stdout);
			exit(TOOL_OK);
		}
		if (c == 'V')
			tool_version();
		if (!strchr(cmd->options, c))
			tool_usage("'%s' is no option of '%s%s'",
				   tool_option(c, long_options, index),
				   cmd->net ? "net " : "", cmd->name);
		parse_one(o, c);
	}
	if (optind < argc)
		tool_usage("'%s' is no option", argv[optind]);
	if (cmd->net && o->node < 0 && cmd->run != serve)
		tool_usage("--node: the number of the other node is missing");
	if (o->size_count > 1 && !strchr(cmd->options, 'm'))
		tool_usage("--size: only one");
	if (!o->connections)
		o->connections = cmd->run == perf_conns || cmd->run == perf_mem ? 10000 : 1;
	if (!o->size_count)
		o->sizes[o->size_count++] = o->size = cmd->size;
}

static const struct test_command *find_command(bool net, const char *name)
{
	const struct test_command *c;

	for (c = commands; c < commands + COMMANDS; c++)
		if (c->net == net && !strcmp(name, c->name))
			return c;
	if (net)
		tool_usage("'net %s': lat, bw, rate, insn, trip, conns, put, get, cas or serve?",
			   name);
	tool_usage("'%s': lat, bw, rate, insn, conns, mem, put, get, cas or net?", name);
}

int main(int argc, char **argv)
{
	struct perf_options o = {
		.argc = argc,
		.argv = argv,
		.cpus = { -1, -1 },
		.rounds = 11,
		.active = 64,
		.processes = { 1, 16 },
		.variants = 2,
		.node = -1,
		.port = 56798,
	};
	const struct test_command *cmd;
	bool net;

	tool_begin("ddperf");
	if (argc < 2)
		tool_usage("measure what?");
	if (argv[1][0] == '-')
		parse(&o, commands, argc, argv);	/* --help, --version */
	net = !strcmp(argv[1], "net");
	if (argc < 2 + net)
		tool_usage("net: measure what?");
	if (net && argv[2][0] == '-')
		parse(&o, commands, argc - 1, argv + 1);
	cmd = find_command(net, argv[1 + net]);
	parse(&o, cmd, argc - 1 - net, argv + 1 + net);
	/* Fail here, before there is a server, if dd is not available. */
	dd_shutdown(perf_open());
	return cmd->run ? cmd->run(&o) : perf_flow(cmd->test, &o);
}
