/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of the command line, and JSON. */
#ifndef DDCTL_OUTPUT_H
#define DDCTL_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <json-c/json.h>

/**
 * struct options - options of the command line
 * @json: print JSON instead of tables
 * @pretty: indent that JSON
 * @timestamp: monitor prints times
 * @check: apply checks the file only
 * @node: number of this node for apply; NULL to find it by address
 * @columns: names of the attributes to show, separated by commas; NULL for the usual ones
 */
struct options {
	bool json;
	bool pretty;
	bool timestamp;
	bool check;
	const char *node;
	const char *columns;
};

extern struct options options;

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

#endif /* DDCTL_OUTPUT_H */
