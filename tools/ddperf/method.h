/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ways to carry a message.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_METHOD_H
#define DDPERF_METHOD_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"
#include "pair.h"

/* As --sleep says, or always in one way. */
enum waiting { WAITS_BY_OPTION, WAITS_SPINNING, WAITS_ASLEEP };

/**
 * struct method - one way to carry a message
 * @name: for reports
 * @what: description for reports
 * @tests: bit per enum test that it takes part in
 * @where: HERE within a node, NET between nodes, or both
 * @waiting: how both sides wait
 * @limit: largest message, 0 for any
 * @send: send a message; waits while a window of messages is unconsumed
 * @recv: wait for a message, return its address
 *
 * @send and @recv exit if they fail: a measurement with errors is not reported.
 */
struct method {
	const char *name;
	const char *what;
	unsigned int tests;
	enum { HERE = 1, NET = 2 } where;
	enum waiting waiting;
	size_t limit;
	void (*send)(struct side *s, size_t size);
	char *(*recv)(struct side *s, size_t size);
};

#define METHODS	13

/* Direct deposit is the first one. */
extern const struct method methods[METHODS];

/* Whether @list, names separated by commas or NULL for all, has @m. */
bool method_chosen(const struct method *m, const char *list);

/* Exits with a complaint if @list names a method that does not exist. */
void methods_check(const char *list);

#endif /* DDPERF_METHOD_H */
