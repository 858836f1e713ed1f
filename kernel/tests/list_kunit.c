// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of code that needs a context, but no device: the area, and the life of a
 * note list with its channels.
 *
 * The sources under test are included. Minimal replacements of the functions
 * that they call in the rest of dd.ko follow below.
 */
#include <kunit/test.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/random.h>

/* Tracepoints belong to dd.ko. */
#define _DD_TRACE_H
#define trace_dd_note(list, note, pos)	do { } while (0)

#include "../core/area.h"
#include "../core/channel.h"
#include "../core/copy.h"
#include "../core/ctx.h"
#include "../direct/direct.h"
#include "../core/ids.h"
#include "../core/node.h"
#include "../core/notelist.h"

struct workqueue_struct *dd_wq;
struct tracepoint __tracepoint_dd_note;

#include "../core/charge.c"
#include "../core/page.c"
#include "../core/ids.c"
#include "../core/area.c"
#include "../core/channel.c"
#include "../core/deposit.c"
#include "../core/notelist.c"

/* ---- the rest of dd.ko -------------------------------------------------- */

void dd_ctx_put(struct dd_ctx *ctx)
{
	WARN_ON(refcount_dec_and_test(&ctx->ref));
}

void dd_ctx_wake(struct dd_ctx *ctx)
{
}

bool dd_spare_evict(struct dd_ctx *ctx)
{
	return false;
}

bool dd_rings_ready(const struct dd_list *list)
{
	return false;
}

void dd_rings_arm(const struct dd_list *list)
{
}

void dd_rings_free(struct dd_ctx *ctx, struct dd_rings *rings)
{
}

void dd_rings_kick(struct dd_list *list)
{
}

void dd_obj_init(struct dd_obj *obj, struct dd_ctx *ctx,
		 const struct dd_obj_ops *ops)
{
	obj->ctx = dd_ctx_get(ctx);
	obj->ops = ops;
	refcount_set(&obj->users, 1);
}

int dd_obj_reserve(struct dd_obj *obj)
{
	obj->id = 1;
	obj->epoch = ++obj->ctx->ids.epoch;
	return 0;
}

void dd_obj_publish(struct dd_obj *obj)
{
}

void dd_obj_unreserve(struct dd_obj *obj)
{
}

bool dd_obj_remove(struct dd_obj *obj)
{
	return true;
}

void *dd_obj_get(struct dd_ctx *ctx, u32 id, const struct dd_obj_ops *ops)
{
	return NULL;
}

static void link_posted(struct dd_channel *ch)
{
	struct dd_import *imp = ch->importer;

	imp->done = imp->submitted;
}

static const struct dd_link_ops test_link = {
	.posted = link_posted,
};

/* ---- a context with an area --------------------------------------------- */

struct fake {
	struct dd_node node;
	struct dd_ctx ctx;
};

static void no_work(struct work_struct *work)
{
}

static struct fake *fake_make(struct kunit *test)
{
	struct fake *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->node.stats = alloc_percpu(struct dd_stats);
	KUNIT_ASSERT_TRUE(test, f->node.stats);
	f->ctx.mm = current->mm;
	f->ctx.cred = current_cred();
	KUNIT_ASSERT_EQ(test, dd_area_init(&f->ctx.area), 0);
	refcount_set(&f->ctx.ref, 1);
	init_llist_head(&f->ctx.freed);
	INIT_WORK(&f->ctx.free_work, no_work);
	mutex_init(&f->ctx.lock);
	init_waitqueue_head(&f->ctx.wait);
	f->ctx.node = &f->node;
	return f;
}

static void fake_break(struct kunit *test, struct fake *f)
{
	/* Everything that was made has let go of the context. */
	KUNIT_EXPECT_EQ(test, refcount_read(&f->ctx.ref), 1u);
	KUNIT_EXPECT_EQ(test, (u32)bitmap_weight(f->ctx.area.map,
						 f->ctx.area.bits), 1u);
	dd_area_exit(&f->ctx.area);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&f->ctx.charged), 0l);
	free_percpu(f->node.stats);
}

