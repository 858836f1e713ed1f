// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracked regions: which stores are reported, and that none is lost.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include "mem.h"

#define PAGES	130ul
#define WORDS	((PAGES + 63) / 64)

/* A context with a tracked region. */
FIXTURE(track) {
	struct raw r;
	struct dd_region_alloc a;
	struct mem m;
	__u64 bits[WORDS];
};

static int alloc(const struct raw *r, struct dd_region_alloc *a, struct mem *m)
{
	*a = (struct dd_region_alloc){ .size = sizeof(*a), .flags = DD_REGION_TRACK,
				       .length = PAGES * PAGE };
	if (raw_ioctl(r, DD_IOC_REGION_ALLOC, a))
		return -1;
	*m = (struct mem){ a->region, a->length };
	m->at = raw_map(r, a->offset, m->len, PROT_READ | PROT_WRITE);
	return m->at == MAP_FAILED ? -1 : 0;
}

FIXTURE_SETUP(track)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	/* A user of this test's own: no other test changes its charge. */
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &all));
	ASSERT_EQ(0, become_user(lone_user()));
	ASSERT_OK(raw_open(&self->r));
	ASSERT_OK(alloc(&self->r, &self->a, &self->m));
}

FIXTURE_TEARDOWN(track)
{
	raw_close(&self->r);
}

static int fetch_to(const struct raw *r, __u32 region, __u64 first, __u64 n, void *bits)
{
	const struct dd_region_dirty d = {
		.size = sizeof(d), .region = region, .offset = first * PAGE,
		.length = n * PAGE, .bitmap = (uintptr_t)bits,
	};

	return raw_ioctl(r, DD_IOC_REGION_DIRTY, &d);
}

static int fetch(FIXTURE_DATA(track) *self)
{
	return fetch_to(&self->r, self->m.id, 0, PAGES, self->bits);
}

static bool is_set(const __u64 *bits, unsigned long i)
{
	return bits[i / 64] >> i % 64 & 1;
}

/* Fetches: the only page reported, PAGES for none, or -1. */
static long only(FIXTURE_DATA(track) *self)
{
	unsigned long i, n = 0, page = PAGES;

	memset(self->bits, 0xff, sizeof(self->bits));
	if (fetch(self))
		return -1;
	for (i = 0; i < WORDS * 64; i++)
		if (is_set(self->bits, i)) {
			page = i;
			n++;
		}
	return n > 1 ? -1 : (long)page;
}

static volatile char *page(FIXTURE_DATA(track) *self, unsigned long i)
{
	return self->m.at + i * PAGE + i % PAGE;
}

TEST_F(track, a_store_is_reported_once)
{
	unsigned long i;

	EXPECT_EQ(PAGES, only(self));
	for (i = 0; i < PAGES; i++) {
		*page(self, i) = 1;
		*page(self, i) = 2;
		ASSERT_EQ(i, only(self));
		ASSERT_EQ(PAGES, only(self));
		*page(self, i) = 3;
		ASSERT_EQ(i, only(self));
		ASSERT_EQ(3, *page(self, i));
	}
}

TEST_F(track, a_load_is_not_reported)
{
	unsigned long i;

	for (i = 0; i < PAGES; i++)
		ASSERT_EQ(0, *page(self, i));
	EXPECT_EQ(PAGES, only(self));
	/* The page is mapped for loads. */
	for (i = 0; i < PAGES; i++) {
		ASSERT_EQ(0, *page(self, i));
		*page(self, i) = 1;
		ASSERT_EQ(i, only(self));
	}
}

TEST_F(track, a_range_is_fetched)
{
	unsigned long i;

	for (i = 0; i < PAGES; i++)
		if (i % 3)
			*page(self, i) = 1;
	ASSERT_OK(fetch_to(&self->r, self->m.id, 5, 70, self->bits));
	for (i = 0; i < 128; i++)
		ASSERT_EQ(i < 70 && (i + 5) % 3, is_set(self->bits, i));
	ASSERT_OK(fetch(self));
	for (i = 0; i < PAGES; i++)
		ASSERT_EQ((i < 5 || i >= 75) && i % 3, is_set(self->bits, i));
	EXPECT_EQ(PAGES, only(self));
}

TEST_F(track, system_calls_store)
{
	int fds[2];

	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(3, write(fds[1], "abc", 3));
	ASSERT_EQ(3, read(fds[0], self->m.at + 7 * PAGE, 3));
	EXPECT_EQ(7, only(self));
	ASSERT_EQ(3, write(fds[1], self->m.at + 7 * PAGE, 3));
	EXPECT_EQ(PAGES, only(self));
	/* A result of the device, too. */
	ASSERT_OK(fetch_to(&self->r, self->m.id, 0, 1, self->m.at + 9 * PAGE));
	EXPECT_EQ(9, only(self));
	close(fds[0]);
	close(fds[1]);
}

