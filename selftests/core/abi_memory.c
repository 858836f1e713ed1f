// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings, wired memory and its charge, fork.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include "mem.h"

#define RW	(PROT_READ | PROT_WRITE)
#define MIB	(1ul << 20)

/* --- the area --------------------------------------------------------------*/

static void *map(int fd, size_t len, int prot, int flags, off_t at)
{
	return mmap(NULL, len, prot, flags, fd, at);
}

#define EXPECT_NO_MAP(fd, len, prot, flags, at)				\
	EXPECT_EQ(MAP_FAILED, map(fd, len, prot, flags, at))

TEST(area_mapped_with_wrong_arguments)
{
	static const size_t sizes[] = { DD_AREA_SIZE + 1, DD_AREA_SIZE + PAGE,
					2 * DD_AREA_SIZE };
	static const off_t offsets[] = { PAGE, DD_AREA_SIZE, 1ul << 40,
					 0x7ffffffffffff000 - DD_AREA_SIZE };
	int fd = open("/dev/dd", O_RDWR | O_CLOEXEC), i;

	ASSERT_LE(0, fd);
	for (i = 0; i < 3; i++)
		EXPECT_NO_MAP(fd, sizes[i], RW, MAP_SHARED, 0);
	for (i = 0; i < 4; i++)
		EXPECT_NO_MAP(fd, DD_AREA_SIZE, RW, MAP_SHARED, offsets[i]);
	EXPECT_NO_MAP(fd, DD_AREA_SIZE, RW, MAP_PRIVATE, 0);
	EXPECT_NO_MAP(fd, DD_AREA_SIZE, PROT_READ, MAP_PRIVATE, 0);
	EXPECT_NO_MAP(fd, DD_AREA_SIZE, RW | PROT_EXEC, MAP_SHARED, 0);
	EXPECT_NO_MAP(fd, DD_AREA_SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, 0);
	/* After the refused attempts a valid one works, but only once. */
	ASSERT_NE(MAP_FAILED, map(fd, DD_AREA_SIZE, RW, MAP_SHARED, 0));
	EXPECT_NO_MAP(fd, DD_AREA_SIZE, RW, MAP_SHARED, 0);
}

