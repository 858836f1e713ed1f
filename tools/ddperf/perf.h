/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ddperf: command line, results, reports.
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

/* The last three are of "net" only. */
enum test { TEST_LAT, TEST_BW, TEST_RATE, TEST_INSN, TEST_TRIP, TEST_SHARE };

/**
 * struct perf_options - command line
 * @argc: as main() got it, for the report
 * @argv: likewise
 * @sizes: bytes in a message, one after the other
 * @size_count: how many of them
 * @size: the first one, or the only one where there may be no more
 * @all: sizes from 2 bytes to 1 MiB instead, powers of two
 * @iterations: per round; 0 for a default by test and size
 * @duration: seconds per size in all, instead of @iterations
 * @sleep: wait asleep rather than spinning
 * @touch: the receiver reads every byte
 * @methods: names of those beside ours; NULL for all
 * @cpus: CPUs of this and of the other side; -1 for any
 * @rounds: interleaved rounds of all methods
 * @window: messages that may be unconsumed; 0 for a default by test
 * @json: report as JSON
 * @server: answer clients by this name
 * @client: use the server of this name; NULL to start one
 * @connections: connections to open
 * @active: of these, in use where it says so
 * @processes: numbers of client processes to try
 * @variants: how many of them
 * @block: bytes of a connection's block; 0 for what the size needs
 * @sockets: conns: UNIX sockets, not connections
 * @node: number of the server's node; -1 for this one, without "net"
 * @port: TCP port where that server listens
 * @flows: names of the methods that run at the same time
 */
struct perf_options {
	int argc;
	char **argv;
	size_t sizes[SIZES_MAX];
	unsigned int size_count;
	size_t size;
	bool all;
	uint64_t iterations;
	double duration;
	bool sleep;
	bool touch;
	const char *methods;
	int cpus[2];
	unsigned int rounds;
	unsigned int window;
	bool json;
	const char *server;
	const char *client;
	unsigned int connections;
	unsigned int active;
	unsigned int processes[VARIANTS_MAX];
	unsigned int variants;
	size_t block;
	bool sockets;
	int node;
	unsigned int port;
	const char *flows;
};

/* Each returns the exit code. */
int perf_flow(enum test test, const struct perf_options *o);
int perf_insn(const struct perf_options *o);
int perf_conns(const struct perf_options *o);
int perf_mem(const struct perf_options *o);
int perf_share(const struct perf_options *o);
int net_serve(const struct perf_options *o);

/* Whether the clock counts instructions, as under QEMU's -icount. */
bool clock_counts_instructions(void);

/* --- numbers -------------------------------------------------------------- */

/**
 * struct spread - a sorted sample, in short
 * @min: smallest
 * @p25: lower quartile
 * @median: half are below
 * @p75: upper quartile
 * @max: largest
 */
struct spread {
	double min, p25, median, p75, max;
};

/* Sorts @v. */
void spread_of(struct spread *s, double *v, size_t n);

/* Of a sorted sample, @q from 0 to 1, interpolated. */
double quantile(const double *sorted, size_t n, double q);

void sort_doubles(double *v, size_t n);

struct json_object *spread_json(const struct spread *s);

/* --- report --------------------------------------------------------------- */

/* "environment" and "command" of a report; the caller adds the rest. */
struct json_object *report_json(const char *test, const struct perf_options *o);

/* The same for people. */
void report_head(const char *test, const struct perf_options *o);

/* Print and free. */
void report_print_json(struct json_object *j);

/* --- processes ------------------------------------------------------------ */

/* A choice of two CPUs out of the allowed ones, if the user made none. */
void choose_cpus(struct perf_options *o);

/* Bind the calling process; exits if that is impossible. */
void pin(int cpu);

/* Whether both sides share a CPU, so that spinning must give way. */
bool share_cpu(const struct perf_options *o);

/* Open /dev/dd or say why not and exit. */
struct dd *perf_open(void);

/* --- fail.c: failures ----------------------------------------------------- */

/**
 * perf_fail() - say what has failed, and exit
 * @code: exit code
 * @format: as for printf(), without the newline
 *
 * A server tells its client, which says it and exits with @code as well.
 */
void perf_fail(int code, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/**
 * perf_serves() - this process is a server from now on
 * @control: socket to its client
 * @shared_terminal: the client's standard error is this process's: one message
 *	is enough
 */
void perf_serves(int control, bool shared_terminal);

/* Whether the @size bytes at @record are the server's last words. */
bool perf_is_failure(const void *record, size_t size);

/* The server has ended: say why, if it has told, and exit. */
void perf_lost(int control) __attribute__((noreturn));

/* Whole pages for @size bytes: another process may be sent to directly then. */
static inline size_t perf_pages(size_t size)
{
	return (size + 4095) & ~(size_t)4095;
}

/* @ret, unless it is an error: then say so, with all that is known, and exit. */
int must(struct dd *h, int ret, const char *what);

#endif /* DDPERF_PERF_H */
