// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl - the command line: options, a command, a verb.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddctl.h"
#include "nl.h"

struct options options;

/* Every line that say() has printed, for print_error(). */
static char *said;

/* Standard error is unbuffered: one call is one write(), so lines do not mix. */
void say(const char *fmt, ...)
{
	char *text = NULL, *all = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	fprintf(stderr, "ddctl: %s\n", text ? text : "out of memory");
	if (asprintf(&all, "%s%s%s", said ? said : "", said ? "\n" : "",
		     text ? text : "") >= 0) {
		free(said);
		said = all;
	}
	free(text);
}

void *must(void *p)
{
	if (p)
		return p;
	say("out of memory");
	exit(EXIT_RUNTIME);
}

/* With -j a failed command ends with this object. */
static void print_error(int status)
{
	json_object *obj = json_object_new_object();

	json_add(obj, "status", json_str("error"));
	json_add(obj, "exit_status", json_int(status));
	json_add(obj, "error", text_to_json(said ? said : ""));
	print_json(obj);
}

void print_json(json_object *value)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

	flags |= options.pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED
				: JSON_C_TO_STRING_PLAIN;
	puts(json_object_to_json_string_ext(value, flags));
	json_object_put(value);
}

int finish_output(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return fail(EXIT_RUNTIME, "standard output: %s", strerror(errno));
}

const struct command *command_find(const char *name)
{
	const struct command *const *c;

	for_each_command(c) {
		if (!strcmp((*c)->name, name))
			return *c;
	}
	return NULL;
}

/* A command without verbs has one verb ""; for others the first is the default. */
static int run(const struct command *cmd, int argc, char **argv)
{
	const struct verb *verb = cmd->verbs;

	if (*verb->name && argc) {
		while (verb->name && strcmp(verb->name, argv[0]))
			verb++;
		if (!verb->name)
			return fail(EXIT_USAGE, "%s cannot '%s'; see: ddctl help %s",
				    cmd->name, argv[0], cmd->name);
		argc--;
		argv++;
	}
	if (argc && !verb->args)
		return fail(EXIT_USAGE, "%s takes no argument '%s'; see: ddctl help %s",
			    cmd->name, argv[0], cmd->name);
	return verb->show ? ddnl_show(verb->show) : verb->run(argc, argv);
}

/* Options may stand anywhere; -h after a command describes that command. */
static int obey(int argc, char **argv)
{
	static const struct option list[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "pretty", no_argument, NULL, 'p' },
		{ "timestamp", no_argument, NULL, 't' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ "check", no_argument, NULL, 'c' },
		{ "node", required_argument, NULL, 'n' },
		{ }
	};
	bool help = false, version = false, apply = false;
	const struct command *cmd;
	const char *word;
	int c, status = EXIT_OK;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":jptVh", list, NULL)) != -1) {
		options.json |= c == 'j' || c == 'p';
		options.pretty |= c == 'p';
		options.timestamp |= c == 't';
		options.check |= c == 'c';
		if (c == 'n')
			options.node = optarg;
		apply |= c == 'c' || c == 'n';
		version |= c == 'V';
		help |= c == 'h';
		/* Continue: -j may follow. */
		if (c == ':' || c == '?')
			status = EXIT_USAGE;
		if (c == ':')
			say("'%s' needs a value; see: ddctl help", argv[optind - 1]);
		else if (c == '?' && optopt)
			say("'-%c' is no option; see: ddctl help", optopt);
		else if (c == '?')
			say("'%s' is no option; see: ddctl help", argv[optind - 1]);
	}
	if (status)
		return status;
	word = argv[optind];
	if (!word || version)
		word = version ? "version" : help ? "help" : NULL;
	if (!word)
		return fail(EXIT_USAGE, "no command given; see: ddctl help");
	cmd = command_find(word);
	if (!cmd)
		return fail(EXIT_USAGE, "no command '%s'; see: ddctl help", word);
	if (apply && strcmp(word, "apply"))
		return fail(EXIT_USAGE, "--check and --node are options of apply only");
	if (version || optind == argc)
		return run(cmd, 0, NULL);
	if (help)
		return command_help(cmd);
	return run(cmd, argc - optind - 1, argv + optind + 1);
}

int main(int argc, char **argv)
{
	int status;

	setlocale(LC_CTYPE, "");
	status = obey(argc, argv);
	/* The findings of doctor are its output. */
	if (options.json && status != EXIT_OK && status != EXIT_FINDINGS)
		print_error(status);
	return finish_output(status);
}
