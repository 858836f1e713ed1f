// SPDX-License-Identifier: GPL-2.0-only
/*
 * report.c - where a figure comes from: kernel, processors, command line
 *
 * Copyright (C) 2026 The dd authors
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "perf.h"
#include "../common/tool.h"

struct environment {
	struct utsname uts;
	long online;
	int allowed;
	char cpu[128];
	const char *machine;
	bool mitigations_off;
};

/* What a hypervisor says about itself. */
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
	json_object_object_add(j, "tool", json_object_new_string("ddperf"));
	json_object_object_add(j, "version", json_object_new_string(DD_VERSION));
	json_object_object_add(j, "test", json_object_new_string(test));
	json_object_object_add(j, "command", json_object_new_string(command_line(o)));
	json_object_object_add(env, "kernel", json_object_new_string(e.uts.release));
	json_object_object_add(env, "architecture", json_object_new_string(e.uts.machine));
	json_object_object_add(env, "cpu", json_object_new_string(e.cpu));
	json_object_object_add(env, "cpus_online", json_object_new_int64(e.online));
	json_object_object_add(env, "cpus_allowed", json_object_new_int64(e.allowed));
	json_object_object_add(env, "machine", json_object_new_string(e.machine));
	json_object_object_add(env, "mitigations_off",
			       json_object_new_boolean(e.mitigations_off));
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
