// SPDX-License-Identifier: GPL-2.0-only
/*
 * rm-lock - a lock by compare and swap, for processes of any node
 *
 *   rm-lock serve               keep lock and counter, until a signal
 *   rm-lock add COUNT [NODE]    take the lock and add 1, COUNT times; print the counter
 *
 * A process that is killed while it holds the lock leaves it locked. A real lock would have the
 * process and the time in its word, so that another process can take the lock over.
 *
 *	cc rm-lock.c -o rm-lock $(pkg-config --cflags --libs librmem)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <rmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOCK = 0, COUNTER = 4, RESULT = 8 };	/* offsets; RESULT is in the client's memory */

static uint32_t words[1024] __attribute__((aligned(4096)));
static rm_desc_t rd;
static rm_seg_t own;

static void done(int ret)
{
	if (ret || rm_fence(rd, 5000))
		err(1, "lock");
}

static void swap(uint32_t from, uint32_t to)
{
	do {
		done(rm_cas(rd, LOCK, own, RESULT, from, to));
	} while (words[RESULT / 4] != RM_SUCCESS);
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 2 && !strcmp(argv[1], "serve")) {
		if (rm_export("lock", words, sizeof(words), RM_ALL, RM_NEVER) < 0)
			err(1, "lock");
		pause();
	}
	if (argc < 3 || strcmp(argv[1], "add"))
		errx(2, "usage: rm-lock serve | add COUNT [NODE]");
	own = rm_export(NULL, words, sizeof(words), 0, RM_NEVER);
	if (own < 0 || rm_import("lock", argc > 3 ? atoi(argv[3]) : -1, RM_ALL, &rd))
		err(1, "lock");
	for (i = atoi(argv[2]); i > 0; i--) {
		swap(0, 1);
		done(rm_read(rd, COUNTER, 4, own, COUNTER, 0));
		rm_mr[0] = words[COUNTER / 4] + 1;
		done(rm_write(rd, COUNTER, 4, 0));
		swap(1, 0);
	}
	printf("%u\n", words[COUNTER / 4] + 1);
	return 0;
}
