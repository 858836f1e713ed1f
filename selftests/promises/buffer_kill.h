/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * buffer_kill.h - what a process does until it is killed
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_TESTS_BUFFER_KILL_H
#define _DD_TESTS_BUFFER_KILL_H

#include "buffers.h"

#define PAGES	2	/* of buffers */

/* Buffers of this process, whole pages: number 1, and number 2, which stays. */
extern int own[PAGES * WORDS], words[PAGES * WORDS];
void note(int *where, int what);

/* The program's: use an import for so many steps, and number 1. Returns the first code. */
int use(int *at, int steps);

#endif /* _DD_TESTS_BUFFER_KILL_H */
