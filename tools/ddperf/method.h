/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ways to carry a message: ours, and the controls beside it.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_METHOD_H
#define DDPERF_METHOD_H

#include "pair.h"

/* On this node, or on another one. */
#define PLACE_HERE	1u
#define PLACE_NET	2u

/* As the options say, or always in the same way. */
enum waiting { WAITS_AS_TOLD, WAITS_SPINNING, WAITS_ASLEEP };

/**
 * struct method - one way
 * @name: for reports
 * @what: in words
 * @tests: bit per enum test that it takes part in
 * @places: PLACE_HERE, PLACE_NET or both: where the other side may be
 * @waiting: how both sides wait
 * @limit: largest message, 0 for any
 * @send: give a message to the other side; waits while a window of them is
 *	unconsumed
 * @recv: wait for a message, return where it lies
 *
 * @send and @recv exit if they fail: a figure with errors in it is none.
 */
struct method {
	const char *name;
	const char *what;
	unsigned int tests;
	unsigned int places;
	enum waiting waiting;
	size_t limit;
	void (*send)(struct side *s, size_t size);
	char *(*recv)(struct side *s, size_t size);
};

/* Ours is the first one. */
extern const struct method methods[];
extern const unsigned int method_count;

/* Whether @list, of names separated by commas, or NULL for all, has @m. */
bool method_chosen(const struct method *m, const char *list);

/* Exits with a complaint if @list has a name that no method has. */
void methods_check(const char *list);

#define METHODS_MAX	16	/* at one place */

/* --- ipc.c: what sleeps without a socket ---------------------------------- */

void pipe_put(struct side *s, size_t size);
char *pipe_get(struct side *s, size_t size);
void futex_put(struct side *s, size_t size);
char *futex_get(struct side *s, size_t size);

#endif /* DDPERF_METHOD_H */
