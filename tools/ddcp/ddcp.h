/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ddcp: what both directions share.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDCP_H
#define DDCP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "dd.h"

/**
 * struct options - command line
 * @send: direction: send, else receive
 * @name: name of the receiver's service
 * @node: node to send to; -1 for this one
 * @file: file to send, "-" for standard input; or to write, NULL to take the
 *	sender's name
 * @as: name to give to the receiver; NULL for that of @file
 * @dir: directory for files named by senders; NULL for the current one
 * @force: a sender's name may replace an existing file
 * @count: files to receive, 0 for no end
 * @wait: seconds that a sender waits for a receiver to appear
 * @slots: slots in a connection's buffer
 * @slot_size: bytes in a slot, whole pages
 * @quiet: no progress, no summary
 * @json: summary as JSON on standard output
 */
struct options {
	bool send;
	const char *name;
	int node;
	const char *file;
	const char *as;
	const char *dir;
	bool force;
	uint64_t count;
	unsigned int wait;
	unsigned int slots;
	size_t slot_size;
	bool quiet;
	bool json;
};

#define ERROR_TEXT	1024	/* a name and more */

/**
 * struct outcome - how a copy ended
 * @error: 0 or an error number, positive
 * @text: what to say about it, without the tool's name
 * @name: name of the file
 * @size: bytes copied
 * @nanoseconds: how long it took
 * @slots: slots that were used
 * @slot_size: their size
 * @hash: checksum in hexadecimal
 */
struct outcome {
	int error;
	char text[ERROR_TEXT];
	char name[NAME_MAX + 1];
	uint64_t size;
	uint64_t nanoseconds;
	unsigned int slots;
	size_t slot_size;
	char hash[33];
};

/* Both return the exit code. */
int ddcp_send(const struct options *o);
int ddcp_recv(const struct options *o);

/* Set @r->error and @r->text, unless an earlier error is there; return -1. */
int outcome_fail(struct outcome *r, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Exit code that suits it: EACCES, say, is a file's here, not /dev/dd's. */
int outcome_code(const struct outcome *r);

/* Tell the user how it ended. */
void outcome_report(const struct outcome *r, const struct options *o);

/* Open /dev/dd or say why not and exit. */
struct dd *ddcp_open(const struct options *o);

/* A call of the library failed: an outcome, with all that is known; -1. */
int ddcp_fail(struct outcome *r, struct dd *h, int error, const char *what);
/* The same, where nothing has begun: tell the user; returns @error. */
int ddcp_refused(const struct options *o, struct dd *h, int error,
		 const char *what);

#endif /* DDCP_H */
