// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a user makes the kernel allocate counts against RLIMIT_MEMLOCK and belongs
 * to the memory cgroup of the process that owns it.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "dd_harness.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include "mem.h"

#define KIB		1024ll
#define MIB		(1024ll << 10)
#define GROUPS		"/sys/fs/cgroup"
/* Page tables, slabs, stacks and files of the processes themselves. */
#define SLACK		(2 * MIB)

static const char *path_of(const char *group, const char *file)
{
	static char path[128];

	snprintf(path, sizeof(path), GROUPS "/%s/%s", group, file);
	return path;
}

static long long in_use(const char *group)
{
	FILE *f = fopen(path_of(group, "memory.current"), "r");
	long long v = -1;

	if (f && fscanf(f, "%lld", &v) != 1)
		v = -1;
	if (f)
		fclose(f);
	return v;
}

static int group_write(const char *name, const char *file, long long v)
{
	FILE *f = fopen(path_of(name, file), "w");

	if (!f)
		return -1;
	fprintf(f, "%lld", v);
	return fclose(f);
}

static bool group_remove(const char *name)
{
	return !rmdir(path_of(name, ""));
}

static void limit(long long bytes, long long most)
{
	const struct rlimit l = { bytes, most };

	CHILD_CHECK(setrlimit(RLIMIT_MEMLOCK, &l) == 0);
}

/* A user of this test alone: others' charges would be counted. */
static uid_t own_user(int n)
{
	return 30000 + (getpid() % 10000) * 4 + n;
}

/* The calling process, in a group, as an ordinary user with a limit, and its context. */
static void be_user(const char *group, int n, long long bytes, struct raw *r)
{
	CHILD_CHECK(group_write(group, "cgroup.procs", getpid()) == 0);
	limit(bytes, bytes);
	CHILD_CHECK(become_user(own_user(n)) == 0);
	CHILD_CHECK(raw_open(r) == 0);
}

FIXTURE(limits) {
	char a[32], b[32];
};

FIXTURE_SETUP(limits)
{
	if (access(GROUPS "/cgroup.subtree_control", W_OK))
		DD_SKIP("no cgroup v2 here");
	snprintf(self->a, sizeof(self->a), "dd_limits_a.%d", getpid());
	snprintf(self->b, sizeof(self->b), "dd_limits_b.%d", getpid());
	ASSERT_EQ(0, mkdir(path_of(self->a, ""), 0755));
	ASSERT_EQ(0, mkdir(path_of(self->b, ""), 0755));
}

FIXTURE_TEARDOWN(limits)
{
	EXPECT_TRUE(WAIT_FOR(group_remove(self->a)));
	EXPECT_TRUE(WAIT_FOR(group_remove(self->b)));
}

static char *private_memory(size_t len)
{
	char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHILD_CHECK(at != MAP_FAILED);
	return at;
}

/* The group keeps the pages of a pin after munmap(). */
TEST_F(limits, a_region_and_a_pin_are_charged)
{
	struct dd_region_pin p = { .size = sizeof(p), .length = 16 * MIB };
	long long before;
	struct raw r;
	struct mem m;

	IN_CHILD {
		be_user(self->a, 0, 64 * MIB, &r);
		before = in_use(self->a);
		CHILD_CHECK(raw_alloc(&r, 16 * MIB, &m) == 0);
		CHILD_CHECK(in_use(self->a) - before >= 15 * MIB);
		CHILD_CHECK(raw_free(&r, &m) == 0);
		CHILD_CHECK(WAIT_FOR(in_use(self->a) - before < MIB));
		p.address = (uintptr_t)private_memory(p.length);
		CHILD_CHECK(raw_ioctl(&r, DD_IOC_REGION_PIN, &p) == 0);
		CHILD_CHECK(munmap((void *)p.address, p.length) == 0);
		CHILD_CHECK(in_use(self->a) - before >= 15 * MIB);
		CHILD_CHECK(raw_op(&r, DD_IOC_REGION_FREE, p.region) == 0);
		CHILD_CHECK(WAIT_FOR(in_use(self->a) - before < 8 * MIB));
	}
}

/*
 * More memory than the group may have: the call fails, where the OOM killer would kill this
 * process. As much as fits can be had afterwards.
 */
