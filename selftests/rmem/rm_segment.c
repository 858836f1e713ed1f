// SPDX-License-Identifier: LGPL-2.1-only
/*
 * rm_segment.c - segments of remote memory and the operations on them
 *
 * Each test names the requirements that it shows. Run by clerks.sh, on one node or, with
 * the owner of the segments at the other one, on two.
 *
 * Copyright (C) 2026 The dd authors
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "asleep.h"
#include "segment.h"

rm_seg_t seg, own;
rm_desc_t rd;
char *local;
struct rm_note note;

void begin(int rights, int policy)
{
	owner_start();
	local = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(local != MAP_FAILED);
	seg = owner_export("seg", 0, SHARED, rights, policy);
	check(seg >= 0);
	check_eq(rm_import("seg", owner_node(), rights & RM_ALL, &rd), 0);
	own = rm_export(NULL, local, SHARED, 0, RM_CONDITIONAL);
	check(own >= 0);
}

void end(void)
{
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_revoke(own), 0);
	munmap(local, SHARED);
	owner_end();
}

rm_desc_t begin_reverse(int policy)
{
	rm_desc_t d;

	begin(RM_ALL, RM_CONDITIONAL);
	check_eq(rm_revoke(own), 0);
	own = rm_export("own", local, SHARED, RM_ALL, policy);
	check(own >= 0);
	d = owner_import("own", far ? OWN_NODE : -1, RM_WRITE);
	check(d >= 0);
	return d;
}

int fenced(int ret)
{
	check_eq(ret, 0);
	return rm_fence(rd, -1);
}

TEST(RM_1_parts_of_memory)
{
	rm_desc_t low, high;
	rm_seg_t a;

	begin(RM_ALL, RM_NEVER);
	a = owner_export("low", 4, 64, RM_ALL, RM_NEVER);
	check(a >= 0 && owner_export("high", 36, 64, RM_ALL, RM_NEVER) >= 0);
	check_eq(rm_import("low", owner_node(), 0, &low), 0);
	check_eq(rm_import("high", owner_node(), 0, &high), 0);
	check_eq(rm_size(low), 64);
	check_eq(rm_write_block(low, 32, "overlaps", 8, 0), 0);
	check_eq(rm_fence(low, -1), 0);
	check(!memcmp(shared + 36, "overlaps", 8));
	check_eq(owner_revoke(a), 0);
	check_eq(rm_read(high, 0, 8, own, 0, 0), 0);
	check_eq(rm_fence(high, -1), 0);
	check(!memcmp(local, "overlaps", 8));
	check_eq(rm_unimport(low), 0);
	check_eq(rm_unimport(high), 0);
	end();
}

/* What "ddctl -j @what" prints, at this node or the owner's, matches the filter of jq. */
static bool shown(bool there, const char *what, const char *filter)
{
	char line[512];

	snprintf(line, sizeof(line), "ddctl -j %s | jq -e '%s' >/dev/null", what, filter);
	return !run_at(there ? THERE : HERE, line);
}

/* The kernel has the descriptor, programs have a number. */
TEST(RM_2_descriptors)
{
	char filter[256];

	begin(RM_READ | RM_WRITE, RM_ALWAYS);
	check_eq(rm_size(rd), SHARED);
	check(shown(true, "segment", "any(.key == \"seg\" and .length == 262144 and "
		    ".rights == \"put,get\" and .policy == \"always\" and .generation > 0)"));
	snprintf(filter, sizeof(filter), "any(.pid == %d and .peer_node == %d and "
		 ".length == 262144 and .rights == \"put,get\" and .generation > 0)",
		 getpid(), far ? 2 : OWN_NODE);
	check(shown(false, "import", filter));
	check_errno(rm_write(rd + 1, 0, 4, 0), EBADF);
	end();
}

/* Any user may export a segment under a free name. */
TEST(an_importer_may_demand_the_user_of_the_exporter)
{
	uid_t uid = -1;
	rm_desc_t d;

	begin(RM_ALL | RM_ANYBODY, RM_NEVER);
	check_eq(rm_owner(rd, &uid), 0);
	check_eq(uid, geteuid());
	check_errno(rm_owner(rd, NULL), EINVAL);
	check_errno(rm_owner(rd + 1, &uid), EBADF);
	check_eq(rm_import_owner("seg", owner_node(), RM_READ, geteuid(), &d), 0);
	check_eq(rm_unimport(d), 0);
	check_errno(rm_import_owner("seg", owner_node(), RM_READ, STRANGER_UID, &d), EPERM);
	end();
}

