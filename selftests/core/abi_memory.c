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

FIXTURE(fresh) {
	int fd;
};

FIXTURE_SETUP(fresh)
{
	self->fd = open("/dev/dd", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(fresh)
{
	close(self->fd);
}

static void *map(int fd, size_t len, int prot, int flags, off_t at)
{
	return mmap(NULL, len, prot, flags, fd, at);
}

#define EXPECT_NO_MAP(fd, len, prot, flags, at)				\
	EXPECT_EQ(MAP_FAILED, map(fd, len, prot, flags, at))

TEST_F(fresh, area_mapped_with_wrong_arguments)
{
	static const size_t sizes[] = { DD_AREA_SIZE + 1, DD_AREA_SIZE + PAGE,
					2 * DD_AREA_SIZE };
	static const off_t offsets[] = { PAGE, DD_AREA_SIZE, 1ul << 40,
					 0x7ffffffffffff000 - DD_AREA_SIZE };
	int i;

	for (i = 0; i < 3; i++)
		EXPECT_NO_MAP(self->fd, sizes[i], RW, MAP_SHARED, 0);
	for (i = 0; i < 4; i++)
		EXPECT_NO_MAP(self->fd, DD_AREA_SIZE, RW, MAP_SHARED,
			      offsets[i]);
	EXPECT_NO_MAP(self->fd, DD_AREA_SIZE, RW, MAP_PRIVATE, 0);
	EXPECT_NO_MAP(self->fd, DD_AREA_SIZE, PROT_READ, MAP_PRIVATE, 0);
	EXPECT_NO_MAP(self->fd, DD_AREA_SIZE, RW | PROT_EXEC, MAP_SHARED, 0);
	EXPECT_NO_MAP(self->fd, DD_AREA_SIZE, PROT_READ | PROT_EXEC, MAP_SHARED,
		      0);
	/* After the refused attempts a valid one works, but only once. */
	ASSERT_NE(MAP_FAILED, map(self->fd, DD_AREA_SIZE, RW, MAP_SHARED, 0));
	EXPECT_NO_MAP(self->fd, DD_AREA_SIZE, RW, MAP_SHARED, 0);
}

TEST_F(fresh, area_of_a_read_only_descriptor)
{
	int fd = open("/dev/dd", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		EXPECT_NO_MAP(fd, DD_AREA_SIZE, RW, MAP_SHARED, 0);
	EXPECT_NE(MAP_FAILED, map(self->fd, DD_AREA_SIZE, RW, MAP_SHARED, 0));
}

/* Touches every page of the mapping that exists; other pages fault. */
static void touch_all(struct raw *r)
{
	volatile char *a = r->area;
	size_t i;

	for (i = 0; i < DD_AREA_SIZE; i += PAGE)
		(void)a[i];
}

TEST(area_pages_that_hold_nothing_are_a_fault_or_zero)
{
	pid_t pid = fork_child();
	struct raw r;
	int status;

	if (!pid) {
		CHILD_CHECK(raw_open(&r) == 0);
		touch_all(&r);
		_exit(0);
	}
	status = wait_child(pid);
	EXPECT_TRUE((WIFEXITED(status) && !WEXITSTATUS(status)) ||
		    (WIFSIGNALED(status) && (WTERMSIG(status) == SIGBUS ||
					     WTERMSIG(status) == SIGSEGV)));
	ASSERT_EQ(0, raw_open(&r));
	EXPECT_EQ(DD_AREA_MAGIC, ((struct dd_area_head *)r.area)->magic);
}

/* As for a process with mlockall(MCL_FUTURE). */
TEST_F(fresh, area_grows_by_mremap)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = PAGE };
	struct dd_area_head *head;

	head = map(self->fd, PAGE, RW, MAP_SHARED, 0);
	ASSERT_NE(MAP_FAILED, head);
	EXPECT_EQ(DD_AREA_MAGIC, head->magic);
	head = mremap(head, PAGE, DD_AREA_SIZE, MREMAP_MAYMOVE);
	ASSERT_NE(MAP_FAILED, head);
	EXPECT_EQ(DD_AREA_MAGIC, head->magic);
	EXPECT_EQ(0, ioctl(self->fd, DD_IOC_REGION_ALLOC, &a));
	EXPECT_EQ(0, munmap(head, DD_AREA_SIZE));
	EXPECT_TRUE(WAIT_FOR(ioctl(self->fd, DD_IOC_REGION_ALLOC, &a) &&
			     errno == ESTALE));
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

TEST(area_may_be_moved_whole)
{
	struct dd_note n;
	struct pair p;
	char *to;

	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	to = mmap(NULL, DD_AREA_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		  -1, 0);
	ASSERT_NE(MAP_FAILED, to);
	/* Refused or done: the context does not change. */
	if (mremap(p.srv.area, DD_AREA_SIZE, DD_AREA_SIZE,
		   MREMAP_MAYMOVE | MREMAP_FIXED, to) == to)
		p.srv.area = to;
	EXPECT_EQ(1, pair_request(&p, 0, 0, 8));
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

TEST(unmapping_part_of_the_area_fails_or_ends_the_context)
{
	static const struct {
		size_t at, len;
	} parts[] = {
		{ 0, PAGE }, { PAGE, PAGE }, { DD_AREA_SIZE - PAGE, PAGE },
		{ DD_AREA_SIZE / 2, DD_AREA_SIZE / 2 },
	};
	struct pair p;
	int i, ret;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
		ret = munmap((char *)p.srv.area + parts[i].at, parts[i].len);
		errno = 0;
		if (ret) {
			EXPECT_EQ(1, pair_request(&p, 0, 0, 8));
		} else {
			ASSERT_SOON(ended(&p.srv));
			ASSERT_SOON(reset(&p));
		}
		pair_close(&p);
	}
}

TEST(unmapping_the_area_ends_the_context)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = PAGE };
	struct dd_conn_info i = { .size = sizeof(i) };
	struct pair p;
	__u64 there;

	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	there = pair_server_conn(&p);
	i.conn = there;
	ASSERT_EQ(0, munmap(p.srv.area, DD_AREA_SIZE));
	p.srv.area = NULL;
	ASSERT_SOON(ended(&p.srv));
	EXPECT_ERR(ESTALE, raw_op(&p.srv, DD_IOC_CLOSE, there));
	EXPECT_ERR(ESTALE, raw_ioctl(&p.srv, DD_IOC_CONN_INFO, &i));
	EXPECT_ERR(ESTALE, raw_ioctl(&p.srv, DD_IOC_REGION_ALLOC, &a));
	EXPECT_EQ(MAP_FAILED, map(p.srv.fd, DD_AREA_SIZE, RW, MAP_SHARED, 0));
	ASSERT_SOON(reset(&p));
}