TEST_F(limits, no_oom_killer)
{
	struct dd_region_alloc big = { .size = sizeof(big), .length = 64 * MIB };
	struct dd_region_alloc fits = { .size = sizeof(fits), .length = 16 * MIB };
	struct dd_region_alloc tracked = { .size = sizeof(tracked), .length = 64 * MIB,
					   .flags = DD_REGION_TRACK };
	struct dd_region_pin pin = { .size = sizeof(pin), .length = 64 * MIB };
	struct dd_serve s;
	struct raw r;
	char *at;

	ASSERT_OK(group_write(self->a, "memory.max", 32 * MIB));
	IN_CHILD {
		be_user(self->a, 0, 256 * MIB, &r);
		CHILD_ERR(ENOMEM, raw_ioctl(&r, DD_IOC_REGION_ALLOC, &big));
		CHILD_ERR(ENOMEM, raw_ioctl(&r, DD_IOC_REGION_ALLOC, &tracked));
		CHILD_CHECK(raw_ioctl(&r, DD_IOC_REGION_ALLOC, &fits) == 0);
	}
	IN_CHILD {
		be_user(self->a, 0, 256 * MIB, &r);
		at = private_memory(pin.length);
		pin.address = (uintptr_t)at;
		CHILD_ERR(ENOMEM, raw_ioctl(&r, DD_IOC_REGION_PIN, &pin));
		CHILD_CHECK(munmap(at + 16 * MIB, 48 * MIB) == 0);
		pin.length = 16 * MIB;
		CHILD_CHECK(raw_ioctl(&r, DD_IOC_REGION_PIN, &pin) == 0);
	}
	/* The area: states for more connections than the group has memory for. */
	ASSERT_OK(group_write(self->a, "memory.max", 16 * MIB));
	IN_CHILD {
		be_user(self->a, 0, 256 * MIB, &r);
		CHILD_ERR(ENOMEM, raw_serve_unmapped(&r, "oom", 65536, 8, 0, &s));
	}
}

TEST_F(limits, imports_are_charged)
{
	enum { IMPORTS = 8000 };
	struct dd_segment_make s;
	struct dd_import_make i;
	long long before, with;
	struct raw r;
	struct mem m;
	int k;

	IN_CHILD {
		be_user(self->a, 0, 64 * MIB, &r);
		CHILD_CHECK(raw_alloc(&r, PAGE, &m) == 0);
		s = mem_segment(&m, self->a);
		s.importers = IMPORTS;
		CHILD_CHECK(mem_export(&r, &s) == 0);
		before = in_use(self->a);
		for (k = 0; k < IMPORTS; k++)
			CHILD_CHECK(mem_import(&r, &s, DD_RIGHT_GET, &i) == 0);
		with = in_use(self->a);
		/* A structure, and a connection state of two units. */
		CHILD_CHECK(with - before >= IMPORTS * (512ll + 2 * DD_UNIT));
		raw_close(&r);
		CHILD_CHECK(WAIT_FOR(in_use(self->a) < with - IMPORTS * 512ll));
	}
}

TEST_F(limits, an_unused_service_costs_what_is_charged)
{
	struct dd_serve s;
	long long before;
	struct raw r;

	IN_CHILD {
		be_user(self->a, 0, 64 * MIB, &r);
		/* 8 KiB of region and a slot for each message that clients might send. */
		before = in_use(self->a);
		CHILD_CHECK(raw_serve_unmapped(&r, "slots", 1000, 8, 0, &s) == 0);
		CHILD_CHECK(in_use(self->a) - before < 1 * MIB);
		/* 512 KiB of region and credits that no connection uses. */
		before = in_use(self->a);
		CHILD_CHECK(raw_serve_unmapped(&r, "credits", 65536, 8, DD_SERVE_ACCEPT, &s) == 0);
		CHILD_CHECK(in_use(self->a) - before < memlock_used(&r) + SLACK);
	}
}

/* Lists of connections, without end: each has its own, in the area. */
TEST_F(limits, area_counts_against_memlock)
{
	struct dd_connect c;
	long long before;
	struct dd_serve s;
	struct raw r, srv;
	int made = 0;

	IN_CHILD {
		be_user(self->a, 0, 8 * MIB, &r);
		CHILD_CHECK(raw_open(&srv) == 0);
		CHILD_CHECK(raw_serve_unmapped(&srv, "area", 512, 8, 0, &s) == 0);
		before = in_use(self->a);
		while (!raw_join_receiver(&r, "area", DD_WINDOW_MAX, DD_CONNECT_ANON, &c)) {
			CHILD_CHECK(memlock_used(&r) <= 8 * MIB);
			CHILD_CHECK(++made < 500);
		}
		/* The user's limit, reached by the client or by the server. */
		CHILD_CHECK(errno == EDQUOT || errno == ENOBUFS);
		CHILD_CHECK(made > 10);
		CHILD_CHECK(in_use(self->a) - before < 8 * MIB + SLACK);
	}
}

#define REFUSED	16384	/* connections of the service that is refused */

/*
 * The limit is raised by a page at a time, so each page of the states and of the area's map is
 * refused once. Each time all memory is given back.
 */
TEST_F(limits, a_service_that_is_refused_at_any_page)
{
	long long base, full, states, at;
	struct raw r, watch;
	struct dd_serve s;

	IN_CHILD {
		be_user(self->a, 0, 64 * MIB, &watch);
		base = memlock_used(&watch);
		CHILD_CHECK(raw_open(&r) == 0);
		CHILD_CHECK(raw_serve_unmapped(&r, "refused", REFUSED, 8, 0, &s) == 0);
		full = memlock_used(&watch);
		states = (long long)s.state_units * REFUSED * DD_UNIT;
		fprintf(stderr, "# of %lld bytes, cells take %lld\n", full, states);
		raw_close(&r);
		/* The region is there, and not all states are. */
		for (at = base + 8 * REFUSED + 32 * (long long)PAGE;
		     at < full - states + 1 * MIB; at += PAGE) {
			CHILD_CHECK(WAIT_FOR(memlock_used(&watch) <= base));
			limit(at, 64 * MIB);
			CHILD_CHECK(raw_open(&r) == 0);
			CHILD_CHECK(raw_serve_unmapped(&r, "refused", REFUSED, 8, 0,
					      &s) == -1 && errno == EDQUOT);
			raw_close(&r);
		}
	}
}

