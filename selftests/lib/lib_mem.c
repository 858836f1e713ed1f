// SPDX-License-Identifier: LGPL-2.1-only
/*
 * lib_mem.c - one-sided memory by the calls of dd_mem.h: the requests
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/dd_mem.h>

#include "segment.h"

#define SIGNALS	1000
#define ROUNDS	200

TEST(a_swap_has_a_result_or_a_status)
{
	uint64_t was = 9, status = 0;
	uint32_t half[2] = { 0, 99 };

	begin(0, 0);
	check_eq(dd_cas(mem, 8, 8, 0, 6, &was, 0), 0);
	check_eq(was, 0);
	check_eq(dd_cas(mem, 8, 8, 5, 7, &was, 0), 0);
	check_eq(was, 6);
	check(dd_cas_async(mem, 8, 8, 6, 5, &status, DD_CAS_STATUS, 0) >= 0);
	check_eq(dd_fence(mem, -1), 0);
	check_eq(status, 1);
	check(dd_cas_async(mem, 8, 4, 6, 7, half, DD_CAS_STATUS, 0) >= 0);
	check_eq(dd_fence(mem, -1), 0);
	check_eq(half[0], 2);
	check(dd_cas_async(mem, 8, 4, 5, 7, half, DD_CAS_STATUS, 0) >= 0);
	check_eq(dd_fence(mem, -1), 0);
	check_eq(half[0], 1);
	check_eq(half[1], 99);
	check_eq(*(uint64_t *)(shared + 8), 7);
	end();
}

static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

/* Whether the calling thread or the kernel finds that an address is bad. */
static int put_from_nowhere(void)
{
	int sig = sigsetjmp(back, 1);

	return sig ? sig : dd_put(mem, NULL, 8, 0, 0);
}

static int get_to_nowhere(void)
{
	int sig = sigsetjmp(back, 1);

	return sig ? sig : dd_get(mem, (void *)8, 8, 0);
}

static void bad_addresses(void)
{
	const struct sigaction sa = { .sa_handler = on_fault };
	struct sigaction old;

	check_eq(sigaction(SIGSEGV, &sa, &old), 0);
	check_eq(put_from_nowhere(), direct ? SIGSEGV : -EFAULT);
	check_eq(get_to_nowhere(), direct ? SIGSEGV : -EFAULT);
	check_eq(sigaction(SIGSEGV, &old, NULL), 0);
}

TEST(errors)
{
	uint64_t was, other;
	struct dd_mem *m;

	begin(0, 0);
	check_eq(dd_put(mem, &was, 8, PAGE - 7, 0), -ERANGE);
	check_eq(dd_put(mem, &was, 8, 0, 2), -EINVAL);
	/* Checked before the bounds. */
	check_eq(dd_put(mem, &was, 1ull << 31, 0, 0), -EINVAL);
	check_eq(dd_get(mem, &was, (1ull << 32) + 8, 0), -EINVAL);
	check_eq(dd_put(mem, &was, (1ull << 32) + 8, 0, DD_PUT_NOTIFY), -EINVAL);
	check_eq(dd_put_async(mem, &was, 1ull << 31, 0, 0, 0), -EINVAL);
	check_eq(dd_cas(mem, 0, (1ull << 32) + 8, 0, 0, &was, 0), -EINVAL);
	bad_addresses();
	check_eq(dd_cas(mem, 4, 8, 0, 0, &was, 0), -EINVAL);
	check_eq(dd_cas(mem, 0, 5, 0, 0, &was, 0), -EINVAL);
	check_eq(dd_cas(mem, 0, 8, 0, 0, NULL, 0), -EINVAL);
	check_eq(dd_import(im, owner(), DD_KEY_NAME, attr.key, DD_CAN_PUT, NULL), -EINVAL);
	check_eq(dd_import(im, owner(), DD_KEY_NAME, attr.key, 0, &m), -EINVAL);
	check_eq(dd_import(im, owner(), DD_KEY_BUFFER, attr.key, DD_CAN_PUT, &m),
		 -ECONNREFUSED);
	check_eq(dd_import(im, 4095, DD_KEY_NAME, attr.key, DD_CAN_PUT, &m), -ENONET);
	check_eq(dd_export(ex, &attr, &other), -EEXIST);
	attr.size = 1;
	check_eq(dd_export(ex, &attr, &other), -EINVAL);
	attr.size = sizeof(attr);
	attr.flags = DD_SEGMENT_FLAGS + 1;
	check_eq(dd_export(ex, &attr, &other), -EINVAL);
	attr.flags = 0;
	attr.len = PAGE + 4;
	check_eq(dd_export(ex, &attr, &other), -EINVAL);
	check_eq(dd_unpin(ex, shared + 8), -EINVAL);
	check_eq(dd_free(ex, shared), -EINVAL);
	check_eq(dd_unpin(ex, shared), 0);
	check_eq(dd_unpin(ex, shared), -EINVAL);
	/* The segment keeps its pages. */
	check_eq(dd_put(mem, &was, 8, 0, 0), 0);
	check_eq(dd_unexport(ex, segment), 0);
	check_eq(dd_put(mem, &was, 8, 0, 0), -ESTALE);
	check_eq(dd_unexport(ex, segment), -ENOENT);
	check_eq(dd_export_inhibit(ex, segment, 1), -ENOENT);
	check_eq(dd_unimport(NULL), -EINVAL);
	end();
}

