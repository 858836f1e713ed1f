/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * common.h - what the tests of librmem, libvmmc and libsbl use: shared memory, waits, commands
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_TESTS_COMMON_H
#define _DD_TESTS_COMMON_H

#include <stdbool.h>

#include "tap.h"
#include "worker.h"

#define PAGE	4096
#define WORDS	(PAGE / 4)		/* of a page */
#define BOARD	(256 * WORDS)		/* words */

/* Memory that all processes share. */
extern int *board;

/* Workers THERE are at another node. */
extern bool far;

/* Whether a word gets a value within 20 seconds. */
bool arrives(const int *word, int value);

/* Fill words with others than those of another seed. */
void fill(int *words, long n, int seed);

/* Nanoseconds, of a clock that is never set back. */
long now_ns(void);

/* The status of a shell command, of this process, another one, or root. */
int run(const char *shell);
int run_at(enum where where, const char *shell);
int root_run(const char *shell);

#endif /* _DD_TESTS_COMMON_H */
