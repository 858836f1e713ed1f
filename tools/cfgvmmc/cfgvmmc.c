// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cfgvmmc - sessions of VMMC on a node: begin and end them, run and kill processes
 *
 * Copyright (C) 2026 The dd authors
 *
 * It runs on any machine that has the munge key of the cluster.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/tool.h"
#include "../vmmcsvr/fields.h"
#include "../vmmcsvr/wire.h"

#define PATIENCE_S	90	/* longer than the server takes at most */

static const char usage[] =
	"Usage: cfgvmmc HOST add SESSION USER PASSWORD DRIVE NETSHARE OUTDIR\n"
	"       cfgvmmc HOST del SESSION\n"
	"       cfgvmmc HOST run SESSION WORKINGDIR PROGRAMPATH [ARGUMENT]...\n"
	"       cfgvmmc HOST kill SESSION [PID]\n"
	"Sessions of VMMC on a node, see cfgvmmc(1).\n"
	"  add         begin a session; \"\" is no USER, no PASSWORD, no NETSHARE; - is no DRIVE\n"
	"  del         end it, and all its processes\n"
	"  run         start a process\n"
	"  kill        end all processes, or one\n"
	"  -p PORT     TCP port of the server, before HOST (56797)\n"
	"  -h, --help  print this text\n"
	"  -V, --version\n"
	"              print the version\n";

static const struct option long_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

static const struct verb {
	const char *name;
	int min, max;	/* arguments after it; -1: any number */
} verbs[] = {
	{ "add", 6, 6 }, { "del", 1, 1 }, { "run", 3, -1 }, { "kill", 1, 2 },
};

static void verb_check(const char *name, int args)
{
	const struct verb *v = verbs;

	while (v < verbs + 4 && strcmp(v->name, name))
		v++;
	if (v == verbs + 4)
		tool_usage("'%s' is not add, del, run or kill", name);
	if (args < v->min || (v->max >= 0 && args > v->max))
		tool_usage("%s takes %s%d argument%s, not %d", name, v->max < 0 ? "at least " :
			   v->max > v->min && args > v->max ? "at most " : "",
			   args < v->min ? v->min : v->max, tool_s(v->min), args);
}

/* For run, the list of hosts and the number of arguments come before these. */
static char *request_make(const char *verb, char **arg, int count, size_t *len)
{
	const char *hosts = getenv("VMMCHOSTS");
	char *data;
	FILE *f = open_memstream(&data, len);

	if (f)
		put(f, verb);
	for (int i = 0; f && i <= count; i++) {
		if (!strcmp(verb, "run") && i == 3) {
			put(f, hosts ? hosts : "");
			put_number(f, count - 3);
		}
		if (i < count)
			put(f, arg[i]);
	}
	if (!f || fclose(f) || *len > FRAME_MAX / 2) {
		tool_warn("the arguments have more than %d bytes", FRAME_MAX / 2);
		exit(TOOL_FAILED);
	}
	return data;
}

int main(int argc, char **argv)
{
	const char *host, *port = VMMCSVR_PORT;
	char *request, why[512], **field;
	int opt, count;
	size_t len;

	tool_begin("cfgvmmc");
	while ((opt = getopt_long(argc, argv, "+p:hV", long_options, NULL)) != -1) {
		switch (opt) {
		case 'p':
			port = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return TOOL_OK;
		case 'V':
			tool_version();
		default:
			tool_bad_option(argv);
		}
	}
	if (argc - optind < 2)
		tool_usage("HOST and a command are missing");
	host = argv[optind];
	argv += optind + 2;
	argc -= optind + 2;
	verb_check(argv[-1], argc);
	request = request_make(argv[-1], argv, argc, &len);
	field = server_ask(host, port, request, len, PATIENCE_S, &count, why, sizeof(why));
	if (!field) {
		tool_warn("%s", why);
		return TOOL_UNAVAILABLE;
	}
	if (strcmp(field[0], "0")) {
		tool_warn("%s: %s", host, field[1]);
		return atoi(field[0]) == EINVAL ? TOOL_USAGE : TOOL_FAILED;
	}
	if (count >= 4)
		printf("process %s, pid %s\n", field[2], field[3]);
	return TOOL_OK;
}
