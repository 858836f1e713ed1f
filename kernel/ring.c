// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct rings: what a receiver finds the notes of another process in.
 *
 * A ring belongs to the note list it feeds, and stays as long as that: only
 * who may write to it changes, once it is empty and the old sender's windows
 * are revoked. So a receiver never looks at a ring that is gone. What a sender
 * writes is looked at here for reports only, except @seq, of which any value
 * is a value that a stranger to the ring could be told as well.
 *
 * A list has few of them, since its reader looks at all. When there is none
 * left for somebody who sends, the one is taken back that the least has come
 * by, if that is little beside what he sends: at a moment when all that it has
 * carried was read, and nobody can store to it. So what its sender sends from
 * then on may come by any other way.
 */
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "direct.h"
#include "dd.h"

#define DD_RING_MIN_SLOTS	64u
#define DD_RING_MAX_SLOTS	4096u
/* Of a context: others decide how many lists of it have rings. */
#define DD_RING_PAGES		1024
/* Jiffies: what has come by a ring is counted for so long, at least. */
#define DD_RING_TERM		(HZ / 2)
/* Likewise: of a list, after one was to be taken back, none is. */
#define DD_RING_PAUSE		(HZ / 100 + 1)
/* Who is to get a ring of somebody else sends so many times as much. */
#define DD_RING_MORE		4

/* ---- rings -------------------------------------------------------------- */

/* A list's rings, or NULL. */
struct dd_rings *dd_rings_of(const struct dd_list *list)
{
	/* Pairs with dd_rings_create(). */
	return smp_load_acquire(&list->rings);
}

/**
 * dd_rings_ready() - whether a direct ring of a list has a note
 * @list: the list
 *
 * To find none means something only after dd_rings_arm().
 *
 * Return: whether the receiver would find one, or what looks like one.
 */
bool dd_rings_ready(const struct dd_list *list)
{
	return dd_rings_have(dd_rings_of(list));
}

/**
 * dd_rings_arm() - have senders say when they have posted
 * @list: the list, on whose wait queue, or on whose context's, the caller is
 *
 * A full barrier: then the caller looks for notes.
 */
void dd_rings_arm(const struct dd_list *list)
{
	dd_rings_need_wake(dd_rings_of(list), 1);
}

/**
 * dd_rings_disarm() - somebody has posted, and its receivers are about to look
 * @list: the list, whose wait queue is woken after this
 */
void dd_rings_disarm(const struct dd_list *list)
{
	dd_rings_need_wake(dd_rings_of(list), 0);
	/* Who turns SIGIO on does that first, and arms then. */
	if (unlikely(READ_ONCE(list->obj.ctx->fasync)))
		dd_rings_arm(list);
}

/* The slots of a ring, and its state. */
static u32 dd_ring_pages(u32 slots)
{
	return 1 + slots / DD_PAGE_NOTES;
}

static size_t dd_ring_bytes(u32 slots)
{
	return struct_size((struct dd_ring *)NULL, page, slots / DD_PAGE_NOTES);
}

static void dd_ring_free(struct dd_ctx *ctx, struct dd_ring *ring)
{
	u32 pages = dd_ring_pages(ring->slots);

	WARN_ON_ONCE(ring->from);
	dd_area_free(&ctx->area, ring->unit, pages * DD_PAGE_UNITS);
	atomic_sub(pages, &ctx->ring_pages);
	dd_uncharge(ctx, dd_ring_bytes(ring->slots));
	kfree(ring);
}

/* Of the receiver's area, and charged as that. */
static int dd_ring_alloc(struct dd_ctx *ctx, struct dd_ring *ring, u32 pages)
{
	int err = -ENOSPC;

	if (atomic_add_return(pages, &ctx->ring_pages) <= DD_RING_PAGES)
		err = dd_area_alloc_pages(&ctx->area, pages, &ring->unit);
	if (err)
		atomic_sub(pages, &ctx->ring_pages);
	return err;
}

static struct dd_ring *dd_ring_create(struct dd_ctx *ctx, u32 slots)
{
	struct dd_area *area = &ctx->area;
	u32 i, n = slots / DD_PAGE_NOTES;
	struct dd_ring *ring;
	int err;

