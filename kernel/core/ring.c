// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct rings: note rings that the sending process writes itself.
 *
 * A ring belongs to a note list and is freed with it, so a receiver never looks
 * at a ring that is gone. Only the sender of a ring changes: a ring that lost its
 * last connection, and has been read, goes to the next context that asks. The
 * kernel reads what a sender writes for reports only, except @seq, for which any
 * value is possible.
 *
 * A receiver polls every ring of its list, so a list has at most DD_RINGS_MAX.
 * They are given out first come, first served. A context without a ring sends
 * through the kernel and may ask again.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/area.h"
#include "core/charge.h"
#include "core/ctx.h"
#include "core/notelist.h"
#include "core/ring.h"
#include "core/window.h"

#define DD_RING_MIN_SLOTS	64u
#define DD_RING_MAX_SLOTS	4096u
/* Limit for one context: its peers decide how many of its lists have rings. */
#define DD_RING_PAGES		1024

/* ---- rings -------------------------------------------------------------- */

/* The rings of a list, or NULL. */
struct dd_rings *dd_rings_of(const struct dd_list *list)
{
	/* Pairs with dd_ring_get(). */
	return smp_load_acquire(&list->rings);
}

/**
 * dd_rings_ready() - whether a direct ring of a list has a note
 * @list: the list
 *
 * A caller that is about to sleep calls dd_rings_arm() first.
 *
 * Return: true if there is one.
 */
bool dd_rings_ready(const struct dd_list *list)
{
	return dd_rings_have(dd_rings_of(list));
}

/**
 * dd_rings_arm() - have senders wake the receiver after each note
 * @list: the list; the caller is on its wait queue or on that of its context
 *
 * A full barrier: the caller then looks for notes.
 */
void dd_rings_arm(const struct dd_list *list)
{
	dd_rings_need_wake(dd_rings_of(list), 1);
}

/**
 * dd_rings_disarm() - let senders post without a wake-up
 * @list: the list, whose wait queue the caller wakes after this
 */
void dd_rings_disarm(const struct dd_list *list)
{
	dd_rings_need_wake(dd_rings_of(list), 0);
	/* SIGIO is due for every note; enabling it sets @fasync, then arms. */
	if (unlikely(READ_ONCE(list->obj.ctx->fasync)))
		dd_rings_arm(list);
}

/* Pages of the slots and of the state. */
static u32 dd_ring_pages(u32 slots)
{
	return 1 + slots / DD_PAGE_NOTES;
}

static size_t ring_bytes(u32 slots)
{
	return struct_size((struct dd_ring *)NULL, page, slots / DD_PAGE_NOTES);
}

static void ring_free(struct dd_ctx *ctx, struct dd_ring *ring)
{
	u32 pages = dd_ring_pages(ring->slots);

	WARN_ON_ONCE(ring->from);
	dd_area_free(&ctx->area, ring->unit, pages * DD_PAGE_UNITS);
	atomic_sub(pages, &ctx->ring_pages);
	dd_zfree(ctx, ring, ring_bytes(ring->slots));
}

static struct dd_ring *ring_create(struct dd_ctx *ctx, u32 slots)
{
	u32 i, n = slots / DD_PAGE_NOTES, pages = dd_ring_pages(slots);
	struct dd_ring *ring = dd_zalloc(ctx, ring_bytes(slots));
	struct dd_area *area = &ctx->area;
	int err = -ENOSPC;

	if (IS_ERR(ring))
		return ring;
	/* Whole pages of the receiver's area, charged as area memory. */
	if (atomic_add_return(pages, &ctx->ring_pages) <= DD_RING_PAGES)
		err = dd_area_alloc_piece(area, pages * DD_PAGE_UNITS, &ring->unit);
	if (err) {
		atomic_sub(pages, &ctx->ring_pages);
		dd_zfree(ctx, ring, ring_bytes(slots));
		return ERR_PTR(err);
	}
	INIT_LIST_HEAD(&ring->rxs);
	init_waitqueue_head(&ring->wait);
	ring->slots = slots;
	ring->state = dd_area_unit(area, ring->unit);
	ring->state->slots = slots;
	for (i = 0; i < n; i++)
		ring->page[i] = dd_area_unit(area, ring->unit + (1 + i) * DD_PAGE_UNITS);
	return ring;
}

static struct dd_rings *rings_create(struct dd_ctx *ctx)
{
	struct dd_rings *rings = dd_zalloc(ctx, sizeof(*rings));
	int err;

	if (IS_ERR(rings))
		return rings;
	err = dd_area_alloc(&ctx->area, 1, &rings->unit);
	if (err) {
		dd_zfree(ctx, rings, sizeof(*rings));
		return ERR_PTR(err);
	}
	rings->table = dd_area_unit(&ctx->area, rings->unit);
	return rings;
}