TEST(closing_the_descriptor_under_the_mapping)
{
	struct dd_note n;
	struct pair p;
	struct raw r;

	/* The mapping keeps the file open, so the context lives on. */
	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
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

FIXTURE(region) {
	struct raw r;
};

FIXTURE_SETUP(region)
{
	ASSERT_EQ(0, raw_open(&self->r));
}

FIXTURE_TEARDOWN(region)
{
	raw_close(&self->r);
}

TEST_F(region, lengths)
{
	static const __u64 bad[] = { 0, 1ull << 52, 1ull << 63, -1ull,
				     -(__u64)PAGE, (1ull << 63) - 1 };
	static const __u64 good[] = { 1, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE,
				      3 * MIB };
	struct dd_region_alloc a;
	long long used = memlock_used(&self->r);
	struct mem m;
	int i;

	for (i = 0; i < 6; i++) {
		memset(&a, 0, sizeof(a));
		a.size = sizeof(a);
		a.length = bad[i];
		EXPECT_EQ(-1, raw_ioctl(&self->r, DD_IOC_REGION_ALLOC, &a));
		EXPECT_TRUE(errno == EINVAL || errno == ENOMEM ||
			    errno == EDQUOT || errno == ENOSPC) {
			TH_LOG("%llx: errno %d", bad[i], errno);
		}
	}
	EXPECT_EQ(used, memlock_used(&self->r));
	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, raw_alloc(&self->r, good[i], &m));
		EXPECT_EQ((good[i] + PAGE - 1) & ~(PAGE - 1), m.len);
		EXPECT_EQ(used + m.len, memlock_used(&self->r));
		memset(m.at, 0x11, m.len);
		ASSERT_EQ(0, raw_free(&self->r, &m));
		EXPECT_TRUE(WAIT_FOR(used == memlock_used(&self->r)));
	}
}

TEST_F(region, mapped_with_wrong_arguments)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = 4 * PAGE };
	struct raw other;
	int fd = self->r.fd;
	char *at;

	ASSERT_EQ(0, raw_ioctl(&self->r, DD_IOC_REGION_ALLOC, &a));
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
	/* The offset of a freed region names nothing. */
	ASSERT_EQ(0, munmap(at, 4 * PAGE));
	ASSERT_EQ(0, raw_op(&self->r, DD_IOC_REGION_FREE, a.region));
	EXPECT_NO_MAP(fd, 4 * PAGE, RW, MAP_SHARED, a.offset);
}

