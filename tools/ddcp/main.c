// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddcp - copies a file from one process to another by direct deposit
 *
 * Copyright (C) 2026 The dd authors
 */
#include <getopt.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ddcp.h"
#include "progress.h"
#include "proto.h"
#include "../common/tool.h"

static const char usage[] =
"Usage: ddcp send [OPTION]... FILE\n"
"       ddcp recv [OPTION]...\n"
"Copies a file of any size from one process to another by direct deposit.\n"
"\n"
"  -n, --name NAME      name of the receiver [ddcp]\n"
"  -b, --slot-size N    bytes in a slot of the buffer, whole pages [256K]\n"
"  -S, --slots N        slots in the buffer, 2 at least [2]\n"
"  -q, --quiet          no progress bar, no summary\n"
"  -j, --json           summary as JSON on standard output\n"
"  -h, --help           this text\n"
"  -V, --version        version\n"
"send:\n"
"  FILE                 file to send; - is standard input\n"
"  -N, --node N         node of the receiver [this one]\n"
"  -a, --as NAME        name to give to the receiver [that of FILE, or stdin]\n"
"  -w, --wait SECONDS   wait that long for the receiver to be there [0]\n"
"recv:\n"
"  -o, --output FILE    file to write; - is standard output\n"
"  -d, --dir DIR        directory for files by the sender's name [.]\n"
"  -f, --force          a sender's name may replace a file\n"
"  -c, --count N        end after N files [1]; 0: never\n"
"\n"
"Exit status: 0 copied and verified, 1 failed, 2 wrong command line,\n"
"3 dd is not available, 4 the other side went away.\n";

static const struct option options[] = {
	{ "name", required_argument, NULL, 'n' },
	{ "slot-size", required_argument, NULL, 'b' },
	{ "slots", required_argument, NULL, 'S' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ "node", required_argument, NULL, 'N' },
	{ "as", required_argument, NULL, 'a' },
	{ "wait", required_argument, NULL, 'w' },
	{ "output", required_argument, NULL, 'o' },
	{ "dir", required_argument, NULL, 'd' },
	{ "force", no_argument, NULL, 'f' },
	{ "count", required_argument, NULL, 'c' },
	{ }
};

int outcome_fail(struct outcome *r, int error, const char *format, ...)
{
	char text[ERROR_TEXT];
	va_list args;

	if (r->error)
		return -1;
	r->error = error < 0 ? -error : error;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* There may be names in it, and words, that the other side chose. */
	tool_print_name(r->text, sizeof(r->text), text);
	return -1;
}

int outcome_code(const struct outcome *r)
{
	switch (r->error) {
	case 0:
		return TOOL_OK;
	case ENOCMP:
		return TOOL_UNAVAILABLE;
	case ECONNCLOSE:
		return TOOL_PEER;
	default:
		return TOOL_FAILED;
	}
}

static double rate(const struct outcome *r)
{
	return r->nanoseconds ? r->size * 1e9 / r->nanoseconds : 0;
}

static void report_json(const struct outcome *r, const struct options *o)
{
	struct json_object *j = json_object_new_object();
	char clean[NAME_MAX + 2];

	json_object_object_add(j, "role", json_object_new_string(o->send ? "send" : "recv"));
	json_object_object_add(j, "status", json_object_new_string(r->error ? "error" : "ok"));
	if (r->error)
		json_object_object_add(j, "error", json_object_new_string(r->text));
	else
		json_object_object_add(j, "xxh128", json_object_new_string(r->hash));
	json_object_object_add(j, "name", json_object_new_string(
		tool_print_name(clean, sizeof(clean), r->name)));
	json_object_object_add(j, "bytes", json_object_new_uint64(r->size));
	json_object_object_add(j, "seconds", json_object_new_double(r->nanoseconds / 1e9));
	json_object_object_add(j, "bytes_per_second", json_object_new_double(rate(r)));
	json_object_object_add(j, "slots", json_object_new_uint64(r->slots));
	json_object_object_add(j, "slot_size", json_object_new_uint64(r->slot_size));
	puts(json_object_to_json_string_ext(j, JSON_C_TO_STRING_PRETTY |
						JSON_C_TO_STRING_SPACED));
	fflush(stdout);
	json_object_put(j);
}

void outcome_report(const struct outcome *r, const struct options *o)
{
	char name[NAME_MAX + 1], amount[16], speed[16];

	if (r->error)
		tool_warn("%s", r->text);
	else if (!o->quiet)
		fprintf(stderr, "%s: %s %s, %s in %.3f s, %s/s, checksum verified\n",
			tool_name, o->send ? "sent" : "received",
			tool_print_name(name, sizeof(name), r->name),
			progress_bytes(amount, r->size), r->nanoseconds / 1e9,
			progress_bytes(speed, rate(r)));
	if (o->json)
		report_json(r, o);
}

