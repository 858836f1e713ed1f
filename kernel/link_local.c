// SPDX-License-Identifier: GPL-2.0-only
/*
 * The local link: one copy, from the sender's pages to the receiver's, in the context of
 * the sender. The target segment is locked for a bounded number of bytes at a time, and
 * never while the sender may sleep.
 */
#include <linux/pagemap.h>
#include <linux/sched/signal.h>

#include "conn.h"
#include "copy.h"
#include "ctx.h"
#include "direct.h"
#include "import.h"
#include "nic.h"
#include "node.h"
#include "notelist.h"
#include "region.h"
#include "segment.h"
#include "trace.h"

/* Copy @len bytes from wired memory, at offset @done of the message. */
static void dd_local_copy(struct dd_segment *seg, struct dd_op *op, u64 done,
			  size_t len)
{
	while (len) {
		bool last;
		size_t n;
		void *src = dd_region_addr(op->region, op->src + done, &n);

		n = min(n, len);
		last = done + n == op->sqe.len;
		op->word = dd_segment_write(seg, op->sqe.dst + done, src, n,
					    last);
		done += n;
		len -= n;
	}
}

/* Copy a message of few whole words that crosses no page boundary. */
static bool dd_local_copy_small(struct dd_segment *seg, struct dd_op *op)
{
	size_t len = op->sqe.len, src_left, dst_left;
	void *src, *dst;

	if (!len || len > DD_COPY_BULK)
		return false;
	src = dd_region_addr(op->region, op->src, &src_left);
	dst = dd_region_addr(seg->mem.region, seg->mem.offset + op->sqe.dst,
			     &dst_left);
	if (len > min(src_left, dst_left) || !dd_copy_is_small(dst, src, len))
		return false;
	op->word = dd_copy_small(dst, src, len);
	return true;
}

/* Copy from wired or user memory. Returns the number of bytes copied. */
static size_t dd_local_piece(struct dd_segment *seg, struct dd_op *op,
			     u64 done, size_t len)
{
	if (!(op->sqe.flags & DD_SQE_UNWIRED)) {
		dd_local_copy(seg, op, done, len);
		return len;
	}
	return len - dd_segment_write_user(seg, op->sqe.dst + done,
					   op->user + done, len,
					   done + len == op->sqe.len,
					   &op->word);
}

/**
 * struct dd_local_msg - contents of a note
 * @conn: the sending end
 * @op: the request, executed
 * @n: number of the message
 */
struct dd_local_msg {
	struct dd_conn *conn;
	const struct dd_op *op;
	u64 n;
};

static __always_inline void dd_local_fill(struct dd_rec *rec, const void *arg)
{
	const struct dd_local_msg *msg = arg;
	const struct dd_conn *peer = msg->conn->peer;
	const struct dd_sqe *sqe = &msg->op->sqe;

	rec->conn = dd_obj_serial(&peer->obj);
	rec->type = DD_NOTE_DATA;
	rec->meta_count = sqe->meta_count;
	rec->cookie = peer->cookie;
	rec->offset = sqe->dst;
	rec->len = sqe->len;
	rec->word = msg->op->word;
	rec->msgid = msg->n;
	rec->tag = sqe->tag;
	/* The words are in another cache line: write them only if they are valid. */
	if (sqe->meta_count)
		memcpy(rec->meta, sqe->meta, sizeof(rec->meta));
}

