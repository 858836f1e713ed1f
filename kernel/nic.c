// SPDX-License-Identifier: GPL-2.0-only
/*
 * The virtual NIC: takes work requests from send queues, validates them and
 * hands them to the link of their import.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "dd.h"
#include "trace.h"

/* Find the source of a request; the region, if any, is used by the caller. */
static int dd_nic_source(struct dd_conn *conn, const struct dd_sqe *sqe,
			 struct dd_op *op)
{
	switch (sqe->flags & (DD_SQE_UNWIRED | DD_SQE_REGION)) {
	case DD_SQE_UNWIRED:
		if (sqe->region)
			return -EINVAL;
		op->user = u64_to_user_ptr(sqe->src);
		return access_ok(op->user, sqe->len) ? 0 : -EFAULT;
	case DD_SQE_REGION:
		op->region = dd_obj_get(conn->obj.ctx, sqe->region,
					DD_OBJ_REGION);
		if (!op->region)
			return -ENOENT;
		op->src = sqe->src;
		return dd_in_bounds(sqe->src, sqe->len, (u64)op->region->npages
				    << PAGE_SHIFT) ? 0 : -ERANGE;
	case 0:
		if (sqe->region)
			return -EINVAL;
		if (!dd_in_bounds(sqe->src, sqe->len, conn->send.length))
			return -ERANGE;
		/* In use by the connection, which is in use by the caller. */
		op->wired = conn->send.region;
		op->src = conn->send.offset + sqe->src;
		return 0;
	default:
		return -EINVAL;
	}
}

static int dd_nic_check(const struct dd_sqe *sqe)
{
	if (sqe->opcode != DD_OP_PUT)
		return -EOPNOTSUPP;
	if (sqe->flags & ~DD_SQE_FLAGS || sqe->meta_count > DD_META_WORDS ||
	    memchr_inv(sqe->__reserved, 0, sizeof(sqe->__reserved)))
		return -EINVAL;
	return sqe->len > DD_LEN_MAX ? -ERANGE : 0;
}

/* Carry out one request, of which @sqe is the kernel's own copy. */
static int dd_nic_execute(struct dd_conn *conn, const struct dd_sqe *sqe)
{
	struct dd_op op = {
		.dst = sqe->dst,
		.len = sqe->len,
		.notify = sqe->flags & DD_SQE_NOTIFY,
	};
	int err;

	err = dd_nic_check(sqe);
	if (err)
		return err;
	/* Offset and length of the segment never change. */
	if (!dd_in_bounds(op.dst, op.len, conn->imp.grant->seg->length))
		return -ERANGE;
	err = dd_nic_source(conn, sqe, &op);
	if (!err) {
		op.rec.type = DD_NOTE_DATA;
		op.rec.meta_count = sqe->meta_count;
		op.rec.offset = op.dst;
		op.rec.len = op.len;
		op.rec.tag = sqe->tag;
		memcpy(op.rec.meta, sqe->meta, sizeof(op.rec.meta));
		err = conn->imp.link->put(conn, &op);
	}
	if (op.region)
		dd_region_put(op.region);
	trace_dd_op(conn, sqe, err);
	return err;
}

/* Requests that the queue holds; the copy is all that is ever looked at. */
static int dd_nic_drain(struct dd_conn *conn)
{
	struct dd_import *imp = &conn->imp;
	struct dd_sqe sqe;
	int n, err = 0;

	for (n = 0; n < DD_CELL_DEPTH; n++) {
		struct dd_sqe *slot = &imp->cell->sq[imp->submitted %
						     DD_CELL_DEPTH];

		/* The submitter writes the number last. */
		if (smp_load_acquire(&slot->seq) != imp->submitted + 1)
			break;
		memcpy(&sqe, slot, sizeof(sqe));
		/* The compiler must not look at the slot again. */
		barrier();
		err = dd_nic_execute(conn, &sqe);
		if (err)
			break;
	}
	return n ? n : err;
}

/**
 * dd_nic_doorbell() - execute what the send queue of a connection holds
 * @ctx: the caller
 * @id: the connection
 *
 * Return: the number of requests accepted, or the error that refused the
 * first.
 */
int dd_nic_doorbell(struct dd_ctx *ctx, u32 id)
{
	struct dd_conn *conn = dd_obj_get(ctx, id, DD_OBJ_CONN);
	int n;

	if (unlikely(!conn))
		return -ENOENT;
	n = -ENETDOWN;
	if (unlikely(!READ_ONCE(ctx->node->up)))
		goto out;
	n = -EINTR;
	if (unlikely(mutex_lock_interruptible(&conn->imp.sq_lock)))
		goto out;
	n = dd_nic_drain(conn);
	mutex_unlock(&conn->imp.sq_lock);
out:
	if (n > 0)
		dd_stat_add(ctx->node, DD_STAT_OPS, n);
	else if (n < 0)
		dd_stat_inc(ctx->node, DD_STAT_REFUSED);
	dd_conn_put(conn);
	return n;
}
