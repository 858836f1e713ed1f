// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl help - from the table of commands.
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

static json_object *command_json(const struct command *cmd)
{
	json_object *all = json_object_new_object(), *verbs = json_object_new_array();
	const struct verb *v;

	for (v = cmd->verbs; v->name; v++) {
		json_object *verb = json_object_new_object();

		json_add(verb, "verb", json_str(v->name));
		json_add(verb, "args", json_str(v->args ? v->args : ""));
		json_add(verb, "brief", json_str(v->brief));
		json_object_array_add(verbs, verb);
	}
	json_add(all, "command", json_str(cmd->name));
	json_add(all, "brief", json_str(cmd->brief));
	json_add(all, "verbs", verbs);
	return all;
}

int command_help(const struct command *cmd)
{
	json_object *list;

	if (!options.json) {
		print_command(cmd);
		return EXIT_OK;
	}
	list = json_object_new_array();
	json_object_array_add(list, command_json(cmd));
	print_json(list);
	return EXIT_OK;
}

static int help_all(void)
{
	size_t i, n = __stop_ddctl_commands - __start_ddctl_commands;
	const struct command **list = must(calloc(n, sizeof(*list)));
	json_object *all = json_object_new_array();

	memcpy(list, __start_ddctl_commands, n * sizeof(*list));
	qsort(list, n, sizeof(*list), by_name);
	if (!options.json)
		printf("usage: ddctl [OPTION]... COMMAND [VERB] [ARGUMENT]...\n"
		       "Options may stand anywhere.\n\n");
	for (i = 0; i < n; i++) {
		json_object_array_add(all, command_json(list[i]));
		if (!options.json)
			printf("  %-9s %s\n", list[i]->name, list[i]->brief);
	}
	free(list);
	if (options.json) {
		print_json(all);
		return EXIT_OK;
	}
	json_object_put(all);
	printf("\n"
	       "  -j, --json       print JSON, also for errors\n"
	       "  -p, --pretty     the same, indented\n"
	       "  -t, --timestamp  monitor prints times\n"
	       "  -V, --version    same as the command version\n"
	       "  -h, --help       this text, or help on the command given\n\n"
	       "See also: ddctl help COMMAND, and ddctl(8).\n");
	return EXIT_OK;
}

static int help_run(int argc, char **argv)
{
	const struct command *cmd;

	if (!argc)
		return help_all();
	if (argc > 1)
		return fail(EXIT_USAGE, "help takes one command, not '%s' too", argv[1]);
	cmd = command_find(argv[0]);
	if (cmd)
		return command_help(cmd);
	return fail(EXIT_USAGE, "no command '%s'; see: ddctl help", argv[0]);
}

static const struct command help = {
	.name = "help",
	.brief = "list the commands, or describe one",
	.verbs = (const struct verb[]) {
		{ "", "[COMMAND]", "describe all commands, or one", .run = help_run },
		{ }
	},
};

COMMAND(help);
