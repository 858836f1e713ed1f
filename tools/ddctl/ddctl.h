/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ddctl - administration of dd. What its files share.
 */
#ifndef DDCTL_H
#define DDCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <json-c/json.h>

/**
 * enum ddctl_exit - exit status; part of the interface, see ddctl(8)
 * @EXIT_OK: done
 * @EXIT_RUNTIME: something this program needs has failed
 * @EXIT_USAGE: the command line makes no sense
 * @EXIT_NO_MODULE: dd.ko is not loaded
 * @EXIT_PERMISSION: the caller may not do this
 * @EXIT_REFUSED: the kernel has refused the request, and said why
 * @EXIT_FINDINGS: doctor found something that needs doing
 * @EXIT_CLUSTER: the cluster file has errors, or is not for this machine
 */
enum ddctl_exit {
	EXIT_OK = 0,
	EXIT_RUNTIME = 1,
	EXIT_USAGE = 2,
	EXIT_NO_MODULE = 3,
	EXIT_PERMISSION = 4,
	EXIT_REFUSED = 5,
	EXIT_FINDINGS = 6,
	EXIT_CLUSTER = 7,
};

/**
 * struct options - what was asked for in front of the command
 * @json: print JSON instead of tables
 * @pretty: indent that JSON
 * @timestamp: monitor tells when
 */
struct options {
	bool json;
	bool pretty;
	bool timestamp;
};

extern struct options options;

/**
 * struct verb - something a command can do
 * @name: its word on the command line, "" where the command needs none
 * @args: its arguments, for people; NULL for none
 * @brief: one line for help
 * @run: does it with the words after the verb; returns enum ddctl_exit
 */
struct verb {
	const char *name;
	const char *args;
	const char *brief;
	int (*run)(int argc, char **argv);
};

/**
 * struct command - the first word of a command line
 * @name: that word
 * @brief: one line for help
 * @verbs: what it can do, the first one by default; ends with a NULL name
 */
struct command {
	const char *name;
	const char *brief;
	const struct verb *verbs;
};

/*
 * A file that defines a command thereby registers it: pointers to commands
 * are gathered in a section of their own, which the linker gives two ends.
 */
#define COMMAND(cmd)							\
	static const struct command *const cmd##_ptr			\
	__attribute__((used, section("ddctl_commands"))) = &(cmd)

extern const struct command *const __start_ddctl_commands[];
extern const struct command *const __stop_ddctl_commands[];

#define for_each_command(c)						\
	for ((c) = __start_ddctl_commands; (c) < __stop_ddctl_commands; (c)++)

const struct command *command_find(const char *name);
int command_help(const struct command *cmd);
int no_arguments(int argc, char **argv);

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* One line of JSON, or several with @options.pretty; eats @value. */
void print_json(json_object *value);

/* Returns @status, or %EXIT_RUNTIME if standard output could not be written. */
int finish_output(int status);

#endif /* DDCTL_H */
