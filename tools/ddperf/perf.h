/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ddperf: command line, numbers, reports, failures.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_PERF_H
#define DDPERF_PERF_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dd.h"

#define SIZE_MAX_BYTES	(64u << 20)
#define PROCESSES_MAX	64
#define CONNECTIONS_MAX	65536
#define VARIANTS_MAX	8	/* of --processes */
#define SIZES_MAX	32	/* of --size */

/* The last two are tests of "net" only. */
enum test { TEST_LAT, TEST_BW, TEST_RATE, TEST_INSN, TEST_TRIP };

/**
 * struct perf_options - command line
 * @argc: of main(), for the report
 * @argv: of main(), for the report
 * @sizes: bytes in a message; measured one after the other
 * @size_count: number of @sizes
 * @size: the first one
 * @iterations: messages in a round; 0 for a default by test and size
 * @sleep: wait asleep rather than spinning
 * @touch: the receiver reads every byte
 * @methods: names of the controls; NULL for all
 * @cpus: CPUs of the client and of the server; -1 for any
 * @rounds: interleaved rounds of all methods
 * @window: messages that may be unconsumed; 0 for a default by test
 * @json: report as JSON
 * @connections: connections to open
 * @active: connections that are used at random
 * @processes: numbers of client processes to try
 * @variants: number of @processes
 * @block: bytes of a connection's block; 0 for the size in whole words
 * @node: number of the server's node; -1 for this one
 * @port: TCP port of that server
 */
struct perf_options {
	int argc;
	char **argv;
	size_t sizes[SIZES_MAX];
	unsigned int size_count;
	size_t size;
	uint64_t iterations;
	bool sleep;
	bool touch;
	const char *methods;
	int cpus[2];
	unsigned int rounds;
	unsigned int window;
	bool json;
	unsigned int connections;
	unsigned int active;
	unsigned int processes[VARIANTS_MAX];
	unsigned int variants;
	size_t block;
	int node;
	unsigned int port;
};

/* Each returns the exit code. */
int perf_flow(enum test test, const struct perf_options *o);
int perf_insn(const struct perf_options *o);
int perf_conns(const struct perf_options *o);
int perf_mem(const struct perf_options *o);
int perf_put(const struct perf_options *o);
int perf_get(const struct perf_options *o);
int perf_cas(const struct perf_options *o);
int net_serve(const struct perf_options *o);

/* Whether the clock counts instructions, as with QEMU's -icount. */
bool clock_counts_instructions(void);

/* Exits with a complaint if @list names a method that does not exist. */
void methods_check(const char *list);

/* --- report.c: numbers and reports ---------------------------------------- */

/**
 * struct spread - summary of a sample
 * @min: smallest
 * @p25: lower quartile
 * @median: half of the sample is below
 * @p75: upper quartile
 * @max: largest
 */
struct spread {
	double min, p25, median, p75, max;
};

/* Sorts @v. */
void spread_of(struct spread *s, double *v, size_t n);

/* Of the ratios of @a to @b, or of @a alone if that is NULL; sorts neither. */
void spread_of_ratio(struct spread *s, const double *a, const double *b, size_t n);

/*
 * The beginning of a line: @name and the figures of @s, with @digits significant
 * ones, 0 for whole numbers; headings if @s is NULL.
 */
void print_spread(int width, const char *name, int digits, const struct spread *s);

/* Of a sorted sample, @q from 0 to 1, interpolated. */
double quantile(const double *sorted, size_t n, double q);

void json_text(struct json_object *j, const char *key, const char *value);
void json_count(struct json_object *j, const char *key, uint64_t value);
void json_number(struct json_object *j, const char *key, double value);
void json_flag(struct json_object *j, const char *key, bool value);
void json_spread(struct json_object *j, const char *key, const struct spread *s);

/* A report with "environment" and "command"; the caller adds the rest. */
struct json_object *report_json(const char *test, const struct perf_options *o);

/* The same as text. */
void report_head(const char *test, const struct perf_options *o);

/* Print and free. */
void report_print_json(struct json_object *j);

/* --- process.c: CPUs, memory, failures ------------------------------------ */

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

#endif /* DDPERF_PERF_H */
