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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/core/atomic.h"
#include "../../lib/mem/destspace.h"
#include "tap.h"

#define PAGE	4096ul
#define MANY	10000
#define USER	12345

static const size_t lengths[] = { 1, 4, 4095, 4096, 4097, 3 * 4096 };
#define LENGTHS	(sizeof(lengths) / sizeof(lengths[0]))

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

static int in_child(int (*run)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		exit(run());
	check_eq(waitpid(pid, &status, 0), pid);
	return status;
}

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
static int fill(void)
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
	return test_failed;
}

static int fill_little(void)
{
	reserve_little();
	return fill();
}

TEST(little_address_space_is_used_up)
{
	check_eq(in_child(fill_little), 0);
}

/* The limit does not hold for root. */
static int fill_locked(void)
{
	const struct rlimit l = { 4 << 20, 4 << 20 };

	if (!geteuid())
		check_eq(setresuid(USER, USER, USER), 0);
	check_eq(setrlimit(RLIMIT_MEMLOCK, &l), 0);
	check_eq(mlockall(MCL_FUTURE), 0);
	return fill();
}

TEST(a_process_that_locks_its_memory)
{
	check_eq(in_child(fill_locked), 0);
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

static int change(void)
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
	return test_failed;
}

TEST(threads_find_proxies_while_others_move)
{
	check_eq(in_child(change), 0);
}

/* ---- many proxies ----------------------------------------------------------------------- */

static int many;

static int look_up_one(void)
{
	struct ddi_dest *d = &dest[many / 3];
	bool good;

	for (int i = 0; i < many; i++)
		if (ddi_dest_add(&dest[i], PAGE))
			return 1;
	for (int i = 0; i < many; i++)
		if (ddi_dest_find(at(&dest[i], i % PAGE)) != &dest[i])
			return 1;
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGUSR1);
	good = ddi_dest_find(at(d, 1)) == d;
	raise(SIGUSR2);
	return !good;
}

static int stop_signal(pid_t pid)
{
	int status = 0;

	check_eq(waitpid(pid, &status, 0), pid);
	return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/* Instructions of a look-up among so many, with those of raise(). */
static long instructions(int count)
{
	long n = 0;
	pid_t pid;
	int sig;

	many = count;
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(look_up_one());
	check_eq(stop_signal(pid), SIGUSR1);
	do {
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
		sig = stop_signal(pid);
		n += sig == SIGTRAP;
	} while (sig == SIGTRAP);
	check_eq(sig, SIGUSR2);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return n;
}

/* Ten more steps of the search. */
TEST(a_look_up_takes_logarithmic_time)
{
	long few = instructions(10), most = instructions(MANY);

	printf("# %ld instructions more\n", most - few);
	check(most - few <= 10 * 20);
}

/* ---- addresses ---------------------------------------------------------------------------- */

TEST(a_proxy_begins_at_a_page_and_a_page_without_one_follows)
{
	for (size_t i = 0; i < LENGTHS; i++)
		add(&dest[i], lengths[i]);
	for (size_t i = 0; i < LENGTHS; i++) {
		struct ddi_dest *d = &dest[i];
		uintptr_t last = (d->base + d->len - 1) & -PAGE;

		check_eq(d->base % PAGE, 0);
		check(ddi_dest_find(at(d, 0)) == d);
		check(ddi_dest_find(at(d, d->len - 1)) == d);
		check(!ddi_dest_find(at(d, d->len)));
		check(!ddi_dest_find(at(d, -1ul)));
		for (size_t n = 0; n < PAGE; n += PAGE - 1)
			check(!ddi_dest_find((void *)(last + PAGE + n)));
	}
	check(!ddi_dest_find(NULL));
	check(!ddi_dest_find((void *)-1l));
	check(!ddi_dest_find(dest));
	for (size_t i = 0; i < LENGTHS; i++) {
		const void *was = at(&dest[i], 0);

		ddi_dest_del(&dest[i]);
		check(!ddi_dest_find(was));
		check_eq(dest[i].len, 0);
	}
}

TEST(a_proxy_that_is_too_long)
{
	check_eq(ddi_dest_add(&dest[0], -1ul), -ENOSPC);
	check_eq(ddi_dest_add(&dest[0], -PAGE), -ENOSPC);
	check_eq(ddi_dest_add(&dest[0], 1ul << 41), -ENOSPC);
	check_eq(dest[0].len, 0);
}

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
