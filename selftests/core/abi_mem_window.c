// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows of imports on one node: which imports get them, and when they are hidden.
 *
 * Copyright (C) 2026 The dd authors
 */
#include "abi_mem.h"
#include <pthread.h>
#include <sys/mman.h>

#define MAPS	8	/* of a window at a time */

TEST_F(mem, a_window_shows_the_segment)
{
	struct dd_direct d, again = { .size = sizeof(again), .conn = self->i.import };
	char *at, *cas;

	EXPECT_EQ(0, cs(self)->ring);
	ASSERT_OK(mem_windows(&self->im, &self->i, &d, &at, &cas));
	EXPECT_EQ(MEM_LEN, d.block_size);
	EXPECT_EQ(0, d.start);
	EXPECT_EQ(1, cs(self)->ring);
	ASSERT_NE(NULL, cas);
	memset(at, 0x31, MEM_LEN);
	EXPECT_EQ(0x31, self->em.at[0]);
	EXPECT_EQ(0x31, self->em.at[MEM_LEN - 1]);
	EXPECT_EQ(0x31, cas[PAGE]);
	ASSERT_OK(raw_ioctl(&self->im, DD_IOC_DIRECT, &again));
	EXPECT_EQ(d.block, again.block);
	EXPECT_EQ(d.notes, again.notes);
	again.flags = DD_DIRECT_DROP;
	EXPECT_ERR(EINVAL, raw_ioctl(&self->im, DD_IOC_DIRECT, &again));
}

/* Each mapping costs the process that hides the window. */
TEST_F(mem, mappings_of_a_window_are_limited)
{
	struct dd_direct d;
	char *at, *cas;
	void *last;
	int n;

	ASSERT_OK(mem_windows(&self->im, &self->i, &d, &at, &cas));
	for (n = 1; n < MAPS; n++)
		ASSERT_NE(MAP_FAILED, raw_map(&self->im, d.block, d.block_size, PROT_READ));
	EXPECT_EQ(MAP_FAILED, raw_map(&self->im, d.block, d.block_size, PROT_READ));
	EXPECT_EQ(ENOMEM, errno);
	ASSERT_OK(munmap(at, d.block_size));
	last = raw_map(&self->im, d.block, d.block_size, PROT_READ);
	EXPECT_NE(MAP_FAILED, last);
	EXPECT_EQ(MAP_FAILED, raw_map(&self->im, d.block, d.block_size, PROT_READ));
	/* The other window has a limit of its own. */
	EXPECT_NE(MAP_FAILED, raw_map(&self->im, d.notes, d.block_size, PROT_READ));
}

TEST_F(mem, rules_decide_on_windows)
{
	struct dd_segment_make s;
	struct dd_import_make i;
	struct dd_direct d;
	char *at, *cas;

#define WINDOW(want, r, change) do {					\
	s = mem_segment(&self->em, "abi_mem_rule");			\
	change;								\
	ASSERT_OK(mem_export(&self->ex, &s));				\
	ASSERT_OK(mem_import(&self->im, &s, r, &i));			\
	errno = 0;							\
	EXPECT_EQ((want) ? -1 : 0, mem_windows(&self->im, &i, &d, &at, &cas));	\
	EXPECT_EQ(want, errno);						\
	ASSERT_OK(mem_end(&self->ex, s.segment));			\
	ASSERT_OK(mem_end(&self->im, i.import));			\
} while (0)
	WINDOW(EACCES, DD_RIGHT_PUT, (void)0);
	WINDOW(EACCES, DD_RIGHT_PUT | DD_RIGHT_CAS, (void)0);
	WINDOW(0, DD_RIGHT_PUT | DD_RIGHT_GET, (void)0);
	EXPECT_EQ(NULL, cas);
	WINDOW(0, DD_RIGHT_GET | DD_RIGHT_CAS, (void)0);
	EXPECT_EQ(NULL, cas);
	/* Read-only: also later. */
	EXPECT_ERR(EACCES, mprotect(at, PAGE, PROT_READ | PROT_WRITE));
	WINDOW(EACCES, DD_RIGHTS, s.flags = DD_SEGMENT_NODIRECT);
	WINDOW(EACCES, DD_RIGHTS, s.flags = DD_SEGMENT_REDIRECT);
	WINDOW(EOPNOTSUPP, DD_RIGHTS, s.length = PAGE + 4);
	WINDOW(EOPNOTSUPP, DD_RIGHTS, s.offset = 4; s.length = PAGE);
	WINDOW(0, DD_RIGHTS, s.offset = PAGE + 4; s.length = PAGE;
	       s.flags = DD_SEGMENT_WHOLE_PAGES_OK);
	EXPECT_EQ(4, d.start);
	EXPECT_EQ(2 * PAGE, d.block_size);
