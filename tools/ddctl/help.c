// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl help - what this program can do, out of the table of commands.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddctl.h"

static int by_name(const void *a, const void *b)
{
	const struct command *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void print_verb(const struct command *cmd, const struct verb *v)
{
	printf("  ddctl %s%s%s%s%s\n        %s%s\n", cmd->name,
	       *v->name ? " " : "", v->name, v->args ? " " : "",
	       v->args ? v->args : "", v->brief,
	       v == cmd->verbs && *v->name ? " (if no verb is given)" : "");
}

static void print_command(const struct command *cmd)
{
	const struct verb *v;

	printf("ddctl %s - %s\n\n", cmd->name, cmd->brief);
	for (v = cmd->verbs; v->name; v++)
		print_verb(cmd, v);
}

static json_object *verbs_json(const struct command *cmd)
{
	json_object *list = json_object_new_array();
	const struct verb *v;

	for (v = cmd->verbs; v->name; v++) {
		json_object *verb = json_object_new_object();

		json_object_object_add(verb, "verb",
				       json_object_new_string(v->name));
		json_object_object_add(verb, "args",
				       json_object_new_string(v->args ? v->args : ""));
		json_object_object_add(verb, "brief",
				       json_object_new_string(v->brief));
		json_object_array_add(list, verb);
	}
	return list;
}

static int print_table(const struct command **list, size_t n)
{
	json_object *all = json_object_new_array();
	size_t i;

	for (i = 0; i < n; i++) {
		json_object *cmd = json_object_new_object();

		json_object_object_add(cmd, "command",
				       json_object_new_string(list[i]->name));
		json_object_object_add(cmd, "brief",
				       json_object_new_string(list[i]->brief));
		json_object_object_add(cmd, "verbs", verbs_json(list[i]));
		json_object_array_add(all, cmd);
	}
	print_json(all);
	return EXIT_OK;
}

int command_help(const struct command *cmd)
{
	if (options.json)
		return print_table(&cmd, 1);
	print_command(cmd);
	return EXIT_OK;
}

static int print_overview(const struct command **list, size_t n)
{
	size_t i;

	printf("usage: ddctl [OPTION]... COMMAND [VERB] [ARGUMENT]...\n"
	       "Options may stand anywhere.\n\n");
	for (i = 0; i < n; i++)
		printf("  %-9s %s\n", list[i]->name, list[i]->brief);
	printf("\n"
	       "  -j, --json       print JSON, errors too\n"
	       "  -p, --pretty     the same, indented\n"
	       "  -t, --timestamp  monitor tells when\n"
	       "  -V, --version    as the command version\n"
	       "  -h, --help       this\n\n"
	       "ddctl help COMMAND tells more; so does ddctl(8).\n");
	return EXIT_OK;
}

static int help_all(void)
{
	size_t n = __stop_ddctl_commands - __start_ddctl_commands;
	const struct command **list = calloc(n, sizeof(*list));
	int status;

	if (!list) {
		say("out of memory");
		return EXIT_RUNTIME;
	}
	memcpy(list, __start_ddctl_commands, n * sizeof(*list));
	qsort(list, n, sizeof(*list), by_name);
	status = options.json ? print_table(list, n) : print_overview(list, n);
	free(list);
	return status;
}

static int help_run(int argc, char **argv)
{
	const struct command *cmd;

	if (!argc)
		return help_all();
	if (argc > 1)
		return no_arguments(argc - 1, argv + 1);
	cmd = command_find(argv[0]);
	if (cmd)
		return command_help(cmd);
	say("no command '%s'; see: ddctl help", argv[0]);
	return EXIT_USAGE;
}

static const struct command help = {
	.name = "help",
	.brief = "what this program can do",
	.verbs = (const struct verb[]) {
		{ "", "[COMMAND]", "describe all commands, or one", help_run },
		{ }
	},
};

COMMAND(help);