	err = dd_charge(ctx, dd_ring_bytes(slots));
	if (err)
		return ERR_PTR(err);
	err = -ENOMEM;
	ring = kzalloc(dd_ring_bytes(slots), dd_gfp(ctx));
	if (ring)
		err = dd_ring_alloc(ctx, ring, dd_ring_pages(slots));
	if (err) {
		dd_uncharge(ctx, dd_ring_bytes(slots));
		kfree(ring);
		return ERR_PTR(err);
	}
	INIT_LIST_HEAD(&ring->feeds);
	ring->slots = slots;
	ring->state = dd_area_unit(area, ring->unit);
	ring->state->slots = slots;
	ring->state->want = U64_MAX;
	ring->room = RB_ROOT_CACHED;
	for (i = 0; i < n; i++)
		ring->page[i] = dd_area_unit(area, ring->unit +
					     (1 + i) * DD_PAGE_UNITS);
	return ring;
}

static struct dd_rings *dd_rings_create(struct dd_ctx *ctx)
{
	struct dd_rings *rings;
	int err;

	err = dd_charge(ctx, sizeof(*rings));
	if (err)
		return ERR_PTR(err);
	err = -ENOMEM;
	rings = kzalloc(sizeof(*rings), dd_gfp(ctx));
	if (rings)
		err = dd_area_alloc(&ctx->area, 1, &rings->unit);
	if (err) {
		dd_uncharge(ctx, sizeof(*rings));
		kfree(rings);
		return ERR_PTR(err);
	}
	rings->table = dd_area_unit(&ctx->area, rings->unit);
	return rings;
}

static void dd_rings_destroy(struct dd_ctx *ctx, struct dd_rings *rings)
{
	while (rings->n)
		dd_ring_free(ctx, rings->ring[--rings->n]);
	dd_area_free(&ctx->area, rings->unit, 1);
	dd_uncharge(ctx, sizeof(*rings));
	kfree(rings);
}

/* A list is gone, and with it all who might look at its rings. */
void dd_rings_free(struct dd_list *list)
{
	if (list->rings)
		dd_rings_destroy(list->obj.ctx, list->rings);
}

static void dd_rings_attach(struct dd_list *list, struct dd_rings *rings)
{
	WRITE_ONCE(list->head->rings_unit, rings->unit);
	rings->pause = jiffies;
	/* Pairs with dd_rings_of(). */
	smp_store_release(&list->rings, rings);
}

/* Show a ring to the receiver, and to those who look for it. */
static void dd_rings_add(struct dd_list *list, struct dd_ring *ring)
{
	struct dd_rings *rings = list->rings;
	u32 n = rings->n;

	rings->ring[n] = ring;
	WRITE_ONCE(rings->table[n], ring->unit);
	/* Pairs with dd_rings_count(). */
	smp_store_release(&rings->n, n + 1);
	/* Pairs with the receiver, which then reads the table. */
	smp_store_release(&list->head->rings, n + 1);
}

/* ---- whose a ring is ---------------------------------------------------- */

/*
 * The next sender must not pass for those before it, whose ends may be known to
 * the receiver still. What they sent has been read, or the ring would not be
 * given away; so nothing is lost if their cells do not name it any more.
 */
static void dd_ring_disown(struct dd_ring *ring)
{
	struct dd_feed *feed, *next;

	list_for_each_entry_safe(feed, next, &ring->feeds, on_ring) {
		WRITE_ONCE(feed->cell->ring, 0);
		list_del_init(&feed->on_ring);
	}
	/* Before anything of the next sender's. */
	smp_wmb();
}

/* Whether there are windows to let a context write to a ring. */
static int dd_ring_kit_fits(struct dd_ring_kit *kit, const struct dd_ring *ring)
{
	u32 pages = ring->slots / DD_PAGE_NOTES;

	if (kit->view && kit->notes && kit->notes->npages == pages)
		return 0;
	kit->want_pages = pages;
	return -EAGAIN;
}

/* Let a context write to a ring that is nobody's, by windows of the kit. */
static void dd_ring_claim(struct dd_ring *ring, struct dd_ctx *ctx,
			  struct dd_ring_kit *kit)
{
	void *state = ring->state;
	u32 i;

	dd_ring_disown(ring);
	/* The last one may have written numbers that are yet to come. */
	for (i = 0; i < ring->slots / DD_PAGE_NOTES; i++)
		memset(ring->page[i], 0, PAGE_SIZE);
	dd_window_show(kit->notes, ring->page, false);
	dd_window_show(kit->view, &state, true);
	ring->notes = kit->notes;
	ring->view = kit->view;
	kit->notes = NULL;
	kit->view = NULL;
	ring->start = dd_ring_head(ring);
	ring->seen = ring->start;
	ring->since = jiffies;
	ring->rate = U64_MAX;
	/* Who sleeps now has not seen this one. */
	WRITE_ONCE(ring->state->need_wake, 1);
	ring->from = dd_ctx_get(ctx);
}

