// SPDX-License-Identifier: GPL-2.0-only
/*
 * ddctl - the command line: options, a command, a verb; and the commands that need
 * no file of their own.
 */
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/dd_ddp.h>

#include "doctor.h"
#include "monitor.h"
#include "nl.h"
#include "nodes.h"
#include "output.h"
#include "say.h"
#include "table.h"
#include "../common/tool.h"

/* With -j a failed command ends with this object. */
static void print_error(int status)
{
	json_object *obj = json_object_new_object();

	json_add(obj, "status", json_str("error"));
	json_add(obj, "exit_status", json_int(status));
	json_add(obj, "error", text_to_json(said()));
	print_json(obj);
}

/* ---- commands that show objects, and "version" ---------------------------- */

#define SHOW(cmd, text, verb_text)					\
	static const struct command command_##cmd = {			\
		.name = #cmd,						\
		.brief = text,						\
		.verbs = (const struct verb[]) {			\
			{ "show", NULL, verb_text, .show = &object_##cmd }, \
			{ }						\
		},							\
	}

SHOW(service, "services of this node",
     "list them: name, owner, connections, memory, messages");
SHOW(conn, "connections of this node",
     "list both ends of each: owner, peer, messages");
SHOW(region, "wired memory on this node",
     "list it: owner, bytes, whether it is in use");
SHOW(segment, "memory that processes of this node export",
     "list it: key, owner, bytes, rights, importers, refused requests");
SHOW(import, "segments that processes of this node import",
     "list them: owner, node and owner of the segment, rights, requests");
SHOW(stat, "counters of this node", "show them");

static int version_run(const struct verb *verb, int argc, char **argv)
{
	const char *module = module_version();
	json_object *obj;

	if (!options.json) {
		printf("ddctl   %s, ABI %d\n", DD_VERSION, DD_ABI_VERSION);
		printf("module  %s\n", *module ? module : "not loaded");
		return EXIT_OK;
	}
	obj = json_object_new_object();
	json_add(obj, "ddctl", json_str(DD_VERSION));
	json_add(obj, "abi", json_int(DD_ABI_VERSION));
	json_add(obj, "module", *module ? json_str(module) : NULL);
	print_json(obj);
	return EXIT_OK;
}

static COMMAND(version, "versions of this program and of the loaded module",
	NULL, "show them");

/* ---- "help", from the table of commands ----------------------------------- */

static const struct command command_help;

static const struct command *const commands[] = {
	&command_apply, &command_conn, &command_doctor, &command_help, &command_import,
	&command_monitor, &command_node, &command_peer, &command_region,
	&command_segment, &command_service, &command_stat, &command_version, NULL
};

static const struct command *command_find(const char *name)
{
	const struct command *const *c = commands;

	while (*c && strcmp((*c)->name, name))
		c++;
	return *c;
}

static json_object *command_json(const struct command *cmd)
{
	json_object *all = json_object_new_object(), *verbs = json_object_new_array();
	const struct verb *v;
	char *names;

	for (v = cmd->verbs; v->name; v++) {
		json_object *verb = json_object_new_object();

		json_add(verb, "verb", json_str(v->name));
		json_add(verb, "args", json_str(v->args ? v->args : ""));
		json_add(verb, "brief", json_str(v->brief));
		if (v->show) {
			names = table_columns(v->show);
			json_add(verb, "columns", json_str(names));
			free(names);
		}
		json_object_array_add(verbs, verb);
	}
	json_add(all, "command", json_str(cmd->name));
	json_add(all, "brief", json_str(cmd->brief));
	json_add(all, "verbs", verbs);
	return all;
}

static void print_command(const struct command *cmd)
{
	const struct verb *v;
	char *names;

	printf("ddctl %s - %s\n\n", cmd->name, cmd->brief);
	for (v = cmd->verbs; v->name; v++) {
		printf("  ddctl %s%s%s%s%s\n        %s%s\n", cmd->name,
		       *v->name ? " " : "", v->name, v->args ? " " : "",
		       v->args ? v->args : "", v->brief,
		       v == cmd->verbs && *v->name ? " (if no verb is given)" : "");
		if (!v->show)
			continue;
		names = table_columns(v->show);
		printf("        columns for -o: %s\n", names);
		free(names);
	}
}

