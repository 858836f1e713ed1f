/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cost of a message while many connections are open.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_CONNS_H
#define DDPERF_CONNS_H

#include "options.h"
#include "pair.h"

/* Returns the exit code. */
int perf_conns(const struct perf_options *o);

/* A server: obey the client until it hangs up. */
void conns_answer(struct side *s);

#endif /* DDPERF_CONNS_H */