TEST(RM_3_rights_of_importers)
{
	rm_desc_t d, other;
	rm_seg_t s;

	begin(RM_READ, RM_NEVER);
	check_errno(rm_write(rd, 0, 4, 0), EACCES);
	check_errno(rm_cas(rd, 0, own, 0, 0, 1), EACCES);
	check_eq(import_size("seg", owner_node(), RM_WRITE), -EACCES);
	check_eq(import_size("seg", owner_node(), 0), -EACCES);

	s = owner_export("granted", 0, PAGE, RM_ALL | RM_GRANTED, RM_NEVER);
	check(s >= 0);
	check_eq(import_size("granted", owner_node(), RM_READ), -EACCES);
	check_eq(owner_grant(s, -1, geteuid() + 1, RM_ALL), 0);
	check_eq(import_size("granted", owner_node(), RM_READ), -EACCES);
	check_eq(owner_grant(s, OWN_NODE - 1, geteuid(), RM_ALL), 0);
	check_eq(import_size("granted", owner_node(), RM_READ), -EACCES);
	check_eq(owner_grant(s, OWN_NODE, geteuid(), RM_READ | RM_WRITE), 0);
	check_eq(import_size("granted", owner_node(), RM_CAS), -EACCES);
	check_eq(rm_import("granted", owner_node(), RM_READ | RM_WRITE, &d), 0);
	check_eq(rm_write(d, 0, 4, 0), 0);
	check_eq(rm_fence(d, -1), 0);
	check_eq(owner_grant(s, -1, STRANGER_UID, RM_WRITE), 0);
	owner_be(STRANGER);
	check_errno(owner_import("granted", owner_node(), RM_READ), EACCES);
	other = owner_import("granted", owner_node(), RM_WRITE);
	check(other >= 0);
	owner_be(THERE);
	check_eq(owner_grant(s, OWN_NODE, geteuid(), 0), 0);
	/* Another node processes that a little later. */
	while (!rm_write(d, 0, 4, 0) && !rm_fence(d, -1))
		;
	check_eq(errno, ESTALE);
	check_eq(import_size("granted", owner_node(), RM_WRITE), -EACCES);
	check_errno(owner_grant(s, OWN_NODE, geteuid(), 0), ENOENT);
	/* The other importer has its rights. */
	owner_be(STRANGER);
	check_eq(owner_write(other, 8, 77, 0), 0);
	check_eq(*(uint32_t *)(shared + 8), 77);
	check_eq(rm_unimport(d), 0);
	end();
}

TEST(RM_4_names_and_revocation)
{
	char name[65] = "";
	rm_seg_t s;

	begin(RM_ALL, RM_NEVER);
	check_errno(owner_export("seg", 0, PAGE, RM_ALL, RM_NEVER), EEXIST);
	check_eq(import_size("none", owner_node(), 0), -ENOENT);
	check_eq(import_size("", owner_node(), 0), -EINVAL);
	check_errno(rm_import("seg", owner_node(), 0, NULL), EINVAL);
	check_eq(import_size("seg", -2, 0), -EINVAL);
	check_eq(import_size("seg", owner_node(), 0x40), -EINVAL);
	/* A name has 63 bytes at most. */
	memset(name, 'n', 64);
	check_eq(import_size(name, owner_node(), 0), -ENAMETOOLONG);
	check_errno(owner_export(name, 0, PAGE, RM_ALL, RM_NEVER), ENAMETOOLONG);
	name[63] = 0;
	s = owner_export(name, 0, PAGE, RM_ALL, RM_NEVER);
	check(s >= 0);
	check_eq(import_size(name, owner_node(), 0), PAGE);
	name[62]++;
	check_eq(import_size(name, owner_node(), 0), -ENOENT);
	check_eq(owner_revoke(s), 0);
	check_errno(owner_revoke(s), EBADF);
	check_eq(owner_revoke(seg), 0);
	memset(shared, 0, PAGE);
	check_errno(rm_write(rd, 0, 4, 0), ESTALE);
	check_errno(rm_read(rd, 0, 4, own, 0, 0), ESTALE);
	check_eq(shared[0], 0);
	check_eq(import_size("seg", owner_node(), RM_LOOKUP), -ENOENT);
	end();
}