/* Account an executed request and notify the receiver. */
static __always_inline void dd_local_finish(struct dd_conn *conn,
					    struct dd_segment *seg,
					    const struct dd_op *op)
{
	struct dd_import *imp = &conn->imp;
	struct dd_cell *cell = imp->cell;
	struct dd_local_msg msg = {
		.conn = conn,
		.op = op,
		.n = imp->submitted + 1,
	};
	u64 n = msg.n;

	WRITE_ONCE(imp->submitted, n);
	WRITE_ONCE(imp->sent, n);
	WRITE_ONCE(seg->received, n);
	WRITE_ONCE(conn->peer->imp.cell->received, n);
	if (likely(!dd_segment_wants(seg, op->sqe.flags & DD_SQE_NOTIFY) ||
		   dd_segment_tell(seg, dd_local_fill, &msg))) {
		WRITE_ONCE(imp->done, n);
		WRITE_ONCE(cell->done, n);
	}
	/* cell->submitted is last: a thread that sees it relies on the others. */
	WRITE_ONCE(cell->sent, n);
	WRITE_ONCE(cell->submitted, n);
	dd_stat_add(conn->obj.ctx->node, DD_STAT_BYTES, op->sqe.len);
	trace_dd_deposit(conn, op, n);
	/* Before unlocking: without the lock the list may be freed. */
	dd_list_wake(seg->list);
}

/* The note of the previous message must be posted before the next may come. */
static int dd_local_admit(struct dd_segment *seg)
{
	if (likely(!seg->withheld))
		return 0;
	if (!dd_segment_retry(seg))
		return -EBUSY;
	dd_list_wake(seg->list);
	return 0;
}

static int dd_local_put(struct dd_conn *conn, struct dd_op *op)
{
	struct dd_segment *seg = conn->imp.grant->seg;
	int err = dd_local_admit(seg);

	if (unlikely(err))
		return err;
	if (unlikely(op->sqe.flags & DD_SQE_UNWIRED))
		return -EINPROGRESS;
	if (!dd_local_copy_small(seg, op)) {
		if (op->sqe.len > DD_COPY_CHUNK)
			return -EINPROGRESS;
		dd_local_copy(seg, op, 0, op->sqe.len);
	}
	dd_local_finish(conn, seg, op);
	return 0;
}

/*
 * Between two pieces, with nothing locked: fault in the next bytes of the source,
 * reschedule, and check for a fatal signal. The last word of a message is copied as a
 * whole, so at least one word must be readable.
 */
static int dd_local_pause(const struct dd_op *op, u64 done, size_t want)
{
	if (op->sqe.flags & DD_SQE_UNWIRED &&
	    (fault_in_readable(op->user + done, want) == want ||
	     fault_in_readable(op->user + done, min_t(size_t, want, 8))))
		return -EFAULT;
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/*
 * Deposit all bytes of @op. Called with @seg locked; unlocks it between pieces, and then
 * checks the grant again.
 */
static int dd_local_deposit(struct dd_segment *seg,
			    const struct dd_grant *grant, struct dd_op *op)
{
	u64 len = op->sqe.len, done = 0;
	int err = 0;

	while (!err) {
		done += dd_local_piece(seg, op, done,
				       min_t(u64, len - done, DD_COPY_CHUNK));
		if (done == len)
			break;
		spin_unlock(&seg->lock);
		err = dd_local_pause(op, done,
				     min_t(u64, len - done, DD_COPY_CHUNK));
		spin_lock(&seg->lock);
		if (!err)
			err = dd_grant_check(grant, DD_RIGHT_PUT);
	}
	return err;
}

static int dd_local_put_slow(struct dd_conn *conn, struct dd_op *op)
{
	const struct dd_grant *grant = conn->imp.grant;
	struct dd_segment *seg = grant->seg;
	int err;

	/* Refuse an unreadable source before the target is written. */
	if (op->sqe.flags & DD_SQE_UNWIRED && op->sqe.len &&
	    fault_in_readable(op->user, op->sqe.len))
		return -EFAULT;
	spin_lock(&seg->lock);
	err = dd_grant_check(grant, DD_RIGHT_PUT);
	if (!err)
		err = dd_local_deposit(seg, grant, op);
	if (!err)
		dd_local_finish(conn, seg, op);
	spin_unlock(&seg->lock);
	return err;
}

const struct dd_link_ops dd_link_local = {
	.name = "local",
	.put = dd_local_put,
	.put_slow = dd_local_put_slow,
};
