// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_track.c - tracked memory in place of memory of the program
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "../../lib/mem/track.h"
#include "dd_mem.h"
#include "faulty.h"
#include "tap.h"

#define PAGE	4096ul
#define MANY	1000
#define ALICE	1000
#define DD_GID	900

static struct dd *h;
static char data[2 * MANY * PAGE] __attribute__((aligned(PAGE)));

static unsigned long long memlock_used(void)
{
	struct dd_info info = { .size = sizeof(info) };

	check_eq(ioctl(dd_fd(h), DD_IOC_INFO, &info), 0);
	return info.memlock_used;
}

/* What ddi_stored() finds, with its pages, at most 64; 0 if there is nothing. */
static uint64_t fetch(int *id, int after, size_t len)
{
	uint64_t bits = 0;

	*id = ddi_stored(h, after, 0);
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
	check_eq(fetch(&found, 0, 3 * PAGE), 0);
	at[PAGE] = 'z';
	check_eq(fetch(&found, 0, 3 * PAGE), 2);
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
	check_eq(fetch(&found, 0, 3 * PAGE), 0);
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

TEST(bad_arguments)
{
	char *shared = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);

	check_eq(dd_open(&h), 0);
	check_eq(ddi_track(NULL, data, PAGE), -ESTALE);
	check_eq(ddi_untrack(NULL, data), -ESTALE);
	check_eq(ddi_track(h, NULL, PAGE), -EINVAL);
	check_eq(ddi_track(h, data, 0), -EINVAL);
	check_eq(ddi_track(h, data + 8, PAGE), -EINVAL);
	check_eq(ddi_track(h, shared, PAGE), -EOPNOTSUPP);
	check_eq(munmap(shared + PAGE, PAGE), 0);
	check_eq(ddi_track(h, shared + PAGE, PAGE), -EFAULT);
	check_eq(ddi_track(h, (void *)PAGE, PAGE), -EFAULT);
	check_eq(mprotect(data + PAGE, PAGE, PROT_READ), 0);
	check_eq(ddi_track(h, data, 2 * PAGE), -EFAULT);
	check_eq(mprotect(data + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	check_eq(ddi_track(h, data, (size_t)1 << 60), -ENOMEM);
	check_eq(ddi_untrack(h, data), -EINVAL);
	check_eq(ddi_dirty(h, 4711, 0, PAGE, (uint64_t *)data), -ENOENT);
	check_eq(munmap(shared, PAGE), 0);
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

TEST(a_handle_gives_all_memory_back)
{
	char *gone = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *other;

	check_eq(dd_open(&h), 0);
	check(ddi_track(h, data, 2 * PAGE) > 0);
	check(ddi_track(h, data + 4 * PAGE, PAGE) > 0);
	strcpy(data + PAGE, "one");
	strcpy(data + 4 * PAGE, "two");
	/* The program has unmapped one, and has other memory there. */
	check(ddi_track(h, gone, PAGE) > 0);
	check_eq(munmap(gone, PAGE), 0);
	other = mmap(gone, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	check(other == gone);
	check_eq(dd_shutdown(h), 0);
	check(!strcmp(data + PAGE, "one"));
	check(!strcmp(data + 4 * PAGE, "two"));
	strcpy(data + PAGE, "three");
	check_eq(*other, 0);
	check_eq(munmap(other, PAGE), 0);
	check_eq(dd_open(&h), 0);
	gone = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(ddi_track(h, gone, PAGE) > 0);
	check_eq(munmap(gone, PAGE), 0);
	check_eq(ddi_untrack(h, gone), 0);
	check_eq(ddi_untrack(h, gone), -EINVAL);
	check_eq(dd_shutdown(h), 0);
}

/* ---- as an ordinary user ------------------------------------------------------ */

static void in_child(int (*run)(void), rlim_t memlock)
{
	const struct rlimit limit = { memlock, memlock };
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgroups(0, NULL) || setgid(DD_GID) ||
		    setuid(ALICE))
			_exit(2);
		test_failed = false;
		status = run();
		fflush(stdout);
		_exit(status || test_failed);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
}

/* Every second page: the pieces are not adjacent. */
static char *nth(int i)
{
	return data + 2 * i * PAGE;
}

static int track_many(void)
{
	static int ids[MANY];
	unsigned long long used;
	int i, n, id = 0;

	if (dd_open(&h))
		return 2;
	used = memlock_used();
	for (i = 0; i < MANY; i++) {
		*nth(i) = i;
		ids[i] = ddi_track(h, nth(i), PAGE);
		check(ids[i] > 0);
	}
	check_eq(ddi_stored(h, 0, 0), 0);
	for (i = 0; i < MANY; i++)
		*nth(i) += 1;
	for (n = 0; fetch(&id, id, PAGE) == 1; n++)
		check_eq(id, ids[n]);
	check_eq(n, MANY);
	check_eq(ddi_stored(h, 0, 0), 0);
	*nth(700) += 1;
	check_eq(ddi_stored(h, 0, ~0ull), ids[700]);
	for (i = 0; i < MANY; i++) {
		check_eq(*nth(i), (char)(i + 1 + (i == 700)));
		check_eq(ddi_untrack(h, nth(i)), 0);
		check_eq(*nth(i), (char)(i + 1 + (i == 700)));
	}
	check_eq(memlock_used(), used);
	return dd_shutdown(h);
}

TEST(a_user_tracks_a_thousand_pieces)
{
	in_child(track_many, 8 << 20);
}

static int track_too_much(void)
{
	unsigned long long used;

	if (dd_open(&h))
		return 2;
	used = memlock_used();
	strcpy(data, "untouched");
	check_eq(ddi_track(h, data, 2 << 20), -EDQUOT);
	check(!strcmp(data, "untouched"));
	check_eq(memlock_used(), used);
	return dd_shutdown(h);
}

TEST(tracked_memory_is_charged)
{
	in_child(track_too_much, 1 << 20);
}

/* ---- other threads and processes ---------------------------------------------- */

static int stop;

static void *load(void *arg)
{
	const volatile uint64_t *word = arg;
	uintptr_t wrong = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		wrong |= *word != 4711;
	return (void *)wrong;
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

/* As libsbl does it: the child gets what its parent has sent, and is not tracked. */
TEST(a_child_puts_a_twin_in_its_place)
{
	int status = -1, id;
	void *twin;
	pid_t pid;

	check_eq(dd_open(&h), 0);
	strcpy(data + 8, "before");
	check(ddi_track(h, data, PAGE) > 0);
	strcpy(data + 100, "sent");
	check_eq(fetch(&id, 0, PAGE), 1);
	twin = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(twin, data, PAGE);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (mremap(twin, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, data) != data)
			_exit(2);
		strcat(data + 100, " by a child");
		_exit(strcmp(data + 8, "before") || strcmp(data + 100, "sent by a child"));
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check(!strcmp(data + 100, "sent"));
	check_eq(ddi_stored(h, 0, 0), 0);
	data[0] = 1;
	check_eq(fetch(&id, 0, PAGE), 1);
	check_eq(dd_shutdown(h), 0);
}