static void limit_owner(size_t bytes)
{
	const struct rlimit l = { .rlim_cur = bytes, .rlim_max = 8 << 20 };

	check_eq(prlimit(owner_pid(), RLIMIT_MEMLOCK, &l, NULL), 0);
}

/* Pinned pages count against a limit, for a user that has no privilege. */
TEST(RM_5_pinned_pages_count_until_they_are_unpinned)
{
	size_t space = 0;
	rm_seg_t a, b;

	begin(RM_ALL, RM_NEVER);
	owner_be(STRANGER);
	a = owner_export("a", 0, SHARED, RM_ALL, RM_NEVER);
	check(a >= 0);
	/* There is room for both, and then for half of one less. */
	do {
		space += PAGE;
		limit_owner(space);
		b = owner_export("b", 0, SHARED, RM_ALL, RM_NEVER);
	} while (b < 0 && space < SHARED * 64);
	check_eq(owner_revoke(b), 0);
	limit_owner(space - SHARED / 2);
	check_errno(owner_export("b", 0, SHARED, RM_ALL, RM_NEVER), EDQUOT);
	check_eq(owner_unpin(a), 0);
	b = owner_export("b", 0, SHARED, RM_ALL, RM_NEVER);
	check(b >= 0);
	check_errno(owner_pin(a), EDQUOT);
	check_eq(owner_revoke(b), 0);
	check_eq(owner_pin(a), 0);
	limit_owner(8 << 20);
	end();
}

/* Write to the segment when it is pinned again: 0 or an errno. */
static int pin_and_write(void)
{
	check_eq(owner_pin(seg), 0);
	/* The descriptor is of the segment before. */
	check_errno(rm_write(rd, 0, 4, 0), ESTALE);
	check_eq(rm_unimport(rd), 0);
	check_eq(rm_import("seg", owner_node(), 0, &rd), 0);
	rm_mr[0] = 55;
	return rm_write(rd, 0, 4, 0) || rm_fence(rd, -1) ? errno : 0;
}

/* Policy and inhibition are of the segment, not of its export. */
TEST(RM_5_RM_6_unpinned_segments_cannot_be_used)
{
	begin(RM_ALL, RM_CONDITIONAL);
	check_errno(owner_pin(seg), EALREADY);
	check_eq(owner_inhibit(seg, 1), 0);
	check_eq(owner_unpin(seg), 0);
	check_errno(owner_unpin(seg), EALREADY);
	check_errno(rm_write(rd, 0, 4, 0), ESTALE);
	check_errno(owner_policy(seg, 3), EINVAL);
	check_errno(owner_inhibit(seg, 2), EINVAL);
	check_errno(owner_grant(seg, -1, 1, RM_ALL), ESTALE);
	check_eq(owner_policy(seg, RM_ALWAYS), 0);
	check_eq(pin_and_write(), EACCES);
	/* Inhibited, or not, before rm_pin() shows the memory to importers. */
	check_eq(owner_unpin(seg), 0);
	check_eq(owner_inhibit(seg, 0), 0);
	check_eq(pin_and_write(), 0);
	check_eq(*(uint32_t *)shared, 55);
	check_eq(owner_note(seg, &note), 1);
	check_eq(owner_unpin(seg), 0);
	check_eq(owner_inhibit(seg, 1), 0);
	check_eq(pin_and_write(), EACCES);
	check_eq(fenced(rm_read(rd, 0, 4, own, 0, 0)), 0);
	end();
}

static volatile uint32_t polls;

/* Write until that is not refused any more. */
static void *poll_writes(void *unused)
{
	do {
		polls++;
	} while (rm_write_block(rd, 64, "polled", 7, 0) || rm_fence(rd, -1));
	return unused;
}

