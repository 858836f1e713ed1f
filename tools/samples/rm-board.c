// SPDX-License-Identifier: GPL-2.0-only
/*
 * rm-board - the load of each machine, as a hint: no synchronisation
 *
 *   rm-board serve                keep the board, until a signal
 *   rm-board post SLOT LOAD [NODE]
 *   rm-board show [NODE]          NODE has the board; else this one
 *
 * A word is read and written as a whole. A reader may find an old value, and takes it.
 *
 *	cc rm-board.c -o rm-board $(pkg-config --cflags --libs librmem)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <rmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 16

static uint32_t board[1024] __attribute__((aligned(4096)));

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	int words = !strcmp(verb, "post") ? 4 : 2, node = argc > words ? atoi(argv[words]) : -1;
	unsigned int slot, i;
	rm_seg_t own;
	rm_desc_t rd;

	if (!strcmp(verb, "serve")) {
		if (rm_export("board", board, sizeof(board), RM_READ | RM_WRITE, RM_NEVER) < 0)
			err(1, "board");
		pause();
	}
	if ((strcmp(verb, "post") && strcmp(verb, "show")) || argc < words)
		errx(2, "usage: rm-board serve | post SLOT LOAD [NODE] | show [NODE]");
	if (rm_import("board", node, RM_READ | RM_WRITE, &rd))
		err(1, "board");
	if (!strcmp(verb, "post")) {
		slot = atoi(argv[2]);
		rm_mr[0] = atoi(argv[3]);
		if (slot >= SLOTS)
			errx(2, "SLOT is less than %d", SLOTS);
		if (rm_write(rd, 4 * slot, 4, 0) || rm_fence(rd, 5000))
			err(1, "post");
		return 0;
	}
	own = rm_export(NULL, board, sizeof(board), 0, RM_NEVER);
	if (own < 0 || rm_read(rd, 0, 4 * SLOTS, own, 0, 0) || rm_fence(rd, 5000))
		err(1, "show");
	for (i = 0; i < SLOTS; i++)
		if (board[i])
			printf("%u: %u\n", i, board[i]);
	return 0;
}
