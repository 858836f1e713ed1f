// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_window.c - windows of imports: which requests use them, and what ends their use
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segment.h"

/* Import again after a change of the segment; which requests need the kernel? */
static void needs_kernel(unsigned int rights, unsigned int flags, size_t len, int put, int get,
			 int cas)
{
	static char bytes[64];
	uint64_t was;
	int ret;

	reexport(rights, flags, len);
	check_eq(by_kernel(), 0);
	ret = dd_put(mem, bytes, 64, 0, 0);
	check_eq(ret, rights & DD_CAN_PUT ? 0 : -EACCES);
	check_eq(by_kernel(), !direct && !ret ? 1 : put);
	ret = dd_get(mem, bytes, 64, 0);
	check_eq(ret, rights & DD_CAN_GET ? 0 : -EACCES);
	check_eq(by_kernel(), !direct ? by_kernel() : put + get);
	ret = dd_cas(mem, 8, 8, 0, 0, &was, 0);
	check_eq(ret, rights & DD_CAN_CAS ? 0 : -EACCES);
	check_eq(by_kernel(), !direct ? by_kernel() : put + get + cas);
}

TEST(the_segment_decides_on_windows)
{
	begin(0, 0);
	needs_kernel(ALL, 0, PAGE, 0, 0, 0);
	needs_kernel(ALL, DD_EXPORT_NODIRECT, PAGE, 1, 1, 1);
	needs_kernel(ALL, 0, PAGE - 64, 1, 1, 1);
	needs_kernel(ALL, DD_EXPORT_WHOLE_PAGES, PAGE - 64, 0, 0, 0);
	needs_kernel(DD_CAN_GET, 0, PAGE, 0, 0, 0);
	needs_kernel(DD_CAN_PUT, 0, PAGE, 1, 0, 0);
	needs_kernel(DD_CAN_GET | DD_CAN_PUT, 0, PAGE, 0, 0, 0);
	needs_kernel(DD_CAN_GET | DD_CAN_CAS, 0, PAGE, 0, 0, 1);
	needs_kernel(ALL, DD_EXPORT_REDIRECT, PAGE, 1, 1, 1);
	end();
}

/* The import stays, so that the exporter can count its requests. */
static long put_as_another_user(long a, long b, long c)
{
	struct dd_mem *m;
	struct dd *h;

	if (dd_open(&h) || setresuid(1234, 1234, 1234) ||
	    dd_import(h, dd_node(h), DD_KEY_NAME, key, DD_CAN_PUT | DD_CAN_GET, &m) ||
	    dd_put(m, "x", 1, 0, 0))
		return 1;
	return 0;
}

TEST(another_user_needs_permission)
{
	for (unsigned int flags = 0; flags <= DD_EXPORT_DIRECT_ANY;
	     flags += DD_EXPORT_DIRECT_ANY) {
		struct worker *w = worker_new(HERE);

		begin(0, 0);
		if (!far) {
			check_eq(dd_unimport(mem), 0);
			check_eq(dd_unexport(ex, segment), 0);
			attr.users = DD_FOR_ANY;
			attr.flags = flags;
			check_eq(dd_export(ex, &attr, &segment), 0);
			check_eq(worker_do(w, put_as_another_user, 0, 0, 0), 0);
			check_eq(by_kernel(), !direct || !flags);
			check_eq(dd_import(im, owner(), attr.key_class, attr.key,
					   attr.rights, &mem), 0);
		}
		worker_end(w);
		end();
	}
}

/* A word that swaps count, and bytes that a writer stores, until the segment ends. */
#define COUNT	64
#define BYTES	1024

struct requester {
	pthread_t thread;
	uint64_t done;		/* requests that have succeeded */
	int error;
};

