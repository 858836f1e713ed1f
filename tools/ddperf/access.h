/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One-sided access.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_ACCESS_H
#define DDPERF_ACCESS_H

#include "options.h"
#include "pair.h"

/* Each returns the exit code. */
int perf_put(const struct perf_options *o);
int perf_get(const struct perf_options *o);
int perf_cas(const struct perf_options *o);

/* A server: export memory until the client hangs up. */
void access_answer(struct side *s);

#endif /* DDPERF_ACCESS_H */
