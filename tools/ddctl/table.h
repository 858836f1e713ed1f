/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DDCTL_TABLE_H
#define DDCTL_TABLE_H

#include "object.h"

/*
 * Print @rows, an array of objects made by object_parse(), as options ask: JSON, a
 * table, or a line for each attribute of a single object. Puts @rows.
 */
void table_print(const struct object *obj, json_object *rows);

/* Print one object in one line: "key value key value". */
void table_print_line(const struct object *obj, json_object *row);

#endif /* DDCTL_TABLE_H */
