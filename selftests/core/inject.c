// SPDX-License-Identifier: GPL-2.0-only
/*
 * Failing allocations and copies: /proc/self/fail-nth, and the attributes of fault
 * injection with a task filter.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject.h"

/*
 * "Always" ends after this many failures: a task that has to copy from user space to
 * stop the failures would never succeed.
 */
#define ALWAYS	1000

static const struct {
	const char *name, *dir;
	int step;
} kinds[] = {
	[INJECT_NTH] = { "failure" },
	[INJECT_SLAB] = { "objects after byte", "failslab", 64 },
	[INJECT_PAGE] = { "pages after", "fail_page_alloc", 1 },
	[INJECT_COPY] = { "copies after", "fail_usercopy", 1 },
	[INJECT_WORKER] = { "worker: objects after byte", "failslab", 256 },
};

static int fail_nth = -1, make_it_fail = -1;

static int open_attr(const char *dir, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", dir, file);
	return open(path, O_RDWR | O_CLOEXEC);
}

static bool set(enum inject how, const char *file, const char *text)
{
	int fd = open_attr(kinds[how].dir, file);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	close(fd);
	return ok;
}

static void set_number(enum inject how, const char *file, int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	if (!set(how, file, text))
		abort();
}

/* A write that fails because of what is armed is repeated. */
static void put(int fd, int n)
{
	char buf[16];
	int len = snprintf(buf, sizeof(buf), "%d", n);

	while (pwrite(fd, buf, len, 0) < 0)
		if (errno != EFAULT)
			abort();
}

/* The file's number; -1 if the read fails. Files of debugfs cannot seek. */
static int get(int fd)
{
	char buf[16] = "";
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);

	if (n < 0 && errno == ESPIPE)
		n = read(fd, buf, sizeof(buf) - 1);
	return n > 0 ? atoi(buf) : -1;
}

static bool kind_ready(enum inject how)
{
	return set(how, "verbose", "0") && set(how, "interval", "1") &&
	       set(how, "task-filter", "Y") && set(how, "probability", "0") &&
	       set(how, "times", "0");
}

bool inject_ready(void)
{
	enum inject how;

	/* "ip netns exec" mounts a /sys without it. */
	if (access("/sys/kernel/debug/failslab", F_OK))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	fail_nth = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	make_it_fail = open("/proc/self/make-it-fail", O_RDWR | O_CLOEXEC);
	if (fail_nth < 0 || make_it_fail < 0)
		return false;
	for (how = INJECT_SLAB; how <= INJECT_WORKER; how++)
		if (!kind_ready(how))
			return false;
	return set(INJECT_SLAB, "ignore-gfp-wait", "N") &&
	       set(INJECT_SLAB, "cache-filter", "N") &&
	       set(INJECT_PAGE, "ignore-gfp-wait", "N") &&
	       set(INJECT_PAGE, "ignore-gfp-highmem", "N") &&
	       set(INJECT_PAGE, "min-order", "0");
}

/* CAP_SYS_ADMIN: to open contexts of another node. */
#define KEPT	(1u << CAP_SYS_RESOURCE | 1u << CAP_DAC_OVERRIDE | 1u << CAP_NET_ADMIN | \
		 1u << CAP_SYS_ADMIN)

bool inject_keep(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{ .permitted = KEPT, .effective = KEPT },
	};

	return !syscall(SYS_capset, &head, data);
}

/* Let the workers of the kernel fail, or not. */
static void workers(int n)
{
	DIR *proc = opendir("/proc");
	char path[300], name[32];
	struct dirent *d;
	int fd;

	while (proc && (d = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		fd = atoi(d->d_name) > 0 ? open(path, O_RDONLY) : -1;
		if (fd < 0)
			continue;
		memset(name, 0, sizeof(name));
		if (read(fd, name, sizeof(name) - 1) > 0 &&
		    !strncmp(name, "kworker/", 8)) {
			close(fd);
			snprintf(path, sizeof(path), "/proc/%s/make-it-fail",
				 d->d_name);
			fd = open(path, O_WRONLY);
			if (fd >= 0)
				put(fd, n);
		}
		close(fd);
	}
	if (proc)
		closedir(proc);
}

void inject_arm(enum inject how, int n)
{
	if (how == INJECT_NTH) {
		put(fail_nth, n);
		return;
	}
	set_number(how, "space", n);
	set_number(how, "times", ALWAYS);
	set_number(how, "probability", 100);
	if (how == INJECT_WORKER)
		workers(1);
	else
		put(make_it_fail, 1);
}

bool inject_disarm(enum inject how)
{
	bool hit;
	int fd;

	if (how == INJECT_NTH) {
		/* The read itself may fail; then nothing before it did. */
		hit = get(fail_nth) == 0;
		put(fail_nth, 0);
		return hit;
	}
	put(make_it_fail, 0);
	set_number(how, "probability", 0);
	if (how == INJECT_WORKER)
		workers(0);
	fd = open_attr(kinds[how].dir, "times");
	hit = get(fd) != ALWAYS;
	close(fd);
	return hit;
}

int inject_next(enum inject how, int n)
{
	if (n >= INJECT_LIMIT)
		inject_failed(how, n, "failures do not end");
	if (how == INJECT_NTH)
		return n + 1;
	return n + (n / 4 > kinds[how].step ? n / 4 : kinds[how].step);
}

void inject_failed(enum inject how, int n, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "# %s %d: ", kinds[how].name, n);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1);
}

int inject_count(int armed)
{
	int left = get(fail_nth);

	put(fail_nth, 0);
	return armed - left;
}