/* Free the rings of a list without users: they are not read any more; or NULL. */
void dd_rings_free(struct dd_ctx *ctx, struct dd_rings *rings)
{
	if (!rings)
		return;
	while (rings->n)
		ring_free(ctx, rings->ring[--rings->n]);
	dd_area_free(&ctx->area, rings->unit, 1);
	dd_zfree(ctx, rings, sizeof(*rings));
}

/* Make a ring visible to the receiver and to dd_rings_count(). */
static void rings_add(struct dd_list *list, struct dd_ring *ring)
{
	struct dd_rings *rings = list->rings;
	u32 n = rings->n;

	rings->ring[n] = ring;
	WRITE_ONCE(rings->table[n], ring->unit);
	/* Pairs with dd_rings_count(). */
	smp_store_release(&rings->n, n + 1);
	/* Pairs with the acquire in the receiver, which then reads the table. */
	smp_store_release(&list->head->rings, n + 1);
}

/* ---- sender of a ring --------------------------------------------------- */

/* Whether there are the windows that a sender of @ring needs; if not, request them. */
static bool windows_fit(struct dd_ring_prealloc *pre, const struct dd_ring *ring)
{
	u32 pages = ring->slots / DD_PAGE_NOTES;

	if (pre->view && pre->notes && pre->notes->npages == pages)
		return true;
	pre->want_pages = pages;
	return false;
}

/* Give a ring without a sender to @ctx, with the windows of @pre. */
static void ring_claim(struct dd_ring *ring, struct dd_ctx *ctx,
		       struct dd_ring_prealloc *pre)
{
	struct dd_direct_rx *rx, *next;
	u32 i;

	/*
	 * Stop the states of closed connections from naming the ring: the new sender must
	 * not be able to post for them. Everything they sent has been read.
	 */
	list_for_each_entry_safe(rx, next, &ring->rxs, on_ring) {
		WRITE_ONCE(rx->cs->ring, 0);
		list_del_init(&rx->on_ring);
	}
	/* Orders the stores above before any note of the new sender. */
	smp_wmb();
	/* The previous sender may have stored sequence numbers of later notes. */
	for (i = 0; i < ring->slots / DD_PAGE_NOTES; i++)
		memset(ring->page[i], 0, PAGE_SIZE);
	dd_window_show(pre->notes, ring->page);
	dd_window_show(pre->view, (void **)&ring->state);
	ring->notes = pre->notes;
	ring->view = pre->view;
	pre->notes = NULL;
	pre->view = NULL;
	ring->start = dd_ring_head(ring);
	/* A receiver that is asleep has not armed this ring. */
	WRITE_ONCE(ring->state->need_wake, 1);
	ring->from = dd_ctx_get(ctx);
}

/*
 * Fill the holes that threads left which took a position and died before they
 * posted: the notes behind them are to be read. The windows are revoked, so no
 * sender writes to the ring any more.
 */
static void ring_fill_holes(struct dd_ring *ring)
{
	u64 head = dd_ring_head(ring), pos = head + ring->slots;

	while (pos != head && !dd_ring_has(ring, pos - 1))
		pos--;
	while (pos-- != head) {
		struct dd_ring_note *note = dd_ring_slot(ring, pos);

		if (dd_ring_has(ring, pos))
			continue;
		WRITE_ONCE(note->conn, 0);
		/* Pairs with the reader's acquire of the number. */
		smp_store_release(&note->seq, pos + 1);
	}
}

static struct dd_ring *ring_new(struct dd_list *list, struct dd_ctx *ctx,
				u32 slots, struct dd_ring_prealloc *pre)
{
	struct dd_rings *rings = list->rings;
	struct dd_ring *ring = pre->ring;
	u32 i;

	/* Twice the slots of the context's largest ring here. */
	slots = max_t(u32, DD_RING_MIN_SLOTS, roundup_pow_of_two(slots));
	slots = max_t(u32, slots, DD_PAGE_NOTES);
	for (i = 0; i < rings->n; i++)
		if (rings->ring[i]->from == ctx)
			slots = max(slots, 2 * rings->ring[i]->slots);
	if (slots > DD_RING_MAX_SLOTS || rings->n == DD_RINGS_MAX || pre->want_slots)
		return ERR_PTR(-ENOSPC);
	if (!ring || ring->slots != slots) {
		pre->want_slots = slots;
		return ERR_PTR(-EAGAIN);
	}
	if (!windows_fit(pre, ring))
		return ERR_PTR(-EAGAIN);
	pre->ring = NULL;
	ring_claim(ring, ctx, pre);
	rings_add(list, ring);
	return ring;
}

/* ---- getting a ring ------------------------------------------------------ */

/**
 * dd_ring_prealloc_fill() - allocate what dd_ring_get() needs
 * @pre: the memory, with the requests that dd_ring_get() has left
 * @list: the list, not locked; its owner is charged for the ring
 * @ctx: context of the sender, locked; owns the windows
 *
 * Return: 0 or an error.
 */