#undef WINDOW
	s = mem_segment(&self->em, "abi_mem_rule");
	s.flags = DD_SEGMENT_FLAGS + 1;
	EXPECT_ERR(EINVAL, mem_export(&self->ex, &s));
}

TEST_F(mem, windows_are_hidden_and_shown)
{
	const __u64 seg = self->s.segment;
	struct dd_direct d;
	char *at, *cas;
	__u64 *word;

	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_INHIBIT, 1, 0, 0));
	ASSERT_OK(mem_windows(&self->im, &self->i, &d, &at, &cas));
	word = (__u64 *)cas;
	EXPECT_EQ(0, cs(self)->ring);
	at[0] = 1;
	EXPECT_EQ(0, self->em.at[0]);
	EXPECT_EQ(DD_DIRECT_GONE, word[3]);
	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_INHIBIT, 0, 0, 0));
	EXPECT_EQ(1, cs(self)->ring);
	EXPECT_EQ(0, at[0]);
	EXPECT_EQ(0, word[3]);
	at[0] = 2;
	EXPECT_EQ(2, self->em.at[0]);
	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_POLICY, DD_POLICY_ALWAYS, 0, 0));
	EXPECT_EQ(0, cs(self)->ring);
	at[0] = 3;
	EXPECT_EQ(2, self->em.at[0]);
	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_INHIBIT, 1, 0, 0));
	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_POLICY, DD_POLICY_NEVER, 0, 0));
	EXPECT_EQ(0, cs(self)->ring);
	ASSERT_OK(mem_ctl(&self->ex, seg, DD_SEGMENT_INHIBIT, 0, 0, 0));
	EXPECT_EQ(2, cs(self)->ring);
	EXPECT_EQ(2, at[0]);
	ASSERT_OK(mem_end(&self->ex, seg));
	EXPECT_EQ(0, cs(self)->ring);
	at[0] = 4;
	EXPECT_EQ(2, self->em.at[0]);
	EXPECT_EQ(DD_DIRECT_GONE, word[3]);
	EXPECT_ERR(ESTALE, raw_ioctl(&self->im, DD_IOC_DIRECT,
				     (&(struct dd_direct){ .size = sizeof(d),
							   .conn = self->i.import })));
}

static bool stop;

static void *store_until_stop(void *at)
{
	for (unsigned int n = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++)
		memset(at, 1 + n % 255, MEM_LEN);
	return NULL;
}

/* Another thread stores in the window all the time. */
TEST_F(mem, no_store_arrives_while_inhibited)
{
	static char seen[MEM_LEN];
	int rounds = dd_count(200), i, on;
	struct dd_direct d;
	char *at, *cas;
	pthread_t t;

	ASSERT_OK(mem_windows(&self->im, &self->i, &d, &at, &cas));
	ASSERT_EQ(0, pthread_create(&t, NULL, store_until_stop, at));
	for (i = 0; i <= rounds; i++) {
		memset(self->em.at, 0, MEM_LEN);
		ASSERT_SOON(*(volatile char *)self->em.at != 0);
		on = i < rounds;
		ASSERT_OK(on ? mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, 1, 0, 0) :
			       mem_end(&self->ex, self->s.segment));
		memcpy(seen, self->em.at, MEM_LEN);
		for (int k = 0; k < 5; k++) {
			sched_yield();
			ASSERT_EQ(0, memcmp(seen, self->em.at, MEM_LEN));
		}
		if (on)
			ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT,
					  0, 0, 0));
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(t, NULL));
}

