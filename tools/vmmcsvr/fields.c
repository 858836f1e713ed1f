// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fields.c - requests, replies and records: texts that end with NUL
 *
 * Copyright (C) 2026 The dd authors
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"

void put(FILE *out, const char *text)
{
	fwrite(text, 1, strlen(text) + 1, out);
}

void put_number(FILE *out, long long n)
{
	fprintf(out, "%lld%c", n, 0);
}

char **fields_split(char *data, size_t len, int *count)
{
	char **field;
	int n = 0;

	if (!len || data[len - 1])
		return NULL;
	for (size_t i = 0; i < len; i++)
		n += !data[i];
	field = calloc(n + 1, sizeof(*field));
	for (int i = 0; field && i < n; i++) {
		field[i] = data;
		data += strlen(data) + 1;
	}
	*count = n;
	return field;
}

bool fields_parse(const char *text, long long min, long long max, long long *n)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*n = strtoll(text, &end, 10);
	return !*end && !errno && *n >= min && *n <= max;
}

char *escaped(const char *name, const char *more)
{
	char *text = malloc(3 * strlen(name) + 1), *to = text;
	const char *c;

	for (c = name; text && *c; c++) {
		if (*c == '%' || iscntrl((unsigned char)*c) ||
		    (strchr(more, *c) && (*c != '.' || c == name)))
			to += sprintf(to, "%%%02X", (unsigned char)*c);
		else
			*to++ = *c;
	}
	if (text)
		*to = 0;
	return text;
}