/* ---- area.c ------------------------------------------------------------- */

static void area__never_overlaps(struct kunit *test)
{
	struct fake *f = fake_make(test);
	struct {
		u32 unit, units;
	} had[64] = {};
	int round, i, j;

	for (round = 0; round < 2000; round++) {
		i = get_random_u32() % ARRAY_SIZE(had);
		if (had[i].units) {
			dd_area_free(&f->ctx.area, had[i].unit, had[i].units);
			had[i].units = 0;
			continue;
		}
		had[i].units = 1 + get_random_u32() % 200;
		KUNIT_ASSERT_EQ(test, 0, dd_area_alloc(&f->ctx.area,
						       had[i].units,
						       &had[i].unit));
		KUNIT_ASSERT_GT(test, had[i].unit, 0u);
		for (j = 0; j < ARRAY_SIZE(had); j++)
			if (j != i && had[j].units)
				KUNIT_ASSERT_TRUE(test, had[i].unit + had[i].units <= had[j].unit ||
						  had[j].unit + had[j].units <= had[i].unit);
	}
	for (i = 0; i < ARRAY_SIZE(had); i++)
		if (had[i].units)
			dd_area_free(&f->ctx.area, had[i].unit, had[i].units);
	fake_break(test, f);
}

static void area__zeroes_and_maps_what_it_gives(struct kunit *test)
{
	struct fake *f = fake_make(test);
	u32 unit, again, i;

	KUNIT_ASSERT_EQ(test, dd_area_alloc(&f->ctx.area, 100, &unit), 0);
	for (i = 0; i < 100; i++) {
		struct page *page = dd_area_page(&f->ctx.area, (unit + i) / DD_PAGE_UNITS);

		KUNIT_ASSERT_NOT_NULL(test, page);
		KUNIT_ASSERT_PTR_EQ(test, dd_area_unit(&f->ctx.area, unit + i),
				    page_address(page) + (unit + i) % DD_PAGE_UNITS * DD_UNIT);
		memset(dd_area_unit(&f->ctx.area, unit + i), 0xff, DD_UNIT);
	}
	dd_area_free(&f->ctx.area, unit, 100);
	f->ctx.area.hint = 0;
	KUNIT_ASSERT_EQ(test, dd_area_alloc(&f->ctx.area, 100, &again), 0);
	KUNIT_EXPECT_EQ(test, again, unit);
	for (i = 0; i < 100; i++)
		KUNIT_ASSERT_NULL(test, memchr_inv(dd_area_unit(&f->ctx.area, again + i),
						   0, DD_UNIT));
	dd_area_free(&f->ctx.area, again, 100);
	KUNIT_EXPECT_NULL(test, dd_area_page(&f->ctx.area, 60000));
	KUNIT_EXPECT_NULL(test, dd_area_page(&f->ctx.area, 1ul << 40));
	fake_break(test, f);
}

static void area__full_is_enospc(struct kunit *test)
{
	struct fake *f = fake_make(test);
	u32 unit;

	KUNIT_EXPECT_EQ(test, dd_area_alloc(&f->ctx.area, DD_AREA_UNITS + 1, &unit), -ENOSPC);
	KUNIT_EXPECT_EQ(test, dd_area_alloc(&f->ctx.area, DD_AREA_UNITS, &unit), -ENOSPC);
	KUNIT_EXPECT_EQ(test, dd_area_alloc(&f->ctx.area, 1, &unit), 0);
	dd_area_free(&f->ctx.area, unit, 1);
	fake_break(test, f);
}

static struct kunit_case area_cases[] = {
	KUNIT_CASE(area__never_overlaps),
	KUNIT_CASE(area__zeroes_and_maps_what_it_gives),
	KUNIT_CASE(area__full_is_enospc),
	{}
};

static struct kunit_suite area_suite = {
	.name = "dd_area",
	.test_cases = area_cases,
};

/* ---- notelist.c, channel.c, deposit.h ----------------------------------- */

