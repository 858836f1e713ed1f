// SPDX-License-Identifier: GPL-2.0-only
/*
 * The direct path: a process deposits in another one's block, and tells it, by
 * its own stores. Here it gets the means, and here they are taken away; on
 * the way of a message there is no kernel, unless somebody sleeps.
 *
 * A ring belongs to the note list it feeds, and stays as long as that: only
 * who may write to it changes, once it is empty and the old sender's windows
 * are revoked. So a receiver never looks at a ring that is gone. What a sender
 * writes is looked at here for reports only, except @seq, of which any value
 * is a value that a stranger to the ring could be told as well.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "direct.h"
#include "dd.h"
#include "trace.h"

#define DD_RING_MIN_SLOTS	64u
#define DD_RING_MAX_SLOTS	4096u
/* Of a context: others decide how many lists of it have rings. */
#define DD_RING_PAGES		1024

static bool dd_direct_on = true;
module_param_named(direct, dd_direct_on, bool, 0644);
MODULE_PARM_DESC(direct, "allow processes of this node to send directly");

/* ---- rings -------------------------------------------------------------- */

static struct dd_rings *dd_rings_of(const struct dd_list *list)
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

static void dd_rings_disarm(const struct dd_list *list)
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

static void dd_ring_free(struct dd_ctx *ctx, struct dd_ring *ring)
{
	u32 pages = dd_ring_pages(ring->slots);

	WARN_ON_ONCE(ring->from);
	dd_area_free(&ctx->area, ring->unit, pages * DD_PAGE_UNITS);
	atomic_sub(pages, &ctx->ring_pages);
	kfree(ring);
}

/* A list is gone, and with it all who might look at its rings. */
void dd_rings_free(struct dd_list *list)
{
	struct dd_rings *rings = list->rings;
	struct dd_ctx *ctx = list->obj.ctx;

	if (!rings)
		return;
	while (rings->n)
		dd_ring_free(ctx, rings->ring[--rings->n]);
	dd_area_free(&ctx->area, rings->unit, 1);
	kfree(rings);
}

/* Their memory is charged to the memory cgroup of the caller, who sends. */
static int dd_ring_alloc(struct dd_ctx *ctx, struct dd_ring *ring, u32 pages)
{
	int err = -ENOSPC;

	if (atomic_add_return(pages, &ctx->ring_pages) <= DD_RING_PAGES)
		err = dd_area_alloc_pages(&ctx->area, pages, &ring->unit);
	if (err)
		atomic_sub(pages, &ctx->ring_pages);
	return err;
}

static struct dd_ring *dd_ring_create(struct dd_list *list, u32 slots)
{
	struct dd_area *area = &list->obj.ctx->area;
	u32 i, n = slots / DD_PAGE_NOTES;
	struct dd_ring *ring;
	int err;