static void *write_on(void *arg)
{
	struct requester *w = arg;
	char bytes[PAGE - BYTES];

	for (unsigned int n = 0; !w->error; n++) {
		int ret;

		memset(bytes, 1 + n % 255, sizeof(bytes));
		ret = dd_put(mem, bytes, n & 1 ? 64 : sizeof(bytes), BYTES, 0);
		if (!ret)
			__atomic_add_fetch(&w->done, 1, __ATOMIC_RELAXED);
		else if (ret != -EACCES)
			__atomic_store_n(&w->error, ret, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *count_on(void *arg)
{
	struct requester *w = arg;
	uint64_t guess = 0, was;

	while (!w->error) {
		int ret = dd_cas(mem, COUNT, 8, guess, guess + 1, &was, 0);

		if (!ret && was == guess)
			__atomic_add_fetch(&w->done, 1, __ATOMIC_RELAXED);
		if (!ret)
			guess = was == guess ? guess + 1 : was;
		else if (ret != -EACCES)
			__atomic_store_n(&w->error, ret, __ATOMIC_RELAXED);
	}
	return NULL;
}

static struct requester writer, counter;

static void start(void)
{
	memset(&writer, 0, sizeof(writer));
	memset(&counter, 0, sizeof(counter));
	check_eq(pthread_create(&writer.thread, NULL, write_on, &writer), 0);
	check_eq(pthread_create(&counter.thread, NULL, count_on, &counter), 0);
}

static uint64_t done(const struct requester *w)
{
	return __atomic_load_n(&w->done, __ATOMIC_RELAXED);
}

static void progress(void)
{
	uint64_t puts = done(&writer), swaps = done(&counter);

	while ((done(&writer) < puts + 10 || done(&counter) < swaps + 10) &&
	       !__atomic_load_n(&writer.error, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&counter.error, __ATOMIC_RELAXED))
		sched_yield();
	check(done(&writer) >= puts + 10 && done(&counter) >= swaps + 10);
}

/* Neither a byte nor a swap arrives. */
static void still(void)
{
	uint64_t count = *(volatile uint64_t *)(shared + COUNT);

	memset(shared + BYTES, 0, PAGE - BYTES);
	for (int n = 0; n < 50; n++) {
		sched_yield();
		for (int i = BYTES; i < PAGE; i++)
			if (((volatile char *)shared)[i]) {
				check(!"a byte arrived");
				return;
			}
	}
	check_eq(*(volatile uint64_t *)(shared + COUNT), count);
}

static void finish(void)
{
	check_eq(pthread_join(writer.thread, NULL), 0);
	check_eq(pthread_join(counter.thread, NULL), 0);
	check_eq(writer.error, -ESTALE);
	check_eq(counter.error, -ESTALE);
	check_eq(*(volatile uint64_t *)(shared + COUNT), counter.done);
}

/*
 * Nothing arrives while the segment is inhibited. While the policy is that every request
 * notifies, the kernel executes them.
 */
TEST(inhibition_and_policies_take_the_window_away)
{
	begin(1, DD_NOTIFY_IF_ASKED);
	check_eq(dd_export_notify(ex, segment, DD_NOTIFY_ALWAYS), 0);
	check_eq(dd_put(mem, "x", 1, 0, 0), 0);
	check_eq(by_kernel(), 1);
	check_eq(dd_export_notify(ex, segment, DD_NOTIFY_NEVER), 0);
	start();
	for (int i = 0; i < 50; i++) {
		progress();
		check_eq(dd_export_notify(ex, segment, i & 1 ? DD_NOTIFY_NEVER :
					  DD_NOTIFY_IF_ASKED), 0);
		check_eq(dd_export_inhibit(ex, segment, 1), 0);
		still();
		check_eq(dd_export_inhibit(ex, segment, 0), 0);
	}
	check_eq(dd_unexport(ex, segment), 0);
	still();
	finish();
	end();
}

#define PROCESSES	4

static int additions(void)	/* of each process */
{
	return across_nodes() ? 250 : 2000;
}

/* Adds by CAS, between large requests of memory that may fault. Every second one goes by the kernel. */
static long count_in_process(long number, long b, long c)
{
	static char large[2048];
	uint64_t guess = 0, was;
	struct dd_mem *m;
	struct dd *h;

	if ((number & 1 && setenv("DD_DIRECT", "0", 1)) || dd_open(&h) ||
	    dd_import(h, across_nodes() ? 2 : dd_node(h), DD_KEY_NAME, key, ALL, &m))
		return 1;
	for (int n = 0; n < additions();) {
		if (dd_cas(m, COUNT, 8, guess, guess + 1, &was, 0) ||
		    (n % 64 == 0 && dd_get(m, large, sizeof(large), 1024)))
			return 2;
		n += was == guess;
		guess = was == guess ? guess + 1 : was;
	}
	return dd_unimport(m) || dd_shutdown(h);
}

TEST(windows_and_kernel_swap_one_word)
{
	struct worker *w[PROCESSES];

	for (int i = 0; i < PROCESSES; i++)
		w[i] = worker_new(HERE);
	begin(0, 0);
	for (int i = 0; i < PROCESSES; i++)
		worker_begin(w[i], count_in_process, i, 0, 0);
	for (int i = 0; i < PROCESSES; i++) {
		check_eq(worker_result(w[i]), 0);
		worker_end(w[i]);
	}
	check_eq(*(volatile uint64_t *)(shared + COUNT), PROCESSES * additions());
	end();
}

/* All lengths and alignments arrive, and nothing beside them. */
TEST(bytes_of_any_length)
{
	static char from[PAGE], to[PAGE], want[PAGE];

	begin(0, 0);
	for (int i = 0; i < PAGE; i++)
		from[i] = 1 + i % 251;
	for (int len = 0, step = far ? 37 : 1; len < 700; len += step) {
		int src = len % 11, dst = len % 13;

		memset(shared, 0, PAGE);
		memset(want, 0, PAGE);
		memset(to, 0, PAGE);
		memcpy(want + dst, from + src, len);
		check_eq(dd_put(mem, from + src, len, dst, 0), 0);
		check(!memcmp(shared, want, PAGE));
		memset(want, 0, PAGE);
		memcpy(want + src, from + src, len);
		check_eq(dd_get(mem, to + src, len, dst), 0);
		check(!memcmp(to, want, PAGE));
	}
	end();
}

/* A window would keep the handle's context, and its segments. */
TEST(a_shutdown_ends_imports)
{
	struct dd_mem *own;
	uint64_t word = 0;

	begin(0, 0);
	if (!far) {
		check_eq(dd_import(ex, owner(), attr.key_class, attr.key, attr.rights, &own), 0);
		check_eq(dd_put(own, &word, 8, 0, 0), 0);
		check_eq(dd_shutdown(ex), 0);
		check_eq(dd_put(mem, &word, 8, 0, 0), -ESTALE);
		check_eq(dd_open(&ex), 0);
	}
	end();
}