/* One channel: the segment of the receiver, and the import of the sender. */
struct channel {
	struct dd_segment seg;
	struct dd_channel rx;
	struct dd_import tx;
	struct dd_credit credit;
	u64 consumed;
	bool attached;
};

static u32 channel_slots(u32 window)
{
	return dd_credit_slots(window) + 1;
}

static void channel_open(struct kunit *test, struct channel *ch,
			 struct dd_list *list, u32 window, u32 id)
{
	memset(ch, 0, sizeof(*ch));
	dd_segment_init(&ch->seg, list->obj.ctx->node, DD_RIGHT_PUT);
	ch->seg.policy = DD_POLICY_ALWAYS;
	ch->seg.list = list;
	ch->seg.owner = id;
	dd_channel_init(&ch->rx, &ch->seg);
	dd_channel_open(&ch->rx, DD_RIGHT_PUT, 0);
	ch->rx.credit = &ch->credit;
	ch->rx.link = &test_link;
	ch->rx.importer = &ch->tx;
	KUNIT_ASSERT_EQ(test, 0, dd_credit_init(ch->rx.credit, window, GFP_KERNEL));
	ch->rx.dead = false;
	ch->attached = true;
}

static void channel_fill(struct dd_note *rec, const void *arg)
{
	rec->meta_count = 0;
}

/* A message: true if it was accepted. */
static bool channel_send(struct channel *ch)
{
	struct dd_channel *rx = &ch->rx;
	struct dd_due due;
	bool ok;

	spin_lock_bh(&rx->lock);
	ok = !rx->withheld || dd_channel_retry(rx);
	if (ok) {
		ch->tx.submitted++;
		if (dd_deposit_done(rx, ch->tx.submitted, true, channel_fill,
				    NULL, &due))
			ch->tx.done = ch->tx.submitted;
		if (due.note)
			dd_list_commit(due.list, due.note, due.pos);
	}
	spin_unlock_bh(&rx->lock);
	return ok;
}

static void channel_close(struct channel *ch)
{
	struct dd_channel *rx = &ch->rx;
	struct dd_list *list = ch->seg.list;
	struct dd_note rec = { .type = DD_NOTE_CLOSE, .conn = ch->seg.owner };

	mutex_lock(&list->lock);
	spin_lock_bh(&rx->lock);
	dd_channel_revoke(rx, &rec);
	spin_unlock_bh(&rx->lock);
	mutex_unlock(&list->lock);
	dd_list_detach(list, channel_slots(rx->credit->window),
		       dd_credit_last(rx->credit));
	dd_credit_exit(rx->credit);
	ch->attached = false;
}

/* Read as the uapi header describes: the next note, or NULL if there is none. */
static const struct dd_note *list_read(struct dd_list *list)
{
	u64 pos = list->head->head, geometry = list->head->geometry;
	const struct dd_note *note = list_slot(list, geometry, pos);

	if (note->seq != pos + 1)
		return NULL;
	list->head->head = pos + 1;
	if (list->head->flags & DD_LIST_NEED_KICK)
		dd_list_kick(list);
	return note;
}

static struct dd_list *list_make(struct kunit *test, struct fake *f, u32 slots)
{
	struct dd_list *list = dd_list_create(&f->ctx, slots, 0);

	KUNIT_ASSERT_FALSE(test, IS_ERR(list));
	dd_list_publish(list);
	return list;
}