int dd_ring_prealloc_fill(struct dd_ring_prealloc *pre, struct dd_list *list, struct dd_ctx *ctx)
{
	struct dd_ctx *owner = list->obj.ctx;
	struct mem_cgroup *before = dd_owner_enter(owner);
	void *p = NULL;

	if (!dd_rings_of(list) && !pre->rings) {
		p = rings_create(owner);
		pre->rings = IS_ERR(p) ? NULL : p;
	}
	if (!IS_ERR(p) && pre->want_slots) {
		if (pre->ring)
			ring_free(owner, pre->ring);
		p = ring_create(owner, pre->want_slots);
		pre->ring = IS_ERR(p) ? NULL : p;
		if (p == ERR_PTR(-ENOSPC) || p == ERR_PTR(-EDQUOT))
			p = NULL;
		else
			pre->want_slots = 0;
	}
	dd_owner_leave(before);
	if (!IS_ERR(p) && !pre->view) {
		p = dd_ctx_window(ctx, 1, DD_WINDOW_READONLY);
		pre->view = IS_ERR(p) ? NULL : p;
	}
	if (!IS_ERR(p) && pre->want_pages) {
		dd_window_revoke(pre->notes);
		p = dd_ctx_window(ctx, pre->want_pages, 0);
		pre->notes = IS_ERR(p) ? NULL : p;
		pre->want_pages = 0;
	}
	return PTR_ERR_OR_ZERO(p);
}

/* Free what dd_ring_get() has not used. */
void dd_ring_prealloc_free(struct dd_ring_prealloc *pre, struct dd_ctx *owner)
{
	dd_rings_free(owner, pre->rings);
	if (pre->ring)
		ring_free(owner, pre->ring);
	dd_window_revoke(pre->notes);
	dd_window_revoke(pre->view);
}

/**
 * dd_ring_get() - find a ring for a connection
 * @list: the list that receives the connection's messages, locked
 * @ctx: the sending context, locked
 * @slots: slots that the connection needs
 * @pre: memory to use
 *
 * In this order: a ring of @ctx with room for @slots, a ring without a sender
 * that has been read, a new ring. Nothing is allocated here.
 *
 * Return: the ring; %-EAGAIN if @pre lacks something, which is then requested
 * there; %-ENOSPC if there is none to be had.
 */
struct dd_ring *dd_ring_get(struct dd_list *list, struct dd_ctx *ctx, u32 slots,
			    struct dd_ring_prealloc *pre)
{
	struct dd_ring *ring, *idle = NULL;
	u32 i;

	if (!list->rings) {
		if (!pre->rings)
			return ERR_PTR(-EAGAIN);
		WRITE_ONCE(list->head->rings_unit, pre->rings->unit);
		/* Pairs with dd_rings_of(). */
		smp_store_release(&list->rings, pre->rings);
		pre->rings = NULL;
	}
	for (i = 0; i < list->rings->n; i++) {
		ring = list->rings->ring[i];
		ring->reserved -= dd_deferred_reap(&ring->deferred, dd_ring_head(ring));
		if (ring->from == ctx && ring->reserved + slots <= ring->slots)
			return ring;
		if (!ring->from && slots <= ring->slots &&
		    !dd_ring_has(ring, dd_ring_head(ring)))
			idle = ring;
	}
	if (!idle)
		return ring_new(list, ctx, slots, pre);
	if (!windows_fit(pre, idle))
		return ERR_PTR(-EAGAIN);
	ring_claim(idle, ctx, pre);
	return idle;
}

/**
 * dd_ring_join() - account a connection to a ring
 * @ring: the ring, whose list is locked
 * @slots: slots reserved for the connection
 */
void dd_ring_join(struct dd_ring *ring, u32 slots)
{
	ring->users++;
	ring->reserved += slots;
}

/**
 * dd_ring_leave() - undo dd_ring_join()
 * @ring: the ring, whose list is locked
 * @slots: slots reserved for the connection
 * @end: position after the last unread note of the connection, or 0
 *
 * The windows are revoked with the last connection.
 */
void dd_ring_leave(struct dd_ring *ring, u32 slots, u64 end)
{
	if (--ring->users) {
		if (end > dd_ring_head(ring))
			dd_deferred_add(&ring->deferred, slots, end);
		else
			ring->reserved -= slots;
		return;
	}
	/* The ring gets no other sender before all of it has been read. */
	ring->reserved = 0;
	ring->deferred = (struct dd_deferred_slots){};
	dd_window_revoke(ring->notes);
	dd_window_revoke(ring->view);
	ring->notes = NULL;
	ring->view = NULL;
	ring_fill_holes(ring);
	dd_ctx_put(ring->from);
	ring->from = NULL;
}