/* Pages of the exporter's own memory are shown as those of the device are. */
/* Import with windows and end that, again and again. */
static void *come_and_go(void *arg)
{
	FIXTURE_DATA(mem) *self = arg;
	char *at = NULL, *cas = NULL;
	struct dd_import_make i;
	struct dd_direct d;
	long failed = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		failed |= mem_import(&self->im, &self->s, DD_RIGHTS, &i);
		failed |= mem_windows(&self->im, &i, &d, &at, &cas);
		failed |= mem_end(&self->im, i.import);
		munmap(at, d.block_size);
		munmap(cas, d.block_size);
	}
	return (void *)failed;
}

/* The exporter does not keep importers from coming and going while it hides windows. */
TEST_F(mem, all_windows_are_hidden_while_importers_come_and_go)
{
	struct dd_import_make i[4];
	int rounds = dd_count(300), n, k;
	struct dd_direct d;
	char *at[4], *cas;
	pthread_t t;
	void *failed;

	for (n = 0; n < 4; n++) {
		ASSERT_OK(mem_import(&self->im, &self->s, DD_RIGHTS, &i[n]));
		ASSERT_OK(mem_windows(&self->im, &i[n], &d, &at[n], &cas));
	}
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_create(&t, NULL, come_and_go, self));
	for (k = 1; k <= 2 * rounds; k++) {
		ASSERT_OK(mem_ctl(&self->ex, self->s.segment, DD_SEGMENT_INHIBIT, k % 2, 0, 0));
		for (n = 0; n < 4; n++)
			ASSERT_EQ(k % 2, raw_state(&self->im, i[n].state_unit)->ring == 0);
		for (n = 0; n < 4; n++)
			at[n][n] = k;
		if (k % 2)
			ASSERT_EQ(0, memcmp(self->em.at, "\0\0\0", 4));
		memset(self->em.at, 0, 4);
		sched_yield();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(t, &failed));
	EXPECT_EQ(NULL, failed);
}

TEST_F(mem, pinned_memory_has_windows)
{
	char *own = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dd_region_pin p = { .size = sizeof(p), .address = (uintptr_t)own,
				   .length = 2 * PAGE };
	struct dd_segment_make s;
	struct dd_import_make i;
	struct dd_direct d;
	char *at, *cas;

	ASSERT_NE(MAP_FAILED, own);
	ASSERT_OK(raw_ioctl(&self->ex, DD_IOC_REGION_PIN, &p));
	s = mem_segment(&(struct mem){ .id = p.region, .len = 2 * PAGE }, "abi_mem_pin");
	ASSERT_OK(mem_export(&self->ex, &s));
	ASSERT_OK(mem_import(&self->im, &s, DD_RIGHTS, &i));
	ASSERT_OK(mem_windows(&self->im, &i, &d, &at, &cas));
	memset(at, 0x44, 2 * PAGE);
	EXPECT_EQ(0x44, own[0]);
	EXPECT_EQ(0x44, own[2 * PAGE - 1]);
	/* The pages stay after the exporter has unmapped and unpinned them. */
	ASSERT_OK(raw_op(&self->ex, DD_IOC_REGION_FREE, p.region));
	ASSERT_EQ(0, munmap(own, 2 * PAGE));
	EXPECT_EQ(0x44, at[PAGE]);
	ASSERT_OK(mem_end(&self->ex, s.segment));
	EXPECT_EQ(0, at[PAGE]);
}

DD_TEST_MAIN
