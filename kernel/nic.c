// SPDX-License-Identifier: GPL-2.0-only
/*
 * The virtual NIC: takes work requests from send queues, validates them and passes
 * them to the link of their import.
 *
 * A request that need not sleep is executed in one RCU read-side section, under the lock
 * of the import's segment, and takes no references: while the lock is held and the
 * import is alive, nothing that it uses can be released.
 */
#include <linux/uaccess.h>

#include "compat/compat.h"
#include "conn.h"
#include "ctx.h"
#include "import.h"
#include "nic.h"
#include "node.h"
#include "region.h"
#include "segment.h"
#include "trace.h"

/*
 * The link to another node takes the lock of a session inside, which disables bottom
 * halves. They are disabled here first, so that no softirq runs while the import is
 * locked; dd_nic_unlocked() enables them with no lock held.
 */
static __always_inline void dd_nic_lock(const struct dd_import *imp)
{
	if (unlikely(imp->link->push))
		local_bh_disable();
	spin_lock(&imp->grant->seg->lock);
}

static __always_inline void dd_nic_unlocked(const struct dd_link_ops *link)
{
	if (unlikely(link->push))
		local_bh_enable();
}

/* Find the source of a request. */
static __always_inline int dd_nic_source(struct dd_conn *conn, struct dd_op *op)
{
	const struct dd_sqe *sqe = &op->sqe;

	switch (sqe->flags & (DD_SQE_UNWIRED | DD_SQE_REGION)) {
	case 0:
		if (sqe->region)
			return -EINVAL;
		if (!dd_in_bounds(sqe->src, sqe->len, conn->send.length))
			return -ERANGE;
		op->region = conn->send.region;
		op->src = conn->send.offset + sqe->src;
		return 0;
	case DD_SQE_REGION:
		op->region = dd_obj_get(conn->obj.ctx, sqe->region,
					&dd_region_ops);
		if (!op->region)
			return -ENOENT;
		op->counted = true;
		op->src = sqe->src;
		return dd_in_bounds(sqe->src, sqe->len, (u64)op->region->npages
				    << PAGE_SHIFT) ? 0 : -ERANGE;
	case DD_SQE_UNWIRED:
		op->region = NULL;
		op->src = 0;
		if (sqe->region)
			return -EINVAL;
		op->user = u64_to_user_ptr(sqe->src);
		return access_ok(op->user, sqe->len) ? 0 : -EFAULT;
	default:
		return -EINVAL;
	}
}

/* The reserved bytes: the last five of the second word. */
static u64 dd_sqe_reserved(const struct dd_op *op)
{
	BUILD_BUG_ON(offsetof(struct dd_sqe, __reserved) != 11);
	return le64_to_cpu((__force __le64)op->raw[1]) >> 24;
}

/* Validate the kernel's copy of a request. */
static __always_inline int dd_nic_check(struct dd_conn *conn, struct dd_op *op)
{
	const struct dd_sqe *sqe = &op->sqe;

	op->counted = false;
	op->word = 0;
	if (sqe->opcode != DD_OP_PUT)
		return -EOPNOTSUPP;
	if (sqe->flags & ~DD_SQE_FLAGS || sqe->meta_count > DD_META_WORDS ||
	    dd_sqe_reserved(op))
		return -EINVAL;
	if (sqe->len > DD_LEN_MAX ||
	    !dd_in_bounds(sqe->dst, sqe->len, conn->imp.peer_size))
		return -ERANGE;
	return dd_nic_source(conn, op);
}

/* Copy a request, reading each word once, and validate the copy. */
static __always_inline int dd_nic_fetch(struct dd_conn *conn,
					const struct dd_sqe *slot,
					struct dd_op *op)
{
	const u64 *raw = (const u64 *)slot;
	int i;

	for (i = 0; i < ARRAY_SIZE(op->raw); i += 4) {
		op->raw[i] = READ_ONCE(raw[i]);
		op->raw[i + 1] = READ_ONCE(raw[i + 1]);
		op->raw[i + 2] = READ_ONCE(raw[i + 2]);
		op->raw[i + 3] = READ_ONCE(raw[i + 3]);
	}
	return dd_nic_check(conn, op);
}

static __always_inline void dd_nic_finish(struct dd_conn *conn, struct dd_op *op, int err)
{
	if (op->counted)
		dd_region_put(op->region);
	trace_dd_op(conn, &op->sqe, err);
}

