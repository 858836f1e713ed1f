// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions of memory that the process had before.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <sys/resource.h>
#include "mem.h"

/* A context that imports the segments that the tests export in @ex. */
FIXTURE(pin) {
	struct raw ex, im;
	char *at;		/* 4 pages of private memory, not touched yet */
	long long used;
	struct dd_segment_make s;
	struct dd_import_make i;
};

FIXTURE_SETUP(pin)
{
	ASSERT_OK(setresuid(lone_user(), -1, -1));
	ASSERT_OK(raw_open(&self->ex));
	ASSERT_OK(raw_open(&self->im));
	self->at = mmap(NULL, MEM_LEN, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->at);
	self->used = memlock_used(&self->ex);
}

FIXTURE_TEARDOWN(pin)
{
	raw_close(&self->im);
	raw_close(&self->ex);
}

static int pin(const struct raw *r, const void *at, size_t len, struct dd_region_pin *p)
{
	*p = (struct dd_region_pin){
		.size = sizeof(*p), .address = (uintptr_t)at, .length = len,
	};
	return raw_ioctl(r, DD_IOC_REGION_PIN, p);
}

/* Pins, exports and imports the memory; the region ends with the segment. */
static int share(FIXTURE_DATA(pin) *self, const void *at, size_t len)
{
	struct dd_region_pin p;
	struct mem m;

	if (pin(&self->ex, at, len, &p))
		return -1;
	m = (struct mem){ .id = p.region, .len = len };
	self->s = mem_segment(&m, "abi_pin");
	self->s.offset = p.offset;
	if (mem_export(&self->ex, &self->s) ||
	    raw_op(&self->ex, DD_IOC_REGION_FREE, p.region))
		return -1;
	return mem_import(&self->im, &self->s, DD_RIGHTS, &self->i);
}

static int store(FIXTURE_DATA(pin) *self, __u64 off, __u64 value)
{
	return mem_put(&self->im, &self->i, &value, off, sizeof(value), 0);
}

static __u64 load(FIXTURE_DATA(pin) *self, __u64 off)
{
	__u64 value = ~0ull;

	if (mem_get(&self->im, &self->i, &value, off, sizeof(value)) != 1)
		return ~0ull;
	return value;
}

TEST_F(pin, memory_is_reached_where_it_is)
{
	__u64 on_stack[4] = { 0 };

	ASSERT_OK(share(self, self->at, MEM_LEN));
	ASSERT_EQ(1, store(self, PAGE - 8, 5));
	EXPECT_EQ(5, *(__u64 *)(self->at + PAGE - 8));
	*(__u64 *)(self->at + 8) = 6;
	EXPECT_EQ(6, load(self, 8));
	ASSERT_OK(mem_end(&self->ex, self->s.segment));

	/* Any address; other memory in its page is out of bounds. */
	ASSERT_OK(share(self, on_stack + 1, 16));
	ASSERT_EQ(1, store(self, 8, 7));
	EXPECT_EQ(7, on_stack[2]);
	EXPECT_ERR(ERANGE, store(self, 16, 8));
	EXPECT_EQ(0, on_stack[0]);
	EXPECT_EQ(0, on_stack[3]);
}

TEST_F(pin, a_message_crosses_pages)
{
	static char data[3 * PAGE];
	int n;

	memset(data, 0x3c, sizeof(data));
	/* Allocated in descending order, they are hardly adjacent. */
	for (n = 3; n >= 0; n--)
		self->at[n * PAGE] = 0;
	ASSERT_OK(share(self, self->at + 4, MEM_LEN - 4));
	ASSERT_EQ(1, mem_put(&self->im, &self->i, data, 1, sizeof(data), 0));
	EXPECT_EQ(0, memcmp(self->at + 5, data, sizeof(data)));
	EXPECT_EQ(0, self->at[4]);
	EXPECT_EQ(0, self->at[5 + sizeof(data)]);
}

TEST_F(pin, shared_memory_can_be_pinned)
{
	char *shared = shared_memory(PAGE);

	ASSERT_OK(share(self, shared, PAGE));
	ASSERT_EQ(1, store(self, 0, 9));
	EXPECT_EQ(9, *(__u64 *)shared);
}