TEST(RM_6_writes_are_inhibited)
{
	pthread_t poller;

	begin(RM_ALL, RM_NEVER);
	strcpy(shared, "frozen");
	check_eq(owner_inhibit(seg, 1), 0);
	check_errno(owner_inhibit(seg, 2), EINVAL);
	/* On one node the call itself is refused, between nodes the fence reports it. */
	check(rm_write(rd, 0, 4, 0) == (far ? 0 : -1) && (far || errno == EACCES));
	check_eq(rm_fence(rd, -1), far ? -1 : 0);
	check(!far || errno == EACCES);
	check_eq(rm_fence(rd, -1), 0);
	check(rm_cas(rd, 0, own, 0, 0, 0) == (far ? 0 : -1));
	check_eq(rm_fence(rd, -1), far ? -1 : 0);
	check(!strcmp(shared, "frozen"));
	check_eq(fenced(rm_read(rd, 0, 7, own, 0, 0)), 0);
	check(!strcmp(local, "frozen"));
	check(shown(true, "segment", "any(.key == \"seg\" and .inhibit and .refused_inhibit == 2)"));
	/* The release lets importers go on that poll. */
	polls = 0;
	check_eq(pthread_create(&poller, NULL, poll_writes, NULL), 0);
	while (polls < 3)
		usleep(1000);
	check_eq(shared[64], 0);
	check_eq(owner_inhibit(seg, 0), 0);
	pthread_join(poller, NULL);
	check(!strcmp(shared + 64, "polled"));
	check_eq(fenced(rm_write_block(rd, 0, "thawed", 7, 0)), 0);
	check(!strcmp(shared, "thawed"));
	end();
}

TEST(RM_6_refusals_are_counted)
{
	struct rm_refused refused;
	rm_desc_t d = begin_reverse(RM_NEVER);

	check_eq(rm_inhibit(own, 1), 0);
	check_errno(owner_write(d, 0, 1, 0), EACCES);
	check_errno(owner_write(d, 4, 1, 0), EACCES);
	check_eq(rm_inhibit(own, 0), 0);
	check_eq(owner_write(d, 8, 1, 0), 0);
	check_eq(rm_refused(own, &refused), 0);
	check_eq(refused.inhibit, 2);
	check_eq(refused.rights + refused.bounds, 0);
	check_errno(rm_refused(own, NULL), EINVAL);
	check_errno(rm_refused(-1, &refused), EBADF);
	check_eq(rm_unpin(own), 0);
	check_errno(rm_refused(own, &refused), ESTALE);
	end();
}

static volatile pid_t waiter;
static volatile int waited;

static void *wait_for_name(void *d)
{
	waiter = gettid();
	waited = rm_import("later", owner_node(), 0 | RM_WAIT, d) ? errno : 0;
	return NULL;
}

static void nothing(int sig)
{
}

/* The thread looks for the name from time to time. */
static pthread_t begin_waiting(rm_desc_t *d)
{
	pthread_t thread;

	waiter = 0;
	waited = -1;
	check_eq(pthread_create(&thread, NULL, wait_for_name, d), 0);
	while (waited == -1 && (!waiter || !asleep_in(waiter, SYS_clock_nanosleep)))
		usleep(1000);
	check_eq(waited, -1);
	return thread;
}

TEST(RM_4_an_import_waits_for_its_name)
{
	const struct sigaction act = { .sa_handler = nothing };
	pthread_t thread;
	rm_desc_t d = -1;

	begin(RM_ALL, RM_NEVER);
	check_eq(sigaction(SIGUSR1, &act, NULL), 0);
	thread = begin_waiting(&d);
	check_eq(pthread_kill(thread, SIGUSR1), 0);
	pthread_join(thread, NULL);
	check_eq(waited, EINTR);
	thread = begin_waiting(&d);
	check(owner_export("later", 0, 64, RM_ALL, RM_NEVER) >= 0);
	pthread_join(thread, NULL);
	check_eq(waited, 0);
	check_eq(rm_size(d), 64);
	check_eq(rm_unimport(d), 0);
	/* What is no lack of the name ends the wait. */
	check(owner_export("readable", 0, 64, RM_READ, RM_NEVER) >= 0);
	check_errno(rm_import("readable", owner_node(), RM_WAIT, &d), EACCES);
	end();
}