/* Pages beyond the end do not exist, whatever offset they are mapped at. */
TEST(area_grown_beyond_its_end_shows_nothing)
{
	pid_t pid = fork_child();
	struct pair p;
	int status;
	char *a;

	if (!pid) {
		CHILD_CHECK(pair_open(&p, 1, PAGE, 1) == 0);
		a = mremap(p.srv.area, DD_AREA_SIZE, 2 * DD_AREA_SIZE,
			   MREMAP_MAYMOVE);
		CHILD_CHECK(a != MAP_FAILED);
		CHILD_CHECK(((struct dd_area_head *)a)->magic == DD_AREA_MAGIC);
		(void)*(volatile char *)(a + DD_AREA_SIZE);
		_exit(0);
	}
	status = wait_child(pid);
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

TEST(area_cannot_be_split_or_made_executable)
{
	struct pair p;
	struct dd_note n;
	char *a;

	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	a = p.cl.area;
	EXPECT_EQ(-1, mprotect(a, DD_AREA_SIZE, RW | PROT_EXEC));
	EXPECT_EQ(-1, mprotect(a, PAGE, PROT_EXEC));
	EXPECT_EQ(MAP_FAILED, mremap(a, DD_AREA_SIZE, PAGE, 0));
	EXPECT_EQ(MAP_FAILED, mremap(a, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(-1, madvise(a, DD_AREA_SIZE, MADV_DOFORK));
	madvise(a, DD_AREA_SIZE, MADV_DONTNEED);
	madvise(a, DD_AREA_SIZE, MADV_REMOVE);
	EXPECT_EQ(1, pair_request(&p, 0, 0, 8)) {
		TH_LOG("errno %d", errno);
	}
	EXPECT_TRUE(raw_take(&p.srv, p.s.list_unit, &n));
}

/* A worker ends the context some time after its area was unmapped. */
static bool ended(const struct raw *r)
{
	return raw_op(r, DD_IOC_LIST_KICK, 1) == -1 && errno == ESTALE;
}

static bool reset(const struct pair *p)
{
	return pair_request(p, 0, 0, 8) == -1 && errno == ECONNRESET;
}

TEST(unmapping_the_area_ends_the_context)
{
	static const struct {
		size_t at, len;
	} parts[] = {
		{ 0, PAGE }, { PAGE, PAGE }, { DD_AREA_SIZE - PAGE, PAGE },
		{ DD_AREA_SIZE / 2, DD_AREA_SIZE / 2 }, { 0, DD_AREA_SIZE },
	};
	struct dd_region_alloc a = { .size = sizeof(a), .length = PAGE };
	struct pair p;
	int i, ret;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
		ret = munmap((char *)p.srv.area + parts[i].at, parts[i].len);
		/* Of a part of it, it may fail. */
		if (ret) {
			EXPECT_GT(4, i);
			EXPECT_EQ(1, pair_request(&p, 0, 0, 8));
		} else {
			ASSERT_SOON(ended(&p.srv));
			EXPECT_ERR(ESTALE, raw_ioctl(&p.srv, DD_IOC_REGION_ALLOC, &a));
			EXPECT_NO_MAP(p.srv.fd, DD_AREA_SIZE, RW, MAP_SHARED, 0);
			ASSERT_SOON(reset(&p));
		}
		pair_close(&p);
	}
}

TEST(closing_the_descriptor_under_the_mapping)
{
	struct dd_note n;
	struct pair p;
	struct raw r;

	/* The mapping keeps the file open, so the context lives on. */
	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	ASSERT_EQ(0, munmap(p.cmem.at, p.cmem.len));
	close(p.srv.fd);
	ASSERT_EQ(1, pair_request(&p, 0, 0, 8));
	EXPECT_TRUE(raw_peek(&p.srv, p.s.list_unit, &n));
	ASSERT_EQ(0, munmap(p.srv.area, DD_AREA_SIZE));
	/* This was the last reference except for the region's mapping. */
	ASSERT_SOON(reset(&p));
	p.smem.at[0] = 1;
	ASSERT_EQ(0, raw_open(&r));
}

/* --- regions ---------------------------------------------------------------*/

TEST(lengths_of_regions)
{
	static const __u64 bad[] = { 0, 1ull << 52, 1ull << 63, -1ull,
				     -(__u64)PAGE, (1ull << 63) - 1 };
	static const __u64 good[] = { 1, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE,
				      3 * MIB };
	struct dd_region_alloc a;
	long long used;
	struct raw r;
	struct mem m;
	int i;

	ASSERT_EQ(0, raw_open(&r));
	used = memlock_used(&r);
	for (i = 0; i < 6; i++) {
		a = (struct dd_region_alloc){ .size = sizeof(a), .length = bad[i] };
		EXPECT_EQ(-1, raw_ioctl(&r, DD_IOC_REGION_ALLOC, &a));
		EXPECT_TRUE(errno == EINVAL || errno == ENOMEM ||
			    errno == EDQUOT || errno == ENOSPC) {
			TH_LOG("%llx: errno %d", bad[i], errno);
		}
	}
	EXPECT_EQ(used, memlock_used(&r));
	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, raw_alloc(&r, good[i], &m));
		EXPECT_EQ((good[i] + PAGE - 1) & ~(PAGE - 1), m.len);
		EXPECT_EQ(used + m.len, memlock_used(&r));
		memset(m.at, 0x11, m.len);
		ASSERT_EQ(0, raw_free(&r, &m));
		EXPECT_TRUE(WAIT_FOR(used == memlock_used(&r)));
	}
}

