/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects as people and programs want to see them.
 */
#ifndef DDCTL_TABLE_H
#define DDCTL_TABLE_H

#include "object.h"

/*
 * Print @rows, an array of objects made by object_parse(), as @options say:
 * JSON, a table with a heading, or for a single object one line for each
 * attribute. Eats @rows.
 */
void table_print(const struct object *obj, json_object *rows);

/* One object in one line: "key value key value". */
void table_print_line(const struct object *obj, json_object *row);

#endif /* DDCTL_TABLE_H */