TEST(RM_7_the_owner_takes_no_part)
{
	begin(RM_ALL, RM_CONDITIONAL);
	owner_kill(SIGSTOP);
	check_eq(fenced(rm_write_block(rd, 0, "asleep", 7, RM_NOTIFY)), 0);
	check_eq(fenced(rm_read(rd, 0, 7, own, 0, 0)), 0);
	check(!strcmp(local, "asleep"));
	check_eq(fenced(rm_cas(rd, 8, own, 8, 0, 1)), 0);
	check_eq(*(uint32_t *)(local + 8), RM_SUCCESS);
	owner_kill(SIGCONT);
	check_eq(owner_note(seg, &note), 1);
	end();
}

TEST(RM_8_message_registers)
{
	int i;

	begin(RM_ALL, RM_NEVER);
	for (i = 0; i < RM_REGISTERS; i++)
		rm_mr[i] = 1000 + i;
	check_eq(rm_write(rd, 12, 40, 0), 0);
	/* They were taken by the call. */
	memset(rm_mr, 0, sizeof(rm_mr));
	check_eq(rm_fence(rd, -1), 0);
	for (i = 0; i < RM_REGISTERS; i++)
		check_eq(((uint32_t *)(shared + 12))[i], 1000 + i);
	check_errno(rm_write(rd, 0, 41, 0), EINVAL);
	check_errno(rm_write(rd, 0, 4, 4), EINVAL);
	check_eq(fenced(rm_write(rd, 0, 0, 0)), 0);
	end();
}

static void fill_bytes(char *p, size_t n, int seed)
{
	while (n--)
		*p++ = seed += 7;
}

TEST(RM_9_RM_12_blocks_land_where_they_should)
{
	static char want[SHARED];
	size_t at = 4000, n = 3 * PAGE + 5;
	rm_desc_t part;

	begin(RM_ALL, RM_NEVER);
	fill_bytes(shared, SHARED, 3);
	memcpy(want, shared, SHARED);
	fill_bytes(local, n, 11);
	memcpy(want + at, local, n);
	/* From a pinned segment, and from memory that is not. */
	check_eq(fenced(rm_write_block(rd, at, local, n, 0)), 0);
	check(!memcmp(shared, want, SHARED));
	memcpy(want, want + at, 777);
	check_eq(fenced(rm_write_block(rd, 0, want, 777, 0)), 0);
	check(!memcmp(shared, want, SHARED));
	/* All bytes of a segment, and none of the memory around it. */
	check(owner_export("part", 20 * PAGE + 4, 2 * PAGE, RM_ALL, RM_NEVER) >= 0);
	check_eq(rm_import("part", owner_node(), 0, &part), 0);
	fill_bytes(local, 2 * PAGE, 13);
	memcpy(want + 20 * PAGE + 4, local, 2 * PAGE);
	check_eq(rm_write_block(part, 0, local, 2 * PAGE, 0), 0);
	check_eq(rm_fence(part, -1), 0);
	check(!memcmp(shared, want, SHARED));
	check_errno(rm_write_block(part, 4, local, 2 * PAGE, 0), ERANGE);
	check(!memcmp(shared, want, SHARED));
	check_eq(rm_unimport(part), 0);
	end();
}

TEST(RM_10_descriptor_and_bounds_are_checked_at_the_source)
{
	begin(RM_ALL, RM_NEVER);
	check_errno(rm_write(rd, SHARED - 3, 4, 0), ERANGE);
	check_errno(rm_write(rd, SIZE_MAX - 1, 4, 0), ERANGE);
	check_errno(rm_write_block(rd, 0, local, SHARED + 1, 0), ERANGE);
	check_errno(rm_read(rd, SHARED, 1, own, 0, 0), ERANGE);
	check_errno(rm_read(rd, 0, 8, own, SHARED - 7, 0), ERANGE);
	check_errno(rm_read(rd, 0, 8, own, SIZE_MAX, 0), ERANGE);
	check_errno(rm_cas(rd, SHARED, own, 0, 0, 0), ERANGE);
	check_errno(rm_cas(rd, 0, own, SHARED, 0, 0), ERANGE);
	check_errno(rm_cas(rd, 2, own, 0, 0, 0), EINVAL);
	check_errno(rm_write(rd + 1, 0, 4, 0), EBADF);
	check_errno(rm_write(-1, 0, 4, 0), EBADF);
	check_errno(rm_read(rd, 0, 4, own + 1, 0, 0), EBADF);
	check_errno(rm_fence(1 << 20, 0), EBADF);
	check_errno(rm_fence(rd, -2), EINVAL);
	check_eq(rm_fence(rd, 0), 0);
	end();
}