TEST(region_mapped_with_wrong_arguments)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = 4 * PAGE };
	struct raw r, other;
	char *at;
	int fd;

	ASSERT_EQ(0, raw_open(&r));
	fd = r.fd;
	ASSERT_EQ(0, raw_ioctl(&r, DD_IOC_REGION_ALLOC, &a));
	EXPECT_NO_MAP(fd, 3 * PAGE, RW, MAP_SHARED, a.offset);
	EXPECT_NO_MAP(fd, 5 * PAGE, RW, MAP_SHARED, a.offset);
	EXPECT_NO_MAP(fd, 3 * PAGE, RW, MAP_SHARED, a.offset + PAGE);
	EXPECT_NO_MAP(fd, 4 * PAGE, RW, MAP_SHARED, a.offset + PAGE);
	EXPECT_NO_MAP(fd, 4 * PAGE, RW, MAP_SHARED, a.offset - PAGE);
	EXPECT_NO_MAP(fd, 4 * PAGE, RW, MAP_PRIVATE, a.offset);
	EXPECT_NO_MAP(fd, 4 * PAGE, RW | PROT_EXEC, MAP_SHARED, a.offset);
	EXPECT_NO_MAP(fd, 4 * PAGE, RW, MAP_SHARED, a.offset ^ 1ul << 40);
	/* An offset of another context's region. */
	ASSERT_EQ(0, raw_open(&other));
	EXPECT_NO_MAP(other.fd, 4 * PAGE, RW, MAP_SHARED, a.offset);
	at = map(fd, 4 * PAGE, RW, MAP_SHARED, a.offset);
	ASSERT_NE(MAP_FAILED, at);
	at[4 * PAGE - 1] = 1;
	EXPECT_EQ(-1, mprotect(at, PAGE, RW | PROT_EXEC));
	EXPECT_EQ(MAP_FAILED, mremap(at, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE));
	/* A freed region stays until it is unmapped, but its offset names nothing. */
	ASSERT_EQ(0, raw_op(&r, DD_IOC_REGION_FREE, a.region));
	memset(at, 2, 4 * PAGE);
	EXPECT_EQ(2, at[4 * PAGE - 1]);
	ASSERT_EQ(0, munmap(at, 4 * PAGE));
	EXPECT_NO_MAP(fd, 4 * PAGE, RW, MAP_SHARED, a.offset);
}

/* --- limits ----------------------------------------------------------------*/

static void limit(unsigned long bytes)
{
	struct rlimit l = { bytes, bytes };

	CHILD_CHECK(setrlimit(RLIMIT_MEMLOCK, &l) == 0);
}

TEST(memlock_limits_a_user)
{
	struct dd_info i = { .size = sizeof(i) };
	struct raw r, r2;
	struct mem m, m2;
	int n;

	IN_CHILD {
		limit(MIB);
		CHILD_CHECK(become_user(BOB) == 0);
		CHILD_CHECK(raw_open(&r) == 0);
		CHILD_CHECK(raw_ioctl(&r, DD_IOC_INFO, &i) == 0);
		CHILD_CHECK(i.memlock_limit == MIB);
		CHILD_CHECK(i.memlock_used < MIB / 2);
		CHILD_CHECK(raw_alloc(&r, MIB / 2, &m) == 0);
		CHILD_CHECK(memlock_used(&r) >= (long long)MIB / 2);
		CHILD_ERR(EDQUOT, raw_alloc(&r, MIB, &m2));
		CHILD_ERR(EDQUOT, raw_alloc(&r, MIB / 2 + PAGE, &m2));
		/* Another context of the user shares the limit. */
		CHILD_CHECK(raw_open(&r2) == 0);
		CHILD_ERR(EDQUOT, raw_alloc(&r2, MIB / 2 + PAGE, &m2));
		CHILD_CHECK(raw_free(&r, &m) == 0);
		/* What has been freed does not count any more. */
		for (n = 0; n < 200; n++) {
			CHILD_CHECK(raw_alloc(&r2, MIB / 2 + PAGE, &m2) == 0);
			CHILD_CHECK(raw_free(&r2, &m2) == 0);
		}
	}
}

