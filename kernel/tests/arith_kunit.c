// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of code that needs no context: arithmetic, ids, copying, and credits.
 * list_kunit.c includes the sources.
 */
#include <kunit/test.h>
#include <linux/random.h>

#include "../core/bounds.h"
#include "../core/copy.h"
#include "../core/credit.h"
#include "../core/deferred.h"
#include "../core/ids.h"

/* ---- bounds.h ----------------------------------------------------------- */

static void in_bounds__edges(struct kunit *test)
{
	static const struct {
		u64 off, len, size;
		bool ok;
	} c[] = {
		{ 0, 0, 0, true },		{ 0, 1, 0, false },
		{ 1, 0, 0, false },		{ 0, 8, 8, true },
		{ 0, 9, 8, false },		{ 8, 0, 8, true },
		{ 8, 1, 8, false },		{ 9, 0, 8, false },
		{ 7, 1, 8, true },		{ 7, 2, 8, false },
		{ U64_MAX, 0, 8, false },	{ 0, U64_MAX, 8, false },
		{ U64_MAX, 1, 8, false },	{ 1, U64_MAX, 8, false },
		{ U64_MAX, U64_MAX, 8, false },
		{ U64_MAX, 0, U64_MAX, true },
		{ 0, U64_MAX, U64_MAX, true },
		{ 1, U64_MAX, U64_MAX, false },
		{ U64_MAX, 1, U64_MAX, false },
		{ S64_MAX, S64_MAX, U64_MAX, true },
		{ (u64)S64_MAX + 1, (u64)S64_MAX + 1, U64_MAX, false },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(c); i++)
		KUNIT_EXPECT_EQ_MSG(test, dd_in_bounds(c[i].off, c[i].len,
						       c[i].size),
				    c[i].ok, "case %d", i);
}

static void block_size__divides(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, dd_block_size(4096, 2), 2048ull);
	KUNIT_EXPECT_EQ(test, dd_block_size(4096, 3), 1360ull);
	KUNIT_EXPECT_EQ(test, dd_block_size(4096, 512), 8ull);
	KUNIT_EXPECT_EQ(test, dd_block_size(4096, 513), 0ull);
	KUNIT_EXPECT_EQ(test, dd_block_size(4096, 0), 0ull);
	KUNIT_EXPECT_EQ(test, dd_block_size(0, 1), 0ull);
	KUNIT_EXPECT_EQ(test, dd_block_size(U64_MAX, 1), U64_MAX - 7);
}

/* ---- ids.c -------------------------------------------------------------- */

static void *ids_find(const struct dd_ids *ids, u32 id)
{
	void *found;

	rcu_read_lock();
	found = dd_ids_find(ids, id);
	rcu_read_unlock();
	return found;
}

/* Use an id, for good if @keep: its serial. */
static u64 ids_get(struct kunit *test, struct dd_ids *ids, bool keep)
{
	u32 id, epoch;

	KUNIT_EXPECT_EQ(test, dd_ids_reserve(ids, &id, &epoch, GFP_KERNEL), 0);
	KUNIT_EXPECT_GT(test, (int)id, 0);
	KUNIT_EXPECT_NULL(test, ids_find(ids, id));
	xa_store(&ids->xa, id, test, GFP_KERNEL);
	KUNIT_EXPECT_PTR_EQ(test, ids_find(ids, id), (void *)test);
	if (!keep)
		xa_erase(&ids->xa, id);
	return (u64)epoch << 32 | id;
}

static void ids__no_serial_comes_twice(struct kunit *test)
{
	struct dd_ids ids;
	u64 serial, last = 0;
	int i;

	dd_ids_init(&ids);
	KUNIT_EXPECT_NULL(test, ids_find(&ids, 0));
	KUNIT_EXPECT_NULL(test, ids_find(&ids, ~0u));
	/* No id alone is a serial. */
	KUNIT_EXPECT_GT(test, ids_get(test, &ids, true), (u64)U32_MAX);
	/* Free again at once, and not given again before all others. */
	for (i = 0; i < 100; i++) {
		serial = ids_get(test, &ids, false);
		KUNIT_ASSERT_GT(test, serial, last);
		last = serial;
	}
	xa_destroy(&ids.xa);
}

