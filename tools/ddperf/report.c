// SPDX-License-Identifier: GPL-2.0-only
/*
 * report.c - numbers, and the head of a report: kernel, processors, command line
 *
 * Copyright (C) 2026 The dd authors
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "process.h"
#include "report.h"
#include "../common/tool.h"

/* --- numbers -------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double quantile(const double *sorted, size_t n, double q)
{
	double at = q * (n - 1);
	size_t i = at;

	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]);
}

void spread_of(struct spread *s, double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	s->min = v[0];
	s->p25 = quantile(v, n, 0.25);
	s->median = quantile(v, n, 0.5);
	s->p75 = quantile(v, n, 0.75);
	s->max = v[n - 1];
}

void spread_of_ratio(struct spread *s, const double *a, const double *b, size_t n)
{
	double *v = allocate(n, sizeof(*v));
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = b ? a[i] / b[i] : a[i];
	spread_of(s, v, n);
	free(v);
}

void print_spread(int width, const char *name, int digits, const struct spread *s)
{
	if (!s)
		printf("%-*s %9s %9s %9s %9s %9s", width, "", "min", "p25", "median",
		       "p75", "max");
	else
		printf(digits ? "%-*s %9.*g %9.*g %9.*g %9.*g %9.*g" :
				"%-*s %9.*f %9.*f %9.*f %9.*f %9.*f", width, name,
		       digits, s->min, digits, s->p25, digits, s->median,
		       digits, s->p75, digits, s->max);
}

/* --- JSON ----------------------------------------------------------------- */

void json_text(struct json_object *j, const char *key, const char *value)
{
	json_object_object_add(j, key, json_object_new_string(value));
}

void json_count(struct json_object *j, const char *key, uint64_t value)
{
	json_object_object_add(j, key, json_object_new_uint64(value));
}

void json_number(struct json_object *j, const char *key, double value)
{
	json_object_object_add(j, key, json_object_new_double(value));
}

void json_flag(struct json_object *j, const char *key, bool value)
{
	json_object_object_add(j, key, json_object_new_boolean(value));
}

void json_spread(struct json_object *j, const char *key, const struct spread *s)
{
	struct json_object *o = json_object_new_object();

	json_number(o, "min", s->min);
	json_number(o, "p25", s->p25);
	json_number(o, "median", s->median);
	json_number(o, "p75", s->p75);
	json_number(o, "max", s->max);
	json_object_object_add(j, key, o);
}

/* --- reports -------------------------------------------------------------- */

struct environment {
	struct utsname uts;
	long online;
	int allowed;
	char cpu[128];
	const char *machine;
	bool mitigations_off;
};

/* The name that a hypervisor gives itself. */
static const char *machine_kind(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned int a, b, c, d;
	char name[13] = "";

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
		return "no hypervisor seen";
	__cpuid(0x40000000, a, b, c, d);
	memcpy(name, &b, 4);
	memcpy(name + 4, &c, 4);
	memcpy(name + 8, &d, 4);
	if (!strcmp(name, "TCGTCGTCGTCG"))
		return "QEMU, software emulation";
	if (!strcmp(name, "KVMKVMKVM"))
		return "KVM";
	return "a virtual machine";
#else
	return "unknown";
#endif
}

static bool file_has(const char *path, const char *word)
{
	char line[4096];
	FILE *f = fopen(path, "r");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, word);
	if (f)
		fclose(f);
	return found;
}

static void cpu_model(char *buf, size_t size)
{
	char line[256], *p;
	FILE *f = fopen("/proc/cpuinfo", "r");

	snprintf(buf, size, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "model name", 10))
			continue;
		p = strchr(line, ':');
		if (p)
			snprintf(buf, size, "%.*s", (int)strcspn(p + 2, "\n"), p + 2);
		break;
	}
	if (f)
		fclose(f);
}

static void look_around(struct environment *e)
{
	cpu_set_t set;

	uname(&e->uts);
	e->online = sysconf(_SC_NPROCESSORS_ONLN);
	e->allowed = sched_getaffinity(0, sizeof(set), &set) ? e->online :
							       CPU_COUNT(&set);
	cpu_model(e->cpu, sizeof(e->cpu));
	e->machine = machine_kind();
	e->mitigations_off = file_has("/proc/cmdline", "mitigations=off");
}

static const char *command_line(const struct perf_options *o)
{
	static char line[1024];
	size_t n = 0;
	int i;

	for (i = 0; i < o->argc && n < sizeof(line); i++)
		n += snprintf(line + n, sizeof(line) - n, "%s%s", i ? " " : "",
			      i ? o->argv[i] : "ddperf");
	return line;
}

struct json_object *report_json(const char *test, const struct perf_options *o)
{
	struct json_object *j = json_object_new_object();
	struct json_object *env = json_object_new_object();
	struct environment e;

	look_around(&e);
	json_text(j, "tool", "ddperf");
	json_text(j, "version", DD_VERSION);
	json_text(j, "test", test);
	json_text(j, "command", command_line(o));
	json_text(env, "kernel", e.uts.release);
	json_text(env, "architecture", e.uts.machine);
	json_text(env, "cpu", e.cpu);
	json_count(env, "cpus_online", e.online);
	json_count(env, "cpus_allowed", e.allowed);
	json_text(env, "machine", e.machine);
	json_flag(env, "mitigations_off", e.mitigations_off);
	json_object_object_add(j, "environment", env);
	return j;
}

void report_head(const char *test, const struct perf_options *o)
{
	struct environment e;

	look_around(&e);
	printf("ddperf %s, %s\n", DD_VERSION, test);
	printf("  kernel   %s %s%s\n", e.uts.release, e.uts.machine,
	       e.mitigations_off ? ", mitigations=off" : "");
	printf("  machine  %s; %s; %ld CPU%s online, %d allowed\n", e.machine,
	       e.cpu, e.online, tool_s(e.online), e.allowed);
	printf("  command  %s\n", command_line(o));
	fflush(stdout);
}

void report_print_json(struct json_object *j)
{
	puts(json_object_to_json_string_ext(j, JSON_C_TO_STRING_PRETTY |
						JSON_C_TO_STRING_SPACED));
	fflush(stdout);
	json_object_put(j);
}