static void print_commands(void)
{
	const struct command *const *c;

	printf("usage: ddctl [OPTION]... COMMAND [VERB] [ARGUMENT]...\n"
	       "Options may stand anywhere.\n\n");
	for (c = commands; *c; c++)
		printf("  %-9s %s\n", (*c)->name, (*c)->brief);
	printf("\n"
	       "  -j, --json       print JSON, also for errors\n"
	       "  -p, --pretty     the same, indented\n"
	       "  -o, --output     attributes to show, such as pid,uid: see help COMMAND\n"
	       "  -t, --timestamp  monitor prints times\n"
	       "  -V, --version    same as the command version\n"
	       "  -h, --help       this text, or help on the command given\n\n"
	       "See also: ddctl help COMMAND, and ddctl(8).\n");
}

/* Describe @cmd, or all commands if it is NULL. */
static int describe(const struct command *cmd)
{
	const struct command *const *c;
	json_object *all;

	if (options.json) {
		all = json_object_new_array();
		for (c = commands; *c; c++) {
			if (!cmd || cmd == *c)
				json_object_array_add(all, command_json(*c));
		}
		print_json(all);
	} else if (cmd) {
		print_command(cmd);
	} else {
		print_commands();
	}
	return EXIT_OK;
}

static int help_run(const struct verb *verb, int argc, char **argv)
{
	const struct command *cmd = argc ? command_find(argv[0]) : NULL;

	if (argc > 1)
		return fail(EXIT_USAGE, "help takes one command, not '%s' too", argv[1]);
	if (argc && !cmd)
		return fail(EXIT_USAGE, "no command '%s'; see: ddctl help", argv[0]);
	return describe(cmd);
}

static COMMAND(help, "list the commands, or describe one",
	"[COMMAND]", "describe all commands, or one");

/* ---- the command line ------------------------------------------------------ */

/* A command without verbs has one verb ""; for others the first is the default. */
static int run(const struct command *cmd, int argc, char **argv)
{
	const struct verb *verb = cmd->verbs;

	if (*verb->name && argc) {
		while (verb->name && strcmp(verb->name, argv[0]))
			verb++;
		if (!verb->name)
			return fail(EXIT_USAGE, "%s has no verb '%s'; see: ddctl help %s",
				    cmd->name, argv[0], cmd->name);
		argc--;
		argv++;
	}
	if (argc && !verb->args)
		return fail(EXIT_USAGE, "%s takes no argument '%s'; see: ddctl help %s",
			    cmd->name, argv[0], cmd->name);
	if (options.columns && !verb->show)
		return fail(EXIT_USAGE, "-o is an option of commands that show objects only");
	if (verb->show && table_check(verb->show))
		return EXIT_USAGE;
	return verb->run ? verb->run(verb, argc, argv) : ddnl_show(verb->show);
}

/* Options may stand anywhere; -h after a command describes that command. */
static int obey(int argc, char **argv)
{
	static const struct option list[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "pretty", no_argument, NULL, 'p' },
		{ "output", required_argument, NULL, 'o' },
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
	while ((c = getopt_long(argc, argv, ":jpo:tVh", list, NULL)) != -1) {
		options.json |= c == 'j' || c == 'p';
		options.pretty |= c == 'p';
		options.timestamp |= c == 't';
		options.check |= c == 'c';
		if (c == 'n')
			options.node = optarg;
		if (c == 'o')
			options.columns = optarg;
		apply |= c == 'c' || c == 'n';
		version |= c == 'V';
		help |= c == 'h';
		/* Continue: -j may follow. */
		if (c == ':' || c == '?')
			status = EXIT_USAGE;
		if (c == ':')
			say("'%s' needs a value; see: ddctl help", argv[optind - 1]);
		else if (c == '?' && optopt)
			say("unknown option '-%c'; see: ddctl help", optopt);
		else if (c == '?')
			say("unknown option '%s'; see: ddctl help", argv[optind - 1]);
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
		return describe(cmd);
	return run(cmd, argc - optind - 1, argv + optind + 1);
}

int main(int argc, char **argv)
{
	int status;

	setlocale(LC_CTYPE, "");
	status = obey(argc, argv);
	/* The findings of doctor and the changes of apply are their output. */
	if (options.json && status != EXIT_OK && status != EXIT_FINDINGS &&
	    status != EXIT_PARTLY)
		print_error(status);
	return finish_output(status);
}
