// SPDX-License-Identifier: GPL-2.0-only
/*
 * The virtual NIC: takes work requests from send queues and arrays, validates them and
 * passes them to the link of their import.
 *
 * A request that need not sleep is executed in one RCU read-side section, under the lock
 * of the import's channel, and takes no references: while the lock is held and the
 * import is alive, nothing that it uses can be released.
 */
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "compat/compat.h"
#include "core/ctx.h"
#include "core/hooks.h"
#include "core/import.h"
#include "core/node.h"
#include "core/pin.h"
#include "core/region.h"
#include "core/submit.h"
#include "core/trace.h"

/*
 * The source is an address, at which the region is used if it is mapped there. Else the
 * request is one without a region; op->sqe.region remains for dd_nic_wire().
 */
static int address_source(struct dd_import *imp, struct dd_op *op)
{
	struct dd_sqe *sqe = &op->sqe;
	struct dd_region *region;

	region = dd_obj_get(imp->obj.ctx, sqe->region, &dd_region_ops);
	if (likely(region) && likely(dd_region_mapped(region, sqe->src, sqe->len, &op->src))) {
		op->region = region;
		op->held = region;
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
		op->held = region;
		return true;
	}
	if (region)
		dd_region_put(region);
	return false;
}

/* Find the local memory of a request that is not in the import's own block. */
static noinline int other_source(struct dd_import *imp, struct dd_op *op)
{
	const struct dd_sqe *sqe = &op->sqe;

	switch (sqe->flags & (DD_SQE_UNWIRED | DD_SQE_REGION)) {
	case DD_SQE_REGION:
		op->held = dd_obj_get(imp->obj.ctx, sqe->region, &dd_region_ops);
		if (!op->held)
			return -ENOENT;
		op->region = op->held;
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
		return address_source(imp, op);
	}
}

static __always_inline int find_source(struct dd_import *imp, struct dd_op *op)
{
	const struct dd_sqe *sqe = &op->sqe;

	if (unlikely(sqe->flags & (DD_SQE_UNWIRED | DD_SQE_REGION)))
		return other_source(imp, op);
	if (unlikely(sqe->region))
		return -EINVAL;
	if (unlikely(!dd_in_bounds(sqe->src, sqe->len, imp->send.length)))
		return -ERANGE;
	op->region = imp->send.region;
	op->src = imp->send.offset + sqe->src;
	return 0;
}

/*
 * The second word of a request: opcode, flags, number of metadata words, a reserved byte and
 * the list.
 */
#define SQE_BITS(opcode, flags, meta)	((opcode) | (u64)(flags) << 8 | (u64)(meta) << 16)
#define SQE_LIST	(0xffffffffull << 32)	/* with DD_SQE_NOTIFY_SELF */
#define SQE_COMMON	(DD_SQE_UNWIRED | DD_SQE_REGION | DD_SQE_NOTIFY_SELF)

/* The bits that a request may have, by its opcode. */
static const u64 sqe_bits[DD_OPCODES] = {
	[DD_OP_PUT] = SQE_BITS(DD_OP_PUT, SQE_COMMON | DD_SQE_NOTIFY, 0xff),
	[DD_OP_GET] = SQE_BITS(DD_OP_GET, SQE_COMMON, 0),
	[DD_OP_CAS] = SQE_BITS(DD_OP_CAS, SQE_COMMON | DD_SQE_NOTIFY | DD_SQE_STATUS, 0xff),
	[DD_OP_NOTE] = SQE_BITS(DD_OP_NOTE, SQE_COMMON, 0),
};

/* Validate what only requests other than PUT have: they have no default source. */
static int validate_other(const struct dd_sqe *sqe)
{
	if (sqe->opcode == DD_OP_CAS &&
	    (sqe->meta_count != DD_META_WORDS || (sqe->len != 4 && sqe->len != 8) ||
	     sqe->src & (sqe->len - 1)))
		return -EINVAL;
	if (sqe->opcode == DD_OP_NOTE && sqe->dst)
		return -EINVAL;
	if (sqe->opcode == DD_OP_NOTE && sqe->len > DD_PAYLOAD_MAX)
		return -ERANGE;
	return sqe->flags & (DD_SQE_UNWIRED | DD_SQE_REGION) ? 0 : -EINVAL;
}

