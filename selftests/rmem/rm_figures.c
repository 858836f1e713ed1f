// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rm_figures.c - what operations cost, as Tables 2 and 3 of the paper have it
 *
 * Run by clerks.sh. Where the clock counts instructions, a figure is the cost at both nodes
 * together: see bench/cost-guest.sh, and bench/cost.py for the limits. Elsewhere the figures
 * are times.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "dd_mem.h"
#include "owner.h"
#include "registry.h"

#define ROUNDS	200
#define SLOTS	4096	/* of rmclerk */
#define OTHERS	7	/* records of other names before that of the last one */

static rm_seg_t seg, own;
static rm_desc_t rd;
static char *local;

static void fenced(int ret)
{
	check_eq(ret, 0);
	check_eq(rm_fence(rd, -1), 0);
}

static void write_state(void)
{
	fenced(rm_write(rd, 0, 40, 0));
}

static void read_state(void)
{
	fenced(rm_read(rd, 0, 40, own, 0, 0));
}

static void swap(void)
{
	fenced(rm_cas(rd, 0, own, 0, 1, 2));
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

static void import(const char *name, int flags)
{
	rm_desc_t d;

	check_eq(rm_import(name, owner_node(), flags, &d), 0);
	check_eq(rm_unimport(d), 0);
}

static void import_cached(void)
{
	import("seg", RM_READ);
}

static void import_uncached(void)
{
	import("seg", RM_READ | RM_LOOKUP);
}

static char names[OTHERS + 1][16];

static void import_collided(void)
{
	import(names[OTHERS], RM_READ | RM_LOOKUP);
}

/* The head of the registry on the owner's node, as its clerks read it. */
static void read_head(struct registry_head *head)
{
	static const unsigned char key[DD_KEY_SIZE] = { REGISTRY_KEY };
	struct dd_mem *mem;
	struct dd *h;

	check_eq(dd_open(&h), 0);
	check_eq(dd_import(h, far ? owner_node() : dd_node(h), DD_KEY_WELL_KNOWN, key, DD_CAN_GET,
			   &mem), 0);
	check_eq(dd_get(mem, head, sizeof(*head), 0), 0);
	dd_shutdown(h);
}

/* Export segments whose names have the same place in the registry. */
static void export_collided(void)
{
	struct registry_head head = { 0 };
	char name[16];
	int i, n = 0;

	read_head(&head);
	check_eq(head.slots, SLOTS);
	for (i = 0; n <= OTHERS && !test_failed; i++) {
		snprintf(name, sizeof(name), "%d", i);
		if (registry_hash(&head, name) != SLOTS / 2)
			continue;
		check(owner_export(name, 0, PAGE, RM_ALL, RM_NEVER) >= 0);
		strcpy(names[n++], name);
	}
}

static double mean(void (*run)(void))
{
	long begin;
	int i;

	for (i = 0; i < ROUNDS / 10; i++)
		run();
	begin = now_ns();
	for (i = 0; i < ROUNDS; i++)
		run();
	return (double)(now_ns() - begin) / ROUNDS;
}

/* By operation, and bytes or collisions. */
static void figure(const char *name, double value)
{
	static const char *between = "";

	printf("%s\"%s\": %.0f", between, name, value);
	between = ", ";
}

TEST(RM_table_2_and_table_3)
{
	double write, cached;

	owner_start();
	local = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	seg = owner_export("seg", 0, PAGE, RM_ALL, RM_CONDITIONAL);
	own = rm_export(NULL, local, PAGE, 0, RM_NEVER);
	check(seg >= 0 && own >= 0);
	export_collided();
	check_eq(rm_import("seg", owner_node(), 0, &rd), 0);
	write = mean(write_state);
	cached = mean(import_cached);
	printf("{\"test\": \"rmem\", \"command\": \"rm_figures\", \"results\": {");
	figure("write 40", write);
	figure("read 40", mean(read_state));
	figure("cas 4", mean(swap));
	figure("notification 40", mean(write_and_notify) - mean(ask_owner) - write);
	figure("import 0", cached);
	if (far) {
		figure("lookup 0", mean(import_uncached) - cached);
		figure("lookup 7", mean(import_collided) - cached);
	}
	printf("}}\n");
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(own), 0);
	owner_end();
}
