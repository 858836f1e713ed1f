// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rm_figures.c - what operations cost, as Tables 2 and 3 of the paper have it
 *
 * Run by clerks.sh -2 where the clock counts instructions, which is the cost at both nodes
 * together (ICOUNT=yes, see selftests/vm/run.sh). Elsewhere the figures are times, and are
 * printed without a limit.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "owner.h"

#define ROUNDS	200

static rm_seg_t seg, own;
static rm_desc_t rd;
static char *local;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void write_cell(void)
{
	check_eq(rm_write(rd, 0, 40, 0), 0);
	check_eq(rm_fence(rd, -1), 0);
}

static void read_cell(void)
{
	check_eq(rm_read(rd, 0, 40, own, 0, 0), 0);
	check_eq(rm_fence(rd, -1), 0);
}

static void swap(void)
{
	check_eq(rm_cas(rd, 0, own, 0, 1, 2), 0);
	check_eq(rm_fence(rd, -1), 0);
}

/* Until the owner, which slept, has read the note. */
static void write_and_notify(void)
{
	struct rm_note note;

	owner_read(seg);
	check_eq(rm_write(rd, 0, 40, RM_NOTIFY), 0);
	check_eq(owner_noted(&note), 1);
	check_eq(rm_fence(rd, -1), 0);
}

/* The same question and answer between the processes of the test, without notification. */
static void ask_owner(void)
{
	struct rm_note note;

	check_eq(owner_note(seg, &note), 0);
}

static void import(int flags)
{
	rm_desc_t d;

	check_eq(rm_import("seg", owner_node(), flags, &d), 0);
	check_eq(rm_unimport(d), 0);
}

static void import_cached(void)
{
	import(RM_READ);
}

static void import_uncached(void)
{
	import(RM_READ | RM_LOOKUP);
}

static double mean(void (*run)(void), const char *name)
{
	double begin;
	int i;

	for (i = 0; i < ROUNDS / 10; i++)
		run();
	begin = now();
	for (i = 0; i < ROUNDS; i++)
		run();
	begin = (now() - begin) / ROUNDS;
	printf("# %-16s %10.0f\n", name, begin);
	return begin;
}

static void ratio(const char *name, double is, double limit)
{
	printf("# %-24s %6.2f, at most %.2f\n", name, is, limit);
	if (getenv("DD_RM_LIMITS"))
		check(is <= limit);
}

TEST(RM_table_2_and_table_3)
{
	double write, read, cas, notify, cached, uncached;

	owner_start();
	local = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	seg = owner_export("seg", 0, PAGE, RM_ALL, RM_CONDITIONAL);
	own = rm_export(NULL, local, PAGE, 0, RM_NEVER);
	check(seg >= 0 && own >= 0);
	check_eq(rm_import("seg", owner_node(), 0, &rd), 0);
	write = mean(write_cell, "write");
	read = mean(read_cell, "read");
	cas = mean(swap, "cas");
	notify = mean(write_and_notify, "write, notify") - mean(ask_owner, "ask the owner");
	cached = mean(import_cached, "import, cached");
	uncached = mean(import_uncached, "import, uncached");
	ratio("read / write", read / write, 1.5);
	ratio("cas / write", cas / write, 1.27);
	ratio("notification / write", (notify - write) / write, 8.7);
	ratio("(uncached - cached) / read", (uncached - cached) / read, 1.5);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(own), 0);
	owner_end();
}
