// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl - the command line: options, a command, a verb.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ddctl.h"

struct options options;

void say(const char *fmt, ...)
{
	va_list ap;

	fputs("ddctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
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
	say("standard output: %s", strerror(errno));
	return EXIT_RUNTIME;
}

int no_arguments(int argc, char **argv)
{
	if (!argc)
		return EXIT_OK;
	say("there is nothing to do with '%s'; see: ddctl help", argv[0]);
	return EXIT_USAGE;
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

static const struct verb *verb_find(const struct command *cmd, const char *name)
{
	const struct verb *v;

	for (v = cmd->verbs; v->name; v++) {
		if (!strcmp(v->name, name))
			return v;
	}
	return NULL;
}

/*
 * A command whose first verb is "" takes all that follows as arguments;
 * for the others no word at all means the first verb.
 */
static int run(const struct command *cmd, int argc, char **argv)
{
	const struct verb *verb = cmd->verbs;

	if (argc && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")))
		return command_help(cmd);
	if (*verb->name && argc) {
		verb = verb_find(cmd, argv[0]);
		if (!verb) {
			say("%s cannot '%s'; see: ddctl help %s", cmd->name,
			    argv[0], cmd->name);
			return EXIT_USAGE;
		}
		argc--;
		argv++;
	}
	return verb->run(argc, argv);
}

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "pretty", no_argument, NULL, 'p' },
	{ "timestamp", no_argument, NULL, 't' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

/*
 * Returns the word that an option stands for, NULL for none of them; "" says
 * that the options make no sense.
 */
static const char *parse_options(int argc, char **argv)
{
	const char *word = NULL;
	int opt;

	while ((opt = getopt_long(argc, argv, "+jptVh", long_options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			options.json = true;
			break;
		case 'p':
			options.json = true;
			options.pretty = true;
			break;
		case 't':
			options.timestamp = true;
			break;
		case 'V':
			word = "version";
			break;
		case 'h':
			word = "help";
			break;
		default:
			return "";
		}
	}
	return word;
}

int main(int argc, char **argv)
{
	const struct command *cmd;
	const char *word;

	word = parse_options(argc, argv);
	if (word && !*word) {
		say("see: ddctl help");
		return EXIT_USAGE;
	}
	argc -= optind;
	argv += optind;
	if (word) {
		argc = 0;
	} else if (argc) {
		word = argv[0];
		argc--;
		argv++;
	} else {
		say("what shall be done? see: ddctl help");
		return EXIT_USAGE;
	}
	cmd = command_find(word);
	if (!cmd) {
		say("no command '%s'; see: ddctl help", word);
		return EXIT_USAGE;
	}
	return finish_output(run(cmd, argc, argv));
}
