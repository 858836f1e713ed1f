// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_track.c - tracked memory in place of memory of the program
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/dd_mem.h>

#include "../../lib/mem/track.h"
#include "dd_mem.h"
#include "faulty.h"
#include "tap.h"

#define PAGE	4096ul

static struct dd *h;
static char data[5 * PAGE] __attribute__((aligned(PAGE)));

static unsigned long long memlock_used(void)
{
	struct dd_info info = { .size = sizeof(info) };

	check_eq(ioctl(dd_fd(h), DD_IOC_INFO, &info), 0);
	return info.memlock_used;
}

/* What ddi_stored() finds, with its pages, at most 64; 0 if there is nothing. */
static uint64_t fetch(int *id, size_t len)
{
	uint64_t bits = 0;

	*id = ddi_stored(h, 0, 0);
	if (*id > 0)
		check_eq(ddi_dirty(h, *id, 0, len, &bits), 0);
	return bits;
}

static void check_tracked(char *at)
{
	unsigned long long used = memlock_used();
	uint64_t bits = 9;
	int id, found;

	at[0] = 'x';
	at[3 * PAGE - 1] = 'y';
	id = ddi_track(h, at, 3 * PAGE);
	check(id > 0);
	check(memlock_used() >= used + 3 * PAGE);
	check_eq(at[0], 'x');
	check_eq(at[3 * PAGE - 1], 'y');
	check_eq(fetch(&found, 3 * PAGE), 0);
	at[PAGE] = 'z';
	check_eq(fetch(&found, 3 * PAGE), 2);
	check_eq(found, id);
	/* By address, too. */
	at[2 * PAGE] = 'w';
	check_eq(dd_dirty(h, at + PAGE, 2 * PAGE, &bits), 0);
	check_eq(bits, 2);
	check_eq(ddi_track(h, at, PAGE), -EBUSY);
	check_eq(ddi_track(h, at + 2 * PAGE, 2 * PAGE), -EBUSY);
	check_eq(dd_free(h, at), -EINVAL);
	check_eq(ddi_untrack(h, at + PAGE), -EINVAL);
	check_eq(ddi_untrack(h, at), 0);
	check_eq(ddi_untrack(h, at), -EINVAL);
	check_eq(memlock_used(), used);
	check_eq(at[0], 'x');
	check_eq(at[PAGE], 'z');
	check_eq(at[2 * PAGE], 'w');
	at[2 * PAGE] = 'v';
	check_eq(fetch(&found, 3 * PAGE), 0);
	check_eq(dd_dirty(h, at, PAGE, &bits), -EINVAL);
}

TEST(memory_of_any_kind_is_tracked_and_given_back)
{
	char stack[5 * PAGE], *heap = malloc(5 * PAGE);
	char *own = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	static char initialised[3 * PAGE] __attribute__((aligned(PAGE))) = "data";

	check_eq(dd_open(&h), 0);
	check_tracked(data);
	check_tracked(initialised);
	check_tracked((char *)(((uintptr_t)stack + PAGE - 1) & -PAGE));
	check_tracked((char *)(((uintptr_t)heap + PAGE - 1) & -PAGE));
	check_tracked(own);
	/* Again. */
	check_tracked(own);
	check_eq(munmap(own, 3 * PAGE), 0);
	free(heap);
	check_eq(dd_shutdown(h), 0);
}

/* What a call has done is undone, and the memory is as it was. */
static void check_undone(int error)
{
	unsigned long long used = memlock_used();
	uint64_t bits;

	strcpy(data, "contents");
	check_eq(ddi_track(h, data, 2 * PAGE), error);
	check(!strcmp(data, "contents"));
	strcpy(data, "changed");
	check_eq(dd_dirty(h, data, PAGE, &bits), -EINVAL);
	check_eq(memlock_used(), used);
	check_eq(ddi_untrack(h, data), -EINVAL);
}

TEST(what_fails_changes_nothing)
{
	int id;

	check_eq(dd_open(&h), 0);
	faulty.refuse = DD_IOC_REGION_ALLOC;
	faulty.refusal = EDQUOT;
	check_undone(-EDQUOT);
	faulty.unmapped = 1;
	check_undone(-ENOMEM);
	id = ddi_track(h, data, 2 * PAGE);
	check(id > 0);
	strcpy(data, "tracked");
	faulty.refuse = DD_IOC_REGION_FREE;
	faulty.refusal = EBUSY;
	check_eq(ddi_untrack(h, data), -EBUSY);
	check_eq(ddi_stored(h, 0, 0), id);
	check_eq(ddi_untrack(h, data), 0);
	check(!strcmp(data, "tracked"));
	check_eq(dd_shutdown(h), 0);
}

static int stop;

static void *load(void *arg)
{
	const volatile uint64_t *word = arg;
	uintptr_t wrong = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		wrong |= *word != 4711;
	return (void *)wrong;
}

/* The program has unmapped it. */
TEST(memory_that_is_gone_is_given_back)
{
	char *gone = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check_eq(dd_open(&h), 0);
	check(ddi_track(h, gone, PAGE) > 0);
	check_eq(munmap(gone, PAGE), 0);
	check_eq(ddi_untrack(h, gone), 0);
	check_eq(ddi_untrack(h, gone), -EINVAL);
	check_eq(dd_shutdown(h), 0);
}

TEST(other_threads_load_while_memory_is_replaced)
{
	pthread_t thread;
	void *wrong;

	check_eq(dd_open(&h), 0);
	*(uint64_t *)data = 4711;
	stop = 0;
	check_eq(pthread_create(&thread, NULL, load, data), 0);
	for (int i = 0; i < 200; i++) {
		check(ddi_track(h, data, 2 * PAGE) > 0);
		data[PAGE] = i;
		check_eq(ddi_untrack(h, data), 0);
		check_eq(data[PAGE], (char)i);
	}
	stop = 1;
	check_eq(pthread_join(thread, &wrong), 0);
	check(!wrong);
	check_eq(dd_shutdown(h), 0);
}
