/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cost of a message in a single process.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_INSN_H
#define DDPERF_INSN_H

#include <stdbool.h>

#include "options.h"

/* Returns the exit code. */
int perf_insn(const struct perf_options *o);

/* Whether the clock counts instructions, as with QEMU's -icount. */
bool clock_counts_instructions(void);

#endif /* DDPERF_INSN_H */