int ddcp_fail(struct outcome *r, struct dd *h, int error, const char *what)
{
	char more[512];

	if (!h || dd_last_error(h, more, sizeof(more)) || !more[0])
		return outcome_fail(r, error, "%s: %s", what, dd_strerror(error));
	return outcome_fail(r, error, "%s: %s (%s)", what, dd_strerror(error), more);
}

int ddcp_refused(const struct options *o, struct dd *h, int error,
		 const char *what)
{
	struct outcome r = { 0 };

	ddcp_fail(&r, h, error, what);
	outcome_report(&r, o);
	return error;
}

struct dd *ddcp_open(const struct options *o)
{
	struct dd *h;
	int ret = dd_open(&h);

	if (!ret)
		return h;
	exit(tool_exit_code(ddcp_refused(o, NULL, ret, "/dev/dd")));
}

static void parse_one(struct options *o, int c)
{
	size_t page = sysconf(_SC_PAGESIZE);

	switch (c) {
	case 'n':
		o->name = optarg;
		break;
	case 'b':
		o->slot_size = tool_number("--slot-size", optarg, 1, PROTO_SLOT_MAX);
		o->slot_size = (o->slot_size + page - 1) / page * page;
		break;
	case 'S':
		o->slots = tool_number("--slots", optarg, 2, PROTO_SLOTS_MAX);
		break;
	case 'N':
		o->node = tool_number("--node", optarg, 0, INT_MAX);
		break;
	case 'a':
		o->as = optarg;
		break;
	case 'w':
		o->wait = tool_number("--wait", optarg, 0, 86400);
		break;
	case 'o':
		o->file = optarg;
		break;
	case 'd':
		o->dir = optarg;
		break;
	case 'c':
		o->count = tool_number("--count", optarg, 0, UINT64_MAX);
		break;
	default:
		o->force |= c == 'f';
		o->quiet |= c == 'q';
		o->json |= c == 'j';
	}
}

static void parse(struct options *o, int argc, char **argv)
{
	static const char common[] = "n:b:S:qjhV";
	const char *others = o->send ? "odfc" : "Naw";
	int c, index;

	while (index = -1, (c = getopt_long(argc, argv, "n:b:S:qjhVN:a:w:o:d:fc:",
					    options, &index)) != -1) {
		if (c == '?')
			tool_usage("wrong option");
		if (c == 'h') {
			fputs(usage, stdout);
			exit(TOOL_OK);
		}
		if (c == 'V') {
			printf("ddcp %s\n", DD_VERSION);
			exit(TOOL_OK);
		}
		if (!strchr(common, c) && strchr(others, c))
			tool_usage("'%s' is no option of '%s'",
				   tool_option(c, options, index),
				   o->send ? "send" : "recv");
		parse_one(o, c);
	}
	if (o->send && optind + 1 != argc)
		tool_usage(optind == argc ? "send what?" : "one file at a time");
	if (!o->send && optind != argc)
		tool_usage("what is '%s'?", argv[optind]);
	if (o->send)
		o->file = argv[optind];
}

static void check(const struct options *o)
{
	if (!o->name[0] || strlen(o->name) > 63)
		tool_usage("--name: 1 to 63 bytes");
	if (o->send)
		return;
	if (o->file && o->dir)
		tool_usage("--output names the file, --dir lets the sender name it: only one of them");
	if (o->file && o->count != 1)
		tool_usage("--output takes one file, --count says %llu",
			   (unsigned long long)o->count);
	if (o->file && !strcmp(o->file, "-") && o->json)
		tool_usage("standard output cannot take both the file and --json");
}

int main(int argc, char **argv)
{
	struct options o = {
		.name = "ddcp",
		.node = -1,
		.count = 1,
		.slots = 2,
		.slot_size = 256 << 10,
	};

	tool_begin("ddcp");
	if (argc < 2)
		tool_usage("send or recv?");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		if (strchr(argv[1], 'h'))
			fputs(usage, stdout);
		else
			printf("ddcp %s\n", DD_VERSION);
		return TOOL_OK;
	}
	o.send = !strcmp(argv[1], "send");
	if (!o.send && strcmp(argv[1], "recv"))
		tool_usage("'%s': send or recv?", argv[1]);
	parse(&o, argc - 1, argv + 1);
	check(&o);
	/* A closed pipe is an error to report, to the other side as well. */
	signal(SIGPIPE, SIG_IGN);
	return o.send ? ddcp_send(&o) : ddcp_recv(&o);
}