/* What a caller may pass by mistake: the same answer on one node and between two. */
TEST(edges_of_arguments)
{
	static const unsigned int texts[] = { DD_KEY_NAME, DD_KEY_REGISTERED };
	static const unsigned char none[DD_KEY_SIZE], padded[DD_KEY_SIZE] = "a\0b";
	struct dd_mem *m;

	begin(0, 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		check_eq(dd_import(im, owner(), texts[i], none, ALL, &m), -EINVAL);
		check_eq(dd_import(im, owner(), texts[i], padded, ALL, &m), -EINVAL);
		memcpy(attr.key, none, sizeof(attr.key));
		attr.key_class = texts[i];
		check_eq(dd_export(ex, &attr, &segment), -EINVAL);
	}
	check_eq(dd_export(ex, NULL, &segment), -EINVAL);
	check_eq(dd_export(ex, &attr, NULL), -EINVAL);
	check_eq(dd_export(NULL, &attr, &segment), -ESTALE);
	check_eq(dd_import(im, owner(), DD_KEY_NAME, NULL, ALL, &m), -EINVAL);
	check_eq(dd_import_wait(NULL, 0), -EINVAL);
	check_eq(dd_import_wait(mem, -2), -EINVAL);
	check_eq(dd_wait(NULL, 1, 0), -EINVAL);
	check_eq(dd_wait(mem, 1ll << 40, 0), -EINVAL);
	check_eq(dd_wait(mem, -1, 0), -EINVAL);
	check_eq(dd_fence(NULL, 0), -EINVAL);
	check_eq(dd_fence(mem, -2), -EINVAL);
	check_eq(dd_export_grant(ex, segment, -1, 1, ALL), 0);
	check_eq(dd_export_grant(ex, segment, dd_max_nodes(ex) - 1, 1, ALL), 0);
	check_eq(dd_export_grant(ex, segment, dd_max_nodes(ex), 1, ALL), -EINVAL);
	check_eq(dd_export_grant(ex, segment, 0x7fffffff, 1, ALL), -EINVAL);
	check_eq(dd_export_grant(ex, segment, -2, 1, ALL), -EINVAL);
	check_eq(dd_list_end(ex, 0x7ffffff0), -ENOENT);
	check_eq(dd_list_end(ex, -1), -ENOENT);
	check_eq(dd_pin(ex, NULL, 0), -EINVAL);
	check_eq(dd_unpin(ex, NULL), -EINVAL);
	check_eq(dd_redirect(ex, segment, 0, NULL, 4), -EINVAL);
	end();
}

/* Refused at once on one node, and as a rule later by another node. */
static int64_t put_refused(void)
{
	int64_t n = dd_put_async(mem, "x", 1, 0, 0, 0);

	check(far || n < 0);
	return n < 0 ? n : dd_wait(mem, n, -1);
}