/* Validate the kernel's copy of a request, and find its local memory. */
static __always_inline int validate(struct dd_import *imp, struct dd_op *op)
{
	struct dd_sqe *sqe = &op->sqe;
	u64 wrong;
	int err;

	BUILD_BUG_ON(offsetof(struct dd_sqe, opcode) != 8 ||
		     offsetof(struct dd_sqe, flags) != 9 ||
		     offsetof(struct dd_sqe, meta_count) != 10 ||
		     offsetof(struct dd_sqe, list) != 12);
	if (unlikely(sqe->opcode >= DD_OPCODES))
		return -EOPNOTSUPP;
	sqe->opcode = array_index_nospec(sqe->opcode, DD_OPCODES);
	if (unlikely(!imp->chan->link->op[sqe->opcode]))
		return -EOPNOTSUPP;
	wrong = le64_to_cpu((__force __le64)op->raw[1]) & ~sqe_bits[sqe->opcode];
	if (unlikely(wrong) && (wrong & ~SQE_LIST || !(sqe->flags & DD_SQE_NOTIFY_SELF)))
		return -EINVAL;
	if (unlikely(sqe->meta_count > DD_META_WORDS) ||
	    unlikely(sqe->flags & DD_SQE_NOTIFY_SELF && !sqe->list))
		return -EINVAL;
	if (unlikely(sqe->opcode != DD_OP_PUT)) {
		err = validate_other(sqe);
		if (err)
			return err;
	}
	if (unlikely(sqe->len > DD_LEN_MAX))
		return -ERANGE;
	return find_source(imp, op);
}

/* Copy the next request of a queue, reading each word once. Returns false if there is none. */
static __always_inline bool fetch(const struct dd_import *imp, struct dd_op *op)
{
	const struct dd_sqe *slot = imp->cs->sq;
	const u64 *raw = (const u64 *)slot;
	int i;

	/* Pairs with the submitter's release of the number after the request. */
	if (unlikely(smp_load_acquire(&slot->seq) != imp->submitted + 1))
		return false;
	for (i = 0; i < ARRAY_SIZE(op->raw); i += 4) {
		op->raw[i] = READ_ONCE(raw[i]);
		op->raw[i + 1] = READ_ONCE(raw[i + 1]);
		op->raw[i + 2] = READ_ONCE(raw[i + 2]);
		op->raw[i + 3] = READ_ONCE(raw[i + 3]);
	}
	return true;
}

static __always_inline void finish(struct dd_import *imp, struct dd_op *op, int err)
{
	if (op->held)
		dd_region_put_later(op->held);
	trace_dd_op(imp, &op->sqe, err);
}

/*
 * Execute request @sqe, or the next one of the queue if that is NULL. The import is locked.
 *
 * Return: 1 if it was accepted, 0 if there was none, or an error. With -EINPROGRESS, @op holds
 * the request, and the import is busy, for execute_slow(). With that, and with 1 if the link has
 * dd_link_ops.flush, the import has a reference for the caller.
 */
static __always_inline int execute(struct dd_import *imp, const struct dd_sqe *sqe,
				   struct dd_op *op)
{
	const struct dd_link_ops *link = imp->chan->link;
	int err;

	if (unlikely(imp->chan->dead))
		return -ECONNRESET;
	if (unlikely(imp->busy))
		return -EBUSY;
	if (sqe) {
		op->sqe = *sqe;
		op->sqe.seq = imp->submitted + 1;
	} else if (unlikely(!fetch(imp, op))) {
		return 0;
	}
	op->held = NULL;
	err = validate(imp, op);
	if (likely(!err))
		err = link->op[op->sqe.opcode](imp, op);
	/* The import is alive, so the id table holds a reference. */
	if (unlikely(err == -EINPROGRESS || (!err && link->flush)))
		refcount_inc(&imp->obj.users);
	if (unlikely(err == -EINPROGRESS))
		imp->busy = true;
	else
		finish(imp, op, err);
	return err ?: 1;
}

/* The errno of this import for an access that has ended. */
static int end_error(const struct dd_import *imp, int err)
{
	return err == -ECONNRESET ? dd_import_error(imp) : err;
}

/* Execute a request that needs to sleep, and drop the reference of execute(). */
static int execute_slow(struct dd_import *imp, struct dd_op *op)
{
	struct dd_channel *ch = imp->chan;
	int err = ch->link->slow[op->sqe.opcode](imp, op);

	spin_lock(&ch->lock);
	imp->busy = false;
	spin_unlock(&ch->lock);
	finish(imp, op, err);
	/* Another thread may wait for the request to be sent. */
	dd_ctx_wake(imp->obj.ctx);
	err = end_error(imp, err);
	dd_obj_put(&imp->obj);
	return err ?: 1;
}

/*
 * A request was refused with @n, or the queue was empty. If the other end has gone, a
 * server may count it as a reply. The channel is locked.
 */
