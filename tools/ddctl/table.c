// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables. libsmartcols aligns them and encodes characters that control a terminal.
 */
#include <ctype.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "output.h"
#include "say.h"
#include "table.h"

#define COLUMNS_MAX	64	/* more than any object has attributes */

/**
 * struct columns - the attributes to print, in their order
 * @n: number of them
 * @attrs: the attributes
 */
struct columns {
	size_t n;
	const struct attr *attrs[COLUMNS_MAX];
};

static const struct attr *attr_find(const struct object *obj, const char *word, size_t len)
{
	const struct attr *a;

	for (a = obj->attrs; a->key; a++) {
		if (strlen(a->key) == len && !strncasecmp(a->key, word, len))
			return a;
	}
	return NULL;
}

/* Take the words of -o; the first one that is no attribute, or NULL. */
static const char *columns_given(const struct object *obj, struct columns *c)
{
	const char *word = options.columns;
	size_t len;

	for (c->n = 0; c->n < COLUMNS_MAX; word += len + 1) {
		len = strcspn(word, ",");
		c->attrs[c->n] = attr_find(obj, word, len);
		if (!c->attrs[c->n++])
			return word;
		if (!word[len])
			return NULL;
	}
	return word;
}

/* Those of -o, or those with a heading. */
static void columns_choose(const struct object *obj, struct columns *c)
{
	const struct attr *a;

	c->n = 0;
	if (options.columns)
		columns_given(obj, c);
	for (a = obj->attrs; !options.columns && a->key; a++) {
		if (a->head && !(obj->many && a->alone))
			c->attrs[c->n++] = a;
	}
}

char *table_columns(const struct object *obj)
{
	char *names = NULL;
	const struct attr *a;
	size_t size;
	FILE *out = must(open_memstream(&names, &size));

	for (a = obj->attrs; a->key; a++)
		fprintf(out, "%s%s", a == obj->attrs ? "" : ",", a->key);
	fclose(out);
	return must(names);
}

int table_check(const struct object *obj)
{
	struct columns c;
	const char *wrong = options.columns ? columns_given(obj, &c) : NULL;
	char *names;

	if (!wrong)
		return EXIT_OK;
	names = table_columns(obj);
	say("%s has no column '%.*s'; it has %s", obj->name, (int)strcspn(wrong, ","), wrong,
	    names);
	free(names);
	return EXIT_USAGE;
}

/* Its heading; in upper case, if there is only the name of JSON. */
static const char *title(const struct attr *a)
{
	static char text[64];
	size_t i;

	if (a->head)
		return a->head;
	for (i = 0; a->key[i] && i < sizeof(text) - 1; i++)
		text[i] = a->key[i] == '_' ? ' ' : toupper((unsigned char)a->key[i]);
	text[i] = '\0';
	return text;
}

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

static void print_columns(const struct columns *c, json_object *rows)
{
	struct libscols_table *table = table_new("  ", true);
	struct libscols_line *line;
	size_t i, n;

	for (n = 0; n < c->n; n++)
		must(scols_table_new_column(table, title(c->attrs[n]), 0,
					    c->attrs[n]->kind == ATTR_U32 ||
					    c->attrs[n]->kind == ATTR_U64 ?
					    SCOLS_FL_RIGHT : 0));
	for (i = 0; i < json_object_array_length(rows); i++) {
		line = must(scols_table_new_line(table, NULL));
		for (n = 0; n < c->n; n++)
			scols_line_set_data(line, n, cell_text(c->attrs[n],
					    json_object_array_get_idx(rows, i)));
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

static void print_single(const struct columns *c, json_object *row)
{
	struct libscols_table *table = table_new("  ", false);
	const struct attr *a;
	json_object *all;
	size_t n;

	must(scols_table_new_column(table, "name", 0, 0));
	must(scols_table_new_column(table, "value", 0, 0));
	for (n = 0; n < c->n; n++) {
		a = c->attrs[n];
		if (a->kind != ATTR_COUNTERS) {
			add_pair(table, title(a), cell_text(a, row));
		} else if (json_object_object_get_ex(row, a->key, &all)) {
			json_object_object_foreach(all, name, value)
				add_pair(table, name, json_object_get_string(value));
		}
	}
	scols_print_table(table);
	scols_unref_table(table);
}

/* The members of @row that -o names, in that order; all without -o. */
static json_object *members(const struct columns *c, json_object *row)
{
	json_object *all, *value;
	size_t n;

	if (!options.columns)
		return json_object_get(row);
	all = json_object_new_object();
	for (n = 0; n < c->n; n++) {
		if (json_object_object_get_ex(row, c->attrs[n]->key, &value))
			json_add(all, c->attrs[n]->key, json_object_get(value));
	}
	return all;
}

static void print_members(const struct object *obj, const struct columns *c, json_object *rows)
{
	json_object *all = json_object_new_array();
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++)
		json_object_array_add(all, members(c, json_object_array_get_idx(rows, i)));
	print_json(json_object_get(obj->many ? all : json_object_array_get_idx(all, 0)));
	json_object_put(all);
}

void table_print(const struct object *obj, json_object *rows)
{
	struct columns c;

	columns_choose(obj, &c);
	if (options.json)
		print_members(obj, &c, rows);
	else if (obj->many)
		print_columns(&c, rows);
	else
		print_single(&c, json_object_array_get_idx(rows, 0));
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
