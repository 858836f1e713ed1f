// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl - the command line: options, a command, a verb.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddctl.h"
#include "text.h"

struct options options;

/* All that say() has said, for print_error(); a line each. */
static char *said;

/* Standard error has no buffer: one call is one write(), so lines do not mix. */
void say(const char *fmt, ...)
{
	char *text, *all;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	fprintf(stderr, "ddctl: %s\n", text);
	if (asprintf(&all, "%s%s%s", said ? said : "", said ? "\n" : "", text) >= 0) {
		free(said);
		said = all;
	}
	free(text);
}

/* The same for programs: with -j whatever ends badly ends with this object. */
static void print_error(int status)
{
	json_object *obj = json_object_new_object();

	json_object_object_add(obj, "status", json_object_new_string("error"));
	json_object_object_add(obj, "exit_status", json_object_new_int(status));
	json_object_object_add(obj, "error", text_to_json(said ? said : ""));
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

/* ---- options, which may stand anywhere ---------------------------------- */

static const struct option {
	const char *name;
	char letter;
} all_options[] = {
	{ "json", 'j' },
	{ "pretty", 'p' },
	{ "timestamp", 't' },
	{ "version", 'V' },
	{ "help", 'h' },
	{ }
};

/**
 * struct line - a command line without its options
 * @words: the words that are left
 * @count: how many
 * @bad: first word in front of the command that should be an option
 * @version: asked for
 * @help: asked for in front of the command
 * @command_help: asked for behind it
 */
struct line {
	char **words;
	int count;
	const char *bad;
	bool version;
	bool help;
	bool command_help;
};

static void take_option(struct line *l, char letter)
{
	options.json |= letter == 'j' || letter == 'p';
	options.pretty |= letter == 'p';
	options.timestamp |= letter == 't';
	l->version |= letter == 'V';
	l->help |= letter == 'h' && !l->count;
	l->command_help |= letter == 'h' && l->count;
}

/* The letters that a word stands for; NULL if it is no option of these. */
static const char *option_letters(const char *word)
{
	static char one[2];
	const struct option *o;
	size_t len;

	if (word[0] != '-' || !word[1])
		return NULL;
	if (word[1] != '-')
		return strspn(word + 1, "jptVh") == strlen(word + 1) ? word + 1 : NULL;
	word += 2;
	len = strlen(word);
	for (o = all_options; len && o->name; o++) {
		/* As long as one can tell which it is: no two begin alike. */
		if (!strncmp(o->name, word, len)) {
			one[0] = o->letter;
			return one;
		}
	}
	return NULL;
}

/* Other words that begin with a '-' are arguments, for the command to judge. */
static void split(struct line *l, int argc, char **argv)
{
	const char *letters;
	bool end = false;
	int i;

	for (i = 1; i < argc; i++) {
		letters = end ? NULL : option_letters(argv[i]);
		if (letters) {
			while (*letters)
				take_option(l, *letters++);
		} else if (!end && !strcmp(argv[i], "--")) {
			end = true;
		} else {
			if (!end && !l->count && *argv[i] == '-' && !l->bad)
				l->bad = argv[i];
			else
				l->words[l->count++] = argv[i];
		}
	}
}

static int obey(const struct line *l)
{
	const char *word = l->version ? "version" : l->help ? "help" : l->words[0];
	const struct command *cmd;

	if (l->bad) {
		say("'%s' is no option; see: ddctl help", l->bad);
		return EXIT_USAGE;
	}
	if (!word) {
		say("what shall be done? see: ddctl help");
		return EXIT_USAGE;
	}
	cmd = command_find(word);
	if (!cmd) {
		say("no command '%s'; see: ddctl help", word);
		return EXIT_USAGE;
	}
	if (l->version || l->help)
		return run(cmd, 0, NULL);
	if (l->command_help)
		return command_help(cmd);
	return run(cmd, l->count - 1, l->words + 1);
}

int main(int argc, char **argv)
{
	struct line line = { .words = calloc(argc + 1, sizeof(char *)) };
	int status;

	if (!line.words) {
		say("out of memory");
		return EXIT_RUNTIME;
	}
	split(&line, argc, argv);
	status = obey(&line);
	/* What a doctor finds is in the report. */
	if (options.json && status != EXIT_OK && status != EXIT_FINDINGS)
		print_error(status);
	free(line.words);
	return finish_output(status);
}
