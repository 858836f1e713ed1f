// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_import.c - imports that the caller does not wait for
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "segment.h"

#define MS	1000000ll
#define COOKIE	55

/* A segment that is not exported yet, and how to import it. */
static struct dd_export_attr later;
static struct dd_import_attr wish;

/* The list of the importer, and its descriptor. */
static int list, fd;

static struct dd_import_attr wanted(const unsigned char *wanted_key, unsigned int flags)
{
	struct dd_import_attr a = {
		.size = sizeof(a), .node = owner(), .key_class = DD_KEY_NAME, .rights = ALL,
		.flags = flags,
	};

	memcpy(a.key, wanted_key, sizeof(a.key));
	return a;
}

static void begin_later(void)
{
	begin(0, 0);
	later = attr;
	strcpy((char *)later.key, "lib_import_later");
	wish = wanted(later.key, DD_IMPORT_WHEN_EXPORTED);
	list = dd_list(im);
	check(list > 0);
	fd = dd_list_fd(im, list);
	check(fd >= 0);
	check_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static void end_later(void)
{
	close(fd);
	end();
}

static bool no_note(void)
{
	struct dd_list_record rec;

	return read(fd, &rec, sizeof(rec)) < 0 && errno == EAGAIN;
}

/* The next note is of @type and of the import. */
static struct dd_list_record next_note(unsigned int type)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct dd_list_record rec = { 0 };

	check_eq(poll(&p, 1, 60000), 1);
	check_eq(read(fd, &rec, sizeof(rec)), sizeof(rec));
	check_eq(rec.type, type);
	check_eq(rec.cookie, COOKIE);
	check_eq(rec.node, owner());
	return rec;
}

/* The next note is that an import is over. Returns its error. */
static int noted(void)
{
	return next_note(DD_NOTE_IMPORT).offset;
}

static int wait_up(struct dd_mem *m)
{
	return dd_import_wait(m, 60000 * MS);
}

/* How an import ends. An error is known at once, or when the other node has answered. */
static int outcome(const struct dd_import_attr *a)
{
	struct dd_mem *m;
	int ret = dd_import_begin(im, a, &m);

	if (ret)
		return ret;
	ret = wait_up(m);
	check_eq(dd_unimport(m), 0);
	return ret;
}

TEST(the_user_of_the_exporter)
{
	struct dd_import_attr a;
	struct dd_mem *pending;
	unsigned int uid = -1;

	begin_later();
	check_eq(dd_mem_uid(mem, &uid), 0);
	check_eq(uid, geteuid());
	check_eq(dd_mem_uid(mem, NULL), -EINVAL);
	a = wanted(key, DD_IMPORT_UID);
	a.uid = geteuid();
	check_eq(outcome(&a), 0);
	a.uid++;
	check_eq(outcome(&a), -EPERM);
	a.flags = 0;
	check_eq(outcome(&a), -EINVAL);
	check_eq(dd_unimport(mem), 0);
	/* Pending ones, of which dd_unimport() ends one, and dd_shutdown() the other. */
	check_eq(dd_import_begin(im, &wish, &pending), 0);
	check_eq(dd_import_begin(im, &wish, &mem), 0);
	check_eq(dd_mem_uid(mem, &uid), -EAGAIN);
	end_later();
}

static void pending_requests_are_refused(struct dd_mem *m)
{
	uint64_t word = 0;

	check_eq(dd_put(m, &word, 8, 0, 0), -EAGAIN);
	check_eq(dd_get(m, &word, 8, 0), -EAGAIN);
	check_eq(dd_cas(m, 0, 8, 0, 1, &word, 0), -EAGAIN);
	check_eq(dd_note(m, "x", 1), -EAGAIN);
	check_eq(dd_put_async(m, &word, 8, 0, 0, 0), -EAGAIN);
	check_eq(dd_get_async(m, &word, 8, 0, 0), -EAGAIN);
	check_eq(dd_cas_async(m, 0, 8, 0, 1, &word, 0, 0), -EAGAIN);
	check_eq(dd_wait(m, 0, 0), 0);
	check_eq(dd_wait(m, 1, 0), -EINVAL);
	check_eq(dd_fence(m, 0), 0);
	check_eq(dd_mem_size(m), 0);
	check_eq(dd_import_wait(m, 0), -EAGAIN);
	check_eq(dd_import_wait(m, MS), -ETIMEDOUT);
	check_eq(dd_import_wait(m, -2), -EINVAL);
}