static void ids__begin_again_in_another_epoch(struct kunit *test)
{
	u64 serial, last, first;
	struct dd_ids ids;
	int i, round;

	dd_ids_init(&ids);
	/* One that is there in all epochs. */
	first = ids_get(test, &ids, true);
	last = first;
	for (round = 0; round < 3; round++) {
		ids.next = S32_MAX - 50;
		for (i = 0; i < 100; i++) {
			/* Some are in use still when the ids begin again. */
			serial = ids_get(test, &ids, i % 16 == 5);
			KUNIT_ASSERT_GT(test, serial, last);
			KUNIT_ASSERT_NE(test, (u32)serial, (u32)first);
			last = serial;
		}
		KUNIT_EXPECT_EQ(test, last >> 32, (first >> 32) + round + 1);
		KUNIT_EXPECT_LT(test, (u32)last, 200u);
	}
	KUNIT_EXPECT_PTR_EQ(test, ids_find(&ids, (u32)first), (void *)test);
	xa_destroy(&ids.xa);
}

static void name_ok__cases(struct kunit *test)
{
	u8 name[8] = "echo";

	KUNIT_EXPECT_TRUE(test, dd_name_ok(name, sizeof(name)));
	name[6] = 1;	/* something behind the NUL */
	KUNIT_EXPECT_FALSE(test, dd_name_ok(name, sizeof(name)));
	memset(name, 'x', sizeof(name));
	KUNIT_EXPECT_FALSE(test, dd_name_ok(name, sizeof(name)));
	name[7] = 0;
	KUNIT_EXPECT_TRUE(test, dd_name_ok(name, sizeof(name)));
	memset(name, 0, sizeof(name));
	KUNIT_EXPECT_FALSE(test, dd_name_ok(name, sizeof(name)));
}

static void slot_unit__wraps(struct kunit *test)
{
	u64 g = dd_geometry(100, 3);

	KUNIT_EXPECT_EQ(test, dd_geometry_slots(g), 8u);
	KUNIT_EXPECT_EQ(test, dd_geometry_slots(0), 0u);
	KUNIT_EXPECT_EQ(test, dd_slot_unit(g, 0), 100u);
	KUNIT_EXPECT_EQ(test, dd_slot_unit(g, 7), 107u);
	KUNIT_EXPECT_EQ(test, dd_slot_unit(g, 8), 100u);
	KUNIT_EXPECT_EQ(test, dd_slot_unit(g, U32_MAX), 107u);
	KUNIT_EXPECT_EQ(test, dd_slot_unit(g, U32_MAX + 1ull), 100u);
	KUNIT_EXPECT_EQ(test, dd_slot_unit(g, U64_MAX), 107u);
}

static struct kunit_case bounds_cases[] = {
	KUNIT_CASE(in_bounds__edges),
	KUNIT_CASE(block_size__divides),
	KUNIT_CASE(ids__no_serial_comes_twice),
	KUNIT_CASE(ids__begin_again_in_another_epoch),
	KUNIT_CASE(name_ok__cases),
	KUNIT_CASE(slot_unit__wraps),
	{}
};

static struct kunit_suite bounds_suite = {
	.name = "dd_bounds",
	.test_cases = bounds_cases,
};

/* ---- copy.h ------------------------------------------------------------- */

static void copy_words__every_alignment(struct kunit *test)
{
	u8 *src = kunit_kzalloc(test, 1200, GFP_KERNEL);
	u8 *dst = kunit_kzalloc(test, 1200, GFP_KERNEL);
	size_t s, d, n;

	get_random_bytes(src, 1200);
	for (s = 0; s < 8; s++)
		for (d = 0; d < 8; d++)
			for (n = 0; n < 1100; n += n < 40 ? 1 : 53) {
				memset(dst, 0xa5, 1200);
				dd_copy_words(dst + 8 + d, src + s, n);
				KUNIT_ASSERT_EQ(test, 0, memcmp(dst + 8 + d,
								src + s, n));
				KUNIT_ASSERT_EQ(test, dst[8 + d - 1], 0xa5);
				KUNIT_ASSERT_EQ(test, dst[8 + d + n], 0xa5);
			}
}

static void copy_last__is_a_word_or_a_tail(struct kunit *test)
{
	void *at = (void *)0x1000;

	KUNIT_EXPECT_EQ(test, dd_copy_last(at, 1), 1ul);
	KUNIT_EXPECT_EQ(test, dd_copy_last(at, 7), 7ul);
	KUNIT_EXPECT_EQ(test, dd_copy_last(at, 8), 8ul);
	KUNIT_EXPECT_EQ(test, dd_copy_last(at, 9), 1ul);
	KUNIT_EXPECT_EQ(test, dd_copy_last(at + 4, 4), 4ul);
	KUNIT_EXPECT_EQ(test, dd_copy_last(at + 4, 12), 8ul);
	KUNIT_EXPECT_EQ(test, dd_copy_last(at + 7, 1), 1ul);
}