TEST(RM_13_RM_15_RM_17_reads_into_a_segment)
{
	begin(RM_ALL, RM_NEVER);
	fill_bytes(shared, SHARED, 5);
	check_eq(fenced(rm_read(rd, 100, 13, own, 33, 0)), 0);
	check(!memcmp(local + 33, shared + 100, 13));
	check_eq(local[32] | local[46], 0);
	check_eq(fenced(rm_read(rd, 0, SHARED, own, 0, 0)), 0);
	check(!memcmp(local, shared, SHARED));
	check_eq(fenced(rm_read(rd, 0, 0, own, 0, 0)), 0);
	end();
}

TEST(RM_18_RM_19_compare_and_swap)
{
	uint32_t *word, *result;

	begin(RM_ALL, RM_NEVER);
	word = (uint32_t *)(shared + 64);
	result = (uint32_t *)(local + 4);
	*word = 7;
	check_eq(fenced(rm_cas(rd, 64, own, 4, 6, 1)), 0);
	check_eq(*result, RM_FAILURE);
	check_eq(*word, 7);
	check_eq(fenced(rm_cas(rd, 64, own, 4, 7, 8)), 0);
	check_eq(*result, RM_SUCCESS);
	check_eq(*word, 8);
	check_eq(result[-1] | result[1], 0);
	end();
}

#define ADDITIONS	500

