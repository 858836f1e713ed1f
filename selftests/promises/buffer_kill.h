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

extern int words[PAGES * WORDS];	/* number 2 of this process, whole pages */
void note(int *where, int what);

/* What an importer may get when its exporter ends. */
bool is_end(int code);

/* The program's: export number 1, use number 2 of a process, and end both. Returns a code. */
int live_once(long node, process_t of, int seed);

/*
 * The program's: import number 1 of a process THERE without waiting for more than @steps steps, and
 * use it while there is one. False if a code is not that of an end.
 */
bool request_and_use(process_t of, int steps);

#endif /* _DD_TESTS_BUFFER_KILL_H */
