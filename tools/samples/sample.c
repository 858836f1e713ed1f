// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copyright (C) 2026 The dd authors
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sample.h"
#include "../common/tool.h"

static const struct option server_options[] = {
	{ "name", required_argument, NULL, 's' },
	{ "echo", required_argument, NULL, 's' },
	{ "reverse", required_argument, NULL, 'r' },
	{ "connections", required_argument, NULL, 'c' },
	{ "size", required_argument, NULL, 'b' },
	{ "requests", required_argument, NULL, 'n' },
	{ "once", no_argument, NULL, 'o' },
	{ "ready-fd", required_argument, NULL, 'f' },
	{ "spin", no_argument, NULL, 'S' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

static const struct option client_options[] = {
	{ "node", required_argument, NULL, 'N' },
	{ "name", required_argument, NULL, 's' },
	{ "echo", required_argument, NULL, 's' },
	{ "reverse", required_argument, NULL, 'r' },
	{ "count", required_argument, NULL, 'n' },
	{ "size", required_argument, NULL, 'b' },
	{ "sleep", no_argument, NULL, 'Z' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

static void help_names(const struct sample_options *o)
{
	if (o->name2)
		printf("  --echo NAME       name of the echo service [%s]\n"
		       "  --reverse NAME    name of the reverse service [%s]\n",
		       o->name, o->name2);
	else
		printf("  --name NAME       name of the service [%s]\n", o->name);
}

static void help(const struct sample_options *o, enum sample_kind kind,
		 const char *purpose)
{
	printf("Usage: %s [OPTION]...\n%s\n\n", tool_name, purpose);
	help_names(o);
	if (kind == SAMPLE_SERVER)
		printf("  --connections N   connections at a time, per service [%d]\n"
		       "  --size BYTES      buffer of a connection, each way [%zu]\n"
		       "  --requests N      end after N requests [0: never]\n"
		       "  --once            end after one request\n"
		       "  --ready-fd FD     write \"ready\" there when serving [1]\n"
		       "  --spin            wait spinning, not asleep\n",
		       o->connections, o->size);
	else
		printf("  --node N          node of the services [this one]\n"
		       "  --count N         requests to each service [%llu]\n"
		       "  --size BYTES      bytes in a request [%zu]\n"
		       "  --sleep           wait asleep, not spinning\n",
		       (unsigned long long)o->count, o->size);
	printf("  --quiet           say nothing unless something is wrong\n\n"
	       "Exit status: 0 done, 1 failed, 2 wrong command line,\n"
	       "3 dd is not available, 4 the other side went away.\n");
	exit(TOOL_OK);
}

static void parse_one(struct sample_options *o, int c)
{
	switch (c) {
	case 's':
		o->name = optarg;
		break;
	case 'r':
		if (!o->name2)
			tool_usage("there is no second service");
		o->name2 = optarg;
		break;
	case 'c':
		o->connections = tool_number("--connections", optarg, 1, 65536);
		break;
	case 'b':
		o->size = tool_number("--size", optarg, 1, 1 << 30);
		break;
	case 'n':
		o->count = tool_number("--count", optarg, 0, UINT64_MAX);
		break;
	case 'N':
		o->node = tool_number("--node", optarg, 0, INT32_MAX);
		break;
	case 'f':
		o->ready_fd = tool_number("--ready-fd", optarg, 0, INT32_MAX);
		break;
	case 'o':
		o->count = 1;
		break;
	default:
		o->sleep = c == 'Z' || (c != 'S' && o->sleep);
		o->quiet |= c == 'q';
	}
}

void sample_parse(struct sample_options *o, enum sample_kind kind,
		  const char *purpose, int argc, char **argv)
{
	const struct sample_options defaults = *o;
	int c;

	tool_begin(program_invocation_short_name);
	while ((c = getopt_long(argc, argv, "h", kind == SAMPLE_SERVER ?
				server_options : client_options, NULL)) != -1) {
		if (c == '?')
			tool_usage("wrong option");
		if (c == 'h')
			help(&defaults, kind, purpose);
		if (c == 'V') {
			printf("%s %s\n", tool_name, DD_VERSION);
			exit(TOOL_OK);
		}
		parse_one(o, c);
	}
	if (optind < argc)
		tool_usage("what is '%s'?", argv[optind]);
}

void sample_die(const char *call)
{
	int code = tool_exit_code(errno);

	dderror("%s: %s", tool_name, call);
	exit(code);
}

void sample_ready(const struct sample_options *o)
{
	if (write(o->ready_fd, "ready\n", 6) != 6)
		tool_warn("--ready-fd %d: %s", o->ready_fd, strerror(errno));
}

address_t sample_alloc(size_t size)
{
	address_t p = ddalloc(size);

	if (!p)
		sample_die("ddalloc");
	return p;
}

static char pattern(uint64_t number, size_t i)
{
	return number * 31 + i * 7 + (i >> 8);
}

void sample_fill(address_t p, size_t size, uint64_t number)
{
	size_t i;

	for (i = 0; i < size; i++)
		p[i] = pattern(number, i);
}

bool sample_check(const char *p, size_t size, uint64_t number, bool reversed)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (p[reversed ? size - 1 - i : i] != pattern(number, i))
			return false;
	return true;
}