TEST_F(region, freed_while_mapped_stays_until_unmapped)
{
	struct mem m;

	ASSERT_EQ(0, raw_alloc(&self->r, 4 * PAGE, &m));
	ASSERT_EQ(0, raw_op(&self->r, DD_IOC_REGION_FREE, m.id));
	memset(m.at, 1, m.len);
	EXPECT_EQ(1, m.at[m.len - 1]);
	EXPECT_EQ(0, munmap(m.at, m.len));
}

TEST_F(region, unmapped_while_used_goes_on_receiving)
{
	struct pair p;
	struct dd_note n;

	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	ASSERT_EQ(0, munmap(p.smem.at, p.smem.len));
	ASSERT_EQ(0, munmap(p.cmem.at, p.cmem.len));
	EXPECT_EQ(1, pair_request(&p, 0, 0, 64));
	EXPECT_TRUE(raw_take(&p.srv, p.s.list_unit, &n));
}

TEST_F(region, kernel_never_hands_out_an_address_of_its_own)
{
	struct dd_region_alloc a = { .size = sizeof(a), .length = PAGE };
	__u64 *w = self->r.area;
	size_t i;

	ASSERT_EQ(0, raw_ioctl(&self->r, DD_IOC_REGION_ALLOC, &a));
	EXPECT_GT(1ull << 47, a.offset);
	for (i = 0; i < PAGE / 8; i++)
		EXPECT_GT(0xffff000000000000, w[i]);
}

/* --- limits ----------------------------------------------------------------*/

static void limit(unsigned long bytes)
{
	struct rlimit l = { bytes, bytes };

	CHILD_CHECK(setrlimit(RLIMIT_MEMLOCK, &l) == 0);
}

TEST(memlock_limits_a_user)
{
	pid_t pid = fork_child();
	struct dd_info i = { .size = sizeof(i) };
	struct raw r, r2;
	struct mem m, m2;
	int n;

	if (pid) {
		ASSERT_CHILD_OK(pid);
		return;
	}
	limit(MIB);
	CHILD_CHECK(become_user(BOB) == 0);
	CHILD_CHECK(raw_open(&r) == 0);
	CHILD_CHECK(raw_ioctl(&r, DD_IOC_INFO, &i) == 0);
	CHILD_CHECK(i.memlock_limit == MIB);
	CHILD_CHECK(i.memlock_used < MIB / 2);
	CHILD_CHECK(raw_alloc(&r, MIB / 2, &m) == 0);
	CHILD_CHECK(memlock_used(&r) >= (long long)MIB / 2);
	CHILD_CHECK(raw_alloc(&r, MIB, &m2) == -1 && errno == EDQUOT);
	CHILD_CHECK(raw_alloc(&r, MIB / 2 + PAGE, &m2) == -1 && errno == EDQUOT);
	/* Another context of the user shares the limit. */
	CHILD_CHECK(raw_open(&r2) == 0);
	CHILD_ERR(EDQUOT, raw_alloc(&r2, MIB / 2 + PAGE, &m2));
	CHILD_CHECK(raw_free(&r, &m) == 0);
	/* What has been freed does not count any more. */
	for (n = 0; n < 200; n++) {
		CHILD_CHECK(raw_alloc(&r2, MIB / 2 + PAGE, &m2) == 0);
		CHILD_CHECK(raw_free(&r2, &m2) == 0);
	}
	_exit(0);
}

TEST(memlock_is_given_back_at_exit)
{
	struct raw r, own;
	long long before;
	struct mem m;
	pid_t payer;
	int ready, i;

	IN_CHILD {
		limit(16 * MIB);
		/* Pages that another test has not yet returned do not count. */
		CHILD_CHECK(become_user(lone_user()) == 0);
		CHILD_CHECK(raw_open(&r) == 0);
		before = memlock_used(&r);
		for (i = 0; i < 20; i++) {
			payer = fork_until_report(&ready);
			if (!payer) {
				CHILD_CHECK(raw_start(&own, MIB, &m) == 0);
				child_report(ready);
				pause();
			}
			CHILD_CHECK(payer > 0);
			CHILD_CHECK(memlock_used(&r) >= before + (long long)MIB);
			kill_child(payer);
			CHILD_CHECK(memlock_used(&r) == before);
		}
	}
}

