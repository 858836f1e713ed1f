// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - rmfs: a file service in remote memory, after Thekkath, Levy and Lazowska
 *
 * Copyright (C) 2026 The dd authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "clerk.h"
#include "client.h"
#include "dd.h"
#include "server.h"
#include "../common/tool.h"

static const char usage[] =
	"Usage: rmfs serve [-n NAME] [-s SIZE] DIRECTORY\n"
	"       rmfs clerk [-x dx|hy|push] NAME [NODE]\n"
	"       rmfs stat|ls|cat|readlink|statfs [-n NAME] PATH...\n"
	"       rmfs write [-n NAME] [-o OFFSET] PATH\n"
	"       rmfs bench [-j] [-c OPERATIONS] [-m FILE] NAME [NODE]\n"
	"A file service in remote memory, see rmfs(1).\n"
	"  -n NAME        of the server (rmfs)\n"
	"  -s SIZE        bytes of file data in the cache (8M)\n"
	"  -x SCHEME      dx: read the caches of the server; hy: send requests; push: use a copy\n"
	"                 of the caches, which the server writes (dx)\n"
	"  -o OFFSET      where standard input is written to in the file (0)\n"
	"  -c OPERATIONS  of each kind that are measured (1000)\n"
	"  -j             print JSON\n"
	"  -m FILE        gets a line before and after each series of operations\n"
	"  -h, --help     print this text\n"
	"  -V, --version  print the version\n";

int main(int argc, char **argv)
{
	tool_begin("rmfs");
	if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		fputs(usage, stdout);
		return TOOL_OK;
	}
	if (argc > 1 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version")))
		tool_version();
	if (argc < 2)
		tool_usage("a command is missing");
	argc--;
	argv++;
	if (!strcmp(argv[0], "serve"))
		return serve(argc, argv);
	if (!strcmp(argv[0], "clerk"))
		return clerk(argc, argv);
	if (!strcmp(argv[0], "bench"))
		return bench(argc, argv);
	return client(argc, argv);
}
