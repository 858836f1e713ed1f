/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round trips, bandwidth and rate between two processes.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_FLOW_H
#define DDPERF_FLOW_H

#include "options.h"
#include "pair.h"

/* Returns the exit code. */
int perf_flow(enum test test, const struct perf_options *o);

/* A server: obey the client until it hangs up. */
void flow_answer(struct side *s);

#endif /* DDPERF_FLOW_H */
