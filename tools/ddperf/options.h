/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command line.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DDPERF_OPTIONS_H
#define DDPERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif /* DDPERF_OPTIONS_H */