/*
 * Of several threads of a process that is gone, one may have taken a position
 * and not filled it. What others posted behind it is to be read: nobody can
 * write to the ring any more, so the holes can be filled.
 */
static void dd_ring_mend(struct dd_ring *ring)
{
	u64 head = dd_ring_head(ring), pos = head + ring->slots;

	while (pos != head && !dd_ring_has(ring, pos - 1))
		pos--;
	while (pos-- != head) {
		struct dd_ring_note *note = dd_ring_slot(ring, pos);

		if (dd_ring_has(ring, pos))
			continue;
		WRITE_ONCE(note->conn, 0);
		/* The reader loads the number first. */
		smp_store_release(&note->seq, pos + 1);
	}
}

static void dd_ring_revoke(struct dd_ring *ring)
{
	dd_window_revoke(ring->notes);
	dd_window_revoke(ring->view);
	ring->notes = NULL;
	ring->view = NULL;
	dd_ring_mend(ring);
	dd_ctx_put(ring->from);
	ring->from = NULL;
}

/* Slots for a ring that is new: more than all that the context has here. */
static u32 dd_ring_size(const struct dd_rings *rings, const struct dd_ctx *ctx,
			u32 slots)
{
	u32 i;

	slots = max_t(u32, DD_RING_MIN_SLOTS, roundup_pow_of_two(slots));
	slots = max_t(u32, slots, DD_PAGE_NOTES);
	for (i = 0; i < rings->n; i++)
		if (rings->ring[i]->from == ctx)
			slots = max(slots, 2 * rings->ring[i]->slots);
	return slots;
}

static struct dd_ring *dd_ring_new(struct dd_list *list, struct dd_ctx *ctx,
				   u32 slots, struct dd_ring_kit *kit)
{
	struct dd_ring *ring = kit->ring;

	slots = dd_ring_size(list->rings, ctx, slots);
	if (slots > DD_RING_MAX_SLOTS || list->rings->n == DD_RINGS_MAX ||
	    kit->full)
		return ERR_PTR(-ENOSPC);
	if (!ring || ring->slots != slots) {
		kit->want_slots = slots;
		return ERR_PTR(-EAGAIN);
	}
	if (dd_ring_kit_fits(kit, ring))
		return ERR_PTR(-EAGAIN);
	kit->ring = NULL;
	dd_ring_claim(ring, ctx, kit);
	dd_rings_add(list, ring);
	return ring;
}

/* ---- taking a ring back -------------------------------------------------- */

/* Whether there is no note in a ring, not even behind a position left out. */
static bool dd_ring_drained(const struct dd_ring *ring, u64 head)
{
	u64 pos;

	for (pos = head; pos != head + ring->slots; pos++)
		if (dd_ring_has(ring, pos))
			return false;
	return true;
}

/*
 * Take a ring from its sender, if it is drained while nobody can store to it.
 * The fault handler waits meanwhile, so that this shows to nobody if it is not.
 * If it is, every note of a position before its head has been read, and no note
 * of another one is there or will be: so the sender can ask which of the two is
 * true of the one that it was storing.
 */
static bool dd_ring_evict(struct dd_ring *ring)
{
	struct dd_feed *feed;
	bool drained;
	u64 head;

	dd_window_hold(ring->notes);
	head = dd_ring_head(ring);
	drained = dd_ring_drained(ring, head);
	if (drained)
		list_for_each_entry(feed, &ring->feeds, on_ring)
			dd_feed_leave(feed, head);
	/* Who finds it dead finds that he was told. */
	dd_window_release(ring->notes, drained);
	if (!drained)
		return false;
	ring->users = 0;
	ring->reserved = 0;
	ring->linger = (struct dd_linger){};
	dd_ring_revoke(ring);
	return true;
}

/*
 * Take a ring from its sender at once, with whatever is in it, which stays there
 * for the reader. Nobody can store to it when the last notes are looked for; and
 * since an end posts one note after the other, what it has posted up to its last
 * note is there.
 */
static void dd_ring_stop(struct dd_ring *ring)
{
	struct dd_feed *feed;
	u64 end;

	dd_window_hold(ring->notes);
	list_for_each_entry(feed, &ring->feeds, on_ring)
		dd_feed_leave(feed, dd_feed_arrived(feed, &end));
	/* A sender that finds it dead finds @left. */
	dd_window_release(ring->notes, true);
	list_for_each_entry(feed, &ring->feeds, on_ring)
		dd_feed_hide(feed);
	ring->users = 0;
	ring->reserved = 0;
	ring->linger = (struct dd_linger){};
	dd_ring_revoke(ring);
}

