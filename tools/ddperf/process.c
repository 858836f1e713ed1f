// SPDX-License-Identifier: GPL-2.0-only
/*
 * process.c - CPUs, memory, and failures: the client prints the message of a
 * server that failed
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process.h"
#include "../common/tool.h"

#define MESSAGE_TIMEOUT	2000	/* ms, for a message that is still on its way */

/* --- CPUs and memory ------------------------------------------------------ */

void choose_cpus(struct perf_options *o)
{
	cpu_set_t set;
	int cpu, n = 0;

	if (o->cpus[0] >= 0 || sched_getaffinity(0, sizeof(set), &set))
		return;
	for (cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			o->cpus[n++] = cpu;
	if (n == 1)
		o->cpus[1] = o->cpus[0];
}

void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perf_fail(TOOL_FAILED, "CPU %d: %s", cpu, strerror(errno));
}

struct dd *perf_open(void)
{
	struct dd *h;
	int ret = dd_open(&h);

	if (!ret)
		return h;
	perf_fail(tool_exit_code(ret), "/dev/dd: %s", dd_strerror(ret));
}

void *allocate(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		perf_fail(TOOL_FAILED, "out of memory");
	return p;
}

/* --- failures ------------------------------------------------------------- */

/**
 * struct failure - last record of a server, in place of any other
 * @magic: FAILURE; other records begin with a number that is never so large, or
 *	with a name
 * @code: exit code
 * @text: message
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
	/* Without exit(): it would flush streams inherited from the client. */
	_exit(code);
}

void perf_die(const char *what)
{
	perf_fail(TOOL_FAILED, "%s: %s", what, strerror(errno));
}

static __attribute__((noinline, noreturn))
void must_fail(struct dd *h, int ret, const char *what)
{
	char more[512];

	if (dd_last_error(h, more, sizeof(more)) || !more[0])
		perf_fail(tool_exit_code(ret), "%s: %s", what, dd_strerror(ret));
	perf_fail(tool_exit_code(ret), "%s: %s (%s)", what, dd_strerror(ret), more);
}

int must(struct dd *h, int ret, const char *what)
{
	if (ret < 0)
		must_fail(h, ret, what);
	return ret;
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

	/* One thread prints; another one that gets here waits for the exit. */
	pthread_mutex_lock(&first);
	if (poll(&p, 1, MESSAGE_TIMEOUT) > 0 &&
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
