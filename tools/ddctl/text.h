/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bytes from others, on their way to a terminal or into JSON.
 */
#ifndef DDCTL_TEXT_H
#define DDCTL_TEXT_H

#include <stdio.h>
#include <json-c/json.h>

/* A JSON string; bytes that are not UTF-8 become U+FFFD. */
json_object *text_to_json(const char *s);

/* Columns that text_print() fills. */
int text_width(const char *s);

/* Print UTF-8; what would steer a terminal is shown as \xNN. */
void text_print(FILE *out, const char *s);

#endif /* DDCTL_TEXT_H */