static void list__withholds_and_lets_in(struct kunit *test)
{
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	struct dd_list *list = list_make(test, f, channel_slots(1));
	const struct dd_note *note;

	channel_open(test, ch, list, 1, 42);
	KUNIT_EXPECT_FALSE(test, dd_list_ready(list));
	KUNIT_EXPECT_TRUE(test, channel_send(ch));
	KUNIT_EXPECT_TRUE(test, dd_list_ready(list));
	KUNIT_EXPECT_EQ(test, ch->tx.done, 1ull);
	KUNIT_EXPECT_TRUE(test, channel_send(ch));	/* in place, note withheld */
	KUNIT_EXPECT_EQ(test, ch->tx.done, 1ull);
	KUNIT_EXPECT_TRUE(test, list->head->flags & DD_LIST_NEED_KICK);
	KUNIT_EXPECT_FALSE(test, channel_send(ch));	/* refused */
	KUNIT_EXPECT_EQ(test, ch->tx.submitted, 2ull);

	note = list_read(list);
	KUNIT_ASSERT_NOT_NULL(test, note);
	KUNIT_EXPECT_EQ(test, note->msgid, 1u);
	KUNIT_EXPECT_EQ(test, ch->tx.done, 2ull);
	KUNIT_EXPECT_FALSE(test, list->head->flags & DD_LIST_NEED_KICK);
	KUNIT_EXPECT_TRUE(test, channel_send(ch));
	note = list_read(list);
	KUNIT_ASSERT_NOT_NULL(test, note);
	KUNIT_EXPECT_EQ(test, note->msgid, 2u);

	/* The third is withheld no more; closing loses nothing. */
	KUNIT_EXPECT_TRUE(test, channel_send(ch));
	channel_close(ch);
	KUNIT_EXPECT_EQ(test, ch->tx.done, ch->tx.submitted);
	/* The list is gone with its last user; its ring is not read again. */
	fake_break(test, f);
}

static void list__close_tells_all_in_order(struct kunit *test)
{
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	/* A second user, so that the list outlives the channel. */
	struct dd_list *list = list_make(test, f, 1 + channel_slots(2));
	const struct dd_note *note;
	u32 i;

	refcount_inc(&list->obj.users);
	list->users++;
	channel_open(test, ch, list, 2, 7);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, channel_send(ch));
	KUNIT_EXPECT_FALSE(test, channel_send(ch));
	channel_close(ch);
	KUNIT_EXPECT_EQ(test, ch->tx.done, 3ull);
	for (i = 1; i <= 3; i++) {
		note = list_read(list);
		KUNIT_ASSERT_NOT_NULL(test, note);
		KUNIT_EXPECT_EQ(test, note->type, DD_NOTE_DATA);
		KUNIT_EXPECT_EQ(test, note->msgid, i);
	}
	note = list_read(list);
	KUNIT_ASSERT_NOT_NULL(test, note);
	KUNIT_EXPECT_EQ(test, note->type, DD_NOTE_CLOSE);
	KUNIT_EXPECT_EQ(test, note->conn, 7u);
	KUNIT_EXPECT_NULL(test, list_read(list));
	dd_list_detach(list, 1, 0);
	fake_break(test, f);
}

static void list__bad_heads_give_no_credit(struct kunit *test)
{
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	struct dd_list *list = list_make(test, f, channel_slots(1));
	static const u64 bad[] = { 3, 1000, S64_MAX, U64_MAX - 1, U64_MAX };
	int i;

	channel_open(test, ch, list, 1, 1);
	KUNIT_EXPECT_TRUE(test, channel_send(ch));
	KUNIT_EXPECT_TRUE(test, channel_send(ch));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		list->head->head = bad[i];
		KUNIT_EXPECT_EQ(test, dd_list_head_pos(list), 0ull);
		dd_list_kick(list);
		KUNIT_EXPECT_FALSE(test, channel_send(ch));
		KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&list->tail), 1ull);
	}
	list->head->head = 1;
	dd_list_kick(list);
	KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&list->tail), 2ull);
	channel_close(ch);
	fake_break(test, f);
}

