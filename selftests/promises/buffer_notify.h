/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * buffer_notify.h - this process exports buffers, and a worker sends to them
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_TESTS_BUFFER_NOTIFY_H
#define _DD_TESTS_BUFFER_NOTIFY_H

#include <stdatomic.h>

#include "buffers.h"

extern struct worker *sender;
extern int words[4 * WORDS];		/* whole pages */

/* Calls of note(), and the arguments of the last 4096. */
extern _Atomic int handled;
extern int *address[4096];
extern int value[4096];
void note(int *where, int what);

/* Whether note() is called so many times: no more, or at least. */
bool handles(int n);
bool handles_some(int n);

/* Make a sender. Export one buffer or another, which the sender imports. */
void begin(void);
void export_as(long as, int *buf, int n, buf_handler_t handler);
void begin_one(buf_handler_t handler);		/* number 1: the first page of @words */
void end(int exports);

/* Jobs of the sender, to its imports. */
extern int *at[8];
extern import_t imported[8];
long job_import(long node, long of, long id);
long job_send(long id, long span, long value);	/* words @value, @value + 1, ... */
#define SPAN(offset, n)	((long)(offset) << 16 | (n))
long job_send_many(long id, long n, long first);

/* A buffer of the sender, 8 pages, which this process imports. */
extern import_t back;
extern int *back_at;
void begin_back(void);

#endif /* _DD_TESTS_BUFFER_NOTIFY_H */
