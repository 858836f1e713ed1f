// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracked regions: which stores are reported, that none is lost, and waits for them; regions in
 * place of other memory.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <linux/futex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include "mem.h"
#include "threads.h"

#define PAGES	130ul
#define WORDS	((PAGES + 63) / 64)

/* A context with a tracked region. */
FIXTURE(track) {
	struct raw r;
	struct dd_region_alloc a;
	struct mem m;
	__u64 bits[WORDS];
};

/* A tracked region, in place of memory at @at if that is not NULL. */
static int alloc_at(const struct raw *r, const void *at, size_t len, struct dd_region_alloc *a)
{
	*a = (struct dd_region_alloc){ .size = sizeof(*a), .flags = DD_REGION_TRACK,
				       .length = len, .address = (uintptr_t)at };
	return raw_ioctl(r, DD_IOC_REGION_ALLOC, a);
}

static int alloc(const struct raw *r, struct dd_region_alloc *a, struct mem *m)
{
	if (alloc_at(r, NULL, PAGES * PAGE, a))
		return -1;
	*m = (struct mem){ a->region, a->length };
	m->at = raw_map(r, a->offset, m->len, PROT_READ | PROT_WRITE);
	return m->at == MAP_FAILED ? -1 : 0;
}

FIXTURE_SETUP(track)
{
	ASSERT_EQ(0, become_lone_user());
	ASSERT_OK(raw_open(&self->r));
	ASSERT_OK(alloc(&self->r, &self->a, &self->m));
}

FIXTURE_TEARDOWN(track)
{
	raw_close(&self->r);
}

static int dirty(const struct raw *r, __u32 region, __u64 offset, __u64 length, void *bits)
{
	const struct dd_region_dirty d = {
		.size = sizeof(d), .region = region, .offset = offset, .length = length,
		.bitmap = (uintptr_t)bits,
	};

	return raw_ioctl(r, DD_IOC_REGION_DIRTY, &d);
}