static void *add(void *p)
{
	int i;

	for (i = 0; i < ADDITIONS; i++)
		__atomic_fetch_add((uint32_t *)p, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* While processes of the owner's machine and of this one add, no addition is lost. */
TEST(RM_18_swaps_are_atomic)
{
	uint32_t *result, seen = 0, tries = 0, i;
	pthread_t thread;

	begin(RM_ALL, RM_NEVER);
	result = (uint32_t *)local;
	check_eq(pthread_create(&thread, NULL, add, shared), 0);
	for (i = 0; i < ADDITIONS; tries++) {
		check_eq(fenced(rm_cas(rd, 0, own, 0, seen, seen + 1)), 0);
		if (*result == RM_SUCCESS)
			i++;
		seen = *(uint32_t *)shared;
	}
	pthread_join(thread, NULL);
	check_eq(*(uint32_t *)shared, 2 * ADDITIONS);
	printf("# %u swaps, of %u\n", tries, ADDITIONS);
	end();
}

static volatile bool stop;
static volatile uint32_t torn;
static uint32_t good;	/* the value of a word that is not 0 */

/* Watch a word, and change the one before it. */
static void *watch_and_flip(void *p)
{
	volatile uint32_t *word = p;

	while (!stop) {
		uint32_t now = *word;

		word[-1] = ~word[-1];
		if (now && now != good)
			torn = now;
	}
	return NULL;
}

static pthread_t watch(void *word, uint32_t value)
{
	pthread_t thread;

	stop = false;
	torn = 0;
	good = value;
	check_eq(pthread_create(&thread, NULL, watch_and_flip, word), 0);
	return thread;
}

static void watch_end(pthread_t thread)
{
	stop = true;
	pthread_join(thread, NULL);
	check_eq(torn, 0);
}

TEST(RM_20_words_are_whole)
{
	volatile uint32_t *got;
	pthread_t thread;
	int i;

	begin(RM_ALL, RM_NEVER);
	got = (uint32_t *)local;
	thread = watch(shared + 16, 0xffffffff);
	for (i = 0; i < 2000; i++) {
		check_eq(fenced(rm_read(rd, 12, 4, own, 0, 0)), 0);
		check(!*got || *got == 0xffffffff);
		rm_mr[0] = rm_mr[1] = rm_mr[2] = rm_mr[3] = i % 2 ? 0xffffffff : 0;
		check_eq(fenced(rm_write(rd, 16, i % 3 ? 4 : 16, 0)), 0);
	}
	watch_end(thread);
	end();
}

/* An operation is one request, however long. */
TEST(RM_31_bytes_are_swapped)
{
	static uint32_t words[SHARED / 4 - 1];
	const int n = SHARED / 4 - 1;
	int i, changed = 0, wrong = 0;

	begin(RM_ALL, RM_CONDITIONAL);
	rm_mr[0] = 0x01020304;
	check_eq(fenced(rm_write(rd, 0, 4, RM_SWAP)), 0);
	check_eq(*(uint32_t *)shared, 0x04030201);
	check_eq(rm_read(rd, 0, 4, own, 0, RM_SWAP), 0);
	check_eq(*(uint32_t *)local, 0x01020304);
	for (i = 0; i < n; i++)
		words[i] = i;
	check_eq(fenced(rm_write_block(rd, 4, words, sizeof(words), RM_SWAP | RM_NOTIFY)), 0);
	for (i = 0; i < n; i++)
		wrong += ((uint32_t *)(shared + 4))[i] != __builtin_bswap32(i);
	check_eq(wrong, 0);
	check_eq(owner_note(seg, &note), 1);
	check_eq(note.offset, 4);
	check_eq(note.count, sizeof(words));
	check_eq(owner_note(seg, &note), 0);
	check_eq(rm_read(rd, 4, sizeof(words), own, 2, RM_SWAP), 0);
	check(!memcmp(local + 2, words, sizeof(words)));
	check_errno(rm_write(rd, 0, 3, RM_SWAP), EINVAL);
	check_errno(rm_read(rd, 0, 3, own, 0, RM_SWAP), EINVAL);
	check_errno(rm_read(rd, 0, 4, own, 0, RM_SWAP | RM_NOTIFY), EINVAL);
	/* Nothing of what does not fit is stored. */
	memset(shared, 0, SHARED);
	memset(local, 1, SHARED);
	check_errno(rm_write_block(rd, SHARED - 796, words, sizeof(words), RM_SWAP), ERANGE);
	check_errno(rm_read(rd, SHARED - 796, sizeof(words), own, 0, RM_SWAP), ERANGE);
	check_eq(rm_fence(rd, -1), 0);
	for (i = 0; i < SHARED; i++)
		changed += shared[i] || local[i] != 1;
	check_eq(changed, 0);
	end();
}

TEST(RM_31_bytes_are_swapped_before_they_are_stored)
{
	uint32_t *last;
	pthread_t thread;
	int i;

	begin(RM_ALL, RM_NEVER);
	for (i = 0; i < SHARED / 4; i++)
		((uint32_t *)shared)[i] = 0x01020304;
	last = (uint32_t *)(local + SHARED) - 1;
	thread = watch(last, 0x04030201);
	for (i = 0; i < 100; i++) {
		check_eq(rm_read(rd, 0, SHARED, own, 0, RM_SWAP), 0);
		check_eq(*last, 0x04030201);
		*last = 0;
	}
	watch_end(thread);
	end();
}

/* Kernels and privileged users are trusted: other users have no access. */
TEST(RM_7_RM_32_users_are_told_apart)
{
	rm_desc_t d;

	begin(RM_ALL, RM_NEVER);
	check(owner_export("public", 0, PAGE, RM_READ | RM_WRITE | RM_ANYBODY, RM_NEVER) >= 0);
	owner_be(STRANGER);
	check_errno(owner_import("seg", owner_node(), RM_READ), EACCES);
	check_errno(owner_import("public", owner_node(), RM_CAS), EACCES);
	check(owner_import("public", owner_node(), RM_READ) >= 0);
	/* Operations need no privilege. */
	d = owner_import("public", owner_node(), RM_WRITE);
	check(d >= 0);
	check_eq(owner_write(d, 16, 1234, 0), 0);
	check_eq(*(uint32_t *)(shared + 16), 1234);
	end();
}