/* A context of a user of its own: pages that another test has not yet returned do not count. */
static long long lone_context(struct raw *r)
{
	limit(16 * MIB);
	CHILD_CHECK(become_user(lone_user()) == 0);
	CHILD_CHECK(raw_open(r) == 0);
	return memlock_used(r);
}

/* Children of the process that exits have the descriptor, and keep no more than that. */
TEST(memlock_and_names_are_given_back_at_exit)
{
	pid_t *orphan = shared_memory(sizeof(*orphan)), last, payer, pid;
	struct server s;
	long long before;
	struct raw r;
	struct mem m;
	int ready, i;

	IN_CHILD {
		before = lone_context(&r);
		for (i = 0; i < 20; i++) {
			last = *orphan;
			payer = fork_until_report(&ready);
			if (!payer) {
				CHILD_CHECK(server_open(&s, "given_back", 1) == 0);
				CHILD_CHECK(raw_alloc(&s.r, MIB, &m) == 0);
				pid = fork();
				if (pid) {
					*orphan = pid;
					child_report(ready);
				}
				pause();
			}
			CHILD_CHECK(payer > 0);
			/* It had the descriptor of the service before. */
			CHILD_CHECK(!last || kill(last, SIGKILL) == 0);
			CHILD_CHECK(memlock_used(&r) >= before + (long long)MIB);
			kill_child(payer);
			CHILD_CHECK(kill(*orphan, 0) == 0);
			CHILD_CHECK(memlock_used(&r) == before);
		}
		kill(*orphan, SIGKILL);
	}
}

/* An importer may never end its import: it keeps a structure of the exporter, not its area. */
TEST(memlock_of_an_exporter_is_given_back)
{
	struct dd_segment_make s;
	struct dd_import_make i;
	struct dd_serve states;
	struct raw r, own, im;
	long long before;
	struct mem m;

	IN_CHILD {
		lone_context(&r);
		CHILD_CHECK(raw_open(&im) == 0);
		before = memlock_used(&r);
		CHILD_CHECK(raw_start(&own, MIB, &m) == 0);
		CHILD_CHECK(raw_serve_unmapped(&own, "given_back", 4096, 8, 0, &states) == 0);
		s = mem_segment(&m, "given_back");
		CHILD_CHECK(mem_export(&own, &s) == 0);
		CHILD_CHECK(mem_import(&im, &s, DD_RIGHTS, &i) == 0);
		CHILD_CHECK(memlock_used(&r) > before + (long long)(MIB + 4096 * DD_UNIT));
		munmap(m.at, m.len);
		raw_close(&own);
		CHILD_CHECK(memlock_used(&r) < before + (long long)(8 * PAGE));
	}
}

/* --- fork ------------------------------------------------------------------*/

static bool faults(const volatile char *p)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		(void)*p;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

TEST(a_child_inherits_no_mapping)
{
	struct pair p;
	struct way w;

	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	ASSERT_EQ(0, way_open(&p.cl, p.c.conn, &w));
	w.block[0] = 1;
	/* madvise(MADV_DOFORK) is refused: the parent alone has the mapping. */
	EXPECT_EQ(-1, madvise(p.srv.area, DD_AREA_SIZE, MADV_DOFORK));
	EXPECT_TRUE(faults(p.srv.area));
	EXPECT_TRUE(faults(p.smem.at));
	EXPECT_TRUE(faults(p.smem.at + p.smem.len - 1));
	EXPECT_TRUE(faults(w.block));
	EXPECT_TRUE(faults((char *)w.notes));
	EXPECT_EQ(1, p.smem.at[0]);
	EXPECT_EQ(1, pair_request(&p, 0, 0, 8));
}

DD_TEST_MAIN