/* One byte in a pipe keeps a row of pages, which stay charged. */
TEST_F(limits, pages_in_a_pipe_stay_charged)
{
	long long before, with;
	struct iovec iov;
	struct mem m, m2;
	struct raw r;
	int p[2], i;

	IN_CHILD {
		be_user(self->a, 0, 4 * MIB, &r);
		before = memlock_used(&r);
		CHILD_CHECK(pipe(p) == 0);
		for (i = 0; i < 8; i++) {
			CHILD_CHECK(raw_alloc(&r, 256 * KIB, &m) == 0);
			iov = (struct iovec){ m.at + 17 * PAGE, 1 };
			m.at[17 * PAGE] = 'a' + i;
			CHILD_CHECK(vmsplice(p[1], &iov, 1, 0) == 1);
			CHILD_CHECK(raw_free(&r, &m) == 0);
		}
		/* A region without such a byte is given back, as ever. */
		CHILD_CHECK(raw_alloc(&r, 256 * KIB, &m) == 0);
		with = memlock_used(&r);
		CHILD_CHECK(raw_free(&r, &m) == 0);
		CHILD_CHECK(WAIT_FOR(memlock_used(&r) <= with - 256 * KIB));
		/* Each byte keeps one row of pages of the kernel's choice. */
		CHILD_CHECK(memlock_used(&r) - before >= 8 * (long long)PAGE);
		CHILD_CHECK(in_use(self->a) < memlock_used(&r) + SLACK);
		CHILD_ERR(EDQUOT, raw_alloc(&r, 4 * MIB - 8 * PAGE, &m2));
		close(p[0]);
		close(p[1]);
		CHILD_CHECK(WAIT_FOR(memlock_used(&r) <= before));
	}
}

/* A server for 512 clients, in a group and below a limit; it has started. */
static pid_t start_server(const char *group, long long bytes, const char *name)
{
	int ready;
	pid_t pid = fork_until_report(&ready);
	struct dd_serve s;
	struct raw r;

	if (!pid) {
		be_user(group, 0, bytes, &r);
		CHILD_CHECK(raw_serve_unmapped(&r, name, 512, PAGE,
				      DD_SERVE_ACCEPT | DD_SERVE_DIRECT_ANY,
				      &s) == 0);
		child_report_and_stay(ready);
	}
	return pid;
}

/* A server without the means to accept: the client learns whose limit it is. */
TEST_F(limits, a_server_over_its_limit)
{
	pid_t server;
	int made = 0;
	struct dd_connect c;
	struct raw r;

	server = start_server(self->a, 4 * MIB, "poor");
	ASSERT_LT(0, server);
	IN_CHILD {
		be_user(self->b, 1, 64 * MIB, &r);
		while (made < 512 && !raw_join_receiver(&r, "poor", 1, 0, &c))
			made++;
		CHILD_CHECK(errno == ENOBUFS);
		CHILD_CHECK(made > 0 && made < 100);
	}
	kill_child(server);
}

/* What a client makes its server need is of the server's cgroup, and so are direct rings. */
TEST_F(limits, the_owners_cgroup_is_charged)
{
	enum { CONNS = 100, RINGS = 8 };
	struct dd_connect c[CONNS];
	long long before, mine;
	struct raw r;
	struct way w;
	pid_t server;
	int i;

	server = start_server(self->a, 64 * MIB, "owner");
	ASSERT_LT(0, server);
	IN_CHILD {
		be_user(self->b, 1, 64 * MIB, &r);
		before = in_use(self->a);
		/* Lists of 512 slots. */
		for (i = 0; i < CONNS; i++)
			CHILD_CHECK(raw_join_receiver(&r, "owner", 1, 0, &c[i]) == 0);
		CHILD_CHECK(in_use(self->a) - before > 5 * MIB);
		CHILD_CHECK(in_use(self->b) < 5 * MIB);
		before = in_use(self->a);
		mine = in_use(self->b);
		/* 36 KiB each: 512 slots of 64 bytes, and a page. */
		for (i = 0; i < RINGS; i++)
			CHILD_CHECK(way_open(&r, c[i].conn, &w) == 0);
		CHILD_CHECK(in_use(self->a) - before >= RINGS * 32 * KIB - 64 * KIB);
		CHILD_CHECK(in_use(self->b) - mine < RINGS * 32 * KIB);
	}
	kill_child(server);
}

DD_TEST_MAIN
