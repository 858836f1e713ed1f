// SPDX-License-Identifier: LGPL-2.1-only
/*
 * job.c - the nodes of a batch job
 *
 * Copyright (C) 2026 The dd authors
 *
 * Slurm writes them as "login,node[01-03,7]-ib": a name has at most one list of numbers.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "job.h"

/* Parts of a name, as lengths; @numbers is NULL if there are none. */
struct name {
	const char *prefix, *numbers, *suffix;
	int prefix_len, suffix_len;
};

/* Parse a name; returns what follows it. */
static const char *name_parse(const char *s, struct name *n)
{
	*n = (struct name){ .prefix = s, .prefix_len = strcspn(s, ",[") };
	s += n->prefix_len;
	if (*s == '[') {
		n->numbers = s + 1;
		s += strcspn(s, "]");
		s += *s == ']';
	}
	n->suffix = s;
	n->suffix_len = strcspn(s, ",");
	s += n->suffix_len;
	return *s ? s + 1 : s;
}

/* A number, or a range, of which all have the width of the first one. */
static const char *range_print(FILE *out, const struct name *n, const char *s)
{
	char *end;
	unsigned long first = strtoul(s, &end, 10), last = first;
	int width = end - s;

	if (*end == '-' && isdigit((unsigned char)end[1]))
		last = strtoul(end + 1, &end, 10);
	if (last - first < NODES_MAX)
		for (unsigned long i = first; i <= last; i++)
			fprintf(out, "%.*s%0*lu%.*s ", n->prefix_len, n->prefix, width, i,
				n->suffix_len, n->suffix);
	return end;
}

static void name_print(FILE *out, const struct name *n)
{
	const char *s = n->numbers;

	if (!s)
		fprintf(out, "%.*s ", n->prefix_len, n->prefix);
	while (s && isdigit((unsigned char)*s)) {
		s = range_print(out, n, s);
		s += *s == ',';
	}
}

char *vmmc_job_hosts(void)
{
	const char *list = getenv("SLURM_JOB_NODELIST");
	struct name name;
	size_t size;
	char *text = NULL;
	FILE *out = list ? open_memstream(&text, &size) : NULL;

	if (!out)
		return NULL;
	while (*list) {
		list = name_parse(list, &name);
		name_print(out, &name);
	}
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}