/*
 * Execute a request, unless @err refuses it. The import is locked, alive and not busy.
 *
 * Return: 1 if it was accepted, or an error. With -EINPROGRESS, @op holds the request,
 * the import is busy and the connection has a reference, all for dd_nic_slow().
 */
static __always_inline int dd_nic_put(struct dd_conn *conn, struct dd_op *op,
				      int err)
{
	struct dd_import *imp = &conn->imp;

	if (likely(!err))
		err = imp->link->put(conn, op);
	if (unlikely(err == -EINPROGRESS)) {
		imp->busy = true;
		/* The import is alive, so the id table holds a reference. */
		refcount_inc(&conn->obj.users);
		return err;
	}
	dd_nic_finish(conn, op, err);
	return err ? err : 1;
}

/*
 * Execute the next request of a queue. The import is locked and alive. Returns 0 if
 * there is none.
 */
static __always_inline int dd_nic_next(struct dd_conn *conn, struct dd_op *op)
{
	struct dd_import *imp = &conn->imp;
	const struct dd_sqe *slot = imp->cell->sq;

	if (unlikely(imp->busy))
		return -EBUSY;
	/* Pairs with the submitter's release of the number after the request. */
	if (smp_load_acquire(&slot->seq) != imp->submitted + 1)
		return 0;
	return dd_nic_put(conn, op, dd_nic_fetch(conn, slot, op));
}

static int dd_nic_slow(struct dd_conn *conn, struct dd_op *op)
{
	struct dd_import *imp = &conn->imp;
	int err = imp->link->put_slow(conn, op);

	spin_lock(&imp->grant->seg->lock);
	imp->busy = false;
	spin_unlock(&imp->grant->seg->lock);
	dd_nic_finish(conn, op, err);
	/* Another thread may wait for the request to be sent. */
	dd_ctx_wake(conn->obj.ctx);
	dd_conn_put(conn);
	return err ? err : 1;
}

/*
 * A request was refused, or the queue was empty. At a serving end whose client has gone
 * it counts as a reply, see dd_service_choose(). The import is locked.
 */
static noinline void dd_nic_refused(struct dd_conn *conn)
{
	const struct dd_segment *seg = conn->imp.grant->seg;

	if (conn->server && (seg->dead || seg->cut))
		WRITE_ONCE(conn->refused, conn->refused + 1);
}

/**
 * dd_nic_doorbell() - execute the next request in the send queue of a connection
 * @ctx: the caller
 * @serial: serial of the connection
 *
 * Return: 1 if the request was accepted, 0 if there was none, or the error that
 * refused it.
 */
long dd_nic_doorbell(struct dd_ctx *ctx, u64 serial)
{
	/* Initialised by dd_nic_fetch() and dd_nic_source(). */
	struct dd_op op __uninitialized;
	const struct dd_link_ops *link;
	const struct dd_grant *grant;
	struct dd_segment *seg;
	struct dd_conn *conn;
	long n;

	if (unlikely(!READ_ONCE(ctx->node->up)))
		return -ENETDOWN;
	/* Protects like rcu_read_lock() and is cheaper to enter. */
	rcu_read_lock_sched();
	conn = dd_obj_find_serial(ctx, serial, &dd_conn_ops);
	if (likely(conn)) {
		grant = conn->imp.grant;
		seg = grant->seg;
		link = conn->imp.link;
		dd_nic_lock(&conn->imp);
		n = dd_grant_check(grant, DD_RIGHT_PUT);
		if (likely(!n))
			n = dd_nic_next(conn, &op);
		if (unlikely(n <= 0))
			dd_nic_refused(conn);
		spin_unlock(&seg->lock);
		if (unlikely(link->push)) {
			if (n > 0)
				link->push(conn);
			dd_nic_unlocked(link);
		}
	} else {
		n = -ENOENT;
	}
	rcu_read_unlock_sched();
	if (likely(n > 0)) {
		dd_stat_add(ctx->node, DD_STAT_OPS, n);
		return n;
	}
	if (n == -EINPROGRESS)
		n = dd_nic_slow(conn, &op);
	if (n > 0)
		dd_stat_add(ctx->node, DD_STAT_OPS, n);
	else if (n < 0)
		dd_stat_inc(ctx->node, DD_STAT_REFUSED);
	return n;
}

#define DD_NIC_CHUNK	8	/* requests copied at once */

/*
 * Execute one request of a submission; the import is locked and alive. If the link has
 * to be flushed after the last request, *@left is the connection, with a reference.
 */
