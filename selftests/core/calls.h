/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generated sequences of calls on two contexts: ioctls, mappings, stores to the area
 * and closes, with values from a set of interesting ones and with the results of
 * earlier calls.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_CALLS_H
#define DD_CALLS_H

#include "raw.h"

#define OPS		16	/* calls in a sequence, at most */
#define CALLS_FIRST	2

struct op {
	unsigned char kind, ctx;
	unsigned char ref[2];	/* which of the results */
	__u64 v[4];
};

struct sequence {
	int n;
	struct op op[OPS];
};

/* Of all choices. */
extern unsigned int calls_seed;

/* Below @n. */
unsigned int calls_pick(unsigned int n);
/* A sequence to begin with: 0: a service, a connection, a message; 1: one-sided memory. */
struct sequence calls_first(unsigned int i);
/* Adds, removes or changes calls. */
void calls_mutate(struct sequence *s);
/*
 * Runs a sequence on two new contexts and closes them; SIGSEGV and SIGBUS end a call
 * only. @begin is called before the first call. False if there are no contexts.
 */
bool calls_run(const struct sequence *s, void (*begin)(void));
void calls_print(const struct sequence *s);

#endif /* DD_CALLS_H */