static void copy_final__returns_what_it_stored(struct kunit *test)
{
	u64 dst[2] = { ~0ull, ~0ull }, src = 0x1122334455667788ull;

	KUNIT_EXPECT_EQ(test, dd_copy_final(&dst[0], &src, 8), src);
	KUNIT_EXPECT_EQ(test, dst[0], src);
	KUNIT_EXPECT_EQ(test, dd_copy_final(&dst[1], &src, 3), 0x667788ull);
	KUNIT_EXPECT_EQ(test, dst[1], 0xffffffffff667788ull);
}

static struct kunit_case copy_cases[] = {
	KUNIT_CASE(copy_words__every_alignment),
	KUNIT_CASE(copy_last__is_a_word_or_a_tail),
	KUNIT_CASE(copy_final__returns_what_it_stored),
	{}
};

static struct kunit_suite copy_suite = {
	.name = "dd_copy",
	.test_cases = copy_cases,
};

/* ---- credit.h ----------------------------------------------------------- */

static void credit__window_of(struct kunit *test, u32 window)
{
	struct dd_credit c;
	u64 pos = 0;
	u32 i;

	KUNIT_ASSERT_EQ(test, dd_credit_init(&c, window, GFP_KERNEL), 0);
	KUNIT_EXPECT_EQ(test, dd_credit_last(&c), 0ull);
	for (i = 0; i < window; i++) {
		KUNIT_ASSERT_TRUE(test, dd_credit_ok(&c, 0));
		dd_credit_get(&c, pos++);
	}
	KUNIT_EXPECT_FALSE(test, dd_credit_ok(&c, 0));
	KUNIT_EXPECT_EQ(test, dd_credit_last(&c), pos);
	/* The first consumed note gives one credit back, not more. */
	KUNIT_EXPECT_TRUE(test, dd_credit_ok(&c, 1));
	dd_credit_get(&c, pos++);
	KUNIT_EXPECT_FALSE(test, dd_credit_ok(&c, 1));
	KUNIT_EXPECT_TRUE(test, dd_credit_ok(&c, 2));
	dd_credit_exit(&c);
}

static void credit__windows(struct kunit *test)
{
	credit__window_of(test, 1);
	credit__window_of(test, 2);
	credit__window_of(test, 7);
	credit__window_of(test, DD_WINDOW_MAX);
}

static void deferred__frees_what_is_read(struct kunit *test)
{
	struct dd_deferred_slots l = {};

	KUNIT_EXPECT_EQ(test, dd_deferred_reap(&l, U64_MAX), 0u);
	dd_deferred_add(&l, 2, 10);
	dd_deferred_add(&l, 1, 10);
	KUNIT_EXPECT_EQ(test, dd_deferred_reap(&l, 9), 0u);
	/* Later ones wait for the last of them, whatever their order. */
	dd_deferred_add(&l, 3, 20);
	dd_deferred_add(&l, 4, 15);
	KUNIT_EXPECT_EQ(test, dd_deferred_reap(&l, 10), 3u);
	KUNIT_EXPECT_EQ(test, dd_deferred_reap(&l, 19), 0u);
	dd_deferred_add(&l, 5, 30);
	KUNIT_EXPECT_EQ(test, dd_deferred_reap(&l, 20), 7u);
	KUNIT_EXPECT_EQ(test, dd_deferred_reap(&l, 30), 5u);
	/* All at once. */
	dd_deferred_add(&l, 1, 40);
	dd_deferred_add(&l, 1, 50);
	KUNIT_EXPECT_EQ(test, dd_deferred_reap(&l, 50), 2u);
	KUNIT_EXPECT_EQ(test, dd_deferred_reap(&l, U64_MAX), 0u);
}

static struct kunit_case credit_cases[] = {
	KUNIT_CASE(credit__windows),
	KUNIT_CASE(deferred__frees_what_is_read),
	{}
};

static struct kunit_suite credit_suite = {
	.name = "dd_credit",
	.test_cases = credit_cases,
};

kunit_test_suites(&bounds_suite, &copy_suite, &credit_suite);