TEST(requests_under_way)
{
	static uint64_t words[16];
	uint64_t *wired, sum = 0;
	int64_t n[16];
	int i, k;

	begin(0, 0);
	check_eq(dd_alloc(im, PAGE, (void **)&wired), 0);
	for (k = 0; k < 20; k++) {
		for (i = 0; i < 16; i++) {
			wired[i] = 100 * k + i;
			n[i] = dd_put_async(mem, wired + i, 8, 8 * i, 0, 0);
			check(far ? n[i] > 0 : !n[i]);
		}
		for (i = 0; i < 16; i++)
			check_eq(dd_wait(mem, n[i], -1), 0);
		check(!memcmp(shared, wired, sizeof(words)));
		for (i = 0; i < 16; i++)
			check((n[i] = dd_get_async(mem, words + i, 8, 8 * i, 0)) >= 0);
		check_eq(dd_wait(mem, n[15], -1), 0);
		check(!memcmp(shared, words, sizeof(words)));
	}
	for (i = 0; i < 200; i++) {
		/* Only the last one is waited for when there is no room. */
		while ((n[0] = dd_cas_async(mem, 0, 8, 1900 + i, 1901 + i, words, 0, 0)) == -EBUSY)
			check_eq(dd_fence(mem, -1), 0);
		check(n[0] >= 0);
	}
	check_eq(dd_fence(mem, -1), 0);
	check_eq(words[0], 2099);
	check_eq(*(uint64_t *)shared, 2100);

	check_eq(dd_put_async(mem, "x", 1, PAGE, 0, 0), -ERANGE);
	check_eq(dd_put_async(mem, "x", 1, 0, 2, 0), -EINVAL);
	check_eq(dd_put_async(mem, "x", 1, 0, DD_PUT_COPY | DD_PUT_STABLE, 0), -EINVAL);
	check_eq(dd_cas_async(mem, 0, 8, 0, 0, NULL, 0, 0), -EINVAL);
	check_eq(dd_export_inhibit(ex, segment, 1), 0);
	check_eq(put_refused(), -EACCES);
	if (far) {
		check_eq(dd_put(mem, "x", 1, 0, 0), -EACCES);
		for (i = 0; i < 3 * 64; i++) {
			while ((n[0] = dd_get_async(mem, words, 8, 0, 0)) == -EBUSY)
				check_eq(dd_wait(mem, sum, -1), 0);
			check(n[0] > 0);
			sum = n[0];
		}
		check_eq(dd_wait(mem, sum - 64, 0), -EINVAL);
		check_eq(dd_fence(mem, -1), -EACCES);
	}
	check_eq(dd_fence(mem, -1), 0);
	check_eq(dd_export_inhibit(ex, segment, 0), 0);
	check_eq(dd_wait(mem, 0, 0), 0);
	check_eq(dd_unexport(ex, segment), 0);
	check_eq(put_refused(), -ESTALE);
	end();
}

TEST(pinned_pieces_overlap)
{
	struct dd_export_attr of = attributes();
	uint64_t word = 7, got = 0, low, high;
	struct dd_mem *m;

	begin(0, 0);
	check_eq(dd_pin(ex, shared, 64), 0);
	check_eq(dd_pin(ex, shared + 32, 128), 0);
	check_eq(dd_unpin(ex, shared), 0);	/* the latest: 64 bytes */
	check_eq(dd_unpin(ex, shared), 0);	/* that of the segment, of a page */
	of.addr = shared + 40;
	of.len = 64;
	strcpy((char *)of.key, "lib_mem_high");
	check_eq(dd_export(ex, &of, &high), 0);
	of.addr = shared;
	strcpy((char *)of.key, "lib_mem_low");
	check_eq(dd_export(ex, &of, &low), -EINVAL);
	check_eq(dd_pin(ex, shared, 64), 0);
	check_eq(dd_export(ex, &of, &low), 0);
	check_eq(dd_import(im, owner(), DD_KEY_NAME, of.key, ALL, &m), 0);
	check_eq(dd_put(m, &word, 8, 48, 0), 0);
	check_eq(dd_unimport(m), 0);
	strcpy((char *)of.key, "lib_mem_high");
	check_eq(dd_import(im, owner(), DD_KEY_NAME, of.key, ALL, &m), 0);
	check_eq(dd_get(m, &got, 8, 8), 0);
	check_eq(got, 7);
	check_eq(dd_unexport(ex, low), 0);
	check_eq(dd_unexport(ex, high), 0);
	check_eq(dd_unpin(ex, shared + 32), 0);
	end();
}

