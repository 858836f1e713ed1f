// SPDX-License-Identifier: GPL-2.0-only
/*
 * rm-queue - one producer, one consumer, and a flag word between them
 *
 *   rm-queue take COUNT          print COUNT texts
 *   rm-queue put NODE TEXT...    send texts to the consumer on NODE; -1 is this node
 *
 * The flag is 1 while the place is full. Operations are executed in their order, and a word
 * is written as a whole, so a consumer that reads the flag as 1 also reads the text. Neither
 * process waits in the kernel, and the consumer takes no part in the transfer.
 *
 *	cc rm-queue.c -o rm-queue $(pkg-config --cflags --libs librmem)
 *
 * Copyright (C) 2026 The dd authors
 */
#include <err.h>
#include <rmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT 4080

static struct place {
	char text[TEXT];
	uint32_t flag, rest[3];
} place __attribute__((aligned(4096)));

static const struct timespec pause_a_little = { .tv_nsec = 100000 };

int main(int argc, char **argv)
{
	rm_seg_t own;
	rm_desc_t rd;
	int i;

	if (argc == 3 && !strcmp(argv[1], "take")) {
		if (rm_export("queue", &place, sizeof(place), RM_READ | RM_WRITE, RM_NEVER) < 0)
			err(1, "queue");
		for (i = atoi(argv[2]); i; i--) {
			while (!__atomic_load_n(&place.flag, __ATOMIC_ACQUIRE))
				nanosleep(&pause_a_little, NULL);
			printf("%.*s\n", TEXT, place.text);
			__atomic_store_n(&place.flag, 0, __ATOMIC_RELEASE);
		}
		return 0;
	}
	if (argc < 4 || strcmp(argv[1], "put"))
		errx(2, "usage: rm-queue take COUNT | put NODE TEXT...");
	own = rm_export(NULL, &place, sizeof(place), 0, RM_NEVER);
	if (own < 0 || rm_import("queue", atoi(argv[2]), RM_READ | RM_WRITE, &rd))
		err(1, "queue");
	for (i = 3; i < argc; i++) {
		do {
			if (rm_read(rd, offsetof(struct place, flag), 4, own,
				    offsetof(struct place, flag), 0) || rm_fence(rd, 5000))
				err(1, "the consumer");
		} while (place.flag && !nanosleep(&pause_a_little, NULL));
		rm_mr[0] = 1;
		if (rm_write_block(rd, 0, argv[i], strnlen(argv[i], TEXT - 1) + 1, 0) ||
		    rm_write(rd, offsetof(struct place, flag), 4, 0) || rm_fence(rd, 5000))
			err(1, "the consumer");
	}
	return 0;
}