/**
 * dd_rings_stop() - take all direct rings of a list from their senders
 * @list: the list
 */
void dd_rings_stop(struct dd_list *list)
{
	u32 i, n;

	mutex_lock(&list->lock);
	n = dd_rings_count(list->rings);
	for (i = 0; i < n; i++)
		if (list->rings->ring[i]->from)
			dd_ring_stop(list->rings->ring[i]);
	mutex_unlock(&list->lock);
	/* A sender that waits for its ring is to learn that it has none. */
	wake_up_interruptible_all(&list->room);
}

/* Notes that come by a ring in a second; it is too early to tell of a new one. */
static u64 dd_ring_rate(struct dd_ring *ring)
{
	unsigned long took = jiffies - ring->since;
	u64 head = dd_ring_head(ring);

	if (took >= DD_RING_TERM) {
		ring->rate = div64_ul(min_t(u64, head - ring->seen, U32_MAX) *
				      HZ, took);
		ring->seen = head;
		ring->since += took;
	}
	return ring->rate;
}

/*
 * Messages that a connection has sent by the kernel in a second, since it was
 * refused a ring before; 0 until that can be told. Who was is known by a pointer
 * that nobody follows; others may take its place, and then it is as if new.
 */
static u64 dd_rings_refused(struct dd_rings *rings, const struct dd_conn *conn)
{
	struct dd_asker *who = &rings->refused[hash_ptr(conn,
							ilog2(DD_RINGS_MAX))];
	u64 sent = READ_ONCE(conn->imp.submitted);
	unsigned long took = jiffies - who->since;

	if (who->conn != conn || sent < who->sent) {
		*who = (struct dd_asker){ .conn = conn, .sent = sent,
					  .since = jiffies };
	} else if (took >= DD_RING_TERM) {
		who->rate = div64_ul(min_t(u64, sent - who->sent, U32_MAX) * HZ,
				     took);
		who->sent = sent;
		who->since += took;
	}
	return who->rate;
}

/*
 * The ring that the fewest notes come by, if those are not more than @most; none
 * for who has one. What does not look drained now is passed over.
 */
static struct dd_ring *dd_ring_choose(const struct dd_rings *rings,
				      const struct dd_ctx *ctx, u32 slots,
				      u64 most)
{
	struct dd_ring *ring, *best = NULL;
	u32 i;

	for (i = 0; i < rings->n; i++)
		if (rings->ring[i]->from == ctx)
			return NULL;
	for (i = 0; i < rings->n; i++) {
		ring = rings->ring[i];
		if (!ring->from || slots > ring->slots ||
		    dd_ring_rate(ring) > most ||
		    (best && ring->rate >= best->rate) ||
		    !dd_ring_drained(ring, dd_ring_head(ring)))
			continue;
		best = ring;
	}
	return best;
}

/* A ring that was somebody else's, or -ENOSPC. */
static struct dd_ring *dd_ring_take(struct dd_list *list,
				    const struct dd_conn *conn, u32 slots,
				    struct dd_ring_kit *kit)
{
	struct dd_rings *rings = list->rings;
	u64 rate = dd_rings_refused(rings, conn);
	struct dd_ring *ring;

	if (time_before(jiffies, rings->pause))
		return ERR_PTR(-ENOSPC);
	ring = dd_ring_choose(rings, conn->obj.ctx, slots, rate / DD_RING_MORE);
	if (!ring)
		return ERR_PTR(-ENOSPC);
	if (dd_ring_kit_fits(kit, ring))
		return ERR_PTR(-EAGAIN);
	rings->pause = jiffies + DD_RING_PAUSE;
	if (!dd_ring_evict(ring))
		return ERR_PTR(-ENOSPC);
	/* Nothing that its sender may wait for will come by it. */
	wake_up_interruptible_all(&list->room);
	dd_stat_inc(list->obj.ctx->node, DD_STAT_RINGS_TAKEN);
	dd_ring_claim(ring, conn->obj.ctx, kit);
	return ring;
}

/* ---- giving one ---------------------------------------------------------- */

/**
 * dd_ring_kit_fill() - allocate what dd_ring_get() wants
 * @kit: where it says so
 * @owner: context of the list, which is not locked; charged for the ring
 * @ctx: context of the sender, locked; it has the windows
 *
 * Return: 0 or an error.
 */
int dd_ring_kit_fill(struct dd_ring_kit *kit, struct dd_ctx *owner,
		     struct dd_ctx *ctx)
{
	struct mem_cgroup *before = dd_owner_enter(owner);
	int err = 0;

