/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands and their verbs. */
#ifndef DDCTL_COMMAND_H
#define DDCTL_COMMAND_H

#include <stdint.h>

#include "object.h"

/**
 * struct verb - an action of a command
 * @name: word on the command line, "" if the command has one action
 * @args: arguments, for help; NULL if it takes none
 * @brief: one line for help
 * @run: execute it with the words after the verb; returns enum ddctl_exit; NULL to print
 *	all objects of @show
 * @show: kind of the objects that it prints
 * @cmd: for @run: DD_CMD_*
 */
struct verb {
	const char *name;
	const char *args;
	const char *brief;
	int (*run)(const struct verb *verb, int argc, char **argv);
	const struct object *show;
	uint8_t cmd;
};

/**
 * struct command - the first word of a command line
 * @name: that word
 * @brief: one line for help
 * @verbs: its actions, the default first; ends with a NULL name
 */
struct command {
	const char *name;
	const char *brief;
	const struct verb *verbs;
};

/* A command with one action. */
#define COMMAND(cmd, text, arguments, verb_text)			\
	const struct command command_##cmd = {				\
		.name = #cmd,						\
		.brief = text,						\
		.verbs = (const struct verb[]) {			\
			{ "", arguments, verb_text, .run = cmd##_run },	\
			{ }						\
		},							\
	}

#endif /* DDCTL_COMMAND_H */