TEST(an_export_is_of_what_is_mapped_there)
{
	struct dd_export_attr of = attributes();
	uint64_t word = 7, s;
	struct dd_mem *m;
	char *own;

	begin(0, 0);
	own = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(own != MAP_FAILED);
	check_eq(dd_pin(ex, own + PAGE, PAGE), 0);
	check_eq(madvise(own, 4 * PAGE, MADV_DONTNEED), 0);
	of.addr = own + PAGE;
	of.flags = DD_EXPORT_REDIRECT;
	strcpy((char *)of.key, "lib_mem_stale");
	check_eq(dd_export(ex, &of, &s), -EINVAL);
	/* A later pin, which begins before. */
	check_eq(dd_pin(ex, own, 4 * PAGE), 0);
	check_eq(dd_export(ex, &of, &s), 0);
	check_eq(dd_import(im, owner(), DD_KEY_NAME, of.key, ALL, &m), 0);
	check_eq(dd_put(m, &word, 8, 8, 0), 0);
	check_eq(*(uint64_t *)(own + PAGE + 8), 7);
	check_eq(madvise(own + 2 * PAGE, PAGE, MADV_DONTNEED), 0);
	check_eq(dd_redirect(ex, s, 0, own + 2 * PAGE, 64), -EINVAL);
	check_eq(dd_redirect(ex, s, 0, own + 3 * PAGE, 64), 0);
	word = 9;
	check_eq(dd_put(m, &word, 8, 8, 0), 0);
	check_eq(*(uint64_t *)(own + 3 * PAGE + 8), 9);
	check_eq(dd_unimport(m), 0);
	check_eq(dd_unexport(ex, s), 0);
	check_eq(dd_unpin(ex, own), 0);
	check_eq(dd_unpin(ex, own + PAGE), 0);
	munmap(own, 4 * PAGE);
	end();
}

TEST(a_key_names_the_segment)
{
	unsigned char found[DD_KEY_SIZE];
	struct dd_mem *m;

	begin(0, 0);
	check_eq(dd_mem_key(mem, found), owner());
	check_eq(dd_import(im, owner(), DD_KEY_ID, found, ALL, &m), -ECONNREFUSED);
	check_eq(dd_unexport(ex, segment), 0);
	attr.key_class = DD_KEY_ID;
	memset(attr.key, 0, sizeof(attr.key));
	check_eq(dd_export(ex, &attr, &segment), 0);
	check_eq(dd_import(im, owner(), DD_KEY_ID, attr.key, ALL, &m), 0);
	check_eq(dd_mem_key(m, found), owner());
	check(!memcmp(found, attr.key, sizeof(found)));
	end();
}

/* The result says which call is wrong. */
static int calls_of_a_child(const void *arg)
{
	struct dd_mem *pending = (struct dd_mem *)arg;
	struct dd_import_attr wish = { .size = sizeof(wish), .rights = ALL };
	struct dd_export_desc desc;
	struct dd_mem *m;
	unsigned int uid;
	uint64_t word, s;
	void *at;
	const int results[] = {
		dd_put(mem, "x", 1, 0, 0), dd_get(mem, &word, 8, 0),
		dd_cas(mem, 0, 8, 0, 1, &word, 0), dd_put_async(mem, "x", 1, 0, 0, 0),
		dd_wait(mem, 0, 0), dd_fence(mem, -1), dd_mem_uid(mem, &uid), dd_unimport(mem),
		dd_put(pending, "x", 1, 0, 0), dd_import_wait(pending, -1), dd_unimport(pending),
		dd_import_begin(im, &wish, &m), dd_export(ex, &attr, &s), dd_unexport(ex, segment),
		dd_export_notify(ex, segment, DD_NOTIFY_NEVER), dd_export_deny(ex, segment, 1),
		dd_export_info(ex, segment, &desc, NULL, 0), dd_redirect(ex, segment, 0, shared, 4),
		dd_redirect_end(ex, segment), dd_pin(ex, &s, 8), dd_list(ex),
		dd_alloc_tracked(ex, PAGE, &at), dd_dirty(ex, shared, PAGE, &word),
	};

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i] != -ESTALE)
			return i + 1;
	return 0;
}

