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
#include "core/ctx.h"
#include "core/import.h"
#include "core/node.h"
#include "core/pin.h"
#include "core/region.h"
#include "core/submit.h"
#include "core/trace.h"

/*
 * The link to another node takes the lock of a session inside, which disables bottom
 * halves. They are disabled here first, so that no softirq runs while the channel is
 * locked; dd_nic_unlock() enables them with no lock held.
 */
static __always_inline void dd_nic_lock(struct dd_channel *ch,
					const struct dd_link_ops *link)
{
	if (unlikely(link->flush))
		local_bh_disable();
	spin_lock(&ch->lock);
}

static __always_inline void dd_nic_unlock(struct dd_channel *ch,
					  const struct dd_link_ops *link)
{
	spin_unlock(&ch->lock);
	if (unlikely(link->flush))
		local_bh_enable();
}

/*
 * The source is an address, at which the region is used if it is mapped there. Else the
 * request is one without a region; op->sqe.region remains for dd_nic_wire().
 */
static int dd_nic_address(struct dd_import *imp, struct dd_op *op)
{
	struct dd_sqe *sqe = &op->sqe;
	struct dd_region *region;

	region = dd_obj_get(imp->obj.ctx, sqe->region, &dd_region_ops);
	if (likely(region) && likely(dd_region_mapped(region, sqe->src, sqe->len, &op->src))) {
		op->region = region;
		op->counted = true;
		sqe->flags &= ~DD_SQE_UNWIRED;
		return 0;
	}
	if (region)
		dd_region_put_later(region);
	op->region = NULL;
	op->src = 0;
	op->user = u64_to_user_ptr(sqe->src);
	return access_ok(op->user, sqe->len) ? 0 : -EFAULT;
}

/**
 * dd_nic_wire() - look again whether a request by address can use its region
 * @imp: the import, not locked
 * @op: the request; if it can, op->region is set, and the request has the reference
 *
 * The mapping has changed, for example by mprotect(), but may still have the same pages.
 *
 * Return: whether it can.
 */
bool dd_nic_wire(struct dd_import *imp, struct dd_op *op)
{
	bool write = op->sqe.opcode == DD_OP_GET || op->sqe.opcode == DD_OP_CAS;
	struct dd_region *region;

	if (!op->sqe.region)
		return false;
	region = dd_obj_get(imp->obj.ctx, op->sqe.region, &dd_region_ops);
	if (region && dd_region_look(region, op->sqe.src, op->sqe.len, write, &op->src)) {
		op->region = region;
		op->counted = true;
		return true;
	}
	if (region)
		dd_region_put(region);
	return false;
}