#define HUGE	(2ul << 20)

/* Pages of hugetlbfs, which the kernel has if it is given some. */
TEST_F(pin, pages_of_hugetlb_are_reached_after_their_unmapping)
{
	struct dd_direct d = { .size = sizeof(d) };
	char *at, *window;
	FILE *f;

	f = fopen("/proc/sys/vm/nr_hugepages", "w");
	if (!f)
		DD_SKIP("no huge pages in this kernel");
	fprintf(f, "4");
	fclose(f);
	at = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (at == MAP_FAILED)
		DD_SKIP("no huge page is free");
	ASSERT_OK(share(self, at, HUGE));
	ASSERT_EQ(1, store(self, HUGE / 2 - 4, 0x0102030405060708));
	EXPECT_EQ(0, memcmp(at + HUGE / 2 - 4, &(__u64){ 0x0102030405060708 }, 8));
	d.conn = self->i.import;
	ASSERT_OK(raw_ioctl(&self->im, DD_IOC_DIRECT, &d));
	window = raw_map(&self->im, d.block, d.block_size, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, window);
	window[HUGE - 1] = 'x';
	EXPECT_EQ('x', at[HUGE - 1]);
	ASSERT_EQ(0, munmap(at, HUGE));
	EXPECT_EQ(0x0102030405060708, load(self, HUGE / 2 - 4));
	EXPECT_EQ('x', window[HUGE - 1]);
}

/* KiB of transparent huge pages of this process. */
static long huge_pages(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[128];
	long n = -1;

	while (f && fgets(line, sizeof(line), f) &&
	       sscanf(line, "AnonHugePages: %ld", &n) != 1)
		;
	if (f)
		fclose(f);
	return n;
}