static void list__growth_keeps_unread_notes(struct kunit *test)
{
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	struct dd_list *list = list_make(test, f, channel_slots(6));
	u64 before = list->head->geometry;
	const struct dd_note *note;
	u32 i, read = 0;

	channel_open(test, ch, list, 6, 9);
	/* Start in the middle of the ring, so that the unread ones wrap. */
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_TRUE(test, channel_send(ch));
		KUNIT_ASSERT_NOT_NULL(test, list_read(list));
		read++;
	}
	for (i = 0; i < 7; i++)
		KUNIT_ASSERT_TRUE(test, channel_send(ch));
	KUNIT_ASSERT_EQ(test, dd_list_reserve(list, 100, 1), 0);
	refcount_inc(&list->obj.users);
	KUNIT_EXPECT_NE(test, list->head->geometry, before);
	KUNIT_EXPECT_GE(test, dd_geometry_slots(list->geometry), 108u);
	while ((note = list_read(list)))
		KUNIT_EXPECT_EQ(test, note->msgid, ++read);
	KUNIT_EXPECT_EQ(test, read, 12u);
	dd_list_detach(list, 100, 0);
	channel_close(ch);
	fake_break(test, f);
}

static void list__posts_wait_while_the_ring_moves(struct kunit *test)
{
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	struct dd_list *list = list_make(test, f, channel_slots(4));
	u64 tail;

	channel_open(test, ch, list, 4, 3);
	tail = atomic64_fetch_or(DD_LIST_MOVING, &list->tail);
	KUNIT_EXPECT_TRUE(test, channel_send(ch));
	KUNIT_EXPECT_EQ(test, ch->tx.done, 0ull);
	KUNIT_EXPECT_FALSE(test, channel_send(ch));
	dd_list_kick(list);	/* must neither post nor loop */
	KUNIT_EXPECT_EQ(test, ch->tx.done, 0ull);
	atomic64_set(&list->tail, tail);
	dd_list_kick(list);
	KUNIT_EXPECT_EQ(test, ch->tx.done, 1ull);
	channel_close(ch);
	fake_break(test, f);
}

/* A ring that grows on another CPU. */
struct growth {
	struct work_struct work;
	struct task_struct *worker;
	struct dd_list *list;
	u32 slots;
	int err;
	bool done;
};

static void growth_work(struct work_struct *work)
{
	struct growth *g = container_of(work, struct growth, work);

	WRITE_ONCE(g->worker, current);
	g->err = dd_list_reserve(g->list, g->slots, 1);
	WRITE_ONCE(g->done, true);
}

/* A note is being posted when the ring begins to grow: it is not left behind. */
static void list__growth_waits_for_a_note_in_the_making(struct kunit *test)
{
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	struct dd_list *list = list_make(test, f, channel_slots(4));
	u64 before = list->geometry, pos;
	const struct dd_note *read;
	struct dd_note *note;
	struct growth g = { .list = list, .slots = 100 };
	u32 i, slots = dd_geometry_slots(before);
	bool waits;

	if (num_online_cpus() < 2) {
		dd_list_detach(list, channel_slots(4), 0);
		fake_break(test, f);
		kunit_skip(test, "one CPU");
	}
	channel_open(test, ch, list, 4, 3);
	/* Once around: the next note lies elsewhere in a ring that is larger. */
	for (i = 0; i < slots; i++) {
		KUNIT_ASSERT_TRUE(test, channel_send(ch));
		KUNIT_ASSERT_NOT_NULL(test, list_read(list));
	}
	INIT_WORK_ONSTACK(&g.work, growth_work);
	spin_lock(&ch->rx.lock);
	note = dd_list_claim(list, &pos);
	schedule_work_on(cpumask_any_but(cpu_online_mask, smp_processor_id()),
			 &g.work);
	while (!READ_ONCE(g.worker))
		cpu_relax();
	/* From there on it sleeps for one reason only: it waits for this CPU. */
	while (!READ_ONCE(g.done) && READ_ONCE(list->geometry) == before &&
	       (!dd_list_moving(list) || task_is_running(g.worker)))
		cpu_relax();
	waits = dd_list_moving(list) && READ_ONCE(list->geometry) == before;
	if (note) {
		note->conn = 3;
		note->msgid = 77;
		dd_list_commit(list, note, pos);
	}
	spin_unlock(&ch->rx.lock);
	flush_work(&g.work);
	destroy_work_on_stack(&g.work);
	KUNIT_EXPECT_NOT_NULL(test, note);
	KUNIT_EXPECT_TRUE(test, waits);
	KUNIT_ASSERT_EQ(test, g.err, 0);
	refcount_inc(&list->obj.users);
	KUNIT_EXPECT_NE(test, list->geometry, before);
	read = list_read(list);
	KUNIT_EXPECT_EQ(test, read ? read->msgid : 0, 77u);
	dd_list_detach(list, 100, 0);
	channel_close(ch);
	fake_break(test, f);
}