TEST_F(track, what_arrives_is_not_reported)
{
	struct dd_segment_make s = mem_segment(&self->m, "abi_track");
	struct dd_import_make i;
	struct raw im;

	ASSERT_OK(raw_open(&im));
	ASSERT_OK(mem_export(&self->r, &s));
	ASSERT_OK(mem_import(&im, &s, DD_RIGHT_PUT, &i));
	ASSERT_EQ(1, mem_put(&im, &i, "12345678", 5 * PAGE, 8, 0));
	EXPECT_EQ('1', self->m.at[5 * PAGE]);
	EXPECT_EQ(PAGES, only(self));
	/* The kernel sends what was stored. */
	memcpy(self->m.at + 6 * PAGE, "abcdefgh", 8);
	ASSERT_EQ(1, mem_put(&im, &i, self->m.at + 6 * PAGE, 0, 8, 0));
	EXPECT_EQ(6, only(self));
	EXPECT_EQ('h', self->m.at[7]);
	raw_close(&im);
}

TEST_F(track, all_mappings_are_tracked)
{
	char *other = raw_map(&self->r, self->a.offset, self->m.len, PROT_READ | PROT_WRITE);
	int i;

	ASSERT_NE(MAP_FAILED, other);
	for (i = 0; i < 3; i++) {
		other[3 * PAGE] = 1 + i;
		EXPECT_EQ(1 + i, self->m.at[3 * PAGE]);
		ASSERT_EQ(3, only(self));
		self->m.at[3 * PAGE] = 7 + i;
		ASSERT_EQ(3, only(self));
		EXPECT_EQ(7 + i, other[3 * PAGE]);
	}
	other[4 * PAGE] = 1;
	ASSERT_EQ(0, munmap(other, self->m.len));
	EXPECT_EQ(4, only(self));
}

/* As a library does it for memory that a program has already. */
TEST_F(track, a_region_takes_the_place_of_memory)
{
	char *own = mmap(NULL, self->m.len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, own);
	memset(own, 0x5a, self->m.len);
	memcpy(self->m.at, own, self->m.len);
	ASSERT_EQ(own, mremap(self->m.at, self->m.len, self->m.len,
			      MREMAP_MAYMOVE | MREMAP_FIXED, own));
	self->m.at = own;
	ASSERT_OK(fetch(self));
	EXPECT_EQ(~0ull, self->bits[0]);
	EXPECT_EQ(PAGES, only(self));
	EXPECT_EQ(0x5a, own[100 * PAGE]);
	own[100 * PAGE] = 1;
	EXPECT_EQ(100, only(self));
}