TEST(a_child_has_no_part_of_the_parents_handles)
{
	struct dd_export_attr later = attributes();
	struct dd_import_attr wish = {
		.size = sizeof(wish), .key_class = DD_KEY_NAME, .rights = ALL,
		.flags = DD_IMPORT_WHEN_EXPORTED,
	};
	struct dd_mem *pending;
	uint64_t word, s;

	begin(0, 0);
	wish.node = owner();
	strcpy((char *)wish.key, "lib_mem_later");
	memcpy(later.key, wish.key, sizeof(later.key));
	later.addr = shared;
	check_eq(dd_import_begin(im, &wish, &pending), 0);
	check_eq(in_child(calls_of_a_child, pending), 0);
	/* The parent still has them. */
	check_eq(dd_get(mem, &word, 8, 0), 0);
	check_eq(dd_import_wait(pending, 0), -EAGAIN);
	check_eq(dd_export(ex, &later, &s), 0);
	check_eq(dd_import_wait(pending, -1), 0);
	check_eq(dd_unimport(pending), 0);
	end();
}

struct flipped {
	volatile uint64_t *words;
	volatile size_t first;
	bool runs, stop;
};

/* Store words of equal bits, from @first to the end of a page, until @stop. */
static void *flip(void *arg)
{
	struct flipped *f = arg;
	uint64_t value = 0;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		value = ~value;
		for (size_t i = f->first; i < PAGE / sizeof(*f->words); i++)
			f->words[i] = value;
		__atomic_store_n(&f->runs, true, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Whether @block, which ends with a page, consists of whole words. */
static bool whole(const char *block, size_t len)
{
	if (len % 8 && *(const volatile uint32_t *)block + 1 > 1)
		return false;
	for (const char *end = block + len, *at = block + len % 8; at < end; at += 8)
		if (*(const volatile uint64_t *)at + 1 > 1)
			return false;
	return true;
}

/* Of a block, too, whose bytes are stored while it is copied. */
TEST(words_are_whole)
{
	static const size_t sizes[] = { 4, 12, 64, 256, 1028, PAGE - 8, PAGE };
	static char block[PAGE] __attribute__((aligned(PAGE)));
	struct flipped f = { .words = (uint64_t *)block };
	int torn = 0, rounds;
	uint64_t word;
	char bytes[16];
	pthread_t t;

	begin(0, 0);
	rounds = far ? 100 : 2000;
	for (int put = 0; put < 2; put++) {
		f.words = (uint64_t *)(put ? block : shared);
		f.first = 0;
		f.runs = f.stop = false;
		check_eq(pthread_create(&t, NULL, flip, &f), 0);
		/* The last get of 12 bytes has stored half of a word of the block. */
		while (!__atomic_load_n(&f.runs, __ATOMIC_ACQUIRE))
			sched_yield();
		for (int i = 0; i < rounds; i++) {
			size_t len = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))], at = PAGE - len;

			f.first = at / sizeof(*f.words);
			if (put)
				check_eq(dd_put(mem, block + at, len, at, 0), 0);
			else
				check_eq(dd_get(mem, block + at, len, at), 0);
			torn += !whole((put ? shared : block) + at, len);
			/* Through a window, wherever the importer wants it. */
			if (!put && direct) {
				check_eq(dd_get(mem, bytes + i % 8, 8, PAGE - 8), 0);
				memcpy(&word, bytes + i % 8, 8);
				torn += word + 1 > 1;
			}
		}
		__atomic_store_n(&f.stop, true, __ATOMIC_RELAXED);
		check_eq(pthread_join(t, NULL), 0);
	}
	check_eq(torn, 0);
	end();
}

static volatile sig_atomic_t handled, failed;

/* By the windows and by the kernel. */
static void on_signal(int sig)
{
	uint64_t n = handled, was = 0;
	int64_t request;

	(void)sig;
	if (dd_put(mem, &n, 8, 128, 0) || dd_get(mem, &was, 8, 128) || was != n ||
	    dd_cas(mem, 128, 8, n, n + 1, &was, 0) || was != n)
		failed = 1;
	while ((request = dd_get_async(mem, &was, 8, 128, 0)) == -EBUSY)
		if (dd_fence(mem, -1))
			failed = 1;
	if (request < 0 || dd_wait(mem, request, -1) || was != n + 1 ||
	    dd_put(mem, &n, 8, 140, DD_PUT_NOTIFY) || dd_cas(mem, 140, 8, n, 0, &was, 0) != -EINVAL)
		failed = 1;
	__atomic_store_n(&handled, n + 1, __ATOMIC_RELEASE);
}