	if (kit->want_rings && !kit->rings) {
		kit->rings = dd_rings_create(owner);
		err = PTR_ERR_OR_ZERO(kit->rings);
		if (err)
			kit->rings = NULL;
	}
	if (!err && kit->want_slots) {
		if (kit->ring)
			dd_ring_free(owner, kit->ring);
		kit->ring = dd_ring_create(owner, kit->want_slots);
		err = PTR_ERR_OR_ZERO(kit->ring);
		if (err)
			kit->ring = NULL;
		kit->want_slots = 0;
		if (err == -ENOSPC || err == -EDQUOT) {
			kit->full = true;
			err = 0;
		}
	}
	dd_owner_leave(before);
	if (!err && !kit->view) {
		kit->view = dd_window_create(ctx, 1, true, true);
		err = PTR_ERR_OR_ZERO(kit->view);
		if (err)
			kit->view = NULL;
	}
	if (!err && kit->want_pages) {
		if (kit->notes)
			dd_window_revoke(kit->notes);
		kit->notes = dd_window_create(ctx, kit->want_pages, false,
					      false);
		err = PTR_ERR_OR_ZERO(kit->notes);
		if (err)
			kit->notes = NULL;
		kit->want_pages = 0;
	}
	return err;
}

/* Give back what was not needed after all. */
void dd_ring_kit_drop(struct dd_ring_kit *kit, struct dd_ctx *owner)
{
	if (kit->rings)
		dd_rings_destroy(owner, kit->rings);
	if (kit->ring)
		dd_ring_free(owner, kit->ring);
	if (kit->notes)
		dd_window_revoke(kit->notes);
	if (kit->view)
		dd_window_revoke(kit->view);
}

/**
 * dd_ring_get() - a ring for an end
 * @list: what the end's messages come to, locked
 * @conn: the end, whose context is locked
 * @slots: slots that it needs
 * @kit: memory for it
 *
 * Return: a ring that its context has, or one that nobody has any more and that
 * has been read, or a new one, or somebody's who makes little use of it; with
 * room for @slots. Or an error pointer; %-EAGAIN if @kit lacks something, as it
 * then says. Nothing is allocated here.
 */
struct dd_ring *dd_ring_get(struct dd_list *list, const struct dd_conn *conn,
			    u32 slots, struct dd_ring_kit *kit)
{
	struct dd_ring *ring, *idle = NULL;
	struct dd_ctx *ctx = conn->obj.ctx;
	u32 i;

	if (!list->rings) {
		if (!kit->rings) {
			kit->want_rings = true;
			return ERR_PTR(-EAGAIN);
		}
		dd_rings_attach(list, kit->rings);
		kit->rings = NULL;
	}
	for (i = 0; i < list->rings->n; i++) {
		ring = list->rings->ring[i];
		ring->reserved -= dd_linger_reap(&ring->linger,
						 dd_ring_head(ring));
		if (ring->from == ctx && ring->reserved + slots <= ring->slots)
			return ring;
		if (!ring->from && slots <= ring->slots &&
		    !dd_ring_has(ring, dd_ring_head(ring)))
			idle = ring;
	}
	if (idle) {
		if (dd_ring_kit_fits(kit, idle))
			return ERR_PTR(-EAGAIN);
		dd_ring_claim(idle, ctx, kit);
		return idle;
	}
	ring = dd_ring_new(list, ctx, slots, kit);
	return ring == ERR_PTR(-ENOSPC) ?
	       dd_ring_take(list, conn, slots, kit) : ring;
}

/**
 * dd_ring_join() - a connection is to send by a ring
 * @ring: the ring, whose list is locked
 * @slots: slots reserved for it
 */
void dd_ring_join(struct dd_ring *ring, u32 slots)
{
	ring->users++;
	ring->reserved += slots;
}

/**
 * dd_ring_leave() - undo dd_ring_join()
 * @ring: the ring
 * @slots: as reserved then
 * @end: position after the last note that may be in those slots, 0 for none
 *
 * With the last connection the windows are revoked.
 */
void dd_ring_leave(struct dd_ring *ring, u32 slots, u64 end)
{
	if (--ring->users) {
		if (end > dd_ring_head(ring))
			dd_linger_add(&ring->linger, slots, end);
		else
			ring->reserved -= slots;
		return;
	}
	/* It is not given to anybody before all of it has been read. */
	ring->reserved = 0;
	ring->linger = (struct dd_linger){};
	dd_ring_revoke(ring);
}