TEST(memlock_is_given_back_by_close)
{
	struct dd_connect c;
	struct server s;
	struct raw r, own;
	long long before;
	struct mem m;
	int i;

	IN_CHILD {
		limit(16 * MIB);
		CHILD_CHECK(become_user(lone_user()) == 0);
		CHILD_CHECK(raw_open(&r) == 0);
		CHILD_CHECK(server_open(&s, "closed", 1) == 0);
		before = memlock_used(&r);
		for (i = 0; i < 20; i++) {
			CHILD_CHECK(raw_start(&own, MIB, &m) == 0);
			raw_connect_args(&c, "closed", &m);
			CHILD_CHECK(raw_connect(&own, &c) == 0);
			munmap(own.area, DD_AREA_SIZE);
			munmap(m.at, m.len);
			close(own.fd);
			/* The server has needed memory for the connection. */
			CHILD_CHECK(memlock_used(&r) < before + (long long)MIB / 2);
		}
	}
}

/* A child of the process that exits has the descriptor, and keeps no more than that. */
TEST(memlock_is_given_back_at_exit_before_a_child)
{
	pid_t *orphan = shared_memory(sizeof(*orphan)), payer, pid;
	struct raw r, own;
	long long before;
	struct mem m;
	int ready;

	IN_CHILD {
		limit(16 * MIB);
		CHILD_CHECK(become_user(lone_user()) == 0);
		CHILD_CHECK(raw_open(&r) == 0);
		before = memlock_used(&r);
		payer = fork_until_report(&ready);
		if (!payer) {
			CHILD_CHECK(raw_start(&own, MIB, &m) == 0);
			pid = fork();
			if (pid) {
				*orphan = pid;
				child_report(ready);
			}
			pause();
		}
		CHILD_CHECK(payer > 0);
		kill_child(payer);
		CHILD_CHECK(kill(*orphan, 0) == 0);
		CHILD_CHECK(memlock_used(&r) == before);
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
		limit(16 * MIB);
		CHILD_CHECK(become_user(lone_user()) == 0);
		CHILD_CHECK(raw_open(&im) == 0);
		CHILD_CHECK(raw_open(&r) == 0);
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

/* The segment keeps the pages; its end frees them. */
TEST(memlock_of_a_pin_is_given_back_by_the_end_of_its_segment)
{
	struct dd_region_pin p = { .size = sizeof(p), .length = MIB };
	struct dd_segment_make s;
	long long before;
	struct raw r;
	int i;

	IN_CHILD {
		limit(16 * MIB);
		CHILD_CHECK(become_user(lone_user()) == 0);
		CHILD_CHECK(raw_open(&r) == 0);
		before = memlock_used(&r);
		p.address = (uintptr_t)mmap(NULL, MIB, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (i = 0; i < 20; i++) {
			p.offset = 0;
			p.region = 0;
			CHILD_CHECK(raw_ioctl(&r, DD_IOC_REGION_PIN, &p) == 0);
			s = mem_segment(&(struct mem){ .id = p.region, .len = MIB }, "unpinned");
			CHILD_CHECK(mem_export(&r, &s) == 0);
			CHILD_CHECK(raw_op(&r, DD_IOC_REGION_FREE, p.region) == 0);
			CHILD_CHECK(memlock_used(&r) >= before + (long long)MIB);
			CHILD_CHECK(raw_op(&r, DD_IOC_END, s.segment) == 0);
			CHILD_CHECK(memlock_used(&r) <= before + (long long)PAGE);
		}
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

	ASSERT_EQ(0, pair_open(&p, 1, PAGE, 1));
	/* madvise(MADV_DOFORK) is refused: the parent alone has the mapping. */
	EXPECT_EQ(-1, madvise(p.srv.area, DD_AREA_SIZE, MADV_DOFORK));
	EXPECT_TRUE(faults(p.srv.area));
	EXPECT_TRUE(faults(p.smem.at));
	EXPECT_TRUE(faults(p.smem.at + p.smem.len - 1));
	EXPECT_EQ(1, pair_request(&p, 0, 0, 8));
}

TEST(a_child_keeps_nothing_alive)
{
	pid_t *orphan = shared_memory(sizeof(*orphan)), parent, pid;
	struct server s;
	int ready;

	parent = fork_until_report(&ready);
	if (!parent) {
		CHILD_CHECK(server_open(&s, "orphan", 1) == 0);
		pid = fork();
		if (pid) {
			*orphan = pid;
			child_report(ready);
		}
		pause();
	}
	ASSERT_LT(0, parent);
	kill_child(parent);
	/* The grandchild still holds the descriptor; the name is free. */
	EXPECT_EQ(0, kill(*orphan, 0));
	ASSERT_EQ(0, server_prepare(&s, "orphan", 1));
	EXPECT_EQ(0, raw_serve(&s.r, &s.s));
	kill(*orphan, SIGKILL);
}

DD_TEST_MAIN
