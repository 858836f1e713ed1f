/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel memory of an idle connection.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_MEM_H
#define DDPERF_MEM_H

#include "options.h"

/* Returns the exit code. */
int perf_mem(const struct perf_options *o);

#endif /* DDPERF_MEM_H */
