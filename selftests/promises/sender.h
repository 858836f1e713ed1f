/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * sender.h - this process exports buffers, and a worker sends to them
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef _DD_TESTS_SENDER_H
#define _DD_TESTS_SENDER_H

#include <stdatomic.h>

#include "buffers.h"

#define BULK	(64 * WORDS)

extern struct worker *sender;
extern int words[BULK];			/* whole pages */

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

/*
 * Jobs of the sender, to its imports. The words of a message are @first, @first + 1, ... VMMC's
 * plain messages are asynchronous, and those with a notification if @first is odd. Both wait until
 * the message is in place.
 */
extern int *at[8];
extern import_t imported[8];
long job_import(long node, long of, long id);
long job_send(long id, long span, long first);		/* with a notification */
long job_send_plain(long id, long span, long first);
#define SPAN(offset, n)	((long)(offset) << 32 | (n))
/* Messages of a word, with notifications. */
long job_send_many(long id, long n, long first);

/* A buffer of the sender, 8 pages with note(), which this process imports. */
#define BACK	(8 * WORDS)
extern import_t back;
extern int *back_at;
void begin_back(void);

/*
 * The program's: a handler that makes calls of the library and stores their codes: of those that
 * succeed, ALLOWED, of those that are refused in a handler, and REFUSED. It imports @back.
 */
#define ALLOWED	1000
#define REFUSED	2000
extern int result[64];
void calls(int *where, int what);

#endif /* _DD_TESTS_SENDER_H */