/* The reader has overwritten the sequence number that marks a note as posted. */
static void list__growth_ends_whatever_the_reader_writes(struct kunit *test)
{
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	struct dd_list *list = list_make(test, f, channel_slots(4));

	channel_open(test, ch, list, 4, 3);
	KUNIT_ASSERT_TRUE(test, channel_send(ch));
	list_slot(list, list->geometry, 0)->seq = 0;
	KUNIT_ASSERT_EQ(test, dd_list_reserve(list, 100, 1), 0);
	refcount_inc(&list->obj.users);
	KUNIT_EXPECT_GE(test, dd_geometry_slots(list->geometry), 105u);
	KUNIT_EXPECT_FALSE(test, dd_list_moving(list));
	dd_list_detach(list, 100, 0);
	channel_close(ch);
	fake_break(test, f);
}

static bool softirq_ran;

static void softirq_probe(struct tasklet_struct *t)
{
	WRITE_ONCE(softirq_ran, true);
}

/* With interrupts disabled nothing but the code under test can run one. */
static void list__no_softirq_while_a_channel_is_locked(struct kunit *test)
{
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	struct dd_list *list = list_make(test, f, channel_slots(1));
	struct dd_channel *rx = &ch->rx;
	struct tasklet_struct probe;
	unsigned long flags;
	bool ran;

	tasklet_setup(&probe, softirq_probe);
	channel_open(test, ch, list, 1, 3);
	softirq_ran = false;
	spin_lock_irqsave(&rx->lock, flags);
	tasklet_schedule(&probe);
	/* There is credit, so that this takes it off again. */
	dd_list_pend(list, &rx->pend);
	dd_list_unpend(list, &rx->pend);
	ran = READ_ONCE(softirq_ran);
	spin_unlock_irqrestore(&rx->lock, flags);
	tasklet_kill(&probe);
	KUNIT_EXPECT_FALSE(test, ran);
	channel_close(ch);
	fake_break(test, f);
}

/* One kick posts a bounded number of withheld notes. */
static void list__a_kick_is_bounded(struct kunit *test)
{
	enum { N = 3 * DD_KICK_MAX };
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kcalloc(test, N, sizeof(*ch), GFP_KERNEL);
	struct dd_list *list = list_make(test, f, N * channel_slots(1));
	u32 i, n, posted = 0, kicks = 0;

	for (i = 0; i < N; i++) {
		channel_open(test, &ch[i], list, 1, i + 1);
		KUNIT_ASSERT_TRUE(test, channel_send(&ch[i]));
		KUNIT_ASSERT_TRUE(test, channel_send(&ch[i]));
		KUNIT_ASSERT_EQ(test, ch[i].tx.done, 1ull);
	}
	list->head->head = N;
	while (posted < N) {
		dd_list_kick(list);
		for (i = 0, n = 0; i < N; i++)
			n += ch[i].tx.done == 2;
		KUNIT_ASSERT_GT(test, n, posted);
		KUNIT_EXPECT_LE(test, n - posted, (u32)DD_KICK_MAX);
		if (n < N)
			KUNIT_EXPECT_TRUE(test, list->head->flags & DD_LIST_NEED_KICK);
		posted = n;
		kicks++;
	}
	KUNIT_EXPECT_GE(test, kicks, (u32)(N / DD_KICK_MAX));
	KUNIT_EXPECT_FALSE(test, list->head->flags & DD_LIST_NEED_KICK);
	list->head->head = 2 * N;
	refcount_add(N - 1, &list->obj.users);
	list->users = N;
	for (i = 0; i < N; i++)
		channel_close(&ch[i]);
	fake_break(test, f);
}

