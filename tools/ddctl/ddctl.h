/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ddctl - administration of dd: definitions shared by its files.
 */
#ifndef DDCTL_H
#define DDCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <json-c/json.h>

/**
 * enum ddctl_exit - exit status; part of the interface, see ddctl(8)
 * @EXIT_OK: done
 * @EXIT_RUNTIME: a system call, a file or the network failed
 * @EXIT_USAGE: wrong command line
 * @EXIT_NO_MODULE: dd.ko is not loaded
 * @EXIT_PERMISSION: the caller is not permitted to do this
 * @EXIT_REFUSED: the kernel refused the request
 * @EXIT_FINDINGS: doctor found something to fix
 * @EXIT_CLUSTER: the cluster file has errors, or does not fit this machine
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
 * struct options - options of the command line
 * @json: print JSON instead of tables
 * @pretty: indent that JSON
 * @timestamp: monitor prints times
 * @check: apply checks the file only
 * @node: number of this node for apply; NULL to find it by address
 */
struct options {
	bool json;
	bool pretty;
	bool timestamp;
	bool check;
	const char *node;
};

extern struct options options;

struct object;

/**
 * struct verb - an action of a command
 * @name: word on the command line, "" if the command has one action
 * @args: arguments, for help; NULL if it takes none
 * @brief: one line for help
 * @run: execute it with the words after the verb; returns enum ddctl_exit
 * @show: instead of @run: print objects of this kind
 */
struct verb {
	const char *name;
	const char *args;
	const char *brief;
	int (*run)(int argc, char **argv);
	const struct object *show;
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

/* Register a command: the linker gathers the pointers in a section. */
#define COMMAND(cmd)							\
	static const struct command *const cmd##_ptr			\
	__attribute__((used, section("ddctl_commands"))) = &(cmd)

extern const struct command *const __start_ddctl_commands[];
extern const struct command *const __stop_ddctl_commands[];

#define for_each_command(c)						\
	for ((c) = __start_ddctl_commands; (c) < __stop_ddctl_commands; (c)++)

const struct command *command_find(const char *name);
int command_help(const struct command *cmd);

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Print an error and return @status. */
#define fail(status, ...)	(say(__VA_ARGS__), (status))

/* Return @p; if it is NULL, report that memory is exhausted and exit. */
void *must(void *p);

/* Version of the loaded module, in static memory; "" if there is none. */
const char *module_version(void);

/* A JSON string; U+FFFD replaces bytes that are not UTF-8. */
json_object *text_to_json(const char *s);

/* Add a value to a JSON object. */
#define json_add(obj, key, value)	json_object_object_add(obj, key, value)
#define json_str(s)			json_object_new_string(s)
#define json_int(n)			json_object_new_int64(n)

/* Members of a JSON object; 0, false or "" if absent. */
int64_t json_number(json_object *obj, const char *key);
const char *json_text(json_object *obj, const char *key);

/* Print a line of JSON, or several with options.pretty, and put @value. */
void print_json(json_object *value);

/* Return @status, or %EXIT_RUNTIME if standard output could not be written. */
int finish_output(int status);

#endif /* DDCTL_H */
