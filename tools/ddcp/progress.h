/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A progress bar, on terminals only.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDCP_PROGRESS_H
#define DDCP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct progress - a bar
 * @on: standard error is a terminal and the user wants to see something
 * @drawn: there is something to erase
 * @name: what is copied
 * @total: bytes, or PROTO_UNKNOWN
 * @begin: when it began, in nanoseconds
 * @next: when to draw again
 */
struct progress {
	bool on;
	bool drawn;
	const char *name;
	uint64_t total;
	uint64_t begin;
	uint64_t next;
};

void progress_begin(struct progress *p, bool quiet, const char *name,
		    uint64_t total);
void progress_show(struct progress *p, uint64_t done);
/* Draw the last state if all went well, and leave the line. */
void progress_end(struct progress *p, uint64_t done, bool good);

/* "12.3 MiB", for @bytes; @buf has at least 16 bytes. */
const char *progress_bytes(char *buf, double bytes);

#endif /* DDCP_PROGRESS_H */
