// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables. libsmartcols aligns them and encodes characters that control a terminal.
 */
#include <libsmartcols.h>

#include "ddctl.h"

/* Text of a cell; "-" if the kernel reported nothing. */
static const char *cell_text(const struct attr *a, json_object *row)
{
	json_object *value;

	if (!json_object_object_get_ex(row, a->key, &value))
		return "-";
	if (a->kind == ATTR_BOOL)
		return json_object_get_boolean(value) ? "yes" : "no";
	return json_object_get_string(value);
}

static struct libscols_table *table_new(const char *separator, bool headings)
{
	struct libscols_table *table = must(scols_new_table());

	/* Never shorten a cell to the width of the terminal. */
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	scols_table_set_column_separator(table, separator);
	scols_table_enable_noheadings(table, !headings);
	return table;
}

static void print_columns(const struct object *obj, json_object *rows)
{
	struct libscols_table *table = table_new("  ", true);
	struct libscols_line *line;
	const struct attr *a;
	size_t i, n;

	for (a = obj->attrs; a->key; a++) {
		if (a->head && !a->alone)
			must(scols_table_new_column(table, a->head, 0, a->kind == ATTR_U32 ||
						    a->kind == ATTR_U64 ?
						    SCOLS_FL_RIGHT : 0));
	}
	for (i = 0; i < json_object_array_length(rows); i++) {
		line = must(scols_table_new_line(table, NULL));
		for (n = 0, a = obj->attrs; a->key; a++) {
			if (a->head && !a->alone)
				scols_line_set_data(line, n++, cell_text(a,
						    json_object_array_get_idx(rows, i)));
		}
	}
	scols_print_table(table);
	scols_unref_table(table);
}

static void add_pair(struct libscols_table *table, const char *name, const char *value)
{
	struct libscols_line *line = must(scols_table_new_line(table, NULL));

	scols_line_set_data(line, 0, name);
	scols_line_set_data(line, 1, value);
}

static void print_single(const struct object *obj, json_object *row)
{
	struct libscols_table *table = table_new("  ", false);
	const struct attr *a;
	json_object *all;

	must(scols_table_new_column(table, "name", 0, 0));
	must(scols_table_new_column(table, "value", 0, 0));
	for (a = obj->attrs; a->key; a++) {
		if (a->kind != ATTR_COUNTERS) {
			if (a->head)
				add_pair(table, a->head, cell_text(a, row));
		} else if (json_object_object_get_ex(row, a->key, &all)) {
			json_object_object_foreach(all, name, value)
				add_pair(table, name, json_object_get_string(value));
		}
	}
	scols_print_table(table);
	scols_unref_table(table);
}

void table_print(const struct object *obj, json_object *rows)
{
	json_object *first = json_object_array_get_idx(rows, 0);

	if (options.json)
		print_json(json_object_get(obj->many ? rows : first));
	else if (obj->many)
		print_columns(obj, rows);
	else
		print_single(obj, first);
	json_object_put(rows);
}

void table_print_line(const struct object *obj, json_object *row)
{
	struct libscols_table *table = table_new(" ", false);
	struct libscols_line *line = must(scols_table_new_line(table, NULL));
	const struct attr *a;
	size_t n = 0;

	scols_table_enable_raw(table, 1);
	for (a = obj->attrs; a->key; a++) {
		if (!json_object_object_get_ex(row, a->key, NULL))
			continue;
		must(scols_table_new_column(table, a->key, 0, 0));
		must(scols_table_new_column(table, a->key, 0, 0));
		scols_line_set_data(line, n++, a->key);
		scols_line_set_data(line, n++, cell_text(a, row));
	}
	scols_print_table(table);
	scols_unref_table(table);
}