/* Memory that begins with a huge page; NULL if there is none. */
static char *huge_page(size_t len)
{
	char *at = mmap(NULL, len + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	long before = huge_pages();
	size_t i;

	if (at == MAP_FAILED)
		return NULL;
	at = (char *)(((uintptr_t)at + HUGE - 1) & -HUGE);
	if (madvise(at, len, MADV_HUGEPAGE))
		return NULL;
	for (i = 0; i < len; i += HUGE)
		at[i] = 1;
	return huge_pages() < before + (long)(len >> 10) ? NULL : at;
}

TEST_F(pin, a_huge_page_is_pinned_and_partly_unmapped)
{
	char *at = huge_page(HUGE);

	if (!at)
		DD_SKIP("no huge page is free");
	ASSERT_OK(share(self, at, HUGE));
	at[PAGE] = 2;
	ASSERT_EQ(0, munmap(at + PAGE, PAGE));
	EXPECT_EQ(2, load(self, PAGE));
	ASSERT_EQ(1, store(self, 2 * PAGE, 3));
	EXPECT_EQ(3, at[2 * PAGE]);
	ASSERT_EQ(1, store(self, PAGE, 4));
	EXPECT_EQ(4, load(self, PAGE));
}

TEST_F(pin, other_memory_is_refused)
{
	FILE *f = tmpfile();
	struct dd_region_pin p;
	struct mem m;
	char *at;

	EXPECT_ERR(EINVAL, pin(&self->ex, self->at, 0, &p));
	EXPECT_ERR(EFAULT, pin(&self->ex, NULL, PAGE, &p));
	EXPECT_ERR(EFAULT, pin(&self->ex, self->at, -1ul, &p));
	EXPECT_ERR(EFAULT, pin(&self->ex, (void *)-PAGE, PAGE, &p));
	/* Partly unmapped, and read-only. */
	ASSERT_EQ(0, munmap(self->at + 3 * PAGE, PAGE));
	EXPECT_ERR(EFAULT, pin(&self->ex, self->at, MEM_LEN, &p));
	ASSERT_EQ(0, mprotect(self->at + 2 * PAGE, PAGE, PROT_READ));
	EXPECT_ERR(EFAULT, pin(&self->ex, self->at + 2 * PAGE, PAGE, &p));
	/* Memory of the device: its regions, and the area. */
	ASSERT_OK(raw_alloc(&self->ex, PAGE, &m));
	EXPECT_ERR(EOPNOTSUPP, pin(&self->ex, m.at, PAGE, &p));
	ASSERT_OK(raw_free(&self->ex, &m));
	EXPECT_ERR(EFAULT, pin(&self->ex, self->ex.area, PAGE, &p));
	/* A file's pages, unless the file is in memory. */
	ASSERT_NE(NULL, f);
	ASSERT_EQ(0, ftruncate(fileno(f), PAGE));
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	ASSERT_NE(MAP_FAILED, at);
	if (pin(&self->ex, at, PAGE, &p) == 0) {
		ASSERT_OK(raw_op(&self->ex, DD_IOC_REGION_FREE, p.region));
	} else {
		EXPECT_TRUE(errno == EOPNOTSUPP || errno == EFAULT);
	}
	fclose(f);
	/* Nothing stays pinned or charged. */
	ASSERT_SOON(memlock_used(&self->ex) == self->used);
}

TEST_F(pin, it_is_charged_until_it_ends)
{
	struct dd_region_pin p;
	int n;

	ASSERT_OK(pin(&self->ex, self->at, MEM_LEN, &p));
	EXPECT_LE(self->used + (long long)MEM_LEN, memlock_used(&self->ex));
	/* Twice the same memory is charged twice. */
	ASSERT_OK(pin(&self->ex, self->at, MEM_LEN, &p));
	EXPECT_LE(self->used + 2 * (long long)MEM_LEN, memlock_used(&self->ex));
	raw_close(&self->ex);
	ASSERT_OK(raw_open(&self->ex));
	ASSERT_SOON(memlock_used(&self->ex) <= self->used);
	/* A segment keeps the pages; its end frees them. */
	for (n = 0; n < 20; n++) {
		ASSERT_OK(share(self, self->at, MEM_LEN));
		EXPECT_LE(self->used + (long long)MEM_LEN, memlock_used(&self->ex));
		ASSERT_OK(mem_end(&self->ex, self->s.segment));
		EXPECT_GE(self->used + (long long)MEM_LEN, memlock_used(&self->ex));
		ASSERT_OK(mem_end(&self->im, self->i.import));
	}
}

/* A context whose user can lock @bytes. */
static void limited(struct raw *r, rlim_t bytes)
{
	const struct rlimit few = { bytes, bytes };

	CHILD_CHECK(setrlimit(RLIMIT_MEMLOCK, &few) == 0);
	CHILD_CHECK(become_user(BOB) == 0);
	CHILD_CHECK(raw_open(r) == 0);
}

TEST_F(pin, the_limit_of_locked_memory_counts)
{
	struct dd_region_pin p;
	struct raw r;
	int n;

	IN_CHILD {
		limited(&r, 5 * PAGE);
		CHILD_ERR(EDQUOT, pin(&r, self->at, MEM_LEN, &p));
		/* What has been unpinned does not count any more. */
		for (n = 0; n < 200; n++) {
			CHILD_CHECK(pin(&r, self->at, 3 * PAGE, &p) == 0);
			CHILD_CHECK(raw_op(&r, DD_IOC_REGION_FREE, p.region) == 0);
		}
	}
}

TEST_F(pin, the_device_neither_maps_it_nor_serves_in_it)
{
	struct dd_region_pin p;
	struct dd_serve s;
	struct mem m;

	ASSERT_OK(pin(&self->ex, self->at, 2 * PAGE, &p));
	m = (struct mem){ .id = p.region, .len = 2 * PAGE };
	raw_serve_args(&s, "abi_pin", 1, &m);
	EXPECT_ERR(EOPNOTSUPP, raw_serve(&self->ex, &s));
	EXPECT_EQ(MAP_FAILED, raw_map(&self->ex, p.offset + DD_AREA_SIZE, 2 * PAGE,
				      PROT_READ | PROT_WRITE));
}

TEST_F(pin, it_outlives_its_mapping)
{
	char *before = self->at;

	*(__u64 *)before = 1;
	ASSERT_OK(share(self, before, MEM_LEN));
	/* The process gets a new page, and the region keeps the old one. */
	ASSERT_EQ(0, madvise(before, PAGE, MADV_DONTNEED));
	EXPECT_EQ(0, *(__u64 *)before);
	EXPECT_EQ(1, load(self, 0));
	*(__u64 *)(before + PAGE) = 2;
	before = mremap(self->at, MEM_LEN, MEM_LEN, MREMAP_MAYMOVE | MREMAP_FIXED,
			mmap(NULL, MEM_LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	ASSERT_NE(MAP_FAILED, before);
	ASSERT_EQ(1, store(self, PAGE, 3));
	EXPECT_EQ(3, *(__u64 *)(before + PAGE));
	ASSERT_EQ(0, munmap(before, MEM_LEN));
	ASSERT_EQ(1, store(self, 2 * PAGE, 4));
	EXPECT_EQ(4, load(self, 2 * PAGE));
}

TEST_F(pin, a_child_gets_a_copy)
{
	*(__u64 *)self->at = 1;
	ASSERT_OK(share(self, self->at, MEM_LEN));
	IN_CHILD {
		CHILD_CHECK(*(__u64 *)self->at == 1);
		*(__u64 *)self->at = 99;
		/* The import and the region belong to the parent. */
		CHILD_ERR(ESTALE, raw_op(&self->im, DD_IOC_DOORBELL, self->i.import));
	}
	/* The parent still has the page that is pinned. */
	ASSERT_EQ(1, store(self, 0, 2));
	EXPECT_EQ(2, *(__u64 *)self->at);
	*(__u64 *)self->at = 3;
	EXPECT_EQ(3, load(self, 0));
}

TEST_F(pin, it_can_be_source_and_destination)
{
	struct dd_region_pin p;
	static __u64 local[4];
	struct dd_sqe sqe = {
		.flags = DD_SQE_REGION, .len = 8, .dst = 16,
	};

	ASSERT_OK(share(self, self->at, MEM_LEN));
	ASSERT_OK(pin(&self->im, local, sizeof(local), &p));
	local[1] = 0x77;
	sqe.region = p.region;
	sqe.opcode = DD_OP_PUT;
	sqe.src = p.offset + 8;
	ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
	EXPECT_EQ(0x77, *(__u64 *)(self->at + 16));
	sqe.opcode = DD_OP_GET;
	sqe.src = p.offset + 24;
	ASSERT_EQ(1, mem_op(&self->im, &self->i, &sqe));
	EXPECT_EQ(0x77, local[3]);
}

/* ---- an address means what is mapped there now ----------------------------- */

static int check(const struct raw *r, __u32 region, const void *at, size_t len)
{
	struct dd_region_check c = { .size = sizeof(c), .region = region,
				     .address = (uintptr_t)at, .length = len };

	return raw_ioctl(r, DD_IOC_REGION_CHECK, &c);
}

static int map_over(void *at, size_t len)
{
	return mmap(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		    -1, 0) == at ? 0 : -1;
}

TEST_F(pin, an_address_is_compared_with_what_is_mapped)
{
	struct dd_region_pin p;
	struct mem m;
	char *moved;

	ASSERT_OK(pin(&self->ex, self->at + 8, MEM_LEN - 8, &p));
	ASSERT_OK(check(&self->ex, p.region, self->at, MEM_LEN));
	EXPECT_ERR(EFAULT, check(&self->ex, p.region, self->at + 1, MEM_LEN));
	EXPECT_ERR(EFAULT, check(&self->ex, p.region, self->at - 1, 2));
	EXPECT_ERR(EINVAL, check(&self->ex, p.region, self->at, 0));
	EXPECT_ERR(ENOENT, check(&self->im, p.region, self->at, 1));
	EXPECT_ERR(EFAULT, check(&self->ex, p.region, self->at, -1ul));
	/* The same pages, after fork() and with other protection. */
	IN_CHILD {
		self->at[0] = 1;
	}
	ASSERT_OK(check(&self->ex, p.region, self->at, MEM_LEN));
	ASSERT_EQ(0, mprotect(self->at, MEM_LEN, PROT_READ));
	ASSERT_OK(check(&self->ex, p.region, self->at, MEM_LEN));
	ASSERT_EQ(0, mprotect(self->at, MEM_LEN, PROT_READ | PROT_WRITE));
	self->at[0] = 2;
	ASSERT_OK(check(&self->ex, p.region, self->at, MEM_LEN));
	/* One page is another one now. */
	ASSERT_EQ(0, madvise(self->at + PAGE, PAGE, MADV_DONTNEED));
	self->at[PAGE] = 3;
	EXPECT_ERR(EFAULT, check(&self->ex, p.region, self->at, MEM_LEN));
	EXPECT_ERR(EFAULT, check(&self->ex, p.region, self->at + PAGE, 1));
	ASSERT_OK(check(&self->ex, p.region, self->at, PAGE));
	ASSERT_OK(check(&self->ex, p.region, self->at + 2 * PAGE, 2 * PAGE));
	moved = mremap(self->at + 3 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		       mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	ASSERT_NE(MAP_FAILED, moved);
	EXPECT_ERR(EFAULT, check(&self->ex, p.region, self->at + 3 * PAGE, 1));
	EXPECT_ERR(EFAULT, check(&self->ex, p.region, moved, 1));
	ASSERT_OK(map_over(self->at, MEM_LEN));
	EXPECT_ERR(EFAULT, check(&self->ex, p.region, self->at, 1));
	/* Memory of the device, where it is mapped. */
	ASSERT_OK(raw_alloc(&self->ex, 2 * PAGE, &m));
	ASSERT_OK(check(&self->ex, m.id, m.at, 2 * PAGE));
	EXPECT_ERR(EFAULT, check(&self->ex, m.id, m.at, 2 * PAGE + 1));
	ASSERT_EQ(0, munmap(m.at, 2 * PAGE));
	EXPECT_ERR(EFAULT, check(&self->ex, m.id, m.at, 1));
}

/* A request by address, with region @id as the hint. */
static int by_address(FIXTURE_DATA(pin) *self, __u8 opcode, __u32 id, const void *at, __u64 len)
{
	const struct dd_sqe sqe = {
		.opcode = opcode, .flags = DD_SQE_UNWIRED | DD_SQE_REGION, .region = id,
		.src = (uintptr_t)at, .len = len, .dst = opcode == DD_OP_NOTE ? 0 : 16,
		.meta_count = opcode == DD_OP_CAS ? DD_META_WORDS : 0,
	};

	return mem_op(&self->im, &self->i, &sqe);
}

TEST_F(pin, a_request_by_address_uses_what_is_mapped_there)
{
	static char local[4 * PAGE] __attribute__((aligned(PAGE)));
	static const __u64 lens[] = { 8, 80, PAGE };
	struct dd_region_pin p;
	struct mem m;
	size_t i;

	ASSERT_OK(share(self, self->at, MEM_LEN));
	ASSERT_OK(pin(&self->im, local, sizeof(local), &p));
	for (i = 0; i < 2 * sizeof(lens) / sizeof(lens[0]); i++) {
		__u64 len = lens[i / 2];

		/* Every second time it is other memory than that which was pinned. */
		if (i % 2) {
			ASSERT_OK(map_over(local, sizeof(local)));
		}
		memset(local, 'a' + i, sizeof(local));
		ASSERT_EQ(1, by_address(self, DD_OP_PUT, p.region, local + 8, len));
		EXPECT_EQ(0, memcmp(self->at + 16, local + 8, len));
		memset(self->at, 'A' + i, MEM_LEN);
		ASSERT_EQ(1, by_address(self, DD_OP_GET, p.region, local + PAGE - 8, len));
		EXPECT_EQ(0, memcmp(self->at, local + PAGE - 8, len));
		EXPECT_EQ('a' + i, local[PAGE - 9]);
		memset(self->at, 0, MEM_LEN);
		ASSERT_EQ(1, by_address(self, DD_OP_CAS, p.region, local + 16, 8));
		EXPECT_EQ(0, *(__u64 *)(local + 16));
		if (i % 2) {
			ASSERT_OK(raw_op(&self->im, DD_IOC_REGION_FREE, p.region));
			ASSERT_OK(pin(&self->im, local, sizeof(local), &p));
		}
	}
	/* No such region, or one of other memory: by the address alone. */
	memset(local, 'x', 8);
	ASSERT_EQ(1, by_address(self, DD_OP_PUT, DD_ID_MAX, local, 8));
	EXPECT_EQ('x', self->at[16]);
	ASSERT_OK(raw_alloc(&self->im, PAGE, &m));
	memset(local, 'y', 8);
	ASSERT_EQ(1, by_address(self, DD_OP_PUT, m.id, local, 8));
	EXPECT_EQ('y', self->at[16]);
	memset(m.at, 'z', PAGE);
	ASSERT_EQ(1, by_address(self, DD_OP_PUT, m.id, m.at, PAGE));
	EXPECT_EQ('z', self->at[16]);
	ASSERT_OK(map_over(m.at, PAGE));
	memset(m.at, 'Z', PAGE);
	ASSERT_EQ(1, by_address(self, DD_OP_PUT, m.id, m.at, PAGE));
	EXPECT_EQ('Z', self->at[16]);
	/* Neither readable nor writable. */
	ASSERT_EQ(0, mprotect(local, PAGE, PROT_READ));
	EXPECT_ERR(EFAULT, by_address(self, DD_OP_GET, p.region, local, 8));
	ASSERT_EQ(0, munmap(local + PAGE, PAGE));
	EXPECT_ERR(EFAULT, by_address(self, DD_OP_PUT, p.region, local + PAGE, 8));
}

/* ---- what a pin keeps is charged ------------------------------------------- */

TEST_F(pin, a_huge_page_is_charged_whole_and_once)
{
	char *at = huge_page(2 * HUGE);
	struct dd_region_pin p[3];
	long long used;

	if (!at)
		DD_SKIP("no huge page is free");
	used = memlock_used(&self->ex);
	ASSERT_OK(pin(&self->ex, at + PAGE, 1, &p[0]));
	EXPECT_LE(used + (long long)HUGE, memlock_used(&self->ex));
	ASSERT_OK(pin(&self->ex, at + 9 * PAGE, 16 * PAGE, &p[1]));
	EXPECT_GT(used + (long long)HUGE + 9 * PAGE, memlock_used(&self->ex));
	/* Half of each. */
	ASSERT_OK(pin(&self->ex, at + HUGE / 2, HUGE, &p[2]));
	EXPECT_LE(used + 2 * (long long)HUGE, memlock_used(&self->ex));
	/* The mapping does not count: the pages are kept. */
	ASSERT_EQ(0, munmap(at, 2 * HUGE));
	EXPECT_LE(used + 2 * (long long)HUGE, memlock_used(&self->ex));
	ASSERT_OK(raw_op(&self->ex, DD_IOC_REGION_FREE, p[2].region));
	EXPECT_GT(used + 2 * (long long)HUGE, memlock_used(&self->ex));
	EXPECT_LE(used + (long long)HUGE, memlock_used(&self->ex));
	ASSERT_OK(raw_op(&self->ex, DD_IOC_REGION_FREE, p[0].region));
	EXPECT_LE(used + (long long)HUGE, memlock_used(&self->ex));
	ASSERT_OK(raw_op(&self->ex, DD_IOC_REGION_FREE, p[1].region));
	EXPECT_EQ(used, memlock_used(&self->ex));
}

TEST_F(pin, the_limit_counts_huge_pages_whole)
{
	struct dd_region_pin p;
	long long used;
	struct raw r;
	char *at;

	if (!huge_page(HUGE))
		DD_SKIP("no huge page is free");
	IN_CHILD {
		at = huge_page(4 * HUGE);
		CHILD_CHECK(at);
		limited(&r, 2 * HUGE + HUGE / 2);
		used = memlock_used(&r);
		CHILD_CHECK(pin(&r, at, 2 * HUGE, &p) == 0);
		CHILD_ERR(EDQUOT, pin(&r, at + 2 * HUGE, 1, &p));
		CHILD_ERR(EDQUOT, pin(&r, at + 2 * HUGE - PAGE, 2 * PAGE, &p));
		CHILD_CHECK(memlock_used(&r) <= used + 2 * (long long)HUGE + 2 * PAGE);
	}
}

DD_TEST_MAIN