/* One signal after another: they arrive at any instruction of the calls. */
static void *send_signals(void *arg)
{
	const pthread_t *to = arg;

	for (int n = 0; n < SIGNALS && !failed; n++) {
		check_eq(pthread_kill(*to, SIGALRM), 0);
		while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) == n && !failed)
			sched_yield();
	}
	return NULL;
}

static void use_import(uint64_t n, uint64_t *wired)
{
	uint64_t was = 0, other = 0;
	int64_t request;

	if (dd_cas(mem, 8, 8, n, n + 1, &was, 0) || was != n)
		failed = 1;
	*wired = n;
	if (dd_put(mem, wired, 8, 16, 0) || dd_get(mem, wired + 1, 8, 16) || wired[1] != n)
		failed = 1;
	while ((request = dd_put_async(mem, &n, 8, 24, 0, 0)) == -EBUSY)
		if (dd_fence(mem, -1))
			failed = 1;
	if (request < 0 || dd_get(mem, &other, 8, 24) || other != n)
		failed = 1;
	/* The other node refuses a word that is not aligned. */
	if (dd_cas(mem, 12, 8, 0, 1, &was, 0) != -EINVAL || dd_fence(mem, -1))
		failed = 1;
}

TEST(a_handler_may_use_the_import)
{
	const struct sigaction sa = { .sa_handler = on_signal };
	pthread_t self = pthread_self(), t;
	uint64_t n = 0, *wired;

	begin(0, 0);
	check_eq(dd_alloc(im, PAGE, (void **)&wired), 0);
	handled = failed = 0;
	check_eq(sigaction(SIGALRM, &sa, NULL), 0);
	check_eq(pthread_create(&t, NULL, send_signals, &self), 0);
	while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) < SIGNALS && !failed)
		use_import(n++, wired);
	check_eq(pthread_join(t, NULL), 0);
	check_eq(failed, 0);
	check_eq(*(volatile uint64_t *)(shared + 8), n);
	end();
}

/* EINVAL: others have begun 64 requests since @request, so it is done. */
static bool waited(int64_t request)
{
	int ret = dd_wait(mem, request, -1);

	return !ret || ret == -EINVAL;
}

static void *get_without_pause(void *arg)
{
	static uint64_t words[16];
	const bool *stop = arg;
	int64_t request, last = 0;
	int errors = 0;

	for (unsigned int i = 0; !__atomic_load_n(stop, __ATOMIC_RELAXED); i++) {
		request = dd_get_async(mem, words + i % 16, 8, 0, 0);
		if (request >= 0)
			last = request;
		else
			errors += request != -EBUSY || !waited(last);
	}
	errors += dd_fence(mem, -1) != 0;
	check_eq(errors, 0);
	return NULL;
}

static void *count(void *arg)
{
	uint64_t was = 0, value = 0;
	int errors = 0;

	for (int i = 0; i < ROUNDS; i++) {
		do {
			value = was;
			errors += dd_cas(mem, 8, 8, value, value + 1, &was, 0) != 0;
		} while (was != value && !errors);
		errors += dd_cas(mem, 12, 8, 0, 1, &was, 0) != -EINVAL;
		errors += dd_put(mem, &value, 8, 16 + 8 * (uintptr_t)arg, 0) != 0;
		errors += dd_get(mem, &was, 8, 8) || was <= value;
	}
	check_eq(errors, 0);
	return NULL;
}

/* Each call gets its own result, however many others are done before it looks. */
TEST(threads_share_an_import)
{
	bool stop = false;
	pthread_t pump, t[3];
	uintptr_t i;

	begin(0, 0);
	check_eq(pthread_create(&pump, NULL, get_without_pause, &stop), 0);
	for (i = 0; i < 3; i++)
		check_eq(pthread_create(&t[i], NULL, count, (void *)i), 0);
	for (i = 0; i < 3; i++)
		check_eq(pthread_join(t[i], NULL), 0);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	check_eq(pthread_join(pump, NULL), 0);
	check_eq(*(volatile uint64_t *)(shared + 8), 3 * ROUNDS);
	end();
}
