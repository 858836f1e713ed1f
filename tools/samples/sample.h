/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the sample programs share besides the protocol: their options.
 *
 * Copyright (C) 2026 The dd authors
 */
#ifndef DD_SAMPLE_H
#define DD_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "fedex.h"

/**
 * struct sample_options - command line of a sample
 * @node: node to connect to; this one by default
 * @name: first service
 * @name2: second service, of the programs that know two
 * @connections: connections that a service allows at a time
 * @size: bytes in a message (clients), or in a connection's buffer (servers)
 * @count: messages to send, or requests to serve before ending; 0: no end
 * @ready_fd: descriptor to write "ready" to; 1 by default
 * @sleep: wait asleep rather than spinning
 * @quiet: say nothing unless something is wrong
 */
struct sample_options {
	int node;
	char *name;
	char *name2;
	int connections;
	size_t size;
	uint64_t count;
	int ready_fd;
	bool sleep;
	bool quiet;
};

enum sample_kind { SAMPLE_SERVER, SAMPLE_CLIENT };

/**
 * sample_parse() - parse a command line; does not return from a wrong one
 * @o: defaults, overwritten
 * @kind: which options there are; @o->name2 set means two services
 * @purpose: one line for --help
 */
void sample_parse(struct sample_options *o, enum sample_kind kind,
		  const char *purpose, int argc, char **argv);

/* Complain in dderror()'s words and exit with the code that suits errno. */
void sample_die(const char *call) __attribute__((noreturn));

/* Tell whoever waits that the services can be reached. */
void sample_ready(const struct sample_options *o);

/* Wired memory for at least @size bytes, or exit. */
address_t sample_alloc(size_t size);

/* Fill a request so that a stale or shifted reply is noticed. */
void sample_fill(address_t p, size_t size, uint64_t number);

/* Whether @p is what sample_fill() wrote, or that back to front. */
bool sample_check(const char *p, size_t size, uint64_t number, bool reversed);

#endif /* DD_SAMPLE_H */
