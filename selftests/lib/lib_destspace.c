// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_destspace.c - addresses that stand for memory of other processes
 *
 * Needs no module. destspace.sh runs one of its tests with ThreadSanitizer.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../lib/core/atomic.h"
#include "../../lib/mem/destspace.h"
#include "tap.h"

#define PAGE	4096ul
#define MANY	10000
#define USER	12345

static struct ddi_dest dest[MANY];

static const void *at(const struct ddi_dest *d, size_t offset)
{
	return (const void *)(d->base + offset);
}

static void add(struct ddi_dest *d, size_t len)
{
	check_eq(ddi_dest_add(d, len), 0);
	check_eq(d->len, len);
}

/* ---- little address space: in children, since this process reserves much ------------- */

/* Reserve a part of 4 MiB of addresses. */
static void reserve_little(void)
{
	unsigned long pages = 0;
	struct rlimit old, few;
	FILE *f = fopen("/proc/self/statm", "r");

	check_eq(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	check_eq(getrlimit(RLIMIT_AS, &old), 0);
	few = old;
	few.rlim_cur = pages * PAGE + (4 << 20);
	check_eq(setrlimit(RLIMIT_AS, &few), 0);
	add(&dest[0], 1);
	ddi_dest_del(&dest[0]);
	check_eq(setrlimit(RLIMIT_AS, &old), 0);
}

/* As many as there are addresses for; then each place of a former one is used again. */
static int fill(const void *arg)
{
	uintptr_t base;
	int n = 0, ret;

	while (n < MANY && !(ret = ddi_dest_add(&dest[n], 1)))
		n++;
	check_eq(ret, -ENOSPC);
	check(n >= 100);
	for (int i = 0; i < n; i++)
		check(ddi_dest_find(at(&dest[i], 0)) == &dest[i]);
	for (int i = 0; i < n; i += 7) {
		base = dest[i].base;
		ddi_dest_del(&dest[i]);
		check_eq(ddi_dest_add(&dest[i], PAGE + 1), -ENOSPC);
		add(&dest[i], PAGE);
		check_eq(dest[i].base, base);
	}
	return 0;
}

static int fill_little(const void *arg)
{
	reserve_little();
	return fill(NULL);
}

TEST(little_address_space_is_used_up)
{
	check_eq(in_child(fill_little, NULL), 0);
}

/* The limit does not hold for root. */
static int fill_locked(const void *arg)
{
	const struct rlimit l = { 4 << 20, 4 << 20 };

	if (!geteuid())
		check_eq(setresuid(USER, USER, USER), 0);
	check_eq(setrlimit(RLIMIT_MEMLOCK, &l), 0);
	check_eq(mlockall(MCL_FUTURE), 0);
	return fill(NULL);
}

TEST(a_process_that_locks_its_memory)
{
	check_eq(in_child(fill_locked, NULL), 0);
}

/* ---- threads ---------------------------------------------------------------------------- */

#define FIXED	64
#define CHANGES	20000

static int over, found_wrong;

/* Proxies that stay are found, whatever moves beside them. */
static void *look_up(void *arg)
{
	while (!ddi_load_acquire(&over)) {
		for (int i = 0; i < FIXED; i++)
			if (ddi_dest_find(at(&dest[i], i)) != &dest[i])
				ddi_store(&found_wrong, 1);
	}
	return arg;
}

static int change(const void *arg)
{
	pthread_t t[2];

	reserve_little();
	/* The first one is found last, so each change moves entries. */
	for (int i = 0; i < 2 * FIXED; i++)
		add(&dest[i % 2 ? FIXED + i / 2 : i / 2], PAGE);
	for (int i = 0; i < 2; i++)
		check_eq(pthread_create(&t[i], NULL, look_up, NULL), 0);
	for (int i = 0; i < CHANGES; i++) {
		struct ddi_dest *d = &dest[FIXED + i % FIXED];

		ddi_dest_del(d);
		add(d, 1 + i % PAGE);
		if (i % 64 == 0)
			sched_yield();
	}
	ddi_store_release(&over, 1);
	for (int i = 0; i < 2; i++)
		check_eq(pthread_join(t[i], NULL), 0);
	check(!found_wrong);
	return 0;
}

TEST(threads_find_proxies_while_others_move)
{
	check_eq(in_child(change, NULL), 0);
}

/* ---- addresses ---------------------------------------------------------------------------- */

TEST(addresses_are_used_again_late)
{
	uintptr_t was;

	add(&dest[0], PAGE);
	was = dest[0].base;
	ddi_dest_del(&dest[0]);
	for (int i = 0; i < 100; i++) {
		add(&dest[0], PAGE);
		check(dest[0].base != was);
		ddi_dest_del(&dest[0]);
	}
}