	ring = kzalloc(struct_size(ring, page, n), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	err = dd_ring_alloc(list->obj.ctx, ring, dd_ring_pages(slots));
	if (err) {
		kfree(ring);
		return ERR_PTR(err);
	}
	INIT_LIST_HEAD(&ring->feeds);
	ring->slots = slots;
	ring->state = dd_area_unit(area, ring->unit);
	ring->state->slots = slots;
	for (i = 0; i < n; i++)
		ring->page[i] = dd_area_unit(area, ring->unit +
					     (1 + i) * DD_PAGE_UNITS);
	return ring;
}

static int dd_rings_create(struct dd_list *list)
{
	struct dd_area *area = &list->obj.ctx->area;
	struct dd_rings *rings = kzalloc(sizeof(*rings), GFP_KERNEL_ACCOUNT);
	int err;

	if (!rings)
		return -ENOMEM;
	err = dd_area_alloc(area, 1, &rings->unit);
	if (err) {
		kfree(rings);
		return err;
	}
	rings->table = dd_area_unit(area, rings->unit);
	WRITE_ONCE(list->head->rings_unit, rings->unit);
	/* Pairs with dd_rings_of(). */
	smp_store_release(&list->rings, rings);
	return 0;
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

/* Let a context write to a ring that is nobody's. */
static int dd_ring_claim(struct dd_ring *ring, struct dd_ctx *ctx)
{
	void *state = ring->state;
	struct dd_window *win;
	u32 i;

	dd_ring_disown(ring);
	/* The last one may have written numbers that are yet to come. */
	for (i = 0; i < ring->slots / DD_PAGE_NOTES; i++)
		memset(ring->page[i], 0, PAGE_SIZE);
	win = dd_window_create(ctx, ring->page, ring->slots / DD_PAGE_NOTES,
			       false, false);
	if (IS_ERR(win))
		return PTR_ERR(win);
	ring->view = dd_window_create(ctx, &state, 1, true, true);
	if (IS_ERR(ring->view)) {
		dd_window_revoke(win);
		return PTR_ERR(ring->view);
	}
	ring->notes = win;
	ring->start = dd_ring_head(ring);
	/* Who sleeps now has not seen this one. */
	WRITE_ONCE(ring->state->need_wake, 1);
	ring->from = dd_ctx_get(ctx);
	return 0;
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
				   u32 slots)
{
	struct dd_ring *ring;
	int err;

	slots = dd_ring_size(list->rings, ctx, slots);
	if (slots > DD_RING_MAX_SLOTS || list->rings->n == DD_RINGS_MAX)
		return ERR_PTR(-ENOSPC);
	ring = dd_ring_create(list, slots);
	if (IS_ERR(ring))
		return ring;
	err = dd_ring_claim(ring, ctx);
	if (err) {
		dd_ring_free(list->obj.ctx, ring);
		return ERR_PTR(err);
	}
	dd_rings_add(list, ring);
	return ring;
}

/*
 * A ring for a context with room for @slots: one it has, one that nobody has
 * any more and that has been read, or a new one. @list is locked.
 */
static struct dd_ring *dd_ring_get(struct dd_list *list, struct dd_ctx *ctx,
				   u32 slots)
{
	struct dd_ring *ring, *idle = NULL;
	u32 i;
	int err = 0;

	if (!list->rings)
		err = dd_rings_create(list);
	if (err)
		return ERR_PTR(err);
	for (i = 0; i < list->rings->n; i++) {
		ring = list->rings->ring[i];
		if (ring->from == ctx && ring->reserved + slots <= ring->slots)
			return ring;
		if (!ring->from && slots <= ring->slots &&
		    !dd_ring_has(ring, dd_ring_head(ring)))
			idle = ring;
	}
	if (!idle)
		return dd_ring_new(list, ctx, slots);
	err = dd_ring_claim(idle, ctx);
	return err ? ERR_PTR(err) : idle;
}

static void dd_ring_join(struct dd_ring *ring, u32 slots)
{
	ring->users++;
	ring->reserved += slots;
}

static void dd_ring_leave(struct dd_ring *ring, u32 slots)
{
	ring->users--;
	ring->reserved -= slots;
	if (!ring->users)
		dd_ring_revoke(ring);
}

/* ---- granting ----------------------------------------------------------- */

static int dd_direct_allowed(const struct dd_conn *conn)
{
	const struct dd_conn *peer = conn->peer;

	if (!READ_ONCE(dd_direct_on) || !peer || !peer->seg.mem.length ||
	    !PAGE_ALIGNED(peer->seg.mem.offset) ||
	    !PAGE_ALIGNED(peer->seg.mem.length))
		return -EOPNOTSUPP;
	if (conn->nodirect || peer->nodirect)
		return -EACCES;
	return uid_eq(conn->uid, peer->uid) || peer->direct_any ? 0 : -EACCES;
}

/* What the block held is not for another user to read. */
static void dd_direct_zero(const struct dd_bytes *mem)
{
	unsigned long i, first = mem->offset >> PAGE_SHIFT;

	for (i = 0; i < mem->length >> PAGE_SHIFT; i++) {
		memset(mem->region->pages[first + i], 0, PAGE_SIZE);
		if (!(i % 256))
			cond_resched();
	}
}

/* Nothing was sent yet: from here on the notes come by the ring. */
static int dd_direct_switch(struct dd_conn *conn, struct dd_feed *feed)
{
	struct dd_conn *peer = conn->peer;
	int err = 0;

	spin_lock(&peer->seg.lock);
	if (conn->imp.submitted || conn->imp.busy) {
		err = -EBUSY;
	} else {
		peer->feed = feed;
		WRITE_ONCE(conn->imp.direct, true);
	}
	spin_unlock(&peer->seg.lock);
	if (err)
		return err;
	/* Cells are written under the lock of where their requests go. */
	spin_lock(&conn->seg.lock);
	if (!conn->seg.dead)
		WRITE_ONCE(peer->imp.cell->ring, feed->ring->unit);
	spin_unlock(&conn->seg.lock);
	return 0;
}

static struct dd_window *dd_direct_block(struct dd_conn *conn)
{
	const struct dd_bytes *mem = &conn->peer->seg.mem;

	if (!uid_eq(conn->uid, conn->peer->uid))
		dd_direct_zero(mem);
	return dd_window_create(conn->obj.ctx, mem->region->pages +
				(mem->offset >> PAGE_SHIFT),
				mem->length >> PAGE_SHIFT, false, false);
}

static int dd_direct_make(struct dd_conn *conn, struct dd_list *list)
{
	struct dd_feed *feed;
	int err;

	/* Asked for once more below; here it spares the rest. */
	if (READ_ONCE(conn->imp.submitted))
		return -EBUSY;
	feed = kzalloc(sizeof(*feed), GFP_KERNEL_ACCOUNT);
	if (!feed)
		return -ENOMEM;
	INIT_LIST_HEAD(&feed->on_ring);
	feed->cell = conn->peer->imp.cell;
	feed->slots = dd_credit_slots(conn->imp.peer_window);
	feed->ring = dd_ring_get(list, conn->obj.ctx, feed->slots);
	err = PTR_ERR_OR_ZERO(feed->ring);
	if (err)
		goto err_free;
	dd_ring_join(feed->ring, feed->slots);
	feed->block = dd_direct_block(conn);
	err = PTR_ERR_OR_ZERO(feed->block);
	if (err)
		goto err_leave;
	err = dd_direct_switch(conn, feed);
	if (err)
		goto err_window;
	list_add(&feed->on_ring, &feed->ring->feeds);
	trace_dd_direct_grant(conn, feed->ring->unit, 0);
	return 0;

err_window:
	dd_window_revoke(feed->block);
err_leave:
	dd_ring_leave(feed->ring, feed->slots);
err_free:
	kfree(feed);
	return err;
}

/* What the sending end says it has sent. */
static u64 dd_direct_count(const struct dd_conn *conn)
{
	return READ_ONCE(*(const u64 *)conn->imp.cell->sq[0].meta);
}

/* As dd_direct_make() never was; the peer's list is locked. */
static int dd_direct_unmake(struct dd_conn *conn)
{
	struct dd_conn *peer = conn->peer;
	struct dd_feed *feed = peer->feed;

	if (!feed)
		return 0;
	if (READ_ONCE(conn->imp.submitted) || dd_direct_count(conn))
		return -EBUSY;
	spin_lock(&peer->seg.lock);
	peer->feed = NULL;
	WRITE_ONCE(conn->imp.direct, false);
	spin_unlock(&peer->seg.lock);
	spin_lock(&conn->seg.lock);
	if (!conn->seg.dead)
		WRITE_ONCE(peer->imp.cell->ring, 0);
	spin_unlock(&conn->seg.lock);
	list_del_init(&feed->on_ring);
	dd_ring_leave(feed->ring, feed->slots);
	dd_window_revoke(feed->block);
	trace_dd_direct_revoke(conn, feed->ring->unit, 0);
	kfree(feed);
	return 0;
}

static void dd_direct_tell(const struct dd_conn *peer, struct dd_direct *arg)
{
	const struct dd_feed *feed = peer->feed;
	const struct dd_ring *ring = feed->ring;

	arg->peer_conn = peer->obj.id;
	arg->block = (u64)feed->block->pgoff << PAGE_SHIFT;
	arg->block_size = (u64)feed->block->npages << PAGE_SHIFT;
	arg->notes = (u64)ring->notes->pgoff << PAGE_SHIFT;
	arg->state = (u64)ring->view->pgoff << PAGE_SHIFT;
	arg->start = ring->start;
	arg->slots = ring->slots;
	arg->peer_block = peer->block;
}

/* The caller's context is locked, so its end of the connection stays. */
static int dd_direct_conn(struct dd_conn *conn, struct dd_direct *arg)
{
	bool drop = arg->flags & DD_DIRECT_DROP;
	struct dd_list *list;
	int err;

	err = dd_direct_allowed(conn);
	if (err && !(drop && conn->peer))
		return err;
	list = dd_conn_hold_list(conn->peer);
	if (!list)
		return -ECONNRESET;
	mutex_lock(&list->lock);
	/* Not revoked while the list is locked; before, perhaps. */
	if (conn->peer->seg.dead)
		err = -ECONNRESET;
	else if (drop)
		err = dd_direct_unmake(conn);
	else if (!conn->peer->feed)
		err = dd_direct_make(conn, list);
	if (!err && !drop)
		dd_direct_tell(conn->peer, arg);
	mutex_unlock(&list->lock);
	dd_list_put(list);
	return err;
}

/**
 * dd_direct_grant() - give an end the means to send directly
 * @ctx: the caller
 * @arg: as user space passed it; the results are filled in
 *
 * Return: 0 or an error as the uapi header says; then nothing has changed.
 */
int dd_direct_grant(struct dd_ctx *ctx, struct dd_direct *arg)
{
	struct dd_conn *conn;
	int err;

	if (arg->flags & ~DD_DIRECT_DROP || arg->peer_block)
		return -EINVAL;
	conn = dd_obj_get(ctx, arg->conn, DD_OBJ_CONN);
	if (!conn)
		return -ENOENT;
	mutex_lock(&ctx->lock);
	err = ctx->dead ? -ESTALE : dd_direct_conn(conn, arg);
	mutex_unlock(&ctx->lock);
	dd_conn_put(conn);
	return err;
}

/* ---- taking away -------------------------------------------------------- */

/* Its last word: what it has stored since reaches nobody. */
static void dd_direct_settle(struct dd_conn *conn)
{
	struct dd_import *imp = &conn->peer->imp;
	u64 n = dd_direct_count(conn->peer);

	spin_lock(&conn->seg.lock);
	WRITE_ONCE(conn->seg.received, n);
	WRITE_ONCE(imp->submitted, n);
	WRITE_ONCE(imp->sent, n);
	WRITE_ONCE(imp->done, n);
	/* At once, to who looks at both: dd_direct_open(). */
	WRITE_ONCE(imp->direct, false);
	dd_stat_add(conn->obj.ctx->node, DD_STAT_DIRECT, n);
	spin_unlock(&conn->seg.lock);
	trace_dd_direct_revoke(conn->peer, conn->feed->ring->unit, n);
}

/**
 * dd_direct_revoke() - nobody writes to an end directly any more
 * @conn: the end; its list is locked and its segment is not dead, so that this
 *	is done once, and whoever finds the segment dead finds it done
 *
 * First the dead word, then a barrier: a sender that finds it zero after its
 * stores has made them before anything that follows here, and what follows is
 * that the receiver is told of the close. Whoever finds it set says that
 * nothing was sent.
 */
void dd_direct_revoke(struct dd_conn *conn)
{
	struct dd_feed *feed = conn->feed;
	u64 head, pos;

	lockdep_assert_held(&conn->seg.list->lock);
	if (!feed)
		return;
	spin_lock(&conn->seg.lock);
	WRITE_ONCE(conn->peer->imp.cell->error, ECONNRESET);
	spin_unlock(&conn->seg.lock);
	/* As said above. */
	smp_mb();
	dd_ring_leave(feed->ring, feed->slots);
	dd_window_revoke(feed->block);
	feed->block = NULL;
	head = dd_ring_head(feed->ring);
	for (pos = head; pos != head + feed->ring->slots; pos++) {
		if (!dd_ring_has(feed->ring, pos))
			break;
		feed->end = pos + 1;
	}
	dd_direct_settle(conn);
}

/**
 * dd_direct_forget() - an end's cell is to be another one's
 * @conn: the end, whose segment is dead, and whose list is there
 */
void dd_direct_forget(struct dd_conn *conn)
{
	struct dd_list *list = conn->seg.list;

	if (!list)
		return;
	mutex_lock(&list->lock);
	if (conn->feed)
		list_del_init(&conn->feed->on_ring);
	mutex_unlock(&list->lock);
}

/* The last user of an end is gone, but not yet what it holds. */
void dd_direct_release(struct dd_conn *conn)
{
	struct dd_list *list = conn->seg.list;
	struct dd_feed *feed;

	if (!list)
		return;
	mutex_lock(&list->lock);
	feed = conn->feed;
	conn->feed = NULL;
	if (feed)
		list_del_init(&feed->on_ring);
	mutex_unlock(&list->lock);
	kfree(feed);
}

/* ---- waking ------------------------------------------------------------- */

/**
 * dd_direct_wake() - a sender has found its receiver asleep
 * @ctx: the sender
 * @id: the connection it has sent on
 *
 * Return: 0; %-ENOENT; %-ECONNRESET, then the receiver is awake; %-EINVAL if
 * the connection does not send directly.
 */
int dd_direct_wake(struct dd_ctx *ctx, u32 id)
{
	struct dd_conn *conn;
	struct dd_segment *seg;
	int err = -ENOENT;

	rcu_read_lock();
	conn = dd_obj_find(ctx, id, DD_OBJ_CONN);
	if (!conn || !conn->peer)
		goto out;
	seg = &conn->peer->seg;
	spin_lock(&seg->lock);
	err = seg->dead ? -ECONNRESET : conn->peer->feed ? 0 : -EINVAL;
	if (!err) {
		/* Whoever arms again is on the queue already, and looks again. */
		dd_rings_disarm(seg->list);
		dd_list_wake(seg->list);
	}
	spin_unlock(&seg->lock);
out:
	rcu_read_unlock();
	return err;
}

/**
 * dd_direct_reached() - whether a receiver has consumed up to a position
 * @conn: the sending end, of which the caller is a user
 * @pos: the position
 *
 * Return: 0 if so; %-EAGAIN; %-ECONNRESET; %-EINVAL if it does not send
 * directly.
 */
int dd_direct_reached(struct dd_conn *conn, u64 pos)
{
	struct dd_conn *peer = conn->peer;
	int err = -EINVAL;

	if (!peer)
		return -EINVAL;
	spin_lock(&peer->seg.lock);
	if (peer->seg.dead)
		err = -ECONNRESET;
	else if (peer->feed)
		err = dd_ring_head(peer->feed->ring) >= pos ? 0 : -EAGAIN;
	spin_unlock(&peer->seg.lock);
	return err;
}

/* ---- reports ------------------------------------------------------------ */

/**
 * dd_direct_sent() - messages that an end has sent, by its own account
 * @conn: the end, of whose memory the caller is sure
 *
 * Return: that, or what the kernel has counted if it does not send directly.
 */
u64 dd_direct_sent(const struct dd_conn *conn)
{
	if (READ_ONCE(conn->imp.direct))
		return dd_direct_count(conn);
	return READ_ONCE(conn->imp.submitted);
}

/* Likewise, if it is one that sends directly and is not over; else 0. */
u64 dd_direct_open(const struct dd_conn *conn)
{
	u64 n = 0;

	if (!conn->peer)
		return 0;
	spin_lock(&conn->peer->seg.lock);
	if (conn->imp.direct)
		n = dd_direct_count(conn);
	spin_unlock(&conn->peer->seg.lock);
	return n;
}

/* Likewise of messages that have come to it. */
u64 dd_direct_received(const struct dd_conn *conn)
{
	if (conn->peer && READ_ONCE(conn->peer->imp.direct))
		return dd_direct_sent(conn->peer);
	return READ_ONCE(conn->seg.received);
}

/* Likewise of messages whose notes are within the window. */
u64 dd_direct_done(struct dd_conn *conn)
{
	u64 n = dd_direct_sent(conn), pos;
	struct dd_conn *peer = conn->peer;
	u32 unread = 0;

	if (!READ_ONCE(conn->imp.direct))
		return READ_ONCE(conn->imp.done);
	spin_lock(&peer->seg.lock);
	if (!peer->seg.dead && peer->feed) {
		const struct dd_ring *ring = peer->feed->ring;

		pos = dd_ring_head(ring);
		for (; unread < ring->slots && dd_ring_has(ring, pos); pos++)
			if (READ_ONCE(dd_ring_slot(ring, pos)->conn) ==
			    peer->obj.id)
				unread++;
	}
	spin_unlock(&peer->seg.lock);
	return n - min_t(u64, n, unread > conn->imp.peer_window);
}