TEST(the_export_makes_the_import)
{
	uint64_t word = 9, was = 0;
	struct dd_mem *m;

	begin_later();
	wish.list = list;
	wish.cookie = COOKIE;
	check_eq(dd_import_begin(im, &wish, &m), 0);
	pending_requests_are_refused(m);
	check(no_note());
	check_eq(dd_unimport(mem), 0);
	check_eq(dd_unexport(ex, segment), 0);
	check_eq(dd_export(ex, &later, &segment), 0);
	check_eq(noted(), 0);
	/* By the kernel, until the caller has asked. */
	check_eq(dd_put(m, &word, 8, 0, 0), 0);
	check_eq(by_kernel(), 1);
	check_eq(dd_mem_size(m), 0);
	check_eq(dd_import_wait(m, 0), 0);
	check_eq(dd_mem_size(m), PAGE);
	check_eq(dd_cas(m, 0, 8, 9, 10, &was, 0), 0);
	check_eq(was, 9);
	check_eq(by_kernel(), direct ? 1 : 2);
	check(no_note());
	mem = m;
	end_later();
}

/* Those of the rights that the segment grants, at least one. */
TEST(an_import_takes_the_rights_that_are_granted)
{
	static const unsigned int granted[] = { DD_CAN_PUT, DD_CAN_GET, DD_CAN_PUT | DD_CAN_GET, ALL };
	struct dd_mem *m;
	uint64_t s;
	char byte;

	begin_later();
	check_eq(dd_mem_rights(mem), ALL);
	check_eq(dd_mem_rights(NULL), -EINVAL);
	wish.rights = DD_CAN_PUT | DD_CAN_GET;
	for (size_t i = 0; i < sizeof(granted) / sizeof(granted[0]); i++) {
		wish.flags = DD_IMPORT_WHEN_EXPORTED | DD_IMPORT_MAY;
		check_eq(dd_import_begin(im, &wish, &m), 0);
		check_eq(dd_mem_rights(m), -EAGAIN);
		later.rights = granted[i];
		check_eq(dd_export(ex, &later, &s), 0);
		check_eq(wait_up(m), 0);
		check_eq(dd_mem_rights(m), granted[i] & wish.rights);
		check_eq(dd_put(m, "x", 1, 0, 0), granted[i] & DD_CAN_PUT ? 0 : -EACCES);
		check_eq(dd_get(m, &byte, 1, 0), granted[i] & DD_CAN_GET ? 0 : -EACCES);
		check_eq(dd_unimport(m), 0);
		wish.flags = DD_IMPORT_MAY;
		check_eq(outcome(&wish), 0);
		check_eq(dd_unexport(ex, s), 0);
	}
	/* It grants none of them. */
	wish.flags |= DD_IMPORT_WHEN_EXPORTED;
	wish.list = list;
	wish.cookie = COOKIE;
	check_eq(dd_import_begin(im, &wish, &m), 0);
	later.rights = DD_CAN_CAS;
	check_eq(dd_export(ex, &later, &s), 0);
	check_eq(wait_up(m), -EACCES);
	check_eq(noted(), EACCES);
	check_eq(dd_put(m, "x", 1, 0, 0), -EACCES);
	check_eq(dd_mem_size(m), 0);
	check_eq(dd_unimport(m), 0);
	/* At once, or by the answer of the other node. */
	wish.list = wish.cookie = 0;
	check_eq(outcome(&wish), -EACCES);
	end_later();
}

