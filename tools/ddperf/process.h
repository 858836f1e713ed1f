/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs, memory, failures.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_PROCESS_H
#define DDPERF_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "dd.h"
#include "options.h"

/* The first two allowed CPUs, unless the user chose two. */
void choose_cpus(struct perf_options *o);

/* Bind the calling process to a CPU; exits if that is impossible. */
void pin(int cpu);

/* Open /dev/dd; exits with a message if that fails. */
struct dd *perf_open(void);

/* Zeroed memory for @n elements; exits if there is none. */
void *allocate(size_t n, size_t size);

/* Whole pages for @size bytes: another process may be sent to directly then. */
static inline size_t perf_pages(size_t size)
{
	return (size + 4095) & ~(size_t)4095;
}

/**
 * perf_fail() - print a message, and exit
 * @code: exit code
 * @format: as for printf(), without the newline
 *
 * A server sends the message to its client, which prints it and exits with @code.
 */
void perf_fail(int code, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* perf_fail() with the text of errno. */
void perf_die(const char *what) __attribute__((noreturn));

/* Returns @ret unless it is an error: then prints its details, and exits. */
int must(struct dd *h, int ret, const char *what);

/**
 * perf_serves() - this process is a server from now on
 * @control: socket to its client
 * @shared_terminal: the client's standard error is this process's too: the client
 *	alone prints the message
 */
void perf_serves(int control, bool shared_terminal);

/* Whether the @size bytes at @record are the message of a server that failed. */
bool perf_is_failure(const void *record, size_t size);

/* The server has ended: print its message, if it sent one, and exit. */
void perf_lost(int control) __attribute__((noreturn));

#endif /* DDPERF_PROCESS_H */
