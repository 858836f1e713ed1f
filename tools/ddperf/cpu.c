// SPDX-License-Identifier: GPL-2.0-only
/*
 * cpu.c - which CPUs to use, and calls that must not fail
 *
 * Copyright (C) 2026 The dd authors
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"
#include "../common/tool.h"

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

bool share_cpu(const struct perf_options *o)
{
	return o->cpus[0] >= 0 && o->cpus[0] == o->cpus[1];
}

void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		return;
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

int must(struct dd *h, int ret, const char *what)
{
	char more[512];

	if (ret >= 0)
		return ret;
	if (dd_last_error(h, more, sizeof(more)) || !more[0])
		perf_fail(tool_exit_code(ret), "%s: %s", what, dd_strerror(ret));
	perf_fail(tool_exit_code(ret), "%s: %s (%s)", what, dd_strerror(ret), more);
}
