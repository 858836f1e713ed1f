// SPDX-License-Identifier: GPL-2.0-only
/*
 * fail.c - failures, and how the client learns what stopped its server
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf.h"
#include "../common/tool.h"

#define PATIENCE	2000	/* ms, for a message that may still be on its way */

/**
 * struct failure - last thing that a server says, in place of any record
 * @magic: FAILURE; records begin with a number of nanoseconds, a process id or a
 *	rate, which never are so large
 * @code: exit code that suits it
 * @text: what has failed
 */
struct failure {
	char magic[8];
	int32_t code;
	char text[244];
};

#define FAILURE	"\xff" "failed"

/* Of a server: socket to its client, and whether they share a terminal. */
static int client = -1;
static bool one_terminal;

void perf_serves(int control, bool shared_terminal)
{
	client = control;
	one_terminal = shared_terminal;
}

void perf_fail(int code, const char *format, ...)
{
	struct failure f = { .magic = FAILURE, .code = code };
	va_list args;

	va_start(args, format);
	vsnprintf(f.text, sizeof(f.text), format, args);
	va_end(args);
	if (client < 0 || !one_terminal)
		tool_warn("%s", f.text);
	if (client < 0)
		exit(code);
	send(client, &f, sizeof(f), MSG_NOSIGNAL);
	/* Streams that a server has inherited are not its own to flush. */
	_exit(code);
}

bool perf_is_failure(const void *record, size_t size)
{
	return size >= sizeof(FAILURE) && !memcmp(record, FAILURE, sizeof(FAILURE));
}

void perf_lost(int control)
{
	static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
	struct pollfd p = { .fd = control, .events = POLLIN };
	char text[sizeof(((struct failure *)0)->text)];
	struct failure f;

	/* Threads that notice it as well wait until the first one has exited. */
	pthread_mutex_lock(&first);
	if (poll(&p, 1, PATIENCE) > 0 &&
	    recv(control, &f, sizeof(f), MSG_PEEK | MSG_DONTWAIT) == sizeof(f) &&
	    perf_is_failure(&f, sizeof(f))) {
		f.text[sizeof(f.text) - 1] = '\0';
		tool_warn("the serving process: %s",
			  tool_print_name(text, sizeof(text), f.text));
		_exit(f.code);
	}
	tool_warn("the other side went away");
	_exit(TOOL_PEER);
}
