// SPDX-License-Identifier: GPL-2.0-only
/*
 * The local link: one copy, from the sender's pages to the receiver's, in the
 * sender's context. The target is locked for a bounded number of bytes at a
 * time and never while the sender may sleep.
 */
#include <linux/pagemap.h>
#include <linux/sched/signal.h>

#include "dd.h"
#include "trace.h"

/* Copy up to @len bytes from wired memory, @done into the message. */
static void dd_local_copy(struct dd_segment *seg, struct dd_op *op, u64 done,
			  size_t len)
{
	const struct dd_region *region = op->region ? op->region : op->wired;

	while (len) {
		bool last;
		size_t n;
		void *src = dd_region_addr(region, op->src + done, &n);

		n = min(n, len);
		last = done + n == op->len;
		op->rec.word = dd_segment_write(seg, op->dst + done, src, n,
						last);
		done += n;
		len -= n;
	}
}

/* The same from either kind of memory: the number of bytes copied. */
static size_t dd_local_piece(struct dd_segment *seg, struct dd_op *op,
			     u64 done, size_t len)
{
	if (!op->user) {
		dd_local_copy(seg, op, done, len);
		return len;
	}
	return len - dd_segment_write_user(seg, op->dst + done,
					   op->user + done, len,
					   done + len == op->len,
					   &op->rec.word);
}

/*
 * What may sleep, between two pieces, with nothing locked: make the next
 * bytes of the source present, let others run, notice that we are killed.
 */
static int dd_local_pause(const struct dd_op *op, u64 done, size_t want)
{
	if (op->user && fault_in_readable(op->user + done, want) == want)
		return -EFAULT;
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/*
 * Deposit all bytes of @op. Called and returns with @seg locked; may unlock
 * it meanwhile, but then checks the grant again.
 */
static int dd_local_deposit(struct dd_segment *seg,
			    const struct dd_grant *grant, struct dd_op *op)
{
	u64 done = 0;

	while (done < op->len) {
		size_t want = min_t(u64, op->len - done, DD_COPY_CHUNK);
		int err;

		done += dd_local_piece(seg, op, done, want);
		if (likely(done == op->len))
			break;
		spin_unlock(&seg->lock);
		want = min_t(u64, op->len - done, DD_COPY_CHUNK);
		err = dd_local_pause(op, done, want);
		spin_lock(&seg->lock);
		if (!err)
			err = dd_grant_check(grant, DD_RIGHT_PUT);
		if (err)
			return err;
	}
	return 0;
}

/* The request is accepted: count it, and tell the receiver. */
static void dd_local_finish(struct dd_conn *conn, struct dd_segment *seg,
			    struct dd_op *op)
{
	struct dd_import *imp = &conn->imp;
	struct dd_cell *cell = imp->cell;

	op->rec.conn = conn->peer->obj.id;
	op->rec.cookie = conn->peer->cookie;
	op->rec.msgid = ++seg->received;
	WRITE_ONCE(imp->submitted, imp->submitted + 1);
	WRITE_ONCE(imp->sent, imp->submitted);
	WRITE_ONCE(cell->submitted, imp->submitted);
	WRITE_ONCE(cell->sent, imp->submitted);
	WRITE_ONCE(conn->peer->imp.cell->received, seg->received);
	if (likely(dd_segment_tell(seg, &op->rec, op->notify))) {
		WRITE_ONCE(imp->done, imp->submitted);
		WRITE_ONCE(cell->done, imp->submitted);
	}
	dd_stat_add(conn->obj.ctx->node, DD_STAT_BYTES, op->len);
	trace_dd_deposit(conn, op);
}

/* The previous message must be told before the next may come. */
static int dd_local_admit(struct dd_segment *seg, const struct dd_grant *grant)
{
	int err = dd_grant_check(grant, DD_RIGHT_PUT);

	if (err || likely(!seg->withheld))
		return err;
	return dd_segment_retry(seg) ? 0 : -EBUSY;
}

static int dd_local_put(struct dd_conn *conn, struct dd_op *op)
{
	const struct dd_grant *grant = conn->imp.grant;
	struct dd_segment *seg = grant->seg;
	struct dd_list *list = conn->peer->list;
	int err;

	/* Refuse an unreadable source before anything has changed. */
	if (op->user && op->len && fault_in_readable(op->user, op->len))
		return -EFAULT;
	spin_lock(&seg->lock);
	err = dd_local_admit(seg, grant);
	if (likely(!err))
		err = dd_local_deposit(seg, grant, op);
	if (likely(!err))
		dd_local_finish(conn, seg, op);
	/* The list may go once the segment is unlocked; its memory not yet. */
	rcu_read_lock();
	spin_unlock(&seg->lock);
	if (likely(!err))
		dd_list_wake(list);
	rcu_read_unlock();
	return err;
}

const struct dd_link_ops dd_link_local = {
	.name = "local",
	.put = dd_local_put,
};
