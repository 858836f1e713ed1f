/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of objects. */
#ifndef DDCTL_TABLE_H
#define DDCTL_TABLE_H

#include "object.h"

/*
 * Print @rows, an array of objects made by object_parse(), as options ask: JSON, a
 * table, or a line for each attribute of a single object. Puts @rows.
 */
void table_print(const struct object *obj, json_object *rows);

/* All names that -o may have, separated by commas, to be freed. */
char *table_columns(const struct object *obj);

/* Report a name of -o that @obj does not have; enum ddctl_exit. */
int table_check(const struct object *obj);

/* Print one object in one line: "key value key value". */
void table_print_line(const struct object *obj, json_object *row);

#endif /* DDCTL_TABLE_H */