static void list__room_of_the_departed_comes_back(struct kunit *test)
{
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	struct dd_list *list = list_make(test, f, 1);
	u32 i, units = dd_geometry_slots(list->geometry);

	for (i = 0; i < 100; i++) {
		KUNIT_ASSERT_EQ(test, dd_list_reserve(list, channel_slots(1), 1), 0);
		refcount_inc(&list->obj.users);
		channel_open(test, ch, list, 1, i + 1);
		KUNIT_ASSERT_TRUE(test, channel_send(ch));
		channel_close(ch);
		/* A reader one connection behind. */
		if (i)
			while (list->head->head < 2ull * i)
				KUNIT_ASSERT_NOT_NULL(test, list_read(list));
	}
	KUNIT_EXPECT_LE(test, dd_geometry_slots(list->geometry), 8 * units);
	while (list_read(list))
		;
	mutex_lock(&list->lock);
	list->reserved -= dd_deferred_reap(&list->deferred, list->head->head);
	mutex_unlock(&list->lock);
	KUNIT_EXPECT_EQ(test, list->reserved, 1u);
	dd_list_detach(list, 1, 0);
	fake_break(test, f);
}

/* Each reason to refuse bytes is asked about when they arrive, whatever link they use. */
static void deposit__asks_on_arrival(struct kunit *test)
{
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	struct dd_list *list = list_make(test, f, channel_slots(1));
	struct dd_channel *rx = &ch->rx;
	u64 at = 0;

	channel_open(test, ch, list, 1, 3);
	ch->seg.mem.offset = 4096;
	ch->seg.mem.length = 64;
	spin_lock_bh(&rx->lock);
	KUNIT_EXPECT_EQ(test, dd_deposit_at(rx, DD_RIGHT_PUT, 8, 56, &at), 0);
	KUNIT_EXPECT_EQ(test, at, 4104u);
	KUNIT_EXPECT_EQ(test, dd_deposit_at(rx, DD_RIGHT_PUT, 64, 0, &at), 0);
	KUNIT_EXPECT_EQ(test, dd_deposit_at(rx, DD_RIGHT_PUT, 8, 57, &at), -ERANGE);
	KUNIT_EXPECT_EQ(test, dd_deposit_at(rx, DD_RIGHT_PUT, U64_MAX, 1, &at), -ERANGE);
	ch->seg.flags = DD_SEGMENT_INHIBITED;
	KUNIT_EXPECT_EQ_MSG(test, dd_deposit_at(rx, DD_RIGHT_PUT, 0, 8, &at), -EACCES,
			    "inhibit is not asked on arrival");
	ch->seg.flags = 0;
	rx->rights = 0;
	KUNIT_EXPECT_EQ_MSG(test, dd_deposit_at(rx, DD_RIGHT_PUT, 0, 8, &at), -EACCES,
			    "rights are not asked on arrival");
	rx->rights = DD_RIGHT_PUT;
	ch->seg.generation++;
	KUNIT_EXPECT_EQ_MSG(test, dd_deposit_at(rx, DD_RIGHT_PUT, 0, 8, &at), -ECONNRESET,
			    "the generation is not asked on arrival");
	ch->seg.generation--;
	rx->dead = true;
	KUNIT_EXPECT_EQ_MSG(test, dd_deposit_at(rx, DD_RIGHT_PUT, 0, 8, &at), -ECONNRESET,
			    "the dead mark is not asked on arrival");
	rx->dead = false;
	spin_unlock_bh(&rx->lock);
	channel_close(ch);
	fake_break(test, f);
}