static noinline int refused(struct dd_import *imp, int n)
{
	if (imp->chan->dead || imp->chan->closing)
		WRITE_ONCE(imp->refused, imp->refused + 1);
	return end_error(imp, n);
}

/**
 * struct dd_batch - accepted requests of which the link may have transmitted nothing
 * @imp: an import for whose link dd_link_ops.flush transmits all of them, with a reference;
 *	NULL if there are none
 */
struct dd_batch {
	struct dd_import *imp;
};

static void batch_flush(struct dd_batch *batch)
{
	if (!batch->imp)
		return;
	batch->imp->chan->link->flush(batch->imp);
	dd_obj_put(&batch->imp->obj);
	batch->imp = NULL;
}

/* A request of @imp was accepted; takes over a reference to it. */
static void batch_add(struct dd_batch *batch, struct dd_import *imp)
{
	if (batch->imp && imp->chan->link->same(imp, batch->imp)) {
		dd_obj_put(&imp->obj);
		return;
	}
	batch_flush(batch);
	batch->imp = imp;
}

/*
 * Execute request @sqe of the import with @serial, or the next one in its queue if @sqe is NULL.
 * Returns 1 if it was accepted, 0 if there was none, or an error. The caller flushes @batch.
 */
static __always_inline int submit(struct dd_ctx *ctx, u64 serial, const struct dd_sqe *sqe,
				  struct dd_batch *batch)
{
	/* Initialised by execute(). */
	struct dd_op op __uninitialized;
	bool flush = false;
	struct dd_import *imp;
	struct dd_channel *ch;
	int n = -ENOENT;

	if (unlikely(!READ_ONCE(ctx->node->up)))
		return -ENETDOWN;
	/* Protects like rcu_read_lock() and is cheaper to enter. */
	rcu_read_lock_sched();
	imp = dd_import_find(ctx, serial);
	if (likely(imp)) {
		ch = imp->chan;
		/*
		 * A link with dd_link_ops.flush takes the lock of a session inside. No softirq
		 * may run when that is released, with the channel locked.
		 */
		flush = ch->link->flush;
		if (unlikely(flush))
			local_bh_disable();
		spin_lock(&ch->lock);
		n = execute(imp, sqe, &op);
		if (unlikely(n <= 0))
			n = refused(imp, n);
		spin_unlock(&ch->lock);
		if (unlikely(flush))
			local_bh_enable();
	}
	rcu_read_unlock_sched();
	if (unlikely(flush) && n > 0)
		batch_add(batch, imp);
	if (unlikely(n == -EINPROGRESS)) {
		/* This may take arbitrarily long: flush the earlier requests first. */
		batch_flush(batch);
		n = execute_slow(imp, &op);
	}
	return n;
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
	struct dd_batch batch = { };
	int n = submit(ctx, serial, NULL, &batch);

	if (unlikely(batch.imp))
		batch_flush(&batch);
	if (likely(n > 0))
		dd_stat_inc(ctx->node, DD_STAT_OPS);
	else if (n < 0)
		dd_stat_inc(ctx->node, DD_STAT_REFUSED);
	return n;
}

#define REQUESTS	8	/* copied at once */

/* Returns the error that refused request *@done; the requests before are accepted. */
static int submit_array(struct dd_ctx *ctx, const struct dd_request __user *from, u32 count,
			u32 *done, struct dd_batch *batch)
{
	struct dd_request req[REQUESTS] __uninitialized;
	u32 i, n;
	int err;

	for (; *done < count; *done += n) {
		n = min_t(u32, count - *done, REQUESTS);
		/* On a fault, execute the requests that can be read. */
		while (copy_from_user(req, from + *done, n * sizeof(*req)))
			if (!--n)
				return -EFAULT;
		for (i = 0; i < n; i++) {
			err = req[i].sqe.seq ? -EINVAL :
			      submit(ctx, req[i].conn, &req[i].sqe, batch);
			if (unlikely(err < 0)) {
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
	struct dd_batch batch = { };
	u32 done = 0;
	int err;

	if (arg->flags || arg->taken || arg->error || !arg->count ||
	    arg->count > DD_SUBMIT_MAX ||
	    arg->stride != sizeof(struct dd_request))
		return -EINVAL;
	err = submit_array(ctx, u64_to_user_ptr(arg->requests), arg->count, &done, &batch);
	batch_flush(&batch);
	dd_stat_add(ctx->node, DD_STAT_OPS, done);
	if (err && err != -EINTR)
		dd_stat_inc(ctx->node, DD_STAT_REFUSED);
	if (!done)
		return err;
	arg->taken = done;
	arg->error = -err;
	return 0;
}
