/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fields.h - requests, replies and records: texts that end with NUL
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef VMMCSVR_FIELDS_H
#define VMMCSVR_FIELDS_H

#include <stdbool.h>
#include <stdio.h>

/* Append a text, or a number, to a stream of open_memstream() or a file. */
void put(FILE *out, const char *text);
void put_number(FILE *out, long long n);

/*
 * The texts of @data, in an array that the caller frees and that ends with NULL. NULL if there are
 * none, the last one has no end, or there is no memory.
 */
char **fields_split(char *data, size_t len, int *count);

/* A decimal number from @min to @max; false if @text is none. */
bool fields_parse(const char *text, long long min, long long max, long long *n);

/*
 * A copy of a name, with '%', control characters and the bytes of @more written as %XX, and so a '.'
 * at the beginning if @more has a '.'. NULL if there is no memory.
 */
char *escaped(const char *name, const char *more);

#endif
