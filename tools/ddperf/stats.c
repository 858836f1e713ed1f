// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copyright (C) 2026 The dd authors
 */
#include <stdlib.h>

#include "perf.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

void sort_doubles(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
}

double quantile(const double *sorted, size_t n, double q)
{
	double at = q * (n - 1);
	size_t i = at;

	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]);
}

void spread_of(struct spread *s, double *v, size_t n)
{
	sort_doubles(v, n);
	s->min = v[0];
	s->p25 = quantile(v, n, 0.25);
	s->median = quantile(v, n, 0.5);
	s->p75 = quantile(v, n, 0.75);
	s->max = v[n - 1];
}

struct json_object *spread_json(const struct spread *s)
{
	struct json_object *j = json_object_new_object();

	json_object_object_add(j, "min", json_object_new_double(s->min));
	json_object_object_add(j, "p25", json_object_new_double(s->p25));
	json_object_object_add(j, "median", json_object_new_double(s->median));
	json_object_object_add(j, "p75", json_object_new_double(s->p75));
	json_object_object_add(j, "max", json_object_new_double(s->max));
	return j;
}