/* Find a source that is not the default one. */
static noinline int dd_nic_other_source(struct dd_import *imp, struct dd_op *op)
{
	const struct dd_sqe *sqe = &op->sqe;

	switch (sqe->flags & (DD_SQE_UNWIRED | DD_SQE_REGION)) {
	case DD_SQE_REGION:
		op->region = dd_obj_get(imp->obj.ctx, sqe->region,
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
	case DD_SQE_UNWIRED | DD_SQE_REGION:
		return dd_nic_address(imp, op);
	default:
		return -EINVAL;
	}
}

/* Find the source of a request. */
static __always_inline int dd_nic_source(struct dd_import *imp, struct dd_op *op)
{
	const struct dd_sqe *sqe = &op->sqe;

	if (unlikely(sqe->flags & (DD_SQE_UNWIRED | DD_SQE_REGION)))
		return dd_nic_other_source(imp, op);
	if (unlikely(sqe->region))
		return -EINVAL;
	if (unlikely(!dd_in_bounds(sqe->src, sqe->len, imp->send.length)))
		return -ERANGE;
	op->region = imp->send.region;
	op->src = imp->send.offset + sqe->src;
	return 0;
}

/*
 * The second word of a request: opcode, flags, number of metadata words, and reserved
 * bytes, of which all are checked together.
 */
#define DD_SQE_BITS(opcode, flags)	((opcode) | (u64)(flags) << 8)
#define DD_SQE_BITS_META		(0xffull << 16)

static __always_inline bool dd_sqe_is(const struct dd_op *op, u8 opcode, u8 flags)
{
	u64 bits = le64_to_cpu((__force __le64)op->raw[1]);

	BUILD_BUG_ON(offsetof(struct dd_sqe, opcode) != 8 ||
		     offsetof(struct dd_sqe, flags) != 9 ||
		     offsetof(struct dd_sqe, meta_count) != 10);
	return (bits & ~(DD_SQE_BITS(0, flags) | DD_SQE_BITS_META)) ==
	       DD_SQE_BITS(opcode, 0);
}

/*
 * Validate a request that is not a PUT without DD_SQE_NOTIFY_SELF; the local memory of a GET
 * or CAS is a destination. Returns 1 if it is valid.
 */
static noinline int dd_nic_check_other(struct dd_import *imp, struct dd_op *op)
{
	const struct dd_sqe *sqe = &op->sqe;
	u8 self = imp->self ? DD_SQE_NOTIFY_SELF : 0;
	int err;

	if (sqe->opcode == DD_OP_PUT && !self)
		return -EINVAL;
	if (!imp->obj.ops->all_ops)
		return -EOPNOTSUPP;
	switch (sqe->opcode) {
	case DD_OP_PUT:
		if (!dd_sqe_is(op, DD_OP_PUT, DD_SQE_UNWIRED | DD_SQE_REGION |
					      DD_SQE_NOTIFY | self) ||
		    sqe->meta_count > DD_META_WORDS)
			return -EINVAL;
		break;
	case DD_OP_GET:
		if (!dd_sqe_is(op, DD_OP_GET, DD_SQE_REGION | DD_SQE_UNWIRED | self) ||
		    sqe->meta_count)
			return -EINVAL;
		break;
	case DD_OP_CAS:
		if (!dd_sqe_is(op, DD_OP_CAS, DD_SQE_REGION | DD_SQE_UNWIRED |
					      DD_SQE_NOTIFY | DD_SQE_STATUS | self) ||
		    sqe->meta_count != DD_META_WORDS ||
		    (sqe->len != 4 && sqe->len != 8) || sqe->src & (sqe->len - 1))
			return -EINVAL;
		break;
	case DD_OP_NOTE:
		if (!dd_sqe_is(op, DD_OP_NOTE, DD_SQE_REGION | DD_SQE_UNWIRED | self) ||
		    sqe->meta_count || sqe->dst)
			return -EINVAL;
		if (sqe->len > DD_PAYLOAD_MAX)
			return -ERANGE;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (sqe->len > DD_LEN_MAX)
		return -ERANGE;
	err = sqe->opcode == DD_OP_PUT ? dd_nic_source(imp, op) :
					 dd_nic_other_source(imp, op);
	return err ?: 1;
}

/*
 * Validate the kernel's copy of a request. Returns 0 for a PUT without DD_SQE_NOTIFY_SELF,
 * 1 for another request, or an error.
 */
static __always_inline int dd_nic_check(struct dd_import *imp, struct dd_op *op)
{
	const struct dd_sqe *sqe = &op->sqe;

	op->counted = false;
	if (unlikely(!dd_sqe_is(op, DD_OP_PUT, DD_SQE_UNWIRED | DD_SQE_REGION |
					       DD_SQE_NOTIFY)))
		return dd_nic_check_other(imp, op);
	if (unlikely(sqe->meta_count > DD_META_WORDS))
		return -EINVAL;
	if (unlikely(sqe->len > DD_LEN_MAX))
		return -ERANGE;
	return dd_nic_source(imp, op);
}

/* Copy a request, reading each word once, and validate the copy. */
static __always_inline int dd_nic_fetch(struct dd_import *imp,
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
	return dd_nic_check(imp, op);
}

static __always_inline void dd_nic_finish(struct dd_import *imp, struct dd_op *op, int err)
{
	if (op->counted)
		dd_region_put_later(op->region);
	trace_dd_op(imp, &op->sqe, err);
}

/*
 * Execute a request, unless dd_nic_check() has refused it with @err. The import is locked,
 * alive and not busy.
 *
 * Return: 1 if it was accepted, or an error. With -EINPROGRESS, @op holds the request,
 * the import is busy and has a reference, all for dd_nic_slow().
 */
static __always_inline int dd_nic_put(struct dd_import *imp,
				      const struct dd_link_ops *link,
				      struct dd_op *op, int err)
{
	if (likely(!err))
		err = link->put(imp, op);
	else if (err > 0)
		err = link->other(imp, op);
	if (unlikely(err == -EINPROGRESS)) {
		imp->busy = true;
		/* The import is alive, so the id table holds a reference. */
		refcount_inc(&imp->obj.users);
		return err;
	}
	dd_nic_finish(imp, op, err);
	return err ? err : 1;
}

/*
 * Execute the next request of a queue. The import is locked and alive. Returns 0 if
 * there is none.
 */
static __always_inline int dd_nic_next(struct dd_import *imp,
				       const struct dd_link_ops *link,
				       struct dd_op *op)
{
	const struct dd_sqe *slot = imp->cell->sq;

	if (unlikely(imp->busy))
		return -EBUSY;
	/* Pairs with the submitter's release of the number after the request. */
	if (unlikely(smp_load_acquire(&slot->seq) != imp->submitted + 1))
		return 0;
	return dd_nic_put(imp, link, op, dd_nic_fetch(imp, slot, op));
}

/* The errno of this import for an access that has ended. */
static int dd_nic_error(const struct dd_import *imp, int err)
{
	return err == -ECONNRESET ? -(int)dd_import_error(imp) : err;
}

static int dd_nic_slow(struct dd_import *imp, struct dd_op *op)
{
	struct dd_channel *ch = imp->chan;
	int err = ch->link->slow(imp, op);

	spin_lock(&ch->lock);
	imp->busy = false;
	spin_unlock(&ch->lock);
	dd_nic_finish(imp, op, err);
	/* Another thread may wait for the request to be sent. */
	dd_ctx_wake(imp->obj.ctx);
	err = dd_nic_error(imp, err);
	dd_obj_put(&imp->obj);
	return err ? err : 1;
}

/*
 * A request was refused with @n, or the queue was empty. If the other end has gone, a
 * server may count it as a reply. The channel is locked.
 */
static noinline int dd_nic_refused(struct dd_import *imp, int n)
{
	if (imp->chan->dead || imp->chan->closing)
		WRITE_ONCE(imp->refused, imp->refused + 1);
	return dd_nic_error(imp, n);
}

/**
 * dd_nic_doorbell() - execute the next request in the send queue of an import
 * @ctx: the caller
 * @serial: serial of the import, or of the connection that it belongs to
 *
 * Return: 1 if the request was accepted, 0 if there was none, or the error that
 * refused it.
 */
long dd_nic_doorbell(struct dd_ctx *ctx, u64 serial)
{
	/* Initialised by dd_nic_fetch() and dd_nic_source(). */
	struct dd_op op __uninitialized;
	const struct dd_node *node = ctx->node;
	const struct dd_link_ops *link;
	struct dd_import *imp;
	struct dd_channel *ch;
	long n = -ENOENT;

	if (unlikely(!READ_ONCE(node->up)))
		return -ENETDOWN;
	/* Protects like rcu_read_lock() and is cheaper to enter. */
	rcu_read_lock_sched();
	imp = dd_import_find(ctx, serial);
	if (likely(imp)) {
		ch = imp->chan;
		link = ch->link;
		dd_nic_lock(ch, link);
		n = unlikely(ch->dead) ? -ECONNRESET :
					 dd_nic_next(imp, link, &op);
		if (unlikely(n <= 0))
			n = dd_nic_refused(imp, n);
		dd_nic_unlock(ch, link);
		if (unlikely(link->flush) && n > 0)
			link->flush(imp);
	}
	rcu_read_unlock_sched();
	if (likely(n > 0)) {
		dd_stat_add(node, DD_STAT_OPS, n);
		return n;
	}
	if (n == -EINPROGRESS)
		n = dd_nic_slow(imp, &op);
	if (n > 0)
		dd_stat_add(node, DD_STAT_OPS, n);
	else if (n < 0)
		dd_stat_inc(node, DD_STAT_REFUSED);
	return n;
}

#define DD_NIC_CHUNK	8	/* requests copied at once */

/*
 * Execute one request of a submission; the channel is locked and not dead. If the link
 * has to be flushed after the last request, *@left is the import, with a reference.
 */
static __always_inline int dd_nic_one(struct dd_import *imp, struct dd_op *op,
				      struct dd_import *before,
				      struct dd_import **left)
{
	const struct dd_link_ops *link = imp->chan->link;
	int n;

	if (unlikely(imp->busy))
		return -EBUSY;
	op->sqe.seq = imp->submitted + 1;
	n = dd_nic_put(imp, link, op, dd_nic_check(imp, op));
	if (unlikely(link->flush) && n > 0 && !(before && link->same(imp, before))) {
		/* The import is alive, so the id table holds a reference. */
		refcount_inc(&imp->obj.users);
		*left = imp;
	}
	return n;
}

static void dd_nic_flush(struct dd_import *imp)
{
	if (likely(!imp))
		return;
	imp->chan->link->flush(imp);
	dd_obj_put(&imp->obj);
}

/* *@before: import of an earlier request, to be flushed after the last one. */
static int dd_nic_request(struct dd_ctx *ctx, const struct dd_request *req,
			  struct dd_import **before)
{
	struct dd_op op __uninitialized;
	struct dd_import *imp, *left = NULL;
	struct dd_channel *ch;
	int n = -ENOENT;

	if (unlikely(req->sqe.seq))
		return -EINVAL;
	if (unlikely(!READ_ONCE(ctx->node->up)))
		return -ENETDOWN;
	op.sqe = req->sqe;
	rcu_read_lock_sched();
	imp = dd_import_find(ctx, req->conn);
	if (likely(imp)) {
		ch = imp->chan;
		dd_nic_lock(ch, ch->link);
		n = unlikely(ch->dead) ? -ECONNRESET :
					 dd_nic_one(imp, &op, *before, &left);
		if (unlikely(n <= 0))
			n = dd_nic_refused(imp, n);
		dd_nic_unlock(ch, ch->link);
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
		n = dd_nic_slow(imp, &op);
	}
	return min(n, 0);
}

/* Returns the error that refused request *@done; the requests before are accepted. */
static int dd_nic_requests(struct dd_ctx *ctx,
			   const struct dd_request __user *from, u32 count,
			   u32 *done, struct dd_import **left)
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
	struct dd_import *left = NULL;
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