/* A channel has no right that its segment does not have. */
static void channel__rights_are_those_of_the_segment(struct kunit *test)
{
	struct dd_node *node = kunit_kzalloc(test, sizeof(*node), GFP_KERNEL);
	struct dd_segment seg = {}, next = {};
	struct dd_channel ch = {};

	dd_segment_init(&seg, node, 0);
	dd_segment_init(&next, node, DD_RIGHT_PUT);
	KUNIT_EXPECT_GT(test, next.generation, seg.generation);
	dd_channel_init(&ch, &seg);
	KUNIT_EXPECT_TRUE(test, ch.dead);
	dd_channel_open(&ch, DD_RIGHT_PUT, 1);
	KUNIT_EXPECT_EQ(test, ch.rights, 0);
	dd_channel_init(&ch, &next);
	dd_channel_open(&ch, DD_RIGHT_PUT, 1);
	KUNIT_EXPECT_EQ(test, ch.rights, DD_RIGHT_PUT);
}

/* Any order of sends, reads, opens and closes: nothing lost, doubled, torn. */
static void list__random_lives(struct kunit *test)
{
	enum { N = 12 };
	struct fake *f = fake_make(test);
	struct channel *ch = kunit_kcalloc(test, N, sizeof(*ch), GFP_KERNEL);
	struct dd_list *list = list_make(test, f, 1);
	const struct dd_note *note;
	u64 posted = 0, read = 0;
	int round, i;

	for (round = 0; round < 20000; round++) {
		struct channel *c = &ch[get_random_u32() % N];
		u32 dice = get_random_u32() % 16;

		if (!c->attached) {
			u32 window = 1 + get_random_u32() % 5;

			/* Its former life must have been read to the end. */
			if (c->credit.extra > list->head->head)
				goto drink;
			KUNIT_ASSERT_EQ(test, 0, dd_list_reserve(list, channel_slots(window), 1));
			refcount_inc(&list->obj.users);
			channel_open(test, c, list, window, c - ch + 1);
		} else if (dice == 0) {
			posted += c->tx.submitted + 1;
			channel_close(c);
			KUNIT_ASSERT_EQ(test, c->tx.done, c->tx.submitted);
		} else if (dice < 9) {
			channel_send(c);
		} else {
drink:
			note = list_read(list);
			if (!note)
				continue;
			read++;
			c = &ch[note->conn - 1];
			if (note->type == DD_NOTE_DATA)
				KUNIT_ASSERT_EQ(test, (u64)note->msgid, ++c->consumed);
			else
				KUNIT_ASSERT_EQ(test, c->consumed, c->rx.received);
		}
		KUNIT_ASSERT_LE(test, (u64)atomic64_read(&list->tail) - list->head->head,
				(u64)dd_geometry_slots(list->geometry));
	}
	for (i = 0; i < N; i++)
		if (ch[i].attached) {
			posted += ch[i].tx.submitted + 1;
			channel_close(&ch[i]);
		}
	while (list_read(list))
		read++;
	KUNIT_EXPECT_EQ(test, read, posted);
	dd_list_detach(list, 1, 0);
	fake_break(test, f);
}

static struct kunit_case list_cases[] = {
	KUNIT_CASE(list__withholds_and_lets_in),
	KUNIT_CASE(list__close_tells_all_in_order),
	KUNIT_CASE(list__bad_heads_give_no_credit),
	KUNIT_CASE(list__growth_keeps_unread_notes),
	KUNIT_CASE(list__posts_wait_while_the_ring_moves),
	KUNIT_CASE(list__growth_waits_for_a_note_in_the_making),
	KUNIT_CASE(list__growth_ends_whatever_the_reader_writes),
	KUNIT_CASE(list__no_softirq_while_a_channel_is_locked),
	KUNIT_CASE(list__a_kick_is_bounded),
	KUNIT_CASE(list__room_of_the_departed_comes_back),
	KUNIT_CASE(list__random_lives),
	KUNIT_CASE(deposit__asks_on_arrival),
	KUNIT_CASE(channel__rights_are_those_of_the_segment),
	{}
};

static struct kunit_suite list_suite = {
	.name = "dd_list",
	.test_cases = list_cases,
};

kunit_test_suites(&area_suite, &list_suite);

MODULE_DESCRIPTION("Unit tests of dd.ko");
MODULE_LICENSE("GPL");