static __always_inline int dd_nic_one(struct dd_conn *conn, struct dd_op *op,
				      struct dd_conn *before,
				      struct dd_conn **left)
{
	struct dd_import *imp = &conn->imp;
	int n;

	if (unlikely(imp->busy))
		return -EBUSY;
	op->sqe.seq = imp->submitted + 1;
	n = dd_nic_put(conn, op, dd_nic_check(conn, op));
	if (unlikely(imp->link->leave) && n > 0 &&
	    !imp->link->leave(conn, before)) {
		/* The import is alive, so the id table holds a reference. */
		refcount_inc(&conn->obj.users);
		*left = conn;
	}
	return n;
}

static void dd_nic_flush(struct dd_conn *conn)
{
	if (likely(!conn))
		return;
	conn->imp.link->flush(conn);
	dd_conn_put(conn);
}

/* *@before: connection of an earlier request, to be flushed after the last one. */
static int dd_nic_request(struct dd_ctx *ctx, const struct dd_request *req,
			  struct dd_conn **before)
{
	struct dd_op op __uninitialized;
	struct dd_conn *conn, *left = NULL;
	const struct dd_grant *grant;
	int n = -ENOENT;

	if (unlikely(req->sqe.seq))
		return -EINVAL;
	if (unlikely(!READ_ONCE(ctx->node->up)))
		return -ENETDOWN;
	op.sqe = req->sqe;
	rcu_read_lock_sched();
	conn = dd_obj_find_serial(ctx, req->conn, &dd_conn_ops);
	if (likely(conn)) {
		grant = conn->imp.grant;
		dd_nic_lock(&conn->imp);
		n = dd_grant_check(grant, DD_RIGHT_PUT);
		if (likely(!n))
			n = dd_nic_one(conn, &op, *before, &left);
		if (unlikely(n <= 0))
			dd_nic_refused(conn);
		spin_unlock(&grant->seg->lock);
		dd_nic_unlocked(conn->imp.link);
	}
	rcu_read_unlock_sched();
	if (unlikely(left)) {
		dd_nic_flush(*before);
		*before = left;
	}
	if (unlikely(n == -EINPROGRESS)) {
		/* This may take arbitrarily long: flush the earlier requests first. */
		dd_nic_flush(*before);
		*before = NULL;
		n = dd_nic_slow(conn, &op);
	}
	return min(n, 0);
}

/* Returns the error that refused request *@done; the requests before are accepted. */
static int dd_nic_requests(struct dd_ctx *ctx,
			   const struct dd_request __user *from, u32 count,
			   u32 *done, struct dd_conn **left)
{
	struct dd_request req[DD_NIC_CHUNK] __uninitialized;
	u32 i, n;
	int err;

	for (; *done < count; *done += n) {
		n = min_t(u32, count - *done, DD_NIC_CHUNK);
		/* On a fault, execute the requests that can be read. */
		while (copy_from_user(req, from + *done, n * sizeof(*req)))
			if (!--n)
				return -EFAULT;
		for (i = 0; i < n; i++) {
			err = dd_nic_request(ctx, &req[i], left);
			if (unlikely(err)) {
				*done += i;
				return err;
			}
			/* A signal stops after at least one request: calls make progress. */
			if (unlikely(signal_pending(current)) &&
			    *done + i + 1 < count) {
				*done += i + 1;
				return -EINTR;
			}
			cond_resched();
		}
	}
	return 0;
}

/**
 * dd_nic_submit() - execute an array of requests
 * @ctx: the caller
 * @arg: argument of user space; the results are filled in
 *
 * Return: 0 or an error documented in the uapi header.
 */
int dd_nic_submit(struct dd_ctx *ctx, struct dd_submit *arg)
{
	struct dd_conn *left = NULL;
	u32 done = 0;
	int err;

	if (arg->flags || arg->taken || arg->error || !arg->count ||
	    arg->count > DD_SUBMIT_MAX ||
	    arg->stride != sizeof(struct dd_request))
		return -EINVAL;
	err = dd_nic_requests(ctx, u64_to_user_ptr(arg->requests), arg->count,
			      &done, &left);
	dd_nic_flush(left);
	dd_stat_add(ctx->node, DD_STAT_OPS, done);
	if (err && err != -EINTR)
		dd_stat_inc(ctx->node, DD_STAT_REFUSED);
	if (!done)
		return err;
	arg->taken = done;
	arg->error = -err;
	return 0;
}