static int fetch_to(const struct raw *r, __u32 region, __u64 first, __u64 n, void *bits)
{
	return dirty(r, region, first * PAGE, n * PAGE, bits);
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

/* The page must not be unmapped for the store: the load would fault again, and so on. */
TEST_F(track, an_instruction_loads_and_stores)
{
	char *at = self->m.at + 5 * PAGE, *to, *from;
	long n;
	int i;

	for (i = 0; i < 3; i++) {
		at[0] = i + 1;
		ASSERT_EQ(5, only(self));
		/* Mapped for loads, or not at all. */
		if (i)
			ASSERT_EQ(i + 1, *(volatile char *)at);
		to = at + 8;
		from = at;
		n = 1;
		asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
		ASSERT_EQ(i + 1, at[8]);
		ASSERT_EQ(5, only(self));
		asm volatile("addb $1, %0" : "+m"(*at));
		ASSERT_EQ(i + 2, at[0]);
		ASSERT_EQ(5, only(self));
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

TEST_F(track, a_mapping_is_whole)
{
	char *at = self->m.at, *to;

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
	/* All of it may be moved. */
	to = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(to, mremap(at, PAGES * PAGE, PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	EXPECT_EQ(4, to[PAGE]);
	to[100 * PAGE] = 1;
	EXPECT_EQ(100, only(self));
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
}

TEST_F(track, a_child_has_no_part_in_it)
{
	int fds[2];

	self->m.at[2 * PAGE] = 1;
	EXPECT_EQ(2, only(self));
	self->m.at[3 * PAGE] = 1;
	ASSERT_EQ(0, pipe(fds));
	IN_CHILD {
		CHILD_ERR(EFAULT, write(fds[1], self->m.at, 1));
	}
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
	const struct {
		int err;
		__u32 region;
		__u64 offset, length;
		void *bits;
	} bad[] = {
		{ EFAULT, id, 0, PAGES * PAGE, NULL },
		{ EFAULT, id, 0, PAGES * PAGE, (void *)-4096 },
		{ EINVAL, id, 0, 0, self->bits },
		{ ERANGE, id, 0, (PAGES + 1) * PAGE, self->bits },
		{ ERANGE, id, PAGES * PAGE, PAGE, self->bits },
		{ ERANGE, id, -PAGE, 2 * PAGE, self->bits },
		{ EOPNOTSUPP, plain.id, 0, PAGE, self->bits },
		{ ENOENT, id + 1000, 0, PAGE, self->bits },
		{ EINVAL, id, 8, PAGE, self->bits },
		{ EINVAL, id, 0, 8, self->bits },
	};

	self->m.at[65 * PAGE] = 1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_ERR(bad[i].err, dirty(r, bad[i].region, bad[i].offset, bad[i].length,
					     bad[i].bits));
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

/* ---- finding what was stored to -------------------------------------------- */

#define FOREVER		(~0ull)

/* The next region after @id that was stored to, or 0 and errno. */
static __u32 stored(const struct raw *r, __u32 id, __u64 timeout)
{
	struct dd_region_stored s = { .size = sizeof(s), .region = id, .timeout = timeout };

	errno = 0;
	return raw_ioctl(r, DD_IOC_REGION_STORED, &s) ? 0 : s.region;
}

static __u32 stores(const struct raw *r)
{
	return __atomic_load_n(&((struct dd_area_head *)r->area)->stores, __ATOMIC_ACQUIRE);
}

#define EXPECT_NONE_STORED(r, id) do {					\
	EXPECT_EQ(0, stored(r, id, 0));					\
	EXPECT_EQ(EAGAIN, errno);					\
} while (0)

TEST_F(track, regions_that_were_stored_to_are_found)
{
	const struct raw *r = &self->r;
	struct dd_region_alloc a;
	struct mem more[3];
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_OK(alloc(r, &a, &more[i]));
	EXPECT_NONE_STORED(r, 0);
	EXPECT_EQ(0, more[1].at[PAGE]);
	EXPECT_NONE_STORED(r, 0);
	more[2].at[0] = 1;
	more[0].at[(PAGES - 1) * PAGE] = 1;
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(more[0].id, stored(r, 0, 0));
		EXPECT_EQ(more[0].id, stored(r, 0, FOREVER));
		EXPECT_EQ(more[2].id, stored(r, more[0].id, 0));
		EXPECT_NONE_STORED(r, more[2].id);
		EXPECT_EQ(0, stored(r, more[2].id + 1000, 0));
		EXPECT_EQ(ENOENT, errno);
	}
	/* A page that is not fetched remains. */
	ASSERT_OK(fetch_to(r, more[0].id, 0, PAGES - 1, self->bits));
	EXPECT_EQ(more[0].id, stored(r, 0, 0));
	EXPECT_ERR(EFAULT, fetch_to(r, more[0].id, PAGES - 1, 1, NULL));
	EXPECT_EQ(more[0].id, stored(r, 0, 0));
	ASSERT_OK(fetch_to(r, more[0].id, PAGES - 1, 1, self->bits));
	EXPECT_EQ(more[2].id, stored(r, 0, 0));
	/* What has ended is not found. */
	ASSERT_OK(raw_op(r, DD_IOC_REGION_FREE, more[2].id));
	EXPECT_NONE_STORED(r, 0);
	more[2].at[PAGE] = 1;
	EXPECT_NONE_STORED(r, 0);
}

TEST_F(track, a_word_shows_that_there_was_a_store)
{
	const struct raw *r = &self->r;
	__u32 before = stores(r), after;
	int i;

	for (i = 0; i < 3; i++) {
		EXPECT_EQ(i ? 1 : 0, *page(self, 5));
		EXPECT_EQ(before, stores(r));
		*page(self, 5) = 1;
		after = stores(r);
		EXPECT_NE(before, after);
		/* The page is mapped for stores. */
		*page(self, 5) = 1;
		EXPECT_EQ(after, stores(r));
		*page(self, 6 + i) = 1;
		EXPECT_NE(after, stores(r));
		after = stores(r);
		ASSERT_OK(fetch(self));
		EXPECT_EQ(after, stores(r));
		before = after;
	}
}

/* A thread that fetches what is stored, until the context ends or a wait fails. */
struct fetcher {
	FIXTURE_DATA(track) *self;
	__u64 timeout;
	unsigned long fetched;
	struct call call;
};

static long fetch_until_error(void *arg)
{
	struct fetcher *f = arg;

	while (stored(&f->self->r, 0, f->timeout) == f->self->m.id && !fetch(f->self))
		__atomic_fetch_add(&f->fetched, 1, __ATOMIC_RELEASE);
	return -1;
}

static bool fetcher_start(FIXTURE_DATA(track) *self, struct fetcher *f, __u64 timeout)
{
	*f = (struct fetcher){ .self = self, .timeout = timeout };
	return call_begin(&f->call, fetch_until_error, f);
}

/* The first store after each fetch wakes the thread; a lost one would be waited for in vain. */
TEST_F(track, each_first_store_ends_a_wait)
{
	unsigned long i, n = dd_count(5000);
	struct fetcher f;
	double end;

	ASSERT_TRUE(fetcher_start(self, &f, FOREVER));
	for (i = 0; i < n; i++) {
		*page(self, i % PAGES) = i;
		/* When it has been fetched, the next one may come before the thread sleeps. */
		for (end = dd_now() + dd_patience() / 1e3; stored(&self->r, 0, 0); sched_yield())
			ASSERT_LT(dd_now(), end);
	}
	/* A call that begins after the end fails with ENXIO. */
	ASSERT_TRUE(call_sleeps(&f.call, SYS_ioctl));
	ASSERT_EQ(0, munmap(self->r.area, DD_AREA_SIZE));
	EXPECT_ERR(ESTALE, call_end(&f.call));
	EXPECT_LE(n, f.fetched);
}

/* Neither loads, nor notes, nor stores of others, nor stores to what is not tracked wake it. */
TEST_F(track, without_a_store_a_wait_is_one_sleep)
{
	struct dd_segment_make s = mem_segment(&self->m, "abi_track_sleep");
	struct dd_list_make list;
	struct dd_import_make i;
	struct fetcher f;
	struct raw im;
	int k;

	ASSERT_OK(raw_open(&im));
	ASSERT_OK(mem_list(&self->r, &list));
	s.list = list.list;
	s.window = 16;
	ASSERT_OK(mem_export(&self->r, &s));
	ASSERT_OK(mem_import(&im, &s, DD_RIGHT_PUT, &i));
	ASSERT_TRUE(fetcher_start(self, &f, 300000000));
	ASSERT_SOON(__atomic_load_n(&f.call.tid, __ATOMIC_ACQUIRE));
	for (k = 0; k < 10; k++) {
		EXPECT_EQ(k ? '1' : 0, self->m.at[5 * PAGE]);
		ASSERT_EQ(1, mem_put(&im, &i, "12345678", 5 * PAGE, 8, DD_SQE_NOTIFY));
		EXPECT_EQ(0, stored(&self->r, 0, 0));
		usleep(1000);
	}
	EXPECT_ERR(ETIMEDOUT, call_end(&f.call));
	EXPECT_EQ(0, f.fetched);
	EXPECT_TRUE(call_slept_once(&f.call));
}

TEST_F(track, a_wait_ends_by_time_or_signal)
{
	struct fetcher f;

	ASSERT_WAITS(50, ASSERT_EQ(0, stored(&self->r, 0, 50000000)));
	EXPECT_NONE_STORED(&self->r, 0);
	ASSERT_TRUE(fetcher_start(self, &f, FOREVER));
	ASSERT_TRUE(call_sleeps(&f.call, SYS_ioctl));
	ASSERT_TRUE(call_interrupt(&f.call));
	EXPECT_ERR(EINTR, call_end(&f.call));
}

TEST_F(track, a_wait_goes_on_when_a_region_ends)
{
	struct dd_region_alloc a;
	struct fetcher f;
	struct mem m;

	ASSERT_OK(alloc(&self->r, &a, &m));
	ASSERT_TRUE(fetcher_start(self, &f, FOREVER));
	ASSERT_TRUE(call_sleeps(&f.call, SYS_ioctl));
	ASSERT_OK(raw_op(&self->r, DD_IOC_REGION_FREE, m.id));
	/* Counted, but nothing to fetch. */
	m.at[0] = 1;
	ASSERT_EQ(0, munmap(m.at, m.len));
	EXPECT_EQ(0, f.fetched);
	self->m.at[0] = 1;
	ASSERT_SOON(__atomic_load_n(&f.fetched, __ATOMIC_ACQUIRE));
	/* A call that begins after the end fails with ENXIO. */
	ASSERT_TRUE(call_sleeps(&f.call, SYS_ioctl));
	ASSERT_EQ(0, munmap(self->r.area, DD_AREA_SIZE));
	EXPECT_ERR(ESTALE, call_end(&f.call));
	/* The word has ended with the context. */
	self->m.at[PAGE] = 1;
	EXPECT_EQ(1, self->m.at[PAGE]);
}

/* ---- regions in place of other memory ---------------------------------------- */

/* Replaces memory as a library does. */
static int replace(const struct raw *r, void *at, size_t len, struct mem *m)
{
	struct dd_region_alloc a;

	if (alloc_at(r, at, len, &a))
		return -1;
	*m = (struct mem){ a.region, a.length, at };
	return mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->fd,
		    a.offset) == at ? 0 : -1;
}

static const char constant[2 * PAGE] __attribute__((aligned(PAGE))) = { 1 };

static void check_replaced(struct __test_metadata *_metadata, FIXTURE_DATA(track) *self, char *at)
{
	char before[3 * PAGE];
	struct mem m;
	int fds[2];

	at[0] = 'a';
	at[2 * PAGE + 17] = 'b';
	memcpy(before, at, sizeof(before));
	ASSERT_OK(replace(&self->r, at, 2 * PAGE, &m));
	EXPECT_NONE_STORED(&self->r, 0);
	EXPECT_EQ(0, memcmp(before, at, sizeof(before)));
	at[2 * PAGE] = 'c';
	EXPECT_NONE_STORED(&self->r, 0);
	at[PAGE + 8] = 'e';
	EXPECT_EQ(m.id, stored(&self->r, 0, 0));
	ASSERT_OK(fetch_to(&self->r, m.id, 0, 2, self->bits));
	EXPECT_EQ(2, self->bits[0]);
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(3, write(fds[1], "xyz", 3));
	ASSERT_EQ(3, read(fds[0], at + PAGE - 1, 3));
	ASSERT_OK(fetch_to(&self->r, m.id, 0, 2, self->bits));
	EXPECT_EQ(3, self->bits[0]);
	EXPECT_EQ('y', at[PAGE]);
	EXPECT_EQ(1, __atomic_add_fetch((int *)(at + 128), 1, __ATOMIC_SEQ_CST));
	ASSERT_OK(fetch_to(&self->r, m.id, 0, 2, self->bits));
	EXPECT_EQ(1, self->bits[0]);
}

/* Of a file, and of none; lib_track has more kinds. */
TEST_F(track, private_memory_is_replaced)
{
	int fd = memfd_create("abi_track", 0);
	char *at;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, 3 * PAGE));
	for (int i = 0; i < 2; i++) {
		at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			  i ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS, i ? fd : -1, 0);
		ASSERT_NE(MAP_FAILED, at);
		check_replaced(_metadata, self, at);
	}
}

