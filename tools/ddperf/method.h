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

/**
 * struct method - one way
 * @name: for reports
 * @what: in words
 * @tests: bit per enum test that it takes part in
 * @places: PLACE_HERE, PLACE_NET or both: where the other side may be
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
	size_t limit;
	void (*send)(struct side *s, size_t size);
	char *(*recv)(struct side *s, size_t size);
};

/* Ours is the first one. */
extern const struct method methods[];
extern const unsigned int method_count;

#define METHODS_MAX	8	/* at one place */

#endif /* DDPERF_METHOD_H */
