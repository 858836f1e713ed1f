/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers and reports.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_REPORT_H
#define DDPERF_REPORT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/**
 * struct spread - summary of a sample
 * @min: smallest
 * @p25: lower quartile
 * @median: half of the sample is below
 * @p75: upper quartile
 * @max: largest
 */
struct spread {
	double min, p25, median, p75, max;
};

/* Sorts @v. */
void spread_of(struct spread *s, double *v, size_t n);

/* Of the ratios of @a to @b, or of @a alone if that is NULL; sorts neither. */
void spread_of_ratio(struct spread *s, const double *a, const double *b, size_t n);

/*
 * The beginning of a line: @name and the figures of @s, with @digits significant
 * ones, 0 for whole numbers; headings if @s is NULL.
 */
void print_spread(int width, const char *name, int digits, const struct spread *s);

/* Of a sorted sample, @q from 0 to 1, interpolated. */
double quantile(const double *sorted, size_t n, double q);

void json_text(struct json_object *j, const char *key, const char *value);
void json_count(struct json_object *j, const char *key, uint64_t value);
void json_number(struct json_object *j, const char *key, double value);
void json_flag(struct json_object *j, const char *key, bool value);
void json_spread(struct json_object *j, const char *key, const struct spread *s);

/* A report with "environment" and "command"; the caller adds the rest. */
struct json_object *report_json(const char *test, const struct perf_options *o);

/* The same as text. */
void report_head(const char *test, const struct perf_options *o);

/* Print and free. */
void report_print_json(struct json_object *j);

#endif /* DDPERF_REPORT_H */
