// SPDX-License-Identifier: LGPL-2.1-only
/*
 * segment.c - a segment, its exporter and an importer
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "segment.h"

struct dd *ex, *im;
struct dd_export_attr attr;
struct dd_mem *mem;
uint64_t segment;
char *shared;
bool far;
bool direct;

static int enter(const char *netns)
{
	int fd = open(netns, O_RDONLY | O_CLOEXEC), ret = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);

	close(fd);
	return ret;
}

int enter_exporter(void)
{
	return far ? enter("/run/netns/dd2") : 0;
}

int enter_importer(void)
{
	return far ? enter("/run/netns/dd1") : 0;
}

int owner(void)
{
	return far ? 2 : dd_node(im);
}

const unsigned char key[DD_KEY_SIZE] = "lib_mem";

struct dd_export_attr attributes(void)
{
	struct dd_export_attr a = {
		.size = sizeof(a), .len = PAGE, .key_class = DD_KEY_NAME, .rights = ALL,
		.notify = DD_NOTIFY_NEVER, .users = DD_FOR_USER, .importers = 8, .cookie = 77,
		.window = DD_DEPTH_MAX,
	};

	memcpy(a.key, key, sizeof(key));
	return a;
}

void begin(int list, unsigned int notify)
{
	const char *by_kernel = getenv("DD_DIRECT");

	far = across_nodes();
	direct = !far && (!by_kernel || strcmp(by_kernel, "0"));
	check_eq(enter_exporter(), 0);
	check_eq(dd_open(&ex), 0);
	check_eq(enter_importer(), 0);
	check_eq(dd_open(&im), 0);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check_eq(dd_pin(ex, shared, PAGE), 0);
	if (list)
		list = dd_list(ex);
	check(list >= 0);
	attr = attributes();
	attr.addr = shared;
	if (list) {
		attr.notify = notify;
		attr.list = list;
		attr.window = 4;
	}
	check_eq(dd_export(ex, &attr, &segment), 0);
	check_eq(dd_import(im, owner(), attr.key_class, attr.key, attr.rights, &mem), 0);
}

void end(void)
{
	check_eq(dd_unimport(mem), 0);
	check_eq(dd_shutdown(im), 0);
	check_eq(dd_shutdown(ex), 0);
	munmap(shared, PAGE);
}

void reexport(unsigned int rights, unsigned int flags, size_t len)
{
	check_eq(dd_unimport(mem), 0);
	check_eq(dd_unexport(ex, segment), 0);
	attr.flags = flags;
	attr.len = len;
	check_eq(dd_export(ex, &attr, &segment), 0);
	check_eq(dd_import(im, owner(), attr.key_class, attr.key, rights, &mem), 0);
}

long long by_kernel(void)
{
	struct dd_export_importer one = { 0 };
	struct dd_export_desc desc = { 0 };

	check_eq(dd_export_info(ex, segment, &desc, &one, 1), 1);
	check_eq(desc.importers, 1);
	return one.count;
}