/* By the library, or by the kernel: abi_import has more. */
TEST(bad_imports)
{
	static const struct {
		unsigned int size, flags, cookie, depth, rights;
	} bad[] = {
		{ sizeof(wish) - 1, 0, 0, 0, ALL },
		{ sizeof(wish), 1, 0, 0, ALL },		/* DD_IMPORT_NOWAIT of the kernel */
		{ sizeof(wish), 64, 0, 0, ALL },
		{ sizeof(wish), 0, 1, 0, ALL },
		{ sizeof(wish), 0, 0, DD_DEPTH_MAX + 1, ALL },
		{ sizeof(wish), 0, 0, 0, 0 },
	};
	struct dd_mem *m = NULL;

	begin_later();
	check_eq(dd_import_begin(im, NULL, &m), -EINVAL);
	check_eq(dd_import_begin(im, &wish, NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		wish.size = bad[i].size;
		wish.flags = bad[i].flags;
		wish.cookie = bad[i].cookie;
		wish.depth = bad[i].depth;
		wish.rights = bad[i].rights;
		check_eq(dd_import_begin(im, &wish, &m), -EINVAL);
	}
	check(!m);
	wish = wanted(later.key, 0);
	check_eq(outcome(&wish), -ECONNREFUSED);
	end_later();
}

/*
 * Make the import deep, and begin as many requests as there may be. The notes of the first ones are
 * unread, so the others wait. Returns the number of the last request.
 */
static int64_t fill(void)
{
	struct dd_import_attr a = wanted(key, 0);
	static uint64_t word;
	int64_t n;

	attr.list = dd_list(ex);
	attr.notify = DD_NOTIFY_IF_ASKED;
	attr.window = DD_DEPTH_MAX;
	reexport(ALL, 0, PAGE);
	check_eq(dd_unimport(mem), 0);
	a.depth = DD_DEPTH_MAX;
	check_eq(dd_import_begin(im, &a, &mem), 0);
	check_eq(wait_up(mem), 0);
	for (n = 1; n <= DD_DEPTH_MAX; n++)
		check_eq(dd_put_async(mem, &word, 8, 0, DD_PUT_NOTIFY, 0), far ? n : 0);
	check_eq(dd_fence(mem, -1), 0);
	check_eq(dd_sent(mem, far ? DD_DEPTH_MAX : 0, 0), 0);
	/* On one node, one is accepted whose note waits. */
	for (n = 1; n <= (far ? DD_DEPTH_MAX : 1); n++)
		check_eq(dd_put_async(mem, &word, 8, 0, DD_PUT_NOTIFY, 0),
			 far ? DD_DEPTH_MAX + n : 0);
	n = far ? 2 * DD_DEPTH_MAX : 0;
	check_eq(dd_put_async(mem, &word, 8, 0, DD_PUT_NOTIFY, 0), -EBUSY);
	check_eq(dd_get_async(mem, &word, 8, 0, 0), -EBUSY);
	check_eq(dd_wait(mem, n, 0), far ? -EAGAIN : 0);
	check_eq(dd_sent(mem, n, 0), far ? -EAGAIN : 0);
	check_eq(dd_fence(mem, 0), -EAGAIN);
	return n;
}

/* The access has ended with an error; @n: number of the last request. */
static void access_ended(int error, int64_t n)
{
	uint64_t word = 0;

	check_eq(dd_put_async(mem, &word, 8, 0, 0, 0), error);
	check_eq(dd_cas_async(mem, 0, 8, 0, 0, &word, 0, 0), error);
	check_eq(dd_get(mem, &word, 8, 0), error);
	check_eq(dd_note(mem, &word, 8), error);
	check_eq(dd_sent(mem, far ? DD_DEPTH_MAX : 0, 0), 0);
	if (far) {
		check_eq(dd_wait(mem, n, -1), error);
		check_eq(dd_sent(mem, n, -1), error);
		check_eq(dd_fence(mem, -1), error);
		check_eq(dd_fence(mem, 0), error);
	}
}

TEST(the_segment_ends_with_requests_under_way)
{
	int64_t n;

	begin(0, 0);
	n = fill();
	check_eq(dd_unexport(ex, segment), 0);
	access_ended(-ESTALE, n);
	end();
}

/* The next note is that a request of the import is over. */
static struct dd_list_record done(unsigned int op, uint64_t offset, unsigned int count)
{
	struct dd_list_record rec = next_note(DD_NOTE_DONE);

	check_eq(rec.op, op);
	check_eq(rec.offset, offset);
	check_eq(rec.count, count);
	return rec;
}

static struct dd_mem *import_noted(unsigned int depth)
{
	struct dd_import_attr a = wanted(key, 0);
	struct dd_mem *m = NULL;

	a.list = list;
	a.cookie = COOKIE;
	check_eq(dd_import_begin(im, &a, &m), 0);
	check_eq(dd_import_list(m, list, depth, COOKIE), 0);
	check_eq(dd_import_list(m, list, depth, COOKIE), -EEXIST);
	check_eq(wait_up(m), 0);
	check_eq(noted(), 0);
	return m;
}

/* The number of a request, which is 0 if it is done. */
static void begun(int64_t number)
{
	check(far ? number > 0 : !number);
}

TEST(requests_notify_the_importer)
{
	uint64_t word = 6, back = 0, was = 0;
	struct dd_mem *m;

	begin_later();
	m = import_noted(0);
	begun(dd_put_async(m, &word, 8, 16, 0, list));
	check_eq(done(DD_OP_PUT, 16, 8).error, 0);
	begun(dd_get_async(m, &back, 8, 16, list));
	check_eq(done(DD_OP_GET, 16, 8).error, 0);
	check_eq(back, 6);
	begun(dd_cas_async(m, 16, 8, 6, 7, &was, 0, list));
	check_eq(done(DD_OP_CAS, 16, 8).error, 0);
	check_eq(was, 6);
	check_eq(*(volatile uint64_t *)(shared + 16), 7);
	/* Those without the list do not. */
	check_eq(dd_put(m, &word, 8, 16, 0), 0);
	check_eq(dd_wait(m, dd_put_async(m, &word, 8, 16, 0, 0), -1), 0);
	check(no_note());

	check_eq(dd_put(m, &word, 8, 16, DD_SQE_NOTIFY_SELF), -EINVAL);
	check_eq(dd_cas(m, 16, 8, 6, 7, &was, DD_SQE_NOTIFY_SELF), -EINVAL);
	check_eq(dd_put_async(mem, &word, 8, 16, 0, list), -ENOENT);
	check_eq(dd_put_async(m, &word, 8, 16, 0, list + 1), -ENOENT);
	check_eq(dd_put_async(m, &word, 8, PAGE, 0, list), -ERANGE);
	check(no_note());
	check_eq(dd_unimport(m), 0);
	end_later();
}

static void on_signal(int sig)
{
	(void)sig;
}

static void often(int microseconds)
{
	const struct sigaction sa = { .sa_handler = on_signal };
	const struct itimerval t = { { 0, microseconds }, { 0, microseconds } };

	check_eq(sigaction(SIGALRM, &sa, NULL), 0);
	check_eq(setitimer(ITIMER_REAL, &t, NULL), 0);
}

/* A signal ends a wait, and neither the import nor dd_import(). */
TEST(a_signal_ends_the_wait)
{
	struct dd_mem *m, *n;
	uint64_t s;

	begin_later();
	check_eq(dd_import_begin(im, &wish, &m), 0);
	often(2000);
	check_eq(wait_up(m), -EINTR);
	for (int i = 0; i < 50; i++) {
		check_eq(dd_import(im, owner(), attr.key_class, key, ALL, &n), 0);
		check_eq(dd_unimport(n), 0);
	}
	often(0);
	check_eq(dd_export(ex, &later, &s), 0);
	check_eq(wait_up(m), 0);
	check_eq(dd_unimport(m), 0);
	end_later();
}

#define THREADS	4

/* The import is pending at first, then made, and mapped by one of the threads. */
static void *use(void *arg)
{
	uint64_t guess = 0, was, n = 0;
	struct dd_mem *m = arg;

	while (n < 1000) {
		int ret = dd_cas(m, 64, 8, guess, guess + 1, &was, 0);

		if (ret == -EAGAIN && n)
			return "pending again";
		if (ret && ret != -EAGAIN)
			return "error";
		if (ret) {
			ret = dd_import_wait(m, MS);
			if (ret && ret != -ETIMEDOUT)
				return "no import";
			continue;
		}
		n += was == guess;
		guess = was == guess ? guess + 1 : was;
	}
	return dd_mem_size(m) == 0 && dd_import_wait(m, 0) ? "not made" : NULL;
}

TEST(threads_wait_for_one_import)
{
	pthread_t t[THREADS];
	struct dd_mem *m;
	void *result;
	uint64_t s;

	begin_later();
	for (int round = 0; round < 5; round++) {
		*(volatile uint64_t *)(shared + 64) = 0;
		check_eq(dd_import_begin(im, &wish, &m), 0);
		for (int i = 0; i < THREADS; i++)
			check_eq(pthread_create(&t[i], NULL, use, m), 0);
		sched_yield();
		check_eq(dd_export(ex, &later, &s), 0);
		for (int i = 0; i < THREADS; i++) {
			check_eq(pthread_join(t[i], &result), 0);
			check(!result);
		}
		check_eq(*(volatile uint64_t *)(shared + 64), THREADS * 1000);
		check_eq(dd_unimport(m), 0);
		check_eq(dd_unexport(ex, s), 0);
	}
	end_later();
}

/* Between nodes: the last test, since the other node is no peer any more. */
TEST(the_session_ends)
{
	struct dd_mem *m;
	int64_t n;

	begin_later();
	if (far) {
		n = fill();
		wish.list = list;
		wish.cookie = COOKIE;
		check_eq(dd_import_begin(im, &wish, &m), 0);
		check_eq(dd_import_wait(m, 0), -EAGAIN);
		check_eq(system("ddctl peer del 2"), 0);
		check_eq(wait_up(m), -EHOSTUNREACH);
		check_eq(noted(), EHOSTUNREACH);
		check_eq(dd_put(m, "x", 1, 0, 0), -EHOSTUNREACH);
		check_eq(dd_unimport(m), 0);
		check_eq(dd_import_wait(mem, -1), -EHOSTUNREACH);
		/* None of those under way will ever be done. */
		access_ended(-EHOSTUNREACH, n);
		wish.list = wish.cookie = 0;
		check_eq(outcome(&wish), -ENONET);
	}
	end_later();
}