TEST_F(track, memory_that_is_not_the_process_own_is_not_replaced)
{
	const struct raw *r = &self->r;
	const int rw = PROT_READ | PROT_WRITE, anon = MAP_PRIVATE | MAP_ANONYMOUS;
	/* Pages: 3 is missing, 5 to 7 are not for both loads and stores, 8 and 9 shared. */
	char *all = mmap(NULL, 12 * PAGE, rw, anon, -1, 0);
	int fd = memfd_create("abi_track", 0);
	long long used = memlock_used(r);
	struct dd_region_alloc a;
	const struct {
		int err;
		const void *at;
		size_t len;
	} bad[] = {
		{ EOPNOTSUPP, all + 8 * PAGE, PAGE },
		{ EFAULT, all, 4 * PAGE }, { EFAULT, all + 2 * PAGE, 3 * PAGE },
		{ EFAULT, all + 3 * PAGE, PAGE },
		{ EFAULT, all, 3 * PAGE + 1 },		/* rounded up */
		{ EFAULT, all + 4 * PAGE, 2 * PAGE }, { EFAULT, all + 6 * PAGE, PAGE },
		{ EFAULT, all + 7 * PAGE, PAGE },
		{ EFAULT, constant, PAGE },
		{ EOPNOTSUPP, self->m.at, PAGE }, { EOPNOTSUPP, r->area, PAGE },
		{ EFAULT, (void *)-(2 * PAGE), 2 * PAGE },
		{ EFAULT, (void *)0xffff888000000000, PAGE },
		{ EFAULT, all + 10 * PAGE, 2 * PAGE },	/* behind the end of a file */
		{ EINVAL, all + 8, PAGE },
	};

	ASSERT_NE(MAP_FAILED, all);
	memset(all, 0x5a, 8 * PAGE);
	ASSERT_EQ(0, munmap(all + 3 * PAGE, PAGE));
	ASSERT_EQ(0, mprotect(all + 5 * PAGE, PAGE, PROT_READ));
	ASSERT_EQ(0, mprotect(all + 6 * PAGE, PAGE, PROT_NONE));
	ASSERT_EQ(0, mprotect(all + 7 * PAGE, PAGE, PROT_WRITE));
	ASSERT_NE(MAP_FAILED, mmap(all + 8 * PAGE, 2 * PAGE, rw,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	ASSERT_NE(MAP_FAILED, mmap(all + 10 * PAGE, 2 * PAGE, rw, MAP_PRIVATE | MAP_FIXED, fd, 0));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_ERR(bad[i].err, alloc_at(r, bad[i].at, bad[i].len, &a));
	/* Only tracked regions. */
	a = (struct dd_region_alloc){ .size = sizeof(a), .length = PAGE,
				      .address = (uintptr_t)all };
	EXPECT_ERR(EINVAL, raw_ioctl(r, DD_IOC_REGION_ALLOC, &a));
	EXPECT_TRUE(WAIT_FOR(memlock_used(r) == used));
	EXPECT_EQ(0x5a, all[4 * PAGE]);
}

/* ---- debuggers, futexes ------------------------------------------------------ */

/* Of another process: a store of a debugger is one of the process. */
TEST_F(track, debuggers_load_and_store)
{
	char *at = self->m.at + 3 * PAGE, buf[2 * PAGE] = { 0 };
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	const struct iovec here = { buf, 8 }, there = { at, 8 };

	SKIP_ON_UM("has no access to mappings by page number");
	ASSERT_LE(0, fd);
	memcpy(at + PAGE - 4, "abcdefgh", 8);
	ASSERT_OK(fetch(self));
	EXPECT_EQ(3ull << 3, self->bits[0]);
	IN_CHILD {
		CHILD_CHECK(pread(fd, buf, 2 * PAGE, (uintptr_t)at) == 2 * PAGE);
		CHILD_CHECK(!memcmp(buf + PAGE - 4, "abcdefgh", 8));
	}
	EXPECT_EQ(PAGES, only(self));
	IN_CHILD
		CHILD_CHECK(pwrite(fd, "XY", 2, (uintptr_t)at + 7) == 2);
	EXPECT_EQ('Y', at[8]);
	EXPECT_EQ(self->m.id, stored(&self->r, 0, 0));
	EXPECT_EQ(3, only(self));
	/* From the last byte of one page to the first of the next one. */
	IN_CHILD
		CHILD_CHECK(pwrite(fd, "ZW", 2, (uintptr_t)at + PAGE - 1) == 2);
	EXPECT_EQ('W', at[PAGE]);
	ASSERT_OK(fetch(self));
	EXPECT_EQ(3ull << 3, self->bits[0]);
	ASSERT_EQ(0, mprotect(self->m.at, PAGES * PAGE, PROT_READ));
	EXPECT_EQ(-1, pwrite(fd, "!", 1, (uintptr_t)at));
	EXPECT_NE('!', *at);
	EXPECT_EQ(PAGES, only(self));
	/* This call needs pages that can be pinned. */
	EXPECT_EQ(-1, process_vm_readv(getpid(), &here, 1, &there, 1, 0));
}

static long wait_for_one(void *arg)
{
	int *word = arg;

	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return 0;
}

TEST_F(track, private_futexes_work)
{
	int *word = (int *)self->m.at;
	struct call c;

	ASSERT_TRUE(call_begin(&c, wait_for_one, word));
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	EXPECT_LE(0, syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
	ASSERT_EQ(0, call_end(&c));
	EXPECT_ERR(EFAULT, syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0));
	EXPECT_EQ(0, only(self));
}

/* ---- stores and fetches at the same time ---------------------------------- */

struct storer {
	volatile __u64 *at;
	unsigned int seed;
	unsigned int pages;
	__u64 n;
};

/* Stores larger and larger numbers. */
static bool store_next(void *arg)
{
	struct storer *s = arg;

	s->at[rand_r(&s->seed) % s->pages * (PAGE / 8)] = ++s->n;
	return true;
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
	struct loop l[2];
	unsigned long p;

	memset(copy, 0, sizeof(copy));
	while (rounds--) {
		for (i = 0; i < 2; i++)
			ASSERT_TRUE(loop_begin(&l[i], store_next, &s[i]));
		for (k = 0; k <= 40; k++) {
			/* The last fetch is after all stores. */
			for (i = 0; k == 40 && i < 2; i++)
				ASSERT_EQ(0, loop_end(&l[i]));
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