TEST_F(track, a_mapping_is_whole)
{
	char *at = self->m.at;

	EXPECT_EQ(-1, munmap(at, PAGE));
	EXPECT_EQ(-1, mprotect(at, PAGE, PROT_READ));
	EXPECT_EQ(MAP_FAILED, mremap(at, PAGES * PAGE, 2 * PAGES * PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(at, 0, PAGES * PAGE, MREMAP_MAYMOVE));
	at[PAGE] = 1;
	EXPECT_EQ(1, only(self));
	/* Stores that are permitted again are reported. */
	at[PAGE] = 2;
	ASSERT_EQ(0, mprotect(at, PAGES * PAGE, PROT_READ));
	EXPECT_EQ(1, only(self));
	EXPECT_EQ(2, at[PAGE]);
	ASSERT_EQ(0, mprotect(at, PAGES * PAGE, PROT_READ | PROT_WRITE));
	at[PAGE] = 3;
	EXPECT_EQ(1, only(self));
	EXPECT_EQ(-1, madvise(at, PAGES * PAGE, MADV_DONTNEED));
	at[PAGE] = 4;
	EXPECT_EQ(1, only(self));
}

TEST_F(track, pages_cannot_be_pinned)
{
	const struct iovec v = { self->m.at, PAGE };
	struct dd_region_pin p = { .size = sizeof(p), .address = (uintptr_t)self->m.at,
				   .length = PAGE };
	int fds[2];

	self->m.at[0] = 1;
	ASSERT_EQ(0, pipe(fds));
	EXPECT_ERR(EFAULT, vmsplice(fds[1], &v, 1, 0));
	EXPECT_ERR(EFAULT, raw_ioctl(&self->r, DD_IOC_REGION_PIN, &p));
	close(fds[0]);
	close(fds[1]);
}

TEST_F(track, a_child_has_no_part_in_it)
{
	pid_t pid;

	SKIP_ON_UM("leaves pages of VM_DONTCOPY mapped in a child");
	self->m.at[2 * PAGE] = 1;
	EXPECT_EQ(2, only(self));
	self->m.at[3 * PAGE] = 1;
	pid = fork_child();
	if (!pid) {
		int fds[2];

		CHILD_CHECK(pipe(fds) == 0);
		CHILD_CHECK(write(fds[1], self->m.at, 1) == -1 && errno == EFAULT);
		_exit(0);
	}
	ASSERT_CHILD_OK(pid);
	EXPECT_EQ(3, only(self));
	self->m.at[3 * PAGE] = 2;
	EXPECT_EQ(3, only(self));
}

TEST_F(track, errors_change_nothing)
{
	const struct raw *r = &self->r;
	const __u32 id = self->m.id;
	struct mem plain;

	ASSERT_OK(raw_alloc(r, PAGE, &plain));
	self->m.at[65 * PAGE] = 1;
	EXPECT_ERR(EFAULT, fetch_to(r, id, 0, PAGES, NULL));
	EXPECT_ERR(EFAULT, fetch_to(r, id, 0, PAGES, (void *)-4096));
	EXPECT_ERR(EINVAL, fetch_to(r, id, 0, 0, self->bits));
	EXPECT_ERR(ERANGE, fetch_to(r, id, 0, PAGES + 1, self->bits));
	EXPECT_ERR(ERANGE, fetch_to(r, id, PAGES, 1, self->bits));
	EXPECT_ERR(ERANGE, fetch_to(r, id, -1ull / PAGE, 2, self->bits));
	EXPECT_ERR(EOPNOTSUPP, fetch_to(r, plain.id, 0, 1, self->bits));
	EXPECT_ERR(ENOENT, fetch_to(r, id + 1000, 0, 1, self->bits));
	EXPECT_ERR(EINVAL, raw_ioctl(r, DD_IOC_REGION_DIRTY, (&(struct dd_region_dirty){
		.size = sizeof(struct dd_region_dirty), .region = id, .length = PAGE,
		.offset = 8, .bitmap = (uintptr_t)self->bits })));
	EXPECT_ERR(EINVAL, raw_ioctl(r, DD_IOC_REGION_DIRTY, (&(struct dd_region_dirty){
		.size = sizeof(struct dd_region_dirty), .region = id, .length = 8,
		.bitmap = (uintptr_t)self->bits })));
	EXPECT_EQ(65, only(self));
}

TEST_F(track, a_mapping_keeps_the_pages)
{
	long long used = memlock_used(&self->r);

	ASSERT_OK(raw_op(&self->r, DD_IOC_REGION_FREE, self->m.id));
	EXPECT_ERR(ENOENT, fetch(self));
	self->m.at[PAGE] = 1;
	self->m.at[PAGE] = self->m.at[2 * PAGE] + 2;
	EXPECT_EQ(2, self->m.at[PAGE]);
	EXPECT_EQ(used, memlock_used(&self->r));
	ASSERT_EQ(0, munmap(self->m.at, self->m.len));
	EXPECT_TRUE(WAIT_FOR(memlock_used(&self->r) <= used - (long long)self->m.len));
}

/* ---- stores and fetches at the same time ---------------------------------- */

struct storer {
	volatile __u64 *at;
	unsigned int seed;
	unsigned int pages;
	bool stop;
};

/* Stores larger and larger numbers. */
static void *store_until_stop(void *arg)
{
	struct storer *s = arg;
	__u64 n = 0;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED))
		s->at[rand_r(&s->seed) % s->pages * (PAGE / 8)] = ++n;
	return NULL;
}

static void check_stores(struct __test_metadata *_metadata, FIXTURE_DATA(track) *self,
			 unsigned int pages)
{
	const __u64 *at = (const __u64 *)self->m.at;
	struct storer s[2] = {
		{ .at = (__u64 *)self->m.at, .seed = getpid(), .pages = pages },
		{ .at = (__u64 *)self->m.at + 1, .seed = getpid() + 1, .pages = pages },
	};
	static __u64 copy[PAGES][2];
	int rounds = dd_count(5), i, k;
	unsigned long p;
	pthread_t t[2];

	memset(copy, 0, sizeof(copy));
	while (rounds--) {
		for (i = 0; i < 2; i++) {
			s[i].stop = false;
			ASSERT_EQ(0, pthread_create(&t[i], NULL, store_until_stop, &s[i]));
		}
		for (k = 0; k <= 40; k++) {
			/* The last fetch is after all stores. */
			for (i = 0; k == 40 && i < 2; i++) {
				__atomic_store_n(&s[i].stop, true, __ATOMIC_RELAXED);
				ASSERT_EQ(0, pthread_join(t[i], NULL));
			}
			ASSERT_OK(fetch(self));
			for (p = 0; p < pages; p++)
				if (is_set(self->bits, p))
					memcpy(copy[p], at + p * (PAGE / 8), 16);
			sched_yield();
		}
		for (p = 0; p < pages; p++)
			ASSERT_EQ(0, memcmp(copy[p], at + p * (PAGE / 8), 16));
	}
}

TEST_F(track, no_store_is_lost)
{
	check_stores(_metadata, self, PAGES);
}

/* The fault of one thread meets those of the other, and the fetch. */
TEST_F(track, no_store_to_one_page_is_lost)
{
	check_stores(_metadata, self, 1);
}

DD_TEST_MAIN
