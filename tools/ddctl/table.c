// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables for people.
 */
#include <stdio.h>
#include <string.h>

#include "ddctl.h"
#include "table.h"
#include "text.h"

#define COLUMNS_MAX	32	/* more than any object has */

/* What a cell shows; "-" where the kernel said nothing. */
static const char *cell_text(const struct attr *a, json_object *row)
{
	json_object *value;

	if (!json_object_object_get_ex(row, a->key, &value))
		return "-";
	if (a->kind == ATTR_BOOL)
		return json_object_get_boolean(value) ? "yes" : "no";
	return json_object_get_string(value);
}

static bool is_number(const struct attr *a)
{
	return a->kind == ATTR_U32 || a->kind == ATTR_U64;
}

static void print_padded(const char *text, int width, bool right, bool last)
{
	int pad = width - text_width(text);

	if (right)
		printf("%*s", pad, "");
	text_print(stdout, text);
	if (!last)
		printf("%*s", right ? 2 : pad + 2, "");
}

static int widest(const struct attr *a, json_object *rows)
{
	int max = strlen(a->head);
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++) {
		json_object *row = json_object_array_get_idx(rows, i);
		int width = text_width(cell_text(a, row));

		if (width > max)
			max = width;
	}
	return max;
}

static void print_columns(const struct object *obj, json_object *rows)
{
	const struct attr *a, *column[COLUMNS_MAX];
	int i, n = 0, width[COLUMNS_MAX];
	size_t r;

	for (a = obj->attrs; a->key; a++) {
		if (!a->head || a->alone)
			continue;
		column[n] = a;
		width[n++] = widest(a, rows);
	}
	for (i = 0; i < n; i++)
		print_padded(column[i]->head, width[i], is_number(column[i]),
			     i == n - 1);
	putchar('\n');
	for (r = 0; r < json_object_array_length(rows); r++) {
		json_object *row = json_object_array_get_idx(rows, r);

		for (i = 0; i < n; i++)
			print_padded(cell_text(column[i], row), width[i],
				     is_number(column[i]), i == n - 1);
		putchar('\n');
	}
}

/* Each in a line of its own, which is named by its key. */
static void print_counters(json_object *row, const struct attr *a, int width)
{
	json_object *all;

	if (!json_object_object_get_ex(row, a->key, &all))
		return;
	json_object_object_foreach(all, name, value) {
		printf("%-*s  %s\n", width, name,
		       json_object_get_string(value));
	}
}

static void print_single(const struct object *obj, json_object *row)
{
	const struct attr *a;
	int width = 0;

	for (a = obj->attrs; a->key; a++) {
		if (a->head && (int)strlen(a->head) > width)
			width = strlen(a->head);
	}
	for (a = obj->attrs; a->key; a++) {
		if (a->kind == ATTR_COUNTERS)
			print_counters(row, a, width);
		if (!a->head || a->kind == ATTR_COUNTERS)
			continue;
		printf("%-*s  ", width, a->head);
		text_print(stdout, cell_text(a, row));
		putchar('\n');
	}
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
	const struct attr *a;

	for (a = obj->attrs; a->key; a++) {
		if (!json_object_object_get_ex(row, a->key, NULL))
			continue;
		printf(" %s ", a->key);
		text_print(stdout, cell_text(a, row));
	}
	putchar('\n');
}
